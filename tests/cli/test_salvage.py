"""`export --salvage`: what is saved of a damaged file is true, what is not is named, and the file is never written."""

import asyncio
import hashlib
import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.thorough import times

from steelyard import ExactMatch, Output, Prompt, Record, Reply, Sample, Scripted, Store, evaluate
from steelyard.session.replies import pack_reply
from steelyard.store import NewRun

STORE = Path(".steelyard/steelyard.db")
PAGE = 4096
LEAF_OF_INDEX, LEAF_OF_TABLE = 10, 13
"""First bytes of pages, as the file format of SQLite has them."""
SAMPLES = [Sample(f"q{n}", f"Question {n}? {'why ' * (n % 17)}", str(n), group="ab"[n % 2]) for n in range(200)]


def length(sample, output):
    return float(len(output.value))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A store with two runs, and its lines as `export --salvage` writes them of the sound file."""
    where = tmp_path_factory.mktemp("sound") / "s.db"
    replies = {one.input: f"The answer to that is {one.id}, {one.id * 9}." for one in SAMPLES}
    evaluate(Prompt(Scripted(replies), "{{question}}"), SAMPLES, [ExactMatch(), length], store=where)
    evaluate(Prompt(Scripted(replies), "{{question}}"), SAMPLES[:60], [length], store=where, repeats=2)
    with closing(sqlite3.connect(where)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ids = [ident for (ident,) in connection.execute("SELECT id FROM run ORDER BY num")]
    return where.read_bytes(), ids


def place(data):
    shutil.rmtree(STORE.parent, ignore_errors=True)
    STORE.parent.mkdir()
    STORE.write_bytes(data)


def by_place(text):
    rows = [json.loads(line) for line in text.splitlines()]
    return {(row["run"], row["sample"]["id"], row["repeat"]): row for row in rows}


@pytest.fixture
def originals(sound, steelyard):
    data, ids = sound
    place(data)
    lines = "".join(steelyard("export", ident, code=0).out for ident in ids)
    assert steelyard("export", "--salvage", code=0).out == lines, "of a sound file, what export writes"
    return by_place(lines)


def is_damaged(row):
    return row["failure"] is not None and row["failure"]["kind"] == "damaged"


def test_wherever_pages_are_lost_what_is_saved_is_true_and_what_is_not_is_said(sound, originals, steelyard):
    chance = random.Random(37)
    data, _ = sound
    pages = len(data) // PAGE
    for _ in range(times(12, 50)):
        broken = bytearray(data)
        for page in chance.sample(range(pages), chance.choice([1, 1, 1, 3])):
            broken[page * PAGE : (page + 1) * PAGE] = chance.choice([bytes(PAGE), chance.randbytes(PAGE)])
        place(broken)
        result = steelyard("export", "--salvage")
        rows = by_place(result.out)
        whole = {key: row for key, row in rows.items() if not is_damaged(row)}
        assert all(originals[key] == row for key, row in whole.items())
        # What the run was begun with may be all that a page took away: no record shows that, its checksum does.
        is_sound = len(whole) == len(originals) and "checksum does not match" not in result.err
        assert result.code == (0 if is_sound else 4), result.err
        assert "Traceback" not in result.err
        assert STORE.read_bytes() == broken


def test_a_lost_page_of_rows_takes_little_more_than_its_rows(sound, originals, steelyard):
    """The root of a table, or a page of a compression dictionary, takes more; both are few in a store of some size."""
    data, _ = sound
    leaves = [page for page in range(28, len(data) // PAGE) if data[page * PAGE] in {LEAF_OF_TABLE, LEAF_OF_INDEX}]
    saved = []
    for page in leaves[: times(8, 15)]:
        place(data[: page * PAGE] + bytes(PAGE) + data[(page + 1) * PAGE :])
        rows = by_place(steelyard("export", "--salvage").out)
        saved.append(sum(not is_damaged(row) for row in rows.values()) / len(originals))
    assert len(saved) > 5
    assert sorted(saved)[len(saved) // 2] > 0.5, saved


def test_a_truncated_file_gives_what_is_left(sound, originals, steelyard):
    data, _ = sound
    for share in (0.98, 0.8, 0.5, 0.1):
        place(data[: int(len(data) * share)])
        result = steelyard("export", "--salvage", code=4)
        assert all(originals[key] == row for key, row in by_place(result.out).items() if not is_damaged(row))


def test_without_its_first_page_nothing_of_a_file_is_read(sound, steelyard):
    data, _ = sound
    place(bytes(PAGE) + data[PAGE:])
    assert "file is not a database" in steelyard("runs", code=4).err
    assert "its head is lost" in steelyard("export", "--salvage", code=4).err


def test_with_a_lost_index_every_record_is_saved(sound, originals, steelyard):
    data, _ = sound
    place(data)
    with closing(sqlite3.connect(STORE)) as connection:
        roots = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'index' AND rootpage > 1"
        ).fetchall()
    broken = bytearray(data)
    for (root,) in roots:
        broken[(root - 1) * PAGE : root * PAGE] = bytes(PAGE)
    place(broken)
    assert len(roots) > 1
    assert by_place(steelyard("export", "--salvage", code=0).out) == originals


def test_a_run_whose_row_is_lost_is_saved_under_its_number(sound, originals, steelyard):
    place(sound[0])
    with closing(sqlite3.connect(STORE)) as connection, connection:
        connection.execute("DELETE FROM run WHERE num = 2")
    result = steelyard("export", "--salvage", code=4)
    runs = {row["run"] for row in map(json.loads, result.out.splitlines())}
    assert runs == {sound[1][0], "run-2"}
    lost = [row for row in map(json.loads, result.out.splitlines()) if row["run"] == "run-2"]
    assert len(lost) == 120
    assert {row["replies"]["target"][0]["text"] for row in lost} == {
        row["replies"]["target"][0]["text"] for (run, *_), row in originals.items() if run == sound[1][1]
    }
    assert result.err.count("the row of its run cannot be read") == 1, "one reason of all is said once"


def test_every_stage_that_a_run_may_have_is_saved_without_the_row_of_the_run(steelyard):
    """Stages are numbered from 0, the target, to 127."""
    STORE.parent.mkdir()
    stages = ["target", *(f"judge {number}" for number in range(1, 128))]
    reply = Reply("0a" * 10, "yes")
    with Store(STORE, create_missing=True) as store:
        asyncio.run(store.journal(1).commit(bytes.fromhex(reply.key), pack_reply(reply)))
        manifest = {"stages": stages, "scores": [], "tags": {}}
        _, (writer,) = store.begin_evaluation([NewRun("s", "custom", "t", 1, manifest)])
        writer.insert(0, Record(Sample("q", "?"), Output("a"), (), {stages[127]: (reply,)}))
        writer.finish("finished", "", 1.0)
    with closing(sqlite3.connect(STORE)) as connection, connection:
        connection.execute("DELETE FROM run")
    (line,) = steelyard("export", "--salvage", code=4).out.splitlines()
    row = json.loads(line)
    assert row["replies"]["stage 127"][0]["text"] == "yes"
    assert row["output"]["value"] == "a"


def test_a_number_that_changed_fails_the_checksum_and_is_reported(sound, steelyard):
    place(sound[0])
    with closing(sqlite3.connect(STORE)) as connection, connection:
        connection.execute("UPDATE score SET value = value + 1 WHERE run = 2 AND no = 3")
    result = steelyard("export", "--salvage", code=4)
    assert result.err.count("its checksum does not match") == 1


def test_a_new_store_takes_what_was_saved_and_pays_for_nothing_twice(sound, steelyard):
    data, ids = sound
    place(data)
    with closing(sqlite3.connect(STORE)) as connection, connection:
        connection.execute("UPDATE sample SET body = X'01FF00FF' WHERE num = 4")
        connection.execute("DELETE FROM record WHERE run = 1 AND no BETWEEN 10 AND 19")
    result = steelyard("export", "--salvage", "--out", "new.db", code=4)
    said = " ".join(result.err.split())
    assert f"run {ids[0]} (prompt): 200 records, 189 intact, 1 damaged, saved in part, 10 missing" in said
    assert f"run {ids[0]}, sample q3: its sample: a stored body is damaged" in said
    assert steelyard("show", ids[1], "--store", "new.db", "--json", code=0).json()["done"] == 120
    asked = evaluate(
        Prompt(Scripted({one.input: "not asked" for one in SAMPLES}), "{{question}}"), SAMPLES[10:20], [length],
        store="new.db",
    )  # fmt: skip
    assert asked.done == 10
    assert steelyard("export", "--salvage", "--out", "new.db", code=2).err.startswith("error: new.db exists already")


def test_what_is_in_the_log_of_a_killed_writer_is_saved_too(sound, steelyard, tmp_path):
    place(sound[0])
    with closing(sqlite3.connect(STORE)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE run SET target = 'renamed' WHERE num = 2")
        connection.commit()
        copy = tmp_path / "killed"
        copy.mkdir()
        for name in ("steelyard.db", "steelyard.db-wal"):
            shutil.copy(STORE.with_name(name), copy / name)
    before = {path.name: hashlib.sha256(path.read_bytes()).digest() for path in copy.iterdir()}
    rows = map(json.loads, steelyard("export", "--salvage", "--store", copy / "steelyard.db").out.splitlines())
    assert {row["target"] for row in rows} == {"prompt", "renamed"}
    assert {path.name: hashlib.sha256(path.read_bytes()).digest() for path in copy.iterdir()} == before


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (None, 2, "there is no store at"),
        (b"", 2, "the file is empty"),
        (b"question,answer\n" * 999, 4, "it is not a SQLite file"),
    ],
)
def test_what_is_no_store_is_said_to_be_none(steelyard, data, code, said):
    if data is not None:
        place(data)
    result = steelyard("export", "--salvage", code=code)
    assert said in result.err
    assert not result.out


def test_export_without_a_run_is_refused_unless_it_salvages(sound, steelyard):
    place(sound[0])
    assert "name the run to export" in steelyard("export", code=2).err
    assert len(steelyard("export", sound[1][1], "--salvage", code=0).out.splitlines()) == 120
