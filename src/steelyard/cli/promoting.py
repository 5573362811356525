"""The command `promote`: failures of a run become rows of a test set."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.options import JsonOption, RunArgument, StoreOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steelyard.generate.conditions import Condition
    from steelyard.store import Run, Store
    from steelyard.types import Record

WhereOption = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="EXPR",
        help="Which samples: failed, wrong, errors, unparsed, refused, solve_rate<1, group=..., label:cause=..., "
        "joined by and.",
    ),
]


def promote(
    run: RunArgument,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The test set, .jsonl; made if it is not there.")],
    where: WhereOption = "failed",
    store: StoreOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added; write nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Add samples of a run to a test set, with where they come from.

    What the file holds already is not added again, and its lines stay as they are. The suite of the run reads it:
    samples: {file: FILE}.
    """
    from steelyard.cli.outcome import say_unfinished
    from steelyard.cli.tables import console, print_json, say
    from steelyard.generate.conditions import parse_condition
    from steelyard.generate.promoted import promote as promoted
    from steelyard.store import Store

    with Store(store) as opened:
        found = opened.run(run)
        say_unfinished(found)
        condition = parse_condition(where, found.manifest)
        records = (record for _, record in fitting(opened, found, condition))
        adding = promoted(found, records, to, where=where, at=datetime.now(UTC))
    if not dry_run:
        adding.save()
    if as_json:
        print_json({**adding.to_json(), "dry_run": dry_run})
        return
    out = console()
    verb = "would be added" if dry_run else "added"
    say(
        out,
        f"{to}: {len(adding.rows)} {verb}, {len(adding.known)} there already; {adding.fitting} of run {found.id} fit",
    )
    if not adding.fitting:
        say(out, f"no sample of run {found.id} ({found.target}) fits: {where}")
    elif dry_run:
        for row in adding.rows:
            say(out, f"  {row['id']}")


def fitting(store: Store, run: Run, condition: Condition) -> Iterator[tuple[int, Record]]:
    """(no, record) of every record for which a condition holds, labels considered."""
    from steelyard.store.labels import by_record, read_labels

    labels = by_record(read_labels(store, run))
    for no, record in run.numbered_records():
        if condition.holds(record, labels.get((record.sample.id, record.repeat), ())):
            yield no, record
