"""The key of a multiple-choice question as a text: letters, or alternatives of which any is right.

`AC` is a set: both letters are wanted. `A or C` are alternatives: A alone is right, and so is C alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

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


Credit = Literal["all", "subset", "per_option", "jaccard"]
"""How much of a question an answer with several letters solves, see `credit_of`."""


def credit_of(letters: str, key: str, options: int, credit: Credit) -> float:
    """The share of a question that an answer solves; of alternative keys the best one counts.

    `all` is 1 for exactly the wanted letters, else 0. `subset` is the share of the wanted letters that were given, and
    0 with a wrong one. `per_option` is the share of the options, chosen or not, that agree with the key. `jaccard` is
    the share of the letters given or wanted that are both.

    Args:
        letters: of the answer, each once.
        key: what the question wants.
        options: how many the question has.
        credit: the scheme.

    >>> [credit_of("AB", "AC", 4, credit) for credit in ("all", "subset", "per_option")]
    [0.0, 0.0, 0.5]
    >>> credit_of("A", "AC", 4, "subset"), round(credit_of("AB", "AC", 4, "jaccard"), 3)
    (0.5, 0.333)
    """
    return max(_credit(set(letters), set(wanted), options, credit) for wanted in alternatives(key))


def _credit(letters: set[str], wanted: set[str], options: int, credit: Credit) -> float:
    if credit == "subset":
        return len(letters) / len(wanted) if letters <= wanted else 0.0
    if credit == "per_option":
        return 1 - len(letters ^ wanted) / options
    if credit == "jaccard":
        return len(letters & wanted) / len(letters | wanted)
    return float(letters == wanted)


def points_of(letters: str, key: str, options: int, credit: Credit, lowest: float) -> float:
    """The share of a question's points that an answer gets: its credit, or the deduction where it has none.

    Args:
        letters: of the answer.
        key: what the question wants.
        options: how many the question has.
        credit: the scheme.
        lowest: minus the deduction over the points of the question.

    >>> points_of("B", "B", 4, "all", -0.5), points_of("A", "B", 4, "all", -0.5)
    (1.0, -0.5)
    """
    return credit_of(letters, key, options, credit) or lowest


def chance_to_solve(key: str, options: int) -> float:
    """How often guessing solves a question: k / n for k single letters of n options, and k / (2^n - 1) for k sets.

    >>> chance_to_solve("A or C", 4), chance_to_solve("AC", 2)
    (0.5, 0.3333333333333333)
    """
    return len(alternatives(key)) / (2**options - 1 if wants_several(key) else options)
