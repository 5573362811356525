"""Processes that score ranges of stored samples: a leader hands each a range, gets the scores, and so on.

A thread of the leader waits for each process on this machine; Ray's actors use `RangeScoring` too. A process writes
nothing, so a range that was lost with it is scored again by another. This module is also what such a process executes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Self

from steelyard.errors import ConfigError, DataError, ScorerError, SteelyardError, StoreError
from steelyard.evaluation.rescore import RecordScorer, ScoredRecords, ScoringTask
from steelyard.store import Run, Store
from steelyard.workers.local_process import keep_to_one_cpu, worker_command, worker_environment
from steelyard.workers.task import packed, unpacked

_ERRORS: Final = {kind.__name__: kind for kind in (ConfigError, DataError, ScorerError, StoreError)}
"""Classes that the leader raises again; an error of another one is a ScorerError there."""
_TRIES: Final = 3
"""Processes that may die of one range."""
_LOOK_S: Final = 1.0
"""How often a process that has not answered yet is looked at."""


def packed_task(task: ScoringTask, where: str | Path | None, folder: Path | None = None) -> bytes:
    """What a process is given at its start.

    Args:
        task: what scores.
        where: the address of the store.
        folder: see `task.packed`.

    Raises:
        ConfigError: a scorer cannot be handed to another process.
    """
    return packed((task, where), folder)


class RangeScoring:
    """Scores ranges of samples; a context manager, which opens store and scorers for the first range.

    Args:
        data: of `packed_task`.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._opened = contextlib.ExitStack()
        self._scoring: tuple[Run, RecordScorer] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def answer(self, places: range) -> bytes:
        """A pickle for `scored_of`: the scores of the samples at some places of the dataset, or why there are none."""
        try:
            run, scorer = self._opened_once()
            return pickle.dumps(scorer.score(run.records_between(places.start, places.stop - 1)))
        except SteelyardError as error:
            return refusal(str(error), type(error).__name__)
        except Exception as error:  # noqa: BLE001  # such as scores that hold an open file
            return refusal(f"scores cannot be handed over: {type(error).__name__}: {error}", "ScorerError")

    def _opened_once(self) -> tuple[Run, RecordScorer]:
        if self._scoring is None:
            task, where = self._loaded()
            store = self._opened.enter_context(Store(where))
            run = store.run(task.run)
            self._scoring = run, self._opened.enter_context(RecordScorer(store, run, task))
        return self._scoring

    def _loaded(self) -> tuple[ScoringTask, str | Path | None]:
        try:
            task, where = unpacked(self._data)
        except Exception as error:  # a module that is not there, or whatever it raises
            text = f"the scorers cannot be loaded there: {type(error).__name__}: {error}"
            raise ConfigError(f"a worker cannot begin: {text}") from error
        return task, where


def refusal(text: str, kind: str = "ConfigError") -> bytes:
    """An answer without scores; `kind` is the class of the error that the leader raises."""
    return pickle.dumps((kind, text))


def scored_of(answer: bytes) -> ScoredRecords:
    """The scores of a range, from what `RangeScoring.answer` gave.

    Raises:
        SteelyardError: it has none; the error of the other process.
    """
    result = pickle.loads(answer)  # noqa: S301  # of our own process
    if isinstance(result, ScoredRecords):
        return result
    kind, text = result
    raise _ERRORS.get(kind, ScorerError)(text)


def main() -> int:
    """Answer ranges until the leader has no more; the exit code."""
    # Ctrl-C of a terminal reaches every process of it; the leader ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leader = Connection(os.dup(sys.stdin.fileno()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=_end_with, args=(leader,), name="steelyard-orphan", daemon=True).start()
    with contextlib.suppress(EOFError, ConnectionError), RangeScoring(leader.recv_bytes()) as scoring:
        while True:
            leader.send_bytes(scoring.answer(leader.recv()))
    return 0


def _end_with(leader: Connection) -> None:
    """End this process when the leader has, in the middle of a range too: nobody waits for its scores."""
    hang_up = select.poll()
    hang_up.register(leader.fileno(), select.POLLHUP | getattr(select, "POLLRDHUP", 0))
    hang_up.poll()
    os._exit(0)


def scored_by_processes(
    data: bytes, ranges: Sequence[range], n: int, environment: Mapping[str, str]
) -> list[ScoredRecords]:
    """Score ranges of samples in `n` processes; the results in the order of the ranges.

    Args:
        data: of `packed_task`.
        ranges: places of samples.
        n: processes.
        environment: values for `${NAME}` that this process's environment lacks.

    Raises:
        SteelyardError: an error of a process, or a range of which three processes died.
    """
    n = max(1, min(n, len(ranges)))
    workers = [_ScoringProcess(data, slot, n, environment) for slot in range(n)]
    idle: SimpleQueue[_ScoringProcess] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def score(places: range) -> ScoredRecords:
        worker = idle.get()
        try:
            return scored_of(worker.answer(places))
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(n, "steelyard-scoring") as threads:
        try:
            scored = [threads.submit(score, places) for places in ranges]
            for ended in as_completed(scored):
                ended.result()  # the first error ends all
            return [ended.result() for ended in scored]
        finally:  # also of Ctrl-C: what is being scored is given up
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.end()


class _ScoringProcess:
    """A process that scores ranges, and the next one where it dies."""

    def __init__(self, data: bytes, slot: int, n: int, environment: Mapping[str, str]) -> None:
        self._data = data
        self._slot = slot
        self._n = n
        self._environment = environment
        self._changing = threading.Lock()
        self._ended = False
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None

    def answer(self, places: range) -> bytes:
        """The scores that the process gives for a range of samples.

        Raises:
            ScorerError: processes died of it, or it was ended meanwhile.
        """
        code = 0
        for _ in range(_TRIES):
            process, line, is_new = self._started()
            try:
                if is_new:
                    line.send_bytes(self._data)
                line.send(places)
                # What it forked may hold its end of the line open when it has died.
                while not (answered := line.poll(_LOOK_S)) and process.poll() is None:
                    pass
                if answered or line.poll():
                    return line.recv_bytes()
            except (EOFError, OSError):
                pass
            code = process.wait()
            with self._changing:
                self._process = None
                line.close()
        raise ScorerError(
            f"scoring the samples at places {places.start} to {places.stop - 1} ended {_TRIES} processes, one after "
            f"the other; the last with exit code {code}"
        )

    def end(self) -> None:
        """End it, whatever it does."""
        with self._changing:
            self._ended = True
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def _started(self) -> tuple[subprocess.Popen[bytes], Connection, bool]:
        """The process, the line to it, and whether it was just started."""
        with self._changing:
            if self._ended:
                raise ScorerError("scoring was given up")
            is_new = self._process is None
            if self._process is None or self._line is None:
                self._line, other = Pipe()
                with contextlib.closing(other):
                    self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and code, no shell)
                        worker_command("scoring"),
                        stdin=other.fileno(),
                        env=worker_environment(self._environment),
                        start_new_session=True,  # Ctrl-C in the terminal is for this process, which ends the others
                    )
                keep_to_one_cpu(self._process.pid, self._slot, self._n)
            return self._process, self._line, is_new
