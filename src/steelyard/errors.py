"""The exception hierarchy.

    SteelyardError
    ├── ConfigError    a configuration file, key or flag is wrong; found before the first call
    ├── DataError      a dataset or document cannot be read as requested; found before the first call
    ├── ModelError     a call to an endpoint failed permanently
    ├── TargetError    the target's own code failed
    ├── ScorerError    the scorer's own code failed
    ├── StoreError     the store cannot be read or written
    └── RunError       a run ended as broken; its records are kept

User code raises plain exceptions; `boundary` gives them their class and keeps the cause.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

_SHOWN: Final = 72
"""Maximum number of characters quoted from a line."""


_MOST_DEFECTS: Final = 20
"""Maximum number of defects in a message."""
_LONGEST_LINE: Final = 1000
_KEPT_AT_END: Final = 200
_MOST_LINES: Final = 200


def bounded(message: str) -> str:
    """`message` with its long lines cut in the middle, and with a limit on its lines.

    Keys, ids, column names and the texts of other programs are quoted in messages, and may be of any length: they are
    cut here and not where each is quoted. What to do stands at the end of a message, so the end is kept.

    >>> len(bounded("key " + "k" * 2_000_000 + ": rename it")), bounded("short")
    (1035, 'short')
    """
    if len(message) <= _LONGEST_LINE:
        return message
    lines = message.split("\n", _MOST_LINES)
    if len(lines) > _MOST_LINES:
        lines[-1] = f"... and {lines[-1].count(chr(10)) + 1} more lines"
    return "\n".join(map(_bounded_line, lines))


def _bounded_line(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    left_out = len(line) - _LONGEST_LINE
    return f"{line[: _LONGEST_LINE - _KEPT_AT_END]}… ({left_out:,} characters left out) …{line[-_KEPT_AT_END:]}"


class SteelyardError(Exception):
    """Base class of all errors that Steelyard raises; `str(error)` is a message for a person, of bounded length."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(bounded(part) if isinstance(part, str) else part for part in args))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a call: its `fault` ("" if answered), its duration, and the wait before it."""

    fault: str
    seconds: float
    waited: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Location:
    """A position in a file: 1-based `line` and `column`, and the text of that line."""

    file: str
    line: int = 0
    column: int = 0
    text: str = ""

    def __str__(self) -> str:
        return ":".join([self.file, *(str(part) for part in (self.line, self.column) if part)])


class ConfigError(SteelyardError):
    """A configuration that cannot be run as written.

    Args:
        message: what was expected, what came and what to do.
        location: position in the file; shown as `file:line:column` with the line itself.
    """

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = str(self.args[0])
        self.location = location

    def __str__(self) -> str:
        if self.location is None:
            return self.message
        head = f"{self.location}: {self.message}"
        if not self.location.text:
            return head
        excerpt, before = _around(self.location.text, max(0, self.location.column - 1))
        return f"{head}\n    {excerpt}\n    {_blank(before)}^"


class DataError(SteelyardError):
    """A dataset or document that cannot be used as it is.

    Args:
        message: the first line of what a person reads.
        defects: one line per defect, each naming file, sheet and cell (or line); of many the first are kept.
    """

    def __init__(self, message: str, defects: Sequence[object] = ()) -> None:
        more = [f"and {len(defects) - _MOST_DEFECTS} more"] if len(defects) > _MOST_DEFECTS else []
        self.defects = (*map(str, defects[:_MOST_DEFECTS]), *more)
        super().__init__("\n".join([message, *(f"  {line}" for line in self.defects)]))


