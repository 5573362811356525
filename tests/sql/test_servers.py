"""Generated SQL on the real PostgreSQL and MariaDB: nothing is harmed, nothing legitimate is refused."""

import asyncio
import json
import os
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from pathlib import Path

import pytest
from tests.sql import server_ground
from tests.sql.corpus_reader import read_corpus
from tests.sql.server_ground import LIMITS, PASSWORD, SHORT

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, ScorerError
from steelyard.scorers.sql import SqlResult
from steelyard.sql.catalog import ddl_of
from steelyard.sql.engines.engine import SqlStop, catalog_query, guard_lists
from steelyard.sql.results import SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.schema import parse_schema
from steelyard.sql.server_address import Server
from steelyard.sql.servers.statement_check import check_reader
from steelyard.sql.verdict import compare_results
from steelyard.suites.text2sql.rows import load_text2sql
from steelyard.types import Sample

_CANARY = "SELECT COUNT(*), SUM(pay) FROM staff"
_ENGINES = {"postgres": server_ground.postgres, "mysql": server_ground.mysql}


@pytest.fixture(scope="module", params=sorted(_ENGINES))
def ground(request):
    with _ENGINES[request.param]() as made:
        yield made


@pytest.fixture(scope="module")
def box(ground):
    with ground.sandbox() as sandbox:
        yield sandbox


def test_hostile_statements_harm_nothing(ground, box):
    engine = ground.database.engine
    before = box.run(ground.database, _CANARY).table.rows
    state = "SELECT current_setting('statement_timeout'), current_setting('search_path')"
    state = state if engine == "postgres" else "SELECT @@sql_mode, @@autocommit, @a"
    session = box.run(ground.database, state).table.rows
    for _, statement in read_corpus(f"hostile_{engine}"):
        started = time.monotonic()
        done = box.run(ground.database, statement, limits=SHORT)
        assert done.failure is not None, statement
        assert time.monotonic() - started < SHORT.timeout_s + 1.5, statement
        assert box.run(ground.database, _CANARY).table.rows == before, statement
        assert box.run(ground.database, state).table.rows == session, statement
    assert ground.run(_CANARY) == [tuple(row) for row in before]
    assert not Path("/tmp/steelyard-x").exists()  # where the statements would write
    if engine == "postgres":
        assert ground.run(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database WHERE locktype = 'advisory' "
            "AND datname = current_database()"
        ) == [(0,)]
        assert ground.run("SELECT count(*) FROM pg_largeobject_metadata") == [(0,)]
        assert ground.run("SELECT last_value, is_called FROM staff_numbers") == [(1, False)]


def test_legitimate_statements_are_not_refused(ground, box):
    statements = read_corpus(f"legitimate_{ground.database.engine}")
    failed = {
        statement: done.failure
        for _, statement in statements
        if (done := box.run(ground.database, statement)).failure is not None
    }
    assert not failed
    assert len(statements) >= 99


def test_functions_of_extensions_that_run_a_text_are_refused():
    with server_ground.postgres() as ground, ground.sandbox() as sandbox:
        for extension in ("tablefunc", "xml2"):
            ground.run(f"CREATE EXTENSION {extension}")
        text = "SELECT ''a'', ''b'', pg_sleep(30)::text"
        for call in (
            f"crosstab('{text}') AS t(a text, b text)",
            f"crosstab('{text}', 'SELECT 1') AS t(a text, b text)",
            *(f"crosstab{number}('{text}')" for number in (2, 3, 4)),
            "connectby('staff', 'pg_sleep(30)', 'id', '1', 0) AS t(a text, b text, c int)",
            "xpath_table('pg_sleep(30)', 'name', 'staff', '/a', 'true') AS t(a int, b text)",
            f"query_to_xml('{text}', true, true, '')",
            "ts_stat('SELECT pg_sleep(30)')",
            "ts_rewrite('a'::tsquery, 'SELECT pg_sleep(30)')",
        ):
            failure = sandbox.run(ground.database, f"SELECT * FROM {call}", limits=LIMITS).failure
            assert failure.message.startswith("denied: the function "), call


