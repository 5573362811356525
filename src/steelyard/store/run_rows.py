"""Rows of runs as they are begun, reopened and scored anew, each with its seals."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import func, select, update

from steelyard.store import schema
from steelyard.store.records import score_row, word_numbers
from steelyard.store.seals import HEAD, ROWS, begin_seals, of_head, of_score, set_head, sum_of
from steelyard.store.writer import Batch
from steelyard.text.plain_json import to_json
from steelyard.types import Score


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run is begun with.

    Args:
        suite: its title.
        kind: the suite's registered name.
        target: the target's name.
        planned: records that a complete run has.
        manifest: what is run, as plain JSON; holds `stages`, `scores`, `over`, `primary` and `tags` too.
    """

    suite: str
    kind: str
    target: str
    planned: int
    manifest: Mapping[str, Any]


class Named(Protocol):
    """A run that is there already, as far as its row needs it."""

    num: int
    id: str
    suite: str
    kind: str
    target: str


def begin_runs(batch: Batch, created: float, idents: Sequence[str], new: Sequence[NewRun]) -> int:
    """Begin an evaluation with its runs; its number."""
    evaluation = _insert(batch, schema.evaluation, {"created": created})
    for ident, one in zip(idents, new, strict=True):
        row = _run_row(ident, evaluation, created, one)
        begin_seals(batch, _insert(batch, schema.run, row), {HEAD: of_head(row), ROWS: 0})
    return evaluation


def reopen(batch: Batch, run: Named, manifest: Mapping[str, Any], planned: int) -> bool:
    """Open an unfinished run again with what it goes on with; whether it still is unfinished."""
    # New records are scored into layer 0; what `rescore` made of the unfinished run stays as an older layer.
    table, held = schema.run, to_json(manifest).decode("utf-8", "replace")
    values = {"state": "open", "reason": "", "planned": planned, "layer": 0, "manifest": held}
    unfinished = update(table).where(table.c.num == run.num, table.c.state != "finished").values(values)
    if not batch.connection.execute(unfinished).rowcount:
        return False
    named = {"id": run.id, "suite": run.suite, "kind": run.kind, "target": run.target}
    set_head(batch, run.num, of_head({**named, **values}))
    return True


def add_layer(batch: Batch, run: int, scoring: Any, scores: Sequence[tuple[int, int, Sequence[Score]]]) -> None:
    """Add a layer of scores, given as (no, repeat, scores) of every record, and let it be the one that is read."""
    # Two processes that score one run at the same moment get a layer each.
    batch.connection.execute(select(schema.run.c.num).where(schema.run.c.num == run).with_for_update())
    last = select(func.max(schema.layer.c.layer)).where(schema.layer.c.run == run)
    number = (batch.connection.scalar(last) or 0) + 1
    row = {"run": run, "layer": number, "created": time.time(), "scorers": to_json(scoring).decode()}
    batch.connection.execute(schema.layer.insert(), row)
    names = word_numbers(batch, sorted({one.name for _, _, several in scores for one in several}))
    rows = [
        score_row(batch, (run, number, no, repeat), names[one.name], one)
        for no, repeat, several in scores
        for one in several
    ]
    if rows:
        batch.connection.execute(schema.score.insert(), rows)
    begin_seals(batch, run, {number: sum_of(map(of_score, rows))})
    batch.connection.execute(update(schema.run).where(schema.run.c.num == run).values(layer=number))


def _run_row(ident: str, evaluation: int, created: float, new: NewRun) -> dict[str, Any]:
    return {
        "id": ident,
        "evaluation": evaluation,
        "suite": new.suite,
        "kind": new.kind,
        "target": new.target,
        "state": "open",
        "created": created,
        "planned": new.planned,
        "manifest": to_json(new.manifest).decode("utf-8", "replace"),
    }


def _insert(batch: Batch, table: Any, row: Mapping[str, Any]) -> int:
    inserted = batch.connection.execute(table.insert(), row)
    return int(inserted.inserted_primary_key[0])  # type: ignore[index]  # one row was inserted, so it has a key
