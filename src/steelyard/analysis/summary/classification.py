"""The classification report of a run: its confusion matrix, and how well its confidences agree with being right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from steelyard.analysis.scores.score_columns import CODES, ScoreColumns
from steelyard.analysis.scores.score_infos import names_where
from steelyard.plain_json import field_values
from steelyard.stats.classification import (
    Calibration,
    ClassificationFigures,
    calibration_figures,
    classification_figures,
)
from steelyard.types import ScoreInfo

_COUNTED: Final = ("scored", "unparsed", "refused")


@dataclass(frozen=True, slots=True)
class Classification:
    """How a score's classes were told apart.

    Args:
        score: its name.
        classes: the closed set.
        confusion: a row per expected class and a column per class that was read, with a last column of unread replies.
        figures: of the matrix, with intervals.
        clustered: whether repeats or clusters were resampled for the intervals.
    """

    score: str
    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    figures: ClassificationFigures
    clustered: bool = False

    def json_fields(self) -> dict[str, Any]:
        """With each class's figures under its name."""
        figures = field_values(self.figures) | {"classes": dict(zip(self.classes, self.figures.classes, strict=True))}
        return field_values(self) | {"figures": figures}


def classifications(columns: ScoreColumns, infos: Mapping[str, ScoreInfo]) -> tuple[Classification, ...]:
    """A report of each score with classes; none of one without a reply whose expected class is among them.

    >>> from steelyard.analysis.scores.score_columns import ScoreRow
    >>> rows = [ScoreRow("1", "", "", 0, "accuracy", "scored", 1.0, {"label": "bug", "wanted": "bug"})]
    >>> infos = {"accuracy": ScoreInfo("accuracy", classes=("bug", "other"))}
    >>> classifications(ScoreColumns.of(rows), infos)[0].confusion
    ((1, 0, 0), (0, 0, 0))
    """
    reports = (_classification(columns, name, info.classes) for name, info in infos.items() if info.classes)
    return tuple(report for report in reports if report is not None)


def _classification(columns: ScoreColumns, name: str, classes: tuple[str, ...]) -> Classification | None:
    if name not in columns.names:
        return None
    counted = np.isin(columns.outcome, [CODES[outcome] for outcome in _COUNTED])
    rows = np.flatnonzero((columns.name == columns.names.index(name)) & counted)
    k = len(classes)
    number = {label: at for at, label in enumerate(classes)}
    cell_of_detail = np.asarray([_cell(detail, number, k) for detail in columns.details])
    cells = cell_of_detail[columns.detail[rows]]
    rows, cells = rows[cells >= 0], cells[cells >= 0]
    if not len(rows):
        return None
    size = k * (k + 1)
    confusion = np.bincount(cells, minlength=size).reshape(k, k + 1)
    units = columns.units(rows)
    clusters = None
    if units.max() + 1 < len(rows):
        flat = np.bincount(units * size + cells, minlength=(units.max() + 1) * size)
        clusters = flat.reshape(-1, k, k + 1)
    figures = classification_figures(confusion, clusters=clusters)
    counts = tuple(tuple(map(int, row)) for row in confusion)
    return Classification(name, classes, counts, figures, clusters is not None)


def _cell(detail: Mapping[str, Any], number: Mapping[str, int], k: int) -> int:
    """The number of a reply's cell in the matrix; -1 where the expected class is not among the classes."""
    row = number.get(detail.get("wanted", ""), -1)
    return row * (k + 1) + number.get(detail.get("label", ""), k) if row >= 0 else -1


@dataclass(frozen=True, slots=True)
class ScoreCalibration:
    """The calibration of one score's answers.

    Args:
        score: its name.
        figures: over the answers that have a confidence.
        without: answers that have none.
    """

    score: str
    figures: Calibration
    without: int


def calibrations(columns: ScoreColumns, infos: Mapping[str, ScoreInfo]) -> tuple[ScoreCalibration, ...]:
    """The calibration of each score at least half of whose answers have a confidence.

    >>> from steelyard.analysis.scores.score_columns import ScoreRow
    >>> rows = [ScoreRow("1", "", "", 0, "acc", "scored", 1.0, {"probability": 0.75})]
    >>> calibrations(ScoreColumns.of(rows), {"acc": ScoreInfo("acc", confidence=True)})[0].figures.brier
    0.0625
    """
    names = names_where(infos, lambda info: info.confidence or info.exam)
    found = (_calibration(columns, name) for name in names if name in columns.names)
    return tuple(of_score for of_score in found if of_score is not None)


def _calibration(columns: ScoreColumns, name: str) -> ScoreCalibration | None:
    rows = columns.only((columns.name == columns.names.index(name)) & (columns.outcome == CODES["scored"]))
    stated = rows.numbers("probability")
    known = ~np.isnan(stated)
    without = int((~known).sum())
    if not known.any() or without > len(rows) / 2:
        return None
    part = rows.only(known)
    units = part.units(np.arange(len(part)))
    clusters = units if int(units.max()) + 1 < len(part) else None
    return ScoreCalibration(name, calibration_figures(stated[known], part.value, clusters=clusters), without)
