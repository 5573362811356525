"""BM25 in two engines, the tokens that they index, and the terms with which they are queried.

`tokens` reads both Chinese and English, without a dictionary. Alphabetic words and numbers are lower-cased. Runs of
Han, kana, hangul, Thai, Lao, Burmese and Khmer become their single characters and their overlapping pairs: pairs find
words without a dictionary, single characters find words of one character. Trigrams and hexagrams of the Yijing are
separate tokens. Character width is normalised first (NFKC). Pairs together with characters retrieve Chinese about as
well as segmented words do: J.-Y. Nie, J. Gao, J. Zhang, M. Zhou, "On the use of words and n-grams for Chinese
information retrieval", IRAL 2000. Stop words are in `stop_words.json`.

`BM25` is exact, in memory and without a dependency. It uses plain dictionaries instead of arrays: at 10,000 passages a
query takes 1 to 2 ms, half of what an array library takes, because a query reads few passages.

`FullText` is SQLite's full-text index FTS5 over our own tokens. FTS5 gets the same tokens, separated by
spaces, and its tokenizer `ascii`, which splits only at ASCII punctuation and spaces and keeps every other character in
a token: it finds exactly those tokens, including Chinese ones. Its ranking is fixed: BM25 with k1 = 1.2 and b = 0.75 as
in `BM25`, but

    idf(t) = max(1e-6, ln((N - n + 0.5) / (n + 0.5)))

so that a token in at least half of the chunks has almost no weight. Source: SQLite documentation, "SQLite FTS5
Extension", section "The bm25() function".
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log
from operator import add
from typing import Final

from steelyard.normal_form import UNSPACED, nfkc, spaced_word

_FIGURES: Final = "\u2630-\u2637\u4dc0-\u4dff"
_ASCII_TOKEN: Final = re.compile(r"[a-z0-9]+")


def tokens(text: str) -> list[str]:
    """Tokens in the order of the text, repeated as often as they occur.

    >>> tokens("乾为天 Heaven 2"), tokens("ＡＢ卦䷀")
    (['乾', '为', '天', '乾为', '为天', 'heaven', '2'], ['ab', '卦', '䷀'])
    """
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())  # The same tokens, without building the pattern.
    result: list[str] = []
    for match in _token().finditer(nfkc(text).lower()):
        run = match[0]
        if match[1]:
            # Added as whole runs, which is faster: Chinese gives two tokens for each character.
            result += run
            result += map(add, run, run[1:])
        else:
            result.append(run)
    return result


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"([{UNSPACED}]+)|[{_FIGURES}]|{spaced_word()}")


def is_stop(token: str) -> bool:
    """Whether a token is a stop word: a function word, or a word that occurs in questions on any subject.

    >>> [is_stop(token) for token in ("the", "的", "哪个", "乾", "天", "正确")]
    [True, True, True, False, False, True]
    """
    return token in _stop_words() or all(character in _stop_characters() for character in token)


@cache
def _stop_words() -> frozenset[str]:
    return frozenset([*_table()["words"], *_table()["pairs"]])


@cache
def _stop_characters() -> frozenset[str]:
    return frozenset(_table()["characters"])


def _table() -> Mapping[str, Sequence[str]]:
    table: Mapping[str, Sequence[str]] = json.loads(
        files("steelyard.retrieval").joinpath("stop_words.json").read_text("utf-8")
    )
    return table


@dataclass(frozen=True, slots=True)
class BM25:
    """An index that scores passages for a query; build it with `BM25.of`.

        score(d, q) = sum over tokens t of q: idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / mean |d|))
        idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))

    A token that occurs twice in the query counts twice. Source: S. Robertson, H. Zaragoza, "The Probabilistic
    Relevance Framework: BM25 and Beyond", Foundations and Trends in Information Retrieval 2009, section 3.2;
    deviation: 1 is added inside the logarithm, so that a token in more than half of the passages does not count
    against them (as Lucene does, whose k1 = 1.2 and b = 0.75 are used).

    Args:
        postings: token -> (index of a passage, the token's share of its score) for the passages with it, by index.
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
        """Index passages; `search` returns their positions.

        Args:
            passages: their texts.
            k1: how much repeats of a token add, 0 or more; with 0 only the first counts.
            b: how much a passage loses by its length, in [0, 1].
            idf: the weight of a token, from the number of passages and the number of passages with it; None is the
                formula above.
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
        """Index -> score of every passage with a token of `query`, which is already split into tokens."""
        totals: dict[int, float] = defaultdict(float)
        for token in query:
            for index, share in self.postings.get(token, ()):
                totals[index] += share
        return dict(totals)

    def having(self, query: Iterable[str]) -> set[int]:
        """Indices of the passages that have at least one of these tokens."""
        return {index for token in query for index, _ in self.postings.get(token, ())}

    def search(self, query: str, k: int = 5) -> list[tuple[int, float]]:
        """The best `k` passages with their scores, without those that have no token; equal scores in order of index.

        >>> index = BM25.of(["heaven over heaven", "earth", "thunder over water"])
        >>> [(position, round(score, 3)) for position, score in index.search("heaven water", 2)]
        [(0, 1.248), (2, 0.878)]
        """
        return self.best(tokens(query), k)

    def best(self, query: Iterable[str], k: int) -> list[tuple[int, float]]:
        """Like `search`, for a query that is already split into tokens."""
        scores = self.scores(query)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: max(0, k)]


def _idf(size: int, count: int) -> float:
    return log(1 + (size - count + 0.5) / (count + 0.5))


def _weighted(entries: Sequence[tuple[int, float]], idf: float) -> tuple[tuple[int, float], ...]:
    return tuple((index, idf * share) for index, share in entries)


MOST_TERMS: Final = 256
"""Maximum terms of a query: full-text search takes 0.7 ms for so many unknown terms, and 47 ms for 5,000."""
MOST_POSTINGS: Final = 3_000
"""Maximum entries of the index that a query reads, which takes about 2 ms for any words."""

_PLAIN: Final = re.compile(r"[a-z0-9]+")


def joined_terms(text: str) -> str:
    """The tokens of a text joined by spaces; no token contains a space.

    For ASCII the result is that of `tokens`, in a tenth of the time.

    >>> joined_terms("Rain, 12 mm"), joined_terms("雨量")
    ('rain 12 mm', '雨 量 雨量')
    """
    return " ".join(_PLAIN.findall(text.lower()) if text.isascii() else tokens(text))


def query_terms(query: str, frequency: Callable[[str], int]) -> list[str]:
    """The distinct tokens of a query to search for, the rarest first.

    Function words are left out if other words remain, and so are the most common tokens once the rarer ones have
    `MOST_POSTINGS` entries together: tokens that occur nearly everywhere do not change the order, but take most of the
    time. At most `MOST_TERMS` tokens are returned.

    Args:
        query: any text.
        frequency: returns the number of chunks with a token, or an upper bound of it.

    >>> query_terms("What is the amount of rain?", {"amount": 3, "rain": 2}.__getitem__)
    ['rain', 'amount']
    """
    terms = dict.fromkeys(joined_terms(query).split(" ") if query else ())
    terms.pop("", None)
    content_terms = [term for term in terms if not is_stop(term)] or list(terms)
    chosen: list[str] = []
    postings = 0
    for count, term in sorted(((frequency(term), term) for term in content_terms), key=lambda pair: pair[0])[
        :MOST_TERMS
    ]:
        postings += count
        if chosen and postings > MOST_POSTINGS:
            break
        chosen.append(term)
    return chosen


_COMMON: Final = 100
"""The number of chunks is stored for tokens that are in more than one of so many chunks; rarer tokens count alike."""


def has_fulltext() -> bool:
    """Whether this SQLite has FTS5 and can load a database from memory, as nearly all versions can."""
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
    """The weight of a token in FTS5.

    >>> round(fulltext_idf(10, 1), 4), fulltext_idf(10, 5)
    (1.8458, 1e-06)
    """
    return max(1e-6, log((size - count + 0.5) / (count + 0.5)))


def rare_below(size: int) -> int:
    """The number of chunks up to which tokens count as equally rare."""
    return size // _COMMON


def build_fulltext(texts: Iterable[str]) -> bytes:
    """Build the database of an index, as the bytes of its file; texts are identified by their positions."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute("CREATE VIRTUAL TABLE found USING fts5(terms, content='', tokenize='ascii')")
        # Segments of 4 MiB fit in the processor's cache; they are merged only once, at the end.
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
    """An index in memory, from the bytes of `build_fulltext`; it may be used from several threads.

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
