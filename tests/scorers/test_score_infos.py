"""Every scorer of this package declares its scores: their range, direction, threshold and how a dry run goes."""

import asyncio

import pytest

from steelyard import Judge, Output, Sample, ScoreInfo
from steelyard.evaluation.scorer_infos import check_infos, infos_of, scorer_stages
from steelyard.generate.reviewer import ReasonGiven, ReasonsPlaced
from steelyard.generate.writer import QuestionCount
from steelyard.registry import find, names
from steelyard.runner import stage_info
from steelyard.scorers import TableMetrics
from steelyard.scorers.judges.criteria import ErrorJudge
from steelyard.scorers.judges.judge import judged_by
from steelyard.scorers.judges.relevance import Relevance
from steelyard.scorers.lexical import Contains, TokenF1
from steelyard.scorers.numbers import NumberMatch
from steelyard.sql import Sandbox
from steelyard.tables.measure import ALL_METRICS, METRICS
from steelyard.tables.rules import RULE_SETS
from steelyard.types import DescribesScores, StageInfo

OPTIONS = {
    "regex": {"pattern": "a"},
    "json_schema": {"schema": {"type": "object"}},
    "g_eval": {"name": "clear", "criteria": "Is it clear?", "threshold": 3},
    "rubric": {"name": "tone", "levels": {"1": "curt", "4": "warm"}, "threshold": 4},
    "human_preference": {"file": "votes.csv"},
    "guideline": {"guidelines": ("Names its sources.",)},
    "error_code": {"name": "no date", "definition": "The answer gives no date."},
    "error_pattern": {"name": "no date", "pattern": r"\d{4}"},
    "choice": {"also_scored": ("last_letter",), "credit": "jaccard"},
    "forbidden_tools": {"tools": ("delete_*",)},
    "all_of": {"scorers": (ErrorJudge(name="tone", definition="The answer is rude."), Contains())},
    "any_of": {"scorers": (ErrorJudge(name="tone", definition="The answer is rude."), Contains())},
    "command": {"command": ("true",)},
    "function": {"function": "own_checks:close"},
    "length": {"max": 5},
    "not": {"scorer": ErrorJudge(name="tone", definition="The answer is rude.")},
    "python_test": {"test": "assert True"},
    "per_turn": {"scorer": ErrorJudge(name="tone", definition="The answer is rude.")},
}
COUNTS = {
    *("agent_steps", "agent_calls", "repeated_calls", "agent_tokens", "forbidden_tools", "cost", "latency"),
}
"""Scores of agents that count something: there is no highest value, and less is better."""
SCORERS = {
    **{name: find("scorer", name)(**OPTIONS.get(name, {})) for name in names("scorer")},
    "relevance_of_reference": Relevance(judged="reference", threshold=2),
    "contains_share": Contains(mode="share", threshold=0.5),
    "number_share": NumberMatch(mode="share", threshold=0.5),
    "f1_threshold": TokenF1(threshold=0.5),
    "questions": QuestionCount(3),
    "reason": ReasonGiven(),
    "placed": ReasonsPlaced(),
}


@pytest.mark.parametrize("kind", [kind for kind in SCORERS if kind != "function"])  # of which nobody knows the range
def test_every_scorer_declares_the_range_and_direction_of_every_score(kind):
    scorer = SCORERS[kind]
    assert isinstance(scorer, DescribesScores)
    infos = infos_of(scorer_stages([scorer]))
    check_infos(infos)
    assert {info.name for info in infos if info.range is None and info.lower_is_better} <= COUNTS
    plain = [info for info in infos if info.name not in COUNTS]
    assert all(info.range is not None for info in plain)
    assert all(info.name.startswith("noise_sensitivity") for info in plain if info.lower_is_better)


@pytest.mark.parametrize("kind", [name for name, scorer in SCORERS.items() if hasattr(scorer, "judge")])
def test_every_judge_has_a_mock_reply_for_a_dry_run(kind):
    assert stage_info(judged_by(SCORERS[kind], Judge())).mock_reply


WRONG_TABLE = (Sample("1", "", [["a"], ["b"]]), Output('[["a"]]'))
CASES = {
    "exact_match": [("yes", "yes"), ("yes", "no")],
    "contains": [("yes", "oh yes"), ("yes", "no")],
    "contains_share": [(["a", "b"], "a"), (["a", "b", "c"], "a")],
    "number_match": [("3", "3"), ("3", "4")],
    "number_share": [("3 4", "3"), ("3 4 5", "3")],
    "token_f1": [("yes", "yes"), ("yes", "no")],
    "f1_threshold": [("a b c", "b c"), ("b c d e", "b")],
    "regex": [(None, "a"), (None, "b")],
    "json_schema": [(None, "{}"), (None, "[]")],
    "choice": [("B", "B"), ("A", "B")],
    "error_pattern": [(None, "in 1999"), (None, "long ago")],
}


@pytest.mark.parametrize("kind", CASES)
def test_what_a_scorer_passes_is_what_its_declared_threshold_passes(kind):
    infos = {info.name: info for info in SCORERS[kind].score_infos}
    for reference, value in CASES[kind]:
        scores = SCORERS[kind](Sample("1", "?", reference, choices=("x", "y", "z")), Output(value))
        for score in scores if isinstance(scores, list) else [scores]:
            assert score.value is not None
            low, high = infos[score.name].range
            assert low <= score.value <= high
            assert score.passed is infos[score.name].passes(score.value)


def test_the_order_of_tuples_lies_between_minus_1_and_1_by_our_rules_and_on_0_to_1_by_those_of_releases():
    ranges = {rules: {info.name: info.range for info in TableMetrics(rules=rules).score_infos} for rules in RULE_SETS}
    assert ranges["steelyard"]["tuple_order"] == (-1.0, 1.0)
    others = [ends for rules, listed in ranges.items() for name, ends in listed.items() if (rules, name) != KEY]
    assert set(others) == {(0.0, 1.0)}


KEY = ("steelyard", "tuple_order")


def test_a_reversed_order_lies_in_its_range():
    rows = [["a"], ["b"], ["c"]]
    sample = Sample("1", "", rows, metadata={"ordered": True})
    with Sandbox() as sandbox:
        scores = asyncio.run(TableMetrics()(sample, Output(rows[::-1]), sandbox))
    infos = {info.name: info for info in TableMetrics().score_infos}
    found = {score.name: score.value for score in scores if score.value is not None}
    assert found["tuple_order"] == -1.0
    assert all(infos[name].range[0] <= value <= infos[name].range[1] for name, value in found.items())
    assert tuple(infos) == ALL_METRICS
    assert set(METRICS) <= set(ALL_METRICS)


def test_a_judge_of_sql_is_shown_sql_in_a_dry_run():
    assert Relevance().stage_info == StageInfo(mock_reply="5", mock_output="SELECT 1")
    assert Relevance().score_infos == (ScoreInfo("relevance", (1.0, 5.0), histogram=True),)
