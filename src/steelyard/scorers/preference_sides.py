"""What scorers of preferences compare: the two answers of a pair, or why there is nothing to compare."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, get_args

from steelyard.scorers.judges.summing_up import not_applicable
from steelyard.session.answers import answer_of
from steelyard.types import Output, Score

Side = Literal["A", "B"]
Label = Literal["A", "B", "tie", "inconsistent"]

VALUES: Final[Mapping[str, float]] = {"A": 1.0, "tie": 0.5, "inconsistent": 0.5, "B": 0.0}
"""The share of the win that falls to side A."""
_WHY: Final = ("error", "refused", "missing")
_ALIKE: Final = 0.95
_PIECE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|(?:(?![\u3040-\u30ff\u3400-\u9fff])\w)+|[^\w\s]")
_EDGES: Final = frozenset(".!?,;:…。！？，；：\"'“”‘’")


class Sides(NamedTuple):
    """The answers of both sides."""

    a: str
    b: str

    def shown(self, order: str) -> tuple[str, str]:
        """The answers by place: as they are for `AB`, changed over for `BA`."""
        return (self.a, self.b) if order == "AB" else (self.b, self.a)


def sides_of(name: str, output: Output) -> Sides | Score:
    """The two answers, or the score of a pair that nobody can judge.

    A blank answer is one, and is judged. A side that failed, refused or is missing has none: the score is then not
    applicable, with the side (`both` where it is both) and why in its detail.

    Args:
        name: of the score.
        output: of the target `pair`: its value holds the answers under `A` and `B`, its metadata what kept a side from
            answering (`failure`).

    >>> sides_of("preference", Output({"A": "Paris", "B": ""}))
    Sides(a='Paris', b='')
    """
    value = output.value
    if not isinstance(value, Mapping) or not set(get_args(Side)) <= set(value):
        return not_applicable(name, "the output is no pair of answers: preferences are of the target `pair`")
    told = {side: _failure(value[side], output.metadata.get(side)) for side in get_args(Side)}
    failed = [side for side, failure in told.items() if failure]
    if not failed:
        return Sides(*(answer_of(Output(value[side])) for side in get_args(Side)))
    why = [_why(told[side]) for side in failed]
    detail: dict[str, Any] = {"side": failed[0] if len(failed) == 1 else "both", "why": why[0]}
    if len(failed) == 2:
        detail["whys"] = dict(zip(failed, why, strict=True))
    reason = "; ".join(f"{side} gave no answer: {told[side]}" for side in failed)
    return Score(name, None, outcome="not_applicable", reason=reason, detail=detail)


def _failure(value: Any, about: Any) -> str:
    """What kept a side from answering; "" where it answered."""
    told = str(about.get("failure") or "") if isinstance(about, Mapping) else ""
    return told or ("missing" if value is None else "")


def _why(failure: str) -> str:
    word = failure.partition(":")[0].strip()
    return word if word in _WHY else "error"


def alike(sides: Sides) -> bool:
    """Whether two answers are the same, or nearly: such a pair says little about what made them.

    They are where their words and marks in order are the same, whatever case, blanks and marks at the ends; or where
    they share at least 95 % of the places where one word or mark follows another (in a text of 40 words, all but one).

    >>> alike(Sides("Paris.", "paris")), alike(Sides("x = 5", "x = -5")), alike(Sides("", "!!"))
    (True, False, True)
    """
    one, other = _pieces(sides.a), _pieces(sides.b)
    if one == other:
        return True
    first, second = (Counter(pairwise(["", *pieces, ""])) for pieces in (one, other))
    shared = (first & second).total()
    return 2 * shared >= _ALIKE * (first.total() + second.total())


def _pieces(text: str) -> Sequence[str]:
    found = _PIECE.findall(unicodedata.normalize("NFKC", text).casefold())
    kept = [place for place, piece in enumerate(found) if piece not in _EDGES]
    return found[kept[0] : kept[-1] + 1] if kept else []
