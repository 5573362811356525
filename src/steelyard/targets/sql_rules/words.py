"""A question as words: numbers, dates, quoted texts and names told apart, Chinese phrases put into the same words."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, Literal

MAX_QUESTION: Final = 4_000
"""Characters of a question that are read."""

_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_PIECE: Final = re.compile(
    rf"""(?P<quoted>"[^"]{{1,200}}" | “[^”]{{1,200}}” | 「[^」]{{1,200}}」 | 《[^》]{{1,200}}》
        | (?<!\w)'[^']{{1,200}}'(?!\w))
      | (?P<date>\d{{4}}-\d\d?-\d\d?(?!\d))
      | (?P<number>\d+(?:,\d{{3}})+(?:\.\d+)?(?![\d]) | \d+\.\d+ | \d+(?![^\W\d{_WIDE}]))
      | (?P<wide>[{_WIDE}]+)
      | (?P<title>\b(?:St|Dr|Mr|Mrs|Ms|Mt)\.)
      | (?P<word>(?:(?![{_WIDE}])\w)+(?:['’.\-](?:(?![{_WIDE}])\w)+)*)
      | (?P<stop>[.?!;。？！；\n])
      | (?P<comma>[,，、:：])""",
    re.VERBOSE,
)
_PARTS: Final = re.compile(rf"[{_WIDE}]+|\d+|[^\W\d_A-Z{_WIDE}]+|[A-Z]+(?![a-z])|[A-Z][^\W\d_A-Z{_WIDE}]*")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the question.

    Args:
        text: as it stands, quotes taken off.
        stem: for comparison with names of the schema.
        kind: what it is.
        opens: whether it begins a sentence, so that its capital says nothing.
    """

    text: str
    stem: str
    kind: Literal["word", "number", "date", "quoted", "comma"]
    opens: bool = False

    @property
    def capital(self) -> bool:
        """Whether it is written like a name."""
        return self.kind == "word" and self.text[:1].isupper()


@cache
def lexicon() -> Mapping[str, Any]:
    """Phrases, hints, synonyms and their like, from `lexicon.json`."""
    table: Mapping[str, Any] = json.loads(
        files("steelyard.targets.sql_rules").joinpath("lexicon.json").read_text("utf-8")
    )
    return table


def stem(word: str) -> str:
    """A word without plural and past.

    >>> [stem(one) for one in ("Categories", "boxes", "prices", "ordered", "people", "bus")]
    ['category', 'box', 'price', 'order', 'person', 'bus']
    """
    word = unicodedata.normalize("NFKC", word).lower()
    for tail in ("'s", "’s"):
        word = word.removesuffix(tail)
    irregular: Mapping[str, str] = lexicon()["irregular"]
    if word in irregular:
        return irregular[word]
    for tail, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if word.endswith(tail) and len(word) > len(tail) + 1:
            return word[: -len(tail)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word[:-2] if word.endswith("ed") and len(word) > 5 else word


@lru_cache(maxsize=4096)  # each question to a database asks for its names again
def name_parts(name: str) -> tuple[str, ...]:
    """The stems of a name's words.

    >>> name_parts("orderLines"), name_parts("birth_year"), name_parts("HTTPStatus2")
    (('order', 'line'), ('birth', 'year'), ('http', 'status', '2'))
    """
    return tuple(stem(part) for part in _PARTS.findall(name))


def words(question: str, chinese: Iterable[str] = ()) -> list[Word]:
    """The words of a question; a comma is one, the end of a sentence is none.

    Args:
        question: any text; what stands beyond `MAX_QUESTION` is not read.
        chinese: names of the schema that are found inside Chinese text, which has no blanks.

    >>> [(one.text, one.kind) for one in words("Which pieces by Ann O'Hara last over 2.5 minutes?")][-4:]
    [('last', 'word'), ('over', 'word'), ('2.5', 'number'), ('minutes', 'word')]
    """
    known = _known(chinese)
    return list(_words(question[:MAX_QUESTION], known))


def _words(question: str, known: Mapping[str, str]) -> Iterator[Word]:
    opens = True
    numbers: Mapping[str, int] = lexicon()["numbers"]
    for match in _PIECE.finditer(question):
        kind, text = match.lastgroup, match[0]
        if kind == "stop":
            opens = True
            continue
        if kind == "wide":
            yield from _wide(text, known)
        elif kind == "quoted":
            yield Word(text[1:-1], text[1:-1], "quoted")
        elif kind == "comma":
            yield Word(text, ",", "comma")
        elif kind in {"number", "date"}:
            yield Word(text.replace(",", ""), text, "date" if kind == "date" else "number")
        elif text.lower() in numbers:
            yield Word(str(numbers[text.lower()]), text.lower(), "number")
        else:
            yield Word(text, stem(text), "word", opens=opens and kind != "title")
        opens = False


def _known(chinese: Iterable[str]) -> dict[str, str]:
    """Chinese pieces -> the words that stand for them; names of the schema stand for themselves and win."""
    found: dict[str, str] = dict(lexicon()["chinese"])
    found.update((name, name) for name in chinese if name)
    return found


def _wide(text: str, known: Mapping[str, str]) -> Iterator[Word]:
    """Cut Chinese at the longest known piece; what lies between is a value or nothing that is known."""
    longest = min(max(map(len, known)), 24)
    start = at = 0
    while at < len(text):
        size = next((size for size in range(min(longest, len(text) - at), 0, -1) if text[at : at + size] in known), 0)
        if not size:
            at += 1
            continue
        if start < at:
            yield Word(text[start:at], text[start:at], "word")
        for one in known[text[at : at + size]].split():
            yield Word(one, stem(one), "word", opens=True)
        at += size
        start = at
    if start < at:
        yield Word(text[start:], text[start:], "word")
