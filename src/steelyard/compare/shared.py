"""For how many samples two runs hold the same reply of the journal: there the two were not asked independently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_HEAD: Final = 8
"""Bytes of a key that numbers of 64 bits hold: hashes that differ mostly differ in these."""


class LastReplies(NamedTuple):
    """What a target's last replies to samples were.

    Args:
        samples: a number per reply.
        keys: the journal's, a row of at least 8 bytes per reply.
    """

    samples: Array
    keys: Array


def shared_replies(one: LastReplies, other: LastReplies, pairs: tuple[Array, Array]) -> int:
    """Pairs in which both sides have a reply with the same key.

    Args:
        one: of the first run.
        other: of the second.
        pairs: the samples of each pair, by their numbers in the first and in the second.

    >>> import numpy as np
    >>> keys = np.arange(30, dtype=np.uint8).reshape(3, 10)
    >>> one, other = LastReplies(np.arange(3), keys), LastReplies(np.arange(3), keys[[0, 2, 1]])
    >>> same = np.arange(3)
    >>> shared_replies(one, other, (same, same)), shared_replies(one, other, (same, np.array([0, 2, 1])))
    (1, 3)
    """
    import numpy as np

    heads = [np.ascontiguousarray(side.keys[:, :_HEAD]).view(np.uint64)[:, 0] for side in (one, other)]
    both = np.sort(np.concatenate(heads))
    if not (both[1:] == both[:-1]).any():
        return 0
    there = np.isin(heads[0], heads[1])
    near = np.isin(heads[1], heads[0])
    found = _by_pair(one, pairs[0], there) & _by_pair(other, pairs[1], near)
    return len({pair for pair, _ in found})


def _by_pair(side: LastReplies, samples: Array, chosen: Array) -> set[tuple[int, bytes]]:
    """(pair, key) of the chosen replies."""
    import numpy as np

    pair = np.full(int(max(side.samples.max(initial=-1), samples.max(initial=-1))) + 1, -1)
    pair[samples] = np.arange(len(samples))
    numbers = pair[side.samples[chosen]].tolist()
    width = side.keys.shape[1]
    data = side.keys[chosen].tobytes()
    keys = (data[at : at + width] for at in range(0, len(data), width))
    return {(number, key) for number, key in zip(numbers, keys, strict=True) if number >= 0}
