"""Search on a PostgreSQL store: a table of words with an index of trigrams, where the extension pg_trgm is there.

The table `search_words` is made in the store's schema when the first large run ends, and may be dropped at any time. It
holds a line of words per record, and a row at place -1 with the scoring version and the number of records of a run's
lines.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import islice
from typing import Final

from steelyard.errors import StoreError
from steelyard.store.database.connection import Connection
from steelyard.store.database.schema import SEARCH_WORDS
from steelyard.store.reading.search_text import record_words
from steelyard.store.stored_run import StoredRun

_EXTENSION: Final = """SELECT n.nspname FROM pg_catalog.pg_extension e
    JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'"""
_MARK: Final = -1
_LOCK: Final = 6021023
"""Two processes must not make the table at once."""
_TOGETHER: Final = 500


def find_on_server(run: StoredRun, terms: tuple[str, ...]) -> list[int] | None:
    """Places of the records of a run that have all terms.

    Args:
        run: in a PostgreSQL store.
        terms: as `search_terms` gives them.

    Returns:
        None where the run has no index, or this role may not read it.
    """
    with contextlib.suppress(StoreError), run.store.reading(run.id) as connection:
        if _is_indexed(connection, run):
            return _matching(connection, run, terms)
    return None  # a scan finds the same, or says what is wrong with the store


def _is_indexed(connection: Connection, run: StoredRun) -> bool:
    if not connection.has_table(SEARCH_WORDS):
        return False
    query = f"SELECT words FROM {SEARCH_WORDS} WHERE run = :run AND place = {_MARK}"
    return bool(connection.execute(query, {"run": run.num}).scalar() == _mark_of(run))


def _mark_of(run: StoredRun) -> str:
    # With the id: a number of a deleted run may be given to another one.
    return f"{run.id} {run.scoring_version} {run.done}"


def _matching(connection: Connection, run: StoredRun, terms: tuple[str, ...]) -> list[int]:
    values = {f"term_{at}": _pattern(term) for at, term in enumerate(terms)}
    likes = " AND ".join(f"words LIKE :{name}" for name in values)
    query = f"SELECT place FROM {SEARCH_WORDS} WHERE run = :run AND place >= 0 AND {likes} ORDER BY place"
    return list(connection.execute(query, {"run": run.num, **values}).scalars())


def _pattern(term: str) -> str:
    r"""The LIKE pattern of lines of words that have a term.

    >>> _pattern("snake_case"), _pattern("乾*")
    ('% snake\\_case %', '% 乾%')
    """
    literal = term.removesuffix("*").replace("_", r"\_")
    return f"% {literal}%" if term.endswith("*") else f"% {literal} %"


def _insert(connection: Connection, run: StoredRun, words: Sequence[tuple[int, str]]) -> None:
    places, texts = zip(*words, strict=True)
    values = {"run": run.num, "places": list(places), "texts": list(texts)}
    columns = "unnest(:places::bigint[], :texts::text[])"
    connection.execute(f"INSERT INTO {SEARCH_WORDS} (run, place, words) SELECT :run, * FROM {columns}", values)


def index_on_server(run: StoredRun) -> None:
    """Make the index of a finished run where the extension is there.

    Args:
        run: in a PostgreSQL store.

    Raises:
        StoreError: this role may not make the table.
    """
    with run.store.changing() as connection:
        namespace = connection.execute(_EXTENSION).scalar()
        if namespace is None:
            return
        connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        if not connection.has_table(SEARCH_WORDS):
            columns = "run INTEGER, place BIGINT, words TEXT NOT NULL, PRIMARY KEY (run, place)"
            connection.execute(f"CREATE TABLE {SEARCH_WORDS} ({columns})")
            trigrams = f'gin (words "{namespace}".gin_trgm_ops)'
            connection.execute(f"CREATE INDEX {SEARCH_WORDS}_trigrams ON {SEARCH_WORDS} USING {trigrams}")
        connection.execute(f"DELETE FROM {SEARCH_WORDS} WHERE run = :run", {"run": run.num})
        rows = ((place, f" {words} ") for place, words in record_words(run))
        while portion := list(islice(rows, _TOGETHER)):
            _insert(connection, run, portion)
        _insert(connection, run, [(_MARK, _mark_of(run))])
        connection.execute(f"ANALYZE {SEARCH_WORDS}")  # or the first search is planned for an empty table
