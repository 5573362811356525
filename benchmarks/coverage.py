"""How often the intervals hold the truth, and how often the tests see a difference where there is none.

Rates of independent samples are summed up exactly over every count. All else is simulated with fixed seeds: rates in
clusters are beta-binomial, pairs have a difficulty that both sides share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from steelyard.stats.binomial import clopper_pearson, jeffreys, share_up_to
from steelyard.stats.bootstrap import bca_bootstrap, percentile_bootstrap
from steelyard.stats.classification import classification_figures
from steelyard.stats.intervals import Interval, mean_interval, wilson, wilson_clustered
from steelyard.stats.paired import (
    bootstrap_difference,
    mcnemar_exact,
    mcnemar_mid_p,
    newcombe_clustered,
    newcombe_paired,
    sign_flip,
)
from steelyard.stats.quantiles import normal_quantile, normal_share
from steelyard.stats.stratified import stratified_mean

Array = NDArray[np.float64]

Z = normal_quantile(0.975)
CLASSIFIED = tuple(
    (n, classes, recall)
    for n, classes in ((60, 3), (100, 3), (100, 5), (200, 5), (200, 8), (500, 8), (2000, 3), (2000, 8))
    for recall in (0.6, 0.8, 0.95)
)
CLASSIFIED_DRAWS = 3000
DRAWS = 6000
RESAMPLED = 150
"""Draws of what resamples 9,999 times for each of them."""
ROUNDING = 1e-12


class Clustered(NamedTuple):
    """Answers of `size` samples in each of `clusters`, right with `rate`, alike within a cluster by `icc`."""

    clusters: int
    size: int
    varied: bool
    rate: float
    icc: float

    @property
    def label(self) -> str:
        """What the table calls it."""
        size = f"about {self.size}" if self.varied else self.size
        return f"{self.clusters} x {size}, {self.rate:g}, {self.icc:g}"

    def draw(self, rng: Generator) -> tuple[Array, NDArray[np.intp]]:
        """Answers, and the number of each one's cluster."""
        sizes = np.maximum(1, rng.poisson(self.size, self.clusters)) if self.varied else self.size
        numbers = np.repeat(np.arange(self.clusters), sizes)
        rates = np.full(self.clusters, self.rate)
        if self.icc:
            scale = (1 - self.icc) / self.icc
            rates = rng.beta(self.rate * scale, (1 - self.rate) * scale, size=self.clusters)
        return (rng.random(len(numbers)) < rates[numbers]).astype(float), numbers


CLUSTERED = (
    Clustered(10, 5, varied=False, rate=0.8, icc=0.3),
    Clustered(20, 5, varied=False, rate=0.8, icc=0.3),
    Clustered(20, 5, varied=True, rate=0.8, icc=0.3),
    Clustered(50, 4, varied=True, rate=0.7, icc=0.2),
    Clustered(100, 5, varied=False, rate=0.9, icc=0.5),
    Clustered(200, 2, varied=False, rate=0.5, icc=0.6),
    Clustered(100, 3, varied=False, rate=0.6, icc=0),
)


class Paired(NamedTuple):
    """Two sides of one rate on `size` samples in each of `clusters`.

    `shared` is the part of what makes an answer right that both sides share: 0.3 of it by cluster where there are
    several in one, the rest by sample. A third of what is left is a side's own by cluster.
    """

    clusters: int
    size: int
    rate: float
    shared: float

    @property
    def label(self) -> str:
        """What the table calls it."""
        return f"{self.clusters} x {self.size}, {self.rate:g}" if self.size > 1 else f"{self.clusters}, {self.rate:g}"

    def draw(self, rng: Generator) -> tuple[Array, Array, NDArray[np.intp]]:
        """Answers of both sides, and the number of each pair's cluster."""
        numbers = np.repeat(np.arange(self.clusters), self.size)
        n, of_cluster = len(numbers), 0.3 if self.size > 1 else 0.0
        common = _noise(rng, self.clusters, self.shared * of_cluster)[numbers]
        common += _noise(rng, n, self.shared * (1 - of_cluster))
        own = (1 - self.shared) * (1 / 3 if self.size > 1 else 0)
        edge = normal_quantile(self.rate)
        first, second = (
            (common + _noise(rng, self.clusters, own)[numbers] + _noise(rng, n, 1 - self.shared - own) < edge)
            for _ in range(2)
        )
        return first.astype(float), second.astype(float), numbers


