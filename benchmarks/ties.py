"""Coverage and width of the interval of wins, ties and losses.

Independent comparisons are summed exactly: every split of n has its probability, and there is no draw. Clusters and
macro averages are simulated with fixed seeds. Only splits with a tie count in the sums, as without one the interval is
Wilson's. A cell is a share of wins and one of ties; the truth is P(win) + P(tie) / 2. `python -m benchmarks.ties` names
the ten worst cells over every n from 10 to 200.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.binomial import wilson_with_ties, wilson_with_ties_clustered
from steelyard.stats.intervals import Interval, mean_interval
from steelyard.stats.quantiles import beta_quantile
from steelyard.stats.stratified import stratified_mean

Array = NDArray[np.float64]

SIZES = (10, 11, 15, 20, 30, 50, 100, 200)
WINS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
TIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
CELLS = [(win, tie, max(0.0, 1 - win - tie)) for win in WINS for tie in TIES if win + tie < 1 + 1e-9]
ROUNDING = 1e-12


def measure() -> list[str]:
    """Three tables: the worst cell's coverage by number of comparisons, then clusters and macro averages."""
    methods = ("Student's t", "score with ties")
    return [
        "Independent comparisons, exactly: coverage in the worst cell, and mean width over the cells.",
        "",
        *_lines(
            ("n", "Student's t", "Clopper-Pearson at wins + ties / 2", "score with ties", *("width",) * 3), _exact()
        ),
        "",
        "Comparisons in clusters (clusters x size; shares of wins and ties; intra-cluster correlation), simulated.",
        "",
        *_lines(("clusters", *methods, "width", "width"), _clustered()),
        "",
        "Macro averages over groups (sizes; shares of wins and ties), simulated.",
        "",
        *_lines(("groups", *methods, "width", "width"), _macro()),
    ]


