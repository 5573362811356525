"""Tables, columns and keys, read from CREATE statements of any dialect.

DDL in public datasets often follows no dialect: keywords and numbers as bare names, types left out, quotes mixed,
engine options behind the bracket, sentences in between. So the text is cut into tokens once, and each definition is
read as far as its meaning is needed: name, type, keys. That is linear in the text and as flat for a million opening
brackets as for one, which a full parser is not.

Tokens know how deep in brackets they are. Unlike `sql.statements`, which decides what may be run and so follows SQLite
to the letter, this reads what others wrote for other engines: a quote without its partner is a mark (in MySQL's kin it
runs to the end), a second CREATE begins a statement of its own where the `;` between them is missing. Every pattern is
possessive or stops at its own opening, so that time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from types import MappingProxyType
from typing import Final, NamedTuple

_SHOWN: Final = 60
_KINDS: Final = frozenset({"PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "EXCLUDE", "NOT"})
_SIGNS: Final = MappingProxyType({"CHECK": ("(",), "EXCLUDE": ("(", "USING"), "PERIOD": ("FOR",)})
"""What follows the first word of a constraint and can follow no column of that name."""
_AFTER_TYPE: Final = frozenset({
    "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "CONSTRAINT", "NOT", "NULL", "DEFAULT", "COLLATE", "COMMENT",
    "GENERATED", "AS", "AUTO_INCREMENT", "AUTOINCREMENT", "IDENTITY", "ON", "KEY", "ENCODE", "STORED", "VIRTUAL",
    "INVISIBLE", "DEFERRABLE",
})  # fmt: skip
_BEFORE_NAME: Final = frozenset({
    "CREATE", "OR", "REPLACE", "TEMP", "TEMPORARY", "GLOBAL", "LOCAL", "UNLOGGED", "EXTERNAL", "FOREIGN",
})  # fmt: skip
_BEFORE_ALTERED: Final = frozenset({"IF", "EXISTS", "ONLY"})
_DATA: Final = frozenset({
    "INSERT", "UPDATE", "DELETE", "SELECT", "WITH", "DROP", "ALTER", "PRAGMA", "SET", "USE", "BEGIN", "COMMIT",
    "END", "START", "LOCK", "UNLOCK", "COMMENT", "GRANT", "ANALYZE", "VACUUM", "COPY", "REPLACE", "ROLLBACK",
    "TRUNCATE", "EXPLAIN", "ATTACH", "DETACH", "GO", "DELIMITER", "VALUES", "LOAD", "CALL", "RETURN", "IF",
})  # fmt: skip


def parse_schema(ddl: str, *, dialect: str = "sqlite") -> Schema:
    """Read the CREATE TABLE and CREATE VIEW statements of a text; every other statement is skipped.

    Never raises, whatever the text is. Time and memory grow linearly with it.

    Args:
        ddl: any number of statements, with or without a `;` at the end of the last.
        dialect: decides how strings and comments end: `mysql` and its kin know backslashes and `#`.

    >>> schema = parse_schema('CREATE TABLE t (id INT PRIMARY KEY, "the crowd" INTEGER, u REFERENCES users (id))')
    >>> [(column.name, column.type) for column in schema.tables[0].columns]
    [('id', 'INT'), ('the crowd', 'INTEGER'), ('u', '')]
    >>> schema.tables[0].foreign_keys
    (ForeignKey(columns=('u',), to_table='users', to_columns=('id',)),)
    """
    tables: dict[str, SchemaTable] = {}
    skipped: list[str] = []
    for number, (tokens, outcome) in enumerate(_outcomes(ddl, dialect), start=1):
        if isinstance(outcome, SchemaTable):
            tables.setdefault(outcome.name.casefold(), outcome)
        elif (note := _addition(tokens)) and (about := tables.get(note.table.casefold())):
            tables[note.table.casefold()] = note.added_to(about)
        elif outcome and len(skipped) < MAX_SKIPPED:
            start = tokens[0].start
            beginning = " ".join(ddl[start : start + _SHOWN].partition(";")[0].split())
            skipped.append(f"statement {number} ({beginning}): {outcome}")
    return Schema(tuple(tables.values()), tuple(skipped))


def _outcomes(ddl: str, dialect: str) -> Iterator[tuple[list[DdlToken], SchemaTable | str]]:
    return ((tokens, _read(tokens)) for tokens in statements(ddl, dialect=dialect))


def table_statements(ddl: str, *, dialect: str = "sqlite") -> list[tuple[SchemaTable | None, str]]:
    r"""The CREATE statements of tables, views and types, each as it is written with later comments and keys of it.

    Args:
        ddl: as of `parse_schema`, as is its dialect.
        dialect: likewise.

    Returns:
        The table or view of each, None for a type; a name that is created again is left out.

    >>> table_statements("CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE t (a INT); -- all\nDROP TABLE u")[1][1]
    'CREATE TABLE t (a INT); -- all'
    >>> table_statements("")
    []
    """
    outcomes = list(_outcomes(ddl, dialect))
    ends = [*(tokens[0].start for tokens, _ in outcomes[1:]), len(ddl)]  # one too many for a database without tables
    texts: list[tuple[SchemaTable | None, str]] = []
    seen: dict[str, int] = {}
    for (tokens, outcome), end in zip(outcomes, ends, strict=False):
        text = ddl[tokens[0].start : end].strip()
        if (note := _addition(tokens)) and (at := seen.get(note.table.casefold())) is not None:
            table, before = texts[at]
            texts[at] = (table and note.added_to(table), f"{before}\n{text}")
        elif isinstance(outcome, SchemaTable) and outcome.name.casefold() not in seen:
            seen[outcome.name.casefold()] = len(texts)
            texts.append((outcome, text))
        elif [token.word for token in tokens[:2]] == ["CREATE", "TYPE"]:
            texts.append((None, text))
    return texts


class _CommentOn(NamedTuple):
    """A statement COMMENT ON TABLE or VIEW (`column` is ""), or COLUMN, as PostgreSQL, Oracle and DuckDB have it."""

    table: str
    column: str
    text: str

    def added_to(self, table: SchemaTable) -> SchemaTable:
        """The table with the comment."""
        if not self.column:
            return replace(table, comment=self.text)
        folded = self.column.casefold()
        columns = (
            replace(column, comment=self.text) if column.name.casefold() == folded else column
            for column in table.columns
        )
        return replace(table, columns=tuple(columns))


class _KeysAdded(NamedTuple):
    """A statement ALTER TABLE that adds keys, as dumps have it behind the tables."""

    table: str
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...]

    def added_to(self, table: SchemaTable) -> SchemaTable:
        """The table with the keys."""
        links = (*table.foreign_keys, *self.foreign_keys)
        return replace(table, primary_key=table.primary_key or self.primary_key, foreign_keys=links)


def _addition(tokens: Sequence[DdlToken]) -> _CommentOn | _KeysAdded | None:
    """What a statement says of a table that is there already; None where it says nothing that is read."""
    return _comment_on(tokens) if tokens[0].word == "COMMENT" else _keys_added(tokens)


def _keys_added(tokens: Sequence[DdlToken]) -> _KeysAdded | None:
    if [token.word for token in tokens[:2]] != ["ALTER", "TABLE"]:
        return None
    at = next(at for at in range(2, len(tokens) + 1) if at == len(tokens) or tokens[at].word not in _BEFORE_ALTERED)
    name, at = _name(tokens, at)
    keys: list[str] = []
    links: list[ForeignKey] = []
    for part in _split(tokens[at:]):
        key, link = _constraint(part)
        keys += key
        links += link
    return _KeysAdded(name, tuple(keys), tuple(links)) if keys or links else None


def _comment_on(tokens: Sequence[DdlToken]) -> _CommentOn | None:
    """What a COMMENT statement says; None for one that says nothing of a table."""
    kind = tokens[2].word if len(tokens) > 4 else ""
    if kind not in {"TABLE", "VIEW", "COLUMN"} or tokens[-1].kind != "string":
        return None
    names = [token.name for token in tokens[3:-2] if token.text != "."]
    text = _one_line(tokens[-1].text[1:-1].replace("''", "'"))
    if kind == "COLUMN":
        return _CommentOn(names[-2], names[-1], text) if len(names) > 1 else None
    return _CommentOn(names[-1], "", text) if names else None


def describe(schema: Schema) -> str:
    """Describe a schema for a prompt: a line per table, `*` for primary keys, `->` for foreign keys.

    >>> print(describe(parse_schema("CREATE TABLE a (id INT PRIMARY KEY, b_id INT REFERENCES b (id), x TEXT)")))
    a(id INT *, b_id INT -> b.id, x TEXT)
    """
    return "\n".join(map(described_table, schema.tables))


def described_table(table: SchemaTable) -> str:
    r"""The line of one table, with the comments on it and its columns.

    >>> schema = parse_schema("CREATE TABLE t (\n a INT, -- in euro\n b INT COMMENT 'net'); -- sold")
    >>> described_table(schema.tables[0])
    't(a INT /* in euro */, b INT /* net */) -- sold'
    """
    behind = f" -- {table.comment}" if table.comment else ""
    return f"{table.name}({', '.join(_columns_of(table))}){behind}"


def _columns_of(table: SchemaTable) -> Iterator[str]:
    keys = {name.casefold() for name in table.primary_key}
    links = {
        name.casefold(): f"-> {link.to_table}" + (f".{link.to_columns[at]}" if at < len(link.to_columns) else "")
        for link in table.foreign_keys
        for at, name in enumerate(link.columns)
    }
    for column in table.columns:
        key = column.name.casefold()
        comment = f"/* {column.comment} */" if column.comment else ""
        yield " ".join(
            filter(None, (column.name, column.type, "*" if key in keys else "", links.get(key, ""), comment))
        )


def _read(tokens: Sequence[DdlToken]) -> SchemaTable | str:
    """The table that a statement makes; else why it could not be read, "" where nothing is missing."""
    first = tokens[0].word
    if first != "CREATE":
        return "" if first in _DATA else "an unknown kind of statement"
    if len(tokens) > MAX_TOKENS:
        return f"it has more than {MAX_TOKENS} words and marks"
    at = next((at for at, token in enumerate(tokens) if token.word not in _BEFORE_NAME), len(tokens))
    kind = tokens[at].word if at < len(tokens) else ""
    if kind not in {"TABLE", "VIEW", "VIRTUAL", "MATERIALIZED"}:
        return ""
    at += 2 if kind in {"VIRTUAL", "MATERIALIZED"} else 1
    if [token.word for token in tokens[at : at + 3]] == ["IF", "NOT", "EXISTS"]:
        at += 3
    name, at = _name(tokens, at)
    if not name:
        return "no name"
    if kind == "VIRTUAL":
        at += 2
    return _body(tokens[at:], name, view=kind in {"VIEW", "MATERIALIZED"})


def _body(tokens: Sequence[DdlToken], name: str, *, view: bool) -> SchemaTable | str:
    parts = _parts(tokens) if tokens and tokens[0].text == "(" else []
    query = next((at for at, token in enumerate(tokens) if token.word in {"SELECT", "WITH"} and not token.depth), None)
    if query is not None and (view or not parts):
        names = [part[0].name for part in parts] or _selected(tokens[query:])
        return SchemaTable(name, tuple(map(Column, names)), view=True) if names else "its columns are not known"
    table = _table(name, parts)
    if isinstance(table, str):
        return table
    behind = [token for token in tokens if not token.depth]
    return replace(table, comment=_comment(behind) or behind[-1].comment if behind else "")


def _table(name: str, parts: Sequence[Sequence[DdlToken]]) -> SchemaTable | str:
    columns: dict[str, Column] = {}
    keys: list[str] = []
    links: list[ForeignKey] = []
    for part in parts:
        if _is_constraint(part):
            key, link = _constraint(part)
            keys += key
            links += link
            continue
        column = _column(part)
        if column is None:
            continue
        columns.setdefault(column.name.casefold(), column)
        words = [token.word for token in part[1:]]
        if "PRIMARY" in words:
            keys.append(column.name)
        links += _references(part, (column.name,))
    if not columns:
        return "it has no columns"
    return SchemaTable(name, tuple(columns.values()), tuple(dict.fromkeys(keys)), tuple(links))


def _is_constraint(part: Sequence[DdlToken]) -> bool:
    """Whether a definition is a constraint: `KEY a (b)` is, `key TEXT` and `check VARCHAR(20)` are columns."""
    words = [token.word for token in part]
    first, second = words[0], part[1] if len(part) > 1 else part[0]
    if first in {"PRIMARY", "FOREIGN", "FULLTEXT", "SPATIAL"}:
        return second.word in {"KEY", "INDEX"} or second.text == "("
    if first in {"KEY", "INDEX", "UNIQUE"}:
        opening = next((at for at, token in enumerate(part) if token.text == "("), len(part))
        return opening + 1 < len(part) and not part[opening + 1].text[0].isdigit()
    if first == "CONSTRAINT":
        return not _KINDS.isdisjoint(words[1:])
    return first in _SIGNS and (second.word or second.text) in _SIGNS[first]


def _constraint(part: Sequence[DdlToken]) -> tuple[list[str], list[ForeignKey]]:
    words = [token.word for token in part]
    opening = next((at for at, token in enumerate(part) if token.text == "("), None)
    if opening is None:
        return [], []
    if "FOREIGN" in words[:opening]:
        return [], _references(part, tuple(_names(part, opening)))
    return (_names(part, opening) if "PRIMARY" in words[:opening] else []), []


def _column(part: Sequence[DdlToken]) -> Column | None:
    if not part[0].name:
        return None
    end = next((at for at in range(1, len(part)) if part[at].word in _AFTER_TYPE and not part[at].depth), len(part))
    words = [token.word for token in part[end:]]
    needed = any(word == "NOT" and following == "NULL" for word, following in pairwise(words))
    comment = _comment(part) or part[-1].comment
    return Column(part[0].name, _joined(part[1:end]), nullable=not needed, comment=comment)


def _comment(tokens: Sequence[DdlToken]) -> str:
    """The text of MySQL's COMMENT 'text'; "" where there is none."""
    for at, token in enumerate(tokens):
        following = [other for other in tokens[at + 1 : at + 3] if other.text != "="][:1]
        if token.word == "COMMENT" and following and following[0].kind == "string":
            return _one_line(following[0].text[1:-1].replace("''", "'").replace("\\'", "'"))
    return ""


