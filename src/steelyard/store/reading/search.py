"""Full-text search in the records of a run, by an index that is made when a large run ends.

The index of a run in a SQLite store is a file of its own in the folder `NAME-search` beside the store: it goes when the
run is deleted, and may be deleted at any time. `server_search` is the same for PostgreSQL. A run without an index is
scanned, up to a number of records, and the answer says so.
"""

# Why it is so, and what was rejected: docs/decisions/store-pages-and-search.md

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from steelyard.errors import SteelyardError, StoreError
from steelyard.files import open_private
from steelyard.store.reading.search_text import has_terms, record_words, search_terms
from steelyard.store.reading.server_search import find_on_server, index_on_server
from steelyard.store.stored_run import StoredRun

_MOST_SCANNED: Final = 20_000
"""Records that a search without an index goes through: 0.8 s of CPU."""
_LEAST_INDEXED: Final = _MOST_SCANNED
"""Records up to which a run has no index: it takes as many bytes as the run and a tenth of its CPU."""
_BUSY_S: Final = 0.5
"""How long a search waits for an index that is just being made; then it scans."""
_INDEXED: Final = "CREATE TABLE indexed (run TEXT NOT NULL, scoring_version INTEGER NOT NULL, done INTEGER NOT NULL)"
_WORDS: Final = (
    "CREATE VIRTUAL TABLE record USING fts5(words, content='', columnsize=0, tokenize=\"ascii tokenchars '_'\")"
)
_OBJECT: Final = re.compile(
    rf"{re.escape(_INDEXED)}|{re.escape(_WORDS)}"
    # Those in which FTS5 keeps a table: names, types and a key.
    r"|CREATE TABLE 'record_[a-z]+'\([a-z]+(?: INTEGER| BLOB)?(?: PRIMARY KEY)?(?:, ?[a-z]+(?: BLOB)?)*"
    r"(?:, PRIMARY KEY\([a-z]+(?:, [a-z]+)*\))?\)(?: WITHOUT ROWID)?"
)
"""What the schema of an index holds. One that came with a stranger's store may hold views that compute for ever."""


class SearchMatches(NamedTuple):
    """Where a search found something.

    Args:
        places: of the records, as the numbers of `number_of_place`, in order.
        note: what the search did not look at, as a sentence; "" if it looked at everything.
    """

    places: Sequence[int]
    note: str = ""


def search_run(run: StoredRun, text: str | SearchMatches) -> SearchMatches:
    """The places of the records that have all words of a text.

    Args:
        run: whose records.
        text: words, or several in quotation marks that have to follow each other; or what a search has found.

    Raises:
        ConfigError: there is nothing to search for.
    """
    if isinstance(text, SearchMatches):
        return text
    terms = search_terms(text)
    store = run.store.path
    places = _find_in_file(run, store, terms) if isinstance(store, Path) else find_on_server(run, terms)
    return _scan(run, terms) if places is None else SearchMatches(places)


def index_run(run: StoredRun) -> None:
    """Make the index of a finished run of more than 20,000 records; searches scan it where none can be written.

    Args:
        run: that has just ended, was scored again, or has lost its index.
    """
    if run.state != "finished" or run.done <= _LEAST_INDEXED:
        return
    store = run.store.path
    with contextlib.suppress(SteelyardError, sqlite3.Error, OSError):
        if isinstance(store, Path):
            _index_in_file(run, store)
        else:
            index_on_server(run)


def delete_index(store: Path, runs: Iterable[int]) -> None:
    """Delete the index of some runs.

    Args:
        store: the file of the store.
        runs: their numbers.

    Raises:
        StoreError: a file cannot be deleted.
    """
    for run in runs:
        file = _index_file(store, run)
        try:
            if not file.parent.is_symlink():
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{file} still holds texts of a deleted run: {error.strerror}; delete this file"
            ) from error


def _scan(run: StoredRun, terms: tuple[str, ...]) -> SearchMatches:
    records = islice(record_words(run), _MOST_SCANNED)
    places = [place for place, words in records if has_terms(words, terms)]
    if run.done <= _MOST_SCANNED:
        return SearchMatches(places)
    why = "it has no search index" if run.state == "finished" else "it is not finished"
    note = f"only the first {_MOST_SCANNED:,} of {run.done:,} records of this run were searched, as {why}"
    return SearchMatches(places, note)


def _index_file(store: Path, run: int) -> Path:
    return store.with_name(f"{store.name}-search") / f"{run}.db"


def _is_of(index: sqlite3.Connection, run: StoredRun) -> bool:
    """Whether a file is the index of a run as it is now, and holds nothing else."""
    texts = index.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if not all(_OBJECT.fullmatch(" ".join(str(text).split())) for (text,) in texts):
        return False
    # With the id: the number of a deleted run may be given to another one.
    return index.execute("SELECT * FROM indexed").fetchall() == [(run.id, run.scoring_version, run.done)]


def _find_in_file(run: StoredRun, store: Path, terms: tuple[str, ...]) -> list[int] | None:
    """Places of the records with all terms; None where the run has no index."""
    file = _index_file(store, run.num)
    if not file.is_file():
        return None
    # What was typed is in quotation marks, so that no letter of it is taken for FTS5's own syntax.
    match = " AND ".join(f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"' for term in terms)
    query = "SELECT rowid FROM record WHERE record MATCH ? ORDER BY rowid"
    address = f"{file.resolve().as_uri()}?mode=ro"
    with (
        contextlib.suppress(sqlite3.Error),  # it is damaged, or being made
        contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as index,
    ):
        index.execute("PRAGMA trusted_schema = OFF")
        return [number for (number,) in index.execute(query, (match,))] if _is_of(index, run) else None
    return None


def _index_in_file(run: StoredRun, store: Path) -> None:
    file = _index_file(store, run.num)
    if file.parent.is_symlink():
        return  # a link that came with a store would have us write elsewhere
    file.parent.mkdir(0o700, exist_ok=True)
    mode = store.stat().st_mode & 0o777
    file.parent.chmod(mode | (mode & 0o444) >> 2)  # whoever can read the store, as it holds the same texts
    file.unlink(missing_ok=True)
    open_private(file, "xb").close()
    shutil.copymode(store, file)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as index:
        for statement in ("BEGIN", _INDEXED, _WORDS):
            index.execute(statement)
        index.executemany("INSERT INTO record (rowid, words) VALUES (?, ?)", record_words(run))
        index.execute("INSERT INTO indexed VALUES (?, ?, ?)", (run.id, run.scoring_version, run.done))
        index.execute("COMMIT")
