"""DuckDB inside a worker: what it reads, what its values become, and why it says no."""

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from uuid import UUID

import duckdb
import pytest
from tests.sql.test_hostile_duckdb import KEPT, OF_SEQUENCE, SCRIPT

from steelyard.sql.engines import duckdb_guard
from steelyard.sql.engines.duckdb_engine import DuckdbEngine
from steelyard.sql.engines.engine import EngineQuery, SqlStop
from steelyard.sql.results import SqlLimits

CORPUS = Path(__file__).parent / "corpus"
LEGITIMATE = json.loads((CORPUS / "duckdb_legitimate.json").read_text())


@cache
def engine():
    """One for all tests, as a worker has: opening an instance takes 27 ms, which it does where a query needs one."""
    return DuckdbEngine()


@pytest.fixture(scope="module", autouse=True)
def _nothing_stays_open():
    yield
    engine()._instances.drop()
    engine.cache_clear()


def run(query, *, script="", create="", file="", **limits):
    return engine().execute(EngineQuery("duckdb", str(file), script, create, query, SqlLimits(**limits)))


def stop_of(query, **more):
    with pytest.raises(SqlStop) as caught:
        run(query, **more)
    return caught.value


def value(expression):
    return run(f"SELECT {expression}").rows[0][0]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(10)")
    return path


def test_this_build_can_be_held():
    assert DuckdbEngine().refusal() == ""


def test_a_refusal_leaves_no_thread_behind_that_a_fork_would_lose():
    before = len(list(Path("/proc/self/task").iterdir()))
    DuckdbEngine().refusal()
    assert len(list(Path("/proc/self/task").iterdir())) == before


def test_an_old_version_is_refused_by_its_number(monkeypatch):
    monkeypatch.setattr(duckdb, "__version__", "1.4.4")
    assert DuckdbEngine().refusal() == "DuckDB 1.4.4 is too old to be confined; 2.0 or later is needed"


@pytest.mark.parametrize("left_out", ["enable_external_access", "lock_configuration"])
def test_a_setting_that_is_not_kept_is_a_refusal(monkeypatch, left_out):
    kept = tuple(setting for setting in duckdb_guard._AFTER_START if left_out not in setting)
    monkeypatch.setattr(duckdb_guard, "_AFTER_START", kept)
    assert left_out in DuckdbEngine().refusal()


def test_a_setting_that_does_not_exist_is_a_refusal(monkeypatch):
    monkeypatch.setitem(duckdb_guard._AT_START, "no_such_guard", True)
    assert "does not accept the settings that confine it" in DuckdbEngine().refusal()


@pytest.mark.parametrize("family", LEGITIMATE)
def test_no_legitimate_statement_is_refused(family):
    refused = {}
    for one in LEGITIMATE[family]:
        create, query = one if isinstance(one, list) else ("", one)
        try:
            script = SCRIPT if any(name in f"{create} {query}" for name in OF_SEQUENCE) else KEPT
            run(query, script=script, create=create, timeout_s=20)
        except SqlStop as stop:
            refused[query] = (stop.part, stop.kind, stop.message)
    assert refused == {}


def test_a_query_sees_the_script_and_the_create_statement():
    table = run(
        "SELECT * FROM t, v",
        script="CREATE TABLE t (a INT); INSERT INTO t VALUES (1)",
        create="CREATE VIEW v AS SELECT 2 AS b",
    )
    assert (table.columns, list(table.rows)) == (("a", "b"), [(1, 2)])


def test_nothing_is_left_for_the_next_query():
    run("SELECT 1", script="CREATE TABLE t (a INT); SET VARIABLE x = 7")
    assert stop_of("SELECT * FROM t").kind == "error"
    assert value("getvariable('x')") is None


def test_what_a_script_leaves_uncommitted_is_seen():
    assert list(run("FROM t", script="CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (5)").rows) == [(5,)]


def test_a_file_is_read_and_stays_as_it_is(file):
    before = file.read_bytes()
    assert list(run("SELECT sum(a) FROM shop.main.t", file=file).rows) == [(45,)]
    assert stop_of("WITH x AS (DELETE FROM t RETURNING *) FROM x", file=file).kind == "denied"
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_message_does_not_name_the_place_of_the_copy(tmp_path):
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"\0" * 8 + b"DUCK" + b"x" * 20000)
    stop = stop_of("SELECT 1", file=broken)
    assert stop.kind == "error"
    assert str(tmp_path) not in stop.message


@pytest.mark.parametrize(
    ("query", "kind", "message"),
    [
        ("SELECT nope", "error", "Binder Error: Referenced column"),
        ("SELEC 1", "error", "Parser Error: syntax error at or near"),
        ("SELECT * FROM nope", "error", "Catalog Error: Table with name nope does not exist!"),
        ("SELECT ?", "error", "Values were not provided"),
        ("SELECT 'x'::INT", "error", "Conversion Error"),
        ("SELECT 1; SELECT 2", "denied", "denied: 2 statements; one statement is expected"),
        ("", "denied", "denied: no statement"),
        ("SELECT 1\0", "denied", "denied: a NUL character"),
        ("SELECT '\ud800'", "error", "a lone surrogate"),
        ("DROP TABLE t", "denied", "denied: DROP TABLE; one statement that reads is expected"),
        ("EXPLAIN ANALYZE DELETE FROM t", "denied", "denied: EXPLAIN DELETE FROM"),
        ("UPDATE EXTENSIONS", "denied", "denied: UPDATE EXTENSIONS"),
        ("SELECT string_agg(repeat('x', 1000)) FROM range(10000000)", "memory", "Out of Memory Error"),
    ],
)
def test_a_failure_says_its_kind_and_why(query, kind, message):
    stop = stop_of(query, memory_mib=64)
    assert (stop.kind, stop.part) == (kind, "query")
    assert message in stop.message
    assert len(stop.message) <= 600
    assert "\n" not in stop.message


