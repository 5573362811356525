"""Full-text search in the records of a run, by an index next to the store that the first search makes.

The index of a SQLite store is a file of its own, `NAME-search`: it can be deleted at any time, and the next search
makes it again. Each run has a table of its own in it, which goes when the run is deleted; `server_search` is the same
for PostgreSQL. A run that is not finished, and a store without an index that cannot be written, are scanned instead, up
to a number of records, and the answer says so.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Self

from steelyard.errors import StoreError
from steelyard.files import open_private
from steelyard.store.page_query import PagedRun, number_of_place
from steelyard.store.record_words import record_words
from steelyard.store.search_text import has_terms, search_terms

_SUFFIX: Final = "-search"
_VERSION: Final = 1
"""Version of the index: a file of another version is made again."""
_MOST_SCANNED: Final = 20_000
"""Records that a search without an index goes through, some seconds of CPU."""
FIRST_SCANNED: Final = 2_000
"""Records that a search goes through while the index is being made: 0.1 s of CPU."""
_TOGETHER: Final = 500
_BUSY_S: Final = 30.0
_INDEXED: Final = (
    "run TEXT NOT NULL, layer INTEGER NOT NULL, done INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (run, layer)"
)
_COLUMNS: Final = "words, content='', columnsize=0, tokenize=\"ascii tokenchars '_'\""
_TABLE: Final = re.compile(r"words_\d{1,9}")
_OBJECT: Final = re.compile(
    rf"CREATE TABLE indexed \({re.escape(_INDEXED)}\)"
    rf"|CREATE VIRTUAL TABLE {_TABLE.pattern} USING fts5\({re.escape(_COLUMNS)}\)"
    # Those in which FTS5 keeps a table: names, types and a key.
    rf"|CREATE TABLE '{_TABLE.pattern}_[a-z]+'\([a-z]+(?: INTEGER| BLOB)?(?: PRIMARY KEY)?(?:, ?[a-z]+(?: BLOB)?)*"
    r"(?:, PRIMARY KEY\([a-z]+(?:, [a-z]+)*\))?\)(?: WITHOUT ROWID)?"
)
"""What the schema of an index holds."""
_NO_TRIGRAMS: Final = (
    "as the database has no extension pg_trgm (CREATE EXTENSION pg_trgm), or its index cannot be written"
)


class SearchMatches(NamedTuple):
    """Where a search found something.

    Args:
        places: of the records, as the numbers of `number_of_place`, in order.
        note: what the search did not look at, as a sentence; "" if it looked at everything.
        grows: whether the same search finds more when the index is there.
    """

    places: Sequence[int]
    note: str = ""
    grows: bool = False


class _StoppedError(Exception):
    """An index was not to be completed."""


def search_run(run: PagedRun, text: str | SearchMatches, *, index: Path | None = None) -> SearchMatches:
    """The places of the records that have all words of a text.

    Args:
        run: whose records.
        text: words, or several in quotation marks that have to follow each other; or what a search has found.
        index: the file of the index of a SQLite store; None is the one beside the store.

    Raises:
        ConfigError: there is nothing to search for.
    """
    if isinstance(text, SearchMatches):
        return text
    terms = search_terms(text)
    if run.state != "finished":
        return _scanned(run, terms, "as the run is not finished")
    if isinstance(run.store.path, Path):
        with contextlib.suppress(sqlite3.Error, OSError), _SearchFile(run.store.path, index) as file:
            return SearchMatches(file.found(run, terms))
        return _scanned(run, terms, "as its index cannot be written beside the store")

    from steelyard.store.server_search import found_on_server

    places = found_on_server(run, terms)
    return _scanned(run, terms, _NO_TRIGRAMS) if places is None else SearchMatches(places)


def scan_run(run: PagedRun, text: str) -> SearchMatches:
    """Search without an index, in the first 20,000 records.

    Args:
        run: as for `search_run`.
        text: likewise.
    """
    return _scanned(run, search_terms(text), "as there is no index of them and none is made here")


def search_first(run: PagedRun, text: str) -> SearchMatches:
    """Search the first 2,000 records, for a page that is shown while the index is being made.

    Args:
        run: as for `search_run`.
        text: likewise.
    """
    places = _places_among(run, search_terms(text), FIRST_SCANNED)
    if run.done <= FIRST_SCANNED:
        return SearchMatches(places)
    note = f"found so far in the first {FIRST_SCANNED:,} of {run.done:,} records: the others are being indexed"
    return SearchMatches(places, note, grows=True)


def is_indexed(run: PagedRun, index: Path | None = None) -> bool:
    """Whether the index of a finished run exists; nothing is written.

    Args:
        run: as for `search_run`.
        index: likewise.
    """
    if isinstance(run.store.path, Path):
        address = f"{(index or _file(run.store.path)).resolve().as_uri()}?mode=ro"
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            return _version_of(connection) == _VERSION and bool(_table_of(connection, run))
        return False

    from steelyard.store.server_search import is_indexed_on_server

    return is_indexed_on_server(run)


def make_index(run: PagedRun, index: Path | None = None, *, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Make the index of a finished run, so that no search has to; returns whether it exists now.

    Args:
        run: as for `search_run`.
        index: likewise.
        stopped: called after every few hundred records; where it returns true, the index is not made.
    """
    if isinstance(run.store.path, Path):
        suppressed = contextlib.suppress(sqlite3.Error, OSError, _StoppedError)
        with suppressed, _SearchFile(run.store.path, index) as file:
            file.make(run, stopped)
            return True
        return False

    from steelyard.store.server_search import make_index_on_server

    return make_index_on_server(run)


