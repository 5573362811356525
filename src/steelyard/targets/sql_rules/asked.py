"""What is asked for: counts, aggregates, groups, the best of something, an order, the columns to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steelyard.sql.schema import Table
from steelyard.targets.sql_rules.linking import Field, Linked, Mark
from steelyard.targets.sql_rules.plan import Expression

_NEAR: Final = 4
_SHOWS: Final = frozenset({"show", "give", "list", "return", "display", "name", "include", "report"})
_WHICH: Final = frozenset({"which", "who", "whose"})


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing asked for and the places of the words that it used up."""

    expression: Expression
    used: frozenset[int]
    at: int


@dataclass(frozen=True, slots=True)
class Best:
    """The most or the least of something.

    Args:
        field: of what; None is the number of rows of `counted`.
        counted: the table whose rows are counted, where it is that.
        down: whether the highest come first.
        limit: how many; None is one.
        alone: whether it is the value itself that is asked for.
        all_equal: whether all that share the place are.
        ordered: whether only the order is meant ("highest first").
        used: places of its words.
    """

    field: Field | None
    counted: Table | None
    down: bool
    limit: int | None
    alone: bool
    all_equal: bool
    ordered: bool
    used: frozenset[int]


def counts(linked: Linked, taken: frozenset[int]) -> list[Asked]:
    """`how many`, `number of`: rows, or different values where the question says so."""
    found = []
    for mark in linked.marked("count"):
        if not taken.isdisjoint(range(mark.start, mark.end)):
            continue
        used = set(range(mark.start, mark.end))
        unlike = next((one for one in linked.marked("distinct") if mark.end <= one.start <= mark.end + 1), None)
        near = linked.column_at(mark.end, mark.end + 3)
        owner = linked.table_at(mark.end, mark.end + 3)
        if owner is None and near is not None and near[0].start == mark.end and near[0].start in taken:
            continue
        if unlike is not None and near is not None:
            used |= {*range(unlike.start, unlike.end), *range(near[0].start, near[0].end)}
            found.append(Asked(Expression(near[1], "COUNT", distinct=True), frozenset(used), mark.start))
            continue
        if owner is not None:
            used |= set(range(owner.start, owner.end))
        elif near is not None and near[0].start == mark.end:
            used |= set(range(near[0].start, near[0].end))
            if near[1].numeric and not near[1].key:
                function = "SUM" if linked.marked("aggregate") else ""
                found.append(Asked(Expression(near[1], function), frozenset(used), mark.start))
                continue
        found.append(Asked(Expression(None, "COUNT"), frozenset(used), mark.start))
    return found


def aggregates(linked: Linked, taken: frozenset[int]) -> list[Asked]:
    """`average price`, `total cost`, `the sum of minutes`: an aggregate of the number named next, or just before."""
    found: list[Asked] = []
    gone = set(taken)
    for mark in linked.marked("aggregate"):
        near = _number_near(linked, mark, gone)
        if near is None or not gone.isdisjoint(range(mark.start, mark.end)):
            continue
        used = frozenset({*range(mark.start, mark.end), *near[1]})
        gone |= used
        if all(one.expression != Expression(near[0], mark.value) for one in found):
            found.append(Asked(Expression(near[0], mark.value), used, mark.start))
    return found


def _number_near(linked: Linked, mark: Mark, taken: set[int]) -> tuple[Field, frozenset[int]] | None:
    for mention, field in linked.columns:
        free = taken.isdisjoint(range(mention.start, mention.end))
        if free and mark.end <= mention.start < mark.end + _NEAR and field.numeric and not field.key:
            return field, frozenset(range(mention.start, mention.end))
    for mention, field in reversed(linked.columns):
        free = taken.isdisjoint(range(mention.start, mention.end))
        if free and mark.start - _NEAR <= mention.end <= mark.start and field.numeric and not field.key:
            return field, frozenset(range(mention.start, mention.end))
    return None


def groups(linked: Linked, taken: frozenset[int]) -> list[tuple[tuple[Field, ...], frozenset[int]]]:
    """`per city`, `for each station`: a column, or a table by its key and its label."""
    found: list[tuple[tuple[Field, ...], frozenset[int]]] = []
    for mark in linked.marked("each"):
        column = linked.column_at(mark.end, mark.end + 2)
        table = linked.table_at(mark.end, mark.end + 2)
        if table is not None and table.table is not None and (column is None or table.start < column[0].start):
            follows = linked.column_at(table.end, table.end + 1)
            if follows is not None and follows[1].table is table.table and not follows[1].numeric:
                column, table = follows, None
        if column is not None and (table is None or column[0].start < table.start):
            places = frozenset({*range(mark.start, mark.end), *range(column[0].start, column[0].end)})
            if taken.isdisjoint(range(column[0].start, column[0].end)):
                found.append(((column[1],), places))
        elif table is not None and table.table is not None:
            places = frozenset({*range(mark.start, mark.end), *range(table.start, table.end)})
            found.append((_rows_of(linked, table.table), places))
    return found[:2]


def _rows_of(linked: Linked, table: Table) -> tuple[Field, ...]:
    label = linked.label(table)
    key = table.column(table.primary_key[0]) if len(table.primary_key) == 1 else None
    return (label,) if key is None or key is label.column else (Field(table, key), label)


