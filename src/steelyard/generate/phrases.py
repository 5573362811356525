"""Patterns of phrases in questions, answers and documents; `phrases.toml` holds the phrases."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

_SLOT: Final = re.compile(r"<(\w+)>")


@cache
def sections() -> Mapping[str, Mapping[str, list[str]]]:
    """The lists by section and name."""
    return tomllib.loads((Path(__file__).parent / "phrases.toml").read_text(encoding="utf-8"))


@cache
def phrase(section: str, name: str) -> re.Pattern[str]:
    """Any of the phrases of a list, whatever its case."""
    return re.compile(_any_of(section, name), re.IGNORECASE)


def _any_of(section: str, name: str) -> str:
    entries = "|".join(sections()[section][name])
    return f"(?:{_SLOT.sub(lambda slot: _any_of(section, slot[1]), entries)})"
