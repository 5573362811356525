"""A target or scorer as the runner calls it: plain or async, with or without Ask, in a thread or not."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.types import Asks, Score


@dataclass(frozen=True, slots=True)
class Step:
    """A target or scorer, and how it is called; found out once, not per sample."""

    stage: str
    function: Callable[..., Any]
    asks: bool
    inline: bool
    threaded: bool

    @classmethod
    def of(cls, stage: str, given: Any) -> Step:
        """How `given` is called; `inline` ones say of themselves that they are quick and cost nothing.

        Raises:
            TypeError: it is no function, or wants Ask without being async.
        """
        function = given.unwrap() if hasattr(given, "unwrap") else given
        if not callable(function):
            raise TypeError(f"{stage} is a {type(function).__name__}, not a function")
        body = function if inspect.isroutine(function) else type(function).__call__
        is_async = inspect.iscoroutinefunction(body)
        asks = "ask" in inspect.signature(function).parameters
        if asks and not is_async:
            raise TypeError(f"{stage} takes `ask`, so it must be an `async def`")
        inline = bool(getattr(given, "inline", False))
        return cls(stage, function, asks, inline, threaded=not (is_async or inline))

    async def __call__(self, ask: Asks | None, *values: Any) -> Any:
        """Call it with `values`; a plain function of a user's runs in a thread of its own."""
        if self.asks:
            return await self.function(*values, ask=ask)
        result = await in_thread(self.function, *values) if self.threaded else self.function(*values)
        return await result if inspect.isawaitable(result) else result


def as_scores(stage: str, value: Any) -> list[Score]:
    """What a scorer returned, as scores: a Score, several, or a number or truth value named after the scorer."""
    if isinstance(value, Score):
        return [value]
    if isinstance(value, bool):
        return [Score(stage, float(value), passed=value)]
    if isinstance(value, int | float):
        return [Score(stage, float(value))]
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, Score) for one in value):
        return list(value)
    raise TypeError(f"a scorer returns a Score, several, or a number; this one returned {type(value).__name__}")


def _raisable(error: BaseException) -> Exception:
    """A future cannot carry StopIteration, and a function of a user's that calls exit() must not end the run."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    raised = RuntimeError(f"{type(error).__name__}: {error}")
    raised.__cause__ = error
    return raised


async def in_thread(function: Callable[..., Any], *values: Any) -> Any:
    """Run a plain function in a thread of its own, which a function that never returns cannot keep from exiting."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = (function(*values), None)
        except BaseException as error:  # noqa: BLE001  # it is raised where the result is awaited
            outcome = (None, _raisable(error))
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, daemon=True, name="steelyard-call").start()
    return await future
