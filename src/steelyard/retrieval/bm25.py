"""BM25 in two engines, and the terms that they are queried with.

`BM25` is exact, in memory and without a dependency. Plain dictionaries are used and not arrays: at 10,000 passages a
query takes 1 to 2 ms, half of what an array library takes, because a query touches few passages.

`FullText` is SQLite's full-text index FTS5 over our own tokens. FTS5 is given the tokens of `retrieval.tokens` with
blanks between them and its tokenizer `ascii`, which parts at ASCII marks and blanks alone and takes every other
character for a part of a token: it finds exactly those tokens, Chinese ones among them. Its ranking is fixed: BM25 with
k1 = 1.2 and b = 0.75 as in `BM25`, but

    idf(t) = max(1e-6, ln((N - n + 0.5) / (n + 0.5)))

so that a token in at least half of the chunks counts for next to nothing. Source: SQLite documentation, "SQLite FTS5
Extension", section "The bm25() function".
"""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from steelyard.retrieval.tokens import is_stop, tokens


@dataclass(frozen=True, slots=True)
class BM25:
    """An index that scores passages for a query; build it with `BM25.of`.

        score(d, q) = sum over tokens t of q: idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / mean |d|))
        idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))

    A token that stands twice in the query counts twice. Source: S. Robertson, H. Zaragoza, "The Probabilistic
    Relevance Framework: BM25 and Beyond", Foundations and Trends in Information Retrieval 2009, section 3.2;
    deviation: 1 is added inside the logarithm, so that a token in more than half of the passages does not count
    against them (as Lucene does, whose k1 = 1.2 and b = 0.75 are used).

    Args:
        postings: token -> (index of a passage, its share of a score) of the passages that have it, by index.
        size: number of passages.
    """

    postings: Mapping[str, Sequence[tuple[int, float]]]
    size: int

    @classmethod
    def of(
        cls,
        passages: Sequence[str],
        *,
        k1: float = 1.2,
        b: float = 0.75,
        idf: Callable[[int, int], float] | None = None,
    ) -> BM25:
        """Index the passages; their positions are what `search` returns.

        Args:
            passages: their texts.
            k1: how fast repeats of a token stop to matter, 0 or more.
            b: how far long passages are marked down, in [0, 1].
            idf: the weight of a token by the number of passages and that of those which have it; None is the one
                above.
        """
        bags = [Counter(tokens(passage)) for passage in passages]
        lengths = [sum(bag.values()) for bag in bags]
        mean = sum(lengths) / max(1, len(lengths)) or 1.0
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for index, bag in enumerate(bags):
            norm = k1 * (1 - b + b * lengths[index] / mean)
            for token, count in bag.items():
                postings[token].append((index, count * (k1 + 1) / (count + norm)))
        size = len(passages)
        weight_of = idf or _idf
        return cls(
            {token: _weighted(entries, weight_of(size, len(entries))) for token, entries in postings.items()}, size
        )

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """Index -> score of every passage that has a token of `query`, a sequence of tokens."""
        totals: dict[int, float] = defaultdict(float)
        for token in query:
            for index, share in self.postings.get(token, ()):
                totals[index] += share
        return dict(totals)

    def having(self, query: Iterable[str]) -> set[int]:
        """Indices of the passages that have at least one of these tokens."""
        return {index for token in query for index, _ in self.postings.get(token, ())}

    def search(self, query: str, k: int = 5) -> list[tuple[int, float]]:
        """The best `k` passages with their scores; equal scores by index, passages without any token left out.

        >>> index = BM25.of(["heaven over heaven", "earth", "thunder over water"])
        >>> [(place, round(score, 3)) for place, score in index.search("heaven water", 2)]
        [(0, 1.248), (2, 0.878)]
        """
        return self.best(tokens(query), k)

    def best(self, query: Iterable[str], k: int) -> list[tuple[int, float]]:
        """Like `search`, for a query that is split into tokens already."""
        scores = self.scores(query)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: max(0, k)]


def _idf(size: int, count: int) -> float:
    return log(1 + (size - count + 0.5) / (count + 0.5))


def _weighted(entries: Sequence[tuple[int, float]], idf: float) -> tuple[tuple[int, float], ...]:
    return tuple((index, idf * share) for index, share in entries)


MOST_TERMS: Final = 256
"""Full-text search takes 0.7 ms for so many terms that occur nowhere, and 47 ms for 5,000."""
MOST_POSTINGS: Final = 3_000
"""Entries of the index that a query reads: about 2 ms, whatever its words are."""

_PLAIN: Final = re.compile(r"[a-z0-9]+")


def joined_terms(text: str) -> str:
    """The tokens of a text joined by blanks; no token contains a blank.

    ASCII is what `tokens` makes of it in a tenth of the time.

    >>> joined_terms("Rain, 12 mm"), joined_terms("雨量")
    ('rain 12 mm', '雨 量 雨量')
    """
    return " ".join(_PLAIN.findall(text.lower()) if text.isascii() else tokens(text))


def query_terms(query: str, frequency: Callable[[str], int]) -> list[str]:
    """The distinct tokens of a query to search for, the rarest first.

    Function words are left out where anything else remains, and then the commonest tokens as soon as those before
    them have `MOST_POSTINGS` places together: what stands nearly everywhere changes no order and costs most of the
    time. At most `MOST_TERMS` are looked for.

    Args:
        query: any text.
        frequency: in how many chunks a token stands, or a number that it does not exceed.

    >>> query_terms("What is the amount of rain?", {"amount": 3, "rain": 2}.__getitem__)
    ['rain', 'amount']
    """
    terms = dict.fromkeys(joined_terms(query).split(" ") if query else ())
    terms.pop("", None)
    telling = [term for term in terms if not is_stop(term)] or list(terms)
    chosen: list[str] = []
    postings = 0
    for count, term in sorted(((frequency(term), term) for term in telling), key=lambda pair: pair[0])[:MOST_TERMS]:
        postings += count
        if chosen and postings > MOST_POSTINGS:
            break
        chosen.append(term)
    return chosen


_COMMON: Final = 100
"""Tokens in more than one of so many chunks have their number of chunks kept."""


def has_fulltext() -> bool:
    """Whether this SQLite has FTS5 and can load a database from memory; nearly all can."""
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
    """The number of chunks up to which tokens count as equally rare."""
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
        rows = ((position, joined_terms(text)) for position, text in enumerate(texts))
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
        sqlite3.Error: it is not such a database.
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
        expression = " OR ".join(f'"{term}"' for term in terms)
        statement = "SELECT rowid, -rank FROM found WHERE found MATCH ? ORDER BY rank, rowid LIMIT ?"
        with self._lock:
            return self._connection.execute(statement, (expression, k)).fetchall()
