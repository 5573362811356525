"""Two vectors of values over the same samples -> their difference with interval and test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.compare.comparison import PairedDifference, Table, Verdict
from steelyard.stats.intervals import Interval
from steelyard.stats.paired import bootstrap_difference, mcnemar_exact, newcombe_paired, sign_flip

NEWCOMBE = "Newcombe 1998, method 10"
BOOTSTRAP = "paired percentile bootstrap"
BOOTSTRAP_CLUSTERS = "paired percentile bootstrap by cluster"
MCNEMAR = "exact McNemar"
SIGN_FLIP = "sign-flip permutation"
SIGN_FLIP_CLUSTERS = "sign-flip permutation by cluster"


class PairedValue(NamedTuple):
    """One sample's value on both sides; `cluster` is equal for samples that are not independent."""

    sample: str
    group: str
    cluster: str
    baseline: float
    other: float


def paired_difference(
    pairs: Sequence[PairedValue], *, level: float, group: str = "", scaled: bool = False
) -> PairedDifference:
    """The difference other - baseline over `pairs`.

    0/1 values of independent samples get Newcombe's interval and McNemar's exact test; all else the paired bootstrap
    and the sign-flip permutation test, by cluster where samples share one. Seeded with 0, so that equal data give
    equal numbers. Values of a `scaled` score are never taken for rates, whatever they happen to be.
    """
    if not pairs:
        return PairedDifference(group, 0, None, None, None, None, None, None, None, False, "", "")
    n = len(pairs)
    baseline, other = sum(pair.baseline for pair in pairs) / n, sum(pair.other for pair in pairs) / n
    difference = sum(pair.other - pair.baseline for pair in pairs) / n
    table = None if scaled else _table(pairs)
    found = _evidence(pairs, table, level)
    return PairedDifference(
        group=group,
        n=n,
        baseline=baseline,
        other=other,
        difference=difference,
        interval=found.interval,
        p=found.p,
        relative=difference / baseline if baseline else None,
        table=table,
        unit=not scaled and all(0 <= value <= 1 for pair in pairs for value in (pair.baseline, pair.other)),
        interval_method=found.interval_method,
        test=found.test,
    )


def verdict_of(difference: PairedDifference, level: float) -> Verdict:
    """`better` or `worse` only where the test and the interval agree that there is a difference.

    A higher score counts as better.
    """
    if difference.p is None or difference.difference is None:
        return "none"
    if difference.p >= 1 - level or not excludes_zero(difference.interval):
        return "no_evidence"
    return "better" if difference.difference > 0 else "worse"


def excludes_zero(interval: Interval | None) -> bool:
    """Whether no difference lies outside `interval`; where there is none it cannot speak against a test."""
    return interval is None or interval.low > 0 or interval.high < 0


class _Evidence(NamedTuple):
    interval: Interval | None
    p: float
    interval_method: str
    test: str


def _evidence(pairs: Sequence[PairedValue], table: Table | None, level: float) -> _Evidence:
    clusters = _clusters(pairs)
    if table and clusters is None:
        interval = newcombe_paired(table.both_right, table.fixed, table.broken, table.both_wrong, level)
        return _Evidence(interval, mcnemar_exact(table.fixed, table.broken), NEWCOMBE, MCNEMAR)
    differences = [pair.other - pair.baseline for pair in pairs]
    resampled = bootstrap_difference(differences, clusters=clusters, level=level)
    p = sign_flip(differences, clusters=clusters)
    if clusters is None:
        return _Evidence(resampled, p, BOOTSTRAP, SIGN_FLIP)
    return _Evidence(resampled, p, BOOTSTRAP_CLUSTERS, SIGN_FLIP_CLUSTERS)


def _table(pairs: Sequence[PairedValue]) -> Table | None:
    counts = {(1.0, 1.0): 0, (0.0, 1.0): 0, (1.0, 0.0): 0, (0.0, 0.0): 0}
    for pair in pairs:
        sides = (pair.baseline, pair.other)
        if sides not in counts:
            return None
        counts[sides] += 1
    return Table(*counts.values())


def _clusters(pairs: Sequence[PairedValue]) -> list[int] | None:
    """A number per pair where some share a cluster, numbered in order of first appearance; else None."""
    names = [("cluster", pair.cluster) if pair.cluster else ("sample", pair.sample) for pair in pairs]
    numbers: dict[tuple[str, str], int] = {}
    found = [numbers.setdefault(name, len(numbers)) for name in names]
    return found if len(numbers) < len(pairs) else None
