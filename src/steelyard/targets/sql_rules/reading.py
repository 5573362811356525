"""From a question and a schema to one SELECT: the rules in order, and which of them spoke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.sql.schema import Schema
from steelyard.targets.sql_rules import asked
from steelyard.targets.sql_rules.compose import compose
from steelyard.targets.sql_rules.filters import conditions
from steelyard.targets.sql_rules.linking import Field, Linked, link
from steelyard.targets.sql_rules.plan import Condition, Expression, Found, Plan


@dataclass(frozen=True, slots=True)
class Reading:
    """The SQL, the rules that fired, and why there is no more than `SELECT NULL`, where that is so."""

    sql: str
    evidence: tuple[str, ...] = ()
    problem: str = ""


def read_question(question: str, schema: Schema, *, dialect: str = "sqlite") -> Reading:
    """Answer a question by rules; always one SELECT over the schema, the same for the same question.

    Args:
        question: what is asked, in English or Chinese; values are taken from it, as nothing of the data is known.
        schema: the tables.
        dialect: decides how names are quoted.

    >>> from steelyard.sql.schema import parse_schema
    >>> schema = parse_schema("CREATE TABLE dogs (id INT PRIMARY KEY, name TEXT, weight REAL)")
    >>> read_question("Which dogs have a weight of more than 20?", schema).sql
    'SELECT name FROM dogs WHERE weight > 20'
    """
    usable = Schema(tuple(one for one in schema.tables if one.columns))
    if not usable.tables:
        return Reading("SELECT NULL", (), "the schema has no table that could be read")
    if not question.strip():
        return Reading("SELECT NULL", (), "the question is blank")
    linked = link(question, usable)
    plan, evidence = _plan(linked)
    sql = compose(plan, usable, dialect=dialect)
    if sql is None:
        plan = _alone(plan, linked)
        sql = compose(plan, usable, dialect=dialect) or "SELECT NULL"
        evidence = [*evidence, "one table, as no key leads to the others"]
    if len(_tables_in(plan)) > 1:
        evidence = [*evidence, "join"]
    return Reading(sql, tuple(dict.fromkeys(evidence)))


def _plan(linked: Linked) -> tuple[Plan, list[str]]:
    evidence: list[str] = []
    missing = asked.absent(linked)
    found = [one for one in conditions(linked) if missing is None or missing[1].isdisjoint(one.used)]
    used = frozenset().union(*(one.used for one in found), missing[1] if missing else ())
    evidence += [one.rule for one in found] + ["absent"] * (missing is not None)
    plan = Plan(linked.main, where=_where(found), having=_having(found), absent=missing[0] if missing else None)
    by, numbers = _figures(linked, used, grouped=bool(plan.having))
    used |= frozenset().union(*(one[1] for one in by), *(one.used for one in numbers))
    fields, words = asked.order(linked, used)
    used |= words
    top = asked.best(linked, used)
    used |= top.used if top else frozenset()
    group = tuple(field for one in by for field in one[0])
    evidence += ["group"] * bool(by) + ["aggregate"] * bool(numbers) + ["order"] * bool(fields)
    columns = asked.shown(linked, used)
    if top is not None:
        evidence.append("superlative")
        if top.alone and not columns and top.field is not None:
            one = asked.Asked(Expression(top.field, "MAX" if top.down else "MIN"), top.used, min(top.used))
            numbers, top = [*numbers, one], None
    plan = _select(plan, linked, group=group, numbers=numbers, columns=columns)
    plan = replace(plan, order=tuple((_sorted_by(plan, field), down) for field, down in fields))
    if top is not None:
        plan = _best(plan, linked, top)
    if linked.marked("distinct") and not any(one.expression.distinct for one in numbers):
        plan = replace(plan, distinct=not plan.group)
        evidence.append("distinct")
    return _strict(plan), evidence


def _figures(
    linked: Linked, used: frozenset[int], *, grouped: bool
) -> tuple[list[tuple[tuple[Field, ...], frozenset[int]]], list[asked.Asked]]:
    """Groups and figures; "every" beside no figure is no group: "the wage of every member"."""
    by = asked.groups(linked, used)
    words = frozenset().union(*(one[1] for one in by))
    numbers = asked.counts(linked, used | words)
    numbers += asked.aggregates(linked, used | words | frozenset().union(*(one.used for one in numbers)))
    return (by, numbers) if numbers or grouped else ([], [])


def _where(found: Sequence[Found]) -> tuple[Condition, ...]:
    return tuple(one.condition for one in found if not one.having)


def _having(found: Sequence[Found]) -> tuple[Condition, ...]:
    return tuple(one.condition for one in found if one.having)


def _select(
    plan: Plan, linked: Linked, *, group: tuple[Field, ...], numbers: list[asked.Asked], columns: list[asked.Asked]
) -> Plan:
    """What stands in the SELECT and the GROUP BY."""
    figures = tuple(dict.fromkeys(one.expression for one in sorted(numbers, key=lambda one: one.at)))
    if not figures and not group and not plan.having:
        plain = tuple(one.expression for one in columns)
        named = asked.label_of(linked)
        return replace(plan, select=plain or ((named,) if named else ()))
    plain = tuple(one.expression for one in columns if one.expression.field not in group and not _is_label(one, linked))
    keys = group or tuple(one.field for one in plain if one.field is not None)
    if plan.having and not keys:
        key = linked.main.column(linked.main.primary_key[0]) if linked.main.primary_key else None
        label = linked.label(linked.main)
        keys = (Field(linked.main, key), label) if key is not None and key is not label.column else (label,)
    if not figures and group:
        figures = tuple(one.expression for one in columns if one.expression.field not in group) or (Expression(None),)
    if figures and not group and not plan.having:
        keys = ()
    visible = tuple(Expression(one) for one in keys if not one.key or len(keys) == 1)
    return replace(plan, select=(*visible, *figures), group=keys)


def _is_label(one: asked.Asked, linked: Linked) -> bool:
    return one.expression.field is not None and one.expression.field.key and bool(linked.tables)


def _sorted_by(plan: Plan, field: Field) -> Expression:
    """A column, or its aggregate where that is what is shown; of a group's rows the highest, as a group has several."""
    shown = next((one for one in plan.select if one.field == field and one.function), None)
    grouped = plan.group and field not in plan.group
    return shown or Expression(field, "MAX" if grouped else "")


