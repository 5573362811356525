"""A process that scores ranges of stored samples for a leader: it is given a range, answers with the scores, and so on.

It writes nothing, so a range that was lost with its process is scored again by another.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, Self

from steelyard.errors import ConfigError, DataError, ScorerError, SteelyardError, StoreError
from steelyard.evaluation.rescore import RecordScorer, ScoredRecords, ScoringTask
from steelyard.store import Run, Store
from steelyard.workers.task import packed, unpacked

_ERRORS: Final = {kind.__name__: kind for kind in (ConfigError, DataError, ScorerError, StoreError)}
"""Classes that the leader raises again; an error of another one is a ScorerError there."""


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
