"""The section of targets: a line per run with its headline score, its counts, and remarks on the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    interval_text,
    kind_text,
    mean_text,
    score_title,
    value_text,
)
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.charts.chart import ChartPoint, RowChart, interval_point
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import (
    applies,
    below_figure,
    bounds_text,
    consistency_text,
    count_cell,
    damaged_records,
    failed_elsewhere,
    is_rate,
    left_out_text,
    matching_warnings,
    one_line,
    unfinished,
    unreadable_text,
    value_cell,
)
from steelyard.report.section import (
    Level,
    LinkedOutcome,
    RunLink,
    SampleLink,
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
from steelyard.report.sections.preferences import sequence_chart

_NAME: Final = 30
"""Characters of a target's name in a remark."""


def alarms_section(summaries: Sequence[RunSummary], score: str, comparison: Comparison | None) -> Section:
    """Alarms shown before any figure: incomplete runs, damaged records, scores that are likely wrong.

    Args:
        summaries: of the runs.
        score: the page's.
        comparison: of these runs, to avoid repeating its sentences; None where they are not compared.
    """
    notes = [
        Sentence(f"{text} The figures cover only the finished records.", "alarm", "Not complete")
        for text in map(unfinished, summaries)
        if text
    ]
    notes += [Sentence(f"{text}.", "alarm", "Damaged") for text in map(damaged_records, summaries) if text]
    notes += sentences(matching_warnings(summaries, comparison), "alarm")
    notes += sentences((f"{summary.size_warning}." for summary in summaries if summary.size_warning), "alarm")
    notes += sentences((f"{note}." for summary in summaries for note in summary.result_notes()), "warning")
    elsewhere = [f"{text}." for summary in summaries if (text := failed_elsewhere(summary, score))]
    notes += sentences(elsewhere, "alarm")
    return Section("", notes=notes, key="alarms")


def targets_section(
    runs: PageRuns,
    score: str,
    *,
    chance: float | None = None,
    remarks: Sequence[Sentence] = (),
    baseline: str = "",
) -> Section:
    """The headline of every run that has scores.

    Args:
        runs: those runs.
        score: the page's.
        chance: the score of guessing; None if unknown.
        remarks: remarks on the runs.
        baseline: id of the run that the others are compared with; "" where none is.
    """
    if not runs:
        return Section("Targets", key="targets")
    scored = runs.scores(score)
    guessing = chance if score == "solve_rate" else None
    chart = rate_chart(runs.summaries, score=score, chance=guessing) if scored else None
    methods = dict.fromkeys(score_of.note for score_of in scored if score_of.note)
    table = Section(
        "",
        _table(runs, score, baseline),
        chart,
        notes=(*remarks, *sentences((f"{text}." for text in methods), level="page")),
    )
    decisions = [
        Section("", chart=sequence_chart(summary.stopping, name=f"{summary.target}, {summary.stopping.score}"))
        for summary in runs.summaries
        if summary.stopping
    ]
    return Section("Targets", parts=[table, *decisions], key="targets")


def _table(runs: PageRuns, score: str, baseline: str) -> SectionTable:
    scored = runs.scores(score)
    tags = list(dict.fromkeys(tag for summary in runs.summaries for tag in summary.tags))
    over_all = any(score_of.over == "all" for score_of in scored)
    # A share such as token F1 is a mean: only a score that is 0 or 1 is an accuracy, and only there errors are wrong.
    rate = is_rate(scored)
    mean, lowest = ("accuracy", "wrong") if rate else ("mean", "0")
    not_applicable: Level = "detail" if any(score_of.not_applicable for score_of in scored) else "page"
    columns = columns_of(
        "target",
        *(TableColumn(tag.replace("_", " "), "text", level="detail") for tag in tags),
        TableColumn(score_title(score) or "score"),
        "95 % CI",
        TableColumn(f"{mean} (answered)", level="detail"),
        TableColumn(f"errors as {lowest if over_all else 'lowest'}", level="page"),
        TableColumn("counting unreadable", level="detail"),
        TableColumn("count" if rate else "n"),
        TableColumn("not applicable", level=not_applicable, count=True),
        *("unreadable", "refused", "errors"),
        TableColumn("tokens in / out", level="page", count=True),
        TableColumn("cached", level="page", count=True),
        TableColumn("seconds", level="page"),
        before=("run",),
    )
    # Repeated figures are left out: a headline over the scored records is the mean over the answered ones, and so is
    # the mean over all records if all were answered; without errors they count as nothing.
    differ = over_all and any(score_of.answered.value != score_of.headline.value for score_of in scored)
    rows = tuple(
        (
            TableCell(summary.run, link=RunLink(summary.run)),
            TableCell(label, tag="baseline" if summary.run == baseline else ""),
            *text_row(*(summary.tags.get(tag, MISSING) for tag in tags)),
            *_figures(summary, summary.score(score), rate=rate, with_answered=differ),
            *text_row(summary.tokens_text, f"{summary.counts.from_journal:,}", f"{summary.counts.seconds:.1f}"),
        )
        for label, summary in runs
    )
    return SectionTable(columns, rows, f"{score_title(score)} per target")


