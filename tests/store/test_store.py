"""The store: its runs, their counters, scoring versions and names, read at any moment."""

import asyncio
import json

import pytest

from steelyard import ConfigError, ExactMatch, Output, Record, Reply, Sample, Score, Store, evaluate
from steelyard.errors import StoreError
from steelyard.session.replies import pack_reply
from steelyard.store import NewRun
from steelyard.store.store import named_together, new_id
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
        writer.insert(0, record(0))
        store.writer.change(lambda batch: None)
        reading = Store(where).run(writer.run.id)
        assert (reading.state, reading.done, reading.planned) == ("running", 1, 2)
        assert [one.sample.id for one in reading.records()] == ["q0"]
        assert reading.summary().scores[0].answered.value == 1.0
        writer.insert(1, record(1, 0.0))
        writer.finish("finished", "", 2.5)
        again = reading.refresh()
        assert (again.state, again.done, again.seconds) == ("finished", 2, 2.5)


def test_a_reader_sees_one_moment_though_the_writer_goes_on(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new(planned=900)])[1][0]
        for n in range(700):
            writer.insert(n, record(n))
        store.writer.change(lambda batch: None)
        reading = Store(where).run(writer.run.id).records()
        seen = [next(reading).sample.id]
        for n in range(700, 900):
            writer.insert(n, record(n))
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
    row = run.row
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
        writer.insert(0, record(0, replies=asked[:1]))
        writer.insert(1, record(1, failure=FAILED, replies=asked[1:]))
        writer.insert(2, record(2, failure=FAILED))
        writer.finish("broken", "2 errors", 1)
        assert counters(writer.run) == (3, 2, 3, 1, 90, 6)
        writer = store.reopen_run(writer.run.refresh(), manifest=MANIFEST, planned=3)
        writer.insert(1, record(1, replies=[reply(2, cached=True, tokens=(30, 2))]), replaces=True)
        store.writer.change(lambda batch: None)
        assert counters(writer.run) == (3, 1, 2, 1, 50, 3)
        writer.insert(2, record(2, failure=FAILED, replies=asked[2:]), replaces=True)
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


def test_scoring_again_makes_a_version_and_keeps_the_older_ones(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new(planned=2)])[1][0]
        writer.insert(0, record(0, 0.0))
        writer.insert(1, record(1, 1.0))
        writer.finish("finished", "", 1)
        run = store.run(writer.run.id)
        for value in (0.25, 0.5):
            run = store.add_scoring_version(run, {}, [(0, 0, [Score("s", value)]), (1, 0, [Score("s", value)])])
            assert run.summary().scores[0].answered.value == value
        assert run.scoring_version == 2
        with store.reading() as connection:
            rows = connection.execute("SELECT layer, sum(value) FROM score GROUP BY layer ORDER BY layer").all()
        assert [tuple(row) for row in rows] == [(0, 1.0), (1, 0.5), (2, 1.0)]


def test_a_resume_of_a_run_that_was_scored_again_reads_the_scores_it_makes(where):
    with opened(where) as store:
        writer = store.begin_evaluation([new(planned=2)])[1][0]
        writer.insert(0, record(0, 1.0))
        writer.finish("interrupted", "", 1)
        run = store.add_scoring_version(store.run(writer.run.id), {}, [(0, 0, [Score("s", 0.0)])])
        assert run.scoring_version == 1
        writer = store.reopen_run(run, manifest=MANIFEST, planned=2)
        writer.insert(1, record(1, 1.0))
        writer.finish("finished", "", 1)
        run = store.run(writer.run.id)
        assert [[score.value for score in one.scores] for one in run.records()] == [[1.0], [1.0]]
        assert store.add_scoring_version(run, {}, [(0, 0, [Score("s", 0.5)])]).scoring_version == 2


def test_what_is_handed_over_after_the_end_is_refused_and_nobody_hangs(where):
    with opened(where) as store:
        evaluation, (writer,) = store.begin_evaluation([new()])
        journal = store.journal(evaluation)
    with pytest.raises(StoreError, match="closed"):
        writer.insert(0, record(0))
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
        Sample(f"q{n}", f"Which trigram stands above in hexagram {n}?", "A", ("Heaven", "Earth")) for n in range(1000)
    ]
    run = evaluate(
        lambda sample: f"I think it is option A, since {sample.id} says so.", samples, [ExactMatch()], store=where
    )
    found = list(Store(where).run(run.id).records())
    assert [one.sample for one in found] == samples
    assert found[999].output.value == "I think it is option A, since q999 says so."
    with Store(where).reading() as connection:
        kinds = connection.execute("SELECT kind, count(*) FROM dictionary GROUP BY kind").all()
        stored = connection.execute("SELECT avg(length(body)) FROM sample").scalar()
    assert {count for _, count in kinds} == {1}
    assert stored < 30


class Row:
    """A row of the table of runs; each is newer than the one behind it."""

    def __init__(self, ident, target, suite="exam", *, kind="choice", evaluation=0, config=None):
        self.id, self.target, self.suite, self.kind, self.evaluation = ident, target, suite, kind, evaluation
        self.manifest = json.dumps({"config": config and {"path": f"/home/{ident}/{config}"}})
        self.created, self.done, self.planned, self.errors = 1_800_000_000.0, 3, 4, 1
        self.num = -1

    @staticmethod
    def in_order(*rows):
        for num, row in enumerate(reversed(rows)):
            row.num = num
        return rows


