"""Translates the statements of a dump into those of SQLite or DuckDB, table by table, with sqlglot.

Of a table are kept: columns, types, NOT NULL, defaults that are values, PRIMARY KEY, UNIQUE and generated columns; rows
as literals. Left out, as the rows satisfied them where they come from: foreign keys and checks. What only a server has
(SET, indexes, rights, routines, sequences) is passed over. A table that cannot be translated is named with the reason,
and nothing of it is built: half of its rows would give wrong results.
"""

# Why it is so, and what was rejected: docs/decisions/sql-vendor-schemas.md

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel

from steelyard.sql.layout import quoted
from steelyard.sql.results import LocalEngine
from steelyard.sql.statements import split
from steelyard.sql.syntax import UNFORESEEN
from steelyard.sql.vendor_dumps import (
    NAME,
    DumpStatement,
    Vendor,
    domains_of,
    parents_of,
    split_dump,
    strip_unsupported,
    unquoted,
)
from steelyard.sql.vendor_values import SERIAL, DumpValues, Untranslatable, short

_quoted: Final = partial(quoted, engine="sqlite")  # and DuckDB
_DEEPEST: Final = 100
_DATA: Final = frozenset({"INSERT", "REPLACE", "UPDATE", "DELETE", "COPY"})
_KIND: Final = re.compile(r"\s*(\w+)(?:\s+(?:OR\s+\w+\s+)?(\w+))?", re.IGNORECASE)
_COPY: Final = re.compile(
    rf"\s*COPY\s+(?:{NAME}\s*\.\s*)*{NAME}(?:\s*\((?P<names>(?:{NAME}|[\s,])*+)\))?\s+FROM\s+stdin\s*(?P<options>.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_ROWS_A_STATEMENT: Final = 500
_DIGITS: Final = 18
"""Fewer than those of the largest number of a sequence."""
_ADDS_KEY: Final = re.compile(r"\b(?:PRIMARY\s+KEY|UNIQUE)\b", re.IGNORECASE)
_MAIN: Final = frozenset({"", "public", "dbo", "main"})


@dataclass(slots=True)
class TranslatedTable:
    """A table and its rows as statements of the engine.

    Args:
        name: as it is called there, without quotes and schema.
        columns: of its CREATE TABLE.
        keys: its PRIMARY KEY and UNIQUE.
        before: statements that have to come first: its schema.
        rows: statements that fill it.
        kinds: of the columns, by sqlglot's names of types.
        why: it cannot be built; "" where it may be.
        create: its CREATE TABLE as it was written, where nothing is translated.
        computed: columns that are generated, whose values no row brings.
        counting: columns that take the next number.
        numbered: the next number of each column that counts by itself, where the engine needs a sequence for that.
    """

    name: str
    written: str = ""
    columns: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    why: str = ""
    create: str = ""
    computed: set[str] = field(default_factory=set)
    counting: set[str] = field(default_factory=set)
    numbered: dict[str, int] = field(default_factory=dict)

    def statements(self) -> Iterator[str]:
        """All of it, in order."""
        yield from self.before
        for column, number in self.numbered.items():
            yield f"CREATE SEQUENCE {_quoted(_sequence_of(self.name, column))} START {number}"
        yield self.create or f"CREATE TABLE {self.written} ({', '.join([*self.columns, *self.keys])})"
        yield from self.rows

    def count(self, columns: Sequence[str], values: Sequence[str]) -> None:
        """Let numbered columns go on behind the numbers of a row."""
        if not self.numbered:
            return
        for column, value in zip(columns, values, strict=False):
            digits = value.strip("'")
            if column.casefold() in self.numbered and digits.isdecimal() and len(digits) < _DIGITS:
                self.numbered[column.casefold()] = max(self.numbered[column.casefold()], int(digits) + 1)


class OtherStatement(NamedTuple):
    """A view or a change of rows: what it makes or changes ("" where that is not known), and its text."""

    name: str
    text: str
    creates: bool


@dataclass(frozen=True, slots=True)
class Translation:
    """A dump in statements of an engine.

    Args:
        tables: by their names in small letters.
        others: they come after the tables, in this order.
        left_out: views that cannot be translated, with the reason.
    """

    tables: dict[str, TranslatedTable]
    others: list[OtherStatement]
    left_out: dict[str, str]


def translate_dump(script: str, vendor: Vendor, engine: LocalEngine) -> Translation:
    """Translate a whole dump; never raises, whatever the text is.

    >>> dump = "CREATE TABLE `t` (`a b` int unsigned AUTO_INCREMENT, PRIMARY KEY (`a b`)) ENGINE=InnoDB"
    >>> list(translate_dump(dump, "mysql", "sqlite").tables["t"].statements())
    ['CREATE TABLE "t" ("a b" INTEGER, PRIMARY KEY ("a b"))']
    """
    translation = Translation({}, [], {})
    translator = _Translator(script, vendor, engine, translation)
    for statement in split_dump(script, vendor):
        translator.add(statement)
    translator.finish()
    return translation


def sort_statements(script: str) -> Translation:
    """The statements of a script by their tables, as they are written."""
    translation = Translation({}, [], {})
    for statement in split(script):
        name = _named_in(statement.text)
        table = translation.tables.get(name.casefold())
        if statement.verb == "CREATE" and "TABLE" in statement.words[:3] and name:
            translation.tables.setdefault(name.casefold(), TranslatedTable(name)).create = f"{statement.text}\n"
        elif statement.verb in {"INSERT", "REPLACE"} and table is not None:
            table.rows.append(f"{statement.text}\n")
        else:
            creates = statement.verb == "CREATE" and "VIEW" in statement.words
            translation.others.append(OtherStatement(name, f"{statement.text}\n", creates))
    return translation


class _Translator:
    """Adds one statement after another to a translation."""

    def __init__(self, script: str, vendor: Vendor, engine: LocalEngine, translation: Translation) -> None:
        self._vendor = vendor
        self._engine = engine
        self._values = DumpValues(vendor, engine)
        self._tables = translation.tables
        self._others = translation.others
        self._left_out = translation.left_out
        self._parents, self._heirs = parents_of(script) if vendor == "postgres" else ({}, {})
        self._domains = domains_of(script) if vendor == "postgres" else {}
        self._filled: set[str] = set()

    def finish(self) -> None:
        """Leave out tables of which some rows are not known to be theirs."""
        for parent, heir in self._heirs.items():
            if table := self._tables.get(parent):
                table.why = table.why or f"the rows of {heir}, which inherits from it, are rows of it too"
        for table in [self._tables[name] for name in self._parents if name in self._tables]:
            filled = [whole.name for whole in self._with_parents(table) if whole.name.casefold() in self._filled]
            if filled and not table.rows:
                table.why = table.why or f"its rows were written to {filled[0]}, of which it is a partition"

    def add(self, statement: DumpStatement) -> None:
        kind = _KIND.match(statement.text)
        first, second = (str(word or "").upper() for word in (kind.groups() if kind else ("", "")))
        if first == "COPY":
            self._copy(statement)
            return
        is_table = first == "CREATE" and second not in {"INDEX", "UNIQUE", "TYPE", "SEQUENCE", "DATABASE", "SCHEMA"}
        if not (is_table or first in _DATA or (first == "ALTER" and _ADDS_KEY.search(statement.text))):
            return
        name = _named_in(statement.text)
        if _CREATES_VIEW.match(statement.text):
            self._forget_placeholder(name.casefold())
        try:
            tree = self._parsed(statement)
            if tree is not None:
                self._translate(tree, name)
        except Untranslatable as error:
            self._refuse(name, first, str(error))

    def _forget_placeholder(self, name: str) -> None:
        """Drop what a dump writes in place of a view until all tables are there: an empty table, a row of NULLs."""
        self._others[:] = [other for other in self._others if not other.creates or other.name.casefold() != name]
        if name in self._tables and not self._tables[name].rows:
            del self._tables[name]

    def _refuse(self, name: str, first: str, why: str) -> None:
        """Note why a table or a view is not built; other statements that cannot be read are no part of the data."""
        if name.casefold() in self._tables and first != "ALTER":
            for table in self._with_parents(self._tables[name.casefold()]):
                table.why = why
        elif first == "CREATE" and name:
            self._left_out[name] = why

    def _parsed(self, statement: DumpStatement) -> exp.Expr | None:
        # What it cannot read is said by us, with the table; it would be written to standard error as well.
        logging.getLogger("sqlglot").setLevel(logging.ERROR)
        if statement.depth > _DEEPEST:
            raise Untranslatable(f"brackets nested more than {_DEEPEST} deep")
        text = strip_unsupported(statement.text, self._vendor)
        replaces = text[:8].upper() == "REPLACE "
        if replaces:
            text = f"INSERT{text[7:]}"
        try:
            trees = [tree for tree in sqlglot.parse(text, dialect=self._vendor) if tree is not None]
        except UNFORESEEN as error:
            raise Untranslatable(short(error)) from None
        if len(trees) != 1 or isinstance(trees[0], exp.Command):
            if text[:5].upper() == "ALTER":
                return None
            raise Untranslatable(f"a statement that cannot be read: {short(text)}")
        trees[0].meta["replaces"] = replaces
        return trees[0]

    def _translate(self, tree: exp.Expr, name: str) -> None:
        if (
            isinstance(tree, exp.Create)
            and tree.kind == "TABLE"
            and isinstance(tree.this, exp.Schema)
            and not tree.expression
        ):
            self._table(tree)
        elif isinstance(tree, exp.Alter):
            self._alter(tree)
        elif isinstance(tree, exp.Insert) and isinstance(tree.expression, exp.Values):
            self._insert(tree)
        elif isinstance(tree, exp.Create) and (of := tree.find(exp.PartitionedOfProperty)) is not None:
            self._partition(tree.this, of.this.find(exp.Table).name.casefold())
        elif isinstance(tree, exp.Create) and tree.kind in {"TABLE", "VIEW"}:
            if tree.expression is None:
                raise Untranslatable("it has no columns of its own")
            self._others.append(OtherStatement(tree.this.find(exp.Table).name, self._plain(tree), creates=True))
        elif isinstance(tree, exp.Insert | exp.Update | exp.Delete):
            self._others.append(OtherStatement(name, self._plain(tree), creates=False))

    def _plain(self, tree: exp.Expr) -> str:
        """A statement as sqlglot writes it for the engine, without options and schemas."""
        if tree.find(exp.TableSample) or any(part.args.get("with_ties") for part in tree.find_all(exp.LimitOptions)):
            raise Untranslatable("it draws rows at random or takes tied ones, which is not translated")
        tree.set("properties", None)
        tree.set("replace", None)
        for text in list(tree.find_all(exp.National)):
            text.replace(exp.Literal.string(text.this))
        for table in tree.find_all(exp.Table):
            self._unqualify(table)
        return self._written(tree)

    def _unqualify(self, table: exp.Table) -> None:
        table.set("catalog", None)
        if self._engine == "sqlite" or self._vendor == "mysql" or table.db.lower() in _MAIN:
            table.set("db", None)

    def _written(self, tree: exp.Expr) -> str:
        try:
            return tree.sql(dialect=self._engine, identify=True, unsupported_level=ErrorLevel.IGNORE)
        except UNFORESEEN as error:
            raise Untranslatable(short(error)) from None

    def _table(self, tree: exp.Create) -> None:
        target = tree.this.this
        self._unqualify(target)
        name = target.name
        if name.casefold() in self._tables:
            if not tree.args.get("exists"):
                self._tables[name.casefold()].why = "the name occurs twice"
            return
        table = TranslatedTable(name, ".".join(_quoted(part.name) for part in target.parts))
        self._tables[name.casefold()] = table
        if target.db:
            table.before.append(f"CREATE SCHEMA IF NOT EXISTS {_quoted(target.db)}")
        for part in tree.this.expressions:
            if isinstance(part, exp.ColumnDef):
                self._column(table, part)
            else:
                self._key(table, part)
        if not table.columns:
            raise Untranslatable("it has no columns")

        if (inherited := tree.find(exp.InheritsProperty)) is not None:
            table.why = "it inherits columns of another table"
            self._heirs |= {source.name.casefold(): name for source in inherited.expressions}

    def _partition(self, target: exp.Table, parent: str) -> None:
        """A partition that is created as one: with the columns of its table."""
        if (whole := self._tables.get(parent)) is None:
            raise Untranslatable(f"it is a partition of {parent}, which cannot be built")
        self._unqualify(target)
        name = target.name.casefold()
        table = TranslatedTable(target.name, ".".join(_quoted(part.name) for part in target.parts), list(whole.columns))
        table.before, table.kinds, table.numbered = list(whole.before), dict(whole.kinds), dict(whole.numbered)
        table.computed = whole.computed
        for key in whole.numbered:
            old, new = _sequence_of(whole.name, key), _sequence_of(target.name, key)
            table.columns = [text.replace(old, new) for text in table.columns]
        table.why = whole.why
        self._tables[name], self._parents[name] = table, parent

    def _column(self, table: TranslatedTable, column: exp.ColumnDef) -> None:  # noqa: C901  # one rule after another
        written = column.kind
        if written is not None and self._domains:
            domain = self._domains.get(unquoted(written.sql("postgres").rpartition(".")[2]).casefold())
            written = exp.DataType.build(domain, dialect="postgres") if domain else written
        kind = written.this.name if written and isinstance(written.this, exp.DataType.Type) else "USERDEFINED"
        table.kinds[column.name.casefold()] = kind
        is_computed = any(isinstance(rule.kind, exp.ComputedColumnConstraint) for rule in column.constraints)
        # A type that nobody wrote would change what the column is computed as.
        words = [_quoted(column.name), "" if is_computed and written is None else self._values.type_of(written, kind)]
        is_numbered = kind in SERIAL
        for constraint in column.constraints:
            rule = constraint.kind
            if isinstance(rule, exp.PrimaryKeyColumnConstraint):
                table.keys.insert(0, f"PRIMARY KEY ({_quoted(column.name)})")
            elif isinstance(rule, exp.UniqueColumnConstraint) and not isinstance(rule.this, exp.Schema):
                table.keys.append(f"UNIQUE ({_quoted(column.name)})")
            elif isinstance(rule, exp.NotNullColumnConstraint) and not rule.args.get("allow_null"):
                # A row version is filled by the server itself.
                words += ["NOT NULL"] * (kind != "ROWVERSION")
            elif isinstance(rule, exp.DefaultColumnConstraint):
                if (value := self._values.value(rule.this)) is not None:
                    words.append(f"DEFAULT {value}")
                is_numbered = is_numbered or "nextval" in rule.this.sql().lower()
            elif isinstance(rule, exp.AutoIncrementColumnConstraint | exp.GeneratedAsIdentityColumnConstraint):
                is_numbered = True
            elif isinstance(rule, exp.ComputedColumnConstraint) and rule.this is not None:
                words.append(f"GENERATED ALWAYS AS ({self._written(rule.this)})")
                table.computed.add(column.name.casefold())
        if is_numbered:
            table.counting.add(column.name.casefold())
        if is_numbered and self._engine == "duckdb":
            table.numbered[column.name.casefold()] = 1
            sequence = _quoted(_sequence_of(table.name, column.name.casefold())).replace("'", "''")
            words.append(f"DEFAULT nextval('{sequence}')")
        if is_numbered and self._engine == "sqlite":
            # A key of this type takes the next number; NOT NULL does not keep it from that.
            words[1] = "INTEGER"
        table.columns.append(" ".join(filter(None, words)))

    def _key(self, table: TranslatedTable, part: exp.Expr) -> None:
        for rule in part.expressions if isinstance(part, exp.Constraint) else [part]:
            if isinstance(rule, exp.PrimaryKey):
                names, word = rule.expressions, "PRIMARY KEY"
            elif isinstance(rule, exp.UniqueColumnConstraint) and isinstance(rule.this, exp.Schema):
                names, word = rule.this.expressions, "UNIQUE"
            else:
                continue
            columns = [_column_of(name) for name in names]
            # Of a prefix, `name`(10), nothing is known.
            if all(columns) and all(column.casefold() in table.kinds for column in columns):
                table.keys.append(f"{word} ({', '.join(map(_quoted, columns))})")

    def _alter(self, tree: exp.Alter) -> None:
        """The keys that dumps of PostgreSQL and SQL Server add behind the table."""
        table = self._tables.get(tree.this.name.casefold())
        for action in tree.args.get("actions") or ():
            if table is not None and isinstance(action, exp.AddConstraint):
                for part in action.expressions:
                    self._key(table, part)

    def _insert(self, tree: exp.Insert) -> None:
        target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        table = self._tables.get(target.name.casefold())
        if table is None:
            # Of a table that is not built.
            return
        verb = "INSERT OR REPLACE" if tree.meta.get("replaces") else "INSERT"
        verb = "INSERT OR IGNORE" if tree.args.get("ignore") else verb
        if not table.keys or (self._engine == "duckdb" and len(table.keys) > 1):
            verb = "INSERT"  # without a key no row is there already; DuckDB takes the others with one key only
        # In the order in which they are written: a row without its number gets the one behind the last.
        for columns, rows in groupby(self._inserted(tree, table), key=itemgetter(0)):
            if columns is None:
                count = len(list(rows))
                for target in self._with_parents(table):
                    target.rows += [f"{verb} INTO {target.written} DEFAULT VALUES"] * count
            else:
                self._fill(table, verb, columns, [f"({', '.join(values)})" for _, values in rows])

    def _inserted(self, tree: exp.Insert, table: TranslatedTable) -> Iterator[tuple[Sequence[str] | None, list[str]]]:
        """The rows of an INSERT: columns, () for all of them, None where all are left to DEFAULT; and values."""
        is_named = isinstance(tree.this, exp.Schema)
        # An INSERT of SQL Server that names no columns leaves out those that the server fills.
        skipped = table.computed | table.counting if self._vendor == "tsql" else set()
        named = [name for name in table.kinds if name not in skipped]
        if is_named:
            named = [part.name for part in tree.this.expressions]
        for row in tree.expression.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            if len(cells) != len(named):
                raise Untranslatable(f"a row has {len(cells)} values, where {len(named)} are expected")
            # The engine computes what the dump calls DEFAULT, and generated columns, of which MariaDB's has the values.
            filled = [
                at
                for at, cell in enumerate(cells)
                if not (isinstance(cell, exp.Var) and cell.name == "DEFAULT")
                and named[at].casefold() not in table.computed
            ]
            columns = [named[at] for at in filled]
            values = [self._values.cell(cells[at], table.kinds.get(named[at].casefold(), "")) for at in filled]
            table.count(columns, values)
            is_whole = not is_named and len(filled) == len(table.kinds)
            yield (() if is_whole else tuple(columns) or None), values

    def _fill(self, table: TranslatedTable, verb: str, columns: Sequence[str], rows: list[str]) -> None:
        self._filled.add(table.name.casefold())
        if not columns and table.name.casefold() in self._parents:
            columns = list(table.kinds)  # in which the table that it is a partition of may have another order
        names = f" ({', '.join(map(_quoted, columns))})" if columns else ""
        for target in self._with_parents(table):
            head = f"{verb} INTO {target.written}{names} VALUES "
            for start in range(0, len(rows), _ROWS_A_STATEMENT):
                target.rows.append(head + ", ".join(rows[start : start + _ROWS_A_STATEMENT]))

    def _with_parents(self, table: TranslatedTable) -> Iterator[TranslatedTable]:
        """A table, and those that it is a partition of: they hold its rows too."""
        seen: set[str] = set()
        name = table.name.casefold()
        while name in self._tables and name not in seen:
            yield self._tables[name]
            seen.add(name)
            name = self._parents.get(name, "")

    def _copy(self, statement: DumpStatement) -> None:
        """The rows behind a COPY of pg_dump: a line each, tabs between the values."""
        head = _COPY.match(statement.text)
        table = self._tables.get(_named_in(statement.text).casefold())
        if head is None or table is None:
            return
        names = [unquoted(name) for name in re.findall(NAME, head["names"] or "")] or list(table.kinds)
        kinds = [table.kinds.get(name.casefold(), "") for name in names]
        if head["options"].strip():
            why = f"its rows are not in the form of COPY as pg_dump writes it ({short(head['options'])})"
            self._refuse(table.name, "COPY", why)
            return
        try:
            cells = [self._values.copied(line, kinds) for line in statement.rows.split("\n") if line.strip("\r")]
        except Untranslatable as error:
            self._refuse(table.name, "COPY", str(error))
            return
        for values in cells:
            table.count(names, values)
        self._fill(table, "INSERT", names if head["names"] else (), [f"({', '.join(row)})" for row in cells])


def _column_of(part: exp.Expr) -> str:
    """The column that a part of a key names; "" for a prefix or an expression."""
    part = part.this if isinstance(part, exp.Ordered) else part
    return part.name if isinstance(part, exp.Identifier | exp.Column) else ""


_NAMED: Final = re.compile(
    rf"""\s*(?:CREATE\s+(?:\w++\s*+|[=@]\s*+|`[^`]*+`\s*+|'[^']*+'\s*+)*?(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?
    |(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?(?:INTO\s+)?|COPY\s+|UPDATE\s+|DELETE\s+FROM\s+|ALTER\s+TABLE\s+(?:ONLY\s+)?)
    (?:{NAME}\s*\.\s*)*(?P<name>{NAME})""",
    re.IGNORECASE | re.VERBOSE,
)


_CREATES_VIEW: Final = re.compile(r"\s*CREATE\s+(?:\w++\s*+|[=@]\s*+|`[^`]*+`\s*+|'[^']*+'\s*+)*?VIEW\b", re.IGNORECASE)


def _named_in(text: str) -> str:
    """The table that a statement makes, fills or changes, without quotes; "" where that cannot be told."""
    match = _NAMED.match(text[:2000])
    return unquoted(match["name"]) if match else ""


def _sequence_of(table: str, column: str) -> str:
    return f"{table}_{column}_seq"
