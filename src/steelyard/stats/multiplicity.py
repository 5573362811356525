"""Several comparisons at once: p-values adjusted so that a whole family of them can be tested at one level.

Twenty comparisons of equal targets at 5 % give one false alarm on average. Holm keeps the chance of any false alarm in
the family; Benjamini and Hochberg keep the expected share of false ones among the differences that are reported.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: reject where one is below 1 - level, and the chance of any false alarm is below that.

    With p_(1) <= ... <= p_(m): adjusted p_(i) = max over j <= i of min(1, (m - j + 1) p_(j)).

    It holds however the tests depend on each other, and is never less powerful than Bonferroni's m p. For few
    comparisons that must all be right: several targets against one baseline.

    Args:
        p_values: each in [0, 1], in any order; none gives an empty list.

    Returns the adjusted values in the order of `p_values`; equal values stay equal.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
    1979; as adjusted values, S. P. Wright, Biometrics 48, 1992.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = _ascending(p_values)
    adjusted = [0.0] * len(order)
    reached = 0.0
    for rank, index in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = reached
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values: among those below q, at most a share q is false on average.

    With p_(1) <= ... <= p_(m): adjusted p_(i) = min over j >= i of min(1, m p_(j) / j).

    It holds for independent tests and for positively dependent ones, as for groups of the same two runs. For many
    comparisons of which some may be wrong: one per group.

    Args:
        p_values: each in [0, 1], in any order; none gives an empty list.

    Returns the adjusted values in the order of `p_values`; equal values stay equal.

    Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995; positive dependence:
    Y. Benjamini and D. Yekutieli, Annals of Statistics 29, 2001.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    order = _ascending(p_values)
    adjusted = [0.0] * len(order)
    reached = 1.0
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        reached = min(reached, len(order) * p_values[index] / rank)
        adjusted[index] = reached
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    """Positions of the values, smallest first."""
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value lies between 0 and 1, not {p}")
    return sorted(range(len(p_values)), key=p_values.__getitem__)