def _figures(
    summary: RunSummary, score: ScoreSummary | None, *, rate: bool, with_answered: bool
) -> tuple[TableCell, ...]:
    if score is None:
        return text_row("nothing was scored", *[MISSING] * 4, "0", "0", "0", "0", f"{summary.counts.errors:,}")
    share = score.is_share
    counts: dict[LinkedOutcome, int] = {"unparsed": score.unparsed, "refused": score.refused, "errors": score.errors}
    return (
        value_cell(score.headline.value, share=share, strong=True),
        TableCell(interval_text(score.headline.interval, share=share)),
        value_cell(score.answered.value, share=share) if with_answered else TableCell(MISSING),
        value_cell(score.with_errors.value, share=share) if score.errors else TableCell(MISSING),
        TableCell(bounds_text(score) or MISSING),
        count_cell(score, rate=rate),
        TableCell(f"{score.not_applicable:,}"),
        *(TableCell(f"{n:,}", link=SampleLink(summary.run, outcome) if n else None) for outcome, n in counts.items()),
    )


def run_remarks(summary: RunSummary, *, several: bool) -> Iterator[Sentence]:
    """Remarks on a run that have no column in the table, or one that only pages show.

    Args:
        summary: of the run.
        several: whether the page shows several runs, whose tables have only means and counts.
    """
    name = summary.target
    score = summary.score()
    if score is not None and score.not_applicable:
        yield Sentence(f"{name}: {score.name} does not apply to {score.not_applicable:,} of {score.total:,} records")
    if not {*summary.records.unparsed_kinds} <= {"unparsed", "none"}:  # they say no more than the column
        n = sum(summary.records.unparsed_kinds.values())
        kinds = ", ".join(f"{count:,} {kind_text(kind)}" for kind, count in summary.records.unparsed_kinds.items())
        # With the long names of a matrix, three targets would not fit on a screen of 24 lines.
        yield Sentence(f"{one_line(name, _NAME)}: {count_text(n, 'reply')} not readable: {kinds}")
    if summary.records.matched:
        yield Sentence(summary.records.matched.sentence)
    yield from _missing_verdicts(summary, several=several)
    for judged, consistency in summary.details.consistency.items():
        yield Sentence(f"{name}: {consistency_text(judged, consistency)}")
    if summary.calls.framework is not None:
        yield Sentence(f"{name}: {summary.calls.framework.sentence(summary.counts.done)}")
    yield from (Sentence(f"{name}: {text}") for text in reply_form_texts(summary))


def _missing_verdicts(summary: RunSummary, *, several: bool) -> Iterator[Sentence]:
    """The missing verdicts of each mean and its bounds."""
    left_out: dict[str, list[str]] = {}
    for score in summary.own_scores:
        if several and score.name != summary.primary:
            if applies(score) and left_out_text(score) != f"n {score.headline.n:,}":
                left_out.setdefault(left_out_text(score), []).append(score.name)
        elif score.name == summary.primary and score.missing_verdicts and not score.scored:
            yield Sentence(below_figure(summary))
        elif score.missing_bounds:
            yield Sentence(f"{summary.target}: {unreadable_text(score)}")
    for counts, names in left_out.items():
        yield Sentence(f"{summary.target}: {', '.join(names)}: {counts}")


def rate_chart(summaries: Sequence[RunSummary], *, score: str = "", chance: float | None = None) -> RowChart:
    """The headline mean of every run with its 95 % confidence interval, one row each, in the given order.

    Args:
        summaries: one per run, at least one.
        score: a score's name; "" is the primary score of the first run.
        chance: the score of guessing, in the score's unit (0.25 for four options); None draws no line.
    """
    score = score or summaries[0].primary
    runs = PageRuns.of(summaries)
    share = runs.is_share(score)
    points = [
        mean_point(at, at, summarized.headline if (summarized := summary.score(score)) else None, share=share)
        for at, summary in enumerate(summaries)
    ]
    factor = 100 if share else 1
    means = [mean_text(scored.headline, share=share) if (scored := run.score(score)) else MISSING for run in summaries]
    return RowChart(
        f"{score_title(score)} with 95 % CI",
        "; ".join(f"{label}: {mean}" for label, mean in zip(runs.labels, means, strict=True)),
        runs.labels,
        tuple(points),
        domain=runs.domain(score),
        lines=() if chance is None else ((factor * chance, f"chance {value_text(chance, share=share)}"),),
    )


def mean_point(row: int, series: int, mean: Mean | None, *, share: bool) -> ChartPoint:
    """A mean with its interval as a point of a chart, in percent where it is a share."""
    figure = (mean.value, mean.interval) if mean else (None, None)
    return interval_point(row, series, figure, value_text(figure[0], share=share), factor=100 if share else 1)
