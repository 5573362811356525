"""The keys under `samples:` in a configuration: which rows of which files are the dataset."""

from __future__ import annotations

import random as randomness
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from steelyard.constraints import Within, check_options
from steelyard.data.hugging_face import dataset_table
from steelyard.data.paths import base_name, is_folder
from steelyard.data.table import Table, UnreadKind, keyed_table, refuse_doubles
from steelyard.errors import ConfigError, DataError, did_you_mean

_KINDS: Final = "a pandas, polars or pyarrow frame, a dataset of `datasets`, or a list of mappings"


class HeldFrame:
    """A data frame with a name; only Python code can pass one.

    Args:
        frame: a frame of pandas, polars or pyarrow, a dataset of `datasets`, or a list of mappings.
        name: for addresses in messages.

    Raises:
        ConfigError: it has another type.
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
    """The table, and a description of its source for the manifest."""
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
    from narwhals import selectors

    try:
        native_frame = nw.from_native(frame)
        collected = native_frame.collect() if isinstance(native_frame, nw.LazyFrame) else native_frame
        refuse_doubles(name, collected.columns)
        # Numbers of 32 bits as they are written: 2.4, not 2.4000000953674316.
        collected = collected.with_columns(selectors.by_dtype(nw.Float32).cast(nw.String).cast(nw.Float64))
    except TypeError as error:
        raise ConfigError(f"samples: expected {_KINDS}, but got a {type(frame).__name__}") from error
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{name}: two columns have the same name: {' '.join(str(error).split())[:200]}") from error
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
        dataset: a dataset of the Hugging Face hub, as `owner/name`, the only source that is downloaded; or a folder, as
            under `file`.
        split: which split of a dataset or folder; required if it has several.
        subset: which configuration of a dataset, or which subfolder of a folder.
        revision: of a dataset on the hub: a commit, tag or branch.
        sheets: one sheet's name or several; empty means every visible one.
        columns: role -> column, as a header's text, a letter ("A"), a range ("B:E", "选项A:选项D") or a list of these.
            If every name is a letter or a range of letters, all are letters; otherwise a name is looked up among the
            headers first. Rows with keys (JSON, Parquet, datasets, frames) have no letters. A role that is not named is
            found by its header. Empty: all are found, see `data.columns`.
        header: `auto` looks for the header among the first ten rows, `none` means that there is no header, a number is
            its 1-based row. Rows with keys ignore this.
        first: only so many samples from the start.
        last: only so many samples from the end.
        random: only so many samples, drawn without replacement and kept in the order of the dataset.
        seed: for `random`.
        skip_bad: leave out rows with a defect, and count them, instead of rejecting the dataset.
        duplicates: `refuse` makes a repeated question of an exam, and a repeated id, a defect. `keep` keeps them, so
            that a published number of questions is met: copies of a question are one cluster, and a repeated id gets
            `#2`, `#3` ... in the order of the rows.
        skip_rows_with: leave out and count rows of a spreadsheet with something that is not read: `pictures` over or in
            their cells, `equations` (formula objects), or `dates` among their options that were fractions or ranges.
        group_by: what the group of a sample is, instead of the role `group`: `file`, `sheet`, or a list of columns (and
            `file` or `sheet`) from the coarsest level to the finest, `[category, subject]`. Reports then have averages
            by level.
        frame: rows in memory; see `of`.

    Raises:
        ConfigError: not exactly one source; a key that belongs to another source; more than one of first, last and
            random; a number below 1.
    """

    file: Path | tuple[Path, ...] = ()
    dataset: Path | str = ""
    split: str = ""
    subset: str = ""
    revision: str = ""
    sheets: str | tuple[str, ...] = ()
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    header: Literal["auto", "none"] | int = "auto"
    first: Annotated[int | None, Within(1)] = None
    last: Annotated[int | None, Within(1)] = None
    random: Annotated[int | None, Within(1)] = None
    seed: int = 0
    skip_bad: bool = False
    duplicates: Literal["refuse", "keep"] = "refuse"
    skip_rows_with: UnreadKind | tuple[UnreadKind, ...] = ()
    group_by: str | tuple[str, ...] = ()
    frame: HeldFrame | None = None

    def __post_init__(self) -> None:
        self._refuse_sources()
        limits = {"first": self.first, "last": self.last, "random": self.random}
        given = [name for name, limit in limits.items() if limit is not None]
        if len(given) > 1:
            raise ConfigError(f"samples: give one of first, last and random, not {' and '.join(given)}")
        check_options(self, within="samples: ")
        for kind in self.unread_kinds:
            if kind not in get_args(UnreadKind):
                raise ConfigError(
                    f"samples: skip_rows_with: there is no {kind!r}{did_you_mean(kind, get_args(UnreadKind))}"
                )
        self._check_levels()
        if not isinstance(self.header, str) and self.header < 1:
            raise ConfigError(f"samples: header is {self.header}; rows count from 1")

    @property
    def unread_kinds(self) -> tuple[UnreadKind, ...]:
        """The kinds in `skip_rows_with`, which may be a text or a list."""
        kinds = self.skip_rows_with
        return (kinds,) if isinstance(kinds, str) else tuple(kinds)

    def _check_levels(self) -> None:
        levels = self.group_levels
        if not all(levels) or len(set(levels)) < len(levels):
            raise ConfigError(
                f"samples: group_by is {self.group_by!r}; expected file, sheet, or a list of different columns, the "
                "coarsest level first"
            )
        if "group" in self.columns and levels:
            raise ConfigError("samples: give columns: {group: ...} or group_by, not both")

    @property
    def group_levels(self) -> tuple[str, ...]:
        """The levels in `group_by`, which may be a text or a list."""
        return ((self.group_by,) if self.group_by else ()) if isinstance(self.group_by, str) else tuple(self.group_by)

    def _refuse_sources(self) -> None:
        sources = [name for name, source in (("dataset", self.dataset), ("frame", self.frame)) if source]
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
            frame: a frame of pandas, polars (lazy ones are collected) or pyarrow; a dataset of `datasets`; or a list of
                mappings, one per row.
            name: stands before the row number in addresses, and is the name of a suite without one.
            keys: any other field: `columns`, `first`, `skip_bad` ...

        Raises:
            ConfigError: it has another type, or the fields contradict each other.

        >>> SampleFiles.of([{"question": "1 + 1?", "options": ["1", "2"], "answer": "B"}], first=1).title
        'frame'
        """
        return cls(frame=HeldFrame(frame, name), **keys)

    @property
    def is_on_hub(self) -> bool:
        """Whether `dataset` names a dataset of the Hugging Face hub, and not a folder."""
        return bool(self.dataset) and isinstance(self.dataset, str) and not is_folder(Path(self.dataset))

    @property
    def title(self) -> str:
        """The default name of the suite: the first file's name without suffix and version, or the dataset's name.

        `questions.v2.jsonl` is a later version of `questions.jsonl`, and runs of both belong to the same suite.
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
        """The names in `sheets`, which may be a text or a list."""
        return ((self.sheets,) if self.sheets else ()) if isinstance(self.sheets, str) else tuple(self.sheets)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of reading."""
        return tuple(Path(path) for path in (self.file if isinstance(self.file, tuple | list) else (self.file,)))

    def selected(self, available: int) -> Container[int]:
        """0-based positions of the selected rows among `available` valid rows; all if no limit is set.

        >>> 3 in SampleFiles(Path("a.csv"), last=2).selected(5), 2 in SampleFiles(Path("a.csv"), last=2).selected(5)
        (True, False)
        """
        if self.first is not None:
            return range(min(self.first, available))
        if self.last is not None:
            return range(max(0, available - self.last), available)
        if self.random is not None and self.random < available:
            draw = randomness.Random(self.seed)  # noqa: S311 - a subset is drawn, nothing has to be secret
            return frozenset(draw.sample(range(available), self.random))
        return range(available)
