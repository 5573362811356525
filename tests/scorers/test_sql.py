"""Generated SQL in stages: who is to blame decides between 0 and not applicable."""

import asyncio
import sqlite3

import pytest

from steelyard import evaluate
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import check_parts
from steelyard.plain_json import json_value
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.scorers.sql import PUBLISHED, SqlResult
from steelyard.scorers.sql_runs import digest_of_databases
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Output, Sample

SCRIPT = """
CREATE TABLE staff (name TEXT, age INTEGER);
INSERT INTO staff VALUES ('Ada', 36), ('Bo', 41);
INSERT INTO staff VALUES ('Cy', 41);
"""
REFERENCE = "SELECT name FROM staff ORDER BY age"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(workers=2) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dbs/shop").mkdir(parents=True)
    with sqlite3.connect(tmp_path / "dbs/shop/shop.sqlite") as opened:
        opened.execute("CREATE TABLE item (name TEXT, price REAL)")
        opened.execute("INSERT INTO item VALUES ('pen', 1.5), ('ink', 4.0)")
    opened.close()
    return tmp_path / "dbs"


def sample(reference=REFERENCE, **metadata):
    return Sample("1", "Who, by age?", reference, metadata={"schema": SCRIPT, "db_id": "", **metadata})


def scores(sandbox, reply, asked=None, finish="", **fields):
    scorer = SqlResult(**fields)
    check_options(scorer)
    output = Output(reply, metadata={"finish": finish} if finish else {})
    found = asyncio.run(scorer(asked or sample(), output, sandbox))
    assert tuple(one.name for one in found) == tuple(info.name for info in scorer.score_infos)
    return {one.name: one for one in found}


def values(found, *names):
    return [found[name].value for name in names or ("format", "execution", "result")]


def test_the_three_stages_are_told_apart(sandbox):
    for reply, stages, labels in (
        ('{"sql": "SELECT name FROM staff ORDER BY age"}', [1, 1, 1], ("SQL correct", "same")),
        ("SELECT name FROM staff ORDER BY age, name DESC", [1, 1, 1], ("SQL correct", "same up to ties")),
        ("SELECT name FROM staff ORDER BY name DESC", [1, 1, 0], ("SQL correct", "same but order")),
        ("SELECT nam FROM staff", [1, 0, 0], ("SQL incorrect", "engine error")),
        ("I would look at the staff.", [0, 0, 0], ("format incorrect", "format incorrect")),
        ("", [0, 0, 0], ("format incorrect", "format incorrect")),
    ):
        by_name = scores(sandbox, reply)
        assert values(by_name) == stages
        assert (by_name["execution"].detail["label"], by_name["result"].detail["label"]) == labels


def test_a_failure_says_what_the_engine_or_the_validator_says(sandbox):
    assert scores(sandbox, "SELECT nam FROM staff")["execution"].reason == "no such column: nam"
    by_name = scores(sandbox, '{"sql": 1}', form="sql_json")
    assert [by_name[name].reason for name in ("format", "execution")] == ["sql: Input should be a valid string"] * 2
    assert by_name["result"].reason == "format incorrect: sql: Input should be a valid string"


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("DROP TABLE staff", "denied"),
        ("SELECT 1; SELECT 2", "denied"),
        ("ATTACH DATABASE 'x' AS y", "denied"),
        ("WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x) SELECT count(*) FROM x", "timeout"),
        ("WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x LIMIT 2000) SELECT * FROM x", "too_large"),
        ("SELECT '\ud800'", "error"),
    ],
)
def test_sql_that_may_not_or_cannot_run_is_the_targets_doing(sandbox, query, kind):
    by_name = scores(sandbox, f"```sql\n{query}\n```", limits=SqlLimits(timeout_s=0.1, max_rows=1000))
    assert values(by_name) == [1, 0, 0]
    assert by_name["execution"].detail["label"] == "SQL incorrect"
    assert by_name["execution"].detail["kind"] == kind
    assert all(by_name[name].value == 0 for name in PUBLISHED)


