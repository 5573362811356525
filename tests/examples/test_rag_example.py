"""The document and the questions of the `rag` example agree with each other."""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from steelyard.data.documents import read_document

EXAMPLE = Path(__file__).parents[2] / "examples" / "rag"
UNANSWERED = "not in the handbook"
TWO_PLACES = "two places"


def plain(text: str) -> str:
    """Text with single blanks."""
    return " ".join(text.split())


def unmarked(markdown: str) -> str:
    """Markdown without its marks of headings, lists, tables and bold words, with single blanks."""
    without_rules = re.sub(r"^\|[-|]+\|$", "", markdown, flags=re.MULTILINE)
    return plain(re.sub(r"^#+ |^- |\*\*|\|", " ", without_rules, flags=re.MULTILINE)).replace(" : ", ": ")


def words(text: str) -> set[str]:
    """Longer words: those that carry a question's subject."""
    return set(re.findall(r"[a-z]{4,}", text.casefold()))


def sources_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The passages of a question: those of a list, or the one whose text and place stand in the row itself."""
    return row["source"] if isinstance(row["source"], list) else [{"text": row["source"], **row}]


def source_text(row: dict[str, Any]) -> str:
    return " ".join(source["text"] for source in sources_of(row))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return rows_of(EXAMPLE / "questions.jsonl")


@pytest.fixture(scope="module")
def answered(rows) -> list[dict[str, Any]]:
    return [row for row in rows if row["group"] != UNANSWERED]


@pytest.fixture(scope="module")
def chinese() -> list[dict[str, Any]]:
    return rows_of(EXAMPLE / "zh" / "questions.jsonl")


@pytest.fixture(scope="module")
def pages() -> list[str]:
    from pypdfium2 import PdfDocument

    with PdfDocument(EXAMPLE / "handbook.pdf") as document:
        return [plain(page.get_textpage().get_text_range()) for page in document]


def test_pdf_is_what_the_script_makes_of_the_source(tmp_path):
    build = runpy.run_path(str(EXAMPLE / "build_pdf.py"))["build"]
    build(EXAMPLE / "handbook.md", tmp_path / "again.pdf")
    assert (tmp_path / "again.pdf").read_bytes() == (EXAMPLE / "handbook.pdf").read_bytes()


def test_pdf_is_small_and_has_pages_enough_to_be_searched(pages):
    assert len(pages) >= 9
    assert (EXAMPLE / "handbook.pdf").stat().st_size < 150_000


def test_every_page_has_its_number_and_all_but_the_first_the_running_head(pages):
    assert [number for number, page in enumerate(pages, 1) if f"Page {number}" not in page] == []
    assert [page[:40] for page in pages[1:] if not page.startswith("Keeping a Village Weather Station")] == []


def test_every_source_stands_once_in_the_handbook(answered):
    handbook = unmarked((EXAMPLE / "handbook.md").read_text("utf-8"))
    found = {source["text"]: handbook.count(source["text"]) for row in answered for source in sources_of(row)}
    assert [text for text, times in found.items() if times != 1] == []


def test_every_source_stands_on_the_page_that_its_question_names(answered, pages):
    places = [(source["text"], source["page"]) for row in answered for source in sources_of(row)]
    assert [text for text, page in places if text not in pages[page - 1]] == []


def test_offsets_of_the_sources_are_those_of_the_document_as_it_is_read(answered):
    document = read_document(EXAMPLE / "handbook.pdf")
    sources = [source for row in answered for source in sources_of(row)]
    assert [one["text"] for one in sources if plain(document.text[one["start"] : one["end"]]) != one["text"]] == []
    assert [one["text"] for one in sources if document.page_at(one["end"] - 1) != one["page"]] == []


def test_questions_about_two_places_name_both(answered):
    assert {len(sources_of(row)) for row in answered if row["group"] == TWO_PLACES} == {2}
    assert {len(sources_of(row)) for row in answered if row["group"] != TWO_PLACES} == {1}


def test_ids_and_questions_are_unique(rows, chinese):
    for column in ("id", "question"):
        values = [row[column] for row in (*rows, *chinese)]
        assert [value for value, times in Counter(values).items() if times > 1] == []


def test_no_cell_is_blank_or_has_blanks_at_its_ends(rows, chinese):
    cells = [cell for row in (*rows, *chinese) for cell in row.values() if isinstance(cell, str)]
    assert [cell for cell in cells if not cell or cell != cell.strip()] == []


def test_each_group_is_large_enough_to_be_reported(rows):
    sizes = Counter(row["group"] for row in rows)
    assert sizes.pop(UNANSWERED) >= 4
    assert set(sizes) == {"numbers", "procedures", "definitions", "exceptions", "reasons", TWO_PLACES}
    assert min(sizes.values()) >= 8


def test_first_rows_hold_every_group(rows):
    groups = {row["group"] for row in rows}
    assert {row["group"] for row in rows[: len(groups)]} == groups


def test_questions_without_an_answer_say_so_and_name_no_source(rows):
    unanswered = [row for row in rows if row["group"] == UNANSWERED]
    assert {row["answer"] for row in unanswered} == {"The handbook does not say."}
    assert [row["id"] for row in unanswered if {"source", "page", "start", "end"} & row.keys()] == []


def test_a_third_of_the_answers_are_a_few_words(answered):
    short = [row for row in answered if len(row["answer"].split()) <= 6]
    assert len(answered) / 3 <= len(short) <= len(answered) * 2 / 3


def test_half_of_the_questions_share_few_words_with_their_source(answered):
    pairs = [(words(row["question"]), words(source_text(row))) for row in answered]
    shares = [len(asked & told) / len(asked) for asked, told in pairs]
    assert sum(share < 0.5 for share in shares) >= len(answered) / 2


def test_figures_of_an_answer_stand_in_its_source(answered):
    def figures(text: str) -> set[str]:
        return set(re.findall(r"\d+(?:[.,]\d+)*", text))

    assert [row["id"] for row in answered if not figures(row["answer"]) <= figures(source_text(row))] == []


def test_offsets_of_the_chinese_questions_give_their_sources(chinese):
    notes = (EXAMPLE / "zh" / "notes.md").read_text("utf-8")
    assert len(chinese) == 12
    assert [row["id"] for row in chinese if notes[row["start"] : row["end"]] != row["source"]] == []
