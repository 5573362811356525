"""pass@k and pass^k: how often at least one, and how often each, of k attempts at a task passes.

Both are estimated without bias from n >= k attempts of which c passed: of all ways to draw k of the n attempts, the
share that holds a pass (pass@k), or nothing but passes (pass^k). They are averaged over the tasks.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.bootstrap import percentile_bootstrap
from steelyard.stats.intervals import Interval, check_level, mean_interval


def pass_at_k(n: int, passed: int, k: int) -> float:
    """The chance that at least one of k attempts passes: 1 - C(n - c, k) / C(n, k).

    Args:
        n: attempts at one task, n >= k.
        passed: how many of them passed, 0 <= passed <= n.
        k: attempts that one is allowed, k >= 1.

    Raises:
        ValueError: a count is out of range; from fewer than k attempts there is no unbiased estimate.

    Source: M. Chen et al., "Evaluating large language models trained on code", 2021, equation 1.

    >>> pass_at_k(4, 2, 1), round(pass_at_k(4, 2, 2), 4)
    (0.5, 0.8333)
    """
    _check(n, passed, k)
    return 1 - comb(n - passed, k) / comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float:
    """The chance that each of k attempts passes (pass^k): C(c, k) / C(n, k).

    Args:
        n: attempts at one task, n >= k.
        passed: how many of them passed, 0 <= passed <= n.
        k: attempts that all have to pass, k >= 1.

    Raises:
        ValueError: a count is out of range; from fewer than k attempts there is no unbiased estimate.

    Source: S. Yao et al., "tau-bench: a benchmark for tool-agent-user interaction in real-world domains", 2024,
    section 4.

    >>> pass_hat_k(4, 2, 1), round(pass_hat_k(4, 2, 2), 4)
    (0.5, 0.1667)
    """
    _check(n, passed, k)
    return comb(passed, k) / comb(n, k)


class MeanPass(NamedTuple):
    """The mean of pass@k or of pass^k over tasks; `interval` is None for fewer than two independent tasks."""

    value: float
    interval: Interval | None


def mean_pass(chances: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> MeanPass:
    """The mean of the tasks' chances, with the percentile bootstrap interval over tasks.

    The attempts at a task are not resampled: an estimate without bias has their spread in it. Where all tasks have the
    same chance, so that resampling shows no spread, the interval is Wilson's over the tasks, see `mean_interval`.

    Args:
        chances: of each task, from `pass_at_k` or `pass_hat_k`; at least one.
        clusters: a number per task, equal for tasks that are not independent; None where all are.
        level: confidence level in (0, 1).

    >>> mean_pass([1.0, 0.5, 0.0, 0.5]).value
    0.5
    >>> mean_pass([1.0] * 10).interval.rounded(2)
    (0.66, 1.0)
    """
    check_level(level)
    interval = percentile_bootstrap(chances, clusters=clusters, level=level)
    if interval is None:
        interval = mean_interval(chances, clusters=clusters, level=level, scale=(0.0, 1.0))
    return MeanPass(float(np.asarray(chances, dtype=float).mean()), interval)


def _check(n: int, passed: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"k lies between 1 and the number of attempts, {n}, not {k}")
    if not 0 <= passed <= n:
        raise ValueError(f"of {n} attempts 0 to {n} passed, not {passed}")
