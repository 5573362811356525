"""Judged pairs in the table of samples: both answers, and the verdict of each order.

All are texts of the page's list of words; the page's script shows them as text nodes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from steelyard.analysis.judging_manifest import OF_ANSWERS, SIDES
from steelyard.escaping import cell_text
from steelyard.report.judge_reasons import named_verdict, resolved_reason
from steelyard.report.run_texts import kind_text
from steelyard.types import Record, Score

SHOWN_ELSEWHERE: Final = frozenset({"label", "orders", "side", "why", "by", "columns", *OF_ANSWERS})
"""Keys of a preference's detail that have columns of their own, which the page does not list again."""

WordIndex = Callable[[str], int]
"""Gives the index of a text in the page's words."""


def pair_of(record: Record, score: Score | None, index: WordIndex, names: Sequence[str]) -> list[Any]:
    """The column `pair` of one record: both answers, the verdict of each order, whether the answers are equal.

    Args:
        record: of a judging run.
        score: the preference; None where the record failed.
        index: gives a text's index among the page's words.
        names: of the two sides, for the judge's reasons.

    Returns an empty list for an output that is not a pair of answers.
    """
    output = record.output
    if output is None or not isinstance(output.value, Mapping) or not set(SIDES) <= output.value.keys():
        return []
    about = [output.metadata.get(side) for side in SIDES]
    sides = [_side(output.value[side], entry, index) for side, entry in zip(SIDES, about, strict=True)]
    detail = score.detail if score else {}
    orders = detail.get("orders")
    listed = (
        [_order(entry, index, names) for entry in orders if isinstance(entry, Mapping)]
        if isinstance(orders, list)
        else []
    )
    return [*sides, listed, int(bool(detail.get("alike")))]


def _side(answer: Any, about: Any, index: WordIndex) -> list[int]:
    """Word indices of the answer (-1 where there is none), of its failure, and of how the reply ended."""
    details = about if isinstance(about, Mapping) else {}
    finish = cell_text(details.get("finish"))
    text = -1 if answer is None else index(cell_text(answer))
    return [text, index(cell_text(details.get("failure"))), index("" if finish == "stop" else finish)]


def _order(order: Mapping[str, Any], index: WordIndex, names: Sequence[str]) -> list[int]:
    """Whether A was shown first (1, 0), the verdict, why it is unparsed, the reason with names."""
    outcome = cell_text(order.get("outcome") or "scored")
    kind = cell_text(order.get("kind"))
    unparsed = "" if outcome == "scored" else f"{outcome} ({kind_text(kind)})" if kind else outcome
    shown_first = int(cell_text(order.get("shown")) != "BA")
    reason = resolved_reason(cell_text(order.get("reason")), "AB" if shown_first else "BA", names)
    return [shown_first, index(cell_text(order.get("verdict"))), index(unparsed), index(reason)]


def preference_text(score: Score, sides: Sequence[str]) -> str:
    """The preferred side by its target's name, or why there is none; "" where the outcome is enough."""
    detail = score.detail
    if score.outcome == "not_applicable":
        side = cell_text(detail.get("side"))
        return f"no answer of {named_verdict(side, sides)}" if side else ""
    if score.outcome != "scored":
        return kind_text(cell_text(detail.get("kind"))) if detail.get("kind") else ""
    return named_verdict(cell_text(detail.get("label")), sides)
