"""SQL in replies: JSON, fences, bare statements; what is not said clearly is not read."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.prompts.reply_schema import load_reply_schema
from steelyard.text.sql_json import KEYS
from steelyard.text.sql_reply import read_sql

FORMS = ("auto", "create_select", "sql_json", "block")


def query(text, form="auto"):
    reading = read_sql(text, form=form)
    return reading.query if reading.status == "read" else None


def message(text, form="auto"):
    reading = read_sql(text, form=form)
    assert reading.status == "incorrect"
    assert reading.query == ""
    return reading.message


@pytest.mark.parametrize(
    ("reply", "sql", "form"),
    [
        ('{"sql": "SELECT 1"}', "SELECT 1", "sql_json"),
        ('{"sql": "SELECT a\\nFROM t"}', "SELECT a\nFROM t", "sql_json"),
        ('```json\n{"sql": "SELECT 1"}\n```', "SELECT 1", "sql_json"),
        ('Here it is: {"sql": "SELECT 1"} I hope that helps.', "SELECT 1", "sql_json"),
        ('{"sql": "SELECT 1", "why": "because"}', "SELECT 1", "sql_json"),
        ("```sql\nSELECT 1;\n```", "SELECT 1;", "block"),
        ("Sure!\n```sqlite\nSELECT a\nFROM t\n```\nIt lists all.", "SELECT a\nFROM t", "block"),
        ("```\nselect 1\n```", "select 1", "block"),
        ("```sql SELECT 1```", "SELECT 1", "block"),
        ("~~~sql\nSELECT 1\n~~~", "SELECT 1", "block"),
        ("```sql\nSELECT 1", "SELECT 1", "block"),
        ("SELECT 1", "SELECT 1", "statement"),
        ("-- all of them\nSELECT a FROM t", "-- all of them\nSELECT a FROM t", "statement"),
        ("(SELECT 1) UNION (SELECT 2)", "(SELECT 1) UNION (SELECT 2)", "statement"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH x AS (SELECT 1) SELECT * FROM x", "statement"),
        ("SELECT a\n\nFROM t\n\nThis returns all.", "SELECT a\n\nFROM t", "statement"),
        ("SQL: SELECT 1;", "SELECT 1;", "statement"),
        ("**SQL:** SELECT 1;", "SELECT 1;", "statement"),
        ("1. SELECT 1;", "SELECT 1;", "statement"),
        ("SQLQuery: SELECT a FROM t\nSQLResult: 3\nAnswer: 3", "SELECT a FROM t", "statement"),
        ("[SQL] SELECT 1 [/SQL]", "SELECT 1", "statement"),
        ("<THINK>或者 SELECT 2;</THINK>\nSELECT 1;", "SELECT 1;", "statement"),
        ("\ufeffSELECT 1", "SELECT 1", "statement"),
        ("SELECT name,\n\n  age\nFROM t", "SELECT name,\n\n  age\nFROM t", "statement"),
        ("SELECT a FROM\n\nt", "SELECT a FROM\n\nt", "statement"),
        ("SELECT a FROM (\n\n  t\n\n)\n\nDone.", "SELECT a FROM (\n\n  t\n\n)", "statement"),
        ("<pre><code>SELECT 1</code></pre>", "SELECT 1", "statement"),
        ("<sql>SELECT 1</sql>", "SELECT 1", "statement"),
        ("对应的SQL语句如下：SELECT 名称 FROM 表 WHERE 价格 > 3。", "SELECT 名称 FROM 表 WHERE 价格 > 3", "statement"),
        (
            "可以这样查询：\n\n```sql\nSELECT 姓名 FROM 学生;\n```\n\n该语句返回姓名。",
            "SELECT 姓名 FROM 学生;",
            "block",
        ),
        ("The query is `SELECT * FROM t`.", "SELECT * FROM t", "statement"),
        ("With this query you get all:\nSELECT a FROM t;", "SELECT a FROM t;", "statement"),
        ("SELECT ';' AS a, \"x;y\" FROM t -- no; end\nWHERE b = 1; It works.", None, ""),
        ("DROP TABLE t", "DROP TABLE t", "statement"),
        ("<think>SELECT 2</think>\nSELECT 1;", "SELECT 1;", "statement"),
        ('<think>{"sql": "SELECT 2"}</think>{"sql": "SELECT 1"}', "SELECT 1", "sql_json"),
    ],
)
def test_sql_is_read_in_every_usual_shape(reply, sql, form):
    reading = read_sql(reply)
    if sql is None:
        assert reading.query == "SELECT ';' AS a, \"x;y\" FROM t -- no; end\nWHERE b = 1;"
        return
    assert (reading.status, reading.query, reading.form) == ("read", sql, form)
    start, end = reading.span
    assert sql.split()[0] in reply[start:end]


def test_sentences_and_lists_that_explain_a_query_are_not_the_query():
    for reply in (
        "Select the names from the table:\n\nSELECT a FROM t;",
        "Step 1: Select the rows.\nStep 2: print them.\nSQL: SELECT a FROM t;",
        "The query:\nSELECT a FROM t;\n- SELECT a: takes the names\n- FROM t: of the table",
        "1. Select the table\n2. Take a\n\nSELECT a FROM t;\n",
        "With this:\nselect a from t;",
    ):
        assert query(reply).lower() == "select a from t;"
    assert query("Select a\nfrom t;") == "Select a\nfrom t;"
    assert query("You could try\n- SELECT a FROM t;\nor nothing.") == "SELECT a FROM t;"


def test_a_create_and_a_select_part_are_read():
    reading = read_sql('{"create": "CREATE TABLE t (a)", "select": "SELECT a FROM t"}', form="create_select")
    assert (reading.create, reading.query, reading.form) == ("CREATE TABLE t (a)", "SELECT a FROM t", "create_select")


def test_several_statements_are_handed_on_whole_so_that_the_sandbox_can_refuse_them():
    assert query("SELECT 1; DROP TABLE t") == "SELECT 1; DROP TABLE t"
    assert query("```sql\nSELECT 1;\nSELECT 2;\n```") == "SELECT 1;\nSELECT 2;"
    assert query('{"sql": "SELECT 1; SELECT 2"}') == "SELECT 1; SELECT 2"


def test_a_repeated_schema_is_not_the_query():
    assert query("```sql\nCREATE TABLE t (a);\n```\n```sql\nSELECT a FROM t\n```") == "SELECT a FROM t"


def test_the_same_statement_twice_is_one_and_two_different_ones_are_none():
    assert query("```sql\nSELECT 1\n```\nthat is\n```sql\nSELECT  1;\n```") == "SELECT 1"
    assert query("```sql\nSELECT a -- all\n```\nor shorter:\n```sql\nselect  A;\n```") == "SELECT a -- all"
    assert query("```sql\nSELECT 'a  b'\n```\n```sql\nSELECT 'A b'\n```") is None
    for reply in (
        "```sql\nSELECT 1\n```\nor\n```sql\nSELECT 2\n```",
        '```json\n{"sql": "SELECT 1"}\n```\n```sql\nSELECT 2\n```',
        "SQL: SELECT 1;\nThat is wrong. Better:\nSELECT 2;",
        '{"sql": "SELECT 1"} {"sql": "SELECT 2"}',
        'first {"sql": "SELECT 1"} then {"sql": "SELECT 2"}',
    ):
        assert "2 different statements" in message(reply)


@pytest.mark.parametrize(
    "words",
    [
        "Wait, that is wrong. Here is the corrected query:",
        "**Final SQL query:**",
        "The revised query is as follows",
        "Putting it together, the final answer is:",
        "修正后的SQL：",
        "最终查询如下：",
    ],
)
def test_of_two_statements_the_one_that_is_declared_corrected_or_final_is_meant(words):
    assert query(f"```sql\nSELECT 1\n```\n{words}\n\n```sql\nSELECT 2\n```\nDone.") == "SELECT 2"
    assert query(f'{{"sql": "SELECT 1"}}\n{words}\n{{"sql": "SELECT 2"}}') == "SELECT 2"
    # Not where another one follows, and not where the words stand elsewhere.
    assert query(f"```sql\nSELECT 1\n```\n{words}\n```sql\nSELECT 2\n```\nOr:\n```sql\nSELECT 3\n```") is None
    assert query(f"```sql\nSELECT 1\n```\n{words}\nAs above. Also possible:\n```sql\nSELECT 2\n```") is None


@pytest.mark.parametrize(
    "words", ["Another query:", "This is not the final query:", "If you want a corrected version:"]
)
def test_an_alternative_is_not_declared_to_be_meant(words):
    assert "2 different statements" in message(f"```sql\nSELECT 1\n```\n{words}\n```sql\nSELECT 2\n```")


@pytest.mark.parametrize(
    ("reply", "sql"),
    [
        ("SELECT a FROM t\n```", "SELECT a FROM t"),
        ("SELECT a FROM t;\n```\n\nThis lists all.", "SELECT a FROM t;"),
        ("SELECT a FROM t\nThis query lists all of them.", "SELECT a FROM t"),
        ("SELECT a FROM t\n这条语句查询全部。", "SELECT a FROM t"),
        ("SELECT a FROM t\nNote that a may be NULL.", "SELECT a FROM t"),
        ("SELECT a FROM t WHERE b = 'x'.", "SELECT a FROM t WHERE b = 'x'"),
        ("SELECT 1.", "SELECT 1."),
        ('"SELECT a FROM t"', "SELECT a FROM t"),
        ("“SELECT a FROM t;”", "SELECT a FROM t;"),
        ("**SELECT a FROM t**", "SELECT a FROM t"),
        ("'SELECT a FROM t WHERE b = 'x''", "SELECT a FROM t WHERE b = 'x'"),
        ('```sql title="q.sql"\nSELECT a\n```', "SELECT a"),
        ("SELECT a FROM t<｜end▁of▁sentence｜>", "SELECT a FROM t"),
        ("\u200b\ufeffSELECT a FROM t\u200b", "SELECT a FROM t"),
        ("<think>x</think>\u200b\n\ufeff```sql\nSELECT a\n```", "SELECT a"),
    ],
)
def test_what_closes_or_explains_a_statement_is_no_part_of_it(reply, sql):
    assert query(reply) == sql


@pytest.mark.parametrize(
    "reply",
    [
        "With the tables given, I cannot answer such a question as asked.",
        "Show me the schema first, please.",
        "Explain what you mean by revenue.",
        "Call the support.",
        '"I cannot answer that."',
    ],
)
def test_a_sentence_that_begins_like_a_statement_is_none(reply):
    assert "no SQL in it" in message(reply)


def test_words_that_begin_sentences_are_statements_where_they_are_ended_or_written_so():
    for reply in (
        "Show tables;",
        "EXPLAIN SELECT 1",
        "with a as (select 1) select * from a",
        "With a As (Select 1) Select 1",
    ):
        assert query(reply) == reply


def test_a_fence_inside_a_json_text_is_taken_off_and_is_no_second_statement():
    assert query('{"sql": "```sql\\nSELECT a\\nFROM t\\n```"}') == "SELECT a\nFROM t"
    assert query('{"sql": "SELECT 1", "why": "better than ```sql\\nSELECT 2\\n```"}') == "SELECT 1"
    assert query('{"sql": "```"}') == "```"
    assert "its keys: query" in message('{"query": "```sql\\nSELECT 1\\n```"}')
    # Outside of the object it is one.
    assert query('{"sql": "SELECT 1"}\n```sql\nSELECT 2\n```') is None


@pytest.mark.parametrize(
    ("reply", "form", "said_so"),
    [
        ('{"sql": 1}', "auto", "sql: Input should be a valid string"),
        ('{"sql": null}', "sql_json", "sql: Input should be a valid string"),
        ('{"sql": ""}', "sql_json", "sql: String should have at least 1 character"),
        ('{"sql": " \\n"}', "auto", "sql: String should have at least 1 character"),
        ("{}", "sql_json", "sql: Field required"),
        ('{"sql": "SELECT 1", "why": "x"}', "sql_json", "why: Extra inputs are not permitted"),
        ('{"select": "SELECT 1"}', "auto", "create: Field required"),
        ('{"create": "", "select": "SELECT 1"}', "create_select", "create: String should have at least 1 character"),
        ('{"sql": "SELECT 1"}', "create_select", "create: Field required"),
        ('{"sql": "SELECT 1", "select": "SELECT 1"}', "auto", "which is meant is not said"),
        ('{"sql": "a", "sql": "b"}', "auto", "the key 'sql' occurs twice"),
        ('{"sql": "SELECT \\ud800"}', "auto", "unable to parse raw data as a unicode string"),
        ("{'sql': 'SELECT 1'}", "auto", "no valid JSON: Expecting property name"),
        ('{"sql": "a\nb"}', "auto", "no valid JSON: Invalid control character at line 1 column 11"),
        ('{"sql": "SELECT 1', "auto", "no valid JSON: Unterminated string"),
        ('{"sql": NaN}', "auto", "NaN is no JSON value"),
        ('{"query": "SELECT 1"}', "auto", "its keys: query"),
        ('["SELECT 1"]', "sql_json", "not a list"),
        ("SELECT 1", "sql_json", 'expected {"sql": "..."}'),
        ("```sql\nSELECT 1\n```", "create_select", 'expected {"create": "...", "select": "..."}'),
        ('{"sql": "SELECT 1"}', "block", "expected ```sql"),
        ("SELECT 1", "block", "expected ```sql"),
        ("```sql\n```", "block", "the fenced block is empty"),
        ("I cannot help with that.", "auto", "no SQL in it"),
        ("请提供更多信息。", "auto", "no SQL in it"),
    ],
)
def test_what_cannot_be_read_says_why_in_the_validators_words(reply, form, said_so):
    assert said_so in message(reply, form)


def test_many_wrong_keys_are_told_shortly():
    told = message(json.dumps({"k" * 5000 + str(no): 1 for no in range(50)}), "sql_json")
    assert told.startswith("sql: Field required; kkk")
    assert told.endswith("and 48 more")
    assert len(told) < 400


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_reply_is_empty_in_every_form(form):
    for reply in ("", " \n\t", "<think>only thoughts</think> ", "<think>broke off SELECT 1;"):
        assert read_sql(reply, form=form).status == "empty"


@pytest.mark.parametrize(
    ("reply", "broken_off"),
    [
        ("SELECT a FROM t", True),
        ("SELECT a FROM t;", False),
        ("SELECT a FROM t\n\nDone.", False),
        ("```sql\nSELECT a", True),
        ("```sql\nSELECT a\n```", False),
        ('{"sql": "SELECT a"}', False),
    ],
)
def test_it_is_known_whether_the_reply_ends_inside_the_statement(reply, broken_off):
    assert read_sql(reply).broken_off is broken_off


@pytest.mark.parametrize("name", ["sql", "create_select"])
def test_the_validator_wants_what_the_schema_that_is_sent_says(name):
    schema = load_reply_schema(name)
    form = {"sql": "sql_json"}.get(name, name)
    assert tuple(schema["required"]) == KEYS[form] == tuple(schema["properties"])
    assert schema["additionalProperties"] is False
    whole = dict.fromkeys(KEYS[form], "SELECT 1")
    assert query(json.dumps(whole), form) == "SELECT 1"
    for key in whole:
        assert query(json.dumps({one: text for one, text in whole.items() if one != key}), form) is None
    assert query(json.dumps({**whole, "more": ""}), form) is None


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


HOSTILE = {
    "braces": "{" * 1_000_000,
    "objects": '{"a":' * 200_000,
    "sql objects": '{"sql":' * 150_000,
    "lists": "[" * 100_000,
    "ticks": "`" * 1_000_000,
    "fences": "```sql " * 150_000,
    "comments": "/*" * 500_000,
    "quotes": "'" * 999_999,
    "statements": "select 1;" * 100_000,
    "lines": "\nselect 1\n\n" * 90_000,
    "items": "- select a\n" * 90_000,
    "sentences": "Select a\n" * 110_000,
    "thoughts": "<think>" * 150_000,
    "brackets": "( " * 500_000,
    "colons": ("x" * 79 + ":") * 12_000,
    "blanks": "\n " * 500_000,
    "binary": bytes(range(256)).decode("latin-1") * 4000,
    "surrogates": "SELECT '\ud800\udfff'" * 60_000,
    "blocks in JSON": '{"sql": "' + "```sql select 1```" * 50_000 + '"}',
    "blocks beside JSON": '```json\n{"sql": "select 1"}\n```\n```sql\nselect 2\n```\n' * 20_000,
    "closed blanks": "```" + " \n" * 400_000 + "x",
    "nul": "SELECT \0" * 120_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_is_read_in_time(name):
    started = time.process_time()
    read_sql(HOSTILE[name])
    assert time.process_time() - started < 5  # quadratic reading takes minutes
