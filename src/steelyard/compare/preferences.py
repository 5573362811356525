"""A judging run -> Preferences: counts, rates with intervals, exact test, position bias, and one sentence.

preferences(run)
  preferences_values   the values that come out
  preferences_exact    the exact test of an even split
  preferences_bias     what the two places say, from the orders that were paid for anyway
  preferences_wording  the sentence and the warnings
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from steelyard.compare.preferences_bias import PlaceTally
from steelyard.compare.preferences_exact import fair_split
from steelyard.compare.preferences_values import (
    SIDES,
    GroupPreference,
    JudgingRun,
    Preferences,
    PreferenceVerdict,
    Tally,
)
from steelyard.compare.preferences_wording import SameAnswers, decided_side, preference_sentence, preference_warnings
from steelyard.errors import ConfigError
from steelyard.stats.intervals import Interval
from steelyard.stats.power import detectable_win_rate
from steelyard.summary import NO_GROUP, JudgedRow, Mean, RunSummary, ScoreRow, ScoreSummary, Stopping, summarize

__all__ = ["JudgingRun", "Preferences", "is_judging", "only_answers", "preferences", "score_of", "sides_of"]

Fate = Literal["A", "B", "tie", "inconsistent", "unread", "refused", "not_judged", "not_applicable", "errors"]

_LEVEL: Final = 0.95
_ANSWERS_READ: Final = 500
"""Records whose answers are looked at to see whether a side always says the same: enough to know, quick to read."""
WITHOUT_VERDICT: Final[Mapping[str, Fate]] = {
    "unparsed": "unread",
    "refused": "refused",
    "not_applicable": "not_applicable",
    "error": "errors",
}
"""What a row's outcome is counted as, where no verdict was read."""
_LABELS: Final[Mapping[str, Fate]] = {"A": "A", "B": "B", "tie": "tie", "inconsistent": "inconsistent"}
_VALUES: Final[Mapping[str, float]] = {"A": 0.0, "B": 1.0, "both": 0.5}
"""What a pair is worth as a loss of the side that gave no answer."""


def is_judging(manifest: Mapping[str, Any]) -> bool:
    """Whether a run's target pairs the answers of two others."""
    target = manifest.get("target")
    return isinstance(target, Mapping) and isinstance(target.get("pair"), Mapping)


def only_answers(manifest: Mapping[str, Any]) -> bool:
    """Whether a run has no scores and was to have none: its answers are judged in another run."""
    return manifest.get("scores") == [] and not is_judging(manifest)


def sides_of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """What the two sides of a judging run are called.

    Raises:
        ConfigError: it is no judging run.
    """
    if not is_judging(manifest):
        raise ConfigError("this run judges no pairs of answers: preferences are read of a run of the suite pairwise")
    pair = manifest["target"]["pair"]
    first, second = pair.get("names") or (pair.get("first", "A"), pair.get("second", "B"))
    return str(first), str(second)


def preferences(run: JudgingRun, *, score: str = "", summary: RunSummary | None = None) -> Preferences:
    """What a judging run says of its two sides.

    A rate rests on independent pairs; where pairs share a cluster or a sample has repeats, intervals are made by
    cluster and the exact binomial test gives way to a sign-flip test by cluster, which is the same for single pairs.

    Args:
        run: its records are read once for the scores; the answers of the first 500 to see whether a side always says
            the same.
        score: the preference's name; "" is `preference`, or the run's headline where there is no such score.
        summary: the run's own, where it has been made already.

    Raises:
        ConfigError: the run judges no pairs.
    """
    names = sides_of(run.manifest)
    stopping = (summary or run.summary()).stopping
    read = _read(run.judged_rows(score or score_of(run.manifest)))
    whole = read.groups.pop(None)
    test, p = _test(whole, read)
    if stopping:
        test, p = "", None
    tally = whole.tally()
    # The mean of a stopped run is drawn away from a half, and a fixed-n interval around it does not hold.
    half = Mean(whole.mean("half").value, stopping.interval, tally.scored) if stopping else whole.mean("half")
    win, losses = (_shown(whole.mean(name), stopping) for name in ("win", "losses"))
    verdict = _verdict(tally, win, p, stopping)
    found = Preferences(
        run=run.id,
        first=names[0],
        second=names[1],
        by=read.by,
        tally=tally,
        win=win,
        half=half,
        losses=losses,
        bounds=whole.bounds,
        p=p,
        test=test,
        interval_note="confidence sequence: it holds at every moment at once" if stopping else whole.note,
        detectable=detectable_win_rate(tally.decided),
        bias=read.places.settled(),
        alike=read.alike,
        groups=tuple(_group(name, group, read, stopping) for name, group in read.groups.items()),
        stopping=stopping,
        verdict=verdict,
        sentence="",
        level=stopping.level if stopping else _LEVEL,
    )
    return _worded(found, _same_answers(run))


