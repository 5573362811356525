"""Scatter charts of every sample, whose points lead to the samples: one score in two runs, or two scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Final

from steelyard.analysis.numbers import score_title
from steelyard.report.charts.plots import MOST_LINKED, ScatterChart, ScatterPoint
from steelyard.store import Run
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.pages import Pages

_MOST_SAMPLES: Final = 20_000
"""Samples up to which a chart is drawn: reading more values takes longer than a page may."""
_ROOM: Final = 0.05
"""Share of a scale added at its ends, so that points there are not cut off."""
_WITHOUT_VERDICT: Final = frozenset({"unparsed", "refused"})


def scatter_of(pages: Pages, baseline: Run, other: Run, score: str, second: str) -> ScatterChart | None:
    """The chart of two runs on one score, or of two scores of the other run; None where a table shows as much.

    Args:
        pages: make addresses.
        baseline: on the x axis, for one score in two runs.
        other: on the y axis; the run whose samples the points lead to.
        score: on the x axis.
        second: a further score of `other`, on the y axis; "" for the same score.
    """
    if max(baseline.done, other.done) > _MOST_SAMPLES:
        return None
    ids = {no: ident for ident, no in other.places().items()}
    upright = _means(other, second or score, ids)
    if second:
        across = _means(other, score, ids)
    else:
        across = _means(baseline, score, {no: ident for ident, no in baseline.places().items()})
    pairs = {ident: (across[ident], value) for ident, value in upright.items() if ident in across}
    if not pairs or {value for pair in pairs.values() for value in pair} <= {0.0, 1.0}:
        return None
    info = other.score_infos.get(score)
    return ScatterChart(
        f"{score_title(score)} and {score_title(second)} of {other.target}"
        if second
        else f"{score_title(score)} by sample",
        score_title(score) if second else f"{baseline.target} (baseline)",
        score_title(second) if second else other.target,
        tuple(_points(pages, other, pairs, baseline.id)),
        None if second else _domain(other, score),
        diagonal=not second,
        lower_is_better=bool(info and info.lower_is_better),
    )


def _means(run: Run, score: str, ids: Mapping[int, str]) -> dict[str, float]:
    """Sample id -> the mean of a score over the repeats that its headline counts, a reply without a verdict as 0."""
    info = run.score_infos.get(score)
    as_zero = _WITHOUT_VERDICT if info is not None and info.denominator == "all" else frozenset()
    values: dict[str, list[float]] = defaultdict(list)
    for placed in run.placed_scores(score):
        value = 0.0 if placed.outcome in as_zero else placed.value
        if value is not None and placed.no in ids:
            values[ids[placed.no]].append(value)
    return {ident: fmean(of_sample) for ident, of_sample in values.items()}


def _points(pages: Pages, run: Run, pairs: Mapping[str, tuple[float, float]], baseline: str) -> Iterator[ScatterPoint]:
    linked = len(pairs) <= MOST_LINKED
    for ident, (x, y) in pairs.items():
        link = sample_address(pages.address, run.id, ident, against=baseline) if linked else ""
        yield ScatterPoint(x, y, f"{ident}: {x:.4g}, {y:.4g}", link)


def _domain(run: Run, score: str) -> tuple[float, float] | None:
    """The declared scale of a score with room at its ends; None where it has none."""
    info = run.score_infos.get(score)
    if info is None or info.range is None:
        return None
    low, high = info.range
    room = _ROOM * (high - low)
    return low - room, high + room
