"""Statements that change data on the real PostgreSQL and MariaDB: every one is rolled back."""

import asyncio
import time
from dataclasses import replace

import pytest
from tests.sql import server_ground
from tests.sql.server_ground import LIMITS, SHORT

from steelyard.errors import ConfigError, ScorerError
from steelyard.sql.changed_data import judge_changes
from steelyard.sql.equality import CellEquality
from steelyard.sql.server_address import Server

_INSERT = "INSERT INTO boats (name, length) VALUES ('Tern', 5)"
HOSTILE = {
    "postgres": [
        "COMMIT",
        "COMMIT; DELETE FROM trips",
        "DELETE FROM trips; COMMIT",
        "DELETE FROM trips\0; COMMIT",
        "ROLLBACK",
        "END",
        "DO $$ BEGIN DELETE FROM trips; COMMIT; END $$",
        "CALL something()",
        "PREPARE TRANSACTION 'x'",
        "SET SESSION AUTHORIZATION postgres",
        "INSERT INTO staff (id, name) VALUES (9, 'x')",
        "DELETE FROM public.staff",
        "DROP TABLE public.staff",
        "CREATE TABLE public.taken (a int)",
        "ALTER TABLE boats SET SCHEMA public",
        "CREATE SCHEMA taken",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE EXTENSION dblink",
        "CREATE TEMP TABLE boats2 (a int)",
        "COPY boats TO '/tmp/steelyard-x'",
        "COPY boats FROM PROGRAM 'id'",
        "INSERT INTO boats (name) SELECT pg_read_file('/etc/passwd')",
        "INSERT INTO boats (name) SELECT pg_sleep(9)::text",
        "DELETE FROM boats WHERE pg_advisory_lock(1) IS NULL",
        "INSERT INTO boats (name) SELECT set_config('search_path', 'public', false)",
        "DELETE FROM trips WHERE (SELECT count(*) FROM generate_series(1, 100000000000)) > 0",
        "INSERT INTO trips SELECT 1, g FROM generate_series(1, 50000) AS g",
        "LOCK TABLE boats",
        "EXPLAIN ANALYZE DELETE FROM trips",
        "GRANT ALL ON boats TO PUBLIC",
        "/* /* */ COMMIT */ DELETE FROM trips",
        "LISTEN x",
        "VACUUM boats",
        "",
    ],
    "mysql": [
        "COMMIT",
        "DELETE FROM trips; COMMIT",
        "DELETE FROM trips /*! ; COMMIT */",
        "DROP TABLE trips",
        "TRUNCATE TABLE trips",
        "ALTER TABLE boats ADD COLUMN a int",
        "CREATE TABLE taken (a int)",
        "CREATE TEMPORARY TABLE taken (a int)",
        "START TRANSACTION",
        "LOCK TABLES boats WRITE",
        "SET autocommit = 1",
        "RENAME TABLE boats TO ships",
        "DELETE FROM {main}.staff",
        "INSERT INTO {main}.teams VALUES (9, 'x')",
        "SELECT * FROM boats INTO OUTFILE '/tmp/steelyard-x'",
        "SELECT id FROM boats LIMIT 1 INTO @a",
        "INSERT INTO boats (name) SELECT LOAD_FILE('/etc/passwd')",
        "INSERT INTO boats (name) VALUES (SLEEP(9))",
        "DELETE FROM boats WHERE GET_LOCK('a', 1) > 5",
        "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE boats",
        "CALL something()",
        "DO RELEASE_ALL_LOCKS()",
        "GRANT ALL ON *.* TO CURRENT_USER",
        "HANDLER boats OPEN",
        "KILL 1",
        "",
    ],
}


@pytest.fixture(scope="module")
def postgres():
    with server_ground.postgres() as ground:
        yield ground, server_ground.postgres_trial(ground)


@pytest.fixture(scope="module")
def mysql():
    with server_ground.mysql() as ground, server_ground.mysql_trial(ground) as trial:
        yield ground, trial


