"""The budget of an evaluation while it runs: opened with what earlier sittings spent, and ended by its minutes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from steelyard.models.budget import Budget, Purse
from steelyard.models.prices import PriceTable
from steelyard.models.tolls import Terms
from steelyard.session.session import Session
from steelyard.store import Store
from steelyard.suite.objects import Options

_AGAIN_S: Final = 0.2
_BOOKED_EVERY_S: Final = 5.0
"""A killed process forgets no more of its time than this; calls put down theirs as well."""


def terms_of(options: Options, prices: PriceTable | None, store: Store, evaluation: int) -> Terms:
    """On what terms an evaluation goes on.

    Raises:
        ConfigError: it has spent in another currency than that of `prices`.
    """
    currency = prices.currency if prices is not None else ""
    if options.budget == Budget() and prices is None:
        return Terms(None, options.rates)
    spent = store.spending(evaluation, currency=currency)
    purse = Purse(options.budget, spent, store.journal(evaluation), currency=currency)
    return Terms(purse, options.rates, prices)


@contextlib.asynccontextmanager
async def in_time(purse: Purse | None, session: Session) -> AsyncIterator[None]:
    """End the runs when the budget's minutes are over, whether or not anything is asked meanwhile."""
    if purse is None or purse.left_s is None:
        yield
        return
    watching = asyncio.create_task(_watch(purse, session))
    try:
        yield
    finally:
        watching.cancel()
        purse.book_time()


async def _watch(purse: Purse, session: Session) -> None:
    while (left := purse.left_s or 0.0) > 0:
        await asyncio.sleep(min(left, _BOOKED_EVERY_S))
        purse.book_time()
    while True:  # a run that ended just before leaves the next to be ended as well
        session.halt(purse.out_of_time())
        await asyncio.sleep(_AGAIN_S)
