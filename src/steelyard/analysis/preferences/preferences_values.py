"""The result of a pairwise comparison of two targets: counts, rates, position bias, and the effect of length.

A is the first side, B the second. Outcomes are counted separately: a tie is not a disagreement between the two orders,
an unparsed verdict is not a tie, and a pair with only one answer is not judged. Lengths come from the details of
verdicts on pairs, so that no answer is read again.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-preferences.md

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

from steelyard.analysis.intervals import Mean, share_interval, unit_numbers
from steelyard.analysis.judging_manifest import CHARS, DIFFICULTY, STYLE
from steelyard.analysis.notebook import notebook_html
from steelyard.analysis.numbers import count_text
from steelyard.analysis.stopping import Stopping
from steelyard.plain_json import field_values
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Interval
from steelyard.stats.length_control import length_controlled, told_apart

PreferenceVerdict = Literal["A", "B", "cannot_tell", "none"]


@dataclass(frozen=True, slots=True)
class PreferenceCounts:
    """How many pairs had each outcome; a pair of answers counts once per repeat.

    Args:
        a: the first side was preferred; likewise `b`.
        tie: neither was.
        inconsistent: the verdicts on the two orders differ.
        unparsed: a verdict that was needed could not be parsed.
        refused: the judge refused.
        not_judged: the side that gave no answer (`A`, `B`, `both`) -> why (`error`, `refused`, `missing`) -> pairs.
        not_applicable: pairs that could not be judged for another reason (no reference, no vote).
        errors: records that failed while they were judged.
    """

    a: int = 0
    b: int = 0
    tie: int = 0
    inconsistent: int = 0
    unparsed: int = 0
    refused: int = 0
    not_judged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    not_applicable: int = 0
    errors: int = 0

    @property
    def decided(self) -> int:
        """Pairs that one side won."""
        return self.a + self.b

    @property
    def scored(self) -> int:
        """Pairs with a verdict."""
        return self.decided + self.tie + self.inconsistent

    @property
    def judged(self) -> int:
        """Pairs that the judge was asked about, whether its verdict could be parsed or not; shares are of these."""
        return self.scored + self.unparsed + self.refused

    @property
    def failed(self) -> int:
        """Pairs that were not judged since a side gave no answer."""
        return sum(self.failed_by(side) for side in self.not_judged)

    @property
    def total(self) -> int:
        """All pairs, judged or not."""
        return self.judged + self.failed + self.not_applicable + self.errors

    def failed_by(self, side: str) -> int:
        """Pairs in which `A`, `B` or `both` gave no answer."""
        return sum(self.not_judged.get(side, {}).values())

    def parts(self) -> tuple[tuple[str, int], ...]:
        """Judged pairs by verdict (`A`, `tie`, `inconsistent`, `unparsed`, `refused`, `B`), in the order of a bar."""
        between = (("tie", self.tie), ("inconsistent", self.inconsistent))
        return ("A", self.a), *between, ("unparsed", self.unparsed), ("refused", self.refused), ("B", self.b)

    def json_fields(self) -> dict[str, Any]:
        """With sums and shares."""
        sums = {name: getattr(self, name) for name in ("decided", "scored", "judged", "failed", "total")}
        shares = {kind: n / self.judged if self.judged else None for kind, n in self.parts()}
        return {**field_values(self), **sums, "shares": shares}


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Position bias: whether the judge favours the answer that is shown first or second.

    Args:
        orders: `both` where every pair was shown in both, `one` where in one drawn at random.
        n: pairs with a verdict whose orders are known.
        consistent: pairs with the same verdict in both orders; None for one order.
        first_won: verdicts for the answer in position 1.
        second_won: verdicts for the answer in position 2.
        favours_first: pairs whose disagreement favours position 1; likewise `favours_second`. 0 for one order.
        p: two-sided exact binomial test of equal positions, over the disagreements, or for one order over the
            verdicts; None where there are none.
        interval: of the first-shown rate for one order, Wilson's; None for both, as a pair's two verdicts depend on
            each other.
        bias_interval: of `bias` where both orders were shown; None for one.
    """

    orders: Literal["both", "one"]
    n: int
    consistent: int | None
    first_won: int
    second_won: int
    favours_first: int
    favours_second: int
    p: float | None
    interval: Interval | None = None
    bias_interval: Interval | None = None

    @property
    def consistency(self) -> float | None:
        """Share of the pairs with the same verdict in both orders."""
        return None if self.consistent is None or not self.n else self.consistent / self.n

    @property
    def first_rate(self) -> float | None:
        """Share of position 1 among the verdicts that named a winner; 0.5 is fair."""
        won = self.first_won + self.second_won
        return self.first_won / won if won else None

    @property
    def bias(self) -> float | None:
        """Bias in [-1, 1], above 0 for position 1: disagreements that favour it minus the others, per pair.

        For one order it is position 1's share of the verdicts minus position 2's.
        """
        if self.orders == "both":
            return (self.favours_first - self.favours_second) / self.n if self.n else None
        return None if self.first_rate is None else 2 * self.first_rate - 1

    def json_fields(self) -> dict[str, Any]:
        """With the rates."""
        return field_values(self) | {"consistency": self.consistency, "first_rate": self.first_rate, "bias": self.bias}


