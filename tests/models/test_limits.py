"""One retry policy and one gate per endpoint, shown against real servers."""

import asyncio
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import http, peer, said, until

from steelyard import OpenAICompatible
from steelyard.constraints import check_options
from steelyard.errors import ConfigError, ModelError, StoreError
from steelyard.models import Retry
from steelyard.models.base import Fault
from steelyard.models.limits import Limits
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire

QUICK = Retry(base_s=0.0)
REFUSED = http(429, {"error": {"message": "slow down"}})


def refused(wait_s, form):
    fields = {
        "seconds": [f"Retry-After: {wait_s:g}"],
        "milliseconds": [f"retry-after-ms: {wait_s * 1000:g}", "Retry-After: 99"],
        "date": [f"Date: {formatdate(1e9, usegmt=True)}", f"Retry-After: {formatdate(1e9 + wait_s, usegmt=True)}"],
    }
    return http(429, {"error": {"message": "slow down"}}, *fields[form])


class Client:
    """A model, a wire and the limits of one session."""

    def __init__(self, url, retry=QUICK, concurrency=16, **more):
        self.limits = Limits(retry, concurrency, **more)
        self.wire = HttpWire(Secrets([], {}))
        self.model = OpenAICompatible("m", url, timeout_s=5)

    async def call(self, prompt="q"):
        return await self.limits.call(self.model, self.model.request(prompt, {}), self.wire)


def asking(answer, talk, **options):
    """What `talk(client, server)` gives, and the server it talked to."""

    async def run():
        async with peer(answer) as server:
            client = Client(server.url, **options)
            try:
                return await talk(client, server), server
            finally:
                await client.wire.close()

    return asyncio.run(run())


def error_of(answer, **options):
    async def talk(client, _):
        with pytest.raises(ModelError) as caught:
            await client.call()
        return caught.value

    return asking(answer, talk, **options)


@pytest.mark.parametrize(("form", "wait_s"), [("seconds", 0.3), ("milliseconds", 0.3), ("date", 1)])
def test_what_one_worker_is_told_to_wait_every_worker_of_the_endpoint_waits(form, wait_s):
    told = asyncio.Event()
    told_at = []

    def answer(n, asked):
        if n:
            return said()
        told_at.append(time.time())
        told.set()
        return refused(wait_s, form)

    async def talk(client, _):
        first = asyncio.create_task(client.call("first"))
        await told.wait()
        await asyncio.sleep(0.05)
        return await asyncio.gather(first, *(client.call(f"other {n}") for n in range(5)))

    (first, *_), server = asking(answer, talk)
    assert first.attempts[1].waited == pytest.approx(wait_s, abs=0.05)
    later = [request.at - told_at[0] for request in server.asked[1:]]
    assert len(later) == 6
    assert min(later) >= wait_s


def test_a_503_that_names_a_time_closes_the_gate_too():
    def answer(n, asked):
        return said() if n else http(503, b"{}", "Retry-After: 0.3")

    async def talk(client, _):
        started = time.time()
        reply = await client.call()
        return reply.attempts[1].waited, time.time() - started

    (planned, waited), _ = asking(answer, talk)
    assert planned == pytest.approx(0.3, abs=0.05)
    assert waited >= 0.3


def test_every_attempt_is_recorded_with_its_fault_and_its_wait():
    whole = said()
    answers = [
        http(500, {"error": {"message": "oops"}}),
        http(200, b"<html>sign in</html>"),
        whole[:-20],
        None,
        http(200, {"choices": []}),
        said("done"),
    ]

    def answer(n, asked, writer):
        if n == 2:
            writer.write(answers[n])
            return None
        return answers[n]

    reply, server = asking(answer, lambda client, _: client.call())
    assert reply.text == "done"
    assert [attempt.fault for attempt in reply.attempts] == [
        "server",
        "malformed",
        "connection",
        "connection",
        "empty",
        "",
    ]
    assert [attempt.waited for attempt in reply.attempts[1:]] == [0.1] * 5
    assert "oops" in reply.attempts[0].message
    assert "sign in" in reply.attempts[1].message
    assert len(server.asked) == 6
    assert reply.latency == reply.attempts[-1].seconds


def test_no_call_takes_longer_than_its_total():
    error, server = error_of(lambda n, _: http(500, b"{}"), retry=Retry(total_s=0.6, base_s=0.2))
    assert sum(attempt.waited for attempt in error.attempts) <= 0.6
    assert error.kind == "server"
    assert not error.ends_run
    assert 2 <= len(error.attempts) == len(server.asked) <= 6
    assert f"after {len(error.attempts)} attempts" in str(error)


def test_no_call_is_sent_more_often_than_its_attempts():
    error, server = error_of(lambda n, _: http(500, b"{}"), retry=Retry(attempts=3, base_s=0.0))
    assert len(server.asked) == len(error.attempts) == 3


