"""Predictions that stand in the dataset itself, one column for each system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from steelyard.types import Output, Sample

PREDICTIONS: Final = "predictions"
"""The key of a sample's metadata that holds column -> prediction."""


@dataclass(frozen=True, slots=True)
class PredictedColumn:
    """Gives each sample what a column of its own row predicts.

    Args:
        column: the column's header or key.
    """

    inline: ClassVar[bool] = True

    column: str

    def __call__(self, sample: Sample) -> Output:
        """The cell; None where it is empty."""
        return Output(sample.metadata[PREDICTIONS][self.column])
