"""Runs side by side, as tables of text: how often each verdict was given, and the mean of every score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from steelyard.report.numbers import MISSING, is_share, left_out_text, mean_text, score_title, value_text
from steelyard.summary import Cross, Histogram, RunSummary

ROUNDED: Final = "count at the nearest one, a half at the upper"
"""What a histogram of whole values does with others."""
_UNREAD: Final = ("unparsed", "refused", "not applicable", "errors")
_RARE: Final = ("not applicable", "errors")
"""Rows that are shown where there is something to count."""


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
    scores = list(dict.fromkeys(score.name for one in summaries for score in one.own_scores))
    if len(scores) < 2:
        return None
    shares = {name: all_shares(summaries, name) for name in scores}
    rows = tuple(
        (score_title(name), tuple(_mean(one, name, share=shares[name]) for one in summaries)) for name in scores
    )
    return Pivot("", "Scores by run", "Means with 95 % intervals; n is what they are over", rows)


def spread_pivots(summaries: Sequence[RunSummary]) -> list[Pivot]:
    """Per score that is shown so: how many records have each value, and below what could not be read."""
    found = []
    for score in dict.fromkeys(name for one in summaries for name in one.spreads):
        spreads = [one.spreads.get(score) for one in summaries]
        between = any(one.between for one in spreads if one)
        caption = "Records, and their share of those scored"
        caption += f"; values between whole numbers {ROUNDED}" if between else ""
        rows = [
            (label, tuple(_bin(one, at) for one in spreads)) for at, label in enumerate(bin_labels(summaries, score))
        ]
        rows += [(name, cells) for name in _UNREAD if (cells := tuple(_unread(one, name) for one in spreads))]
        rows = [row for row in rows if row[0] not in _RARE or any(cell.main not in {"0", MISSING} for cell in row[1])]
        found.append(Pivot(score, f"{score_title(score)}: how often each value was given", caption, tuple(rows)))
    return found


def bin_labels(summaries: Sequence[RunSummary], score: str) -> list[str]:
    """What the bins of a score's histogram are called: whole values, or from where to where."""
    first = next(one.spreads[score] for one in summaries if score in one.spreads)
    edges = [low for low, _ in first.bins]
    if first.whole:
        return [f"{edge:g}" for edge in edges]
    return [f"{low:g} to {high:g}" for low, high in zip(edges, [*edges[1:], first.scale.high], strict=True)]


def share_at(spread: Histogram | None, at: int) -> tuple[int, float]:
    """How many records are in a bin, and which share of those scored; 0 and 0 where there is none."""
    if spread is None or at >= len(spread.bins):
        return 0, 0.0
    n = spread.bins[at][1]
    return n, n / spread.scored if spread.scored else 0.0


def cross_pivots(summaries: Sequence[RunSummary]) -> list[Pivot]:
    """Per pair of crossed scores: how many records are in each of its four cells, one column per run."""
    pairs = dict.fromkeys((cross.rows_score, cross.columns_score) for one in summaries for cross in one.crosses)
    found = []
    for pair in pairs:
        crosses = [_cross(one, pair) for one in summaries]
        first = next(one for one in crosses if one)
        rows = [(name, tuple(_crossed(one, at) for one in crosses)) for at, (name, _) in enumerate(first.cells)]
        if any(one.left_out for one in crosses if one):
            cells = tuple(Cell(f"{one.left_out:,}", "") if one else Cell(MISSING, "") for one in crosses)
            rows.append(("one of the two not scored", cells))
        caption = "Records in which both are scored, and their share"
        found.append(Pivot("", cross_title(first), caption, tuple(rows)))
    return found


def cross_title(cross: Cross) -> str:
    """Heads a table of two scores: `Correct against faithfulness`."""
    return f"{score_title(cross.rows_score)} against {score_title(cross.columns_score).lower()}"


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


def _bin(spread: Histogram | None, at: int) -> Cell:
    if spread is None:
        return Cell(MISSING, "")
    n, share = share_at(spread, at)
    return Cell(f"{n:,}", value_text(share, share=True))


def _unread(spread: Histogram | None, name: str) -> Cell:
    return Cell(MISSING, "") if spread is None else Cell(f"{getattr(spread, name.replace(' ', '_')):,}", "")


def _cross(summary: RunSummary, pair: tuple[str, str]) -> Cross | None:
    return next((one for one in summary.crosses if (one.rows_score, one.columns_score) == pair), None)


def _crossed(cross: Cross | None, at: int) -> Cell:
    if cross is None:
        return Cell(MISSING, "")
    n = cross.cells[at][1]
    return Cell(f"{n:,}", value_text(n / cross.n, share=True) if cross.n else MISSING)


def _mean(summary: RunSummary, name: str, *, share: bool) -> Cell:
    score = summary.score(name)
    if score is None:
        return Cell(MISSING, "")
    return Cell(mean_text(score.headline, share=share), left_out_text(score))
