"""Which pages, sections and kinds of text questions are made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.documents import Document
from steelyard.errors import ConfigError
from steelyard.generate.boilerplate import boilerplate_kind, heading_kind
from steelyard.generate.selection import ChunkSettings, select_chunks

PAGES = tuple(f"Page {no} tells how the gauge of station {no} is read every morning.\n\n" for no in range(1, 11))
BOOK = Document("book.pdf", "".join(PAGES), tuple(sum(map(len, PAGES[:no])) for no in range(10)))
NOTES = Document("notes.md", "# Notes\n\nThe mill was rebuilt in 1902 after the great fire in the harbour.\n")
LABELLED = json.loads((Path(__file__).parent / "boilerplate_samples.json").read_text(encoding="utf-8"))


def pages_of(*documents, **settings):
    chunks = select_chunks(documents, ChunkSettings(**settings)).chunks
    return {(c.document, no) for c in chunks for no in range(1, 11) if f"station {no} " in c.text}, chunks


@pytest.mark.parametrize(
    ("settings", "pages"),
    [
        ({"pages": ["3-5"]}, {3, 4, 5}),
        ({"pages": ["1,9-"]}, {1, 9, 10}),
        ({"pages": ["book.pdf:2-4", "7"]}, {2, 3, 4, 7}),
        ({"exclude_pages": ["1-8"]}, {9, 10}),
        ({"pages": ["2-6"], "exclude_pages": ["book.pdf:4"]}, {2, 3, 5, 6}),
    ],
)
def test_only_the_chosen_pages_are_asked_about_and_no_chunk_reaches_beyond_them(settings, pages):
    found, chunks = pages_of(BOOK, **settings)
    assert {no for _, no in found} == pages
    for chunk in chunks:
        assert chunk.text == BOOK.text[chunk.start : chunk.end]
        assert {BOOK.page_at(chunk.start), BOOK.page_at(chunk.end - 1)} <= pages


def test_documents_without_pages_are_not_restricted_by_a_range_for_all():
    _, chunks = pages_of(BOOK, NOTES, pages=["2"])
    assert {chunk.document for chunk in chunks} == {"book.pdf", "notes.md"}


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ("x.pdf:3", "there is no document 'x.pdf'"),
        ("notes.md:3", "only PDF files"),
        ("book.pdf:11", "has 10 pages, so there is no page 11"),
        ("three", "not a list of pages"),
        ("5-3", "begins with the lower one"),
        ("0", "counted from 1"),
    ],
)
def test_pages_that_there_are_not_are_refused(pages, message):
    with pytest.raises(ConfigError, match=message):
        select_chunks([BOOK, NOTES], ChunkSettings(pages=[pages]))


GUIDE = Document(
    "guide.md",
    "# Guide\n\nThe observer reads the gauge at nine in the morning, every day of the year.\n\n"
    "## Contents\n\nRain, wind, frost and cloud, each with its own page in the book of the station.\n\n"
    "## Rain\n\nThe rim of the gauge stands 30 cm above the ground, and it is levelled each spring.\n\n"
    "## Appendix A\n\nForms that were in use before 1950 are kept in the archive of the district.\n\n"
    "### Old forms\n\nThe blue form was for rain and the red one for storms, as the archive shows.\n\n"
    "## License\n\nYou may use this guide as you like, as long as the name of the station is kept.\n",
)


def test_sections_named_as_boilerplate_are_left_out_and_counted():
    selection = select_chunks([GUIDE], ChunkSettings())
    assert [chunk.heading.split(" > ")[-1] for chunk in selection.chunks] == ["Guide", "Rain"]
    assert selection.left_out == {"contents": 1, "licence": 1}
    kept = select_chunks([GUIDE], ChunkSettings(keep_boilerplate=True))
    assert "License" in kept.chunks[-1].text
    assert kept.left_out == {}


def test_sections_are_excluded_by_title_with_all_below_them():
    chunks = select_chunks([GUIDE], ChunkSettings(exclude_headings=["appendix *"], keep_boilerplate=True)).chunks
    text = "".join(chunk.text for chunk in chunks)
    assert "License" in text
    assert "1950" not in text
    assert "blue form" not in text


def test_a_document_of_nothing_but_boilerplate_says_so():
    licence = Document("copying.txt", LABELLED["licence"][0])
    with pytest.raises(ConfigError, match="left out as boilerplate: 1 licence; keep_boilerplate takes them"):
        select_chunks([licence], ChunkSettings())


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in LABELLED.items() for text in texts])
def test_real_pieces_are_told_apart_by_their_form(kind, text):
    assert boilerplate_kind(text) == ("" if kind == "prose" else kind)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("License", "licence"),
        ("Appendix A Copying Information", ""),
        ("Appendix B: GNU Free Documentation License", "licence"),
        ("7. Disclaimer", "licence"),
        ("Table of Contents", "contents"),
        ("目录", "contents"),
        ("Function and Data Index", "index"),
        ("参考文献", "references"),
        ("References", "references"),
        ("版权声明", "copyright"),
        ("Rain gauges", ""),
        ("Choosing a licence", ""),
        ("The body mass index", ""),
        ("How to manage licenses of your users", ""),
    ],
)
def test_headings_name_boilerplate(title, kind):
    assert heading_kind(title) == kind


@given(st.text(max_size=3000))
def test_any_text_is_told_or_not(text):
    assert boilerplate_kind(text) in {"", "licence", "contents", "index", "references", "copyright"}


@given(st.text(alphabet=" .\n1a,", max_size=3000))
def test_lines_of_dots_and_digits_take_no_longer_than_others(text):
    assert boilerplate_kind(text * 3) in {"", "contents", "index", "references"}
