"""Scoring again gives what the run gave: every scorer of the package, alone and for each turn, without a call."""

import itertools
import json
from dataclasses import dataclass, field

import pytest

from steelyard import Judge, Output, Sample, Suite, evaluate_suite
from steelyard.evaluation.rescore import rescore
from steelyard.models.base import Answer, Request
from steelyard.registry import find, names
from steelyard.runner import stage_info
from steelyard.scorers import Contains, ErrorJudge, ExactMatch, Guideline, PerTurn
from steelyard.scorers.judges.judge import judged_by
from steelyard.store import Store
from steelyard.targets import Pair
from steelyard.types import Reply

OPTIONS = {
    "regex": {"pattern": "a"},
    "json_schema": {"schema": {"type": "object"}},
    "g_eval": {"name": "clear", "criteria": "Is it clear?", "threshold": 3},
    "rubric": {"name": "tone", "levels": {"1": "curt", "4": "warm"}, "threshold": 4},
    "guideline": {"guidelines": ("Names its sources.", "Is short.")},
    "error_code": {"name": "no date", "definition": "The answer gives no date."},
    "error_pattern": {"name": "no date", "pattern": r"\d{4}"},
    "choice": {"also_scored": ("last_letter",)},
    "forbidden_tools": {"tools": ("delete_*",)},
    "all_of": {"scorers": (Contains(), Guideline(guidelines=("Is short.",)))},
    "any_of": {"scorers": (ExactMatch(), Guideline(guidelines=("Is short.",)))},
    "length": {"max": 5},
    "not": {"scorer": Guideline(guidelines=("Is short.",))},
    "python_test": {"test": "assert True"},
    "per_turn": {"scorer": ErrorJudge(name="tone", definition="The answer is rude.")},
}
NAMES = sorted({*names("scorer")} - {"command", "function", "human_preference", "json_fields", "similarity"})
"""All but those of which other tests score again: votes in a file, code of the user, embeddings, and fields, which need
objects as references."""
REPLIES = (
    "Rating: 4",
    "YES",
    "1. YES\n2. NO",
    "It is wrong.\n[[A]]",
    "I cannot say.",
    "",
    '{"rating": 2}',
    "1. NO\n2. YES",
)
ANSWERS = (
    "B",
    "The answer is 5 [2].",
    "SELECT name FROM staff",
    '{"a": 1}',
    '[["Ada"]]',
    "Paris is the capital of France.",
    "",
)
REFERENCES = ("B", "5", "SELECT name FROM staff", {"a": 1}, [["Ada"]], "Paris", None)
SCHEMA = "CREATE TABLE staff (name TEXT); INSERT INTO staff VALUES ('Ada');"


@dataclass(frozen=True)
class JudgeModel:
    """A model whose replies depend on the prompt and on how often it was called before, and that counts its calls."""

    calls: list = field(default_factory=list, compare=False)
    name: str = "judge"

    def request(self, messages, parameters):
        body = json.dumps([messages, parameters], sort_keys=True).encode()
        return Request("test:", "test:", body)

    async def send(self, request, wire):
        self.calls.append(request)
        reply = REPLIES[(len(request.payload) + len(self.calls)) % len(REPLIES)]
        return Answer(200, {}, reply.encode())

    def read(self, answer):
        return Reply("", answer.body.decode())


def samples():
    metadata = {"schema": SCHEMA, "db_id": "", "turn_references": ["a", "b"], "tools": ["search"]}
    return [
        Sample(
            f"q{no}",
            f"Question {no}?",
            reference,
            choices=("x", "y"),
            contexts=("Paris is a city.",),
            metadata=metadata,
        )
        for no, reference in enumerate(REFERENCES)
    ]


def answers(sample):
    """Answers of all kinds, with passages; every third is a conversation with a call of a tool."""
    no = int(sample.id[1:])
    contexts = ("Paris is the capital.", "Ada works here.")[: no % 3]
    if no % 3 != 2:
        return Output(ANSWERS[no], contexts, {"sources": [f"s{no}"]})
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": sample.input},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        {"role": "assistant", "content": ANSWERS[no]},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "a"},
    ]
    return Output("a", contexts, {"messages": messages, "conversation": {"turns": 2}})


def run_and_score_again(scorer):
    """The scores of every record, of the run and of scoring it again; and the calls of both."""
    model = JudgeModel()
    if getattr(scorer, "judge", None) is not None:
        scorer = judged_by(scorer, Judge(model, repeats=2))
    targets, of_pair = {"one": answers}, {}
    if stage_info(scorer).compares_pairs:
        targets = {"one": answers, "two": lambda sample: f"{sample.id} a", "pair": Pair("one", "two")}
        of_pair = {"one": (), "two": (), "pair": (scorer,)}
    suite = Suite(
        "S", "pairwise" if of_pair else "custom", samples(), targets, () if of_pair else (scorer,), scorers_of=of_pair
    )
    run = evaluate_suite(suite, store="s.db", max_errors=1.0)[-1]
    asked = len(model.calls)
    with Store("s.db") as store:
        again, damaged = rescore(store, store.run(run.id), [scorer])
        return scores_of(run), scores_of(again), asked, len(model.calls), damaged


def scores_of(run):
    return {record.sample.id: record.scores for record in run.records()}


def check(scorer):
    before, again, asked, calls, damaged = run_and_score_again(scorer)
    assert again == before
    assert calls == asked
    assert damaged == 0
    return before


@pytest.mark.parametrize("name", NAMES)
def test_a_scorer_gives_the_same_scores_again_and_calls_nobody(name):
    scores = check(find("scorer", name)(**OPTIONS.get(name, {})))
    assert any(itertools.chain.from_iterable(scores.values())), "nothing was scored, so nothing is shown"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "per_turn"])
def test_so_does_a_scorer_of_turns_over_it(name):
    scorer = find("scorer", name)(**OPTIONS.get(name, {}))
    if not stage_info(scorer).compares_pairs:
        scores = check(PerTurn(scorer))
        assert len(scores["q2"]) >= 1
