"""The review list of a run as lines of a terminal, JSON, and a section for any renderer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from steelyard.analysis.label_forms import NO_OPTION
from steelyard.escaping import cell_text
from steelyard.people.review import ReviewEntry, ReviewView
from steelyard.prompts.conversation import input_text
from steelyard.report.record_lines import in_short, sample_lines
from steelyard.report.section import Section, SectionTable, TableColumn, sentences, text_row
from steelyard.store import Run

_MOST_CHARACTERS: Final = 200
"""Characters of a question or an option on a terminal."""
_LONG: Final = 2000
"""Characters of an answer to judge, on a terminal."""
_HEADS: Final = ("reasons", "question", "answer", "labels")


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


def review_section(run: Run, entries: Sequence[ReviewEntry], view: ReviewView) -> Section:
    """The list as one table: sample, reasons, question, answer, verdicts; and how often each reason occurs."""
    columns = (TableColumn("sample", "name"), *(TableColumn(head, "text") for head in _HEADS))
    rows = []
    for entry in entries:
        sample, repeat = entry.key
        sides = view.sides(entry.record)
        answer = f"A: {sides[0]} / B: {sides[1]}" if sides else entry.reply
        verdicts = ", ".join(f"{author}: {value or NO_OPTION}" for author, value in view.of(entry).items())
        name = f"{sample} repeat {repeat}" if repeat else sample
        question = input_text(entry.record.sample.input)
        rows.append(text_row(name, ", ".join(map(str, entry.reasons)), question, answer, verdicts))
    counts = reason_counts(entries)
    note = ", ".join(f"{count} {key.replace('_', ' ')}" for key, count in counts.items())
    title = f"Records to review of {run.target} (run {run.id})"
    return Section(title, SectionTable(columns, tuple(rows)), notes=tuple(sentences([note])), key="review")


def reason_counts(entries: Iterable[ReviewEntry]) -> dict[str, int]:
    """Reason -> entries that have it, most frequent first."""
    counts: dict[str, int] = {}
    for entry in entries:
        for key in dict.fromkeys(reason.key for reason in entry.reasons):
            counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))
