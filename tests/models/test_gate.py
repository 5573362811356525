"""The gate of an endpoint: its limit goes down and up, and no place in it is ever lost."""

import asyncio
import selectors

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.thorough import times

from steelyard.errors import ModelError
from steelyard.models.limits import Gate, Pauses


class SkippingSelector(selectors.DefaultSelector):
    """Lets the clock of its loop go on instead of waiting, so that waits are exact on a busy machine too."""

    now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0
        return super().select(0)


def run_in_virtual_time(coroutine):
    """Run it in a loop whose clock begins at 0 and stands still while anything has to be done."""

    def loop():
        selector = SkippingSelector()
        event_loop = asyncio.SelectorEventLoop(selector)
        event_loop.time = lambda: selector.now
        return event_loop

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(coroutine)


def in_loop(work):
    async def run():
        return work()

    return asyncio.run(run())


def test_a_429_lowers_the_limit_once_per_round_and_answers_raise_it_again():
    async def run():
        gate = Gate(20, Pauses())
        gate.increase_concurrency()
        for _ in range(20):
            await gate.enter()
        sent_at = asyncio.get_running_loop().time()
        for _ in range(20):
            gate.reduce_concurrency(sent_at, None)
        lowered = gate.limit
        await asyncio.sleep(0.001)
        gate.reduce_concurrency(asyncio.get_running_loop().time(), None)
        again = gate.limit
        answers = 0
        while gate.limit < 20:
            gate.increase_concurrency()
            answers += 1
        gate.increase_concurrency()
        return lowered, again, answers, gate.limit

    lowered, again, answers, most = run_in_virtual_time(run())
    assert (lowered, again, most) == (14, 9, 20)
    assert 100 < answers < 200


def test_an_endpoint_without_a_good_reply_gets_four_calls_at_once_and_all_after_one():
    def run():
        gate = Gate(20, Pauses())
        before = gate.limit
        gate.increase_concurrency()
        return before, gate.limit, Gate(3, Pauses()).limit

    assert in_loop(run) == (4, 20, 3)


def test_a_refusal_before_any_good_reply_lets_nobody_else_in():
    def run():
        gate = Gate(20, Pauses())
        gate.hold_back()
        refused = gate.limit
        gate.increase_concurrency()
        proven = gate.limit
        gate.hold_back()
        return refused, proven, gate.limit

    assert in_loop(run) == (3, 20, 20)


def test_the_first_good_reply_of_an_endpoint_that_put_calls_off_does_not_let_all_in():
    def run():
        gate = Gate(20, Pauses())
        gate.reduce_concurrency(asyncio.get_running_loop().time(), None)
        gate.increase_concurrency()
        return gate.limit

    assert in_loop(run) < 4


def test_a_gate_that_four_processes_have_each_falls_to_a_quarter_of_a_call_and_rises_by_a_quarter():
    async def run():
        loop, gate = asyncio.get_running_loop(), Gate(8, Pauses(), processes=4)
        gate.increase_concurrency()
        waited = []
        for _ in range(12):
            began = loop.time()
            await gate.enter()
            waited.append(loop.time() - began)
            await asyncio.sleep(0.02)
            gate.reduce_concurrency(loop.time(), None)
            gate.leave()
        lowest = gate._limit  # the part of a call that `limit` does not show
        rises = 0
        while gate.limit < 2:
            gate.increase_concurrency()
            rises += 1
        return waited, lowest, rises

    waited, lowest, rises = run_in_virtual_time(run())
    assert lowest == 0.25
    assert waited[0] == 0
    # Three times as long closed as open: a quarter of a call in flight on average.
    assert waited[-1] == pytest.approx(3 * 0.02)
    assert rises == 3 + 6  # a quarter each up to one call; to two in a round of four processes, which grows with it


def test_a_gate_that_is_closed_for_a_while_lets_nobody_in_and_a_shorter_while_changes_nothing():
    async def run():
        loop, gate = asyncio.get_running_loop(), Gate(8, Pauses())
        began = loop.time()
        gate.close_for(0.05)
        gate.close_for(0.01)
        entered_now = gate.enter_now()
        await gate.enter()
        return entered_now, loop.time() - began

    entered_now, waited = run_in_virtual_time(run())
    assert not entered_now
    assert waited == pytest.approx(0.05)


