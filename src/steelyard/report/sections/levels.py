"""The section on averages by the levels of groups: over questions, over subjects, over categories, in each category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import MISSING, interval_text, score_title, value_text
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.levels import GroupLevel
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import Level, Section, SectionTable, TableCell, TableColumn, non_empty


def levels_section(summaries: Sequence[RunSummary], labels: Sequence[str], score: str) -> Section:
    """Averages by level of the page's score, and of points; empty where groups have one level.

    Args:
        summaries: of the runs.
        labels: what the page calls them.
        score: the page's.
    """
    points = [summary.exam.points.score for summary in summaries if summary.exam and summary.exam.points]
    parts = [_averages(summaries, labels, name) for name in dict.fromkeys([score, *points])]
    return Section("Averages by level", parts=non_empty(parts), key="levels")


def _averages(summaries: Sequence[RunSummary], labels: Sequence[str], score: str) -> Section:
    of_runs = [summary.details.levels.get(score, ()) for summary in summaries]
    levels = next((found for found in of_runs if found), ())
    if not levels:
        return Section("")
    rows = [_row("micro, over questions", [_micro(found) for found in of_runs])]
    for depth, level in enumerate(levels):
        means = [found[depth].score.macro if found else None for found in of_runs]
        counts = max((mean.n for mean in means if mean), default=0)
        rows.append(_row(f"macro, over {level.level} ({counts:,})", means))
    for depth in range(len(levels) - 1):
        for name in dict.fromkeys(part.group for found in of_runs for part in _groups(found, depth)):
            parts = [next((part for part in _groups(found, depth) if part.group == name), None) for found in of_runs]
            rows.append(_row(f"{name}: micro", [part.headline if part else None for part in parts]))
            macros = [part.macro if part else None for part in parts]
            if any(macros):
                rows.append(_row(f"{name}: macro over {levels[-1].level}", macros))
    columns = (TableColumn("", "name"), *(TableColumn(label, series=True) for label in labels))
    caption = "With 95 % CI; macro averages give each group the same weight, micro averages each question"
    # A summary of several runs has to fit a screen.
    shown: Level = "essential" if len(summaries) == 1 else "detail"
    return Section(f"{score_title(score)} by level", SectionTable(columns, tuple(rows), caption), level=shown)


def _groups(levels: Sequence[GroupLevel], depth: int) -> Sequence[ScoreSummary]:
    return levels[depth].groups if levels else ()


def _micro(levels: Sequence[GroupLevel]) -> Mean | None:
    return levels[0].score.headline if levels else None


def _row(name: str, means: Sequence[Mean | None]) -> tuple[TableCell, ...]:
    return (TableCell(name), *_cells(means))


def _cells(means: Sequence[Mean | None]) -> Iterator[TableCell]:
    for mean in means:
        if mean is None or mean.value is None:
            yield TableCell(MISSING)
        else:
            limits = interval_text(mean.interval, share=True)
            yield TableCell(value_text(mean.value, share=True), (limits,) if limits else (), value=mean.value)
