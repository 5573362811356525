"""Summaries of scores, over a run or a part of it: means, intervals and counts; values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, Literal

from steelyard.analysis.intervals import Mean
from steelyard.plain_json import field_values
from steelyard.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Consistency:
    """How consistent a judge is over the repeats of a score.

    Args:
        n: scores with two or more parsed repeats.
        sd: mean of their standard deviations (n - 1 in the denominator), in the score's unit.
        flip_rate: mean share of a score's repeats that differ from its most frequent verdict, in [0, 1].
    """

    n: int
    sd: float
    flip_rate: float

    @classmethod
    def of(cls, repeats: Iterable[tuple[float, float]]) -> Consistency | None:
        """The mean of (standard deviation, flip rate) of several scores; None of no score.

        >>> Consistency.of([(0.0, 0.0), (1.0, 0.5)])
        Consistency(n=2, sd=0.5, flip_rate=0.25)
        """
        scores = list(repeats)
        if not scores:
            return None
        return cls(len(scores), fmean(sd for sd, _ in scores), fmean(flip for _, flip in scores))


@dataclass(frozen=True, slots=True)
class LabelEffect:
    """How people's labels changed a score, where a summary counts them in place of the parsed replies.

    Args:
        score: the score that they are about; "" where no score of the run takes labels.
        decided: author, or authors who agree, -> records that they decided; most first.
        changed: of these, records whose score the labels changed.
        conflicting: records on which people disagree: they count as they were scored.
        unseen: records of the review list that nobody labelled.
        before: the headline without labels; likewise `after` with them.
        uncounted: name -> people's labels that enter no score.
        share: whether the score is a share, whose difference is in percentage points.
        exam: whether the labels are letters that replies of an exam give.
    """

    score: str
    decided: Mapping[str, int]
    changed: int
    conflicting: int
    unseen: int
    before: float | None
    after: float | None
    uncounted: Mapping[str, int] = field(default_factory=dict)
    share: bool = True
    exam: bool = True

    @property
    def total(self) -> int:
        """Records that people decided."""
        return sum(self.decided.values())

    @property
    def moved(self) -> float:
        """The change of the headline by people's labels; 0 where there is no headline."""
        return 0.0 if self.before is None or self.after is None else self.after - self.before

    def json_fields(self) -> dict[str, Any]:
        """With the number of changed values."""
        return field_values(self) | {"moved": self.moved}


Over = Literal["all", "scored"]
RunState = Literal["finished", "running", "interrupted", "broken"]

NO_GROUP: Final = "(no group)"
"""The name of the group of samples without one, where others have one."""


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """One score over a run, or over one group of it.

    Args:
        name: the score's name.
        group: the group it covers; "" is the whole run.
        scored: rows with a value, and so on for `not_applicable`, `unparsed`, `refused`, `errors`.
        n: rows that count: all but not applicable ones and errors.
        total: all rows.
        binary: every value is 0 or 1.
        answered: mean over what was scored.
        overall: mean with unparsed and refused counted as 0; errors left out. Where `over` is `scored` and the score
            has a scale, they count as its lowest value: 0 is not on it.
        with_errors: the same with errors counted like that too.
        bounds: between which the mean lies, whatever values the missing verdicts have: the mean with all of them at
            the lowest and at the highest value of the scale. Where `over` is `all`, a refusal is an answer and stays 0.
            None for a score that is not on [0, 1] and names no scale.
        over: which mean is the headline: `all` is `overall`, `scored` is `answered`.
        note: how the interval was made, where it is not the plain Wilson interval.
        scale: lowest and highest value, where the scorer names a scale other than [0, 1].
        macro: the headline with every group weighing the same, whatever its size: the mean of its groups' means. Its
            `n` is the number of groups. None where fewer than two groups have a value.
        weight: what the rows behind the headline weigh together, such as the points that could be had; None where all
            weigh the same. Means are then weighted, and a group without points has none.
    """

    name: str
    group: str
    scored: int
    not_applicable: int
    unparsed: int
    refused: int
    errors: int
    n: int
    total: int
    binary: bool
    answered: Mean
    overall: Mean
    with_errors: Mean
    bounds: Interval | None = None
    over: Over = "all"
    note: str = ""
    scale: Interval | None = None
    macro: Mean | None = None
    weight: float | None = None

    @property
    def is_share(self) -> bool:
        """Whether every value lies in [0, 1], so that means are shown in percent and differences in points."""
        return self.scale is None and (self.binary or self.bounds is not None or self.weight is not None)

    @property
    def missing_verdicts(self) -> int:
        """How many replies have no known value: unparsed ones, and refused ones where they do not count as 0."""
        return self.unparsed + (self.refused if self.over == "scored" else 0)

    @property
    def missing_bounds(self) -> Interval | None:
        """`bounds` where some verdicts are missing; None where none is, and the bounds equal the mean."""
        return self.bounds if self.missing_verdicts else None

    @property
    def headline(self) -> Mean:
        """The mean that titles and charts show."""
        return self.overall if self.over == "all" else self.answered

    def json_fields(self) -> dict[str, Any]:
        """With the mean that stands for the score."""
        return field_values(self) | {"headline": self.headline}

    def __str__(self) -> str:
        mean = self.headline
        parts = [self.name + (f" [{self.group}]" if self.group else "")]
        parts.append("-" if mean.value is None else f"{mean.value:.2f}")
        if mean.interval:
            parts.append("[{:.2f}, {:.2f}]".format(*mean.interval))
        others = {"unreadable": self.unparsed, "refused": self.refused, "not applicable": self.not_applicable}
        counts = [f"n={mean.n}", f"{self.errors} error{'' if self.errors == 1 else 's'}"]
        counts += [f"{count} {name}" for name, count in others.items() if count]
        if self.missing_bounds:
            low, high = self.missing_bounds
            counts.append(f"at most {high:.2f}" if self.over == "all" else f"{low:.2f} to {high:.2f} counting these")
        return " ".join([*parts, ", ".join(counts)])


@dataclass(frozen=True, slots=True)
class GroupLevel:
    """One score at one level of its groups.

    Args:
        level: its name: a column, `file` or `sheet`.
        score: over the run; its macro average gives each group of this level the same weight.
        groups: of each group of this level its micro average and, as `macro`, the mean over its groups of the finest
            level. Empty for the finest level, whose groups are the score's own.
    """

    level: str
    score: ScoreSummary
    groups: tuple[ScoreSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """One score over the turns of all conversations of a run.

    Args:
        score: over all turns; its interval treats those of one conversation as dependent. A conversation without
            turns counts once, as an error or as not applicable.
        conversations: with a turn.
        by_turn: the same for the first turn of each conversation, the second, and so on; groups are named "turn 1".
    """

    score: ScoreSummary
    conversations: int
    by_turn: tuple[ScoreSummary, ...]
