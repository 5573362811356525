"""Numbered migrations, which give a store of an older version the tables and rows of this one.

A store is read as it is, whatever its age, and reading changes no byte of it. A migration is a function on a connection
that does the same on both databases, applied in one transaction with the row of `about` that says so. There are three
kinds, by what they require of the users of a store:

    additive    new tables, or new columns that may be NULL. Applied by the first write, which is a matter of
                milliseconds; older versions go on reading and writing the store.
    optional    improves what is stored, and may take long. Applied on request (`steelyard store upgrade`); the store is
                read and written without it too.
    breaking    changes what older versions rely on. Applied on request; until then the store can be read, and whoever
                wants to write it is told the command. From then on older versions refuse the store.

`about` holds a row `migration N` for each migration that was applied, since an optional one may be left out for ever;
and the row `schema` with the number of the last breaking one, the only number that older versions look at.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from steelyard.errors import ConfigError, StoreError
from steelyard.store import schema
from steelyard.store.address import Address
from steelyard.store.backend import Backend
from steelyard.store.checksums import HEAD, compute_checksums, insert_checksums, read_checksums
from steelyard.store.connection import Connection

LATER_TABLES: Final = (
    schema.stage, schema.stage_money, schema.spending, schema.stopping, schema.note, schema.label, schema.checksum,
    schema.framework_usage,
)  # fmt: skip
"""Tables that were added to the first ones, one after the other, when migrations had no numbers yet."""
ADDED_TABLES: Final = (
    *LATER_TABLES, schema.label_form, schema.mark, schema.running_score, schema.retry, schema.queue, schema.queue_item,
    schema.reservation, schema.dataset_event,
    schema.coding, schema.coding_item, schema.coding_event, schema.stage_cache,
    schema.computed, schema.stage_read_again,
)  # fmt: skip
"""Tables that a store of an older version may lack: it is read as if they were empty."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from an older schema to a newer one.

    Args:
        number: its place in the order, for ever.
        kind: see the module.
        summary: what it does, for whoever upgrades.
        apply: does it, in the open transaction of a connection that writes. It looks at what is there and adds what is
            missing, since an older store has any number of the tables of migration 2.
    """

    number: int
    kind: Literal["additive", "optional", "breaking"]
    summary: str
    apply: Callable[[Connection], None]


def create_tables(connection: Connection, tables: Iterable[schema.StoredTable]) -> None:
    """Create tables of the newest version with their indexes."""
    for table in tables:
        for statement in table.definition(connection.dialect):
            connection.execute(statement)


def _create_missing(*tables: schema.StoredTable) -> Callable[[Connection], None]:
    """The step that creates those of some tables that a store lacks."""
    return lambda connection: create_tables(
        connection, [table for table in tables if not connection.has_table(table.name)]
    )


def _add_checksums(connection: Connection) -> None:
    # Not to unfinished runs: one could be resumed by a version that does not know checksums.
    for number in list(connection.execute("SELECT num FROM run WHERE state = 'finished'").scalars()):
        stored = read_checksums(connection, number)
        if HEAD in stored:
            continue
        try:
            parts = compute_checksums(connection, number)
        except (struct.error, TypeError):
            continue  # a damaged row, which `verify` reports; a checksum of it would say that all is well
        # A scoring version that was added later has its own already.
        missing = {part: digest for part, digest in parts.items() if part not in stored}
        insert_checksums(connection, number, missing)


MIGRATIONS: Final = (
    # Number 1 is the first tables, which every store has.
    Migration(
        2, "additive", "create the tables that were added since the first version", _create_missing(*LATER_TABLES)
    ),
    Migration(3, "optional", "add checksums to finished runs that were begun before there were any", _add_checksums),
    Migration(
        4, "additive", "create the table with the kinds and scales of labels", _create_missing(schema.label_form)
    ),
    Migration(5, "additive", "create the table with the marks of runs", _create_missing(schema.mark)),
    Migration(
        6,
        "additive",
        "create the tables with what is shown of running runs",
        _create_missing(schema.running_score, schema.retry),
    ),
    Migration(
        7,
        "additive",
        "create the tables of queues",
        _create_missing(schema.queue, schema.queue_item, schema.reservation),
    ),
    Migration(8, "additive", "create the table with drafts of datasets", _create_missing(schema.dataset_event)),
    Migration(
        9,
        "additive",
        "create the tables of error analysis",
        _create_missing(schema.coding, schema.coding_item, schema.coding_event),
    ),
    Migration(
        10,
        "additive",
        "create the table with tokens from the caches of endpoints",
        _create_missing(schema.stage_cache),
    ),
    Migration(11, "additive", "create the table with what was computed of runs", _create_missing(schema.computed)),
    Migration(
        12,
        "additive",
        "create the table with replies that were read again under another response mapping",
        _create_missing(schema.stage_read_again),
    ),
)


def check_version(where: Path | Address, version: str) -> None:
    """Refuse a store that a newer version has changed.

    Args:
        where: the store.
        version: what its row `schema` says.

    Raises:
        StoreError: with both numbers.
    """
    newest = _newest_breaking()
    if not version.isdecimal() or int(version) > newest:
        raise StoreError(f"{where} has schema {version}, this version reads {newest}")


def _newest_breaking() -> int:
    return max([1, *(migration.number for migration in MIGRATIONS if migration.kind == "breaking")])


def record_all(connection: Connection) -> None:
    """Note in a new store, whose tables are the newest ones, that it needs no migration."""
    rows = [{"name": "schema", "value": str(_newest_breaking())}]
    rows += [_row(migration) for migration in MIGRATIONS]
    connection.insert_rows(schema.insert_into(schema.about), rows)


def pending_migrations(connection: Connection) -> tuple[Migration, ...]:
    """The migrations that a store lacks, in order."""
    names = set(connection.execute("SELECT name FROM about").scalars())
    return tuple(migration for migration in MIGRATIONS if _row(migration)["name"] not in names)


def prepare_writing(backend: Backend) -> None:
    """Apply what a store lacks for being written by this version, where that is additive.

    Raises:
        ConfigError: a breaking migration is missing; names the command that applies it.
    """
    with backend.connect("latest") as connection:
        pending = pending_migrations(connection)
    if any(migration.kind == "breaking" for migration in pending):
        raise ConfigError(
            f"{backend.where} was made by an older version: it can be read as it is, and written after an upgrade:\n"
            f"  steelyard store upgrade --store {shlex.quote(str(backend.where))}"
        )
    if not any(migration.kind == "additive" for migration in pending):
        return
    with backend.connect("writing") as connection, connection.begin():
        backend.lock_schema(connection)
        _apply(connection, [step for step in pending_migrations(connection) if step.kind == "additive"])


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The result of `upgrade`.

    Args:
        where: the store.
        applied: the migrations, in order; none where the store had them all.
        copy: the store as it was before; None where none was made.
    """

    where: Path | Address
    applied: tuple[Migration, ...]
    copy: Path | Address | None


