"""The Store: runs are begun, reopened and found here."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, select

from steelyard.errors import ConfigError, StoreError
from steelyard.models.budget import Spent
from steelyard.store import schema
from steelyard.store.address import Address, locate
from steelyard.store.backend import Durability, Lock
from steelyard.store.engine import cause_of, check, complete, create, open_backend
from steelyard.store.journal import Asked, StoreJournal
from steelyard.store.kept import KeptColumns
from steelyard.store.names import meant, new_id
from steelyard.store.reserve import Reserve
from steelyard.store.run import Run
from steelyard.store.run_rows import NewRun, add_layer, begin_runs, reopen
from steelyard.store.run_writer import RunWriter
from steelyard.store.spending import check_currency, read_spending, set_currency
from steelyard.store.writer import Writer
from steelyard.types import Score


class Store:
    """A store, in a file or on a server; it is read at once, and written from the first change on.

    Args:
        where: a file, or `postgresql://user@host/database`; None is `.steelyard/steelyard.db` in the current folder.
        create_missing: make it where there is none; else that is an error.
        durability: `normal` survives the death of this process at any moment, `full` a power cut too.

    Attributes:
        path: where it is: a file, or the address of a server without its password. Another store can be opened on it.
        columns: of the runs that were read last.

    Raises:
        StoreError: it cannot be opened, or is of another version.
        ConfigError: there is none.
    """

    def __init__(
        self, where: str | Path | None = None, *, create_missing: bool = False, durability: Durability = "normal"
    ) -> None:
        self._backend = open_backend(where, durability=durability)
        self.path: Path | Address = self._backend.where
        # Whoever does not close a store still does not leave connections to a server behind.
        weakref.finalize(self, self._backend.engine.dispose)
        self._writer: Writer | None = None
        self._reserve: Reserve | None = None
        self._asked = Asked()
        self.columns = KeptColumns()
        if not self._backend.exists():
            if not create_missing:
                raise ConfigError(f"there is no store at {self.path}: run something first, or name one with --store")
            self._backend.make_room()
        if create_missing:
            with _as_store_error(self.path):
                create(self._backend)
        check(self._backend)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is queued and let go of the disk or the server."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._reserve is not None:
            self._reserve.release()
            self._reserve = None
        self._backend.engine.dispose()

    def is_at(self, where: str | Path | None) -> bool:
        """Whether `where` means this store."""
        return locate(where) == self.path

    def is_written(self, run: str) -> bool:
        """Whether a living process writes the run of that id."""
        return self._backend.is_locked(run)

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables that are there."""
        return self._backend.tables(connection)

    def check_pages(self, connection: Connection, *, deep: bool, notes: list[str]) -> list[str]:
        """What the database itself finds wrong with its pages, and with `deep` its indexes; see `Backend`."""
        return self._backend.check_pages(connection, deep=deep, notes=notes)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection whose reads are of one moment."""
        with _as_store_error(self.path), self._backend.engine.connect() as opened:
            connection = opened.execution_options(**self._backend.reading)
            with connection.begin():
                yield connection

    @property
    def writer(self) -> Writer:
        """The one writer of this process, started on first use."""
        if self._writer is None:
            self._reserve = self._backend.reserve()
            try:
                with _as_store_error(self.path):
                    complete(self._backend)
                    self._writer = Writer(self._backend, self._reserve)
            except StoreError:
                if self._reserve is not None:
                    self._reserve.release()
                raise
        return self._writer

    def lock(self, run: str) -> Lock:
        """Take the lock that the writer of a run holds.

        Raises:
            StoreError: another process writes it.
        """
        writer = self.writer
        return self._backend.lock(run, lambda act: writer.change(lambda batch: act(batch.connection)))

    def begin_evaluation(self, new: Sequence[NewRun]) -> tuple[int, list[RunWriter]]:
        """Begin runs that are started together, and lock them: all of them or none, whenever the process is killed.

        Returns:
            The evaluation's number, and a writer per run.
        """
        writer, created = self.writer, time.time()
        idents = [new_id() for _ in new]
        with contextlib.ExitStack() as failing:
            locks = []
            for ident in idents:
                locks.append(self.lock(ident))
                failing.callback(locks[-1].release)

            evaluation = int(writer.change(lambda batch: begin_runs(batch, created, idents, new)))
            writers = [RunWriter(writer, self.run(lock.run), lock) for lock in locks]
            failing.pop_all()
        return evaluation, writers

    def spent(self, evaluation: int) -> tuple[int, int]:
        """Calls and tokens that an evaluation has booked."""
        table = schema.evaluation
        with self.reading() as connection:
            row = connection.execute(select(table.c.calls, table.c.tokens).where(table.c.num == evaluation)).one()
        return row.calls, row.tokens

    def spending(self, evaluation: int, *, currency: str = "") -> Spent:
        """All that an evaluation has booked.

        Args:
            evaluation: its number.
            currency: of the prices that it goes on with; "" where there are none.

        Raises:
            ConfigError: it has spent in another currency.
        """
        with self.reading() as connection:
            spending = read_spending(connection, evaluation)
        if currency:
            check_currency(spending, currency)
            self.writer.change(lambda batch: set_currency(batch, evaluation, currency))
        return Spent(*self.spent(evaluation), *spending[:2])

    def journal(self, evaluation: int) -> StoreJournal:
        """The journal for one evaluation."""
        return StoreJournal(self.writer, evaluation, self._asked)

    def reopen_run(self, run: Run, *, manifest: Mapping[str, Any], planned: int) -> RunWriter:
        """Lock an unfinished run to write on.

        Raises:
            StoreError: another process writes it.
            ConfigError: it has been finished meanwhile.
        """
        writer = self.writer
        lock = self.lock(run.id)
        with contextlib.ExitStack() as failing:
            failing.callback(lock.release)
            if writer.change(lambda batch: reopen(batch, run, manifest, planned)):
                reopened = RunWriter(writer, run.refresh(), lock)
                failing.pop_all()
                return reopened
        raise ConfigError(f"run {run.id} is finished: there is nothing to resume")

    def add_layer(self, run: Run, scoring: Any, scores: Iterator[tuple[int, int, Sequence[Score]]]) -> Run:
        """Score a run anew: a further layer, which is read from now on; the earlier ones stay.

        Args:
            run: the run.
            scoring: the keys of the manifest that are others for these scores.
            scores: (no, repeat, scores) of every record.
        """
        everything = list(scores)

        self.writer.change(lambda batch: add_layer(batch, run.num, scoring, everything))
        return run.refresh()

    def held(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of `keys` that the journal holds."""
        with self.reading() as connection:
            found = connection.scalars(select(schema.reply.c.key).where(schema.reply.c.key.in_(keys)))
            return {bytes(key) for key in found}

    def runs(self) -> list[Run]:
        """Every run, newest first."""
        with self.reading() as connection:
            rows = connection.execute(select(schema.run).order_by(schema.run.c.num.desc())).all()
        return [Run(self, row) for row in rows]

    def run(self, name: str) -> Run:
        """The run that `name` means: an id or the beginning of one, a target's name (its newest run), or `latest`.

        Raises:
            ConfigError: no run or several are meant.
        """
        table = schema.run
        with self.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.num.desc())).all()
        if name == "latest" and rows:
            return Run(self, rows[0])
        return Run(self, meant(name, rows))

    def runs_of(self, evaluation: int) -> list[Run]:
        """The runs that were started together, in the order of their targets."""
        table = schema.run
        with self.reading() as connection:
            rows = connection.execute(select(table).where(table.c.evaluation == evaluation).order_by(table.c.num)).all()
        return [Run(self, row) for row in rows]


@contextlib.contextmanager
def _as_store_error(where: Path | Address) -> Iterator[None]:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:  # what SQLite says of a damaged file may quote it
        raise StoreError(f"{where}: {cause_of(error, where)}") from error
