"""Links a question to a schema: which words name a table, a column, an operator of SQL or a value.

Chinese text is split at the longest known phrases, which are replaced by English words, so that one set of rules reads
both. All word lists are in `lexicon.json`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from steelyard.normal_form import nfkc
from steelyard.sql.schema import Column, Schema, SchemaTable

MAX_QUESTION: Final = 4_000
"""Characters of a question that are read."""

_LONGEST: Final = 6
"""Limit of words of a phrase or a name."""

_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_PIECE: Final = re.compile(
    rf"""(?P<text>"[^"]{{1,200}}" | “[^”]{{1,200}}” | 「[^」]{{1,200}}」 | 《[^》]{{1,200}}》
        | (?<!\w)'[^']{{1,200}}'(?!\w))
      | (?P<date>\d{{4}}-\d\d?-\d\d?(?!\d))
      | (?P<number>\d+(?:,\d{{3}})+(?:\.\d+)?(?![\d]) | \d+\.\d+ | \d+(?![^\W\d{_WIDE}]))
      | (?P<wide>[{_WIDE}]+)
      | (?P<word>(?:(?![{_WIDE}])\w)+(?:['’.\-](?:(?![{_WIDE}])\w)+)*)
      | (?P<stop>[.?!;。？！；\n])""",
    re.VERBOSE,
)
_NAME_PART: Final = re.compile(rf"[{_WIDE}]+|\d+|[^\W\d_A-Z{_WIDE}]+|[A-Z]+(?![a-z])|[A-Z][^\W\d_A-Z{_WIDE}]*")

_Stems = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table."""

    table: SchemaTable
    column: Column

    @property
    def number(self) -> bool:
        """Whether its declared type is one of numbers or truth values, and it is not a key."""
        return any(sign in self.column.type.upper() for sign in lexicon()["number types"]) and not self.key

    @property
    def text(self) -> bool:
        """Whether it is neither number nor key."""
        return not self.number and not self.key

    @property
    def key(self) -> bool:
        """Whether it identifies a row or points to one."""
        names = (*self.table.primary_key, *(name for link in self.table.foreign_keys for name in link.columns))
        return self.column.name.casefold() in map(str.casefold, names) or name_parts(self.column.name)[-1:] == ("id",)


@dataclass(frozen=True, slots=True)
class Span:
    """One or several words of the question and what they mean.

    Args:
        text: the words; of a value without its quotes.
        kind: `word`, `number`, `date`, `text` (a value), `table`, `column`, or a kind of the lexicon.
        value: what the lexicon adds to the kind, an operator for example.
        opens: whether it begins a sentence, so that its capital says nothing.
        table: that it means.
        fields: the columns that it may mean, with their likeness in (0, 1]; after linking the likeliest alone.
    """

    text: str
    kind: str
    value: str = ""
    opens: bool = False
    table: SchemaTable | None = None
    fields: tuple[tuple[Field, float], ...] = ()


@cache
def lexicon() -> Mapping[str, Any]:
    """Phrases, hints, synonyms and other word lists, from `lexicon.json`."""
    table: Mapping[str, Any] = json.loads((files(__package__) / "lexicon.json").read_text("utf-8"))
    return table


@cache
def _phrases() -> Mapping[tuple[str, ...], tuple[str, str]]:
    """The words of each phrase -> its kind and value."""
    kinds: Mapping[str, Sequence[str]] = lexicon()["phrases"]
    split = ((kind.partition(" "), phrases) for kind, phrases in kinds.items())
    return {tuple(phrase.split()): (kind, value) for (kind, _, value), phrases in split for phrase in phrases}


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A word without plural and past.

    >>> [stem(word) for word in ("Categories", "boxes", "prices", "ordered", "people", "bus")]
    ['category', 'box', 'price', 'order', 'person', 'bus']
    """
    word = nfkc(word).lower().removesuffix("'s").removesuffix("’s")
    for ending, instead in lexicon()["endings"].items():
        shorter = re.sub(ending, instead, word)
        if word not in lexicon()["irregular"] and shorter != word:
            return shorter
    return str(lexicon()["irregular"].get(word, word))


@lru_cache(maxsize=4096)  # each question to a database asks for its names again
def name_parts(name: str) -> _Stems:
    """The stems of a name's words.

    >>> name_parts("orderLines"), name_parts("birth_year"), name_parts("HTTPStatus2")
    (('order', 'line'), ('birth', 'year'), ('http', 'status', '2'))
    """
    return tuple(stem(part) for part in _NAME_PART.findall(name))


def hinted(table: SchemaTable, hint: str) -> Field | None:
    """The first column of a table whose name holds a word of that hint, in the hint's order."""
    hints = map(stem, lexicon()["hints"][hint])
    fields = (Field(table, column) for word in hints for column in table.columns if word in name_parts(column.name))
    return next((field for field in fields if hint == "date" or not field.key), None)


def label_of(table: SchemaTable) -> Field:
    """The column that names a row for a person, else the first that is neither key nor number, else the first."""
    fields = [Field(table, column) for column in table.columns]
    return hinted(table, "label") or next((field for field in fields if field.text), fields[0])


def link(question: str, schema: Schema) -> tuple[list[Span], SchemaTable]:
    """Link the words of a question to a schema; returns the spans and the main table.

    Args:
        question: any text; what comes after `MAX_QUESTION` characters is not read.
        schema: at least one table, each with a column.
    """
    mentions = _mentions(list(_words(question, schema)), schema)
    spans: list[Span] = []
    for is_name, run in groupby(mentions, key=lambda span: span.kind == "name"):
        spans += [Span(" ".join(span.text for span in run).removesuffix("'s"), "text")] if is_name else run  # noqa: B031
    main = _main(spans, schema)
    return [_chosen(span, spans, main) if span.fields else span for span in spans], main


def _words(question: str, schema: Schema) -> Iterator[Span]:
    names = [name for table in schema.tables for name in (table.name, *(column.name for column in table.columns))]
    chinese = {**lexicon()["chinese"], **{name: name for name in names if not name.isascii()}}
    opens = True
    for match in _PIECE.finditer(question[:MAX_QUESTION]):
        kind, text = str(match.lastgroup), match[0]
        number = lexicon()["numbers"].get(text.lower())
        if kind == "wide":
            yield from _wide(text, chinese)
        elif kind != "stop":
            text = text[1:-1] if kind == "text" else str(number or text.replace(",", ""))
            yield Span(text, "number" if number else kind, opens=opens)
        opens = kind == "stop"


def _wide(text: str, translations: Mapping[str, str]) -> Iterator[Span]:
    """Split Chinese text at the longest known phrases; the text between them is a value, or unknown."""
    pieces = sorted((piece for piece in translations if piece in text), key=len, reverse=True)
    cut = re.split(f"({'|'.join(map(re.escape, pieces))})", text) if pieces else [text]
    for number, piece in enumerate(cut):
        if number % 2:
            yield from (Span(word, "word", opens=True) for word in translations[piece].split())
        elif piece and piece not in lexicon()["chinese measure words"]:
            yield Span(piece, "word")


def _mentions(words: Sequence[Span], schema: Schema) -> Iterator[Span]:
    """The words joined to spans, at each position the longest that has a meaning."""
    index = _index(schema)
    at = 0
    while at < len(words):
        size, span = 1, words[at]
        for length in range(min(_LONGEST, len(words) - at), 0, -1):
            run = words[at : at + length]
            if any(word.kind != "word" for word in run):
                continue
            phrase = _phrases().get(tuple(word.text.lower() for word in run))
            stems = tuple(stem(word.text) for word in run)
            capital = run[0].text[0].isupper() and not run[0].opens
            # A word that SQL knows is a column only by its whole name, a capital in mid-sentence by most of it.
            least = (2.0 if length > 1 else 1.0) if phrase else 0.5 if capital else 0.0
            name = _named(stems, [pair for pair in index.get(stems, ()) if pair[1] >= least])
            if name is not None or phrase is not None:
                text = " ".join(word.text for word in run)
                size, span = length, replace(name or Span("", *(phrase or ("", ""))), text=text)
                break
        yield replace(span, kind="name") if span.kind == "word" and _is_name(span) else span
        at += size


def _named(stems: _Stems, meanings: Sequence[tuple[SchemaTable | Field, float]]) -> Span | None:
    """The table or the columns that words mean, whichever is likelier."""
    best = dict(sorted(meanings, key=lambda pair: pair[1]))  # of several likenesses the highest remains
    table = next(
        (table for table in best if isinstance(table, SchemaTable) and best[table] == max(best.values())), None
    )
    fields = tuple((field, score) for field, score in best.items() if isinstance(field, Field))
    if table is None and (not fields or stems[0] in {"on", "at", "no"}):
        return None
    return Span("", "column", fields=fields) if table is None else Span("", "table", table=table)


def _is_name(word: Span) -> bool:
    """Whether a word that means nothing else is part of a name: a capital in mid-sentence, or Chinese."""
    capital = word.text[0].isupper() and word.text.lower() not in lexicon()["months"] and word.text != "I"
    return not word.opens and (capital or not word.text.isascii())


def _index(schema: Schema) -> Mapping[_Stems, list[tuple[SchemaTable | Field, float]]]:
    """Words -> the tables and columns that they may mean: by all of the name, its last or first word, or a synonym."""
    index: dict[_Stems, list[tuple[SchemaTable | Field, float]]] = defaultdict(list)
    names: list[tuple[SchemaTable | Field, str]] = [(table, table.name) for table in schema.tables]
    names += [(Field(table, column), column.name) for table in schema.tables for column in table.columns]
    for meaning, parts in ((meaning, name_parts(name)) for meaning, name in names):
        index[parts].append((meaning, 1.0))
        if parts[-1:] != ("id",):
            index[parts[-1:]].append((meaning, 0.5))
            index[parts[:1]].append((meaning, 0.4))
        for synonym in (synonym for part in parts for synonym in lexicon()["synonyms"].get(part, ())):
            index[name_parts(synonym)].append((meaning, 0.6 if len(parts) == 1 else 0.45))
    return index


def _main(spans: Sequence[Span], schema: Schema) -> SchemaTable:
    """What is counted, else the first table mentioned, else the one with most of the columns mentioned."""
    counted = next((at for at, span in enumerate(spans) if span.kind == "count"), len(spans))
    for span in (*spans[counted + 1 : counted + 4], *spans):
        if span.table is not None:
            return span.table
    tables = [field.table for span in spans for field, _ in span.fields]
    return max(schema.tables, key=tables.count)


def _chosen(span: Span, spans: Sequence[Span], main: SchemaTable) -> Span:
    """The span with the likeliest of its columns: of the main table, of one mentioned, with more words mentioned."""
    tables = [other.table for other in spans]
    text = " ".join(other.text for other in spans).lower()

    def worth(pair: tuple[Field, float]) -> float:
        home, parts = pair[0].table, name_parts(pair[0].column.name)
        mentioned = sum(part in text for part in parts) / max(len(parts), 1)
        return 2 * pair[1] + 1.0 * (home is main) + 0.6 * (home in tables) + 0.5 * mentioned

    return replace(span, fields=(max(span.fields, key=worth),))
