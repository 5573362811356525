"""Grouped bars: verdicts and scores of several runs side by side, as Altair specifications like those of `charts`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from steelyard.report import layout
from steelyard.report.marks import Frame, Row, barred
from steelyard.report.numbers import MISSING, run_labels, score_title, value_text
from steelyard.report.pivots import all_shares, bin_labels, names, share_at, share_of
from steelyard.summary import RunSummary
from steelyard.text.inert import visible

if TYPE_CHECKING:
    import altair as alt

_BAR: Final = 15
_BETWEEN: Final = 16
_LABEL_SHARE: Final = 0.34


def label_chart(summaries: Sequence[RunSummary], score: str, *, width: int) -> alt.LayerChart:
    """The share of records that got each verdict of a score: a group of bars per verdict, a bar per run.

    Args:
        summaries: one per run, at least one.
        score: one whose verdicts have names.
        width: pixels of the whole chart, 300 or more.
    """
    labels = names(summaries, score)
    shares = [[share_of(one, score, label) for one in summaries] for label in labels]
    rows = [[(100 * share, f"{n:,} ({value_text(share, share=True)})") for n, share in of_label] for of_label in shares]
    return _grouped(f"{score_title(score)}: share of each verdict", labels, rows, summaries, width)


def spread_chart(summaries: Sequence[RunSummary], score: str, *, width: int) -> alt.LayerChart:
    """The share of the scored records that have each value: a group of bars per value, a bar per run.

    Args:
        summaries: one per run, at least one.
        score: one that has a histogram.
        width: pixels of the whole chart, 300 or more.
    """
    labels = bin_labels(summaries, score)
    shares = [[share_at(one.spreads.get(score), at) for one in summaries] for at in range(len(labels))]
    rows = [[(100 * share, f"{n:,} ({value_text(share, share=True)})") for n, share in of_bin] for of_bin in shares]
    return _grouped(f"{score_title(score)}: share of each value", labels, rows, summaries, width)


def score_chart(summaries: Sequence[RunSummary], *, width: int) -> alt.LayerChart | None:
    """The mean of every score that is a share: a group of bars per score, a bar per run.

    None where fewer than two scores are shares of something in every run.
    """
    every = dict.fromkeys(score.name for one in summaries for score in one.own_scores)
    scores = [name for name in every if all_shares(summaries, name)]
    if len(scores) < 2:
        return None
    rows = []
    for name in scores:
        means = [found.headline.value if (found := one.score(name)) else None for one in summaries]
        rows.append([(None if one is None else 100 * one, value_text(one, share=True)) for one in means])
    return _grouped("Scores by run", [score_title(name) for name in scores], rows, summaries, width)


def _grouped(
    title: str,
    names_of_rows: Sequence[str],
    cells: Sequence[Sequence[tuple[float | None, str]]],
    summaries: Sequence[RunSummary],
    width: int,
) -> alt.LayerChart:
    labels = tuple(layout.distinct(layout.wrapped(one, _LABEL_SHARE * width) for one in names_of_rows))
    series = run_labels(summaries)
    rows: list[Row] = [
        {"label": label, "place": place, "value": None if value is None else round(value, 3), "text": text}
        for label, several in zip(labels, cells, strict=True)
        for place, (value, text) in enumerate(several)
    ]
    words = "; ".join(
        f"{name}, {run}: {text or MISSING}"
        for name, several in zip(names_of_rows, cells, strict=True)
        for run, (_, text) in zip(series, several, strict=True)
    )
    frame = Frame(
        title,
        visible(words, keep=""),
        width,
        len(labels) * (len(summaries) * _BAR + _BETWEEN),
        labels,
        series=tuple(layout.wrapped(one, width - 60, lines=1) for one in series),
        domain=(0, 100),
    )
    return barred(frame, rows)
