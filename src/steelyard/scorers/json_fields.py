"""Compares the fields of a JSON output with those expected, each by a rule that suits it: extraction's usual check."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from unicodedata import normalize

from steelyard.constraints import TextList
from steelyard.errors import ConfigError, DataError, did_you_mean
from steelyard.normal_form import nfkc
from steelyard.plain_json import text_or_json, to_json
from steelyard.replies.jsonlike import read_json
from steelyard.scorers.lexical import share_info, unscored
from steelyard.scorers.numbers import numbers_in
from steelyard.types import INLINE, STOPPED, Output, Sample, Score, ScoreInfo, StageInfo

_NAME: Final = "json_fields"
_RULES: Final = ("exact", "number", "date", "text", "list", "set")
_MOST_FIELDS: Final = 60
_DEEPEST: Final = 5
_DEEPEST_COMPARED: Final = 50
"""Levels within which 5.0 is 5: a reply may hold any number of brackets."""
_MISSING: Final = object()
_ROUNDING: Final = 1e-9
_MONTHS: Final = tuple(
    tuple(names.split())
    for names in (
        "january januar janner janvier enero gennaio janeiro januari ocak stycznia января",
        "february februar feber fevrier febrero febbraio fevereiro februari subat lutego февраля",
        "march marz maerz mars marzo marco maart marts mart marca марта mrz",
        "april avril abril aprile nisan kwietnia апреля",
        "may mai mayo maggio maio mei maj mayis maja мая",
        "june juni juin junio giugno junho haziran czerwca июня",
        "july juli juillet julio luglio julho temmuz lipca июля",
        "august aout agosto augustus augusti agustos sierpnia августа",
        "september septembre septiembre settembre setembro eylul wrzesnia сентября",
        "october oktober octobre octubre ottobre outubro ekim pazdziernika октября",
        "november novembre noviembre novembro kasim listopada ноября",
        "december dezember decembre diciembre dicembre dezembro desember aralik grudnia декабря",
    )
)
"""English, German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian, Turkish, Polish and Russian, without
accents; a name may be cut after three letters."""
_DECIMAL_COMMA: Final = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+,\d++|0,\d++|\d{4,},\d++|\d+,(?!\d{3}(?!\d))\d++)(?![.,]\d)"
)
"""A number whose comma can only be the decimal one; 1,234 may be either, and is read as English has it."""
_GROUPED: Final = re.compile(r"(?<![\d.,'])\d{1,3}(?:(?: \d{3})+(?!\d| \d)|(?:\.\d{3}){2,}(?![\d.]))")
"""A number whose groups of digits have blanks between them, or several points: 1 234 567, 1.234.567."""
_NO_PLAIN_NUMBER: Final = re.compile(r"\A\s*\([^()]*\)\s*\Z|\d\s?[-\u2212]\s*\Z|\d_\d|\A\s*,\d|‰")
"""Accounts write (5) and 5- for -5, but others do not; ,5 may have lost its first digits; the others are not read."""
_YEAR_FIRST: Final = re.compile(
    r"(?<!\d)(\d{4})\s?[-/.年년]\s?(\d{1,2})\s?[-/.月월]\s?(\d{1,2})(?:\s?[日일]|(?=\D|\Z))"
)
_YEAR_LAST: Final = re.compile(r"(?<!\d)(\d{1,2})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{4})(?=\D|\Z)")
_WORD: Final = r"([^\W\d_]{3,12})\.?"
_IN_WORDS: Final = re.compile(
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th|er|º)?\.?[\s/-]+(?:(?:of|de|di)\s+)?{_WORD}"
    rf"|{_WORD}\s+(\d{{1,2}})(?:st|nd|rd|th)?),?(?:\s+del?)?[\s/-]+(\d{{4}})"
)


@dataclass(frozen=True, slots=True)
class JsonFields:
    """Whether the fields of a JSON output are those expected: all of them, their share, and each one.

    - `json_fields`: 1 if every expected field is right. `json_fields_share`: the share that is.
    - `field_NAME`: 1 or 0 for each field; fields of objects in objects are named `customer.city`.

    The expected output is an object, or its JSON text. The output may stand in a fenced block or between other words;
    broken JSON is unparsed. An expected null is right where the field is missing too. Where no field is
    expected (`{}`), an output without fields is right with `extra: fail`; else there is nothing to compare. Without
    JSON, where the endpoint says that the model refused or a content filter stopped it, it is refused.

    Args:
        compare: by field, how it is compared. `exact`: equal JSON, texts without blanks around them, 5 is 5.0. A
            number: the allowed relative error; `{abs: 0.01}`: the absolute one; `number`: none, but 1,234.50 and
            1.234,50 as text are 1234.5, 847,77 is 847.77, and 1 234 567 is one number. `date`: the same day, in any
            unambiguous notation. `text`: without case, punctuation and further blanks. `list`: equal texts and numbers
            in order; `set`: in any order.
        default: the rule of the other fields.
        extra: whether a field that is not expected fails `json_fields`.
        fields: names that have a score of their own. Empty: those of the dataset.

    >>> sample = Sample("1", "?", {"total": 100, "currency": "EUR"})
    >>> score = JsonFields({"total": 0.01})(sample, Output('{"total": 100.5}'))
    >>> [(each.name, each.value) for each in score]
    [('json_fields', 0.0), ('json_fields_share', 0.5), ('field_total', 1.0), ('field_currency', 0.0)]
    """

    stage_info: ClassVar[StageInfo] = replace(INLINE, name=_NAME)
    fixed_options: ClassVar[tuple[str, ...]] = ("compare", "fields")

    compare: Mapping[str, Any] | None = None
    default: Literal["exact", "text", "number"] = "exact"
    extra: Literal["ignore", "fail"] = "ignore"
    fields: Annotated[tuple[str, ...], TextList(most=_MOST_FIELDS)] = ()

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """All of them, the share, and one of each field that is known."""
        of_field = (share_info(f"field_{field}", 1.0, labels=("right", "wrong")) for field in self._scored_fields())
        headline = replace(share_info(_NAME, 1.0, labels=("right", "wrong")), headline=True)
        return (headline, share_info(f"{_NAME}_share"), *of_field)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: an unknown rule, or a tolerance below 0.
        """
        for field, rule in (self.compare or {}).items():
            if isinstance(rule, str) and rule not in _RULES:
                raise ConfigError(f"compare: {field}: there is no {rule!r}{did_you_mean(rule, _RULES)}")
            tolerance: Any = rule.get("abs") if isinstance(rule, Mapping) and set(rule) == {"abs"} else rule
            is_tolerance = _is_number(tolerance) and bool(0 <= tolerance < float("inf"))
            if not isinstance(rule, str) and not is_tolerance:
                known = f"{', '.join(_RULES)}, a number or {{abs: 0.01}}"
                raise ConfigError(f"compare: {field}: expected {known}, not {rule!r}")

    def with_references(self, references: Sequence[tuple[str, Any]]) -> JsonFields:
        """Return a copy that knows the fields of a dataset, where it names none; only the first 60 have scores.

        Raises:
            DataError: an expected output is no object; the message names its sample.
        """
        names: dict[str, None] = {}
        for sample, reference in references:
            names |= dict.fromkeys(_expected(reference, sample) or ())
        return self if self.fields else replace(self, fields=tuple(names)[:_MOST_FIELDS])

    def __call__(self, sample: Sample, output: Output) -> list[Score]:
        """Compare one output.

        Raises:
            DataError: the expected output is no object.
        """
        expected = _expected(sample.reference, sample.id)
        names = [info.name for info in self.score_infos]
        problem = "the sample has no reference" if expected is None else ""
        if expected == {} and self.extra == "ignore":
            problem = "the sample expects no field"
        if (score := unscored(_NAME, problem, output)) is not None:
            return [replace(score, name=name) for name in names]
        value, problem = read_json(output.value) if isinstance(output.value, str) else (output.value, "")
        if not problem and not isinstance(value, Mapping):
            problem = f"the output is a {type(value).__name__}, not a JSON object"
        if problem or expected is None:
            return self._without_fields(expected or {}, problem, str(output.metadata.get("finish", "")))
        return self._compared(expected, dict(_leaves(value, set(expected))))

    def _without_fields(self, expected: Mapping[str, Any], problem: str, finish: str) -> list[Score]:
        """The scores of an output that is no JSON object; those of fields that the sample lacks do not apply."""
        detail = {"kind": "truncated" if finish == "length" else "none"}
        missing = Score(_NAME, None, outcome="unparsed", reason=problem, detail=detail)
        if finish in STOPPED:
            missing = Score(_NAME, None, outcome="refused", reason="the model refused or a content filter stopped it")
        of_fields = [
            replace(missing, name=f"field_{field}") if field in expected else _not_expected(field)
            for field in self._scored_fields()
        ]
        share = _share_of_none() if not expected else replace(missing, name=f"{_NAME}_share")
        return [missing, share, *of_fields]

    def _scored_fields(self) -> tuple[str, ...]:
        """The fields that are known before an output is compared."""
        return tuple(dict.fromkeys((*self.fields, *(self.compare or {}))))

    def _compared(self, expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[Score]:
        problems = {field: self._problem(field, value, found.get(field, _MISSING)) for field, value in expected.items()}
        right = [field for field, problem in problems.items() if not problem]
        missing = [field for field, value in expected.items() if value is not None and field not in found]
        extra = [field for field in found if field not in expected]
        passed = len(right) == len(expected) and not (extra and self.extra == "fail")
        reason = "; ".join(f"{field}: {problem}" for field, problem in problems.items() if problem)
        if extra and self.extra == "fail":
            reason = "; ".join(filter(None, [reason, f"not expected: {', '.join(extra[:5])}"]))
        detail = {"missing": missing, "extra": extra[:20], "wrong": [field for field in problems if problems[field]]}
        scores = [
            Score(_NAME, float(passed), passed=passed, reason=reason[:500], detail=detail),
            Score(f"{_NAME}_share", len(right) / len(expected), reason=f"{len(right)} of {len(expected)} fields")
            if expected
            else _share_of_none(),
        ]
        for field in self._scored_fields() if self.fields else expected:
            if field not in expected:
                scores.append(_not_expected(field))
            else:
                holds = not problems[field]
                scores.append(Score(f"field_{field}", float(holds), passed=holds, reason=problems[field][:300]))
        return scores

    def _problem(self, field: str, wanted: Any, value: Any) -> str:
        """Why a field is wrong; "" where it is right."""
        if value is _MISSING:
            return "" if wanted is None else "missing"
        rule = (self.compare or {}).get(field, self.default)
        if wanted is None or value is None:
            return "" if wanted is value else f"{_shown(value)}, expected {_shown(wanted)}"
        equal = _exact(wanted, value) or _rules(rule)(wanted, value)
        return "" if equal else f"{_shown(value)}, expected {_shown(wanted)}"


def _not_expected(field: str) -> Score:
    return Score(f"field_{field}", None, outcome="not_applicable", reason="the sample expects no such field")


def _share_of_none() -> Score:
    return Score(f"{_NAME}_share", None, outcome="not_applicable", reason="the sample expects no field")


def _rules(rule: Any) -> Any:
    if isinstance(rule, str):
        return {
            "exact": _exact, "number": _close(), "date": _same_day, "text": _same_text, "list": _same_list,
            "set": _same_set,
        }[rule]  # fmt: skip
    return _close(absolute=rule["abs"]) if isinstance(rule, Mapping) else _close(relative=rule)


def _close(*, relative: float = 0.0, absolute: float = 0.0) -> Any:
    def close(wanted: Any, value: Any) -> bool:
        first, second = _number(wanted), _number(value)
        if first is None or second is None:
            return False
        allowed = max(absolute, relative * abs(first), _ROUNDING * abs(first) * bool(relative or absolute))
        return abs(first - second) <= allowed * (1 + _ROUNDING)

    return close


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    if _is_number(value):
        return float(value)
    if not isinstance(value, str):
        return None
    text = nfkc(value).strip()
    if _NO_PLAIN_NUMBER.search(text):
        return None
    text = _GROUPED.sub(lambda match: re.sub("[ .]", "", match[0]), text)
    text = re.sub(r"\A([-\u2212])\s+(?=\d)", r"\1", text)
    numbers = numbers_in(text, decimal_comma=len(_DECIMAL_COMMA.findall(text)) == 1)
    return float(numbers[0].value) if len(numbers) == 1 else None


def _exact(wanted: Any, value: Any) -> bool:
    return to_json(_plain(wanted)) == to_json(_plain(value))


def _plain(value: Any, depth: int = 0) -> Any:
    """A value as it is compared, also within lists and objects: texts without blanks around them, 5.0 as 5.

    An accent may be a character of its own, as files of macOS have it: nobody sees the difference.
    """
    if depth == _DEEPEST_COMPARED:
        return value
    if isinstance(value, str):
        return normalize("NFC", value).strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain(member, depth + 1) for member in value]
    if isinstance(value, Mapping):
        return {key: _plain(value[key], depth + 1) for key in sorted(value, key=str)}
    return value


