"""The columns of a table of samples: which there are, and which of them are shown.

An address names the columns that a reader chose (`columns=input&columns=score.f1`); without any, a column that is empty
or zero for every record is not shown, and can be chosen in the picker.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.analysis.numbers import score_title
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.run_summary_values import RunSummary

SCORE: Final = "score."
"""Prefix of scores in keys, as a score may have the name of another column, such as `input`."""
_MOST_AT_FIRST: Final = 5
"""Further scores that are shown at first, as a mark each: more would leave the texts too little of 1280 pixels."""


@dataclass(frozen=True, slots=True)
class SampleColumn:
    """A column of the table of samples, in addition to the sample's id, which every table has.

    Args:
        key: of the column in an address.
        title: its heading.
        shown: whether the table has it.
        empty: why it is useless for this run, in words for the picker; "" where it is not.
    """

    key: str
    title: str
    shown: bool
    empty: str = ""

    @property
    def score(self) -> str:
        """The score whose values it has; "" for a column of something else."""
        return self.key.removeprefix(SCORE) if self.key.startswith(SCORE) else ""

    @property
    def sort(self) -> str:
        """What the table is sorted by where its heading is pressed; "" where it cannot be."""
        return self.score or (self.key if self.key in {"group", "seconds"} else "")

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts, which are cut to the width that is left."""
        return self.key in {"input", "reference", "output"}


def sample_columns(
    summary: RunSummary, scores: Collection[str], chosen: Sequence[str], *, has_references: bool
) -> tuple[SampleColumn, ...]:
    """All columns that the table of a run can have, in order.

    Args:
        summary: of the run.
        scores: of the run, in the order that its scorers declared.
        chosen: keys of the columns that a reader chose; what the run does not have is passed over, and none at all
            means those that are shown at first.
        has_references: whether any sample has an expected answer.
    """
    has_groups = any(score.group for groups in summary.groups.values() for score in groups)
    other_scores = [name for name in scores if name != summary.primary]
    empty = {name: _why_empty(summary.score(name)) for name in other_scores}
    at_first = [name for name in other_scores if not empty[name]][:_MOST_AT_FIRST]
    columns = (
        SampleColumn(f"{SCORE}{summary.primary}", score_title(summary.primary), shown=True),
        *(SampleColumn(f"{SCORE}{name}", score_title(name), name in at_first, empty[name]) for name in other_scores),
        SampleColumn("group", "Group", shown=False, empty="" if has_groups else "empty"),
        SampleColumn("seconds", "Seconds", shown=False),
        SampleColumn("input", "Input", shown=True),
        SampleColumn("reference", "Expected", shown=has_references, empty="" if has_references else "empty"),
        SampleColumn("output", "Output", shown=True),
    )
    return as_chosen(columns, chosen)


def as_chosen(columns: tuple[SampleColumn, ...], chosen: Collection[str]) -> tuple[SampleColumn, ...]:
    """The columns, of which those that a reader chose are shown; unchanged where no chosen key is known."""
    if not {column.key for column in columns} & {*chosen}:
        return columns
    return tuple(SampleColumn(each.key, each.title, each.key in chosen, each.empty) for each in columns)


def _why_empty(score: ScoreSummary | None) -> str:
    if score is None or not score.scored + score.unparsed + score.refused:
        return "no value"
    # A mean of 0 says that all are 0 only where none can be below it.
    never_below = score.binary or (score.scale is not None and score.scale[0] >= 0)
    is_zero = score.scored == score.n and score.answered.value == 0
    return "all 0" if never_below and is_zero else ""
