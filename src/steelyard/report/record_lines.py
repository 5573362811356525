"""Records and the review list of a run as lines of a terminal; the review list as JSON too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from steelyard.analysis.label_forms import NO_OPTION
from steelyard.analysis.numbers import count_text, kind_text
from steelyard.analysis.retrieval_matches import WAYS
from steelyard.escaping import cell_text
from steelyard.people.review import ReviewEntry, ReviewView
from steelyard.prompts.agent_messages import LEFT_OUT, MESSAGES, is_answered_conversation
from steelyard.prompts.agent_messages import tool_call as plain_call
from steelyard.prompts.conversation import input_text
from steelyard.report.judge_reasons import preference_reason
from steelyard.report.run_texts import one_line, outcome_word
from steelyard.report.sample_evidence import passage_matches, source_label, sources_in, speaker
from steelyard.report.sections.sql_results import sql_lines
from steelyard.types import Label, Note, Output, Record, Score

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PASSAGE: Final = 2_000
"""Characters of a retrieved passage; the sample's page shows all of it."""


def sample_lines(record: Record, sides: Sequence[str] = (), *, passages: bool = False) -> Iterator[str]:
    """Question, reference, reply and scores; the right options have a star, scores with the same reason share a line.

    Args:
        record: of any run.
        sides: names of the two sides of a judging run; empty for any other run.
        passages: whether the texts of retrieved passages follow, for the view of a single sample.
    """
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
            name = f"{side} ({sides['AB'.index(side)]})" if sides else side
            yield f"  {name}: {'(no answer)' if answer is None else in_short(answer, 400) or '(empty)'}"
    elif record.output is not None:
        yield f"  reply: {in_short(record.output.value, 400) or '(empty)'}"
        yield from _steps(record.output)
        yield from _retrieved(record.output)
        yield from _passages(record, record.output) if passages else ()
    yield from sql_lines(record)
    explained = [replace(score, reason=preference_reason(score, sides)) if sides else score for score in record.scores]
    for _, same_reason in groupby(explained, lambda score: score.reason or score.name):
        scores = list(same_reason)
        values = "; ".join(f"{score.name}: {_value_text(score)}" for score in scores)
        reason = in_short(scores[0].reason, 200)
        yield f"  {values}{f' ({reason})' if reason else ''}"
    if record.failure is not None:
        what = "damaged in the store" if record.failure.kind == "damaged" else f"{record.failure.stage} failed"
        yield f"  {what}: {in_short(record.failure.message, 400)}"


def _is_pair(value: Any) -> bool:
    """Whether two answers were judged side by side."""
    return isinstance(value, Mapping) and set(value) == {"A", "B"}


def _value_text(score: Score) -> str:
    """The value with at most four digits and how a judge computed it, or why there is none."""
    if score.value is None:
        kind = cell_text(score.detail.get("kind"))
        more = f", {kind_text(kind)}" if kind not in {"", score.outcome} else ""
        return f"{outcome_word(score.outcome)}{more}"
    detail = score.detail
    parts = [cell_text(detail[key]) for key in ("how", "fallback", "asked_for") if detail.get(key) not in {None, ""}]
    parts += [f"flip rate {detail['flip_rate']:.2g}"] if isinstance(detail.get("flip_rate"), float) else []
    return ", ".join([f"{score.value:.4g}", *parts])


def _steps(output: Output) -> Iterator[str]:
    """The messages and tool calls of an agent, a line each."""
    messages = output.metadata.get(MESSAGES)
    if not is_answered_conversation(messages):
        return
    yield f"  messages: {len(messages)}"
    for message in messages:
        if message.get("content") or not message.get("tool_calls"):
            yield f"    {in_short(speaker(message), 90)}: {in_short(message.get('content'), 300) or '(empty)'}"
        for call in message.get("tool_calls") or ():
            called = plain_call(call)
            yield f"    calls {in_short(called['name'], 60)}({in_short(called['arguments'], 200)})"
    if left_out := output.metadata.get(LEFT_OUT):
        yield f"    and {in_short(left_out, 20)} more, which were not stored"


def _retrieved(output: Output) -> Iterator[str]:
    """The sources of the retrieved passages; pages also show their texts."""
    if not output.contexts:
        return
    sources = [source for source in sources_in(output.metadata) if isinstance(source, Mapping)]
    origins = dict.fromkeys(
        cell_text(source.get("document")) + (f" p. {source['page']}" if source.get("page") else "")
        for source in sources
    )
    known = "; ".join(source for source in origins if source)
    yield f"  retrieved: {count_text(len(output.contexts), 'passage')}{f', {in_short(known, 200)}' if known else ''}"


def _passages(record: Record, output: Output) -> Iterator[str]:
    """Each passage: its source, whether it was expected and by which match, and its text."""
    sources = sources_in(output.metadata)
    matches = passage_matches(record, output) if sources_in(record.sample.metadata) else ()
    for at, text in enumerate(output.contexts):
        origin = in_short(source_label(sources[at]), 200) if at < len(sources) else ""
        match = matches[at] if at < len(matches) and matches[at] in WAYS else ""
        about = [part for part in (origin, f"expected, by {match}" if match else "") if part]
        yield f"    {at + 1}. {'; '.join(about)}{': ' if about else ''}{in_short(text, _PASSAGE) or '(empty)'}"


