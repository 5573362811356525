"""The store: which run a name means, its counters and its layers, read at any moment."""

import asyncio

import pytest

from steelyard import (
    ConfigError,
    ExactMatch,
    Output,
    Record,
    Reply,
    Sample,
    Score,
    Store,
    StoreError,
    evaluate,
)
from steelyard.session.replies import pack_reply
from steelyard.store import NewRun
from steelyard.store.names import meant, new_id
from steelyard.types import Failure, Usage

MANIFEST = {"stages": ["target", "judge"], "scores": ["s"], "over": {}, "primary": "s", "tags": {}, "draw": ""}


def new(target="t", planned=3):
    return NewRun("suite", "custom", target, planned, MANIFEST)


def record(n, value=1.0, failure=None, replies=()):
    scores = () if failure else (Score("s", value),)
    asked = {"target": tuple(replies)} if replies else {}
    return Record(Sample(f"q{n}", f"question {n}"), Output("A"), scores, asked, failure)


def opened(where):
    return Store(where, create_missing=True)


FAILED = Failure("target", "ValueError", "no")


def test_a_name_means_an_id_its_beginning_a_target_or_the_latest():
    class Row:
        def __init__(self, ident, target):
            self.id, self.target = ident, target

    rows = [Row("abc234", "glm"), Row("abd567", "glm"), Row("xyz789", "qwen"), Row("qwerty", "abc")]
    for name, ident in {"abc234": "abc234", "abc2": "abc234", "x": "xyz789", "glm": "abc234", "qwen": "xyz789"}.items():
        assert meant(name, rows).id == ident
    assert meant("abc", rows).id == "qwerty"
    for name, said_so in {
        "ab": "'ab' may be any of abc234, abd567",
        "glm4": "there is no run 'glm4': did you mean 'glm'",
        "": "there is no run ''",
    }.items():
        with pytest.raises(ConfigError, match=said_so):
            meant(name, rows)
    with pytest.raises(ConfigError, match="the store holds no runs"):
        meant("x", [])


def test_ids_are_short_and_differ():
    ids = {new_id() for _ in range(2000)}
    assert len(ids) == 2000
    assert {len(one) for one in ids} == {6}
    assert not set("".join(ids)) & set("01loi")


def test_runs_are_listed_newest_first_and_latest_is_the_newest(where):
    with opened(where) as store:
        evaluation, writers = store.begin_evaluation([new(name) for name in ("a", "b", "c")])
        ids = [writer.run.id for writer in writers]
        assert [run.id for run in store.runs()] == ids[::-1]
        assert [run.target for run in store.runs_of(evaluation)] == ["a", "b", "c"]
        assert store.run("latest").id == ids[-1]
        assert store.run("b").id == ids[1]


def test_a_store_is_readable_while_it_is_written(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new(planned=2)])[1][0]
        writer.put(0, record(0))
        store.writer.change(lambda batch: None)
        reading = Store(where).run(writer.run.id)
        assert (reading.state, reading.done, reading.planned) == ("running", 1, 2)
        assert [one.sample.id for one in reading.records()] == ["q0"]
        assert reading.summary().scores[0].answered.value == 1.0
        writer.put(1, record(1, 0.0))
        writer.finish("finished", "", 2.5)
        again = reading.refresh()
        assert (again.state, again.done, again.seconds) == ("finished", 2, 2.5)


def test_a_reader_sees_one_moment_though_the_writer_goes_on(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new(planned=900)])[1][0]
        for n in range(700):
            writer.put(n, record(n))
        store.writer.change(lambda batch: None)
        reading = Store(where).run(writer.run.id).records()
        seen = [next(reading).sample.id]
        for n in range(700, 900):
            writer.put(n, record(n))
        writer.finish("finished", "", 1)
        seen += [one.sample.id for one in reading]
    assert seen == [f"q{n}" for n in range(700)]


def test_a_run_that_nobody_writes_any_more_is_interrupted(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new()])[1][0]
        assert writer.run.refresh().state == "running"
        writer.abandon()
        assert writer.run.refresh().state == "interrupted"


def counters(run):
    run = run.refresh()
    row = run._row
    return run.done, run.errors, run.replies, run.from_journal, row.input_tokens, row.output_tokens


def reply(n, *, cached=False, tokens=(20, 1)):
    return Reply(f"{n:020x}", "A", usage=Usage(*tokens), cached=cached)


async def journalled(store, *replies):
    journal = store.journal(1)
    for one in replies:
        await journal.commit(bytes.fromhex(one.key), pack_reply(one))


