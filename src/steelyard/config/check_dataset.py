"""Check a dataset as a suite would read it: its columns, counts of its rows, and every defect."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from rich.cells import cell_len

from steelyard.data.columns import HEAD_ROWS, find_layout
from steelyard.data.headers import Role, by_header, normalized
from steelyard.data.load import read_tables
from steelyard.data.rows import LEFT_OUT, RowDataset
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Defect, Row, Table, render
from steelyard.errors import ConfigError, DataError, bounded, did_you_mean
from steelyard.evaluation.objects import Suite
from steelyard.plain_json import grouped
from steelyard.registry import DEFAULT_SUITE, describe
from steelyard.scorers.reference_checks import ERRORS, TITLES, ReferenceFinding, ReferenceMemory
from steelyard.scorers.sql import SqlResult
from steelyard.scorers.tables import TableMetrics
from steelyard.session.secrets import Secrets, references
from steelyard.suites.choice.dataset_warnings import warnings_of
from steelyard.suites.choice.reading import ROLES as CHOICE
from steelyard.suites.choice.rows import examine_choice
from steelyard.suites.general.rows import ROLES as GENERAL
from steelyard.suites.general.rows import load_general
from steelyard.suites.general.suite import default_name
from steelyard.suites.pairwise import ROLES as PAIRWISE
from steelyard.suites.pairwise import load_pairwise
from steelyard.suites.rag import ROLES as RAG
from steelyard.suites.rag import count_documents, load_rag
from steelyard.suites.tables import ROLES as TABLES
from steelyard.suites.tables import load_tables
from steelyard.suites.text2sql.rows import ROLES as SQL
from steelyard.suites.text2sql.rows import load_text2sql
from steelyard.types import Sample

_LEAST: Final = 2
"""Known columns that make a row a header."""
_WRONG_SUITE: Final = ("no column for", "there is no role", "there is no valid row")
"""What is said of a dataset that was taken for another suite's."""


def suite_of(files: SampleFiles) -> str:
    """The suite that reads these files; `general` where the columns say nothing else.

    Raises:
        ConfigError: a file that does not exist.
        DataError: a file that cannot be read.
    """
    tables, _ = read_tables(files)
    headers = [_headers(table, files) for table in tables]
    if not any(headers):
        return "choice" if tables and _is_exam_by_position(tables[0], files) else DEFAULT_SUITE
    headers_found = next(filter(None, headers))
    roles = {name: by_header(headers_found, ROLES[name], {}) for name in _TOLD_APART}
    named = set(headers_found.values())
    has_verdicts = {"label", "score", "explanation"} <= named  # of an evaluator, as Phoenix exports them
    if {"question", "options"} <= roles["choice"].keys() or (
        {"question", "answer"} <= roles["choice"].keys() and not has_verdicts and _is_exam(files)
    ):
        return "choice"
    words = " ".join(map(normalized, headers_found.values()))
    first = next(iter(tables[0]), Row(0, {})).cells
    cells: dict[Column, object] = dict(first.items() if isinstance(first, Mapping) else enumerate(first))
    has_schema = "db_id" in roles["text2sql"] or any("create table" in render(cell).lower() for cell in cells.values())
    if {"question", "sql"} <= roles["text2sql"].keys() and ("sql" in words or has_schema):
        return "text2sql"
    targets = [cells.get(column) for column in roles["tables"].get("target", ())]
    has_rows = any(isinstance(cell, list) and cell and isinstance(cell[0], list) for cell in targets)
    if "target" in roles["tables"] and (has_rows or "table" in words or "db_id" in roles["tables"]):
        return "tables"
    has_source = {"source", "chunk"} & roles["rag"].keys() and "expectations" not in named  # a record of MLflow
    return "rag" if "question" in roles["rag"] and has_source else DEFAULT_SUITE


ROLES: Final[Mapping[str, Sequence[Role]]] = {
    "choice": CHOICE,
    "general": GENERAL,
    "pairwise": PAIRWISE,
    "rag": RAG,
    "tables": TABLES,
    "text2sql": SQL,
}
"""Suite -> the roles of the columns that it reads."""
_TOLD_APART: Final = ("choice", "text2sql", "tables", "rag")
"""Suites whose columns show that a dataset is theirs."""


