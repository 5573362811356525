"""Text-to-SQL without a model: phrases of the question become clauses, its other words tables, columns and values.

Words to tables and columns, phrases to operators, then a query follow F. Li, H. V. Jagadish, "Constructing an
interactive natural language interface for relational databases", PVLDB 8(1), 2014. Deviations: no parse tree of the
question (nearness of words stands for it), nobody is asked when it is ambiguous (the likeliest is taken), and values
are not looked up in the data, which a model that is given the schema alone does not see either. Chinese phrases are
replaced by English words first. All word lists are in `sql_rules.json`.
"""

# Why it is so, and what was rejected: docs/decisions/targets-sql-baseline.md

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from steelyard.sql.schema import Column, Schema, SchemaTable
from steelyard.targets.baseline_readers import stem

_QUOTED: Final = r"\"[^\"]{1,200}\"|“[^”]{1,200}”|「[^」]{1,200}」|《[^》]{1,200}》|(?<!\w)'[^']{1,200}'(?!\w)"
_PIECE: Final = re.compile(
    rf"(?P<value>{_QUOTED}|\d{{4}}-\d\d-\d\d)|(?P<number>\d+(?:,\d{{3}})*(?:\.\d+)?(?!\w))|(?P<stop>[.?!;。？！；])"
    r"|(?P<name>(?<=[^.?!;。？！；] )[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)|(?P<word>\w+(?:[-'’]\w+)*)"
)
_NAME_PART: Final = re.compile(r"[^\W\d_A-Z]+|[A-Z]+(?![a-z])|[A-Z][^\W\d_A-Z]*|\d+")
_Field = tuple[SchemaTable, Column]


@dataclass(slots=True)
class _Span:
    """Words of the question: their kind and value (an operator, a literal), or the table or columns that they name."""

    text: str
    kind: str
    value: str = ""
    table: SchemaTable | None = None
    fields: list[tuple[_Field, float]] = field(default_factory=list)
    used: bool = False

    def literal(self) -> str:
        """The SQL of a value."""
        self.used = True
        number = (self.value or self.text).replace(",", "")
        return number if self.kind == "number" else "'" + self.text.replace("'", "''") + "'"


@cache
def lexicon() -> Mapping[str, Any]:
    """Phrases (text -> kind and value), hints, synonyms and other word lists, from `sql_rules.json`."""
    lists: dict[str, Any] = json.loads((files(__package__) / "sql_rules.json").read_text("utf-8"))
    lists["phrases"] = {text: kind.partition(" ")[::2] for kind, texts in lists["phrases"].items() for text in texts}
    return lists


def read_question(question: str, schema: Schema, *, dialect: str = "sqlite") -> str:
    """Write one SELECT over the schema for a question; "SELECT NULL" where there is no table or no question.

    Args:
        question: in English or Chinese; the first 4,000 characters are read.
        schema: the tables.
        dialect: decides how names are quoted.

    >>> from steelyard.sql.schema import parse_schema
    >>> schema = parse_schema("CREATE TABLE dogs (id INT PRIMARY KEY, name TEXT, weight REAL)")
    >>> read_question("Which dogs have a weight of more than 20?", schema)
    'SELECT dogs.name FROM dogs WHERE dogs.weight > 20'
    """
    tables = tuple(table for table in schema.tables if table.columns)
    return _Draft(question[:4_000], Schema(tables), dialect).sql() if tables and question.strip() else "SELECT NULL"


def _parts(name: str) -> tuple[str, ...]:
    return tuple(map(stem, _NAME_PART.findall(name))) or (name,)


def _is_number(column: _Field) -> bool:
    """Whether its declared type is one of numbers or truth values, and it is neither a key nor a reference to one."""
    keys = (*column[0].primary_key, *(name for key in column[0].foreign_keys for name in key.columns))
    plain = column[1].name not in keys and _parts(column[1].name)[-1] != "id"
    return plain and any(sign in column[1].type.upper() for sign in lexicon()["number types"])


