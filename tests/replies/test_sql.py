"""SQL in replies: JSON, fences, bare statements; what is not said clearly is not read."""

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.prompts.reply_schema import load_reply_schema
from steelyard.replies.sql import KEYS, read_sql

FORMS = ("auto", "create_select", "sql_json", "block", "create_select_strict")
LEAST = {
    "json with one key of SQL": 1.0,
    "a query without select": 1.0,
    "usual shapes": 1.0,
    "explained": 1.0,
    "closed or explained": 1.0,
    "several": 1.0,
    "declared": 1.0,
    "no statement": 0.92,
    "json": 1.0,
    "json that is refused": 1.0,
    "empty": 1.0,
}
"""Per family of replies that people thought of: the share that is read as they meant it."""


def query(text, form="auto"):
    reading = read_sql(text, form=form)
    return reading.query if reading.status == "read" else None


def message(text, form="auto"):
    reading = read_sql(text, form=form)
    assert reading.status == "incorrect"
    assert reading.query == ""
    return reading.message


def said(row):
    got = read_sql(row["reply"], form=row.get("form", "auto"))
    if got.status == "read":
        return got.status, got.query, got.form, got.create, got.broken_off
    return got.status, got.message if got.status == "incorrect" else ""


def meant(row):
    if row["status"] == "read":
        return "read", row["query"], row["read_as"], row.get("create", ""), row["broken_off"]
    return row["status"], row.get("message", "")


def test_replies_of_a_family_are_read_as_meant():
    assert_read_as_meant(stored("sql"), LEAST, lambda row: said(row) == meant(row), text="reply")


@pytest.mark.parametrize(
    "statement",
    [
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 1",
        "merge into t as x using (SELECT 1 AS a) AS s on x.a = s.a when matched then delete;",
        "TABLE staff",
        "TABLE hr.staff ORDER BY age LIMIT 2;",
        "UNPIVOT t ON a, b INTO NAME n VALUE v",
        "REPLACE INTO t VALUES (1, 2)",
        "CALL pragma_version()",
        "TRUNCATE TABLE t;",
        "UPDATE tools, crates AS c SET tools.weight = c.weight WHERE tools.crate = c.id;",
        "DELETE t, c FROM tools t INNER JOIN crates c ON c.id = t.crate;",
        "VALUES (1, 2), (3, 4)",
        "FROM t",
    ],
)
def test_a_statement_without_select_is_read_as_a_whole_reply(statement):
    assert query(statement) == statement


_TRIGGER = """CREATE TRIGGER kept BEFORE DELETE ON t BEGIN
  UPDATE u SET n = CASE WHEN n THEN 1 END;

  SELECT RAISE(ABORT, 'no');
END;"""
_FUNCTION = "CREATE OR REPLACE FUNCTION f() RETURNS trigger AS $$\nBEGIN\n  NEW.a := 1;\nEND;\n$$ LANGUAGE plpgsql;"
_BLOCK = "DO $$\nBEGIN\n  DELETE FROM t;\nEND $$;"
_PROCEDURE = "CREATE PROCEDURE p()\nBEGIN\n  IF 1 THEN\n    DELETE FROM t;\n  END IF;\n  SELECT 2;\nEND;"


@pytest.mark.parametrize("before", ["", "Here it is:\n\n", "Sure! Run this:\n"])
@pytest.mark.parametrize(
    "statement", [_TRIGGER, _FUNCTION, _PROCEDURE, _BLOCK, "CALL p(1);", "INSERT INTO t (a)\nSELECT b FROM u;"]
)
def test_a_statement_that_holds_others_is_read_as_a_whole(before, statement):
    assert query(f"{before}{statement}\n\nThis is all.") == statement


def test_a_delimiter_of_mysql_is_no_part_of_the_statement():
    trigger = "CREATE TRIGGER kept BEFORE INSERT ON t FOR EACH ROW\nBEGIN\n  SET NEW.a = 1;\nEND"
    assert query(f"DELIMITER //\n{trigger}//\nDELIMITER ;") == trigger