def _one_line(comment: str) -> str:
    return " ".join(comment.replace("*/", "* /").split())


def _references(part: Sequence[DdlToken], columns: tuple[str, ...]) -> list[ForeignKey]:
    at = next((at for at, token in enumerate(part) if at and token.word == "REFERENCES"), None)
    if at is None or not columns:
        return []
    table, after = _name(part, at + 1)
    opened = after < len(part) and part[after].text == "("
    return [ForeignKey(columns, table, tuple(_names(part, after)) if opened else ())] if table else []


def _names(part: Sequence[DdlToken], opening: int) -> list[str]:
    """The names in the bracket that opens there, without lengths and orders: `(a(10), b DESC)` -> a, b."""
    depth = part[opening].depth
    names: list[str] = []
    fresh = True
    for token in part[opening + 1 :]:
        if token.depth <= depth:
            break
        if token.text == "," and token.depth == depth + 1:
            fresh = True
        elif fresh and token.name:
            names.append(token.name)
            fresh = False
    return names


def _name(tokens: Sequence[DdlToken], at: int) -> tuple[str, int]:
    """The last part of a dotted name and the position after it; "" where there is none."""
    name = ""
    while at < len(tokens) and tokens[at].name:
        name, at = tokens[at].name, at + 1
        if at >= len(tokens) or tokens[at].text != ".":
            break
        at += 1
    return name, at


