"""Judges in a configuration, in a dry run, and over stored replies."""

import asyncio
from pathlib import Path

import pytest
from tests.scorers.judges.judge_server import judged, said, sample, token

from steelyard import ConfigError, OpenAICompatible, Store, Suite
from steelyard.building.build import Site, build
from steelyard.building.read import parse
from steelyard.constraints import check_options
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.rescore import rescore
from steelyard.scorers.judges.claims import ClaimFaithfulness, ContextRecall
from steelyard.scorers.judges.criteria import Correctness, Guideline, Rubric
from steelyard.scorers.judges.faithfulness import Faithfulness
from steelyard.scorers.judges.g_eval import GEval
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.relevance import AnswerRelevancy, ContextRelevance, Relevance
from steelyard.types import Scorer

NOWHERE = Judge(OpenAICompatible("judge", "http://127.0.0.1:9/v1"))


def made(text):
    return build(Scorer, parse(text, "a.yaml"), Site(Path()))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "{g_eval: {name: tone, criteria: Kind?, steps: [Read.], high: 10, weighting: samples, threshold: 7}}",
            GEval(Judge(), "tone", "Kind?", steps=("Read.",), high=10, weighting="samples", threshold=7.0),
        ),
        ("relevance", Relevance()),
        ("{relevance: {judged: reference}}", Relevance(judged="reference")),
        (
            "{rubric: {name: tone, levels: {1: rude, 2.5: civil}, allow_between: true}}",
            Rubric(Judge(), "tone", levels={"1": "rude", "2.5": "civil"}, allow_between=True),
        ),
        ("{guideline: {guidelines: [Is polite.]}}", Guideline(Judge(), ("Is polite.",))),
    ],
)
def test_a_configuration_fills_every_field(text, wanted):
    assert made(text) == wanted


def calls(*scorers, samples=3):
    """What a dry run counts per judge."""
    several = [sample(no=f"q{n}", question=f"Question {n}?") for n in range(samples)]
    suite = Suite("s", "custom", several, {"t": lambda given: "Paris"}, scorers)
    [found] = asyncio.run(estimate(suite))
    return {stage.stage: stage.calls for stage in found.stages}


def test_a_dry_run_counts_the_calls_of_each_judge():
    assert calls(
        GEval(NOWHERE, "written", "Kind?"),
        GEval(NOWHERE, "given", "Kind?", steps=("Read.",), weighting="samples", samples=7),
        Rubric(Judge(NOWHERE.model, repeats=2), "tone", levels={"1": "rude", "5": "kind"}),
        Guideline(NOWHERE, ("Is polite.", "Is short.")),
        Relevance(NOWHERE),
    ) == {"written": 1 + 3, "given": 3 * 7, "tone": 3 * 2, "guideline": 3, "relevance": 3}


def test_stored_replies_are_read_again_without_a_call_and_give_the_same_score():
    scorers = []

    def make(judge):
        scorers[:] = [GEval(judge, "coherence", "Does it hang together?")]
        return scorers

    def reply(asked):
        if "Do not rate anything yourself" in asked.prompt:
            return "1. Read it."
        return said("4", logprobs=[token("4", {"4": 0.5, "5": 0.5})])

    several = [sample(no=f"q{n}", question=f"Question {n}?") for n in range(5)]
    judgement = judged(make, several, reply, judge={"repeats": 2}, store="s.db")
    assert len(judgement.asked) == 1 + 5 * 2
    with Store("s.db") as store:
        again, damaged = rescore(store, store.run(judgement.run.id), scorers)
        assert damaged == 0
        scores = [record.scores[0] for record in again.records()]
    assert [(one.value, one.detail["how"]) for one in scores] == [(4.5, "probability-weighted")] * 5


@pytest.mark.parametrize(
    ("scorer", "option"),
    [
        (AnswerRelevancy(threshold=2), "threshold"),
        (ClaimFaithfulness(threshold=4), "threshold"),
        (ContextRecall(threshold=2), "threshold"),
        (Correctness(threshold=0.5), "threshold"),
        (Correctness(threshold=5.5), "threshold"),
        (Faithfulness(window_tokens=0), "window_tokens"),
        (ContextRelevance(window_tokens=1), "window_tokens"),
    ],
)
def test_a_threshold_off_the_scale_and_a_window_too_small_are_refused(scorer, option):
    with pytest.raises(ConfigError, match=option):
        check_options(scorer)
