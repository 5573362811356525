"""The key of a multiple-choice question as a text: letters, or alternatives of which any is right.

`AC` is a set: both letters are wanted. `A or C` are alternatives: A alone is right, and so is C alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

OR: Final = " or "
"""Between the alternatives of a key."""


def alternatives(key: str) -> tuple[str, ...]:
    """The letters of each alternative of a key; one where it has none.

    >>> alternatives("A or C"), alternatives("AC")
    (('A', 'C'), ('AC',))
    """
    return tuple(key.split(OR))


def key_of_alternatives(readings: Iterable[str]) -> str:
    """The key for which any of several readings is right; each is sorted letters.

    >>> key_of_alternatives(["C", "A", "C"])
    'A or C'
    """
    return OR.join(sorted(set(readings)))


def solves(letters: str, key: str) -> bool:
    """Whether sorted letters are what a key wants.

    >>> solves("C", "A or C"), solves("AC", "A or C"), solves("AC", "AC")
    (True, False, True)
    """
    return letters in alternatives(key)


def wants_several(key: str) -> bool:
    """Whether a key wants several letters together.

    >>> wants_several("AC"), wants_several("A or C")
    (True, False)
    """
    return any(len(letters) > 1 for letters in alternatives(key))


def chance_to_solve(key: str, options: int) -> float:
    """How often guessing solves a question: k / n for k single letters of n options, and k / (2^n - 1) for k sets.

    >>> chance_to_solve("A or C", 4), chance_to_solve("AC", 2)
    (0.5, 0.3333333333333333)
    """
    return len(alternatives(key)) / (2**options - 1 if wants_several(key) else options)
