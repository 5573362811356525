"""The section of an exam: its rate in detail (averages, chance, bounds, rotations, repeats), letters, other rules.

exam_section         all of it
position_sentence    whether recall depends on the letter of the key
macro_sentences      both averages of a score with groups that is not an exam
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    figure_text,
    interval_text,
    mean_text,
    p_equals,
    score_phrase,
    score_title,
    value_text,
)
from steelyard.analysis.scores.score_summary_values import GroupLevel, ScoreSummary
from steelyard.analysis.summary.exam_values import Exam, LetterBias
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import figure_cell, value_cell
from steelyard.report.section import (
    Level,
    Section,
    SectionTable,
    TableCell,
    columns_of,
    non_empty,
    sentences,
    text_row,
)

_OTHER_RULES: Final = {
    "strict_only_letter": "only a single letter counts",
    "last_letter": "last letter of the reply",
    "first_option": "first option named",
}
_BUILT_IN: Final = "built_in_rule"
"""The score by the built-in rule alone, where a pattern of the suite's own decides."""
_MOST_ON_TERMINAL: Final = 2
"""Runs whose intervals fit 80 characters side by side; more are on the page."""
_NO_FIGURE: Final = TableCell("")


def exam_section(runs: PageRuns) -> Section:
    """The details of the rates of an exam; empty where none of the runs is one."""
    score = _exam_score(runs)
    rates = Section(
        "More about this rate",
        SectionTable(
            runs.columns(),
            tuple(_rate_rows(runs.summaries)) if score else (),
            "With 95 % CI; rotations, repeats and paraphrases of a question count as one",
        ),
        # A summary of several runs has to fit a screen.
        level="essential" if len(runs) == 1 else _detail_level(runs),
    )
    return Section(
        f"More about the {score_phrase(score)}",
        key="exam",
        parts=non_empty([rates, _letters(runs), _other_rules(runs)]),
    )


def _detail_level(runs: PageRuns) -> Level:
    return "detail" if len(runs) <= _MOST_ON_TERMINAL else "page"


def _exam_score(runs: PageRuns) -> str:
    """The exam score that a page is about; "" where no run has one."""
    return next((summary.exam.score for summary in runs.summaries if summary.exam), "")


def _rate_rows(summaries: Sequence[RunSummary]) -> Iterator[tuple[TableCell, ...]]:
    """A line per figure that any of the runs has."""
    exams = [summary.exam for summary in summaries if summary.exam]
    orders = max((exam.rotations.orders for exam in exams if exam.rotations), default=0)
    repeats = max((exam.repeats.repeats for exam in exams if exam.repeats), default=0)
    for title, figure in _FIGURES:
        cells = [figure(summary, summary.exam) if summary.exam else _NO_FIGURE for summary in summaries]
        if any(cell.text for cell in cells):
            name = TableCell(title.format(orders=orders, repeats=repeats))
            yield (name, *(cell if cell.text else TableCell(MISSING) for cell in cells))


def _score(summary: RunSummary, exam: Exam) -> ScoreSummary | None:
    return summary.score(exam.score)


def _micro(summary: RunSummary, exam: Exam) -> TableCell:
    score = _score(summary, exam)
    return figure_cell(score.headline, share=True) if score else _NO_FIGURE


def _macro(summary: RunSummary, exam: Exam) -> TableCell:
    score = _score(summary, exam)
    return figure_cell(score.macro, share=True) if score and score.macro else _NO_FIGURE


def _points(_: RunSummary, exam: Exam) -> TableCell:
    points = exam.points
    if points is None:
        return _NO_FIGURE
    share = f"{value_text(points.share.value, share=True)}, {interval_text(points.share.interval, share=True)}"
    return TableCell(f"{points.gained:g} of {points.possible:g}", (share,), value=points.share.value)


def _deducted(_: RunSummary, exam: Exam) -> TableCell:
    points = exam.points
    if points is None or not points.wrong:
        return _NO_FIGURE
    answers = count_text(points.wrong, "wrong answer")
    return TableCell(f"{points.deducted:g}", (answers,), value=points.deducted)


def _empty(_: RunSummary, exam: Exam) -> TableCell:
    empty = exam.points.empty if exam.points else 0
    return TableCell(count_text(empty, "reply"), value=empty) if empty else _NO_FIGURE


def _built_in(summary: RunSummary, exam: Exam) -> TableCell:
    score = summary.score(_BUILT_IN)
    if score is None:
        return _NO_FIGURE
    n = exam.queue.get("rules_differ", 0)
    return figure_cell(score.headline, share=True, more=f"{count_text(n, 'reply')} read differently" if n else "")