def _headers(table: Table, files: SampleFiles) -> dict[Column, str]:
    """The headers of a table: its keys, or the first row in which several columns are known to some suite."""
    head = list(islice(table, HEAD_ROWS))
    if table.keyed:
        return {str(key): str(key) for row in head for key in row.cells}
    for row in head if files.header == "auto" else [row for row in head if row.number == files.header]:
        texts: dict[Column, str] = {index: text for index, cell in enumerate(row.cells) if (text := render(cell))}
        if max(len(by_header(texts, ROLES[name], {})) for name in _TOLD_APART) >= _LEAST:
            return texts
    return {}


def _is_exam_by_position(table: Table, files: SampleFiles) -> bool:
    """Whether a table without a header has the columns of an exam, by what their cells look like."""
    try:
        return not table.keyed and find_layout(table, CHOICE, files).header_row is None
    except ConfigError:
        return False


def _is_exam(files: SampleFiles) -> bool:
    """Whether a table without a column of options is an exam, with the options inside the question."""
    try:
        data = examine_choice(files)
    except ConfigError:
        return False
    return bool(data.n) and not data.defects


_WIDTH: Final = 80
_MOST_COUNTS: Final = 60
"""Maximum number of counts shown; --json has them all."""
_MOST_SHOWN: Final = 200
_MOST_PLACES: Final = 5
"""Places of equal defects that are listed."""


@dataclass(frozen=True, slots=True)
class CheckedData:
    """The result of checking a dataset.

    Args:
        samples: number of valid rows.
        columns: role -> column of the first table, as it is shown to people.
        what: what `counts` counts: `keys`, `databases`, `documents`, `groups`.
        counts: of the valid rows.
        defects: of the other rows.
        notes: warnings about unusual but valid content.
        tables: each table with its `table`, `header_row` (None without one), `columns` and `samples`.
        groups: group -> samples; empty if no row has one.
        pairs: near-duplicate questions.
        skip_bad: whether rows with defects are left out.
        references: what is wrong with reference queries, or doubtful about them.
        suite: the suite as whose dataset it was read.
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
    references: Sequence[ReferenceFinding] = ()
    suite: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether rows have to be corrected before a run: defects that are not left out, or references that fail."""
        broken = any(finding.is_error for finding in self.references)
        return (bool(self.defects) and not self.skip_bad) or broken or not self.samples

    def json_fields(self) -> dict[str, Any]:
        """The counts have the name of what they count; texts of a file are cut."""
        return {
            "suite": self.suite,
            "samples": self.samples,
            "columns": self.columns,
            "tables": self.tables,
            self.what: self.counts,
            "groups": self.groups,
            "defects": [
                {"kind": defect.kind, "place": bounded(defect.location), "message": bounded(defect.message)}
                for defect in self.defects
            ],
            "defect_kinds": Counter(defect.kind for defect in self.defects),
            "pairs": self.pairs,
            "reference_findings": self.references,
            "notes": self.notes,
        }

    def lines(self, title: str) -> Iterator[str]:
        """The report for a terminal of 80 columns, line by line."""
        yield f"{title}: {_counted(self.samples, 'sample')}, suite {self.suite}"
        yield from self._column_lines()
        yield from packed(self.what, self.counts)
        if self.what != "groups":
            yield from packed("groups", self.groups)
        for note in self.notes:
            yield f"    {note[2:]}" if note.startswith("  ") else f"  note: {note}"
        yield from reference_lines(self.references)
        failing = any(finding.is_error for finding in self.references)
        if failing and not self.defects:
            return
        left_out = " (their rows are left out)" if self.defects and self.skip_bad else ""
        yield f"  {_counted(len(self.defects), 'defect')}{left_out}{':' if self.defects else ''}"
        if len(self.defects) > 1:
            yield from packed("  by kind", Counter(defect.kind for defect in self.defects))
        lines = list(_grouped(self.defects))
        yield from (f"    {line}" for line in lines[:_MOST_SHOWN])
        if len(lines) > _MOST_SHOWN:
            yield f"    and {len(lines) - _MOST_SHOWN} more: --json has all"
        if self.defects and not self.skip_bad:
            yield "  correct them, or leave such rows out: --skip-bad, in a configuration skip_bad: true under samples"

    def _column_lines(self) -> Iterator[str]:
        """The columns once if all tables have the same, otherwise for each table."""
        uniform = len({str(table["columns"]) for table in self.tables}) <= 1
        if uniform:
            yield from (f"  {role}: {columns}" for role, columns in self.columns.items())
        for table in self.tables if len(self.tables) > 1 else ():
            yield f"  {table['table']}: {_counted(table['samples'], 'sample')}"
            if not uniform:
                yield from (f"    {role}: {columns}" for role, columns in table["columns"].items())


