"""Layers of scores: what a later one says of itself, and what scoring again has changed, verdict by verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, or_, select

from steelyard.store import schema

if TYPE_CHECKING:
    from steelyard.store.run import Run
    from steelyard.store.store import Store


def changed_verdicts(store: Store, before: Run, now: Run) -> dict[str, int]:
    """Score -> records of which it says something else in one layer than in the other.

    A mean can stay the same while verdicts move both ways, so it is the records that are counted. A score that one of
    the layers does not have is changed wherever the other has it.

    Args:
        store: where the run is.
        before: a handle on a run.
        now: a handle on the same run with another layer of scores.
    """
    score, word = schema.score, schema.word
    verdicts = (
        select(score.c.name)
        .where((score.c.run == now.num) & score.c.layer.in_((before.layer, now.layer)))
        .group_by(score.c.name, score.c.no, score.c.repeat)
        .having(
            or_(
                func.count() == 1,
                func.min(score.c.outcome) != func.max(score.c.outcome),
                func.min(score.c.value) != func.max(score.c.value),
            )
        )
        .subquery()
    )
    joined = verdicts.join(word, word.c.num == verdicts.c.name)
    query = select(word.c.text, func.count().label("records")).select_from(joined).group_by(word.c.text)
    with store.reading() as connection:
        return {row.text: row.records for row in connection.execute(query)}


def scoring_of(connection: Connection, run: int, layer: int) -> Mapping[str, Any]:
    """What a later layer says in place of the run's manifest; earlier versions noted its scorers alone."""
    table = schema.layer
    scorers = select(table.c.scorers).where((table.c.run == run) & (table.c.layer == layer))
    said: dict[str, Any] = json.loads(connection.scalar(scorers) or "{}")
    return said if isinstance(said.get("scores"), list) else {}