def _answered(summary: RunSummary, exam: Exam) -> TableCell:
    score = _score(summary, exam)
    if score is None or score.answered.n == score.headline.n:
        return _NO_FIGURE
    return figure_cell(score.answered, share=True, more=f"n {score.answered.n:,}")


def _bounds(summary: RunSummary, exam: Exam) -> TableCell:
    score = _score(summary, exam)
    if score is None or score.missing_bounds is None:
        return _NO_FIGURE
    return value_cell(score.missing_bounds.high, share=score.is_share)


def _chance(_: RunSummary, exam: Exam) -> TableCell:
    return _NO_FIGURE if exam.chance is None else value_cell(exam.chance, share=True)


def _corrected(_: RunSummary, exam: Exam) -> TableCell:
    return figure_cell(exam.corrected, share=True) if exam.corrected else _NO_FIGURE


def _questions(summary: RunSummary, exam: Exam) -> TableCell:
    score = _score(summary, exam)
    return TableCell(f"{exam.questions:,}") if score and score.headline.n != exam.questions else _NO_FIGURE


def _all_right(_: RunSummary, exam: Exam) -> TableCell:
    return figure_cell(exam.rotations.all_right, share=True) if exam.rotations else _NO_FIGURE


def _rotated_majority(_: RunSummary, exam: Exam) -> TableCell:
    return _voted(exam.rotations.majority, exam.rotations.tied) if exam.rotations else _NO_FIGURE


def _incomplete(_: RunSummary, exam: Exam) -> TableCell:
    rotations = exam.rotations
    return TableCell(f"{rotations.incomplete:,}") if rotations and rotations.incomplete else _NO_FIGURE


def _flipped(_: RunSummary, exam: Exam) -> TableCell:
    return figure_cell(exam.repeats.flipped, share=True) if exam.repeats else _NO_FIGURE


def _off(_: RunSummary, exam: Exam) -> TableCell:
    off = exam.repeats.off if exam.repeats else None
    return _NO_FIGURE if off is None else value_cell(off, share=True)


def _repeated_majority(_: RunSummary, exam: Exam) -> TableCell:
    return _voted(exam.repeats.majority, exam.repeats.tied) if exam.repeats else _NO_FIGURE


def _queue(_: RunSummary, exam: Exam) -> TableCell:
    kinds = (f"{n:,} {kind.replace('_', ' ')}" for kind, n in exam.queue.items())
    return TableCell(count_text(sum(exam.queue.values()), "reply"), tuple(kinds)) if exam.queue else _NO_FIGURE


def _voted(mean: Mean, tied: int) -> TableCell:
    return figure_cell(mean, share=True, more=f"{tied:,} tied" if tied else "")


_FIGURES: Final[tuple[tuple[str, Callable[[RunSummary, Exam], TableCell]], ...]] = (
    ("all questions", _micro),
    ("points", _points),
    ("points deducted", _deducted),
    ("empty: no points, none deducted", _empty),
    ("by the built-in rule alone", _built_in),
    ("mean of the categories", _macro),
    ("accuracy (answered)", _answered),
    ("if unreadable replies were all right", _bounds),
    ("expected by guessing", _chance),
    ("above guessing (0 = guessing, 100 = all right)", _corrected),
    ("independent questions", _questions),
    ("all {orders} orders right", _all_right),
    ("most frequent of {orders} orders", _rotated_majority),
    ("questions with a failed order", _incomplete),
    ("answer differs in {repeats} repeats", _flipped),
    ("repeats off the most frequent", _off),
    ("most frequent of {repeats} repeats", _repeated_majority),
    ("to check by hand", _queue),
)
"""Title of a line, and its cell for a run; a cell without text means that the run has no such figure."""


def _letters(runs: PageRuns) -> Section:
    """Recall by the letter of the key: a table per run that has two letters as key or more."""
    biases = [(label, summary.exam.letters) for label, summary in runs if summary.exam and summary.exam.letters]
    cautions = dict.fromkeys(bias.caution for _, bias in biases if bias.caution)
    return Section(
        "Position bias",
        notes=(
            *sentences([f"{label}: {position_sentence(bias)}" for label, bias in biases], "item"),
            *sentences(cautions, "warning"),
        ),
        parts=tuple(_letter_table(label, bias) for label, bias in biases),
        level=_detail_level(runs),
    )


def _letter_table(label: str, bias: LetterBias) -> Section:
    columns = columns_of(f"{label}: correct letter", "questions", "chosen by the model", "solved")
    rows = tuple(
        (*text_row(letter.letter, f"{letter.key:,}", f"{letter.chosen:,}"), figure_cell(letter.recall, share=True))
        for letter in bias.letters
    )
    return Section("", SectionTable(columns, rows, f"{label}: solved by the correct letter, with 95 % CI"))


