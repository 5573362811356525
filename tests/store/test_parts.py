"""The parts of `concurrency`: never more than the whole, whoever comes, stops and dies, and none is left unused."""

from __future__ import annotations

import asyncio
import random

import pytest

from steelyard.store import Store
from steelyard.store.parts import AskPart, divide_equally

EVALUATION = 1


class Worker:
    """One worker: it has in flight what it may at most, and ends some of it when it likes."""

    def __init__(self, store, slot, whole):
        self.store, self.slot, self.whole = store, slot, whole
        self.part = self.in_flight = 0

    def ask(self):
        async def asked():
            ticket = asyncio.get_running_loop().create_future()
            held = max(self.part, self.in_flight)
            self.store.writer.submit(AskPart(EVALUATION, self.slot, self.whole, held, ticket))
            return await ticket

        self.part = asyncio.run(asked())

    def work(self, ends=0):
        self.in_flight = max(self.in_flight - ends, self.part)


@pytest.fixture
def store(on_server):
    with Store(on_server, create_missing=True) as opened:
        yield opened


def silent(store, slot):
    """Let a worker have been silent for the length of a lease."""
    row = {"slot": slot}
    store.writer.change(lambda batch: batch.connection.execute("UPDATE part SET until = 0 WHERE slot = :slot", row))


def test_workers_begin_with_equal_parts_that_are_the_whole(store):
    divide_equally(store, EVALUATION, 10, 4)
    workers = [Worker(store, slot, 10) for slot in range(4)]
    for worker in workers:
        worker.ask()
    assert [worker.part for worker in workers] == [3, 3, 2, 2]


def test_the_part_of_a_worker_that_is_silent_goes_to_the_others_and_comes_back(store):
    divide_equally(store, EVALUATION, 8, 2)
    one, other = (Worker(store, slot, 8) for slot in range(2))
    one.ask(), other.ask()
    silent(store, 1)
    one.ask()
    assert (one.part, other.part) == (8, 4)
    one.work()
    other.part = 0  # its time is over, and it has noticed
    other.ask()
    assert other.part == 0, "the first has eight in flight"
    one.ask()
    assert one.part == 4
    other.ask()
    assert other.part == 0, "the first may not have heard yet, and its eight have not ended"
    one.work(ends=4)
    one.ask()
    other.ask()
    assert (one.part, other.part) == (4, 4)


def test_a_process_that_is_started_in_place_of_another_has_its_part_at_once(store):
    divide_equally(store, EVALUATION, 8, 2)
    one, other = (Worker(store, slot, 8) for slot in range(2))
    one.ask(), other.ask()
    again = Worker(store, 1, 8)
    again.ask()
    assert (one.part, again.part) == (4, 4)


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
