"""The samples that one worker has leases for: each is stored once, whatever happens to its leases."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

import pytest

from steelyard import Record, Sample, Score
from steelyard.errors import ModelError
from steelyard.evaluation import Options, Suite
from steelyard.models.limits import Limits, Retry
from steelyard.store import NewRun, Store
from steelyard.store.leases import (
    LEASE_S,
    LeaseHolder,
    add_leases,
    close_leases,
    open_leases,
    plan_portion,
    stop_run,
)
from steelyard.types import Output
from steelyard.workers.leading import LedExecution
from steelyard.workers.leased_run import LeasedRun
from steelyard.workers.shared_limits import SharedConcurrency
from steelyard.workers.task import WorkerTask

SAMPLES = [Sample(f"q{n}", f"Question {n}?", "yes") for n in range(8)]
MANIFEST = {"stages": ["target"], "scores": ["right"]}
PLAN = "plan"


def answer(sample):
    return "yes"


@pytest.fixture
def begun(on_server):
    """A store, and a run of eight samples in leases of four."""
    with Store(on_server, create_missing=True) as store:
        evaluation, (writer,) = store.begin_evaluation([NewRun("s", "custom", "t", len(SAMPLES), MANIFEST)])
        plan_portion(store, evaluation, 0, SAMPLES)
        open_leases(store, writer.run.num, PLAN)
        add_leases(store, [writer.run.num], PLAN, range(len(SAMPLES)), 4)
        close_leases(store, [writer.run.num], PLAN)
        yield store, writer.run
        writer.abandon()


async def leased_by(store, run, owner, *, has_part=True):
    suite = Suite("s", "custom", (), {"t": answer}, (), options=Options(concurrency=8))
    task = WorkerTask(suite, None, run.evaluation, (run.id,), PLAN, 0, 1, owner, {})
    shared = SharedConcurrency(store, task, Limits(Retry(), 8), "here")
    if has_part:
        await shared.check_in()
    return LeasedRun(store, run, task, shared, lambda: False), shared


def begin(leased, n):
    """Samples that the worker runs from now on."""
    return [task for _ in range(n) for task in leased(0)]


def finish(leased, tasks):
    for task in tasks:
        record = Record(task.sample, Output("yes"), (Score("right", 1.0),), {}, None, 0.1, task.repeat)
        leased.insert(task.no, record)
        leased.record_stored(task, record)


async def finish_all(leased):
    while await leased.more():
        finish(leased, begin(leased, 1))


def expire(store):
    """As when all workers slept for longer than a lease."""
    store.writer.change(lambda batch: batch.connection.execute("UPDATE lease SET until = 0"))


def take_all(store, run, owner):
    return store.writer.change(lambda batch: LeaseHolder(run.num, PLAN, owner).take(batch, 9))


def test_a_worker_that_takes_its_own_expired_lease_runs_and_stores_each_sample_once(begun):
    store, run = begun

    async def work():
        leased, shared = await leased_by(store, run, "me")
        assert await leased.more()
        first = begin(leased, 4)
        expire(store)
        assert await leased.more()
        second = begin(leased, 9)
        finish(leased, [*first[:2], *second, *first[2:]])
        await finish_all(leased)
        return [task.no for task in (*first, *second)], shared.taken_over

    assert asyncio.run(work()) == (list(range(8)), 0)
    assert run.refresh().done == len(list(run.records())) == len(SAMPLES)


def test_a_sample_in_flight_whose_lease_another_worker_had_meanwhile_is_stored_once(begun):
    store, run = begun

    async def work():
        leased, _ = await leased_by(store, run, "me")
        assert await leased.more()
        in_flight = begin(leased, 4)
        expire(store)
        assert take_all(store, run, "other")
        with contextlib.suppress(TimeoutError):  # it notices when it renews them
            await asyncio.wait_for(leased.keep(), LEASE_S / 3 + 1)
        expire(store)
        assert await leased.more()
        finish(leased, in_flight[:2])
        finish(leased, [*begin(leased, 2), *in_flight[2:]])
        await finish_all(leased)

    asyncio.run(work())
    assert run.refresh().done == len(list(run.records())) == len(SAMPLES)


def test_a_worker_without_a_part_does_not_wait_for_ever_where_the_store_is_lost(begun, server):
    store, run = begun

    async def work():
        leased, _ = await leased_by(store, run, "me", has_part=False)
        waiting = asyncio.create_task(leased.more())
        await asyncio.wait({waiting}, timeout=2)
        assert not waiting.done(), "it has a lease, and waits for its part"
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s"
        server.execute(query, [f"steelyard pid {os.getpid()} on %"])
        return await asyncio.wait_for(waiting, 20)

    assert asyncio.run(work())
    assert store.writer.store_error() is not None


def test_a_worker_that_asks_for_more_as_a_fetch_has_just_ended_goes_on(begun):
    store, run = begun
    begun_samples = []

    async def work():
        leased, _ = await leased_by(store, run, "me")
        fetching = leased._fetch()
        while not fetching.done():  # noqa: ASYNC110  # an event would be set after the callbacks only
            await asyncio.sleep(0)
        first = begin(leased, 9)  # all that was fetched, before the event loop could tell anybody
        assert await leased.more()
        begun_samples.extend(task.no for task in (*first, *begin(leased, 9)))

    # In a thread, as an event loop that never runs again cannot be stopped.
    thread = threading.Thread(target=lambda: asyncio.run(work()), daemon=True)
    thread.start()
    thread.join(30)
    assert begun_samples == list(range(8))


def test_a_run_that_is_stopped_while_it_is_looked_at_ends_with_the_reason(begun, monkeypatch):
    store, run = begun
    suite = Suite("s", "custom", (), {"t": answer}, ())
    execution = LedExecution(suite, PLAN, {run.id: 0})
    used_up = ModelError("the budget is used up", kind="budget", ends_run=True)
    reading = Store.reading

    @contextlib.contextmanager
    def stopped_after_the_first_look(self):
        monkeypatch.setattr(Store, "reading", reading)
        with reading(self) as connection:
            yield connection
        stop_run(store, run.num, PLAN, used_up)

    monkeypatch.setattr(Store, "reading", stopped_after_the_first_look)
    looks = [
        execution.ended(store, [run], undone=ModelError("died", kind="interrupted", ends_run=True)) for _ in range(2)
    ]
    assert [str(stopped) for ends in looks for _, stopped in ends] == ["the budget is used up"]
