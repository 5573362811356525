"""What a judge said of a pair in one order or in both, and what it comes to.

A judge sees the answers by place only. Here places become sides again: of the order `BA` the first place is side B.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from steelyard.scorers.preference_sides import Label
from steelyard.text.rating import Verdict

Shown = Literal["AB", "BA"]
DIVIDED: Final = "divided"
"""The kind of an order whose repeats have no majority: it was read, and says nothing in one voice."""
_SLOTS: Final = {"A": 1, "B": 2}


@dataclass(frozen=True, slots=True)
class Order:
    """What a judge said of a pair in one order.

    Args:
        shown: which side stood first.
        verdict: the side that it prefers, `tie`, or "" where nothing was read or its repeats are divided.
        slot: the place that won, 1 or 2; 0 where none did.
        outcome: `scored`, `unparsed` or `refused`.
        kind: why it was not read, or `divided`.
        reason: the judge's own words, in which A and B are places.
        repeats: the verdict of each repeat, "" where it was not read; empty for a single one.
    """

    shown: Shown
    verdict: str
    slot: int
    outcome: str
    kind: str = ""
    reason: str = ""
    repeats: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, as it stands in the score's detail."""
        told: dict[str, Any] = {
            "shown": self.shown,
            "verdict": self.verdict,
            "slot": self.slot,
            "outcome": self.outcome,
            "kind": self.kind,
            "reason": self.reason,
        }
        return told | ({"repeats": list(self.repeats)} if self.repeats else {})


def order_of(shown: Shown, verdicts: Sequence[Verdict]) -> Order:
    """One order's verdict: of several repeats what more than half of those that were read say.

    Args:
        shown: which side stood first.
        verdicts: one per repeat; their labels are places, `A` the first.

    >>> order_of("BA", [Verdict("scored", 1.0, "A")]).verdict
    'B'
    """
    read = [one for one in verdicts if one.value is not None]
    repeats = tuple(_side(one.label, shown) if one.value is not None else "" for one in verdicts)
    repeats = repeats if len(verdicts) > 1 else ()
    if not read:
        first = next((one for one in verdicts if one.outcome == "unparsed"), verdicts[0])
        kind = "" if first.outcome == "refused" else first.kind or "none"
        return Order(shown, "", 0, first.outcome, kind, _line(first.reason), repeats)
    label, count = Counter(one.label for one in read).most_common(1)[0]
    if 2 * count <= len(read):
        return Order(shown, "", 0, "scored", DIVIDED, _line(read[0].reason), repeats)
    reason = next(one.reason for one in read if one.label == label)
    return Order(shown, _side(label, shown), _SLOTS.get(label, 0), "scored", "", _line(reason), repeats)


def _side(place: str, shown: Shown) -> str:
    return shown[_SLOTS[place] - 1] if place in _SLOTS else place


def _line(text: str) -> str:
    return " ".join(text.split())


class Combined(NamedTuple):
    """What all orders of a pair come to: a label where every one of them was read."""

    outcome: Literal["scored", "unparsed", "refused"]
    label: Label | Literal[""] = ""
    kind: str = ""


def combined(orders: Sequence[Order]) -> Combined:
    """One verdict of one or two orders.

    `inconsistent` where the two orders say different things, whatever these are, and where the repeats of one order
    are divided. One order that was not read leaves the pair unread: half a swap is no swap. It is `refused` where the
    judge refused an order and every other one was read, or refused as well.

    >>> combined([Order("AB", "A", 1, "scored"), Order("BA", "tie", 0, "scored")]).label
    'inconsistent'
    """
    unread = next((one for one in orders if one.outcome == "unparsed"), None)
    if unread is not None:
        return Combined("unparsed", "", unread.kind)
    if any(one.outcome == "refused" for one in orders):
        return Combined("refused")
    said = {one.verdict for one in orders}
    label: Any = said.pop()
    return Combined("scored", "inconsistent" if said or label == "" else label)


def told(orders: Sequence[Order]) -> str:
    """What was said, in one line for a person: who, in which order, and why.

    Of two orders that agree the reason is that in which A is shown first, so that its A and B are the sides.
    """
    found = combined(orders)
    if found.outcome != "scored":
        one = next(one for one in orders if one.outcome == found.outcome)
        return one.reason or f"the judge {'refused' if found.outcome == 'refused' else 'gave no verdict'}"
    if found.label == "inconsistent":
        return "; ".join(f"{_said(one)} with {one.shown[0]} shown first" for one in orders)
    first = orders[0]
    where = "in both orders" if len(orders) > 1 else f"with {first.shown[0]} shown first"
    named = "" if first.shown == "AB" or not first.reason else " (its A is side B)"
    return f"{_said(first)} {where}{named}{f': {first.reason}' if first.reason else ''}"


def _said(one: Order) -> str:
    return one.verdict or "no majority"
