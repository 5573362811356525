"""A judging run -> Preferences: counts, rates with intervals, exact test, position bias, and one sentence.

Position bias: where every pair is shown in both orders, the verdicts on the swapped pairs are paid for anyway. A fair
judge that contradicts itself favours both positions equally often, so the exact sign test over the disagreements
separates bias from noise, whichever side is better. Where each pair is shown in one order drawn at random, a fair judge
finds the better answer equally often in both positions, and the same test is made over the verdicts.

Source: the three figures of position bias after L. Zheng et al., "Judging LLM-as-a-judge with MT-bench and Chatbot
Arena", 2023, section 3.3, with the sign test in place of the bare rates. Verdicts that name no winner are left out of
the first-shown rate, so that a half is fair whatever the share of ties.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-preferences.md

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, Literal

from steelyard.analysis.intervals import Mean, share_interval, unit_numbers
from steelyard.analysis.judges.judged_score import favoured_place, place_interval, with_verdict
from steelyard.analysis.judges.jury import with_jury
from steelyard.analysis.judging_manifest import SIDES, score_of, sides_of
from steelyard.analysis.preferences.preferences_values import (
    GroupPreference,
    LengthRows,
    PositionBias,
    PreferenceCounts,
    PreferenceEvidence,
    Preferences,
    PreferenceVerdict,
)
from steelyard.analysis.preferences.preferences_wording import (
    SameAnswers,
    decided_side,
    leaves_side_open,
    preference_sentence,
    preference_warnings,
)
from steelyard.analysis.run_data import HoldsRunData, RunData, data_of
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import NO_GROUP, ScoreSummary
from steelyard.analysis.stopping import Stopping
from steelyard.stats.binomial import binomial_test
from steelyard.stats.intervals import Interval
from steelyard.stats.paired import sign_flip
from steelyard.stats.power import detectable_win_rate
from steelyard.types import ScoreInfo


@dataclass(slots=True)
class _Directions:
    """Which position each pair favours (1 for the first, -1 for the second), and the cluster of the pair."""

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
        return share_interval([float(way > 0) for way in self.ways], unit_numbers(self.units))


@dataclass(slots=True)
class _PositionCounts:
    """Counts, pair by pair, which position won."""

    swapped: list[int] = field(default_factory=list)
    swapped_units: list[str] = field(default_factory=list)
    consistent: int = 0
    won: list[int] = field(default_factory=lambda: [0, 0])
    disagreements: _Directions = field(default_factory=_Directions)
    single: _Directions = field(default_factory=_Directions)
    singles: int = 0

    def add(self, orders: Sequence[Any], label: str, unit: str) -> None:
        """Count one pair with a verdict.

        Args:
            orders: the verdict on each order: `shown` (`AB` or `BA`), `slot` (1 or 2, the position that won; 0 for
                none).
            label: the verdict on the pair.
            unit: the independent unit of the pair, see `unit_of`.
        """
        verdicts, way = with_verdict(orders), favoured_place(orders)
        if way is None:
            return
        slots = [order.get("slot") for order in verdicts]
        if {order.get("shown") for order in verdicts} >= {"AB", "BA"}:
            self.swapped.append(way if label == "inconsistent" else 0)
            self.swapped_units.append(unit)
            self.won[0] += slots.count(1)
            self.won[1] += slots.count(2)
            if label == "inconsistent":
                self.disagreements.add(way, unit)
            else:
                self.consistent += 1
        else:
            self.singles += 1
            self.single.add(way, unit)

    def settled(self) -> PositionBias | None:
        """The position bias over all pairs; None where no orders are known.

        Where some pairs were shown in both orders, it is computed from these alone.
        """
        if self.swapped:
            directions = self.disagreements
            first, n = directions.first, len(self.swapped)
            second, won = len(directions.ways) - first, self.won
            limits = place_interval(self.swapped, self.swapped_units)
            return PositionBias(
                "both", n, self.consistent, won[0], won[1], first, second, directions.p, bias_interval=limits
            )
        if self.singles:
            directions = self.single
            first = directions.first
            interval = directions.interval if directions.ways else None
            second = len(directions.ways) - first
            return PositionBias("one", self.singles, None, first, second, 0, 0, directions.p, interval)
        return None


def fair_split(won: Sequence[int], units: Sequence[str] | None = None) -> float:
    """Two-sided p-value of an even split: each outcome is equally likely to go either way.

    Args:
        won: 1 for the first side, -1 for the second, per decided pair; at least one.
        units: the unit of each pair, where some share one; None means that all are independent, which gives the
            exact binomial test. Else every unit's sum has its sign flipped as a whole.

    >>> f"{fair_split([1] * 19):.2g}"
    '3.8e-06'
    """
    if units is None or len(set(units)) == len(units):
        return binomial_test(sum(1 for direction in won if direction > 0), len(won))
    return sign_flip(won, clusters=unit_numbers(units))


PairOutcome = Literal["A", "B", "tie", "inconsistent", "unparsed", "refused", "not_judged", "not_applicable", "errors"]

_LEVEL: Final = 0.95
_ANSWERS_READ: Final = 500
"""Records whose answers are read to detect a side that always answers the same: enough to know, quick to read."""
WITHOUT_VERDICT: Final[Mapping[str, PairOutcome]] = {
    "unparsed": "unparsed",
    "refused": "refused",
    "not_applicable": "not_applicable",
    "error": "errors",
}
"""How the outcome of a row without a verdict is counted."""
_LABELS: Final[Mapping[str, PairOutcome]] = {"A": "A", "B": "B", "tie": "tie", "inconsistent": "inconsistent"}
_VALUES: Final[Mapping[str, float]] = {"A": 0.0, "B": 1.0, "both": 0.5}
"""The value of a pair for A where a side gave no answer, which counts as that side's loss."""


