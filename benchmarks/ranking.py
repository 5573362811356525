"""Bradley-Terry ratings beside evalica's on the same coded battles: time, distance from the maximum, and coverage.

    python -m benchmarks.ranking

Both get models as integers in arrays, which evalica, too, takes faster than lists; its winners are a list of its own
kind. What turning names into integers costs is in neither figure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import evalica
import numpy as np

from steelyard.stats.ranking import Battles, bradley_terry, coded, count_battles, elo
from steelyard.stats.ranking_order import rank

MODELS = 50
SIZES = (1000, 100_000, 1_000_000)
ROUNDS = 7
RESAMPLES = 20
DRAWS = 400
ELO_POINTS = elo(1.0) - elo(0.0)


@dataclass(frozen=True)
class Case:
    """Battles in both forms."""

    name: str
    battles: Battles
    columns: tuple[np.ndarray, np.ndarray, list[Any]]


def case(name: str, first: np.ndarray, second: np.ndarray, score: np.ndarray) -> Case:
    winners = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    return Case(name, coded(first, second, score), (first, second, [winners[one] for one in score.tolist()]))


def arena(battles: int, models: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Battles of random pairs, a fifth of them ties."""
    strengths = rng.normal(size=models)
    first = rng.integers(0, models, battles)
    second = (first + rng.integers(1, models, battles)) % models
    return first, second, decided(strengths, first, second, rng, ties=0.2)


def decided(
    strengths: np.ndarray, first: np.ndarray, second: np.ndarray, rng: np.random.Generator, *, ties: float = 0.0
) -> np.ndarray:
    won = rng.random(len(first)) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return np.where(rng.random(len(first)) < ties, 0.5, won.astype(float))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for size in SIZES:
        yield case(f"{MODELS} models, random pairs", *arena(size, MODELS, rng))
    first = np.repeat(np.arange(200), 100)
    second = (first + 1) % 200
    score = decided(np.random.default_rng(0).normal(size=200), first, second, np.random.default_rng(1))
    yield case("ring of 200 models", first, second, score)
    a, b = np.triu_indices(20, 1)
    yield case("20 models, the better always wins", np.repeat(a, 50), np.repeat(b, 50), np.ones(50 * len(a)))


def ours(one: Case) -> np.ndarray:
    """From the arrays on, checks included."""
    given = one.battles
    battles = coded(given.first, given.second, given.score, models=given.models)
    return bradley_terry(count_battles(battles)).strengths


def theirs(one: Case, **options: Any) -> np.ndarray:
    found = evalica.bradley_terry(*one.columns, **options).scores.sort_index().to_numpy()
    logs = np.log(found)
    return logs - logs.mean()


def best(run: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return min(taken)


def in_order(strengths: np.ndarray) -> str:
    return "order kept" if (np.diff(strengths) < -1e-9).all() else "order lost"


def fits() -> Iterator[str]:
    yield "| battles | of | steelyard ms | evalica ms | times | steelyard off by | evalica off by |"
    yield "|---|---|---|---|---|---|---|"
    for one in cases():
        seconds = [best(lambda one=one: ours(one), ROUNDS), best(lambda one=one: theirs(one), 3)]
        if "always" in one.name:
            errors = [in_order(strengths) for strengths in (ours(one), theirs(one))]
        else:
            # Its own iteration, run until nothing moves any more, is independent of ours.
            exact = theirs(one, tolerance=1e-14, limit=2_000_000)
            gaps = [float(np.abs(strengths - exact).max()) for strengths in (ours(one), theirs(one))]
            errors = [f"{gap:.0e} log units, {gap * ELO_POINTS:.1g} Elo" for gap in gaps]
        figures = f"{1000 * seconds[0]:.2f} | {1000 * seconds[1]:.1f} | {seconds[1] / seconds[0]:.1f}"
        yield f"| {len(one.columns[0]):,} | {one.name} | {figures} | {errors[0]} | {errors[1]} |"


def resampling() -> Iterator[str]:
    one = case("", *arena(100_000, MODELS, np.random.default_rng(2)))
    started = time.perf_counter()
    count = rank(one.battles).resamples
    own = (time.perf_counter() - started) / count
    started = time.perf_counter()
    evalica.bootstrap(
        evalica.bradley_terry, *one.columns, n_resamples=RESAMPLES, bootstrap_method="percentile", random_state=0
    )
    other = (time.perf_counter() - started) / RESAMPLES
    yield "| intervals by resampling, 100,000 battles, 50 models | ms a resample |"
    yield "|---|---|"
    yield f"| steelyard, {count:,} resamples, ranks and sets included | {1000 * own:.2f} |"
    yield f"| evalica, {RESAMPLES} resamples, percentile | {1000 * other:.1f} |"


def panel(strengths: np.ndarray, prompts: int, rng: np.random.Generator) -> Battles:
    """Every pair on every prompt, by qualities that the models have there: a prompt's battles hang together."""
    a, b = np.triu_indices(len(strengths), 1)
    quality = strengths + rng.gumbel(size=(prompts, len(strengths)))
    score = (quality[:, a] > quality[:, b]).astype(float).reshape(-1)
    cluster = np.repeat(np.arange(prompts), len(a))
    return coded(np.tile(a, prompts), np.tile(b, prompts), score, models=len(strengths), cluster=cluster)


def coverage() -> Iterator[str]:
    yield "| models | prompts | strengths | intervals hold | by battle | all ranks hold | equals told apart |"
    yield "|---|---|---|---|---|---|---|"
    for models, prompts, top in ((2, 20, 0.5), (5, 10, 0.5), (5, 20, 0.5), (5, 100, 0.5), (10, 20, 1.0), (10, 50, 1.0)):
        rng = np.random.default_rng(models * 1000 + prompts)
        truth = np.linspace(top, -top, models)
        rates = np.mean([held(truth, panel(truth, prompts, rng), seed) for seed in range(DRAWS)], axis=0)
        equal = (panel(0 * truth, prompts, rng) for _ in range(DRAWS))
        apart = np.mean([rank(one, seed=seed).above.any() for seed, one in enumerate(equal)])
        shares = " | ".join(f"{rate:.3f}" for rate in (*rates, apart))
        yield f"| {models} | {prompts} | {top:+g} to {-top:+g} | {shares} |"


def held(truth: np.ndarray, battles: Battles, seed: int) -> tuple[float, float, float]:
    """Share of intervals that hold, of those that take each battle for independent, and whether all ranks do."""
    found, alone = (rank(one, seed=seed) for one in (battles, battles._replace(cluster=None)))
    shares = [
        np.mean([low <= one <= high for (low, high), one in zip(each.intervals, truth, strict=True)])
        for each in (found, alone)
    ]
    ranks = all(low <= place <= high for place, (low, high) in enumerate(found.ranks, 1))
    return float(shares[0]), float(shares[1]), float(ranks)


def measure() -> list[str]:
    """The tables' lines, measured now."""
    return [*fits(), "", *resampling(), "", *coverage()]


if __name__ == "__main__":
    print("\n".join(measure()))
