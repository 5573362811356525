"""The types and values of a dump's columns, as SQLite or DuckDB writes them.

A value is a literal of the dump, and becomes one; what is computed, or has no counterpart, is `Untranslatable`.
"""

# Why it is so, and what was rejected: docs/decisions/sql-vendor-schemas.md

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from steelyard.sql.results import LocalEngine
from steelyard.sql.vendor_dumps import Vendor

_COPY_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_COPY_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_AMOUNT: Final = re.compile(r"(-?)\$?(\d{1,3}(?:,\d{3})*(?:\.\d+)?)")
"""An amount of money as PostgreSQL writes it: -$1,013.50."""
_INTEGERS: Final = frozenset(
    {"INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "UINT", "UBIGINT", "USMALLINT", "UTINYINT", "UMEDIUMINT"}
) | frozenset({"SERIAL", "BIGSERIAL", "SMALLSERIAL", "YEAR", "BIT"})
_DECIMALS: Final = frozenset({"DECIMAL", "UDECIMAL", "MONEY", "SMALLMONEY", "BIGDECIMAL"})
_FLOATS: Final = frozenset({"FLOAT", "DOUBLE", "UDOUBLE"})
_BYTES: Final = frozenset({"BINARY", "VARBINARY", "BLOB", "LONGBLOB", "MEDIUMBLOB", "TINYBLOB", "IMAGE", "ROWVERSION"})
_MOMENTS: Final = frozenset({"TIMESTAMP", "DATETIME", "DATETIME2", "SMALLDATETIME", "TIMESTAMPNTZ", "TIMESTAMPLTZ"})
_DATED: Final = frozenset({*_MOMENTS, "TIMESTAMPTZ", "DATE"})
_MOMENT: Final = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[ T](?P<time>\d\d:\d\d.*))?", re.DOTALL)
"""A date of SQL Server, which reads 20240131 too."""
_PADDED: Final = frozenset({"CHAR", "NCHAR", "BPCHAR"})
SERIAL: Final = frozenset({"SERIAL", "BIGSERIAL", "SMALLSERIAL"})
_DUCKDB_INTEGERS: Final = {
    "INT": "INTEGER", "MEDIUMINT": "INTEGER", "UMEDIUMINT": "UINTEGER", "UINT": "UINTEGER", "YEAR": "INTEGER",
    "SERIAL": "INTEGER", "BIGSERIAL": "BIGINT", "SMALLSERIAL": "SMALLINT", "BIT": "UBIGINT",
}  # fmt: skip


class Untranslatable(Exception):
    """Raised where a statement has no counterpart; the message is the reason."""


