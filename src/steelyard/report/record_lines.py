"""One sample of a run as lines of a terminal: what was asked, what came back, its scores, labels and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from steelyard.escaping import cell_text
from steelyard.prompts.agent_messages import LEFT_OUT, MESSAGES, is_answered_conversation
from steelyard.prompts.agent_messages import tool_call as plain_call
from steelyard.report.numbers import counted, kind_text
from steelyard.report.sample_evidence import sources_in
from steelyard.report.sample_table import input_text
from steelyard.types import Label, Note, Output, Record, Score

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def sample_lines(record: Record) -> Iterator[str]:
    """Question, reference, reply and scores; the right options have a star, scores with one reason share a line."""
    repeat = f" (repeat {record.repeat})" if record.repeat else ""
    yield f"{in_short(record.sample.id, 80)}{repeat}  {in_short(input_text(record.sample.input), 300)}"
    for letter, option in zip(_LETTERS, record.sample.choices, strict=False):
        mark = "*" if letter in str(record.sample.reference) else " "
        yield f" {mark}{letter}. {in_short(option, 120)}"
    if not record.sample.choices and record.sample.reference is not None:
        yield f"  expected: {in_short(record.sample.reference, 300)}"
    if record.output is not None and _is_pair(record.output.value):
        for side in ("A", "B"):
            answer = record.output.value.get(side)
            yield f"  {side}: {'(no answer)' if answer is None else in_short(answer, 400) or '(empty)'}"
    elif record.output is not None:
        yield f"  reply: {in_short(record.output.value, 400) or '(empty)'}"
        yield from _steps(record.output)
        yield from _retrieved(record.output)
    for _, together in groupby(record.scores, lambda score: score.reason or score.name):
        scores = list(together)
        values = "; ".join(f"{one.name}: {_verdict(one)}" for one in scores)
        reason = in_short(scores[0].reason, 200)
        yield f"  {values}{f' ({reason})' if reason else ''}"
    if record.failure is not None:
        said = "damaged in the store" if record.failure.kind == "damaged" else f"{record.failure.stage} failed"
        yield f"  {said}: {in_short(record.failure.message, 400)}"


def _is_pair(value: Any) -> bool:
    """Whether two answers were judged side by side."""
    return isinstance(value, Mapping) and set(value) == {"A", "B"}


def _verdict(score: Score) -> str:
    """A value with at most four digits and how a judge came to it, or why there is none."""
    if score.value is None:
        kind = score.detail.get("kind")
        return f"{score.outcome.replace('_', ' ')}{f', {kind_text(cell_text(kind))}' if kind else ''}"
    detail = score.detail
    told = [cell_text(detail[key]) for key in ("how", "fallback") if detail.get(key) not in {None, ""}]
    told += [f"flip rate {detail['flip_rate']:.2g}"] if isinstance(detail.get("flip_rate"), float) else []
    return ", ".join([f"{score.value:.4g}", *told])


def _steps(output: Output) -> Iterator[str]:
    """What an agent said and which tools it called on its way to the answer, a line each."""
    messages = output.metadata.get(MESSAGES)
    if not is_answered_conversation(messages):
        return
    yield f"  messages: {len(messages)}"
    for one in messages:
        name = f" {in_short(one.get('name'), 60)}" if one.get("name") else ""
        failed = " (error)" if one.get("status") == "error" else ""
        if one.get("content") or not one.get("tool_calls"):
            yield f"    {in_short(one.get('role'), 20)}{name}{failed}: {in_short(one.get('content'), 300) or '(empty)'}"
        for call in one.get("tool_calls") or ():
            called = plain_call(call)
            yield f"    calls {in_short(called['name'], 60)}({in_short(called['arguments'], 200)})"
    if left_out := output.metadata.get(LEFT_OUT):
        yield f"    and {in_short(left_out, 20)} more, which were not kept"


def _retrieved(output: Output) -> Iterator[str]:
    """Where the passages stand; their text is for pages, which have room for it."""
    if not output.contexts:
        return
    sources = [one for one in sources_in(output.metadata) if isinstance(one, Mapping)]
    places = dict.fromkeys(
        cell_text(one.get("document")) + (f" p. {one['page']}" if one.get("page") else "") for one in sources
    )
    known = "; ".join(one for one in places if one)
    yield f"  retrieved: {counted(len(output.contexts), 'passage')}{f', {in_short(known, 200)}' if known else ''}"


def in_short(value: Any, most: int) -> str:
    """A value on one line of at most so many characters."""
    text = " ".join(cell_text(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def note_line(note: Note) -> str:
    r"""A note on one line: when, by whom, what.

    >>> from datetime import UTC, datetime
    >>> note_line(Note("abc234", "new\nprompt", "ann", datetime(2026, 3, 1, 9, 5, tzinfo=UTC)))
    'note 2026-03-01 09:05, ann: new prompt'
    """
    return f"note {note.at:%Y-%m-%d %H:%M}, {note.author}: {' '.join(note.text.split())}"


def label_line(label: Label) -> str:
    """What somebody says of a record, on one line.

    >>> from datetime import UTC, datetime
    >>> label_line(Label("q1", "cause", "wrong unit", "model:m", datetime(2026, 3, 1, tzinfo=UTC)))
    '  cause, says model:m: wrong unit'
    """
    return f"  {label.name}, says {label.author}: {' '.join(cell_text(label.value).split())}"
