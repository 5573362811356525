"""What each stage of a run asked is counted with the records, whatever happens to them."""

import pytest
from tests.store.outside import execute

from steelyard import Failure, Output, Record, Reply, Sample, Score, Store
from steelyard.store import NewRun
from steelyard.summary import StageCost
from steelyard.types import Usage

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
    return {one.stage: one for one in store.run("t").summary().stages}


@pytest.fixture
def store(where):
    with Store(where, create_missing=True) as opened:
        yield opened


def test_replies_and_tokens_are_counted_per_stage_and_add_up_to_the_run(store):
    writer = begin(store)
    asked = {"target": (reply(1, 100, 20),), "correctness": (reply(2, 7, 3), reply(3, 8, 2, cached=True))}
    writer.put(0, record(0, asked))
    writer.put(1, record(1, {"target": (reply(4, 50, 5),), "faithfulness": (reply(5, 9, 1, estimated=True),)}))
    writer.finish("finished", "", 1.0)
    summary = store.run("t").summary()
    assert summary.stages == (
        StageCost("target", 2, 0, 150, 25, 0),
        StageCost("correctness", 2, 1, 15, 5, 0),
        StageCost("faithfulness", 1, 0, 9, 1, 1),
    )
    assert sum(one.input_tokens for one in summary.stages) == summary.input_tokens
    assert sum(one.from_journal for one in summary.stages) == summary.from_journal
    assert summary.to_json()["stages"][2] == {
        "stage": "faithfulness",
        "calls": 1,
        "from_journal": 0,
        "input_tokens": 9,
        "output_tokens": 1,
        "estimated": 1,
        "money": None,
        "currency": "",
    }


def keep(store, replies):
    """Put replies into the journal, where a record that is replaced is looked up."""
    from steelyard.session.replies import pack_reply
    from steelyard.store import schema

    rows = [{"key": bytes.fromhex(one.key), "body": pack_reply(one)} for one in replies]

    def change(batch):
        packed = [{**row, "body": batch.packer.pack("reply", row["body"])} for row in rows]
        batch.connection.execute(schema.reply.insert(), packed)

    store.writer.change(change)


def test_a_record_that_is_replaced_takes_its_counts_with_it(store):
    first = {"target": (reply(1, 100, 20),), "correctness": (reply(2, 7, 3, estimated=True),)}
    keep(store, [one for several in first.values() for one in several])
    writer = begin(store)
    writer.put(0, record(0, first, Failure("correctness", "server", "down")))
    writer.put(1, record(1, {"target": (reply(3),)}))
    writer.finish("interrupted", "", 1.0)
    assert costs(store)["correctness"] == StageCost("correctness", 1, 0, 7, 3, 1)
    writer = store.reopen_run(store.run("t"), manifest={"stages": STAGES}, planned=3)
    again = {"target": (reply(1, 100, 20, cached=True),), "correctness": (reply(4, 70, 30),)}
    writer.put(0, record(0, again), replaces=True)
    writer.finish("finished", "", 1.0)
    assert costs(store) == {
        "target": StageCost("target", 2, 1, 110, 21, 0),
        "correctness": StageCost("correctness", 1, 0, 70, 30, 0),
    }


def without_stages(where):
    """Make the store what an earlier version left."""
    execute(where, "DROP TABLE stage")


def test_an_older_store_is_read_as_one_without_stages_and_counts_them_once_it_is_written(where):
    with Store(where, create_missing=True) as store:
        writer = begin(store)
        writer.put(0, record(0, {"target": (reply(1),), "correctness": (reply(2),)}))
        writer.finish("finished", "", 1.0)
    without_stages(where)
    with Store(where) as store:
        assert store.run("t").summary().stages == ()
        writer = begin(store)
        writer.put(0, record(0, {"target": (reply(1),), "correctness": (reply(2),)}))
        writer.finish("finished", "", 1.0)
        assert [one.stage for one in store.run("t").summary().stages] == ["target", "correctness"]


def test_a_run_whose_beginning_was_not_counted_shows_no_part_as_the_whole(where):
    with Store(where, create_missing=True) as store:
        writer = begin(store)
        writer.put(0, record(0, {"target": (reply(1),)}))
        writer.finish("interrupted", "", 1.0)
    without_stages(where)
    with Store(where) as store:
        writer = store.reopen_run(store.run("t"), manifest={"stages": STAGES}, planned=3)
        writer.put(1, record(1, {"target": (reply(2),), "correctness": (reply(3),)}))
        writer.finish("finished", "", 1.0)
        run = store.run("t")
        assert run.replies == 3
        assert run.summary().stages == ()


def test_scoring_again_changes_no_cost(store):
    writer = begin(store)
    writer.put(0, record(0, {"target": (reply(1),), "correctness": (reply(2),)}))
    writer.finish("finished", "", 1.0)
    before = costs(store)
    store.add_layer(store.run("t"), {}, iter([(0, 0, [Score("correctness", 1.0)])]))
    assert store.run("t").summary().score("correctness").answered.value == 1.0
    assert costs(store) == before


def test_a_score_that_no_record_has_has_no_histogram(store):
    manifest = {"stages": STAGES, "scores": ["correctness", "gone"], "spreads": ["correctness", "gone"]}
    manifest |= {"scales": {"correctness": [1, 5]}}
    writer = store.begin_evaluation([NewRun("s", "custom", "t", 1, manifest)])[1][0]
    writer.put(0, record(0, {}))
    writer.finish("finished", "", 1.0)
    assert list(store.run("t").summary().spreads) == ["correctness"]
