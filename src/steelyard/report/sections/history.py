"""The sections of a history: a chart and a table of one score run by run, and the notes on the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from steelyard.analysis.comparison.comparison_values import CLAIMS
from steelyard.analysis.comparison.history import History, PastRun
from steelyard.analysis.numbers import MISSING, count_text, interval_text, score_title, signed_text, value_text
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.plain_json import grouped
from steelyard.report.charts.chart import TimelineChart, TimelinePoint
from steelyard.report.run_texts import value_cell
from steelyard.report.section import (
    RunLink,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    non_empty,
    sentences,
    text_row,
)
from steelyard.types import Note

_CHANGED: Final[Mapping[str, str]] = MappingProxyType(
    {"samples": "other samples", "target": "target changed", "scorers": "scorers changed"}
)
_LEAST_SHARE: Final = 20.0
"""Least span of the axis of a share, in points: a tenth of a point must not look like a large change."""


def history_sections(history: History) -> tuple[Section, ...]:
    """The sections of a history's page."""
    return non_empty([_chart(history), _runs(history), _targets_compared(history), _notes(history)])


def _targets_compared(history: History) -> Section:
    """Runs of the other targets against those of one target, as two versions of a prompt that are two targets."""
    columns = columns_of("target", "verdict", "difference", "95 % CI", "pairs", "run", "against")
    rows = tuple(
        (
            *text_row(difference.target, CLAIMS.get(difference.change.verdict, "")),
            TableCell(
                signed_text(difference.change.difference, share=history.share),
                link=RunLink(difference.run, difference.against, history.score),
            ),
            *text_row(
                interval_text(difference.change.interval, share=history.share, sign=True) or MISSING,
                f"{difference.change.n:,}" if difference.change.paired else MISSING,
            ),
            TableCell(difference.run, link=RunLink(difference.run)),
            TableCell(difference.against, link=RunLink(difference.against)),
        )
        for difference in history.targets_compared
    )
    base = history.targets_compared[0].against_target if rows else ""
    against = f"{base}: the run that was started with it, or else the newest before it; decided where p < 0.05"
    caption = f"{history_title(history)} against {against}"
    return Section("Targets compared", SectionTable(columns, rows, caption), key="targets")


def history_title(history: History) -> str:
    """The score that is shown, with its group, as a heading."""
    return f"{score_title(history.score)}{f' of {history.group}' if history.group else ''}"


def _chart(history: History) -> Section:
    chart = history_chart(history)
    note = "Points are means, bars and bands their 95 % CI."
    if any(point.new_samples for point in chart.points):
        note += " A dashed line: other samples from here on."
    if any(point.notes for point in chart.points):
        note += " Numbers above the plot are those of the notes."
    return Section("Over time", chart=chart, notes=(Sentence(note),), key="chart")


def _runs(history: History) -> Section:
    columns = columns_of(
        *("target", "value", "95 % CI", "n", "change"), TableColumn("remarks", "remark"), before=("started", "run")
    )
    rows = tuple(_row(run, history) for run in history.runs)
    method = change_method(history)
    over = ", over all turns of its conversations" if history.over_turns else ""
    caption = f"{history_title(history)} of every run{over}"
    if any(run.change for run in history.runs):
        caption += ". Change: against the previous run of the same target."
    all_runs = history.older + len(history.runs)
    left_out = f"{history.older} older ones are left out; --last {all_runs} shows all." if history.older else ""
    table = Section(
        "",
        SectionTable(columns, rows, caption),
        notes=sentences([left_out, method]),
    )
    return Section("Runs", parts=(table,), key="runs")


def _started(run: PastRun, history: History) -> str:
    """The day on which a run was started, with the time where another run of the history was started on it."""
    several = sum(other.day == run.day for other in history.runs) > 1
    return f"{run.day} {run.created[11:16]}" if several else run.day


def _row(run: PastRun, history: History) -> tuple[TableCell, ...]:
    n = f"{run.score.headline.n:,}" if run.score else "0"
    return (
        TableCell(_started(run, history)),
        TableCell(run.run, link=RunLink(run.run)),
        TableCell(run.target),
        value_cell(run.value, share=history.share, strong=True),
        TableCell(interval_text(run.interval, share=history.share) or MISSING),
        TableCell(n),
        _change_cell(run, history),
        TableCell("; ".join(remarks_of(run))),
    )


def _change_cell(run: PastRun, history: History) -> TableCell:
    """The difference to the previous run with its verdict: `+9.2 better`; a dash for a target's first run."""
    if run.change is None or run.change.difference is None:
        return TableCell(MISSING)
    difference = signed_text(run.change.difference, share=history.share)
    return TableCell(
        f"{difference} {CLAIMS.get(run.change.verdict, '')}".rstrip(),
        value=run.change.difference,
        link=RunLink(run.run, run.change.before, history.score),
    )


def remarks_of(run: PastRun) -> Iterator[str]:
    """What a reader must know before comparing a run with the previous one."""
    if run.share_of:
        yield f"share won by {run.share_of}"
    yield from [f"{run.state}, {run.done:,} of {run.planned:,} done"] if run.state != "finished" else []
    stopping = run.stopping
    if stopping and stopping.used < stopping.planned:
        about = f" (interval: {run.score.note})" if run.score and run.score.note else ""
        yield f"stopped early, {stopping.used:,} of {stopping.planned:,} samples used{about}"
    if run.score:
        yield from _missing_verdicts(run.score)
    for name, phrases in run.changed.items():
        yield f"{_CHANGED[name]} ({', '.join(phrases)})"
    change = run.change
    if change and change.verdict and not change.paired:
        yield "judged by intervals, not by pairs"
    elif change and change.paired and "samples" in run.changed:
        yield f"change over {change.n:,} samples in both"
    if run.warning:
        yield run.warning


