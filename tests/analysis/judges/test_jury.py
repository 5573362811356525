"""A jury's verdicts: majority and mean, and what happens where too few members vote."""

import pytest

from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.judges.jury import jury_of


def said(*verdicts):
    return JudgedScore("right_j", None, {(f"q{at}", 0): value for at, value in enumerate(verdicts)}, {}, {})


def test_a_majority_decides_and_an_even_vote_does_not():
    members = {"a": said(1.0, 1.0, 0.0, None), "b": said(1.0, 0.0, 0.0, None), "c": said(0.0, None, None, None)}
    found = jury_of("right", members, "majority")
    assert list(found.verdicts.values()) == [1.0, None, 0.0, None]
    assert (found.vote, found.why) == ("majority", "")


@pytest.mark.parametrize("vote", ["majority", "mean"])
@pytest.mark.parametrize(("members", "votes", "speaks"), [(2, 1, True), (3, 1, False), (3, 2, True), (7, 3, False)])
def test_fewer_than_half_of_the_members_are_no_jury(members, votes, speaks, vote):
    """One of two is half of them; whatever the rule, one of three says nothing for the others."""
    passes = {f"j{at}": said(1.0 if at < votes else None) for at in range(members)}
    ratings = {f"j{at}": said(4.0 if at < votes else None) for at in range(members)}
    assert jury_of("right", passes, vote).verdicts == {("q0", 0): 1.0 if speaks else None}
    assert jury_of("right", ratings, vote).verdicts == {("q0", 0): 4.0 if speaks else None}


def test_ratings_have_a_mean_and_passes_are_voted_on():
    rated = jury_of("right", {"a": said(4.0, 2.0), "b": said(5.0, None)}, "mean")
    assert (list(rated.verdicts.values()), rated.vote) == ([4.5, 2.0], "mean")
    passed = jury_of("right", {"a": said(1.0), "b": said(1.0), "c": said(0.0)}, "mean")
    assert (list(passed.verdicts.values()), passed.vote) == ([1.0], "majority")
    assert passed.why == "the verdicts are pass or fail, so their mean would be a share"