def _parts(tokens: Sequence[DdlToken]) -> list[list[DdlToken]]:
    """The parts between the commas of the first bracket; their tokens count their depth from there."""
    return _split([token.lifted() for token in takewhile(lambda token: token.depth > 0, tokens[1:])])


def _split(tokens: Iterable[DdlToken]) -> list[list[DdlToken]]:
    """The parts between the commas outside of brackets."""
    parts: list[list[DdlToken]] = [[]]
    for token in tokens:
        if token.text == "," and token.depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _joined(tokens: Sequence[DdlToken]) -> str:
    """A type as text: blanks between words, none next to brackets, commas and dots."""
    text = ""
    for token in tokens:
        tight = token.kind == "mark" or (text and text[-1] in "(.,")
        text += token.text if tight or not text else f" {token.text}"
    return text


def _selected(tokens: Sequence[DdlToken]) -> list[str]:
    """The names of a query's columns; [] where a `*` or an expression without a name hides one."""
    start = next((at for at, token in enumerate(tokens) if token.word == "SELECT" and not token.depth), len(tokens))
    items: list[list[DdlToken]] = [[]]
    for token in tokens[start + 1 :]:
        if token.word in {"FROM", "UNION", "EXCEPT", "INTERSECT", "WHERE"} and not token.depth:
            break
        if token.text == "," and not token.depth:
            items.append([])
        elif token.word not in {"DISTINCT", "ALL"}:
            items[-1].append(token)
    names = [item[-1].name if item and item[-1].depth == 0 else "" for item in items]
    return names if all(names) else []


