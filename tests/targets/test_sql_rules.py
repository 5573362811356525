import random
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.errors import ConfigError
from steelyard.sql.schema import Schema, parse_schema
from steelyard.targets.baseline import Baseline
from steelyard.targets.sql_rules import lexicon, read_question
from steelyard.types import Sample

CLINIC = """
CREATE TABLE doctors (id INTEGER PRIMARY KEY, name TEXT, city TEXT, salary REAL, birth_year INTEGER, left_on DATE);
CREATE TABLE patients (id INTEGER PRIMARY KEY, full_name TEXT, insured BOOLEAN, weight_kg REAL, email TEXT);
CREATE TABLE visits (
  id INTEGER PRIMARY KEY, doctor_id INTEGER REFERENCES doctors (id), patient_id INTEGER REFERENCES patients (id),
  visited_on DATE, minutes INTEGER, kind TEXT
);
INSERT INTO doctors VALUES (1, 'Ada Ek', 'Oslo', 5000, 1961, NULL), (2, 'Bo Lind', 'Graz', 4000, 1985, NULL),
  (3, 'Cy O''Neill', 'Oslo', 6000, 1958, NULL);
INSERT INTO patients VALUES (1, 'Dan Ro', 1, 70, NULL), (2, 'Eve Au', 0, 65, 'e@x.org');
INSERT INTO visits VALUES (1, 1, 1, '2024-03-01', 20, 'first'), (2, 1, 2, '2024-04-01', 30, 'first'),
  (3, 2, 1, '2023-04-01', 10, 'check');
"""
SHOP = """
CREATE TABLE 商品 (编号 INTEGER PRIMARY KEY, 名称 TEXT, 类别 TEXT, 价格 REAL);
CREATE TABLE 订单 (订单号 INTEGER PRIMARY KEY, 商品编号 INTEGER REFERENCES 商品 (编号), 数量 INTEGER);
INSERT INTO 商品 VALUES (1, '茶', '饮料', 30), (2, '米', '粮食', 10);
"""
ODD = """
CREATE TABLE "order" ("group" INT PRIMARY KEY, "the crowd" TEXT, "a""b" INT, "select" REAL);
CREATE TABLE t (a); CREATE TABLE x (_ INT, "*" REAL);
"""


