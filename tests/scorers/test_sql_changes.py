"""`statements: any`: references that change data are scored by the data that they leave behind."""

import asyncio
from contextlib import nullcontext

import pytest
from tests.sql import server_ground

from steelyard import Output, Sample
from steelyard.errors import ConfigError
from steelyard.scorers.sql import SqlAttempts, SqlResult
from steelyard.sql.sandbox import Sandbox

SCHEMA = """
CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT UNIQUE, pay DOUBLE);
INSERT INTO staff VALUES (1, 'Ann', 100), (2, 'Bo', 90);
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(workers=1) as opened:
        yield opened


def scores(sandbox, reference, reply, scorer=None, **metadata):
    sample = Sample("a", "Change it.", reference, metadata={"schema": SCHEMA, **metadata})
    scorer = scorer or SqlResult(statements="any")
    made = asyncio.run(scorer(sample, Output(reply), sandbox))
    return {score.name: score for score in made}


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("reply", "value", "label", "reason"),
    [
        ("UPDATE staff SET pay = 110 WHERE id = 1", 1.0, "within tolerance", "the data are as after the reference"),
        ("UPDATE staff SET pay = 120 WHERE id = 1", 0.0, "rows differ", "added (1, 'Ann', 120.0) to staff"),
        ("UPDATE staff SET pay = pay * 1.1", 0.0, "rows extra", "2 rows affected, 1 by the reference"),
        ("UPDATE staff SET name = 'Bo' WHERE id = 1", 0.0, "constraint violated", "name"),
        ("SELECT * FROM staff", 0.0, "rows missing", "it changes nothing"),
        ("DROP TABLE staff", 0.0, None, "staff"),
        ("COMMIT", 0.0, "denied", "COMMIT"),
        ("UPDATE staff SET pay = 110 WHERE id = 1; COMMIT", 0.0, "denied", "2 statements"),
    ],
)
def test_states_are_compared(sandbox, engine, reply, value, label, reason):
    scorer = SqlResult(statements="any", engine=engine)
    made = scores(sandbox, "UPDATE staff SET pay = pay * 1.1 WHERE name = 'Ann'", f"```sql\n{reply}\n```", scorer)
    result = made["result"]
    assert result.value == value
    assert label is None or result.detail["label"] == label
    assert reason in result.reason
    assert made["ex_bird"].outcome == "not_applicable"


def test_rows_that_are_affected_are_said_of_the_execution(sandbox):
    made = scores(sandbox, "DELETE FROM staff", "```sql\nDELETE FROM staff WHERE id = 1\n```")
    assert (made["execution"].reason, made["execution"].detail["rows"]) == ("1 row affected", 1)


def test_one_of_several_right_changes_is_enough(sandbox):
    golds = "DELETE FROM staff WHERE id = 1; UPDATE staff SET pay = 0 WHERE id = 1"
    made = scores(sandbox, golds, "```sql\nUPDATE staff SET pay = 0.0 WHERE name = 'Ann'\n```")
    assert made["result"].value == 1.0
    assert made["result"].reason.startswith("gold 2: ")


def test_a_reference_that_changes_nothing_or_fails_is_the_datasets_fault(sandbox):
    nothing = scores(sandbox, "DELETE FROM staff WHERE id = 9", "```sql\nSELECT 1\n```")["result"]
    assert (nothing.outcome, "changes nothing" in nothing.reason) == ("not_applicable", True)
    failing = scores(sandbox, "DELETE FROM nobody", "```sql\nSELECT 1\n```")["result"]
    assert (failing.outcome, "no such table" in failing.reason) == ("not_applicable", True)


def test_questions_that_read_are_scored_as_before(sandbox):
    made = scores(sandbox, "SELECT name FROM staff", "```sql\nSELECT name FROM staff\n```")
    assert (made["result"].value, made["ex_bird"].value) == (1.0, 1.0)
    denied = scores(sandbox, "SELECT name FROM staff", "```sql\nDELETE FROM staff\n```")
    assert denied["result"].detail["kind"] == "denied"


def test_changes_are_denied_unless_they_are_asked_for(sandbox):
    made = scores(sandbox, "DELETE FROM staff", "```sql\nDELETE FROM staff\n```", SqlResult())
    assert made["execution"].value == 0.0
    assert made["result"].outcome == "not_applicable"


def test_attempts_that_change_data_are_scored_likewise(sandbox):
    scorer = SqlAttempts(1, statements="any")
    made = scores(sandbox, "DELETE FROM staff", "```sql\nDELETE FROM staff WHERE id > 0\n```", scorer)
    assert made["result_within_1"].value == 1.0


def test_check_runs_references_that_change_data(sandbox):
    def checked(reference):
        sample = Sample("a", "Change it.", reference, metadata={"schema": SCHEMA})
        found = SqlResult(statements="any").check_references([("line 1", sample)])
        return [(finding.kind, finding.message) for finding in found]

    assert checked("DELETE FROM staff") == []
    assert [kind for kind, _ in checked("INSERT INTO staff VALUES (1, 'Di', 1)")] == ["cannot_run"]
    assert checked("DELETE FROM staff WHERE id = 9") in ([], [("returns_nothing", "it changes nothing")])


STAMPED = {
    "sqlite": "CREATE TABLE seen (id INT, moment TEXT DEFAULT CURRENT_TIMESTAMP, tag BLOB DEFAULT (randomblob(8)));",
    "duckdb": "CREATE TABLE seen (id INT, moment TIMESTAMP DEFAULT now(), tag UUID DEFAULT gen_random_uuid());",
}


@pytest.mark.parametrize("engine", STAMPED)
def test_cells_that_differ_each_time_are_not_compared_and_check_warns(sandbox, engine):
    scorer = SqlResult(statements="any", engine=engine)

    def judged(reply):
        return scores(sandbox, "INSERT INTO seen (id) VALUES (7)", reply, scorer, schema=STAMPED[engine])["result"]

    right = judged("INSERT INTO seen (id) SELECT 3 + 4")
    assert right.value == 1.0
    assert right.reason.endswith("not compared, as they differ each time: columns 2, 3 of the rows added to seen")
    assert judged("INSERT INTO seen (id) VALUES (8)").value == 0.0
    assert judged("INSERT INTO seen (id, moment) VALUES (7, NULL)").value == 0.0, "that a cell is empty still counts"
    sample = Sample("a", "Change it.", "INSERT INTO seen (id) VALUES (7)", metadata={"schema": STAMPED[engine]})
    [finding] = scorer.check_references([("line 1", sample)])
    assert (finding.kind, finding.message) == ("changes_differ", "columns 2, 3 of the rows added to seen")


def test_a_reference_that_changes_other_rows_each_time_is_not_applicable(sandbox):
    reference = "INSERT INTO staff SELECT 10 + value, 'n' || value, abs(random()) FROM json_each('[1, 2, 3, 4, 5, 6]')"
    some = f"{reference} UNION ALL SELECT 20, 'x', 1 WHERE strftime('%s', 'now') % 2"
    result = scores(sandbox, some, reference)["result"]
    assert (result.outcome, "different rows" in result.reason) == ("not_applicable", True)


def test_a_server_needs_a_schema_that_may_be_written_to(sandbox):
    with pytest.raises(ConfigError, match="writes: true"):
        SqlResult(statements="any", databases="postgresql://me@127.0.0.1/shop").prepare(sandbox)


def test_cells_that_differ_each_time_are_found_on_servers_too():
    grounds = (
        (server_ground.postgres, None, "timestamptz DEFAULT now(), tag uuid DEFAULT gen_random_uuid()"),
        (
            server_ground.mysql,
            server_ground.mysql_trial,
            "datetime DEFAULT CURRENT_TIMESTAMP, tag text DEFAULT (uuid())",
        ),
    )
    for opened, trial_of, columns in grounds:
        with opened() as ground, trial_of(ground) if trial_of else nullcontext() as trial, ground.sandbox() as box:
            server = (trial or server_ground.postgres_trial(ground)).server
            ground.run(f"CREATE TABLE {server.schema}.seen (id int, moment {columns})")
            if server.engine == "postgres":
                role = ground.run("SELECT current_database()")[0][0]
                ground.run(f"GRANT SELECT, INSERT ON {server.schema}.seen TO {role}")
            scorer = SqlResult(statements="any", databases={"trial": server})
            reference = "INSERT INTO seen (id) VALUES (7)"
            right = scores(box, reference, "INSERT INTO seen (id) SELECT 3 + 4", scorer, db_id="trial")["result"]
            assert right.value == 1.0, right
            assert "not compared, as they differ each time: columns 2, 3 of" in right.reason
            wrong = scores(box, reference, "INSERT INTO seen (id) SELECT 8", scorer, db_id="trial")["result"]
            assert wrong.value == 0.0
