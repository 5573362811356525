"""Lengths of the answers beside a preference: who is longer, does the longer win, and who wins at equal length.

They come from the details of verdicts on pairs, so that no answer is read again.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-preferences.md

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judging_manifest import CHARS, DIFFICULTY, STYLE
from steelyard.analysis.numbers import count_text
from steelyard.analysis.preferences.preferences_values import LengthEffect
from steelyard.stats.intervals import Interval, wilson, wilson_clustered
from steelyard.stats.length_control import length_controlled, told_apart

Array = NDArray[Any]

_NOT_APART: Final = "length and system cannot be told apart"


@dataclass(slots=True)
class LengthRows:
    """Pair by pair: lengths, value for A, cluster, and the optional style and difficulty."""

    chars: list[tuple[float, float]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    decided: list[bool] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    styles: list[list[float]] = field(default_factory=list)
    difficulties: list[float] = field(default_factory=list)

    def add(self, detail: Mapping[str, Any], value: float, *, decided: bool, unit: str) -> None:
        """Count one pair with a verdict; one whose lengths are not known is left out.

        Args:
            detail: of its verdict.
            value: for A, in [0, 1].
            decided: whether a side won.
            unit: the independent unit of the pair.
        """
        chars = detail.get(CHARS)
        if not isinstance(chars, list | tuple) or len(chars) != 2:
            return
        self.chars.append((float(chars[0]), float(chars[1])))
        self.values.append(value)
        self.decided.append(decided)
        self.units.append(unit)
        counts = detail.get(STYLE)
        if isinstance(counts, list | tuple) and len(counts) == 2:
            self.styles.append([_difference(a, b) for a, b in zip(*counts, strict=False)])
        if isinstance(difficulty := detail.get(DIFFICULTY), int | float):
            self.difficulties.append(float(difficulty))

    def settled(self, names: Mapping[str, str], *, stopped: bool) -> LengthEffect | None:
        """The effect over all pairs; None where no lengths are known.

        Args:
            names: `A` and `B` -> what the sides are called.
            stopped: whether the run was stopped early, so that intervals for a fixed number of pairs do not hold.
        """
        if not self.chars:
            return None
        chars = np.array(self.chars)
        differences, means = chars[:, 0] - chars[:, 1], chars.mean(axis=0)
        unequal = np.array(self.decided) & (differences != 0)
        won = ((np.array(self.values) > 0.5) == (differences > 0))[unequal]
        numbers = {unit: number for number, unit in enumerate(dict.fromkeys(self.units))}
        units = np.array([numbers[unit] for unit in self.units])
        effect = LengthEffect(
            n=len(differences),
            mean_a=float(means[0]),
            mean_b=float(means[1]),
            longer_pairs={"A": int((differences > 0).sum()), "B": int((differences < 0).sum())},
            unequal=len(won),
            longer_won=int(won.sum()),
            longer_interval=None if stopped or not len(won) else _share(won, units[unequal]),
        )
        if not told_apart(differences, self.values):
            found = _winner(effect) if told_apart(differences) else _longer_side(effect, names)
            return replace(effect, reason=f"{_NOT_APART}: {found}")
        return self._controlled(effect, differences, units, stopped=stopped)

    def _controlled(self, effect: LengthEffect, differences: Array, units: Array, *, stopped: bool) -> LengthEffect:
        """With the rates at equal length, and at equal length and style where every pair has its counts."""
        difficulty = self.difficulties if len(self.difficulties) == effect.n else None
        rate = length_controlled(self.values, differences, difficulty=difficulty, clusters=units)
        styled = None
        if len(self.styles) == effect.n:
            of_style = length_controlled(
                self.values, differences, style=self.styles, difficulty=difficulty, clusters=units
            )
            styled = Mean(of_style.value, None if stopped else of_style.interval, effect.n)
        return replace(
            effect,
            controlled=Mean(rate.value, None if stopped else rate.interval, effect.n),
            coefficient=rate.coefficient,
            coefficient_interval=None if stopped else rate.coefficient_interval,
            style_controlled=styled,
            with_difficulty=difficulty is not None,
        )


def _difference(a: float, b: float) -> float:
    """Relative difference of two counts, in [-1, 1]; 0 where both are 0."""
    return (a - b) / (a + b) if a + b else 0.0


def _share(won: Array, units: Array) -> Interval:
    if len(np.unique(units)) == len(units):
        return wilson(int(won.sum()), len(won))
    return wilson_clustered(won.astype(float), clusters=units)


def _longer_side(effect: LengthEffect, names: Mapping[str, str]) -> str:
    side = max(effect.longer_pairs, key=lambda name: effect.longer_pairs[name])
    most = effect.longer_pairs[side]
    return f"the answers of {names[side]} are longer in {most:,} of {count_text(effect.n, 'pair')}"


def _winner(effect: LengthEffect) -> str:
    """How often the longer answer won, or the shorter one where that wins more often, in words."""
    shorter_won = effect.unequal - effect.longer_won
    which = "longer" if effect.longer_won >= shorter_won else "shorter"
    decided = count_text(effect.unequal, "decided pair")
    return f"the {which} answer won {max(effect.longer_won, shorter_won):,} of {decided}"
