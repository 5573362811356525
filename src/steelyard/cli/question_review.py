"""The dialogue of `generate qa --review`: a person accepts or rejects questions; decisions are stored at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from steelyard.generate.decisions import DecisionLog, decisions_path
from steelyard.generate.question_set import QaRow, save_rows

if TYPE_CHECKING:
    from rich.console import Console

_PROMPT: Final = "[a]ccept  [r]eject  [s]ource  [u]ndo  [q]uit: "
_Key = Literal["a", "r", "u", "q"]
_KEYS: Final[Mapping[str, _Key]] = MappingProxyType({"a": "a", "r": "r", "u": "u", "q": "q"})


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


def _answer(row: QaRow, to: Console) -> _Key:
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
        elif key in _KEYS:
            return _KEYS[key]
        else:
            to.print("type a, r, s, u or q", highlight=False)
