"""Sections of judged pairs: what was preferred, pair by pair or as a table of all pairs.

A few pairs are shown each in full; of many a terminal shows a line each. A comment has the line of each pair and
its groups, which is what it has room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.preferences_values import GroupPreference, PositionBias, Preferences
from steelyard.analysis.preferences_wording import absent_text, limits, p_equals, p_percent, percent, shared_notes
from steelyard.analysis.standings import Standings
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary_values import RunSummary
from steelyard.report.chart import ChartPoint, RowChart, SequenceChart, ShareBar, SharePart
from steelyard.report.numbers import MISSING, counted, kind_text, score_title
from steelyard.report.section import (
    HTML,
    MARKDOWN,
    TERMINAL,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    kept,
    sentences,
    text_row,
)
from steelyard.stats.intervals import Interval

_MOST_IN_FULL: Final = 3
"""Pairs beyond this many are lines of a table on a terminal: ten targets against each other fit a screen or two."""
_SIDES: Final = {"A": "a", "B": "b"}
_JUDGES: Final = {"judge": "a judge", "lexical": "likeness to the reference", "people": "people"}
_SEQUENCES: Final = (
    "(used: samples of a pair that --stop-when-decided may end early; its interval is a confidence sequence)"
)
_LEAST_SAMPLES: Final = 2


@dataclass(frozen=True, slots=True)
class Pairwise:
    """What the judging runs of a page say: an entry for each, and who stands where if they are several."""

    preferences: tuple[Preferences, ...] = ()
    standings: Standings | None = None

    @property
    def judging(self) -> frozenset[str]:
        """Ids of the judging runs."""
        return frozenset(found.run for found in self.preferences)

    @property
    def sentences(self) -> list[str]:
        """What may be concluded: of all targets first, then of every pair."""
        first = [self.standings.sentence] if self.standings else []
        return [*first, *(found.sentence for found in self.preferences)]


NO_PAIRS: Final = Pairwise()
"""Of a page without a judging run."""


def preferences_section(several: Sequence[Preferences]) -> Section:
    """All judging runs of a page; empty where there are none."""
    if not several:
        return Section("Preferences", key="preferences")
    many = len(several) > _MOST_IN_FULL
    warnings = several[0].warnings if len(several) == 1 else shared_notes(several)
    return Section(
        "Preferences",
        key="preferences",
        parts=kept(
            [
                _pairs_table(several, many=many),
                Section(
                    "", notes=tuple(sentences(warnings, "warning")), media=MARKDOWN | TERMINAL if many else MARKDOWN
                ),
                _places(several),
                *(_pair(found, alone=len(several) == 1, in_full=not many) for found in several),
                Section("", chart=win_rate_chart(several), media=HTML),
                *(_sequence(found) for found in several if found.stopping),
            ]
        ),
    )


def _pairs_table(several: Sequence[Preferences], *, many: bool) -> Section:
    """A line per pair: the counts, the win rate of A with its interval, and p.

    A stopped run has an interval for the share with ties as half alone, so that share is shown for all where one is.
    """
    halves = any(found.stopping for found in several)
    rate = "A, even as half" if halves else "A wins"
    interval = "95 % confidence sequence" if halves else "95 % CI"
    columns = (
        TableColumn("A vs B", "name"),
        TableColumn("A"),
        TableColumn("tie", media=MARKDOWN),
        TableColumn("inconsistent", media=MARKDOWN),
        TableColumn("even", media=TERMINAL),
        TableColumn("B"),
        TableColumn("unparsed or refused", short="no verdict"),
        TableColumn("not judged", media=MARKDOWN),
        TableColumn(rate),
        TableColumn(interval, "interval", "95 % CI"),
        TableColumn("samples used" if halves else "p", short="used" if halves else "p"),
    )
    rows = tuple(_pair_row(found, halves=halves) for found in several)
    note = [Sentence(_SEQUENCES, media=TERMINAL)] if halves else []
    media = MARKDOWN | TERMINAL if many else MARKDOWN
    return Section("", SectionTable(columns, rows), notes=tuple(note), media=media)


def _pair_row(found: Preferences, *, halves: bool) -> tuple[TableCell, ...]:
    tally, mean = found.tally, found.half if halves else found.win
    even, unread = tally.tie + tally.inconsistent, tally.unparsed + tally.refused
    counts = (tally.a, tally.tie, tally.inconsistent, even, tally.b, unread, tally.failed)
    used = _used(found.stopping) if found.stopping else "all"
    return (
        TableCell(found.title),
        *text_row(*(f"{n:,}" for n in counts)),
        TableCell(percent(mean.value, 1), strong=True, value=mean.value),
        TableCell(_short(mean.interval)),
        TableCell(used if halves else p_percent(found.p)),
    )


def _used(stopping: Stopping) -> str:
    return f"{stopping.used:,} of {stopping.planned:,}"


def _places(several: Sequence[Preferences]) -> Section:
    """What is known of a preference for the first or second place, a line per pair."""
    told = [
        Sentence(
            "; ".join(f"{what} {figure}" for what, figure in bias_figures(found.bias)), "fact", f"places, {found.title}"
        )
        for found in several
        if found.bias
    ]
    return Section("", notes=tuple(told), media=MARKDOWN)


def _pair(found: Preferences, *, alone: bool, in_full: bool) -> Section:
    """One pair: the bar of shares, the rates, the places, the groups.

    Args:
        found: a judging run.
        alone: whether its sentence is all that the page concludes, so that it is not repeated below.
        in_full: whether a terminal has room for it.
    """
    by = f" by {_JUDGES.get(found.by, found.by)}" if found.by else ""
    judged = f"{counted(found.tally.judged, 'pair')} judged{by}"
    concluded = Sentence(found.sentence, "conclusion", media=TERMINAL if alone else HTML | TERMINAL)
    media = HTML | TERMINAL if in_full else HTML
    groups = _groups(found)
    bar = Section(
        found.title,
        chart=ShareBar(_parts(found)),
        notes=(
            concluded,
            *sentences(found.warnings, "warning"),
            Sentence(judged, media=HTML),
            Sentence(f"(run {found.run}; {judged})", media=TERMINAL),
        ),
        parts=kept([_rates(found), groups]),
        media=media,
    )
    return Section("", parts=kept([bar, _in_comment(groups, found.title)]))


def _in_comment(groups: Section, title: str) -> Section:
    """The groups under the pair's title: in a comment its other parts are lines of a table."""
    return Section(f"{title} per group", groups.table, folded=True, media=MARKDOWN)