PAIRED = (Paired(30, 1, 0.7, 0.6), Paired(100, 1, 0.7, 0.6), Paired(300, 1, 0.9, 0.6))
PAIRED_CLUSTERED = (Paired(10, 5, 0.7, 0.6), Paired(20, 5, 0.8, 0.6), Paired(50, 4, 0.7, 0.6))


def _noise(rng: Generator, n: int, variance: float) -> Array:
    return math.sqrt(variance) * rng.normal(size=n)


GROUPED: tuple[tuple[str, tuple[int, ...], tuple[float, ...]], ...] = (
    ("5 of 34, all at 0.7", (34,) * 5, (0.7,) * 5),
    ("100, 30, 20, 10, 10 at 0.5 to 0.9", (100, 30, 20, 10, 10), (0.5, 0.6, 0.7, 0.8, 0.9)),
    ("10 of 6, rates from 0.3 to 0.95", (6,) * 10, tuple(np.linspace(0.3, 0.95, 10).tolist())),
    ("50 of 3, rates from 0.3 to 0.95", (3,) * 50, tuple(np.linspace(0.3, 0.95, 50).tolist())),
    ("57 of 100 to 300, as MMLU", tuple(np.linspace(100, 300, 57).astype(int)), tuple(np.linspace(0.3, 0.95, 57))),
    ("6 of 10, three of them at 0.99", (10,) * 6, (0.99, 0.99, 0.99, 0.6, 0.7, 0.8)),
    ("4 and 40, both at 0.7", (4, 40), (0.7, 0.7)),
    ("4 at 0.9 and 40 at 0.5", (4, 40), (0.9, 0.5)),
    ("3, 20, 60 at 0.5, 0.7, 0.9", (3, 20, 60), (0.5, 0.7, 0.9)),
)
"""Questions of each group and their rates, for the macro average."""
GROUPED_DRAWS = 2000


def measure() -> list[str]:
    """Six tables."""
    return [
        "Independent samples, exactly: coverage of a nominal 95 %, mean / worst over the rates 0.01 to 0.99.",
        "",
        *_lines(("n", "Wald", "Wilson", "Clopper-Pearson", "Jeffreys"), _binomial()),
        "",
        "Samples in clusters (clusters x size, rate, intra-cluster correlation): coverage, and mean width.",
        "",
        *_lines(("clusters", *_INTERVALS, "width CR1", "width effective-n"), _clustered()),
        "",
        "Macro averages, over groups of independent questions: coverage, and mean width.",
        "",
        *_lines(("groups", "stratified", "width"), _macro()),
        "",
        "Macro F1 and balanced accuracy of classifications (samples, classes, recall): coverage of those with 10",
        "references of every class, and mean width.",
        "",
        *_lines(("samples, classes, recall", "macro F1", "balanced accuracy", "width macro F1"), _classified()),
        "",
        "Two sides without a difference: how often a test at 5 % sees one, or a 95 % interval leaves 0 out.",
        "",
        *_lines(("pairs", "unpaired z", "McNemar", "mid-p", "Newcombe", "sign flip", "bootstrap"), _false_alarms()),
        "",
        "The same in clusters.",
        "",
        *_lines(
            ("clusters", "McNemar over rows", "Newcombe by cluster", "CR1 t", "sign flip", "bootstrap"),
            _clustered_alarms(),
        ),
    ]


