"""What `check` says of a dataset: its columns, what its rows hold, and every defect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.data.defects import Defect
from steelyard.data.files import SampleFiles
from steelyard.errors import ConfigError, did_you_mean


@dataclass(frozen=True, slots=True)
class CheckedData:
    """A dataset as it was found.

    Args:
        samples: how many sound rows there are.
        columns: role -> column, as a person names it.
        what: what `counts` counts: `keys`, `databases`, `documents`, `groups`.
        counts: of the sound rows.
        defects: of the others.
        notes: what is odd and no defect.
    """

    samples: int
    columns: Mapping[str, str]
    what: str
    counts: Mapping[str, int]
    defects: Sequence[Defect]
    notes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "samples": self.samples,
            "columns": dict(self.columns),
            self.what: dict(self.counts),
            "defects": [{"kind": one.kind, "place": one.place, "message": one.message} for one in self.defects],
            "notes": list(self.notes),
        }

    def lines(self, file: Path) -> Iterator[str]:
        """For a person."""
        yield f"{file}: {self.samples} samples"
        for role, columns in self.columns.items():
            yield f"  {role}: {columns}"
        if any(self.counts):
            yield f"  {self.what}: {', '.join(f'{name} {count}' for name, count in self.counts.items() if name)}"
        for note in self.notes:
            yield f"  note: {note}"
        count = len(self.defects)
        yield f"  {count or 'no'} defect{'' if count == 1 else 's'}{':' if count else ''}"
        for defect in self.defects:
            yield f"    {defect}"


def check_dataset(suite: str, file: Path, databases: Path | None) -> CheckedData:
    """Read a dataset as a suite would, leaving out rows with defects.

    Args:
        suite: whose; "" is choice, and where that finds no columns the others are named.
        file: the dataset.
        databases: the folder of those that its rows name; None: they are not looked at.

    Raises:
        ConfigError: there is no such suite, or it has no databases.
        DataError: the file cannot be read.
    """
    name = suite or "choice"
    if name not in _READERS:
        raise ConfigError(f"there is no suite {suite!r} that reads datasets{did_you_mean(suite, _READERS)}")
    try:
        return _READERS[name](SampleFiles(file=file, skip_bad=True), databases)
    except ConfigError as error:
        if suite or not file.is_file():
            raise
        others = ", ".join(f"--suite {one}" for one in _READERS if one != name)
        raise ConfigError(f"{error}. It was read as a dataset of {name}; of others: {others}") from error


def _choice(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.choice.rows import load_choice

    if databases is not None:
        raise ConfigError(_NO_DATABASES)
    data = load_choice(files)
    return CheckedData(data.n, data.mapping, "keys", data.key_histogram, data.defects, data.notes)


def _text2sql(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.text2sql.rows import load_text2sql

    data = load_text2sql(files, databases=databases)
    return CheckedData(data.n, data.mapping, "databases", data.databases, data.defects, data.notes)


def _tables(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.tables.rows import load_tables

    data = load_tables(files, task="QA", databases=databases)
    counts = Counter(str(sample.metadata.get("db_id", "")) for sample in data.samples)
    return CheckedData(len(data.samples), data.mapping, "databases", counts, data.defects, data.notes)


def _rag(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.rag.rows import load_rag

    if databases is not None:
        raise ConfigError(_NO_DATABASES)
    data = load_rag(files)
    return CheckedData(len(data.samples), data.mapping, "documents", data.documents, data.defects, data.notes)


def _pairwise(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.pairwise.rows import load_pairwise

    if databases is not None:
        raise ConfigError(_NO_DATABASES)
    data = load_pairwise(files)
    return CheckedData(len(data.samples), data.mapping, "groups", data.groups, data.defects, data.notes)


_NO_DATABASES: Final = "--databases belongs to --suite text2sql or tables"
_READERS: Final[Mapping[str, Callable[[SampleFiles, Path | None], CheckedData]]] = {
    "choice": _choice,
    "pairwise": _pairwise,
    "rag": _rag,
    "tables": _tables,
    "text2sql": _text2sql,
}
