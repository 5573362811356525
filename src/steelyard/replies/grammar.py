"""Turns word lists and templates into patterns, so that each word of a language is written once.

The lists are in `lexicon`: a file for each language, and `markup.toml`. In a template `<name>` is any entry of the list
of that name, `<name?>` the same or nothing, a blank one to three blanks (bold words leave some), and `~60` at most 60
characters within a clause. Everything else is a regular expression. A reader asks for a kind of phrase, as
`pattern("choice", "declared")`, and gets the templates of all languages as one pattern, compiled once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

_SLOT: Final = re.compile(r"(?<!\?P)<(\w+)(\?)?>(?P<blank> ?)")
_BLANK: Final = re.compile(r"\\.|\[(?:\\.|[^\]])*\]|(?P<optional> \?)|(?P<blank> )")
"""A blank, or what may hold one that is meant as itself: an escaped sign, a class of characters."""
_BLANKS: Final = {"optional": r"[ \t]{0,3}", "blank": r"[ \t]{1,3}"}
_GAP: Final = re.compile(r"~(\d+)")
_FOLDER: Final = Path(__file__).parent / "lexicon"
_LANGUAGES: Final = ("en", "zh", "ko", "pt", "es", "fr", "de", "ja", "markup")
FLAGS: Final = re.IGNORECASE | re.MULTILINE


@lru_cache(maxsize=4)
def languages_in(text: str) -> tuple[str, ...]:
    """The languages that a text may hold: those without signs of their own, and those of which a sign is in it.

    >>> languages_in("The answer is B"), languages_in("정답은 B")
    (('en', 'zh', 'markup'), ('en', 'zh', 'ko', 'markup'))
    """
    lowered, signs = text.lower(), _signs(text.isascii())
    return tuple(language for language, words in signs if words is None or any(word in lowered for word in words))


@cache
def _signs(ascii_alone: bool) -> tuple[tuple[str, tuple[str, ...] | None], ...]:  # noqa: FBT001  # of one text
    """Each language with its signs; without those that a text in ASCII cannot hold."""
    signs = ((language, lexicon(language).get("signs")) for language in _LANGUAGES)
    return tuple(
        (language, words and tuple(word for word in words if word.isascii() or not ascii_alone))
        for language, words in signs
    )


@cache
def lexicon(language: str) -> Mapping[str, Any]:
    """The word lists and templates of one language, as its file has them."""
    return tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))


@cache
def words(name: str) -> tuple[str, ...]:
    """The entries of the list `name`, those of every language.

    >>> "therefore" in words("conclusion"), "因此" in words("conclusion")
    (True, True)
    """
    return tuple(entry for language in _LANGUAGES for entry in lexicon(language).get("words", {}).get(name, ()))


@cache
def pattern(section: str, kind: str) -> re.Pattern[str]:
    """The phrases of one kind as a pattern: ignores case, `^` and `$` are those of lines."""
    return re.compile(source(section, kind), FLAGS)


@cache
def pattern_in(languages: tuple[str, ...], section: str, kind: str) -> re.Pattern[str]:
    """The phrases of some languages alone, to be searched in lower-case text.

    Alternatives that begin with a letter in one case are told apart by it, which is several times as fast as ignoring
    the case, and a text needs the phrases of the languages alone that it is written in.
    """
    return re.compile(_phrases(section, kind, languages), re.MULTILINE)


@cache
def hints(section: str, kind: str) -> tuple[str, ...]:
    """Words of which each phrase of a kind contains one; () where the kind names none."""
    sections = [lexicon(language).get(section, {}) for language in _LANGUAGES]
    return tuple(hint for phrases_of in sections for hint in phrases_of.get(f"{kind}_hints", ()))


@cache
def source(section: str, kind: str, languages: tuple[str, ...] = _LANGUAGES) -> str:
    """The phrases of one kind as the text of a regular expression, for use in a larger one."""
    return _phrases(section, kind, languages)


def _phrases(section: str, kind: str, languages: Iterable[str]) -> str:
    return any_of(
        expanded(template, language)
        for language in languages
        for template in lexicon(language).get(section, {}).get(kind, ())
    )


def expanded(template: str, language: str) -> str:
    r"""A template as a regular expression.

    >>> expanded("<answer>~3 <be?>", "zh")
    '(?:正确选项|正确项|答案)[^.,;:?!\\n。]{0,3}?[ \\t]{1,3}(?:(?:是|为))?'
    """
    lists: Mapping[str, list[str]] = lexicon(language)["words"]

    def slot(match: re.Match[str]) -> str:
        entries, blank = _alternatives(lists[match[1]]), match["blank"]
        return f"(?:{entries}{blank})?" if match[2] else entries + blank

    with_words = _SLOT.sub(slot, template)
    with_gaps = _GAP.sub(r"[^.,;:?!\\n。]{0,\1}?", with_words)
    return _BLANK.sub(lambda match: _BLANKS.get(match.lastgroup or "", match.group()), with_gaps)


def _alternatives(entries: Iterable[str]) -> str:
    """Any of the entries, the longest first, each bounded as a word where it begins or ends as one."""
    return any_of(_bounded(entry) for entry in sorted(entries, key=len, reverse=True))


def _bounded(entry: str) -> str:
    before = r"\b" if entry[0].isascii() and (entry[0].isalnum() or entry[0] == "\\") else ""
    after = r"\b" if entry[-1].isascii() and (entry[-1].isalnum() or entry[-1] in "})?") else ""
    return before + entry + after


def any_of(patterns: Iterable[str]) -> str:
    """An alternation of regular expressions; one that matches nothing where there is none."""
    return f"(?:{'|'.join(patterns) or '(?!)'})"
