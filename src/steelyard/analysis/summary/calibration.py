"""How well the confidences of a run's answers agree with their being right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.scores.score_columns import CODES, ScoreColumns, by_appearance
from steelyard.analysis.scores.score_infos import names_where
from steelyard.stats.calibration import Calibration, calibration_figures
from steelyard.types import ScoreInfo


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
    alone = part.clusters.are("")
    units = np.where(alone, part.sample, len(part.samples) + part.clusters.codes)
    units, distinct = by_appearance(units, len(part.samples) + len(part.clusters.names))
    clusters = units if len(distinct) < len(part) else None
    return ScoreCalibration(name, calibration_figures(stated[known], part.value, clusters=clusters), without)
