"""A worker that is an actor of Ray: the same worker as a process, told what to do by calls in place of lines.

Ray loads this module on the worker's machine, so it stands apart from what starts actors.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any, Final

from steelyard.workers.process import Orders, serve
from steelyard.workers.scoring import RangeScoring, refusal
from steelyard.workers.task import other_versions

_HEAR_S: Final = 1.0
"""How long a question for messages waits for one."""
_ORPHANED_S: Final = 15.0
"""Without a question for so long, whoever started this worker has died: it finishes the evaluation by itself."""


class RayWorker:
    """One worker in an actor; its methods are called from several threads.

    Args:
        search_path: folders where the user's modules are, on the machine that started this one; empty elsewhere.
    """

    def __init__(self, search_path: Sequence[str]) -> None:
        _find_modules_in(search_path)
        self._messages: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._orders: Orders | None = None
        self._untold: list[str] = []
        self._telling = threading.Lock()
        self._asked = time.monotonic()
        self._asks = 0
        self._code: int | None = None

    def start(self, started_by: str, data: bytes, only_on: str) -> None:
        """Begin to work on a task.

        Args:
            started_by: see `process.serve`.
            data: likewise.
            only_on: the host on which the store's address is of that machine alone; "" where it is not.
        """
        if elsewhere := _not_reached(only_on):
            self.say(cannot=elsewhere)
            self._code = 2
            return
        threading.Thread(target=self._serve, args=(started_by, data), name="steelyard-worker", daemon=True).start()
        threading.Thread(target=self._watch, name="steelyard-orphan", daemon=True).start()

    def tell(self, line: str) -> None:
        """Take an order; "" says that nobody leads any more."""
        with self._telling:
            if self._orders is None:
                self._untold.append(line)
                return
            orders = self._orders
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            orders.loop.call_soon_threadsafe(orders.heard, line)

    def hear(self) -> tuple[list[dict[str, Any]], int | None]:
        """The worker's messages since the last question, and its exit code after the last one."""
        self._asked = time.monotonic()
        self._asks += 1
        code, messages = self._code, []
        with contextlib.suppress(Empty):
            messages.append(self._messages.get(timeout=0 if code is not None else _HEAR_S))
            while True:
                messages.append(self._messages.get_nowait())
        self._asked = time.monotonic()
        return messages, code

    def say(self, **message: Any) -> None:
        """Keep a message until it is asked for; see `process.Answers`."""
        if "ModuleNotFoundError" in message.get("cannot", ""):
            message["cannot"] += "; install it on every node, or copy its folder there by --working-dir"
        if "cannot" in message:
            message["cannot"] = f"{message['cannot']} (on {socket.gethostname()})"
        self._messages.put(message)

    async def taken(self, orders: Orders) -> None:
        """Wait for a question after the one that took the last message: its answer has arrived then."""
        last: int | None = None
        while not orders.orphaned.is_set():
            if self._messages.empty():
                last = self._asks if last is None else last
                if self._asks > last:
                    return
            await asyncio.sleep(_HEAR_S / 10)

    def _serve(self, started_by: str, data: bytes) -> None:
        code = 1
        try:
            code = serve(started_by, data, self, self._listen)
        finally:
            self._code = code

    def _listen(self, orders: Orders) -> None:
        with self._telling:
            self._orders = orders
            untold, self._untold = self._untold, []
        for line in untold:
            orders.heard(line)

    def _watch(self) -> None:
        """Notice that nobody asks any more: then finish alone, and end."""
        told = False
        while not (told and self._code is not None):
            time.sleep(_HEAR_S)
            if not told and time.monotonic() - self._asked > _ORPHANED_S:
                told = True
                self.tell("")
        os._exit(0)


def score_range(search_path: Sequence[str], started_by: str, data: bytes, only_on: str, places: range) -> bytes:
    """Score a range of stored samples in a task of Ray, for `rescore`; see `RangeScoring.answer`.

    Args:
        search_path: see `RayWorker`.
        started_by: see `process.serve`.
        data: of `scoring.packed_task`.
        only_on: see `RayWorker.start`.
        places: of the samples.
    """
    if why := _not_reached(only_on) or other_versions(started_by):
        return refusal(f"a worker cannot begin: {why} (on {socket.gethostname()})")
    _find_modules_in(search_path)
    return _scoring(data).answer(places)


@lru_cache(maxsize=1)
def _scoring(data: bytes) -> RangeScoring:
    """What scores the ranges of one `rescore`; never closed."""
    # Ray gives each program processes of its own, and ends them with it.
    return RangeScoring(data)


def _find_modules_in(search_path: Sequence[str]) -> None:
    sys.path.extend(path for path in search_path if path not in sys.path)


def _not_reached(only_on: str) -> str:
    """Why the store's address is of no use on this machine; "" where it is."""
    if only_on in {"", socket.gethostname()}:
        return ""
    return f"the store's address is of {only_on} alone: name the store by one that all nodes have"
