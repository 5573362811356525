"""One honest sentence about a difference."""

from __future__ import annotations

from steelyard.compare.comparison import ComparableRun, PairedDifference, Verdict
from steelyard.compare.differences import excludes_zero
from steelyard.compare.stopped import decided_sentence
from steelyard.stats.intervals import Interval

_RATES_SOLVED = ("solve_rate",)
_COUNTLESS = 1_000_000


def labels(baseline: ComparableRun, other: ComparableRun) -> tuple[str, str]:
    """How a sentence calls the two runs: by target, and by run as well where the targets have one name."""
    if baseline.target != other.target:
        return baseline.target, other.target
    return f"{baseline.target} ({baseline.id})", f"{other.target} ({other.id})"


def sentence(
    difference: PairedDifference, verdict: Verdict, *, score: str, names: tuple[str, str], level: float
) -> str:
    """What may be concluded, with the numbers that carry it.

    Args:
        difference: over all pairs.
        verdict: of that difference.
        score: the score's name.
        names: of the baseline and of the other run.
        level: of the interval.
    """
    baseline, other = names
    if difference.difference is None:
        return f"{baseline} and {other} share no sample on which both have {score}, so nothing can be concluded."
    if difference.stopped is not None:
        return decided_sentence(difference, difference.stopped, score=score, names=names)
    if verdict in {"better", "worse"}:
        return _decided(difference, score=score, names=names, level=level)
    return _undecided(difference, score=score, names=names, level=level)


def _decided(found: PairedDifference, *, score: str, names: tuple[str, str], level: float) -> str:
    baseline, other = names
    size = found.difference or 0.0
    up = size > 0
    interval = found.interval
    if interval and not up:
        interval = Interval(-interval.high, -interval.low)
    amount = _number(abs(size), found)
    if score in _RATES_SOLVED:
        claim = f"{other} solves {amount} points {'more' if up else 'less'} than {baseline}"
    elif found.unit:
        claim = f"{other} scores {amount} points {'more' if up else 'less'} on {score} than {baseline}"
    else:
        claim = f"{other} scores {amount} {'higher' if up else 'lower'} on {score} than {baseline}"
    facts = [f"{_value(found.other, found)} against {_value(found.baseline, found)}"]
    if interval:
        low, high = (_number(limit, found) for limit in interval)
        facts.append(f"{_percent(level)} interval {low} to {high}")
    return f"{claim} ({'; '.join([*facts, _test(found), _pairs(found.n)])})."


def _undecided(found: PairedDifference, *, score: str, names: tuple[str, str], level: float) -> str:
    baseline, other = names
    verb = "solves" if score in _RATES_SOLVED else f"has {score}"
    values = f"{other} {verb} {_share(found, 'other')}, {baseline} {_share(found, 'baseline')}"
    facts = f"{values} ({_test(found)}; {_pairs(found.n)})"
    unit = " points" if found.unit else ""
    if found.interval is None:
        return f"These data show no evidence of a difference: {facts}, and say nothing about how large one may be."
    low, high = (_number(limit, found, sign=True) for limit in found.interval)
    if excludes_zero(found.interval) or (found.decisive_p is not None and found.decisive_p < 1 - level):
        return (
            f"These data show no evidence of a difference, though it is on the edge: {facts}; "
            f"{_percent(level)} interval {low} to {high}{unit}.{_finds(found, unit)}"
        )
    return (
        f"These data show no evidence of a difference: {facts}; a true difference between {low} and {high}{unit} "
        f"is compatible with them.{_finds(found, unit)}"
    )


def _finds(found: PairedDifference, unit: str) -> str:
    """How large a difference must be for a set like this to show it, and how large a set for this difference."""
    if found.detectable is None:
        return ""
    shown = f" Sets like this show a difference of {_number(found.detectable, found)}{unit} in 80 % of cases"
    if not found.needed or found.needed <= found.n or not float(_number(found.difference or 0.0, found)):
        return f"{shown}."
    seen = _number(abs(found.difference or 0.0), found)
    return f"{shown}; {seen}{unit}, as seen here, would take {_needed(found.needed)} pairs."


def _needed(pairs: int) -> str:
    return f"about {pairs:,}" if pairs < _COUNTLESS else f"more than {_COUNTLESS:,}"


def _share(found: PairedDifference, side: str) -> str:
    if found.table is None:
        return _value(found.other if side == "other" else found.baseline, found)
    alone = found.table.fixed if side == "other" else found.table.broken
    return f"{found.table.both_right + alone} of {found.n}"


def _value(value: float | None, found: PairedDifference) -> str:
    number = _number(value or 0.0, found)
    return f"{number} %" if found.unit else number


def _number(value: float, found: PairedDifference, *, sign: bool = False) -> str:
    """Points of a rate with one decimal, any other score with two; never "-0.0"."""
    text = f"{100 * value:+.1f}" if found.unit else f"{value:+.2f}"
    if float(text) == 0:
        return text[1:]
    return text if sign or text[0] == "-" else text[1:]


def _test(found: PairedDifference) -> str:
    corrected = "" if found.p_adjusted is None else f", by Holm {_p(found.p_adjusted).removeprefix('= ')}"
    return f"{found.test} p {_p(1.0 if found.p is None else found.p)}{corrected}"


def _p(p: float) -> str:
    return f"= {p:.2g}" if p >= 1e-6 else "< 0.000001"


def _pairs(n: int) -> str:
    return f"{n} pair{'' if n == 1 else 's'}"


def _percent(level: float) -> str:
    return f"{100 * level:g} %"