def test_a_changing_statement_on_a_line_is_read_unless_a_query_is_there_or_it_is_a_sentence():
    assert query("To do it:\nDELETE FROM t WHERE a = 1;\nDone.") == "DELETE FROM t WHERE a = 1;"
    assert query("The table:\nCREATE TABLE t (a int);\n\nQuery:\nSELECT a FROM t;") == "SELECT a FROM t;"
    assert query("In short: delete from the table what is old.") is None


@pytest.mark.parametrize("text", ["Merge into one table and count.", "TABLE customers\nid, name", "Table staff"])
def test_a_sentence_or_a_heading_is_no_statement(text):
    assert query(text) is None


# Forms that published prompts ask for.


@pytest.mark.parametrize(
    ("reply", "sql"),
    [
        ("SELECT count(*) FROM singer", "SELECT count(*) FROM singer"),  # Spider, DAIL-SQL: no explanation
        (
            "SELECT MAX(`Free Meal Count (K-12)` / `Enrollment (K-12)`) FROM frpm WHERE `County Name` = 'Alameda'",
            "SELECT MAX(`Free Meal Count (K-12)` / `Enrollment (K-12)`) FROM frpm WHERE `County Name` = 'Alameda'",
        ),  # BIRD
        ("```sql\nSELECT name FROM singer\n```", "SELECT name FROM singer"),  # chat models
        (
            "Let's think step by step. We need the table singer.\nSQL: SELECT name FROM singer WHERE age > 20",
            "SELECT name FROM singer WHERE age > 20",
        ),  # DIN-SQL
        ("#### Fixed SQL QUERY\nSELECT name FROM singer", "SELECT name FROM singer"),  # DIN-SQL, self-correction
        (
            "Question: How many?\nSQLQuery: SELECT count(*) FROM singer\nSQLResult: 3\nAnswer: There are 3.",
            "SELECT count(*) FROM singer",
        ),  # LangChain, LlamaIndex
        ("[SQL] SELECT name FROM singer; [/SQL]", "SELECT name FROM singer;"),  # SQLCoder
    ],
)
def test_forms_of_published_prompts_are_read(reply, sql):
    assert query(reply) == sql


@pytest.mark.parametrize(
    ("before", "behind"), [("", ""), ("Here it is:\n\n", "\n\nIt names the oldest."), ("SELECT query:\n", "")]
)
@pytest.mark.parametrize(
    "statement",
    [
        "WITH old\n     AS (SELECT name FROM t)\nSELECT name FROM old",
        "WITH -- the oldest\nold (name, age)\nAS MATERIALIZED (SELECT name, age FROM t) SELECT name FROM old",
        "WITH\n  -- one\n  -- two\n  -- three\n  /* four */ old AS (SELECT name FROM t) SELECT name FROM old",
        "SELECT name FROM t WHERE age > (SELECT avg(age) FROM t)",
        "SELECT name FROM t WHERE age >= (\n  SELECT max(age) FROM t\n)",
        "SELECT name, count(*) FROM t GROUP BY ALL",
        "SELECT name FROM t /* all of them */",
    ],
)
def test_a_query_is_read_from_its_first_word_to_its_last(statement, before, behind):
    assert query(before + statement + behind) == statement


@pytest.mark.parametrize(
    "statement",
    ["SELECT name FROM t WHERE age > (SELECT avg(age) FROM t)", "SELECT name, count(*) FROM t GROUP BY ALL"],
)
def test_a_query_in_backticks_is_read_from_its_first_word_to_its_last(statement):
    assert query(f"Use `{statement}` here.") == statement


