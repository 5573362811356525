"""Builds a SELECT from a question and a schema: conditions, aggregates, groups, order and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from steelyard.sql.schema import Schema, SchemaTable
from steelyard.targets.sql_rules.question import Field, Span, hinted, label_of, lexicon, link, name_parts
from steelyard.targets.sql_rules.sql import Expression, Predicate, SelectPlan, literal, write

_NUMBER, _TEXT = attrgetter("number"), attrgetter("text")


@dataclass(frozen=True, slots=True)
class Reading:
    """The SQL, the names of its clauses, and the reason where it is only `SELECT NULL`."""

    sql: str
    evidence: tuple[str, ...] = ()
    problem: str = ""


_Fields = Sequence[Field]


def read_question(question: str, schema: Schema, *, dialect: str = "sqlite") -> Reading:
    """Answer a question by rules; always one SELECT over the schema, the same for the same question.

    Args:
        question: in English or Chinese; values are taken from it, as nothing of the data is known.
        schema: the tables.
        dialect: decides how names are quoted.

    >>> from steelyard.sql.schema import parse_schema
    >>> schema = parse_schema("CREATE TABLE dogs (id INT PRIMARY KEY, name TEXT, weight REAL)")
    >>> read_question("Which dogs have a weight of more than 20?", schema).sql
    'SELECT name FROM dogs WHERE weight > 20'
    """
    usable = Schema(tuple(table for table in schema.tables if table.columns))
    if not usable.tables or not question.strip():
        problem = "the question is blank" if usable.tables else "the schema has no table that could be read"
        return Reading("SELECT NULL", (), problem)
    plan = _Draft(*link(question, usable), usable).plan()
    sql = write(plan, usable, dialect=dialect)
    if sql is None:
        # No keys join its tables, so the question is read as one about the main table alone.
        return read_question(question, Schema((plan.main,)), dialect=dialect)
    return Reading(sql, plan.parts())


class _Draft:
    """Builds a SELECT from spans: each rule marks the spans that it used, so that no later rule uses them again.

    Positions are indexes of spans; -1 is none.
    """

    def __init__(self, spans: Sequence[Span], main: SchemaTable, schema: Schema) -> None:
        self.spans, self.main, self.schema = spans, main, schema
        self.words = {at: span.text.lower() for at, span in enumerate(spans)}
        self.kinds = {at: span.kind for at, span in enumerate(spans)}
        self.tables = {at: span.table for at, span in enumerate(spans) if span.table is not None}
        self.fields = {at: span.fields[0][0] for at, span in enumerate(spans) if span.fields}
        self.used: set[int] = set()

    def plan(self) -> SelectPlan:
        """Every rule in order."""
        absent = self._absent()
        rules = (self._comparisons, self._nulls, self._periods, self._texts, self._adjectives)
        conditions = sorted((pair for rule in rules for pair in rule()), key=lambda pair: pair[0])
        where = tuple(part for _, part in conditions if part.field is not None)
        having = tuple(part for _, part in conditions if part.field is None)
        before = {*self.used}
        groups, figures = self._groups(), list(self._figures())
        if not figures and not having:
            # "every" without a figure is not a group: "the wage of every member".
            groups, self.used = [], before
        keys, top, columns = self._order(), self._superlative(), self._shown()
        if top is not None and top[-1] and not columns:
            figures, top = [*figures, replace(top[0], function="MAX" if top[1] else "MIN")], None
        plan = SelectPlan(self.main, where=where, having=having, absent=absent)
        plan = self._selected(plan, groups, figures, columns)
        plan = replace(plan, order=tuple((_sort_key(plan, field), down) for field, down in keys))
        plan = plan if top is None else self._best(plan, *top[:3])
        # Strict engines want one row of figures without plain columns and order, and DISTINCT ordered by what it shows.
        totals = tuple(part for part in plan.select if part.function or part.field is None)
        if totals and not plan.group:
            return replace(plan, select=totals, order=(), limit=None)
        free = not plan.group and all(key in plan.select for key, _ in plan.order)
        return replace(plan, distinct=free and "distinct" in self.kinds.values())

    def _at(self, *kinds: str) -> list[int]:
        return [at for at, kind in self.kinds.items() if kind in kinds and at not in self.used]

    def _column(self, positions: Iterable[int], fits: Callable[[Field], bool] = lambda _: True) -> int:
        """The first of `positions` where a fitting column is mentioned; -1 if there is none."""
        return next((at for at in positions if at in self.fields and fits(self.fields[at])), -1)

    def _table(self, positions: Iterable[int]) -> int:
        return next((at for at in positions if at in self.tables), -1)

    # Conditions, each with the position of its value.

    def _comparisons(self) -> Iterator[tuple[int, Predicate]]:
        """`more than 5`, `3 or more`, `between 1 and 2`: of a column, or of the rows of a group (`3 doctors`)."""
        for at in self._at("compare", "between"):
            size = 2 if self.kinds[at] == "between" else 1
            window = [at - 1] if self.words[at].startswith("or ") else range(at + 1, at + 2 + 2 * size)
            positions = [position for position in window if self.kinds.get(position) in {"number", "date"}][:size]
            if len(positions) < size:
                continue
            start, behind = min(at, *positions), range(at + 1, positions[-1] + 3)
            date = self.kinds[positions[0]] == "date"
            near = self._column(range(start - 1, start - 6, -1), _TEXT if date else _NUMBER)
            after = self._column(behind, _NUMBER)
            near = near if after < 0 else after
            guess = hinted(self.main, "date") if date and self._table(behind) < 0 else None
            values = " AND ".join(literal(self.spans[position].text, self.kinds[position]) for position in positions)
            self.used.update((at, near, *positions))
            yield at, Predicate(self.fields.get(near) or guess, f"{self.spans[at].value} {values}")

    def _nulls(self) -> Iterator[tuple[int, Predicate]]:
        """`without an email`, `the number of calories is unknown`, `has no manager`, `is still open`."""
        for at in self._at("null", "notnull", "not"):
            kind, value = self.kinds[at], self.spans[at].value
            positions = range(at + 1, at + 3) if value or kind == "not" else (at + 1, at + 2, at - 1, at - 2, at - 3)
            near = -1 if value == "ended" else self._column(positions)
            field = hinted(self.main, "ended") if value == "ended" else self.fields.get(near)
            if field is not None and (kind != "not" or field.column.nullable):
                self.used.update((at, near))
                yield at, Predicate(field, "IS NOT NULL" if kind == "notnull" else "IS NULL")

    def _periods(self) -> Iterator[tuple[int, Predicate]]:
        """`in 2018`, `in March 2024`, `on 2024-01-05`: of a column of dates, or of a column of years."""
        months: Sequence[str] = ["", *lexicon()["months"]]
        for at in self._at("number", "date"):
            text, before = self.spans[at].text, self.words.get(at - 1, "")
            year = int(text) if text.isdigit() and len(text) == 4 else 0
            month = months.index(before) if before in months else 0
            start = at - 1 if month else at
            near = self._column(range(start - 1, start - 6, -1), _TEXT)
            field = self.fields.get(near) or hinted(self.main, "date")
            dated = self.words.get(start - 1) in lexicon()["period words"] and (year or self.kinds[at] == "date")
            if field is not None and dated:
                self.used.update((at, start, near))
                end = f"{year + month // 12}-{month % 12 + 1:02d}-01" if month else f"{year + 1}-01-01"
                period = f">= '{year}-{month or 1:02d}-01' AND \0 < '{end}'"
                exact = f"= {literal(text, 'number' if field.number and year else 'date')}"
                yield at, Predicate(field, exact if field.number or not year else period)

    def _texts(self) -> Iterator[tuple[int, Predicate]]:
        """`called "Ann"`, `in Port Ellen`, `whose title contains "x" or "y"`."""
        for at in filter(lambda at: at not in self.used, self._at("text")):
            near = -1 if at - 1 in self.tables else self._column((*range(at - 1, at - 5, -1), at + 1), _TEXT)
            like = next((self.spans[position].value for position in self._at("like") if at - 6 < position < at), "")
            positions = [at]
            while [self.kinds.get(positions[-1] + step) for step in (1, 2)] == ["or", "text"]:
                positions.append(positions[-1] + 2)
            texts = [literal((like or "x").replace("x", self.spans[position].text)) for position in positions]
            self.used.update((*positions, near))
            condition = " OR \0 ".join(f"{'LIKE' if like else '='} {text}" for text in texts)
            yield at, Predicate(self.fields.get(near) or self._owner(at), condition, any_of=len(texts) > 1)

    def _owner(self, at: int) -> Field:
        """The column that a name after a preposition is a value of: of a place, an author, or the table before it."""
        lead, home = self.words.get(at - 1), self.tables.get(self._table(range(at - 1, -1, -1)), self.main)
        fields: list[Field | None] = []
        if lead in lexicon()["place words"]:
            fields = [hinted(table, "place") for table in (self.main, *self.tables.values())]
        elif lead in {"by", "of"}:
            labels = [label_of(table) for key in self.main.foreign_keys if (table := self.schema.table(key.to_table))]
            fields = [*(label for label in labels if "name" in name_parts(label.column.name)), label_of(self.main)]
        return next((field for field in fields if field is not None), label_of(home))

    def _adjectives(self) -> Iterator[tuple[int, Predicate]]:
        """`vegan products` of a column `vegan`; `annual plan` and `electric bikes` of a column of kinds."""
        for at in range(1, len(self.spans)):
            field, word, table = self.fields.get(at - 1), self.spans[at - 1], self.tables.get(at)
            value = "1" if table is not None and field is not None and field.number else ""
            if word.kind == "word" and word.text.islower() and word.text not in lexicon()["stop"]:
                field = self.fields.get(at) if table is None else hinted(table, "kind")
                value = literal(word.text) if field is not None and field.text else ""
            if value and at - 1 not in self.used:
                self.used.add(at - 1)
                yield at - 1, Predicate(field, f"= {value}")

    def _absent(self) -> SchemaTable | None:
        """The table that holds no row for the main one: `have never placed an order`, `have no piece`."""
        for at in self._at("never", "not", "null"):
            near = self._table(range(at + 1, at + 5))
            if near >= 0 and self.tables[near] is not self.main:
                self.used.update((at, near))
                return self.tables[near]
        return None

    # What is shown: figures, groups, order, columns.

    def _groups(self) -> list[Field]:
        """`per city`, `for each station`: a column, or a table by its key and its label."""
        groups: list[Field] = []
        for at in self._at("each"):
            near = next(
                (position for position in (at + 1, at + 2) if position in self.fields or position in self.tables), -1
            )
            if near >= 0 and near not in self.used:
                self.used.update((at, near))
                groups += [self.fields[near]] if near in self.fields else _row_of(self.tables[near])
        return list(dict.fromkeys(groups))

    def _figures(self) -> Iterator[Expression]:
        """`how many`, `number of different`, `average price`: rows, distinct values, an aggregate of what follows."""
        for at in self._at("count", "aggregate"):
            free = [position for position in range(at + 1, at + 5) if position not in self.used]
            near, number = self._column(free[:2]), self._column(free, _NUMBER)
            owner = self._table(range(at + 1, at + 4))
            if self.kinds[at] == "aggregate":
                near, expression = number, Expression(self.fields.get(number), self.spans[at].value)
            elif near >= 0 and self.kinds.get(at + 1) == "distinct":
                expression = Expression(self.fields[near], "COUNT", distinct=True)
            elif owner < 0 and near == number == at + 1:
                expression = Expression(self.fields[near], "SUM" if "aggregate" in self.kinds.values() else "")
            else:
                near, expression = owner, Expression(None, "COUNT")
            if near >= 0 or (expression.function == "COUNT" and at + 1 not in self.used):
                self.used.update((at, near))
                yield expression

    def _order(self) -> list[tuple[Field, bool]]:
        """`sorted by price, highest first`, `in alphabetical order`; True is descending."""
        directions, alphabet = self._at("desc", "asc"), self._at("alphabet")
        down = any(self.kinds[at] == "desc" for at in directions)
        positions = [self._column(range(at + 1, at + 5)) for at in self._at("order")]
        fields = [self.fields.get(position) for position in positions]
        self.used.update((*directions, *positions))
        fields += [next((field for field in self._left() if field.text), label_of(self.main)) for _ in alphabet]
        if directions and not fields and self.spans[directions[0]].value:
            fields = [hinted(self.main, self.spans[directions[0]].value)]
        return [(field, down) for field in fields if field is not None]

    def _superlative(self) -> tuple[Expression, bool, int, bool] | None:
        """The first superlative that can be understood.

        Returns:
            what to sort by, whether the highest come first, how many, and whether the value itself is asked for.
        """
        for at in self._at("superlative"):
            function, _, hint = self.spans[at].value.partition(" ")
            near = self._column(
                range(at + 1, at + 4), _NUMBER if hint not in {"", "date"} else lambda field: not field.key
            )
            field = self.fields.get(near) or (hinted(self.main, hint) if hint else None)
            numbers = [position for position in self._at("number") if self.spans[position].text.isdigit()]
            counted = self.tables.get(at + 1) if field is None and not hint and not numbers else None
            if field is None and counted is None:
                continue
            self.used.update((at, near, *numbers))
            limit = min(int(self.spans[numbers[0]].text), 10**9) if numbers else 1
            whose = any(self.words.get(position) in {"which", "who", "whose"} for position in range(4))
            value = near >= 0 and at + 1 not in self.tables and not numbers and not whose
            key = Expression(field) if counted is None else Expression(Field(counted, counted.columns[0]), "COUNT")
            return key, function == "MAX", limit, value
        return None

    def _left(self) -> list[Field]:
        """The columns that no rule used, in order, each once."""
        return list(dict.fromkeys(field for at, field in self.fields.items() if at not in self.used))

    def _shown(self) -> list[Field]:
        """The columns that are left; a later sentence may say which: "Which riders ...? Show their names."."""
        later = (at for at in self.words if at and self.spans[at].opens and self.words[at] in lexicon()["show words"])
        self.used.update(range(next((at for at in later if self._column(range(at, len(self.spans))) >= 0), 0)))
        return self._left()

    def _selected(
        self, plan: SelectPlan, groups: _Fields, figures: Sequence[Expression], columns: _Fields
    ) -> SelectPlan:
        """The plan with its SELECT and GROUP BY."""
        if not figures and not groups and not plan.having:
            asks = any(self.words.get(at) in {"which", "who", "what"} for at in range(3))
            label = hinted(self.main, "label") if asks else None
            return replace(plan, select=tuple(map(Expression, columns or ([label] if label else []))))
        if figures and not groups and not plan.having:
            return replace(plan, select=tuple(dict.fromkeys(figures)))
        others = [field for field in columns if field not in groups]
        keys = groups or [field for field in others if not (field.key and self.tables)] or _row_of(self.main)
        if not figures and groups:
            figures = [Expression(field) for field in others] or [Expression(None)]
        shown = [Expression(field) for field in keys if not field.key or len(keys) == 1]
        return replace(plan, select=tuple(dict.fromkeys((*shown, *figures))), group=tuple(keys))

    def _best(self, plan: SelectPlan, key: Expression, down: bool, limit: int) -> SelectPlan:  # noqa: FBT001  # of a superlative
        """The plan for the rows with the highest or lowest value of `key`."""
        function = "MAX" if down else "MIN"
        if key.function:
            select = plan.select or (Expression(label_of(self.main)),)
            keys = tuple(part.field for part in select if part.field is not None and not part.function)
            return replace(plan, select=select, group=plan.group or keys, order=((key, down),), limit=limit)
        if "share" in self.kinds.values() and not plan.group:
            return replace(plan, where=(*plan.where, Predicate(key.field, f"= (SELECT {function}(\0) FROM \1)")))  # noqa: S608  # names are quoted
        return replace(plan, order=((_sort_key(plan, key.field, function), down), *plan.order), limit=limit)


def _row_of(table: SchemaTable) -> list[Field]:
    """The columns that tell the rows of a table apart: its key and its label."""
    key = table.column(table.primary_key[0]) if len(table.primary_key) == 1 else None
    return list(dict.fromkeys(([] if key is None else [Field(table, key)]) + [label_of(table)]))


def _sort_key(plan: SelectPlan, field: Field | None, function: str = "MAX") -> Expression:
    """A column, or its aggregate where that is what is shown; of a group's rows one, as a group has several."""
    shown = next((part for part in plan.select if part.field == field and part.function), None)
    return shown or Expression(field, function if plan.group and field not in plan.group else "")