WIDE = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60) SELECT {} FROM n".format(
    ", ".join(["''"] * 20)
)


def test_a_prediction_of_too_many_cells_is_the_targets_doing(sandbox):
    by_name = scores(sandbox, WIDE, limits=SqlLimits(max_cells=1000))
    assert values(by_name, "execution", "result", *PUBLISHED) == [0] * 6
    assert by_name["result"].reason.startswith("result too large: more than 1,000 cells")
    assert by_name["result"].detail["label"] == "result too large"


@pytest.mark.parametrize("reply", ["SELECT name FROM staff", WIDE, "SELECT nothing", "no SQL at all"])
def test_a_reference_of_too_many_cells_leaves_nothing_to_compare_whatever_was_said(sandbox, reply):
    by_name = scores(sandbox, reply, sample(WIDE), limits=SqlLimits(max_cells=1000))
    for name in ("result", *PUBLISHED):
        assert (by_name[name].value, by_name[name].outcome) == (None, "not_applicable")
        assert by_name[name].reason.startswith("the reference's result is too large to compare: more than 1,000 cells")
        assert by_name[name].detail == {"label": "not compared", "kind": "too_large", "lacks": "a comparison"}


def test_a_reference_that_is_too_large_without_its_distinct_leaves_only_that_rule_open(sandbox):
    """Spider's evaluator takes DISTINCT out of both queries; ours compares them as they are."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT {}i % 5 FROM n"
    query = numbers.format("DISTINCT ")
    by_name = scores(sandbox, query, sample(query), limits=SqlLimits(max_cells=1000))
    assert values(by_name) == [1, 1, 1]
    assert {by_name[name].detail.get("label") for name in PUBLISHED} == {"not compared"}


def test_a_comparison_that_takes_too_long_says_nothing_of_the_target(sandbox):
    query = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000) SELECT i, i + {}, i || '' FROM n"
    )
    limits = SqlLimits(compare_timeout_s=0.05)
    by_name = scores(sandbox, query.format(0.25), sample(query.format(0.75)), limits=limits)
    assert values(by_name) == [1, 1, None]
    for name in ("result", *PUBLISHED):
        assert "more than 0.05 s of CPU time" in by_name[name].reason
        assert by_name[name].detail == {"label": "not compared", "kind": "timeout", "lacks": "a comparison"}


def test_the_run_warns_of_what_was_not_compared(tmp_path):
    samples = [
        Sample(name, name, query, metadata={"schema": SCRIPT})
        for name, query in (("small", "SELECT name FROM staff"), ("large", WIDE))
    ]
    scorer = SqlResult(limits=SqlLimits(max_cells=1000))
    run = evaluate(lambda _: "SELECT name FROM staff", samples, [scorer], store=tmp_path / "steelyard.db")
    summary = run.summary()
    assert summary.records.not_compared == dict.fromkeys(("result", *PUBLISHED), 1)
    assert "1 of 2 records were not compared (result): too large a reference" in summary.size_warning
    assert f"warning: {summary.size_warning}" in str(summary)
    assert json_value(summary)["not_compared"]["result"] == 1
    assert "1 of 2 records were not compared (result): too large a reference" in html_report([run])
    assert "1 of 2 records were not compared" in markdown_report([run])


def test_a_create_part_runs_on_an_empty_database_of_its_own(sandbox):
    reply = '{"create": "CREATE TABLE staff (a INTEGER)", "select": "SELECT a FROM staff"}'
    by_name = scores(sandbox, reply, form="create_select")
    assert values(by_name) == [1, 1, None]
    assert "creates its own table" in by_name["result"].reason
    assert by_name["result"].detail["label"] == "not applicable"
    assert by_name["format"].detail["columns"]["sql"] == "CREATE TABLE staff (a INTEGER);\nSELECT a FROM staff"


def test_a_create_part_does_not_escape_a_comparison_that_can_be_made(sandbox):
    """Its query runs on the sample's database as well, so its result there is what counts."""
    right, wrong = (
        f'{{"create": "CREATE TABLE staff (name TEXT, age INTEGER)", "select": "SELECT name FROM staff{tail}"}}'
        for tail in (" ORDER BY name", " WHERE age > 1000")
    )
    assert values(scores(sandbox, right)) == [1, 1, 1]
    by_name = scores(sandbox, wrong)
    assert values(by_name) == [1, 1, 0]
    assert by_name["result"].detail["label"] == "rows missing"


