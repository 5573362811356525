"""Numbers in a judge's reply that could be ratings: digits, words, Chinese numerals and rows of stars.

What is joined to a word, a date, a sum of money or a count of more digits is no number here. A fraction ("4 out of 5")
and a range ("3-4") are one number each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

WORDS: Final[Mapping[str, int]] = MappingProxyType(
    {
        word: value
        for value, word in enumerate(
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
        )
    }
)
_HAN: Final[Mapping[str, int]] = MappingProxyType(
    {**{one: value for value, one in enumerate("零一二三四五六七八九十")}, "〇": 0, "两": 2}
)
_FIRST: Final = 40
_LAST: Final = 60

_WORD: Final = rf"(?:{'|'.join(WORDS)})"
_PLAIN: Final = r"(?:\d{1,4}(?:\.\d{1,17})?|(?<=[\s:])\.\d{1,17})"
_HAN_NUMBER: Final = r"[零〇一二两三四五六七八九十]{1,3}(?:点[零一二三四五六七八九])?"
_UNIT: Final = (
    r"(?:[ \t]{0,2}-?(?:stars?\b|points?\b|pts?\b|marks?\b)(?!-)"
    r"|\s{0,2}(?:颗|个)?[分星](?![钟析布类离配享辨贝子镜号期级]|之(?!间))"
    r"|\s{0,2}级(?![别])|\ufe0f?\u20e3|\s?%|\s?percent\b|\s?⭐)"
)
_TOP: Final = rf"(?P<top>{_PLAIN}|{_WORD}\b|hundred\b|{_HAN_NUMBER}(?=分|星))(?![A-Za-z0-9_]|\.\d|/\d)"
_OVER: Final = (
    r"\s{0,2}[(\[]?\s{0,2}(?:/|\bout of(?:\s(?:a\s)?(?:possible|total|maximum|max)(?:\s(?:score\s)?of)?)?\s"
    r"|\bof\s(?=\d)"
    r"|,?\s?满分(?:为|是)?:?)\s{0,2}" + _TOP + rf"(?:{_UNIT})?\s{{0,1}}(?:制)?"
)
_TO: Final = (
    r"(?:\s{0,2}(?:~|\bto\b|\bor\b|至|到|或者?|[和与](?=\d{1,2}(?:\.\d)?分))\s{0,2}|[-–—]"
    r"|\s[-–—]\s(?=\d\s*(?:$|\.(?!\s+[^\W\d])|[\n,)]|out|/|分|stars)))"
)

_BODY: Final = (
    r"(?:"
    rf"(?:(?<![A-Za-z0-9.$£€¥\u00c0-\u024f])(?<![A-Za-z0-9)][-–−_])(?<!\d[,:/])(?P<sign>(?<![A-Za-z0-9)\]])[-−+](?=\d))?"
    rf"(?P<digits>{_PLAIN})(?!(?!(?:pts?|points?|stars?)\b)[A-Za-z0-9\u00c0-\u024f°€$£]"
    rf"|_[A-Za-z0-9]|\.\d|,\d|:\d|/\d{{1,2}}/\d|[-–]\Z|[-–]\d{{1,2}}[-–]\d|-(?!stars?\b)[A-Za-z])"
    rf"|\b(?P<word>{_WORD})\b(?!-(?!stars?\b)\w)"
    rf"|(?<![第零一二两三四五六七八九十])(?P<han>{_HAN_NUMBER})(?=\s?(?:颗|个)?[分星](?![钟析布类离配享辨贝子镜号期级]|之(?!间))|\s?级(?!别))"
    rf"|(?<=[:为是】])(?P<alone>\s?{_HAN_NUMBER})(?=\s*(?:[。.,;]|$)))"
    rf"(?P<half>\s?½|\s(?:and\s(?:a|one)|&)[\s-]half)?"
    rf"(?P<unit>{_UNIT})?(?P<late>半)?"
    rf"(?:{_OVER}|(?P<to>{_TO})(?P<other>{_PLAIN}|{_WORD}\b|{_HAN_NUMBER})(?![A-Za-z0-9_]|\.\d"
    rf"|/\d{{4}})(?P<unit2>{_UNIT})?(?:之间)?"
    rf"(?:{_OVER.replace('top', 'top2')})?)?"
    r"|(?P<stars>(?:[★⭐🌟]\ufe0f?\s?){1,12})(?P<half_star>½|✬|⯨)?(?P<empty>(?:[☆✩]\ufe0f?\s?){0,12}))"
)
_ANY: Final = re.compile(
    r"(?=[\d.+\-−zotfsenZOTFSEN零〇一二两三四五六七八九十★⭐🌟 ])" + _BODY, re.IGNORECASE | re.MULTILINE
)
_WESTERN: Final = re.compile(rf"(?=[\d.+\-−]|(?<![A-Za-z]){_WORD}\b)" + _BODY, re.IGNORECASE | re.MULTILINE)
"""The same for a text without Chinese numerals and stars: twice as fast, as most characters begin no number."""
_EASTERN: Final = re.compile("[零〇一二两三四五六七八九十★⭐🌟]")
_TERM: Final = re.compile(r"\s?(?:points?\s|分)?(?:[-+*×÷−]|minus|plus|减|加)\s?\d[^\n=]{0,40}=")


class RatingNumber(NamedTuple):
    """A number with what belongs to it; a tuple, as a reply may have a hundred of them.

    Args:
        start: where it begins.
        stop: where the number itself ends.
        end: where its unit and the number that it is out of end.
        value: None for a range.
        top: the number that it is out of; None where none is named.
        unit: "" or as written, such as "stars", "分" or "%".
        written: "digits", "word", "han" or "stars".
        bounds: both ends of a range; None for a plain number.
    """

    start: int
    stop: int
    end: int
    value: float | None
    top: float | None
    unit: str
    written: str
    bounds: tuple[float, float] | None = None


def value_of(text: str) -> float:
    """The number that `text` writes in digits, as an English word or as a Chinese numeral below 100.

    >>> value_of("4.50"), value_of("Four"), value_of("三点五"), value_of("十二")
    (4.5, 4.0, 3.5, 12.0)
    """
    plain = text.strip().lower()
    if plain in WORDS:
        return float(WORDS[plain])
    if plain[0] in _HAN:
        whole, _, part = plain.partition("点")
        return _han_value(whole) + (_HAN[part] / 10 if part else 0.0)
    return 100.0 if plain == "hundred" else float(plain)


def _han_value(text: str) -> float:
    tens, ten, ones = text.partition("十")
    if not ten:
        return float("".join(str(_HAN[one]) for one in text))
    return float(10 * (_HAN[tens[-1]] if tens else 1) + (_HAN[ones[0]] if ones else 0))


def numbers(text: str) -> list[RatingNumber]:
    """The numbers in folded `text`, in order; of very many the first and the last ones."""
    found = list((_ANY if _EASTERN.search(text) else _WESTERN).finditer(text))
    kept = found if len(found) <= _FIRST + _LAST else [*found[:_FIRST], *found[-_LAST:]]
    return [_starred(match) if match["stars"] else _plain(match) for match in kept if not _is_mark(text, match)]


def _is_mark(text: str, match: re.Match[str]) -> bool:
    """Whether it is a star in front of a number, or a term of a sum whose result follows."""
    if match["stars"]:
        return len(match.group().strip()) == 1 and text[match.end() : match.end() + 1].isdigit()
    return _TERM.match(text, match.end()) is not None


def _starred(match: re.Match[str]) -> RatingNumber:
    filled = sum(one in "★⭐🌟" for one in match["stars"])
    empty = sum(one in "☆✩" for one in match["empty"])
    value = filled + (0.5 if match["half_star"] else 0.0)
    end = match.start() + len(match.group().rstrip())
    top = float(filled + empty + bool(match["half_star"])) if empty else None
    return RatingNumber(match.start(), end, end, value, top, "stars", "stars")


def _plain(match: re.Match[str]) -> RatingNumber:
    digits = match["digits"]
    if digits and match.end() - match.start() == len(digits):
        return RatingNumber(match.start(), match.end(), match.end(), float(digits), None, "", "digits")
    group = next(name for name in ("digits", "word", "han", "alone") if match[name])
    start = match.start("sign") if match["sign"] else match.start(group)
    start += len(match[group]) - len(match[group].lstrip())
    value = value_of(match[group]) * (-1 if match["sign"] in {"-", "−"} else 1)
    if match["half"] or match["late"]:
        value += 0.5
    stop = match.end("late") if match["late"] else match.end("half") if match["half"] else match.end(group)
    unit = (match["unit"] or match["unit2"] or "").strip(" -").lower()
    top = match["top"] or match["top2"]
    written = {"digits": "digits", "word": "word"}.get(group, "han")
    bounds = (value, value_of(match["other"])) if match["to"] else None
    if bounds:
        stop = match.end("other")
    return RatingNumber(
        start,
        stop,
        match.start() + len(match.group().rstrip()),
        None if bounds else value,
        value_of(top) if top else None,
        unit,
        written,
        bounds,
    )
