"""A worker that is a process on this machine: how it is started, and how it is told what to do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from steelyard.session.secrets import environment_with
from steelyard.workers.task import WorkerTask, packed, versions

_START: Final = """import gc
gc.disable()
from steelyard.workers.{module} import main
gc.freeze()
gc.set_threshold(20_000, 20, 20)
gc.enable()
raise SystemExit(main())"""
"""Importing makes many objects and no garbage: the collector would take a tenth of a worker's start, and need not look
at them later; running, it makes and frees more than the usual threshold with its samples in flight."""


class StartedWorker(Protocol):
    """A worker as the process that leads a run sees it."""

    @property
    def exit_code(self) -> int | None:
        """None while it lives or was not heard to have ended."""

    @property
    def death(self) -> str:
        """How it ended, in words."""

    def tell(self, line: str) -> None:
        """Tell it something, if it lives."""

    def kill(self) -> None:
        """End it at once, if it lives."""

    async def ended(self) -> None:
        """Wait until it has ended and all that it said was heard."""


class StartsWorkers(Protocol):
    """Starts workers: processes here, or actors of a cluster."""

    async def start(
        self, task: WorkerTask, environment: Mapping[str, str], heard: Callable[[Mapping[str, Any]], None]
    ) -> StartedWorker:
        """Start a worker.

        Args:
            task: its work.
            environment: values for `${NAME}` that this process's environment lacks.
            heard: called with each message of it, in the event loop.

        Raises:
            ConfigError: a part of the suite cannot be handed to it.
        """

    def lacks(self) -> str:
        """Possible reasons why workers still wait, to add to a sentence; "" if unknown."""


class StartsProcesses:
    """Starts workers as processes on this machine."""

    async def start(
        self, task: WorkerTask, environment: Mapping[str, str], heard: Callable[[Mapping[str, Any]], None]
    ) -> StartedWorker:
        """See `StartsWorkers`."""
        data = packed(task)
        process = await asyncio.create_subprocess_exec(
            *worker_command("process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=worker_environment(environment),
            start_new_session=True,  # Ctrl-C in the terminal is for this process, which tells the others to stop
        )
        keep_to_one_cpu(process.pid, task.slot, task.workers)
        assert process.stdin is not None  # noqa: S101  # asked for above
        with contextlib.suppress(ConnectionError):
            for part in (versions().encode(), data):
                process.stdin.write(len(part).to_bytes(8, "big") + part)
            await process.stdin.drain()
        return LocalProcess(process, heard)

    @staticmethod
    def lacks() -> str:
        """What this machine lacks for such workers: nothing."""
        return ""


class LocalProcess:
    """A worker process; see `StartedWorker`."""

    def __init__(self, process: asyncio.subprocess.Process, heard: Callable[[Mapping[str, Any]], None]) -> None:
        self._process = process
        self._heard = heard
        self._hears = asyncio.create_task(self._hear())

    @property
    def exit_code(self) -> int | None:
        """None while it lives, or something that it said is not heard yet."""
        return self._process.returncode if self._hears.done() else None

    @property
    def death(self) -> str:
        """How it ended."""
        code = self._process.returncode
        return f"it was ended by signal {-code}" if code is not None and code < 0 else f"it ended with code {code}"

    def tell(self, line: str) -> None:
        """Write a line to it."""
        pipe = self._process.stdin
        if pipe is not None and self._process.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                pipe.write(f"{line}\n".encode())

    def kill(self) -> None:
        """End it by a signal that it cannot hold up."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def ended(self) -> None:
        """Wait for its end."""
        await asyncio.shield(self._hears)

    async def _hear(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  # asked for where it was started
        async for line in self._process.stdout:
            with contextlib.suppress(ValueError):
                self._heard(json.loads(line))
        await self._process.wait()


def worker_command(module: str) -> list[str]:
    """The command of a worker process: a module of this package that has a function `main`."""
    return [sys.executable, "-c", _START.format(module=module), f"steelyard.workers.{module}"]


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker process: this one's with more values for `${NAME}`, and where modules are found."""
    return environment_with({**environment, "PYTHONPATH": os.pathsep.join(search_path())})


def keep_to_one_cpu(pid: int, slot: int, workers: int) -> None:
    """Give a worker one CPU, in turn, where there are as many workers as CPUs; elsewhere the system places it.

    One of its threads works at a time. When another takes over, Linux often wakes it on the CPU of another worker,
    where it waits while its own is idle: 15 % of both CPUs, measured with two workers on two CPUs.
    """
    if not hasattr(os, "sched_setaffinity"):  # not on macOS
        return
    cpus = sorted(os.sched_getaffinity(0))
    if workers >= len(cpus):
        with contextlib.suppress(OSError):  # it has ended, or a container forbids it
            os.sched_setaffinity(pid, {cpus[slot % len(cpus)]})


def search_path() -> list[str]:
    """Where this process finds modules, the user's among them."""
    return [path or str(Path.cwd()) for path in sys.path]
