"""The plan of a SELECT, written as SQL: names quoted where necessary, tables joined by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from steelyard.sql.schema import Schema, SchemaTable
from steelyard.targets.sql_rules.question import Field, lexicon

_Step = tuple[Field, Field]
"""A column of a table that is joined, and the column of a table before it that it equals."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A column, an aggregate of one (`function`), or COUNT(*) where `field` is None."""

    field: Field | None
    function: str = ""
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Predicate:
    r"""A condition on a column, or on the number of rows of a group where `field` is None.

    Args:
        field: the column.
        rest: what follows it in SQL, `>= 5`; \0 stands for the column where it is needed again, \1 for its table.
        any_of: whether `rest` has alternatives.
    """

    field: Field | None
    rest: str
    any_of: bool = False


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """One SELECT; `absent` is a table in which no row of `main` occurs."""

    main: SchemaTable
    select: tuple[Expression, ...] = ()
    where: tuple[Predicate, ...] = ()
    group: tuple[Field, ...] = ()
    having: tuple[Predicate, ...] = ()
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    distinct: bool = False
    absent: SchemaTable | None = None

    def tables(self) -> list[SchemaTable]:
        """The tables of the plan, the main one first."""
        expressions = (*self.select, *(expression for expression, _ in self.order))
        fields = (*(part.field for part in expressions), *(part.field for part in self.where), *self.group)
        return list(dict.fromkeys((self.main, *(field.table for field in fields if field is not None))))

    def parts(self) -> tuple[str, ...]:
        """The names of the clauses in the plan."""
        return tuple(part.name for part in fields(self) if part.name != "main" and getattr(self, part.name))


def write(plan: SelectPlan, schema: Schema, *, dialect: str = "sqlite") -> str | None:
    """Write the plan as a SELECT; None where its tables cannot be joined.

    Args:
        plan: what to select.
        schema: for the way between tables.
        dialect: `mysql` and similar ones quote names with backticks.
    """
    joins = _joins(schema, plan.tables())
    way = _joins(schema, [plan.main, plan.absent]) if plan.absent else []
    if joins is None or way is None or len(way) > 1:
        return None
    mark = "`" if dialect.lower() in lexicon()["backtick dialects"] else '"'
    return " ".join(_clauses(plan, joins, way, _NameWriter(mark, bool(joins))))


def literal(text: str, kind: str = "text") -> str:
    """Write a value as a SQL literal: numbers unchanged, all else in single quotes.

    >>> literal("O'Neill"), literal("2.5", "number")
    ("'O''Neill'", '2.5')
    """
    return text if kind == "number" else "'" + text.replace("\0", "").replace("\1", "").replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class _NameWriter:
    """How names are written: quoted by `mark`, with their table in front where there are `several`."""

    mark: str
    several: bool

    def name(self, name: str) -> str:
        """A name, quoted where it must be."""
        plain = name.isascii() and name.isidentifier() and name.upper() not in lexicon()["reserved"]
        return name if plain else self.mark + name.replace(self.mark, self.mark * 2) + self.mark

    def field(self, field: Field) -> str:
        """A column."""
        return f"{self.name(field.table.name)}." * self.several + self.name(field.column.name)

    def expression(self, expression: Expression) -> str:
        """A column, an aggregate or COUNT(*)."""
        if expression.field is None:
            return "COUNT(*)"
        inner = "DISTINCT " * expression.distinct + self.field(expression.field)
        return f"{expression.function}({inner})" if expression.function else inner

    def conditions(self, comparisons: Sequence[Predicate]) -> str:
        """All of them, those with alternatives in brackets."""
        texts = []
        for comparison in comparisons:
            column, field = self.expression(Expression(comparison.field)), comparison.field
            text = f"{column} {comparison.rest}".replace("\0", column)
            text = text.replace("\1", self.name(field.table.name)) if field is not None else text
            texts.append(f"({text})" if comparison.any_of and len(comparisons) > 1 else text)
        return " AND ".join(texts)


def _clauses(plan: SelectPlan, joins: Sequence[_Step], way: Sequence[_Step], names: _NameWriter) -> Iterator[str]:
    main = names.name(plan.main.name)
    columns = ", ".join(map(names.expression, plan.select)) or f"{main}." * names.several + "*"
    yield f"SELECT {'DISTINCT ' * plan.distinct}{columns} FROM {main}"  # noqa: S608  # names are quoted
    for joined, earlier in joins:
        yield f"JOIN {names.name(joined.table.name)} ON {names.field(joined)} = {names.field(earlier)}"
    where = [names.conditions(plan.where)] if plan.where else []
    for joined, earlier in way:
        # NULLs are left out, because one among them would empty the answer.
        column, table = names.name(joined.column.name), names.name(joined.table.name)
        where.append(f"{names.field(earlier)} NOT IN (SELECT {column} FROM {table} WHERE {column} IS NOT NULL)")  # noqa: S608  # names are quoted
    parts = {
        "WHERE": " AND ".join(where),
        "GROUP BY": ", ".join(map(names.field, plan.group)),
        "HAVING": names.conditions(plan.having),
        "ORDER BY": ", ".join(names.expression(key) + " DESC" * down for key, down in plan.order),
        "LIMIT": str(plan.limit or ""),
    }
    yield from (f"{clause} {text}" for clause, text in parts.items() if text)


def _edges(schema: Schema) -> list[_Step]:
    """Every way from a table to another, by the foreign keys that are declared."""
    fields = (Field(table, column) for table in schema.tables for column in table.columns)
    by_name = {(field.table.name.casefold(), field.column.name.casefold()): field for field in fields}
    edges: list[_Step] = []
    for source, link in ((table, link) for table in schema.tables for link in table.foreign_keys):
        home = schema.table(link.to_table)
        key = (link.to_columns or (home.primary_key if home else ()) or ("",))[0]
        from_field = by_name.get((source.name.casefold(), link.columns[0].casefold()))
        to_field = by_name.get((link.to_table.casefold(), key.casefold()))
        edges += (
            [(from_field, to_field), (to_field, from_field)] if from_field and to_field and home is not source else []
        )
    return edges


def _joins(schema: Schema, tables: Sequence[SchemaTable]) -> list[_Step] | None:
    """The joins that bring `tables` together, from the first on by the shortest ways; None where there is no way."""
    edges, joins = _edges(schema), list[_Step]()
    for missing in tables[1:]:
        reached = [tables[0], *(joined.table for joined, _ in joins)]
        ways: dict[str, list[_Step]] = {table.name: [] for table in reached}
        for table in reached:  # it grows
            for joined, earlier in edges:
                if earlier.table is table and joined.table.name not in ways:
                    ways[joined.table.name] = [*ways[table.name], (joined, earlier)]
                    reached.append(joined.table)
        joins += ways.get(missing.name, ())
        if missing.name not in ways:
            return None
    return joins