class ModelError(SteelyardError):
    """A call to a model that failed permanently.

    Args:
        message: what the endpoint did, quoting at most 200 characters of it.
        kind: `rate_limit`, `server`, `connection`, `timeout`, `malformed`, `empty`, `bad_request`,
            `quota`, `auth`, `unknown_model`, `budget` or `interrupted`.
        attempts: every attempt that was made, in order.
        ends_run: whether every further call must fail the same way (wrong key, no quota, no budget),
            so that the run stops and keeps what is done.
    """

    def __init__(self, message: str, *, kind: str, attempts: Sequence[Attempt] = (), ends_run: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = tuple(attempts)
        self.ends_run = ends_run


class TargetError(SteelyardError):
    """The target's own code failed; the cause is chained."""


class ScorerError(SteelyardError):
    """The scorer's own code failed; the cause is chained."""


class StoreError(SteelyardError):
    """The store cannot be read or written; no further call is sent once this is raised."""


class RunError(SteelyardError):
    """A run that ended as broken: too many of its records failed, or no call could succeed.

    Args:
        message: which run, and why.
        run: the first broken `Run`; its records are kept and can be read.
        runs: all runs of the evaluation, in the order of its targets.
    """

    def __init__(self, message: str, run: Any, runs: Sequence[Any]) -> None:
        super().__init__(message)
        self.run = run
        self.runs = tuple(runs)


def install_command(extra: str) -> str:
    """The command that installs what an optional part needs, with the packages' own names.

    Steelyard is on no package index: a command with its own name would install whatever somebody puts there.

    Args:
        extra: a key of `optional-dependencies`.

    >>> install_command("hf"), install_command("ray")
    ("pip install 'datasets>=4.0'", "pip install 'ray[client]>=2.60'")
    """
    import shlex
    from importlib.metadata import PackageNotFoundError, requires

    marker = re.compile(rf"; *(\(.*\) and )?extra *== *['\"]{extra}['\"]$")
    try:
        lines = requires("steelyard") or ()
    except PackageNotFoundError:  # imported from a folder of sources
        lines = ()
    needed = [marker.sub("", line) for line in lines if marker.search(line)]
    return f"pip install {shlex.join(needed)}" if needed else f"pip install '.[{extra}]' in a checkout of Steelyard"


_CLASS_OF_STAGE: Final[dict[str, type[SteelyardError]]] = {
    "target": TargetError,
    "scorer": ScorerError,
    "store": StoreError,
    "data": DataError,
    "config": ConfigError,
}


class Boundary:
    """The context manager that `boundary` returns; it holds no state, so one instance serves any number of blocks.

    It is a class because a generator with `contextlib.contextmanager` takes three times as long, twice per sample.
    """

    __slots__ = ("_kind", "_what")

    def __init__(self, stage: str, what: str) -> None:
        self._kind = _CLASS_OF_STAGE[stage]
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A cancellation is not an Exception, so it passes as KeyboardInterrupt and SystemExit do.
        if isinstance(error, Exception) and not isinstance(error, SteelyardError):
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise self._kind(f"{self._what}: {text}" if self._what else text) from error


def boundary(stage: str, what: str = "") -> Boundary:
    """Convert any exception raised inside to the error class of `stage`, keeping the cause.

    Args:
        stage: `target`, `scorer`, `store`, `data` or `config`.
        what: names the thing that ran (a target's or scorer's name), for the message.

    Steelyard's own errors pass unchanged; so do cancellation, KeyboardInterrupt and SystemExit.

    >>> try:
    ...     with boundary("scorer", "length"):
    ...         1 / 0
    ... except ScorerError as error:
    ...     print(error)
    length: ZeroDivisionError: division by zero
    """
    return Boundary(stage, what)


_MOST_KNOWN: Final = 24
"""Maximum number of known words in a message: enough for every vocabulary, too few for all runs of a store."""


def did_you_mean(word: str, known: Iterable[Any]) -> str:
    """A suggestion to append to a message: the nearest known word, or the list of all when none is near.

    >>> did_you_mean("qustion", ["question", "answer"])
    ": did you mean 'question'?"
    """
    from difflib import get_close_matches

    word = word[:_SHOWN]
    words = sorted(str(candidate) for candidate in known)
    near = get_close_matches(word, words, n=1, cutoff=0.6) or [
        candidate for candidate in words if candidate.lower() == word.lower()
    ]
    if near:
        return f": did you mean {near[0]!r}?"
    return f"; known: {some_of(words, _MOST_KNOWN)}" if words else ""


def some_of(names: Sequence[object], most: int) -> str:
    """The first of some names in a sentence, and how many more there are.

    >>> some_of(["a", "b", "c"], 2), some_of([], 2)
    ('a, b and 1 more', '')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def shortened(text: str, most: int) -> str:
    """A text, or its beginning where it has more than `most` characters.

    >>> shortened("orders", 6), shortened("customers", 6)
    ('orders', 'custo…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def expect_number(name: str, value: Any, least: float, most: float | None = None, *, whole: bool = False) -> None:
    """Raise ConfigError if an option is not a number within its range.

    Args:
        name: the option, for the message.
        value: what it was set to.
        least: the smallest number that is allowed.
        most: the largest one; None is no limit, and then infinity is refused.
        whole: whether only whole numbers make sense.

    Raises:
        ConfigError: what was expected and what came.

    >>> expect_number("repeats", 0, 1, whole=True)
    Traceback (most recent call last):
        ...
    steelyard.errors.ConfigError: repeats must be a whole number of 1 or more, not 0
    """
    kind = int if whole else int | float
    highest = sys.float_info.max if most is None else most
    if isinstance(value, kind) and not isinstance(value, bool) and least <= value <= highest:
        return
    what = "a whole number" if whole else "a number"
    lowest = limit_text(least)
    limits = f"of {lowest} or more" if most is None else f"from {lowest} to {limit_text(most)}"
    raise ConfigError(f"{name} must be {what} {limits}, not {value!r}")


def limit_text(limit: float) -> str:
    """A limit of an option as people write it.

    >>> limit_text(1_000_000), limit_text(0.001)
    ('1,000,000', '0.001')
    """
    return f"{limit:,.0f}" if float(limit).is_integer() else f"{limit:g}"


def _around(line: str, at: int) -> tuple[str, str]:
    """The part of a long line around `at` that fits in 80 columns, and the beginning of that part up to `at`."""
    start = max(0, min(at - _SHOWN // 2, len(line) - _SHOWN))
    end = start + _SHOWN
    begin = "…" if start else ""
    return f"{begin}{line[start:end]}{'…' if end < len(line) else ''}", begin + line[start:at]


def _blank(text: str) -> str:
    """Spaces as wide as `text` on a terminal, where Chinese characters take two columns."""
    from unicodedata import combining, east_asian_width

    return "".join(
        "\t"
        if character == "\t"
        else ""
        if combining(character)
        else "  "
        if east_asian_width(character) in "WF"
        else " "
        for character in text
    )