@dataclass(frozen=True, slots=True)
class LengthEffect:
    """The lengths of the answers beside a preference, and the preference at equal length.

    Args:
        n: pairs with a verdict, whose lengths are known.
        mean_a: mean length of the answers of A, in characters; likewise `mean_b`.
        longer_pairs: `A` and `B` -> pairs in which that side's answer is the longer one.
        unequal: decided pairs whose answers differ in length.
        longer_won: of these, pairs that the longer answer won.
        longer_interval: of the share that the longer won, Wilson's (by cluster where pairs depend on each other).
        controlled: rate of A at equal length, a tie or disagreement as half; its value is None where `reason` says
            why. Without an interval where the run was stopped early, or every pair has the same verdict.
        coefficient: log odds of A per unit of tanh(difference in length / sd); None as for `controlled`.
        coefficient_interval: of `coefficient`.
        style_controlled: rate of A at equal length and style; None where style was not counted.
        with_difficulty: whether the difficulty of the instruction is a term of the model.
        reason: why length and system cannot be told apart; "" where they can.
    """

    n: int
    mean_a: float
    mean_b: float
    longer_pairs: Mapping[str, int]
    unequal: int
    longer_won: int
    longer_interval: Interval | None
    controlled: Mean = Mean(None, None, 0)
    coefficient: float | None = None
    coefficient_interval: Interval | None = None
    style_controlled: Mean | None = None
    with_difficulty: bool = False
    reason: str = ""

    @property
    def longer_rate(self) -> float | None:
        """Share of the decided pairs of unequal length that the longer answer won."""
        return self.longer_won / self.unequal if self.unequal else None

    def json_fields(self) -> dict[str, Any]:
        """With the share that the longer won."""
        return field_values(self) | {"longer_rate": self.longer_rate}


@dataclass(frozen=True, slots=True)
class GroupPreference:
    """Counts and rates for one group of samples; `p` is not corrected for the number of groups."""

    group: str
    tally: PreferenceCounts
    win: Mean
    half: Mean
    p: float | None


@dataclass(frozen=True, slots=True)
class PreferenceEvidence:
    """How sure a preference is.

    Args:
        p: two-sided, of the hypothesis that both sides are equally likely to win a decided pair; None where none was
            decided, and where the run was stopped early, as it does not hold there.
        test: name of that test.
        interval_note: how the intervals of `half` and `win` were computed.
        detectable: the least win rate that this many decided pairs would show with 80 % power; None where no
            number of wins would have been evidence.
        level: of intervals and verdict.
    """

    p: float | None
    test: str
    interval_note: str
    detectable: float | None
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences of one judging run; every rate is that of A, the first side.

    Args:
        run: the judging run's id.
        first: name of side A; likewise `second` of side B.
        by: who judged: `judge`, `lexical` or `people`; "" where it is not known.
        tally: all counts.
        win: rate of A over the decided pairs, with Wilson's interval (by cluster where pairs depend on each other).
            The interval is [0, 1] where no pair was decided.
        half: mean over all pairs with a verdict, a tie or a disagreement of the orders counting half.
        losses: the same, with a pair that a side did not answer as its loss, and as half where neither answered.
        bounds: limits of `half` whatever the missing verdicts would have been; None where none is missing.
        evidence: the test of the preference, and what it could have shown.
        bias: position bias; None where the orders are not known.
        alike: pairs whose two answers are identical or nearly so.
        groups: per group, in order of first appearance; empty where there are none.
        stopping: what the rule decided that could end the run early; None where there was none. Its interval, a
            confidence sequence, then stands in place of those here.
        verdict: the side that is preferred, `cannot_tell`, or `none` where nothing was judged.
        sentence: what may be concluded.
        warnings: what a reader must know before believing it, one sentence each.
        score: name of the score; each of several judges has its own, `preference_<judge>`.
        length: the lengths of the answers, and the rate at equal length; None where lengths are not known.
    """

    run: str
    first: str
    second: str
    by: str
    tally: PreferenceCounts
    win: Mean
    half: Mean
    losses: Mean
    bounds: Interval | None
    evidence: PreferenceEvidence
    bias: PositionBias | None
    alike: int
    groups: tuple[GroupPreference, ...]
    stopping: Stopping | None
    verdict: PreferenceVerdict
    sentence: str
    warnings: tuple[str, ...] = ()
    score: str = "preference"
    length: LengthEffect | None = None

    @property
    def title(self) -> str:
        """The names of both sides, as a heading."""
        return f"{self.first} vs {self.second}"

    @property
    def rate(self) -> Mean:
        """What a conclusion is about: the rate of decided pairs, or with ties as half where a rule may end the run."""
        return self.half if self.stopping else self.win

    def json_fields(self) -> dict[str, Any]:
        """With the evidence as fields of its own."""
        return field_values(self, evidence="") | field_values(self.evidence)

    def name_of(self, side: str) -> str:
        """The name of side `A` or `B`."""
        return {"A": self.first, "B": self.second}.get(side, side)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self)


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
        units = np.array(unit_numbers(self.units))
        effect = LengthEffect(
            n=len(differences),
            mean_a=float(means[0]),
            mean_b=float(means[1]),
            longer_pairs={"A": int((differences > 0).sum()), "B": int((differences < 0).sum())},
            unequal=len(won),
            longer_won=int(won.sum()),
            longer_interval=None if stopped or not len(won) else share_interval(won.astype(float), units[unequal]),
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
