"""The one vocabulary of errors.

    SteelyardError
    ├── ConfigError    a configuration file, key or flag is wrong; found before the first call
    ├── DataError      a dataset or document cannot be read as asked; found before the first call
    ├── ModelError     an endpoint gave no usable reply for good
    ├── TargetError    the target's own code failed
    ├── ScorerError    the scorer's own code failed
    └── StoreError     the store cannot be read or written

User code raises plain exceptions; `boundary` gives them their class and keeps the cause.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class SteelyardError(Exception):
    """Whatever Steelyard itself reports as wrong; `str(error)` is a message for a person."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sending of a request: its `fault` ("" when it was answered), its seconds, and the wait before it."""

    fault: str
    seconds: float
    waited: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands: 1-based `line` and `column`, and the text of that line."""

    file: str
    line: int = 0
    column: int = 0
    text: str = ""

    def __str__(self) -> str:
        return ":".join([self.file, *(str(part) for part in (self.line, self.column) if part)])


class ConfigError(SteelyardError):
    """A configuration that cannot be run as written.

    Args:
        message: what was expected, what came and what to do.
        place: where it stands; shown as `file:line:column` with the line itself.
    """

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        if self.place is None:
            return self.message
        head = f"{self.place}: {self.message}"
        if not self.place.text:
            return head
        return f"{head}\n    {self.place.text}\n    {' ' * max(0, self.place.column - 1)}^"


class DataError(SteelyardError):
    """A dataset or document that cannot be used as it is.

    Args:
        message: the first line of what a person reads.
        defects: one line per defect, each naming file, sheet and cell (or line).
    """

    def __init__(self, message: str, defects: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *(f"  {defect}" for defect in defects)]))
        self.defects = tuple(defects)


class ModelError(SteelyardError):
    """A call that failed for good.

    Args:
        message: what the endpoint did, quoting at most 200 characters of it.
        kind: `rate_limit`, `server`, `connection`, `timeout`, `malformed`, `empty`, `bad_request`,
            `quota`, `auth`, `unknown_model`, `budget` or `interrupted`.
        attempts: every attempt that was made, in order.
        ends_run: whether every further call must fail the same way (wrong key, no quota, no budget),
            so that the run stops and keeps what is done.
    """

    def __init__(self, message: str, *, kind: str, attempts: Sequence[Attempt] = (), ends_run: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = tuple(attempts)
        self.ends_run = ends_run


class TargetError(SteelyardError):
    """The target's own code failed; the cause is chained."""


class ScorerError(SteelyardError):
    """The scorer's own code failed; the cause is chained."""


class StoreError(SteelyardError):
    """The store cannot be read or written; nothing more is sent once this is raised."""


_CLASS_OF_STAGE: Final[dict[str, type[SteelyardError]]] = {
    "target": TargetError,
    "scorer": ScorerError,
    "store": StoreError,
    "data": DataError,
    "config": ConfigError,
}


@contextmanager
def boundary(stage: str, what: str = "") -> Iterator[None]:
    """Give whatever is raised inside the class of `stage`, keeping the cause.

    Args:
        stage: `target`, `scorer`, `store`, `data` or `config`.
        what: names the thing that ran (a target's or scorer's name), for the message.

    Steelyard's own errors pass unchanged; so do cancellation, KeyboardInterrupt and SystemExit.

    >>> try:
    ...     with boundary("scorer", "length"):
    ...         1 / 0
    ... except ScorerError as error:
    ...     print(error)
    length: ZeroDivisionError: division by zero
    """
    try:
        yield
    except (SteelyardError, asyncio.CancelledError):
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise _CLASS_OF_STAGE[stage](f"{what}: {text}" if what else text) from error
