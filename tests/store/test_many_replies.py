"""Records of very many replies: a chunk of them has more keys than a database takes values in one statement.

SQLite before 3.32 takes 999, later ones 32,766, PostgreSQL 65,535, and builds differ: so the values are counted.
"""

from __future__ import annotations

import asyncio
from types import MappingProxyType

import pytest

from steelyard import Output, Record, Reply, Sample, Score, Store
from steelyard.analysis.comparison.costs import sample_costs
from steelyard.session.replies import pack_reply
from steelyard.store import NewRun
from steelyard.store.database import postgres_connection, sqlite
from steelyard.store.delete import delete_runs
from steelyard.store.repair import verify
from steelyard.types import Usage

RECORDS, CALLS = 60, 40
MOST = 999


def key_of(no, call):
    return f"{no:010x}{call:010x}"


def record_of(no):
    replies = tuple(Reply(key_of(no, call), f"{no} {call}", usage=Usage(2, 1)) for call in range(CALLS))
    return Record(Sample(f"q{no}", f"Question {no}?"), Output(str(no)), (Score("right", 1.0),), {"target": replies})


async def commit_all(store, records):
    journal = store.journal(1)
    replies = (reply for record in records for reply in record.replies["target"])
    await asyncio.gather(*(journal.commit(bytes.fromhex(reply.key), pack_reply(reply)) for reply in replies))


@pytest.fixture
def most_values(monkeypatch):
    """The most values that a statement had; PostgreSQL takes those of a list as one, an array."""
    most = [0]
    expanded, execute = sqlite._expanded, postgres_connection.PostgresConnection.execute

    def count_expanded(*arguments):
        statement, values = expanded(*arguments)
        most.append(len(values))
        return statement, values

    def count_arrays(self, statement, values=MappingProxyType({})):
        most.append(len(values))
        return execute(self, statement, values)

    monkeypatch.setattr(sqlite, "_expanded", count_expanded)
    monkeypatch.setattr(postgres_connection.PostgresConnection, "execute", count_arrays)
    return lambda: max(most)


@pytest.fixture
def store(where):
    records = [record_of(no) for no in range(RECORDS)]
    with Store(where, create_missing=True) as opened:
        asyncio.run(commit_all(opened, records))
        manifest = {"stages": ["target"], "scores": ["right"], "tags": {}, "draw": ""}
        _, (writer,) = opened.begin_evaluation([NewRun("s", "custom", "t", RECORDS, manifest)])
        for no, record in enumerate(records):
            writer.insert(no, record)
        writer.finish("finished", "", 1.0)
        yield opened


def test_such_records_are_read_found_checked_costed_and_deleted(most_values, store):
    run = store.run("t")
    texts = {record.sample.id: [reply.text for reply in record.replies["target"]] for record in run.records()}
    assert texts == {f"q{no}": [f"{no} {call}" for call in range(CALLS)] for no in range(RECORDS)}
    assert [record.sample.id for record in run.records_of([*texts, "q-1"])] == list(texts)

    verdict = verify(store)
    assert (verdict.damages, verdict.counts["replies"]) == ([], RECORDS * CALLS)

    data = run.data()
    costs = sample_costs(data.records, data.bodies, range(RECORDS))
    assert {(cost.calls, cost.input_tokens) for cost in costs.values()} == {(CALLS, 2 * CALLS)}
    assert len(costs) == RECORDS

    keys = [bytes.fromhex(key_of(no, call)) for no in range(RECORDS + 1) for call in range(CALLS)]
    assert store.stored_keys(keys) == set(keys[: RECORDS * CALLS])

    assert delete_runs(store, [run], replies=True).replies == RECORDS * CALLS
    assert store.stored_keys(keys) == set()
    assert 1 < most_values() <= MOST
