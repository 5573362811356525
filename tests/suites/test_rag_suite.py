"""The rag suite: what is scored by default, whose judge is asked, and what a report is told to show."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from steelyard import Judge, Scripted, evaluate_suite
from steelyard.config.load import load
from steelyard.errors import ConfigError
from steelyard.suite.dry_run import estimate

ROWS = [
    {"id": "a", "question": "How high is it?", "answer": "1.25 m", "document": "x.md", "source": "It is 1.25 m high."},
    {"id": "b", "question": "Who reads it?", "answer": "Ann", "document": "y.md", "source": "The keeper reads it."},
    {"id": "c", "question": "Why?", "document": "y.md"},
]  # fmt: skip
SAID = [
    {"id": "a", "output": "It is 1.25 m.", "contexts": ["It is 1.25 m high."]},
    {"id": "b", "output": "The mayor.", "contexts": ["The keeper reads it."]},
    {"id": "c", "output": "Because.", "contexts": []},
]
JUDGE = """
judge:
  model:
    scripted:
      replies: {"1.25 m.": "5\\nYES 1. YES 2. YES", "mayor": "2\\nNO"}
      default: "3"
"""


@pytest.fixture
def configured(tmp_path):
    def configure(text="", rows=ROWS):
        for name, lines in (("q.jsonl", rows), ("said.jsonl", SAID)):
            (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        file = tmp_path / "rag.yaml"
        file.write_text(
            "suite: rag\nsamples: {file: q.jsonl}\ntargets: {old: {replay: said.jsonl}}\n" + text, encoding="utf-8"
        )
        return load(file, environ=os.environ).suite

    return configure


def names(suite):
    return [type(scorer).__name__ for scorer in suite.scorers]


def test_without_a_judge_words_and_retrieval_are_scored(configured):
    suite = configured()
    assert names(suite) == ["TokenF1", "RougeL", "Retrieval"]
    assert suite.crossed == ()
    assert suite.breakdowns == ("document",)


def test_questions_without_sources_have_no_retrieval_scores(configured):
    assert names(configured(rows=[{"question": "Who?", "answer": "Ann"}])) == ["TokenF1", "RougeL"]


def test_a_suites_judge_serves_every_scorer_without_one_of_its_own(configured):
    suite = configured(JUDGE)
    assert names(suite) == ["Correctness", "Faithfulness", "AnswerRelevancy", "TokenF1", "RougeL", "Retrieval"]
    assert suite.crossed == (("correct", "faithfulness"),)
    assert all(scorer.judge == suite.scorers[0].judge for scorer in suite.scorers[:3])
    own = configured(
        JUDGE + "scorers:\n  - correctness: {judge: {model: {scripted: {default: '4'}}}}\n  - faithfulness\n"
    )
    assert own.scorers[0].judge == Judge(Scripted({}, default="4"))
    assert own.scorers[1].judge.model.default == "3"


def test_a_scorer_that_wants_a_judge_and_has_none_is_refused_when_the_configuration_is_checked(configured):
    with pytest.raises(ConfigError, match="faithfulness: it asks a model and has none") as refused:
        configured("scorers: [token_f1, faithfulness]\n")
    assert (refused.value.place.line, refused.value.place.column) == (4, 10)


def test_a_headline_that_no_scorer_gives_is_refused_when_the_configuration_is_checked(configured):
    with pytest.raises(ConfigError, match="there is no score 'token_f': did you mean 'token_f1'"):
        configured("scorers: [rouge_l, token_f1]\nprimary: token_f\n")
    assert configured("scorers: [rouge_l, token_f1]\nprimary: token_f1\n").primary == "token_f1"


def test_stored_outputs_are_judged_and_crossed(configured):
    (run,) = evaluate_suite(configured(JUDGE + "scorers: [correctness, faithfulness, retrieval]\n"))
    summary = run.summary()
    assert summary.primary == "correctness"
    assert summary.score("correctness").not_applicable == 1
    assert summary.score("hit_rate").scored == 2
    assert {stage.stage for stage in summary.stages if stage.calls} == {"correctness", "faithfulness"}
    (cross,) = summary.crosses
    assert (cross.rows_score, cross.columns_score) == ("correct", "faithfulness")


def test_a_dry_run_counts_the_calls_of_each_judge(configured):
    (found,) = asyncio.run(estimate(configured(JUDGE + "scorers: [correctness, faithfulness, context_relevance]\n")))
    assert {one.stage: one.calls for one in found.stages} == {
        "correctness": 2,
        "faithfulness": 2,
        "context_relevance": 2,
    }