def _parts(found: Preferences) -> tuple[SharePart, ...]:
    """Parts of the bar; those of no pair are left out, but for the two sides."""
    judged = found.tally.judged
    parts, begin = [], 0.0
    for kind, n in found.tally.parts():
        share = n / judged if judged else 0.0
        if n or kind in _SIDES:
            name = found.name_of(kind) if kind in _SIDES else kind
            text = percent(share, 1) if judged else MISSING
            parts.append(SharePart(_SIDES.get(kind, kind), name, f"{n:,}", text, begin, share))
        begin += share
    return tuple(parts)


def _rates(found: Preferences) -> Section:
    head = f"{100 * found.level:g} % {'confidence sequence' if found.stopping else 'CI'}"
    columns = (
        TableColumn("Rate", "name", f"of {found.first}"),
        TableColumn("Value", short="rate"),
        TableColumn(head, "interval"),
        TableColumn("n"),
        TableColumn("p"),
    )
    bias = [Sentence(figure, "fact", what) for what, figure in bias_figures(found.bias)] if found.bias else []
    note = _method(found)
    return Section(
        "",
        SectionTable(columns, tuple(_rate_rows(found)), f"Rates of {found.first}"),
        notes=(
            *([Sentence(note, media=HTML), Sentence(f"({note})", media=TERMINAL)] if note else []),
            *(Sentence(text, "fact", "left out", HTML) for text in _left_out(found)),
            *(Sentence(text, media=TERMINAL) for text in _left_out(found)),
            *bias,
        ),
    )


