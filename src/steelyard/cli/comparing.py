"""A comparison on a terminal: sentences while there are few pairs, a line a pair where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from steelyard.cli.tables import console, say, table
from steelyard.compare.comparison import Comparison, PairComparison, PairedDifference
from steelyard.report.flips import flips_of
from steelyard.report.numbers import MISSING, signed_text, value_text
from steelyard.store import Run

_MOST_SENTENCES: Final = 3
"""Pairs beyond this many are shown as lines of a table: twelve targets still fit a screen."""
_MOST_BROKEN: Final = 10
_VERDICTS: Final = {"better": "better", "worse": "worse", "no_evidence": "no evidence", "none": "not comparable"}


def print_comparison(comparison: Comparison) -> None:
    """What may be concluded of each pair, and what warns of reading too much into it."""
    to = console()
    to.print()
    if len(comparison.pairs) > _MOST_SENTENCES:
        _print_lines(to, comparison)
    else:
        for pair in comparison.pairs:
            say(to, pair.sentence)
            for warning in pair.warnings:
                say(to, f"  note: {warning}")
    for note in comparison.notes:
        say(to, note)


def print_details(comparison: Comparison, runs: Sequence[Run]) -> None:
    """Behind the sentence of each pair: its four cells, regressions, the pairs that both answered, the categories."""
    to = console()
    for pair in comparison.pairs:
        to.print()
        say(to, f"{pair.other_target} (other) against {pair.baseline_target} (baseline)")
        cells = pair.headline.table
        if cells:
            say(
                to,
                f"fixed {cells.fixed}, broken {cells.broken}, both right {cells.both_right}, "
                f"both wrong {cells.both_wrong}",
            )
        _print_broken(to, pair, runs)
        both = pair.answered_both
        if both.n != pair.headline.n:
            say(to, f"where both answered: {_words(both, pair)}")
        if pair.groups:
            to.print(_group_lines(pair))
    if any(pair.groups for pair in comparison.pairs):
        for note in comparison.group_notes:
            say(to, note)


def _print_broken(to: Console, pair: PairComparison, runs: Sequence[Run]) -> None:
    """The first samples that were right and are not any more."""
    shown = [one for one in flips_of(runs, pair, most=2 * _MOST_BROKEN) if one.way == "broken"][:_MOST_BROKEN]
    for one in shown:
        why = f": {_line(one.reason, 110)}" if one.reason else ""
        say(to, f"  broken {_line(one.sample, 24)} ({_line(one.before, 20)} → {_line(one.after, 20)}){why}")
    if len(shown) < len(pair.broken):
        say(to, f"  and {len(pair.broken) - len(shown)} more broken; --json names all, --html shows them")


def _line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _print_lines(to: Console, comparison: Comparison) -> None:
    say(to, f"against {comparison.baseline.target}:")
    rows = [
        [pair.other_target, *_cells(pair.headline), str(pair.n_paired), _VERDICTS[pair.verdict]]
        for pair in comparison.pairs
    ]
    to.print(table(["target", "difference", "95 %", "p", "pairs", "verdict"], rows, right=(1, 3, 4)))
    for warning in dict.fromkeys(one for pair in comparison.pairs for one in pair.warnings):
        say(to, f"note: {warning}")


def _group_lines(pair: PairComparison) -> Table:
    rows = [
        [one.group, _value(one.baseline, one), _value(one.other, one), *_cells(one), str(one.n)] for one in pair.groups
    ]
    columns = ["category", "baseline", "other", "difference", "95 %", "p", "pairs"]
    return table(columns, rows, right=(1, 2, 3, 5, 6))


def _words(found: PairedDifference, pair: PairComparison) -> str:
    if found.difference is None:
        return "no pair"
    difference, interval, p = _cells(found)
    return (
        f"{_value(found.other, found)} against {_value(found.baseline, found)}, {difference} "
        f"({100 * pair.level:g} % {interval}; p = {p}; {found.n} pairs)"
    )


def _cells(found: PairedDifference) -> Sequence[str]:
    """Difference, interval and p; a share's in points."""
    if found.difference is None or found.p is None:
        return [MISSING, "", ""]
    return [signed_text(found.difference, share=found.unit), _limits(found), f"{found.p:.2g}"]


def _limits(found: PairedDifference) -> str:
    if found.interval is None:
        return ""
    return " to ".join(signed_text(end, share=found.unit) for end in found.interval)


def _value(value: float | None, found: PairedDifference) -> str:
    return value_text(value, share=found.unit)
