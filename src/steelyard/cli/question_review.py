"""The dialogue of `generate qa --review`: a person accepts or rejects questions; decisions are stored at once.

They stand in a file next to the set, one line each. So a review that is interrupted, or whose process is killed,
resumes where it stopped, and the set can be written again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import ConfigError, DataError
from steelyard.files import file_errors, open_private, read_regular
from steelyard.generate.question_set import QaRow, save_rows

if TYPE_CHECKING:
    from rich.console import Console

_MOST_BYTES: Final = 500_000_000
_PROMPT: Final = "[a]ccept  [r]eject  [s]ource  [u]ndo  [q]uit: "


def review_rows(rows: Sequence[QaRow], out: Path, to: Console) -> bool:
    """Ask for a decision on each row that has none and write the accepted rows; returns whether all are decided.

    Args:
        rows: the question set.
        out: the file for the accepted rows; the decisions are stored in a file next to it.
        to: where the questions are shown.

    Raises:
        ConfigError: a decision or the set cannot be written.
        DataError: the file of the decisions has other content.
    """
    log = DecisionLog(decisions_path(out))
    try:
        _ask_all(rows, log, to)
    finally:
        accepted = log.accepted(rows)
        if accepted or out.exists():
            save_rows(accepted, out)
    left = len(log.undecided(rows))
    rejected = len(rows) - left - len(accepted)
    to.print(
        f"{out.name}: {len(accepted)} accepted, {rejected} rejected, {left} undecided"
        + ("; the same command continues" if left else ""),
        highlight=False,
    )
    return not left


def _ask_all(rows: Sequence[QaRow], log: DecisionLog, to: Console) -> None:
    """Ask until every row is decided, or the person quits."""
    decided: list[QaRow] = []
    while waiting := log.undecided(rows):
        row = waiting[0]
        _show(row, len(rows) - len(waiting) + 1, len(rows), to)
        key = _answer(row, to)
        if key == "q":
            return
        if key == "u":
            if decided:
                log.decide(decided.pop(), accepted=None)
            else:
                to.print("there is nothing to undo", highlight=False)
            continue
        log.decide(row, accepted=key == "a")
        decided.append(row)


def _show(row: QaRow, number: int, count: int, to: Console) -> None:
    page = f"p. {row.page}" if row.page else ""
    origin = ", ".join(part for part in (row.document, page, row.heading) if part)
    to.print()
    to.print(f"question {number} of {count}, from {origin}", style="dim", markup=False, highlight=False)
    to.print(f"Q: {row.question}", style="bold", markup=False, highlight=False)
    to.print(f"A: {row.answer}", markup=False, highlight=False)


def _answer(row: QaRow, to: Console) -> str:
    """The key that was typed; the end of the input and Ctrl-C quit."""
    while True:
        to.print(_PROMPT, end="", markup=False, highlight=False)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            to.print()
            return "q"
        key = line.strip().lower()[:1]
        if key == "s":
            to.print("\n\n".join(row.source_texts), style="dim", markup=False, highlight=False)
        elif key in {"a", "r", "u", "q"}:
            return key
        else:
            to.print("type a, r, s, u or q", highlight=False)


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
        with file_errors(self.path, "written"), open_private(self.path, "ab") as file:
            file.write(f"{line}\n".encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
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
