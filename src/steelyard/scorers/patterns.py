"""Regular expressions that end: hostile texts make a pattern that backtracks, such as `(a+)+$`, take centuries.

`re` neither stops nor lets another thread run meanwhile. The package `regex` reads the same patterns, gives other
threads their turn, and stops at a time limit; it is one extension without dependencies (Apache-2.0 and CNRI), loaded
on first use. A cap on the text's length is no cure (30 characters do), a thread cannot be ended, and a process for
each sample costs more than all other scorers together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import process_time
from types import MappingProxyType
from typing import Any, Final, Literal

from steelyard.errors import ConfigError

Flag = Literal["ignore_case", "multiline", "dot_all", "verbose"]

TIMEOUT_S: Final = 1.0
"""Seconds of the process's CPU time for all patterns of one check."""
FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {"ignore_case": "IGNORECASE", "multiline": "MULTILINE", "dot_all": "DOTALL", "verbose": "VERBOSE"}
)
SHOWN_PATTERN: Final = 160
MAX_PATTERN: Final = 20_000
"""Characters of a pattern: compiling some of a million takes minutes."""


def compile_pattern(pattern: str, flags: Sequence[str] = ()) -> Any:
    """Compile a pattern with the package `regex`: its `search` and `fullmatch` take `timeout=`; it caches 500 patterns.

    Raises:
        ConfigError: it cannot be read, or is too long; the message says what and where.
    """
    import regex  # type: ignore[import-untyped]

    if len(pattern) > MAX_PATTERN:
        raise ConfigError(
            f"{pattern[:SHOWN_PATTERN]!r} has {len(pattern):,} characters; at most {MAX_PATTERN:,} are read"
        )
    try:
        return regex.compile(pattern, sum(getattr(regex, FLAGS[flag]) for flag in set(flags)))
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise ConfigError(f"{pattern[:SHOWN_PATTERN]!r} is not a regular expression: {error}") from error


class PatternTime:
    """The CPU time that all patterns of one check may take together.

    Args:
        left_s: seconds; None is `TIMEOUT_S`.
    """

    __slots__ = ("left_s",)

    def __init__(self, left_s: float | None = None) -> None:
        self.left_s = TIMEOUT_S if left_s is None else left_s

    def occurs(self, pattern: str, text: str) -> bool:
        """Whether the pattern matches anywhere in the text.

        Raises:
            TimeoutError: it is not decided in what is left of the time.
        """
        if self.left_s <= 0:
            raise TimeoutError
        started = process_time()
        try:
            return compile_pattern(pattern).search(text, timeout=self.left_s) is not None
        finally:
            self.left_s -= process_time() - started
