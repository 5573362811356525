"""Ask: equal calls are shared, a reply is committed before it is used, and nothing is sent that could not be kept."""

import asyncio
import contextlib

import pytest
from tests.loopback import MemoryJournal, http, peer, said, until

from steelyard import OpenAICompatible, plain_json
from steelyard.errors import ModelError, StoreError
from steelyard.models import Retry
from steelyard.models.base import Request
from steelyard.models.budget import Budget, BudgetMeter, Quota
from steelyard.models.prices import Spent
from steelyard.session.replies import journal_key
from steelyard.session.secrets import Secrets
from steelyard.session.session import Session


@contextlib.asynccontextmanager
async def session_with(answer, *, calls=None, **options):
    """A session on an empty journal, which may send so many calls, and a model behind a real server."""
    journal = MemoryJournal()
    quota = Quota() if calls is None else Quota(BudgetMeter(Budget(calls=calls), Spent(), journal))
    async with peer(answer) as server, Session(journal, Secrets([], {}), quota=quota, **options) as session:
        yield session, OpenAICompatible("m", server.url), journal, server


def talking(answer, talk, **options):
    async def run():
        async with session_with(answer, **options) as (session, model, journal, server):
            return await talk(session, model), journal, server

    return asyncio.run(run())


def ask(session, model, *, sample="s", repeat=0, stage="target", draw="", text="q"):
    return session.ask(sample, repeat, stage, draw=draw)(model, text)


def test_equal_keys_in_flight_are_asked_once_and_the_others_say_so():
    async def talk(session, model):
        return await asyncio.gather(*(ask(session, model, stage=stage) for stage in ("target", "a", "b", "c")))

    replies, journal, server = talking(lambda n, _: said(f"reply {n}"), talk)
    assert len(server.asked) == len(journal.bodies) == 1
    assert [reply.text for reply in replies] == ["reply 0"] * 4
    assert [reply.cached for reply in replies] == [False, True, True, True]


def test_a_reply_in_the_journal_is_not_asked_again():
    async def talk(session, model):
        first = await ask(session, model)
        return first, await ask(session, model)

    (first, again), _, server = talking(lambda n, _: said(f"reply {n}"), talk)
    assert len(server.asked) == 1
    assert (first.cached, again.cached) == (False, True)
    assert (again.text, again.key, again.usage) == (first.text, first.key, first.usage)


@pytest.mark.parametrize("other", [{"sample": "t"}, {"repeat": 1}, {"draw": "fresh"}, {"text": "r"}])
def test_another_sample_repeat_draw_or_text_is_another_call(other):
    async def talk(session, model):
        return await asyncio.gather(ask(session, model), ask(session, model, **other))

    replies, _, server = talking(lambda n, _: said(f"reply {n}"), talk)
    assert len(server.asked) == 2
    assert {reply.text for reply in replies} == {"reply 0", "reply 1"}


def test_asking_the_same_twice_in_one_stage_gives_two_replies():
    async def talk(session, model):
        asks = session.ask("s", 0, "target")
        await asks(model, "q")
        await asks(model, "q")
        await session.ask("s", 0, "target")(model, "q")
        return asks.replies

    replies, _, server = talking(lambda n, _: said(f"reply {n}"), talk)
    assert [reply.text for reply in replies] == ["reply 0", "reply 1"]
    assert len(server.asked) == 2


def test_a_reply_that_could_not_be_read_back_is_an_error_of_its_call_and_is_not_stored(monkeypatch):
    monkeypatch.setattr(plain_json, "_MOST_PARTS", 1_000)
    calls = [{"id": "c", "function": {"name": "f", "arguments": ""}}] * 200

    async def talk(session, model):
        with pytest.raises(ModelError, match="the reply is too large: it holds more than 1,000 values") as caught:
            await ask(session, model)
        return caught.value

    error, journal, _ = talking(
        lambda n, _: http(200, {"choices": [{"message": {"content": "yes", "tool_calls": calls}}]}), talk
    )
    assert (error.kind, len(error.attempts), journal.bodies) == ("malformed", 1, {})


def test_the_parts_of_a_key_cannot_be_shifted_into_one_another():
    keys = {
        journal_key(b"d", sample, repeat, nth, draw)
        for sample, repeat, nth, draw in [
            ("a", 1, 0, ""),
            ("a", 0, 1, ""),
            ("a1", 0, 0, ""),
            ("a", 0, 0, "1"),
            ("", 0, 0, "a"),
        ]
    }
    assert len(keys) == 5
    assert all(len(key) == 10 for key in keys)


def test_a_cancelled_owner_leaves_the_call_to_whoever_waits():
    released = asyncio.Event()

    async def answer(n, asked):
        if n == 0:
            await released.wait()
        return said(f"reply {n}")

    async def run():
        async with session_with(answer) as (session, model, journal, server):
            owner = asyncio.create_task(ask(session, model))
            await until(lambda: server.asked)
            waiting = [asyncio.create_task(ask(session, model, stage=f"{n}")) for n in range(3)]
            await asyncio.sleep(0)
            owner.cancel()
            replies = await asyncio.gather(*waiting)
            released.set()
            return owner.cancelled(), replies, len(server.asked), len(journal.bodies)

    cancelled, replies, asked, kept = asyncio.run(run())
    assert cancelled
    assert {reply.text for reply in replies} == {"reply 1"}
    assert (asked, kept) == (2, 1)


def test_when_all_are_cancelled_together_nobody_asks_in_place_of_the_owner():
    async def answer(n, asked):
        await asyncio.Event().wait()

    async def run():
        async with session_with(answer) as (session, model, _, server):
            tasks = [asyncio.create_task(ask(session, model, stage=f"{n}")) for n in range(4)]
            await until(lambda: server.asked)
            for task in tasks:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            return [type(one) for one in found], len(server.asked), session.limits.gate(model.request("q", {}).endpoint)

    kinds, asked, gate = asyncio.run(run())
    assert kinds == [asyncio.CancelledError] * 4
    assert asked == 1
    assert gate._active == 0


