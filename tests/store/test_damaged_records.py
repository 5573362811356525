"""A damaged part of a record, in a file and on a server: the record is named and keeps what can be read."""

import pytest
from tests.store.outside import execute

from steelyard import ExactMatch, Prompt, Sample, Score, Scripted, Store, evaluate
from steelyard.plain_json import to_json
from steelyard.store.codec import Packer
from steelyard.store.records import damage_lines

SAMPLES = [Sample(f"q{n}", f"Question {n}?", "yes") for n in range(20)]
BAD = b"\x01\xff\x00\xff"


def length(sample, output):
    return Score("length", float(len(output.value)), reason=f"as long as {sample.id} is")


def fill(where):
    return evaluate(Prompt(Scripted({}, default="yes"), "{{question}}"), SAMPLES, [ExactMatch(), length], store=where)


@pytest.fixture
def run(filled):
    with Store(filled(fill)) as store:
        return store.runs()[0]


def read(where, run):
    with Store(where) as store:
        reread = store.run(run.id)
        return {record.sample.id: record for record in reread.records()}, reread.summary(), reread.to_frame()


@pytest.mark.parametrize(
    ("statement", "named", "has_output"),
    [
        ("UPDATE reply SET body = ? WHERE num = (SELECT min(num) + 3 FROM reply)", "its reply", False),
        ("UPDATE sample SET body = ? WHERE id = 'q3'", "its sample", False),
        ("UPDATE record SET body = ? WHERE no = 3", "its output", False),
        ("UPDATE record SET replies = ? WHERE no = 3", "its list of replies", False),
        ("UPDATE score SET body = ? WHERE no = 3 AND body IS NOT NULL", "score length", True),
    ],
)
def test_a_damaged_part_is_named_and_the_rest_of_its_record_is_read(where, run, statement, named, has_output):
    _, before, _ = read(where, run)
    execute(where, statement, [BAD])
    records, summary, frame = read(where, run)
    assert len(records) == 20
    (damaged,) = [record for record in records.values() if record.failure is not None]
    assert (damaged.failure.stage, damaged.failure.kind) == ("store", "damaged")
    assert damaged.failure.message.startswith(f"run {run.id}, sample {damaged.sample.id}: {named}")
    assert (damaged.output is not None) == has_output
    assert [(score.name, score.value) for score in damaged.scores] == [("exact_match", 1.0), ("length", 3.0)]
    assert summary.records.damaged == (damaged.failure.message,)
    assert (summary.scores, summary.counts.errors) == (before.scores, 0)
    assert frame["failure"].notna().sum() == 1


@pytest.mark.parametrize(
    ("statement", "fields", "named"),
    [
        ("UPDATE sample SET body = ? WHERE id = 'q3'", ["Question 3?", "yes", [], [], [1]], "its sample: TypeError"),
        ("UPDATE sample SET body = ? WHERE id = 'q3'", ["Question 3?", "yes", [2], [], {}], "its sample: TypeError"),
        ("UPDATE record SET body = ? WHERE no = 3", {"o": ["yes", [], 7]}, "its output: TypeError"),
        ("UPDATE record SET body = ? WHERE no = 3", {"f": [1, 2, 3, []]}, "its output: TypeError"),
        (
            "UPDATE reply SET body = ? WHERE num = (SELECT min(num) + 3 FROM reply)",
            ["yes", "stop", [None, 1, 0], 0.1, 0, {}],
            "its reply",
        ),
        ("UPDATE score SET body = ? WHERE no = 3 AND body IS NOT NULL", [True, {}], "score length: TypeError"),
        ("UPDATE score SET body = ? WHERE no = 3 AND body IS NOT NULL", ["", [[]]], "score length: TypeError"),
    ],
)
def test_a_value_that_no_version_writes_is_damage_of_its_part(where, run, statement, fields, named):
    execute(where, statement, [Packer(None).pack("sample", to_json(fields))])
    records, summary, _ = read(where, run)
    (damaged,) = (record for record in records.values() if record.failure is not None)
    assert named in damaged.failure.message
    assert len(summary.records.damaged) == 1


def test_without_its_dictionary_each_body_is_named_and_scores_stay(where, run):
    execute(where, "UPDATE sample SET body = ?", [b"\x09abcdef"])
    records, summary, _ = read(where, run)
    assert {record.failure.kind for record in records.values()} == {"damaged"}
    assert "dictionary 8 is missing" in records["q0"].failure.message
    assert len(summary.records.damaged) == 20
    assert summary.score("exact_match").headline.value == 1.0


def test_the_run_that_evaluate_returns_is_not_looked_through(where):
    """Its bodies were written a moment ago; whoever reads it from the store looks, also later in the same process."""
    run = fill(where)
    execute(where, "UPDATE sample SET body = ?", [BAD])
    assert run.summary().records.damaged == ()
    assert len(run.refresh().summary().records.damaged) == 20


def test_one_handle_looks_through_a_finished_run_once(tmp_path):
    where = tmp_path / "s.db"
    run = evaluate(Prompt(Scripted({}, default="yes"), "{{question}}"), SAMPLES, [ExactMatch()], store=where)
    execute(where, "UPDATE reply SET body = ? WHERE num = (SELECT min(num) + 3 FROM reply)", [BAD])
    with Store(where) as store:
        reread = store.run(run.id)
        first = reread.summary()
        execute(where, "UPDATE reply SET body = ?", [BAD])
        assert len(first.records.damaged) == 1
        assert reread.summary().records.damaged == first.records.damaged
        assert len(damage_lines(reread.id, reread.done, reread.records())) == len(SAMPLES)