def preferences(run: RunData | HoldsRunData, *, score: str = "") -> Preferences:
    """Win rate, position bias and counts of a pairwise judging run.

    A rate assumes independent pairs; where pairs share a cluster or a sample has repeats, intervals are made by
    cluster and the exact binomial test is replaced by a sign-flip test by cluster, which is the same for single pairs.

    Args:
        run: the run, or a handle on it. The answers of its first 500 records are read to see whether a side always
            says the same.
        score: the preference's name; "" is `preference`, or where there is no such score that of the jury, or else the
            run's headline.

    Raises:
        ConfigError: the run judges no pairs.
    """
    data = data_of(run)
    names, stopping = sides_of(data.manifest), data.stopping
    data = with_jury(data)
    score = score or score_of(data.manifest)
    judged = _read(data.scores.judged_rows(score))
    overall = judged.groups.pop(None)
    test, p = _test(overall, judged)
    if stopping:
        test, p = "", None
    tally = overall.tally()
    # The mean of a stopped run is biased away from a half, and a fixed-n interval around it does not hold.
    half = Mean(overall.mean("half").value, stopping.interval, tally.scored) if stopping else overall.mean("half")
    win, losses = (_shown(overall.mean(name), stopping) for name in ("win", "losses"))
    verdict = "cannot_tell" if tally.scored and leaves_side_open(overall.bounds) else _verdict(tally, win, p, stopping)
    result = Preferences(
        run=data.id,
        first=names[0],
        second=names[1],
        by=judged.by,
        tally=tally,
        win=win,
        half=half,
        losses=losses,
        bounds=overall.bounds,
        evidence=PreferenceEvidence(
            p=p,
            test=test,
            interval_note="confidence sequence: valid at any number of samples" if stopping else overall.note,
            detectable=detectable_win_rate(tally.decided),
            level=stopping.level if stopping else _LEVEL,
        ),
        bias=judged.positions.settled(),
        alike=judged.alike,
        groups=tuple(_group(name, group, judged, stopping) for name, group in judged.groups.items()),
        stopping=stopping,
        verdict=verdict,
        sentence="",
        score=score,
        length=judged.lengths.settled(dict(zip(SIDES, names, strict=True)), stopped=stopping is not None),
    )
    warnings = preference_warnings(result, _same_answers(data))
    return replace(result, sentence=preference_sentence(result), warnings=warnings)


