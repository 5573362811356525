"""Scoring stored outputs again: no call, the earlier scores stay, what is damaged is counted."""

import sqlite3
from contextlib import closing

import pytest

from steelyard import ConfigError, ExactMatch, Prompt, Sample, Scripted, evaluate
from steelyard.store import Store
from steelyard.suite.rescore import rescore

SAMPLES = [Sample(f"q{n}", f"question {n}", "YES") for n in range(60)]


def shouted(sample, output):
    return output.value.upper() == sample.reference


@pytest.fixture
def run():
    return evaluate(Prompt(Scripted({}, default="yes")), SAMPLES, [ExactMatch()], store="s.db")


def test_another_scorer_reads_the_stored_outputs_and_the_first_scores_stay(run):
    assert run.summary().scores[0].answered.value == 0
    with Store("s.db") as store:
        again, damaged = rescore(store, store.run(run.id), [shouted])
    assert (again.layer, damaged) == (1, 0)
    assert again.summary().scores[0].name == "shouted"
    assert again.summary().scores[0].answered.value == 1
    with closing(sqlite3.connect("s.db")) as connection:
        assert connection.execute("SELECT layer, count(*) FROM score GROUP BY layer").fetchall() == [(0, 60), (1, 60)]


def test_a_scorer_that_asks_is_refused(run):
    async def judge(sample, output, ask):
        return 1.0

    with Store("s.db") as store, pytest.raises(ConfigError, match="asks a model"):
        rescore(store, store.run(run.id), [judge])


def test_a_damaged_reply_spoils_its_own_record_alone_and_is_counted(run):
    with closing(sqlite3.connect("s.db")) as connection, connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM reply ORDER BY num")]
        connection.execute("UPDATE reply SET body = x'01ff00ff' WHERE key = ?", [keys[3]])
        connection.execute("DELETE FROM reply WHERE key = ?", [keys[5]])
    with Store("s.db") as store:
        records = list(store.run(run.id).records())
        broken = [record for record in records if record.failure is not None]
        assert len(records) == 60
        assert {record.failure.kind for record in broken} == {"damaged"}
        assert len(broken) == 2
        assert all(record.sample.id in record.failure.message for record in broken)
        again, damaged = rescore(store, store.run(run.id), [shouted])
    assert damaged == 2
    assert again.summary().scores[0].n == 58


def test_a_scorer_that_runs_sql_is_prepared_and_given_a_sandbox(run):
    prepared = []

    class Counting:
        score_name = "counting"

        def prepare(self, sandbox):
            prepared.append(sandbox)

        async def __call__(self, sample, output, sandbox):
            return float(sandbox is prepared[0])

    with Store("s.db") as store:
        again, _ = rescore(store, store.run(run.id), [Counting()])
    assert again.summary().scores[0].answered.value == 1
    assert len(prepared) == 1