def _rate_rows(found: Preferences) -> Iterator[tuple[TableCell, ...]]:
    p = MISSING if found.stopping else p_percent(found.p)
    yield _rate("win rate", "of the decided pairs", found.win, p, strong=True)
    yield _rate("ties as half", "of all pairs with a verdict, a tie or disagreement as half", found.half)
    if found.tally.failed:
        yield _rate("no answer as loss", "the same with a missing answer as a loss", found.losses)
    if found.bounds:
        name = TableCell("bounds", "whatever the missing verdicts are worth", "bounds")
        yield (name, *text_row("", limits(found.bounds), f"{found.tally.judged:,}", ""))


def _rate(name: str, meaning: str, mean: Mean, p: str = "", *, strong: bool = False) -> tuple[TableCell, ...]:
    return (
        TableCell(name, meaning, name),
        TableCell(percent(mean.value), strong=strong, value=mean.value),
        *text_row(limits(mean.interval), f"{mean.n:,}", p),
    )


def _method(found: Preferences) -> str:
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
    """Pairs without a verdict, one text per cause."""
    tally = found.tally
    texts = [f"not judged, no answer of {absent_text(found, side)}" for side in tally.not_judged]
    if tally.not_applicable:
        texts.append(f"nothing to go by: {tally.not_applicable:,}")
    if tally.errors:
        texts.append(f"failed while judged: {tally.errors:,}")
    return tuple(texts)


def bias_figures(bias: PositionBias) -> tuple[tuple[str, str], ...]:
    """What is known of the places in which answers were shown: (what, figure)."""
    won = f"{bias.first_won:,} of {counted(bias.first_won + bias.second_won, 'verdict')}"
    if bias.orders == "one":
        interval = f", 95 % CI {limits(bias.interval)}" if bias.interval else ""
        return (("shown first won", f"{percent(bias.first_rate, 1)} ({won}{interval}, {p_equals(bias.p)})"),)
    first, second = f"{bias.favours_first:,}", f"{bias.favours_second:,}"
    points = MISSING if bias.bias is None else f"{100 * bias.bias:+.1f} points"
    test = f", {p_equals(bias.p)}" if bias.p is not None else ""
    return (
        ("same in both orders", f"{percent(bias.consistency, 1)} of {counted(bias.n, 'pair')}"),
        ("shown first won", f"{percent(bias.first_rate, 1)} ({won})"),
        ("bias to the first", f"{points} (disagreements for the first {first}, for the second {second}{test})"),
    )


def _groups(found: Preferences) -> Section:
    columns = (
        TableColumn("Group", "name", "category"),
        TableColumn("A"),
        TableColumn("tie"),
        TableColumn("inconsistent", short="inc."),
        TableColumn("B"),
        TableColumn("A wins", short="win rate"),
        TableColumn("95 % CI", "interval"),
        TableColumn("p"),
        TableColumn("left out", "text", media=HTML),
    )
    caption = f"By group: A is {found.first}, B is {found.second}; p is not corrected for the number of groups"
    rows = tuple(_group_row(group) for group in found.groups)
    return Section("", SectionTable(columns, rows, caption), detail=True)


def _group_row(group: GroupPreference) -> tuple[TableCell, ...]:
    tally = group.tally
    gone = (
        ("unparsed", tally.unparsed),
        ("refused", tally.refused),
        ("not judged", tally.failed),
        ("errors", tally.errors),
    )
    left_out = ", ".join(f"{n:,} {what}" for what, n in gone if n)
    counts = (f"{n:,}" for n in (tally.a, tally.tie, tally.inconsistent, tally.b))
    rate, interval = percent(group.win.value, 1), _short(group.win.interval)
    return text_row(group.group, *counts, rate, interval, p_percent(group.p), left_out)


