"""What `check` says of a dataset: its columns, what its rows hold, and every defect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from steelyard.data.defects import Defect
from steelyard.data.files import SampleFiles
from steelyard.errors import ConfigError, did_you_mean

_WIDTH: Final = 80
_MOST_COUNTS: Final = 60
"""Counts that are shown; --json has them all."""


@dataclass(frozen=True, slots=True)
class CheckedData:
    """A dataset as it was found.

    Args:
        samples: how many sound rows there are.
        columns: role -> column of the first table, as a person names it.
        what: what `counts` counts: `keys`, `databases`, `documents`, `groups`.
        counts: of the sound rows.
        defects: of the others.
        notes: what is odd and no defect.
        tables: each table with its `table`, `header_row` (None where it has none), `columns` and `samples`.
        groups: group -> samples; empty where no row has one.
        pairs: questions that are nearly the same.
        skip_bad: whether rows with defects are left out rather than mended.
    """

    samples: int
    columns: Mapping[str, str]
    what: str
    counts: Mapping[str, int]
    defects: Sequence[Defect]
    notes: Sequence[str]
    tables: Sequence[Mapping[str, Any]] = ()
    groups: Mapping[str, int] = field(default_factory=dict)
    pairs: Sequence[Mapping[str, Any]] = ()
    skip_bad: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "samples": self.samples,
            "columns": dict(self.columns),
            "tables": list(self.tables),
            self.what: dict(self.counts),
            "groups": dict(self.groups),
            "defects": [{"kind": one.kind, "place": one.place, "message": one.message} for one in self.defects],
            "defect_kinds": dict(Counter(one.kind for one in self.defects)),
            "pairs": list(self.pairs),
            "notes": list(self.notes),
        }

    def lines(self, title: str) -> Iterator[str]:
        """For a person."""
        yield f"{title}: {_counted(self.samples, 'sample')}"
        yield from self._column_lines()
        yield from packed(self.what, self.counts)
        if self.what != "groups":
            yield from packed("groups", self.groups)
        for note in self.notes:
            yield f"    {note[2:]}" if note.startswith("  ") else f"  note: {note}"
        left_out = " (their rows are left out)" if self.defects and self.skip_bad else ""
        yield f"  {_counted(len(self.defects), 'defect')}{left_out}{':' if self.defects else ''}"
        if len(self.defects) > 1:
            yield from packed("  by kind", Counter(one.kind for one in self.defects))
        for defect in self.defects:
            yield f"    {defect}"
        if self.defects and not self.skip_bad:
            yield "  mend them, or leave such rows out: --skip-bad, in a configuration skip_bad: true under samples"

    def _column_lines(self) -> Iterator[str]:
        """The columns once where all tables have the same, else for each table."""
        alike = len({str(one["columns"]) for one in self.tables}) <= 1
        if alike:
            yield from (f"  {role}: {columns}" for role, columns in self.columns.items())
        for one in self.tables if len(self.tables) > 1 else ():
            yield f"  {one['table']}: {_counted(one['samples'], 'sample')}"
            if not alike:
                yield from (f"    {role}: {columns}" for role, columns in one["columns"].items())


def packed(label: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Counts as lines that a terminal of 80 columns holds; none where nothing has a name.

    >>> list(packed("keys", {"A": 2, "B": 1}))
    ['  keys: A 2, B 1']
    """
    named = [f"{name} {count}" for name, count in counts.items() if name]
    if not named:
        return
    entries = named[:_MOST_COUNTS] + ([f"and {len(named) - _MOST_COUNTS} more"] if len(named) > _MOST_COUNTS else [])
    if missing := counts.get("", 0):
        entries.append(f"none {missing}")
    line = f"  {label}:"
    for place, entry in enumerate(entries):
        text = f" {entry}{',' if place < len(entries) - 1 else ''}"
        if _cells(line) + _cells(text) > _WIDTH and line.strip():
            yield line
            line = "   "
        line += text
    yield line


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(one) in {"W", "F"} else 1 for one in text)


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


