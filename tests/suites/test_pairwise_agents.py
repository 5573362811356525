"""Pairs of agents: the judge is shown what both did, within a window, and only where it is asked for."""

from __future__ import annotations

import asyncio

from steelyard import Judge, Output, Sample, Scripted, Suite, evaluate_suite
from steelyard.evaluation.dry_run import estimate
from steelyard.scorers import Preference
from steelyard.targets import Pair

SAMPLES = [Sample("1", "Book a table.")]


def quick(sample):
    call = {"name": "book", "arguments": {"day": "friday"}}
    return {"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}], "answer": "Booked."}


def slow(sample):
    steps = [{"role": "assistant", "content": f"step {no} " + "x" * 900} for no in range(50)]
    return {"messages": steps, "answer": "Booked."}


def silent(sample):
    return Output("Booked.")


def judged(first, second, tokens):
    shown = []

    def judge(messages):
        shown.append(messages[-1]["content"])
        return "Fewer steps.\n[[A]]"

    scorer = Preference(Judge(Scripted(function=judge)), transcript_tokens=tokens)
    pair = Pair("first", "second", transcripts=bool(tokens))
    targets = {"first": first, "second": second, "pair": pair}
    suite = Suite("s", "pairwise", SAMPLES, targets, (), scorers_of={"pair": (scorer,)})
    runs = evaluate_suite(suite, fresh=True)
    [record] = runs[-1].records()
    return record, shown, suite


def test_both_transcripts_are_shown_in_both_orders_and_a_long_one_is_cut():
    record, shown, suite = judged(quick, slow, 500)
    assert len(shown) == 2
    for prompt in shown:
        assert '[1] Assistant: calls tool book({"day": "friday"})' in prompt
        assert "[1] Assistant: step 0" in prompt
        assert "of 50 are left out for length" in prompt
        assert len(prompt) < 8_000
    assert record.scores[0].detail["label"] == "inconsistent", "A in both orders is another side each time"
    assert asyncio.run(estimate(suite))[2].calls == 2


def test_a_side_without_messages_is_not_applicable_with_the_reason():
    record, shown, _ = judged(quick, silent, 500)
    assert shown == []
    assert (record.scores[0].outcome, record.scores[0].reason) == (
        "not_applicable",
        "B: the output keeps no messages of an agent",
    )


def test_without_transcripts_only_the_answers_are_shown_and_stored():
    record, shown, _ = judged(quick, slow, 0)
    assert not any("step 0" in prompt or "book(" in prompt for prompt in shown)
    assert "messages" not in record.output.metadata["A"]
