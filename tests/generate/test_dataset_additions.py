"""Failures become rows of a test set: with their origin, each once, and read again by their suite."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from steelyard import ConfigError, ExactMatch, Options, Sample, Store, Suite, evaluate_suite
from steelyard.analysis.comparison.sample_scores import hashes_by_id
from steelyard.analysis.conditions import parse_condition
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.evaluation.evaluate import RunConfig
from steelyard.generate.dataset_additions import add_records, row_of
from steelyard.scorers.choice import Choice
from steelyard.suites.choice.rows import load_choice
from steelyard.suites.pairwise import load_pairwise
from steelyard.suites.rag import load_rag
from steelyard.suites.tables import load_tables
from steelyard.suites.text2sql.rows import load_text2sql

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
EXAM = [
    Sample(
        f"q{no}", f"第{no}题:乾?", "B", ("天", f"地{no}", "水"), group="卦" if no % 2 else "爻", metadata={"year": no}
    )
    for no in range(6)
]


def answer(sample):
    if sample.id == "q5":
        raise TimeoutError("too slow")
    return {"q0": "B", "q1": "A", "q2": "", "q3": "C", "q4": "B"}[sample.id]


@pytest.fixture
def run(tmp_path):
    suite = Suite("exam", "choice", EXAM, {"weak": answer}, (Choice(),), Options(max_errors=1, repeats=2))
    return evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))[0]


@pytest.fixture
def to(run, tmp_path):
    """Collects what fits a condition, and writes it."""

    def collected(where="failed", name="set.jsonl", *, save=True):
        with Store(tmp_path / "s.db") as store:
            again = store.run(run.id)
            condition = parse_condition(where, again.manifest)
            records = [one for one in again.records() if condition.holds(one)]
            addition = add_records(again, records, tmp_path / name, where=where, at=AT)
        if save:
            addition.save()
        return addition

    return collected


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_failed_sample_is_added_once_with_where_it_comes_from(run, to, tmp_path):
    addition = to()
    rows = rows_of(tmp_path / "set.jsonl")
    assert [row["id"] for row in rows] == ["q1", "q2", "q3", "q5"]
    assert (addition.fitting, len(addition.rows), addition.known) == (4, 4, ())
    first = rows[0]["metadata"]
    assert first["year"] == 1
    collected = first["collected"]
    assert (collected["run"], collected["suite"], collected["target"]) == (run.id, "exam", "weak")
    assert (collected["at"], collected["where"]) == ("2026-03-01T09:30:00+00:00", "failed")
    assert (collected["sample"], collected["sample_hash"]) == (
        "q1",
        hashes_by_id(run.data().scores.samples, run.data().hashes)["q1"],
    )
    wrong = {"solve_rate": {"value": 0.0, "outcome": "scored"}}
    assert collected["records"] == [{"repeat": 0, "scores": wrong}, {"repeat": 1, "scores": wrong}]
    unread = rows[1]["metadata"]["collected"]["records"][0]["scores"]["solve_rate"]
    assert unread == {"value": None, "outcome": "unparsed"}
    assert rows[3]["metadata"]["collected"]["records"][0]["failure"] == "target (TimeoutError)"


def test_a_collected_exam_is_read_again_as_the_same_questions(to, tmp_path):
    to()
    data = load_choice(SampleFiles(tmp_path / "set.jsonl"))
    wanted = [EXAM[no] for no in (1, 2, 3, 5)]
    assert [(one.id, one.input, one.reference, one.choices, one.group) for one in data.samples] == [
        (one.id, one.input, one.reference, one.choices, one.group) for one in wanted
    ]
    assert not data.defects


def test_what_is_in_the_file_stays_byte_for_byte_and_is_not_added_again(to, tmp_path):
    path = tmp_path / "set.jsonl"
    same = '{"answer": "A",   "question":"第1题: 乾? ", "options":["水","天","地1"]}'
    before = f"\ufeff{same}\r\n\n" + '{"id":"q3","question":"mine","options":["x","y"],"answer":"A","group":"g"}'
    path.write_bytes(before.encode())
    path.chmod(0o640)
    addition = to()
    assert addition.known == ("q1",), "the same question with its options in another order"
    data = path.read_bytes()
    assert data.startswith(before.encode() + b"\n")
    rows = [json.loads(one) for one in data[len(before.encode()) :].decode().splitlines() if one]
    assert [row["id"].split("-")[0] for row in rows] == ["q2", "q3", "q5"]
    assert rows[1]["id"] == f"q3-{rows[1]['metadata']['collected']['content_hash'][:8]}"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.id for one in load_choice(SampleFiles(path)).samples][1:] == [
        row["id"] for row in [{"id": "q3"}, *rows]
    ]
    again = to()
    assert (len(again.rows), again.known) == (0, ("q1", "q2", "q3", "q5"))
    assert path.read_bytes() == data


def test_nothing_is_written_before_it_is_saved_and_no_half_file_stays(to, tmp_path):
    addition = to("wrong", save=False)
    assert not (tmp_path / "set.jsonl").exists()
    (tmp_path / "set.jsonl").write_bytes(b'{"question": "new"}\n')
    with pytest.raises(ConfigError, match="was changed meanwhile"):
        addition.save()
    assert (tmp_path / "set.jsonl").read_bytes() == b'{"question": "new"}\n'
    assert [one.name for one in tmp_path.iterdir() if "set.jsonl" in one.name] == ["set.jsonl"]


def test_a_link_is_followed_and_stays_a_link(to, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/real.jsonl").write_bytes(b"")
    (tmp_path / "set.jsonl").symlink_to(tmp_path / "kept/real.jsonl")
    to("wrong")
    assert (tmp_path / "set.jsonl").is_symlink()
    assert len(rows_of(tmp_path / "kept/real.jsonl")) == 2


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (b'{"question": "x"}\n[1]\n', DataError, "set.jsonl:2: expected an object, but it is list"),
        (b'{"question": "x"}\n\n{"a": }\n', DataError, "set.jsonl:3: no JSON"),
        (b'{"question": "x"}\n' + b"[" * 100_000, DataError, "set.jsonl:2: nested too deeply"),
        (b"\xff\xfe{\x00", DataError, "not text in UTF-8"),
        ('{"题目": "x", "选项": ["a", "b"], "答案": "A"}\n'.encode(), ConfigError, "have no key 'question'"),
        (b'{"question": "x", "answer": "A"}\n' * 10, ConfigError, "have no key 'group'"),
    ],
)
def test_a_file_that_would_not_be_read_with_our_rows_is_left_alone(to, tmp_path, content, error, said):
    (tmp_path / "set.jsonl").write_bytes(content)
    with pytest.raises(error, match=said):
        to()
    assert (tmp_path / "set.jsonl").read_bytes() == content


def test_another_suffix_is_refused(to):
    with pytest.raises(ConfigError, match=r"\.jsonl file, not \.csv"):
        to(name="set.csv")


def test_samples_that_are_no_questions_are_not_collected(tmp_path):
    suite = Suite("chunks", "generate", EXAM[:1], {"t": answer}, (ExactMatch(),))
    (made,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "g.db"))
    with pytest.raises(ConfigError, match="its samples cannot be asked again"):
        add_records(made, made.records(), tmp_path / "set.jsonl", where="all", at=AT)


def write(path, rows):
    path.write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in rows), encoding="utf-8")
    return path


def collected_rows(kind, samples, tmp_path):
    """`samples` as a run of that kind, all of them collected to set.jsonl."""
    suite = Suite("s", kind, samples, {"t": lambda sample: "no"}, (ExactMatch(),))
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "k.db"))
    add_records(run, run.records(), tmp_path / "set.jsonl", where="all", at=AT).save()
    return tmp_path / "set.jsonl"


def as_asked(samples):
    """What decides a score: all but the row's place."""
    return [
        (one.id, one.input, one.reference, one.choices, one.contexts, one.group, {**one.metadata, "position": 0})
        for one in samples
    ]