def test_a_create_part_that_fails_is_wrong_where_the_sample_has_data(sandbox):
    for create, select, said_so in (
        ("CREATE TABEL t (a)", "SELECT 1", "in the create part: "),
        ("CREATE TABLE t (a); CREATE TABLE u (a)", "SELECT 1", "in the create part: "),
        ("DROP TABLE t", "SELECT 1", "in the create part: "),
        ("CREATE TABLE t (a)", "SELECT name FROM staff", "no such table: staff"),
    ):
        by_name = scores(sandbox, f'{{"create": "{create}", "select": "{select}"}}', form="create_select")
        assert values(by_name) == [1, 0, 0]
        assert said_so in by_name["execution"].reason


def test_what_the_dataset_is_to_blame_for_is_not_applicable(sandbox, folder):
    for asked, stages, said_so in (
        (sample(None), [1, 1, None], "the sample has no reference query"),
        (sample(" "), [1, 1, None], "the sample has no reference query"),
        (sample(12), [1, 1, None], "is not SQL text"),
        (sample("SELECT nam FROM staff"), [1, 1, None], "reference query cannot be run: no such column: nam"),
        (sample("DELETE FROM staff"), [1, 1, None], "reference query cannot be run: "),
        (sample(schema="CREATE TABLE staff (name TEXT, age INTEGER)"), [1, 1, None], "has no rows"),
        (sample(schema="CREATE TABLE staff (name"), [1, None, None], "schema cannot be built: "),
        (sample(db_id="shp"), [1, None, None], "did you mean 'shop'"),
    ):
        by_name = scores(sandbox, "SELECT name FROM staff", asked, databases=folder)
        assert values(by_name) == stages
        assert said_so in by_name["result"].reason
        assert [by_name[name].outcome for name in PUBLISHED] == ["not_applicable"] * 4


def test_what_the_dataset_is_to_blame_for_does_not_depend_on_the_reply(sandbox):
    asked = sample("SELECT nam FROM staff")
    for reply in ("SELECT name FROM staff", "SELECT nothing", "no SQL"):
        assert scores(sandbox, reply, asked)["result"].outcome == "not_applicable"


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE t (a); INSERT INTO t SELECT 1 WHERE 0",
        "CREATE TABLE t (a DEFAULT 'insert')",
        "CREATE TABLE t (a); -- insert into t values (1)",
        "CREATE TABLE t (a); INSERT INTO t VALUES (1); DELETE FROM t",
        "CREATE TABLE t (a DEFAULT 'x; insert into t values (1);')",
        "CREATE TABLE t (a NOT NULL); INSERT OR IGNORE INTO t VALUES (NULL)",
        "CREATE TABLE t (a NOT NULL ON CONFLICT IGNORE); INSERT INTO t VALUES (NULL)",
        "CREATE TABLE t (a); INSERT INTO t SELECT 'insert into t values (1)' WHERE 0",
        "CREATE TABLE t (a); BEGIN; INSERT INTO t VALUES (1); ROLLBACK",
        "",
    ],
)
def test_equal_emptiness_of_an_empty_database_says_nothing(sandbox, schema):
    reference = "SELECT count(*) FROM t" if schema else "SELECT 1"
    by_name = scores(sandbox, reference, sample(reference, schema=schema))
    assert values(by_name) == [1, 1, None]
    assert "has no rows" in by_name["result"].reason