def test_values_come_as_from_sqlite(ground, box):
    query = "SELECT pay, born, name FROM staff WHERE id = 1"
    assert box.run(ground.database, query).table.rows == [(Decimal("120.50"), date(1980, 5, 1), "Ann")]
    if ground.database.engine == "postgres":
        table = box.run(ground.database, "SELECT code, facts, flags, raw, hired, mood, single FROM staff LIMIT 1").table
        hired = datetime(2024, 1, 1, 8, tzinfo=UTC)
        assert table.rows == [("a", {"city": "Rome", "tags": ["a", "b"]}, "101", b"\x01\x02", hired, "ok", 1.1)]
        assert table.types[-1] == "FLOAT4"
        rows = box.run(ground.database, "SELECT 'infinity'::date, int4range(1, 5), ROW(1, 'a'), '10.0.0.1'::inet").table
        assert rows.rows == [("infinity", "[1,5)", ["1", "a"], "10.0.0.1")]
        table = box.run(ground.database, "SELECT time '24:00', (-1013.5)::money, ARRAY[0.05::money]").table
        assert table.rows == [("24:00:00", Decimal("-1013.50"), [Decimal("0.05")])]
    else:
        table = box.run(ground.database, "SELECT flags, raw, nothing, id, mood FROM staff LIMIT 1").table
        assert table.rows == [(5, b"\x01\x02", "0000-00-00", 1, "ok")]
        table = box.run(ground.database, "SELECT TIME('10:00:00'), TIME('-01:00:00'), TIME('36:00:00.50')").table
        assert table.rows == [(time_of_day(10), "-01:00:00", "36:00:00.5")]


@pytest.mark.parametrize("ground", ["mysql"], indirect=True)
def test_quotients_of_mysql_do_not_depend_on_how_they_are_written(ground, box):
    queries = ("SELECT 20.00 * 100 / 3", "SELECT 20.00 * (100.0 / 3.0)", "SELECT 20 / 3e0 * 100")
    first, *others = (box.run(ground.database, query).table for query in queries)
    assert all(compare_results(first, other).right for other in others)


@pytest.mark.parametrize("ground", ["mysql"], indirect=True)
def test_function_of_another_dialect_is_an_error_and_no_denied_statement(ground, box):
    failure = box.run(ground.database, "SELECT STRFTIME('%Y', born) FROM staff").failure
    assert (failure.kind, failure.message.endswith(", or there is no such function")) == ("error", True)


@pytest.mark.parametrize(
    ("ground", "calls"),
    [("postgres", ("json_agg(name)", "jsonb_agg(name)")), ("mysql", ("JSON_ARRAYAGG(name)",))],
    indirect=["ground"],
)
def test_arrays_of_json_without_an_order_are_not_unique(ground, calls):
    samples = [(call, Sample(call, "Who?", f"SELECT {call} FROM staff")) for call in calls]
    scorer = SqlResult(databases={"": ground.database.server})
    found = scorer.check_references(samples, resolve=lambda text: text.replace("${READER}", PASSWORD))
    assert [(finding.place, finding.kind) for finding in found] == [(call, "no_unique_result") for call in calls]


@pytest.mark.parametrize("ground", ["postgres"], indirect=True)
def test_result_without_columns_says_so(ground, box):
    assert box.run(ground.database, "SELECT FROM staff").failure.message == "a result without columns"


def test_schema_has_types_keys_and_comments(ground, box):
    ddl = ddl_of(box, ground.database)
    schema = parse_schema(ddl, dialect=ground.database.engine)
    staff = schema.table("staff")
    assert not schema.skipped
    assert staff.primary_key == ("id",)
    assert [(key.columns, key.to_table, key.to_columns) for key in staff.foreign_keys] == [
        (("team_id",), "teams", ("id",))
    ]
    assert "-- a month, in euros" in ddl
    assert "-- people who work here" in ddl
    assert schema.table("paid").view
    assert ("CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');" in ddl) == (ground.database.engine == "postgres")


def test_statement_is_ended_on_the_server_when_the_call_is_cancelled(ground):
    long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
    long += "SELECT count(*) /* long one */ FROM n a, n b, n c, n d, n e"
    running = (
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%/* long one */%' AND pid <> pg_backend_pid()"
        if ground.database.engine == "postgres"
        else "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%/* long one */%' "
        "AND id <> CONNECTION_ID()"
    )

    async def cancelled(sandbox):
        task = asyncio.create_task(sandbox.arun(ground.database, long, limits=SqlLimits(timeout_s=60)))
        for _ in range(500):
            await asyncio.sleep(0.02)
            if ground.run(running) != [(0,)]:
                break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ground.sandbox() as sandbox:
        asyncio.run(cancelled(sandbox))
        deadline = time.monotonic() + 10
        while ground.run(running) != [(0,)]:
            assert time.monotonic() < deadline
        assert sandbox.run(ground.database, _CANARY).table is not None


