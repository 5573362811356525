"""How a judge's reply names the two that it compares: `Assistant A`, `(b)`, `the second answer`, `Summary #2`.

The patterns depend on how the prompt calls the two, and are built once for each pair of names.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from steelyard.replies.clean import fold
from steelyard.replies.grammar import any_of, source, words

NOUN: Final = any_of(words("side_noun"))
"""What the two are: an answer, an assistant."""
_FIRST_LETTERS: Final = "".join(sorted({noun[0] for noun in words("side_noun")}))
_ORDINALS: Final = (("1", "one", "first", "一"), ("2", "two", "second", "二"))
_TIE: Final = source("preference", "tie")


class PairNames(NamedTuple):
    """Patterns for one pair of names.

    Args:
        mentions: finds each of the two and each word for a tie; the group that took part begins with `a`, `b` or `t`.
        letters: the labels that a letter alone in a mark stands for; a letter that is a name's own stays that name's.
        plain: whether the two are called A and B, so that numbers may stand for them.
    """

    mentions: re.Pattern[str]
    letters: dict[str, str]
    plain: bool


@lru_cache(maxsize=32)
def pair_names(names: tuple[str, str]) -> PairNames:
    """The patterns for replies about `names`.

    Raises:
        ValueError: the names are blank, or do not differ.
    """
    first, second = (" ".join(fold(name).split()) for name in names)
    if not first or not second or first == second:
        raise ValueError(f"two different names are needed, not {names[0]!r} and {names[1]!r}")
    tails = _tail(first, second), _tail(second, first)
    taken = {tail.upper() for tail in tails}
    plain = [tail.upper() for tail in tails] == ["A", "B"]
    letters = {"A": "A", "B": "B"} if plain or not taken & {"A", "B"} else {}
    if "C" not in taken:
        letters["C"] = "tie"
    third = r"|(?-i:(?<![A-Za-z0-9'])C(?=[\s.\])}\"']|\Z))" if plain and len(first) == 1 else ""
    cased = first.casefold() == second.casefold()
    sides = [_side(name, tail, cased=cased) for name, tail in zip((first, second), tails, strict=True)]
    behind = [_behind_noun(tail, place, cased=cased) for place, tail in enumerate(tails)]
    ordinal = [_ordinal(tail, place) for place, tail in enumerate(tails)]
    mentions = re.compile(
        rf"(?P<tie>{_TIE}{third})|(?<![A-Za-z])(?=[{_FIRST_LETTERS}]){NOUN}(?:(?P<a_noun>{behind[0]})|(?P<b_noun>{behind[1]}))"
        rf"|(?P<a_first>{ordinal[0]})|(?P<b_second>{ordinal[1]})|(?P<a>{sides[0]})|(?P<b>{sides[1]})",
        re.IGNORECASE,
    )
    return PairNames(mentions, letters, plain and len(first) == 1)


def _side(name: str, tail: str, *, cased: bool) -> str:
    """One of the two, named in full or by what tells it from the other."""
    whole = _whole(name, cased=cased)
    if not (len(tail) == 1 and tail.isascii() and tail.isalpha()):
        return f"{whole}|{_whole(tail, cased=False)}"
    letter = tail if cased else tail.upper()
    small = "" if cased else rf"|(?-i:(?<![A-Za-z0-9])\({letter.lower()}\))"
    return rf"{whole}|(?-i:(?<![A-Za-z0-9'’]){letter}(?![A-Za-z0-9])){small}"


def _behind_noun(tail: str, place: int, *, cased: bool) -> str:
    """What follows `answer` or `assistant`: `A`, `#1`, `one`."""
    forms = []
    if len(tail) == 1 and tail.isascii():
        sign = rf"(?-i:{re.escape(tail)})" if cased else re.escape(tail)
        forms.append(rf"\s{{0,3}}[_#(\[\"'-]?\s?{sign}(?![A-Za-z0-9])[)\"]?")
    if _is_counted(tail, place):
        number, word, _, zh = _ORDINALS[place]
        forms.append(rf"\s{{0,3}}[_#(]?\s?(?:{number}|{word}\b)(?!\d)\)?|{zh}(?!个|些|样|方面|点|般|定|致|起)")
    return any_of(forms)


def _ordinal(tail: str, place: int) -> str:
    if not _is_counted(tail, place):
        return "(?!)"
    number, _, ordinal, zh = _ORDINALS[place]
    return rf"\b(?:{ordinal}|{number}(?:st|nd))\s(?:{NOUN}|one)\b|第{zh}[个篇条份种]?{NOUN}?"


def _is_counted(tail: str, place: int) -> bool:
    return tail.upper() == "AB"[place] or tail == "12"[place]


def _whole(name: str, *, cased: bool) -> str:
    """`name` as a whole word, with any blanks."""
    body = r"\s{1,4}".join(re.escape(part) for part in name.split())
    before = r"(?<![A-Za-z0-9])" if name[0].isascii() else ""
    after = r"(?![A-Za-z0-9])" if name[-1].isascii() else ""
    return rf"(?-i:{before}{body}{after})" if cased or len(name) == 1 else f"{before}{body}{after}"


def _tail(name: str, other: str) -> str:
    """What tells `name` from `other`: it without the beginning that both share, from the last word border on."""
    shared = next(
        (place for place, (one, two) in enumerate(zip(name, other, strict=False)) if one != two),
        min(len(name), len(other)),
    )
    on_border = shared > 0 and (not name[shared - 1].isalnum() or not name.isascii())
    tail = name[shared:] if on_border else name[name[:shared].rfind(" ") + 1 :]
    return tail.strip() or name
