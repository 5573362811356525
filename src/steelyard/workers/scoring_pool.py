"""Processes on this machine that score stored records: a thread for each hands it one range after the other."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection, Pipe
from queue import SimpleQueue
from typing import Final

from steelyard.errors import ScorerError
from steelyard.evaluation.rescore import ScoredRecords
from steelyard.workers.local_process import keep_to_one_cpu, worker_command, worker_environment
from steelyard.workers.scoring_process import scored_of

_TRIES: Final = 3
"""Processes that may die of one range."""
_LOOK_S: Final = 1.0
"""How often a process that has not answered yet is looked at."""


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
        """What it says of a range.

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
                        worker_command("scoring_process"),
                        stdin=other.fileno(),
                        env=worker_environment(self._environment),
                        start_new_session=True,  # Ctrl-C in the terminal is for this process, which ends the others
                    )
                keep_to_one_cpu(self._process.pid, self._slot, self._n)
            return self._process, self._line, is_new