@pytest.mark.parametrize("unit", ["\nwith/*", "\nwith a as/*", "\nwith/*\nwith/**//*", "--:with\n", "(\n"])
def test_lines_that_all_begin_a_query_and_a_comment_are_read_in_linear_time(unit):
    started = process_time()
    assert read_sql(unit * (100_000 // len(unit))).status == "incorrect"
    assert process_time() - started < 5  # 0.2 s; reading each comment to its end takes 10 s and more


def test_no_subquery_is_read_out_of_a_sentence():
    assert query("The query is SELECT name FROM t WHERE age > (SELECT avg(age) FROM t)") is None
    assert query("Delete all of t where its age <> (SELECT avg(age) FROM t)") is None


def test_a_sentence_behind_a_statement_does_not_go_on_with_it():
    for behind in ("In this query we take the names.", "With it you get all of them.", "As asked, all names."):
        assert query(f"SELECT a FROM t\n\n{behind}") == "SELECT a FROM t"
    assert query("SELECT a FROM t\n\nWHERE b = 1\n\nThis returns all.") == "SELECT a FROM t\n\nWHERE b = 1"


def test_an_object_that_is_no_json_hides_no_sound_one():
    assert query("{'sql': 'SELECT 1'} or rather {\"sql\": \"SELECT 2\"}") == "SELECT 2"


def test_the_validators_words_name_the_key_and_the_reason():
    assert message('{"sql": 1}') == "sql: Input should be a valid string"
    assert message('{"sql": "a\nb"}') == "no valid JSON: Invalid control character at line 1 column 11"
    assert message('{"sql": "SELECT 1", "why": "x"}', "sql_json") == "why: Extra inputs are not permitted"
    assert "unicode" in message('{"sql": "SELECT \\ud800"}')


def test_many_wrong_keys_are_told_shortly():
    told = message(json.dumps({"k" * 500 + str(no): 1 for no in range(50)}), "sql_json")
    assert told.startswith("sql: Field required; kkk")
    assert told.endswith("and 48 more")
    assert len(told) < 400


@pytest.mark.parametrize("name", ["sql", "create_select"])
def test_the_validator_wants_what_the_schema_that_is_sent_says(name):
    schema = load_reply_schema(name)
    form = {"sql": "sql_json"}.get(name, name)
    assert tuple(schema["required"]) == KEYS[form] == tuple(schema["properties"])
    assert schema["additionalProperties"] is False
    whole = dict.fromkeys(KEYS[form], "SELECT 1")
    assert query(json.dumps(whole), form) == "SELECT 1"
    for key in whole:
        assert query(json.dumps({name: text for name, text in whole.items() if name != key}), form) is None
    assert query(json.dumps({**whole, "more": ""}), form) is None


@pytest.mark.parametrize("reply", ["SELECT a FROM t;", "x\n```sql\nSELECT a FROM t\n```", '{"sql": "SELECT a FROM t"}'])
def test_the_span_quotes_the_reply_as_it_came(reply):
    start, end = read_sql(f"<think>SELECT b</think>{reply}").span
    assert "SELECT a FROM t" in f"<think>SELECT b</think>{reply}"[start:end]


def test_an_empty_block_is_named_where_a_block_was_asked_for_or_there_is_no_other():
    empty, two = "```sql\n```", "```sql\n```\nor\n```sql\n \n```"
    assert message(empty) == message(empty, "block") == message(two, "block") == "the fenced block is empty"
    assert message(two).startswith("no SQL in it")


@pytest.mark.parametrize(
    "reply",
    [
        "Drop table users would delete everything, so I won't write it.",
        "Delete from users is dangerous.",
        "Insert into the table a row.",
        "Update users set is what you need, but I can't.",
        "Create view is not allowed here.",
        "Alter table commands are not supported.",
        "Update users join is what you need; then set a limit.",
        "Delete rows from users left over from last year.",
    ],
)
def test_a_sentence_about_a_change_is_no_statement(reply):
    assert read_sql(reply).status == "incorrect"


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE "My T" AS x SET (a, b) = (1, 2)',
        "DELETE FROM users u WHERE u.id = 1",
        "INSERT OR REPLACE INTO t (a) VALUES (1)",
        "INSERT INTO t (a)\n\nVALUES (1)",
        "DROP TABLE IF EXISTS a, b CASCADE",
        "CREATE INDEX ON t (a)",
        "CREATE DEFINER=`root`@`localhost` PROCEDURE p() BEGIN SELECT 1; END",
        "ALTER TABLE t RENAME TO u",
        "TRUNCATE t",
        "CREATE USER 'a'@'b' IDENTIFIED BY 'x'",
        "INSERT IGNORE INTO t (a) VALUES (1)",
        "UPDATE t JOIN u ON u.id = t.id SET t.a = u.a",
        "UPDATE t AS x LEFT JOIN u y ON y.id = x.id SET x.a = 1 WHERE y.id IS NULL",
        "DELETE x FROM t AS x INNER JOIN u ON u.id = x.id",
    ],
)
def test_a_change_without_a_fence_is_read_whole(statement):
    assert query(statement) == query(f"Here it is:\n{statement}") == statement


