"""The score of a chunk: how many questions were made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from steelyard.types import Output, Sample, Score


@dataclass(frozen=True, slots=True)
class QuestionsMade:
    """How many questions with answers a chunk gave; a list that cannot be read is unparsed, a refusal refused.

    Args:
        per_chunk: how many were asked for; fewer do not pass.

    >>> QuestionsMade(2)(Sample("1", "It rains."), Output([{"question": "Does it rain?"}])).reason
    '1 of 2 questions'
    """

    score_name: ClassVar[str] = "questions"
    over: ClassVar[str] = "scored"
    inline: ClassVar[bool] = True

    per_chunk: int = 10

    @property
    def scales(self) -> Mapping[str, tuple[float, float]]:
        """From none to all that were asked for."""
        return {"questions": (0, self.per_chunk)}

    def __call__(self, sample: Sample, output: Output) -> Score:  # noqa: ARG002  # what a scorer is given
        """Count."""
        count = len(output.value)
        kind, dropped = output.metadata.get("kind", ""), output.metadata.get("dropped", {})
        detail = {"dropped": dropped} if dropped else {}
        if not count and not dropped and kind == "refused":
            return Score("questions", None, outcome="refused", reason="the model refused to write questions")
        if not count and not dropped and kind:
            return Score("questions", None, outcome="unparsed", reason="no question can be read", detail={"kind": kind})
        why = ", ".join(f"{one} {reason}" for reason, one in sorted(dropped.items()))
        reason = f"{count} of {self.per_chunk} questions{f'; dropped: {why}' if why else ''}"
        return Score("questions", float(count), passed=count >= self.per_chunk, reason=reason, detail=detail)