@dataclass(frozen=True, slots=True)
class DumpValues:
    """Translates types and values of one vendor's dump for one engine."""

    vendor: Vendor
    engine: LocalEngine

    def type_of(self, written: exp.DataType | None, kind: str) -> str:  # noqa: C901, PLR0911  # one group of types after another
        """The type of the engine that holds the values of one of the vendor's; text where there is none."""
        text = "TEXT" if self.engine == "sqlite" else "VARCHAR"
        if written is None or kind == "USERDEFINED":
            return text
        sizes = [part.name for part in written.expressions if part.name.isdecimal()]
        if kind in _INTEGERS:
            if kind == "BIT" and self.vendor != "mysql":
                return "BOOLEAN" if self.vendor == "tsql" else text
            return "INTEGER" if self.engine == "sqlite" else _DUCKDB_INTEGERS.get(kind, kind)
        if kind in _DECIMALS:
            sizes = sizes or (["19", "4"] if "MONEY" in kind else ["38", "10"])
            if self.engine == "duckdb" and int(sizes[0]) > 38:
                return "DOUBLE"
            return f"DECIMAL({', '.join(sizes)})"
        if kind in _FLOATS:
            has_4_bytes = kind == "FLOAT" and self.vendor == "mysql"
            return "REAL" if self.engine == "sqlite" else "FLOAT" if has_4_bytes else "DOUBLE"
        if self._is_binary(kind):
            return "BLOB"
        if kind in _MOMENTS or kind == "TIMESTAMPTZ":
            is_zoned = kind == "TIMESTAMPTZ" and self.vendor != "mysql"
            return "TIMESTAMPTZ" if is_zoned else "TIMESTAMP"
        if kind in {"DATE", "TIME", "BOOLEAN"}:
            return kind
        if kind in {"VARCHAR", "CHAR", "NVARCHAR", "NCHAR"}:
            return f"{kind.removeprefix('N')}({sizes[0]})" if sizes and self.engine == "sqlite" else text
        if self.engine == "duckdb" and kind in {"UUID", "JSON", "JSONB"}:
            return kind.removesuffix("B")
        return text

    def cell(self, cell: exp.Expr, kind: str) -> str:
        """A value of a row, for a column of this kind.

        Raises:
            Untranslatable: it is none that stands in the dump.
        """
        value = self.value(cell, kind)
        if value is None:
            raise Untranslatable(f"its rows hold {short(cell.sql(dialect=self.vendor))}, which is no plain value")
        return value

    def value(self, cell: exp.Expr, kind: str = "") -> str | None:  # noqa: C901, PLR0911  # one kind of value after another
        """A literal of the engine; None for what is none."""
        if isinstance(cell, exp.Paren | exp.Cast | exp.Introducer):
            inner = cell.expression if isinstance(cell, exp.Introducer) else cell.this
            if isinstance(cell, exp.Cast) and isinstance(inner, exp.HexString):
                # SQL Server's own bytes of a date or a decimal.
                return None
            return self.value(inner, kind)
        if isinstance(cell, exp.Neg):
            inner_value = self.value(cell.this, kind)
            return None if inner_value is None or inner_value[:1] in {"'", "-"} else f"-{inner_value}"
        if isinstance(cell, exp.Null):
            return "NULL"
        if isinstance(cell, exp.Boolean):
            return str(int(cell.this)) if self.engine == "sqlite" else str(bool(cell.this)).upper()
        if isinstance(cell, exp.HexString):
            return str(int(cell.this or "0", 16)) if kind == "BIT" else self._bytes(cell.this)
        if isinstance(cell, exp.Column) and cell.sql("tsql") == "[0x]":
            return self._bytes("")
        if isinstance(cell, exp.BitString):
            return str(int(cell.this, 2)) if self.vendor == "mysql" else f"'{cell.this}'"
        if isinstance(cell, exp.CurrentTimestamp):
            return "CURRENT_TIMESTAMP"
        if isinstance(cell, exp.Literal) and not cell.is_string:
            return str(cell.this)
        if isinstance(cell, exp.Literal | exp.National | exp.ByteString | exp.RawString):
            text = _unescaped(str(cell.this)) if isinstance(cell, exp.ByteString) else str(cell.this)
            return self._text(text, kind)
        return None

    def _is_binary(self, kind: str) -> bool:
        # A geometry is binary in MySQL, and hexadecimal digits in PostGIS.
        return kind in _BYTES or (kind == "GEOMETRY" and self.vendor == "mysql")

    def _bytes(self, digits: str) -> str:
        return f"x'{digits}'" if self.engine == "sqlite" else f"from_hex('{digits}')"

    def _text(self, text: str, kind: str) -> str:
        if self.vendor == "mysql" and kind == "BIT":
            if not text.isascii():
                raise Untranslatable("its rows hold bits as bytes, which a text cannot: dump it with --hex-blob")
            return str(int.from_bytes(text.encode()))
        if self.vendor == "mysql" and self._is_binary(kind):
            try:
                return self._bytes(text.encode("utf-8", "surrogateescape").hex())
            except UnicodeEncodeError:
                raise Untranslatable("its rows hold half a character") from None
        if self.vendor == "postgres" and kind in _BYTES and text.startswith("\\x"):
            return self._bytes(text[2:])
        if "\0" in text:
            raise Untranslatable("its rows hold a NUL character")
        if kind == "BOOLEAN" and text.lower() in {"t", "f", "true", "false"}:
            is_true = text[0] in "tT"
            return str(int(is_true)) if self.engine == "sqlite" else str(is_true).upper()
        return self._number_or_text(text, kind)

    def _number_or_text(self, text: str, kind: str) -> str:
        if self.vendor == "postgres" and kind == "MONEY":
            if (amount := _AMOUNT.fullmatch(text)) is None:
                raise Untranslatable(f"its rows hold the amount {short(text)}, which is written in no known way")
            return f"{amount[1]}{amount[2].replace(',', '')}"
        if self.vendor == "tsql" and kind in _DATED and (moment := _MOMENT.fullmatch(text)):
            text = "{}-{}-{}".format(*moment.groups()) + (f" {moment['time']}" if moment["time"] else "")
        if kind in _PADDED:
            text = text.rstrip(" ")  # these are no part of the value where it comes from
        return "'{}'".format(text.replace("'", "''"))

    def copied(self, line: str, kinds: list[str]) -> list[str]:
        """The values of a line of COPY, for columns of these kinds."""
        cells = line.removesuffix("\r").split("\t")
        if len(cells) != len(kinds):
            raise Untranslatable(f"a row has {len(cells)} values, where {len(kinds)} are named")
        return [
            "NULL" if cell == "\\N" else self._text(_unescaped(cell), kind)
            for cell, kind in zip(cells, kinds, strict=True)
        ]


def _unescaped(text: str) -> str:
    r"""A text of COPY or of `E'...'` without its backslashes.

    >>> _unescaped(r"a\tb\\n\x41")
    'a\tb\\nA'
    """
    return _COPY_ESCAPE.sub(lambda match: _character(match[1]), text) if "\\" in text else text


def _character(escape: str) -> str:
    if escape[0] == "x" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return chr(int(escape, 8)) if escape.isdigit() and escape < "8" else _COPY_LETTERS.get(escape, escape)


def short(error: object) -> str:
    """The first line of a message or a statement, for a reason."""
    text = re.sub(r"\x1b\[\d+m", "", str(error)).strip()
    return " ".join(text.partition("\n")[0].split())[:120]