FILLED = """CREATE TABLE t (a); CREATE TABLE "we ""ird" AS SELECT 1 AS a;
CREATE VIEW over_t AS SELECT count(*) AS n FROM t; CREATE VIEW over_both AS SELECT * FROM t, "we ""ird";"""


@pytest.mark.parametrize(
    ("reference", "result"),
    [
        ("SELECT a FROM t", None),
        ("SELECT count(*) FROM over_t", None),
        ("WITH u AS (SELECT * FROM main.T) SELECT count(*) FROM u", None),
        ('SELECT a FROM "we ""ird" WHERE a IN (SELECT a FROM t)', 1),
        ("SELECT * FROM over_both", 1),
        ("SELECT count(*) FROM t, json_each('[1]')", 1),
        ("SELECT 1", 1),
    ],
)
def test_a_reference_over_empty_tables_alone_says_nothing(sandbox, tmp_path, reference, result):
    (tmp_path / "dbs").mkdir()
    with sqlite3.connect(tmp_path / "dbs/shop.sqlite") as opened:
        opened.executescript(FILLED)
    opened.close()
    for asked in (sample(reference, schema=FILLED), sample(reference, schema="", db_id="shop")):
        by_name = scores(sandbox, reference, asked, databases=tmp_path / "dbs")
        assert values(by_name, "execution", "result", *PUBLISHED) == [1] + [result] * 5
        if result is None:
            assert by_name["result"].reason.startswith("every table that the reference reads is empty (t)")


def test_a_database_file_without_rows_says_nothing(sandbox, tmp_path):
    with sqlite3.connect(tmp_path / "atlas.sqlite") as opened:
        opened.execute("CREATE TABLE river (name TEXT, km INT)")
    opened.close()
    for reference in ("SELECT count(*) FROM river", "SELECT 1"):
        by_name = scores(sandbox, "SELECT 0", sample(reference, schema="", db_id="atlas"), databases=tmp_path)
        assert values(by_name, "execution", "result", *PUBLISHED) == [1, *[None] * 5]
        assert "the sample's database has no rows" in by_name["result"].reason


def test_equal_results_without_rows_are_right_and_flagged_by_their_label(sandbox):
    by_name = scores(sandbox, "SELECT age FROM staff WHERE age > 99", sample("SELECT age FROM staff WHERE age < 0"))
    assert (by_name["result"].value, by_name["result"].detail["label"]) == (1, "both empty")


def test_a_sample_with_a_database_runs_on_its_file_and_leaves_it_alone(sandbox, folder):
    file = folder / "shop/shop.sqlite"
    before = file.read_bytes()
    asked = sample("SELECT name FROM item", db_id="shop")
    assert values(scores(sandbox, "SELECT name FROM item", asked, databases=folder)) == [1, 1, 1]
    assert values(scores(sandbox, "DELETE FROM item", asked, databases=folder)) == [1, 0, 0]
    assert file.read_bytes() == before


def test_duckdb_builds_and_runs_a_samples_schema(sandbox):
    schema = "CREATE TABLE t (a INTEGER); INSERT INTO t SELECT * FROM range(3);"
    asked = sample("SELECT list(a) FROM t", schema=schema)
    assert values(scores(sandbox, "FROM t SELECT list(a)", asked, engine="duckdb")) == [1, 1, 1]
    empty = sample("SELECT list(a) FROM t", schema="CREATE TABLE t (a INTEGER)")
    assert values(scores(sandbox, "SELECT list(a) FROM t", empty, engine="duckdb")) == [1, 1, None]


def test_a_limit_that_cuts_a_tie_takes_any_of_the_tied_rows(sandbox):
    asked = sample("SELECT name FROM staff ORDER BY age DESC LIMIT 1")
    assert values(scores(sandbox, "SELECT name FROM staff WHERE name = 'Bo'", asked)) == [1, 1, 1]
    assert values(scores(sandbox, "SELECT name FROM staff WHERE name = 'Cy'", asked)) == [1, 1, 1]
    assert values(scores(sandbox, "SELECT name FROM staff WHERE name = 'Ada'", asked)) == [1, 1, 0]