@pytest.fixture(scope="module", params=["postgres", "mysql"])
def ground_and_trial(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def trial(ground_and_trial):
    return ground_and_trial[1]


@pytest.fixture(scope="module")
def box(ground_and_trial):
    with ground_and_trial[0].sandbox() as sandbox:
        yield sandbox


def rows_of(box, trial, statement):
    done = box.run(trial, statement, limits=LIMITS)
    assert done.failure is None, done.failure
    return [tuple(row) for row in done.table.rows]


def kept(ground, trial):
    place = trial.server.schema
    return [ground.run(f"SELECT * FROM {place}.{table} ORDER BY 1") for table in ("boats", "trips")]


def test_changes_are_read_and_rolled_back_with_the_numbers_that_were_drawn(ground_and_trial, box):
    ground, trial = ground_and_trial
    before = kept(ground, trial)
    for _ in range(3):
        assert rows_of(box, trial, _INSERT) == [("affected", "", [1]), ("added", "boats", [3, "Tern", 5.0])]
    assert rows_of(box, trial, "UPDATE boats SET length = length * 2 WHERE id = 2") == [
        ("affected", "", [1]),
        ("removed", "boats", [2, "Heron", 6.0]),
        ("added", "boats", [2, "Heron", 12.0]),
    ]
    assert rows_of(box, trial, "SELECT * FROM boats") == [("affected", "", [0])]
    assert kept(ground, trial) == before


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO boats (name) VALUES ('Wren')",
        "INSERT INTO trips VALUES (77, 1)",
        "DELETE FROM boats WHERE id = 1",
        "INSERT INTO trips VALUES (NULL, 1)",
    ],
)
def test_violated_constraints_are_a_kind_of_their_own(box, trial, statement):
    assert box.run(trial, statement, limits=LIMITS).failure.kind == "constraint"


def test_sequences_may_be_asked_and_are_set_back(postgres):
    ground, trial = postgres
    with ground.sandbox() as box:
        for _ in range(2):
            insert = "INSERT INTO boats VALUES (nextval('boats_id_seq'), 'Tern', 5)"
            assert rows_of(box, trial, insert) == [("affected", "", [1]), ("added", "boats", [3, "Tern", 5.0])]
        assert box.run(trial, "SELECT setval('boats_id_seq', 9)", limits=LIMITS).failure.kind == "denied"
        assert box.run(trial, "SELECT nextval('public.staff_numbers')", limits=LIMITS).failure.kind == "denied"
    assert ground.run("SELECT last_value, is_called FROM staff_numbers") == [(1, False)]


_MERGE = """MERGE INTO boats AS b USING (VALUES ('Wren', 9.0), ('Tern', 5.0)) AS s (name, length) ON b.name = s.name
    WHEN MATCHED THEN UPDATE SET length = s.length
    WHEN NOT MATCHED THEN INSERT (name, length) VALUES (s.name, s.length)"""
_UPSERT = """INSERT INTO boats (name, length) VALUES ('Wren', 9), ('Tern', 5)
    ON CONFLICT (name) DO UPDATE SET length = excluded.length"""
_LINKED = """WITH b AS (INSERT INTO boats (name) VALUES ('Tern'), ('Gull') RETURNING id, name)
    INSERT INTO trips SELECT id, length(name) + (name = 'Gull')::int FROM b"""


@pytest.mark.parametrize(
    ("reference", "prediction", "right"),
    [
        (_MERGE, _UPSERT, True),
        (_UPSERT, _UPSERT.replace("('Wren', 9), ('Tern', 5)", "('Tern', 5), ('Wren', 9)"), True),
        (_UPSERT, _MERGE.replace("5.0", "6.0"), False),
        (_INSERT, "INSERT INTO boats (name, length) VALUES ('Wren', 1), ('Tern', 5) ON CONFLICT DO NOTHING", True),
        (_LINKED, _LINKED.replace("('Tern'), ('Gull')", "('Gull'), ('Tern')"), True),
        (_LINKED, _LINKED.replace("= 'Gull'", "= 'Tern'"), False),
        (_INSERT, "INSERT INTO boats VALUES (4, 'Tern', 5)", False),
    ],
)
@pytest.mark.parametrize("ground_and_trial", ["postgres"], indirect=True)
def test_drawn_numbers_are_equal_in_whatever_order_they_were_drawn(box, trial, reference, prediction, right):
    tables = [box.run(trial, statement, limits=LIMITS).table for statement in (reference, prediction)]
    assert judge_changes(*tables, limits=LIMITS, equality=CellEquality()).right is right


def test_functions_of_extensions_are_found_beside_a_schema(postgres):
    ground, trial = postgres
    ground.run("CREATE EXTENSION fuzzystrmatch")
    ground.run("CREATE TABLE boats (id int)")
    try:
        with ground.sandbox() as box:
            for changes in (False, True):
                near = "FROM boats WHERE levenshtein(name, 'Wrens') = 1"
                statement = f"{'DELETE' if changes else 'SELECT name'} {near} AND id > 1"
                assert box.run(replace(trial, changes=changes), statement, limits=LIMITS).failure is None
            assert box.run(trial, "DROP TABLE public.boats", limits=LIMITS).failure is not None
    finally:
        ground.run("DROP TABLE boats")
        ground.run("DROP EXTENSION fuzzystrmatch")


