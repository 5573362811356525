"""By what passages matched over a run, and when the rate must not be believed."""

import pytest

from steelyard.analysis.retrieval_matches import SourceMatchCounts
from steelyard.plain_json import json_value


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({"id": 1, "range": 2, "nothing": 0}, "t: an expected passage was retrieved for 3 of 3 records (by id in 1, by range in 2)"),  # noqa: E501
        ({"words": 1200, "not compared": 30}, "t: an expected passage was retrieved for 1,200 of 1,230 records (by words in 1,200); 30 cannot be compared"),  # noqa: E501
        ({"nothing": 4, "not applicable": 7}, "t: an expected passage was retrieved for 0 of 4 records"),
    ],
)  # fmt: skip
def test_ways_are_counted_the_strongest_first(counts, sentence):
    assert SourceMatchCounts.of("t", counts).sentence == sentence


def test_a_run_that_scored_no_retrieval_has_none():
    assert SourceMatchCounts.of("t", {"not applicable": 9}) is None


@pytest.mark.parametrize(("nothing", "warns"), [(10, False), (11, True), (20, True)])
def test_a_rate_over_which_most_records_match_nothing_is_warned_of(nothing, warns):
    counts = SourceMatchCounts.of("t", {"words": 20 - nothing, "nothing": nothing})
    assert ("the same documents?" in counts.warning) is warns
    assert json_value(counts)["warning"] == counts.warning


def test_a_poor_search_is_named_as_a_cause_where_some_passages_do_match():
    cause = "the passages share no text with the sources: the same documents?"
    both = f"{cause} Or does the search miss them?"
    assert SourceMatchCounts.of("t", {"words": 1, "nothing": 19}).warning.endswith(f"19 of 20 records; {both}")
    poor = SourceMatchCounts.of("t", {"words": 6, "nothing": 14}).warning
    assert poor.endswith(f"14 of 20 records; the search misses them, or {cause}")


def test_a_system_that_returns_no_passages_is_not_asked_for_its_documents():
    silent = SourceMatchCounts.of("t", {"nothing retrieved": 11, "words": 9})
    assert (
        silent.sentence
        == "t: an expected passage was retrieved for 9 of 20 records (by words in 9); for 11 no passage came back"
    )
    assert silent.warning.startswith("t: no passages came back in 11 of 20 records")
    assert "documents" not in silent.warning
    assert SourceMatchCounts.of("t", {"nothing retrieved": 10, "words": 10}).warning == ""
    partly = SourceMatchCounts.of("t", {"nothing retrieved": 6, "nothing": 6, "words": 8})
    assert partly.warning.startswith("t: no passage matches a source in 12 of 20 records")


def test_records_that_cannot_be_compared_are_warned_of_before_those_that_match_nothing():
    counts = SourceMatchCounts.of("t", {"nothing": 3, "not compared": 17})
    assert counts.warning == (
        "t: passages and sources could not be compared in 17 of 20 records, which have no retrieval score: they have "
        "no text, page or ids in common"
    )


@pytest.mark.parametrize(("share", "warns"), [(0.0, False), (0.1, False), (0.4, True)])
def test_hits_in_long_sources_are_said_to_be_easy(share, warns):
    counts = SourceMatchCounts.of("t", {"words": 9, "nothing": 1}, long_share=share)
    assert counts.warning.startswith("t: hits are easy: in 40 % of the pairs") is warns
    assert bool(counts.warning) is warns
    assert json_value(counts)["long_share"] == share
