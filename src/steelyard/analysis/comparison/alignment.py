"""Which samples of two runs make a pair, how many do, and why the others do not.

`id`        the ids of both datasets are the same names for the same samples: the usual case
`content`   other ids, equal input, reference, choices and contexts: a dataset that was numbered again
a key       a field of the samples' metadata that names them in both datasets

By default samples are paired by id, or by content where hardly any id is shared and more contents are. Between two
versions of a dataset, samples that kept their id but changed their content are left out as long as most are unchanged,
since the runs answered different questions there. Where most differ, it is not an edit of some samples, and all are
paired with a warning; so are those of one file, whose options a suite may have put in another order. Samples with equal
content within a run are paired in order, as equal questions are exchangeable; a key that two samples of a run share is
refused, since it does not say which of them to pair.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-pairs.md

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np

from steelyard.analysis.comparison.sample_scores import SAMPLE_STATES, STATE_CODES, RunBySample, SampleState
from steelyard.analysis.run_data import RunBodies, RunData
from steelyard.analysis.scores.score_summary_values import Over
from steelyard.errors import ConfigError, did_you_mean
from steelyard.escaping import cell_text
from steelyard.plain_json import grouped, to_json
from steelyard.stats.arrays import Array
from steelyard.types import Sample

ID: Final = "id"
CONTENT: Final = "content"
_HARDLY_ANY: Final = 0.1
"""Below this share of common ids (of the smaller run's), equal ids are not taken for the same sample."""


@dataclass(frozen=True, slots=True)
class AlignedRuns:
    """Two runs, and which of their samples make a pair, in order of the baseline.

    Args:
        baseline: the first run.
        other: the second.
        first: indices of the baseline's samples that are paired.
        second: indices of the other run's samples, in the same order.
        by: `id`, `content` or the key.
        notes: what a reader must know about it, one sentence each.
        edited: indices, in both runs, of samples that share an id but are not paired because their content changed;
            None where there are none.
    """

    baseline: RunBySample
    other: RunBySample
    first: Array
    second: Array
    by: str
    notes: tuple[str, ...] = ()
    edited: tuple[Array, Array] | None = None

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two runs in sentences: their targets, with the run ids where the targets are equal."""
        return names_of(self.baseline.run, self.other.run)


def names_of(baseline: RunData, other: RunData) -> tuple[str, str]:
    """The names of two runs in sentences: their targets, with the run ids where the targets are equal."""
    if baseline.target != other.target:
        return baseline.target, other.target
    return f"{baseline.target} ({baseline.id})", f"{other.target} ({other.id})"


def align(baseline: RunBySample, other: RunBySample, by: str) -> AlignedRuns:
    """Pair the samples of two runs.

    Args:
        baseline: the first run.
        other: the second.
        by: `id`, `content`, a key of the samples' metadata, or "" for the default (see the module).

    Raises:
        ConfigError: no sample of a run has that key, or two samples of one run have the same value there.
    """
    if by == ID:
        return _by_id(baseline, other)
    if by == CONTENT:
        return _by_content(baseline, other)
    if by:
        return _by_key(baseline, other, by)
    by_id = _by_id(baseline, other)
    smaller = min(len(baseline.samples), len(other.samples))
    if len(by_id.first) >= _HARDLY_ANY * smaller or not smaller:
        return _without_changed(by_id)
    contents = _by_content(baseline, other)
    if len(contents.first) <= len(by_id.first):
        return by_id
    shared = f"{len(by_id.first)} of {smaller}" if len(by_id.first) else "none"
    note = (
        f"{' and '.join(by_id.names)} share {shared} of their samples' ids, so samples with equal content are paired; "
        f"--align id pairs by id."
    )
    return replace(contents, notes=(note, *contents.notes))


def _by_id(baseline: RunBySample, other: RunBySample) -> AlignedRuns:
    index_of = other.index_of()
    second = np.array([index_of.get(ident, -1) for ident in baseline.samples], dtype=np.int64)
    first = np.flatnonzero(second >= 0)
    return AlignedRuns(baseline, other, first, second[first], ID)


def _without_changed(runs: AlignedRuns) -> AlignedRuns:
    """The pairs without samples whose content changed between two versions of a dataset, if those are a minority."""
    if same_file(runs.baseline, runs.other):
        return runs
    changed = _changed(runs.baseline, runs.other, runs.first, runs.second)
    if not changed.any() or 2 * changed.sum() >= len(changed):
        return runs
    edited = runs.first[changed], runs.second[changed]
    return replace(runs, first=runs.first[~changed], second=runs.second[~changed], edited=edited)


def same_file(baseline: RunBySample, other: RunBySample) -> bool:
    """Whether both runs used a file with the same content."""
    first, second = (dataset_file(side.run.manifest) for side in (baseline, other))
    return bool(first and second and first[1] == second[1])


def dataset_file(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """Name and hash of the one file that a run's samples came from; None where they came from elsewhere.

    >>> dataset_file({"samples": {"source": {"file": {"file": "a.csv", "digest": "12"}}}})
    ('a.csv', '12')
    """
    part: Any = manifest
    for key in ("samples", "source", "file"):
        part = part.get(key) if isinstance(part, Mapping) else None
    return (str(part["file"]), str(part["digest"])) if isinstance(part, Mapping) and part.get("digest") else None


def _changed(baseline: RunBySample, other: RunBySample, first: Array, second: Array) -> Array:
    """Per pair with a common id, whether the content differs; group and metadata do not count as content."""
    if baseline.run.bodies and other.run.bodies and baseline.run.hashes is not None and other.run.hashes is not None:
        hashes = baseline.run.hashes[baseline.numbers[first]], other.run.hashes[other.numbers[second]]
        changed = np.asarray(hashes[0] != hashes[1])
        if not changed.any():  # the usual case, without reading a sample
            return changed
        before, after = contents_of(baseline, other)
    else:
        changed = np.ones(len(first), dtype=bool)
        before, after = baseline.hashes(), other.hashes()
    for index in np.flatnonzero(changed).tolist():
        pair = (before.get(baseline.samples[first[index]]), after.get(other.samples[second[index]]))
        changed[index] = None not in pair and pair[0] != pair[1]
    return changed


def _by_content(baseline: RunBySample, other: RunBySample) -> AlignedRuns:
    before, after = (
        _indices_by(side, content_of)
        for side, content_of in zip((baseline, other), contents_of(baseline, other), strict=True)
    )
    shared = [(indices, after[content]) for content, indices in before.items() if content in after]
    pairs = sorted(pair for sides in shared for pair in zip(*sides, strict=False))
    several = sum(max(map(len, sides)) > 1 for sides in shared)
    notes: tuple[str, ...] = ()
    if several:
        questions = "1 question occurs" if several == 1 else f"{several} questions occur"
        notes = (f"{questions} more than once in a run; they are paired in order.",)
    return AlignedRuns(baseline, other, *_columns(pairs), CONTENT, notes)


def contents_of(*sides: RunBySample) -> list[Mapping[str, str]]:
    """Per side, sample id -> hash of its content; with the id in it where one of the runs is not a stored run."""
    bodies = [side.run.bodies for side in sides if side.run.bodies is not None]
    return [*map(contents, bodies)] if len(bodies) == len(sides) else [side.hashes() for side in sides]


def contents(bodies: RunBodies) -> dict[str, str]:
    """Sample id -> hash of input, reference, choices and contexts; without id, group and metadata."""
    return {sample.id: _content(sample) for sample in bodies.samples(None)}


def _content(sample: Sample) -> str:
    body = to_json([sample.input, sample.reference, sample.choices, sample.contexts])
    return blake2b(body, digest_size=8).hexdigest()


def _by_key(baseline: RunBySample, other: RunBySample, key: str) -> AlignedRuns:
    names = names_of(baseline.run, other.run)
    before, after = (_unique(side, key, name) for side, name in zip((baseline, other), names, strict=True))
    pairs = [(index, after[value]) for value, index in before.items() if value in after]
    return AlignedRuns(baseline, other, *_columns(pairs), key)


def _unique(side: RunBySample, key: str, name: str) -> dict[str, int]:
    """Value of the key -> index of its sample; refused where two samples share a value."""
    bodies = side.run.bodies
    values = {} if bodies is None else metadata_values(bodies, key)
    if not values:
        known = [] if bodies is None else metadata_keys(bodies)
        hint = did_you_mean(key, known) if known else "; they have no metadata"
        raise ConfigError(f"--align {key}: no sample of {name} has {key!r} in its metadata{hint}")
    samples = side.samples
    for value, indices in (indices_by_value := _indices_by(side, values)).items():
        if len(indices) > 1:
            first, second = (samples[index] for index in indices[:2])
            raise ConfigError(
                f"--align {key}: samples {first} and {second} of {name} both have {value!r} there; a key must be "
                "different for each sample of a run"
            )
    return {value: indices[0] for value, indices in indices_by_value.items()}


def metadata_values(bodies: RunBodies, key: str) -> dict[str, str]:
    """Sample id -> its metadata at `key` as text; no entry where it has none."""
    return {
        sample.id: cell_text(sample.metadata[key])
        for sample in bodies.samples(None)
        if sample.metadata.get(key) is not None
    }


def metadata_keys(bodies: RunBodies) -> list[str]:
    """Keys of the samples' metadata, in order of first appearance."""
    return list(dict.fromkeys(key for sample in bodies.samples(None) for key in sample.metadata))


def _indices_by(side: RunBySample, values: Mapping[str, Any]) -> dict[Any, list[int]]:
    """Value -> indices of the samples that have it, in order; samples without a value are left out."""
    return grouped((values[ident], index) for index, ident in enumerate(side.samples) if ident in values)


def _columns(pairs: Sequence[tuple[int, int]]) -> tuple[Array, Array]:
    indices = np.asarray(pairs, dtype=int).reshape(-1, 2)
    return indices[:, 0], indices[:, 1]


class UnpairedSamples(NamedTuple):
    """Samples that make no pair for the same reason: what each of the two runs has for them.

    Args:
        baseline: what the baseline has; likewise `other`.
        n: how many they are.
        samples: their ids, in the baseline where it has them.
    """

    baseline: SampleState
    other: SampleState
    n: int
    samples: tuple[str, ...]


class SampleOverlap(NamedTuple):
    """How many samples two runs share, and why others make no pair.

    Args:
        n_paired: samples behind the headline.
        unpaired: all others for which a run has the headline's score, an entry for each reason.
        changed_content: samples with the same id but other content, left out or not.
        shared_replies: samples for which both runs used the same stored reply.
        aligned: what made two samples a pair: `id`, `content`, or a key of their metadata.
    """

    n_paired: int
    unpaired: tuple[UnpairedSamples, ...]
    changed_content: int
    shared_replies: int
    aligned: str

    def n_unpaired(self, *, baseline: SampleState | None = None, other: SampleState | None = None) -> int:
        """Samples without a pair for which the runs have this; None is anything."""
        return sum(
            part.n for part in self.unpaired if baseline in {None, part.baseline} and other in {None, part.other}
        )


def overlap_of(runs: AlignedRuns, score: str, over: Over, paired: int) -> SampleOverlap:
    """How many samples the runs share on the headline.

    Args:
        runs: the two runs.
        score: the headline's name, `over` what it is over.
        over: likewise.
        paired: samples with a value on both sides.
    """
    before, after = runs.baseline.sums_of(score).rows, runs.other.sums_of(score).rows
    first, second = runs.first, runs.second
    has_rows = (before[first] > 0) & (after[second] > 0)
    shared = first[has_rows], second[has_rows]
    unpaired = tuple(_unpaired_samples(runs, score, over))
    return SampleOverlap(
        n_paired=paired,
        unpaired=unpaired,
        changed_content=_changed_content(runs, shared) + sum(part.n for part in unpaired if part.other == "changed"),
        shared_replies=_shared_replies(runs, shared),
        aligned=runs.by,
    )


def _unpaired_samples(runs: AlignedRuns, score: str, over: Over) -> Iterator[UnpairedSamples]:
    """The samples that make no pair on a score, by what the two runs have for them."""
    baseline, other = runs.baseline, runs.other
    before, after = (run.sums_of(score).states(over) for run in (baseline, other))
    yield from _alike(baseline, runs.first, before[runs.first], after[runs.second])
    edited = (runs.first[:0], runs.second[:0]) if runs.edited is None else runs.edited
    states = np.stack([before[edited[0]], after[edited[1]]])
    states[:, (states != STATE_CODES["no_score"]).all(axis=0)] = STATE_CODES["changed"]
    yield from _alike(baseline, edited[0], *states)
    for run, against, own, counted in (
        (baseline, other, before, (runs.first, edited[0])),
        (other, baseline, after, (runs.second, edited[1])),
    ):
        alone = np.setdiff1d(np.arange(len(own)), np.concatenate(counted))
        without = _without_scores(against) if len(alone) and runs.by == ID else frozenset()
        lacking = [STATE_CODES["no_score" if ident in without else "absent"] for ident in run.ids(alone)]
        states = np.stack([own[alone], np.array(lacking, dtype=own.dtype)])
        yield from _alike(run, alone, *(states if run is baseline else states[::-1]))


def _alike(run: RunBySample, indices: Array, baseline: Array, other: Array) -> Iterator[UnpairedSamples]:
    """The samples of a run with these indices that make no pair, by what is known of both sides."""
    size = len(SAMPLE_STATES)
    both = baseline * size + other
    for code in np.unique(both).tolist():
        states = SAMPLE_STATES[code // size], SAMPLE_STATES[code % size]
        if states != ("scored", "scored") and not {*states} <= {"no_score", "absent"}:
            alike = indices[both == code]
            yield UnpairedSamples(*states, len(alike), tuple(run.ids(alike)))


def _without_scores(run: RunBySample) -> frozenset[str]:
    """Ids of the samples whose records have no score at all, so that the columns have no row of them."""
    rows, records = run.run.scores, run.run.records
    numbers = np.setdiff1d(records.sample, rows.sample).tolist() if records is not None else []
    return frozenset(rows.samples[number] for number in numbers)


SampleIndices = tuple[Array, Array]
"""Samples of two runs by their indices, one of each run at each place."""


def _changed_content(runs: AlignedRuns, shared: SampleIndices) -> int:
    """Pairs whose content differs. A sample's hash covers its id, so pairs of other ids need the content hash."""
    baseline, other, by = runs.baseline, runs.other, runs.by
    if by == CONTENT:
        return 0
    if by == ID:
        return int(_changed(baseline, other, shared[0], shared[1]).sum())
    before, after = contents_of(baseline, other)
    ids = zip(baseline.ids(shared[0]), other.ids(shared[1]), strict=True)
    hashes = ((before.get(first), after.get(second)) for first, second in ids)
    return sum(None not in pair and pair[0] != pair[1] for pair in hashes)


def _shared_replies(runs: AlignedRuns, shared: SampleIndices) -> int:
    """Pairs for which both runs used the same reply of the journal."""
    before, after = runs.baseline.run.records, runs.other.run.records
    if before is None or after is None:
        return 0
    numbers = runs.baseline.numbers[shared[0]], runs.other.numbers[shared[1]]
    return shared_replies(before.last_keys(), after.last_keys(), numbers)


Replies = tuple[Array, Array]
"""The target's last replies to the samples of a run: for each the number of its sample, and a row with its key."""


def shared_replies(first: Replies, second: Replies, pairs: tuple[Array, Array]) -> int:
    """Pairs in which both sides have a reply with the same key.

    Args:
        first: of the first run.
        second: of the second.
        pairs: the samples of each pair, by their numbers in the first and in the second.

    >>> import numpy as np
    >>> keys = np.arange(30, dtype=np.uint8).reshape(3, 10)
    >>> first, second = (np.arange(3), keys), (np.arange(3), keys[[0, 2, 1]])
    >>> same = np.arange(3)
    >>> shared_replies(first, second, (same, same)), shared_replies(first, second, (same, np.array([0, 2, 1])))
    (1, 3)
    """
    before, after = _keys_by_sample(*first), _keys_by_sample(*second)
    numbers = zip(*(side.tolist() for side in pairs), strict=True)
    return sum(not before[number].isdisjoint(after[other]) for number, other in numbers)


def _keys_by_sample(samples: Array, keys: Array) -> dict[int, set[bytes]]:
    by_sample: dict[int, set[bytes]] = defaultdict(set)
    for number, key in zip(samples.tolist(), keys, strict=True):
        by_sample[number].add(key.tobytes())
    return by_sample
