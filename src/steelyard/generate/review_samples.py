"""Records -> the samples of a review: what was asked, wanted and answered, cut to what a prompt has room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from steelyard.generate.reviewer import CauseFinder, ReasonGiven, ReasonsPlaced, Reviewer
from steelyard.store import Run
from steelyard.suite.objects import Options, Suite
from steelyard.text.inert import cell_text
from steelyard.text.prompt_files import sample_values
from steelyard.types import Record, Sample, Score


class Step(NamedTuple):
    """A step of a review: the name of its target, and of its score."""

    target: str
    score: str


KIND: Final = "review"
REASONS: Final = Step("reasons", "reason")
CAUSES: Final = Step("causes", "placed")
_MOST_TEXT: Final = 6_000
_MOST_PASSAGE: Final = 1_500
_MOST_PASSAGES: Final = 8
_NONE: Final = "(none)"


def reasons_suite(run: Run, records: Sequence[Record], reviewer: Reviewer, options: Options) -> Suite:
    """The first step: each record is a sample, and the model says why it failed."""
    several = any(record.repeat for record in records)
    return Suite(
        name=_title(run),
        kind=KIND,
        samples=tuple(_sample(run, record, several=several) for record in records),
        targets={REASONS.target: reviewer},
        scorers=(ReasonGiven(),),
        options=options,
        source={"run": run.id},
    )


def causes_suite(run: Run, reasons: Sequence[str], finder: CauseFinder, options: Options) -> Suite:
    """The second step: the list of all reasons is one sample, and the model gathers them under causes."""
    return Suite(
        name=_title(run),
        kind=KIND,
        samples=(Sample("causes", list(reasons), metadata={"run": run.id}),),
        targets={CAUSES.target: finder},
        scorers=(ReasonsPlaced(),),
        options=options,
        source={"run": run.id},
    )


def sample_place(sample: Sample) -> tuple[str, int]:
    """Which record a sample of the first step is about: its sample's id and repeat."""
    return str(sample.metadata["sample"]), int(sample.metadata["repeat"])


def _title(run: Run) -> str:
    return f"review of {run.target} ({run.id})"


def _sample(run: Run, record: Record, *, several: bool) -> Sample:
    """One failure. Where there are repeats every id ends in one, so that no two are equal."""
    sample, output = record.sample, record.output
    values = sample_values(sample)
    asked = f"{values['question']}\n\n{values['options']}" if sample.choices else values["question"]
    passages = output.contexts if output and output.contexts else sample.contexts
    shown = [f"[{no}] {_cut(one, _MOST_PASSAGE)}" for no, one in enumerate(passages[:_MOST_PASSAGES], start=1)]
    if len(passages) > _MOST_PASSAGES:
        shown.append(f"({len(passages) - _MOST_PASSAGES} more)")
    answer = cell_text(output.value) if output else ""
    return Sample(
        f"{sample.id} #{record.repeat}" if several else sample.id,
        {
            "question": _cut(asked, _MOST_TEXT),
            "expected": _cut(cell_text(sample.reference), _MOST_TEXT) or _NONE,
            "passages": "\n\n".join(shown) or _NONE,
            "answer": _cut(answer, _MOST_TEXT) or _NONE,
            "verdicts": "\n".join(_verdicts(record)) or _NONE,
        },
        group=sample.group,
        metadata={"run": run.id, "sample": sample.id, "repeat": record.repeat},
    )


def _verdicts(record: Record) -> list[str]:
    lines = [_verdict(one) for one in record.scores]
    failure = record.failure
    return [*lines, *([f"{failure.stage} failed, {failure.kind}: {_cut(failure.message, 500)}"] if failure else [])]


def _verdict(score: Score) -> str:
    value = score.outcome.replace("_", " ") if score.value is None else f"{score.value:.4g}"
    return f"{score.name}: {value}{f' ({_cut(score.reason, 500)})' if score.reason else ''}"


def _cut(text: str, most: int) -> str:
    """A long text without its middle, and how much that was: begin and end tell more."""
    text = text.strip()
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"
