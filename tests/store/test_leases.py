"""Leases of a run on PostgreSQL: taken once, renewed, taken over with a fence, ended; budgets that several spend."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from steelyard import Record, Sample, Score
from steelyard.errors import ModelError
from steelyard.models.budget import Budget
from steelyard.store import NewRun, Store
from steelyard.store.delete import delete_runs, preview_deletion
from steelyard.store.leases import (
    ELSEWHERE,
    LARGEST_LEASE,
    EndLease,
    Lease,
    LeaseHolder,
    add_leases,
    close_leases,
    done_in_range,
    leases_left,
    most_in_lease,
    open_leases,
    plan_portion,
    plan_samples,
    planned_range,
    sample_portions,
    stop_of,
    stop_run,
)
from steelyard.store.run_rows import InsertRecord
from steelyard.store.worker_rows import claim_call, forget_plan
from steelyard.types import Output

SAMPLES = [Sample(f"q{n}", f"Question {n}?", "yes", group=f"g{n % 2}", metadata={"n": n}) for n in range(10)]
MANIFEST = {"stages": ["target"], "scores": ["right"]}


def lease_all(store, run, plan, size):
    open_leases(store, run, plan)
    add_leases(store, [run], plan, range(10), size)
    close_leases(store, [run], plan)


@pytest.fixture
def begun(on_server):
    """A store, and the writer of a run of ten samples that is cut into leases of four."""
    with Store(on_server, create_missing=True) as store:
        evaluation, (writer,) = store.begin_evaluation([NewRun("s", "custom", "t", 10, MANIFEST)])
        assert list(plan_samples(store, evaluation, SAMPLES)) == [10]
        lease_all(store, writer.run.num, "plan", 4)
        yield store, evaluation, writer
        writer.abandon()


def done(store, make):
    """The answer of the store's writer to an operation."""

    async def ask():
        ticket = asyncio.get_running_loop().create_future()
        store.writer.submit(make(ticket))
        return await ticket

    return asyncio.run(ask())


def take(store, run, owner, n=1, plan="plan", share=1):
    return store.writer.change(lambda batch: LeaseHolder(run, plan, owner).take(batch, n, share))


def renew(store, run, owner, *los):
    return store.writer.change(lambda batch: LeaseHolder(run, "plan", owner).renew(batch, los))


def record(no, value=1.0):
    return Record(SAMPLES[no], Output("yes"), (Score("right", value),), {}, None, 0.1)


def insert(store, run, no, held, value=1.0):
    return done(store, lambda ticket: InsertRecord(run, no, record(no, value), ("target",), held=held, ticket=ticket))


def ends(store, run, lo):
    """Let a lease run out."""
    store.writer.change(
        lambda batch: batch.connection.execute(
            "UPDATE lease SET until = 0 WHERE run = :run AND lo = :lo", {"run": run, "lo": lo}
        )
    )


def test_each_range_is_taken_by_one(begun):
    store, _, writer = begun
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda owner: take(store, writer.run.num, f"w{owner}"), range(4)))
    ranges = sorted((lease.lo, lease.hi) for leases in taken for lease in leases)
    assert ranges == [(0, 4), (4, 8), (8, 10)]
    assert take(store, writer.run.num, "late") == []
    assert take(store, writer.run.num, "other plan", plan="other") == []


def test_portions_shrink_with_what_is_left(begun):
    store, _, writer = begun
    run = writer.run.num
    open_leases(store, run, "plan")
    add_leases(store, [run], "plan", range(20), 1)
    taken = [len(take(store, run, "w", n=7, share=4)) for _ in range(9)]
    # A quarter of 20, 15, 12 ... rounded down, but never none while there is one.
    assert taken == [5, 3, 3, 2, 1, 1, 1, 1, 1]
    assert len(take(store, run, "w", n=7)) == 2


