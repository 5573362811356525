"""What a worker is told when it starts: the suite without its samples, where the store is, and its share of the limits.

It goes to the worker as a pickle through a pipe of its own, never as an argument, and holds references to secrets, not
their values: a worker resolves them in its own environment.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.models.budget import UNPROVEN, Budget
from steelyard.models.prices import PriceTable
from steelyard.models.rate_limit import Rates
from steelyard.suite.objects import Suite
from steelyard.suite.sides import CommonSamples

STORE_FAILED: Final = 75
"""Exit code of a worker that lost the store: another may be started in its place (EX_TEMPFAIL of sysexits.h)."""


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """The work of one process.

    Args:
        suite: without samples.
        where: the address of the store.
        evaluation: its number.
        runs: ids of its unfinished runs, in order.
        plan: names the sitting for which leases were cut.
        slot: the worker's number, from 0.
        workers: how many there are.
        owner: a name that no other process has.
        prices: of tokens.
        unsafe_sql: see `RunConfig`.
        restarted: whether an earlier process of this slot ended before it was done.
    """

    suite: Suite
    where: str | Path | None
    evaluation: int
    runs: tuple[str, ...]
    plan: str
    slot: int
    workers: int
    owner: str
    prices: PriceTable | None = None
    unsafe_sql: bool = False
    restarted: bool = False

    @property
    def concurrency(self) -> int:
        """Samples that this worker may have in flight."""
        return share(self.suite.options.concurrency, self.slot, self.workers)

    @property
    def unproven(self) -> int:
        """Calls that it may have in flight at an endpoint without a good reply."""
        return max(1, share(UNPROVEN, self.slot, self.workers))

    @property
    def rates(self) -> Rates:
        """What it may send to each endpoint in a minute."""
        rates = self.suite.options.rates
        return Rates(
            *(
                None if limit is None else share(limit, self.slot, self.workers)
                for limit in (rates.requests_per_minute, rates.tokens_per_minute)
            )
        )

    @property
    def has_budget(self) -> bool:
        """Whether each call is booked."""
        return self.suite.options.budget != Budget() or self.prices is not None


def share(whole: int, slot: int, workers: int) -> int:
    """The part of a limit that one of several workers may use; all parts together are the whole.

    >>> [share(10, slot, 4) for slot in range(4)]
    [3, 3, 2, 2]
    """
    return whole // workers + (slot < whole % workers)


def most_workers(suite: Suite, wanted: int) -> int:
    """How many workers can have a share of every limit."""
    limits = (suite.options.concurrency, suite.options.rates.requests_per_minute, suite.options.rates.tokens_per_minute)
    return min(wanted, *(limit for limit in limits if limit is not None))


def without_samples(suite: Suite) -> Suite:
    """The suite as a worker gets it: samples come from the store."""
    return suite if isinstance(suite.samples, CommonSamples) else replace(suite, samples=())


def packed(value: object) -> bytes:
    """A pickle of what a worker is given.

    Raises:
        ConfigError: a part of the suite cannot be handed to another process.
    """
    try:
        data = pickle.dumps(value)
    except Exception as error:  # whatever the user's own objects raise
        raise ConfigError(
            f"workers are processes of their own, and a part of this suite cannot be handed to them ({error}): define "
            "functions and classes at the top of a module that can be imported, and keep open files and connections "
            "out of them"
        ) from error
    if b"__main__" in data:
        _refuse_main(value)
    return data


def _refuse_main(value: object) -> None:
    """Refuse objects of the script that was started: another process cannot import them.

    Raises:
        ConfigError: which one.
    """

    class Finder(pickle.Pickler):
        def reducer_override(self, part: Any) -> Any:
            if getattr(part, "__module__", "") == "__main__" and hasattr(part, "__qualname__"):
                raise ConfigError(
                    f"{part.__qualname__} is defined in the script that was started, where workers cannot import it: "
                    "move it to a module of its own"
                )
            return NotImplemented

    Finder(io.BytesIO()).dump(value)
