"""Runs side by side, as tables of text: how often each verdict was given, and the mean of every score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.report.numbers import MISSING, counted, is_share, mean_text, score_title, value_text
from steelyard.summary import RunSummary


class Cell(NamedTuple):
    """What stands at a row and run: the text, and a smaller one beside it."""

    main: str
    beside: str


@dataclass(frozen=True, slots=True)
class Pivot:
    """A table with a column per run; `rows` are (name, a cell per run), `score` is "" where it is about several."""

    score: str
    title: str
    caption: str
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def label_pivots(summaries: Sequence[RunSummary]) -> list[Pivot]:
    """Per score whose verdicts have names: how many records got each, and their share, one column per run."""
    scores = dict.fromkeys(name for one in summaries for name in one.labels)
    found = []
    for score in scores:
        rows = tuple(
            (label, tuple(_count(one, score, label) for one in summaries)) for label in names(summaries, score)
        )
        found.append(Pivot(score, f"{score_title(score)}: verdicts per run", "Records, and their share", rows))
    return found


def score_pivot(summaries: Sequence[RunSummary]) -> Pivot | None:
    """Every score's headline mean, one column per run; None where there is only one score."""
    scores = list(dict.fromkeys(score.name for one in summaries for score in one.scores))
    if len(scores) < 2:
        return None
    shares = {name: all_shares(summaries, name) for name in scores}
    rows = tuple(
        (score_title(name), tuple(_mean(one, name, share=shares[name]) for one in summaries)) for name in scores
    )
    return Pivot("", "Scores by run", "Means with 95 % intervals; n is what they are over", rows)


def names(summaries: Sequence[RunSummary], score: str) -> list[str]:
    """The verdicts that any run gave for a score, the most frequent over all runs first."""
    total: dict[str, int] = {}
    for one in summaries:
        for label, n in one.labels.get(score, {}).items():
            total[label] = total.get(label, 0) + n
    return sorted(total, key=lambda label: (-total[label], label))


def all_shares(summaries: Sequence[RunSummary], name: str) -> bool:
    """Whether a score is a share in every run that has it: side by side all are shown in one unit."""
    return all(is_share(score) for one in summaries if (score := one.score(name)) is not None)


def share_of(summary: RunSummary, score: str, label: str) -> tuple[int, float]:
    """How many records got a verdict, and which share of those that got one; 0 and 0 where there is none."""
    counts = summary.labels.get(score, {})
    n = counts.get(label, 0)
    return n, n / sum(counts.values()) if counts else 0.0


def _count(summary: RunSummary, score: str, label: str) -> Cell:
    if not summary.labels.get(score):
        return Cell(MISSING, "")
    n, share = share_of(summary, score, label)
    return Cell(f"{n:,}", value_text(share, share=True))


def _mean(summary: RunSummary, name: str, *, share: bool) -> Cell:
    score = summary.score(name)
    if score is None:
        return Cell(MISSING, "")
    left_out = [(score.not_applicable, "not applicable"), (score.unparsed, "unparsed"), (score.refused, "refused")]
    rest = [f"{n:,} {what}" for n, what in left_out if n]
    rest += [counted(score.errors, "error")] if score.errors else []
    return Cell(mean_text(score.headline, share=share), ", ".join([f"n {score.headline.n:,}", *rest]))
