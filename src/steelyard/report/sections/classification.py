"""Sections of a classification and of its confidences: figures by run and class, the confusion matrix, calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import MISSING, count_text, interval_text, score_title, value_text
from steelyard.analysis.summary.classification import Classification, ScoreCalibration
from steelyard.report.charts.chart import RowChart, interval_point
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import figure_cell, value_cell
from steelyard.report.section import (
    Level,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    number_cell,
    sentences,
)
from steelyard.stats.classification import LEAST_REFERENCES, Calibration, ClassificationFigures
from steelyard.stats.intervals import Interval

_MOST_ON_TERMINAL: Final = 2
"""Runs whose classes a terminal lists: a summary of several runs has to fit a screen."""
_FIGURES: Final[tuple[tuple[str, Callable[[ClassificationFigures], tuple[float | None, Interval | None]]], ...]] = (
    ("macro F1", lambda figures: (figures.macro_f1, figures.macro_f1_interval)),
    ("micro F1", lambda figures: (figures.micro_f1, None)),
    ("balanced accuracy", lambda figures: (figures.balanced_accuracy, figures.balanced_accuracy_interval)),
    ("always the most frequent label", lambda figures: (figures.majority, None)),
)


def classification_section(runs: PageRuns) -> Section:
    """All of it for the first score with classes that a run has; empty where none has one."""
    score = next((report.score for summary in runs.summaries for report in summary.details.classifications), "")
    reports = [
        next((report for report in summary.details.classifications if report.score == score), None)
        for summary in runs.summaries
    ]
    named = [(label, report) for label, report in zip(runs.labels, reports, strict=True) if report is not None]
    level: Level = "essential" if len(named) <= 1 else "detail" if len(named) <= _MOST_ON_TERMINAL else "page"
    parts = [_over_all(runs, reports)] if score else []
    for label, report in named:
        of_run = f": {label}" if len(named) > 1 else ""
        parts += [_by_class(report, of_run, level), _confusion(report, of_run, level)]
    return Section(f"{score_title(score)} by label" if score else "", parts=parts, key="classification")


def _over_all(runs: PageRuns, reports: Sequence[Classification | None]) -> Section:
    rows = [(TableCell(name), *(_figure(report, figure) for report in reports)) for name, figure in _FIGURES]
    rows.insert(-1, (TableCell("Cohen's kappa"), *map(_kappa, reports)))
    rows.append((TableCell("unreadable or refused"), *(_unread(report) for report in reports)))
    return Section("", SectionTable(runs.columns(), tuple(rows), "With 95 % CI"), notes=tuple(_notes(reports)))


def _figure(
    report: Classification | None, figure: Callable[[ClassificationFigures], tuple[float | None, Interval | None]]
) -> TableCell:
    return TableCell(MISSING) if report is None else _cell(*figure(report.figures))


def _kappa(report: Classification | None) -> TableCell:
    kappa = None if report is None else report.figures.kappa
    return value_cell(kappa, share=False)


def _unread(report: Classification | None) -> TableCell:
    if report is None:
        return TableCell(MISSING)
    share = value_text(report.figures.unread / report.figures.n, share=True)
    return TableCell(f"{report.figures.unread:,}", (share,), value=report.figures.unread)


def _cell(value: float | None, interval: Interval | None) -> TableCell:
    return figure_cell(Mean(value, interval, 0), share=True)


def _notes(reports: Sequence[Classification | None]) -> Iterator[Sentence]:
    known = [report for report in reports if report is not None]
    few = {
        name: figures.support
        for report in known
        for name, figures in zip(report.classes, report.figures.classes, strict=True)
        if figures.support < LEAST_REFERENCES
    }
    if few:
        counts = ", ".join(f"{name} {count}" for name, count in few.items())
        yield Sentence(
            f"macro F1 and balanced accuracy have an interval only with {LEAST_REFERENCES} references of every label: "
            f"{counts}"
        )
    if any(report.clustered for report in known):
        yield Sentence("repeats and clusters are resampled together for the intervals", level="detail")


def _by_class(report: Classification, of_run: str, level: Level) -> Section:
    columns = columns_of("label", "precision", "recall", "F1", "expected", "read", "right")
    rows = tuple(
        (
            TableCell(name),
            _cell(figures.precision, figures.precision_interval),
            _cell(figures.recall, figures.recall_interval),
            _cell(figures.f1, figures.f1_interval),
            *map(number_cell, (figures.support, figures.read, figures.right)),
        )
        for name, figures in zip(report.classes, report.figures.classes, strict=True)
    )
    return Section(f"Each label{of_run}", SectionTable(columns, rows, "With 95 % CI"), level=level)


def _confusion(report: Classification, of_run: str, level: Level) -> Section:
    has_unread = report.figures.unread > 0
    names = (*report.classes, *(["unreadable or refused"] if has_unread else []))
    columns = columns_of("expected", *(TableColumn(name, is_data=True) for name in names))
    rows = tuple(
        (TableCell(name), *(_count(count, strong=at == column) for column, count in enumerate(counts[: len(names)])))
        for at, (name, counts) in enumerate(zip(report.classes, report.confusion, strict=True))
    )
    caption = "Rows are the expected labels, columns those that were read"
    return Section(f"Confusion matrix{of_run}", SectionTable(columns, rows, caption), level=level)


def _count(count: int, *, strong: bool) -> TableCell:
    return TableCell(f"{count:,}" if count else "·", strong=strong and count > 0, value=count)


_CALIBRATION_FIGURES: Final = (
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


def calibration_section(runs: PageRuns) -> Section:
    """All of it, for each score of which a run has confidences; empty where none has any."""
    scores = dict.fromkeys(found.score for summary in runs.summaries for found in summary.details.calibrations)
    return Section("Calibration", parts=[_of_score(score, runs) for score in scores], key="calibration")


def _of_score(score: str, runs: PageRuns) -> Section:
    found = [
        next((entry for entry in summary.details.calibrations if entry.score == score), None)
        for summary in runs.summaries
    ]
    rows = tuple(
        (TableCell(name), *(_calibration_cell(one, figure, share=share) for one in found))
        for name, figure, share in _CALIBRATION_FIGURES
    )
    known = [(label, one) for label, one in zip(runs.labels, found, strict=True) if one is not None]
    without = [
        f"{label}: {count_text(one.without, 'answer')} without a confidence left out"
        for label, one in known
        if one.without
    ]
    caption = "ECE over ten bins of equal width, which is above 0 by chance even for perfect confidences"
    return Section(
        f"{score_title(score)}: calibration",
        SectionTable(runs.columns(), rows, caption),
        notes=sentences(without),
        parts=[_diagram(label, one.figures) for label, one in known],
        level="essential" if len(runs) == 1 else "detail",
    )


def _calibration_cell(found: ScoreCalibration | None, name: str, *, share: bool) -> TableCell:
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
        points.append(interval_point(at, 0, (bin_.confidence, None), stated))
        points.append(interval_point(at, 1, (bin_.right, bin_.interval), right))
        cells = (stated, right, interval_text(bin_.interval, share=True))
        rows.append((TableCell(name), number_cell(bin_.n), *map(TableCell, cells)))
    words = "; ".join(
        f"{name}: confidence {row[2].text}, right {row[3].text}" for name, row in zip(names, rows, strict=True)
    )
    title = f"{label}: reliability diagram, 95 % CI"
    chart = RowChart(title, words, names, tuple(points), series=("confidence", "right"), domain=(0, 100))
    columns = columns_of(f"{label}: confidence", "answers", "mean", "right", "95 % CI")
    return Section("", SectionTable(columns, tuple(rows), title), chart)
