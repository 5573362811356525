"""Which two are judged side by side: all against all, all against one, or the pairs that were named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, Literal

from steelyard.errors import ConfigError, did_you_mean

Pairs = Literal["round_robin"] | Sequence[Sequence[str]]

_MOST_BYTES: Final = 150
"""As for other targets: the name of a run becomes that of a file."""


def pairs_of(sides: Sequence[str], pairs: Pairs, against: str) -> list[tuple[str, str]]:
    """Every pair, side A first.

    Args:
        sides: the names of those that answered, in order.
        pairs: `round_robin` is each with each, the earlier one first; else a list of two names each.
        against: the one that every other is compared with; it is side B then. "" is none.

    Raises:
        ConfigError: fewer than two sides, a name that is none of them, a pair twice, or both `pairs` and `against`.

    >>> pairs_of(["a", "b", "c"], "round_robin", "")
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    >>> pairs_of(["base", "new", "newer"], "round_robin", "base")
    [('new', 'base'), ('newer', 'base')]
    """
    if len(sides) < 2:
        raise ConfigError(f"a preference is between two: name two or more targets or runs, not {len(sides)}")
    if not isinstance(pairs, str):
        if against:
            raise ConfigError("give pairs or against, not both")
        return _named(sides, pairs)
    if pairs != "round_robin":
        raise ConfigError(f"pairs: expected 'round_robin' or a list of pairs of names, but got {pairs!r}")
    if not against:
        return list(combinations(sides, 2))
    if against not in sides:
        raise ConfigError(f"against: there is no target or run {against!r}{did_you_mean(against, sides)}")
    return [(one, against) for one in sides if one != against]


def _named(sides: Sequence[str], pairs: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise ConfigError(f"pairs: each is two different names, as [new, old], not {pair!r}")
        for name in pair:
            if name not in sides:
                raise ConfigError(f"pairs: there is no target or run {name!r}{did_you_mean(str(name), sides)}")
        if any(set(pair) == set(other) for other in found):
            raise ConfigError(f"pairs: {pair[0]} and {pair[1]} are named twice")
        found.append((pair[0], pair[1]))
    if not found:
        raise ConfigError("pairs: the list is empty")
    return found


def pair_names(pairs: Sequence[tuple[str, str]], sides: Sequence[str]) -> list[str]:
    """The names of the judging runs.

    Raises:
        ConfigError: two would have one name, one has that of a target, or it is too long for a file's name.

    >>> pair_names([("a", "b")], ["a", "b"])
    ['a vs b']
    """
    names = [f"{first} vs {second}" for first, second in pairs]
    for name in names:
        if names.count(name) > 1 or name in sides:
            raise ConfigError(f"two runs would be named {name!r}: rename a target")
        if len(name.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
            raise ConfigError(f"the name {name[:60]!r}... is longer than {_MOST_BYTES} bytes: rename a target")
    return names
