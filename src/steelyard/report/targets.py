"""The section of targets: a line per run with its headline score, its counts, and remarks on the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import MISSING, count_text, interval_text, mean_text, score_title, value_text
from steelyard.analysis.summary_values import RunSummary, ScoreSummary
from steelyard.report.chart import ChartPoint, RowChart
from steelyard.report.judge_panel import reply_form_texts
from steelyard.report.preferences import sequence_chart
from steelyard.report.run_texts import (
    applies,
    bounds_text,
    consistency_text,
    count_cell,
    damaged_records,
    failed_elsewhere,
    headline,
    is_rate,
    kind_text,
    left_out_text,
    matching_warnings,
    one_line,
    reason_suffix,
    run_labels,
    unfinished,
)
from steelyard.report.section import (
    HTML,
    MARKDOWN,
    PAGES,
    TERMINAL,
    LinkedOutcome,
    SampleLink,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    non_empty,
    sentences,
    text_row,
)

if TYPE_CHECKING:
    from steelyard.analysis.comparison_values import Comparison

_NAME: Final = 30
"""Characters of a target's name in a remark on a terminal."""
_MOST_TAGS: Final = 3
"""Tags with columns in a comment."""


def alarms_section(
    summaries: Sequence[RunSummary], reasons: Sequence[str], score: str, comparison: Comparison | None
) -> Section:
    """Alarms shown before any figure: incomplete runs, damaged records, scores that are likely wrong.

    Args:
        summaries: of the runs.
        reasons: why each did not finish; "" where it did.
        score: the page's.
        comparison: of these runs, to avoid repeating its sentences; None where they are not compared.
    """
    notes = []
    for summary, reason in zip(summaries, reasons, strict=True):
        if text := unfinished(summary):
            why = f" Reason: {reason.rstrip('.')}." if reason else ""
            notes.append(
                Sentence(
                    f"{text}{why} The figures below cover only the finished records.", "alarm", "Not complete", PAGES
                )
            )
    notes += [Sentence(f"{text}.", "alarm", "Damaged", PAGES) for text in map(damaged_records, summaries) if text]
    notes += sentences(matching_warnings(summaries), "alarm", media=TERMINAL)
    notes += sentences(matching_warnings(summaries, comparison), "alarm", media=PAGES)
    notes += sentences((f"{summary.size_warning}." for summary in summaries if summary.size_warning), "alarm")
    notes += sentences((f"{note}." for summary in summaries for note in summary.result_notes()), "warning")
    elsewhere = [f"{text}." for summary in summaries if (text := failed_elsewhere(summary, score))]
    notes += sentences(elsewhere, "alarm", media=PAGES)
    return Section("", notes=tuple(notes), key="alarms")


def targets_section(
    summaries: Sequence[RunSummary],
    labels: Sequence[str],
    score: str,
    *,
    chance: float | None = None,
    remarks: Sequence[Sentence] = (),
    baseline: str = "",
) -> Section:
    """The headline of every run that has scores.

    Args:
        summaries: of these runs.
        labels: what the page calls them.
        score: the page's.
        chance: the score of guessing; None if unknown.
        remarks: remarks on the runs.
        baseline: id of the run that the others are compared with; "" where none is.
    """
    if not summaries:
        return Section("Targets", key="targets")
    scored = [score_of for summary in summaries if (score_of := summary.score(score)) is not None]
    chart = rate_chart(summaries, score=score, chance=chance if score == "solve_rate" else None) if scored else None
    methods = dict.fromkeys(score_of.note for score_of in scored if score_of.note)
    table = Section(
        "",
        _table(summaries, labels, score, baseline),
        chart,
        notes=(*remarks, *sentences((f"{text}." for text in methods), media=HTML)),
    )
    decisions = [
        Section(
            "", chart=sequence_chart(summary.stopping, name=f"{summary.target}, {summary.stopping.score}"), media=HTML
        )
        for summary in summaries
        if summary.stopping
    ]
    return Section("Targets", parts=non_empty([table, *decisions]), key="targets")


