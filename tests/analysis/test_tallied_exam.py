"""Exams from counts: the letters are tested where counts suffice, and else the rows are asked for."""

import pytest

from steelyard import ScoreInfo
from steelyard.analysis.score_columns import Answered
from steelyard.analysis.tallied_exam import tallied_exams
from steelyard.analysis.tallied_summary import NeedsRowsError, ScoreTally, summarize_tallies

INFOS = {"solved": ScoreInfo("solved", (0, 1), denominator="all", exam=True)}


def exam(*counts, options=4):
    """Of (right letter, how many were right, how many were wrong)."""
    tallies = [
        ScoreTally("", "scored", value, n, Answered(key if value else "D", key, options))
        for key, *both in counts
        for value, n in zip((1.0, 0.0), both, strict=True)
    ]
    scores, _ = summarize_tallies({"solved": tallies}, infos=INFOS)
    [found] = tallied_exams({"solved": tallies}, scores, INFOS)
    return found


def test_letters_with_many_questions_are_tested_from_their_counts():
    assert exam(("A", 30, 10), ("B", 10, 30)).letters.test == "chi-squared"


def test_a_letter_with_few_questions_needs_the_rows_as_permutations_are_drawn():
    with pytest.raises(NeedsRowsError):
        exam(("A", 30, 10), ("B", 1, 3))


def test_a_key_beyond_the_options_needs_the_rows():
    with pytest.raises(NeedsRowsError):
        exam(("A", 30, 10), ("C", 10, 30), options=2)
