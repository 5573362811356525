"""Rates a minute: no window of sixty seconds ever holds more, whoever asks and whatever comes back."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import peer, said, until

from steelyard import ConfigError, OpenAICompatible
from steelyard.constraints import check_options
from steelyard.errors import ModelError
from steelyard.models import Retry
from steelyard.models.budget import Quota
from steelyard.models.limits import Limits
from steelyard.models.rate_limit import RateLimiter, Rates
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire


class Clock:
    """Time that passes when somebody waits for it."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds
        await asyncio.sleep(0)


def sendings(rates, calls):
    """(time, tokens booked) of calls of (estimate, what it came to, pause before) tokens, from one worker each."""
    clock = Clock()
    sent = []

    async def run():
        limiter = RateLimiter(rates, clock, clock.sleep)
        for guess, came_to, pause in calls:
            await clock.sleep(pause)
            one = await limiter.wait(guess)
            sent.append(one)
            if came_to is not None:
                limiter.settle(one, came_to)

    asyncio.run(run())
    return sent


def most_in_a_minute(sent, amount):
    """The most that any 60 s hold; a window that begins with a sending is the fullest."""
    return max(sum(amount(other) for other in sent if one.at <= other.at < one.at + 60 - 1e-6) for one in sent)


CALLS = st.lists(
    st.tuples(st.integers(0, 400), st.none() | st.integers(0, 400), st.sampled_from([0, 0, 0, 0.5, 30, 70])),
    min_size=1,
    max_size=60,
)


@given(CALLS, st.integers(1, 20))
def test_no_minute_holds_more_requests_than_the_limit(calls, limit):
    sent = sendings(Rates(requests_per_minute=limit), calls)
    assert len(sent) == len(calls)
    assert most_in_a_minute(sent, lambda _: 1) <= limit


@given(CALLS, st.integers(400, 2000))
def test_no_minute_holds_more_tokens_than_the_limit_where_estimates_are_right(calls, limit):
    sent = sendings(Rates(tokens_per_minute=limit), [(guess, None, pause) for guess, _, pause in calls])
    assert most_in_a_minute(sent, lambda one: one.tokens) <= limit


def test_calls_are_spread_and_not_sent_in_a_burst():
    sent = sendings(Rates(requests_per_minute=60), [(0, None, 0)] * 10)
    gaps = [b.at - a.at for a, b in itertools.pairwise(sent)]
    assert gaps == pytest.approx([1.0] * 9, abs=0.06)


def test_the_whole_limit_can_be_used():
    sent = sendings(Rates(requests_per_minute=60), [(0, None, 0)] * 181)
    assert sent[-1].at - sent[0].at == pytest.approx(180, rel=0.01)
    sent = sendings(Rates(tokens_per_minute=600), [(10, None, 0)] * 181)
    assert sent[-1].at - sent[0].at == pytest.approx(180, rel=0.01)


def test_a_reply_that_was_longer_than_expected_slows_the_next_and_a_shorter_one_does_not():
    rates = Rates(tokens_per_minute=600)
    long = sendings(rates, [(10, 300, 0), (10, 10, 0)])
    assert long[1].at - long[0].at == pytest.approx(30, abs=0.1)
    short = sendings(rates, [(300, 10, 0), (10, 10, 0)])
    assert short[1].at - short[0].at == pytest.approx(1, abs=0.1)


def test_a_call_that_is_larger_than_the_limit_is_sent_alone():
    sent = sendings(Rates(tokens_per_minute=100), [(10, None, 0), (5000, None, 0), (10, None, 0)])
    assert sent[1].at - sent[0].at >= 60
    assert sent[2].at - sent[1].at >= 60


def test_time_that_nobody_used_is_not_saved_up():
    sent = sendings(Rates(requests_per_minute=60), [(0, None, 0), (0, None, 600), (0, None, 0), (0, None, 0)])
    assert sent[3].at - sent[1].at == pytest.approx(2, abs=0.11)


class NotedWire(HttpWire):
    """A wire that knows when it was given each request: on a busy machine they arrive at other distances."""

    def __init__(self):
        super().__init__(Secrets([], {}))
        self.given = []

    async def exchange(self, request):
        self.given.append(asyncio.get_running_loop().time())
        return await super().exchange(request)


def through(rates, calls, *, stop_after=None):
    """When requests of several workers were given to real connections, and what came of the calls."""

    async def run():
        async with peer(lambda n, _: said()) as server:
            limits, wire = Limits(Retry(), 8, quota=Quota(rates=rates)), NotedWire()
            model = OpenAICompatible("m", server.url)
            tasks = [asyncio.create_task(limits.call(model, model.request(f"{n}", {}), wire)) for n in range(calls)]
            if stop_after is not None:
                await until(lambda: len(server.asked) >= stop_after)
                limits.pauses.end(ModelError("enough", kind="interrupted", ends_run=True))
            found = await asyncio.gather(*tasks, return_exceptions=True)
            await wire.close()
            assert len(server.asked) == len(wire.given)
            return wire.given, found

    return asyncio.run(run())


def test_all_workers_of_an_endpoint_share_its_pace():
    asked, found = through(Rates(requests_per_minute=240), 5)
    assert [one.text for one in found] == ["A"] * 5
    assert asked[-1] - asked[0] >= 4 * 0.25 - 0.3


def test_a_stop_wakes_those_who_wait_for_the_pace():
    asked, found = through(Rates(requests_per_minute=10), 5, stop_after=1)
    assert len(asked) == 1
    assert [str(one) for one in found[1:]] == ["enough"] * 4


@pytest.mark.parametrize("options", [{"requests_per_minute": 0}, {"tokens_per_minute": 1.5}])
def test_a_rate_that_cannot_be_meant_is_refused(options):
    with pytest.raises(ConfigError, match=r"rates\.(requests|tokens)_per_minute must be a whole number of 1 or more"):
        check_options(Rates(**options), within="rates.")
