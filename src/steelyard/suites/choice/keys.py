"""Options and keys as people write them into sheets, read without guessing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.data.table import render

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_OPTIONS: Final = len(LETTERS)

_LABEL: Final = re.compile(r"\s*[(（]?\s*([A-Za-zＡ-Ｚａ-ｚ])\s*[)）.．:：、,，]\s*")
_AROUND: Final = re.compile(r"[\s()\[\]{}<>【】《》〈〉「」.。:、,;/|&'\"`*]+")
_NUMBER: Final = re.compile(r"[\s(\[【]*(\d{1,2})(?:\.0+)?[\s)\]】.、]*")
_BETWEEN: Final = re.compile(r"[\s,、;/|]+")


def folded(text: str) -> str:
    """A text for comparison: without width, case and differences in blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def cut_labels(options: Sequence[str]) -> Sequence[str]:
    """Options without labels of their own, where each one that is not blank carries its own letter.

    >>> cut_labels(["A. 天", "B：地"]), cut_labels(["A. 天", "地"])
    (['天', '地'], ['A. 天', '地'])
    """
    if not options or not _LABEL.match(options[0]):
        return options
    found = [(letter, option, _LABEL.match(option)) for letter, option in zip(LETTERS, options, strict=False) if option]
    if not all(match and unicodedata.normalize("NFKC", match[1]).upper() == letter for letter, _, match in found):
        return options
    return [option[match.end() :] if (match := _LABEL.match(option)) else option for option in options]


def options_of(value: Any) -> list[str]:
    """The options in one JSON value: a list of texts, or an object from letters to texts.

    Raises:
        ValueError: it is neither.

    >>> options_of(["A:天", "B:地"]), options_of({"B": "地", "A": "天"})
    (['A:天', 'B:地'], ['天', '地'])
    """
    if isinstance(value, Mapping):
        letters = sorted(value)
        if "".join(map(str, letters)).upper() != LETTERS[: len(letters)]:
            raise ValueError(f"options have the keys {', '.join(map(str, letters))}; expected A, B, C ...")
        value = [value[letter] for letter in letters]
    if not isinstance(value, list):
        raise ValueError("options are no list of texts")  # noqa: TRY004 - a dataset's mistake, not a programmer's
    if any(isinstance(one, list | Mapping) for one in value):
        raise ValueError("an option is a list or an object, not a text")
    return [render(one) for one in value]


def read_key(text: str, options: Sequence[str], labelled: Sequence[str] = ()) -> str:
    """The letters of a key, sorted.

    A single letter wins over everything else. What may be read in two ways (the number 2 where another option's text
    is "2") is refused.

    Args:
        text: a letter in any width, case, brackets; several letters; 1-based numbers; or an option's text.
        options: the texts of the options, the first is A.
        labelled: the same with labels of their own ("A. 天"), where they had some.

    Raises:
        ValueError: it names no option, or may name two; the message says which.

    >>> options = ["乾", "坤", "震", "巽"]
    >>> [read_key(text, options) for text in ("B", "（ｂ）", "2", "坤", "C、A", "ac")]
    ['B', 'B', 'B', 'B', 'AC', 'AC']
    """
    valid = LETTERS[: len(options)]
    if len(text) == 1 and text in valid:
        return text
    if not text:
        raise ValueError("the key is blank")
    wide = unicodedata.normalize("NFKC", text).upper()
    letters = "".join(sorted(_AROUND.sub("", wide)))
    named = letters if letters and set(letters) <= set(valid) and len(set(letters)) == len(letters) else ""
    if len(named) == 1:
        return named
    same = _same_text(text, valid, (options, labelled))
    readings = sorted({one for one in (named, _numbers(wide, valid), *same) if one})
    if len(readings) == 1:
        return readings[0]
    if readings:
        raise ValueError(f"the key {text[:40]!r} may mean {' or '.join(readings)}; write the letter")
    hint = "; numbers count from 1" if wide.strip() == "0" else ""
    raise ValueError(f"the key {text[:40]!r} is none of {valid[0]} to {valid[-1]} and no option's text{hint}")


def _same_text(text: str, valid: str, texts: Sequence[Sequence[str]]) -> set[str]:
    """Letters of the options with this text; those that differ in case or width only where none is the very same."""
    pairs = [(letter, option) for options in texts for letter, option in zip(valid, options, strict=False)]
    wanted = folded(text)
    return {letter for letter, option in pairs if option == text} or {
        letter for letter, option in pairs if folded(option) == wanted
    }


def _numbers(text: str, valid: str) -> str:
    single = _NUMBER.fullmatch(text)
    parts = [single[1]] if single else _BETWEEN.split(text.strip())
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= len(valid) for part in parts):
        return ""
    return "".join(sorted({valid[int(part) - 1] for part in parts}))
