"""Rows about a run: what each stage asked is counted with its records, and what a stopping rule decided is kept.

Scores rest on what the rule used, and scoring again adds a version.
"""

from dataclasses import replace

import pytest

from steelyard import ExactMatch, Output, Record, Reply, Sample, Score, Store, evaluate
from steelyard.analysis.model_calls import StageCost
from steelyard.analysis.stopping import Stopping, Used
from steelyard.evaluation.rescore import rescore
from steelyard.plain_json import json_value
from steelyard.stats.intervals import Interval
from steelyard.store import NewRun
from steelyard.store.run_rows import end_run
from steelyard.types import Failure, Usage

DECIDED = Stopping(
    "full", "exact_match", 0.5, 0.95, "", 10, 3, 2, "above", Interval(0.6, 1.0), ((3, 1.0, 0.6, 1.0),)
)  # fmt: skip

QUESTIONS = [Sample(f"q{n}", f"question {n}", reference) for n, reference in enumerate(("yes", "YES", "no"))]


def kept(used):
    samples = [Sample(f"s{n}", "?", "yes" if n in {1, 4, 9} else "no", group="ab"[n % 2]) for n in range(10)]
    run = evaluate(lambda sample: "yes", samples, [ExactMatch()])
    with Store() as store:
        store.writer.change(lambda batch: end_run(batch, run.num, "finished", "", 0.0, (DECIDED, used)))
        return store.run(run.id)


def test_scores_are_those_of_the_samples_that_were_used():
    run = kept(Used.of([1, 4, 9]))
    assert [row.sample for row in run.data().scores.rows()] == ["s1", "s4", "s9"]
    assert [row.value for row in run.data().scores.judged_rows("exact_match")] == [1.0, 1.0, 1.0]
    summary = run.summary()
    assert summary.stopping == DECIDED
    assert summary.stopping.saved == 5
    assert summary.score().headline.value == 1.0
    assert summary.score().n == 3
    assert summary.counts.done == 10
    assert json_value(summary)["stopping"]["interval"] == [0.6, 1.0]


def test_a_decision_on_all_of_them_leaves_none_out():
    run = kept(None)
    assert len(list(run.data().scores.rows())) == 10
    assert run.stopping == DECIDED


def test_rows_come_with_the_detail_that_the_scorer_kept():
    run = evaluate(lambda sample: "x", [Sample("a", "?", "x", cluster="c"), Sample("b", "?", "y")], [ExactMatch()])
    first, second = run.data().scores.judged_rows("exact_match")
    assert (first.sample, first.cluster, first.outcome, first.value) == ("a", "c", "scored", 1.0)
    assert dict(second.detail) == dict(next(iter([r for r in run.records() if r.sample.id == "b"])).scores[0].detail)
    assert list(run.data().scores.judged_rows("nothing")) == []


def test_a_failed_record_is_an_error_of_every_score():
    def target(sample):
        if sample.id == "a":
            raise ValueError("no")
        return "x"

    run = evaluate(target, [Sample("a", "?", "x"), Sample("b", "?", "x")], [ExactMatch()], max_errors=1)
    assert [row.outcome for row in run.data().scores.judged_rows("exact_match")] == ["error", "scored"]


def test_a_decision_on_the_whole_set_cannot_contradict_it():
    stopping = Stopping("full", "preference", 0.5, 0.95, "", 60, 60, 0, "below", Interval(0.4917, 0.4917))
    assert stopping.promise == "This holds for the whole set and says nothing beyond it."
    assert (
        replace(stopping, used=50).promise
        == "Stopping early gives another answer than all samples would in at most 5 % of runs."
    )
    assert replace(stopping, interval=Interval(0.41, 0.49)).promise.startswith("Stopping early gives")
    assert replace(stopping, question="population").promise.startswith("This rule makes a false claim")


def exact_match(sample, output):
    """Another verdict on two of three, with the same mean."""
    return {"q0": 0.0, "q1": 1.0, "q2": 0.0}[sample.id]


def test_verdicts_that_move_both_ways_are_counted_though_the_mean_stays(where):
    run = evaluate(lambda sample: "yes", QUESTIONS, [ExactMatch()], store=where)
    with Store(where) as store:
        before = store.run(run.id)
        now, _ = rescore(store, before, [exact_match])
        assert [version.summary().scores[0].answered.value for version in (before, now)] == [1 / 3, 1 / 3]
        assert now.changed_verdicts(before) == {"exact_match": 2}
        again, _ = rescore(store, now, [exact_match])
        assert again.changed_verdicts(now) == {}


def length(sample, output):
    return float(len(output.value))


def test_a_score_of_one_version_alone_is_changed_in_every_record(where):
    run = evaluate(lambda sample: "yes", QUESTIONS, [ExactMatch()], store=where)
    with Store(where) as store:
        before = store.run(run.id)
        now, _ = rescore(store, before, [length])
        assert now.changed_verdicts(before) == {"exact_match": 3, "length": 3}


