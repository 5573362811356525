"""Samples that went from right to wrong, or back, between two runs: the regressions of a comparison, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.compare import PairComparison
from steelyard.report.columns import input_text
from steelyard.report.stored import StoredRun
from steelyard.types import Record


@dataclass(frozen=True, slots=True)
class Flip:
    """One sample that flipped.

    Args:
        sample: its id.
        way: `broken` (right in the baseline, wrong now) or `fixed`.
        before: what the baseline gave: the letters or verdict that were read, else why nothing was; likewise `after`.
        question: the sample's input as text.
        key: its reference as text; "" where it has none.
        reason: what the score says of the other run's record.
    """

    sample: str
    way: Literal["broken", "fixed"]
    before: str
    after: str
    question: str
    key: str
    reason: str


def flips_of(runs: Sequence[StoredRun], pair: PairComparison, *, most: int) -> list[Flip]:
    """At most `most` flips of a comparison, what was broken first, but some of each way where there are both.

    Args:
        runs: the pair's two runs among them.
        pair: of these runs.
        most: each of them is read by itself.
    """
    broken = list(pair.broken)[: max(most // 2, most - len(pair.fixed))]
    wanted = [*broken, *pair.fixed[: most - len(broken)]]
    others = {ident: pair.other_ids.get(ident, ident) for ident in wanted}
    before = _records_of(runs, pair.baseline, set(wanted))
    after = _records_of(runs, pair.other, set(others.values()))
    regressed = set(pair.broken)
    return [
        _flip(before[ident], after[others[ident]], pair.score, "broken" if ident in regressed else "fixed")
        for ident in wanted
        if ident in before and others[ident] in after
    ]


def _records_of(runs: Sequence[StoredRun], ident: str, samples: set[str]) -> dict[str, Record]:
    """Sample's id -> its first repeat."""
    run = next(one for one in runs if one.id == ident)
    found: dict[str, Record] = {}
    for record in run.records_of(samples):
        found.setdefault(record.sample.id, record)
    return found


def _flip(before: Record, after: Record, name: str, way: Literal["broken", "fixed"]) -> Flip:
    sample = before.sample
    return Flip(
        sample.id,
        way,
        _answer(before, name),
        _answer(after, name),
        input_text(sample.input),
        "" if sample.reference is None else input_text(sample.reference),
        next((score.reason for score in after.scores if score.name == name), ""),
    )


def _answer(record: Record, name: str) -> str:
    """What was read, else why nothing was."""
    score = next((one for one in record.scores if one.name == name), None)
    if score is not None:
        for key in ("letters", "label"):
            said = score.detail.get(key)
            if isinstance(said, str) and said:
                return said
        if score.outcome != "scored":
            return score.outcome.replace("_", " ")
    return input_text(record.output.value) if record.output else "error"
