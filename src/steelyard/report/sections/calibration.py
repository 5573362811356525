"""The section on calibration: its figures by run, and a reliability diagram with its bins for each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steelyard.analysis.numbers import MISSING, count_text, interval_text, score_title, value_text
from steelyard.analysis.summary.calibration import ScoreCalibration
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.charts.chart import ChartPoint, RowChart
from steelyard.report.section import Section, SectionTable, TableCell, TableColumn, columns_of, non_empty, sentences
from steelyard.stats.calibration import Calibration

_FIGURES: Final = (
    ("mean confidence", "confidence", True),
    ("right", "right", True),
    ("calibration error (ECE)", "ece", True),
    ("ECE if perfectly calibrated", "ece_by_chance", True),
    ("Brier score", "brier", False),
    ("Brier: reliability, 0 is best", "reliability", False),
    ("Brier: resolution, higher is better", "resolution", False),
    ("Brier: uncertainty", "uncertainty", False),
    ("Brier: within bins", "within", False),
)
"""Title of a line, the name of its figure, and whether it is shown in percent."""


def calibration_section(summaries: Sequence[RunSummary], labels: Sequence[str]) -> Section:
    """All of it, for each score of which a run has confidences; empty where none has any.

    Args:
        summaries: of the runs.
        labels: what the page calls them.
    """
    scores = dict.fromkeys(found.score for summary in summaries for found in summary.details.calibrations)
    return Section(
        "Calibration", parts=non_empty(_of_score(score, summaries, labels) for score in scores), key="calibration"
    )


def _of_score(score: str, summaries: Sequence[RunSummary], labels: Sequence[str]) -> Section:
    found = [_found(summary, score) for summary in summaries]
    rows = tuple(
        (TableCell(name), *(_cell(one, figure, share=share) for one in found)) for name, figure, share in _FIGURES
    )
    columns = (TableColumn("", "name"), *(TableColumn(label, series=True) for label in labels))
    known = [(label, one) for label, one in zip(labels, found, strict=True) if one is not None]
    without = [
        f"{label}: {count_text(one.without, 'answer')} without a confidence left out"
        for label, one in known
        if one.without
    ]
    caption = "ECE over ten bins of equal width, which is above 0 by chance even for perfect confidences"
    return Section(
        f"{score_title(score)}: calibration",
        SectionTable(columns, rows, caption),
        notes=tuple(sentences(without)),
        parts=tuple(_diagram(label, one.figures) for label, one in known),
        level="essential" if len(summaries) == 1 else "detail",
    )


def _found(summary: RunSummary, score: str) -> ScoreCalibration | None:
    return next((found for found in summary.details.calibrations if found.score == score), None)


def _cell(found: ScoreCalibration | None, name: str, *, share: bool) -> TableCell:
    if found is None:
        return TableCell(MISSING)
    value = getattr(found.figures, name)
    limits = interval_text(found.figures.brier_interval, share=False) if name == "brier" else ""
    text = value_text(value, share=True) if share else f"{value:.4f}"
    return TableCell(text, (limits,) if limits else (), value=value)


def _diagram(label: str, figures: Calibration) -> Section:
    """A row per bin: mean confidence, and the share that is right with its interval."""
    names = tuple(f"{100 * bin_.low:.0f} to {100 * bin_.high:.0f} %" for bin_ in figures.bins)
    points, rows = [], []
    for at, (name, bin_) in enumerate(zip(names, figures.bins, strict=True)):
        stated, right = (value_text(share, share=True) for share in (bin_.confidence, bin_.right))
        low, high = bin_.interval
        points += [
            ChartPoint(at, 0, 100 * bin_.confidence, stated),
            ChartPoint(at, 1, 100 * bin_.right, right, 100 * low, 100 * high),
        ]
        cells = (stated, right, interval_text(bin_.interval, share=True))
        rows.append((TableCell(name), TableCell(f"{bin_.n:,}", value=bin_.n), *map(TableCell, cells)))
    words = "; ".join(
        f"{name}: confidence {row[2].text}, right {row[3].text}" for name, row in zip(names, rows, strict=True)
    )
    title = f"{label}: reliability diagram, 95 % CI"
    chart = RowChart(title, words, names, tuple(points), series=("confidence", "right"), domain=(0, 100))
    columns = columns_of(f"{label}: confidence", TableColumn("answers", "number"), "mean", "right", "95 % CI")
    return Section("", SectionTable(columns, tuple(rows), title), chart)