def _table(summaries: Sequence[RunSummary], labels: Sequence[str], score: str, baseline: str) -> SectionTable:
    scored = [score_of for summary in summaries if (score_of := summary.score(score)) is not None]
    tags = list(dict.fromkeys(tag for summary in summaries for tag in summary.tags))
    over_all = any(score_of.over == "all" for score_of in scored)
    # A share such as token F1 is a mean: only a score that is 0 or 1 is an accuracy, and only there errors are wrong.
    rate = is_rate(scored)
    mean, lowest = ("accuracy", "wrong") if rate else ("mean", "0")
    # Empty and repeated columns are left out: a headline over the scored records is the mean over the answered ones,
    # and so is the mean over all records if all were answered.
    differ = any(score_of.answered.value != score_of.headline.value for score_of in scored)
    answered = (PAGES if differ else MARKDOWN) if over_all else frozenset()
    bounds = PAGES if any(score_of.missing_bounds for score_of in scored) else frozenset()
    not_applicable = PAGES if any(score_of.not_applicable for score_of in scored) else HTML
    with_errors = HTML if any(score_of.errors for score_of in scored) else frozenset()
    columns = (
        TableColumn("run", "text", media=TERMINAL),
        TableColumn("target", "name"),
        *(
            TableColumn(tag.replace("_", " "), "text", media=PAGES if at < _MOST_TAGS else HTML)
            for at, tag in enumerate(tags)
        ),
        TableColumn(score_title(score), short=score or "score", media=MARKDOWN | TERMINAL),
        TableColumn(f"{mean} (all)" if over_all else "mean", media=HTML),
        TableColumn("95 % CI", "interval"),
        TableColumn(f"{mean} (answered)", media=answered),
        TableColumn(f"errors as {lowest if over_all else 'lowest'}", media=with_errors),
        TableColumn("bounds by unparsed", media=bounds),
        TableColumn("count" if rate else "n", short="n"),
        TableColumn("not applicable", media=not_applicable, count=True),
        TableColumn("unparsed", count=True),
        TableColumn("refused", count=True),
        TableColumn("errors", count=True),
        TableColumn("tokens in / out", media=HTML, count=True),
        TableColumn("cached", media=HTML, count=True),
        TableColumn("seconds", media=HTML),
    )
    # On a terminal the progress of an unfinished run, below its name, needs the space of the counts.
    unfinished_runs = any(summary.state != "finished" for summary in summaries)
    rows = tuple(
        (
            *_name_cells(summary, label, is_baseline=summary.run == baseline),
            *text_row(*(summary.tags.get(tag, MISSING) for tag in tags)),
            *_figures(summary, summary.score(score), rate=rate, brief=unfinished_runs),
            *text_row(summary.tokens_text, f"{summary.from_journal:,}", f"{summary.seconds:.1f}"),
        )
        for label, summary in zip(labels, summaries, strict=True)
    )
    return SectionTable(columns, rows, f"{score_title(score)} per target")


def _name_cells(summary: RunSummary, label: str, *, is_baseline: bool) -> tuple[TableCell, TableCell]:
    """The run's id, and its target; on a terminal the progress of an unfinished run is shown below its name."""
    state = "" if summary.state == "finished" else f"\n{summary.state} {summary.done}/{summary.planned}"
    name = TableCell(label, short=summary.target + state, tag="baseline" if is_baseline else "")
    return TableCell(summary.run), name


def _figures(summary: RunSummary, score: ScoreSummary | None, *, rate: bool, brief: bool) -> tuple[TableCell, ...]:
    if score is None:
        return text_row(MISSING, "nothing was scored", *[MISSING] * 4, "0", "0", "0", "0", f"{summary.errors:,}")
    share = score.is_share
    over_all, count = score.over == "all", count_cell(score, rate=rate)
    return (
        _value(score.headline, share=share, strong=True),
        _value(score.overall if over_all else score.answered, share=share, strong=True),
        TableCell(interval_text(score.headline.interval, share=share)),
        _value(score.answered, share=share),
        _value(score.with_errors, share=share),
        TableCell(bounds_text(score) or MISSING),
        replace(count, short=f"{score.headline.n:,}") if brief else count,
        TableCell(f"{score.not_applicable:,}"),
        *_linked_counts(summary, {"unparsed": score.unparsed, "refused": score.refused, "errors": score.errors}),
    )


def _linked_counts(summary: RunSummary, counts: Mapping[LinkedOutcome, int]) -> Iterator[TableCell]:
    for outcome, n in counts.items():
        yield TableCell(f"{n:,}", link=SampleLink(summary.run, outcome) if n else None)


def _value(mean: Mean, *, share: bool, strong: bool = False) -> TableCell:
    return TableCell(value_text(mean.value, share=share), strong=strong, value=mean.value)


