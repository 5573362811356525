"""Conditions: comparisons, ranges, periods, texts, names, flags and what is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from steelyard.sql.schema import Table
from steelyard.targets.sql_rules.adjectives import adjectives
from steelyard.targets.sql_rules.linking import Field, Linked, Mark
from steelyard.targets.sql_rules.plan import Condition, Found
from steelyard.targets.sql_rules.words import lexicon, name_parts

_BEFORE: Final = 6
_AFTER: Final = 3
_PLACES: Final = frozenset({"in", "at", "from", "on"})
_OPERATORS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})


def conditions(linked: Linked) -> list[Found]:
    """Every condition of the question, each word used once, in the order of the words."""
    taken: set[int] = set()
    kept: list[Found] = []
    for rule in (_comparisons, _unknown, _periods, _quoted, _named, adjectives):
        for found in rule(linked, frozenset(taken)):
            if taken.isdisjoint(found.used):
                taken |= found.used
                kept.append(found)
    kept.sort(key=lambda one: min(one.used))
    return [_alternative(linked, one, kept[at - 1] if at else None) for at, one in enumerate(kept)]


def _alternative(linked: Linked, found: Found, before: Found | None) -> Found:
    """The same, joined by OR where the word stands between it and the condition before it on the same column."""
    if before is None or found.having or before.having or found.condition.field != before.condition.field:
        return found
    between = range(max(before.used), min(found.used) + 1)
    if any(one.start in between for one in linked.marked("or")):
        return replace(found, condition=replace(found.condition, any_of=True))
    return found


def _comparisons(linked: Linked, _: frozenset[int]) -> Iterator[Found]:
    for mark in linked.marks:
        if mark.kind == "between":
            yield from _range(linked, mark)
        if mark.kind != "compare" or mark.value not in _OPERATORS:
            continue
        behind = mark.value in {">=", "<="} and linked.words[mark.start].text.lower() == "or"
        at = mark.start - 1 if behind else mark.end
        while not behind and at < len(linked.words) and linked.words[at].text.lower() in {"the", "a", "than", "to"}:
            at += 1
        if 0 <= at < len(linked.words) and linked.words[at].kind in {"number", "date"}:
            yield _compared(linked, mark, at)


def _compared(linked: Linked, mark: Mark, at: int) -> Found:
    value = _value(linked, at)
    used = frozenset({*range(mark.start, mark.end), at})
    owner = linked.table_at(at + 1, at + _AFTER)
    near = _column_before(linked, min(mark.start, at), value)
    after = linked.column_at(at + 1, at + _AFTER)
    if owner is not None and (near is None or not near[0].numeric):
        return Found(Condition(None, mark.value, (value,)), used, "having", having=True)
    if after is not None and (near is None or after[1].numeric):
        near = (after[1], frozenset(range(after[0].start, after[0].end)))
    if near is None:
        guess = _guess(linked, value)
        if guess is None:
            return Found(Condition(None, mark.value, (value,)), used, "having", having=True)
        near = (guess, frozenset())
    return Found(Condition(near[0], mark.value, (value,)), used | near[1], "comparison")


def _range(linked: Linked, mark: Mark) -> Iterator[Found]:
    places = [
        at
        for at in range(mark.end, min(mark.end + 6, len(linked.words)))
        if linked.words[at].kind in {"number", "date"}
    ]
    if len(places) < 2:
        return
    low, high = _value(linked, places[0]), _value(linked, places[1])
    near = _column_before(linked, mark.start, low) or _column_of(_guess(linked, low))
    if near is not None:
        used = frozenset({*range(mark.start, mark.end), *places[:2]}) | near[1]
        yield Found(Condition(near[0], "between", (low, high)), used, "range")


def _column_of(field: Field | None) -> tuple[Field, frozenset[int]] | None:
    return None if field is None else (field, frozenset())


def _column_before(linked: Linked, at: int, value: str | float) -> tuple[Field, frozenset[int]] | None:
    """The nearest column before a comparison that can hold the value, and its words."""
    for mention, field in reversed(linked.columns):
        if not at - _BEFORE <= mention.start < at:
            continue
        if isinstance(value, str) or field.numeric or not field.column.type:
            return field, frozenset(range(mention.start, mention.end))
    return None


def _guess(linked: Linked, value: str | float) -> Field | None:
    if isinstance(value, str):
        return linked.hinted("date")
    if isinstance(value, int) and 1500 <= value <= 2100:
        return next(
            (one for hint in ("birth", "date") if (one := linked.hinted(hint)) is not None and one.numeric), None
        )
    numeric = [one for column in linked.main.columns if (one := Field(linked.main, column)).numeric and not one.key]
    return numeric[0] if len(numeric) == 1 else None


def _value(linked: Linked, at: int) -> str | int | float:
    word = linked.words[at]
    if word.kind == "number":
        return float(word.text) if "." in word.text else int(word.text)
    return word.text


def _unknown(linked: Linked, _: frozenset[int]) -> Iterator[Found]:
    """`without an email`, `the number of calories is unknown`, `has no manager`."""
    for mark in linked.marks:
        if mark.kind not in {"null", "notnull", "not"}:
            continue
        words = frozenset(range(mark.start, mark.end))
        if linked.words[mark.end - 1].text.lower() == "still":
            ended = linked.hinted("ended")
            if ended is not None:
                yield Found(Condition(ended, "null"), words, "null")
            continue
        after = linked.column_at(mark.end, mark.end + _AFTER)
        before = next((one for one in reversed(linked.columns) if mark.start - 4 <= one[0].end <= mark.start), None)
        alone = mark.kind == "not" or linked.words[mark.start].text.lower() in {"without", "still", "with"}
        near = after or (None if alone else before)
        if near is None or (mark.kind == "not" and not near[1].column.nullable):
            continue
        follows = near[0].end
        if follows < len(linked.words) and linked.words[follows].kind in {"number", "quoted"}:
            continue
        kind = "null" if mark.kind == "not" else mark.kind
        used = frozenset({*range(mark.start, mark.end), *range(near[0].start, near[0].end)})
        yield Found(Condition(near[1], kind), used, "null")


def _periods(linked: Linked, taken: frozenset[int]) -> Iterator[Found]:
    """`in 2018`, `in March 2024`, `on 2024-01-05`: of a column of dates, or of a column of years."""
    months = lexicon()["months"]
    for at, word in enumerate(linked.words):
        if at in taken or at == 0:
            continue
        month = (
            months.index(linked.words[at - 1].text.lower()) + 1 if linked.words[at - 1].text.lower() in months else 0
        )
        start = at - 1 if month else at
        leads = start > 0 and linked.words[start - 1].text.lower() in {"in", "on", "of", "during", "or"}
        if not leads or not (word.kind == "date" or (word.kind == "number" and _is_year(word.text))):
            continue
        near = _column_before(linked, start, "") or _column_of(linked.hinted("date"))
        if near is None:
            continue
        again = linked.words[start - 1].text.lower() == "or"
        used = frozenset({start, at}) | (frozenset() if again else near[1])
        yield Found(_period(near[0], word.text, month), used, "period")


def _is_year(text: str) -> bool:
    return text.isdigit() and 1500 <= int(text) <= 2100


def _period(field: Field, text: str, month: int) -> Condition:
    if not text.isdigit():
        return Condition(field, "=", (text,))
    if field.numeric:
        return Condition(field, "=", (int(text),))
    if month:
        following = f"{text}-{month + 1:02d}-01" if month < 12 else f"{int(text) + 1}-01-01"
        return Condition(field, "period", (f"{text}-{month:02d}-01", following))
    return Condition(field, "period", (f"{text}-01-01", f"{int(text) + 1}-01-01"))


def _quoted(linked: Linked, _: frozenset[int]) -> Iterator[Found]:
    for at, word in enumerate(linked.words):
        if word.kind != "quoted":
            continue
        near = _column_before(linked, at, "") or (linked.label(_home(linked, at)), frozenset())
        yield _text(linked, at, at + 1, word.text, near)


def _text(linked: Linked, start: int, end: int, text: str, near: tuple[Field, frozenset[int]]) -> Found:
    """Equality with a text, or what the words in front of it say instead."""
    used = frozenset(range(start, end)) | near[1]
    like = next((one for one in linked.marked("like") if start - _BEFORE <= one.end <= start), None)
    if like is not None:
        escaped = text.replace("x", "\0")
        pattern = like.value.replace("x", escaped).replace("\0", "x")
        # The words of LIKE serve every alternative that follows them, so they are used up by none.
        return Found(Condition(near[0], "like", (pattern,)), used, "like")
    unlike = next((one for one in linked.marks if one.value == "!=" and start - 2 <= one.end <= start), None)
    if unlike is not None:
        return Found(Condition(near[0], "!=", (text,)), used | set(range(unlike.start, unlike.end)), "text")
    return Found(Condition(near[0], "=", (text,)), used, "text")


def _home(linked: Linked, at: int) -> Table:
    """The table mentioned last before a place, else the main one."""
    return next((one.table for one in reversed(linked.tables) if one.end <= at and one.table), linked.main)


def _named(linked: Linked, taken: frozenset[int]) -> Iterator[Found]:
    """Names: runs of capitals that are no word of the schema, and Chinese that is no known word."""
    linked_at = {
        at for one in (*linked.tables, *(pair[0] for pair in linked.columns)) for at in range(one.start, one.end)
    }
    at = 0
    while at < len(linked.words):
        end = at
        while end < len(linked.words) and end not in taken and end not in linked_at and _is_name(linked, end):
            end += 1
        if end > at:
            text = " ".join(word.text for word in linked.words[at:end])
            near = _owner(linked, at, end)
            if near is not None:
                yield _text(linked, at, end, text.replace("’", "'").removesuffix("'s"), near)
        at = max(end, at + 1)


def _is_name(linked: Linked, at: int) -> bool:
    word = linked.words[at]
    if not word.text.isascii() and word.kind == "word" and not word.opens:
        return True
    months = lexicon()["months"]
    marked = any(one.start <= at < one.end for one in linked.marks)
    return word.capital and not word.opens and not marked and word.text.lower() not in months and word.text != "I"


def _owner(linked: Linked, start: int, end: int) -> tuple[Field, frozenset[int]] | None:
    """The column that a name belongs to: beside it, after a preposition of place, by the table before it."""
    if any(one.end == start for one in linked.tables):
        return linked.label(_home(linked, start)), frozenset()
    lead = linked.words[start - 1].text.lower() if start else ""
    if lead == "or":
        again = _column_before(linked, start - 1, "")
        return None if again is None else (again[0], frozenset())
    return _column_beside(linked, start, end) or (_label_after(lead, linked, start), frozenset())


def _column_beside(linked: Linked, start: int, end: int) -> tuple[Field, frozenset[int]] | None:
    for mention, field in reversed(linked.columns):
        if start - 3 <= mention.end <= start and not field.numeric:
            return field, frozenset(range(mention.start, mention.end))
    after = linked.column_at(end, end + 1)
    if after is not None and not after[1].numeric:
        return after[1], frozenset(range(after[0].start, after[0].end))
    return None


def _label_after(lead: str, linked: Linked, start: int) -> Field:
    """What a name names after that word: a place, whoever something is by, or a row of the table before it."""
    if lead in _PLACES:
        places = (linked.hinted("place", table) for table in _tables(linked))
        place = next((one for one in places if one is not None), None)
        if place is not None:
            return place
    return linked.label(_person(linked) if lead in {"by", "of"} else _home(linked, start))


def _tables(linked: Linked) -> Iterator[Table]:
    yield linked.main
    yield from (one.table for one in linked.tables if one.table is not None)


def _person(linked: Linked) -> Table:
    """Whoever something is by: a table with names that the main one points to, else the main one."""
    for link in linked.main.foreign_keys:
        table = linked.schema.table(link.to_table)
        if table is not None and table is not linked.main and "name" in name_parts(linked.label(table).column.name):
            return table
    return linked.main