def columns_of(given: Iterable[str]) -> dict[str, str | list[str]]:
    """The columns that `--columns` names, `question=A,options=B:E,answer=F`; a role given twice has a list.

    Raises:
        ConfigError: a part is not of the form role=column.

    >>> columns_of(["question=题目,options=甲:丁", "answer=F"])
    {'question': '题目', 'options': '甲:丁', 'answer': 'F'}
    """
    found: dict[str, list[str]] = {}
    for part in (part for one in given for part in one.split(",")):
        role, mark, column = (text.strip() for text in part.partition("="))
        if not (role and mark and column):
            raise ConfigError(f"--columns: expected role=column, as question=A,options=B:E,answer=F, not {part!r}")
        found.setdefault(role, []).append(column)
    return {role: columns[0] if len(columns) == 1 else columns for role, columns in found.items()}


def check_dataset(suite: str, files: SampleFiles, databases: Path | None) -> CheckedData:
    """Read a dataset as a suite would, and tell every defect.

    Args:
        suite: whose; "" is choice, and where that finds no columns the others are named.
        files: the dataset.
        databases: the folder of those that its rows name; None: they are not looked at.

    Raises:
        ConfigError: there is no such suite, or it has no databases.
        DataError: the file cannot be read.
    """
    name = suite or "choice"
    if name not in _READERS:
        raise ConfigError(f"there is no suite {suite!r} that reads datasets{did_you_mean(suite, _READERS)}")
    try:
        return _READERS[name](files, databases)
    except ConfigError as error:
        if suite or not any(words in str(error) for words in ("no column for", "there is no role")):
            raise
        others = ", ".join(f"--suite {one}" for one in _READERS if one != name)
        raise ConfigError(f"{error}. It was read as a dataset of {name}; of others: {others}") from error


def _choice(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.choice.oddities import look_over
    from steelyard.suites.choice.rows import examine_choice

    if databases is not None:
        raise ConfigError(_NO_DATABASES)
    data = examine_choice(files)
    odd = look_over(data)
    tables = [
        {
            "table": one.table.title,
            "header_row": one.layout.header_row,
            "columns": one.layout.describe(),
            "samples": odd.tables.get(one.table.title, 0),
        }
        for one in data.readings
    ]
    groups = {name: count for name, count in odd.groups.items() if any(odd.groups)}
    pairs = [one._asdict() for one in odd.pairs]
    return CheckedData(
        data.n,
        data.mapping,
        "keys",
        data.key_histogram,
        data.defects,
        (*data.notes, *odd.notes),
        tables,
        groups,
        pairs,
        files.skip_bad,
    )


def _text2sql(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.text2sql.rows import load_text2sql

    data = load_text2sql(_lenient(files), databases=databases)
    groups = _groups(sample.group for sample in data.samples)
    return _checked(files, data, ("databases", data.databases), groups)


def _tables(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.tables.rows import load_tables

    data = load_tables(_lenient(files), task="QA", databases=databases)
    counts = Counter(str(sample.metadata.get("db_id", "")) for sample in data.samples)
    return _checked(files, data, ("databases", counts), _groups(sample.group for sample in data.samples))


def _rag(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.rag.rows import load_rag

    if databases is not None:
        raise ConfigError(_NO_DATABASES)
    data = load_rag(_lenient(files))
    return _checked(files, data, ("documents", data.documents), _groups(sample.group for sample in data.samples))


def _pairwise(files: SampleFiles, databases: Path | None) -> CheckedData:
    from steelyard.suites.pairwise.rows import load_pairwise

    if databases is not None:
        raise ConfigError(_NO_DATABASES)
    data = load_pairwise(_lenient(files))
    return _checked(files, data, ("groups", data.groups), data.groups)


def _lenient(files: SampleFiles) -> SampleFiles:
    """The same, with its defects told and not raised."""
    from dataclasses import replace

    return replace(files, skip_bad=True)


def _checked(
    files: SampleFiles, data: Any, counted: tuple[str, Mapping[str, int]], groups: Mapping[str, int]
) -> CheckedData:
    what, counts = counted
    return CheckedData(
        len(data.samples),
        data.mapping,
        what,
        counts,
        data.defects,
        data.notes,
        groups=groups,
        skip_bad=files.skip_bad,
    )


def _groups(names: Iterable[str]) -> Mapping[str, int]:
    counts = Counter(names)
    return counts if any(counts) else {}


_NO_DATABASES: Final = "--databases belongs to --suite text2sql or tables"
_READERS: Final[Mapping[str, Callable[[SampleFiles, Path | None], CheckedData]]] = {
    "choice": _choice,
    "pairwise": _pairwise,
    "rag": _rag,
    "tables": _tables,
    "text2sql": _text2sql,
}
