"""Which models can be compared at all: the graph of who met whom, and of who beat whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def linked(wins: Array) -> tuple[tuple[int, ...], ...]:
    """Sets of models linked by battles, each in order, by their first model.

    Between two of these sets nothing was ever compared, so no rating of the one says anything about the other.

    Args:
        wins: n x n, `wins[a, b]` > 0 where a has beaten b or tied with it.

    >>> import numpy as np
    >>> linked(np.array([[0, 0, 2], [0, 0, 0], [0, 0, 0]]))
    ((0, 2), (1,))
    """
    met = (wins > 0) | (wins.T > 0)
    return _peeled(met, met)


def strongly_connected(wins: Array) -> tuple[tuple[int, ...], ...]:
    """Largest sets in which every model has beaten every other, directly or along a chain; by their first model.

    The likelihood of Bradley and Terry has a maximum, and only one, exactly where there is a single such set: if one
    part never loses to the rest, its ratings can always grow.

    Source: L. R. Ford, "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64,
    1957.

    >>> import numpy as np
    >>> strongly_connected(np.array([[0, 1, 2], [1, 0, 2], [0, 0, 0]]))
    ((0, 1), (2,))
    """
    beat = wins > 0
    return _peeled(beat, beat.T)


def _peeled(forward: Array, backward: Array) -> tuple[tuple[int, ...], ...]:
    """Take a model's set off, then look at what it reaches, what reaches it, and the rest, each by itself."""
    import numpy as np

    found, waiting = [], [np.arange(len(forward))]
    while waiting:
        left = waiting.pop()
        if not len(left):
            continue
        # The middle one halves a chain in which each model beats all that follow.
        start = len(left) // 2
        ahead = _reached(forward[np.ix_(left, left)], start)
        behind = ahead if forward is backward else _reached(backward[np.ix_(left, left)], start)
        found.append(tuple(int(model) for model in left[ahead & behind]))
        waiting += [left[ahead & ~behind], left[behind & ~ahead], left[~ahead & ~behind]]
    return tuple(sorted(found))


def _reached(edges: Array, start: int) -> Array:
    import numpy as np

    seen = np.zeros(len(edges), dtype=bool)
    seen[start] = True
    new = seen.copy()
    while new.any():
        new = edges[new].any(axis=0) & ~seen
        seen |= new
    return seen
