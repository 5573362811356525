"""Scorers made of other scorers: what passes, what has no verdict, and what decides."""

from __future__ import annotations

import pytest

from steelyard import ConfigError, Sample, Score, evaluate
from steelyard.building.build import build_scorer
from steelyard.constraints import check_options
from steelyard.scorers import AllOf, AnyOf, ExactMatch, Not, Regex
from steelyard.scorers.combined import row_scorers
from steelyard.types import ScoreInfo


def giving(name, outcome):
    """A scorer with one verdict."""
    value = {"yes": 1.0, "no": 0.0}.get(outcome)

    def scorer(sample, output):
        return Score(name, value, outcome="scored" if value is not None else outcome)

    scorer.score_infos = (ScoreInfo(name, (0.0, 1.0), threshold=1.0),)
    return scorer


def outcome_of(scorer):
    (record,) = evaluate(lambda _: "x", [Sample("1", "?", "x")], (scorer,)).records()
    assert record.failure is None, record.failure
    score = record.scores[0]
    return {1.0: "yes", 0.0: "no", None: score.outcome}[score.value]


@pytest.mark.parametrize(
    ("verdict", "expected"), [("yes", "no"), ("no", "yes"), ("unparsed", "unparsed"), ("not_applicable",) * 2]
)
def test_not_turns_a_verdict_and_leaves_what_has_none(verdict, expected):
    assert outcome_of(Not(giving("a", verdict))) == expected


@pytest.mark.parametrize(
    ("verdicts", "of_any", "of_all"),
    [
        ("yes no", "yes", "no"),
        ("yes yes", "yes", "yes"),
        ("no no", "no", "no"),
        ("yes unparsed", "yes", "unparsed"),
        ("no unparsed", "unparsed", "no"),
        ("no refused", "refused", "no"),
        ("yes not_applicable", "yes", "yes"),
        ("no not_applicable", "no", "no"),
        ("not_applicable not_applicable", "not_applicable", "not_applicable"),
    ],
)
def test_a_verdict_that_decides_is_given_and_no_other(verdicts, of_any, of_all):
    parts = tuple(giving(f"s{no}", verdict) for no, verdict in enumerate(verdicts.split()))
    assert outcome_of(AnyOf(parts)) == of_any
    assert outcome_of(AllOf(parts)) == of_all


def test_all_of_gives_the_share_too():
    parts = (ExactMatch(), Regex("y"), Regex("x", mode="fullmatch"))
    (record,) = evaluate(lambda _: "x", [Sample("1", "?", "x")], (AllOf(parts),)).records()
    assert [(score.name, score.value) for score in record.scores] == [("all_of", 0.0), ("all_of_share", 2 / 3)]
    assert record.scores[0].reason == "exact_match: holds; regex: does not hold; regex: holds"


def test_a_score_needs_a_threshold_to_pass():
    scorer = build_scorer({"not": {"rouge_l": 0.5}}, "a")
    assert outcome_of(scorer) == "no"
    rating = giving("rating", "yes")
    rating.score_infos = (ScoreInfo("rating", (1, 5)),)
    for part in (Not(rating), AnyOf((rating,))):
        with pytest.raises(ConfigError, match="rating needs a threshold from which it passes"):
            check_options(part)
    with pytest.raises(ConfigError, match="name one or more"):
        check_options(AllOf(()))
    with pytest.raises(ConfigError, match="expected a scorer"):
        check_options(AnyOf(("x",)))


@pytest.mark.parametrize("check", ["chrf", {"rouge_l": {}, "name": "near"}, {"not": "token_f1"}])
def test_a_share_is_no_check_without_a_threshold(check):
    with pytest.raises(ConfigError, match="needs a threshold"):
        row_scorers(check)


def test_a_value_that_neither_passes_nor_fails_is_an_error_and_not_left_out():
    parts = AllOf((ExactMatch(), lambda sample, output: 0.4))
    (record,) = evaluate(lambda _: "x", [Sample("1", "?", "x")], (parts,), on_broken="return").records()
    assert "is 0.4, which passes or fails nothing: give it a threshold" in record.failure.message