def test_role_that_may_draw_from_a_sequence_elsewhere_is_refused(postgres):
    ground, trial = postgres
    role = ground.run("SELECT current_database()")[0][0]
    ground.run(f"GRANT USAGE ON SEQUENCE staff_numbers TO {role}")
    try:
        with ground.sandbox() as sandbox, pytest.raises(ConfigError, match="it may write to staff_numbers"):
            sandbox.check_server(trial.server)
    finally:
        ground.run(f"REVOKE USAGE ON SEQUENCE staff_numbers FROM {role}")


def test_definitions_are_compared_on_postgres_which_rolls_them_back(postgres):
    ground, trial = postgres
    with ground.sandbox() as box:
        changed = rows_of(box, trial, "CREATE TABLE crews AS SELECT name FROM boats WHERE id = 1")
        assert ("added", "crews", ["Wren"]) in changed
        assert any(table == "(schema)" for _, table, _ in changed)
        plain, generated, collated, same = (
            rows_of(box, trial, f"CREATE TABLE crews ({columns})")
            for columns in (
                "a int, b int",
                "a int, b int GENERATED ALWAYS AS (a + 1) STORED",
                'a int, b text COLLATE "C"',
                "A int,  b int",
            )
        )
        defaulted = rows_of(box, trial, "CREATE TABLE crews (a int, b text)")
        assert plain == same
        assert plain != generated
        assert collated != defaulted
    assert ground.run("SELECT to_regclass('trial.crews')") == [(None,)]


def test_hostile_statements_change_nothing(ground_and_trial, box):
    ground, trial = ground_and_trial
    main = ground.run("SELECT DATABASE()" if trial.engine == "mysql" else "SELECT current_database()")[0][0]
    before, first = kept(ground, trial), rows_of(box, trial, _INSERT)
    staff = ground.run("SELECT COUNT(*) FROM staff")
    for statement in HOSTILE[trial.engine]:
        started = time.monotonic()
        done = box.run(trial, statement.replace("{main}", main), limits=SHORT)
        assert done.failure is not None, statement
        assert time.monotonic() - started < SHORT.timeout_s + 1.5, statement
        assert rows_of(box, trial, _INSERT) == first, statement
        assert kept(ground, trial) == before, statement
    assert ground.run("SELECT COUNT(*) FROM staff") == staff


_THOUSAND = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"


def _slow(trial):
    """A statement that is killed while it draws numbers, or while what it did is rolled back."""
    if trial.engine == "postgres":
        return "INSERT INTO boats (name) SELECT 'n' || g FROM generate_series(1, 100000000) AS g"
    return f"INSERT INTO boats (name) {_THOUSAND} SELECT CONCAT_WS('-', a.i, b.i, c.i) FROM n a, n b, n c"


