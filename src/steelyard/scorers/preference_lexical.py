"""Preference without a model: the answer that is nearer to the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError, expect_number
from steelyard.scorers.lexical_texts import references_of
from steelyard.scorers.preference_sides import VALUES, Label, alike, sides_of
from steelyard.text.overlap import chrf, rouge_l, token_f1
from steelyard.types import Output, Sample, Score

_MEASURES: Final[Mapping[str, Callable[[str, str], float]]] = MappingProxyType(
    {
        "token_f1": lambda reference, answer: token_f1(reference, answer).f1,
        "rouge_l": lambda reference, answer: rouge_l(reference, answer).f1,
        "chrf": chrf,
    }
)


@dataclass(frozen=True, slots=True)
class LexicalPreference:
    """Prefers the answer that shares more words or characters with the reference: 1 for side A, 0 for side B.

    It asks no model, has no preference for a place and costs nothing, so it judges offline, and is the floor that a
    judge has to beat. It cannot tell a right answer in other words from a wrong one. Answers that are as near as each
    other, but for `margin`, are a tie; samples without a reference are not applicable.

    Args:
        measure: how near an answer is, from 0 to 1: `token_f1`, `rouge_l` or `chrf`; of several references the best.
        margin: by how much more than this the nearer one has to be nearer.
        name: of the score.

    >>> nearer = LexicalPreference()(Sample("1", "How long?", "nine minutes"), Output({"A": "Nine.", "B": "No idea."}))
    >>> nearer.value, nearer.reason
    (1.0, 'A: token_f1 0.67 against 0.00')
    """

    inline: ClassVar[bool] = True
    over: ClassVar[str] = "scored"
    of_pairs: ClassVar[bool] = True

    measure: Literal["token_f1", "rouge_l", "chrf"] = "token_f1"
    margin: float = 0.05
    name: str = "preference"

    @property
    def score_name(self) -> str:
        """The name given."""
        return self.name

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: no name, a measure that there is not, or a margin outside [0, 1].
        """
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")
        if self.measure not in _MEASURES:
            raise ConfigError(f"measure: expected one of {', '.join(_MEASURES)}, but got {self.measure!r}")
        expect_number("margin", self.margin, 0, 1)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare both answers with the reference."""
        sides = sides_of(self.name, output)
        if isinstance(sides, Score):
            return sides
        texts, problem = references_of(sample)
        if problem:
            return Score(self.name, None, outcome="not_applicable", reason=problem, detail={"by": "lexical"})
        measure = _MEASURES[self.measure]
        a, b = (max(measure(text, answer) for text in texts) for answer in sides)
        label: Label = "tie" if abs(a - b) <= self.margin else "A" if a > b else "B"
        high, low = max(a, b), min(a, b)
        detail: dict[str, Any] = {
            "label": label,
            "by": "lexical",
            "measures": {"A": a, "B": b},
            "columns": {f"{self.name}_label": label, f"{self.name}_A": a, f"{self.name}_B": b},
        }
        if alike(sides):
            detail["alike"] = True
        reason = f"{label}: {self.measure} {high:.2f} against {low:.2f}"
        return Score(self.name, VALUES[label], reason=reason, detail=detail)
