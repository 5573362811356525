"""How often the bootstrap interval of a coefficient of agreement holds the true value.

Its table is in docs/reference/measurements.md.

python benchmarks/agreement.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steelyard.stats import Coefficient, cohen_kappa, krippendorff_alpha, pearson, spearman

SEED = 20_261_122
DRAWS = 600
UNITS = (20, 50, 200)
CLUSTER_SIZE = 5

Raters = Sequence[np.ndarray]
Draw = Callable[[np.random.Generator, np.ndarray], Raters]


def numbers(rng: np.random.Generator, truth: np.ndarray) -> Raters:
    """Two numbers that correlate with 0.8."""
    return truth, 0.8 * truth + 0.6 * rng.normal(size=len(truth))


def ratings(rng: np.random.Generator, truth: np.ndarray, raters: int = 2) -> Raters:
    """Ratings from 1 to 5 of the same quality, each with an error of its own."""
    noise = rng.normal(size=(raters, len(truth)))
    return [np.clip(np.round(3 + 1.2 * truth + 0.7 * own), 1, 5) for own in noise]


def passes(rng: np.random.Generator, truth: np.ndarray) -> Raters:
    """Passes of 80 %, of which each of two raters gets one in ten wrong."""
    good = truth > -0.8416
    return [(good ^ (rng.random(len(truth)) < 0.1)).astype(float) for _ in range(2)]


COEFFICIENTS: dict[str, tuple[Draw, Callable[..., Coefficient]]] = {
    "Pearson, numbers": (numbers, lambda raters, **options: pearson(*raters, **options)),
    "Spearman, 1 to 5": (ratings, lambda raters, **options: spearman(*raters, **options)),
    "kappa, pass or fail": (passes, lambda raters, **options: cohen_kappa(*raters, **options)),
    "kappa, quadratic, 1 to 5": (
        ratings, lambda raters, **options: cohen_kappa(*raters, weights="quadratic", **options),
    ),
    "alpha, ordinal, three raters": (
        lambda rng, truth: ratings(rng, truth, 3),
        lambda raters, **options: krippendorff_alpha(raters, scale="ordinal", **options),
    ),
}  # fmt: skip


def coverage(name: str, units: int, *, clusters: bool) -> tuple[float, float, float]:
    """Share of intervals that hold the true value, their mean width, and the share of samples without an interval."""
    draw, coefficient = COEFFICIENTS[name]
    rng = np.random.default_rng(SEED)
    many = rng.normal(size=20_000)
    true = float(coefficient(draw(rng, many)).value or 0)
    held, widths, none = 0, 0.0, 0
    for seed in range(DRAWS):
        options: dict[str, Any] = {"seed": seed}
        truth = rng.normal(size=units)
        if clusters:
            # Units of a cluster share half of their variance.
            shared = np.repeat(rng.normal(size=units // CLUSTER_SIZE), CLUSTER_SIZE)
            truth = np.sqrt(0.5) * (truth + shared)
            options["clusters"] = np.repeat(np.arange(units // CLUSTER_SIZE), CLUSTER_SIZE).tolist()
        found = coefficient(draw(rng, truth), **options)
        if found.interval is None:
            none += 1
            continue
        held += found.interval.low <= true <= found.interval.high
        widths += found.interval.high - found.interval.low
    return held / (DRAWS - none), widths / (DRAWS - none), none / DRAWS


def main() -> None:
    print("| coefficient | n | holds | width | without |\n|---|---|---|---|---|")
    for name in COEFFICIENTS:
        for units, clusters in (*((units, False) for units in UNITS), (100, True)):
            held, width, none = coverage(name, units, clusters=clusters)
            label = f"{units} in {units // CLUSTER_SIZE} clusters" if clusters else f"{units}"
            print(f"| {name} | {label} | {100 * held:.1f} % | {width:.2f} | {100 * none:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
