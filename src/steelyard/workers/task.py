"""The task of a worker at its start: the suite without its samples, where the store is, and its share of the limits.

It goes to the worker as a pickle through a pipe of its own, never as an argument, and holds references to secrets, not
their values: a worker resolves them in its own environment.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, expect_number
from steelyard.evaluation.objects import Suite
from steelyard.evaluation.sides import CommonSamples
from steelyard.models.budget import UNPROVEN, Budget
from steelyard.models.prices import PriceTable
from steelyard.sql.sandbox import Permit
from steelyard.store.database.address import Address, locate
from steelyard.store.database.backend import VERSION
from steelyard.store.worker_rows import share

STORE_FAILED: Final = 75
"""Exit code of a worker that lost the store: another may be started in its place (EX_TEMPFAIL of sysexits.h)."""


NAME_ONE: Final = "name one with --store postgresql://user@host/database"
"""What to do about a store in a file."""


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """The work of one process.

    Args:
        suite: without samples.
        where: the address of the store.
        evaluation: its number.
        runs: ids of its unfinished runs, in order.
        plan: names the execution for which leases were cut.
        slot: the worker's number, from 0.
        workers: how many there are.
        owner: a name that no other process has.
        errors_before: id of each run -> errors that it had when this execution began.
        prices: of tokens.
        unsafe_sql: see `RunConfig`.
        permits: see `Sandbox`.
    """

    suite: Suite
    where: str | Path | None
    evaluation: int
    runs: tuple[str, ...]
    plan: str
    slot: int
    workers: int
    owner: str
    errors_before: Mapping[str, int]
    prices: PriceTable | None = None
    unsafe_sql: bool = False
    permits: frozenset[Permit] = frozenset()

    @property
    def concurrency(self) -> int:
        """Samples that this worker may have in flight where all of them live."""
        return share(self.suite.options.concurrency, self.slot, self.workers)

    @property
    def unproven(self) -> int:
        """Calls that it may have in flight at an endpoint without a good reply."""
        return max(1, share(UNPROVEN, self.slot, self.workers))

    @property
    def has_budget(self) -> bool:
        """Whether each call is booked."""
        return self.suite.options.budget != Budget() or self.prices is not None


def most_workers(suite: Suite, wanted: int) -> int:
    """How many workers can have samples in flight."""
    return min(wanted, suite.options.concurrency)


def without_samples(suite: Suite) -> Suite:
    """The suite as a worker gets it: samples come from the store."""
    return suite if isinstance(suite.samples, CommonSamples) else replace(suite, samples=())


def check_shared(suite: Suite, where: str | Path | None, n: int) -> None:
    """Refuse what several workers cannot run.

    Raises:
        ConfigError: what is missing, and what to do.
    """
    expect_number("workers", n, 1, whole=True)
    if not isinstance(locate(where), Address):
        raise ConfigError(
            f"several workers write to a store on a server, as each has a connection of its own: {NAME_ONE}"
        )
    packed(without_samples(suite))


def versions() -> str:
    """What a worker must share with the process that started it: a pickle of another version may be misread.

    The last digit of Python's does not matter: its pickles are the same.
    """
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return f"Steelyard {sys.modules['steelyard'].__version__}, {python}, tables of version {VERSION}"


def other_versions(started_by: str) -> str:
    """How this process differs from the one that started it, whose `versions` are given; "" where it does not.

    >>> other_versions(versions())
    ''
    """
    if started_by == versions():
        return ""
    return f"it has {versions()}, and the run was started by {started_by}: install the same for every worker"


def packed(value: object, folder: Path | None = None) -> bytes:
    """A pickle of what a worker is given.

    Args:
        value: what.
        folder: a copy of it is where the worker runs: paths in it are handed over as relative ones. None where the
            worker sees the same files.

    Raises:
        ConfigError: a part of the suite cannot be handed to another process.
    """
    file = io.BytesIO()
    try:
        _Packer(file, folder).dump(value)
        data = file.getvalue()
    except Exception as error:  # whatever the user's own objects raise
        raise ConfigError(
            f"workers are processes of their own, and a part of this suite cannot be handed to them ({error}): define "
            "functions and classes at the top of a module that can be imported, and keep open files and connections "
            "out of them"
        ) from error
    if b"__main__" in data:
        _refuse_main(value)
    return data


def unpacked(data: bytes) -> Any:
    """What `packed` was given; raises whatever the modules raise that it needs."""
    return _Unpacker(io.BytesIO(data)).load()


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, folder: Path | None) -> None:
        super().__init__(file)
        self._folder = folder

    def persistent_id(self, part: Any) -> str | None:
        """The relative path of a file that the worker has a copy of; None for everything else."""
        if self._folder is None or not isinstance(part, Path):
            return None
        path = part.absolute()
        return path.relative_to(self._folder).as_posix() if path.is_relative_to(self._folder) else None


class _Unpacker(pickle.Unpickler):
    def persistent_load(self, path: Any) -> Path:  # what it is called
        """A file of the worker's own copy."""
        return Path.cwd() / str(path)


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