def test_a_waiter_that_is_cancelled_does_not_disturb_the_owner():
    released = asyncio.Event()

    async def answer(n, asked):
        await released.wait()
        return said()

    async def run():
        async with session_with(answer) as (session, model, _, server):
            owner = asyncio.create_task(ask(session, model))
            await until(lambda: server.asked)
            waiter = asyncio.create_task(ask(session, model))
            await asyncio.sleep(0)
            waiter.cancel()
            await asyncio.sleep(0)
            released.set()
            return (await owner).text, waiter.cancelled()

    assert asyncio.run(run()) == ("A", True)


def test_what_the_owner_met_everybody_who_waited_meets():
    async def talk(session, model):
        return await asyncio.gather(*(ask(session, model, stage=f"{n}") for n in range(3)), return_exceptions=True)

    found, journal, server = talking(lambda n, _: http(400, b"{}"), talk)
    assert [one.kind for one in found] == ["bad_request"] * 3
    assert len(server.asked) == 1
    assert not journal.bodies


def test_a_reply_is_on_disk_before_anything_uses_it():
    async def talk(session, model):
        commit, order = session.journal.commit, []

        async def slow_commit(key, body):
            await asyncio.sleep(0.02)
            order.append("kept")
            return await commit(key, body)

        session.journal.commit = slow_commit
        await ask(session, model)
        order.append("used")
        return order

    assert talking(lambda n, _: said(), talk)[0] == ["kept", "used"]


def test_a_journal_that_fails_makes_the_ask_fail_and_nothing_more_is_sent():
    async def talk(session, model):
        session.journal.failure = StoreError("disk full")
        found = []
        for n in range(3):
            asks = session.ask(f"{n}", 0, "target")
            with pytest.raises(StoreError, match="disk full"):
                await asks(model, "q")
            found.append((asks.replies, str(asks.over)))
        return found

    found, _, server = talking(lambda n, _: said(), talk)
    assert found == [([], "disk full")] * 3
    assert len(server.asked) == 1


def test_what_waited_for_its_turn_or_its_retry_is_not_sent_after_the_journal_has_failed():
    async def talk(session, model):
        calls = [asyncio.create_task(ask(session, model, sample=f"{n}")) for n in range(6)]
        await until(lambda: server_asked)
        session.journal.error, asked = StoreError("disk full"), len(server_asked)
        return await asyncio.gather(*calls, return_exceptions=True), asked

    server_asked = []

    def answer(n, asked):
        server_asked.append(n)
        return http(500, b"{}")

    (found, asked), _, _ = talking(answer, talk, concurrency=2, retry=Retry(base_s=0.0))
    assert {str(one) for one in found} == {"disk full"}
    assert len(server_asked) <= asked + 2, "those in flight"


def test_the_reply_that_another_process_kept_first_counts_and_both_are_paid_for():
    async def talk(session, model):
        first = await ask(session, model, sample="other")
        (body,) = session.journal.bodies.values()

        async def commit(key, _):
            return body

        session.journal.commit = commit
        return first, await ask(session, model)

    (first, reply), _, server = talking(lambda n, _: said(f"reply {n}"), talk)
    assert len(server.asked) == 2
    assert (first.text, reply.text, reply.cached) == ("reply 0", "reply 0", False)


def test_after_a_stop_the_journal_still_answers_but_nothing_is_sent():
    async def talk(session, model):
        await ask(session, model)
        session.stop("enough")
        with pytest.raises(ModelError, match="enough") as caught:
            await ask(session, model, sample="new")
        session.begin_run()
        with pytest.raises(ModelError, match="enough"):
            await ask(session, model, sample="new")
        return caught.value, await ask(session, model)

    (error, reply), _, server = talking(lambda n, _: said(), talk)
    assert (error.kind, error.ends_run, reply.cached) == ("interrupted", True, True)
    assert len(server.asked) == 1


def test_what_ended_one_run_does_not_hold_the_next():
    async def talk(session, model):
        session.halt(ModelError("wrong key", kind="auth", ends_run=True))
        with pytest.raises(ModelError, match="wrong key"):
            await ask(session, model)
        session.begin_run()
        return (await ask(session, model)).text

    assert talking(lambda n, _: said(), talk)[0] == "A"


def test_an_ask_remembers_what_ended_the_run_though_the_target_catches_it():
    async def talk(session, model):
        asks = session.ask("s", 0, "target")
        with contextlib.suppress(ModelError):
            await asks(model, "q")
        await_over = asks.over
        plain = session.ask("s", 0, "target")
        return await_over, plain.over

    (over, none), _, _ = talking(lambda n, _: http(401, b"{}"), talk)
    assert over.kind == "auth"
    assert none is None


def test_a_budget_is_booked_on_disk_before_the_call_is_sent():
    booked = []

    async def run():
        async with session_with(lambda n, _: said(), calls=2) as (session, model, journal, server):
            book = journal.book

            async def watched(*amounts):
                booked.append(len(server.asked))
                await book(*amounts)

            journal.book = watched
            for n in range(3):
                with contextlib.suppress(ModelError):
                    await ask(session, model, sample=f"{n}")
            return len(server.asked)

    assert asyncio.run(run()) == 2
    assert booked == [0, 1]


def test_a_request_never_shows_what_it_would_resolve():
    request = OpenAICompatible("m", "http://h/v1", "${KEY}").request("q", {})
    assert isinstance(request, Request)
    assert ("Authorization", "Bearer ${KEY}") in request.headers
