"""Schema linking: which tables and columns the words of a question mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.sql.schema import Column, Schema, Table
from steelyard.targets.sql_rules.words import Word, lexicon, name_parts, words

_LONGEST: Final = 6
_TAILS: Final = frozenset({"on", "at", "id", "km", "no", "kg", "cm", "eur", "usd", "number", "date", "year", "full"})


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table."""

    table: Table
    column: Column

    @property
    def numeric(self) -> bool:
        """Whether its declared type is one of numbers."""
        return any(sign in self.column.type.upper() for sign in ("INT", "REAL", "NUM", "DEC", "DOUB", "FLOA", "MONEY"))

    @property
    def flag(self) -> bool:
        """Whether it may hold a truth value."""
        return any(sign in self.column.type.upper() for sign in ("BOOL", "INT", "BIT"))

    @property
    def key(self) -> bool:
        """Whether it identifies a row or points to one."""
        names = {one.casefold() for one in self.table.primary_key}
        names |= {one.casefold() for link in self.table.foreign_keys for one in link.columns}
        return self.column.name.casefold() in names or name_parts(self.column.name)[-1:] == ("id",)


@dataclass(frozen=True, slots=True)
class Mention:
    """Words `start` to `end` (exclusive) that mean a table, or one of some columns with their likeness in (0, 1]."""

    start: int
    end: int
    table: Table | None
    fields: tuple[tuple[Field, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """Words that mean something to SQL: `kind` and its `value`, as the lexicon has them."""

    start: int
    end: int
    kind: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Linked:
    """A question beside its schema.

    Args:
        words: of the question.
        marks: what means something to SQL.
        tables: mentions of tables, in order.
        columns: mentions of columns, in order, each with its field.
        main: the table that the question is about.
        schema: all tables.
    """

    words: Sequence[Word]
    marks: Sequence[Mark]
    tables: Sequence[Mention]
    columns: Sequence[tuple[Mention, Field]]
    main: Table
    schema: Schema

    def marked(self, kind: str) -> list[Mark]:
        """The marks of a kind."""
        return [one for one in self.marks if one.kind == kind]

    def column_at(self, start: int, end: int) -> tuple[Mention, Field] | None:
        """The first column mentioned that starts in the range."""
        return next((one for one in self.columns if start <= one[0].start < end), None)

    def table_at(self, start: int, end: int) -> Mention | None:
        """The first table mentioned that starts in the range."""
        return next((one for one in self.tables if start <= one.start < end), None)

    def hinted(self, hint: str, table: Table | None = None) -> Field | None:
        """The first column of a table whose name holds a word of that hint, in the hint's order."""
        home = table or self.main
        for wanted in lexicon()["hints"][hint]:
            for column in home.columns:
                field = Field(home, column)
                if name_parts(wanted)[0] in name_parts(column.name) and (hint == "date" or not field.key):
                    return field
        return None

    def label(self, table: Table) -> Field:
        """The column that names a row for a person, else the first that is no key, else the first."""
        named = self.hinted("label", table)
        if named is not None:
            return named
        fields = [Field(table, column) for column in table.columns]
        return next((one for one in fields if not one.key and not one.numeric), fields[0])


def link(question: str, schema: Schema) -> Linked:
    """Find the tables and columns that a question mentions; `schema` has at least one table with a column."""
    names = [name for table in schema.tables for name in (table.name, *(one.name for one in table.columns))]
    found = words(question, (name for name in names if not name.isascii()))
    marks = list(_marks(found))
    mentions = list(_mentions(found, marks, schema))
    tables = [one for one in mentions if one.table is not None]
    main = _main(tables, mentions, schema, marks)
    stems = frozenset(one.stem for one in found)
    columns = [(one, _choose(one, tables, main, stems)) for one in mentions if one.fields]
    return Linked(found, marks, tables, columns, main, schema)


def _marks(found: Sequence[Word]) -> Iterator[Mark]:
    """Phrases of the lexicon, the longest at each place."""
    phrases = {
        tuple(phrase.split()): kind.partition(" ")[::2]
        for kind, all_of in lexicon()["phrases"].items()
        for phrase in all_of
    }
    texts = [one.text.lower() if one.kind == "word" else "" for one in found]
    at = 0
    while at < len(texts):
        size = next(
            (size for size in range(min(_LONGEST, len(texts) - at), 0, -1) if tuple(texts[at : at + size]) in phrases),
            0,
        )
        if size:
            yield Mark(at, at + size, *phrases[tuple(texts[at : at + size])])
        at += size or 1


def _mentions(found: Sequence[Word], marks: Sequence[Mark], schema: Schema) -> Iterator[Mention]:
    tables, columns = _index(schema)
    taken = {at for one in marks for at in range(one.start, one.end) if one.end - one.start > 1 or one.kind == "not"}
    soft = {one.start for one in marks} - taken
    at = 0
    while at < len(found):
        mention = None
        for size in range(min(_LONGEST, len(found) - at), 0, -1):
            span = range(at, at + size)
            if taken.isdisjoint(span) and all(found[one].kind == "word" for one in span):
                mention = _match(at, tuple(found[one].stem for one in span), tables, columns)
            if mention:
                break
        likeness = max((score for _, score in mention.fields), default=1.0) if mention else 0.0
        # A word that SQL knows, or a capital in mid-sentence, is a column only where it is all of its name, or most.
        if mention and likeness < (1.0 if at in soft else 0.5 if found[at].capital and not found[at].opens else 0.0):
            mention = None
        if mention:
            yield mention
        at = mention.end if mention else at + 1


def _match(
    at: int,
    key: tuple[str, ...],
    tables: Mapping[tuple[str, ...], Sequence[tuple[Table, float]]],
    columns: Mapping[tuple[str, ...], Sequence[tuple[Field, float]]],
) -> Mention | None:
    if key not in tables and (key not in columns or key[0] in {"on", "at", "no"}):
        return None
    table, score = max(tables.get(key, ()), key=lambda one: one[1], default=(None, 0.0))
    fields = columns.get(key, ())
    if table is not None and score >= max((one[1] for one in fields), default=0.0):
        return Mention(at, at + len(key), table)
    best: dict[tuple[str, str], tuple[Field, float]] = {}
    for field, likeness in fields:
        place = (field.table.name, field.column.name)
        if place not in best or best[place][1] < likeness:
            best[place] = (field, likeness)
    return Mention(at, at + len(key), None, tuple(best.values()))


def _index(
    schema: Schema,
) -> tuple[Mapping[tuple[str, ...], list[tuple[Table, float]]], Mapping[tuple[str, ...], list[tuple[Field, float]]]]:
    """Words -> the tables and the columns that they may mean, with their likeness."""
    tables: dict[tuple[str, ...], list[tuple[Table, float]]] = defaultdict(list)
    columns: dict[tuple[str, ...], list[tuple[Field, float]]] = defaultdict(list)
    for table in schema.tables:
        name = name_parts(table.name)
        for key, score in _keys(name, ()):
            tables[key].append((table, score if score != 0.5 else 0.55))
        for column in table.columns:
            for key, score in _keys(name_parts(column.name), name):
                columns[key].append((Field(table, column), score))
        if len(table.primary_key) == 1 and (key_column := table.column(table.primary_key[0])) is not None:
            columns["id",].append((Field(table, key_column), 0.5))
    return tables, columns


def _keys(parts: tuple[str, ...], table: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    """The words that mean a name: all of them; without units and the table's name; the last, the first; synonyms."""
    if not parts:
        return
    yield parts, 1.0
    bare = parts[len(table) :] if table and parts[: len(table)] == table and len(parts) > len(table) else parts
    core = tuple(one for one in bare if one not in _TAILS) or bare
    if core != parts and parts[-1] != "id":
        yield core, 0.8
    if len(parts) > 1 and parts[-1] != "id":
        yield parts[-1:], 0.5
        yield parts[:1], 0.4
    if parts[-1] in {"on", "at", "date", "day"}:
        yield ("date",), 0.6
    synonyms: Mapping[str, Sequence[str]] = lexicon()["synonyms"]
    for part in core:
        for other in synonyms.get(part, ()):
            yield name_parts(other), 0.6 if len(core) == 1 else 0.45


def _main(tables: Sequence[Mention], mentions: Sequence[Mention], schema: Schema, marks: Sequence[Mark]) -> Table:
    """What is counted, else the first table mentioned, else the one with most of the columns mentioned."""
    counted = next((one.end for one in marks if one.kind == "count"), None)
    if counted is not None:
        near = next((one.table for one in tables if counted <= one.start <= counted + 2), None)
        if near is not None:
            return near
    if tables and tables[0].table is not None:
        return tables[0].table
    weights: dict[str, float] = defaultdict(float)
    for mention in mentions:
        for field, score in mention.fields:
            weights[field.table.name] += score
    usable = [one for one in schema.tables if one.columns]
    return max(usable, key=lambda one: weights.get(one.name, 0.0))


def _choose(mention: Mention, tables: Sequence[Mention], main: Table, stems: frozenset[str]) -> Field:
    """Of the columns that the words may mean the likeliest: beside its table, of the main table, of one mentioned."""
    beside = {id(one.table) for one in tables if one.end == mention.start or 1 <= one.start - mention.end <= 2}
    named = {id(one.table) for one in tables}
    linked = {link.to_table.casefold() for link in main.foreign_keys}

    def worth(pair: tuple[Field, float]) -> float:
        home = pair[0].table
        near = 1.2 * (id(home) in beside) + 1.0 * (home is main) + 0.6 * (id(home) in named)
        parts = name_parts(pair[0].column.name)
        said = sum(one in stems for one in parts) / len(parts) if parts else 0.0
        return 2 * pair[1] + near + 0.5 * said + 0.2 * (home.name.casefold() in linked)

    return max(mention.fields, key=worth)[0]
