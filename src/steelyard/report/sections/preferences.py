"""Sections of pairwise judgments: shares, win rates and position bias, per pair of targets or as a table of all pairs.

A few pairs are shown in full; of many pairs a terminal shows a line each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judging_manifest import STYLES
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    interval_text,
    kind_text,
    level_text,
    mean_text,
    p_equals,
    p_text,
    percent_limits,
    percent_text,
    score_title,
    signed_text,
)
from steelyard.analysis.preferences.preferences_values import GroupPreference, LengthEffect, PositionBias, Preferences
from steelyard.analysis.preferences.preferences_wording import absent_text
from steelyard.analysis.preferences.standings import Standings
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.charts.chart import RowChart, SequenceChart, ShareBar, SharePart, interval_point
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import outcome_word
from steelyard.report.section import (
    Level,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    sentences,
    text_row,
)
from steelyard.report.sections.judge_panel import reply_form_texts

_MOST_IN_FULL: Final = 3
"""Pairs beyond this many are lines of a table on a terminal: the pairs of ten targets fit on two screens."""
_SIDES: Final = {"A": "a", "B": "b"}
_JUDGES: Final = {
    "judge": "a judge",
    "jury": "the jury of all judges",
    "lexical": "likeness to the reference",
    "people": "people",
}
_SEQUENCES: Final = (
    "Samples used: of a pair that may end early, once it is decided; its interval is a confidence sequence"
)
_LEAST_SAMPLES: Final = 2


@dataclass(frozen=True, slots=True)
class Pairwise:
    """The results of the judging runs of a page: one entry per run, and standings if there are several."""

    preferences: tuple[Preferences, ...] = ()
    standings: Standings | None = None


NO_PAIRS: Final = Pairwise()
"""For a page without a judging run."""


def preferences_section(judged: Sequence[Preferences]) -> Section:
    """All judging runs of a page; empty where there are none."""
    if not judged:
        return Section("Preferences", key="preferences")
    many = len(judged) > _MOST_IN_FULL
    return Section(
        "Preferences",
        key="preferences",
        parts=[
            _pairs_table(judged, level="essential" if many else "page"),
            *(_pair(preferences, level="page" if many else "essential") for preferences in judged),
            *(_sequence(preferences) for preferences in judged if preferences.stopping),
        ],
    )


def _pairs_table(judged: Sequence[Preferences], *, level: Level) -> Section:
    """A line per pair: the counts, the win rate of A with its interval, and p.

    A stopped run has an interval only for the share with ties as half; with such a run, all rows show that share.
    """
    halves = any(preferences.stopping for preferences in judged)
    interval = "95 % confidence sequence" if halves else "95 % CI"
    is_one = len(judged) == 1
    first, second = (judged[0].first, judged[0].second) if is_one else ("A", "B")
    sides = [TableColumn(name, is_data=is_one) for name in (first, second)]
    columns = columns_of(
        *("pair" if is_one else "A vs B", sides[0], "tie", "inconsistent", sides[1], "no verdict"),
        TableColumn("not judged", level="detail"),
        TableColumn(f"{first}, even as half" if halves else f"{first} wins", is_data=is_one),
        TableColumn(interval, "interval"),
        "samples used" if halves else "p",
    )
    rows = tuple(_pair_row(preferences, halves=halves) for preferences in judged)
    notes = sentences([_SEQUENCES if halves else ""])
    return Section("", SectionTable(columns, rows), win_rate_chart(judged), tuple(notes), level=level)


def _pair_row(preferences: Preferences, *, halves: bool) -> tuple[TableCell, ...]:
    tally, mean = preferences.tally, preferences.half if halves else preferences.win
    counts = (tally.a, tally.tie, tally.inconsistent, tally.b, tally.unparsed + tally.refused, tally.failed)
    stopping = preferences.stopping
    used = f"{stopping.used:,} of {stopping.planned:,}" if stopping else "all"
    return (
        TableCell(preferences.title),
        *text_row(*(f"{n:,}" for n in counts)),
        TableCell(percent_text(mean.value), strong=True, value=mean.value),
        TableCell(interval_text(mean.interval, share=True) or MISSING),
        TableCell(used if halves else p_text(preferences.evidence.p)),
    )


def _pair(preferences: Preferences, *, level: Level) -> Section:
    """One pair: the bar of shares, the rates, the position bias, the groups."""
    judged = f"{count_text(preferences.tally.judged, 'pair')} judged{_judged_by(preferences)}"
    return Section(
        preferences.title,
        chart=ShareBar(_parts(preferences)),
        notes=(Sentence(f"Run {preferences.run}: {judged}"),),
        parts=[_rates(preferences), _groups(preferences)],
        level=level,
    )


def _judged_by(preferences: Preferences) -> str:
    """Who judged; with several judges, the one whose preferences these are."""
    judge = preferences.score.removeprefix("preference_")
    if preferences.by == "judge" and judge != preferences.score:
        return f" by the judge {judge}"
    return f" by {_JUDGES.get(preferences.by, preferences.by)}" if preferences.by else ""


def _parts(preferences: Preferences) -> tuple[SharePart, ...]:
    """Parts of the bar; empty ones are left out except the two sides."""
    judged = preferences.tally.judged
    parts, begin = [], 0.0
    for kind, n in preferences.tally.parts():
        share = n / judged if judged else 0.0
        if n or kind in _SIDES:
            name = preferences.name_of(kind) if kind in _SIDES else outcome_word(kind)
            text = percent_text(share) if judged else MISSING
            parts.append(SharePart(_SIDES.get(kind, kind), name, f"{n:,}", text, begin, share))
        begin += share
    return tuple(parts)


def _rates(preferences: Preferences) -> Section:
    head = f"{level_text(preferences.evidence.level)} {'confidence sequence' if preferences.stopping else 'CI'}"
    columns = columns_of(f"rate of {preferences.first}", "value", TableColumn(head, "interval"), "n", "p")
    bias = (
        [Sentence(figure, "fact", what) for what, figure in bias_figures(preferences.bias)] if preferences.bias else []
    )
    return Section(
        "",
        SectionTable(columns, tuple(_rate_rows(preferences))),
        notes=(
            *sentences([_method(preferences)]),
            *(Sentence(text, "fact", "left out") for text in _left_out(preferences)),
            *bias,
            *(Sentence(figure, "fact", what) for what, figure in length_figures(preferences)),
        ),
    )


def _rate_rows(preferences: Preferences) -> Iterator[tuple[TableCell, ...]]:
    p = MISSING if preferences.stopping else p_text(preferences.evidence.p)
    yield _rate("win rate", "of the decided pairs", preferences.win, p, strong=True)
    yield _rate("ties as half", "of all pairs with a verdict, a tie or disagreement as half", preferences.half)
    if preferences.tally.failed:
        yield _rate("no answer as loss", "the same with a missing answer as a loss", preferences.losses)
    if preferences.bounds:
        name = TableCell("bounds", ("counting the unreadable verdicts",))
        yield (name, *text_row("", percent_limits(preferences.bounds), f"{preferences.tally.judged:,}", ""))


def _rate(name: str, meaning: str, mean: Mean, p: str = "", *, strong: bool = False) -> tuple[TableCell, ...]:
    return (
        TableCell(name, (meaning,)),
        TableCell(percent_text(mean.value, 2), strong=strong, value=mean.value),
        *text_row(percent_limits(mean.interval), f"{mean.n:,}", p),
    )


def _method(preferences: Preferences) -> str:
    """The methods of intervals and p; for a stopped run, why it has no p."""
    if preferences.stopping:
        return (
            "The interval is a confidence sequence, which is valid at any number of samples; a p-value and fixed-n "
            "intervals are not valid where the number of pairs was not fixed, and the rates of a stopped run lie "
            "further from a half than the truth on average."
        )
    parts = [f"p: {preferences.evidence.test}" if preferences.evidence.test else "", preferences.evidence.interval_note]
    return "; ".join(part for part in parts if part)


def _left_out(preferences: Preferences) -> tuple[str, ...]:
    """Pairs without a verdict, one text per reason."""
    tally = preferences.tally
    texts = [f"not judged, no answer of {absent_text(preferences, side)}" for side in tally.not_judged]
    if tally.not_applicable:
        texts.append(f"not applicable: {tally.not_applicable:,}")
    if tally.errors:
        texts.append(f"failed while judged: {tally.errors:,}")
    return tuple(texts)


def bias_figures(bias: PositionBias) -> tuple[tuple[str, str], ...]:
    """Position bias as (name, figure): how often the answer shown first won, and consistency over both orders."""
    won = f"{bias.first_won:,} of {count_text(bias.first_won + bias.second_won, 'verdict')}"
    if bias.orders == "one":
        interval = f", 95 % CI {percent_limits(bias.interval)}" if bias.interval else ""
        return (("shown first won", f"{percent_text(bias.first_rate)} ({won}{interval}, {p_equals(bias.p)})"),)
    first, second = f"{bias.favours_first:,}", f"{bias.favours_second:,}"
    points = MISSING if bias.bias is None else f"{signed_text(bias.bias, share=True)} points"
    within = f"95 % CI {interval_text(bias.bias_interval, share=True, sign=True)}; " if bias.bias_interval else ""
    test = f", {p_equals(bias.p)}" if bias.p is not None else ""
    return (
        ("same in both orders", f"{percent_text(bias.consistency)} of {count_text(bias.n, 'pair')}"),
        ("shown first won", f"{percent_text(bias.first_rate)} ({won})"),
        ("bias to the first", f"{points} ({within}disagreements for the first {first}, for the second {second}{test})"),
    )


def length_figures(preferences: Preferences) -> tuple[tuple[str, str], ...]:
    """Lengths as (name, figure): mean lengths, how often the longer answer won, and the rate of A at equal length."""
    effect = preferences.length
    if effect is None:
        return ()
    interval = f", 95 % CI {percent_limits(effect.longer_interval)}" if effect.longer_interval else ""
    pairs = count_text(effect.unequal, "decided pair")
    unequal = " of unequal length" if effect.unequal < preferences.tally.decided else ""
    won = f"{effect.longer_won:,} of {pairs}{unequal}{interval}"
    controlled = f"{preferences.first} has {_rate_text(effect.controlled)}"
    if effect.with_difficulty:
        controlled += ", with the difficulty of the instruction in the model"
    styled = effect.style_controlled
    style = f"{preferences.first} has {_rate_text(styled)}, also controlled for {', '.join(STYLES)}" if styled else ""
    figures = (
        ("mean length", _mean_lengths(preferences, effect)),
        ("longer won", f"{percent_text(effect.longer_rate)} ({won})" if effect.unequal else ""),
        ("length-controlled", effect.reason or controlled),
        ("style-controlled", style),
    )
    return tuple((name, figure) for name, figure in figures if figure)


def length_text(preferences: Preferences) -> str:
    """The lengths of both sides and their effect in a line, without what a warning says; "" where none are known."""
    effect = preferences.length
    if effect is None:
        return ""
    if effect.reason and any(effect.reason[1:] in warning for warning in preferences.warnings):
        return f"{_mean_lengths(preferences, effect)}."
    controlled = f"at equal length {preferences.first} has {_rate_text(effect.controlled)}"
    parts = (
        _mean_lengths(preferences, effect),
        f"the longer answer won {effect.longer_won:,} of {count_text(effect.unequal, 'decided pair')}",
        "length and system cannot be told apart" if effect.reason else controlled,
    )
    return f"{'; '.join(parts)}."


def _mean_lengths(preferences: Preferences, effect: LengthEffect) -> str:
    return f"{preferences.first} {effect.mean_a:,.0f}, {preferences.second} {effect.mean_b:,.0f} characters on average"


def _rate_text(mean: Mean) -> str:
    """A rate in which a tie counts half, with its interval."""
    limits = f"95 % CI {percent_limits(mean.interval)}, " if mean.interval else ""
    return f"{percent_text(mean.value)} ({limits}ties as half)"


def _groups(preferences: Preferences) -> Section:
    left_out = TableColumn("left out", "text", level="page")
    first, second = (TableColumn(name, is_data=True) for name in (preferences.first, preferences.second))
    wins = TableColumn(f"{preferences.first} wins", is_data=True)
    columns = columns_of("category", first, "tie", "inconsistent", second, wins, "95 % CI", "p", left_out)
    rows = tuple(_group_row(group) for group in preferences.groups)
    tested = any(group.p is not None for group in preferences.groups)
    caption = "By group" + ("; p is not corrected for the number of groups" if tested else "")
    return Section("", SectionTable(columns, rows, caption), level="detail")


def _group_row(group: GroupPreference) -> tuple[TableCell, ...]:
    tally = group.tally
    missing = (
        ("unreadable", tally.unparsed),
        ("refused", tally.refused),
        ("not judged", tally.failed),
        ("errors", tally.errors),
    )
    left_out = ", ".join(f"{n:,} {what}" for what, n in missing if n)
    counts = (f"{n:,}" for n in (tally.a, tally.tie, tally.inconsistent, tally.b))
    rate, interval = percent_text(group.win.value), interval_text(group.win.interval, share=True) or MISSING
    return text_row(group.group, *counts, rate, interval, p_text(group.p), left_out)


def answers_section(runs: PageRuns) -> Section:
    """Runs that answered, or judged answers: they have no mean of their own, which is no error."""
    columns = columns_of(
        *("target", "done", TableColumn("errors"), "tokens in / out"),
        *(TableColumn(title, level="page") for title in ("cached", "seconds")),
        before=("run",),
    )
    rows = tuple(_answers_row(label, summary) for label, summary in runs)
    unparsed = [
        f"{summary.target}: unreadable verdicts: "
        + ", ".join(f"{n} {kind_text(kind)}" for kind, n in summary.records.unparsed_kinds.items())
        for summary in runs.summaries
        if summary.records.unparsed_kinds
    ]
    caption = "Runs that answered or judged; they have no scores of their own"
    table = SectionTable(columns, rows, caption)
    forms = [f"{summary.target}: {text}" for summary in runs.summaries for text in reply_form_texts(summary)]
    return Section("Answers", table, notes=sentences([*unparsed, *forms]), key="answers")


def _answers_row(label: str, summary: RunSummary) -> tuple[TableCell, ...]:
    counts = summary.counts
    done = (f"{counts.done - counts.errors:,}", f"{counts.errors:,}")
    cached, seconds = f"{counts.from_journal:,}", f"{counts.seconds:.1f}"
    return text_row(summary.run, label, *done, summary.tokens_text, cached, seconds)


def win_rate_chart(judged: Sequence[Preferences]) -> RowChart:
    """The first side's share of each pair of targets with its interval; the point of an undecided pair is hollow.

    It is the win rate over the decided pairs; for a run that was stopped early, the mean with ties as half and its
    confidence sequence.
    """
    points, words = [], []
    for at, preferences in enumerate(judged):
        mean = preferences.rate
        text = percent_text(mean.value)
        interval = mean.interval if mean.n else None
        points.append(interval_point(at, 0, (mean.value, interval), text, decided=preferences.verdict in {"A", "B"}))
        words.append(f"{preferences.title}: {mean_text(mean, share=True)}")
    levels = {preferences.evidence.level for preferences in judged}
    kind = "confidence sequence" if all(preferences.stopping for preferences in judged) else "CI"
    whose = judged[0].first if len(judged) == 1 else "the first"
    return RowChart(
        f"Share of {whose}, {level_text(levels.pop())} {kind}" if len(levels) == 1 else f"Share of {whose}",
        "; ".join(words),
        tuple(preferences.title for preferences in judged),
        tuple(points),
        domain=(0, 100),
        lines=((50, "even"),),
    )


def _sequence(preferences: Preferences) -> Section:
    chart = sequence_chart(preferences.stopping, name=f"Share of {preferences.first}") if preferences.stopping else None
    return Section("", chart=chart)


def sequence_chart(stopping: Stopping, *, name: str = "") -> SequenceChart:
    """The confidence sequence over the number of samples, with the threshold and where the run stopped.

    Args:
        stopping: what the rule decided, with its path.
        name: what the mean is of; "" is the score.
    """
    path = stopping.path or ((stopping.used, sum(stopping.interval) / 2, *stopping.interval),)
    used = f"after {stopping.used:,} of {stopping.planned:,} samples"
    words = f"{interval_text(stopping.interval, share=True)} % {used}, threshold {100 * stopping.threshold:g} %"
    return SequenceChart(
        title=f"{name or score_title(stopping.score)}: confidence sequence over the samples",
        description=f"{name or stopping.score}: {words}",
        points=tuple((n, 100 * mean, 100 * low, 100 * high) for n, mean, low, high in path),
        # A difference of two shares may be negative.
        domain=(-100, 100) if stopping.against else (0, 100),
        most=max(stopping.planned, stopping.used, _LEAST_SAMPLES),
        threshold=100 * stopping.threshold,
        decided_after=stopping.used if stopping.used < stopping.planned else None,
    )
