"""Which rows of which files are a dataset: the keys under `samples:` in a configuration."""

from __future__ import annotations

import random as randomness
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from steelyard.data.hugging_face import dataset_table
from steelyard.data.mappings import keyed_table, refuse_doubles
from steelyard.data.paths import base_name, is_folder
from steelyard.data.table import Table
from steelyard.errors import ConfigError, DataError

_KINDS: Final = "a pandas, polars or pyarrow frame, a dataset of `datasets`, or a list of mappings"


class HeldFrame:
    """A data frame with a name; only Python can pass one.

    Args:
        frame: one of the kinds in `_KINDS`.
        name: for addresses.

    Raises:
        ConfigError: it is none of these.
    """

    __slots__ = ("_table", "name", "what")

    def __init__(self, frame: Any, name: str) -> None:
        self.name = name
        self._table, self.what = _opened(frame, name)

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"

    def table(self) -> Table:
        """Its rows, numbered from 1, with cells by key."""
        return self._table


def _opened(frame: Any, name: str) -> tuple[Table, str]:
    """The table, and what it was made of, for the manifest."""
    if type(frame).__module__.partition(".")[0] == "datasets":
        return dataset_table(frame, name), f"a {type(frame).__name__}"
    if isinstance(frame, str | bytes | Mapping):
        raise ConfigError(f"samples: expected {_KINDS}, but got a {type(frame).__name__}")
    if isinstance(frame, Sequence):
        wrong = next((number for number, row in enumerate(frame, start=1) if not isinstance(row, Mapping)), 0)
        if wrong:
            raise ConfigError(f"samples: {name} entry {wrong}: expected a mapping, but got {frame[wrong - 1]!r:.60}")
        return keyed_table(name, lambda: iter(frame)), f"a list of {len(frame)} rows"
    return _narwhals_table(frame, name)


