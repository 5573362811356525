"""What several pages say of runs and scores, in the same words: labels, sentences, counts, figures with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    interval_text,
    kind_text,
    score_phrase,
    score_title,
    value_text,
)
from steelyard.analysis.scores.score_summary_values import Consistency, ScoreSummary
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import shortened
from steelyard.report.section import TableCell
from steelyard.stats.corrected import CorrectedMean
from steelyard.stats.intervals import Interval
from steelyard.store import Run

_STATES: Final = {"broken": "failed", "interrupted": "was interrupted"}
_MOST_DAMAGED: Final = 3
"""Damaged records that a sentence lists."""


def outcome_word(outcome: str) -> str:
    """An outcome as a page calls it.

    >>> outcome_word("unparsed"), outcome_word("not_applicable")
    ('unreadable', 'not applicable')
    """
    return "unreadable" if outcome == "unparsed" else kind_text(outcome)


def stratum_text(stratum: str) -> str:
    """What a record was drawn from, in words: refused replies are among the unparsed ones.

    >>> stratum_text("unparsed"), stratum_text("wrong in a run")
    ('replies without a verdict', 'wrong in a run')
    """
    return "replies without a verdict" if stratum == "unparsed" else stratum


def consistency_text(name: str, consistency: Consistency) -> str:
    """How far a judge agreed with itself over its repeats, as a phrase.

    >>> consistency_text("correctness", Consistency(80, 0.25, 0.041))
    'correctness: repeats of the judge have sd 0.25, flip rate 4.1 % (n 80)'
    """
    rate = value_text(consistency.flip_rate, share=True)
    return f"{name}: repeats of the judge have sd {consistency.sd:.2f}, flip rate {rate} (n {consistency.n:,})"


def bounds_text(score: ScoreSummary) -> str:
    """The lowest and highest mean that the missing verdicts allow; "" where none is missing."""
    return interval_text(score.missing_bounds, share=score.is_share)


def applies(score: ScoreSummary) -> bool:
    """Whether a score applies to any record, so that there is something to show."""
    return score.n > 0 or not score.not_applicable


def passed_count(score: ScoreSummary) -> int | None:
    """For a 0/1 score, the number of records with value 1 among those of its mean; None for any other score."""
    mean = score.headline
    return round(mean.value * mean.n) if score.binary and score.is_share and mean.value is not None else None


def count_cell(score: ScoreSummary, *, rate: bool = True) -> TableCell:
    """The number of records of a mean, and for a 0/1 score how many of them have the value 1: `116 of 170`.

    Args:
        score: of a run or a group.
        rate: whether the score is 0 or 1 in all cells that stand next to each other: a share that happens to be 1
            in every record of one run or group is not a count.
    """
    n, passed = score.headline.n, passed_count(score) if rate else None
    return TableCell(f"{n:,}") if passed is None else TableCell(f"{passed:,} of {n:,}")


def is_rate(scores: Iterable[ScoreSummary | None]) -> bool:
    """Whether a score has only the values 0 and 1 in all of some runs or groups that have values."""
    valued = [score for score in scores if score is not None and score.headline.value is not None]
    return bool(valued) and all(passed_count(score) is not None for score in valued)


def left_out_text(score: ScoreSummary) -> str:
    """The counts behind a mean, and its bounds: `n 38, 1 unreadable, 1 refused, bounds 3.20 to 3.60`."""
    # A narrow cell shows the first of them: what might have been a value comes before what has none.
    parts = [f"{n:,} {what}" for n, what in ((score.unparsed, "unreadable"), (score.refused, "refused")) if n]
    parts += [count_text(score.errors, "error")] if score.errors else []
    parts += [f"{score.not_applicable:,} not applicable"] if score.not_applicable else []
    parts += [f"bounds {bounds_text(score)}{' %' if score.is_share else ''}"] if score.missing_bounds else []
    return ", ".join([f"n {score.headline.n:,}", *parts])


SAME_QUESTION: Final = frozenset({"result", "ex_bird", "ex_qatch", "ex_spider", "ex_spider_keep_distinct"})
"""Scores that check the result by different rules: where they agree, they are shown once."""


def one_line(text: str, most: int) -> str:
    """A text on one line, cut at its end to `most` characters."""
    # Only the start is split into words: all of a 1 MB output takes 20 ms, and a page shows 50 outputs.
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most:  # a short text, or one that begins with blanks
        line = " ".join(text.split())
    return shortened(line, most)


def below_figure(summary: RunSummary) -> str:
    """Text below a figure and its interval: which score they are of, or why there is no figure."""
    score = summary.score()
    if score is None:
        return f"{summary.target}: nothing was scored."
    if score.missing_verdicts and not score.scored:
        missing = count_text(score.missing_verdicts, "reply")
        phrase = score_phrase(score.name)
        return f"None of {missing} of {summary.target} has a verdict, so {phrase} is not known."
    if score.headline.value is None:
        return f"{summary.target}: no record has a {score_phrase(score.name)}."
    passed = passed_count(score)
    over = f" over {count_text(score.headline.n, 'reply')}" if passed is None else ""
    of = f": {passed:,} of {count_text(score.headline.n, 'reply')}" if passed is not None else ""
    corrected = people_say(summary)
    people = f"; people say {value_text(corrected.value, share=score.is_share)}" if corrected else ""
    limits = interval_text(corrected.interval, share=score.is_share) if corrected else ""
    return f"{score_title(score.name)}{of}{over}{_doubt(score)}{people}{f' ({limits})' if limits else ''}."


def people_say(summary: RunSummary) -> CorrectedMean | None:
    """What people would say of the main score, estimated from their labels; None where nothing is corrected."""
    held = (judge.corrected for judge in summary.raters.held_to_people if judge.score == summary.primary)
    corrected = next(held, None)
    return corrected if corrected is not None and corrected.value is not None and corrected.raw is not None else None


def unreadable_text(score: ScoreSummary) -> str:
    """What replies without a value do to a mean with bounds: as what they count, and how far they could move it."""
    low, high = (value_text(end, share=score.is_share) for end in score.missing_bounds or ())
    n, phrase, is_one = (
        count_text(score.missing_verdicts, "reply"),
        score_phrase(score.name),
        score.missing_verdicts == 1,
    )
    if score.over == "scored":  # refused ones too
        has, are, them = ("has", "is", "it") if is_one else ("have", "are", "them")
        return f"{n} {has} no verdict and {are} left out. With {them} {phrase} is {low} to {high}."
    return (
        f"{n} could not be read and {'counts' if is_one else 'count'} as wrong for {phrase}. If all were right: {high}."
    )


def _doubt(score: ScoreSummary) -> str:
    """The limits of a mean whatever the missing verdicts are; "" where none is missing, or they count as 0."""
    if not score.missing_bounds or score.over != "scored":
        return ""
    low, high = (value_text(end, share=score.is_share) for end in score.missing_bounds)
    return f"; counting the {count_text(score.missing_verdicts, 'reply')} without a verdict, {low} to {high}"


def failed_elsewhere(summary: RunSummary, name: str = "") -> str:
    """How many records have this score although another stage failed; "" where there is none.

    Args:
        summary: of one run.
        name: the score next to whose mean the errors are shown; by default the primary one.
    """
    score = summary.score(name)
    if score is None or summary.counts.errors <= score.errors:
        return ""
    failed = f"{summary.counts.errors:,} of {count_text(summary.counts.done, 'record')} failed at some stage"
    return f"{summary.target}: {failed}, {score.errors:,} of them without {score_phrase(score.name)}"


def matching_warnings(summaries: Sequence[RunSummary], comparison: Comparison | None = None) -> list[str]:
    """A warning for each run whose retrieval scores are likely wrong, because its passages match hardly any source.

    Args:
        summaries: of the runs that a page shows.
        comparison: of these runs, where the same page shows its sentences: warnings in them are not repeated.
    """
    concluded = " ".join(pair.conclusion.sentence for pair in comparison.pairs) if comparison else ""
    return [text for summary in summaries if (text := summary.matching_warning()) and text not in concluded]


def damaged_records(summary: RunSummary) -> str:
    """Which records are damaged in the store, and what is left out of figures; "" where there is none."""
    n = len(summary.records.damaged)
    if not n:
        return ""
    more = f"; and {n - _MOST_DAMAGED:,} more" if n > _MOST_DAMAGED else ""
    return (
        f"{summary.target}: {count_text(n, 'record')} of {summary.counts.done:,} cannot be read whole, as the store is "
        f"damaged. Means count {'its' if n == 1 else 'their'} stored values; the damaged parts are left out of all "
        f"else: {'; '.join(summary.records.damaged[:_MOST_DAMAGED])}{more}"
    )


def unfinished(run: RunSummary | Run) -> str:
    """The state of an unfinished run with its counts and the reason; "" where it is finished."""
    if run.state == "finished":
        return ""
    counts = run.counts if isinstance(run, RunSummary) else run
    done = f"{counts.done:,} of {count_text(counts.planned, 'record')}"
    state = _STATES.get(run.state, f"is {run.state}")
    reason = "" if run.reason == run.state else run.reason
    why = f" Reason: {reason.rstrip('.')}{'' if reason.endswith('?') else '.'}" if reason else ""
    return f"{run.target}: this run {state}: {done} done, {count_text(counts.errors, 'error')}.{why}"


def state_text(state: str, reason: str = "") -> str:
    """A run's state as people read it, with the reason unless that only repeats it.

    >>> state_text("broken", "50 errors in a row"), state_text("interrupted", "interrupted")
    ('failed: 50 errors in a row', 'interrupted')
    """
    word = "failed" if state == "broken" else state
    return word if reason in {"", state} else f"{word}: {reason}"


class Figure(Protocol):
    """A mean, a share, a coefficient or a difference: what has a value and an interval, each None where unknown."""

    @property
    def value(self) -> float | None:
        """The figure itself."""
        ...

    @property
    def interval(self) -> Interval | None:
        """The limits of the figure."""
        ...


def value_cell(value: float | None, *, share: bool, strong: bool = False) -> TableCell:
    """A value as `value_text` has it; None is shown as missing."""
    return TableCell(value_text(value, share=share), strong=strong, value=value)


def figure_cell(figure: Figure | None, *, share: bool, more: str = "") -> TableCell:
    """A figure with its interval, and perhaps a further phrase, in one cell; None is shown as missing."""
    value, limits = (figure.value, figure.interval) if figure else (None, None)
    phrases = tuple(filter(None, (interval_text(limits, share=share), more)))
    return TableCell(value_text(value, share=share), phrases, value=value)


def figure_cells(figure: Figure | None, *, share: bool, strong: bool = False) -> tuple[TableCell, TableCell]:
    """A figure and its interval in cells of their own."""
    value, limits = (figure.value, figure.interval) if figure else (None, None)
    return value_cell(value, share=share, strong=strong), TableCell(interval_text(limits, share=share) or MISSING)
