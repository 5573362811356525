"""One SQL statement a line, with the database it is for behind a tab: gold.sql, and predictions of other tools.

Source: the shape of Spider's `dev_gold.sql` and of the predictions its evaluators read (T. Yu et al., "Spider: A
Large-Scale Human-Labeled Dataset for Complex and Cross-Domain Semantic Parsing and Text-to-SQL Task", EMNLP 2018).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from steelyard.data.encoding import TextFile, examine_text
from steelyard.data.table import Row, Table

BIRD_MARK: Final = "\t----- bird -----\t"
"""What stands between statement and database in the predictions that BIRD's evaluator reads."""

_NAME: Final = re.compile(r"\w[\w.\-]*")
_KEYWORD: Final = re.compile(r"select|from|where|and|or|as|asc|desc|end|null|limit|distinct|by|\d+", re.IGNORECASE)


class SqlLine(NamedTuple):
    """One statement, and the database that it names; "" where it names none."""

    sql: str
    db_id: str


def read_sql_lines(path: Path) -> Table:
    """A file with one statement a line, each row with the keys `sql` and `db_id`; blank lines are blank rows.

    Raises:
        ConfigError: there is no such file.
        DataError: an encoding that cannot be read.
    """
    text = examine_text(path)
    return Table(path.name, lambda: _rows(text), "line", keyed=True)


def split_line(line: str) -> SqlLine:
    r"""The statement of a line and the database behind its last tab, where a name and nothing else stands there.

    >>> split_line("SELECT a FROM t\tconcert_singer\n"), split_line("SELECT a\tFROM t")
    (SqlLine(sql='SELECT a FROM t', db_id='concert_singer'), SqlLine(sql='SELECT a\tFROM t', db_id=''))
    >>> split_line("SELECT 1\t----- bird -----\tfinancial")
    SqlLine(sql='SELECT 1', db_id='financial')
    """
    if BIRD_MARK in line:
        sql, _, name = line.rpartition(BIRD_MARK)
        return SqlLine(sql.strip(), name.strip())
    sql, tab, name = line.rstrip("\r\n ").rpartition("\t")
    if tab and _NAME.fullmatch(name.strip()) and not _KEYWORD.fullmatch(name.strip()):
        return SqlLine(sql.strip(), name.strip())
    return SqlLine(line.strip(), "")


def _rows(text: TextFile) -> Iterator[Row]:
    for number, line in enumerate(text.lines(), start=1):
        yield Row(number, split_line(line)._asdict())
