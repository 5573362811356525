"""A comparison of runs that ended when their difference was decided says what was decided."""

import random
from dataclasses import dataclass

import pytest

from steelyard import ExactMatch, Options, Sample, Score, ScoreInfo, Suite, compare, evaluate_suite
from steelyard.evaluation.objects import StopWhen
from steelyard.plain_json import json_value


def solver(share, seed):
    def target(sample):
        return "yes" if random.Random(f"{seed}{sample.id}").random() < share else "no"

    return target


def runs(question, **targets):
    samples = [Sample(f"s{n}", "?", "yes", group="ab"[n % 2]) for n in range(300)]
    options = Options(stop_when_decided=StopWhen(question))
    return evaluate_suite(Suite("s", "custom", samples, targets, (ExactMatch(),), options))


@pytest.mark.parametrize(("question", "where"), [("full", "over the full set"), ("population", "beyond this set")])
def test_the_confidence_sequence_stands_in_place_of_the_test(question, where):
    old, new = runs(question, old=solver(0.3, 1), new=solver(0.8, 2))
    (pair,) = compare(old, new).pairs
    assert pair.verdict == "better"
    assert pair.headline.p is None
    assert pair.headline.interval == new.stopping.interval
    assert pair.headline.n == new.stopping.used
    assert pair.conclusion.sentence.startswith(f"new has more exact match than old {where} (")
    assert f"stopped after {new.stopping.used} of 300 samples" in pair.conclusion.sentence
    assert json_value(pair.headline)["stopped"]["side"] == "above"
    assert any("fixed number of samples" in warning for warning in pair.warnings)


def test_what_could_not_be_told_is_said_so():
    old, new = runs("population", old=solver(0.5, 1), new=solver(0.5, 2))
    (pair,) = compare(old, new).pairs
    assert pair.verdict == "no_evidence"
    assert pair.conclusion.sentence.startswith(
        "These 300 samples cannot tell whether new or old has more exact match beyond"
    )


def test_the_other_way_round_it_is_the_other_side():
    old, new = runs("full", old=solver(0.3, 1), new=solver(0.8, 2))
    (pair,) = compare(new, old).pairs
    assert pair.verdict == "worse"
    assert pair.headline.interval == old.stopping.interval


def test_what_was_decided_against_another_run_of_that_target_is_not_said_of_this_one():
    old, _ = runs("full", old=solver(0.9, 5), new=solver(0.1, 6))
    _, new = runs("full", old=solver(0.3, 1), new=solver(0.8, 2))
    (pair,) = compare(old, new).pairs
    assert pair.headline.stopped is None
    assert pair.headline.p is not None
    assert any("stopped early" in warning for warning in pair.warnings)


def test_a_run_of_another_evaluation_is_compared_as_ever():
    _, new = runs("full", old=solver(0.3, 1), new=solver(0.8, 2))
    samples = [Sample(f"s{n}", "?", "yes", group="ab"[n % 2]) for n in range(300)]
    (whole,) = evaluate_suite(Suite("s", "custom", samples, {"third": solver(0.6, 3)}, (ExactMatch(),)))
    (pair,) = compare(whole, new).pairs
    assert pair.headline.stopped is None
    assert pair.headline.p is not None
    assert any("stopped early" in warning for warning in pair.warnings)


@dataclass(frozen=True)
class Right:
    over: str

    @property
    def score_infos(self):
        return (ScoreInfo("right", (0, 1), threshold=0.5, denominator=self.over, headline=True),)

    def __call__(self, sample, output):
        return Score("right", float(output.value == sample.reference))


@pytest.mark.parametrize(
    ("over", "decided", "other"), [("all", "overall", "answered"), ("answered", "answered", "overall")]
)
def test_the_mean_that_was_decided_on_has_the_interval_of_the_decision_and_no_other_has_one(over, decided, other):
    samples = [Sample(f"s{n}", "?", "yes") for n in range(300)]
    options = Options(stop_when_decided=StopWhen("population", threshold=0.5))
    [run] = evaluate_suite(Suite("s", "custom", samples, {"t": solver(0.9, 1)}, (Right(over),), options))
    score = run.summary().score("right")
    assert run.stopping.used < 300
    assert getattr(score, decided).interval == run.stopping.interval
    assert getattr(score, other).interval is None
