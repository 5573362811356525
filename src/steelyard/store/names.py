"""Names of runs: how they are given out, and which run a name means."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean

_ALPHABET: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""No letter or digit that is read as another."""


def new_id() -> str:
    """Six characters that are easy to read out: 31**6 or 900 million ids."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(6))


def meant(name: str, rows: Sequence[Any]) -> Any:
    """The row of the run that `name` means.

    Args:
        name: an id or the beginning of one, or a target's name, which means its newest run.
        rows: of the table of runs, newest first.

    Raises:
        ConfigError: no run or several are meant.
    """
    exact = [row for row in rows if row.id == name]
    begins = [row for row in rows if row.id.startswith(name)] if name else []
    newest = [row for row in rows if row.target == name][:1]
    found = exact or newest or begins
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(f"{name!r} may be any of {', '.join(sorted(row.id for row in found))}")
    known = {row.id for row in rows} | {row.target for row in rows}
    raise ConfigError(f"there is no run {name!r}{did_you_mean(name, known)}" if rows else "the store holds no runs")
