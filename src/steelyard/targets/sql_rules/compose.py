"""A plan as SQL: names quoted where they must be, values as literals, tables joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from steelyard.sql.schema import Column, Schema, Table
from steelyard.targets.sql_rules.joins import between, join
from steelyard.targets.sql_rules.linking import Field
from steelyard.targets.sql_rules.plan import Condition, Expression, Plan

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RESERVED: Final = frozenset(
    {
        "ADD", "ALL", "ALTER", "AND", "ANY", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CHECK", "COLLATE",
        "COLUMN", "COMMIT", "CONSTRAINT", "CREATE", "CROSS", "CURRENT", "CURRENT_DATE", "CURRENT_TIME",
        "CURRENT_TIMESTAMP", "DEFAULT", "DELETE", "DESC", "DISTINCT", "DROP", "ELSE", "END", "ESCAPE",
        "EXCEPT", "EXISTS", "FALSE", "FOREIGN", "FROM", "FULL", "GROUP", "HAVING", "IF", "IN", "INDEX",
        "INNER", "INSERT", "INTERSECT", "INTO", "IS", "ISNULL", "JOIN", "KEY", "LEFT", "LIKE", "LIMIT",
        "NATURAL", "NOT", "NOTHING", "NOTNULL", "NULL", "OF", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER",
        "PIVOT", "PLAN", "POSITION", "PRIMARY", "QUALIFY", "RANK", "REFERENCES", "RIGHT", "ROW", "ROWS",
        "SELECT", "SET", "TABLE", "THEN", "TO", "TRANSACTION", "TRIGGER", "TRUE", "UNION", "UNIQUE", "UPDATE",
        "USING", "VALUES", "VIEW", "WHEN", "WHERE", "WINDOW", "WITH",
    }
)  # fmt: skip


def compose(plan: Plan, schema: Schema, *, dialect: str = "sqlite") -> str | None:
    """The plan as one SELECT; None where its tables do not hang together.

    Args:
        plan: what is asked for.
        schema: for the way between tables.
        dialect: `mysql` and its kin quote names with backticks.
    """
    joins = join(schema, _tables(plan))
    if joins is None:
        return None
    write = _Writer("`" if dialect.lower() in {"mysql", "mariadb", "bigquery", "hive", "spark"} else '"', bool(joins))
    select = ", ".join(write.expression(one) for one in plan.select) or "*"
    if select == "*" and joins:
        select = f"{write.name(plan.main.name)}.*"
    parts = [f"SELECT {'DISTINCT ' * plan.distinct}{select}", f"FROM {write.name(plan.main.name)}"]
    for step in joins:
        left, right = (
            Field(step.table, _column(step.table, step.column)),
            Field(step.other, _column(step.other, step.other_column)),
        )
        parts.append(f"JOIN {write.name(step.table.name)} ON {write.field(left)} = {write.field(right)}")
    where = write.conditions(plan.where)
    if plan.absent is not None:
        missing = _absent(plan, schema, write)
        if missing is None:
            return None
        where = f"{where} AND {missing}" if where else missing
    parts += _clauses(plan, write, where)
    return " ".join(parts)


def _clauses(plan: Plan, write: _Writer, where: str) -> Iterator[str]:
    if where:
        yield f"WHERE {where}"
    if plan.group:
        yield f"GROUP BY {', '.join(write.field(one) for one in plan.group)}"
    if plan.having:
        yield f"HAVING {write.conditions(plan.having)}"
    if plan.order:
        keys = (f"{write.expression(one)}{' DESC' * down}" for one, down in plan.order)
        yield f"ORDER BY {', '.join(keys)}"
    if plan.limit is not None:
        yield f"LIMIT {plan.limit}"


def _tables(plan: Plan) -> list[Table]:
    fields: Iterable[Field | None] = (
        *(one.field for one in plan.select),
        *(one.field for one in plan.where),
        *plan.group,
        *(one.field for one in plan.having),
        *(one.field for one, _ in plan.order),
    )
    tables = [plan.main]
    for one in fields:
        if one is not None and not any(one.table is table for table in tables):
            tables.append(one.table)
    return tables


def _absent(plan: Plan, schema: Schema, write: _Writer) -> str | None:
    """`key NOT IN (SELECT key FROM the other table)`, with the NULLs left out that would empty the answer."""
    if plan.absent is None or (step := between(schema, plan.absent, plan.main)) is None:
        return None
    own = write.field(Field(plan.main, _column(plan.main, step.other_column)))
    column, table = write.name(step.column), write.name(step.table.name)
    return f"{own} NOT IN (SELECT {column} FROM {table} WHERE {column} IS NOT NULL)"  # noqa: S608 - names are quoted


def _column(table: Table, name: str) -> Column:
    found = table.column(name)
    return found if found is not None else table.columns[0]


class _Writer:
    """How names are written: quoted by `mark`, with their table in front where there are several."""

    def __init__(self, mark: str, several: bool) -> None:  # noqa: FBT001 - private, and read once
        self._mark = mark
        self._several = several

    def name(self, name: str) -> str:
        """A name, quoted where it is no plain one."""
        if _PLAIN.match(name) and name.upper() not in _RESERVED:
            return name
        return self._mark + name.replace(self._mark, self._mark * 2) + self._mark

    def field(self, field: Field) -> str:
        """A column."""
        column = self.name(field.column.name)
        return f"{self.name(field.table.name)}.{column}" if self._several else column

    def expression(self, one: Expression) -> str:
        """A column, an aggregate or COUNT(*)."""
        if one.field is None:
            return "COUNT(*)"
        inner = self.field(one.field)
        return f"{one.function}({'DISTINCT ' * one.distinct}{inner})" if one.function else inner

    def conditions(self, found: Sequence[Condition]) -> str:
        """All of them, alternatives in brackets."""
        groups: list[list[str]] = []
        for one in found:
            if one.any_of and groups:
                groups[-1].append(self._condition(one))
            else:
                groups.append([self._condition(one)])
        return " AND ".join(f"({' OR '.join(group)})" if len(group) > 1 else group[0] for group in groups)

    def _condition(self, one: Condition) -> str:
        left = "COUNT(*)" if one.field is None else self.field(one.field)
        if one.operator in {"null", "notnull"}:
            return f"{left} IS {'NOT ' * (one.operator == 'notnull')}NULL"
        if one.operator == "best" and one.field is not None:
            column, table = self.name(one.field.column.name), self.name(one.field.table.name)
            return f"{left} = (SELECT {one.values[0]}({column}) FROM {table})"  # noqa: S608 - names are quoted
        values = [literal(value) for value in one.values]
        if one.operator == "period":
            return f"{left} >= {values[0]} AND {left} < {values[1]}"
        if one.operator == "between":
            return f"{left} BETWEEN {values[0]} AND {values[1]}"
        return f"{left} {one.operator.upper()} {values[0]}"


def literal(value: str | float) -> str:
    """A value as SQL: numbers as they are, texts in single quotes.

    >>> literal("O'Neill"), literal(2.5)
    ("'O''Neill'", '2.5')
    """
    if isinstance(value, str):
        return "'" + value.replace("\0", "").replace("'", "''") + "'"
    return repr(value)
