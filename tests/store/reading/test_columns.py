"""The columns of a run hold what its records hold, on both databases."""

from itertools import groupby

import pytest
from tests.store.exam_run import exam_runs, question
from tests.store.outside import execute

from steelyard import ExactMatch, Sample, Store, evaluate
from steelyard.analysis.scores.score_columns import Answered
from steelyard.errors import StoreError
from steelyard.store.delete import delete_runs
from steelyard.store.reading import columns as store_columns

BROKEN = RuntimeError("no")
REPLIES = ["says A", "says B", "A or B", "no", BROKEN, "maybe A", "mumbles", "says A", BROKEN]


def rows_of(run):
    """The run's rows, each with what was kept of letters."""
    return by_name((*row[:7], Answered.of(row.detail)) for row in run.data().scores.rows())


def by_name(rows):
    """The scores of each record, which stand together, in the order of their names."""
    records = groupby(rows, key=lambda row: row[:4])
    return [row for _, of_record in records for row in sorted(of_record, key=lambda row: row[4])]


def expected(run):
    """The same from the records one by one; of scores that are no exam's nothing is kept."""
    return by_name(row for record in run.records() for row in expected_of(run, record))


def expected_of(run, record):
    head = (record.sample.id, record.sample.group, record.sample.cluster, record.repeat)
    for score in record.scores:
        kept = Answered.of(score.detail) if score.name == "solve_rate" else Answered()
        yield *head, score.name, score.outcome, score.value, kept
    if record.failure is not None:
        missing = [name for name in run.manifest["scores"] if name not in {score.name for score in record.scores}]
        yield from ((*head, name, "error", None, Answered()) for name in missing)


def mix(where):
    samples = [
        question(f"q{no}", group="ab\0c"[no % 4], cluster="pair" if no < 2 else "") for no in range(len(REPLIES))
    ]
    exam_runs(where, {"one": REPLIES}, samples=samples, repeats=2)


@pytest.fixture
def mixed(filled):
    """A run with every outcome, failures, repeats, groups and a cluster."""
    with Store(filled(mix)) as store:
        return store.runs()[0]


@pytest.mark.parametrize("chunk", [1, 5, 20_000])
def test_columns_say_what_the_rows_say(mixed, monkeypatch, chunk):
    monkeypatch.setattr(store_columns, "_CHUNK", chunk)
    assert rows_of(mixed) == expected(mixed)
    assert len(rows_of(mixed)) == 2 * 2 * len(REPLIES)


def test_names_of_scores_are_those_of_the_rows(mixed):
    named = [row.name for row in mixed.data().scores.rows() if row.outcome != "error"]
    assert mixed.scored_names() == list(dict.fromkeys(named))
    assert set(named) == {"solve_rate", "last_letter"}


def test_a_second_layer_has_columns_of_its_own(where):
    run = evaluate(lambda sample: "yes", [Sample(f"q{no}", "?", "yes") for no in range(3)], [ExactMatch()], store=where)
    with Store(where) as store:
        before = store.run(run.id)
        assert [row[6] for row in rows_of(before)] == [1, 1, 1]
        from steelyard.evaluation.rescore import rescore

        after, _ = rescore(store, before, [lambda sample, output: 0.0])
        assert [row[6] for row in rows_of(after)] == [0, 0, 0]
        assert [row[6] for row in rows_of(before)] == [1, 1, 1]


def test_a_handle_reads_a_finished_run_once_and_an_unfinished_one_each_time(where):
    run = evaluate(lambda sample: "yes", [Sample("q", "?", "yes")], [ExactMatch()], store=where)
    with Store(where) as store:
        handle = store.run(run.id)
        assert handle.data() is handle.data()
        execute(where, "UPDATE run SET state = 'broken'")
        handle = store.run(run.id)
        assert handle.data() is not handle.data()


