"""By what a retrieved passage answers to an expected source: ids, words, ranges that hold, pages."""

import pytest

from steelyard.retrieval.chunk import split_chunks
from steelyard.scorers.passages import SourcePassage, match, same_document

UUID = "2b6f7c0e-58a1-4b7c-9a43-0d6e1f0c55aa"
TEXT = (
    "The station at the river mouth is read at nine in the morning, and again at six in the evening, whatever the "
    "weather. Whoever reads it writes the figure down before looking at the one of the day before. A figure that was "
    "not read is left out, never guessed."
)


def span(start, end, document="a.pdf", **more):
    return {"document": document, "start": start, "end": end, **more}


def way(passage, expected, **options):
    return match(SourcePassage.of(passage), SourcePassage.of(expected), **options)


def part(start, end, **more):
    """A range of TEXT with its text."""
    return span(start, end, text=TEXT[start:end], **more)


class TestIds:
    @pytest.mark.parametrize(
        ("passage", "expected", "answers"),
        [
            ({"id": "a"}, {"id": "a"}, "id"),
            ({"id": 7}, {"id": "7"}, "id"),
            ("a", {"id": "a"}, "id"),
            ({"id": "a"}, {"id": "b"}, "nothing"),
            (span(0, 100, "b.pdf", id="x"), span(0, 100, id="x"), "id"),
            ({"id": UUID}, {"id": "chunk-1"}, "not compared"),
            ({"id": f"node_{UUID}"}, {"id": UUID}, "nothing"),
            ({"id": UUID}, {"id": "1f0c55aa2b6f7c0e"}, "not compared"),
            ({}, {"id": "a"}, "not compared"),
        ],
    )
    def test_equal_ids_match_and_unequal_ones_are_compared_only_in_one_form(self, passage, expected, answers):
        assert way(passage, expected) == answers

    def test_unequal_ids_say_nothing_against_words(self):
        assert way({"id": "node-7", "text": "the river"}, {"id": "chunk-1", "text": "the river"}) == "words"


class TestShortPassages:
    @pytest.mark.parametrize(
        ("passage", "expected", "answers"),
        [
            ("12", "The station is read on 12 days of the month.", "nothing"),
            ("The Station", "The station is read on 12 days of the month.", "nothing"),
            ("测量站", "测量站每天早上九点读数，一共十二次。", "nothing"),
            ("read on 12 days of", "The station is read on 12 days of the month.", "words"),
            ("on 12 days of", "The station is read on 12 days of the month.", "nothing"),
            ("测量站每天早上九点", "测量站每天早上九点读数，一共十二次。", "words"),
            ("每天早上九点", "测量站每天早上九点读数，一共十二次。", "nothing"),
            ("12 days", "On 12 days.", "words"),
            ("12", "12", "words"),
            ("The station is read on 12 days of the month.", "12", "words"),
            ("The station is read on 12 days of the month.", "on 12 days", "words"),
        ],
    )
    def test_a_short_passage_must_be_half_of_the_source(self, passage, expected, answers):
        """A source may be as short as its author likes; a page number as a passage stands in nearly every source."""
        assert way({"text": passage}, {"text": expected}) == answers

    def test_a_short_passage_at_its_place_still_answers(self):
        assert way(part(4, 11), part(0, 60)) == "range"


class TestLengths:
    """A passage has to hold half of the source; only of a source over three times as long is a part enough."""

    @pytest.mark.parametrize(
        ("start", "end", "source", "answers"),
        [
            (0, 110, (0, 200), "words"),
            (0, 80, (0, 200), "nothing"),
            (0, 54, (0, 200), "words"),
            (0, 200, (110, 200), "words"),
            (0, 100, (110, 200), "nothing"),
        ],
    )
    def test_of_the_source_half_is_needed(self, start, end, source, answers):
        assert way({"text": TEXT[start:end]}, {"text": TEXT[slice(*source)]}) == answers

    @pytest.mark.parametrize(("end", "answers"), [(110, "range"), (80, "nothing"), (60, "range")])
    def test_so_it_is_of_ranges(self, end, answers):
        assert way(span(0, end), span(0, 200)) == answers


