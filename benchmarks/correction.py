"""How often corrected rates and means hold the truth, and how wide they are: tables in docs/explanation/statistics.md.

python -m benchmarks.correction --full --draws 300      # the tables of the docs: 360 conditions, some 5 minutes of CPU
python -m benchmarks.correction                         # 60 of them
python -m benchmarks.run --only correction              # the chosen method, for docs/reference/measurements.md

A run has five records per label. Judges get 1s right with TPR and 0s with TNR; in clusters, records share their truth
and the judge's mistake with an intraclass correlation of 0.3.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from steelyard.stats import JudgedLabels, corrected_difference, corrected_mean

Array = NDArray[np.float64]
SEED = 20_261_123
DRAWS = 400
RECORDS_PER_LABEL = 5
SHARED = math.sqrt(0.3)
"""Chance of a record to take what its cluster shares; two of one cluster then correlate by its square."""
LABELS = (30, 100, 400)
JUDGES = ((0.6, 0.6), (0.9, 0.9), (0.98, 0.98))
RATES = (0.02, 0.1, 0.5, 0.9)
SIZES = (1, 5)
FULL_LABELS = (30, 60, 100, 200, 400)
FULL_JUDGES = (*JUDGES, (0.6, 0.98), (0.98, 0.6))
FULL_RATES = (*RATES, 0.3, 0.98)
FULL_SIZES = (1, 2, 5)
METHODS = ("chosen", "labels alone", "ppi++", "Rogan-Gladen")
Z = 1.959964


class Cell(NamedTuple):
    """One set of conditions: labels, cluster size, a judge, and the true rate."""

    n: int
    size: int
    tpr: float
    tnr: float
    rate: float


class Drawn(NamedTuple):
    """A run: truth and verdict of each record, how many from the first on are labelled, and its cluster."""

    truth: Array
    verdict: Array
    n: int
    cluster: NDArray[np.int_]


class Held(NamedTuple):
    """Of the draws of one cell by one method."""

    holds: float
    width: float


def draw(cell: Cell, rng: Generator) -> Drawn:
    """A run of `cell`; whole clusters are labelled."""
    total = RECORDS_PER_LABEL * cell.n
    cluster = np.arange(total) // cell.size

    def uniform() -> Array:
        own, common = rng.random(total), rng.random(total)[cluster]
        return own if cell.size == 1 else np.where(rng.random(total) < SHARED, common, own)

    truth = (uniform() < cell.rate).astype(float)
    mistake = uniform()
    verdict = np.where(truth == 1, mistake < cell.tpr, mistake >= cell.tnr).astype(float)
    return Drawn(truth, verdict, cell.n, cluster)


def judged(drawn: Drawn, size: int) -> JudgedLabels:
    """What the functions are given: labels of the first records alone."""
    labels = np.where(np.arange(len(drawn.truth)) < drawn.n, drawn.truth, np.nan)
    return JudgedLabels(labels, drawn.verdict, clusters=drawn.cluster.tolist() if size > 1 else None)


def rogan_gladen(drawn: Drawn) -> tuple[float, float]:
    """The delta interval of (q + TNR - 1) / (TPR + TNR - 1), kept in [0, 1]; all of it where it is not defined."""
    truth, verdict = drawn.truth[: drawn.n], drawn.verdict[: drawn.n]
    positives, negatives = int(truth.sum()), int((1 - truth).sum())
    if not positives or not negatives:
        return 0.0, 1.0
    q, tpr, tnr = drawn.verdict.mean(), verdict[truth == 1].mean(), 1 - verdict[truth == 0].mean()
    youden = tpr + tnr - 1
    if youden <= 0:
        return 0.0, 1.0
    rate = (q + tnr - 1) / youden
    variance = q * (1 - q) / len(drawn.verdict) + rate**2 * tpr * (1 - tpr) / positives
    half = Z * math.sqrt(variance + (1 - rate) ** 2 * tnr * (1 - tnr) / negatives) / youden
    return max(0.0, rate - half), min(1.0, rate + half)


def limits(method: str, drawn: Drawn, size: int) -> tuple[float, float]:
    """The interval of one method."""
    if method == "Rogan-Gladen":
        return rogan_gladen(drawn)
    found = corrected_mean(judged(drawn, size), method=None if method == "chosen" else method)  # type: ignore[arg-type]
    if found.interval is None:
        raise RuntimeError(found.reason)
    return found.interval


def measured(cell: Cell, draws: int = DRAWS, methods: tuple[str, ...] = METHODS) -> dict[str, Held]:
    """How often each method holds the rate of `cell`, and its mean width."""
    rng = np.random.default_rng([SEED, *(round(100 * number) for number in cell)])
    holds: Counter[str] = Counter()
    widths = dict.fromkeys(methods, 0.0)
    for _ in range(draws):
        drawn = draw(cell, rng)
        for method in methods:
            low, high = limits(method, drawn, cell.size)
            holds[method] += low - 1e-12 <= cell.rate <= high + 1e-12
            widths[method] += high - low
    return {method: Held(holds[method] / draws, widths[method] / draws) for method in methods}


def cells(*, full: bool = False) -> Iterator[Cell]:
    """Conditions with 30 clusters or more: all, or some of them."""
    judges, rates = (FULL_JUDGES, FULL_RATES) if full else (JUDGES, RATES)
    sizes, labels = (FULL_SIZES, FULL_LABELS) if full else (SIZES, LABELS)
    for size, n, (tpr, tnr), rate in product(sizes, labels, judges, rates):
        if n // size >= 30:
            yield Cell(n, size, tpr, tnr, rate)
    for (tpr, tnr), rate in product(judges, rates):
        yield Cell(150, 5, tpr, tnr, rate)


def summarise(found: dict[Cell, dict[str, Held]], draws: int) -> None:
    """Print the worst and mean coverage by method, the cells below the goal, and widths against labels alone."""
    goal = 0.94 - 2 * math.sqrt(0.94 * 0.06 / draws)
    print("| method | clusters of | mean | worst | cells below |\n|---|---|---|---|---|")
    for method, size in product(METHODS, sorted({cell.size for cell in found})):
        held = [each[method].holds for cell, each in found.items() if cell.size == size]
        below = sum(holds < goal for holds in held)
        row = f"{np.mean(held):.3f} | {min(held):.3f} | {below} of {len(held)}"
        print(f"| {method} | {size} | {row} |")
    for cell, each in found.items():
        if each["chosen"].holds < goal:
            print("below the goal:", cell, each)
    good = [cell for cell in found if min(cell.tpr, cell.tnr) >= 0.9 and 0.1 <= cell.rate <= 0.9 and cell.n >= 100]
    print("| TPR, TNR | n | size | width / labels alone |\n|---|---|---|---|")
    for tpr, n, size in sorted({(cell.tpr, cell.n, cell.size) for cell in good}):
        same = [found[cell] for cell in good if (cell.tpr, cell.n, cell.size) == (tpr, n, size)]
        ratios = [each["chosen"].width / each["labels alone"].width for each in same]
        print(f"| {tpr} | {n} | {size} | {np.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")


def scales(draws: int) -> None:
    """PPI++ of ratings from 1 to 5, and labels alone: coverage and width."""
    print("| labels | noise of the judge | PPI++ holds | labels alone | width / labels alone |\n|---|---|---|---|---|")
    for n, noise, centre in product((30, 100, 400), (0.5, 1.5), (3.0, 4.5)):
        rng = np.random.default_rng([SEED, n, round(10 * noise), round(10 * centre)])
        many = rating(rng.normal(centre, 1.2, 2_000_000))
        truth, held, widths = float(many.mean()), np.zeros(2), np.zeros(2)
        for _ in range(draws):
            quality = rng.normal(centre, 1.2, RECORDS_PER_LABEL * n)
            labels = np.where(np.arange(len(quality)) < n, rating(quality), np.nan)
            data = JudgedLabels(labels, rating(quality + 0.5 + rng.normal(0, noise, len(quality))))
            for place, method in enumerate((None, "labels alone")):
                found = corrected_mean(data, scale=(1, 5), method=method).interval  # type: ignore[arg-type]
                if found is None:
                    raise RuntimeError("ratings that vary have an interval")
                held[place] += found.low <= truth <= found.high
                widths[place] += found.high - found.low
        shares = held / draws
        ratio = widths[0] / widths[1]
        print(f"| {n}, mean {truth:.1f} | {noise} | {shares[0]:.3f} | {shares[1]:.3f} | {ratio:.2f} |", flush=True)


class Difference(NamedTuple):
    """Two targets over the same samples: labels of each, the rates, and how alike the two are sample by sample."""

    n: int
    first: float
    second: float
    shared: float


DIFFERENCES = (
    Difference(60, 0.9, 0.8, 0.5),
    Difference(60, 0.98, 0.9, 0.0),
    Difference(200, 0.6, 0.6, 0.8),
    Difference(200, 0.9, 0.8, 0.5),
    Difference(200, 0.9, 0.8, 0.0),
)


def differences(draws: int) -> Iterator[tuple[str, str, str, str]]:
    """The corrected difference of two targets whose answers to one sample are right or wrong together, or not.

    The same samples of both are labelled. A judge with TPR and TNR of 0.9 judges both.
    """
    for case in DIFFERENCES:
        rng = np.random.default_rng([SEED, 2, case.n, round(100 * case.first), round(10 * case.shared)])
        total, held, width = RECORDS_PER_LABEL * case.n, 0, 0.0
        for _ in range(draws):
            common, together = rng.random(total), rng.random(total) < case.shared
            sides = []
            for rate in (case.first, case.second):
                truth = (np.where(together, common, rng.random(total)) < rate).astype(float)
                verdict = np.where(rng.random(total) < 0.9, truth, 1 - truth)
                sides.append(JudgedLabels(np.where(np.arange(total) < case.n, truth, np.nan), verdict))
            found = corrected_difference(*sides).interval
            if found is None:
                raise RuntimeError("enough labels have an interval")
            held += found.low <= case.first - case.second <= found.high
            width += found.high - found.low
        what = f"{case.first:g} - {case.second:g}, {case.shared:.0%} of samples alike"
        yield f"difference: {what}", str(case.n), f"{held / draws:.3f}", f"{width / draws:.3f}"


def weighted(draws: int) -> Iterator[tuple[str, str, str, str]]:
    """Rates from labels that were drawn with unequal chances: records that the judge fails, `factor` times as often."""
    for n, rate, factor in product((60, 200), (0.1, 0.5, 0.9), (3.0, 10.0)):
        rng = np.random.default_rng([SEED, 3, n, round(100 * rate), round(factor)])
        total, held, width = RECORDS_PER_LABEL * n, 0, 0.0
        for _ in range(draws):
            truth = (rng.random(total) < rate).astype(float)
            verdict = np.where(rng.random(total) < 0.9, truth, 1 - truth)
            chances = np.where(verdict == 0, factor, 1.0)
            chances = np.minimum(1.0, n * chances / chances.sum())
            drawn = rng.random(total) < chances
            data = JudgedLabels(np.where(drawn, truth, np.nan), verdict, weights=1 / chances)
            found = corrected_mean(data).interval
            if found is None:
                raise RuntimeError("enough labels have an interval")
            held += found.low <= rate <= found.high
            width += found.high - found.low
        what = f"rate {rate:g}, what the judge fails drawn {factor:g} times as often"
        yield f"weights: {what}", str(n), f"{held / draws:.3f}", f"{width / draws:.3f}"


def measure(draws: int = DRAWS) -> list[str]:
    """The table of the page on benchmarks: means, differences and weighted labels by the chosen method."""
    rows = []
    for size, n, rate in product(SIZES, (100, 400), RATES):
        cell = Cell(n, size, 0.9, 0.9, rate)
        if n // size >= 30:
            held = measured(cell, draws, ("chosen",))["chosen"]
            clusters = f", clusters of {size}" if size > 1 else ""
            rows.append((f"mean: rate {rate:g}{clusters}", str(n), f"{held.holds:.3f}", f"{held.width:.3f}"))
    rows += [*differences(draws), *weighted(draws)]
    head = ("what, with a judge of TPR and TNR 0.9", "labels", "95 % interval holds", "mean width")
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]


def rating(quality: Array) -> Array:
    """Whole numbers from 1 to 5."""
    return np.clip(np.round(quality), 1, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--full", action="store_true")
    draws, full = parser.parse_args().draws, parser.parse_args().full
    found = {}
    for cell in cells(full=full):
        found[cell] = measured(cell, draws)
        print(f"\r{len(found)} cells", end="", file=sys.stderr)
    summarise(found, draws)
    for cell in (Cell(30, 1, 0.9, 0.9, 0.02), Cell(30, 1, 0.98, 0.98, 0.02), Cell(100, 1, 0.9, 0.9, 0.1)):
        print(cell, {method: (held.holds, round(held.width, 3)) for method, held in measured(cell, draws).items()})
    scales(draws)


if __name__ == "__main__":
    main()