def test_long_samples_are_planned_and_leased_in_small_portions():
    long = [Sample(str(no), "word " * 200_000) for no in range(20)]
    portions = list(sample_portions(long))
    assert [len(samples) for samples, _ in portions] == [8, 8, 4]
    assert [sample for samples, _ in portions for sample in samples] == long
    assert [most_in_lease(len(samples), size, 200) for samples, size in portions] == [8, 8, 8]
    conversation = [{"role": "user", "content": "word " * 200_000}]
    assert len(next(sample_portions([Sample(str(no), conversation) for no in range(20)]))[0]) == 8
    assert [len(samples) for samples, _ in sample_portions([Sample(str(no), "q") for no in range(4500)])] == [
        2000, 2000, 500,
    ]  # fmt: skip
    assert list(sample_portions([])) == []


def test_a_range_gives_the_samples_as_they_were(begun):
    store, evaluation, writer = begun
    (lease,) = take(store, writer.run.num, "w", n=1)
    assert planned_range(store, evaluation, lease) == list(enumerate(SAMPLES[:4]))
    assert done_in_range(store, lease) == {}


def test_a_worker_whose_lease_was_taken_over_cannot_write(begun):
    store, _, writer = begun
    run = writer.run.num
    (first,) = take(store, run, "asleep")
    assert insert(store, run, 0, first) is True
    ends(store, run, 0)
    (second,) = take(store, run, "awake")
    assert (second.lo, second.generation, second.taken_over) == (0, 2, True)
    assert insert(store, run, 1, first, value=0.0) is False
    assert insert(store, run, 1, second) is True
    assert renew(store, run, "asleep", 0) == set()
    assert renew(store, run, "awake", 0, 4) == {0}
    assert done_in_range(store, second) == {(0, 0): False, (1, 0): False}
    now = writer.run.refresh()
    assert (now.done, [score.value for each in now.records() for score in each.scores]) == (2, [1.0, 1.0])


def test_a_lease_that_ran_out_and_that_nobody_took_still_writes(begun):
    store, _, writer = begun
    (lease,) = take(store, writer.run.num, "slow")
    ends(store, writer.run.num, 0)
    assert insert(store, writer.run.num, 0, lease) is True


def test_a_lease_that_was_renewed_is_not_for_others(begun):
    store, _, writer = begun
    run = writer.run.num
    take(store, run, "slow", 3)
    for lo in (0, 4, 8):
        ends(store, run, lo)
    assert renew(store, run, "slow", 0, 8) == {0, 8}
    assert [lease.lo for lease in take(store, run, "quick", 3)] == [4]


@pytest.mark.parametrize("until", ["1e12", "'infinity'", "'NaN'"])
def test_a_lease_that_lasts_longer_than_any_is_taken(begun, until):
    """The clock of the database was put back, or somebody changed the row: all workers waited for that moment."""
    store, _, writer = begun
    assert len(take(store, writer.run.num, "dead", n=3)) == 3
    store.writer.change(lambda batch: batch.connection.execute(f"UPDATE lease SET until = {until} WHERE lo >= 0"))
    assert [lease.lo for lease in take(store, writer.run.num, "alive", n=3)] == [0, 4, 8]
    assert take(store, writer.run.num, "late", n=3) == []


def test_a_range_ends_before_the_next_and_is_never_larger_than_any(begun):
    """A worker made a list of as many places as the row said, and asked the samples of others."""
    store, _, writer = begun
    store.writer.change(lambda batch: batch.connection.execute("UPDATE lease SET hi = 2147483647 WHERE lo >= 0"))
    ranges = [(lease.lo, lease.hi) for lease in take(store, writer.run.num, "w", n=3)]
    assert ranges == [(0, 4), (4, 8), (8, 8 + LARGEST_LEASE)]


def test_records_of_one_batch_are_kept_apart(begun):
    store, _, writer = begun
    run = writer.run.num
    first, second = take(store, run, "w", n=2)
    ends(store, run, first.lo)
    take(store, run, "other")

    async def both():
        tickets = [asyncio.get_running_loop().create_future() for _ in range(2)]
        for no, lease, ticket in ((0, first, tickets[0]), (4, second, tickets[1])):
            store.writer.submit(InsertRecord(run, no, record(no), ("target",), held=lease, ticket=ticket))
        return await asyncio.gather(*tickets)

    assert asyncio.run(both()) == [False, True]
    assert [number for number, _ in writer.run.refresh().numbered_records()] == [4]


