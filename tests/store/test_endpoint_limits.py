"""Rates that several processes share over a PostgreSQL store, and what an endpoint tells one of them."""

from __future__ import annotations

import asyncio
import contextlib

from steelyard.errors import ModelError
from steelyard.models.limits import Limits, Retry
from steelyard.models.rate_limit import Rates, SharedRateLimiter, SharedRates
from steelyard.store import Store
from steelyard.store.endpoint_limits import StorePace
from steelyard.workers.shared_gates import SharedGates

WINDOW_S = 2.0
RATE = 30
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
