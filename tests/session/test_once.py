"""What is asked once for all samples of a run."""

from __future__ import annotations

import asyncio

from steelyard import Sample, Scripted, evaluate
from steelyard.models.base import Answer

SAMPLES = [Sample(f"q{n}", f"question {n}") for n in range(40)]


class Counting(Scripted):
    """A slow scripted model that counts what it is sent."""

    sent: list[str] = []  # noqa: RUF012  # the test looks at it, one model a test

    async def send(self, request, wire):
        self.sent.append(request.payload.decode())
        await asyncio.sleep(0.01)
        return Answer(200, {}, f"reply {len(self.sent)}".encode())


def test_it_is_sent_once_whatever_the_concurrency_and_everybody_gets_the_same():
    model = Counting()
    model.sent.clear()

    async def target(sample, ask):
        return (await ask.once(model, "write the steps")).text

    run = evaluate(target, SAMPLES, [], concurrency=16, repeats=2)
    assert len(model.sent) == 1
    assert {record.output.value for record in run.records()} == {"reply 1"}
    assert sum(len(several) for record in run.records() for several in record.replies.values()) == 1


def test_a_later_run_takes_it_from_the_journal_unless_it_is_to_be_fresh():
    model = Counting()
    model.sent.clear()

    async def target(sample, ask):
        return (await ask.once(model, "write other steps")).text

    evaluate(target, SAMPLES[:3], [])
    evaluate(target, SAMPLES[:5], [])
    assert len(model.sent) == 1
    evaluate(target, SAMPLES[:3], [], fresh=True)
    assert len(model.sent) == 2


def test_it_is_another_call_than_the_same_question_of_a_sample():
    model = Counting()
    model.sent.clear()

    async def target(sample, ask):
        return (await ask.once(model, "the same")).text + (await ask(model, "the same")).text

    evaluate(target, SAMPLES[:2], [], concurrency=1)
    assert len(model.sent) == 3