def test_published_accuracies_come_by_their_own_rules(sandbox):
    asked = sample("SELECT DISTINCT age FROM staff", schema=SCRIPT)
    by_name = scores(sandbox, "SELECT age FROM staff", asked)
    assert values(by_name, *PUBLISHED) == [1, 0, 1, 0]
    assert by_name["result"].detail["kind"] == "duplicates_differ"
    swapped = scores(sandbox, "SELECT age, name FROM staff", sample("SELECT name, age FROM staff"))
    assert values(swapped, "result", *PUBLISHED) == [1, 1, 1, 0, 1]
    assert tuple(scores(sandbox, "SELECT 1", published=False)) == ("format", "execution", "result")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [("SELECT name FROM staff WHERE age = 41", [None, 1, 1, 1]), ("SELECT x", [None, 0, 0, 0]), ("", [None, 0, 0, 0])],
)
def test_a_reference_that_needs_its_distinct_cannot_be_compared_without(sandbox, reply, expected):
    asked = sample("SELECT name FROM staff WHERE age IS NOT DISTINCT FROM 41")
    found = scores(sandbox, reply, asked)
    assert values(found, *PUBLISHED) == expected
    assert found["ex_spider"].outcome == "not_applicable"


@pytest.mark.parametrize("finish", ["content_filter", "refusal"])
def test_a_refusal_is_refused_in_every_score(sandbox, finish):
    by_name = scores(sandbox, "I will not.", finish=finish)
    assert {one.outcome for one in by_name.values()} == {"refused"}
    assert by_name["execution"].detail["label"] == "refused"


def test_a_reply_that_was_cut_off_is_format_incorrect_unless_its_sql_is_whole(sandbox):
    for reply, stages in (
        ("SELECT name FROM staff ORDER BY age", [0, 0, 0]),
        ("```sql\nSELECT name FROM staff", [0, 0, 0]),
        ('{"sql": "SELECT name', [0, 0, 0]),
        ("```sql\nSELECT name FROM staff ORDER BY age\n```\nThis lis", [1, 1, 1]),
    ):
        by_name = scores(sandbox, reply, finish="length")
        assert values(by_name) == stages
        assert stages[0] or "was cut off" in by_name["format"].reason


def test_an_object_of_a_target_is_read_like_its_json(sandbox):
    assert values(scores(sandbox, {"sql": REFERENCE})) == [1, 1, 1]
    assert values(scores(sandbox, None)) == [0, 0, 0]
    assert values(scores(sandbox, 12)) == [0, 0, 0]


def test_many_at_once_give_what_one_after_another_gives(sandbox):
    replies = [REFERENCE, "SELECT age FROM staff", "SELECT nothing", "no", "SELECT count(*) FROM staff"] * 4
    scorer = SqlResult()

    async def together():
        return await asyncio.gather(*(scorer(sample(), Output(reply), sandbox) for reply in replies))

    alone = [asyncio.run(scorer(sample(), Output(reply), sandbox)) for reply in replies[:5]] * 4
    assert asyncio.run(together()) == alone


def test_mistakes_are_found_before_anything_is_run(sandbox, tmp_path, folder):
    for fields, said_so in (
        ({"form": "json"}, "form: expected auto, "),
        ({"engine": "sqlit"}, "did you mean 'sqlite'"),
        ({"limits": SqlLimits(timeout_s=0)}, "timeout_s"),
    ):
        with pytest.raises(ConfigError, match=said_so):
            check_parts(SqlResult(**fields))
    (tmp_path / "empty").mkdir()
    for databases, said_so in ((tmp_path / "none", "there is no folder"), (tmp_path / "empty", "holds no database")):
        with pytest.raises(ConfigError, match=said_so):
            SqlResult(databases=databases).prepare(sandbox)
    SqlResult(databases=folder).prepare(sandbox)


