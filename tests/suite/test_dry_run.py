"""What would be sent, counted without sending it."""

import asyncio

from steelyard import ExactMatch, OpenAICompatible, Prompt, Sample, Scripted, Suite, evaluate_suite
from steelyard.suite.dry_run import estimate

SAMPLES = [Sample(f"q{n}", "four chars" * n, "yes") for n in range(1, 6)]


def suite(**targets):
    return Suite("s", "custom", SAMPLES, targets, (ExactMatch(),))


def test_calls_and_tokens_are_counted_per_target_and_nothing_is_sent():
    nowhere = OpenAICompatible("m", "http://127.0.0.1:9/v1", parameters={"max_tokens": 7})
    asking, plain = asyncio.run(estimate(suite(asks=Prompt(nowhere), plain=len)))
    assert (asking.records, asking.calls, asking.in_journal) == (5, 5, 0)
    assert asking.input_tokens == sum(10 * n // 4 for n in range(1, 6))
    assert asking.output_tokens == 5 * 7
    assert (plain.records, plain.calls, plain.asks) == (5, 0, False)


def test_what_the_journal_holds_is_not_counted_as_new_unless_fresh_replies_are_wanted():
    asked = suite(one=Prompt(Scripted({}, default="yes")))
    evaluate_suite(asked)
    (held,) = asyncio.run(estimate(asked))
    (fresh,) = asyncio.run(estimate(asked, fresh=True))
    assert (held.calls, held.in_journal, held.input_tokens) == (5, 5, 0)
    assert (fresh.calls, fresh.in_journal) == (5, 0)


def test_asking_the_same_twice_is_two_calls():
    async def twice(sample, ask):
        model = Scripted({}, default="yes")
        await ask(model, sample.input)
        return (await ask(model, sample.input)).text

    (found,) = asyncio.run(estimate(suite(twice=twice)))
    assert found.calls == 10