def test_numbers_that_a_deleted_run_left_to_others_name_those(where):
    def run_of(*names):
        samples = [Sample(name, f"{name}?", "yes", group=f"of {name}") for name in names]
        return evaluate(lambda sample: "yes", samples, [ExactMatch()], store=where)

    made = run_of("a", "b")
    with Store(where) as reader:
        first = reader.run(made.id)
        assert [row[:2] for row in rows_of(first)] == [("a", "of a"), ("b", "of b")]
        with Store(where) as other:
            delete_runs(other, [other.run(first.id)])
        # SQLite gives the new samples the numbers of those that are gone.
        second = reader.run(run_of("c", "d").id)
        assert [row[:2] for row in rows_of(second)] == [("c", "of c"), ("d", "of d")]


def test_an_id_that_asked_something_else_in_a_repeat_is_one_sample(where):
    samples = [Sample(f"q{no}", "?", "yes") for no in range(3)]
    run = evaluate(lambda sample: "yes", samples, [ExactMatch()], store=where, repeats=2)
    evaluate(lambda sample: "yes", [Sample("q1", "another?", "yes", group="late")], [ExactMatch()], store=where)
    other = execute(where, "SELECT num FROM sample WHERE grp = 'late'")[0][0]
    execute(where, "UPDATE record SET sample = ? WHERE run = ? AND no = 1 AND repeat = 1", (other, run.num))
    with Store(where) as store:
        run = store.run(run.id)
        assert rows_of(run) == expected(run)
        assert list(run.data().scores.samples) == ["q0", "q1", "q2"]
        assert len(run.data().hashes) == 3


def test_records_whose_sample_is_gone_are_left_out_as_they_are_of_the_rows(mixed, where):
    execute(where, "DELETE FROM sample WHERE id = 'q3'")
    with Store(where) as store:
        run = store.run(mixed.id)
        assert rows_of(run) == expected(run)
        assert "q3" not in run.data().scores.samples


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE score SET outcome = 77 WHERE no = 1",
        "UPDATE score SET name = 9000 WHERE no = 1 AND name = 1",
        "UPDATE record SET millis = 'long' WHERE no = 1",
        "UPDATE sample SET hash = 'x' WHERE id = 'q1'",
    ],
)
def test_what_is_damaged_is_an_error_of_the_store(tmp_path, damage):
    where = tmp_path / "s.db"
    (run,) = exam_runs(where, {"one": ["A"] * 3})
    execute(where, damage)
    with Store(where) as store, pytest.raises(StoreError, match="damaged"):
        store.run(run.id).data()


def test_a_list_of_replies_that_is_none_is_read_as_empty_and_named(tmp_path):
    where = tmp_path / "s.db"
    (run,) = exam_runs(where, {"one": ["A"] * 3})
    before = run.summary()
    execute(where, "UPDATE record SET replies = X'010203' WHERE no = 1")
    with Store(where) as store:
        summary = store.run(run.id).summary()
    assert summary.scores == before.scores
    assert len(summary.records.damaged) == 1
    assert "sample q1: its list of replies cannot be read" in summary.records.damaged[0]


def test_a_record_whose_sample_is_gone_is_said_to_be_missing(tmp_path):
    where = tmp_path / "s.db"
    (run,) = exam_runs(where, {"one": ["A"] * 3})
    execute(where, "DELETE FROM sample WHERE id = 'q1'")
    with Store(where) as store:
        (line,) = store.run(run.id).summary().records.damaged
    assert line == f"run {run.id}: 1 of 3 records cannot be found, as their rows or samples are gone"


def test_a_store_that_lost_its_pages_is_an_error_of_the_store(tmp_path):
    where = tmp_path / "s.db"
    (run,) = exam_runs(where, {"one": ["A"] * 600})
    data = bytearray(where.read_bytes())
    data[8 * 4096 :] = bytes(len(data) - 8 * 4096)
    with Store(where) as store:
        found = store.run(run.id)
        where.write_bytes(data)
        with pytest.raises(StoreError):
            found.data()


def test_records_of_some_samples_are_those_records(mixed):
    everything = [record for record in mixed.records() if record.sample.id in {"q1", "q4"}]
    assert mixed.records_of(["q4", "q1", "nobody"]) == everything
    assert [(one.sample.id, one.repeat) for one in everything] == [("q1", 0), ("q1", 1), ("q4", 0), ("q4", 1)]
