"""The scores of one run summed over the repeats of each sample, as a comparison needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.scores.score_columns import CODES, ScoreColumns, Texts, by_appearance
from steelyard.analysis.scores.score_summary_values import Over

Array = NDArray[Any]

_READ: Final = [CODES["scored"], CODES["unparsed"], CODES["refused"]]


@dataclass(frozen=True, slots=True)
class ScoreSums:
    """One score of one run, summed over the repeats of each sample; arrays with a number per sample.

    Args:
        total: sum of the values.
        scored: repeats with a value.
        unparsed: repeats whose reply could not be parsed.
        read: repeats that count where the score is over all replies: scored, unparsed and refused ones.
        errors: repeats that failed.
        rows: all repeats; 0 where the sample has no row of this score.
    """

    total: Array
    scored: Array
    unparsed: Array
    read: Array
    errors: Array
    rows: Array

    def missing(self, over: Over) -> Array:
        """Per sample the repeats whose value is not known: unparsed ones, and refused ones where they are left out.

        A refusal in a score over all replies is an answer that counts as 0, so it is not missing.
        """
        missing: Array = self.unparsed if over == "all" else self.read - self.scored
        return missing

    def means(self, over: Over) -> Array:
        """Per sample the mean over the repeats that count, NaN where none does; a failed repeat counts nowhere."""
        n = self.read if over == "all" else self.scored
        means: Array = np.where(n > 0, self.total / np.maximum(n, 1), np.nan)
        return means


@dataclass(frozen=True, slots=True)
class RunScores:
    """All scores of one run; samples are indexed in order of first appearance.

    Args:
        samples: ids.
        numbers: of the samples in the columns that they were read from.
        groups: of each; likewise `clusters`.
        sums: per score; "" holds the errors without a score's name.
    """

    samples: Sequence[str]
    numbers: Array
    groups: Texts
    clusters: Texts
    sums: Mapping[str, ScoreSums]

    def index_of(self) -> dict[str, int]:
        """Sample id -> its index."""
        return {sample: index for index, sample in enumerate(self.samples)}

    def units(self) -> Array:
        """A number per sample, equal within a cluster; one of its own for each sample that names none."""
        alone = self.clusters.are("")
        units: Array = np.where(alone, -1 - np.arange(len(alone)), self.clusters.codes)
        return units

    def sums_of(self, score: str) -> ScoreSums:
        """The sums of a score; where no record has the score, those of the errors alone."""
        return self.sums.get(score) or self.sums[""]


def read_scores(rows: ScoreColumns, groups: Sequence[str] = ()) -> RunScores:
    """Sum up the rows of a run.

    Args:
        rows: in any order. An error without a score's name counts in every score.
        groups: only samples of these; empty for all.
    """
    if groups:
        rows = rows.only(np.any([rows.groups.are(group) for group in groups], axis=0))
    where, numbers = by_appearance(rows.sample, len(rows.samples))
    first = np.zeros(len(numbers), dtype=np.int64)
    first[where[::-1]] = np.arange(len(where))[::-1]
    names = rows.samples
    same = len(numbers) == len(names) and np.array_equal(numbers, np.arange(len(names)))
    return RunScores(
        names if same else [names[number] for number in numbers.tolist()],
        numbers,
        rows.groups.at(first),
        rows.clusters.at(first),
        _sums(rows, where, len(numbers)),
    )


def _sums(rows: ScoreColumns, where: Array, size: int) -> dict[str, ScoreSums]:
    zeros = np.zeros(size, dtype=np.int32)
    codes = {name: code for code, name in enumerate(rows.names)}
    nameless = _sums_of(rows, where, rows.name == codes.get("", -1), zeros)
    by_name = {name: _sums_of(rows, where, rows.name == codes[name], nameless.errors) for name in rows.scores}
    return {"": nameless, **by_name}


def _sums_of(rows: ScoreColumns, where: Array, chosen_rows: Array, nameless: Array) -> ScoreSums:
    """Sums of the chosen rows, by the sample index in `where`, and of errors of whole records."""
    size = len(nameless)
    if not chosen_rows.any():
        zeros = np.zeros_like(nameless)
        return ScoreSums(np.zeros(size), zeros, zeros, zeros, nameless, nameless)

    def counts(chosen: Array) -> Array:
        # Narrow, as there are five per score and sample: a comparison of two large runs holds them for both.
        return np.bincount(where[chosen_rows & chosen], minlength=size).astype(np.int32)

    valued = ~np.isnan(rows.value)
    failed = rows.outcome == CODES["error"]
    scored = counts(valued)
    read = scored + counts(~valued & np.isin(rows.outcome, _READ))
    unparsed = counts(~valued & (rows.outcome == CODES["unparsed"]))
    errors = counts(~valued & failed) + nameless
    others = counts(~valued & ~failed & ~np.isin(rows.outcome, _READ))
    total = np.bincount(where[chosen_rows & valued], weights=rows.value[chosen_rows & valued], minlength=size)
    return ScoreSums(total, scored, unparsed, read, errors, read + errors + others)
