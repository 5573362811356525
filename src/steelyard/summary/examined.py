"""All that is said of an exam score beside its mean."""

from __future__ import annotations

from steelyard.summary.exam import Exam, beyond_chance
from steelyard.summary.exam_letters import letter_bias
from steelyard.summary.exam_repeats import repeats_of, rotations_of
from steelyard.summary.exam_rows import ExamRows
from steelyard.summary.score_columns import ScoreColumns
from steelyard.summary.values import ScoreSummary


def examined(rows: ScoreColumns, score: ScoreSummary) -> Exam:
    """The exam of a score, over what its headline counts.

    Args:
        rows: of the run, with what was kept of letters.
        score: its mean over the whole run.
    """
    found = ExamRows.of(rows, score.name)
    columns, failed, chance = found.columns(answered_only=score.over == "scored")
    return Exam(
        score=score.name,
        questions=int(columns.unit.max(initial=-1)) + 1,
        chance=chance,
        corrected=None if chance is None else beyond_chance(score.headline, chance),
        letters=letter_bias(columns),
        rotations=rotations_of(columns, failed),
        repeats=repeats_of(columns),
        queue=found.queue,
    )
