"""The section of an exam: its rate in detail (averages, chance, bounds, rotations, repeats), letters, other rules.

exam_section         all of it
position_sentence    whether recall depends on the letter of the key
macro_sentences      both averages of a score with groups that is not an exam
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    figure_text,
    interval_text,
    kind_text,
    mean_text,
    p_equals,
    score_phrase,
    score_title,
    value_text,
)
from steelyard.analysis.scores.score_summary_values import GroupLevel, ScoreSummary
from steelyard.analysis.summary.exam_values import Exam, ExamPoints, LetterBias, Repeats, Rotations
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import figure_cell, value_cell
from steelyard.report.section import (
    Level,
    Section,
    SectionTable,
    TableCell,
    columns_of,
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
        parts=[rates, _letters(runs), _other_rules(runs)],
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
    of_runs = [
        dict(_figures(summary, summary.exam, alone=len(summaries) == 1)) if summary.exam else {}
        for summary in summaries
    ]
    for title in next(filter(None, of_runs)):
        cells = [figures.get(title) for figures in of_runs]
        if any(cells):
            name = TableCell(title.format(orders=orders, repeats=repeats))
            yield (name, *(cell or TableCell(MISSING) for cell in cells))


_Figure = tuple[str, TableCell | None]
"""Title of a line, and its cell; None where the run has no such figure."""


def _figures(summary: RunSummary, exam: Exam, *, alone: bool) -> Iterator[_Figure]:
    """Every line of one run, with or without a figure, in their order."""
    score, built_in = summary.score(exam.score), summary.score(_BUILT_IN)
    yield "all questions", _share(score.headline if score else None)
    yield from _point_figures(exam.points)
    differ = exam.queue.get("rules_differ", 0)
    read_differently = f"{count_text(differ, 'reply')} read differently" if differ else ""
    yield "by the built-in rule alone", _share(built_in.headline if built_in else None, read_differently)
    yield from _other_means(score)
    yield "expected by guessing", None if exam.chance is None else value_cell(exam.chance, share=True)
    yield "above guessing (0 = guessing, 100 = all right)", _share(exam.corrected)
    several = score is not None and score.headline.n != exam.questions
    yield "independent questions", TableCell(f"{exam.questions:,}") if several else None
    incomplete = exam.rotations.incomplete if exam.rotations else 0
    yield "all {orders} orders right", _share(exam.rotations.all_right if exam.rotations else None)
    yield "most frequent of {orders} orders", _majority(exam.rotations)
    yield "questions with a failed order", TableCell(f"{incomplete:,}") if incomplete else None
    off = exam.repeats.off if exam.repeats else None
    yield "answer differs in {repeats} repeats", _share(exam.repeats.flipped if exam.repeats else None)
    yield "repeats off the most frequent", None if off is None else value_cell(off, share=True)
    yield "most frequent of {repeats} repeats", _majority(exam.repeats)
    # Beside other runs a terminal has space for the first kind alone, as if the others were none, or for no interval.
    kinds = tuple(f"{n:,} {kind_text(kind)}" for kind, n in exam.queue.items()) if alone or len(exam.queue) == 1 else ()
    yield "to check by hand", TableCell(count_text(n, "reply"), kinds) if (n := sum(exam.queue.values())) else None


def _point_figures(points: ExamPoints | None) -> Iterator[_Figure]:
    gained = deducted = empty = None
    if points is not None:
        share = f"{value_text(points.share.value, share=True)}, {interval_text(points.share.interval, share=True)}"
        gained = TableCell(f"{points.gained:g} of {points.possible:g}", (share,), value=points.share.value)
        if points.wrong:
            answers = count_text(points.wrong, "wrong answer")
            deducted = TableCell(f"{points.deducted:g}", (answers,), value=points.deducted)
        if points.empty:
            empty = TableCell(count_text(points.empty, "reply"), value=points.empty)
    yield "points", gained
    yield "points deducted", deducted
    yield "empty: no points, none deducted", empty


def _other_means(score: ScoreSummary | None) -> Iterator[_Figure]:
    macro = answered = highest = None
    if score is not None:
        macro = _share(score.macro)
        if score.answered.n != score.headline.n:
            answered = _share(score.answered, f"n {score.answered.n:,}")
        if score.missing_bounds:
            highest = value_cell(score.missing_bounds.high, share=score.is_share)
    yield "mean of the categories", macro
    yield "accuracy (answered)", answered
    yield "if unreadable replies were all right", highest


def _share(mean: Mean | None, more: str = "") -> TableCell | None:
    return figure_cell(mean, share=True, more=more) if mean else None


def _majority(votes: Rotations | Repeats | None) -> TableCell | None:
    return _share(votes.majority, f"{votes.tied:,} tied" if votes.tied else "") if votes else None


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
        parts=[_letter_table(label, bias) for label, bias in biases],
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
    The target prefers some letters: between letters the rate solved differs by 31.0 points (Cochran's Q p < 0.001).
    """
    spread = f"between letters the rate solved differs by {figure_text(bias.spread, share=True)} points"
    if bias.p is None:
        return f"{spread[0].upper()}{spread[1:]}."
    verdict = "The target prefers some letters" if bias.p < 0.05 else "No sign that the target prefers a letter"
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
    return Section("Averages by level", parts=parts, key="levels")


def _averages(runs: PageRuns, score: str) -> Section:
    of_runs = [summary.details.levels.get(score, ()) for summary in runs.summaries]
    levels = next((found for found in of_runs if found), ())
    if not levels:
        return Section("")
    rows = [_row("micro, over questions", [found[0].score.headline if found else None for found in of_runs])]
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


def _row(name: str, means: Sequence[Mean | None]) -> tuple[TableCell, ...]:
    known = (mean if mean is not None and mean.value is not None else None for mean in means)
    return (TableCell(name), *(figure_cell(mean, share=True) for mean in known))