class TestRanges:
    @pytest.mark.parametrize(
        ("passage", "expected", "answers"),
        [
            (span(0, 100), span(50, 150), "range"),
            (span(0, 100), span(51, 151), "nothing"),
            (span(0, 1000), span(980, 1010), "range"),
            (span(0, 1000), span(990, 1020), "nothing"),
            (span(100, 120), span(0, 1000), "range"),
            (span(0, 100), span(100, 200), "nothing"),
            (span(0, 100), span(0, 100, "b.pdf"), "other document"),
            (span(0, 100, id="x"), span(0, 100, id="y"), "range"),
            (span(0, 100, "docs/a.pdf"), span(0, 100, "a.pdf"), "range"),
        ],
    )
    def test_ranges_alone_match_by_a_share_of_the_shorter(self, passage, expected, answers):
        assert way(passage, expected) == answers

    def test_a_range_counts_where_both_texts_agree_on_what_the_ranges_share(self):
        """A source of seven words is cut by a chunk's end: its words do not stand in the chunk, most of it does."""
        source, chunk = part(66, 108), part(0, 100)
        assert way(chunk | {"start": 0}, source) == "range"

    def test_a_range_that_counts_from_a_page_is_not_used(self):
        source, other = part(66, 108), part(120, 220)
        assert way(other | {"start": 40, "end": 140}, source) == "nothing"

    def test_a_range_of_another_length_than_its_text_is_not_used(self):
        assert way(part(0, 100) | {"end": 107}, part(66, 108)) == "nothing"

    def test_a_text_at_an_unknown_range_is_never_held_against_a_range_alone(self):
        assert way(span(0, 42, text="Something else stands there on this page."), span(0, 42)) == "not compared"

    def test_a_chunk_of_our_own_is_known_by_its_id(self):
        (chunk, *_) = split_chunks(TEXT, document="a.pdf", tokens=30, overlap=0)
        assert way(chunk.source | {"text": chunk.text}, span(0, 60)) == "range"
        assert way(chunk.source | {"text": chunk.text + "."}, span(0, 60)) == "not compared"

    def test_a_range_of_an_older_reading_does_not_match_a_chunk_of_our_own(self):
        """The document begins with a line that is read no more, so that all older ranges are 40 too high."""
        chunks = split_chunks(TEXT, document="a.pdf", tokens=30, overlap=0)
        source = part(0, 60) | {"start": 130, "end": 190}
        ways = [way(chunk.source | {"text": chunk.text}, source) for chunk in chunks]
        assert ways[0] == "words"
        assert set(ways[1:]) == {"nothing"}

    @pytest.mark.parametrize(
        "odd", [{"start": 5, "end": 5}, {"start": "0", "end": 9}, {"start": True, "end": 9}, None, []]
    )
    def test_what_is_no_range_is_unknown(self, odd):
        assert SourcePassage.of(odd).span is None


class TestPages:
    @pytest.mark.parametrize(
        ("passage", "expected", "answers"),
        [
            ({"document": "a.pdf", "page": 3, "text": "Rain."}, {"document": "a.pdf", "page": 3}, "page"),
            ({"document": "a.pdf", "page": "3"}, {"document": "A.PDF", "page": 3, "text": "Rain."}, "page"),
            ({"document": "a.pdf", "page": 4}, {"document": "a.pdf", "page": 3, "text": "Rain."}, "nothing"),
            ({"document": "b.pdf", "page": 3}, {"document": "a.pdf", "page": 3}, "other document"),
            ({"page": 3}, {"document": "a.pdf", "page": 3}, "not compared"),
            ({"document": "a.pdf", "page": 3, "text": "x"}, {"document": "a.pdf", "page": 3, "text": "y"}, "nothing"),
            ({"document": "a.pdf", "page": "iv"}, {"document": "a.pdf", "page": 4}, "not compared"),
        ],
    )
    def test_pages_decide_only_where_one_side_has_no_text(self, passage, expected, answers):
        assert way(passage, expected) == answers

    def test_a_page_stands_in_for_a_range_that_cannot_be_checked(self):
        passage = {"id": UUID, "document": "a.pdf", "start": 0, "end": 9, "page": 2, "text": "The river"}
        assert way(passage, span(500, 600, page=2)) == "page"


class TestDocuments:
    @pytest.mark.parametrize(
        ("name", "other", "same"),
        [
            ("a.pdf", "/home/ann/docs/a.pdf", True),
            ("C:\\docs\\a.pdf", "docs/a.pdf", True),
            ("A.pdf", "a.PDF", True),
            ("x/a.pdf", "y/a.pdf", False),
            ("a.pdf", "ba.pdf", False),
        ],
    )
    def test_names_are_compared_from_the_file_up(self, name, other, same):
        assert same_document(name, other) is same
        assert same_document(other, name) is same
