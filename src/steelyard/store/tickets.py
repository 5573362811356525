"""Who waits for the writer, and how its thread tells them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.errors import StoreError


@dataclass(frozen=True, slots=True)
class LoopTicket:
    """A coroutine that waits for an operation, and its event loop."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class ThreadTicket:
    """A thread that waits for an operation; `box` receives (value, error) before `done` is set."""

    done: threading.Event
    box: list[tuple[Any, StoreError | None]]


Ticket = LoopTicket | ThreadTicket

Result = tuple[Ticket | None, Any, StoreError | None]
"""A ticket, and the value or the error that answers it."""


def answer(results: Sequence[Result]) -> None:
    """Wake all who wait, with one call per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, StoreError | None]]] = {}
    for ticket, value, error in results:
        if isinstance(ticket, ThreadTicket):
            ticket.box.append((value, error))
            ticket.done.set()
        elif ticket is not None:
            by_loop.setdefault(ticket.loop, []).append((ticket.future, value, error))
    for loop, answers in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop has been closed, so nobody waits any more
            loop.call_soon_threadsafe(_settle, answers)


def _settle(answers: Sequence[tuple[asyncio.Future[Any], Any, StoreError | None]]) -> None:
    for future, value, error in answers:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
