"""Numbers in a judge's reply that may be ratings: digits, words, Chinese numerals and rows of stars.

What is joined to a word, a date, a sum of money or a count of more digits is not a number here, and neither is the mark
of a list or a level of the scale that is explained. A fraction ("4 out of 5") and a range ("3-4") are one number each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_DIGITS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS: Final[Mapping[str, int]] = MappingProxyType({word: value for value, word in enumerate(_DIGITS)})
"""English number words by their values."""
_HAN: Final[Mapping[str, int]] = MappingProxyType(
    {**{sign: value for value, sign in enumerate("零一二三四五六七八九十")}, "〇": 0, "两": 2}
)
_MOST: Final = (20, 40)
"""Limits of positions where a number may begin: so many of the first and of the last are examined."""
_STARS: Final = "★⭐🌟"
_WORD: Final = rf"(?:{'|'.join(WORDS)})"
_PLAIN: Final = r"(?:\d{1,4}(?:\.\d{1,17}|(?<!,\d),\d{1,2}(?![\d,]|\.\d))?|(?<=[\s:])\.\d{1,17})"
"""Digits with a decimal point or comma; "1,2,3" is a list and "3,000" is no rating."""
_HAN_NUMBER: Final = r"[零〇一二两三四五六七八九十]{1,3}(?:点[零一二三四五六七八九])?"
_HAN_UNIT: Final = r"(?:颗|个)?[分星](?![钟析布类离配享辨贝子镜号期级]|之(?!间))|级(?!别)"
_UNIT: Final = (
    r"(?:[ \t]{0,2}-?(?:stars?|points?|pts?|marks?)\b(?!-)"
    rf"|\s{{0,2}}(?:{_HAN_UNIT})|\ufe0f?\u20e3|\s?%|\s?percent\b|\s?⭐)"
)
_OVER: Final = (
    r"\s{0,2}[(\[]?\s{0,2}(?:/|\bout of(?: (?:a )?(?:possible|total|maximum|max)(?: (?:score )?of)?)?\s|\bof\s(?=\d)"
    rf"|\b(?:von|sur|sobre|su|van|av|из)\s(?=\d)|,?\s?满分(?:为|是)?:?)\s{{0,2}}(?P<top>{_PLAIN}|{_WORD}\b|hundred\b|{_HAN_NUMBER}(?=分|星))"
    rf"(?![A-Za-z0-9_]|\.\d|/\d)(?:{_UNIT})?\s?(?:制)?"
)
_TO: Final = (
    r"(?:\s{0,2}(?:~|\b(?:to|or)\b(?:\s(?:maybe|perhaps|possibly|even|an?)\b){0,2}|至|到|或者?|[和与](?=\d{1,2}(?:\.\d)?分))\s{0,2}|[-–—]"
    r"|(?(between)\s(?:and|&)\s(?:an?\s)?|(?!))"
    r"|\s[-–—]\s(?=\d\s*(?:$|\.(?!\s+[^\W\d])|[\n,]|out|/|分|stars)))"
)
_BODY: Final = (
    r"(?:(?:(?<![A-Za-z0-9.$£€¥À-ɏ])(?<![A-Za-z0-9][-–−_])(?<!\d[,:/])(?P<sign>(?<![A-Za-z0-9)\]])[-−+](?=\d))?"
    rf"(?P<between>(?<=between\s)|(?<=between\sa\s))?(?P<digits>{_PLAIN})(?!(?!(?:pts?|points?|stars?)\b)[A-Za-z0-9À-ɏ°€$£]"
    r"|_[A-Za-z0-9]|\.\d|,\d|:\d|/\d{1,2}/\d|[-–]\Z|[-–]\d{1,2}[-–]\d|-(?!stars?\b)[A-Za-z])"
    rf"|\b(?P<word>{_WORD})\b(?!-(?!stars?\b)\w)"
    rf"|(?<![第零一二两三四五六七八九十])(?P<han>{_HAN_NUMBER})(?=\s?(?:{_HAN_UNIT}))"
    rf"|(?:(?<=[:为是】])|(?<=[:为是】]\s))(?P<alone>{_HAN_NUMBER})(?=\s*(?:[。.,;]|$)))"
    r"(?P<half>\s?½|\s(?:and\s(?:a|one)|&)[\s-]half)?"
    rf"(?P<unit>{_UNIT})?(?P<late>半)?"
    rf"(?:{_OVER}|(?P<to>{_TO})(?P<other>{_PLAIN}|{_WORD}\b|{_HAN_NUMBER})(?![A-Za-z0-9_]|\.\d|/\d{{4}})"
    rf"(?P<unit2>{_UNIT})?(?:之间)?(?:{_OVER.replace('<top>', '<top2>')})?)?"
    rf"|(?P<stars>(?:[{_STARS}]\ufe0f?\s?){{1,12}})(?P<half_star>½|✬|⯨)?(?P<empty>(?:[☆✩]\ufe0f?\s?){{0,12}}))"
)
_TO_ANOTHER: Final = re.compile(r"\s{1,3}(?:or|to|and|[-–—~])\s{1,3}|[-–—~]|\s?(?:或者?|至|到)\s?", re.IGNORECASE)
_FROM: Final = re.compile(r"\bfrom\s(?:\w{1,9}\s){0,2}\Z")
_SUM: Final = re.compile(r"\s?(?:points?\s|分)?(?:[-+*×÷−]|minus|plus|减|加)\s?\d[^\n=]{0,40}?(?:=|\bequals\b)")


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
    top: float | None = None
    unit: str = ""
    written: str = "digits"
    bounds: tuple[float, float] | None = None

    @property
    def is_vague(self) -> bool:
        """Whether it is a word that could as well count something."""
        return self.written == "word" and self.top is None and not self.unit

    @property
    def is_one_star(self) -> bool:
        """Whether it is drawn as one star, with no empty ones beside it."""
        return self.written == "stars" and self.value == 1 and self.top is None


_NUMBER: Final = re.compile(_BODY, re.IGNORECASE | re.MULTILINE)
_BEGINS: Final = re.compile(
    r"[\d.+\-−zotfsenZOTFSEN](?:(?<=\d)|(?<=[.+\-−])(?=\d)|(?<![A-Za-z].)(?<=[a-zA-Z])"
    rf"(?:{'|'.join(word[1:] for word in WORDS)}|{'|'.join(word[1:].upper() for word in WORDS)})(?![A-Za-z]))"
)
"""Where a number may begin: looking for it first is twice as fast as trying the whole pattern everywhere."""
_BEGINS_EASTERN: Final = re.compile(rf"[零〇一二两三四五六七八九十{_STARS}]|{_BEGINS.pattern}")


def value_of(text: str) -> float:
    """The number that `text` writes in digits, as an English word or as a Chinese numeral below 100.

    >>> value_of("4.50"), value_of("4,5"), value_of("Four"), value_of("三点五"), value_of("十二")
    (4.5, 4.5, 4.0, 3.5, 12.0)
    """
    plain = text.strip().lower()
    if plain in WORDS:
        return float(WORDS[plain])
    if plain[0] in _HAN:
        integer, _, part = plain.partition("点")
        tens, ten, units = integer.partition("十")
        value = int("".join(str(_HAN[sign]) for sign in (units if ten else integer)) or 0)
        return 10 * (_HAN[tens[-1]] if tens else 1) * bool(ten) + value + (_HAN[part] / 10 if part else 0.0)
    return 100.0 if plain == "hundred" else float(plain.replace(",", "."))


def numbers(text: str) -> list[RatingNumber]:
    """The numbers in folded `text`, in order; of very many the first and the last ones."""
    begins = [match.start() for match in (_BEGINS if text.isascii() else _BEGINS_EASTERN).finditer(text)]
    first, last = _MOST
    if len(begins) > first + last:
        begins = [*begins[:first], *begins[-last:]]
    matches: list[re.Match[str]] = []
    position = 0
    for begin in begins:
        if begin >= position and (match := _NUMBER.match(text, begin)) is not None:
            matches.append(match)
            position = match.end()
    listed = [_starred(match) if match["stars"] else _number(match) for match in matches if not _is_part(text, match)]
    return _with_ranges_of_fractions(text, listed)


def _with_ranges_of_fractions(text: str, listed: list[RatingNumber]) -> list[RatingNumber]:
    """The numbers with "7/10 or 8/10" as the one range that "7 or 8 out of 10" is; "from 7/10 to 8/10" is a change."""
    ranged: list[RatingNumber] = []
    for number in listed:
        last = ranged[-1] if ranged and number.top is not None else None
        if (
            last is not None
            and last.top == number.top
            and last.value is not None
            and number.value not in {None, last.value}
            and _TO_ANOTHER.fullmatch(text, last.end, number.start)
            and not _FROM.search(text, max(0, last.start - 30), last.start)
        ):
            bounds = (last.value, number.value)
            ranged[-1] = last._replace(stop=number.stop, end=number.end, value=None, bounds=bounds)
        else:
            ranged.append(number)
    return ranged


def _is_part(text: str, match: re.Match[str]) -> bool:
    """Whether it is a star in front of a number, or a term of a sum whose result follows."""
    if match["stars"]:
        return len(match.group().strip()) == 1 and text[match.end() : match.end() + 1].isdigit()
    return _SUM.match(text, match.end()) is not None


def _starred(match: re.Match[str]) -> RatingNumber:
    filled = sum(sign in _STARS for sign in match["stars"]) + (0.5 if match["half_star"] else 0.0)
    empty = sum(sign in "☆✩" for sign in match["empty"])
    end = match.start() + len(match.group().rstrip())
    top = float(int(filled + 0.5) + empty) if empty else None
    return RatingNumber(match.start(), end, end, filled, top, "stars", "stars")


def _number(match: re.Match[str]) -> RatingNumber:
    digits = match["digits"]
    if digits and match.end() - match.start() == len(digits):
        return RatingNumber(match.start(), match.end(), match.end(), value_of(digits))
    group = "digits" if digits else next(name for name in ("word", "han", "alone") if match[name])
    value = value_of(match[group]) * (-1 if match["sign"] in {"-", "−"} else 1)
    value += 0.5 if match["half"] or match["late"] else 0.0
    top = match["top"] or match["top2"]
    bounds = (value, value_of(match["other"])) if match["to"] else None
    last = "other" if bounds else "late" if match["late"] else "half" if match["half"] else group
    return RatingNumber(
        match.start("sign") if match["sign"] else match.start(group),
        match.end(last),
        match.start() + len(match.group().rstrip()),
        None if bounds else value,
        value_of(top) if top else None,
        (match["unit"] or match["unit2"] or "").strip(" -").lower(),
        group if group in {"digits", "word"} else "han",
        bounds,
    )


_FIRST_MARK: Final = re.compile(r"1[.)、:：）]")
"""Every list has a first entry; looking for it is ten times as fast as looking for marks."""
_MOST_RUNS: Final = 3
"""Lists within each other."""
_LIST_MARK: Final = re.compile(
    r"(?:^|\n|(?<=[.;:!?,–—-])\s(?:and\s)?|\sand\s|(?<=[:;。；：])(?<!\d[:;])(?=\d))[ \t]{0,8}(?:[-•]\s)?"
    r"[(（]?(?P<digits>\d{1,2})[.)、:：）](?!\d)"
)
_LABEL_BEFORE: Final = re.compile(r"[A-Za-z)]:\s?\Z")
"""Only a first entry follows a colon: "3. It is short. Rating: 4." has three entries."""
_LAST_LINE: Final = re.compile(r"\n[ \t]{0,8}(?P<digits>\d{1,2})\s{0,9}\Z")
_LEVEL: Final = re.compile(r"\s?=\s?[A-Za-z\u4e00-\u9fff]")
_SERIES: Final = re.compile(
    r"(?<![\d.,/|])\d{1,2}\s?(?:(?P<sign>[|/])\s?\d{1,2}(?:\s?(?P=sign)\s?\d{1,2}(?![\d.]\d))+"
    r"|,\s?\d{1,2}(?:(?:\s?,\s?|,?\s(?:and|or)\s)\d{1,2}(?![\d.]\d))+)"
)
"""The numbers of a form among which a judge should have chosen ("1|2|3"), or those of a list ("steps 2, 3 and 5")."""


def unmarked(text: str, *, cut: bool) -> list[RatingNumber]:
    """The numbers without those of lists and of a scale whose levels are listed or named ("1|2|3", "1 = poor")."""
    all_numbers = numbers(text)
    marks = list_marks(text, cut=cut)
    levels = {number.start for number in all_numbers if _LEVEL.match(text, number.end)}
    series = [match.span() for match in _SERIES.finditer(text)] if len(all_numbers) > 2 else []
    return [
        number
        for number in all_numbers
        if (number.top or number.start not in marks)
        and not (number.start in levels and len(levels) > 1)
        and not text.startswith("]_", number.end)
        and not any(start <= number.start < end for start, end in series)
    ]


def list_marks(text: str, *, cut: bool = False) -> frozenset[int]:
    r"""Where the numbers of numbered lists stand: each belongs to a run 1, 2 ...

    Args:
        text: the reply.
        cut: whether the reply broke off: a lone "1." and a bare number at its end are then entries as well.

    >>> sorted(list_marks("4. Good.\n1. It is short.\n2. It is right."))
    [9, 25]
    """
    if _FIRST_MARK.search(text) is None:
        return frozenset()
    marks: set[int] = set()
    runs: list[list[int]] = []
    for match in _LIST_MARK.finditer(text):
        value, start = int(match["digits"]), match.start("digits")
        if value != 1 and _LABEL_BEFORE.search(text, max(0, match.start() - 4), start):
            continue
        if value == 1:
            runs = [*runs[-_MOST_RUNS:], [start]]
        elif run := next((run for run in reversed(runs) if len(run) == value - 1), None):
            run.append(start)
            marks.update(run)
    if cut and runs:
        marks.update(runs[-1])
        last = _LAST_LINE.search(text)
        if last and int(last["digits"]) == len(runs[-1]) + 1:
            marks.add(last.start("digits"))
    return frozenset(marks)
