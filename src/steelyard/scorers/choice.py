"""Scores replies to multiple-choice questions: solved, not solved, or not to be read.

A reply that cannot be read is never counted as wrong in silence and never guessed: it is `unparsed` with its kind,
and the headline rate, which is over all samples, counts it as not solved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from steelyard.text.choice import ChoiceReading, read_choice
from steelyard.text.normal import fold
from steelyard.types import Output, Sample, Score

_NAME: Final = "solve_rate"
_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 26
_SEPARATORS: Final = frozenset(" ,、;/&|+.()")
_STOPPED: Final = frozenset({"content_filter", "refusal"})


@dataclass(frozen=True, slots=True)
class Choice:
    """Share of questions whose reply gives exactly the reference's letters.

    Args:
        rule: how replies are read; `steelyard` is `steelyard.text.choice.read_choice`.

    >>> sample = Sample("1", "Capital of France?", "B", choices=("Rome", "Paris"))
    >>> Choice()(sample, Output("I would choose option B.")).value
    1.0
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "solve_rate"
    over: ClassVar[str] = "all"

    rule: Literal["steelyard"] = "steelyard"

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Read the reply and compare it with `sample.reference`, a text of letters such as "B" or "AC"."""
        wanted, problem = _reference(sample)
        if problem:
            return Score(_NAME, None, outcome="not_applicable", reason=problem)
        question = sample.input if isinstance(sample.input, str) else ""
        reading = read_choice(_text(output.value), sample.choices, question=question, several=len(wanted) > 1)
        return _score(reading, wanted, str(output.metadata.get("finish", "")))


def _score(reading: ChoiceReading, wanted: tuple[str, ...], finish: str) -> Score:
    detail = _detail(reading)
    if reading.status == "refused" or (reading.status == "empty" and finish in _STOPPED):
        reason = reading.reason if reading.status == "refused" else "a content filter stopped the reply"
        return Score(_NAME, None, outcome="refused", reason=reason, detail=detail)
    if reading.status in {"answered", "none_of_these"}:
        solved = reading.letters == wanted
        reason = _verdict(reading, wanted)
        return Score(_NAME, float(solved), passed=solved, reason=reason, detail=detail)
    truncated = finish == "length" and reading.status != "several"
    kind = "truncated" if truncated else reading.status
    reason = "the reply was cut off before it gave an answer" if truncated else reading.reason
    return Score(_NAME, None, outcome="unparsed", reason=reason, detail={**detail, "kind": kind})


def _detail(reading: ChoiceReading) -> dict[str, Any]:
    return {
        "letters": "".join(reading.letters),
        "status": reading.status,
        "rule": reading.rule,
        "span": list(reading.span) if reading.span else None,
        "confidence": reading.confidence,
    }


def _verdict(reading: ChoiceReading, wanted: tuple[str, ...]) -> str:
    if reading.status == "none_of_these":
        return f"says that none fits, {''.join(wanted)} is right"
    how = "" if reading.confidence == "explicit" else " (inferred)"
    read = "".join(reading.letters)
    return f"{read}{how} is right" if reading.letters == wanted else f"{read}{how}, {''.join(wanted)} is right"


def _reference(sample: Sample) -> tuple[tuple[str, ...], str]:
    """The reference's letters in order, or why there is nothing to compare with."""
    if not _MIN_OPTIONS <= len(sample.choices) <= _MAX_OPTIONS:
        return (), f"a multiple-choice question has 2 to 26 options, this one has {len(sample.choices)}"
    if sample.reference is None or not str(sample.reference).strip():
        return (), "the sample has no reference"
    letters = {one for one in fold(str(sample.reference)).upper() if one not in _SEPARATORS}
    last = chr(ord("A") + len(sample.choices) - 1)
    if not letters or not all("A" <= one <= last for one in letters):
        return (), f"the reference {str(sample.reference)[:40]!r} is no letter from A to {last}"
    return tuple(sorted(letters)), ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)
