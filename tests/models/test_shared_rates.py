"""Rates that several processes share: no window of sixty seconds ever holds more, whoever asks and however late."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from steelyard.models.rate_limit import AHEAD_S, LATEST_S, Next, Rates, SharedRateLimiter, SharedRates, bucket_of


class InMemory:
    """What the store does, for processes that share a clock; each answer takes `answer_s`."""

    def __init__(self, shared, clock, answer_s=0.0):
        self.shared = shared
        self.clock = clock
        self.answer_s = answer_s
        self.next_at = Next(0, 0)
        self.buckets = {}
        self.asked = []

    async def slots(self, endpoint, tokens):
        self.asked.append((endpoint, tuple(tokens)))
        slots, self.next_at = self.shared.plan(tokens, self.next_at, self.clock.now, self.buckets)
        await self.clock.sleep(self.answer_s)
        return slots

    def correct(self, endpoint, at, tokens):
        self.buckets[bucket_of(at)] += tokens
        self.next_at = self.next_at._replace(by_tokens=self.next_at.by_tokens + self.shared.tokens_s(tokens))


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds
        await asyncio.sleep(0)


def most_in_a_minute(sent):
    """The most that any 60 s hold, of (time, amount); a window that begins with a sending is the fullest."""
    return max(sum(amount for at, amount in sent if since <= at < since + 60 - 1e-6) for since, _ in sent)


TAKES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 300), min_size=1, max_size=8),  # tokens of the calls that wait in one process
        st.lists(st.floats(0, LATEST_S), min_size=8, max_size=8),  # how late each of them is sent
        st.sampled_from([0, 0, 0, 0.2, 30, 70]),  # until the next question
    ),
    min_size=1,
    max_size=60,
)


@given(takes=TAKES, requests=st.none() | st.integers(1, 300), tokens=st.none() | st.integers(300, 3000))
def test_no_minute_holds_more_whoever_asks_and_however_late_each_call_is(takes, requests, tokens):
    shared = SharedRates(Rates(requests, tokens), processes=3)
    now, next_at, buckets, sent = 1000.0, Next(0, 0), {}, []
    for calls, late, pause in takes:
        slots, next_at = shared.plan(calls, next_at, now, buckets)
        sent += [(at + late_s, n) for at, late_s, n in zip(slots.at, late, calls, strict=False)]
        assert all(at <= now + AHEAD_S / 3 for at in slots.at)
        now += max(slots.wait_s, pause)
    if requests is not None:
        assert most_in_a_minute([(at, 1) for at, _ in sent]) <= requests
    if tokens is not None:
        assert most_in_a_minute(sent) <= tokens


@given(calls=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=2, max_size=40))
def test_the_tokens_that_an_endpoint_counted_are_those_that_hold(calls):
    clock, sent = Clock(), []

    async def run():
        pace = InMemory(SharedRates(Rates(None, 600), 2), clock)
        limiters = [SharedRateLimiter("e", pace, clock, clock.sleep) for _ in range(2)]
        for nth, (guess, came_to) in enumerate(calls):
            call = await limiters[nth % 2].wait(guess)
            limiters[nth % 2].settle(call, came_to)
            sent.append((clock.now, call.tokens))

    asyncio.run(run())
    assert [tokens for _, tokens in sent] == [came_to for _, came_to in calls]
    # What a call came to beyond the guess is known once it was sent.
    beyond = max(came_to - guess for guess, came_to in calls)
    assert most_in_a_minute(sent) <= 600 + max(0, beyond)


def test_a_busy_process_sends_what_the_others_leave():
    clock = Clock()

    async def run():
        limiter = SharedRateLimiter("e", InMemory(SharedRates(Rates(60), 4), clock), clock, clock.sleep)
        return [(await limiter.wait(1)).at for _ in range(50)]

    sent = asyncio.run(run())
    assert sent[-1] - sent[0] < 51  # the equal part of one of four would take 200 s


def test_a_moment_that_was_missed_is_given_up():
    clock = Clock()

    async def run():
        pace = InMemory(SharedRates(Rates(60), 1), clock, answer_s=2 * LATEST_S)
        limiter = SharedRateLimiter("e", pace, clock, clock.sleep)
        waiting = asyncio.create_task(limiter.wait(1))
        for _ in range(20):
            await asyncio.sleep(0)
        pace.answer_s = 0.0
        sent = await waiting
        return clock.now - sent.at, len(pace.asked)

    late_s, asked = asyncio.run(run())
    assert late_s <= LATEST_S
    assert asked > 1


def test_a_moment_of_a_call_that_was_cancelled_goes_to_the_next_with_its_own_tokens():
    clock = Clock()

    async def run():
        pace = InMemory(SharedRates(Rates(None, 600), 1), clock)
        limiter = SharedRateLimiter("e", pace, clock, clock.sleep)
        first, second, third, fourth = (asyncio.create_task(limiter.wait(n)) for n in (1, 2, 3, 4))
        await first
        while len(pace.asked) < 2:  # noqa: ASYNC110  # a list says nothing when it grows
            await asyncio.sleep(0)
        third.cancel()
        await second
        await fourth
        return pace.asked, sum(pace.buckets.values())

    asked, tokens = asyncio.run(run())
    assert asked == [("e", (1,)), ("e", (2, 3, 4))]
    assert tokens == 1 + 2 + 4 + 4  # the moment of the fourth is not used


def test_what_has_to_wait_is_told_when_to_ask_again():
    shared = SharedRates(Rates(61), processes=1)
    slots, next_at = shared.plan([1] * 5, Next(0, 0), 1000.0, {})
    assert [round(at, 2) for at in slots.at] == [999.95, 1000.95]
    assert round(next_at.by_requests, 2) == 1001.95
    assert round(slots.wait_s, 2) == 1.2  # a quarter of a second later than it could be planned
