"""The consensus of several raters of unknown quality: Dawid and Skene's estimate of the truth and of their errors.

A majority gives every rater one vote. This model learns from the ratings alone how often each rater confuses one
category with another, and weighs votes accordingly. It needs raters who err independently of each other given the
truth: judges of one family, or with one prompt, do not, and the model then takes their common errors for the truth.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_SMALLEST: Final = 1e-300
"""Used in place of a probability of 0 in a logarithm."""


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """The estimated truth behind ratings, and the estimated errors of each rater.

    Args:
        categories: sorted; by their text where they cannot be compared.
        shares: how often each category is the true one, of all units.
        errors: (raters, true category, rated category), each row a distribution: how often a rater gives which
            category.
        chances: (units, categories), the probability that each category is the true one of a unit.
        raters: in the order of `errors`.
        log_likelihood: of the ratings.
        iterations: until convergence.
        converged: whether they ended before the limit.
    """

    categories: tuple[Hashable, ...]
    shares: Array
    errors: Array
    chances: Array
    raters: tuple[Hashable, ...]
    log_likelihood: float
    iterations: int
    converged: bool

    def verdicts(self) -> list[Hashable | None]:
        """The likeliest category of each unit; None where two are equally likely, or nobody rated it."""
        import numpy as np

        order = np.sort(self.chances, axis=1)
        tied = np.isclose(order[:, -1], order[:, -2]) if order.shape[1] > 1 else np.zeros(len(order), dtype=bool)
        best = self.chances.argmax(axis=1)
        return [None if tie else self.categories[at] for at, tie in zip(best.tolist(), tied.tolist(), strict=True)]


def dawid_skene(
    ratings: Iterable[Iterable[Hashable | None]],
    *,
    raters: Sequence[Hashable] | None = None,
    most: int = 20_000,
    tolerance: float = 1e-8,
) -> Consensus:
    """Estimate true categories and the errors of raters by expectation and maximisation.

    With T_uj the chance that j is the true category of unit u and n_urk how often rater r called it k:

        p_j = mean_u T_uj        pi_rjk = sum_u T_uj n_urk / sum_uk T_uj n_urk        T_uj ~ p_j prod_rk pi_rjk^n_urk

    beginning with T_uj as the share of votes for j, until no T changes by more than `tolerance`. That start decides
    which category is which: where raters are mostly worse than chance, categories are swapped.

    Args:
        ratings: one list per rater, of equal length; None or NaN is missing.
        raters: a name per list; lists of equal names are several ratings by one rater. None: all are different.
        most: largest number of iterations.
        tolerance: see above.

    Raises:
        ValueError: no rating, lists of different lengths, or a name too many or too few.

    Source: A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm",
    Applied Statistics 28, 1979, equations 2.3 to 2.5, started as in 3.1.

    >>> consensus = dawid_skene([[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0]])
    >>> consensus.verdicts(), consensus.errors[2].round(2).tolist()
    ([1, 1, 1, 0, 0, 0], [[0.67, 0.33], [0.33, 0.67]])
    """
    import numpy as np

    lists = [list(entries) for entries in ratings]
    names = list(range(len(lists))) if raters is None else list(raters)
    if len(names) != len(lists):
        raise ValueError(f"{len(lists)} lists of ratings and {len(names)} names of raters: give one name per list")
    if len({len(entries) for entries in lists}) > 1:
        raise ValueError("lists of ratings have one entry per unit (None for a missing one); these differ in length")
    counts, categories, distinct = _counted(lists, names)
    votes = counts.sum(axis=(1, 2))
    if not votes.any():
        raise ValueError("a consensus needs ratings, but there are none")
    # Few different ratings of a unit occur, and units with equal ratings have the same chances.
    flat = counts[votes > 0].reshape(int((votes > 0).sum()), -1)
    patterns, pattern_of_unit, units = np.unique(flat, axis=0, return_inverse=True, return_counts=True)
    known = patterns.reshape(len(patterns), len(distinct), len(categories))
    chances = known.sum(axis=1) / known.sum(axis=(1, 2))[:, None]
    change, iterations, likelihood = math.inf, 0, 0.0
    shares, errors = _rates(known, chances, units)
    while change > tolerance and iterations < most:
        before = chances
        chances, logs = _chances(known, shares, errors)
        shares, errors = _rates(known, chances, units)
        change, likelihood = float(np.abs(chances - before).max()), float(units @ logs)
        iterations += 1
    everywhere = np.full((len(votes), len(categories)), 1 / len(categories))
    everywhere[votes > 0] = chances[pattern_of_unit.reshape(-1)]
    return Consensus(categories, shares, errors, everywhere, distinct, likelihood, iterations, change <= tolerance)


def _counted(
    lists: Sequence[Sequence[Hashable | None]], names: Sequence[Hashable]
) -> tuple[Array, tuple[Hashable, ...], tuple[Hashable, ...]]:
    """(units, raters, categories): how often each rater gave each category to a unit."""
    import numpy as np

    values = {value for entries in lists for value in entries if not _is_missing(value)}
    try:
        categories = tuple(sorted(values))  # type: ignore[type-var]  # numbers or texts; a mixture has no order
    except TypeError:
        categories = tuple(sorted(values, key=repr))
    code = {category: at for at, category in enumerate(categories)}
    row = {name: at for at, name in enumerate(dict.fromkeys(names))}
    counts = np.zeros((len(lists[0]) if lists else 0, len(row), len(categories)))
    for name, entries in zip(names, lists, strict=True):
        for unit, value in enumerate(entries):
            if not _is_missing(value):
                counts[unit, row[name], code[value]] += 1
    return counts, categories, tuple(row)


def _is_missing(value: Hashable | None) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _rates(counts: Array, chances: Array, units: Array) -> tuple[Array, Array]:
    """Shares of the categories and errors of the raters, given the chances of each rating pattern and its units."""
    import numpy as np

    rated = np.einsum("uj,urk->rjk", chances * units[:, None], counts)
    totals = rated.sum(axis=2, keepdims=True)
    even = np.full_like(rated, 1 / rated.shape[2])
    return units @ chances / units.sum(), np.divide(rated, totals, out=even, where=totals > 0)


def _chances(counts: Array, shares: Array, errors: Array) -> tuple[Array, Array]:
    """Per rating pattern, the chance of each category to be the true one, and the log likelihood of the ratings."""
    import numpy as np

    logs = np.log(np.maximum(shares, _SMALLEST)) + np.einsum(
        "urk,rjk->uj", counts, np.log(np.maximum(errors, _SMALLEST))
    )
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - top)
    sums = weights.sum(axis=1, keepdims=True)
    return weights / sums, (top + np.log(sums))[:, 0]