def _short(interval: Interval | None) -> str:
    return MISSING if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def answers_section(runs: Sequence[tuple[str, RunSummary]], reasons: Sequence[str]) -> Section:
    """Runs that answered, or judged answers: they have no mean of their own, and that is no fault.

    Args:
        runs: what the page calls each, and its summary.
        reasons: why each did not finish; "" where it did.
    """
    columns = (
        TableColumn("run", "text", media=TERMINAL),
        TableColumn("target", "name"),
        TableColumn("done"),
        TableColumn("errors"),
        TableColumn("tokens in / out"),
        TableColumn("cached", media=HTML),
        TableColumn("seconds", media=HTML),
    )
    rows = tuple(_answers_row(label, one, reason) for (label, one), reason in zip(runs, reasons, strict=True))
    unread = [
        f"{one.target}: verdicts that could not be read: "
        + ", ".join(f"{n} {kind_text(kind)}" for kind, n in one.unparsed_kinds.items())
        for _, one in runs
        if one.unparsed_kinds
    ]
    caption = "Runs that answered or judged; they have no scores of their own"
    table = SectionTable(columns, rows, caption)
    return Section("Answers", table, notes=tuple(sentences(unread)), key="answers", media=HTML | TERMINAL)


def _answers_row(label: str, one: RunSummary, reason: str) -> tuple[TableCell, ...]:
    why = f": {reason}" if reason not in {"", one.state} else ""
    state = "" if one.state == "finished" else f"\n{one.state} {one.done}/{one.planned}{why}"
    return (
        TableCell(one.run),
        TableCell(label, short=one.target + state),
        *text_row(
            f"{one.done - one.errors:,}",
            f"{one.errors:,}",
            one.tokens_text,
            f"{one.from_journal:,}",
            f"{one.seconds:.1f}",
        ),
    )


def win_rate_chart(several: Sequence[Preferences]) -> RowChart:
    """The first side's share of every pair of targets with its interval, a row each; hollow where nothing is decided.

    It is the win rate over the decided pairs; of a run that was stopped early, the mean with ties as half and its
    confidence sequence.
    """
    points, words = [], []
    for at, found in enumerate(several):
        mean = found.half if found.stopping else found.win
        text = MISSING if mean.value is None else f"{100 * mean.value:.1f} %"
        interval = mean.interval if mean.n else None
        points.append(_point(at, mean.value, interval, text, decided=found.verdict in {"A", "B"}))
        words.append(f"{found.title}: {text}{f' ({_short(mean.interval)})' if mean.interval else ''}")
    levels = {found.level for found in several}
    kind = "confidence sequence" if all(found.stopping for found in several) else "CI"
    title = f"Share of the first, {100 * levels.pop():g} % {kind}" if len(levels) == 1 else "Share of the first"
    return RowChart(
        title,
        "; ".join(words),
        tuple(found.title for found in several),
        tuple(points),
        domain=(0, 100),
        lines=((50, "even"),),
    )


def _point(row: int, value: float | None, interval: Interval | None, text: str, *, decided: bool) -> ChartPoint:
    """A share as a point in percent."""
    low, high = (100 * interval.low, 100 * interval.high) if interval else (None, None)
    return ChartPoint(row, 0, None if value is None else 100 * value, text, low, high, decided)


def _sequence(found: Preferences) -> Section:
    chart = sequence_chart(found.stopping, name=found.title) if found.stopping else None
    return Section("", chart=chart, media=HTML)


def sequence_chart(stopping: Stopping, *, name: str = "") -> SequenceChart:
    """The confidence sequence over the number of samples, with the threshold and where the run stopped.

    Args:
        stopping: what the rule decided, with its path.
        name: whose mean it is; "" is the score's.
    """
    path = stopping.path or ((stopping.used, sum(stopping.interval) / 2, *stopping.interval),)
    low, high = stopping.interval
    used = f"after {stopping.used:,} of {stopping.planned:,} samples"
    words = f"{100 * low:.1f} to {100 * high:.1f} % {used}, threshold {100 * stopping.threshold:g} %"
    return SequenceChart(
        title=f"{name or score_title(stopping.score)}: confidence sequence over the samples",
        short_title="Confidence sequence over the samples",
        description=f"{name or stopping.score}: {words}",
        points=tuple((n, 100 * mean, 100 * low, 100 * high) for n, mean, low, high in path),
        # A difference of two shares may be negative.
        domain=(-100, 100) if stopping.against else (0, 100),
        most=max(stopping.planned, stopping.used, _LEAST_SAMPLES),
        threshold=100 * stopping.threshold,
        decided_after=stopping.used if stopping.used < stopping.planned else None,
    )
