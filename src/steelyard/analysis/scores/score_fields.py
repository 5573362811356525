"""The columns of scores in tables of records: one definition for data frames, CSV files, workbooks and Parquet files.

`<score>`            its value
`<score>_outcome`    `scored`, `not_applicable`, `unparsed` or `refused`
`<score>_passed`     1 or 0 as its scorer says; nothing where it says neither, as a value alone is not a verdict
`<score>_label`      the name of its verdict ("SQL incorrect"), where its scorer names verdicts
`<score>_reason`     why, in one line
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.escaping import cell_text
from steelyard.types import Score, ScoreInfo

CellKind = Literal["text", "number", "count"]


@dataclass(frozen=True, slots=True)
class ScoreField:
    """One column of a score.

    Args:
        score: the score's name.
        column: its heading.
        kind: what its cells hold; an empty cell is None.
        cell: the score of a record -> its cell.
    """

    score: str
    column: str
    kind: CellKind
    cell: Callable[[Score], Any]


def score_fields(
    scores: Iterable[str], infos: Mapping[str, ScoreInfo], rename: Callable[[str], str] = str
) -> tuple[ScoreField, ...]:
    """The columns of some scores, in order.

    Args:
        scores: names of scores.
        infos: score -> what its scorer declared; scores may be missing in it.
        rename: the heading of a score's value, from which the other headings are made: a table may have another column
            of the score's name.

    >>> infos = {"result": ScoreInfo("result", (0, 1), named_verdicts=True)}
    >>> [field.column for field in score_fields(["result"], infos)]
    ['result', 'result_outcome', 'result_passed', 'result_label', 'result_reason']
    """
    return tuple(field for name in scores for field in _fields_of(name, rename(name), infos.get(name)))


def _fields_of(name: str, column: str, info: ScoreInfo | None) -> tuple[ScoreField, ...]:
    label = ScoreField(name, f"{column}_label", "text", lambda score: verdict_label(score, info))
    return (
        ScoreField(name, column, "number", lambda score: score.value),
        ScoreField(name, f"{column}_outcome", "text", lambda score: score.outcome),
        ScoreField(
            name, f"{column}_passed", "count", lambda score: None if score.passed is None else int(score.passed)
        ),
        *((label,) if info is not None and (info.named_verdicts or info.labels) else ()),
        ScoreField(name, f"{column}_reason", "text", lambda score: score.reason),
    )


def verdict_label(score: Score, info: ScoreInfo | None) -> str | None:
    """The name of a verdict: as the score gives it, else as its scorer names 1 and 0; None where it has none.

    >>> verdict_label(Score("correct", 0.0), ScoreInfo("correct", (0, 1), labels=("right", "wrong")))
    'wrong'
    """
    if label := score.detail.get("label"):
        return cell_text(label)
    if info is None or info.labels is None or score.value not in {0.0, 1.0}:
        return None
    return info.labels[0] if score.value else info.labels[1]


def score_cells(fields: Sequence[ScoreField], scores: Iterable[Score]) -> list[Any]:
    """The cells of one record's scores, in the order of the fields; None for scores that it does not have."""
    by_name = {score.name: score for score in scores}
    return [field.cell(by_name[field.score]) if field.score in by_name else None for field in fields]
