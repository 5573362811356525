"""Charts as Altair specifications: the same object in a notebook and, as SVG, on a page.

Every function returns a chart whose size is fixed by its arguments; `svg` renders it without browser or network. A
mark never stands for something by its colour alone: shapes differ, rows are named, and each value is written out
beside its interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from html import escape
from typing import TYPE_CHECKING, Final

from steelyard.compare import Comparison
from steelyard.report import layout
from steelyard.report.marks import Frame, Row, drawn
from steelyard.report.numbers import (
    MISSING,
    interval_text,
    is_share,
    run_labels,
    score_title,
    signed_text,
    value_text,
)
from steelyard.summary import Mean, RunSummary
from steelyard.text.inert import visible

if TYPE_CHECKING:
    import altair as alt

WIDTH: Final = 720
"""Pixels of a whole chart, labels included."""
_ROW: Final = 34
_SERIES: Final = 17
_LABEL_SHARE: Final = 0.34


def rate_chart(
    summaries: Sequence[RunSummary], *, score: str = "", chance: float | None = None, width: int = WIDTH
) -> alt.LayerChart:
    """The headline mean of every run with its 95 % interval, one row each, in the given order.

    Args:
        summaries: one per run, at least one.
        score: a score's name; "" is the primary score of the first run.
        chance: what guessing reaches, in the score's unit (0.25 for four options); None draws no line.
        width: pixels of the whole chart, 300 or more.
    """
    score = score or summaries[0].primary
    share = _share(summaries, score)
    names = run_labels(summaries)
    labels = _labels(names, width)
    means = [found.headline if (found := one.score(score)) else None for one in summaries]
    rows = [
        _row(label, place, mean, share=share) for place, (label, mean) in enumerate(zip(labels, means, strict=True))
    ]
    frame = Frame(
        f"{score_title(score)} with 95 % interval",
        _in_words(names, means, share=share),
        width,
        _ROW * len(rows),
        labels,
        domain=_domain(summaries, score, share=share),
    )
    factor = 100 if share else 1
    lines = [] if chance is None else [(factor * chance, f"chance {value_text(chance, share=share)}")]
    return drawn(frame, rows, lines=lines)


def group_chart(summaries: Sequence[RunSummary], *, score: str = "", width: int = WIDTH) -> alt.LayerChart | None:
    """The headline mean of every group and run with its 95 % interval; None where there are no groups.

    Args:
        summaries: one per run, at least one; a group that a run lacks has no mark there.
        score: a score's name; "" is the primary score of the first run.
        width: pixels of the whole chart, 300 or more.
    """
    score = score or summaries[0].primary
    groups = list(dict.fromkeys(one.group for summary in summaries for one in summary.groups.get(score, ())))
    if not groups:
        return None
    share = _share(summaries, score)
    labels = _labels(groups, width)
    rows, words = [], []
    for label, group in zip(labels, groups, strict=True):
        for place, summary in enumerate(summaries):
            found = summary.score(score, group)
            rows.append(_row(label, place, found.headline if found else None, share=share))
            words.append(f"{group}, {summary.target}: {rows[-1]['text']}")
    frame = Frame(
        f"{score_title(score)} per group, 95 % interval",
        visible("; ".join(words), keep=""),
        width,
        len(groups) * max(_ROW, len(summaries) * _SERIES + 12),
        labels,
        series=tuple(layout.wrapped(one, width - 60, lines=1) for one in run_labels(summaries)),
        domain=_domain(summaries, score, share=share),
    )
    return drawn(frame, rows)


def difference_chart(comparison: Comparison, *, width: int = WIDTH) -> alt.LayerChart:
    """Every run's paired difference to the baseline with its interval; the mark is hollow where nothing is decided.

    Args:
        comparison: one pair at least.
        width: pixels of the whole chart, 300 or more.
    """
    names = run_labels((comparison.baseline, *comparison.others))
    share = all(pair.headline.unit for pair in comparison.pairs)
    labels = _labels(names[1:], width)
    rows, words = [], []
    for place, (label, pair) in enumerate(zip(labels, comparison.pairs, strict=True), start=1):
        found = pair.headline
        row = _row(label, place, Mean(found.difference, found.interval, found.n), share=share)
        text = signed_text(found.difference, share=share)
        rows.append({**row, "text": text, "decided": pair.verdict in {"better", "worse"}})
        words.append(f"{names[place]}: {text} ({interval_text(found.interval, share=share)})")
    unit = "points" if share else score_title(comparison.score).lower()
    beginning = f"Difference in {unit} to "
    baseline = layout.wrapped(names[0], width - layout.width_of(beginning) - 80, lines=1)
    frame = Frame(
        beginning + baseline,
        visible("; ".join(words), keep=""),
        width,
        _ROW * len(rows),
        labels,
        domain=_around_zero(rows, least=5.0 if share else 0.1),
    )
    return drawn(frame, rows, lines=[(0, "")])


def svg(chart: alt.LayerChart) -> str:
    """The chart as SVG text with a title and a description for those who do not see it; it loads nothing.

    Equal charts give equal text. The background is transparent.
    """
    import vl_convert

    spec = chart.to_dict()
    text = vl_convert.vegalite_to_svg({**spec, "background": "transparent"}, allowed_base_urls=[])
    title, words = spec["title"]["text"], spec["description"]
    ident = blake2b(text.encode(), digest_size=4).hexdigest()
    # Names of their own keep the parts of several charts on one page apart.
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>c{ident}-", text)
    head, rest = text.split(">", 1)
    return (
        f'{head} role="img" aria-labelledby="t{ident} d{ident}"><title id="t{ident}">{escape(title)}</title>'
        f'<desc id="d{ident}">{escape(words)}</desc>{rest}'
    )


def _labels(names: Iterable[str], width: int) -> tuple[str, ...]:
    return tuple(layout.distinct(layout.wrapped(one, _LABEL_SHARE * width) for one in names))


def _share(summaries: Sequence[RunSummary], score: str) -> bool:
    return all(is_share(found) for one in summaries if (found := one.score(score)) is not None)


def _domain(summaries: Sequence[RunSummary], score: str, *, share: bool) -> tuple[float, float] | None:
    """Ends of the values' axis: of a share, or of the scale that all runs have; None where the data must say."""
    if share:
        return 0, 100
    scales = {found.scale for one in summaries if (found := one.score(score)) is not None}
    scale = scales.pop() if len(scales) == 1 else None
    return (scale.low, scale.high) if scale else None


def _row(label: str, place: int, mean: Mean | None, *, share: bool) -> Row:
    factor = 100 if share else 1
    value, interval = (mean.value, mean.interval) if mean else (None, None)
    return {
        "label": label,
        "place": place,
        "value": None if value is None else round(factor * value, 3),
        "low": round(factor * interval.low, 3) if interval and value is not None else None,
        "high": round(factor * interval.high, 3) if interval and value is not None else None,
        "text": value_text(value, share=share),
        "decided": True,
    }


def _in_words(names: Sequence[str], means: Sequence[Mean | None], *, share: bool) -> str:
    parts = []
    for name, mean in zip(names, means, strict=True):
        interval = interval_text(mean.interval, share=share) if mean else ""
        value = value_text(mean.value, share=share) if mean else MISSING
        parts.append(f"{name}: {value}" + (f" ({interval})" if interval else ""))
    return visible("; ".join(parts), keep="")


def _around_zero(rows: Sequence[Row], *, least: float) -> tuple[float, float]:
    """Ends of an axis with zero in its middle and room beside the longest interval."""
    ends = [abs(row[name]) for row in rows for name in ("value", "low", "high") if row[name] is not None]
    most = 1.1 * max([least, *ends])
    return -most, most
