"""Which samples two runs share on a score: pairs, samples of one run alone, changed contents, and shared replies.

Where both runs hold the same reply of the journal for a sample, the two were not asked independently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.alignment import CONTENT, ID, AlignedRuns, contents_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_HEAD: Final = 8
"""Bytes of a key that numbers of 64 bits hold: hashes that differ mostly differ in these."""


class SampleOverlap(NamedTuple):
    """How many samples two runs share, and why others make no pair; the fields are those of PairComparison."""

    n_paired: int
    only_in_baseline: int
    only_in_other: int
    left_out_errors: int
    left_out_not_applicable: int
    changed_content: int
    shared_replies: int


class SharedSamples(NamedTuple):
    """Places of the aligned samples for which both runs have rows of a score, and how many of them failed on a side."""

    first: Array
    second: Array
    errors: int


def shared_samples(runs: AlignedRuns, score: str) -> SharedSamples:
    """The samples for which both runs have rows of a score, whatever their outcome."""
    before, after = runs.baseline.scores.sums_of(score), runs.other.scores.sums_of(score)
    alignment = runs.alignment
    both = (before.rows[alignment.first] > 0) & (after.rows[alignment.second] > 0)
    first, second = alignment.first[both], alignment.second[both]
    failed = ((before.errors > 0) & (before.read == 0))[first] | ((after.errors > 0) & (after.read == 0))[second]
    return SharedSamples(first, second, int(failed.sum()))


def overlap_of(runs: AlignedRuns, score: str, paired: int) -> SampleOverlap:
    """How many samples the runs share on the headline.

    Args:
        runs: the two runs.
        score: the headline's name.
        paired: samples with a value on both sides.
    """
    shared = shared_samples(runs, score)
    rows = [int((run.scores.sums_of(score).rows > 0).sum()) for run in (runs.baseline, runs.other)]
    return SampleOverlap(
        n_paired=paired,
        only_in_baseline=rows[0] - len(shared.first),
        only_in_other=rows[1] - len(shared.first),
        left_out_errors=shared.errors,
        left_out_not_applicable=len(shared.first) - paired - shared.errors,
        changed_content=_changed_content(runs, shared),
        shared_replies=_shared_replies(runs, shared),
    )


def _changed_content(runs: AlignedRuns, shared: SharedSamples) -> int:
    """Pairs that do not ask the same; the hash of a sample holds its id, so that other ids need another one."""
    baseline, other, by = runs.baseline, runs.other, runs.alignment.by
    if by == CONTENT:
        return 0
    if by == ID and baseline.asked is not None and other.asked is not None:
        first, second = baseline.scores.numbers[shared.first], other.scores.numbers[shared.second]
        return int((baseline.asked.numbered_hashes[first] != other.asked.numbered_hashes[second]).sum())
    before, after = (baseline.hashes(), other.hashes()) if by == ID else contents_of(baseline, other)
    ids = zip(baseline.ids(shared.first), other.ids(shared.second), strict=True)
    hashes = ((before.get(first), after.get(second)) for first, second in ids)
    return sum(one is not None and two is not None and one != two for one, two in hashes)


def _shared_replies(runs: AlignedRuns, shared: SharedSamples) -> int:
    """Pairs in which both sides hold the same reply of the journal."""
    baseline, other = runs.baseline, runs.other
    if baseline.asked is not None and other.asked is not None:
        numbers = baseline.scores.numbers[shared.first], other.scores.numbers[shared.second]
        first, second = (LastReplies(*asked.last_keys()) for asked in (baseline.asked, other.asked))
        return shared_replies(first, second, numbers)
    before, after = baseline.run.reply_keys(), other.run.reply_keys()
    ids = zip(baseline.ids(shared.first), other.ids(shared.second), strict=True)
    return sum(not before.get(a, frozenset()).isdisjoint(after.get(b, frozenset())) for a, b in ids)


class LastReplies(NamedTuple):
    """The target's last replies to the samples of a run.

    Args:
        samples: a number per reply.
        keys: the journal's, a row of at least 8 bytes per reply.
    """

    samples: Array
    keys: Array


def shared_replies(first: LastReplies, second: LastReplies, pairs: tuple[Array, Array]) -> int:
    """Pairs in which both sides have a reply with the same key.

    Args:
        first: of the first run.
        second: of the second.
        pairs: the samples of each pair, by their numbers in the first and in the second.

    >>> import numpy as np
    >>> keys = np.arange(30, dtype=np.uint8).reshape(3, 10)
    >>> first, second = LastReplies(np.arange(3), keys), LastReplies(np.arange(3), keys[[0, 2, 1]])
    >>> same = np.arange(3)
    >>> shared_replies(first, second, (same, same)), shared_replies(first, second, (same, np.array([0, 2, 1])))
    (1, 3)
    """
    import numpy as np

    # Most runs share no reply: the heads alone tell that, without a Python object per key.
    heads = [np.ascontiguousarray(side.keys[:, :_HEAD]).view(np.uint64)[:, 0] for side in (first, second)]
    both = np.sort(np.concatenate(heads))
    if not (both[1:] == both[:-1]).any():
        return 0
    in_second = np.isin(heads[0], heads[1])
    in_first = np.isin(heads[1], heads[0])
    shared = _keys_by_pair(first, pairs[0], in_second) & _keys_by_pair(second, pairs[1], in_first)
    return len({pair for pair, _ in shared})


def _keys_by_pair(side: LastReplies, samples: Array, chosen: Array) -> set[tuple[int, bytes]]:
    """(pair, key) of the chosen replies."""
    import numpy as np

    pair = np.full(int(max(side.samples.max(initial=-1), samples.max(initial=-1))) + 1, -1)
    pair[samples] = np.arange(len(samples))
    numbers = pair[side.samples[chosen]].tolist()
    width = side.keys.shape[1]
    data = side.keys[chosen].tobytes()
    keys = (data[at : at + width] for at in range(0, len(data), width))
    return {(number, key) for number, key in zip(numbers, keys, strict=True) if number >= 0}
