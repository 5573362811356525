"""Which suite a dataset is for, by its columns: exams have options, SQL a query, RAG the source of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from steelyard.data.columns import HEAD_ROWS, find_layout
from steelyard.data.headers import by_header, normalized
from steelyard.data.load import read_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Row, Table, render
from steelyard.errors import ConfigError
from steelyard.registry import DEFAULT_SUITE
from steelyard.suites.choice.reading import ROLES as CHOICE
from steelyard.suites.choice.rows import examine_choice
from steelyard.suites.rag.rows import ROLES as RAG
from steelyard.suites.tables.rows import ROLES as TABLES
from steelyard.suites.text2sql.rows import ROLES as SQL

_LEAST: Final = 2
"""Known columns that make a row a header."""


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
    found = next(filter(None, headers))
    roles = {name: by_header(found, of_suite, {}) for name, of_suite in _SUITES.items()}
    if {"question", "options"} <= roles["choice"].keys() or (
        {"question", "answer"} <= roles["choice"].keys() and _is_exam(files)
    ):
        return "choice"
    words = " ".join(map(normalized, found.values()))
    first = next(iter(tables[0]), Row(0, {})).cells
    cells = list(first.values() if isinstance(first, Mapping) else first)
    has_schema = "db_id" in roles["text2sql"] or any("create table" in render(cell).lower() for cell in cells)
    if {"question", "sql"} <= roles["text2sql"].keys() and ("sql" in words or has_schema):
        return "text2sql"
    has_rows = any(isinstance(cell, list) and cell and isinstance(cell[0], list) for cell in cells)
    if "target" in roles["tables"] and (has_rows or "table" in words or "db_id" in roles["tables"]):
        return "tables"
    has_source = {"source", "chunk"} & roles["rag"].keys()
    return "rag" if "question" in roles["rag"] and has_source else DEFAULT_SUITE


_SUITES: Final = {"choice": CHOICE, "text2sql": SQL, "tables": TABLES, "rag": RAG}


def _headers(table: Table, files: SampleFiles) -> dict[Column, str]:
    """The headers of a table: its keys, or the first row in which several columns are known to some suite."""
    head = list(islice(table, HEAD_ROWS))
    if table.keyed:
        return {str(key): str(key) for row in head for key in row.cells}
    for row in head if files.header == "auto" else [row for row in head if row.number == files.header]:
        texts: dict[Column, str] = {index: text for index, cell in enumerate(row.cells) if (text := render(cell))}
        if max((len(by_header(texts, roles, {})) for roles in _SUITES.values()), default=0) >= _LEAST:
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