def test_a_range_ends_for_its_owner_alone_and_the_rest_is_left(begun):
    store, evaluation, writer = begun
    run = writer.run.num
    first, second, _ = take(store, run, "w", n=3)
    ends(store, run, second.lo)
    take(store, run, "other")
    for lease in (first, second):
        done(store, lambda ticket, lease=lease: EndLease(lease, ticket=ticket))
    with store.reading() as connection:
        assert leases_left(connection, run, "plan") == 2
        assert leases_left(connection, run, "earlier") == 0
    forget_plan(store, evaluation, [run])
    with store.reading() as connection:
        assert leases_left(connection, run, "plan") == 0
    assert planned_range(store, evaluation, first) == []


def test_a_new_plan_makes_the_leases_of_the_one_before_void(begun):
    store, _, writer = begun
    run = writer.run.num
    (old,) = take(store, run, "w")
    lease_all(store, run, "next", 5)
    assert insert(store, run, 0, old) is False
    assert [(lease.lo, lease.hi) for lease in take(store, run, "w", n=9, plan="next")] == [(0, 5), (5, 10)]


def test_a_budget_that_several_processes_spend_is_never_passed(begun, on_server):
    store, evaluation, _ = begun
    budget = Budget(calls=50, tokens=10_000, money=1.0)

    async def spend(opened, n):
        journal = opened.journal(evaluation)
        return await asyncio.gather(*(journal.book_within(budget, 10, 5_000_000) for _ in range(n)))

    with Store(on_server) as other, ThreadPoolExecutor(2) as pool:
        answers = [
            each for said in pool.map(lambda opened: asyncio.run(spend(opened, 60)), (store, other)) for each in said
        ]
    assert answers.count("") == 50
    assert set(answers) == {"", "calls"}
    assert store.spending(evaluation)[:2] == (50, 500)
    assert store.spending(evaluation).money == 250_000_000
    tight = Budget(tokens=505), Budget(money=0.25), Budget(calls=51)
    said = [asyncio.run(store.journal(evaluation).book_within(limits, 10, 10)) for limits in tight]
    assert said == ["tokens", "money", ""]


def test_a_call_for_all_samples_is_sent_by_one_worker(begun, on_server):
    store, evaluation, _ = begun

    async def ask(first, second):
        assert await first.claim(b"k" * 10) is None
        waiting = asyncio.create_task(second.claim(b"k" * 10))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        await first.commit(b"k" * 10, b'"reply"')
        return await waiting, await first.claim(b"k" * 10), await store.journal(evaluation).claim(b"k" * 10)

    with Store(on_server) as other:
        journals = store.journal(evaluation, owner="a"), other.journal(evaluation, owner="b")
        assert asyncio.run(ask(*journals)) == (b'"reply"', b'"reply"', None)


def test_of_several_calls_that_are_claimed_at_once_each_is_sent_by_one_worker(begun):
    store, evaluation, _ = begun
    keys = [bytes([number]) * 10 for number in range(6)]

    def claim(owner, claimed_keys):
        async def claim_all():
            return await asyncio.gather(*(claim_call(store.writer, evaluation, key, owner) for key in claimed_keys))

        return asyncio.run(claim_all())

    assert claim("a", keys[1::2]) == [True] * 3
    assert claim("b", keys[::-1]) == [False, True] * 3


@pytest.mark.parametrize("until", ["0", "1e12", "'NaN'"])
def test_the_claim_of_a_worker_that_died_passes_to_another(begun, until):
    store, evaluation, _ = begun

    async def ask(journal):
        return await asyncio.wait_for(journal.claim(b"k" * 10), 20)

    assert asyncio.run(ask(store.journal(evaluation, owner="dead"))) is None
    store.writer.change(lambda batch: batch.connection.execute(f"UPDATE claim SET until = {until}"))
    assert asyncio.run(ask(store.journal(evaluation, owner="alive"))) is None