def test_connection_that_the_server_ended_is_made_anew(ground, box):
    assert box.run(ground.database, _CANARY).table is not None
    user = Server(ground.url).login(str if "$" not in ground.url else lambda text: text.replace("${READER}", "x")).user
    if ground.database.engine == "postgres":
        ground.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}'")
    else:
        for (number,) in ground.run(f"SELECT id FROM information_schema.processlist WHERE user = '{user}'"):
            ground.run(f"KILL {number}")
    assert box.run(ground.database, _CANARY).table is not None


def test_role_that_may_write_is_refused_unless_allowed(ground):
    user = Server(ground.url).login(lambda text: text.replace("${READER}", "x")).user
    engine = ground.database.engine
    to = user if engine == "postgres" else f"'{user}'@'%'"
    on = "staff" if engine == "postgres" else f"{user}.*"
    ground.run(f"GRANT INSERT ON {on} TO {to}")
    try:
        with (
            ground.sandbox() as sandbox,
            pytest.raises(ConfigError, match=r"may do more than read: it (may write|has INSERT)"),
        ):
            sandbox.check_server(ground.database.server)
        with ground.sandbox(unsafe=True) as sandbox:
            sandbox.check_server(ground.database.server)
            assert sandbox.run(ground.database, "INSERT INTO teams VALUES (7, 'x')").failure.kind == "denied"
    finally:
        ground.run(f"REVOKE INSERT ON {on} FROM {to}")


def test_role_that_may_become_one_that_writes_is_refused(ground):
    user = Server(ground.url).login(lambda text: text.replace("${READER}", "x")).user
    is_postgres = ground.database.engine == "postgres"
    writer, on = f"{user}_writer", "staff" if is_postgres else f"{user}.*"
    ground.run(f"CREATE ROLE {writer}")
    try:
        ground.run(f"GRANT INSERT ON {on} TO {writer}")
        if is_postgres:
            ground.run(f"ALTER ROLE {user} NOINHERIT")
        ground.run(f"GRANT {writer} TO {user}" if is_postgres else f"GRANT {writer} TO '{user}'@'%'")
        what = f"it may become {writer}" if is_postgres else "it has INSERT on"
        with ground.sandbox() as sandbox, pytest.raises(ConfigError, match=f"may do more than read: {what}"):
            sandbox.check_server(ground.database.server)
    finally:
        for clean in (f"DROP OWNED BY {writer}", f"ALTER ROLE {user} INHERIT") if is_postgres else ():
            ground.run(clean)
        ground.run(f"DROP ROLE {writer}")


def test_role_within_a_role_of_mariadb_that_is_not_active_counts_by_what_it_may():
    with server_ground.mysql() as ground, ground.sandbox() as sandbox:
        if "MariaDB" not in ground.run("SELECT VERSION()")[0][0]:
            pytest.skip("on MySQL the rights of a role are those of all within it")
        user = Server(ground.url).login(lambda text: text.replace("${READER}", "x")).user
        outer, inner = f"{user}_outer", f"{user}_inner"
        try:
            for statement in (
                *(f"CREATE ROLE {role}" for role in (outer, inner)),
                f"GRANT SELECT ON {user}.* TO {inner}",
                f"GRANT {inner} TO {outer}",
                f"GRANT {outer} TO '{user}'@'%'",
            ):
                ground.run(statement)
            sandbox.check_server(ground.database.server)
            assert sandbox.run(ground.database, "SELECT CURRENT_ROLE()").table.rows == [(None,)]
            ground.run(f"GRANT INSERT ON {user}.* TO {inner}")
            with ground.sandbox() as anew, pytest.raises(ConfigError, match="may do more than read: it has INSERT on"):
                anew.check_server(ground.database.server)
        finally:
            for role in (outer, inner):
                ground.run(f"DROP ROLE IF EXISTS {role}")