def run_remarks(summary: RunSummary, reason: str, *, several: bool, decided: bool) -> Iterator[Sentence]:
    """Remarks on a run that have no column in the table.

    Args:
        summary: of the run.
        reason: why it did not finish; "" where it did.
        several: whether the page shows several runs, whose tables have only means and counts.
        decided: whether a comparison on the page states why the run ended.
    """
    name = summary.target
    why = reason_suffix(summary.state, reason)
    if summary.state != "finished" and why:
        done = f"{summary.done} of {summary.planned} done"
        yield Sentence(f"{name}: {summary.state}, {done}{why}", media=TERMINAL, tone="bad")
    if summary.stopping and not decided:
        yield Sentence(f"{name}: {summary.stopping.sentence}", media=TERMINAL)
    score = summary.score()
    if score is not None and score.not_applicable:
        text = f"{name}: {score.name} does not apply to {score.not_applicable} of {score.total} records"
        yield Sentence(text, media=TERMINAL)
    yield from sentences((failed_elsewhere(summary), damaged_records(summary)), media=TERMINAL)
    if summary.unparsed_kinds:
        kinds = ", ".join(f"{n} {kind_text(kind)}" for kind, n in summary.unparsed_kinds.items())
        yield Sentence(f"{name}: unparsed replies: {kinds}", media=HTML)
        # With the long names of a matrix, three targets would not fit on a screen of 24 lines.
        yield Sentence(f"{one_line(name, _NAME)}: unparsed replies: {kinds}", media=TERMINAL)
    if summary.matched:
        yield Sentence(summary.matched.sentence)
    yield from _missing_verdicts(summary, several=several)
    for judged, consistency in summary.consistency.items():
        yield Sentence(f"{name}: {consistency_text(judged, consistency)}", media=HTML | TERMINAL)
    if summary.framework is not None:
        yield Sentence(f"{name}: {summary.framework.sentence(summary.done)}", media=HTML | TERMINAL)
    yield from (Sentence(f"{name}: {text}") for text in reply_form_texts(summary))


def _missing_verdicts(summary: RunSummary, *, several: bool) -> Iterator[Sentence]:
    """The missing verdicts of each mean and its bounds, for a terminal; pages have columns for both."""
    left_out: dict[str, list[str]] = {}
    for score in summary.own_scores:
        if several and score.name != summary.primary:
            if applies(score) and left_out_text(score) != f"n {score.headline.n:,}":
                left_out.setdefault(left_out_text(score), []).append(score.name)
        elif score.name == summary.primary and score.missing_verdicts and not score.scored:
            yield Sentence(headline(summary), media=TERMINAL)
        elif score.missing_bounds:
            n = score.missing_verdicts
            missing = f"its {count_text(n, 'missing verdict')} {'is' if n == 1 else 'are'} worth"
            low, high = (value_text(end, share=score.is_share) for end in score.missing_bounds)
            text = f"{summary.target}: {score.name} is {low} to {high}, whatever {missing}"
            yield Sentence(text, media=TERMINAL)
    for counts, names in left_out.items():
        yield Sentence(f"{summary.target}: {', '.join(names)}: {counts}", media=TERMINAL)


def rate_chart(summaries: Sequence[RunSummary], *, score: str = "", chance: float | None = None) -> RowChart:
    """The headline mean of every run with its 95 % confidence interval, one row each, in the given order.

    Args:
        summaries: one per run, at least one.
        score: a score's name; "" is the primary score of the first run.
        chance: the score of guessing, in the score's unit (0.25 for four options); None draws no line.
    """
    score = score or summaries[0].primary
    share = all_shares(summaries, score)
    names = run_labels(summaries)
    points = [
        mean_point(at, at, summarized.headline if (summarized := summary.score(score)) else None, share=share)
        for at, summary in enumerate(summaries)
    ]
    factor = 100 if share else 1
    means = [mean_text(scored.headline, share=share) if (scored := run.score(score)) else MISSING for run in summaries]
    return RowChart(
        f"{score_title(score)} with 95 % CI",
        "; ".join(f"{name}: {mean}" for name, mean in zip(names, means, strict=True)),
        names,
        tuple(points),
        domain=score_domain(summaries, score),
        lines=() if chance is None else ((factor * chance, f"chance {value_text(chance, share=share)}"),),
    )


def all_shares(summaries: Sequence[RunSummary], name: str) -> bool:
    """Whether a score is a share in every run that has it: runs side by side have one unit."""
    return all(score.is_share for summary in summaries if (score := summary.score(name)) is not None)


def score_domain(summaries: Sequence[RunSummary], name: str) -> tuple[float, float] | None:
    """Ends of an axis: those of a share or of the runs' common scale; None if the data decide."""
    if all_shares(summaries, name):
        return 0, 100
    scales = {score.scale for summary in summaries if (score := summary.score(name)) is not None}
    scale = scales.pop() if len(scales) == 1 else None
    return (scale.low, scale.high) if scale else None


def mean_point(row: int, series: int, mean: Mean | None, *, share: bool) -> ChartPoint:
    """A mean with its interval as a point of a chart, in percent where it is a share."""
    factor = 100 if share else 1
    value, interval = (mean.value, mean.interval) if mean else (None, None)
    low, high = (factor * interval.low, factor * interval.high) if interval and value is not None else (None, None)
    text = value_text(value, share=share)
    return ChartPoint(row, series, None if value is None else factor * value, text, low, high)