def upgrade(backend: Backend, *, copy: bool = True) -> Upgrade:
    """Apply every migration that a store lacks: all of them or none, whenever the process is killed.

    Args:
        backend: of a store that was checked.
        copy: first copy the store: a file beside it, or a schema in the same database.

    Raises:
        ConfigError: a run of the store is being written; or the copy cannot be made.
    """
    with backend.connect("latest") as connection:
        if not pending_migrations(connection):  # so that a store which may only be read can be asked
            return Upgrade(backend.where, (), None)
    with backend.connect("writing") as connection, connection.begin():
        # Nobody writes from here on, so the copy is the very store that is then changed.
        backend.lock_schema(connection)
        backend.exclude_writers(connection)
        pending = pending_migrations(connection)
        unfinished = list(connection.execute("SELECT id FROM run WHERE state <> 'finished'").scalars())
        if locked_run := next(filter(backend.is_locked, unfinished), ""):
            raise ConfigError(f"run {locked_run} is being written: upgrade {backend.where} when it has ended")
        copied = backend.copy(connection) if copy else None
        _apply(connection, pending)
    return Upgrade(backend.where, pending, copied)


def _apply(connection: Connection, migrations: Sequence[Migration]) -> None:
    for migration in migrations:
        migration.apply(connection)
        connection.execute(schema.insert_into(schema.about), _row(migration))
        if migration.kind == "breaking":
            connection.execute(
                "UPDATE about SET value = :number WHERE name = 'schema'", {"number": f"{migration.number}"}
            )


def _row(migration: Migration) -> dict[str, str]:
    return {"name": f"migration {migration.number}", "value": migration.summary}
