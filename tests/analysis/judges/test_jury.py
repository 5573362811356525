"""A jury's verdicts: majority, mean and consensus, and what happens where there are too few judges or records."""

import random

import pytest

from steelyard.analysis.judges.jury import jury_verdicts


def said(*verdicts):
    return {(f"q{at}", 0): value for at, value in enumerate(verdicts)}


def drawn(n, rates, seed=4):
    """Truth and what judges of a hit rate say of it."""
    rng = random.Random(seed)
    truth = [float(rng.random() < 0.6) for _ in range(n)]
    return truth, {
        f"j{at}": said(*(value if rng.random() < rate else 1 - value for value in truth))
        for at, rate in enumerate(rates)
    }


def test_a_majority_decides_and_an_even_vote_does_not():
    found = jury_verdicts(
        {"a": said(1.0, 1.0, 0.0, None), "b": said(1.0, 0.0, 0.0, None), "c": said(0.0, None, None, None)}, "majority"
    )
    assert list(found.verdicts.values()) == [1.0, None, 0.0, None]
    assert (found.vote, found.why) == ("majority", "")


@pytest.mark.parametrize("vote", ["majority", "mean", "dawid_skene"])
@pytest.mark.parametrize(("members", "votes", "speaks"), [(2, 1, True), (3, 1, False), (3, 2, True), (7, 3, False)])
def test_fewer_than_half_of_the_members_are_no_jury(members, votes, speaks, vote):
    """One of two is half of them; whatever the rule, one of three says nothing for the others."""
    passes = {f"j{at}": said(1.0 if at < votes else None) for at in range(members)}
    ratings = {f"j{at}": said(4.0 if at < votes else None) for at in range(members)}
    assert jury_verdicts(passes, vote).verdicts == {("q0", 0): 1.0 if speaks else None}
    assert jury_verdicts(ratings, vote).verdicts == {("q0", 0): 4.0 if speaks else None}


def test_ratings_have_a_mean_and_passes_are_voted_on():
    rated = jury_verdicts({"a": said(4.0, 2.0), "b": said(5.0, None)}, "mean")
    assert (list(rated.verdicts.values()), rated.vote) == ([4.5, 2.0], "mean")
    passed = jury_verdicts({"a": said(1.0), "b": said(1.0), "c": said(0.0)}, "mean")
    assert (list(passed.verdicts.values()), passed.vote) == ([1.0], "majority")
    assert passed.why == "the verdicts are pass or fail, so their mean would be a share"


def test_a_consensus_trusts_the_judge_who_knows():
    truth, members = drawn(600, [0.97, 0.9, 0.6, 0.6, 0.6])
    consensus = jury_verdicts(members, "dawid_skene")
    majority = jury_verdicts(members, "majority")
    assert (consensus.vote, consensus.why) == ("dawid_skene", "")

    def right(found):
        return sum(value == each for value, each in zip(found.verdicts.values(), truth, strict=True))

    assert right(consensus) > right(majority) + 30
    assert consensus.consensus.errors[0, 1, 1] > 0.9 > consensus.consensus.errors[2, 1, 1]


def test_without_enough_judges_or_records_it_is_a_majority_and_says_why():
    _, two = drawn(200, [0.9, 0.9])
    assert jury_verdicts(two, "dawid_skene")[1:3] == ("majority", "2 judges, fewer than 3")
    _, few = drawn(99, [0.9, 0.9, 0.9])
    assert jury_verdicts(few, "dawid_skene").why == "99 records with a verdict of every judge, fewer than 100"
    alike = {name: said(*[1.0] * 120) for name in "abc"}
    assert jury_verdicts(alike, "dawid_skene").why == "all verdicts are equal"
    apart = {name: said(*(float(at) for at in range(120))) for name in "abc"}
    assert "120 different verdicts" in jury_verdicts(apart, "dawid_skene").why
