"""Scorers that compare texts without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from steelyard.text.overlap import answer_words
from steelyard.types import Output, Sample, Score


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """1 where the output is the reference, else 0; texts are compared without blanks around them.

    Of several references, a list of texts, any will do where the output is a text.

    Args:
        ignore_case: compare with case folded (str.casefold).
        normalise: compare the words of both alone, as SQuAD does: without case, punctuation, a, an and the.

    >>> ExactMatch(ignore_case=True)(Sample("fr", "Capital of France?", "Paris"), Output(" paris")).value
    1.0
    >>> ExactMatch(normalise=True)(Sample("who", "Which band?", "The Beatles"), Output("Beatles.")).value
    1.0
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "exact_match"
    ignore_case: bool = False
    normalise: bool = False

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its reference."""
        wanted, got = sample.reference, output.value
        if wanted is None:
            return Score("exact_match", None, outcome="not_applicable", reason="the sample has no reference")
        several = isinstance(wanted, list | tuple) and wanted and all(isinstance(one, str) for one in wanted)
        if several and isinstance(got, str):
            return self._any_of(wanted, got)
        equal = bool(self._comparable(wanted) == self._comparable(got))
        return Score("exact_match", float(equal), passed=equal)

    def _any_of(self, wanted: Sequence[str], got: str) -> Score:
        found = self._comparable(got)
        place = next((at for at, one in enumerate(wanted) if self._comparable(one) == found), None)
        count = len(wanted)
        reason = f"none of {count} references" if place is None else f"reference {place + 1} of {count}"
        return Score("exact_match", float(place is not None), passed=place is not None, reason=reason)

    def _comparable(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if self.normalise:
            return answer_words(value)
        return value.strip().casefold() if self.ignore_case else value.strip()
