import random
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.sql.schema import Schema, parse_schema
from steelyard.targets.baseline import Baseline
from steelyard.targets.sql_rules.question import lexicon
from steelyard.targets.sql_rules.rules import read_question
from steelyard.types import Sample

CLINIC = """
CREATE TABLE doctors (id INTEGER PRIMARY KEY, name TEXT, city TEXT, salary REAL, birth_year INTEGER, left_on DATE);
CREATE TABLE patients (id INTEGER PRIMARY KEY, full_name TEXT, insured BOOLEAN, weight_kg REAL, email TEXT);
CREATE TABLE visits (
  id INTEGER PRIMARY KEY, doctor_id INTEGER REFERENCES doctors (id), patient_id INTEGER REFERENCES patients (id),
  visited_on DATE, minutes INTEGER, kind TEXT
);
"""
SHOP = """
CREATE TABLE 商品 (编号 INTEGER PRIMARY KEY, 名称 TEXT, 类别 TEXT, 价格 REAL);
CREATE TABLE 订单 (订单号 INTEGER PRIMARY KEY, 商品编号 INTEGER REFERENCES 商品 (编号), 数量 INTEGER);
"""
ODD = """
CREATE TABLE "order" ("group" INT PRIMARY KEY, "the crowd" TEXT, "a""b" INT, "select" REAL);
CREATE TABLE t (a); CREATE TABLE x (_ INT, "*" REAL);
"""


def sql(question, ddl=CLINIC):
    return read_question(question, parse_schema(ddl)).sql


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many doctors are there?", "SELECT COUNT(*) FROM doctors"),
        ("What is the average salary of doctors?", "SELECT AVG(salary) FROM doctors"),
        ("What is the total weight of all patients?", "SELECT SUM(weight_kg) FROM patients"),
        ("What is the lowest salary of any doctor?", "SELECT MIN(salary) FROM doctors"),
        ("Show the different cities of doctors.", "SELECT DISTINCT city FROM doctors"),
        ("How many different cities do doctors live in?", "SELECT COUNT(DISTINCT city) FROM doctors"),
        ("List the names of doctors with a salary of at least 5000.", "SELECT name FROM doctors WHERE salary >= 5000"),
        ("Show the names of doctors above salary 20.", "SELECT name FROM doctors WHERE salary > 20"),
        ("Which doctors were born before 1970?", "SELECT name FROM doctors WHERE birth_year < 1970"),
        (
            "Show the name of doctors with a salary between 10 and 20.5.",
            "SELECT name FROM doctors WHERE salary BETWEEN 10 AND 20.5",
        ),
        (
            "Which patients have an email that ends with 'x.org' or 'y.org'?",
            "SELECT full_name FROM patients WHERE email LIKE '%x.org' OR email LIKE '%y.org'",
        ),
        (
            "Which doctor has the most visits?",
            (
                "SELECT doctors.name FROM doctors JOIN visits ON visits.doctor_id = doctors.id "
                "GROUP BY doctors.name ORDER BY COUNT(visits.id) DESC LIMIT 1"
            ),
        ),
        ("Which doctors live in Port Ellen?", "SELECT name FROM doctors WHERE city = 'Port Ellen'"),
        (
            'Show the email of patients whose full name contains "an".',
            "SELECT email FROM patients WHERE full_name LIKE '%an%'",
        ),
        ("How many patients have no email?", "SELECT COUNT(*) FROM patients WHERE email IS NULL"),
        ("How many insured patients are there?", "SELECT COUNT(*) FROM patients WHERE insured = 1"),
        ("How many doctors are there per city?", "SELECT city, COUNT(*) FROM doctors GROUP BY city"),
        (
            "Which cities have more than 3 doctors?",
            "SELECT city FROM doctors GROUP BY city HAVING COUNT(*) > 3",
        ),
        (
            "Show the names of the 3 doctors with the highest salary.",
            "SELECT name FROM doctors ORDER BY salary DESC LIMIT 3",
        ),
        (
            "List the name and city of doctors sorted by name descending.",
            "SELECT name, city FROM doctors ORDER BY name DESC",
        ),
        (
            "How many visits were there in March 2024?",
            "SELECT COUNT(*) FROM visits WHERE visited_on >= '2024-03-01' AND visited_on < '2024-04-01'",
        ),
        (
            "What is the total minutes of visits for each doctor?",
            (
                "SELECT doctors.name, SUM(visits.minutes) FROM visits JOIN doctors ON doctors.id = visits.doctor_id "
                "GROUP BY doctors.id, doctors.name"
            ),
        ),
        (
            "Which patients never had visits?",
            (
                "SELECT full_name FROM patients WHERE id NOT IN "
                "(SELECT patient_id FROM visits WHERE patient_id IS NOT NULL)"
            ),
        ),
    ],
)  # fmt: skip
def test_a_plain_question_becomes_the_sql_that_it_asks_for(question, wanted):
    assert sql(question) == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("有多少商品？", 'SELECT COUNT(*) FROM "商品"'),
        ("价格大于20的商品的名称是什么？", 'SELECT "名称" FROM "商品" WHERE "价格" > 20'),
        ("商品的平均价格是多少？", 'SELECT AVG("价格") FROM "商品"'),
        ("每个类别的平均价格是多少？", 'SELECT "类别", AVG("价格") FROM "商品" GROUP BY "类别"'),
    ],
)  # fmt: skip
def test_a_chinese_question_is_read_against_chinese_names(question, wanted):
    assert sql(question, SHOP) == wanted