def test_a_failure_names_the_part_and_the_statement_of_a_script():
    stop = stop_of("SELECT 1", script="CREATE TABLE t (a INT); INSERT INTO nope VALUES (1)")
    assert (stop.part, stop.kind) == ("script", "error")
    assert stop.message.startswith("statement 2: Catalog Error")


@pytest.mark.parametrize(
    "statement",
    [
        "COPY t FROM 'a.csv'",
        "ATTACH 'a.duckdb'",
        "INSTALL httpfs",
        "SET threads = 8",
        "CREATE SECRET s (TYPE http)",
        "CALL enable_logging()",
        "PRAGMA enable_profiling",
        "EXPORT DATABASE 'a'",
        "IMPORT DATABASE 'a'",
        "LOAD 'a'",
    ],
)
def test_a_script_may_only_build(statement):
    stop = stop_of("SELECT 1", script=f"CREATE TABLE t (a INT); {statement}")
    assert (stop.part, stop.kind) == ("script", "denied")


@pytest.mark.parametrize(
    "create",
    [
        "SELECT 1",
        "CREATE TABLE a (x INT); CREATE TABLE b (x INT)",
        "CREATE SECRET s (TYPE http)",
        "INSERT INTO t VALUES (1)",
    ],
)
def test_the_create_part_is_one_create_statement(create):
    stop = stop_of("SELECT 1", create=create)
    assert (stop.part, stop.kind) == ("create", "denied")


def test_a_file_takes_no_create_statement(file):
    stop = stop_of("SELECT 1", create="CREATE TABLE z (a INT)", file=file)
    assert (stop.part, stop.kind) == ("create", "denied")


def test_rows_and_bytes_end_at_their_limits():
    assert len(run("FROM range(100)", max_rows=100).rows) == 100
    assert stop_of("FROM range(101)", max_rows=100).kind == "too_large"
    assert stop_of("SELECT repeat('x', 1000) FROM range(10)", max_bytes=5000).kind == "too_large"


@pytest.mark.parametrize(
    ("part", "more"),
    [
        ("query", {"query": "SELECT count(*) FROM range(1000000000000)"}),
        ("create", {"query": "SELECT 1", "create": "CREATE TABLE t AS SELECT count(*) FROM range(1000000000000)"}),
        ("script", {"query": "SELECT 1", "script": "CREATE TABLE t AS SELECT count(*) FROM range(1000000000000)"}),
    ],
)
def test_the_deadline_holds_for_each_part(part, more):
    stop = stop_of(timeout_s=0.2, **more)
    assert (stop.kind, stop.part) == ("timeout", part)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("170141183460469231731687303715884105727::HUGEINT", 2**127 - 1),
        ("1.50::DECIMAL(18, 2)", Decimal("1.50")),
        ("DATE '2024-02-29'", date(2024, 2, 29)),
        ("DATE '20000-01-01'", "20000-01-01"),
        ("DATE '0044-03-15 (BC)'", "0044-03-15 (BC)"),
        ("TIME '10:11:12.123456'", time(10, 11, 12, 123456)),
        ("TIMESTAMP '2024-01-01 10:00:00'", datetime(2024, 1, 1, 10)),  # noqa: DTZ001
        ("TIMESTAMPTZ '2024-01-01 10:00:00+02'", datetime(2024, 1, 1, 8, tzinfo=UTC)),
        ("[TIMESTAMPTZ '2024-01-01 10:00:00+02']", [datetime(2024, 1, 1, 8, tzinfo=UTC)]),
        ("INTERVAL '1 month 2 days'", timedelta(days=32)),
        ("INTERVAL '100000000 years'", "100000000 years"),
        ("[INTERVAL '100000000 years']", "[100000000 years]"),
        ("UUID '890201e4-9f35-42e6-a00a-d3c25e0ae4ff'", UUID("890201e4-9f35-42e6-a00a-d3c25e0ae4ff")),
        ("'\\xAA'::BLOB", b"\xaa"),
        ("'0101'::BIT", "0101"),
        ("'1234567890123456789012345678901234567890'::BIGNUM", "1234567890123456789012345678901234567890"),
        ("{'a': [1, NULL]}", {"a": [1, None]}),
        ("map {'a': 1}", {"a": 1}),
        ("array_value(1, 2)", [1, 2]),
        ("row(1, [row(2)])", [1, [[2]]]),
        ("get_type(1)", "INTEGER"),
        ("'inf'::DOUBLE", float("inf")),
        ("NULL", None),
        ("chr(0) || 'x'", "\0x"),
    ],
)
def test_a_value_is_what_python_holds_or_text(expression, wanted):
    found = value(expression)
    assert found == wanted
    assert type(found) is type(wanted)


def test_a_row_keeps_its_other_values_when_one_column_becomes_text():
    table = run("SELECT INTERVAL '100000000 years' AS a, 1 AS b, 'x' AS a -- end ;")
    assert (table.columns, list(table.rows)) == (("a", "b", "a"), [("100000000 years", 1, "x")])


def test_order_is_kept_when_a_column_becomes_text():
    rows = run("SELECT range, INTERVAL '100000000 years' FROM range(3000) ORDER BY range DESC").rows
    assert [row[0] for row in rows] == list(range(2999, -1, -1))


def test_the_stand_in_for_pytz_is_gone_after_a_query():
    import sys

    had = "pytz" in sys.modules
    value("now()")
    assert ("pytz" in sys.modules) == had


def test_a_variable_of_python_is_no_table():
    staff = [(1,)]
    assert stop_of("SELECT * FROM staff").kind == "error"
    assert staff