def _worded(found: Preferences, same: Sequence[SameAnswers]) -> Preferences:
    return replace(found, sentence=preference_sentence(found), warnings=preference_warnings(found, same))


def score_of(manifest: Mapping[str, Any]) -> str:
    """The preference among a run's scores: the one of that name, else its headline."""
    scores = manifest.get("scores") or ["preference"]
    return "preference" if "preference" in scores else str(manifest.get("primary") or scores[0])


@dataclass(slots=True)
class _Group:
    """Counts of one group's rows and, when all are read, its means."""

    fates: Counter[Fate] = field(default_factory=Counter)
    absent: Counter[tuple[str, str]] = field(default_factory=Counter)
    won: list[int] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    summaries: dict[str, ScoreSummary] = field(default_factory=dict)

    def add(self, row: JudgedRow, fate: Fate) -> None:
        self.fates[fate] += 1
        if fate in {"A", "B"}:
            self.won.append(1 if fate == "A" else -1)
            self.units.append(unit_of(row))
        elif fate == "not_judged":
            self.absent[str(row.detail["side"]), str(row.detail.get("why") or "error")] += 1

    def tally(self) -> Tally:
        sides = dict.fromkeys([*SIDES, "both", *(side for side, _ in self.absent)])
        absent = {side: {why: n for (one, why), n in self.absent.items() if one == side} for side in sides}
        counted = self.fates
        return Tally(
            a=counted["A"],
            b=counted["B"],
            tie=counted["tie"],
            inconsistent=counted["inconsistent"],
            unread=counted["unread"],
            refused=counted["refused"],
            not_judged={side: why for side, why in absent.items() if why},
            not_applicable=counted["not_applicable"],
            errors=counted["errors"],
        )

    def mean(self, name: str) -> Mean:
        """`win`, `half` or `losses`; a win rate over nothing may be anything."""
        found = self.summaries.get(name)
        if found is None or found.answered.value is None:
            return Mean(None, Interval(0.0, 1.0) if name == "win" else None, 0)
        return found.answered

    @property
    def bounds(self) -> Interval | None:
        found = self.summaries.get("half")
        return found.doubt if found else None

    @property
    def note(self) -> str:
        """How the intervals were made, where that is not Wilson's."""
        notes = {name: found.note for name in ("win", "half") if (found := self.summaries.get(name)) and found.note}
        said = {"win": "win rate", "half": "ties as half"}
        return "; ".join(f"{said[name]}: {note}" for name, note in notes.items())


@dataclass(slots=True)
class _Read:
    """All of a run's rows, counted; group None is the whole run."""

    groups: dict[str | None, _Group]
    places: PlaceTally
    alike: int
    by: str
    clustered: bool


def _read(rows: Iterator[JudgedRow]) -> _Read:
    groups: dict[str | None, _Group] = defaultdict(_Group)
    places, by, alike = PlaceTally(), Counter[str](), 0
    units: list[str] = []
    scores: list[ScoreRow] = []
    whole = groups[None]
    for row in rows:
        fate = _fate(row)
        for group in (whole, groups[row.group]):
            group.add(row, fate)
        scores += _score_rows(row, fate)
        units.append(unit_of(row))
        if row.outcome == "scored":
            places.add(row.detail.get("orders") or (), fate, unit_of(row))
            alike += bool(row.detail.get("alike"))
            by[str(row.detail.get("by") or "")] += 1
    if set(groups) <= {None, ""}:
        groups.pop("", None)
    _summarize(scores, groups)
    found = by.most_common(1)
    return _Read(groups, places, alike, found[0][0] if found else "", len(set(units)) < len(units))


