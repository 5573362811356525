"""The scores of one run summed over the repeats of each sample, as a comparison needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np

from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import CODES, ScoreColumns, Texts, by_appearance
from steelyard.analysis.scores.score_summary_values import Over
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.stats.arrays import Array

_READ: Final = [CODES["scored"], CODES["unparsed"], CODES["refused"]]

SampleState = Literal["scored", "unparsed", "refused", "failed", "not_applicable", "no_score", "changed", "absent"]
"""What a run has for a sample on one score; `no_score`: a record without this score; `changed`: it is compared with a
run in which the sample has other content; `absent`: no record."""
SAMPLE_STATES: Final[tuple[SampleState, ...]] = get_args(SampleState)
STATE_CODES: Final = {state: code for code, state in enumerate(SAMPLE_STATES)}


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
        weights: what the sample weighs in the mean over samples, 0 where that is not known; None where all weigh the
            same.
    """

    total: Array
    scored: Array
    unparsed: Array
    read: Array
    errors: Array
    rows: Array
    weights: Array | None = None

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

    def states(self, over: Over) -> Array:
        """Per sample what the run has for it, as an index of `SAMPLE_STATES`; `scored` is all that has a mean."""
        conditions: dict[SampleState, Array] = {
            "scored": (self.read if over == "all" else self.scored) > 0,
            "no_score": self.rows == 0,
            "unparsed": self.unparsed > 0,
            "refused": self.read > 0,
            "failed": self.errors > 0,
        }
        codes = [STATE_CODES[state] for state in conditions]
        return np.select([*conditions.values()], codes, STATE_CODES["not_applicable"])


@dataclass(frozen=True, slots=True)
class RunBySample:
    """A run with its scores sample by sample; samples are indexed in order of first appearance.

    Args:
        run: the run.
        summary: its summary.
        samples: ids.
        numbers: of the samples in the columns of the run.
        groups: of each; likewise `clusters`.
        sums: per score; "" holds the errors without a score's name.
    """

    run: RunData
    summary: RunSummary
    samples: Sequence[str]
    numbers: Array
    groups: Texts
    clusters: Texts
    sums: Mapping[str, ScoreSums]

    @classmethod
    def of(cls, run: RunData, summary: RunSummary, groups: Sequence[str] = ()) -> RunBySample:
        """Sum up the scores of a run, or of its samples of some groups alone.

        An error without a score's name counts in every score.
        """
        rows = run.scores
        if groups:
            rows = rows.only(np.any([rows.groups.are(group) for group in groups], axis=0))
        where, numbers = by_appearance(rows.sample, len(rows.samples))
        first = np.zeros(len(numbers), dtype=np.int64)
        first[where[::-1]] = np.arange(len(where))[::-1]
        names = rows.samples
        same = len(numbers) == len(names) and np.array_equal(numbers, np.arange(len(names)))
        samples = names if same else [names[number] for number in numbers.tolist()]
        sums = _sums(rows, where, len(numbers))
        return cls(run, summary, samples, numbers, rows.groups.at(first), rows.clusters.at(first), sums)

    def hashes(self) -> Mapping[str, str]:
        """Sample id -> hash of its content, the id included; nothing where that is not known."""
        return hashes_by_id(self.run.scores.samples, self.run.hashes)

    def ids(self, indices: Array) -> list[str]:
        """The ids of the samples with these indices."""
        return [self.samples[index] for index in indices.tolist()]

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


def _sums(rows: ScoreColumns, where: Array, size: int) -> dict[str, ScoreSums]:
    zeros = np.zeros(size, dtype=np.int32)
    codes = {name: code for code, name in enumerate(rows.names)}
    nameless = _sums_of(rows, where, rows.name == codes.get("", -1), zeros)
    by_name = {name: _sums_of(rows, where, rows.name == codes[name], nameless.errors) for name in rows.scores}
    weights = rows.numbers("weight")
    for name in {rows.names[code] for code in np.unique(rows.name[~np.isnan(weights)]).tolist()}:
        at = (rows.name == codes[name]) & ~np.isnan(weights)
        of_samples = np.zeros(size)
        of_samples[where[at]] = weights[at]
        by_name[name] = replace(by_name[name], weights=of_samples)
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


def hashes_by_id(samples: Sequence[str], hashes: Array | None) -> Mapping[str, str]:
    """Sample id -> hash of its content in hexadecimal digits; empty where hashes are not known."""
    numbers = [] if hashes is None else hashes.tolist()
    return {ident: f"{number & (2**64 - 1):016x}" for ident, number in zip(samples, numbers, strict=False)}