@pytest.mark.parametrize(
    "explanation",
    [
        "Here, we select a.",
        "**Notes:** none",
        "* The first column",
        "`t` is the table",
        "(This returns a.)",
        '"a" is a column.',
        "Result (3 rows):\n1",
    ],
)
def test_a_paragraph_behind_a_statement_that_is_done_is_no_part_of_it(explanation):
    assert query(f"SELECT a\nFROM t\n\n{explanation}") == "SELECT a\nFROM t"
    assert query("SELECT a,\n\n`b`\nFROM t\n\nWHERE c =\n\n'x'") == "SELECT a,\n\n`b`\nFROM t\n\nWHERE c =\n\n'x'"


@given(st.text(), st.sampled_from(FORMS))
def test_any_text_is_read_or_refused_and_never_raises(text, form):
    reading = read_sql(text, form=form)
    assert (reading.status == "read") == bool(reading.query)
    assert (reading.status == "read") == (not reading.message)


PIECES = st.sampled_from(
    [
        "```",
        "```sql\n",
        "\n",
        "SELECT a FROM t",
        ";",
        '{"sql": "',
        '"}',
        "'",
        '"',
        "<think>",
        "</think>",
        "/*",
        "--",
        "x:",
    ]
)


@given(st.lists(PIECES).map("".join), st.sampled_from(FORMS))
def test_whatever_is_read_stands_in_the_reply(text, form):
    reading = read_sql(text, form=form)
    if reading.form in {"block", "statement"}:
        assert reading.query in text


def test_what_stands_behind_a_long_reply_s_beginning_is_not_read():
    assert query("SELECT 1;" + " " * 200_000 + "SELECT 2;") == "SELECT 1;"
    assert query("```sql\nSELECT 1\n```\n" * 20_000) == "SELECT 1"


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ('{"create": "CREATE TABLE t (a INT)", "select": "SELECT a FROM t"}', "read"),
        ('\n {"create": "CREATE TABLE t (a INT)", "select": "SELECT a FROM t", "note": "x"}\n', "read"),
        ('```json\n{"create": "CREATE TABLE t (a INT)", "select": "SELECT a FROM t"}\n```', "incorrect"),
        ('{"create": "CREATE TABLE t (a INT)", "select": "SELECT a FROM t"} Done.', "incorrect"),
        ('<think>a</think>{"create": "CREATE TABLE t (a INT)", "select": "SELECT a FROM t"}', "incorrect"),
        ('{"create": "CREATE TABLE t (a INT)"}', "incorrect"),
        ('{"create": "CREATE TABLE t (a INT)", "select": 1}', "incorrect"),
        ("CREATE departments, select * from departments", "incorrect"),
        (" ", "empty"),
    ],
)
def test_strict_json_is_the_whole_reply_and_may_have_further_keys(reply, status):
    reading = read_sql(reply, form="create_select_strict")
    assert reading.status == status
    assert (reading.query, reading.create) == (
        ("SELECT a FROM t", "CREATE TABLE t (a INT)") if status == "read" else ("", "")
    )
