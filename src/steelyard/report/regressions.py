"""Samples that went from right to wrong, or back, between two runs: regressions and improvements, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from steelyard.analysis.comparison_values import PairComparison
from steelyard.report.numbers import counted, one_line
from steelyard.report.sample_table import input_text
from steelyard.report.section import MARKDOWN, TERMINAL, Section, Sentence
from steelyard.report.stored import StoredRun
from steelyard.types import Record

_MOST: Final = 10
"""Samples that a comment or a terminal names; the page's table of samples has all."""


@dataclass(frozen=True, slots=True)
class ChangedSample:
    """One sample whose verdict changed.

    Args:
        sample: its id.
        change: `regression` (right in the baseline, wrong now) or `improvement`.
        before: what the baseline gave: the letters or verdict that were read, else why nothing was; likewise `after`.
        question: the sample's input as text.
        key: its reference as text; "" where it has none.
        reason: what the score says of the other run's record.
    """

    sample: str
    change: Literal["regression", "improvement"]
    before: str
    after: str
    question: str
    key: str
    reason: str


def changed_samples(runs: Sequence[StoredRun], pair: PairComparison, *, most: int) -> list[ChangedSample]:
    """At most `most` changed samples of a comparison, regressions first, but some of each kind where there are both.

    Args:
        runs: the pair's two runs among them.
        pair: of these runs.
        most: each of them is read by itself.
    """
    regressions = list(pair.regressions)[: max(most // 2, most - len(pair.improvements))]
    wanted = [*regressions, *pair.improvements[: most - len(regressions)]]
    others = {ident: pair.other_ids.get(ident, ident) for ident in wanted}
    before = _records_of(runs, pair.baseline, set(wanted))
    after = _records_of(runs, pair.other, set(others.values()))
    regressed = set(pair.regressions)
    return [
        _changed(before[ident], after[others[ident]], pair.score, "regression" if ident in regressed else "improvement")
        for ident in wanted
        if ident in before and others[ident] in after
    ]


def _records_of(runs: Sequence[StoredRun], ident: str, samples: set[str]) -> dict[str, Record]:
    """Sample's id -> its first repeat."""
    run = next(run for run in runs if run.id == ident)
    records: dict[str, Record] = {}
    for record in run.records_of(samples):
        records.setdefault(record.sample.id, record)
    return records


def _changed(before: Record, after: Record, name: str, change: Literal["regression", "improvement"]) -> ChangedSample:
    sample = before.sample
    return ChangedSample(
        sample.id,
        change,
        _answer(before, name),
        _answer(after, name),
        input_text(sample.input),
        "" if sample.reference is None else input_text(sample.reference),
        next((score.reason for score in after.scores if score.name == name), ""),
    )


def _answer(record: Record, name: str) -> str:
    """What was read, else why nothing was."""
    score = next((score for score in record.scores if score.name == name), None)
    if score is not None:
        for key in ("letters", "label"):
            read = score.detail.get(key)
            if isinstance(read, str) and read:
                return read
        if score.outcome != "scored":
            return score.outcome.replace("_", " ")
    return input_text(record.output.value) if record.output else "error"


def regressions_comment(runs: Sequence[StoredRun], pair: PairComparison) -> Section:
    """The first changes of a pair for a comment: what was asked, and what became of the answer."""
    changes = changed_samples(runs, pair, most=_MOST)
    counts = f"{counted(len(pair.regressions), 'regression')}, {counted(len(pair.improvements), 'improvement')}"
    more = len(pair.regressions) + len(pair.improvements) - len(changes)
    rest = [Sentence(f"and {more} more in the HTML report", "item")] if more else []
    return Section(
        f"{pair.other_target} against {pair.baseline_target}: {counts}",
        notes=(*(Sentence(_with_question(one), "item") for one in changes), *rest),
        folded=True,
        media=MARKDOWN,
    )


def _with_question(one: ChangedSample) -> str:
    key = f", key {one_line(one.key, 12)}" if one.key else ""
    change = f"{one_line(one.before, 20)} → {one_line(one.after, 20)}"
    return f"{one.change}: {one_line(one.sample, 24)} {one_line(one.question, 50)} ({change}{key})"


def regressions_lines(runs: Sequence[StoredRun], pair: PairComparison) -> Section:
    """The first regressions of a pair for a terminal: the sample, both answers, why the second is wrong."""
    changes = [one for one in changed_samples(runs, pair, most=2 * _MOST) if one.change == "regression"][:_MOST]
    notes = [Sentence(f"  {_with_reason(one)}", "item") for one in changes]
    more = len(pair.regressions) - len(changes)
    if more:
        notes.append(Sentence(f"  and {counted(more, 'more regression')}; --json names all, --html shows them", "item"))
    return Section("", notes=tuple(notes), detail=True, media=TERMINAL)


def _with_reason(one: ChangedSample) -> str:
    why = f": {one_line(one.reason, 110)}" if one.reason else ""
    return f"regression {one_line(one.sample, 24)} ({one_line(one.before, 20)} → {one_line(one.after, 20)}){why}"
