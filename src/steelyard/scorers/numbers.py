"""Scores whether an output contains the reference's numbers, in whatever notation they are written.

Numbers are read in the ways that people and models write them, English and Chinese: 1,234.5, 1_234 and, with a decimal
comma, 1 234,5; 1.2e3 and 1.2 x 10^3, 12 %, 1.5 million, 5k, 2 Mio., 3 crore; 一百二十三, 二〇二四, 三点五, 百分之十二,
3万5千 and 1.5亿. Not read are words ("twelve"), parts of a name or a version (GPT-4, H2O, 1.2.3), and the exponent of a
unit (cm^2). A fraction (1/2) is two numbers, or one where the caller says so. A Chinese digit alone counts where it
stands for a number, not in a word such as 统一.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import cache
from types import MappingProxyType
from typing import ClassVar, Final, Literal
from unicodedata import normalize

from steelyard.constraints import Share
from steelyard.errors import ConfigError
from steelyard.replies.answer_text import text_of
from steelyard.replies.citations import without_citations
from steelyard.replies.clean import fold
from steelyard.scorers.lexical import reached, references_of, share_info, unscored, which_reference
from steelyard.types import INLINE, Output, Sample, Score, ScoreInfo, StageInfo

_WORD: Final = re.compile(r"\s*([a-zµ°][a-zµ°²³0-9]*(?:/[a-z]+[²³]?)?|[\u4e00-\u9fff]+)")
_LONG: Final = 20
_EXACT: Final = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


@dataclass(frozen=True, slots=True)
class NumberMatch:
    """Whether the output contains the numbers of the reference.

    Numbers are compared by value: 1,234.5 is 1234.50, 12 % is 0.12 and 三万五千 is 35,000. Without units, 12 % is also
    12. Fractions (3/4) are compared by value in mode `final`, and where the reference and the output both hold one,
    else as two numbers. Citation marks ([2], 【4†source】, [^3]) are no numbers. Of several references the best counts.
    `final` compares the last number of both, as GSM8K is scored (K. Cobbe et al., "Training verifiers to solve math
    word problems", 2021).

    Args:
        mode: `all` numbers of the reference, `any` of them, the `share` that is found, or the `final` ones.
        relative_tolerance: allowed relative error of a number, as a share of the reference's number.
        decimal_comma: read 1.234,5 and 1 234,5 as 1234.5.
        units: also require the same unit: the word (or run of Chinese) after the number, the currency sign before it.
        threshold: with `share`, the share from which a sample passes; None: none is set.

    >>> NumberMatch(mode="final")(Sample("1", "6 * 3?", "#### 18"), Output("6 * 3 is **18**.")).value
    1.0
    """

    short_key: ClassVar[str] = "value"
    stage_info: ClassVar[StageInfo] = INLINE

    mode: Literal["all", "any", "share", "final"] = "all"
    relative_tolerance: float = 0.0
    decimal_comma: bool = False
    units: bool = False
    threshold: Share | None = None

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Right or wrong; with `share` the share, which has no names for 1 and 0."""
        if self.mode == "share":
            return (share_info("number_match", self.threshold),)
        return (share_info("number_match", 1.0, labels=("right", "wrong")),)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: a tolerance out of [0, 1), or a threshold without `share`.
        """
        if not 0 <= self.relative_tolerance < 1:
            raise ConfigError(f"relative_tolerance: expected 0 to below 1, but got {self.relative_tolerance}")
        if self.threshold is not None and self.mode != "share":
            raise ConfigError(f"threshold: only mode 'share' takes one, not mode {self.mode!r}")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look for the references' numbers in one output."""
        texts, problem = references_of(sample)
        answered = text_of(output)
        fractions = self.mode == "final" or (_has_fraction(answered) and any(map(_has_fraction, texts)))
        references = [numbers for text in texts if (numbers := self._numbers_in(text, fractions=fractions))]
        problem = problem or ("" if references else "the reference holds no number")
        if (score := unscored("number_match", problem, output)) is not None:
            return score
        answer = self._numbers_in(answered, fractions=fractions)
        matches = [self._matches(numbers, answer) for numbers in references]
        values = [self._value(flags) for flags in matches]
        best = values.index(max(values))
        reason = self._reason(references[best], matches[best], answer) + which_reference(best, len(references))
        passed = reached(values[best], self.threshold) if self.mode == "share" else values[best] == 1
        detail = {"numbers": [_plain_decimal(number.value) for number in answer[-10:]], "reference": best}
        return Score("number_match", values[best], passed=passed, reason=reason, detail=detail)

    def _numbers_in(self, text: str, *, fractions: bool) -> list[WrittenNumber]:
        return numbers_in(text, decimal_comma=self.decimal_comma, fractions=fractions)

    def _matches(self, reference: Sequence[WrittenNumber], answer: Sequence[WrittenNumber]) -> list[bool]:
        """For each number of the reference, whether the answer holds it."""
        if self.mode == "final":
            reference, answer = reference[-1:], answer[-1:]
        return [any(self._is_same(number, candidate) for candidate in answer) for number in reference]

    def _value(self, matches: Sequence[bool]) -> float:
        if self.mode == "share":
            return sum(matches) / len(matches)
        return float(any(matches) if self.mode == "any" else all(matches))

    def _is_same(self, number: WrittenNumber, candidate: WrittenNumber) -> bool:
        if self._is_close(number.value, candidate.value):
            return not self.units or _same_unit(number, candidate)
        return not self.units and self._is_close(number.face, candidate.face)

    def _is_close(self, number: Decimal, candidate: Decimal) -> bool:
        if number == candidate:
            return True
        if not self.relative_tolerance:
            return False
        allowed = _EXACT.multiply(abs(number), Decimal(str(self.relative_tolerance)))
        return _EXACT.subtract(number, candidate).copy_abs() <= allowed

    def _reason(
        self, reference: Sequence[WrittenNumber], matches: Sequence[bool], answer: Sequence[WrittenNumber]
    ) -> str:
        if not answer:
            return "the output holds no number"
        if self.mode == "final":
            last, expected = _plain_decimal(answer[-1].value), _plain_decimal(reference[-1].value)
            return f"the last number is {last}" + ("" if all(matches) else f", {expected} is right")
        missing = [
            _plain_decimal(number.value) for number, is_there in zip(reference, matches, strict=True) if not is_there
        ]
        return f"missing: {', '.join(missing[:5])}" if missing else f"{len(matches)} found"


def _same_unit(reference: WrittenNumber, answer: WrittenNumber) -> bool:
    """Whether currency and unit are the same; a Chinese unit has no end, so the answer's must only begin with it."""
    word = _WORD.match(reference.after)
    if reference.before != answer.before or word is None:
        return reference.before == answer.before
    answer_word = _WORD.match(answer.after)
    if answer_word is None:
        return False
    chinese = word[1][0] >= "一"
    return answer_word[1].startswith(word[1]) if chinese else answer_word[1] == word[1]


def _plain_decimal(number: Decimal) -> str:
    """Format a number for a reason, without trailing zeros."""
    if abs(number.adjusted()) > _LONG:
        return f"{number:.3E}"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_DIGITS: Final[Mapping[str, str]] = MappingProxyType(dict(zip("零〇一二两三四五六七八九", "001223456789", strict=True)))
_UNITS: Final[Mapping[str, Decimal]] = MappingProxyType(
    {"亿": Decimal(10**8), "万": Decimal(10**4), "千": Decimal(1000), "百": Decimal(100), "十": Decimal(10)}
)
_SCALES: Final[Mapping[str, Decimal]] = MappingProxyType(
    {
        "k": Decimal(10**3), "hundred": Decimal(10**2), "thousand": Decimal(10**3), "million": Decimal(10**6),
        "billion": Decimal(10**9), "bn": Decimal(10**9), "trillion": Decimal(10**12),
        "m": Decimal(10**6), "mio": Decimal(10**6), "millionen": Decimal(10**6), "millones": Decimal(10**6),
        "milhões": Decimal(10**6), "milioni": Decimal(10**6), "mrd": Decimal(10**9), "milliarde": Decimal(10**9),
        "milliarden": Decimal(10**9), "milliard": Decimal(10**9), "miliardi": Decimal(10**9),
        "lakh": Decimal(10**5), "crore": Decimal(10**7),
    }
)  # fmt: skip
_WRITTEN: Final = str.maketrans(
    "，、،؛٬٪−壹贰叁肆伍陆柒捌玖拾佰仟萬億兩負负點", "；；；；'%-一二三四五六七八九十百千万亿两--点"
)
_MEASURES: Final = frozenset(
    "个個只隻人名位元块本年月日天周岁歲次种類类件条條张張章卦爻层米公厘毫千克斤吨度秒小时倍页頁行列点题步组"
)
_BEFORE_LONE: Final = frozenset("是为有共得于约达到等剩余")

_HAN: Final = "".join(_DIGITS)
_GROUPED: Final = r"\d{1,3}(?:[,']\d{3})+(?!\d)(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?"
_GROUPED_COMMA: Final = r"\d{1,3}(?:[. ']\d{3})+(?!\d)(?:,\d+)?"
_PLAIN: Final = r"(?<!\d\.)\d+(?:\.\d+)?|(?<![A-Za-z\d_.])\.\d+"
_PLAIN_COMMA: Final = r"\d+(?:[.,]\d+)?"
_SCALE: Final = (
    r"(?P<scale>(?:k|(?-i:M))(?![A-Za-z])|[ -]?(?:hundred|thousand|million(?:en)?|millones|milhões|milioni"
    r"|milliard(?:en?)?|miliardi|billion|trillion|bn|mio|mrd|lakh|crore)(?=s?(?![A-Za-z])))"
)
# 3千克 is three kilograms, and 百分 and 百度 are words: there the character is not a unit of the number.
_UNIT: Final = r" ?(?:千(?![克米瓦卡焦帕伏安])|百(?![分度帕])|万|亿)"
_MIXED: Final = rf"(?P<mixed>(?:(?:{_UNIT})+(?:[零〇]?(?:\d+(?:\.\d+)?|[{_HAN}](?![{_HAN}])))?)+)"
_CHINESE: Final = rf"(?<![几数])(?P<han>[{_HAN}十][{_HAN}十百千万亿]*+(?:点[{_HAN}]+[万亿]?)?)"
_PERCENT: Final = r"(?P<percent>[ \u202f]?(?:%|(?:percent|per cent|prozent|por ciento|por cento|pour cent)\b))?"
_VERSION: Final = r"(?<![\d.])\d+(?:\.\d+){2,}"
_GROUP_BLANK: Final = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_LIST_MARK: Final = re.compile(r"^[ \t]*(\d{1,2})[.)；](?=[ \t]+\S)", re.MULTILINE)
_TIMES_TEN: Final = re.compile(
    r"(?:(?<=\d)\s?(?:[×x*·⋅]|\\times|\\cdot)\s?|(?P<alone>(?<![\w.,])))10\s?"
    r"(?:\^\s?\{?\s?(?P<exponent>[-−]?\d{1,3})\s?\}?|(?P<raised>⁻?[⁰¹²³⁴-⁹]{1,3}))(?!\d)"
)
_RAISED: Final = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")
_UNIT_POWER: Final = re.compile(
    r"(?<![A-Za-z])((?:[kcdm]?m|ft|feet|in\.?|inch(?:es)?|yd|yards?|mi|miles?|(?:centi|kilo|milli)?met(?:er|re)s?|units?|s)"
    r"\s?\}?)\^\s?\{?-?[123]\}?(?!\d)"
)
"""The exponent of a unit, as in cm^2, is no number of the text."""
_FRAC: Final = re.compile(
    r"\\[dtc]?frac\s?(?:\{\s?(?P<sign>[-−+]?)(?P<over>\d{1,15})\s?\}|(?P<one>\d))"
    r"\s?(?:\{\s?(?P<under>\d{1,15})\s?\}|(?P<other>\d))"
)
"""A fraction of TeX, which takes a digit without braces for a whole part: \\frac34 is 3/4, \\frac1{72} is 1/72."""
_OVER: Final = re.compile(
    r"(?:(?<=[{$(=])|^)(\s?[-−+]?)\{?(\d{1,15})\}?\s?\\over\s?\{?(\d{1,15})\}?(?=\s?(?:[}$).,;]|$))", re.MULTILINE
)
"""The same in plain TeX: {3 \\over 4}."""
_UNDERSCORED: Final = re.compile(r"(?<![\w.\\])\d{1,3}(?:\\?_\d{3})+(?!\w)")
"""Thousands parted as programs write them: 1_000_000."""
_ESCAPED: Final = re.compile(r"\\([%$])|\\!")
_APART: Final = re.compile(
    r"\\[A-Za-z]{2,}+(?=\.?\d)|\b(?:USD|EUR|GBP|JPY|CNY|RMB|INR|HKD|TWD|SGD|KRW|AUD|NZD|CAD|CHF|BRL|MXN|ZAR|Rs)(?=\d)"
)
"""What a number stands behind without a blank, though it is no part of it: a command of TeX, a currency."""
_INDEX: Final = re.compile(r"_\s?\{\s?\d+\s?\}")
_EMPHASIS: Final = re.compile(r"(?<![\w\\)\]}])_{1,3}(?=[-−$€£¥.\d])")
_NEGATIVE: Final = re.compile(
    r"((?:^|[=:(]|\b(?:is|are|was|be|equals?|gives?|get|at|to|of)\b)[ *$]{0,4}(?=[mn])|[=({] ?(?=[-−–]))"
    r"(?:minus|negative|[-−–]) (?=[$€£¥]?\.?\d|\\[dtc]?frac)",
    re.IGNORECASE | re.MULTILINE,
)
"""A sign apart from its number: `is negative 7`, `x = - 7`."""
_DASH: Final = re.compile(r"(?<![^\s=:：(（\[{$*<>≤≥≈~→⇒|,;，；\"'“‘是为])(?<!\d[$\"'])–(?=[$€£¥]?\.?\d)")
"""A dash as a minus: behind anything else, as in 5 kg–7 kg, it joins two numbers."""
_FRACTION: Final = re.compile(
    r"(?<![\d/.,])(?:(?P<whole>\d{1,4})(?:[ \u00a0]|(?=\\)))?"
    r"(?:\\frac\{(?P<over>\d{1,15})\}\{(?P<under>\d{1,15})\}|(?P<up>\d{1,15})\s?[/⁄]\s?(?P<down>\d{1,15}))"
    r"(?![\d/⁄]|[.,]\d)"
)
_VULGAR: Final = re.compile(r"(?:(?<![\d.,])(?P<whole>\d{1,12})[ \u00a0]?|(?<!\d)(?<!\d[ \u00a0]))(?P<sign>[¼-¾⅐-⅞])")
_QUOTIENT: Final = Context(prec=15)
_FOLLOWING: Final = 24
_LONGEST: Final = 64
"""Limit of characters of a number in Chinese: no real one is longer, and the reader recurses for each unit."""


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number found in a text.

    Args:
        value: its value; 12 % is 0.12.
        face: the number as written: 12 for 12 %.
        before: the sign of a currency in front of it, else "".
        after: up to 24 characters that follow it, in lower case.
    """

    value: Decimal
    face: Decimal
    before: str = ""
    after: str = ""


def numbers_in(text: str, *, decimal_comma: bool = False, fractions: bool = False) -> list[WrittenNumber]:
    r"""Find all numbers in a text, in order; list numerals such as 1., 2., 3. and citation marks are not counted.

    Args:
        text: any text; a number may be any length.
        decimal_comma: read 1.234,5 and 1 234,5 as 1234.5. Else a comma before three digits groups them.
        fractions: read 3/4 as 0.75, else as 3 and 4: it may also be a date or a rating.

    >>> [str(number.value) for number in numbers_in("1,234.5 km, 12 % and 3万5千, 一百二十三个")]
    ['1234.5', '0.12', '35000', '123']
    >>> [str(number.value) for number in numbers_in(r"$2\frac{1}{2} \times 10^{3}$ cm^2", fractions=True)]
    ['2.5E+3']
    """
    point = "," if decimal_comma else "."
    typeset = without_citations(text).replace("٫", point).replace("{,}", ",").replace("\\,", "\u2009")
    typeset = _ESCAPED.sub(r"\1", typeset)
    typeset = _DASH.sub("-", _NEGATIVE.sub(r"\1-", _EMPHASIS.sub(" ", typeset)))
    typeset = _with_fracs(_UNDERSCORED.sub(lambda match: re.sub(r"\D", "", match[0]), typeset))
    typeset = _VULGAR.sub(lambda match: _mixed(match["whole"], *_parts_of(match["sign"]), point), typeset)
    if fractions:
        typeset = _FRACTION.sub(lambda match: _fraction(match, point), typeset)
    typeset = _APART.sub(r"\g<0> ", _INDEX.sub(" ", typeset))
    typeset = _UNIT_POWER.sub(r"\1", _TIMES_TEN.sub(_power_of_ten, typeset))
    plain = _without_list_marks(fold(_GROUP_BLANK.sub("", typeset).translate(_WRITTEN)))
    return list(_numbers(plain, decimal_comma=decimal_comma))


def _power_of_ten(match: re.Match[str]) -> str:
    exponent = (match["exponent"] or match["raised"]).translate(_RAISED)
    return f"{'' if match['alone'] is None else '1'}e{exponent}"


def _has_fraction(text: str) -> bool:
    return (_FRACTION.search(_with_fracs(text)) or _VULGAR.search(text)) is not None


def _with_fracs(text: str) -> str:
    return _FRAC.sub(_braced, _OVER.sub(r"\1\\frac{\2}{\3}", text))


def _braced(match: re.Match[str]) -> str:
    sign = match["sign"] or ""
    return f"{sign}\\frac{{{match['over'] or match['one']}}}{{{match['under'] or match['other']}}}"


def _fraction(match: re.Match[str], point: str) -> str:
    return _mixed(match["whole"], match["over"] or match["up"], match["under"] or match["down"], point, match.group())


def _parts_of(sign: str) -> tuple[str, str]:
    """Numerator and denominator of ¾."""
    over, _, under = normalize("NFKC", sign).partition("⁄")
    return over, under


def _mixed(whole: str | None, over: str, under: str, point: str, otherwise: str = "") -> str:
    """A fraction behind a whole number, or alone, as a decimal number of 15 digits."""
    if not int(under):
        return otherwise
    value = _QUOTIENT.add(Decimal(whole or 0), _QUOTIENT.divide(Decimal(over), Decimal(under)))
    return f"{value:f}".replace(".", point)


def _without_list_marks(text: str) -> str:
    """Remove list numerals: lines that begin 1. and 2. are a list; a line "18. " alone may be an answer."""
    numerals = set(_LIST_MARK.findall(text))
    return _LIST_MARK.sub("", text) if {"1", "2"} <= numerals else text


def _numbers(text: str, *, decimal_comma: bool) -> Iterator[WrittenNumber]:
    for match in _pattern(decimal_comma=decimal_comma).finditer(text):
        size = _size(match, text, decimal_comma=decimal_comma)
        if size is not None:
            face = -size if match["sign"] == "-" else size
            hundredth = match["of_hundred"] or match["percent"]
            after = text[match.end() : match.end() + _FOLLOWING].lower()
            yield WrittenNumber(
                _EXACT.divide(face, Decimal(100)) if hundredth else face, face, match["money"] or "", after
            )


@cache
def _pattern(*, decimal_comma: bool) -> re.Pattern[str]:
    grouped, plain = (_GROUPED_COMMA, _PLAIN_COMMA) if decimal_comma else (_GROUPED, _PLAIN)
    arabic = rf"(?:(?P<grouped>{grouped})|(?P<plain>{plain}))(?:(?P<power>[eE][-+]?\d{{1,6}}(?!\d))|{_SCALE}|{_MIXED})?"
    before = r"(?:(?<![A-Za-z\d_)\]%°])(?<!\d[$€])(?<!\d €)(?P<sign>[-+]))?(?P<money>[$€£¥₹₩])?(?P<of_hundred>百分之)?"
    number = rf"(?:(?<![A-Za-z\d_])(?<![A-Za-z]-){arabic}|{_CHINESE}){_PERCENT}"
    return re.compile(rf"{'' if decimal_comma else _VERSION + '|'}{before}{number}", re.IGNORECASE)


def _size(match: re.Match[str], text: str, *, decimal_comma: bool) -> Decimal | None:
    """The number without its sign; None where the match is not a number."""
    if match["han"]:
        return _han(match, text)
    written = match["grouped"] or match["plain"]
    if written is None:
        return None  # a version
    if match["grouped"]:
        written = re.sub(r"[. ']" if decimal_comma else r"[,']", "", written)
    number = _EXACT.create_decimal(written.replace(",", ".") + (match["power"] or ""))
    if match["scale"]:
        return _EXACT.multiply(number, _SCALES[match["scale"].strip(" -").lower()])
    if not match["mixed"] or len(match[0]) > _LONGEST:
        return number
    return _grouped_by_units(f"{number:f}" + match["mixed"].replace(" ", ""))


def _han(match: re.Match[str], text: str) -> Decimal | None:
    if len(match["han"]) > _LONGEST:
        return None
    integer, _, fraction = match["han"].partition("点")
    value = _grouped_by_units(integer) if len(integer) == 1 or set(integer) & set(_UNITS) else _in_digits(integer)
    if fraction:
        digits = "".join(_DIGITS[digit] for digit in fraction.rstrip("万亿"))
        scale = _UNITS.get(fraction[-1], Decimal(1))
        return None if value is None else _EXACT.multiply(value + Decimal(f"0.{digits}"), scale)
    is_lone = len(integer) == 1 and not match["of_hundred"]
    return value if not is_lone or _stands_alone(integer, text, match.start("han"), match.end("han")) else None


def _stands_alone(character: str, text: str, start: int, end: int) -> bool:
    """Whether a single Chinese digit is a number here: before a measure word, or at the end of a clause."""
    previous, following = text[start - 1 : start] if start else "", text[end : end + 1]
    if following in _MEASURES and following:
        return character != "一"  # 一个 is an article more often than a number
    return not _is_han(following) and (not _is_han(previous) or previous in _BEFORE_LONE)


def _is_han(character: str) -> bool:
    return "一" <= character <= "鿿"


def _in_digits(text: str) -> Decimal | None:
    """A number of digits without units, as a year is written: 二〇二四. 三四 is rather "three or four"."""
    if len(text) < 4 and "〇" not in text and "零" not in text:
        return None
    return Decimal("".join(_DIGITS[digit] for digit in text))


def _grouped_by_units(text: str) -> Decimal | None:
    """A number with units, each part in Chinese or Arabic digits; None where the parts do not go together.

    A last digit without a unit counts in the unit below: 三万五 is 35,000, and 三万零五 is 30,005.
    """
    unit = next((symbol for symbol in _UNITS if symbol in text), None)
    if unit is None:
        return _part(text)
    multiplier_text, _, remainder_text = text.partition(unit)
    factor = _UNITS[unit]
    count = Decimal(1) if unit == "十" and not multiplier_text else _grouped_by_units(multiplier_text)
    remainder = remainder_text.lstrip("零〇")
    if not remainder:
        below: Decimal | None = Decimal(0)
    elif remainder == remainder_text and len(remainder) == 1 and factor > 10 and remainder not in _UNITS:
        below = _EXACT.multiply(_part(remainder) or Decimal(0), factor / 10)
    else:
        below = _grouped_by_units(remainder)
    if count is None or below is None or below >= factor:
        return None
    return _EXACT.add(_EXACT.multiply(count, factor), below)


def _part(text: str) -> Decimal | None:
    """One Chinese digit, or a number in Arabic digits."""
    if text in _DIGITS:
        return Decimal(_DIGITS[text])
    return _EXACT.create_decimal(text) if text[:1].isdigit() else None
