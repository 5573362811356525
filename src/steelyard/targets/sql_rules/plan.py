"""What a question asks for, before it is written as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.sql.schema import Table
from steelyard.targets.sql_rules.linking import Field


@dataclass(frozen=True, slots=True)
class Expression:
    """A column, an aggregate of one (`function`), or COUNT(*) where `field` is None."""

    field: Field | None
    function: str = ""
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """`field operator values`.

    Args:
        field: the column; None is the number of rows of a group.
        operator: `=`, `!=`, `<`, `<=`, `>`, `>=`, `between`, `like`, `null`, `notnull`, `period` (from the first
            value on, before the second), `best` (equals the aggregate
            that `values` names, over the whole table) or `absent` (no row of the table that `field` points into).
        values: texts or numbers as the question has them.
        any_of: joined to the condition before it by OR.
    """

    field: Field | None
    operator: str
    values: tuple[str | int | float, ...] = ()
    any_of: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A condition and the places of the words that it used up; `rule` names what found it."""

    condition: Condition
    used: frozenset[int]
    rule: str
    having: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """One SELECT."""

    main: Table
    select: tuple[Expression, ...] = ()
    where: tuple[Condition, ...] = ()
    group: tuple[Field, ...] = ()
    having: tuple[Condition, ...] = ()
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    distinct: bool = False
    absent: Table | None = None