def _same_text(wanted: Any, value: Any) -> bool:
    return _words(wanted) == _words(value)


def _words(value: Any) -> str:
    text = nfkc(text_or_json(value)).casefold()
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text).split())


def _same_list(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, list | tuple) or not isinstance(value, list | tuple) or len(wanted) != len(value):
        return False
    return all(map(_exact, wanted, value))


def _same_set(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, list | tuple) or not isinstance(value, list | tuple):
        return False
    keys = [{to_json(_plain(each)) for each in side} for side in (wanted, value)]
    return keys[0] == keys[1]


def _same_day(wanted: Any, value: Any) -> bool:
    first, second = _day(wanted), _day(value)
    return first is not None and first == second


def _day(value: Any) -> date | None:
    """The day that a text names; None where it names none, several, or 3/4/2026, which is one of two."""
    text = value.strip() if isinstance(value, str) else ""
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        pass
    days: set[date] = set()
    for match in _YEAR_FIRST.finditer(text):
        days |= _dates(*match.groups())
    for match in _YEAR_LAST.finditer(text):
        first, sign, second, year = match.groups()
        days |= _dates(year, second, first) | (set() if sign == "." else _dates(year, first, second))
    for match in _IN_WORDS.finditer(text):
        day, month, other_month, other_day, year = match.groups()
        days |= _dates(year, _month(month or other_month), day or other_day)
    return days.pop() if len(days) == 1 else None