@dataclass(slots=True)
class _Group:
    """Counts of one group's rows, and its means once all rows are counted."""

    outcomes: Counter[PairOutcome] = field(default_factory=Counter)
    absent: Counter[tuple[str, str]] = field(default_factory=Counter)
    won: list[int] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    summaries: dict[str, ScoreSummary] = field(default_factory=dict)

    def add(self, row: ScoreRow, outcome: PairOutcome) -> None:
        self.outcomes[outcome] += 1
        if outcome in {"A", "B"}:
            self.won.append(1 if outcome == "A" else -1)
            self.units.append(unit_of(row))
        elif outcome == "not_judged":
            self.absent[str(row.detail["side"]), str(row.detail.get("why") or "error")] += 1

    def tally(self) -> PreferenceCounts:
        sides = dict.fromkeys([*SIDES, "both", *(side for side, _ in self.absent)])
        absent = {
            side: {why: n for (absent_side, why), n in self.absent.items() if absent_side == side} for side in sides
        }
        counted = self.outcomes
        return PreferenceCounts(
            a=counted["A"],
            b=counted["B"],
            tie=counted["tie"],
            inconsistent=counted["inconsistent"],
            unparsed=counted["unparsed"],
            refused=counted["refused"],
            not_judged={side: why for side, why in absent.items() if why},
            not_applicable=counted["not_applicable"],
            errors=counted["errors"],
        )

    def mean(self, name: str) -> Mean:
        """`win`, `half` or `losses`; a win rate over nothing may be anything."""
        summary = self.summaries.get(name)
        if summary is None or summary.answered.value is None:
            return Mean(None, Interval(0.0, 1.0) if name == "win" else None, 0)
        return summary.answered

    @property
    def bounds(self) -> Interval | None:
        summary = self.summaries.get("half")
        return summary.missing_bounds if summary else None

    @property
    def note(self) -> str:
        """How the intervals were made, where that is not Wilson's."""
        notes = {
            name: summary.note for name in ("win", "half") if (summary := self.summaries.get(name)) and summary.note
        }
        names = {"win": "win rate", "half": "ties as half"}
        return "; ".join(f"{names[name]}: {note}" for name, note in notes.items())


@dataclass(slots=True)
class _ScoreRows:
    """The counts of all rows of a run, by group; group None is the whole run."""

    groups: dict[str | None, _Group]
    positions: _PositionCounts
    alike: int
    by: str
    clustered: bool
    lengths: LengthRows


def _read(rows: Iterator[ScoreRow]) -> _ScoreRows:
    groups: dict[str | None, _Group] = defaultdict(_Group)
    positions, by, alike, lengths = _PositionCounts(), Counter[str](), 0, LengthRows()
    units: list[str] = []
    scores: list[ScoreRow] = []
    overall = groups[None]
    for row in rows:
        outcome = _outcome(row)
        for group in (overall, groups[row.group]):
            group.add(row, outcome)
        scores += _score_rows(row, outcome)
        units.append(unit_of(row))
        if row.outcome == "scored":
            positions.add(row.detail.get("orders") or (), outcome, unit_of(row))
            alike += bool(row.detail.get("alike"))
            value = 0.5 if row.value is None else row.value
            lengths.add(row.detail, value, decided=outcome in {"A", "B"}, unit=unit_of(row))
            by[str(row.detail.get("by") or "")] += 1
    if set(groups) <= {None, ""}:
        groups.pop("", None)
    _summarize(scores, groups)
    most_common = by.most_common(1)
    judged_by = most_common[0][0] if most_common else ""
    return _ScoreRows(groups, positions, alike, judged_by, len(set(units)) < len(units), lengths)