def _grouped(defects: Sequence[Defect]) -> Iterator[str]:
    """One line per kind of mistake: equal defects are counted, with the first of their places."""
    groups = grouped(((defect.kind, defect.message), defect.location) for defect in defects)
    for (_, message), locations in groups.items():
        if len(locations) == 1:
            yield bounded(f"{locations[0]}: {message}")
        else:
            more = f" and {len(locations) - _MOST_PLACES} more" if len(locations) > _MOST_PLACES else ""
            yield bounded(f"{len(locations)} times: {message}: {', '.join(locations[:_MOST_PLACES])}{more}")


def reference_lines(findings: Sequence[ReferenceFinding]) -> Iterator[str]:
    """List what is wrong with references, each with its location: errors first, then warnings."""
    if not findings:
        return
    for kind, title in TITLES.items():
        of_kind = [finding for finding in findings if finding.kind == kind]
        if of_kind:
            level = "error" if kind in ERRORS else "warning"
            yield f"  {level}, {_counted(len(of_kind), 'reference')}: {title}"
            yield from (f"    {finding}" for finding in of_kind[:_MOST_COUNTS])
        if len(of_kind) > _MOST_COUNTS:
            yield f"    and {len(of_kind) - _MOST_COUNTS} more: --json has all"


def check_references(suite: Suite, environment: Mapping[str, str] = MappingProxyType({})) -> list[ReferenceFinding]:
    """Run the references of a suite and list what is wrong with them; a suite without SQL has none.

    Args:
        suite: of a configuration.
        environment: values of its references, for the addresses of servers.

    Raises:
        ConfigError: an engine is not installed or cannot be confined on this machine.
    """
    located: Iterable[tuple[str, Sample]] = (("", sample) for sample in suite.samples)
    if isinstance(suite.samples, RowDataset):
        located = suite.samples.located()
    for scorer in suite.scorers:
        if isinstance(scorer, SqlResult | TableMetrics):
            return _with_memory(scorer, located, Secrets(references(describe(scorer)), environment).resolve)
    return []


