"""`statements: any`: references that change data are scored by the data that they leave behind."""

import asyncio

import pytest

from steelyard import Output, Sample
from steelyard.errors import ConfigError
from steelyard.scorers.sql import SqlResult
from steelyard.scorers.sql_attempts import SqlAttempts
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


def test_a_server_needs_a_schema_that_may_be_written_to(sandbox):
    with pytest.raises(ConfigError, match="writes: true"):
        SqlResult(statements="any", databases="postgresql://me@127.0.0.1/shop").prepare(sandbox)