def answer(question, ddl=CLINIC):
    """The rows of the SQL that a question becomes."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(ddl)
        return database.execute(read_question(question, parse_schema(ddl))).fetchall()


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many doctors are there?", [(3,)]),
        ("What is the average salary of doctors?", [(5000,)]),
        ("What is the total weight of all patients?", [(135,)]),
        ("What is the minimum salary of any doctor?", [(4000,)]),
        ("Show the different cities of doctors.", [("Oslo",), ("Graz",)]),
        ("How many different cities do doctors live in?", [(2,)]),
        ("List the names of doctors with a salary of at least 5,000.", [("Ada Ek",), ("Cy O'Neill",)]),
        ("Which doctors were born before 1960?", [("Cy O'Neill",)]),
        ("Show the name of doctors with a salary between 10 and 4000.5.", [("Bo Lind",)]),
        ("Which doctor has the most visits?", [("Ada Ek",)]),
        ("Which doctors live in Oslo?", [("Ada Ek",), ("Cy O'Neill",)]),
        ("What is the city of the doctor named Cy O'Neill?", [("Oslo",)]),
        ("How many patients have no email?", [(1,)]),
        ("How many doctors are there per city?", [("Graz", 1), ("Oslo", 2)]),
        ("Which doctors have more than one visit?", [("Ada Ek",)]),
        ("Show the names of the 2 doctors with the highest salary.", [("Cy O'Neill",), ("Ada Ek",)]),
        ("List the name of doctors sorted by name descending.", [("Cy O'Neill",), ("Bo Lind",), ("Ada Ek",)]),
        ("What is the total minutes of visits for each doctor?", [("Ada Ek", 50), ("Bo Lind", 10)]),
        ("Which doctors never had visits?", [("Cy O'Neill",)]),
        ("Show the full name of patients and minutes of visits.", [("Dan Ro", 20), ("Dan Ro", 10), ("Eve Au", 30)]),
    ],
)  # fmt: skip
def test_a_plain_question_is_answered_with_the_rows_that_it_asks_for(question, rows):
    ordered = "sorted" in question or "highest" in question
    assert answer(question) == rows if ordered else sorted(answer(question)) == sorted(rows)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("有多少商品？", [(2,)]),
        ("价格大于20的商品的名称是什么？", [("茶",)]),
        ("商品的平均价格是多少？", [(20,)]),
        ("每个类别的平均价格是多少？", [("粮食", 10), ("饮料", 30)]),
        ("按价格从大到小列出名称。", [("茶",), ("米",)]),
    ],
)  # fmt: skip
def test_a_chinese_question_is_read_against_chinese_names(question, rows):
    assert answer(question, SHOP) == rows


def test_without_a_schema_or_a_question_the_answer_is_null():
    assert read_question("How many?", Schema()) == "SELECT NULL"
    assert read_question(" \n", parse_schema(CLINIC)) == "SELECT NULL"


def test_names_are_quoted_where_they_must_be_and_values_always():
    assert read_question('How many order have the crowd "it\'s"?', parse_schema(ODD)) == (
        'SELECT COUNT(*) FROM "order" WHERE "order"."the crowd" = \'it\'\'s\''
    )


def test_a_count_is_not_ordered_so_that_strict_engines_run_it():
    assert "ORDER" not in read_question("How many doctors are there, sorted by name?", parse_schema(CLINIC))


def test_any_words_give_sql_that_sqlite_runs():
    draw = random.Random(5)
    others = ("3", "2024-05-06", "'x'", "O'Neill", "Ada", ",", "?", "%", "\0")
    words = [*lexicon()["phrases"], *lexicon()["chinese"], *others]
    for ddl in (CLINIC, SHOP, ODD):
        schema = parse_schema(ddl)
        known = [named.name for table in schema.tables for named in (table, *table.columns)]
        with closing(sqlite3.connect(":memory:")) as database:
            database.executescript(ddl)
            for _ in range(times(100, 300)):
                question = " ".join(draw.choices(words + known * 6, k=draw.randint(1, 12)))
                sql = read_question(question, schema)
                database.execute(sql).fetchall()
                assert sql == read_question(question, schema)


@given(st.text(max_size=60), st.text(st.sampled_from('CREATE TABLEab(,);" INTEGER'), max_size=60))
def test_odd_input_is_answered_and_never_raises(question, ddl):
    assert read_question(question, parse_schema("CREATE TABLE " + ddl)).startswith("SELECT ")


def test_baseline_rules_reads_schema_and_dialect_of_the_sample():
    sample = Sample("1", "How many doctors are there per city?", metadata={"schema": CLINIC, "dialect": "SQLite"})
    assert Baseline("rules")(sample).value == "SELECT doctors.city, COUNT(*) FROM doctors GROUP BY doctors.city"
    backticks = Sample("1", [{"content": "How many order?"}], metadata={"schema": ODD, "dialect": "mysql"})
    assert Baseline("rules")(backticks).value == "SELECT COUNT(*) FROM `order`"


@pytest.mark.parametrize("metadata", [{}, {"schema": None}, {"schema": "no DDL at all"}, {"schema": 7, "dialect": 3}])
def test_baseline_rules_says_what_is_missing(metadata):
    output = Baseline("rules")(Sample("1", "How many doctors?", metadata=metadata))
    assert output.value == "SELECT NULL"
    assert "no table" in output.metadata["problem"]


def test_baseline_rules_takes_no_knowledge(tmp_path):
    Baseline("rules").check()
    with pytest.raises(ConfigError, match="rules uses no knowledge"):
        Baseline("rules", tmp_path / "k.md").check()
