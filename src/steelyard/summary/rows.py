"""What a summary is made of: a row per score of a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

RowOutcome = Literal["scored", "not_applicable", "unparsed", "refused", "error"]


class ScoreRow(NamedTuple):
    """One score of one repeat of one sample, as a summary needs it.

    `value` is a number exactly when `outcome` is `scored`. An `error` row stands for a record that failed: one row
    per score that the record should have had, or a single one with an empty `name`, which counts in every score.
    """

    sample: str
    group: str
    cluster: str
    repeat: int
    name: str
    outcome: RowOutcome
    value: float | None


class JudgedRow(NamedTuple):
    """One repeat's value of one score with what the scorer kept beside it (`detail`; empty where the record failed)."""

    sample: str
    group: str
    cluster: str
    repeat: int
    outcome: RowOutcome
    value: float | None
    detail: Mapping[str, Any]
