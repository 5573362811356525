"""What lexical scorers compare: the reference's texts and the output's, and the score of what cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from steelyard.errors import ConfigError
from steelyard.types import Output, Sample, Score

_STOPPED: Final = frozenset({"content_filter", "refusal"})


def references_of(sample: Sample) -> tuple[tuple[str, ...], str]:
    """The texts that are expected, or why there is none: one text or number, or several in a list.

    >>> references_of(Sample("1", "Capital of France?", ["Paris", " "])), references_of(Sample("2", "?"))[1]
    ((('Paris',), ''), 'the sample has no reference')
    """
    given = sample.reference
    several = list(given) if isinstance(given, list | tuple) else [given]
    several = [one for one in several if one is not None]
    odd = next((one for one in several if isinstance(one, bool) or not isinstance(one, str | int | float)), None)
    if odd is not None:
        return (), f"the reference is no text and no list of texts: it holds a {type(odd).__name__}"
    texts = tuple(text for one in several if (text := str(one)).strip())
    return texts, "" if texts else "the sample has no reference"


def text_of(output: Output) -> str:
    """The output as text; a structure as its JSON, nothing as an empty text."""
    value = output.value
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


def unscored(name: str, problem: str, output: Output) -> Score | None:
    """The score where nothing is compared: there is no reference, or a filter left nothing of the reply; else None."""
    if problem:
        return Score(name, None, outcome="not_applicable", reason=problem)
    if str(output.metadata.get("finish", "")) in _STOPPED and not text_of(output).strip():
        return Score(name, None, outcome="refused", reason="a content filter stopped the reply")
    return None


def which(place: int, count: int) -> str:
    """Which of several references it was, for a reason; nothing where there is only one.

    >>> which(1, 3), which(0, 1)
    ('; reference 2 of 3', '')
    """
    return f"; reference {place + 1} of {count}" if count > 1 else ""


def check_share(what: str, value: float | None) -> None:
    """Find a share that is none.

    Raises:
        ConfigError: it is not in [0, 1].
    """
    if value is not None and not 0 <= value <= 1:
        raise ConfigError(f"{what}: expected a share from 0 to 1, but got {value}")


def reached(value: float, threshold: float | None) -> bool | None:
    """Whether a share passes; None where no threshold is set."""
    return None if threshold is None else value >= threshold
