"""Conditions that are adjectives: flags, and kinds of things."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.targets.sql_rules.linking import Linked
from steelyard.targets.sql_rules.plan import Condition, Found
from steelyard.targets.sql_rules.words import lexicon


def adjectives(linked: Linked, taken: frozenset[int]) -> Iterator[Found]:
    """Adjectives: `vegan products` of a column `vegan`, `annual plan` and `electric bikes` of a column of kinds."""
    stop = frozenset(lexicon()["stop"])
    for mention, field in linked.columns:
        before = linked.table_at(mention.end, mention.end + 1)
        if (
            before is not None
            and field.flag
            and not field.key
            and mention.start not in taken
            and mention.end - mention.start == 1
        ):
            yield Found(Condition(field, "=", (1,)), frozenset({mention.start}), "flag")
    spots = [(one.start, linked.hinted("kind", one.table)) for one in linked.tables]
    spots += [(mention.start, field) for mention, field in linked.columns if not field.numeric and not field.key]
    for start, kind in spots:
        at = start - 1
        if kind is None or at < 0 or at in taken or kind.numeric:
            continue
        word = linked.words[at]
        plain = word.kind == "word" and word.text.islower() and word.text.lower() not in stop
        if plain and not _is_known(linked, at):
            yield Found(Condition(kind, "=", (word.text,)), frozenset({at}), "adjective")


def _is_known(linked: Linked, at: int) -> bool:
    spans = [(one.start, one.end) for one in (*linked.tables, *(pair[0] for pair in linked.columns))]
    spans += [(one.start, one.end) for one in linked.marks]
    return any(start <= at < end for start, end in spans)