def _narwhals_table(frame: Any, name: str) -> tuple[Table, str]:
    import narwhals as nw

    try:
        known = nw.from_native(frame)
        collected = known.collect() if isinstance(known, nw.LazyFrame) else known
        refuse_doubles(name, collected.columns)
    except TypeError as error:
        raise ConfigError(f"samples: expected {_KINDS}, but got a {type(frame).__name__}") from error
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{name}: two columns have one name: {' '.join(str(error).split())[:200]}") from error
    what = (
        f"a frame of {collected.implementation.name.lower()}, {collected.shape[0]} rows, {collected.shape[1]} columns"
    )
    return keyed_table(name, lambda: collected.iter_rows(named=True)), what


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """Samples from spreadsheets, text tables, JSON, Parquet, a dataset of the Hugging Face hub, or a data frame.

    Exactly one of `file`, `dataset` and `frame` names the source of the rows; all other keys mean the same for each.

    Args:
        file: one path or several: .xlsx, .xls, .ods, .csv, .tsv, .jsonl, .json or .parquet; or a folder of such files,
            or one that `datasets` saved to disk.
        dataset: a dataset of the Hugging Face hub, as `owner/name`, the one source that is ever downloaded; or a
            folder, as under `file`.
        split: which part of a dataset or folder; needed where it has several.
        subset: which configuration of a dataset, or which folder inside a folder.
        revision: of a dataset on the hub: a commit, tag or branch.
        sheets: one sheet's name or several; empty means every visible one.
        columns: role -> column, as a header's text, a letter ("A"), a range ("B:E", "选项A:选项D") or a list of these.
            When every name given is a letter or a range, all are letters; otherwise a name is looked for among the
            headers first. Rows with keys (JSON, Parquet, datasets, frames) have no letters. A role that is not named is
            found by its header. Empty: all are found, see `data.columns`.
        header: `auto` looks for the header among the first ten rows, `none` means there is none, a number is its
            1-based row. Rows with keys ignore this.
        first: only so many samples from the start.
        last: only so many samples from the end.
        random: only so many samples, drawn without replacement and kept in the order of the dataset.
        seed: for `random`.
        skip_bad: leave out rows with a defect, and count them, instead of refusing the dataset.
        frame: rows in memory; see `of`.

    Raises:
        ConfigError: not exactly one source; a key that belongs to another; more than one of first, last and random; a
            number below 1.
    """

    file: Path | tuple[Path, ...] = ()
    dataset: Path | str = ""
    split: str = ""
    subset: str = ""
    revision: str = ""
    sheets: str | tuple[str, ...] = ()
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    header: Literal["auto", "none"] | int = "auto"
    first: int | None = None
    last: int | None = None
    random: int | None = None
    seed: int = 0
    skip_bad: bool = False
    frame: HeldFrame | None = None

    def __post_init__(self) -> None:
        self._refuse_sources()
        limits = {name: getattr(self, name) for name in ("first", "last", "random")}
        given = {name: value for name, value in limits.items() if value is not None}
        if len(given) > 1:
            raise ConfigError(f"samples: give one of first, last and random, not {' and '.join(given)}")
        for name, value in given.items():
            if value < 1:
                raise ConfigError(f"samples: {name} is {value}; expected a number of samples, 1 or more")
        if not isinstance(self.header, str) and self.header < 1:
            raise ConfigError(f"samples: header is {self.header}; rows count from 1")

    def _refuse_sources(self) -> None:
        sources = [name for name, given in (("dataset", self.dataset), ("frame", self.frame)) if given]
        sources = (["file"] if self.paths else []) + sources
        if len(sources) > 1:
            raise ConfigError(f"samples: give one of file and dataset, not {' and '.join(sources)}")
        if not sources:
            raise ConfigError("samples: name a file, or a dataset of the Hugging Face hub (dataset: owner/name)")
        if self.revision and not self.is_on_hub:
            raise ConfigError("samples: revision belongs to a dataset of the Hugging Face hub")

    @classmethod
    def of(cls, frame: Any, *, name: str = "frame", **keys: Any) -> SampleFiles:
        """Samples from a data frame.

        Args:
            frame: of pandas, polars (lazy ones are collected) or pyarrow; a dataset of `datasets`; or a list of
                mappings, one a row.
            name: comes in addresses before the number of the row, and is the name of a suite that has none.
            keys: any other field: `columns`, `first`, `skip_bad` ...

        Raises:
            ConfigError: it is none of these, or the fields contradict each other.

        >>> SampleFiles.of([{"question": "1 + 1?", "options": ["1", "2"], "answer": "B"}], first=1).title
        'frame'
        """
        return cls(frame=HeldFrame(frame, name), **keys)

    @property
    def is_on_hub(self) -> bool:
        """Whether the rows are those of a dataset of the Hugging Face hub, and no folder."""
        return bool(self.dataset) and isinstance(self.dataset, str) and not is_folder(Path(self.dataset))

    @property
    def title(self) -> str:
        """The name of a suite without one: the first file's name without its end and version, or the dataset's.

        `questions.v2.jsonl` is a later version of `questions.jsonl`, and runs of both are of one suite.
        """
        if self.frame is not None:
            return self.frame.name
        return base_name(self.paths[0].name)[0] if self.paths else Path(self.dataset).name

    @property
    def names(self) -> str:
        """The sources, for messages."""
        return ", ".join(path.name for path in self.paths) or (self.frame.name if self.frame else str(self.dataset))

    @property
    def named_sheets(self) -> tuple[str, ...]:
        """The sheets that were named, in a text or in a list."""
        return ((self.sheets,) if self.sheets else ()) if isinstance(self.sheets, str) else tuple(self.sheets)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of reading."""
        return tuple(Path(path) for path in (self.file if isinstance(self.file, tuple | list) else (self.file,)))

    def selected(self, available: int) -> Container[int]:
        """0-based positions among `available` sound rows that are selected; all where no limit is given.

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