def test_questions_about_documents_come_back_with_answers_sources_and_passages(tmp_path):
    rows = [
        {"id": "a", "question": "How high?", "answer": "1.25 m", "document": "x.pdf", "page": 3, "start": 4, "end": 9,
         "source": "It is 1.25 m high.", "chunk": "c1", "group": "numbers"},
        {"id": "b", "question": "Who?", "answer": ["Ann", "Bob"], "source": ["first", "second"], "document": "y.md"},
        {"id": "c", "question": "Why?", "contexts": ["because", "so"], "cluster": "reasons"},
    ]  # fmt: skip
    first = load_rag(SampleFiles(write(tmp_path / "q.jsonl", rows))).samples
    again = load_rag(SampleFiles(collected_rows("rag", first, tmp_path))).samples
    assert as_asked(again) == as_asked(first)
    assert again[1].metadata["sources"][1]["text"] == "second"
    assert [sample.cluster for sample in again] == [sample.cluster for sample in first] == ["a", "b", "reasons"]


def test_questions_with_sql_come_back_with_schema_and_database(tmp_path):
    (tmp_path / "db/shop").mkdir(parents=True)
    with sqlite3.connect(tmp_path / "db/shop/shop.sqlite") as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    connection.close()
    rows = [
        {"question_id": 7, "question": "All?", "SQL": "SELECT a FROM t", "db_id": "shop", "difficulty": "easy",
         "evidence": "a is a number", "cluster": "everything"},
        {"question": "None?", "SQL": "SELECT 1", "schema": "CREATE TABLE u (b)"},
    ]  # fmt: skip
    options = {"databases": tmp_path / "db"}
    first = [*load_text2sql(SampleFiles(write(tmp_path / "q.jsonl", rows)), **options).samples]
    again = load_text2sql(SampleFiles(collected_rows("text2sql", first, tmp_path)), **options).samples
    assert as_asked(again) == as_asked(first)
    assert [sample.cluster for sample in again] == ["everything", first[1].id]


