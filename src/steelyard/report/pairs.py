"""A comparison of two runs as rows of text, for pages."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.compare import PairComparison, PairedDifference, Table
from steelyard.report.numbers import MISSING, interval_text, p_text, score_title, signed_text, value_text


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One line of a table of differences, every number written out; `p` is followed by the corrected one."""

    name: str
    n: str
    baseline: str
    other: str
    difference: str
    interval: str
    p: str
    relative: str


@dataclass(frozen=True, slots=True)
class PairView:
    """One run against the baseline.

    Args:
        title: names both.
        sentence: what may be concluded.
        warnings: one sentence each.
        table: fixed, broken, both right, both wrong; None for a score that is not 0 or 1.
        unit: heads the column of differences.
        level: of the intervals, in percent.
        caption: of the table.
        rows: all pairs, pairs that both answered, then the groups.
        method: how interval and p-value were made.
    """

    title: str
    sentence: str
    warnings: tuple[str, ...]
    table: Table | None
    unit: str
    level: str
    caption: str
    rows: tuple[DifferenceRow, ...]
    method: str


def pair_view(pair: PairComparison, baseline: str, other: str) -> PairView:
    """The texts of one comparison; `baseline` and `other` are what the page calls the runs."""
    found = pair.headline
    both = pair.answered_both
    rows = [difference_row("all pairs", found), difference_row("answered by both", both)]
    rows += [difference_row(one.group, one) for one in pair.groups]
    left_out = f"; {pair.left_out_errors} left out for errors" if pair.left_out_errors else ""
    return PairView(
        title=f"{other} against {baseline}",
        sentence=pair.sentence,
        warnings=pair.warnings,
        table=found.table,
        unit="Points" if found.unit else "Difference",
        level=f"{100 * pair.level:g} %",
        caption=f"{score_title(pair.score)} over the samples of both runs{left_out}",
        rows=tuple(rows),
        method=_method(pair),
    )


def _method(pair: PairComparison) -> str:
    """How interval and p-value were made, and what the p-values in brackets are corrected for."""
    found = pair.headline
    if not found.n:
        return ""
    corrected = list(dict.fromkeys(one.adjustment for one in (found, *pair.groups) if one.adjustment))
    brackets = f" In brackets p after {' and '.join(corrected)}." if corrected else ""
    return f"Interval: {found.interval_method}. Test: {found.test}.{brackets}"


def difference_row(name: str, found: PairedDifference) -> DifferenceRow:
    """One difference, written out; `name` says what it covers."""
    share = found.unit
    return DifferenceRow(
        name=name,
        n=f"{found.n:,}",
        baseline=value_text(found.baseline, share=share),
        other=value_text(found.other, share=share),
        difference=signed_text(found.difference, share=share),
        interval=interval_text(found.interval, share=share) or MISSING,
        p=p_text(found.p) if found.p_adjusted is None else f"{p_text(found.p)} ({p_text(found.p_adjusted)})",
        relative=MISSING if found.relative is None else f"{100 * found.relative:+.1f} %",
    )