def test_the_manifest_changes_with_the_databases(folder):
    before = SqlResult(databases=folder).manifest()
    assert before == {"databases": {"folder": "dbs", "digest": digest_of_databases(folder)}}
    assert SqlResult(databases=folder).manifest() == before
    with sqlite3.connect(folder / "shop/shop.sqlite") as opened:
        opened.execute("UPDATE item SET price = 2.5 WHERE name = 'pen'")
    opened.close()
    assert SqlResult(databases=folder).manifest() != before
    assert SqlResult().manifest() == {}


def test_a_folder_is_the_same_however_its_path_is_written(folder, monkeypatch):
    """`resume` knows the whole path of what a configuration calls `.`."""
    monkeypatch.chdir(folder)
    assert SqlResult(databases=".").manifest() == SqlResult(databases=folder).manifest()


OLDEST = "SELECT name FROM staff ORDER BY age DESC LIMIT 1"
TIED = f"SELECT name FROM staff WHERE age = (SELECT age FROM staff WHERE name = ({OLDEST}))"
INNER_TIE = "SELECT upper(name) FROM (SELECT name FROM staff ORDER BY age DESC LIMIT 1)"


def test_a_reference_without_a_unique_result_is_flagged_and_each_of_its_results_is_right(sandbox):
    for name, right in (("BO", 1), ("CY", 1), ("ADA", 0)):
        found = scores(sandbox, f"SELECT '{name}'", sample(INNER_TIE))["result"]
        assert found.value == right, name
        assert "reference_not_unique" in found.detail["flags"]
        assert found.detail["reference"] == "not unique"
        assert found.detail["open_parts"] == ["ties at the LIMIT of: SELECT name FROM staff ORDER BY age DESC LIMIT 1"]
    assert "reference" not in scores(sandbox, REFERENCE, sample(TIED))["result"].detail


def test_a_limit_without_an_order_may_return_any_rows(sandbox):
    asked = sample("SELECT name FROM staff LIMIT 2")
    assert values(scores(sandbox, "SELECT name FROM staff WHERE name <> 'Bo'", asked), "result") == [1]
    assert values(scores(sandbox, "SELECT 'Ada' UNION SELECT 'Zed'", asked), "result") == [0]
    assert values(scores(sandbox, "SELECT name FROM staff WHERE name = 'Bo'", asked), "result") == [0]


def test_a_failed_query_does_not_hide_that_the_reference_is_open(sandbox):
    found = scores(sandbox, "SELECT nothing", sample(INNER_TIE))["result"]
    assert (found.value, found.detail["reference"]) == (0, "not unique")
    assert found.detail["results"]["predicted"] is None
    assert found.detail["results"]["reference"]["total"] == 1


def test_first_rows_of_both_results_are_kept_with_the_cells_that_differ(sandbox):
    found = scores(sandbox, "SELECT name, age + 1 FROM staff", sample("SELECT name, age FROM staff"))["result"]
    results = found.detail["results"]
    assert results["reference"]["columns"] == ["name", "age"]
    assert results["reference"]["rows"][0] == {"row": 1, "cells": ["'Ada'", "36"], "differs": [1]}
    assert results["predicted"]["rows"][0] == {"row": 1, "cells": ["'Ada'", "37"], "differs": [1]}
    same = scores(sandbox, REFERENCE)["result"].detail["results"]
    assert [row["differs"] for row in same["predicted"]["rows"]] == [[], [], []]


def test_rules_of_equality_are_settings_of_the_scorer(sandbox):
    asked = sample("SELECT 0.3 AS a FROM staff")
    assert values(scores(sandbox, "SELECT 0.1 + 0.2 FROM staff", asked), "result", "ex_bird") == [1, 0]
    exact = scores(sandbox, "SELECT 0.1 + 0.2 FROM staff", asked, equality=CellEquality(tolerance=0))
    assert values(exact, "result") == [0]


