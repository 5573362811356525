"""What a comparison says beside its headline, as rows of text: other scores, costs, and in what the runs differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.compare import Comparison, CostDifference, PairComparison, PairedDifference
from steelyard.report.numbers import MISSING, p_text, run_labels, signed_text, value_text
from steelyard.stats.intervals import Interval

Cell = Callable[[str, int], str]
"""Makes a text inert for a cell of Markdown, cut to so many letters."""

_TIMES: Final = frozenset({"latency", "seconds", "ttft"})
_NAMES: Final = {
    "latency": "latency",
    "seconds": "wall time",
    "ttft": "first token",
    "calls": "calls",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
}
_LARGE: Final = 100
"""From here on a count needs no decimals."""


@dataclass(frozen=True, slots=True)
class ComparedView:
    """One pair of runs, all but its headline.

    Args:
        title: names both.
        level: of the intervals, in percent.
        differs: in what the runs differ, one phrase each.
        aligned: how samples were paired, where not by id; else "".
        scores: rows of the further scores: name, baseline, other, difference, interval, p, flips, pairs.
        costs: rows of what they took: name, baseline, other, difference, interval, samples.
        notes: what must be known to read them.
    """

    title: str
    level: str
    differs: tuple[str, ...]
    aligned: str
    scores: tuple[tuple[str, ...], ...]
    costs: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.differs or self.aligned or self.scores or self.costs)


def compared_views(comparison: Comparison | None, labels: Sequence[str] = ()) -> list[ComparedView]:
    """A view for each pair that has something to show.

    Args:
        comparison: None gives nothing.
        labels: what the page calls the runs, the baseline first; by default as `run_labels` says.
    """
    if comparison is None:
        return []
    names = tuple(labels) or run_labels((comparison.baseline, *comparison.others))
    views = [_view(pair, f"{name} against {names[0]}") for name, pair in zip(names[1:], comparison.pairs, strict=True)]
    return [one for one in views if one]


def _view(pair: PairComparison, title: str) -> ComparedView:
    return ComparedView(
        title,
        f"{100 * pair.level:g} %",
        pair.differs,
        "" if pair.aligned == "id" else f"Samples are paired by {_by(pair.aligned)}.",
        tuple(tuple(row) for row in score_rows(pair)),
        tuple(tuple(row) for row in cost_rows(pair)),
        tuple(_notes(pair)),
    )


def _by(aligned: str) -> str:
    return "their content" if aligned == "content" else f"their {aligned}"


def _notes(pair: PairComparison) -> list[str]:
    found = []
    how = dict.fromkeys(one.difference.adjustment for one in pair.scores if one.difference.adjustment)
    if how:
        found.append(f"p is corrected: {', '.join(how)}.")
    measures = {one.measure for one in pair.costs}
    if "latency" in measures:
        found.append("Latency is that of the answered calls of the target, without queueing and retries.")
    if "seconds" in measures:
        found.append("Wall time is that of the whole record, queueing, retries and scorers included.")
    if any(one.estimated for one in pair.costs):
        found.append("Some tokens were not counted by the endpoint, so they are estimated.")
    if pair.costs and pair.costs[0].n < pair.n_paired:
        found.append(f"Costs are of {pair.costs[0].n:,} samples, drawn by seed.")
    return found


def score_rows(pair: PairComparison) -> list[list[str]]:
    """Name, baseline, other, difference, interval, p, flips (fixed, broken) and pairs of every further score."""
    return [
        [
            one.score,
            value_text(one.difference.baseline, share=one.difference.unit),
            value_text(one.difference.other, share=one.difference.unit),
            signed_text(one.difference.difference, share=one.difference.unit),
            _limits(one.difference),
            p_text(one.difference.decisive_p).replace("< 0.000001", "<1e-6"),
            _flips(one.difference),
            f"{one.difference.n:,}",
        ]
        for one in pair.scores
    ]


def _limits(found: PairedDifference) -> str:
    if found.interval is None:
        return MISSING
    return " to ".join(signed_text(end, share=found.unit) for end in found.interval)


def _flips(found: PairedDifference) -> str:
    return MISSING if found.fixed is None else f"+{found.fixed} -{found.broken}"


def cost_rows(pair: PairComparison) -> list[list[str]]:
    """Name, baseline, other, difference, interval and samples of every figure of costs."""
    return [
        [
            cost_name(one),
            _amount(one.baseline, one),
            _amount(one.other, one),
            _signed(one.difference, one),
            _cost_limits(one.interval, one),
            f"{one.n:,}",
        ]
        for one in pair.costs
    ]


def cost_lines(comparison: Comparison) -> list[list[str]]:
    """A head and a line per run with its own figures, the baseline first; nothing where no pair has costs.

    The first line holds the names of the figures, the others a run's name and the figures.
    """
    first = next((pair for pair in comparison.pairs if pair.costs), None)
    if first is None:
        return []
    keys = [(one.measure, one.statistic) for one in first.costs]
    labels = run_labels((comparison.baseline, *comparison.others))
    lines = [[cost_name(one) for one in first.costs]]
    lines.append([labels[0], *(_amount(one.baseline, one) for one in first.costs)])
    for label, pair in zip(labels[1:], comparison.pairs, strict=True):
        found = {(one.measure, one.statistic): one for one in pair.costs}
        lines.append([label, *(_amount(found[key].other, found[key]) if key in found else MISSING for key in keys)])
    return lines


def cost_name(one: CostDifference) -> str:
    """What a figure is called: `latency p50`, `tokens in`.

    >>> cost_name(CostDifference("latency", "p95", 3, 1.0, 2.0, 1.0, None))
    'latency p95'
    """
    name = _NAMES.get(one.measure, one.measure)
    return name if one.statistic == "mean" else f"{name} {one.statistic}"


def _amount(value: float, one: CostDifference) -> str:
    """Seconds with their unit, counts as short as they may be.

    >>> _amount(0.0312, CostDifference("latency", "p50", 3, 0.0312, 0.0, 0.0, None))
    '31 ms'
    """
    if one.measure in _TIMES:
        return f"{1000 * value:.0f} ms" if abs(value) < 1 else f"{value:.2f} s"
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.2f}"


def _signed(value: float, one: CostDifference) -> str:
    text = _amount(value, one)
    return text if value <= 0 or not any(letter in "123456789" for letter in text) else f"+{text}"


def _cost_limits(interval: Interval | None, one: CostDifference) -> str:
    return MISSING if interval is None else " to ".join(_signed(end, one) for end in interval)


def compared_markdown(comparison: Comparison | None, cell: Cell) -> list[list[str]]:
    """Lines of a Markdown table per pair with the further scores and the costs.

    Args:
        comparison: None gives nothing.
        cell: for what a file or a person named.
    """
    parts = []
    for view in compared_views(comparison):
        head = f"**{cell(view.title, 80)}: further scores and costs**"
        lines = [_row(["", "baseline", "other", "difference", view.level, "p", "n"]), _row(["---", *["---:"] * 6])]
        lines += [_row([cell(row[0], 30), *row[1:6], row[7]]) for row in view.scores]
        lines += [_row([cell(row[0], 30), *row[1:5], MISSING, row[5]]) for row in view.costs]
        if view.scores or view.costs:
            parts.append([head, "", *lines])
    return parts


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
