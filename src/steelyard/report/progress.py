"""Texts on a running evaluation for a terminal and a live page: rates, time, budget and retries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from steelyard.analysis.numbers import count_text, duration_text, money_text, percent_text
from steelyard.models.prices import Spent, units

_FAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rate_limit": "429 too many requests",
        "server": "server error",
        "connection": "connection lost",
        "timeout": "timeout",
        "malformed": "malformed reply",
        "empty": "empty reply",
    }
)
"""Texts for kinds of faults that are retried; any other kind is shown unchanged."""


def fault_text(kind: str) -> str:
    """Why an attempt failed, in words.

    >>> fault_text("rate_limit"), fault_text("refused by proxy")
    ('429 too many requests', 'refused by proxy')
    """
    return _FAULTS.get(kind, kind)


def retry_text(retries: Mapping[str, int]) -> str:
    """How many attempts were retried and why, most frequent first; "" where none was.

    Args:
        retries: kind of fault -> failed attempts that were retried.

    >>> retry_text({"timeout": 1, "rate_limit": 12})
    '13 retries (429 too many requests 12, timeout 1)'
    """
    if not (total := sum(retries.values())):
        return ""
    by_kind = sorted(retries.items(), key=lambda item: -item[1])
    return f"{count_text(total, 'retry')} ({', '.join(f'{fault_text(kind)} {n:,}' for kind, n in by_kind)})"


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """One limit of a budget: what it limits, and how much is used.

    Args:
        name: `calls`, `tokens`, `money` or `time`.
        used: as text; likewise `limit`.
        share: used part of the limit; more than 1 where calls in flight exceeded it.
    """

    name: str
    used: str
    limit: str
    share: float

    def __str__(self) -> str:
        return f"{self.name} {self.used} of {self.limit} ({percent_text(self.share, 0)})"


def budget_use(limits: Mapping[str, Any], spent: Spent, currency: str) -> tuple[BudgetUse, ...]:
    """How much of each limit of a budget is used.

    Args:
        limits: `calls`, `tokens`, `money` and `minutes`, each a number or None, as a run's manifest holds them.
        spent: by all runs of the evaluation, resumes included.
        currency: of the money.

    >>> [str(use) for use in budget_use({"calls": 1000, "money": 2}, Spent(120, 0, 500_000_000, 0), "EUR")]
    ['calls 120 of 1,000 (12 %)', 'money 0.50 of 2.00 EUR (25 %)']
    """
    money, minutes = limits.get("money"), limits.get("minutes")
    uses = [
        BudgetUse(name, f"{used:,}", f"{limits[name]:,}", _share(used, limits[name]))
        for name, used in (("calls", spent.calls), ("tokens", spent.tokens))
        if limits.get(name) is not None
    ]
    if money is not None:
        used = units(spent.money)
        uses.append(BudgetUse("money", money_text(used, ""), money_text(money, currency), _share(used, money)))
    if minutes is not None:
        seconds = spent.millis / 1000
        uses.append(
            BudgetUse("time", duration_text(seconds), duration_text(60 * minutes), _share(seconds, 60 * minutes))
        )
    return tuple(uses)


def _share(used: float, limit: float) -> float:
    return used / limit if limit else 1.0
