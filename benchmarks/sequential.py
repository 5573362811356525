"""Early stop on simulated judgements: how many calls it takes, and how often it is wrong.

python -m benchmarks.sequential
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from steelyard.stats.sequential import BettingTest, confidence_sequence

Array = NDArray[Any]

SAMPLES = 805
BATCH = 20
BURN_IN = 30
HEAD = (
    *("pairs", "pairs x orders", "rule", "calls, median", "calls, mean", "mean in batches of 20"),
    *("decided", "contradicts the full set", "false about the population"),
)


@dataclass(frozen=True)
class Pair:
    """What the judge would say to every sample, and the mean of all samples that there could be."""

    scores: Array
    mean: float


@dataclass(frozen=True)
class End:
    """After how many calls a rule stopped, what it said (1, 0, -1; None for nothing), and what is the case."""

    n: int
    said: int | None
    full: int
    population: int


Draw = Callable[[Generator], Pair]
Rule = Callable[[Array], tuple[int, int | None]]


def random_models(rng: Generator) -> Pair:
    """Two models at random, each judged against the same third: x = (s - t + 1) / 2, a draw wherever both win or lose.

    Strengths have the spread at which four of five pairs are significant on 805 samples.
    """
    hardness = rng.normal(0, 1.5, SAMPLES)
    strengths = rng.normal(-1, 0.75, 2)
    chances = 1 / (1 + np.exp(hardness - strengths[:, None]))
    first, second = (rng.random(SAMPLES) < row for row in chances)
    return Pair((first * 1.0 - second + 1) / 2, float(strengths[0] - strengths[1]) + 0.5)


def face_to_face(rng: Generator) -> Pair:
    """Two models judged against each other: 10 to 50 % draws, of the others 35 to 65 % for the first."""
    draws, wins = rng.uniform(0.1, 0.5), rng.uniform(0.35, 0.65)
    scores = rng.choice([0.5, 1.0, 0.0], p=[draws, (1 - draws) * wins, (1 - draws) * (1 - wins)], size=SAMPLES)
    return Pair(scores, 0.5 + (1 - draws) * (wins - 0.5))


def neighbours(rng: Generator) -> Pair:
    """Two models of nearly the same strength: 48.5 to 51.5 % of the decided."""
    wins = rng.uniform(0.485, 0.515)
    return Pair(
        rng.choice([0.5, 1.0, 0.0], p=[0.3, 0.7 * wins, 0.7 * (1 - wins)], size=SAMPLES), 0.5 + 0.7 * (wins - 0.5)
    )


def alike(rng: Generator) -> Pair:
    """Two models of exactly the same strength: every decision about the population is a false alarm."""
    return Pair(rng.choice([0.5, 1.0, 0.0], p=[0.3, 0.35, 0.35], size=SAMPLES), 0.5)


def full(scores: Array) -> tuple[int, int | None]:
    """The betting test without replacement."""
    return _bet(scores, len(scores))


def population(scores: Array) -> tuple[int, int | None]:
    """The betting test of the population."""
    return _bet(scores, None)


def _bet(scores: Array, total: int | None) -> tuple[int, int | None]:
    test = BettingTest(total=total)
    for score in scores.tolist():
        test.observe(score)
        if test.decision:
            break
    return test.n, {"above": 1, "equal": 0, "below": -1}.get(test.decision)


def peeking(scores: Array) -> tuple[int, int | None]:
    """What is done without such a test: from 30 samples on, stop at the first |z| > 1.96."""
    counts = np.arange(1, len(scores) + 1)
    means = np.cumsum(scores) / counts
    spread = np.sqrt(np.maximum(np.cumsum(scores**2) / counts - means**2, 1e-12) / counts)
    crossed = np.abs(means - 0.5) > 1.959964 * spread
    crossed[: BURN_IN - 1] = False
    n = int(crossed.argmax()) if crossed.any() else len(scores) - 1
    return n + 1, int(np.sign(means[n] - 0.5)) if crossed[n] else None


def ends(draw: Draw, rule: Rule, pairs: int, orders: int) -> Iterator[End]:
    """The rule on each pair in several random orders; the same pairs and orders for every rule."""
    draws, shuffles = np.random.default_rng(20).spawn(2)
    for _ in range(pairs):
        pair = draw(draws)
        truths = [int(np.sign(round(mean - 0.5, 9))) for mean in (float(pair.scores.mean()), pair.mean)]
        for _ in range(orders):
            yield End(*rule(shuffles.permutation(pair.scores)), *truths)


def line(draw: Draw, rule: Rule, pairs: int, orders: int) -> str:
    """A line of the table."""
    found = list(ends(draw, rule, pairs, orders))
    calls = np.array([end.n for end in found])
    batches = np.minimum(-(-calls // BATCH) * BATCH, SAMPLES)
    shares = (np.median(calls), calls.mean(), batches.mean())
    against_full = sum(end.said not in {None, end.full} for end in found)
    against_population = sum(end.said not in {None, 0, end.population} for end in found)
    cells = (
        draw.__name__.replace("_", " "),
        f"{pairs} x {orders}",
        rule.__name__,
        *(f"{share / SAMPLES:.1%}" for share in shares),
        f"{sum(end.said is not None for end in found) / len(found):.1%}",
        f"{against_full / len(found):.2%}",
        "not asked" if rule is full else f"{against_population / len(found):.2%}",
    )
    return f"| {' | '.join(cells)} |"


def costs() -> list[str]:
    """What an observation and a sequence cost."""
    rng = np.random.default_rng(3)
    scores = rng.choice([0.5, 1.0, 0.0], size=100_000)
    lines = ["| what | question | CPU |", "|---|---|---|"]
    for name, total in (("population", None), ("full", len(scores))):
        test = BettingTest(level=1 - 1e-12, total=total)
        started = time.process_time()
        for score in scores[:20_000].tolist():
            test.observe(score)
        lines.append(f"| an observation | {name} | {(time.process_time() - started) / test.n * 1e6:.1f} µs |")
    for name, total in (("population", None), ("full", 2 * len(scores))):
        started = time.process_time()
        confidence_sequence(scores, total=total, at=range(500, len(scores) + 1, 500))
        lines.append(f"| 200 intervals of 100,000 | {name} | {time.process_time() - started:.2f} s |")
    return lines


def measure() -> list[str]:
    """The table's lines, measured now."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    plan = (
        (random_models, 1500, 2, (full, population, peeking)),
        (face_to_face, 400, 1, (full, population, peeking)),
        (neighbours, 200, 1, (full, population, peeking)),
        (alike, 400, 1, (full, population, peeking)),
    )
    lines += [line(draw, rule, pairs, orders) for draw, pairs, orders, rules in plan for rule in rules]
    return [*lines, "", *costs()]


if __name__ == "__main__":
    print("\n".join(measure()))