def _missing_verdicts(score: ScoreSummary) -> Iterator[str]:
    """How many replies have no verdict, and the bounds of the score; nothing where all have one."""
    if not score.missing_verdicts:
        return
    if not score.scored:
        yield f"none of {count_text(score.missing_verdicts, 'reply')} has a verdict: nothing can be concluded"
        return
    bounds = ""
    if score.missing_bounds:
        low, high = (value_text(end, share=score.is_share) for end in score.missing_bounds)
        bounds = f": with them {low} to {high}"
    yield f"{count_text(score.missing_verdicts, 'reply')} without a verdict{bounds}"


def change_method(history: History) -> str:
    """How changes were tested, and a note on many tests; "" where there is no change."""
    tested = [run.change for run in history.runs if run.change and run.change.verdict]
    if not tested:
        return ""
    how = (
        "paired by sample"
        if all(change.paired for change in tested)
        else "paired by sample where runs are small enough"
    )
    several = f" Of {len(tested)} such tests, one in 20 finds a change where there is none." if len(tested) > 1 else ""
    return f"Changes are {how}, p < 0.05.{several}"


def _numbered_notes(history: History) -> list[tuple[int, PastRun, Note]]:
    """(number, run, note) of every note, in order: the numbers that the chart's flags have."""
    pairs = [(run, note) for run in history.runs for note in run.notes]
    return [(number, run, note) for number, (run, note) in enumerate(pairs, start=1)]


def _notes(history: History) -> Section:
    notes = tuple(
        Sentence(
            f"{note.text} ({note.author}, {note.at:%Y-%m-%d %H:%M}, on {run.target} of {run.day})",
            "fact",
            f"{number}. {run.run}",
            link=RunLink(run.run),
        )
        for number, run, note in _numbered_notes(history)
    )
    return Section("Notes", notes=notes, key="notes")


def history_chart(history: History) -> TimelineChart:
    """The score of every run in order, oldest at the left; numbers above the plot are those of the notes.

    Args:
        history: at least one run.
    """
    points = _points(history)
    words = []
    for run in history.runs:
        interval = interval_text(run.interval, share=history.share)
        words.append(
            f"{_started(run, history)} {run.target}: {value_text(run.value, share=history.share)}"
            + (f" ({interval})" if interval else "")
        )
    return TimelineChart(
        f"{history_title(history)}, over time, 95 % CI",
        "; ".join(words),
        history.targets,
        points,
        _domain(history, points),
        tuple((_days(moment, _moment(history.runs[0])), text) for moment, text in time_ticks(*_span(history))),
    )


def _moment(run: PastRun) -> datetime:
    moment = datetime.fromisoformat(run.created)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _span(history: History) -> tuple[datetime, datetime]:
    """When the first and the last run were started."""
    moments = [_moment(run) for run in history.runs]
    return min(moments), max(moments)


def _days(moment: datetime, first: datetime) -> float:
    return (moment - first) / timedelta(days=1)


def time_ticks(first: datetime, last: datetime, most: int = 6) -> list[tuple[datetime, str]]:
    """Moments at equal distances from the first to the last, with what an axis writes of them.

    Args:
        first: the beginning of the axis.
        last: its end.
        most: ticks at most.

    >>> [text for _, text in time_ticks(datetime(2026, 1, 1), datetime(2026, 1, 11), most=3)]
    ['2026-01-01', '2026-01-06', '2026-01-11']
    """
    if first == last:
        return [(first, f"{first:%Y-%m-%d}")]
    form = "%Y-%m-%d" if last - first >= timedelta(days=most) else "%m-%d %H:%M"
    moments: dict[str, datetime] = {}
    for at in range(most):
        moment = first + (last - first) * at / (most - 1)
        moments.setdefault(moment.strftime(form), moment)
    return [(moment, text) for text, moment in moments.items()]


def _points(history: History) -> tuple[TimelinePoint, ...]:
    factor = 100 if history.share else 1
    numbers = grouped((run.run, str(number)) for number, run, _ in _numbered_notes(history))
    points = []
    first = _moment(history.runs[0])
    for at, run in enumerate(history.runs):
        low, high = run.interval or (run.value, run.value)
        value, low, high = (None if end is None else round(factor * end, 3) for end in (run.value, low, high))
        points.append(
            TimelinePoint(
                _days(_moment(run), first),
                history.targets.index(run.target),
                value,
                low,
                high,
                ", ".join(numbers.get(run.run, ())),
                "samples" in run.changed and run.digest != history.runs[at - 1].digest,
            )
        )
    return tuple(points)


def _domain(history: History, points: Sequence[TimelinePoint]) -> tuple[float, float]:
    """Ends of the axis: the range of the intervals with some space, and a least span."""
    ends = [end for point in points for end in (point.low, point.high) if end is not None] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    least = _LEAST_SHARE if history.share else 0.1 * max(abs(low), abs(high), 1.0)
    missing = max(0.0, least - (high - low)) / 2 + 0.06 * (high - low)
    low, high = low - missing, high + missing
    if not history.share:
        return low, high
    # A share ends at 0 and 100: what is cut off there is added at the other end.
    shift = min(0.0, 100 - high) + max(0.0, -low)
    return max(0.0, low + shift), min(100.0, high + shift)
