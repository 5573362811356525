"""How far a judge agreed with itself, over a run: from its repeats, on every surface."""

from __future__ import annotations

import itertools

import pytest

from steelyard import Judge, Sample, Scripted, Store, evaluate
from steelyard.evaluation.rescore import rescore
from steelyard.models.base import Answer
from steelyard.plain_json import json_value
from steelyard.report.render.html import html_report
from steelyard.scorers import Correctness

SAMPLES = [Sample("a", "Who?", "Ann"), Sample("b", "Why?", "so"), Sample("c", "When?")]


class Wavering(Scripted):
    """Says 5, 3 and 4 in turn."""

    said = itertools.cycle(["5", "3", "4"])

    async def send(self, request, wire):
        return Answer(200, {}, next(self.said).encode())


@pytest.fixture
def run():
    judge = Judge(Wavering(), repeats=3)
    return evaluate(lambda _: "Ann", SAMPLES, [Correctness(judge)], concurrency=1)


def test_the_mean_deviation_and_flip_rate_of_a_judges_repeats_stand_in_the_summary(run):
    found = run.summary().details.consistency["correctness"]
    assert (found.n, found.sd) == (2, 1.0)
    assert found.flip_rate == pytest.approx(1 / 3)
    assert json_value(run.summary())["consistency"]["correctness"]["n"] == 2


def test_the_page_says_so(run):
    page = html_report([run])
    assert "repeats of the judge have sd 1.00, flip rate 33.3 % (n 2)" in page


def test_a_judge_that_was_asked_once_says_nothing_of_its_consistency():
    once = evaluate(lambda _: "Ann", SAMPLES, [Correctness(Judge(Scripted({}, default="4")))])
    assert once.summary().details.consistency == {}


def test_what_was_scored_again_with_one_repeat_has_none(run):
    with Store() as store:
        again, _ = rescore(store, store.run(run.id), [Correctness(Judge(Wavering()))])
    assert again.summary().details.consistency == {}
