"""What stands behind the rate of an exam, as rows of text: page, Markdown and terminal show the same.

exam_figures    averages, what guessing solves, bounds, rotations, repeats, the review queue: a column per run
letter_views    recall by letter of the key, a table per run
beside_rows     the same replies as other tools would read them
verdict_lines   whose verdicts on replies are counted, and where nobody looked
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from steelyard.report.exam_figures import NO_FIGURE, Figure, Row, exam_score, rate_rows
from steelyard.report.numbers import counted, is_share, mean_text, p_text, score_title, signed_text, value_text
from steelyard.summary import Labelled, LetterBias, RunSummary, ScoreSummary

_RULES: Final = {
    "strict_only_letter": "only a lone letter counts",
    "last_letter": "last letter of the reply",
    "first_option": "first option named",
}


class LetterView(NamedTuple):
    """Recall by letter in one run.

    Args:
        run: its label.
        rows: letter, times it was the key, times it was chosen, recall with its interval.
        sentence: how far the letters differ, and whether that may be chance.
        caution: why it may say something else; "" where nothing speaks against it.
    """

    run: str
    rows: tuple[tuple[str, str, str, str], ...]
    sentence: str
    caution: str


class ExamView(NamedTuple):
    """Everything that a page shows of an exam; each part may be empty.

    Args:
        title: of the score.
        rates: a line per figure.
        letters: a table per run.
        beside: a line per rule.
        averages: both averages of a score that is no exam, a sentence per run.
        verdicts: whose verdicts are counted.
        warnings: where nobody looked.
    """

    title: str
    rates: list[Row]
    letters: list[LetterView]
    beside: list[Row]
    averages: list[str]
    verdicts: list[str]
    warnings: list[str]

    @property
    def shown(self) -> bool:
        """Whether the page needs a section for it."""
        return bool(self.rates or self.letters or self.beside or self.verdicts)


def exam_view(summaries: Sequence[RunSummary], labels: Sequence[str], score: str) -> ExamView:
    """What a page shows of the runs' exam, and both averages of `score`."""
    return ExamView(
        score_title(exam_score(summaries)),
        rate_rows(summaries),
        letter_views(summaries, labels),
        beside_rows(summaries),
        macro_lines(summaries, labels, score),
        verdict_told(summaries, labels),
        verdict_warnings(summaries, labels),
    )


def letter_views(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[LetterView]:
    """A table per run that has two letters as key or more."""
    both = zip(labels, summaries, strict=True)
    return [_letter_view(label, one.exam.letters) for label, one in both if one.exam and one.exam.letters]


def _letter_view(label: str, bias: LetterBias) -> LetterView:
    rows = tuple(
        (one.letter, f"{one.key:,}", f"{one.chosen:,}", mean_text(one.recall, share=True)) for one in bias.letters
    )
    return LetterView(label, rows, letter_sentence(bias), bias.caution)


def letter_sentence(bias: LetterBias) -> str:
    """How far recall differs between letters, and whether chance alone does that.

    >>> print(letter_sentence(LetterBias((), 0.31, 0.12, "Cochran's Q", 19.2, 3, 0.00025, 60, 60, "")))
    Recall differs by 31.0 points between letters, standard deviation 12.0 (Cochran's Q p = 0.00025): evidence that \
the letter matters.
    """
    spread = f"Recall differs by {100 * bias.spread:.1f} points between letters"
    figures = f"{spread}, standard deviation {100 * bias.deviation:.1f}"
    if bias.p is None:
        return f"{figures}."
    found = "evidence that the letter matters" if bias.p < 0.05 else "no evidence that the letter matters"
    p = p_text(bias.p)
    return f"{figures} ({bias.test} p {p if p.startswith('<') else f'= {p}'}): {found}."


def beside_rows(summaries: Sequence[RunSummary]) -> list[Row]:
    """Our reading first, then those of other tools over the same replies; nothing where none was asked for."""
    names = dict.fromkeys(name for one in summaries for name in one.beside)
    found = [name for name in names if any(one.score(name) for one in summaries)]
    own = exam_score(summaries) or next((one.primary for one in summaries if one.primary), "")
    return [
        (_RULES.get(name, score_title(name)) if name in names else "Steelyard", _cells(summaries, name))
        for name in ([own, *found] if found else ())
    ]


def _cells(summaries: Sequence[RunSummary], name: str) -> tuple[Figure, ...]:
    found = [one.score(name) for one in summaries]
    return tuple(_beside_cell(one) if one else NO_FIGURE for one in found)


def _beside_cell(score: ScoreSummary) -> Figure:
    unread = f"{score.unparsed + score.refused:,} unread" if score.unparsed + score.refused else ""
    return Figure(mean_text(score.headline, share=is_share(score)), unread)


def macro_lines(summaries: Sequence[RunSummary], labels: Sequence[str], name: str) -> list[str]:
    """Both averages of a score with groups, a sentence per run; exams have them in their own table."""
    found = []
    for label, one in zip(labels, summaries, strict=True):
        score = one.score(name)
        if score and score.macro and not any(exam.score == name for exam in one.exams):
            share = is_share(score)
            over = f"macro average over {score.macro.n:,} groups {mean_text(score.macro, share=share)}"
            micro = f"micro average over {counted(score.headline.n, 'record')}"
            found.append(f"{label}: {over}; {micro} {mean_text(score.headline, share=share)}.")
    return found


def verdict_lines(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[str]:
    """Per run how many replies people decided and how far that moved the rate; and a warning where nobody looked."""
    return [*verdict_told(summaries, labels), *verdict_warnings(summaries, labels)]


def verdict_told(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[str]:
    """Per run how many replies people decided, who, and how far that moved the rate."""
    found = zip(labels, summaries, strict=True)
    return [_told(label, one.labelled) for label, one in found if one.labelled]


def _told(label: str, found: Labelled) -> str:
    who = ", ".join(f"{n:,} by {author}" for author, n in found.decided.items()) or "none"
    parts = [f"{label}: replies decided by people: {who}"]
    if found.total:
        moved = f"{score_title(found.score).lower()} moves by {signed_text(found.moved, share=True)} points"
        parts.append(f"{moved}, from {value_text(found.before, share=True)} to {value_text(found.after, share=True)}")
    if found.conflicting:
        parts.append(f"people disagree on {counted(found.conflicting, 'reply')}, which count as they were read")
    return f"{'; '.join(parts)}."


def verdict_warnings(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[str]:
    """Where people decided replies of one run, and nobody looked at the queue of another, the comparison is skewed."""
    found = [(label, one.labelled) for label, one in zip(labels, summaries, strict=True) if one.labelled]
    if not any(one.total or one.conflicting for _, one in found):
        return []
    return [
        f"Nobody has looked at {counted(one.unseen, 'reply')} in the review queue of {label}, while verdicts on other "
        "replies are counted."
        for label, one in found
        if one.unseen
    ]
