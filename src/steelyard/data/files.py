"""Which rows of which files are a dataset: the keys under `samples:` in a configuration."""

from __future__ import annotations

import random as randomness
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from steelyard.errors import ConfigError, did_you_mean


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """Samples from spreadsheets, text tables or JSON.

    Args:
        file: one path or several: .xlsx, .xls, .ods, .csv, .tsv, .jsonl or .json.
        sheets: names of the sheets to read; empty means every visible one.
        columns: role -> column, as a header's text, a letter ("A"), a range ("B:E") or a list of these. When every
            name given is a letter or a range, all are letters; otherwise a name is looked for among the headers
            first. A role that is not named is found by its header. Empty: all are found, see `data.columns`.
        header: `auto` looks for the header among the first ten rows, `none` says there is none, a number is its
            1-based row. JSON has keys instead and ignores this.
        first: only so many samples from the start.
        last: only so many samples from the end.
        random: only so many samples, drawn without replacement and kept in the order of the dataset.
        seed: for `random`.
        skip_bad: leave out rows with a defect, and count them, instead of refusing the dataset.

    Raises:
        ConfigError: more than one of first, last and random; a number below 1; no file.
    """

    file: Path | tuple[Path, ...]
    sheets: tuple[str, ...] = ()
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    header: Literal["auto", "none"] | int = "auto"
    first: int | None = None
    last: int | None = None
    random: int | None = None
    seed: int = 0
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if not self.paths:
            raise ConfigError("samples: file names no file")
        limits = {name: getattr(self, name) for name in ("first", "last", "random")}
        given = {name: value for name, value in limits.items() if value is not None}
        if len(given) > 1:
            raise ConfigError(f"samples: give one of first, last and random, not {' and '.join(given)}")
        for name, value in given.items():
            if value < 1:
                raise ConfigError(f"samples: {name} is {value}; expected a number of samples, 1 or more")
        if not isinstance(self.header, str) and self.header < 1:
            raise ConfigError(f"samples: header is {self.header}; rows count from 1")

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files in the order they are read."""
        return tuple(Path(one) for one in (self.file if isinstance(self.file, tuple | list) else (self.file,)))

    def selected(self, available: int) -> Container[int]:
        """0-based positions among `available` sound rows that are asked; all where no limit is given.

        >>> 3 in SampleFiles(Path("a.csv"), last=2).selected(5), 2 in SampleFiles(Path("a.csv"), last=2).selected(5)
        (True, False)
        """
        if self.first is not None:
            return range(min(self.first, available))
        if self.last is not None:
            return range(max(0, available - self.last), available)
        if self.random is not None and self.random < available:
            draw = randomness.Random(self.seed)  # noqa: S311 - a subset is drawn, nothing is kept secret
            return frozenset(draw.sample(range(available), self.random))
        return range(available)


def require_file(path: Path) -> None:
    """Refuse what is not a regular file before anything waits on it.

    Raises:
        ConfigError: there is no such file; the message suggests one that stands beside it.
    """
    if path.is_file():
        return
    if path.exists():
        raise ConfigError(f"{path} is not a file")
    beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = did_you_mean(path.name, beside)
    raise ConfigError(f"there is no file {path}{hint if hint.startswith(':') else ''}")
