"""Which samples of two runs make a pair: by id, by what they ask, or by a key of their metadata.

`id`        the ids of both datasets are the same names for the same samples: the usual case
`content`   other ids, equal input, reference, choices and contexts: a dataset that was numbered anew
a key       a field of the samples' metadata that names them in both datasets

Unless told otherwise ids decide, and contents where hardly any id is shared and more contents are. The same content
several times in a run is paired in order, as equal questions are exchangeable; a key that two samples of a run share is
refused, since nothing would say which of them is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.run_protocols import ComparableRun, SampleUsage
from steelyard.analysis.sample_scores import RunScores, read_scores
from steelyard.analysis.score_columns import ScoreColumns
from steelyard.analysis.summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[Any]

ID: Final = "id"
CONTENT: Final = "content"
_HARDLY_ANY: Final = 0.1
"""Where less than this share of the smaller run's ids is in the other, ids are taken for names of something else."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run with what a comparison reads of it, read once.

    Args:
        run: the run.
        summary: its summary.
        scores: its scores, sample by sample.
        asked: what it asked; None where the run is not a stored one.
    """

    run: ComparableRun
    summary: RunSummary
    scores: RunScores
    asked: SampleUsage | None

    @classmethod
    def of(cls, run: ComparableRun, summary: RunSummary, groups: Sequence[str] = ()) -> ComparedRun:
        """Read a run, or its samples of some groups alone."""
        # Where a comparison is to be of one moment, scores and what was asked for them are read together.
        columns: Callable[[], tuple[ScoreColumns, SampleUsage]] | None = getattr(run, "columns", None)
        if columns is None:
            return cls(run, summary, read_scores(ScoreColumns.of(run.score_rows()), groups), None)
        rows, asked = columns()
        return cls(run, summary, read_scores(rows, groups), asked)

    def hashes(self) -> Mapping[str, str]:
        """Sample id -> hash of its content, the id included; nothing where that is not known."""
        return self.run.sample_hashes() if self.asked is None else self.asked.hashes()

    def ids(self, places: Places) -> list[str]:
        """The ids of the samples at these places."""
        return [self.scores.samples[place] for place in places.tolist()]


class SampleAlignment(NamedTuple):
    """Places of the samples that make a pair, in order of the baseline.

    Args:
        first: places in the baseline's answers.
        second: in the other run's, pair by pair.
        by: `id`, `content` or the key.
        notes: what a reader must know of it, one sentence each.
    """

    first: Places
    second: Places
    by: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AlignedRuns:
    """Two runs, and which of their samples make a pair."""

    baseline: ComparedRun
    other: ComparedRun
    alignment: SampleAlignment

    @property
    def names(self) -> tuple[str, str]:
        """How a sentence calls the two runs: by target, and by run as well where the targets have one name."""
        return names_of(self.baseline.run, self.other.run)


def names_of(baseline: ComparableRun, other: ComparableRun) -> tuple[str, str]:
    """How a sentence calls two runs: by target, and by run as well where the targets have one name."""
    if baseline.target != other.target:
        return baseline.target, other.target
    return f"{baseline.target} ({baseline.id})", f"{other.target} ({other.id})"


def align(baseline: ComparedRun, other: ComparedRun, by: str, names: tuple[str, str]) -> SampleAlignment:
    """The pairs of two runs.

    Args:
        baseline: the first run.
        other: the second.
        by: `id`, `content`, a key of the samples' metadata, or "" to let the runs say.
        names: what the runs are called.

    Raises:
        ConfigError: no sample of a run has that key, or two samples of one run have the same value there.
    """
    if by == ID:
        return _by_id(baseline, other)
    if by == CONTENT:
        return _by_content(baseline, other)
    if by:
        return _by_key(baseline, other, by, names)
    by_id = _by_id(baseline, other)
    smaller = min(len(baseline.scores.samples), len(other.scores.samples))
    if len(by_id.first) >= _HARDLY_ANY * smaller or not smaller:
        return by_id
    contents = _by_content(baseline, other)
    if len(contents.first) <= len(by_id.first):
        return by_id
    shared = f"{len(by_id.first)} of {smaller}" if len(by_id.first) else "none"
    note = (
        f"{names[0]} and {names[1]} share {shared} of their samples' ids, so samples with equal content are paired; "
        f"--align id pairs by id."
    )
    return contents._replace(notes=(note, *contents.notes))


def _by_id(baseline: ComparedRun, other: ComparedRun) -> SampleAlignment:
    import numpy as np

    samples = baseline.scores.samples
    if samples is other.scores.samples:
        both = np.arange(len(samples))
        return SampleAlignment(both, both, ID)
    there = other.scores.places()
    second = np.fromiter((there.get(ident, -1) for ident in samples), dtype=np.int64, count=len(samples))
    first = np.flatnonzero(second >= 0)
    return SampleAlignment(first, second[first], ID)


def _by_content(baseline: ComparedRun, other: ComparedRun) -> SampleAlignment:
    contents = contents_of(baseline, other)
    before, after = (_places_by(side.scores, found) for side, found in zip((baseline, other), contents, strict=True))
    shared = [(places, after[content]) for content, places in before.items() if content in after]
    pairs = sorted(pair for sides in shared for pair in zip(*sides, strict=False))
    several = sum(max(map(len, sides)) > 1 for sides in shared)
    notes: tuple[str, ...] = ()
    if several:
        questions = "1 question stands" if several == 1 else f"{several} questions stand"
        notes = (f"{questions} in a run more than once; they are paired in order.",)
    return _alignment(pairs, CONTENT, notes)


def contents_of(*sides: ComparedRun) -> list[Mapping[str, str]]:
    """Per side, sample id -> hash of what it asks; of all its content where one of them is not a stored run."""
    asked = [side.asked for side in sides if side.asked is not None]
    return [samples.contents() for samples in asked] if len(asked) == len(sides) else [side.hashes() for side in sides]


def _by_key(baseline: ComparedRun, other: ComparedRun, key: str, names: tuple[str, str]) -> SampleAlignment:
    before, after = (_unique(side, key, name) for side, name in zip((baseline, other), names, strict=True))
    return _alignment([(place, after[value]) for value, place in before.items() if value in after], key)


def _unique(side: ComparedRun, key: str, name: str) -> dict[str, int]:
    """Value at the key -> place; refused where the key does not tell the samples apart."""
    values = {} if side.asked is None else side.asked.values(key)
    if not values:
        known = [] if side.asked is None else side.asked.keys()
        hint = did_you_mean(key, known) if known else "; they have no metadata"
        raise ConfigError(f"--align {key}: no sample of {name} has {key!r} in its metadata{hint}")
    samples = side.scores.samples
    for value, places in (found := _places_by(side.scores, values)).items():
        if len(places) > 1:
            first, second = (samples[place] for place in places[:2])
            raise ConfigError(
                f"--align {key}: samples {first} and {second} of {name} both have {value!r} there; a key must be "
                "different for each sample of a run"
            )
    return {value: places[0] for value, places in found.items()}


def _places_by(scores: RunScores, values: Mapping[str, Any]) -> dict[Any, list[int]]:
    """Value -> places of the samples that have it, in order; a sample without one has no place."""
    found: dict[Any, list[int]] = {}
    for place, ident in enumerate(scores.samples):
        if ident in values:
            found.setdefault(values[ident], []).append(place)
    return found


def _alignment(pairs: Sequence[tuple[int, int]], by: str, notes: tuple[str, ...] = ()) -> SampleAlignment:
    import numpy as np

    places = np.asarray(pairs, dtype=int).reshape(-1, 2)
    return SampleAlignment(places[:, 0], places[:, 1], by, notes)