def test_wanted_tables_come_back_as_rows(tmp_path):
    rows = [{"id": "1", "target": [["a", 1], ["b", None]], "question": "Which?", "group": "g", "cluster": "c"}]
    first = load_tables(SampleFiles(write(tmp_path / "q.jsonl", rows)), task="QA", databases=None).samples
    path = collected_rows("tables", first, tmp_path)
    again = load_tables(SampleFiles(path), task="QA", databases=None).samples
    assert as_asked(again) == as_asked(first)
    assert [sample.cluster for sample in again] == ["c"]


def test_questions_for_two_sides_come_back_with_messages_answers_and_clusters(tmp_path):
    samples = [
        Sample("a", "Why?", "because", group="g", cluster="twice"),
        Sample("b", [{"role": "user", "content": "How?"}], ["so", "thus"]),
        Sample("c", "What?"),
    ]
    again = load_pairwise(SampleFiles(collected_rows("pairwise", samples, tmp_path))).samples
    assert as_asked(again) == as_asked([replace(one, metadata={"position": 0}) for one in samples])
    assert [one.cluster for one in again] == ["twice", "b", "c"]


def test_a_collected_exam_keeps_its_clusters(tmp_path):
    samples = [replace(EXAM[1], cluster="same"), replace(EXAM[2], cluster="same"), EXAM[3]]
    data = load_choice(SampleFiles(collected_rows("choice", samples, tmp_path)))
    assert [one.cluster for one in data.samples] == ["same", "same", EXAM[3].id]


def test_a_run_from_python_gives_rows_that_the_rag_suite_reads(tmp_path):
    samples = [Sample("p", "Capital of France?", "Paris", contexts=("It is Paris.",), group="cities")]
    path = collected_rows("custom", samples, tmp_path)
    assert as_asked(load_rag(SampleFiles(path)).samples) == as_asked(samples)


def test_rows_of_a_kind_have_the_same_keys_whatever_a_sample_lacks():
    full = Sample("1", "?", "a", ("x", "y"), ("c",), "g", "", {"document": "d", "sources": [{"id": "s"}], "db_id": "b"})
    for kind in ("choice", "rag", "text2sql", "tables", "custom"):
        assert set(row_of(kind, full)) == set(row_of(kind, Sample("2", "?")))