def _scanned(run: PagedRun, terms: tuple[str, ...], why: str) -> SearchMatches:
    left_out = run.done > _MOST_SCANNED
    note = f"only the first {_MOST_SCANNED:,} of {run.done:,} records were searched, {why}" if left_out else ""
    return SearchMatches(_places_among(run, terms, _MOST_SCANNED), note)


def _places_among(run: PagedRun, terms: tuple[str, ...], most: int) -> list[int]:
    """Places of the records with all terms among the first of a run."""
    records = islice(record_words(run), most)
    return [number_of_place(place) for place, words in records if has_terms(words, terms)]


def drop_from_index(where: Path, runs: Iterable[str]) -> None:
    """Delete the tables of some runs from the index of a store, by the runs' ids.

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


def _table_of(connection: sqlite3.Connection, run: PagedRun) -> str:
    """The name of the run's table; "" where it has none, or one of another number of records."""
    row = connection.execute(
        "SELECT name FROM indexed WHERE run = ? AND layer = ? AND done = ?", (run.id, run.scoring_version, run.done)
    ).fetchone()
    return str(row[0]) if row and _TABLE.fullmatch(str(row[0])) else ""


def _version_of(connection: sqlite3.Connection) -> int:
    """The version of an index; -1 of one that is damaged or has other objects: it may have come from a stranger."""
    try:
        texts = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        is_ours = all(_OBJECT.fullmatch(" ".join(str(text).split())) for (text,) in texts)
        return int(connection.execute("PRAGMA user_version").fetchone()[0]) if is_ours else -1
    except sqlite3.DatabaseError:
        return -1


class _SearchFile:
    """The index beside a store; each run and scoring version has a table of SQLite's FTS5."""

    def __init__(self, where: Path, index: Path | None = None) -> None:
        self._path = index or _file(where)
        is_new = not self._path.exists()
        if is_new and not os.access(self._path.parent, os.W_OK):
            raise PermissionError(self._path)
        if self._path.is_symlink() or not (is_new or self._path.is_file()):
            raise PermissionError(self._path)  # a link that came with a store would have us write elsewhere
        if is_new:
            self._create(where)
        self._connection = self._connect()
        try:
            self._prepare(where)
        except BaseException:
            self._connection.close()
            raise

    def _create(self, where: Path) -> None:
        open_private(self._path, "ab").close()
        shutil.copymode(where, self._path)  # it holds the same texts

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _prepare(self, where: Path) -> None:
        version = _version_of(self._connection)
        if version == _VERSION:
            return
        if version:
            self._connection.close()
            self._path.unlink()
            self._create(where)
            self._connection = self._connect()
        self._connection.executescript(
            f"""PRAGMA journal_mode = WAL;
            CREATE TABLE IF NOT EXISTS indexed ({_INDEXED});
            PRAGMA user_version = {_VERSION};"""
        )

    def found(self, run: PagedRun, terms: tuple[str, ...]) -> list[int]:
        """Places of the records that have all terms; the run's table is made where there is none."""
        table = _table_of(self._connection, run) or self._fill(run, lambda: False)
        # What was typed is in quotation marks, so that no letter of it is taken for FTS5's own syntax.
        match = " AND ".join(f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"' for term in terms)
        rows = self._connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid", (match,))
        return [number for (number,) in rows]

    def make(self, run: PagedRun, stopped: Callable[[], bool]) -> None:
        """Make the run's table, where there is none.

        Raises:
            _StoppedError: it was not to be completed.
        """
        if not _table_of(self._connection, run):
            self._fill(run, stopped)

    def drop(self, runs: Iterable[str]) -> None:
        """Drop the tables of some runs."""
        with self._writing():
            for run in runs:
                self._drop(self._connection.execute("SELECT name FROM indexed WHERE run = ?", (run,)).fetchall())
                self._connection.execute("DELETE FROM indexed WHERE run = ?", (run,))

    def _fill(self, run: PagedRun, stopped: Callable[[], bool]) -> str:
        with self._writing():
            if existing := _table_of(self._connection, run):  # another process was first
                return existing
            # Tables of an earlier scoring version, whose reasons are not shown any more.
            self._drop(self._connection.execute("SELECT name FROM indexed WHERE run = ?", (run.id,)).fetchall())
            self._connection.execute("DELETE FROM indexed WHERE run = ?", (run.id,))
            (number,) = self._connection.execute("SELECT COALESCE(MAX(rowid), 0) + 1 FROM indexed").fetchone()
            table = f"words_{int(number)}"
            self._drop([(table,)])  # of a run whose row is lost
            self._connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5({_COLUMNS})")
            rows = ((number_of_place(place), words) for place, words in record_words(run))
            while portion := list(islice(rows, _TOGETHER)):
                insert = f"INSERT INTO {table} (rowid, words) VALUES (?, ?)"
                self._connection.executemany(insert, portion)
                if stopped():
                    raise _StoppedError
            values = (run.id, run.scoring_version, run.done, table)
            self._connection.execute("INSERT INTO indexed VALUES (?, ?, ?, ?)", values)
        return table

    def _drop(self, tables: Sequence[tuple[str]]) -> None:
        for (table,) in tables:
            if _TABLE.fullmatch(str(table)):
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