def test_deleting_a_run_leaves_the_samples_that_another_has_planned(begun):
    store, evaluation, writer = begun
    (lease,) = take(store, writer.run.num, "w")
    insert(store, writer.run.num, 0, lease)
    _, (other,) = store.begin_evaluation([NewRun("s", "custom", "other", 10, MANIFEST)])
    other.insert(1, record(1))
    other.finish("finished", "", 1.0)
    delete_runs(store, [other.run])
    assert planned_range(store, evaluation, lease) == list(enumerate(SAMPLES[:4]))


def test_deleting_a_run_takes_the_samples_along_that_were_planned_and_never_run(begun):
    store, _, writer = begun
    (lease,) = take(store, writer.run.num, "w")
    insert(store, writer.run.num, 0, lease)
    writer.abandon()
    assert preview_deletion(store, [writer.run]).samples == len(SAMPLES)
    assert delete_runs(store, [writer.run]).samples == len(SAMPLES)
    with store.reading() as connection:
        left = [connection.execute(f"SELECT count(*) FROM {name}").scalar() for name in ("sample", "planned_sample")]
    assert left == [0, 0]


def test_workers_wait_for_leases_that_are_to_come_unless_the_run_is_void(begun):
    store, _, writer = begun
    run = writer.run.num

    def left():
        with store.reading() as connection:
            return leases_left(connection, run, "next")

    open_leases(store, run, "next")
    assert (take(store, run, "a", 9, plan="next"), left()) == ([], 1)
    add_leases(store, [run], "next", range(4), 3)
    add_leases(store, [run], "next", range(4, 6), 3)
    taken = take(store, run, "a", 9, plan="next")
    assert [(each.lo, each.hi) for each in taken] == [(0, 3), (3, 4), (4, 6)]
    store.writer.change(lambda batch: batch.connection.execute("DELETE FROM lease"))
    add_leases(store, [run], "next", range(6, 9), 3)
    assert left() == 0


def test_a_stopped_run_has_no_leases_and_the_reason_of_whoever_knows_it(begun):
    store, _, writer = begun
    run = writer.run.num
    (lease,) = take(store, run, "w")
    told = ModelError("another has it", kind=ELSEWHERE, ends_run=True)
    for error in (told, ModelError("a wrong key", kind="auth"), ModelError("no credit", kind="quota")):
        stop_run(store, run, "plan", error)
    with store.reading() as connection:
        stopped, left = stop_of(connection, run, "plan"), leases_left(connection, run, "plan")
        assert stop_of(connection, run, "other plan") is None
    assert (str(stopped), stopped.kind, left) == ("a wrong key", "auth", 0)
    assert take(store, run, "other", n=9) == []
    assert insert(store, run, 0, lease) is False
    lease_all(store, run, "next", 5)
    with store.reading() as connection:
        assert stop_of(connection, run, "plan") is None


def test_a_run_whose_leases_are_all_done_is_not_stopped(begun):
    store, _, writer = begun
    run = writer.run.num
    for lease in take(store, run, "w", n=9):
        done(store, lambda ticket, lease=lease: EndLease(lease, ticket=ticket))
    stop_run(store, run, "plan", ModelError("the budget is used up", kind="budget", ends_run=True))
    with store.reading() as connection:
        assert stop_of(connection, run, "plan") is None


def test_a_portion_that_is_planned_twice_is_there_once(begun):
    store, evaluation, writer = begun
    run = writer.run.num
    open_leases(store, run, "next")
    for _ in range(2):
        plan_portion(store, evaluation, 0, SAMPLES[:6])
        add_leases(store, [run], "next", range(6), 3)
    plan_portion(store, evaluation, 6, SAMPLES[6:])
    first, second = take(store, run, "a", 9, plan="next")
    assert [(each.lo, each.hi) for each in (first, second)] == [(0, 3), (3, 6)]
    assert planned_range(store, evaluation, Lease(run, 0, 10, "a", 1)) == list(enumerate(SAMPLES))
