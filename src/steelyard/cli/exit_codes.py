"""Exit codes of commands."""

from __future__ import annotations

from typing import Final

USER_MISTAKE: Final = 2
UNDECIDED: Final = 3
BROKEN: Final = 4
INTERRUPTED: Final = 130
"""Exit codes; 1 (the gate does not hold) and 3 (undecided) come from the gate itself."""


def exit_code(state: str, *, has_result: bool = True) -> int:
    """The exit code of a command whose run ended in `state`; a finished run without any result counts as broken."""
    if state == "broken" or (state == "finished" and not has_result):
        return BROKEN
    return 0 if state == "finished" else INTERRUPTED