def _hinted(table: SchemaTable, hint: str) -> _Field | None:
    """The first column of a table whose name holds a word of that hint, in the hint's order."""
    words = lexicon()["hints"].get(hint, ())
    return next(((table, column) for word in words for column in table.columns if word in _parts(column.name)), None)


def _label(table: SchemaTable) -> _Field:
    """The column that names a row for a person."""
    return _hinted(table, "label") or min(((table, column) for column in table.columns), key=_is_number)


def _row(table: SchemaTable) -> list[_Field]:
    """The columns that tell the rows of a table apart: its key and its label."""
    return [*((table, column) for column in table.columns if (column.name,) == table.primary_key), _label(table)]


class _Draft:
    """Reads the clauses of a question one kind after the other; a span that was used is not read again."""

    def __init__(self, question: str, schema: Schema, dialect: str) -> None:
        self.schema, self.having, self.read = schema, list[str](), dict[str, None]()
        self.mark = "`" if dialect.lower() in lexicon()["backtick dialects"] else '"'
        self.meanings: list[tuple[Any, str]] = [(table, table.name) for table in schema.tables]
        self.meanings += [((table, column), column.name) for table in schema.tables for column in table.columns]
        self.spans = list(self._spans(question))
        named = [span.table for span in self.spans if span.table]
        owners = [owner for span in self.spans for (owner, _), _ in span.fields]
        self.main = named[0] if named else max(schema.tables, key=owners.count)
        for span in self.spans:
            span.fields.sort(key=lambda pair: 2 * pair[1] + (pair[0][0] is self.main) + 0.6 * (pair[0][0] in named))

    def sql(self) -> str:
        """The SELECT."""
        where = [*self._comparisons(), *self._values(), *self._nulls()]
        groups, figures, (order, limit) = list(self._groups()), list(self._figures()), self._order()
        columns = list(dict.fromkeys(span.fields[-1][0] for span in self.spans if span.fields and not span.used))
        by_count, keys = order.startswith("COUNT"), list[_Field]()
        if groups or self.having or by_count:
            keys = groups or columns or _row(self.main)
            figures = [] if by_count else figures or [self._column(column) for column in columns if groups]
            select = [self._column(key) for key in (keys[-1:] if groups or not columns else keys)] + figures
        else:
            order = "" if figures else order  # one row of figures, which strict engines do not sort by a column
            select = figures or [self._column(column) for column in columns or [_label(self.main)]]
        distinct = "DISTINCT " * (not keys and any(self._at("distinct")))
        grouped = ", ".join(map(self._column, dict.fromkeys(keys)))
        text = f"SELECT {distinct}{', '.join(dict.fromkeys(select))} FROM {self._name(self.main.name)}{self._joins()}"  # noqa: S608  # names are quoted
        clauses = {"WHERE": " AND ".join(where), "GROUP BY": grouped, "HAVING": " AND ".join(self.having)}
        clauses |= {"ORDER BY": order, "LIMIT": limit}
        return text + "".join(f" {keyword} {clause}" for keyword, clause in clauses.items() if clause)

    def _spans(self, question: str) -> Iterator[_Span]:
        """The words joined to spans, at each position the longest that has a meaning."""
        index, at = self._index(), 0
        chinese = lexicon()["chinese"] | {name: name for _, name in self.meanings if not name.isascii()}
        pieces = "|".join(map(re.escape, sorted(chinese, key=len, reverse=True)))
        question = re.sub(rf"({_QUOTED})|({pieces})", lambda match: match[1] or f" {chinese[match[2]]} ", question)
        words = [(str(match.lastgroup), match[0]) for match in _PIECE.finditer(question)]
        while at < len(words):
            runs = (words[at : at + size] for size in range(min(6, len(words) - at), 0, -1))
            span, size = next((span, len(run)) for run in runs if (span := self._meaning(run, index)))
            yield span
            at += size

    def _meaning(self, run: Sequence[tuple[str, str]], index: Mapping[Any, Any]) -> _Span | None:
        kind, text = run[0][0], " ".join(word for _, word in run)
        if kind not in {"name", "word"}:
            return _Span(text.strip("\"'“”「」《》"), kind) if len(run) == 1 else None
        phrase, meanings = lexicon()["phrases"].get(text.lower()), index.get(tuple(map(stem, text.split())), [])
        best = max(meanings, key=lambda pair: pair[1])[0] if meanings else None
        if isinstance(best, SchemaTable):
            return _Span(text, "table", table=best)
        if best or phrase:
            return _Span(text, "column", fields=meanings) if best else _Span(text, *phrase)
        return _Span(text, "value" if kind == "name" or not text.isascii() else "word") if len(run) == 1 else None

    def _index(self) -> Mapping[Any, list[tuple[Any, float]]]:
        """Stems -> the tables and columns that they may name: by the whole name, its last or first word, a synonym."""
        index: dict[Any, list[tuple[Any, float]]] = {}
        for meaning, parts in ((meaning, _parts(name)) for meaning, name in self.meanings):
            words = [(parts, 1.0), *([] if parts[-1] == "id" else [(parts[-1:], 0.5), (parts[:1], 0.4)])]
            words += [(_parts(word), 0.6) for part in parts for word in lexicon()["synonyms"].get(part, ())]
            for stems, score in words:
                index.setdefault(stems, []).append((meaning, score))
        return index

    def _at(self, *kinds: str) -> Iterator[tuple[int, _Span]]:
        return ((at, span) for at, span in enumerate(self.spans) if span.kind in kinds and not span.used)

    def _around(self, at: int, steps: Sequence[int]) -> Iterator[_Span]:
        return (self.spans[at + step] for step in steps if 0 <= at + step < len(self.spans))

    def _near(self, at: int, steps: Sequence[int], *, number: bool | None = None) -> _Field | None:
        """The first column (of numbers, or of all else) named at these distances from a span, which is then used."""
        for span in self._around(at, steps):
            for column in (column for column, _ in span.fields[::-1] if number in {None, _is_number(column)}):
                span.used = True
                return column
        return None

    def _table(self, at: int, steps: Sequence[int]) -> SchemaTable | None:
        return next((span.table for span in self._around(at, steps) if span.table), None)

    def _comparisons(self) -> Iterator[str]:
        """`more than 5`, `3 or more`, `between 1 and 2`: of a column, or of the rows of a group (`3 doctors`)."""
        for at, span in self._at("compare"):
            behind = 4 if span.value == "BETWEEN" else 2
            values = [value for value in self.spans[at + 1 : at + behind] if value.kind in {"number", "value"}]
            if len(values) == behind // 2:
                texts, number = " AND ".join(value.literal() for value in values), values[0].kind == "number"
                column = self._near(at, (behind, -1, -2, -3, -4, -5), number=number)
                if column:
                    yield f"{self._column(column)} {span.value} {texts}"
                elif counted := self._table(at, (behind, behind + 1)):
                    self.read[counted.name] = None
                    self.having.append(f"COUNT(*) {span.value} {texts}")

    def _values(self) -> Iterator[str]:
        """`called "Ann"`, `in Port Ellen`, `by Eva Moe`: of the likeliest column."""
        for at, span in self._at("value"):
            yield f"{self._column(self._owner(at, self.spans[at - 1].text))} = {span.literal()}"

    def _owner(self, at: int, lead: str) -> _Field:
        """The column that a value belongs to: a place, of whom something is, one named before it."""
        home = self._table(at, range(-1, -at - 1, -1)) or self.main
        if lead in lexicon()["place words"]:
            return next(filter(None, (_hinted(table, "place") for table in (home, *self.schema.tables))), _label(home))
        if lead in {"by", "of"}:
            parents = (self.schema.table(key.to_table) for key in self.main.foreign_keys)
            return _label(next(parents, None) or self.main)
        return self._near(at, (-1, -2, -3, 1), number=False) or _label(home)

    def _nulls(self) -> Iterator[str]:
        """`without an email`, `email is unknown`; `never wrote a book`, `have no orders`: no row of that table."""
        for at, _ in self._at("null", "never"):
            table, column = self._table(at, (1, 2, 3, 4)), self._near(at, (1, 2, -1, -2, -3))
            keys = [pair for pair in self._links() if pair[0][0] is table and pair[1][0] is self.main]
            if column:
                yield f"{self._column(column)} IS NULL"
            elif keys:
                child, name = self._name(keys[0][0][1].name), self._name(keys[0][0][0].name)
                inner = f"SELECT {child} FROM {name} WHERE {child} IS NOT NULL"  # noqa: S608  # names are quoted
                yield f"{self._column(keys[0][1])} NOT IN ({inner})"

    def _groups(self) -> Iterator[_Field]:
        """`per city`, `for each station`: a column, or a table by its key and its label."""
        for at, _ in self._at("each"):
            column, table = self._near(at, (1, 2)), self._table(at, (1, 2))
            yield from [column] if column else _row(table) if table else []

    def _figures(self) -> Iterator[str]:
        """`how many`, `number of different`, `average price`: rows, distinct values, an aggregate of what follows."""
        for at, span in self._at("aggregate", "count"):
            distinct = next(self._at("distinct"), (0, span))[0] == at + 1
            column = self._near(at, range(1 + distinct, 6 if span.value else 3), number=None if distinct else True)
            if column or span.kind == "count":
                function = "COUNT(DISTINCT " if distinct else f"{span.value or 'SUM'}("
                yield f"{function}{self._column(column)})" if column else "COUNT(*)"

    def _order(self) -> tuple[str, str]:
        """`sorted by price descending`, `the 3 cheapest`, `the most visits`: what to sort by, and how many rows."""
        down = " DESC" * any(self._at("desc"))
        for at, span in self._at("order", "alphabet", "asc", "desc", "superlative"):
            column = self._near(at, (1, 2, 3), number=True if span.value in {"MAX", "MIN"} else None)
            column = column or _hinted(self.main, span.value.rpartition(" ")[2])
            if span.kind != "superlative" and (column or span.kind in {"order", "alphabet"}):
                return self._column(column or _label(self.main)) + down, ""
            counted = self._table(at, (1, 2, 3))
            if span.kind == "superlative" and (column or counted):
                self.read |= {counted.name: None} if counted and not column else {}
                key = (self._column(column) if column else "COUNT(*)") + " DESC" * ("MAX" in span.value)
                return key, next((number.literal() for _, number in self._at("number")), "1")
        return "", ""

    def _links(self) -> list[tuple[_Field, _Field]]:
        """Pairs of columns that are equal where tables are joined, in both directions, by the keys declared."""
        links = []
        for child, key in ((table, key) for table in self.schema.tables for key in table.foreign_keys):
            home = self.schema.table(key.to_table) or child
            here, there = child.column(key.columns[0]), home.column((*key.to_columns, *home.primary_key, "")[0])
            if here and there and home is not child:
                links += [((child, here), (home, there)), ((home, there), (child, here))]
        return links

    def _joins(self) -> str:
        """The joins of every table that is read: by its keys, without a condition where none lead to it."""
        joins = {self.main.name: ""}
        for known, new in self._links() * len(self.schema.tables):
            if known[0].name in joins and new[0].name in self.read and new[0].name not in joins:
                joins[new[0].name] = f" JOIN {self._name(new[0].name)} ON {self._column(new)} = {self._column(known)}"
        others = (f" CROSS JOIN {self._name(name)}" for name in self.read if name not in joins)
        return "".join((*joins.values(), *others))

    def _column(self, column: _Field) -> str:
        self.read[column[0].name] = None
        return f"{self._name(column[0].name)}.{self._name(column[1].name)}"

    def _name(self, name: str) -> str:
        plain = name.isascii() and name.isidentifier() and name.upper() not in lexicon()["reserved"]
        return name if plain else self.mark + name.replace(self.mark, self.mark * 2) + self.mark
