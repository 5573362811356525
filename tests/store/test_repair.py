"""A damaged store is found out, wherever it is damaged; a sound one is called sound, whatever was done with it."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.outside import execute
from tests.thorough import times

from steelyard import ExactMatch, Label, Prompt, Sample, Score, Store, evaluate
from steelyard.errors import StoreError
from steelyard.evaluation.rescore import rescore
from steelyard.models.scripted import Scripted
from steelyard.people.labels import add_labels, add_note
from steelyard.store.records import unpacker_of
from steelyard.store.repair import verify
from steelyard.store.run_rows import NewRun

SAMPLES = [Sample(f"q{n}", f"Question {n}?", str(n), group="ab"[n % 2], cluster=f"c{n % 7}") for n in range(120)]
REPLIES = {sample.input: f"The answer to that question is {sample.id}." for sample in SAMPLES}


N, AGAIN = 40, 20
"""Samples of the first run of a filled store, which has two repeats, and of the second."""


def length(sample, output):
    return Score("length", float(len(output.value)), reason="as long as it is")


def fails_sometimes(sample, output):
    if sample.id == "q7":
        raise ValueError("no")
    return 0.5


def filled(where):
    """A store with two runs over one journal, failures, a second scoring version, labels and notes."""
    from datetime import UTC, datetime

    at = datetime(2026, 3, 1, tzinfo=UTC)
    scorers = [ExactMatch(), length, fails_sometimes]
    first = evaluate(
        Prompt(Scripted(REPLIES), "{{question}}"), SAMPLES[:N], scorers, store=where, max_errors=1.0, repeats=2
    )
    evaluate(Prompt(Scripted(REPLIES), "{{question}}"), SAMPLES[:AGAIN], [length], store=where)
    with Store(where) as store:
        rescore(store, store.run(first.id), [length])
        add_labels(store, first, [Label("q3", "cause", "wrong", "ann", at)])
        add_note(store, first, "why", author="ann", at=at)
    return first.id


def verdict_of(where, run=None):
    with Store(where) as store:
        return verify(store, store.run(run) if run else None)


def test_a_store_with_all_that_there_is_in_one_is_sound(where):
    run = filled(where)
    verdict = verdict_of(where)
    assert (verdict.damages, verdict.found) == ([], 0)
    assert verdict.counts == {
        "samples": N, "replies": 2 * N, "runs": 2,
        "records": 2 * N + AGAIN, "scores": (2 * N - 2) * 3 + 2 * 2 + AGAIN + 2 * N, "labels": 1,
    }  # fmt: skip
    alone = verdict_of(where, run)
    assert alone.is_sound
    assert (alone.counts["runs"], alone.counts["records"]) == (1, 2 * N)


def test_a_run_that_was_resumed_over_replaced_records_is_sound(where):
    failing = {"now": True}

    def target(sample):
        if failing["now"] and sample.id in {"q1", "q5"}:
            raise ValueError("down")
        return "x"

    run = evaluate(target, SAMPLES[:20], [length], store=where, max_errors=0, on_broken="return")
    assert run.state == "broken"
    assert verdict_of(where).is_sound
    failing["now"] = False
    assert evaluate(target, SAMPLES[:20], [length], store=where, max_errors=0, resume=run.id).state == "finished"
    verdict = verdict_of(where)
    assert verdict.damages == []


def test_a_run_that_is_being_written_is_sound(where):
    from tests.store.test_store import MANIFEST, record

    with Store(where, create_missing=True) as store:
        writer = store.begin_evaluation([NewRun("s", "custom", "t", 9, MANIFEST)])[1][0]
        for n in range(5):
            writer.insert(n, record(n))
        store.writer.change(lambda batch: None)
        assert verify(store).damages == []


LABEL = "WHERE topic = 'label'"
ROWS = {
    "a sample is gone": ("DELETE FROM sample WHERE id = 'q3'", "sample number", "3"),
    "a sample's id": ("UPDATE sample SET id = 'q_3' WHERE id = 'q3'", "does not match its hash", "q_3"),
    "a sample's group": ("UPDATE sample SET group_name = 'c' WHERE id = 'q3'", "does not match its hash", "q3"),
    "a sample's cluster": ("UPDATE sample SET cluster = '' WHERE id = 'q3'", "does not match its hash", "q3"),
    "a sample's hash": ("UPDATE sample SET hash = 7 WHERE id = 'q3'", "does not match its hash", "q3"),
    "a reply is gone": ("DELETE FROM reply WHERE num = 9", "is missing from the journal", ""),
    "a reply's key": ("UPDATE reply SET key = zeroblob(10) WHERE num = 9", "is missing from the journal", ""),
    "a short key": ("UPDATE reply SET key = X'00' WHERE num = 9", "is missing from the journal", ""),
    "a dictionary is gone": ("DELETE FROM dictionary", "dictionary 1 is missing", ""),
    "a dictionary is empty": ("UPDATE dictionary SET data = X''", "a stored body is damaged", ""),
    "a name is gone": ("DELETE FROM word WHERE text = 'length'", "a score's name, number", ""),
    "a record is gone": ("DELETE FROM record WHERE run = 1 AND no = 4 AND repeat = 0", f"it counts {2 * N} done", ""),
    "a record's place": ("UPDATE record SET no = 900 WHERE run = 1 AND no = 4", "its checksum is wrong", ""),
    "a record's sample": ("UPDATE record SET sample = 1 WHERE run = 1 AND no = 4", "its checksum is wrong", ""),
    "a record's time": ("UPDATE record SET millis = 77777 WHERE run = 2 AND no = 4", "its checksum is wrong", ""),
    "a failed record": ("UPDATE record SET failed = 1 WHERE run = 2 AND no = 4", "holds no failure", "q4"),
    "a failure": ("UPDATE record SET failed = 0 WHERE run = 1 AND no = 7 AND repeat = 0", "holds no failure", "q7"),
    "a kind of failure": ("UPDATE record SET failure = 'x' WHERE run = 1 AND no = 7", "holds no failure", "q7"),
    "a failure's type": ("UPDATE record SET failure = X'00' WHERE run = 1 AND no = 7", "something else than", ""),
    "no replies": ("UPDATE record SET replies = NULL WHERE run = 2 AND no = 4", f"it counts {AGAIN} replies", ""),
    "half a key": ("UPDATE record SET replies = X'0001' WHERE run = 2 AND no = 4", "list of replies cannot be", "q4"),
    "a score is gone": (
        "DELETE FROM score WHERE run = 1 AND scoring_version = 1 AND no = 4", "scores of scoring version 1", ""
    ),
    "a score's value": ("UPDATE score SET value = value + 1 WHERE run = 2 AND no = 4", "its records or scores", ""),
    "no value": ("UPDATE score SET value = NULL WHERE run = 2 AND no = 4", "only outcome 'scored'", "q4"),
    "an outcome": ("UPDATE score SET outcome = 99 WHERE run = 2 AND no = 4", "score length: ", "q4"),
    "a score's pass": ("UPDATE score SET passed = 1 WHERE run = 2 AND no = 4", "its records or scores", ""),
    "a score's place": ("UPDATE score SET no = 999 WHERE run = 2 AND no = 4", "its records or scores", ""),
    "a run's name": ("UPDATE run SET target = 'other' WHERE num = 1", "a name or the planned number", ""),
    "a run's plan": (
        "UPDATE run SET planned = planned + 1 WHERE num = 1", "a name or the planned number", "",
    ),
    "a manifest": ("UPDATE run SET manifest = '{' WHERE num = 1", "cannot be read: the manifest", ""),
    "a manifest's letter": (
        "UPDATE run SET manifest = replace(manifest, 'length', 'lenght') WHERE num = 1", "the manifest, a name", "",
    ),
    "a state": ("UPDATE run SET state = 'fine' WHERE num = 1", "unknown state 'fine'", ""),
    "tokens": ("UPDATE run SET input_tokens = input_tokens + 1 WHERE num = 1", "input tokens, its records hold", ""),
    "from the journal": ("UPDATE run SET from_journal = 1 WHERE num = 1", "it counts 1 from journal", ""),
    "a version's number": ("UPDATE run SET scoring_version = 5 WHERE num = 1", "scoring version 5 is missing", ""),
    "a version is gone": ("DELETE FROM scoring_version", "scoring version 1 is missing", ""),
    "a version's scorers": (
        "UPDATE scoring_version SET scorers = '['", "scoring version 1 of run number 1 is damaged", ""
    ),
    "a stage": ("UPDATE stage SET calls = calls + 3 WHERE run = 1", "stage 0 counts other calls", ""),
    "a checksum": ("UPDATE checksum SET digest = digest + 1 WHERE run = 2 AND part = 0", "its checksum is wrong", ""),
    "a run is gone": ("DELETE FROM run WHERE num = 2", f"table record has {AGAIN} rows of run number 2", ""),
    "an evaluation": ("DELETE FROM evaluation WHERE num = 2", "evaluation 2, which holds what was spent", ""),
    "a label's sample": (f"UPDATE event SET sample = 'qq' {LABEL}", "is of a sample that the run does not have", "qq"),
    "a label's value": (f"UPDATE event SET body = '{{' {LABEL}", "label 'cause' cannot be read", "q3"),
    "a note of nobody": ("UPDATE event SET run = 77 WHERE kind = 'note'", "has 1 rows of run number 77", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "s.db"
    filled(path)
    return path


@pytest.fixture
def copied(sound, tmp_path):
    return Path(shutil.copy(sound, tmp_path / "copy.db"))


def test_a_sample_that_took_the_place_of_another_is_found(where):
    """Somebody changed the plan that workers read their samples from, and the figures were of fewer samples."""
    from tests.store.test_store import MANIFEST, record

    with Store(where, create_missing=True) as store:
        _, (writer,) = store.begin_evaluation([NewRun("s", "custom", "t", 3, MANIFEST)])
        for no, sample in enumerate((0, 1, 1)):
            writer.insert(no, record(sample))
        writer.finish("finished", "", 1.0)
        (damage,) = verify(store).damages
    assert (damage.sample, damage.what) == (record(1).sample.id, "it is at the places 1 and 2 of the dataset")


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_is_gone_or_changed_is_found_and_named(copied, name):
    statement, said, sample = ROWS[name]
    execute(copied, statement)
    named = [damage for damage in verdict_of(copied).damages if said in damage.what]
    assert named, [str(damage) for damage in verdict_of(copied).damages]
    assert sample in {"", "3"} or {record.sample for record in named} == {sample}


def test_a_problem_is_told_in_a_short_line_however_long_the_id_of_its_sample_is(copied):
    execute(copied, "UPDATE sample SET id = ? WHERE num = 3", ("x" * 1_000_000,))
    assert 0 < max(len(str(damage)) for damage in verdict_of(copied).damages) < 10_000


def test_a_manifest_that_is_nested_too_deep_is_found_and_the_rest_is_read(copied):
    execute(copied, "UPDATE run SET manifest = ?", ("[" * 100_000,))
    assert [damage for damage in verdict_of(copied).damages if "nested too deep" in damage.what]


def test_the_same_is_found_on_a_server(on_server):
    filled(on_server)
    for name in ("a sample's id", "a score's value", "a run's plan", "a record's time"):
        execute(on_server, ROWS[name][0])
    execute(on_server, "UPDATE reply SET body = set_byte(body, 4, get_byte(body, 4) # 1) WHERE num = 5")
    said = " ".join(damage.what for damage in verdict_of(on_server).damages)
    for name in ("a sample's id", "a score's value", "a run's plan", "a record's time"):
        assert ROWS[name][1] in said
    assert "a stored body is damaged" in said


@pytest.mark.parametrize("table", ["sample", "reply", "record", "score"])
def test_a_flipped_bit_of_a_stored_body_is_found_unless_it_says_the_same(copied, table):
    """The last bits of a compressed body are padding."""
    draw = random.Random(5)
    with closing(sqlite3.connect(copied)) as connection:
        key = {"record": "run, no, repeat", "score": "run, scoring_version, no, repeat, name"}.get(table, "num")
        rows = connection.execute(f"SELECT {key}, body FROM {table} WHERE body IS NOT NULL").fetchall()
    missed = 0
    for *place, body in draw.sample(rows, min(times(10, 25), len(rows))):
        flipped = bytearray(body)
        flipped[draw.randrange(len(body))] ^= 1 << draw.randrange(8)
        where = " AND ".join(f"{word.strip()} = ?" for word in key.split(","))
        execute(copied, f"UPDATE {table} SET body = ? WHERE {where}", (bytes(flipped), *place))
        missed += verdict_of(copied).is_sound and unpacked(copied, bytes(flipped)) != unpacked(copied, body)
        execute(copied, f"UPDATE {table} SET body = ? WHERE {where}", (body, *place))
    assert rows
    assert missed == 0
    assert verdict_of(copied).is_sound


def unpacked(path, body):
    with Store(path) as store, store.reading() as connection:
        return unpacker_of(connection).unpack(body)


def test_a_byte_that_flips_anywhere_in_the_file_is_found_or_changes_nothing(sound, tmp_path):
    """What is not found lies in space that nothing uses, or says the same as before."""
    draw, data = random.Random(3), sound.read_bytes()
    before = contents(sound)
    noticed, flips = 0, times(50, 150)
    for n in range(flips):
        path = tmp_path / f"{n}.db"
        flipped = bytearray(data)
        flipped[draw.randrange(100, len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        try:
            if not verdict_of(path).is_sound:
                noticed += 1
                continue
        except StoreError:
            noticed += 1
            continue
        assert contents(path) == before
    assert noticed > flips // 8, "a store of some pages per table is mostly space that nothing uses"


def contents(path):
    """All that the commands read of a store: its runs with their records, but for how long things took."""
    with Store(path) as store:
        return [
            (run.id, run.target, run.state, run.done, run.planned, run.manifest, list(run.records()))
            for run in store.runs()
        ]


def test_an_index_that_has_lost_a_row_is_found(copied):
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        sql = "CREATE UNIQUE INDEX reply_key ON reply (key) WHERE num <> 5"
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'reply_key'", [sql])
        connection.commit()
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("REINDEX reply_key")
        connection.execute("PRAGMA writable_schema = ON")
        sql = 'CREATE UNIQUE INDEX reply_key ON reply ("key")'
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'reply_key'", [sql])
        connection.commit()
    assert any("missing from index" in damage.what for damage in verdict_of(copied).damages)
    assert any("missing from the journal" in damage.what for damage in verdict_of(copied).damages)


def test_a_run_without_its_checksum_is_damaged(copied):
    execute(copied, "DELETE FROM checksum")
    verdict = verdict_of(copied)
    assert [damage.what for damage in verdict.damages] == ["its checksum is missing"] * 2
