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
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from steelyard.compare.answers import Answers, read_answers
from steelyard.compare.comparison import ComparableRun
from steelyard.errors import ConfigError, did_you_mean
from steelyard.summary import RunSummary, ScoreColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from steelyard.compare.costs import SampleCosts

    Places = NDArray[Any]

ID: Final = "id"
CONTENT: Final = "content"
_HARDLY_ANY: Final = 0.1
"""Where less than this share of the smaller run's ids is in the other, ids are taken for names of something else."""


class AskedSamples(Protocol):
    """What a stored run asked beside its scores; `steelyard.store.asked.Asked` is one. Samples have numbers."""

    @property
    def numbered_hashes(self) -> Places:
        """Per sample, the hash of its content, the id included."""

    def hashes(self) -> Mapping[str, str]:
        """The same by sample id, as texts."""

    def last_keys(self) -> tuple[Places, Places]:
        """The journal's keys of the last reply that the target got in each repeat, and numbers of their samples."""

    def costs(self, numbers: Places, /) -> Mapping[int, SampleCosts]:
        """Number -> what these samples took."""

    def contents(self) -> Mapping[str, str]:
        """Sample id -> hash of what it asks and wants."""

    def values(self, key: str, /) -> Mapping[str, str]:
        """Sample id -> its metadata at `key` as text."""

    def keys(self) -> Sequence[str]:
        """Keys of the samples' metadata."""


@dataclass(frozen=True, slots=True)
class Side:
    """One run with what a comparison reads of it, read once.

    Args:
        run: the run.
        summary: its summary.
        answers: its scores.
        asked: what it asked; None where the run is not a stored one.
    """

    run: ComparableRun
    summary: RunSummary
    answers: Answers
    asked: AskedSamples | None

    @classmethod
    def of(cls, run: ComparableRun, summary: RunSummary, groups: Sequence[str] = ()) -> Side:
        """Read a run, or its samples of some groups alone."""
        # Where a comparison is to be of one moment, scores and what was asked for them are read together.
        columns: Callable[[], tuple[ScoreColumns, AskedSamples]] | None = getattr(run, "columns", None)
        if columns is None:
            return cls(run, summary, read_answers(ScoreColumns.of(run.score_rows()), groups), None)
        scores, asked = columns()
        return cls(run, summary, read_answers(scores, groups), asked)

    def hashes(self) -> Mapping[str, str]:
        """Sample id -> hash of its content, the id included; nothing where that is not known."""
        return self.run.sample_hashes() if self.asked is None else self.asked.hashes()


class Alignment(NamedTuple):
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


def align(baseline: Side, other: Side, by: str, names: tuple[str, str]) -> Alignment:
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
    found = _by_id(baseline, other)
    smaller = min(len(baseline.answers.samples), len(other.answers.samples))
    if len(found.first) >= _HARDLY_ANY * smaller or not smaller:
        return found
    contents = _by_content(baseline, other)
    if len(contents.first) <= len(found.first):
        return found
    shared = f"{len(found.first)} of {smaller}" if len(found.first) else "none"
    note = (
        f"{names[0]} and {names[1]} share {shared} of their samples' ids, so samples with equal content are paired; "
        f"--align id pairs by id."
    )
    return contents._replace(notes=(note, *contents.notes))


def _by_id(baseline: Side, other: Side) -> Alignment:
    import numpy as np

    samples = baseline.answers.samples
    if samples is other.answers.samples:
        both = np.arange(len(samples))
        return Alignment(both, both, ID)
    there = other.answers.places()
    second = np.fromiter((there.get(ident, -1) for ident in samples), dtype=np.int64, count=len(samples))
    first = np.flatnonzero(second >= 0)
    return Alignment(first, second[first], ID)


def _by_content(baseline: Side, other: Side) -> Alignment:
    contents = contents_of(baseline, other)
    before, after = (_places_by(side.answers, found) for side, found in zip((baseline, other), contents, strict=True))
    shared = [(places, after[content]) for content, places in before.items() if content in after]
    pairs = sorted(pair for sides in shared for pair in zip(*sides, strict=False))
    several = sum(max(map(len, sides)) > 1 for sides in shared)
    notes: tuple[str, ...] = ()
    if several:
        questions = "1 question stands" if several == 1 else f"{several} questions stand"
        notes = (f"{questions} in a run more than once; they are paired in order.",)
    return _alignment(pairs, CONTENT, notes)


def contents_of(*sides: Side) -> list[Mapping[str, str]]:
    """Per side, sample id -> hash of what it asks; of all its content where one of them is not a stored run."""
    asked = [side.asked for side in sides if side.asked is not None]
    return [one.contents() for one in asked] if len(asked) == len(sides) else [side.hashes() for side in sides]


def _by_key(baseline: Side, other: Side, key: str, names: tuple[str, str]) -> Alignment:
    before, after = (_unique(side, key, name) for side, name in zip((baseline, other), names, strict=True))
    return _alignment([(place, after[value]) for value, place in before.items() if value in after], key)


def _unique(side: Side, key: str, name: str) -> dict[str, int]:
    """Value at the key -> place; refused where the key does not tell the samples apart."""
    values = {} if side.asked is None else side.asked.values(key)
    if not values:
        known = [] if side.asked is None else side.asked.keys()
        hint = did_you_mean(key, known) if known else "; they have no metadata"
        raise ConfigError(f"--align {key}: no sample of {name} has {key!r} in its metadata{hint}")
    samples = side.answers.samples
    for value, places in (found := _places_by(side.answers, values)).items():
        if len(places) > 1:
            first, second = (samples[place] for place in places[:2])
            raise ConfigError(
                f"--align {key}: samples {first} and {second} of {name} both have {value!r} there; a key must be "
                "different for each sample of a run"
            )
    return {value: places[0] for value, places in found.items()}


def _places_by(answers: Answers, values: Mapping[str, Any]) -> dict[Any, list[int]]:
    """Value -> places of the samples that have it, in order; a sample without one has no place."""
    found: dict[Any, list[int]] = {}
    for place, ident in enumerate(answers.samples):
        if ident in values:
            found.setdefault(values[ident], []).append(place)
    return found


def _alignment(pairs: Sequence[tuple[int, int]], by: str, notes: tuple[str, ...] = ()) -> Alignment:
    import numpy as np

    places = np.asarray(pairs, dtype=int).reshape(-1, 2)
    return Alignment(places[:, 0], places[:, 1], by, notes)
