"""Judged pairs in the table of samples: both answers, and what each order said of them.

Everything is a text of the page's list of words; the page's script shows it as text nodes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from steelyard.analysis.preferences_values import SIDES
from steelyard.escaping import cell_text
from steelyard.report.numbers import kind_text
from steelyard.types import Record, Score

TOLD: Final = frozenset({"label", "orders", "side", "why", "alike", "by", "columns"})
"""Keys of a preference's detail that a page shows in words of its own."""

Place = Callable[[str], int]
"""A text -> its place among the page's words."""


def pair_of(record: Record, score: Score | None, place: Place) -> list[Any]:
    """The column `pair` of one record: per side its answer and what kept it from one, the orders, whether alike.

    Args:
        record: of a judging run.
        score: the preference; None where the record failed.
        place: finds a text's place among the words.

    Returns an empty list for an output that is no pair of answers.
    """
    output = record.output
    if output is None or not isinstance(output.value, Mapping) or not set(SIDES) <= output.value.keys():
        return []
    about = [output.metadata.get(side) for side in SIDES]
    sides = [_side(output.value[side], one, place) for side, one in zip(SIDES, about, strict=True)]
    detail = score.detail if score else {}
    orders = detail.get("orders")
    listed = [_order(one, place) for one in orders if isinstance(one, Mapping)] if isinstance(orders, list) else []
    return [*sides, listed, int(bool(detail.get("alike")))]


def _side(answer: Any, about: Any, place: Place) -> list[int]:
    """Words of the answer (-1 where there is none), of what went wrong, and of how the reply ended."""
    told = about if isinstance(about, Mapping) else {}
    finish = cell_text(told.get("finish"))
    text = -1 if answer is None else place(cell_text(answer))
    return [text, place(cell_text(told.get("failure"))), place("" if finish == "stop" else finish)]


def _order(order: Mapping[str, Any], place: Place) -> list[int]:
    """1 where A was shown first, the verdict, why it could not be read, the reason."""
    outcome = cell_text(order.get("outcome") or "scored")
    kind = cell_text(order.get("kind"))
    unread = "" if outcome == "scored" else f"{outcome} ({kind_text(kind)})" if kind else outcome
    shown_first = int(cell_text(order.get("shown")) != "BA")
    return [shown_first, place(cell_text(order.get("verdict"))), place(unread), place(cell_text(order.get("reason")))]


def preferred_name(score: Score, sides: Sequence[str]) -> str:
    """What a verdict says, with the sides by their names; "" where its outcome says it all."""
    detail = score.detail
    if score.outcome == "not_applicable":
        side = cell_text(detail.get("side"))
        return f"no answer of {_named(side, sides)}" if side else ""
    if score.outcome != "scored":
        return kind_text(cell_text(detail.get("kind"))) if detail.get("kind") else ""
    return _named(cell_text(detail.get("label")), sides)


def _named(side: str, sides: Sequence[str]) -> str:
    return {"A": sides[0], "B": sides[1], "both": "both"}.get(side, side)
