"""Full-text search in the records of a run, by an index beside the store that is made on the first search.

The index of a SQLite store is a file of its own, `NAME-search`: it can be deleted at any time, and the next search
makes it anew. Each run has a table of its own in it, which goes when the run is deleted; `server_search` is the same
for PostgreSQL. A run that is not finished, and a store without an index that cannot be written, are scanned instead, up
to a number of records, and the answer says so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Self

from steelyard.errors import StoreError
from steelyard.store.page_query import PagedRun, Place, number_of_place, place_of_number
from steelyard.store.record_words import record_words
from steelyard.store.search_text import has_terms, search_terms

_SUFFIX: Final = "-search"
_VERSION: Final = 1
"""Of the index: a file of another one is made anew."""
_MOST_SCANNED: Final = 20_000
"""Records that a search without an index goes through, some seconds of CPU."""
_TOGETHER: Final = 500
_BUSY_S: Final = 30.0
_NO_TRIGRAMS: Final = (
    "as the database has no extension pg_trgm (CREATE EXTENSION pg_trgm), or its index cannot be written"
)


class FoundPlaces(NamedTuple):
    """Where a search found something.

    Args:
        places: of the records.
        note: what the search did not look at, as a sentence; "" if it looked at everything.
    """

    places: frozenset[Place]
    note: str = ""


def search_run(run: PagedRun, text: str) -> FoundPlaces:
    """The places of the records that have all words of a text.

    Args:
        run: whose records.
        text: words, or several in quotation marks that have to follow each other.

    Raises:
        ConfigError: there is nothing to search for.
    """
    terms = search_terms(text)
    if run.state != "finished":
        return _scanned(run, terms, "as the run is not finished")
    if isinstance(run.store.path, Path):
        with contextlib.suppress(sqlite3.Error, OSError), _SearchFile(run.store.path) as index:
            return FoundPlaces(frozenset(index.found(run, terms)))
        return _scanned(run, terms, "as its index cannot be written beside the store")

    from steelyard.store.server_search import found_on_server

    places = found_on_server(run, terms)
    return _scanned(run, terms, _NO_TRIGRAMS) if places is None else FoundPlaces(places)


def _scanned(run: PagedRun, terms: tuple[str, ...], why: str) -> FoundPlaces:
    records = islice(record_words(run), _MOST_SCANNED)
    places = {place for place, words in records if has_terms(words, terms)}
    left_out = run.done > _MOST_SCANNED
    note = f"only the first {_MOST_SCANNED:,} of {run.done:,} records were searched, {why}" if left_out else ""
    return FoundPlaces(frozenset(places), note)


def drop_from_index(where: Path, runs: Iterable[str]) -> None:
    """Delete what the index of a store holds of some runs, by their ids.

    Raises:
        StoreError: it cannot be written; the file can be deleted instead.
    """
    if not _file(where).exists():
        return
    try:
        with _SearchFile(where) as index:
            index.drop(runs)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{_file(where)} still holds texts of deleted runs: {error}; delete this file") from error


def _file(where: Path) -> Path:
    return where.with_name(where.name + _SUFFIX)


class _SearchFile:
    """The index beside a store; each run and scoring version has a table of SQLite's FTS5."""

    def __init__(self, where: Path) -> None:
        self._path = _file(where)
        is_new = not self._path.exists()
        if is_new and not os.access(where.parent, os.W_OK):
            raise PermissionError(self._path)
        self._connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            if is_new:
                shutil.copymode(where, self._path)  # it holds the same texts
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _prepare(self) -> None:
        try:
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError:
            version = -1  # no database, or a damaged one
        if version == _VERSION:
            return
        if version:
            self._connection.close()
            self._path.unlink()
            self._connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        self._connection.executescript(
            f"""PRAGMA journal_mode = WAL;
            CREATE TABLE IF NOT EXISTS indexed (run TEXT NOT NULL, layer INTEGER NOT NULL, done INTEGER NOT NULL,
                name TEXT NOT NULL, PRIMARY KEY (run, layer));
            PRAGMA user_version = {_VERSION};"""
        )

    def found(self, run: PagedRun, terms: tuple[str, ...]) -> Iterator[Place]:
        """Places of the records that have all terms; the run's table is made where there is none."""
        table = self._table(run) or self._fill(run)
        # What was typed is in quotation marks, so that no letter of it is taken for FTS5's own syntax.
        match = " AND ".join(f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"' for term in terms)
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"
        rows = self._connection.execute(query, (match,))
        return (place_of_number(number) for (number,) in rows)

    def drop(self, runs: Iterable[str]) -> None:
        """Drop the tables of some runs."""
        with self._writing():
            for run in runs:
                self._drop(self._connection.execute("SELECT name FROM indexed WHERE run = ?", (run,)).fetchall())
                self._connection.execute("DELETE FROM indexed WHERE run = ?", (run,))

    def _table(self, run: PagedRun) -> str:
        """The name of the run's table; "" where it has none, or one of another number of records."""
        row = self._connection.execute(
            "SELECT name FROM indexed WHERE run = ? AND layer = ? AND done = ?",
            (run.id, run.scoring_version, run.done),
        ).fetchone()
        return str(row[0]) if row else ""

    def _fill(self, run: PagedRun) -> str:
        with self._writing():
            if known := self._table(run):  # another process was first
                return known
            # Of an earlier scoring version, whose reasons are not shown any more.
            self._drop(self._connection.execute("SELECT name FROM indexed WHERE run = ?", (run.id,)).fetchall())
            self._connection.execute("DELETE FROM indexed WHERE run = ?", (run.id,))
            (number,) = self._connection.execute("SELECT COALESCE(MAX(rowid), 0) + 1 FROM indexed").fetchone()
            table = f"words_{int(number)}"
            options = "content='', columnsize=0, tokenize=\"ascii tokenchars '_'\""
            self._connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(words, {options})")
            rows = ((number_of_place(place), words) for place, words in record_words(run))
            while portion := list(islice(rows, _TOGETHER)):
                insert = f"INSERT INTO {table} (rowid, words) VALUES (?, ?)"
                self._connection.executemany(insert, portion)
            values = (run.id, run.scoring_version, run.done, table)
            self._connection.execute("INSERT INTO indexed VALUES (?, ?, ?, ?)", values)
        return table

    def _drop(self, tables: Sequence[tuple[str]]) -> None:
        for (table,) in tables:
            self._connection.execute(f"DROP TABLE IF EXISTS {table}")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