def best(linked: Linked, taken: frozenset[int]) -> Best | None:
    """The first superlative of the question that can be understood."""
    for mark in linked.marks:
        if not mark.kind.startswith("superlative") or not taken.isdisjoint(range(mark.start, mark.end)):
            continue
        function, _, hint = mark.value.partition(" ")
        down = function == "MAX"
        used = set(range(mark.start, mark.end))
        limit, place = _how_many(linked, mark)
        used |= place
        near = next((one for one in linked.columns if mark.end <= one[0].start < mark.end + 3 and not one[1].key), None)
        counted = linked.table_at(mark.end, mark.end + 1) if mark.value in {"MAX", "MIN"} and limit is None else None
        field = near[1] if near is not None and (near[1].numeric or hint in {"", "date"}) else None
        if field is None and hint:
            field = linked.hinted(hint)
        if field is not None and near is not None and near[1] is field:
            used |= set(range(near[0].start, near[0].end))
            counted = None
        if field is None and (counted is None or counted.table is None):
            continue
        ordered = mark.end < len(linked.words) and linked.words[mark.end].text.lower() == "first"
        opening = [one.text.lower() for one in linked.words[:4]]
        alone = near is not None and limit is None and not _WHICH & set(opening) and counted is None
        table = counted.table if counted is not None and field is None else None
        return Best(field, table, down, limit, alone, bool(linked.marked("share")), ordered, frozenset(used))
    return None


def _how_many(linked: Linked, mark: Mark) -> tuple[int | None, set[int]]:
    """`top 3`, `the three largest`, `3 most expensive`."""
    for at in (mark.end, mark.start - 1):
        if 0 <= at < len(linked.words) and linked.words[at].kind == "number" and linked.words[at].text.isdigit():
            return min(int(linked.words[at].text), 10**9), {at}
    for one in linked.tables:
        at = one.start - 1
        if 0 <= at < mark.start and linked.words[at].kind == "number" and linked.words[at].text.isdigit():
            return min(int(linked.words[at].text), 10**9), {at}
    return None, set()


def order(linked: Linked, taken: frozenset[int]) -> tuple[list[tuple[Field, bool]], frozenset[int]]:
    """`sorted by price, highest first`, `in alphabetical order`; True is descending."""
    down = bool(linked.marked("desc"))
    used: set[int] = {at for kind in ("desc", "asc") for one in linked.marked(kind) for at in range(one.start, one.end)}
    fields: list[tuple[Field, bool]] = []
    for mark in linked.marked("order"):
        near = linked.column_at(mark.end, mark.end + _NEAR)
        if near is not None:
            used |= {*range(mark.start, mark.end), *range(near[0].start, near[0].end)}
            fields.append((near[1], down))
    for mark in linked.marked("alphabet"):
        used |= set(range(mark.start, mark.end))
        shown = next((one for mention, one in linked.columns if mention.start not in taken and not one.numeric), None)
        fields.append((shown or linked.label(linked.main), down))
    if not fields and (down or linked.marked("asc")):
        words = " ".join(linked.words[at].text.lower() for at in sorted(used))
        hint = (
            "date" if any(one in words for one in ("new", "old", "earl", "late")) else "wage" if "paid" in words else ""
        )
        numbers = [one for mention, one in linked.columns if one.numeric and mention.start not in taken]
        field = linked.hinted(hint) if hint else (numbers[-1] if numbers else None)
        fields = [] if field is None else [(field, down)]
    return fields, frozenset(used)


def shown(linked: Linked, taken: frozenset[int]) -> list[Asked]:
    """The columns that nothing else used: what is to be shown, each once."""
    found: list[Asked] = []
    from_here = _shows_at(linked)
    for mention, field in linked.columns:
        places = frozenset(range(mention.start, mention.end))
        if (
            mention.start >= from_here
            and taken.isdisjoint(places)
            and all(one.expression.field != field for one in found)
        ):
            found.append(Asked(Expression(field), places, mention.start))
    return found


def _shows_at(linked: Linked) -> int:
    """Where a later sentence says what to show: "Which riders ...? Show their names."."""
    places = [at for at, one in enumerate(linked.words) if at and one.opens and one.text.lower() in _SHOWS]
    return next((at for at in places if linked.column_at(at, len(linked.words)) is not None), 0)


def absent(linked: Linked) -> tuple[Table, frozenset[int]] | None:
    """The table of which nothing is there: `have never placed an order`, `have no piece`."""
    for mark in linked.marks:
        if mark.kind not in {"never", "not", "null"}:
            continue
        table = linked.table_at(mark.end, mark.end + _NEAR)
        if table is not None and table.table is not None and table.table is not linked.main:
            return table.table, frozenset({*range(mark.start, mark.end), *range(table.start, table.end)})
    return None


def label_of(linked: Linked) -> Expression | None:
    """What names a row where no column is asked for; None where whole rows are."""
    named = linked.hinted("label")
    wanted = {"which", "who", "what"} & {one.text.lower() for one in linked.words[:3]}
    return Expression(named) if named is not None and wanted else None
