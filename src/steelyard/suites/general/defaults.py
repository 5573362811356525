"""What is scored where a configuration names no scorer: decided by what the rows expect, and always said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.registry import find
from steelyard.scorers.combined import CHECKS
from steelyard.types import INLINE, Output, Sample, Scorer

_MOST_LABELS: Final = 20
_ROWS_EACH: Final = 3
_LONGEST_LABEL: Final = 40
"""Characters; a longer answer is a text and no label."""


def default_scorers(samples: Sequence[Sample]) -> tuple[tuple[Scorer, ...], tuple[str, ...]]:
    """The scorers for these samples, and a sentence that says so.

    Raises:
        ConfigError: nothing can be scored.
    """
    name, reason = default_name(samples)
    if not name:
        raise ConfigError(
            "scorers: there is nothing to score: no row has an expected output or checks, and no scorer is named. Add "
            "a column expected, or name scorers, as scorers: [{contains: [...]}]"
        )
    scorer: Scorer = find("scorer", name)()
    return (scorer,), (f"no scorer is named: {name}, since {reason}",)


def default_name(samples: Sequence[Sample]) -> tuple[str, str]:
    """The default scorer of these samples and the reason; two empty texts where nothing can be scored.

    >>> default_name([Sample(str(no), "?", ("yes", "no")[no % 2]) for no in range(6)])
    ('label', 'the expected outputs are 2 short texts, each of 3 rows or more')
    >>> default_name([Sample("1", "?", "Rome")])
    ('exact_match', 'rows have an expected output')
    """
    if any(sample.metadata.get(CHECKS) for sample in samples):
        return CHECKS, "rows have checks of their own"
    expected = [sample.reference for sample in samples if sample.reference is not None]
    if not expected:
        return "", ""
    if all(isinstance(reference, dict) for reference in expected):
        return "json_fields", "the expected outputs are JSON objects"
    counts = Counter(reference if isinstance(reference, str) else "" for reference in expected)
    is_short = all(0 < len(label) <= _LONGEST_LABEL and "\n" not in label for label in counts)
    if is_short and 2 <= len(counts) <= _MOST_LABELS and min(counts.values()) >= _ROWS_EACH:
        return "label", f"the expected outputs are {len(counts)} short texts, each of {_ROWS_EACH} rows or more"
    return "exact_match", "rows have an expected output"


def refuse_nothing(scorers: Sequence[Scorer], samples: Sequence[Sample]) -> None:
    """Refuse scorers none of which applies to any sample, such as equality where no row has an expected output.

    Only scorers that call nothing are tried; of any other it is not known.

    Raises:
        ConfigError: nothing would be scored; the message has the reason that the first scorer gives.
    """
    reasons = [_reason(scorer, samples) for scorer in scorers]
    if reasons and all(reasons):
        raise ConfigError(f"scorers: there is nothing to score: {reasons[0]}, in every row")


def _reason(scorer: Any, samples: Sequence[Sample]) -> str:
    """Why a scorer applies to no sample; empty where it applies to one, or that is not known."""
    if getattr(scorer, "stage_info", None) != INLINE:
        return ""
    reason = ""
    for sample in samples:
        try:
            given = scorer(sample, Output(""))
        except Exception:  # noqa: BLE001 - a run would say so; here nothing has been answered yet
            return ""
        scores = given if isinstance(given, list | tuple) else [given]
        if any(score.outcome != "not_applicable" for score in scores):
            return ""
        reason = reason or next((f"{score.name}: {score.reason}" for score in scores), "")
    return reason
