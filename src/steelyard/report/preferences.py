"""Preferences as rows of text: one wording of every number for terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from steelyard.compare.preferences import only_answers
from steelyard.compare.preferences_values import GroupPreference, PositionBias, Preferences
from steelyard.compare.preferences_wording import absent_text, limits, p_equals, p_percent, percent
from steelyard.compare.standings_values import Standings
from steelyard.report.numbers import MISSING, counted
from steelyard.report.stored import StoredRun
from steelyard.stats.intervals import Interval
from steelyard.summary import Mean

_KINDS: Final = {"A": "a", "B": "b"}
_BY: Final = {"judge": "a judge", "lexical": "likeness to the reference", "people": "people"}


@dataclass(frozen=True, slots=True)
class Pairwise:
    """What the judging runs of a page say: an entry for each, and who stands where if they are several."""

    preferences: tuple[Preferences, ...] = ()
    standings: Standings | None = None

    @property
    def judging(self) -> frozenset[str]:
        """Ids of the judging runs."""
        return frozenset(one.run for one in self.preferences)

    @property
    def sentences(self) -> list[str]:
        """What may be concluded: of all targets first, then of every pair."""
        first = [self.standings.sentence] if self.standings else []
        return [*first, *(one.sentence for one in self.preferences)]


NO_PAIRS: Final = Pairwise()
"""Of a page without a judging run."""


def has_scores(run: StoredRun, judging: Collection[str]) -> bool:
    """Whether tables of scores are about a run, on a page with these judging runs: they and answering ones have none.

    Args:
        run: one of the page.
        judging: ids of its judging runs.
    """
    return not judging or (run.id not in judging and not only_answers(run.manifest))


class Part(NamedTuple):
    """One part of the bar of shares: its kind (`a`, `tie`, `inconsistent`, `unread`, `refused`, `b`) and its size."""

    kind: str
    name: str
    n: str
    text: str
    begin: float
    share: float


class RateRow(NamedTuple):
    """A rate of the first side; `means` says what of."""

    name: str
    means: str
    value: str
    interval: str
    n: str
    p: str


class GroupRow(NamedTuple):
    """The counts and rates of one group."""

    group: str
    a: str
    tie: str
    inconsistent: str
    b: str
    left_out: str
    win: str
    interval: str
    p: str


@dataclass(frozen=True, slots=True)
class PreferenceView:
    """One pair of sides, every number written out.

    Args:
        run: the judging run's id.
        title: both sides.
        first: what side A is called; likewise `second`.
        sentence: what may be concluded.
        warnings: one sentence each.
        caption: of the shares: how many pairs, judged by whom.
        parts: of the bar; those of no pair are left out, but for the two sides.
        rates: of the first side.
        interval_head: heads the column of intervals.
        note: how intervals and p were made.
        left_out: pairs without a verdict, one text per cause.
        bias: (what, figure) of the two places; empty where they are not known.
        groups: a row each.
    """

    run: str
    title: str
    first: str
    second: str
    sentence: str
    warnings: tuple[str, ...]
    caption: str
    parts: tuple[Part, ...]
    rates: tuple[RateRow, ...]
    interval_head: str
    note: str
    left_out: tuple[str, ...]
    bias: tuple[tuple[str, str], ...]
    groups: tuple[GroupRow, ...]


def preference_view(found: Preferences) -> PreferenceView:
    """The texts of one judging run."""
    by = f" by {_BY.get(found.by, found.by)}" if found.by else ""
    stopped = found.stopping is not None
    head = "confidence sequence" if stopped else "interval"
    return PreferenceView(
        run=found.run,
        title=found.title,
        first=found.first,
        second=found.second,
        sentence=found.sentence,
        warnings=found.warnings,
        caption=f"{counted(found.tally.judged, 'pair')} judged{by}",
        parts=_parts(found),
        rates=_rates(found),
        interval_head=f"{100 * found.level:g} % {head}",
        note=_note(found),
        left_out=_left_out(found),
        bias=bias_rows(found.bias) if found.bias else (),
        groups=tuple(_group(one) for one in found.groups),
    )


def preference_views(found: Sequence[Preferences]) -> list[PreferenceView]:
    """One per judging run."""
    return [preference_view(one) for one in found]


def _parts(found: Preferences) -> tuple[Part, ...]:
    judged = found.tally.judged
    parts, begin = [], 0.0
    for kind, n in found.tally.parts():
        share = n / judged if judged else 0.0
        if n or kind in _KINDS:
            name = found.name_of(kind) if kind in _KINDS else kind
            text = percent(share, 1) if judged else MISSING
            parts.append(Part(_KINDS.get(kind, kind), name, f"{n:,}", text, begin, share))
        begin += share
    return tuple(parts)


def _rates(found: Preferences) -> tuple[RateRow, ...]:
    p = MISSING if found.stopping else p_percent(found.p)
    rows = [
        _rate("win rate", "of the decided pairs", found.win, p),
        _rate("ties as half", "of all pairs with a verdict, a tie or disagreement as half", found.half, ""),
    ]
    if found.tally.failed:
        rows.append(_rate("no answer as loss", "the same with a missing answer as a loss", found.losses, ""))
    if found.bounds:
        n = f"{found.tally.judged:,}"
        rows.append(RateRow("bounds", "whatever the unread are worth", "", limits(found.bounds), n, ""))
    return tuple(rows)


def _rate(name: str, means: str, mean: Mean, p: str) -> RateRow:
    return RateRow(name, means, percent(mean.value), limits(mean.interval), f"{mean.n:,}", p)


def _note(found: Preferences) -> str:
    """How intervals and p were made; that a stopped run has no p, and why."""
    if found.stopping:
        return (
            "The interval is a confidence sequence, which holds at every moment at once; a p-value and fixed-n "
            "intervals do not hold where the number of pairs was not fixed, and the rates of a stopped run lie "
            "further from a half than the truth on average."
        )
    parts = [f"p: {found.test}" if found.test else "", found.interval_note]
    return "; ".join(part for part in parts if part)


def _left_out(found: Preferences) -> tuple[str, ...]:
    tally = found.tally
    texts = [f"not judged, no answer of {absent_text(found, side)}" for side in tally.not_judged]
    if tally.not_applicable:
        texts.append(f"nothing to go by: {tally.not_applicable:,}")
    if tally.errors:
        texts.append(f"failed while judged: {tally.errors:,}")
    return tuple(texts)


def bias_rows(bias: PositionBias) -> tuple[tuple[str, str], ...]:
    """What is told of the places: (what, figure)."""
    won = f"{bias.first_won:,} of {counted(bias.first_won + bias.second_won, 'verdict')}"
    if bias.orders == "one":
        interval = f", 95 % interval {limits(bias.interval)}" if bias.interval else ""
        first = f"{percent(bias.first_rate, 1)} ({won}{interval}, {p_equals(bias.p)})"
        return (("shown first won", first),)
    first, second = f"{bias.favours_first:,}", f"{bias.favours_second:,}"
    points = MISSING if bias.bias is None else f"{100 * bias.bias:+.1f} points"
    test = f", {p_equals(bias.p)}" if bias.p is not None else ""
    return (
        ("same in both orders", f"{percent(bias.consistency, 1)} of {counted(bias.n, 'pair')}"),
        ("shown first won", f"{percent(bias.first_rate, 1)} ({won})"),
        ("bias to the first", f"{points} (disagreements for the first {first}, for the second {second}{test})"),
    )


def _group(one: GroupPreference) -> GroupRow:
    tally = one.tally
    gone = (
        ("unread", tally.unread),
        ("refused", tally.refused),
        ("not judged", tally.failed),
        ("errors", tally.errors),
    )
    left_out = ", ".join(f"{n:,} {what}" for what, n in gone if n)
    a, tie, inconsistent, b = (f"{n:,}" for n in (tally.a, tally.tie, tally.inconsistent, tally.b))
    rate, interval = percent(one.win.value, 1), _short(one.win.interval)
    return GroupRow(one.group, a, tie, inconsistent, b, left_out, rate, interval, p_percent(one.p))


def _short(interval: Interval | None) -> str:
    return MISSING if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
