"""Sections of a classification: figures over all classes by run, those of each class, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from steelyard.analysis.classification import Classification
from steelyard.analysis.numbers import MISSING, interval_text, score_title, value_text
from steelyard.analysis.run_summary_values import RunSummary
from steelyard.report.section import Level, Section, SectionTable, Sentence, TableCell, TableColumn, non_empty
from steelyard.stats.classification import LEAST_REFERENCES, ClassificationFigures
from steelyard.stats.intervals import Interval

_UNREAD: Final = "unread"
_MOST_ON_TERMINAL: Final = 2
"""Runs whose classes a terminal lists: a summary of several runs has to fit a screen."""
_FIGURES: Final[tuple[tuple[str, Callable[[ClassificationFigures], tuple[float | None, Interval | None]]], ...]] = (
    ("macro F1", lambda figures: (figures.macro_f1, figures.macro_f1_interval)),
    ("micro F1", lambda figures: (figures.micro_f1, None)),
    ("balanced accuracy", lambda figures: (figures.balanced_accuracy, figures.balanced_accuracy_interval)),
    ("always the most frequent label", lambda figures: (figures.majority, None)),
)


def classification_section(summaries: Sequence[RunSummary], labels: Sequence[str]) -> Section:
    """All of it for the first score with classes that a run has; empty where none has one."""
    score = next((report.score for summary in summaries for report in summary.details.classifications), "")
    reports = [_report_of(summary, score) for summary in summaries]
    named = [(label, report) for label, report in zip(labels, reports, strict=True) if report is not None]
    level: Level = "essential" if len(named) <= 1 else "detail" if len(named) <= _MOST_ON_TERMINAL else "page"
    parts = [_over_all(reports, labels)] if score else []
    for label, report in named:
        of_run = f": {label}" if len(named) > 1 else ""
        parts += [_by_class(report, of_run, level), _confusion(report, of_run, level)]
    return Section(f"{score_title(score)} by label" if score else "", parts=non_empty(parts), key="classification")


def _report_of(summary: RunSummary, score: str) -> Classification | None:
    return next((report for report in summary.details.classifications if report.score == score), None)


def _over_all(reports: Sequence[Classification | None], labels: Sequence[str]) -> Section:
    rows = [(TableCell(name), *(_figure(report, figure) for report in reports)) for name, figure in _FIGURES]
    rows.insert(-1, (TableCell("Cohen's kappa"), *map(_kappa, reports)))
    rows.append((TableCell("replies without a label"), *(_unread(report) for report in reports)))
    columns = (TableColumn("", "name"), *(TableColumn(label, series=True) for label in labels))
    return Section("", SectionTable(columns, tuple(rows), "With 95 % CI"), notes=tuple(_notes(reports)))


def _figure(
    report: Classification | None, figure: Callable[[ClassificationFigures], tuple[float | None, Interval | None]]
) -> TableCell:
    return TableCell(MISSING) if report is None else _cell(*figure(report.figures))


def _kappa(report: Classification | None) -> TableCell:
    kappa = None if report is None else report.figures.kappa
    return TableCell(value_text(kappa, share=False), value=kappa)


def _unread(report: Classification | None) -> TableCell:
    if report is None:
        return TableCell(MISSING)
    share = value_text(report.figures.unread / report.figures.n, share=True)
    return TableCell(f"{report.figures.unread:,}", (share,), value=report.figures.unread)


def _cell(value: float | None, interval: Interval | None) -> TableCell:
    limits = interval_text(interval, share=True)
    return TableCell(value_text(value, share=True), (limits,) if limits else (), value=value)


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
    columns = (
        TableColumn("label", "name"),
        *(TableColumn(name) for name in ("precision", "recall", "F1")),
        *(TableColumn(name, "number") for name in ("expected", "read", "right")),
    )
    rows = tuple(
        (
            TableCell(name),
            _cell(figures.precision, figures.precision_interval),
            _cell(figures.recall, figures.recall_interval),
            _cell(figures.f1, figures.f1_interval),
            *(TableCell(f"{count:,}", value=count) for count in (figures.support, figures.read, figures.right)),
        )
        for name, figures in zip(report.classes, report.figures.classes, strict=True)
    )
    return Section(f"Each label{of_run}", SectionTable(columns, rows, "With 95 % CI"), level=level)


def _confusion(report: Classification, of_run: str, level: Level) -> Section:
    has_unread = report.figures.unread > 0
    names = (*report.classes, *([_UNREAD] if has_unread else []))
    columns = (TableColumn("expected", "name"), *(TableColumn(name, "number") for name in names))
    rows = tuple(
        (TableCell(name), *(_count(count, strong=at == column) for column, count in enumerate(counts[: len(names)])))
        for at, (name, counts) in enumerate(zip(report.classes, report.confusion, strict=True))
    )
    caption = "Rows are the expected labels, columns those that were read"
    return Section(f"Confusion matrix{of_run}", SectionTable(columns, rows, caption), level=level)


def _count(count: int, *, strong: bool) -> TableCell:
    return TableCell(f"{count:,}" if count else "·", strong=strong and count > 0, value=count)