def meant(name, rows, **options):
    return named_together([name], rows, **options)[0].row


def test_a_name_means_an_id_its_beginning_a_target_or_the_latest():
    rows = Row.in_order(Row("abc234", "glm"), Row("abd567", "glm"), Row("xyz789", "qwen"), Row("qwerty", "abc"))
    for name, ident in {
        "abc234": "abc234", "abc2": "abc234", "x": "xyz789", "glm": "abc234", "qwen": "xyz789", "latest": "abc234",
        "exam/qwen": "xyz789",
    }.items():  # fmt: skip
        assert meant(name, rows).id == ident
    assert meant("abc", rows).id == "qwerty"
    for name, said_so in {
        "ab": "'ab' is the beginning of several ids:\n  abc234 .*\n  abd567 ",
        "glm4": "there is no run 'glm4': did you mean 'glm'",
        "exm/glm": "did you mean 'exam/glm'",
        "": "there is no run ''",
    }.items():
        with pytest.raises(ConfigError, match=said_so):
            meant(name, rows)
    with pytest.raises(ConfigError, match="the store holds no runs"):
        meant("x", [])


def test_a_name_that_two_suites_share_is_refused_with_the_list():
    rows = Row.in_order(Row("aaaaaa", "glm"), Row("bbbbbb", "glm", "law"), Row("cccccc", "glm"), Row("dddddd", "kb"))
    with pytest.raises(ConfigError) as refused:
        meant("glm", rows)
    assert str(refused.value).splitlines() == [
        "'glm' is a target of 2 suites; which run is meant?",
        "  aaaaaa  exam/glm  2027-01-15 08:00 UTC  3/4 done, 1 error",
        "  bbbbbb  law/glm  2027-01-15 08:00 UTC  3/4 done, 1 error",
        "  cccccc  exam/glm  2027-01-15 08:00 UTC  3/4 done, 1 error",
        "type its id, or the suite before it, such as exam/glm",
    ]
    spaced = Row.in_order(Row("aaaaaa", "glm", "Mid term"), Row("bbbbbb", "glm", "law"))
    with pytest.raises(ConfigError, match=r"such as 'Mid term/glm'$"):
        meant("glm", spaced)
    assert meant("law/glm", rows).id == "bbbbbb"
    assert meant("exam/glm", rows).id == "aaaaaa"
    # The other name has runs in one suite alone, so it is clear which is meant.
    assert [one.row.id for one in named_together(["glm", "kb"], rows)] == ["aaaaaa", "dddddd"]
    with pytest.raises(ConfigError, match="a target of 2 suites"):
        named_together(["glm", "glm"], rows)


@pytest.mark.parametrize(
    "other",
    [Row("bbbbbb", "glm", kind="rag"), Row("bbbbbb", "glm", config="law.yaml")],
    ids=["another kind of suite", "another configuration"],
)
def test_suites_of_one_title_are_told_apart_by_ids(other):
    rows = Row.in_order(Row("aaaaaa", "glm", config="exam.yaml"), other)
    for name in ("glm", "exam/glm"):
        with pytest.raises(ConfigError, match=r"(?s)which run is meant\?\n  aaaaaa .*  bbbbbb .*\ntype its id$"):
            meant(name, rows)
    assert meant("bbb", rows).id == "bbbbbb"


def test_a_configuration_that_has_moved_is_the_same():
    rows = Row.in_order(Row("aaaaaa", "glm", config="exam.yaml"), Row("bbbbbb", "glm", config="exam.yaml"))
    assert meant("glm", rows).id == "aaaaaa"
    with pytest.raises(ConfigError, match="is the target of 2 runs; which is meant"):
        meant("glm", rows, unique=True)


def test_names_together_mean_runs_that_were_started_together_and_the_choice_is_said():
    rows = Row.in_order(
        Row("aaaaaa", "glm", evaluation=3),
        Row("bbbbbb", "glm", evaluation=2), Row("cccccc", "kb", evaluation=2),
        Row("dddddd", "glm", evaluation=1), Row("eeeeee", "kb", evaluation=1),
    )  # fmt: skip
    found = named_together(["glm", "kb"], rows)
    assert [one.row.id for one in found] == ["bbbbbb", "cccccc"]
    assert found[0].choice == (
        "glm: run bbbbbb of 2027-01-15 08:00 UTC, one of 3 in suite exam (1 is newer): it was started together with "
        "the others"
    )
    assert found[1].choice == "kb: run cccccc of 2027-01-15 08:00 UTC, the newest of 2 in suite exam"
    # An id is a run of its own, such as last week's, and draws nothing to it.
    assert [one.row.id for one in named_together(["dddd", "glm"], rows)] == ["dddddd", "aaaaaa"]
    assert [one.row.id for one in named_together(["glm", "latest"], rows)] == ["aaaaaa", "aaaaaa"]
    assert meant("glm", rows).id == "aaaaaa"
    assert named_together(["eeeeee"], rows)[0].choice == ""


def test_ids_are_short_and_differ():
    ids = {new_id() for _ in range(2000)}
    assert len(ids) == 2000
    assert {len(one) for one in ids} == {6}
    assert not set("".join(ids)) & set("01loi")
