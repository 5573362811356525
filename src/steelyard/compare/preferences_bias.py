"""Position bias of a judge: what its verdicts say of the two places in which answers are shown.

Where every pair is shown in both orders, the verdicts on the swapped pairs are paid for anyway. A fair judge that
contradicts itself does so in favour of either place alike, so the exact sign test over the disagreements tells a
bias from noise, whichever side is better. Where each pair is shown in one order drawn at random, a fair judge finds
the better answer in either place alike, and the same test is made over the verdicts.

Source: the three figures after L. Zheng et al., "Judging LLM-as-a-judge with MT-bench and Chatbot Arena", 2023,
section 3.3, with the sign test in place of the bare rates. Verdicts that name no winner are left out of the
first-shown rate, so that a half is fair whatever the share of ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.compare.preferences_exact import fair_split
from steelyard.compare.preferences_values import PositionBias
from steelyard.stats.intervals import Interval, wilson, wilson_clustered

_FIRST = 1
_SECOND = 2


@dataclass(slots=True)
class _Verdicts:
    """Which way something went, pair by pair: 1 for place 1, -1 for place 2; and the unit that a pair belongs to."""

    ways: list[int] = field(default_factory=list)
    units: list[str] = field(default_factory=list)

    def add(self, way: int, unit: str) -> None:
        if way:
            self.ways.append(way)
            self.units.append(unit)

    @property
    def first(self) -> int:
        return sum(1 for way in self.ways if way > 0)

    @property
    def p(self) -> float | None:
        return fair_split(self.ways, self.units) if self.ways else None

    @property
    def interval(self) -> Interval:
        places = {unit: place for place, unit in enumerate(dict.fromkeys(self.units))}
        if len(places) == len(self.units):
            return wilson(self.first, len(self.ways))
        return wilson_clustered([float(way > 0) for way in self.ways], clusters=[places[one] for one in self.units])


@dataclass(slots=True)
class PlaceTally:
    """Counts the places that won, pair by pair."""

    swapped: int = 0
    consistent: int = 0
    won: list[int] = field(default_factory=lambda: [0, 0])
    disagreements: _Verdicts = field(default_factory=_Verdicts)
    single: _Verdicts = field(default_factory=_Verdicts)
    singles: int = 0

    def add(self, orders: Sequence[Any], label: str, unit: str) -> None:
        """One pair with a verdict.

        Args:
            orders: what each order said: `shown` (`AB` or `BA`), `slot` (1 or 2, the place that won; 0 for none).
            label: what came of them.
            unit: what the pair is independent of others by.
        """
        told = [one for one in orders if isinstance(one, Mapping) and one.get("outcome", "scored") == "scored"]
        if not told:
            return
        slots = [one.get("slot") for one in told]
        leaning = slots.count(_FIRST) - slots.count(_SECOND)
        way = (leaning > 0) - (leaning < 0)
        if {one.get("shown") for one in told} >= {"AB", "BA"}:
            self.swapped += 1
            self.won[0] += slots.count(_FIRST)
            self.won[1] += slots.count(_SECOND)
            if label == "inconsistent":
                self.disagreements.add(way, unit)
            else:
                self.consistent += 1
        else:
            self.singles += 1
            self.single.add(way, unit)

    def settled(self) -> PositionBias | None:
        """What all pairs say; None where no orders are known. Pairs in both orders say it where there are any."""
        if self.swapped:
            found = self.disagreements
            first, n = found.first, self.swapped
            won = self.won
            return PositionBias("both", n, self.consistent, won[0], won[1], first, len(found.ways) - first, found.p)
        if self.singles:
            found = self.single
            first = found.first
            interval = found.interval if found.ways else None
            second = len(found.ways) - first
            return PositionBias("one", self.singles, None, first, second, 0, 0, found.p, interval)
        return None
