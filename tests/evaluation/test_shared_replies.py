"""Which replies two runs are said to share: answers, and not what was asked on the way to them."""

from __future__ import annotations

from steelyard import ExactMatch, Sample, Scripted, compare
from steelyard.evaluation import Suite, evaluate_suite

SAMPLES = [Sample("fr", "France?", "Paris"), Sample("it", "Italy?", "Rome")]
EMBEDDED = Scripted({}, default="[0.1, 0.2]")


def engine(say):
    async def target(sample, ask):
        await ask(EMBEDDED, f"embed {sample.input}")
        return (await ask(Scripted({}, default=say), f"answer {sample.input}")).text

    return target


def test_a_shared_embedding_is_no_shared_answer():
    runs = evaluate_suite(Suite("s", "custom", SAMPLES, {"a": engine("Paris"), "b": engine("Rome")}, (ExactMatch(),)))
    (pair,) = compare(*runs).pairs
    assert [entry for entry in pair.warnings if "stored reply" in entry] == []


def test_a_shared_answer_is_told():
    runs = evaluate_suite(Suite("s", "custom", SAMPLES, {"a": engine("Paris"), "b": engine("Paris")}, (ExactMatch(),)))
    (pair,) = compare(*runs).pairs
    assert [entry for entry in pair.warnings if "For 2 samples both runs used the same stored reply" in entry]