def in_short(value: Any, most: int) -> str:
    """A value on one line, cut to `most` characters."""
    return one_line(cell_text(value), most)


def note_line(note: Note) -> str:
    r"""A note on one line: time, author, text.

    >>> from datetime import UTC, datetime
    >>> note_line(Note("abc234", "new\nprompt", "ann", datetime(2026, 3, 1, 9, 5, tzinfo=UTC)))
    'note 2026-03-01 09:05, ann: new prompt'
    """
    return f"note {note.at:%Y-%m-%d %H:%M}, {note.author}: {' '.join(note.text.split())}"


def label_line(label: Label) -> str:
    """A label on one line: its name, its author and its value.

    >>> from datetime import UTC, datetime
    >>> label_line(Label("q1", "cause", "wrong unit", "model:m", datetime(2026, 3, 1, tzinfo=UTC)))
    '  cause, says model:m: wrong unit'
    """
    return f"  {label.name}, says {label.author}: {' '.join(cell_text(label.value).split())}"


_MOST_CHARACTERS: Final = 200
"""Characters of a question or an option on a terminal."""
_LONG: Final = 2000
"""Characters of an answer to judge, on a terminal."""


def plain_entry(entry: ReviewEntry, view: ReviewView) -> dict[str, Any]:
    """An entry as plain JSON; the keys of exams are those of the first version."""
    sample, repeat = entry.key
    plain: dict[str, Any] = {"sample": sample, "repeat": repeat, "why": entry.kind}
    plain["reasons"] = [{"reason": reason.key, "about": reason.about} for reason in entry.reasons]
    if view.form.kind == "choice":
        plain |= {"read": entry.answered.letters, "context": entry.context}
        plain["span"] = list(entry.span) if entry.span else None
        plain |= {"key": entry.answered.wanted} if view.show_key else {}
    else:
        plain |= {"question": input_text(entry.record.sample.input), **_answers(entry, view)}
        if view.form.kind != "preference" or view.show_key:
            plain["scores"] = {score.name: score.value for score in entry.record.scores}
    return {**plain, "verdicts": dict(view.of(entry))}


def _answers(entry: ReviewEntry, view: ReviewView) -> dict[str, Any]:
    sides = view.sides(entry.record)
    if sides:
        return {"A": sides[0], "B": sides[1], "seed": view.seed}
    return {"expected": cell_text(entry.record.sample.reference), "output": cell_text(entry.record.output.value)}  # type: ignore[union-attr]  # listed records have an output


def entry_lines(entry: ReviewEntry, view: ReviewView) -> Iterator[str]:
    """An entry on a terminal: sample, reasons and verdicts on the first line, then the question and the answer."""
    sample, repeat = entry.key
    parts = [sample + (f" repeat {repeat}" if repeat else ""), ", ".join(map(str, entry.reasons))]
    if view.form.kind == "choice":
        parts += [f"read {entry.answered.letters}"] if entry.answered.letters else []
        parts += [f"key {entry.answered.wanted}"] if view.show_key else []
    parts += [f"{author}: {value or NO_OPTION}" for author, value in view.of(entry).items()]
    yield ", ".join(part for part in parts if part)
    yield from (f"    {line}" for line in _content_lines(entry, view))


def _content_lines(entry: ReviewEntry, view: ReviewView) -> Iterator[str]:
    record = entry.record
    sides = view.sides(record)
    if view.form.kind != "choice" and not sides:
        # The first line repeats the sample's id before the question, the others are its answer and scores.
        first, *others = sample_lines(record)
        yield first.removeprefix(in_short(record.sample.id, 80)).strip()
        yield from (line.removeprefix("  ") for line in others)
        return
    yield in_short(input_text(record.sample.input), _MOST_CHARACTERS)
    if not sides:
        # A letter has no meaning without the options.
        for at, text in enumerate(record.sample.choices):
            yield f"{chr(ord('A') + at)}. {in_short(text, _MOST_CHARACTERS)}"
        yield f"reply: {entry.context or '(empty)'}"
        return
    if record.sample.reference is not None:
        yield f"expected: {in_short(record.sample.reference, _LONG)}"
    for letter, answer in zip("AB", sides, strict=True):
        yield f"{letter}: {in_short(answer, _LONG) or '(empty)'}"
    if view.show_key:
        yield "; ".join(f"{score.name}: {score.reason or score.value}" for score in record.scores)


def reason_counts(entries: Iterable[ReviewEntry]) -> dict[str, int]:
    """Reason -> entries that have it, most frequent first."""
    counts = Counter(key for entry in entries for key in dict.fromkeys(reason.key for reason in entry.reasons))
    return dict(counts.most_common())