_REST: Final = r"""
      | (?P<name>"[^"]*+(?:""[^"]*+)*+" | `[^`]*+(?:``[^`]*+)*+` | \[[^\[\]]*+\])
      | (?P<number>\d+\.\d+ | \.\d+)
      | (?P<word>[^\W][\w$]*+)
      | (?P<mark>.)"""
_PLAIN: Final = re.compile(
    r"""(?P<blank>[\s\ufeff]++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
      | (?P<string>'[^']*+(?:''[^']*+)*+')"""
    + _REST,
    re.VERBOSE | re.DOTALL,
)
_MYSQL: Final = re.compile(
    r"""(?P<blank>[\s\ufeff]++|--[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
      | (?P<string>'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z))"""
    + _REST,
    re.VERBOSE | re.DOTALL,
)
_BACKSLASHES: Final = frozenset({"mysql", "mariadb", "doris", "starrocks", "singlestore", "bigquery"})


_KEPT: Final = frozenset({"CREATE", "COMMENT", "ALTER"})
MAX_TOKENS: Final = 50_000
"""Tokens of a statement that are kept; a table of 2,000 columns has about 20,000."""


class DdlToken(NamedTuple):
    """One token of a statement.

    Args:
        text: as it stands.
        kind: `word`, `name` (quoted), `string`, `number` or `mark`.
        depth: how many brackets are open around it; a bracket itself is outside.
        start: its offset in the whole text.
        comment: what `--` says behind it on its line, a comma or semicolon between them left out.
    """

    text: str
    kind: str
    depth: int
    start: int
    comment: str = ""

    @property
    def word(self) -> str:
        """A bare word in capitals; "" for anything else, a quoted name too."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """What it names where a name is expected, without quotes; "" where it cannot be a name.

        >>> DdlToken('"a ""b"', "name", 0, 0).name, DdlToken("7th", "word", 0, 0).name, DdlToken(",", "mark", 0, 0).name
        ('a "b', '7th', '')
        """
        if self.kind == "word":
            return self.text
        if self.kind not in {"name", "string"}:
            return ""
        mark = self.text[-1]
        return self.text[1:-1].replace(mark * 2, mark)

    def lifted(self) -> DdlToken:
        """The same token seen from inside the bracket around it."""
        return self._replace(depth=self.depth - 1)


def statements(text: str, *, dialect: str = "sqlite") -> Iterator[list[DdlToken]]:
    """Every statement that is not blank; where it begins with neither CREATE, COMMENT nor ALTER its first token alone.

    Of one of these at most `MAX_TOKENS` are kept, and one more where there are more.

    Args:
        text: any text.
        dialect: `mysql` and its kin have backslashes in strings and `#` comments.

    >>> [[token.text for token in tokens] for tokens in statements("CREATE TABLE t (a); INSERT INTO t VALUES (';')")]
    [['CREATE', 'TABLE', 't', '(', 'a', ')'], ['INSERT']]
    """
    pattern = _MYSQL if dialect.lower() in _BACKSLASHES else _PLAIN
    statement: list[DdlToken] = []
    depth = 0
    # A statement is given out with the token after its end: a comment may follow the `;` on the same line.
    ended, same_line = False, False
    for match in pattern.finditer(text):
        kind, piece = match.lastgroup or "mark", match[0]
        if kind == "blank":
            _note(statement, piece if same_line else "")
            same_line &= "\n" not in piece
            continue
        same_line = True
        word = piece.upper() if kind == "word" and depth == 0 else ""
        # SQL Server's scripts end a statement with a line GO.
        again = word == "CREATE" or (word == "ALTER" and bool(statement) and statement[-1].word == "GO")
        if statement and (ended or again):
            yield statement
            statement, depth = [], 0
        ended = piece == ";"
        if ended:
            continue
        depth -= piece == ")" and depth > 0
        if not statement or (statement[0].word in _KEPT and len(statement) <= MAX_TOKENS):
            statement.append(DdlToken(piece, kind, depth, match.start()))
        depth += piece == "("
    if statement:
        yield statement


def _note(statement: list[DdlToken], blank: str) -> None:
    """Give a `--` comment to the token in front of it; behind a comma it is about what the comma ends."""
    at = len(statement) - 1 if blank.startswith("--") else -1
    if at > 0 and statement[at].text == ",":
        at -= 1
    if at >= 0 and not statement[at].comment:
        statement[at] = statement[at]._replace(comment=_one_line(blank[2:]))


MAX_SKIPPED: Final = 20
"""Statements that are named at most when they cannot be read."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `type` as declared, blanks collapsed, "" where none is; `comment` on one line."""

    name: str
    type: str = ""
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` point to `to_columns` of `to_table`; `to_columns` are () where its primary key is meant."""

    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """One table or view; names as written, without quotes and without the schema in front of them."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    view: bool = False
    comment: str = ""

    def column(self, name: str) -> Column | None:
        """The column of that name in any case, or None."""
        folded = name.casefold()
        return next((column for column in self.columns if column.name.casefold() == folded), None)


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables in the order of their statements.

    Args:
        tables: a name that is created again keeps its first definition.
        skipped: at most `MAX_SKIPPED` statements that could not be read: where, their beginning, and why.
    """

    tables: tuple[SchemaTable, ...] = ()
    skipped: tuple[str, ...] = ()

    def table(self, name: str) -> SchemaTable | None:
        """The table of that name in any case, or None."""
        folded = name.casefold()
        return next((table for table in self.tables if table.name.casefold() == folded), None)