def test_where_no_key_joins_the_tables_the_question_is_read_about_one_of_them():
    ddl = "CREATE TABLE singers (name TEXT, city TEXT); CREATE TABLE songs (title TEXT, minutes REAL)"
    assert sql("Show the title of songs and the city of singers.", ddl) == "SELECT title FROM songs"


def test_without_a_schema_the_answer_is_null_and_says_why():
    assert read_question("How many?", Schema()).sql == "SELECT NULL"
    assert "no table" in read_question("How many?", Schema()).problem
    assert read_question(" \n", parse_schema(CLINIC)).problem == "the question is blank"


def test_names_are_quoted_where_they_must_be_and_values_always():
    assert sql('How many order have the crowd "it\'s"?', ODD) == (
        "SELECT COUNT(*) FROM \"order\" WHERE \"the crowd\" = 'it''s'"
    )


def test_a_count_is_not_ordered_so_that_strict_engines_run_it():
    assert sql("How many doctors are there, sorted by name?") == "SELECT COUNT(*) FROM doctors"
    assert sql("Show the different cities of doctors sorted by salary.") == "SELECT city FROM doctors ORDER BY salary"


def test_any_words_give_sql_that_sqlite_runs():
    draw = random.Random(5)
    phrases = [one for some in lexicon()["phrases"].values() for one in some]
    others = [
        *lexicon()["chinese"],
        *lexicon()["stop"],
        "3",
        "2024-05-06",
        "'x'",
        "O'Neill",
        "Ada",
        ",",
        "?",
        "%",
        "\0",
    ]
    for ddl in (CLINIC, SHOP, ODD):
        schema = parse_schema(ddl)
        known = [one.name for table in schema.tables for one in (table, *table.columns)]
        with closing(sqlite3.connect(":memory:")) as database:
            database.executescript(ddl)
            for _ in range(times(100, 300)):
                question = " ".join(draw.choices(phrases + others + known * 6, k=draw.randint(1, 12)))
                reading = read_question(question, schema)
                database.execute(reading.sql).fetchall()
                assert reading == read_question(question, schema)


@given(st.text(max_size=60), st.text(st.sampled_from('CREATE TABLEab(,);" INTEGER'), max_size=60))
def test_odd_input_is_answered_and_never_raises(question, ddl):
    reading = read_question(question, parse_schema("CREATE TABLE " + ddl))
    assert reading.sql.startswith("SELECT ")
    assert reading.problem or reading.sql != "SELECT NULL"


def test_baseline_rules_reads_schema_and_dialect_of_the_sample():
    sample = Sample("1", "How many doctors are there per city?", metadata={"schema": CLINIC, "dialect": "SQLite"})
    output = Baseline("rules")(sample)
    assert output.value == "SELECT city, COUNT(*) FROM doctors GROUP BY city"
    assert output.metadata == {"evidence": ["select", "group"]}
    backticks = Sample("1", [{"content": "How many order?"}], metadata={"schema": ODD, "dialect": "mysql"})
    assert Baseline("rules")(backticks).value == "SELECT COUNT(*) FROM `order`"


@pytest.mark.parametrize("metadata", [{}, {"schema": None}, {"schema": "no DDL at all"}, {"schema": 7, "dialect": 3}])
def test_baseline_rules_says_what_is_missing(metadata):
    output = Baseline("rules")(Sample("1", "How many doctors?", metadata=metadata))
    assert output.value == "SELECT NULL"
    assert "no table" in output.metadata["problem"]


def test_baseline_rules_takes_no_knowledge(tmp_path):
    check_options(Baseline("rules"))
    with pytest.raises(ConfigError, match="rules uses no knowledge"):
        check_options(Baseline("rules", tmp_path / "k.md"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("一共有多少位作者？", 'SELECT COUNT(*) FROM "作者"'),
        ("哪些作者的出生年份早于1960年？", 'SELECT "姓名" FROM "作者" WHERE "出生年份" < 1960'),
        ("按出生年份从大到小列出姓名。", 'SELECT "姓名" FROM "作者" ORDER BY "出生年份" DESC'),
    ],
)
def test_chinese_measure_words_and_words_of_order_are_no_values(question, expected):
    assert sql(question, "CREATE TABLE 作者 (编号 INTEGER PRIMARY KEY, 姓名 TEXT, 出生年份 INTEGER)") == expected
