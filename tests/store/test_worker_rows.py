"""Rows of workers: what they did, and parts of `concurrency` that are never more than the whole, and all used."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from steelyard.errors import ModelError
from steelyard.models.limits import Limits, Retry
from steelyard.models.rate_limit import Rates, SharedRateLimiter, SharedRates
from steelyard.store import Store
from steelyard.store.worker_rows import CheckIn, StorePace, check_in, divide_equally, workers_of
from steelyard.workers.shared_limits import SharedGates

EVALUATION = 1
WINDOW_S = 2.0
RATE = 30


class Worker:
    """One worker: it has in flight what it may at most, and ends some of it when it likes."""

    def __init__(self, store, slot, whole):
        self.store, self.slot, self.whole = store, slot, whole
        self.part = self.in_flight = 0

    def ask(self):
        report = CheckIn(EVALUATION, self.slot, self.whole, held=max(self.part, self.in_flight))
        self.part = self.store.writer.change(lambda batch: check_in(batch, report))

    def work(self, ends=0):
        self.in_flight = max(self.in_flight - ends, self.part)


@pytest.fixture
def store(on_server):
    with Store(on_server, create_missing=True) as opened:
        yield opened


def silent(store, slot):
    """Let a worker have been silent for the length of a lease."""
    row = {"slot": slot}
    store.writer.change(lambda batch: batch.connection.execute("UPDATE worker SET seen = 0 WHERE slot = :slot", row))


def test_workers_begin_with_equal_parts_that_are_the_whole(store):
    divide_equally(store, EVALUATION, 10, 4)
    workers = [Worker(store, slot, 10) for slot in range(4)]
    for worker in workers:
        worker.ask()
    assert [worker.part for worker in workers] == [3, 3, 2, 2]


def test_the_part_of_a_worker_that_is_silent_goes_to_the_others_and_comes_back(store):
    divide_equally(store, EVALUATION, 8, 2)
    first, second = (Worker(store, slot, 8) for slot in range(2))
    first.ask(), second.ask()
    silent(store, 1)
    first.ask()
    assert (first.part, second.part) == (8, 4)
    first.work()
    second.part = 0  # its time is over, and it has noticed
    second.ask()
    assert second.part == 0, "the first has eight in flight"
    first.ask()
    assert first.part == 4
    second.ask()
    assert second.part == 0, "the first may not have heard yet, and its eight have not ended"
    first.work(ends=4)
    first.ask()
    second.ask()
    assert (first.part, second.part) == (4, 4)


@pytest.mark.parametrize("seen", ["1e12", "'infinity'", "'NaN'"])
def test_a_worker_that_was_seen_later_than_now_has_no_part(store, seen):
    """The clock of the database was put back, or somebody changed the row: the others had nothing for as long."""
    divide_equally(store, EVALUATION, 8, 2)
    change = f"UPDATE worker SET part = 2000000000, seen = {seen} WHERE slot = 1"
    store.writer.change(lambda batch: batch.connection.execute(change))
    first = Worker(store, 0, 8)
    first.ask()
    assert first.part == 8


def test_a_process_that_is_started_in_place_of_another_has_its_part_at_once(store):
    divide_equally(store, EVALUATION, 8, 2)
    first, second = (Worker(store, slot, 8) for slot in range(2))
    first.ask(), second.ask()
    again = Worker(store, 1, 8)
    again.ask()
    assert (first.part, again.part) == (4, 4)


def test_the_sum_never_passes_the_whole_and_reaches_it_again(store):
    draw, whole = random.Random(3), 12
    divide_equally(store, EVALUATION, whole, 4)
    workers = {slot: Worker(store, slot, whole) for slot in range(4)}
    for _ in range(400):
        slot = draw.randrange(5)
        if slot in workers and draw.random() < 0.06 and len(workers) > 1:
            del workers[slot]
            silent(store, slot)
        elif slot not in workers and draw.random() < 0.3:
            workers[slot] = Worker(store, slot, whole)
        if slot in workers:
            workers[slot].ask()
        for worker in workers.values():
            worker.work(ends=draw.randrange(3))
        assert sum(worker.in_flight for worker in workers.values()) <= whole
    for _ in range(3):
        for worker in workers.values():
            worker.ask()
            worker.work(ends=whole)
    assert sum(worker.part for worker in workers.values()) == whole


def test_workers_are_seen_with_what_they_did(store):
    divide_equally(store, EVALUATION, 8, 1)
    for owner, records in (("a", 3), ("a", 4), ("b", 1)):
        report = CheckIn(EVALUATION, 0, 8, 0, owner, f"pid of {owner}", records)
        store.writer.change(lambda batch, report=report: check_in(batch, report))
    with store.reading() as connection:
        (row,) = workers_of(connection, EVALUATION)
    assert (row.records, row.starts, row.place) == (8, 2, "pid of b")
    assert 0 <= row.silent_s < 3600  # in seconds since the last sign of life, not a moment


def test_stores_without_workers_have_none(where):
    with Store(where, create_missing=True) as store, store.reading() as connection:
        assert workers_of(connection, 1) == []


BUSY, IDLE = 40, 4


@contextlib.contextmanager
def stores(address, n):
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(Store(address, create_missing=True)) for _ in range(n)]
        yield opened


def test_workers_with_unequal_work_keep_a_rate_and_leave_none_of_it_unused(on_server):
    shared = SharedRates(Rates(RATE), 4, WINDOW_S)

    async def work(store, calls):
        clock = asyncio.get_running_loop().time
        limiter = SharedRateLimiter("endpoint", StorePace(store.writer, 1, shared), clock, asyncio.sleep)

        async def call():
            await limiter.wait(0)
            return clock()

        return await asyncio.gather(*(call() for _ in range(calls)))

    async def run():
        return await asyncio.gather(*(work(store, n) for store, n in zip(opened, (BUSY, *[IDLE] * 3), strict=True)))

    with stores(on_server, 4) as opened:
        busy, *others = asyncio.run(run())
    sent = sorted([*busy, *(at for calls in others for at in calls)])
    assert len(sent) == BUSY + 3 * IDLE
    assert max(sum(since <= at < since + WINDOW_S for at in sent) for since in sent) <= RATE
    assert max(sum(since <= at < since + WINDOW_S for at in busy) for since in busy) > 1.5 * RATE / 4


def test_tokens_that_one_worker_has_sent_and_put_right_are_missing_for_the_others(on_server):
    shared = SharedRates(Rates(None, 100), 1)

    async def run():
        pace, other = (StorePace(store.writer, 1, shared) for store in opened)
        (at,) = (await pace.slots("endpoint", [60])).at
        full = await other.slots("endpoint", [60])
        pace.correct("endpoint", at, -60)
        await pace.slots("a third", [0])  # nothing waits for a correction, but this is stored behind it
        free = await other.slots("endpoint", [60])
        elsewhere = await other.slots("another", [60])
        return full, free, elsewhere

    with stores(on_server, 2) as opened:
        full, free, elsewhere = asyncio.run(run())
    assert (len(full.at), len(free.at), len(elsewhere.at)) == (0, 1, 1)
    assert full.wait_s > 30


@pytest.mark.parametrize("at", ["1e12", "'infinity'", "'NaN'", "by_requests + 7200"])
def test_moments_that_are_further_ahead_than_any_do_not_count(on_server, at):
    """The clock of the database was put back, or somebody changed the row: no call was sent for as long."""
    shared = SharedRates(Rates(6000, 100_000), 1)

    async def run():
        pace = StorePace(store.writer, 1, shared)
        assert (await pace.slots("endpoint", [60])).at
        change = f"UPDATE endpoint SET by_requests = {at}, by_tokens = {at}, tokens = '[[9999999999, 100000]]'"
        store.writer.change(lambda batch: batch.connection.execute(change))
        slots = [await pace.slots("endpoint", [60]) for _ in range(2)]
        return [at - slot.now for slot in slots for at in slot.at]

    with Store(on_server, create_missing=True) as store:
        ahead = asyncio.run(run())
    assert len(ahead) == 2
    assert max(ahead) < 1


@pytest.mark.parametrize("change", ["closed_until = 1e12", "put_off_sent = 1e12", "closed_until = 'infinity'"])
def test_a_wait_that_no_endpoint_can_ask_for_is_not_heeded(on_server, change):
    async def run():
        limits = Limits(Retry(), 20)
        shared = SharedGates(store, 1, limits, "owner")
        gate = limits.gate("endpoint")
        gate.increase_concurrency()
        limits.on_put_off("endpoint", asyncio.get_running_loop().time() - 60, -60.0)
        store.writer.change(lambda batch: batch.connection.execute(f"UPDATE endpoint SET {change}"))
        for _ in range(3):
            await shared.look()
        return gate.limit, gate.enter_now()

    with Store(on_server, create_missing=True) as store:
        assert asyncio.run(run()) == (20, True)


def test_all_workers_cut_what_may_be_in_flight_once_where_a_call_of_one_is_put_off(on_server):
    async def run():
        workers = [Limits(Retry(), 20) for _ in opened]
        shared = [SharedGates(store, 1, limits, str(id(limits))) for store, limits in zip(opened, workers, strict=True)]
        gates = [limits.gate("endpoint") for limits in workers]
        clock = asyncio.get_running_loop().time
        for gate in gates:
            gate.increase_concurrency()
            for _ in range(20):
                assert gate.enter_now()
        seen = [[gate.limit for gate in gates]]
        sent_at = clock()
        await asyncio.sleep(0.3)  # longer than a worker may take to hear of it
        for _ in range(5):  # one round of calls of the first worker
            gates[0].reduce_concurrency(sent_at, 30.0)
            workers[0].on_put_off("endpoint", sent_at, 30.0)
        for _ in range(2):
            for each in shared:
                await each.look()
            seen.append([gate.limit for gate in gates])
        with contextlib.suppress(ModelError):
            workers[1].pauses.end(ModelError("enough", kind="interrupted", ends_run=True))
            await gates[1].enter()
        return seen, [gate.enter_now() for gate in gates]

    with stores(on_server, 2) as opened:
        seen, entered = asyncio.run(run())
    assert seen == [[20, 20], [14, 14], [14, 14]]
    assert entered == [False, False]
