"""BM25 by SQLite's full-text index FTS5, over our own tokens.

FTS5 is given the tokens of `steelyard.text.tokens` with blanks between them and its tokenizer `ascii`, which parts at
ASCII marks and blanks alone and takes every other character for a part of a token: it finds exactly those tokens,
Chinese ones among them. Its ranking is fixed: BM25 with k1 = 1.2 and b = 0.75 as in `retrieval.index`, but

    idf(t) = max(1e-6, ln((N - n + 0.5) / (n + 0.5)))

so that a token in at least half of the chunks counts for next to nothing. Source: SQLite documentation, "SQLite FTS5
Extension", section "The bm25() function".
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Sequence
from math import log
from typing import Final

from steelyard.retrieval.terms import joined_terms, query_terms

_COMMON: Final = 100
"""Tokens in more than one of so many chunks have their number of chunks kept."""


def has_fulltext() -> bool:
    """Whether this SQLite has FTS5 and can be read from memory, as nearly every one has and can."""
    if not hasattr(sqlite3.Connection, "deserialize"):
        return False
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(terms)")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True


def fulltext_idf(size: int, count: int) -> float:
    """The weight of a token as FTS5 has it.

    >>> round(fulltext_idf(10, 1), 4), fulltext_idf(10, 5)
    (1.8458, 1e-06)
    """
    return max(1e-6, log((size - count + 0.5) / (count + 0.5)))


def rare_below(size: int) -> int:
    """The number of chunks up to which tokens are equally rare when a query's are chosen."""
    return size // _COMMON


def build_fulltext(texts: Iterable[str]) -> bytes:
    """The database of an index, as the bytes of its file; a text is found again by its position."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute("CREATE VIRTUAL TABLE found USING fts5(terms, content='', tokenize='ascii')")
        # Segments of 4 MiB stay in the processor's cache; they are merged once, at the end, and not again and again.
        for option, value in (("hashsize", 1 << 22), ("automerge", 0), ("crisismerge", 1_000)):
            connection.execute("INSERT INTO found(found, rank) VALUES (?, ?)", (option, value))
        connection.execute("BEGIN")
        rows = ((place, joined_terms(text)) for place, text in enumerate(texts))
        connection.executemany("INSERT INTO found(rowid, terms) VALUES (?, ?)", rows)
        connection.execute("COMMIT")
        connection.execute("INSERT INTO found(found) VALUES ('optimize')")
        connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, found, row)")
        connection.execute("CREATE TABLE common(term TEXT PRIMARY KEY, chunks INTEGER) WITHOUT ROWID")
        connection.execute(
            "INSERT INTO common SELECT term, doc FROM vocabulary WHERE doc > (SELECT count(*) FROM found_docsize) / ?",
            (_COMMON,),
        )
        return connection.serialize()
    finally:
        connection.close()


class FullText:
    """An index in memory, made of the bytes of `build_fulltext`; may be used from several threads.

    Args:
        body: the database.
        size: number of chunks.

    Raises:
        sqlite3.Error: it is no such database.
    """

    def __init__(self, body: bytes, size: int) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._lock = threading.Lock()
        self._connection.deserialize(body)
        self._connection.execute("PRAGMA query_only = ON")
        self._common = dict(self._connection.execute("SELECT term, chunks FROM common"))
        self._rare = rare_below(size)

    def search(self, query: str, k: int) -> Sequence[tuple[int, float]]:
        """The best `k` positions with their scores, higher is better; equal scores by position."""
        terms = query_terms(query, lambda term: self._common.get(term, self._rare))
        if not terms or k < 1:
            return []
        asked = " OR ".join(f'"{term}"' for term in terms)
        statement = "SELECT rowid, -rank FROM found WHERE found MATCH ? ORDER BY rank, rowid LIMIT ?"
        with self._lock:
            return self._connection.execute(statement, (asked, k)).fetchall()
