"""Scores whether an output matches a regular expression, in bounded time.

What a model wrote is hostile: a pattern that backtracks, such as `(a+)+$`, takes centuries on a text made for it, and
`re` neither stops nor lets another thread run meanwhile. The package `regex` reads the same patterns, gives other
threads their turn, and stops at a time limit; it is one extension without dependencies (Apache-2.0 and CNRI), loaded
on first use. A cap on the text's length is no cure (30 characters do), a thread cannot be ended, and a process for
each sample costs more than all other scorers together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError, did_you_mean
from steelyard.scorers.lexical_texts import text_of, unscored
from steelyard.types import Output, Sample, Score

Flag = Literal["ignore_case", "multiline", "dot_all", "verbose"]

TIMEOUT_S: Final = 1.0
_FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {"ignore_case": "IGNORECASE", "multiline": "MULTILINE", "dot_all": "DOTALL", "verbose": "VERBOSE"}
)
_SHOWN: Final = 160


@dataclass(frozen=True, slots=True)
class Regex:
    r"""Whether the output matches a regular expression; it needs no reference.

    Patterns are read by the package `regex`, which takes those of Python's `re`. A match that is not decided within
    the time limit is `unparsed` of the kind `timeout`.

    Args:
        pattern: the regular expression.
        mode: `search` finds it anywhere; `fullmatch` asks that it is the whole output, blanks around it left out.
        flags: `ignore_case`, `multiline` (^ and $ at each line), `dot_all` (the point takes line ends), `verbose`.
        timeout_s: seconds of the process's CPU time within which a match is decided; a busy machine decides no sooner.

    >>> Regex(r"\b\d{4}\b")(Sample("1", "When?"), Output("It was in 1789.")).value
    1.0
    """

    score_name: ClassVar[str] = "regex"
    over: ClassVar[str] = "all"
    words: ClassVar[Mapping[str, tuple[str, str]]] = MappingProxyType({"regex": ("matches", "does not match")})

    pattern: str
    mode: Literal["search", "fullmatch"] = "search"
    flags: tuple[Flag, ...] = ()
    timeout_s: float = TIMEOUT_S

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: the pattern cannot be read, an unknown mode or flag, or a time limit that is not above 0.
        """
        if self.mode not in {"search", "fullmatch"}:
            raise ConfigError(f"mode: expected search or fullmatch, but got {self.mode!r}")
        if not 0 < self.timeout_s < float("inf"):
            raise ConfigError(f"timeout_s: expected seconds above 0, but got {self.timeout_s}")
        if unknown := [one for one in self.flags if one not in _FLAGS]:
            raise ConfigError(f"flags: there is no {unknown[0]!r}{did_you_mean(str(unknown[0]), _FLAGS)}")
        compile_pattern(self.pattern, self.flags)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Match one output."""
        del sample
        if (score := unscored(self.score_name, "", output)) is not None:
            return score
        text, pattern = text_of(output), compile_pattern(self.pattern, self.flags)
        try:
            found = (
                pattern.search(text, timeout=self.timeout_s)
                if self.mode == "search"
                else pattern.fullmatch(text.strip(), timeout=self.timeout_s)
            )
        except TimeoutError:
            return undecided(self.score_name, f"the pattern was not decided within {self.timeout_s:g} s")
        reason = f"found {found[0][:_SHOWN]!r}" if found else "the pattern is not found"
        return Score(self.score_name, float(found is not None), passed=found is not None, reason=reason)


def compile_pattern(pattern: str, flags: Sequence[str] = ()) -> Any:
    """A pattern of the package `regex`, whose `search` and `fullmatch` take `timeout=` seconds; it keeps 500 of them.

    Raises:
        ConfigError: it cannot be read; the message says what and where.
    """
    import regex  # type: ignore[import-untyped]

    try:
        return regex.compile(pattern, sum(getattr(regex, _FLAGS[one]) for one in set(flags)))
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise ConfigError(f"{pattern[:_SHOWN]!r} is no regular expression: {error}") from error


def undecided(name: str, reason: str) -> Score:
    """The score of a text that a pattern cannot be decided on in time."""
    return Score(name, None, outcome="unparsed", reason=reason, detail={"kind": "timeout"})