def test_counters_hold_what_the_records_of_the_run_hold_also_when_failed_ones_are_replaced(where):
    asked = [reply(1), reply(2, cached=True, tokens=(30, 2)), reply(3, tokens=(40, 3))]
    with opened(where) as store:
        _, (writer,) = store.begin_evaluation([new()])
        asyncio.run(journalled(store, *asked))
        writer.put(0, record(0, replies=asked[:1]))
        writer.put(1, record(1, failure=FAILED, replies=asked[1:]))
        writer.put(2, record(2, failure=FAILED))
        writer.finish("broken", "2 errors", 1)
        assert counters(writer.run) == (3, 2, 3, 1, 90, 6)
        writer = store.reopen_run(writer.run.refresh(), manifest=MANIFEST, planned=3)
        writer.put(1, record(1, replies=[reply(2, cached=True, tokens=(30, 2))]), replaces=True)
        store.writer.change(lambda batch: None)
        assert counters(writer.run) == (3, 1, 2, 1, 50, 3)
        writer.put(2, record(2, failure=FAILED, replies=asked[2:]), replaces=True)
        writer.finish("broken", "1 error", 1)
        assert counters(writer.run) == (3, 1, 3, 1, 90, 6)
        found = list(store.run(writer.run.id).records())
    assert [one.failure is None for one in found] == [True, True, False]
    assert [[r.cached for r in one.replies.get("target", ())] for one in found] == [[False], [True], [False]]


def test_a_finished_run_is_not_opened_again(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new()])[1][0]
        stale = writer.run
        writer.finish("finished", "", 1)
        with pytest.raises(ConfigError, match="is finished: there is nothing to resume"):
            store.reopen_run(stale, manifest=MANIFEST, planned=3)
        assert store.run(stale.id).state == "finished"


def test_scoring_again_makes_a_layer_and_keeps_the_older_ones(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new(planned=2)])[1][0]
        writer.put(0, record(0, 0.0))
        writer.put(1, record(1, 1.0))
        writer.finish("finished", "", 1)
        run = store.run(writer.run.id)
        for value in (0.25, 0.5):
            run = store.add_layer(run, {}, iter([(0, 0, [Score("s", value)]), (1, 0, [Score("s", value)])]))
            assert run.summary().scores[0].answered.value == value
        assert run.layer == 2
        with store.reading() as connection:
            rows = connection.exec_driver_sql("SELECT layer, sum(value) FROM score GROUP BY layer ORDER BY layer").all()
        assert [tuple(row) for row in rows] == [(0, 1.0), (1, 0.5), (2, 1.0)]


def test_a_resume_of_a_run_that_was_scored_again_reads_the_scores_it_makes(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new(planned=2)])[1][0]
        writer.put(0, record(0, 1.0))
        writer.finish("interrupted", "", 1)
        run = store.add_layer(store.run(writer.run.id), {}, iter([(0, 0, [Score("s", 0.0)])]))
        assert run.layer == 1
        writer = store.reopen_run(run, manifest=MANIFEST, planned=2)
        writer.put(1, record(1, 1.0))
        writer.finish("finished", "", 1)
        run = store.run(writer.run.id)
        assert [[score.value for score in one.scores] for one in run.records()] == [[1.0], [1.0]]
        assert store.add_layer(run, {}, iter([(0, 0, [Score("s", 0.5)])])).layer == 2


def test_what_is_handed_over_after_the_end_is_refused_and_nobody_hangs(where):
    with opened(where) as store:
        evaluation, (writer,) = store.begin_evaluation([new()])
        journal = store.journal(evaluation)
    with pytest.raises(StoreError, match="closed"):
        writer.put(0, record(0))
    with pytest.raises(StoreError, match="closed"):
        writer.finish("finished", "", 1)
    with pytest.raises(StoreError, match="closed"):
        journal.correct(1, 1)


def test_a_reason_may_quote_anything(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new()])[1][0]
        writer.finish("broken", "half a pair: \ud800 and a nul: \0", 1)
        assert store.run(writer.run.id).reason.startswith("half a pair: ? and a nul: \0")


def test_thousands_of_small_bodies_share_a_dictionary_and_come_back_after_reopening(where):
    samples = [
        Sample(f"q{n}", f"Which trigram stands above in hexagram {n}?", "A", ("Heaven", "Earth")) for n in range(3000)
    ]
    run = evaluate(
        lambda sample: f"I think it is option A, since {sample.id} says so.", samples, [ExactMatch()], store=where
    )
    found = list(Store(where).run(run.id).records())
    assert [one.sample for one in found] == samples
    assert found[2999].output.value == "I think it is option A, since q2999 says so."
    with Store(where).reading() as connection:
        kinds = connection.exec_driver_sql("SELECT kind, count(*) FROM dictionary GROUP BY kind").all()
        stored = connection.exec_driver_sql("SELECT avg(length(body)) FROM sample").scalar_one()
    assert {count for _, count in kinds} == {1}
    assert stored < 30
