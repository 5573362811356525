"""Figures behind the rate of an exam: averages, what guessing solves, bounds, rotations, repeats, the review queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from steelyard.report.numbers import MISSING, counted, doubt_text, mean_text, value_text
from steelyard.summary import Exam, Mean, RunSummary, ScoreSummary


class Figure(NamedTuple):
    """A cell: what every place has room for, and what stands behind it where there is more."""

    main: str
    more: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        return ", ".join(filter(None, self)) or MISSING


Row = tuple[str, tuple[Figure, ...]]
"""What a line is about, and a cell per run."""

NO_FIGURE: Final = Figure("")


def exam_score(summaries: Sequence[RunSummary]) -> str:
    """The exam score that a page is about; "" where no run has one."""
    return next((one.exam.score for one in summaries if one.exam), "")


def rate_rows(summaries: Sequence[RunSummary]) -> list[Row]:
    """A line per figure that any of the runs has; nothing where none is an exam."""
    name = exam_score(summaries)
    if not name:
        return []
    found = [
        (_titled(title, summaries), tuple(figure(one, one.exam) if one.exam else NO_FIGURE for one in summaries))
        for title, figure in _LINES
    ]
    return [row for row in found if any(one.main for one in row[1])]


def _titled(title: str, summaries: Sequence[RunSummary]) -> str:
    exams = [one.exam for one in summaries if one.exam]
    orders = max((one.rotations.orders for one in exams if one.rotations), default=0)
    repeats = max((one.repeats.repeats for one in exams if one.repeats), default=0)
    return title.format(orders=orders, repeats=repeats)


def _score(summary: RunSummary, exam: Exam) -> ScoreSummary | None:
    return summary.score(exam.score)


def _micro(summary: RunSummary, exam: Exam) -> Figure:
    score = _score(summary, exam)
    return _shown(score.headline) if score else NO_FIGURE


def _macro(summary: RunSummary, exam: Exam) -> Figure:
    score = _score(summary, exam)
    return _shown(score.macro) if score and score.macro else NO_FIGURE


def _answered(summary: RunSummary, exam: Exam) -> Figure:
    score = _score(summary, exam)
    if score is None or score.answered.n == score.headline.n:
        return NO_FIGURE
    return _shown(score.answered, f"n {score.answered.n:,}")


def _bounds(summary: RunSummary, exam: Exam) -> Figure:
    score = _score(summary, exam)
    return Figure(doubt_text(score)) if score else NO_FIGURE


def _chance(_: RunSummary, exam: Exam) -> Figure:
    return Figure(value_text(exam.chance, share=True)) if exam.chance is not None else NO_FIGURE


def _corrected(_: RunSummary, exam: Exam) -> Figure:
    return _shown(exam.corrected) if exam.corrected else NO_FIGURE


def _questions(summary: RunSummary, exam: Exam) -> Figure:
    score = _score(summary, exam)
    return Figure(f"{exam.questions:,}") if score and score.headline.n != exam.questions else NO_FIGURE


def _all_right(_: RunSummary, exam: Exam) -> Figure:
    return _shown(exam.rotations.all_right) if exam.rotations else NO_FIGURE


def _rotated_majority(_: RunSummary, exam: Exam) -> Figure:
    return _voted(exam.rotations.majority, exam.rotations.tied) if exam.rotations else NO_FIGURE


def _incomplete(_: RunSummary, exam: Exam) -> Figure:
    return Figure(f"{exam.rotations.incomplete:,}") if exam.rotations and exam.rotations.incomplete else NO_FIGURE


def _flipped(_: RunSummary, exam: Exam) -> Figure:
    return _shown(exam.repeats.flipped) if exam.repeats else NO_FIGURE


def _off(_: RunSummary, exam: Exam) -> Figure:
    return (
        Figure(value_text(exam.repeats.off, share=True)) if exam.repeats and exam.repeats.off is not None else NO_FIGURE
    )


def _repeated_majority(_: RunSummary, exam: Exam) -> Figure:
    return _voted(exam.repeats.majority, exam.repeats.tied) if exam.repeats else NO_FIGURE


def _queue(_: RunSummary, exam: Exam) -> Figure:
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in exam.queue.items())
    return Figure(counted(sum(exam.queue.values()), "reply"), kinds) if exam.queue else NO_FIGURE


def _voted(mean: Mean, tied: int) -> Figure:
    return _shown(mean, f"{tied:,} tied" if tied else "")


def _shown(mean: Mean, more: str = "") -> Figure:
    return Figure(mean_text(mean, share=True), more)


_LINES: Final[tuple[tuple[str, Callable[[RunSummary, Exam], Figure]], ...]] = (
    ("micro average, over questions", _micro),
    ("macro average, over groups", _macro),
    ("over answered alone", _answered),
    ("bounds by unread", _bounds),
    ("solved by guessing", _chance),
    ("beyond guessing", _corrected),
    ("independent questions", _questions),
    ("all {orders} orders right", _all_right),
    ("most frequent of {orders} orders", _rotated_majority),
    ("questions with a failed order", _incomplete),
    ("answer differs in {repeats} repeats", _flipped),
    ("repeats off the most frequent", _off),
    ("most frequent of {repeats} repeats", _repeated_majority),
    ("review queue", _queue),
)
"""What a line is about, and its cell for a run."""