def test_the_limit_never_falls_below_one_call():
    def run():
        gate = Gate(2, Pauses())
        for n in range(50):
            gate.reduce_concurrency(asyncio.get_running_loop().time() + n, None)
        return gate.limit

    assert in_loop(run) == 1


class GateMachine(RuleBasedStateMachine):
    """Whoever enters, leaves, is cancelled or put off, in any order: no place is lost, none given out twice."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.pauses = Pauses()
        self.gate = Gate(3, self.pauses)
        self.inside = 0
        self.waiting = []

    def step(self):
        for _ in range(3):
            self.loop.run_until_complete(asyncio.sleep(0))
        self.waiting = [task for task in self.waiting if not self.settled(task)]

    def settled(self, task):
        if not task.done():
            return False
        if not task.cancelled() and task.exception() is None:
            self.inside += 1
        return True

    @rule(several=st.integers(1, 5))
    def enter(self, several):
        self.waiting += [self.loop.create_task(self.gate.enter()) for _ in range(several)]
        self.step()

    @rule(which=st.integers(0, 20), at_once=st.booleans())
    def cancel(self, which, at_once):
        if not at_once:
            self.waiting.append(self.loop.create_task(self.gate.enter()))
        if self.waiting:
            self.waiting[which % len(self.waiting)].cancel()
        self.step()

    @precondition(lambda self: self.inside)
    @rule(which=st.integers(0, 20), and_cancel=st.booleans())
    def leave(self, which, and_cancel):
        self.inside -= 1
        waiter = self.waiting[which % len(self.waiting)] if and_cancel and self.waiting else None
        # Cancelled in the same turn of the loop in which it may have been given the place.
        self.do(lambda: (self.gate.leave(), waiter and waiter.cancel()))
        self.step()

    @rule()
    def punish(self):
        self.do(lambda: self.gate.reduce_concurrency(self.loop.time(), None))

    @precondition(lambda self: self.inside)
    @rule()
    def praise_and_leave(self):
        self.inside -= 1
        self.do(lambda: (self.gate.increase_concurrency(), self.gate.leave()))
        self.step()

    @rule()
    def end_and_resume(self):
        self.do(lambda: self.pauses.end(ModelError("x", kind="interrupted", ends_run=True)))
        self.step()
        self.pauses.resume()

    def do(self, work):
        async def run():
            work()

        self.loop.run_until_complete(run())

    @invariant()
    def places_are_those_of_whoever_is_inside(self):
        assert self.gate._active == self.inside
        assert self.inside <= 3

    @invariant()
    def nobody_waits_at_an_open_gate(self):
        assert not self.waiting or self.inside >= self.gate.limit

    def teardown(self):
        for _ in range(1000):
            if self.inside:
                self.inside -= 1
                self.do(self.gate.leave)
            self.step()
            if not self.inside and not self.waiting:
                break
        assert not self.waiting
        assert self.gate._active == 0
        self.loop.close()


TestGate = GateMachine.TestCase
TestGate.settings = settings(max_examples=times(25, 100), stateful_step_count=30, deadline=None)


@pytest.mark.parametrize(("before", "after"), [(8, 3), (3, 8)])
def test_the_limit_that_is_never_passed_may_change(before, after):
    async def run():
        gate = Gate(before, Pauses())
        gate.increase_concurrency()
        waiting = [asyncio.create_task(gate.enter()) for _ in range(10)]
        await asyncio.sleep(0)
        inside = [sum(each.done() for each in waiting)]
        gate.change_most(after)
        for _ in range(2):
            await asyncio.sleep(0)
        inside.append(sum(each.done() for each in waiting))
        for _ in range(before):
            gate.leave()
        await asyncio.sleep(0)
        inside.append(sum(each.done() for each in waiting))
        for each in waiting:
            each.cancel()
        return gate.limit, inside

    # Those that are in stay; as many as left may enter, up to the new limit.
    assert run_in_virtual_time(run()) == (after, [before, max(before, after), min(10, before + after)])


def test_a_limit_that_was_lowered_by_the_endpoint_is_not_raised_with_the_most():
    async def run():
        gate = Gate(10, Pauses())
        gate.increase_concurrency()
        gate.reduce_concurrency(0.0, None)
        lowered = gate.limit
        gate.change_most(40)
        return lowered, gate.limit

    assert run_in_virtual_time(run()) == (7, 7)
