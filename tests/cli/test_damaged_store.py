"""A damaged body spoils its own record alone, whatever command reads it; a malformed file names the way out."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

STORE = ".steelyard/steelyard.db"
BAD = "X'01FF00FF'"
PARTS = {
    "line:5": (f"UPDATE reply SET body = {BAD} WHERE num = 4", "its reply"),
    "line:6": ("DELETE FROM reply WHERE num = 5", "missing from the journal"),
    "line:7": (f"UPDATE sample SET body = {BAD} WHERE num = 6", "its sample"),
    "line:8": (f"UPDATE score SET body = {BAD} WHERE run = 1 AND no = 6", "score solve_rate"),
    "line:9": ("UPDATE score SET body = 'x' WHERE run = 1 AND no = 7", "score solve_rate"),
    "line:10": (f"UPDATE record SET body = {BAD} WHERE run = 1 AND no = 8", "its output"),
    "line:11": ("UPDATE record SET replies = X'09' WHERE run = 1 AND no = 9", "its list of replies"),
}
"""Sample -> how a part of its record is damaged, and how messages name the part."""
READING = [
    ("runs",), ("show", "a"), ("show", "a", "--with-labels"), ("compare", "a", "b"),
    ("report", "a", "b", "--html", "r.html", "--markdown", "r.md", "--junit", "r.xml"), ("export", "a"),
    ("export", "a", "--format", "csv"), ("export", "a", "--out", "x.xlsx"), ("export", "a", "--out", "x.parquet"),
    ("export", "a", "--json-dir", "old"), ("history", "exam.json"), ("baseline", "a", "--to", "base.json"),
    ("label", "a", "--from", "verdicts.csv", "--author", "ann"), ("rescore", "a"),
]  # fmt: skip


def damage(*statements):
    with closing(sqlite3.connect(STORE)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def stored(steelyard, write, says, once):
    """A store with two runs of 20 records, in the current folder."""
    targets = {"a": says("B"), "b": says("no letter at all")}
    once(lambda: steelyard("run", write(targets), "--quiet", code=0))
    Path("verdicts.csv").write_text("sample,verdict\nline:19,B\n", encoding="utf-8")


@pytest.mark.usefixtures("stored")
def test_damaged_parts_are_named_and_every_command_goes_on(steelyard):
    before = json.loads(steelyard("show", "a", "--json", code=0).out)
    damage(*(statement for statement, _ in PARTS.values()))
    for command in READING[:-2]:
        result = steelyard(*command, code=0)
        assert "Traceback" not in result.err
        assert "defect" not in result.err
    shown = " ".join(steelyard("show", "a", code=0).out.split())
    assert "7 records of 20 cannot be read whole, as the store is damaged" in shown
    compared = " ".join(steelyard("compare", "a", "b", code=0).out.split())
    page = Path("r.html").read_text(encoding="utf-8") + Path("r.md").read_text(encoding="utf-8")
    assert page.count("7 records of 20 cannot be read whole") >= 2
    after = json.loads(steelyard("show", "a", "--json", code=0).out)
    assert len(after["damaged"]) == len(PARTS)
    for line, (sample, (_, named)) in zip(after["damaged"], PARTS.items(), strict=True):
        assert f"sample {sample}: " in line
        assert named in line
        assert named in " ".join(steelyard("show", "a", sample, code=0).out.split()), sample
    for sample, (_, named) in list(PARTS.items())[:3]:
        for text in (shown, compared):
            assert f"sample {sample}: " in text
            assert named in text
    assert "; and 4 more" in shown
    assert after["scores"] == before["scores"], "the value of a score stands outside of its body"
    listed = steelyard("show", "a", "--only", "damaged", "--json", code=0).json()
    assert [(one["sample"]["id"], one["failure"]["kind"]) for one in listed] == [(each, "damaged") for each in PARTS]
    for record, (_, named) in zip(listed, PARTS.values(), strict=True):
        assert named in record["failure"]["message"]
    rows = [json.loads(line) for line in steelyard("export", "a", code=0).out.splitlines()]
    assert [one["sample"]["id"] for one in rows if one["failure"]] == list(PARTS)
    for command in READING[-2:]:
        steelyard(*command, code=0)


@pytest.mark.usefixtures("stored")
def test_what_hangs_on_a_damaged_score_counts_it_in_a_place_of_its_own(steelyard):
    damage(f"UPDATE score SET body = {BAD} WHERE run = 2 AND no = 3")
    assert "b: 1 record of 20 cannot be read whole, as" in " ".join(steelyard("show", "b", code=0).out.split())
    told = steelyard("show", "b", "--json", code=0).json()
    assert told["unparsed_kinds"]["damaged"] == 1
    assert sum(told["unparsed_kinds"].values()) == 20
    assert told["scores"][0]["unparsed"] == 20


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", "", '{"options": "x"}', '{"stages": {}}', '{"scores": [{}]}', '{"score_infos": {"a": 1}}',
        '{"score_infos": {"a": {"range": [0, {}]}}}', '{"score_infos": {"a": {"labels": true}}}',
        '{"score_infos": {"a": {"threshold": "x"}}}',
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_named_with_its_run(steelyard, text):
    damage(f"UPDATE run SET manifest = '{text}' WHERE num = 1")
    assert "a " in steelyard("runs", code=0).out
    for command in (("show", "a"), ("compare", "b", "a"), ("report", "a"), ("export", "a")):
        said = steelyard(*command, code=4).err
        assert said.startswith("error: the manifest of run ")
        assert "(a) is damaged" in said
        assert "`steelyard export --salvage`" in said
    steelyard("show", "b", code=0)


@pytest.mark.usefixtures("stored")
def test_a_malformed_file_names_the_commands_that_help(steelyard):
    size = Path(STORE).stat().st_size
    with Path(STORE).open("r+b") as file:
        for page in range(1, size // 4096):
            file.seek(page * 4096)
            file.write(bytes(4096))
    where = Path(STORE).absolute()
    for command in (("runs",), ("show", "a"), ("compare", "a", "b"), ("report", "a"), ("history", "exam.json")):
        lines = steelyard(*command, code=4).err.splitlines()
        assert f"  steelyard verify --store {where}" in lines
        assert f"  steelyard export --salvage --out salvaged.jsonl --store {where}" in lines
    verified = steelyard("verify", code=4)
    assert "salvaged.jsonl" in verified.out + verified.err
    assert "steelyard verify" not in verified.out + verified.err


@pytest.mark.usefixtures("stored")
def test_verify_names_the_way_out_once_and_not_itself(steelyard):
    with closing(sqlite3.connect(STORE)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'record'").fetchone()
    with Path(STORE).open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(bytes(4096))
    said = steelyard("verify", code=4).out
    assert said.count("steelyard export --salvage") == 1
    assert "steelyard verify" not in said


@pytest.mark.usefixtures("stored")
def test_wherever_a_file_is_damaged_no_command_ends_in_a_traceback(steelyard):
    chance = random.Random(12)
    whole = Path(STORE).read_bytes()
    pages = len(whole) // 4096
    for _ in range(12):
        data = bytearray(whole)
        page = chance.randrange(pages)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        else:
            data[page * 4096 : page * 4096 + 4096] = chance.choice([bytes(4096), chance.randbytes(4096)])
        for command in (("runs",), ("show", "a"), ("compare", "a", "b"), ("export", "a"), ("verify",)):
            shutil.rmtree(".steelyard")
            Path(STORE).parent.mkdir()
            Path(STORE).write_bytes(data)
            result = steelyard(*command)
            assert result.code in {0, 2, 4}
            assert "Traceback" not in result.err
            assert "this is a defect" not in result.err


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("counter", ["calls = X'00FF'", "money = 'x'", "stage = 100"])
def test_a_counter_that_is_no_number_is_damage_and_no_defect(steelyard, counter):
    damage(f"UPDATE stage SET {counter} WHERE run = 1")
    for command in (("show", "a"), ("show", "a", "--json"), ("compare", "a", "b")):
        assert steelyard(*command, code=4).err.startswith("error: the store is damaged: ")
    assert "stage 0 counts other" in steelyard("verify", code=4).out


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("topic", "body"),
    [
        ("mark", '{"baseline": true, "archived": false, "tags": [1]}'),
        ("analysis", "true"),
        ("analysis", '{"a": {"strata": {"passes": {}}}}'),
        ("queue", '{"title": 7}'),
    ],
)
def test_a_part_of_what_people_did_that_no_version_writes_is_damage_too(steelyard, topic, body):
    steelyard("mark", "a", "--tag", "t", code=0)
    steelyard("queue", "create", "a", "--draw", "2", "--title", "T", "--author", "ann", code=0)
    steelyard("errors", "draw", "a", "-n", "2", "--author", "ann", code=0)
    damage(f"UPDATE event SET body = '{body}' WHERE topic = '{topic}'")
    command = {"mark": ("runs",), "queue": ("queue", "list"), "analysis": ("errors", "show", "a")}[topic]
    said = steelyard(*command, code=4).err
    assert "the store is damaged" in said
    assert "defect" not in said


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    "change",
    [
        *(f"UPDATE run SET {name} = CAST({name} AS BLOB)" for name in ("state", "target", "created", "input_tokens")),
        "UPDATE run SET planned = 'x'",
        "UPDATE word SET text = CAST(text AS BLOB)",
        "UPDATE sample SET group_name = CAST(group_name AS BLOB)",
        "UPDATE record SET repeat = CAST(repeat AS BLOB)",
        "UPDATE score SET outcome = 'x'",
    ],
)
def test_a_value_of_another_type_than_its_column_is_damage_and_no_defect(steelyard, change):
    damage(change, "DELETE FROM computed")
    for command in (("show", "a"), ("show", "a", "--only", "all"), ("compare", "a", "b"), ("export", "a")):
        said = steelyard(*command).err
        assert "malformed" in said or "damaged" in said, said
        assert "defect" not in said
    for command in (("runs",), ("history", "exam.json"), ("rescore", "a"), ("resume",), ("verify",)):
        assert "defect" not in steelyard(*command).err


@pytest.mark.usefixtures("stored")
def test_a_time_that_no_calendar_has_is_damage_and_no_defect(steelyard):
    damage("UPDATE run SET created = -1e308")
    for command in (("runs",), ("show", "a"), ("compare", "a", "b")):
        assert "is damaged: " in steelyard(*command, code=4).err


@pytest.mark.usefixtures("stored")
def test_the_names_of_other_runs_are_not_read(steelyard):
    damage("INSERT INTO word (text) VALUES (CAST(X'FF' AS TEXT))")
    assert "line:1" in steelyard("show", "a", "--only", "all", code=0).out


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("body", ["false", '{"a": 1}', "9" * 5000, "[" * 100_000])
def test_what_people_did_that_no_version_writes_is_damage_and_no_defect(steelyard, body):
    steelyard("mark", "a", "--pin", code=0)
    steelyard("queue", "create", "a", "--draw", "2", "--title", "T", "--author", "ann", code=0)
    damage(f"UPDATE event SET body = '{body}'")
    for command in (("runs",), ("queue", "list")):
        said = steelyard(*command, code=4).err
        assert "the store is damaged" in said
        assert "defect" not in said
    said = steelyard("verify", code=4).out
    assert "marks of runs cannot be read" in said
    assert "queues cannot be read" in said
