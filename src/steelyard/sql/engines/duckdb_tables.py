"""Loads CSV, JSON lines and Parquet into a new DuckDB database, in a process that does nothing else.

The files are a stranger's: the process can open nothing but its own folder, and its memory, time and disk are limited
(`workers.confine`). Statements of a model run later in another process, on the database alone.

Nothing is guessed that could change a value: the first line of a CSV holds the names, its delimiter is the one that is
most frequent there, types are those that every row has, dates are ISO dates, and numbers with leading zeros stay text.
"""

# Why it is so, and what was rejected: docs/decisions/sql-table-files.md

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from typing import Final

import duckdb
from duckdb import DuckDBPyConnection

from steelyard.sql.engines.duckdb_guard import settings_to_write
from steelyard.sql.layout import quoted

_HEAD_BYTES: Final = 1 << 20
_DELIMITERS: Final = (",", ";", "\t", "|")
_QUOTED: Final = re.compile(r'"(?:[^"]|"")*"')
_JSON: Final = "format = 'newline_delimited', sample_size = -1, hive_partitioning = false"
_NULL: Final = '"NULL"'
"""The type of a column that holds nothing but null."""
_WRITTEN: Final = {
    "BOOLEAN": "(?i)true|false",
    "BIGINT": r"[-+]?\d+",
    "HUGEINT": r"[-+]?\d+",
    "TIME": r"\d\d:\d\d(:\d\d(\.\d+)?)?",
}
"""How a value of a type is written, so that it is the value again when it is read."""
_WHERE: Final = re.compile(r"CSV Error on Line: (\d+)")
_FIELDS: Final = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_LINE_OF_SQL: Final = re.compile(r"\s*LINE 1:.*", re.DOTALL)


class _UnreadableTable(Exception):
    """Raised where a file is no table; the message is for a person."""


def load_tables(file: str, tables: Sequence[tuple[str, str, str]], memory_mib: int) -> str:
    """Make a database of tables.

    Args:
        file: where it is made.
        tables: of each the path of its file, its name, and its file's name as messages give it.
        memory_mib: MiB that DuckDB may hold.

    Returns:
        Why a table cannot be loaded; "" where all are.
    """
    folder = os.path.dirname(file)  # noqa: PTH120 (no pathlib in a worker)
    path = shown = "the database"
    try:
        with duckdb.connect(file, config=settings_to_write(memory_mib) | {"temp_directory": ""}) as connection:
            # In this order: the folders cannot be changed once other access is off.
            connection.execute(f"SET allowed_directories = [{_text(folder)}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET TimeZone = 'UTC'")
            for path, name, shown in tables:  # noqa: B007 (named in messages below)
                connection.execute(f"CREATE TABLE {quoted(name, 'duckdb')} AS {_query(connection, path)}")
            connection.execute("CHECKPOINT")
    except _UnreadableTable as error:
        return f"{shown}: {error}"
    except MemoryError:
        return f"{shown}: loading it takes more than {memory_mib} MiB of memory"
    except (duckdb.Error, RuntimeError, UnicodeError) as error:
        return f"{shown}: {_cause(str(error).replace(path, shown), memory_mib)}"
    return ""


def _query(connection: DuckDBPyConnection, path: str) -> str:
    """The query that reads a file, by its ending."""
    file = _text(path)
    if path.endswith(".parquet"):
        return f"SELECT * FROM read_parquet({file}, hive_partitioning = false)"  # noqa: S608
    if not path.endswith((".jsonl", ".ndjson")):
        return f"SELECT * FROM {_csv_reader(connection, path)}"  # noqa: S608
    call = f"read_json({file}, {_JSON})"
    # A column of several types is text, without JSON's quotation marks around it.
    texts = [
        f"{quoted(name, 'duckdb')} ->> '$' AS {quoted(name, 'duckdb')}"
        for name, kind in _columns(connection, call)
        if kind in {"JSON", _NULL}
    ]
    replaced = f" REPLACE ({', '.join(texts)})" if texts else ""
    return f"SELECT *{replaced} FROM {call}"  # noqa: S608


def _columns(connection: DuckDBPyConnection, call: str) -> list[tuple[str, str]]:
    """The names and types of a file's columns, as DuckDB finds them."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {call}").fetchall()  # noqa: S608
    return [(row[0], row[1]) for row in described]


def _csv_reader(connection: DuckDBPyConnection, path: str) -> str:
    """The call of DuckDB that reads a CSV file."""
    file = _text(path)
    with open(path, "rb") as opened:  # noqa: PTH123 (no pathlib in a worker)
        head = opened.read(_HEAD_BYTES)
    if head.startswith(codecs.BOM_UTF16_BE):
        # DuckDB would read it with the bytes of each character the other way round.
        raise _UnreadableTable("it is big-endian UTF-16; save it as UTF-8")
    encoding = "utf-16" if head.startswith(codecs.BOM_UTF16_LE) else "utf-8"
    lines = head.decode(encoding, "replace").removeprefix("\ufeff").splitlines()
    if not lines or not lines[0].strip():
        raise _UnreadableTable("its first line is blank; it has to hold the names of the columns")
    bare = _QUOTED.sub("", lines[0])
    delimiter = "\t" if path.endswith(".tsv") else max(_DELIMITERS, key=bare.count)
    call = f"""read_csv({file}, delim = '{delimiter}', quote = '"', escape = '"', header = true, skip = 0,
        comment = '', sample_size = -1, dateformat = '%Y-%m-%d', null_padding = false, strict_mode = true,
        hive_partitioning = false, encoding = '{encoding}'"""
    try:
        columns = _columns(connection, f"{call})")
    except duckdb.InvalidInputException:
        # DuckDB gives up on finding types and does not say why; without types it names the line.
        names = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(bare.count(delimiter) + 1))
        connection.execute(f"SELECT count(*) FROM {call}, auto_detect = false, columns = {{{names}}})")  # noqa: S608
        raise
    texts = _read_as_other_values(connection, call, columns)
    types = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in texts)
    return f"{call}, types = {{{types}}})" if texts else f"{call})"


def _read_as_other_values(connection: DuckDBPyConnection, call: str, columns: Sequence[tuple[str, str]]) -> list[str]:
    """Columns whose type would make other values of what is written: `yes` true, `0x1f` 31, `1:30` half past one."""
    typed = [(name, _WRITTEN[kind]) for name, kind in columns if kind in _WRITTEN]
    if not typed:
        return []
    tests = (
        f"bool_and(regexp_full_match(trim({quoted(name, 'duckdb')}), {_text(written)}))" for name, written in typed
    )
    [kept] = connection.execute(f"SELECT {', '.join(tests)} FROM {call}, all_varchar = true)").fetchall()  # noqa: S608
    return [name for (name, _), is_kept in zip(typed, kept, strict=True) if is_kept is False]


def _text(value: str) -> str:
    return "'{}'".format(value.replace("'", "''"))


def _cause(text: str, memory_mib: int) -> str:
    """What DuckDB says, on one line, without the options of the reader."""
    where = _WHERE.search(text)
    line = f"line {where[1]}: " if where else ""
    if fields := _FIELDS.search(text):
        return f"{line}{fields[2]} values, where the header names {fields[1]} columns"
    if "not utf-8" in text or "nicode" in text:
        return f"{line}it is neither UTF-8 nor UTF-16: save it as UTF-8"
    if "quote" in text and where:
        return f"{line}a quotation mark that is not closed, or text behind one"
    if text.startswith("Out of Memory"):
        return f"loading it takes more than {memory_mib} MiB of memory"
    return " ".join(_LINE_OF_SQL.sub("", text).partition("\n\n")[0].split())
