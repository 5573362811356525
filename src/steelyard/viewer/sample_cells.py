"""Columns and cells of tables of samples: which columns there are and are shown, and verdicts of scores in words.

An address names the columns that a reader chose (`columns=input&columns=score.f1`); without any, a column that is empty
or zero for every record is not shown, and can be chosen in the picker. A cell has a state for its colour, a value and a
reason; equal ones of repeats stand together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.numbers import kind_text, record_value_text, score_title, verdict_words
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.judge_reasons import named_verdict, preference_reason
from steelyard.report.run_texts import one_line, outcome_word
from steelyard.report.sample_evidence import verdict_name
from steelyard.store import Run
from steelyard.types import Record, Score, ScoreInfo

SCORE: Final = "score."
"""Prefix of scores in keys, as a score may have the name of another column, such as `input`."""
_MOST_AT_FIRST: Final = 5
"""Further scores that are shown at first, as a mark each: more would leave the texts too little of 1280 pixels."""
_REASON: Final = 120
"""Characters of a reason; the sample's own page shows it whole."""

Cell = tuple[str, str, str]
"""State for the colour ("" of what is no score), text, and the reason ("" where there is none)."""


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
        return self.key in {"input", "reference", "output", "labels"}


def sample_columns(
    summary: RunSummary,
    scores: Collection[str],
    chosen: Sequence[str],
    *,
    has_references: bool,
    labelled: bool | None = None,
) -> tuple[SampleColumn, ...]:
    """All columns that the table of a run can have, in order.

    Args:
        summary: of the run.
        scores: of the run, in the order that its scorers declared.
        chosen: keys of the columns that a reader chose; what the run does not have is passed over, and none at all
            means those that are shown at first.
        has_references: whether any sample has an expected answer.
        labelled: whether the list is about labels of people; None where no record has one.
    """
    has_groups = any(score.group for groups in summary.groups.values() for score in groups)
    other_scores = [name for name in scores if name != summary.primary]
    empty = {name: _why_empty(summary.score(name)) for name in other_scores}
    at_first = [name for name in other_scores if not empty[name]][:_MOST_AT_FIRST]
    columns = (
        *([SampleColumn(f"{SCORE}{summary.primary}", score_title(summary.primary), shown=True)] if scores else []),
        *(SampleColumn(f"{SCORE}{name}", score_title(name), name in at_first, empty[name]) for name in other_scores),
        SampleColumn("group", "Group", shown=False, empty="" if has_groups else "empty"),
        SampleColumn("seconds", "Seconds", shown=False),
        *([] if labelled is None else [SampleColumn("labels", "People", shown=labelled)]),
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


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """How the scores of one run are put into words.

    Args:
        sides: both targets of a run that judges pairs; empty for other runs.
        infos: what scorers declare of their scores.
        verdicts: scores whose only values are 0 and 1, shown by the words of their verdicts: a value of 1 of a rating
            from 1 to 5, or of a count, is shown as 1.
    """

    sides: tuple[str, ...]
    infos: Mapping[str, ScoreInfo]
    verdicts: frozenset[str]

    @classmethod
    def of(cls, run: Run, summary: RunSummary) -> VerdictWords:
        """The words of a run's verdicts."""
        infos = run.score_infos
        ranges = {name: infos[name].range if name in infos else None for name in run.score_order}
        verdicts = frozenset(
            name
            for name, limits in ranges.items()
            if limits in {None, (0.0, 1.0)} and (score := summary.score(name)) is not None and score.binary
        )
        return cls(_sides(run), infos, verdicts)

    @classmethod
    def plain(cls, run: Run) -> VerdictWords:
        """Those of a run without its summary: only what is declared as 0 or 1 is shown by the words of a verdict."""
        infos = run.score_infos
        declared = (name for name, info in infos.items() if info.threshold == 1 and info.range == (0.0, 1.0))
        return cls(_sides(run), infos, frozenset(declared))

    def cell(self, record: Record, name: str) -> Cell:
        """State, value and reason of a score of a record."""
        score = next((score for score in record.scores if score.name == name), None)
        if score is None:
            failure = record.failure
            return ("error", "error", one_line(failure.message, _REASON)) if failure else ("missing", "no score", "")
        reason = preference_reason(score, self.sides) if self.sides else score.reason
        return score_state(score), self._value(score), one_line(reason, _REASON)

    def _value(self, score: Score) -> str:
        """The name of the verdict where there is one, else the value."""
        if score.outcome == "unparsed":
            return outcome_word(score.outcome)
        if score.value is None or verdict_name(score):
            verdict = verdict_name(score) or kind_text(score.outcome)
            return named_verdict(verdict, self.sides) if self.sides else verdict
        if score.passed is not None and score.name in self.verdicts and score.value in {0, 1}:
            return verdict_words(self.infos.get(score.name))[0 if score.passed else 1]
        info = self.infos.get(score.name)
        if info is not None and score.name not in self.verdicts:
            info = replace(info, threshold=None)  # beside shares, a 1 is one too
        return record_value_text(score.value, info)


def _sides(run: Run) -> tuple[str, ...]:
    return tuple(sides_of(run.manifest)) if is_judging(run.manifest) else ()


def score_state(score: Score) -> str:
    """Right or wrong where the scorer said so, else the outcome."""
    if score.outcome != "scored" or score.passed is None:
        return score.outcome
    return "right" if score.passed else "wrong"


def counted_cells(cells: Iterable[Cell]) -> tuple[tuple[Cell, int], ...]:
    """Each different state and text with the reason of the first repeat that has it, and how many have it.

    They stay in the order of the records, in every column of a row, so that outputs are next to their own verdicts.
    """
    listed = tuple(cells)
    first_reasons: dict[tuple[str, str], str] = {}
    for state, text, reason in listed:
        first_reasons.setdefault((state, text), reason)
    times = Counter((state, text) for state, text, _ in listed)
    return tuple(((state, text, first_reasons[state, text]), n) for (state, text), n in times.items())