def _with_memory(
    scorer: SqlResult | TableMetrics, located: Iterable[tuple[str, Sample]], resolve: Callable[[str], str] = str
) -> list[ReferenceFinding]:
    """Check references with what this person's earlier checks found: `$XDG_CACHE_HOME/steelyard/references.db`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        folder = cache if cache.is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # there is no home
        return scorer.check_references(located, None, resolve)
    with ReferenceMemory(folder / "steelyard" / "references.db") as memory:
        return scorer.check_references(located, memory, resolve)


def packed(label: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Format counts as lines of at most 80 columns; no line if no count has a name.

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
    for index, entry in enumerate(entries):
        text = f" {entry}{',' if index < len(entries) - 1 else ''}"
        if cell_len(line) + cell_len(text) > _WIDTH and line.strip():
            yield line
            line = "   "
        line += text
    yield line


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


def parse_columns(options: Iterable[str]) -> dict[str, str | list[str]]:
    """Parse `--columns question=A,options=B:E,answer=F`: role -> column, or a list for a role that is repeated.

    Raises:
        ConfigError: a part is not of the form role=column.

    >>> parse_columns(["question=题目,options=甲:丁", "answer=F"])
    {'question': '题目', 'options': '甲:丁', 'answer': 'F'}
    """
    columns: dict[str, list[str]] = {}
    for part in (part for option in options for part in option.split(",")):
        role, equals, column = (text.strip() for text in part.partition("="))
        if not (role and equals and column):
            raise ConfigError(f"--columns: expected role=column, as question=A,options=B:E,answer=F, not {part!r}")
        columns.setdefault(role, []).append(column)
    return {role: names[0] if len(names) == 1 else names for role, names in columns.items()}


def check_dataset(suite: str, files: SampleFiles, databases: Path | None, *, references: bool = True) -> CheckedData:
    """Read a dataset as a suite would, collecting every defect instead of stopping at the first.

    Args:
        suite: name of the suite; "" is the one that the columns are for.
        files: the dataset.
        databases: the folder of the databases that the rows refer to; None does not check them.
        references: whether SQL references are run.

    Raises:
        ConfigError: there is no such suite, or it has no databases.
        DataError: the file cannot be read, or no row of it.
    """
    name = suite or suite_of(files)
    suites = sorted({*_READERS, *_SQL_READERS})
    if name not in suites:
        raise ConfigError(f"there is no suite {suite!r} that reads datasets{did_you_mean(suite, suites)}")
    if databases is not None and name not in _SQL_READERS:
        raise ConfigError("--databases belongs to --suite text2sql or tables")
    try:
        if name in _SQL_READERS:
            checked = _SQL_READERS[name](files, databases, references=references)
        else:
            checked = _READERS[name](files)
    except (ConfigError, DataError) as error:
        if suite or not any(words in str(error) for words in _WRONG_SUITE):
            raise
        suffixes = {path.suffix.lower() for path in files.paths}
        lines = ", one SQL statement a line" if suffixes and suffixes <= {".sql", ".txt"} else ""
        others = ", ".join(f"--suite {other}" for other in suites if other != name)
        read_as = f"It was read as a dataset of {name}{lines}; errors for other suites: {others}"
        raise type(error)(f"{error}. {read_as}") from error
    return replace(checked, suite=name)


def _general(files: SampleFiles) -> CheckedData:
    data = load_general(_lenient(files)).data
    scorer, reason = default_name(data.samples)
    scored = f"scored by {scorer}, since {reason}" if scorer else "nothing to score: no expected output and no checks"
    expected = Counter(sample.reference for sample in data.samples if isinstance(sample.reference, str))
    checked = _checked(files, data, "labels", expected if scorer == "label" else {})
    return replace(checked, notes=(*checked.notes, f"where a configuration names no scorer: {scored}"))


def _choice(files: SampleFiles) -> CheckedData:
    data = examine_choice(files)
    warnings = warnings_of(data)
    tables = [
        {
            "table": reading.table.title,
            "header_row": reading.layout.header_row,
            "columns": reading.layout.describe(),
            "samples": warnings.tables.get(reading.table.title, 0),
        }
        for reading in data.readings
    ]
    groups = {name: count for name, count in warnings.groups.items() if any(warnings.groups)}
    pairs = [pair._asdict() for pair in warnings.pairs]
    return CheckedData(
        data.n,
        data.mapping,
        "keys",
        data.key_histogram,
        data.defects,
        (*data.notes, *warnings.notes),
        tables,
        groups,
        pairs,
        files.skip_bad,
    )


def _text2sql(files: SampleFiles, databases: Path | None, *, references: bool) -> CheckedData:
    data = load_text2sql(_lenient(files), databases=databases)
    findings = _with_memory(SqlResult(databases=databases), data.located()) if references else ()
    return replace(_checked(files, data, "databases", data.databases), references=findings)


def _tables(files: SampleFiles, databases: Path | None, *, references: bool) -> CheckedData:
    data = load_tables(_lenient(files), task="QA", databases=databases)
    counts = Counter(str(sample.metadata.get("db_id", "")) for sample in data.samples)
    findings = _with_memory(TableMetrics(databases=databases), data.located()) if references else ()
    return replace(_checked(files, data, "databases", counts), references=findings)


def _rag(files: SampleFiles) -> CheckedData:
    data = load_rag(_lenient(files))
    return _checked(files, data, "documents", count_documents(data.samples))


def _pairwise(files: SampleFiles) -> CheckedData:
    data = load_pairwise(_lenient(files))
    return _checked(files, data, "groups", Counter(sample.group for sample in data.samples))


def _lenient(files: SampleFiles) -> SampleFiles:
    """The same files, with defects collected instead of raised."""
    return replace(files, skip_bad=True)


def _checked(files: SampleFiles, data: RowDataset, what: str, counts: Mapping[str, int]) -> CheckedData:
    groups = Counter(sample.group for sample in data.samples)
    # Defects are collected in any case; only with --skip-bad a run would leave their rows out.
    return CheckedData(
        len(data.samples),
        data.mapping,
        what,
        counts,
        data.defects,
        tuple(note for note in data.notes if files.skip_bad or not note.endswith(LEFT_OUT)),
        groups=groups if any(groups) or what == "groups" else {},
        skip_bad=files.skip_bad,
    )


_READERS: Final[Mapping[str, Callable[[SampleFiles], CheckedData]]] = {
    "choice": _choice,
    "general": _general,
    "pairwise": _pairwise,
    "rag": _rag,
}
_SQL_READERS: Final[Mapping[str, Callable[..., CheckedData]]] = {"tables": _tables, "text2sql": _text2sql}
