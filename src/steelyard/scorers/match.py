"""Scorers that compare texts without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steelyard.types import Output, Sample, Score


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """1 where the output is the reference, else 0; texts are compared without blanks around them.

    Args:
        ignore_case: compare with case folded (str.casefold).

    >>> ExactMatch(ignore_case=True)(Sample("fr", "Capital of France?", "Paris"), Output(" paris")).value
    1.0
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "exact_match"
    ignore_case: bool = False

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its reference."""
        if sample.reference is None:
            return Score("exact_match", None, outcome="not_applicable", reason="the sample has no reference")
        wanted, got = sample.reference, output.value
        if isinstance(wanted, str) and isinstance(got, str):
            wanted, got = wanted.strip(), got.strip()
            if self.ignore_case:
                wanted, got = wanted.casefold(), got.casefold()
        equal = bool(wanted == got)
        return Score("exact_match", float(equal), passed=equal)
