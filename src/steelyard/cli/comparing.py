"""A comparison on a terminal: sentences while there are few pairs, a line a pair where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from steelyard.cli.tables import console, say, table
from steelyard.compare.comparison import Comparison, PairComparison, PairedDifference
from steelyard.report.compared import cost_lines, cost_rows, score_rows
from steelyard.report.flips import flips_of
from steelyard.report.numbers import MISSING, p_text, signed_text, value_text
from steelyard.store import Run

_MOST_SENTENCES: Final = 3
"""Pairs beyond this many are shown as lines of a table: twelve targets still fit a screen."""
_MOST_BROKEN: Final = 10
_MOST_WARNINGS: Final = 6
_MOST_SCORES: Final = 24
_VERDICTS: Final = {"better": "better", "worse": "worse", "no_evidence": "no evidence", "none": "not comparable"}


def print_comparison(comparison: Comparison) -> None:
    """What may be concluded of each pair, and what warns of reading too much into it."""
    to = console()
    to.print()
    if len(comparison.pairs) > _MOST_SENTENCES:
        _print_lines(to, comparison)
    else:
        if comparison.only_groups:
            say(to, f"Only samples of {' and '.join(comparison.only_groups)}:")
        for pair in comparison.pairs:
            say(to, pair.sentence)
            for warning in pair.warnings:
                say(to, f"  note: {warning}")


def print_details(comparison: Comparison, runs: Sequence[Run]) -> None:
    """Behind the sentence of each pair: its other scores, what it cost, regressions, and the categories.

    Of many runs only what fits a screen: scores with a difference, a line of costs per run, categories of none.
    """
    to = console()
    if len(comparison.pairs) > _MOST_SENTENCES:
        _print_many(to, comparison)
        return
    for pair in comparison.pairs:
        _print_pair(to, pair, runs)
    for note in (*comparison.score_notes, *comparison.group_notes):
        say(to, note)


def _print_pair(to: Console, pair: PairComparison, runs: Sequence[Run]) -> None:
    to.print()
    say(to, f"{pair.other_target} (other) against {pair.baseline_target} (baseline)")
    if pair.differs:
        say(to, f"differs in {'; '.join(pair.differs)}")
    cells = pair.headline.table
    if cells:
        say(
            to,
            f"fixed {cells.fixed}, broken {cells.broken}, both right {cells.both_right}, both wrong {cells.both_wrong}",
        )
    both = pair.answered_both
    if both.n != pair.headline.n:
        say(to, f"where both answered: {_words(both, pair)}")
    level = f"{100 * pair.level:g} %"
    if pair.scores:
        to.print(_score_lines(pair))
    if pair.costs:
        columns = ["per sample", "baseline", "other", "difference", level, "n"]
        to.print(table(columns, cost_rows(pair), right=(1, 2, 3, 5)))
    _print_broken(to, pair, runs)
    if pair.groups:
        to.print(_group_lines(pair))


def _score_lines(pair: PairComparison) -> Table:
    """A line per further score; the pairs are counted where they are not the headline's, else the flips."""
    last = 7 if any(one.difference.n != pair.n_paired for one in pair.scores) else 6
    columns = ["score", "baseline", "other", "diff", f"{100 * pair.level:g} %", "p", ("flips", "pairs")[last - 6]]
    rows = [[*row[:6], row[last]] for row in score_rows(pair)]
    return table(columns, rows, right=(1, 2, 3, 5, 6))


def _print_many(to: Console, comparison: Comparison) -> None:
    """The differences on further scores, and what each run took."""
    every = [(pair, one) for pair in comparison.pairs for one in pair.scores]
    shown = [(pair, one) for pair, one in every if one.verdict in {"better", "worse"}]
    if every:
        to.print()
        say(to, f"{len(shown)} of {len(every)} differences on further scores are evidence of one; --json has all")
    if shown:
        rows = [
            [f"{pair.other_target}: {one.score}", *_cells(one.difference), _VERDICTS[one.verdict]]
            for pair, one in shown[:_MOST_SCORES]
        ]
        to.print(table(["target: score", "diff", _level(comparison), "p", "verdict"], rows, right=(1, 3)))
        if len(shown) > _MOST_SCORES:
            say(to, f"and {len(shown) - _MOST_SCORES} more")
        for note in comparison.score_notes:
            say(to, note)
    if lines := cost_lines(comparison):
        to.print()
        to.print(table(["per sample", *lines[0]], lines[1:], right=tuple(range(1, len(lines[0]) + 1))))


def _level(comparison: Comparison) -> str:
    return f"{100 * comparison.pairs[0].level:g} %"


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
    corrected = any(pair.headline.p_adjusted is not None for pair in comparison.pairs)
    columns = ["target", "diff", _level(comparison), "p (Holm)" if corrected else "p", "pairs", "verdict"]
    to.print(table(columns, rows, right=(1, 3, 4)))
    warnings = list(dict.fromkeys(one for pair in comparison.pairs for one in pair.warnings))
    for warning in warnings[:_MOST_WARNINGS]:
        say(to, f"note: {warning}")
    if len(warnings) > _MOST_WARNINGS:
        say(to, f"and {len(warnings) - _MOST_WARNINGS} more notes; --json has all")
    for note in comparison.notes:
        say(to, note)


def _group_lines(pair: PairComparison) -> Table:
    rows = [
        [one.group, _value(one.baseline, one), _value(one.other, one), *_cells(one), str(one.n)] for one in pair.groups
    ]
    columns = ["category", "baseline", "other", "difference", f"{100 * pair.level:g} %", "p", "pairs"]
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
    """Difference, interval and the p-value that verdicts rest on; a share's in points."""
    if found.difference is None:
        return [MISSING, "", ""]
    return [signed_text(found.difference, share=found.unit), _limits(found), p_text(found.decisive_p)]


def _limits(found: PairedDifference) -> str:
    if found.interval is None:
        return ""
    return " to ".join(signed_text(end, share=found.unit) for end in found.interval)


def _value(value: float | None, found: PairedDifference) -> str:
    return value_text(value, share=found.unit)