def _lines(head: Sequence[str], rows: Iterator[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _binomial() -> Iterator[Sequence[str]]:
    for n in (10, 20, 50, 100):
        yield [str(n), *(_exact_coverage(interval, n) for interval in (_wald, wilson, clopper_pearson, jeffreys))]


def _wald(successes: int, n: int) -> Interval:
    p = successes / n
    half = Z * math.sqrt(p * (1 - p) / n)
    return Interval(p - half, p + half)


def _exact_coverage(interval: Callable[[int, int], Interval], n: int) -> str:
    limits = [interval(successes, n) for successes in range(n + 1)]
    covered = []
    for hundredths in range(1, 100):
        rate = hundredths / 100
        chances = np.diff([0.0, *(share_up_to(successes, n, rate) for successes in range(n + 1))])
        held = [low - ROUNDING <= rate <= high + ROUNDING for low, high in limits]
        covered.append(float(chances @ held))
    return f"{np.mean(covered):.3f} / {min(covered):.3f}"


def _naive(values: Array, _: NDArray[np.intp]) -> Interval:
    return _wald(int(values.sum()), len(values))


_INTERVALS: dict[str, tuple[int, Callable[[Array, NDArray[np.intp]], Interval | None]]] = {
    "naive z": (DRAWS, _naive),
    "CR1 t": (DRAWS, lambda values, numbers: mean_interval(values, clusters=numbers)),
    "percentile bootstrap": (RESAMPLED, lambda values, numbers: percentile_bootstrap(values, clusters=numbers)),
    "BCa bootstrap": (RESAMPLED, lambda values, numbers: bca_bootstrap(values, clusters=numbers)),
    "effective-n Wilson": (DRAWS, lambda values, numbers: wilson_clustered(values, clusters=numbers)),
}


def _clustered() -> Iterator[Sequence[str]]:
    for seed, kind in enumerate(CLUSTERED):
        rng = np.random.default_rng([5, seed])
        drawn = [kind.draw(rng) for _ in range(DRAWS)]
        coverage, widths = [], {}
        for name, (draws, interval) in _INTERVALS.items():
            found = [interval(*one) for one in drawn[:draws]]
            coverage.append(f"{np.mean([_holds(one, kind.rate) for one in found]):.3f}")
            widths[name] = f"{np.mean([one.high - one.low for one in found if one]):.3f}"
        yield [kind.label, *coverage, widths["CR1 t"], widths["effective-n Wilson"]]


def _macro() -> Iterator[Sequence[str]]:
    for seed, (label, sizes, rates) in enumerate(GROUPED):
        rng = np.random.default_rng([7, seed])
        numbers, of_each = np.repeat(np.arange(len(sizes)), sizes), np.repeat(rates, sizes)
        drawn = ((rng.random(len(numbers)) < of_each).astype(float) for _ in range(GROUPED_DRAWS))
        found = [stratified_mean(values, numbers).interval for values in drawn]
        held = np.mean([_holds(one, float(np.mean(rates))) for one in found])
        yield [label, f"{held:.3f}", f"{np.mean([one.high - one.low for one in found if one]):.3f}"]


def _classified() -> Iterator[Sequence[str]]:
    for seed, (n, classes, recall) in enumerate(CLASSIFIED):
        rng = np.random.default_rng([11, seed])
        shares = _confusion_shares(classes, recall)
        truth = classification_figures(shares * 1e9)
        drawn = (rng.multinomial(n, shares.ravel()).reshape(classes, classes + 1) for _ in range(CLASSIFIED_DRAWS))
        found = [figures for counts in drawn if (figures := classification_figures(counts)).macro_f1_interval]
        held = np.mean([_holds(figures.macro_f1_interval, truth.macro_f1) for figures in found])
        balanced = [_holds(figures.balanced_accuracy_interval, truth.balanced_accuracy) for figures in found]
        widths = [figures.macro_f1_interval.high - figures.macro_f1_interval.low for figures in found]
        yield [f"{n}, {classes}, {recall:g}", f"{held:.3f}", f"{np.mean(balanced):.3f}", f"{np.mean(widths):.3f}"]


def _confusion_shares(classes: int, recall: float) -> Array:
    """Shares of the cells: classes of about one size, recalls around `recall`, a fifth of the errors unread."""
    recalls = recall + (1 - recall) * np.linspace(-0.4, 0.4, classes)
    shares = np.zeros((classes, classes + 1))
    shares[:, :-1] = ((1 - recalls) * 0.8 / (classes - 1))[:, None]
    shares[:, -1] = (1 - recalls) * 0.2
    shares[range(classes), range(classes)] = recalls
    return shares / classes


def _holds(interval: Interval | None, truth: float) -> bool:
    """No interval claims nothing, but holds nothing either."""
    return interval is not None and interval.low - ROUNDING <= truth <= interval.high + ROUNDING


def _false_alarms() -> Iterator[Sequence[str]]:
    exact, mid, newcombe, flipped = cache(mcnemar_exact), cache(mcnemar_mid_p), cache(newcombe_paired), cache(_flipped)
    for seed, kind in enumerate(PAIRED):
        rng = np.random.default_rng([5, seed])
        drawn = [kind.draw(rng)[:2] for _ in range(DRAWS)]
        tables = [_table(first, second) for first, second in drawn]
        differences = [first - second for first, second in drawn[:RESAMPLED]]
        yield [
            kind.label,
            _share(_unpaired(first, second) < 0.05 for first, second in drawn),
            _share(exact(b, c) < 0.05 for _, b, c, _ in tables),
            _share(mid(b, c) < 0.05 for _, b, c, _ in tables),
            _share(not _holds(newcombe(*table), 0) for table in tables),
            _share(flipped(b, c) < 0.05 for _, b, c, _ in tables),
            _share(not _undecided(bootstrap_difference(one)) for one in differences),
        ]


def _clustered_alarms() -> Iterator[Sequence[str]]:
    for seed, kind in enumerate(PAIRED_CLUSTERED):
        rng = np.random.default_rng([5, seed])
        drawn = [kind.draw(rng) for _ in range(DRAWS)]
        tables = [_table(first, second) for first, second, _ in drawn]
        differences = [(first - second, numbers) for first, second, numbers in drawn]
        yield [
            kind.label,
            _share(mcnemar_exact(b, c) < 0.05 for _, b, c, _ in tables),
            _share(not _holds(newcombe_clustered(a, b, clusters=numbers), 0) for a, b, numbers in drawn),
            _share(not _undecided(mean_interval(one, clusters=numbers)) for one, numbers in differences),
            _share(sign_flip(one, clusters=numbers) < 0.05 for one, numbers in differences[: DRAWS // 6]),
            _share(
                not _undecided(bootstrap_difference(one, clusters=numbers)) for one, numbers in differences[:RESAMPLED]
            ),
        ]


def _flipped(only_first: int, only_second: int) -> float:
    return sign_flip([1.0] * only_first + [-1.0] * only_second or [0.0])


def _undecided(interval: Interval | None) -> bool:
    return interval is None or _holds(interval, 0)


def _table(first: Array, second: Array) -> tuple[int, int, int, int]:
    both, only_first = int((first * second).sum()), int((first * (1 - second)).sum())
    only_second = int((second * (1 - first)).sum())
    return both, only_first, only_second, len(first) - both - only_first - only_second


def _unpaired(first: Array, second: Array) -> float:
    error = math.sqrt((first.var() + second.var()) / len(first))
    return 2 * normal_share(-abs(first.mean() - second.mean()) / error) if error else 1.0


def _share(alarms: Iterator[bool]) -> str:
    return f"{np.mean(list(alarms)):.3f}"