def test_the_run_counts_what_a_rule_made_right_and_references_without_a_unique_result(tmp_path):
    references = {"a": "SELECT 0.3 FROM staff", "b": "SELECT name FROM staff", "c": INNER_TIE}
    replies = {"a": "SELECT 0.1 + 0.2 FROM staff", "b": "SELECT name FROM staff", "c": INNER_TIE}
    samples = [Sample(name, name, query, metadata={"schema": SCRIPT}) for name, query in references.items()]
    run = evaluate(lambda asked: replies[asked.id], samples, [SqlResult()], store=tmp_path / "steelyard.db")
    summary = run.summary()
    assert summary.details.right_by_rule == {"result": {"within tolerance": 1}}
    assert summary.records.open_references == {"result": 1}
    by_rule, no_unique = summary.result_notes()
    assert "result: 1 of 3 right (33.3 %) is right only within the tolerance of numbers" in by_rule
    assert "1 of 3 references have no unique result" in no_unique
    assert json_value(summary)["right_by_rule"] == {"result": {"within tolerance": 1}}
    assert json_value(summary)["open_references"] == {"result": 1}
    for text in (str(summary), html_report([run]), markdown_report([run])):
        assert "only within the tolerance of numbers" in text
        assert "have no unique result" in text


ORDERS = """CREATE TABLE o (id INT, price DECIMAL(8,2), qty INT, w FLOAT);
INSERT INTO o VALUES (1, 6.90, 2, 1.1), (2, 3.10, 1, 2.2), (3, 1.25, 4, 3.3)"""


@pytest.mark.parametrize(
    ("reference", "reply", "right"),
    [
        ("SELECT 1.0 * sum(qty) / count(*) FROM o", "SELECT CAST(sum(qty) AS FLOAT) / count(*) FROM o", True),
        ("SELECT w FROM o WHERE id = 1", "SELECT 1.1", True),
        ("SELECT sum(price * qty) FROM o", "SELECT sum(price::REAL * qty) FROM o", True),
        ("SELECT id, w FROM o", "SELECT w::DECIMAL(8,2), id FROM o ORDER BY id DESC", True),
        ("SELECT w FROM o ORDER BY w", "SELECT w::DECIMAL(8,2) AS v FROM o ORDER BY v DESC", False),
        ("SELECT w FROM o WHERE id = 1", "SELECT 1.10001", False),
        ("SELECT 1.1::DOUBLE", "SELECT 1.1::DOUBLE + 1e-8", False),
        ("SELECT w, 7.1::DECIMAL(12,9) FROM o WHERE id = 1", "SELECT 1.1, 7.1000001", False),
    ],
)
def test_4_byte_floats_are_compared_at_single_precision(sandbox, reference, reply, right):
    asked = sample(reference, schema=ORDERS)
    found = scores(sandbox, reply, asked, engine="duckdb")["result"]
    assert found.passed is right
    assert ("single_precision" in found.detail["flags"], found.detail["label"] == "equal by type rule") == (
        right,
        right,
    )
    off = scores(sandbox, reply, asked, engine="duckdb", equality=CellEquality(single_precision=False))["result"]
    assert off.passed is False


@pytest.mark.parametrize(
    ("reference", "reply", "right"),
    [
        ("SELECT code FROM c", "SELECT trim(code) FROM c", True),
        ("SELECT 'ab'", "SELECT code FROM c WHERE id = 1", True),
        ("SELECT id, code FROM c", "SELECT rtrim(code), id FROM c", True),
        ("SELECT note FROM c", "SELECT trim(note) FROM c", False),
        ("SELECT code FROM c", "SELECT 'ab' UNION ALL SELECT ' x'", False),
    ],
)
def test_a_char_of_fixed_length_equals_its_text_without_the_padding(sandbox, reference, reply, right):
    schema = (
        "CREATE TABLE c (id INT, code CHAR(5), note VARCHAR(9)); INSERT INTO c VALUES (1,'ab   ','q '),(2,'x    ','r ')"
    )
    found = scores(sandbox, reply, sample(reference, schema=schema))["result"]
    assert found.passed is right
    assert ("char_padding" in found.detail["flags"]) is right
