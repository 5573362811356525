"""What a question is worth: points, and the deduction for a wrong answer, as cells of an exam have them."""

# Why it is so, and what was rejected: docs/decisions/analysis-points.md

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final

from steelyard.data.table import render
from steelyard.normal_form import nfkc
from steelyard.scorers.choice import DEDUCTION, POINTS

_NUMBER: Final = re.compile(
    r"(?P<sign>[-+\u2212]?)(?P<number>\d{1,9}(?:\.\d{1,9})?)(?:/(?P<parts>[1-9]\d{0,5}))?"
    r"(?: ?(?:分|点|점|points?|pts?|marks?)\.?)?",
    re.IGNORECASE,
)
ROLES_OF_POINTS: Final = (POINTS, DEDUCTION)


def points_in(value: Any, role: str) -> float:
    """The number of points in a cell: `5`, `2.5`, `1/3`, `5分`, `5 points`; a blank deduction is 0.

    Args:
        value: the cell.
        role: `points` or `deduction`.

    Raises:
        ValueError: it is blank, no number, or negative; the message says what to write.

    >>> points_in("５分", "points"), points_in("1/4", "deduction"), points_in(None, "deduction")
    (5.0, 0.25, 0.0)
    """
    text = nfkc(render(value)).strip()
    if not text and role == DEDUCTION:
        return 0.0
    match = _NUMBER.fullmatch(text)
    if match is None:
        found = f"{text!r:.60} is not a number of points" if text else "it is blank"
        raise ValueError(f"{found}; write a number such as 5, 2.5 or 1/3, and 0 for none")
    number = float(Fraction(match["number"]) / int(match["parts"] or 1))
    if match["sign"] in {"-", "\u2212"} and number:
        raise ValueError(
            f"{text} is negative; write {number:g}: a wrong answer is deducted that much"
            if role == DEDUCTION
            else f"{text} is negative; write 0 or more, and what a wrong answer costs in a column for the deduction"
        )
    return number
