"""A person's decisions on generated questions: one line each in a file next to the set, written at once.

So a review that is interrupted, or whose process is killed, resumes where it stopped, and the set can be written again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, DataError
from steelyard.files import open_private, read_regular
from steelyard.generate.question_set import QaRow

_MOST_BYTES: Final = 500_000_000


def decisions_path(out: Path) -> Path:
    """The file of the decisions on a question set.

    >>> decisions_path(Path("sets/questions.csv")).as_posix()
    'sets/questions.review.jsonl'
    """
    return out.with_name(f"{out.stem}.review.jsonl")


class DecisionLog:
    """The decisions on the rows of a question set, by the ids of rows; a later one replaces an earlier one.

    Args:
        path: the file; it is made with the first decision.

    Raises:
        ConfigError: it cannot be read.
        DataError: it holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._accepted: dict[str, bool | None] = {}
        for line in _lines_of(path):
            self._accepted[str(line["id"])] = line["accepted"]

    def decide(self, row: QaRow, *, accepted: bool | None) -> None:
        """Keep a decision; None takes an earlier one back.

        Raises:
            ConfigError: it cannot be written.
        """
        line = json.dumps({"id": row.id, "accepted": accepted, "question": row.question}, ensure_ascii=False)
        try:
            with open_private(self.path, "ab") as file:
                file.write(f"{line}\n".encode("utf-8", "replace"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from error
        self._accepted[row.id] = accepted

    def undecided(self, rows: Iterable[QaRow]) -> tuple[QaRow, ...]:
        """The rows without a decision, in order."""
        return tuple(row for row in rows if self._accepted.get(row.id) is None)

    def accepted(self, rows: Iterable[QaRow]) -> tuple[QaRow, ...]:
        """The accepted rows, in order."""
        return tuple(row for row in rows if self._accepted.get(row.id))


def _lines_of(path: Path) -> list[dict[str, Any]]:
    """The decisions of a file; a last line without its end was being written when the process was killed."""
    if not path.exists():
        return []
    try:
        lines = read_regular(path, _MOST_BYTES).decode("utf-8-sig").split("\n")[:-1]
        decisions = [json.loads(line) for line in lines if line.strip()]
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{path.name} holds no decisions on questions: {error}") from error
    if not all(isinstance(line, dict) and {"id", "accepted"} <= line.keys() for line in decisions):
        raise DataError(f"{path.name} holds no decisions on questions: a line has the keys id and accepted")
    return decisions