def unit_of(row: ScoreRow) -> str:
    """The independent unit of a row: its cluster, else its sample."""
    return f"c:{row.cluster}" if row.cluster else f"s:{row.sample}"


def _outcome(row: ScoreRow) -> PairOutcome:
    if row.outcome == "not_applicable" and row.detail.get("side"):
        return "not_judged"
    if row.outcome != "scored":
        return WITHOUT_VERDICT[row.outcome]
    label = str(row.detail.get("label"))
    if label in _LABELS:
        return _LABELS[label]
    value = 0.5 if row.value is None else row.value
    return "tie" if value == 0.5 else "A" if value > 0.5 else "B"


def _score_rows(row: ScoreRow, outcome: PairOutcome) -> Iterator[ScoreRow]:
    """The row as an entry of each mean that it counts in."""
    key = (row.sample, row.group, row.cluster, row.repeat)
    if row.outcome in {"scored", "unparsed", "refused"}:
        yield ScoreRow(*key, "half", row.outcome, row.value)
    if row.outcome == "scored":
        yield ScoreRow(*key, "losses", "scored", row.value)
    if outcome in {"A", "B"}:
        yield ScoreRow(*key, "win", "scored", float(outcome == "A"))
    if outcome == "not_judged":
        yield ScoreRow(*key, "losses", "scored", _VALUES.get(str(row.detail["side"]), 0.5))


def _summarize(rows: Sequence[ScoreRow], groups: Mapping[str | None, _Group]) -> None:
    overall, by_group = summarize(rows, infos={name: ScoreInfo(name) for name in ("win", "half", "losses")})
    for summary in overall:
        groups[None].summaries[summary.name] = summary
    for name, several in by_group.items():
        for summary in several:
            key = summary.group if summary.group in groups else ""
            if key in groups:
                groups[key].summaries[name] = summary


def _test(group: _Group, judged: _ScoreRows) -> tuple[str, float | None]:
    """The test of an even split of the decided pairs, and its p."""
    if not group.won:
        return "", None
    name = "sign-flip test by cluster" if judged.clustered else "exact binomial test"
    return name, fair_split(group.won, group.units if judged.clustered else None)


def _group(name: str | None, group: _Group, judged: _ScoreRows, stopping: Stopping | None) -> GroupPreference:
    return GroupPreference(
        name or NO_GROUP,
        group.tally(),
        _shown(group.mean("win"), stopping),
        _shown(group.mean("half"), stopping),
        None if stopping else _test(group, judged)[1],
    )


def _shown(mean: Mean, stopping: Stopping | None) -> Mean:
    """A mean as it may be shown: without its interval where the number of pairs was not fixed beforehand."""
    return Mean(mean.value, None, mean.n) if stopping else mean


def _verdict(tally: PreferenceCounts, win: Mean, p: float | None, stopping: Stopping | None) -> PreferenceVerdict:
    if not tally.scored:
        return "none"
    if stopping:
        return decided_side(stopping)
    if p is None or p >= 1 - _LEVEL or win.interval is None or win.interval.low <= 0.5 <= win.interval.high:
        return "cannot_tell"
    return "A" if tally.a > tally.b else "B"


def _same_answers(run: RunData) -> list[SameAnswers]:
    """Per side, how often its most frequent answer was given."""
    answer_counts: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
    records = () if run.bodies is None else islice(run.bodies.records(None), _ANSWERS_READ)
    for record in records:
        answers = record.output.value if record.output else None
        for side in SIDES:
            if isinstance(answers, Mapping) and answers.get(side) is not None:
                answer_counts[side][" ".join(str(answers[side]).split())] += 1
    return [
        SameAnswers(side, max(counts.values(), default=0), counts.total()) for side, counts in answer_counts.items()
    ]