def test_told_to_wait_longer_than_a_call_may_take_a_call_fails_at_once_and_the_gate_stays_open():
    def answer(n, asked):
        return said() if n else http(429, {"error": {"message": "daily limit"}}, "Retry-After: 25000")

    async def talk(client, _):
        with pytest.raises(
            ModelError, match=r"daily limit.*told to wait 25000 s; retry\.total_s allows 600 s"
        ) as caught:
            await client.call()
        assert not caught.value.ends_run
        assert len(caught.value.attempts) == 1
        return await client.call("of the next sample")

    reply, server = asking(answer, talk)
    assert (reply.text, len(server.asked)) == ("A", 2)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "bad key"}}, "auth"),
        (403, {"error": {"message": "no", "code": "invalid_api_key"}}, "auth"),
        (407, {"error": {"message": "proxy"}}, "auth"),
        (402, {"error": {"message": "pay"}}, "quota"),
        (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, "quota"),
        (404, {"error": {"message": "no", "code": "model_not_found"}}, "unknown_model"),
    ],
)
def test_what_every_other_call_would_meet_as_well_ends_the_run_without_a_retry(status, body, kind):
    error, server = error_of(lambda n, _: http(status, body))
    assert (error.kind, error.ends_run, len(error.attempts), len(server.asked)) == (kind, True, 1, 1)


def test_a_bad_request_fails_one_sample_without_a_retry():
    error, server = error_of(lambda n, _: http(400, {"error": {"message": "too long"}}))
    assert (error.kind, error.ends_run, len(server.asked)) == ("bad_request", False, 1)


def test_an_endpoint_that_never_answered_is_given_up_quickly():
    async def run():
        async with peer(lambda n, _: said()) as server:
            pass
        client = Client(server.url)
        with pytest.raises(ModelError, match="cannot be reached") as caught:
            await client.call()
        await client.wire.close()
        return caught.value

    error = asyncio.run(run())
    assert (error.kind, error.ends_run, len(error.attempts)) == ("connection", True, 5)
    assert sum(attempt.waited for attempt in error.attempts) < 3


def test_an_endpoint_that_answered_once_is_given_all_its_attempts():
    async def talk(client, _):
        await client.call()
        with pytest.raises(ModelError) as caught:
            await client.call()
        return caught.value

    error, _ = asking(lambda n, _: None if n else said(), talk, retry=Retry(attempts=7, base_s=0.0))
    assert (len(error.attempts), error.ends_run) == (7, False)


def test_a_stop_wakes_every_back_off_and_every_queue_at_once():
    async def talk(client, server):
        calls = [asyncio.create_task(client.call(str(n))) for n in range(30)]
        await until(lambda: len(server.asked) == 4)
        await asyncio.sleep(0.05)
        client.limits.pauses.end(ModelError("enough", kind="interrupted", ends_run=True))
        async with asyncio.timeout(100):  # of the 500 s that they were told to wait
            return await asyncio.gather(*calls, return_exceptions=True)

    found, server = asking(lambda n, _: refused(500, "seconds"), talk, concurrency=4)
    assert {str(one) for one in found} == {"enough"}
    assert len(server.asked) == 4


def test_a_retry_is_not_sent_once_its_reply_could_not_be_kept():
    full = []

    def answer(n, asked):
        full.append(StoreError("disk full"))
        return http(500, b"{}")

    async def talk(client, _):
        with pytest.raises(StoreError, match="disk full"):
            await client.call()

    _, server = asking(answer, talk, refusal=lambda: full[0] if full else None)
    assert len(server.asked) == 1


def test_never_more_calls_are_in_flight_than_the_gate_allows():
    async def answer(n, asked):
        await asyncio.sleep(0.02)
        return REFUSED if n == 5 else said()

    async def talk(client, _):
        await asyncio.gather(*(client.call(str(n)) for n in range(30)))

    _, server = asking(answer, talk, concurrency=4)
    assert server.most_in_flight == 4
    assert len(server.asked) == 31


@given(st.integers(1, 5000), st.floats(0, 100), st.floats(0, 1000), st.none() | st.floats(0, 1000), st.integers())
def test_a_back_off_keeps_its_bounds_and_what_the_endpoint_told(n, base_s, cap_s, told, seed):
    limits = Limits(Retry(base_s=base_s, cap_s=cap_s), 1, seed=seed)
    waited = limits._back_off(n, Fault("server", "", wait_asked_s=told))
    highest = max(0.1, min(cap_s, base_s * 2.0 ** min(n - 1, 1000)))
    assert 0.1 <= waited <= max(highest, 0 if told is None else told + 0.03)
    assert told is None or waited >= told


def test_back_offs_are_spread_over_their_whole_range():
    limits = Limits(Retry(base_s=8.0), 1)
    waits = [limits._back_off(1, Fault("server", "")) for _ in range(300)]
    assert min(waits) < 0.5
    assert max(waits) > 7.5
    assert 3.4 < sum(waits) / len(waits) < 4.6


@pytest.mark.parametrize(
    ("options", "said_so"),
    [
        ({"attempts": 0}, "retry.attempts must be a whole number of 1 or more, not 0"),
        ({"attempts": 2.5}, "retry.attempts must be a whole number"),
        ({"total_s": -1}, "retry.total_s must be a number of 0 or more, not -1"),
        ({"base_s": float("nan")}, "retry.base_s must be a number of 0 or more, not nan"),
        ({"cap_s": float("inf")}, "retry.cap_s must be a number of 0 or more, not inf"),
        ({"cap_s": "3"}, "retry.cap_s must be a number of 0 or more, not '3'"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(options, said_so):
    with pytest.raises(ConfigError) as caught:
        check_options(Retry(**options), within="retry.")
    assert str(caught.value).startswith(said_so)