def _best(plan: Plan, linked: Linked, top: asked.Best) -> Plan:
    """The rows with the most or the least of something."""
    function = "MAX" if top.down else "MIN"
    if top.field is None:
        key = tuple(one for one in (linked.label(linked.main),))
        other = top.counted or linked.main
        counted = next((Field(other, column) for column in other.columns), None)
        order = Expression(counted, "COUNT")
        select = plan.select or tuple(Expression(one) for one in key)
        keys = tuple(one.field for one in select if one.field is not None and not one.function)
        return replace(plan, select=select, group=plan.group or keys, order=((order, top.down),), limit=top.limit or 1)
    if top.all_equal and not plan.group:
        return replace(plan, where=(*plan.where, Condition(top.field, "best", (function,))))
    order = _sorted_by(plan, top.field)
    if plan.group and not order.function and top.field not in plan.group:
        order = Expression(top.field, function)
    limit = None if top.ordered else top.limit or 1
    return replace(plan, order=((order, top.down), *plan.order), limit=limit)


def _strict(plan: Plan) -> Plan:
    """The same, as engines want it that are stricter than SQLite.

    One row of figures has no plain columns beside it and no order; what is distinct is ordered by what is shown.
    """
    figures = tuple(one for one in plan.select if one.function or one.field is None)
    if figures and not plan.group:
        return replace(plan, select=figures, order=(), limit=None)
    if plan.distinct and any(one not in plan.select for one, _ in plan.order):
        return replace(plan, distinct=False)
    return plan


def _alone(plan: Plan, linked: Linked) -> Plan:
    """The same without what other tables have."""
    home = linked.main

    def own(field: Field | None) -> bool:
        return field is None or field.table is home

    select = tuple(one for one in plan.select if own(one.field))
    return Plan(
        home,
        select=select,
        where=tuple(one for one in plan.where if own(one.field)),
        group=tuple(one for one in plan.group if own(one)),
        having=plan.having if all(own(one) for one in plan.group) else (),
        order=tuple(one for one in plan.order if own(one[0].field)),
        limit=plan.limit,
        distinct=plan.distinct,
    )


def _tables_in(plan: Plan) -> set[str]:
    fields = [*(one.field for one in plan.select), *(one.field for one in plan.where), *plan.group]
    return {plan.main.name, *(one.table.name for one in fields if one is not None)}