def test_file_of_certificates_that_cannot_be_read_is_named():
    with server_ground.mysql() as ground, ground.sandbox() as sandbox:
        server = replace(ground.database.server, url=f"{ground.url}?ssl_ca=/nowhere/ca.pem")
        with pytest.raises(ConfigError, match=r"ssl_ca=/nowhere/ca\.pem: No such file"):
            sandbox.check_server(server)


def test_superuser_is_refused(ground):
    url = server_ground.MYSQL if ground.database.engine == "mysql" else server_ground.servers.SERVER
    with ground.sandbox() as sandbox, pytest.raises(ConfigError, match=r"superuser|it has (ALL PRIVILEGES|ALTER)"):
        sandbox.check_server(Server(url))


@pytest.mark.skipif(not os.environ.get("STEELYARD_TEST_MYSQL") and not Path("/proc").is_dir(), reason="needs /proc")
def test_password_is_in_no_argument_and_no_message(ground):
    wrong = replace(ground.database.server, url=ground.url.replace("${READER}", "${WRONG}"))
    with ground.sandbox() as sandbox:
        sandbox.run(ground.database, _CANARY)
        for process in Path("/proc").glob("[0-9]*"):
            try:
                read = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            except OSError:
                continue
            assert PASSWORD.encode() not in read
    with ground.sandbox() as sandbox, pytest.raises(ConfigError, match=r"\$\{WRONG\} has no value"):
        sandbox.check_server(wrong)
    assert PASSWORD not in repr(ground.database.server.login(lambda text: text.replace("${READER}", PASSWORD)))


def test_hint_that_ends_later_than_it_seems_is_refused():
    # MySQL reads the marks inside: its hint ends at the second `*/`.
    with pytest.raises(SqlStop, match="a hint that"):
        check_reader("SELECT /*+ QB_NAME(`*/`) */ sleep(30) -- `", "mysql", guard_lists("mysql")["denied_functions"])


def test_unreachable_server_is_a_clear_error():
    for url in ("postgresql://me@127.0.0.1:1/shop", "mysql://me@127.0.0.1:1/shop"):
        server = Server(url)
        ground = server_ground.Ground(server_ground.Database(server.engine, server=server), None, None)
        with ground.sandbox() as sandbox:
            with pytest.raises(ConfigError, match=r"no connection as me at 127\.0\.0\.1:1: "):
                sandbox.check_server(server)
            # During a run it is an error of the record and no verdict on the target.
            with pytest.raises(ScorerError, match=r"no connection as me at 127\.0\.0\.1:1: "):
                sandbox.run(ground.database, "SELECT 1")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://x", "expected the address of a PostgreSQL or MySQL server"),
        ("postgresql://me@host", "names no database"),
        ("postgresql://host/shop", "names no user"),
        ("postgresql://me:plain@host/shop", "a password is not written out"),
        ("mysql://me@host:99999/shop", "the port is not a number"),
        ("mysql://me@host/shop?local_infile=1", "there is no parameter 'local_infile'"),
        ("postgresql://me@host/shop?passfile=/x", "there is no parameter 'passfile'"),
    ],
)
def test_address_that_is_wrong_says_what(url, message):
    with pytest.raises(ConfigError, match=message):
        Server(url).check()


def test_the_catalogue_is_read_once_for_all_questions_and_a_changed_one_is_noticed(ground, tmp_path, monkeypatch):
    run, asked = Sandbox.run, []

    def counted(sandbox, database, query, **options):
        asked.append(query)
        return run(sandbox, database, query, **options)

    def loaded():
        databases = {"shop": ground.database.server}
        return list(load_text2sql(SampleFiles(file), databases=databases, resolve=secret).samples)

    def secret(text):
        return text.replace("${READER}", PASSWORD)

    file = tmp_path / "questions.jsonl"
    rows = ({"question": f"{n}?", "query": f"SELECT {n} FROM staff", "db_id": "shop"} for n in range(40))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(Sandbox, "run", counted)
    [schema] = {sample.metadata["schema"] for sample in loaded()}
    assert asked.count(catalog_query(f"{ground.database.engine}_schema")) == 2  # which have to agree
    ground.run("ALTER TABLE teams ADD COLUMN town varchar(9)")
    try:
        [changed] = {sample.metadata["schema"] for sample in loaded()}
    finally:
        ground.run("ALTER TABLE teams DROP COLUMN town")
    assert "town" in changed
    assert "town" not in schema