def _month(word: str) -> str:
    """The number of the one month that a word names or begins; "0" where it names none, or "ju" of two."""
    plain = "".join(letter for letter in normalize("NFKD", word.lower()) if letter.isalpha()).replace("ı", "i")
    found = [number for number, names in enumerate(_MONTHS, start=1) if any(name.startswith(plain) for name in names)]
    return str(found[0]) if len(found) == 1 else "0"


def _dates(year: str, month: str, day: str) -> set[date]:
    try:
        return {date(int(year), int(month), int(day))}
    except ValueError:
        return set()


def _expected(reference: Any, sample: str) -> dict[str, Any] | None:
    """The expected fields; None where there is no reference."""
    if reference is None or (isinstance(reference, str) and not reference.strip()):
        return None
    if isinstance(reference, str):
        value, problem = read_json(reference, around=False)
        if problem:
            raise DataError(f"sample {sample!r}: json_fields: the expected output is no JSON object: {problem}")
        reference = value
    if not isinstance(reference, Mapping):
        raise DataError(f"sample {sample!r}: json_fields: expected an object with fields, not {reference!r:.80}")
    return dict(_leaves(reference))


def _leaves(
    value: Mapping[str, Any], whole: Collection[str] = (), prefix: str = "", depth: int = 1
) -> Iterator[tuple[str, Any]]:
    """Fields by their names, those of inner objects with a dot; a field in `whole` is not taken apart."""
    for key, member in value.items():
        name = f"{prefix}{key}"
        if isinstance(member, Mapping) and member and name not in whole and depth < _DEEPEST:
            yield from _leaves(member, whole, f"{name}.", depth + 1)
        else:
            yield name, member


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:60]