def _lines(head: Sequence[str], rows: Iterator[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _exact() -> Iterator[Sequence[str]]:
    for n in SIZES:
        results = [_coverage(interval, n) for interval in (_student, _clopper_pearson, wilson_with_ties)]
        yield [str(n), *(f"{min(covered):.3f}" for covered, _ in results), *(f"{width:.3f}" for _, width in results)]


def _coverage(interval: Callable[[int, int, int], Interval], n: int) -> tuple[list[float], float]:
    """Coverage in each cell, and the expected width averaged over the cells."""
    splits = [(wins, ties, n - wins - ties) for wins in range(n) for ties in range(1, n + 1 - wins)]
    low, high = np.array([interval(*split) for split in splits]).T
    covered, widths = [], []
    for cell in CELLS:
        chance = _chances(splits, cell)
        truth = cell[0] + cell[1] / 2
        covered.append(float(chance @ ((low - ROUNDING <= truth) & (truth <= high + ROUNDING))))
        widths.append(float(chance @ (high - low)))
    return covered, float(np.mean(widths))


def _chances(splits: Sequence[tuple[int, int, int]], cell: tuple[float, float, float]) -> Array:
    """The probability of each split among those with a tie."""
    counts = np.array(splits)
    n = int(counts[0].sum())
    factorials = np.array([math.lgamma(k + 1) for k in range(n + 1)])
    # Nothing is lost where no comparison can be: a split with a loss has probability 0 there.
    logs = np.where(counts > 0, counts * np.log(np.maximum(cell, 1e-300)), 0.0).sum(axis=1)
    chances: Array = np.exp(factorials[n] - factorials[counts].sum(axis=1) + logs)
    chances /= chances.sum()
    return chances


CLUSTERED = (
    (10, 5, (0.7, 0.1), 0.3),
    (20, 5, (0.7, 0.1), 0.3),
    (20, 5, (0.85, 0.1), 0.3),
    (50, 4, (0.5, 0.3), 0.2),
    (100, 2, (0.9, 0.05), 0.5),
)
GROUPED = (
    ((34,) * 5, ((0.7, 0.1),) * 5),
    ((100, 30, 20, 10, 10), ((0.45, 0.1), (0.55, 0.1), (0.65, 0.1), (0.75, 0.1), (0.85, 0.1))),
    ((10,) * 6, (*((0.97, 0.02),) * 3, (0.6, 0.2), (0.7, 0.1), (0.8, 0.1))),
    ((5,) * 8, ((0.9, 0.06),) * 8),
)
DRAWS = 2000


def _clustered() -> Iterator[Sequence[str]]:
    for seed, (clusters, size, (win, tie), icc) in enumerate(CLUSTERED):
        rng = np.random.default_rng([8, seed])
        numbers = np.repeat(np.arange(clusters), size)
        # Shares drawn again for each cluster from a Dirichlet distribution give its values this correlation.
        weights = np.array([win, tie, 1 - win - tie]) * (1 - icc) / icc
        limits = []
        for _ in range(DRAWS):
            values = np.concatenate([_draw(rng, rng.dirichlet(weights), size) for _ in range(clusters)])
            student = mean_interval(values, clusters=numbers, scale=(0.0, 1.0)) or Interval(0.0, 1.0)
            limits.append((*student, *wilson_with_ties_clustered(values, clusters=numbers)))
        yield [f"{clusters} x {size}; {win:g}, {tie:g}; {icc:g}", *_held(limits, win + tie / 2)]


def _macro() -> Iterator[Sequence[str]]:
    for seed, (sizes, shares) in enumerate(GROUPED):
        rng = np.random.default_rng([9, seed])
        numbers = np.repeat(np.arange(len(sizes)), sizes)
        chances = [np.array([win, tie, 1 - win - tie]) for win, tie in shares]
        limits = []
        for _ in range(DRAWS):
            values = np.concatenate([_draw(rng, part, size) for part, size in zip(chances, sizes, strict=True)])
            student = stratified_mean(values, numbers, rate=False).interval or Interval(0.0, 1.0)
            limits.append((*student, *(stratified_mean(values, numbers).interval or Interval(0.0, 1.0))))
        kinds = groupby(zip(sizes, shares, strict=True))
        label = ", ".join(f"{len(list(alike))} of {size} at {win:g} + {tie:g}" for (size, (win, tie)), alike in kinds)
        yield [label, *_held(limits, float(np.mean([win + tie / 2 for win, tie in shares])))]


def _draw(rng: np.random.Generator, chances: Array, size: int) -> Array:
    values: Array = rng.choice([1.0, 0.5, 0.0], size=size, p=chances)
    return values


def _held(limits: Sequence[tuple[float, ...]], truth: float) -> list[str]:
    """Coverage of either interval, then the mean width of either."""
    low, high = np.array(limits)[:, ::2], np.array(limits)[:, 1::2]
    covered = ((low - ROUNDING <= truth) & (truth <= high + ROUNDING)).mean(axis=0)
    return [*(f"{share:.3f}" for share in covered), *(f"{width:.3f}" for width in (high - low).mean(axis=0))]


def _student(wins: int, ties: int, losses: int) -> Interval:
    values = [1.0] * wins + [0.5] * ties + [0.0] * losses
    return mean_interval(values, scale=(0.0, 1.0)) or Interval(0.0, 1.0)


def _clopper_pearson(wins: int, ties: int, losses: int) -> Interval:
    """Its limits by the quantiles of the beta distribution, which take a count that is not whole."""
    n, successes = wins + ties + losses, wins + ties / 2
    low = beta_quantile(0.025, successes, n - successes + 1)
    return Interval(low, beta_quantile(0.975, successes + 1, n - successes))


def main() -> None:
    """Print the cells with the lowest coverage."""
    cells = [
        (coverage, n, win, tie)
        for n in range(10, 201)
        for coverage, (win, tie, _) in zip(_coverage(wilson_with_ties, n)[0], CELLS, strict=True)
    ]
    for coverage, n, win, tie in sorted(cells)[:10]:
        print(f"{coverage:.4f} at n = {n}, wins {win:g}, ties {tie:g}")


if __name__ == "__main__":
    main()
