"""The text-to-SQL example is sound: its databases can be built again, its reference SQL runs and says something."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from steelyard.config.load import load
from steelyard.prompts.template import placeholders
from steelyard.registry import names
from steelyard.sql.schema import parse_schema

EXAMPLE = Path(__file__).parents[2] / "examples" / "text2sql"
QUESTIONS = json.loads((EXAMPLE / "questions.json").read_text("utf-8"))
CONTEXTS = [json.loads(line) for line in (EXAMPLE / "context.jsonl").read_text("utf-8").splitlines()]
DATABASES = ["bakery", "bikes", "choir"]


def file_of(database):
    return EXAMPLE / "databases" / database / f"{database}.sqlite"


def rows_of(question):
    with closing(sqlite3.connect(f"{file_of(question['db_id']).as_uri()}?mode=ro", uri=True)) as database:
        return database.execute(question["sql"]).fetchall()


def content(file):
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())


def values(database, table):
    with closing(sqlite3.connect(file_of(database))) as opened:
        return opened.execute(f"SELECT * FROM {table}").fetchall()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("build_text2sql", EXAMPLE / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("databases")
    module.build(folder)
    return folder


@pytest.mark.parametrize("database", DATABASES)
def test_a_build_makes_the_databases_that_are_here(built, database):
    assert content(built / database / f"{database}.sqlite") == content(file_of(database))


@pytest.mark.parametrize("database", DATABASES)
def test_databases_are_small_and_their_keys_hold(database):
    assert file_of(database).stat().st_size < 200_000
    with closing(sqlite3.connect(file_of(database))) as opened:
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
    schema = parse_schema((EXAMPLE / "databases" / database / "schema.sql").read_text("utf-8"))
    assert 4 <= len(schema.tables) <= 6
    assert schema.skipped == ()
    assert all(table.primary_key for table in schema.tables)
    assert sum(len(table.foreign_keys) for table in schema.tables) >= 4


def test_data_has_what_makes_sql_hard():
    assert Counter(row[1] for row in values("bakery", "customers"))["Ada Brandt"] == 2
    assert any(row[3] is None for row in values("bakery", "customers"))
    assert sum(row[3] == 32.0 for row in values("bakery", "products")) == 2
    assert {row[0] for row in values("bakery", "customers")} - {row[1] for row in values("bakery", "orders")}
    assert any(row[4] is None for row in values("bikes", "trips"))
    assert "林梅" in {row[2] for row in values("choir", "singers")}


def test_there_are_enough_questions_of_every_kind():
    assert len(QUESTIONS) >= 60
    assert min(Counter(one["db_id"] for one in QUESTIONS).values()) >= 20
    assert set(Counter(one["db_id"] for one in QUESTIONS)) == set(DATABASES)
    levels = Counter(one["difficulty"] for one in QUESTIONS)
    assert set(levels) == {"easy", "medium", "hard", "extra"}
    assert min(levels.values()) >= 12


def test_no_question_is_asked_twice():
    assert len({one["id"] for one in QUESTIONS}) == len(QUESTIONS)
    assert len({one["question"] for one in QUESTIONS}) == len(QUESTIONS)


def test_reference_sql_runs_and_all_but_one_find_something():
    empty = [one["id"] for one in QUESTIONS if not rows_of(one)]
    assert empty == ["choir-22"]


def test_reference_sql_uses_all_that_the_example_is_for():
    text = " ".join(one["sql"] for one in QUESTIONS)
    for part in ("JOIN", "GROUP BY", "HAVING", "OVER (", "EXCEPT", "INTERSECT", "NOT IN", "EXISTS", "IS NULL", "LIMIT"):
        assert part in text, part


def test_context_answers_run_on_their_own_context():
    assert len(CONTEXTS) == 12
    for one in CONTEXTS:
        assert set(one) == {"question", "answer", "context"}
        with closing(sqlite3.connect(":memory:")) as database:
            database.executescript(one["context"])
            assert database.execute(one["answer"]).fetchall(), one["question"]


@pytest.mark.parametrize("name", ["v1", "v2"])
def test_prompts_show_dialect_schema_and_question_once(name):
    text = (EXAMPLE / "prompts" / f"{name}.txt").read_text("utf-8")
    assert [one for one, _ in placeholders(text)] == ["metadata.dialect", "metadata.schema", "question"]


@pytest.mark.skipif("text2sql" not in names("suite"), reason="the suite is not registered")
@pytest.mark.parametrize(("name", "asked"), [("exam", 66), ("models", 66), ("context", 12)])
def test_configuration_asks_every_question_with_its_schema(name, asked):
    suite = load(EXAMPLE / f"{name}.yaml", environ={"ZHIPU_API_KEY": "not-a-real-key"}, use_dotenv=False).suite
    samples = list(suite.samples)
    assert len(samples) == asked
    assert all("CREATE TABLE" in sample.metadata["schema"] for sample in samples)


def test_the_page_about_text_to_sql_shows_what_its_code_prints(tmp_path, monkeypatch):
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "text2sql")
    monkeypatch.chdir(tmp_path)
    text = (EXAMPLE.parents[1] / "docs" / "how-to" / "text2sql.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    namespace = {"__name__": "documents"}
    for block in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "docs/how-to/text2sql.md", "exec"), namespace)
        told = re.findall(r"print\(.*\)  # (.+)", block)
        assert told
        assert output.getvalue().splitlines() == told