def unit_of(row: JudgedRow) -> str:
    """What a row is independent of others by: its cluster, else its sample."""
    return f"c:{row.cluster}" if row.cluster else f"s:{row.sample}"


def _fate(row: JudgedRow) -> Fate:
    if row.outcome == "not_applicable" and row.detail.get("side"):
        return "not_judged"
    if row.outcome != "scored":
        return WITHOUT_VERDICT[row.outcome]
    label = str(row.detail.get("label"))
    if label in _LABELS:
        return _LABELS[label]
    value = 0.5 if row.value is None else row.value
    return "tie" if value == 0.5 else "A" if value > 0.5 else "B"


def _score_rows(row: JudgedRow, fate: Fate) -> Iterator[ScoreRow]:
    """The row as it enters each mean that its fate belongs to."""
    place = (row.sample, row.group, row.cluster, row.repeat)
    if row.outcome in {"scored", "unparsed", "refused"}:
        yield ScoreRow(*place, "half", row.outcome, row.value)
    if row.outcome == "scored":
        yield ScoreRow(*place, "losses", "scored", row.value)
    if fate in {"A", "B"}:
        yield ScoreRow(*place, "win", "scored", float(fate == "A"))
    if fate == "not_judged":
        yield ScoreRow(*place, "losses", "scored", _VALUES.get(str(row.detail["side"]), 0.5))


def _summarize(rows: Sequence[ScoreRow], groups: Mapping[str | None, _Group]) -> None:
    overall, by_group = summarize(rows, over=dict.fromkeys(("win", "half", "losses"), "scored"))
    for one in overall:
        groups[None].summaries[one.name] = one
    for name, several in by_group.items():
        for one in several:
            key = one.group if one.group in groups else ""
            if key in groups:
                groups[key].summaries[name] = one


def _test(group: _Group, read: _Read) -> tuple[str, float | None]:
    """The test of an even split of the decided pairs, and its p."""
    if not group.won:
        return "", None
    name = "sign-flip test by cluster" if read.clustered else "exact binomial test"
    return name, fair_split(group.won, group.units if read.clustered else None)


def _group(name: str | None, group: _Group, read: _Read, stopping: Stopping | None) -> GroupPreference:
    return GroupPreference(
        name or NO_GROUP,
        group.tally(),
        _shown(group.mean("win"), stopping),
        _shown(group.mean("half"), stopping),
        None if stopping else _test(group, read)[1],
    )


def _shown(mean: Mean, stopping: Stopping | None) -> Mean:
    """A mean as it may be shown: without its interval where the number of pairs was not fixed beforehand."""
    return Mean(mean.value, None, mean.n) if stopping else mean


def _verdict(tally: Tally, win: Mean, p: float | None, stopping: Stopping | None) -> PreferenceVerdict:
    if not tally.scored:
        return "none"
    if stopping:
        return decided_side(stopping)
    if p is None or p >= 1 - _LEVEL or win.interval is None or win.interval.low <= 0.5 <= win.interval.high:
        return "cannot_tell"
    return "A" if tally.a > tally.b else "B"


def _same_answers(run: JudgingRun) -> list[SameAnswers]:
    """Per side, how often its most frequent answer was given."""
    given: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
    for at, record in enumerate(run.records()):
        if at >= _ANSWERS_READ:
            break
        answers = record.output.value if record.output else None
        for side in SIDES:
            if isinstance(answers, Mapping) and answers.get(side) is not None:
                given[side][" ".join(str(answers[side]).split())] += 1
    return [SameAnswers(side, max(counts.values(), default=0), counts.total()) for side, counts in given.items()]