def position_sentence(bias: LetterBias) -> str:
    """Whether a model prefers a letter, and by how much recall differs between letters.

    >>> print(position_sentence(LetterBias((), 0.31, 0.12, "Cochran's Q", 19.2, 3, 0.00025, 60, 60, "")))
    The model prefers some letters: between letters the rate solved differs by 31.0 points (Cochran's Q p < 0.001).
    """
    spread = f"between letters the rate solved differs by {figure_text(bias.spread, share=True)} points"
    if bias.p is None:
        return f"{spread[0].upper()}{spread[1:]}."
    verdict = "The model prefers some letters" if bias.p < 0.05 else "No sign that the model prefers a letter"
    return f"{verdict}: {spread} ({bias.test} {p_equals(bias.p)})."


def _other_rules(runs: PageRuns) -> Section:
    """The same replies scored by the suite's own rule and by those of other tools; empty where the suite names none."""
    summaries = runs.summaries
    other_rules = dict.fromkeys(
        name for summary in summaries for name in summary.details.also_scored if name != _BUILT_IN
    )
    scored = [name for name in other_rules if runs.scores(name)]
    own = _exam_score(runs) or next((summary.primary for summary in summaries if summary.primary), "")
    rows = [
        (
            TableCell(_OTHER_RULES.get(name, score_title(name)) if name in other_rules else "Steelyard"),
            *(_rule_cell(summary.score(name)) for summary in summaries),
        )
        for name in ([own, *scored] if scored else ())
    ]
    return Section(
        "As other tools would read it",
        SectionTable(runs.columns(), tuple(rows), "The same replies by other tools' rules"),
        level=_detail_level(runs),
    )


def _rule_cell(score: ScoreSummary | None) -> TableCell:
    if score is None:
        return TableCell(MISSING)
    without = score.unparsed + score.refused
    more = f"{without:,} unreadable or refused" if without else ""
    return figure_cell(score.headline, share=score.is_share, more=more)


def macro_sentences(runs: PageRuns, name: str) -> list[str]:
    """Both averages of a score with groups, a sentence per run; exams have them in their own table."""
    texts = []
    for label, summary in runs:
        score = summary.score(name)
        if score and score.macro and not any(exam.score == name for exam in summary.details.exams):
            share = score.is_share
            over = f"mean of the {score.macro.n:,} groups {mean_text(score.macro, share=share)}"
            micro = f"over all {count_text(score.headline.n, 'record')}"
            texts.append(f"{label}: {over}; {micro} {mean_text(score.headline, share=share)}.")
    return texts


def levels_section(runs: PageRuns, score: str) -> Section:
    """Averages by level of the page's score, and of points; empty where groups have one level."""
    points = [summary.exam.points.score for summary in runs.summaries if summary.exam and summary.exam.points]
    parts = [_averages(runs, name) for name in dict.fromkeys([score, *points])]
    return Section("Averages by level", parts=non_empty(parts), key="levels")


def _averages(runs: PageRuns, score: str) -> Section:
    of_runs = [summary.details.levels.get(score, ()) for summary in runs.summaries]
    levels = next((found for found in of_runs if found), ())
    if not levels:
        return Section("")
    rows = [_row("micro, over questions", [_level_micro(found) for found in of_runs])]
    for depth, level in enumerate(levels):
        means = [found[depth].score.macro if found else None for found in of_runs]
        counts = max((mean.n for mean in means if mean), default=0)
        rows.append(_row(f"macro, over {level.level} ({counts:,})", means))
    for depth in range(len(levels) - 1):
        for name in dict.fromkeys(part.group for found in of_runs for part in _groups(found, depth)):
            parts = [next((part for part in _groups(found, depth) if part.group == name), None) for found in of_runs]
            rows.append(_row(f"{name}: micro", [part.headline if part else None for part in parts]))
            macros = [part.macro if part else None for part in parts]
            if any(macros):
                rows.append(_row(f"{name}: macro over {levels[-1].level}", macros))
    caption = "With 95 % CI; macro averages give each group the same weight, micro averages each question"
    # A summary of several runs has to fit a screen.
    shown: Level = "essential" if len(runs) == 1 else "detail"
    return Section(f"{score_title(score)} by level", SectionTable(runs.columns(), tuple(rows), caption), level=shown)


def _groups(levels: Sequence[GroupLevel], depth: int) -> Sequence[ScoreSummary]:
    return levels[depth].groups if levels else ()


def _level_micro(levels: Sequence[GroupLevel]) -> Mean | None:
    return levels[0].score.headline if levels else None


def _row(name: str, means: Sequence[Mean | None]) -> tuple[TableCell, ...]:
    known = (mean if mean is not None and mean.value is not None else None for mean in means)
    return (TableCell(name), *(figure_cell(mean, share=True) for mean in known))