def test_numbers_that_a_killed_statement_drew_are_set_back(ground_and_trial, box):
    ground, trial = ground_and_trial
    first = rows_of(box, trial, _INSERT)
    assert box.run(trial, _slow(trial), limits=SHORT).failure.kind in {"timeout", "too_large"}
    assert rows_of(box, trial, _INSERT) == first

    async def cancelled():
        task = asyncio.ensure_future(box.arun(trial, _slow(trial), limits=replace(LIMITS, timeout_s=60.0)))
        await asyncio.sleep(SHORT.timeout_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    assert rows_of(box, trial, _INSERT) == first
    with ground.sandbox() as other:
        assert rows_of(other, trial, _INSERT) == first, "set back on the server itself"


def test_waiting_for_the_schema_is_not_charged_to_a_statement(ground_and_trial):
    _, trial = ground_and_trial
    if trial.engine == "postgres":
        waits = "UPDATE trips SET days = (SELECT count(*) FROM generate_series(1, 2500000)) WHERE boat = 1"
    else:
        count = f"{_THOUSAND} SELECT COUNT(*) FROM n a, n b, n c WHERE a.i < 4 AND c.i % 7 < 9"
        waits = f"UPDATE trips SET days = ({count}) WHERE boat = 1"
    ground = ground_and_trial[0]
    limits = replace(LIMITS, timeout_s=3.0)

    async def together(boxes):
        return await asyncio.gather(*(box.arun(trial, waits, limits=limits) for box in boxes for _ in range(3)))

    with ground.sandbox(workers=4) as first, ground.sandbox(workers=4) as second:
        done = asyncio.run(together([first, second]))
    assert [execution.failure for execution in done] == [None] * 6


def test_a_schema_that_another_process_holds_says_nothing_about_a_statement(ground_and_trial):
    ground, trial = ground_and_trial
    place = trial.server.schema
    if trial.engine == "postgres":
        lock = f"pg_advisory_lock(hashtext('steelyard'), hashtext('{place}'))"
        held, freed = f"SELECT {lock}", f"SELECT {lock.replace('lock(', 'unlock(')}"
    else:
        held, freed = f"SELECT GET_LOCK('steelyard {place}', 5)", f"SELECT RELEASE_LOCK('steelyard {place}')"
    with ground.sandbox() as box:
        first = rows_of(box, trial, _INSERT)
        ground.run(held)
        try:
            with pytest.raises(ScorerError, match="another process changes"):
                box.run(trial, _INSERT, limits=replace(LIMITS, timeout_s=0.2))
        finally:
            ground.run(freed)
        assert rows_of(box, trial, _INSERT) == first


def test_reading_with_that_role_is_still_read_only(ground_and_trial, box):
    _, trial = ground_and_trial
    failure = box.run(replace(trial, changes=False), "DELETE FROM trips", limits=LIMITS).failure
    assert failure.kind == "denied"


def test_writing_needs_to_be_said_of_the_server(ground_and_trial, box):
    _, trial = ground_and_trial
    reader = replace(trial, server=replace(trial.server, writes=False))
    with pytest.raises(ConfigError, match="may do more than read"):
        box.check_server(reader.server)
    with pytest.raises(ConfigError, match="name the schema"):
        Server(trial.server.url, writes=True).check()


def test_a_role_that_may_write_elsewhere_too_is_refused(ground_and_trial):
    ground, trial = ground_and_trial
    place = "public.staff" if trial.engine == "postgres" else "staff"
    role = ground.run("SELECT current_database()" if trial.engine == "postgres" else "SELECT DATABASE()")[0][0]
    grantee = role if trial.engine == "postgres" else f"'{role}'@'%'"
    ground.run(f"GRANT INSERT ON {place} TO {grantee}")
    try:
        with ground.sandbox() as sandbox, pytest.raises(ConfigError, match="may do more than read"):
            sandbox.check_server(trial.server)
    finally:
        ground.run(f"REVOKE INSERT ON {place} FROM {grantee}")


def test_grant_that_also_fits_other_databases_is_refused(mysql):
    ground, trial = mysql
    place = trial.server.schema
    role = ground.run("SELECT DATABASE()")[0][0]
    strict = place.replace("_", r"\_")
    for grant in (f"`{place}`.*", f"`{strict[:-1]}%`.*"):
        ground.run(f"GRANT INSERT ON {grant} TO '{role}'@'%'")
        try:
            with ground.sandbox() as sandbox, pytest.raises(ConfigError, match="_ and % stand for any characters"):
                sandbox.check_server(trial.server)
        finally:
            ground.run(f"REVOKE INSERT ON {grant} FROM '{role}'@'%'")
    # That of one table names its database as it is.
    ground.run(f"GRANT INSERT ON `{place}`.boats TO '{role}'@'%'")
    try:
        with ground.sandbox() as sandbox:
            sandbox.check_server(trial.server)
    finally:
        ground.run(f"REVOKE INSERT ON `{place}`.boats FROM '{role}'@'%'")


@pytest.mark.parametrize("kind", ["", " WITH SYSTEM VERSIONING"])
def test_tables_without_transactions_are_refused(mysql, kind):
    ground, trial = mysql
    if kind and "MariaDB" not in ground.run("SELECT VERSION()")[0][0]:
        pytest.skip("MariaDB alone keeps versions of rows")
    ground.run(f"CREATE TABLE {trial.server.schema}.plain (a int) ENGINE = MyISAM{kind}")
    ground.run(f"INSERT INTO {trial.server.schema}.plain VALUES (1)")
    try:
        with ground.sandbox() as box:
            failure = box.run(trial, "DELETE FROM plain", limits=LIMITS).failure
        assert (failure.kind, "no transactions" in failure.message) == ("denied", True)
        assert ground.run(f"SELECT * FROM {trial.server.schema}.plain") == [(1,)]
    finally:
        ground.run(f"DROP TABLE {trial.server.schema}.plain")


def test_numbers_that_cannot_be_set_back_are_an_error_and_not_silent(postgres):
    ground, trial = postgres
    role = ground.run("SELECT current_database()")[0][0]
    ground.run(f"REVOKE UPDATE ON ALL SEQUENCES IN SCHEMA trial FROM {role}")
    try:
        with ground.sandbox() as box:
            failure = box.run(trial, _INSERT, limits=LIMITS).failure
        assert "grant UPDATE on it" in failure.message
    finally:
        ground.run(f"GRANT UPDATE ON ALL SEQUENCES IN SCHEMA trial TO {role}")
        ground.run("SELECT setval('trial.boats_id_seq', 2)")