STAGES = ["target", "correctness", "faithfulness"]


def reply(no, asked=10, answered=1, *, cached=False, estimated=False):
    return Reply(f"{no:020x}", "4", usage=Usage(asked, answered, estimated), cached=cached)


def record(no, replies, failure=None):
    scores = () if failure else (Score("correctness", 4.0),)
    return Record(Sample(str(no), "?"), Output("a"), scores, replies, failure)


def begin(store):
    manifest = {"stages": STAGES, "scores": ["correctness", "faithfulness"]}
    return store.begin_evaluation([NewRun("s", "custom", "t", 3, manifest)])[1][0]


def costs(store):
    return {stage.stage: stage for stage in store.run("t").summary().calls.stages}


@pytest.fixture
def store(where):
    with Store(where, create_missing=True) as opened:
        yield opened


def test_replies_and_tokens_are_counted_per_stage_and_add_up_to_the_run(store):
    writer = begin(store)
    asked = {"target": (reply(1, 100, 20),), "correctness": (reply(2, 7, 3), reply(3, 8, 2, cached=True))}
    writer.insert(0, record(0, asked))
    writer.insert(1, record(1, {"target": (reply(4, 50, 5),), "faithfulness": (reply(5, 9, 1, estimated=True),)}))
    writer.finish("finished", "", 1.0)
    summary = store.run("t").summary()
    assert summary.calls.stages == (
        StageCost("target", 2, 0, 150, 25, 0),
        StageCost("correctness", 2, 1, 15, 5, 0),
        StageCost("faithfulness", 1, 0, 9, 1, 1),
    )
    assert sum(stage.input_tokens for stage in summary.calls.stages) == summary.counts.input_tokens
    assert sum(stage.from_journal for stage in summary.calls.stages) == summary.counts.from_journal
    assert json_value(summary)["stages"][2] == {
        "stage": "faithfulness",
        "calls": 1,
        "from_journal": 0,
        "input_tokens": 9,
        "output_tokens": 1,
        "cached_tokens": 0,
        "cache_written": 0,
        "reasoning_tokens": 0,
        "saved": None,
        "read_again": 0,
        "estimated": 1,
        "money": None,
        "currency": "",
    }


def keep(store, replies):
    """Put replies into the journal, where a record that is replaced is looked up."""
    from steelyard.session.replies import pack_reply
    from steelyard.store.database import schema

    rows = [{"key": bytes.fromhex(reply.key), "body": pack_reply(reply)} for reply in replies]

    def change(batch):
        packed = [{**row, "body": batch.packer.pack("reply", row["body"])} for row in rows]
        batch.connection.insert_rows(schema.insert_into(schema.reply, ("key", "body")), packed)

    store.writer.change(change)


def test_a_record_that_is_replaced_takes_its_counts_with_it(store):
    first = {"target": (reply(1, 100, 20),), "correctness": (reply(2, 7, 3, estimated=True),)}
    keep(store, [value for several in first.values() for value in several])
    writer = begin(store)
    writer.insert(0, record(0, first, Failure("correctness", "server", "down")))
    writer.insert(1, record(1, {"target": (reply(3),)}))
    writer.finish("interrupted", "", 1.0)
    assert costs(store)["correctness"] == StageCost("correctness", 1, 0, 7, 3, 1)
    writer = store.reopen_run(store.run("t"), manifest={"stages": STAGES}, planned=3)
    again = {"target": (reply(1, 100, 20, cached=True),), "correctness": (reply(4, 70, 30),)}
    writer.insert(0, record(0, again), replaces=True)
    writer.finish("finished", "", 1.0)
    assert costs(store) == {
        "target": StageCost("target", 2, 1, 110, 21, 0),
        "correctness": StageCost("correctness", 1, 0, 70, 30, 0),
    }


def test_scoring_again_changes_no_cost(store):
    writer = begin(store)
    writer.insert(0, record(0, {"target": (reply(1),), "correctness": (reply(2),)}))
    writer.finish("finished", "", 1.0)
    before = costs(store)
    store.add_scoring_version(store.run("t"), {}, [(0, 0, [Score("correctness", 1.0)])])
    assert store.run("t").summary().score("correctness").answered.value == 1.0
    assert costs(store) == before


def test_a_score_that_no_record_has_has_no_histogram(store):
    infos = {"correctness": {"range": [1, 5], "histogram": True}, "gone": {"histogram": True}}
    manifest = {"stages": STAGES, "scores": ["correctness", "gone"], "score_infos": infos}
    writer = store.begin_evaluation([NewRun("s", "custom", "t", 1, manifest)])[1][0]
    writer.insert(0, record(0, {}))
    writer.finish("finished", "", 1.0)
    assert list(store.run("t").summary().details.spreads) == ["correctness"]
