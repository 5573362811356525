"""The rule by which two cells of two results are equal, as a setting.

    NULL            equals NULL and nothing else
    numbers         by value, whatever the column's type (int, float, Decimal, numpy's): 1 equals 1.0. Two integers are
                    equal or not. Else a and b are equal where |a - b| <= tolerance * max(|a|, |b|); an integer above
                    1e9 equals only a number within 1e-6 of it. NaN equals NaN, -0.0 equals 0, infinities themselves
    truth values    true equals 1 and false equals 0, by the rule `boolean_as_number`
    dates           a date equals the timestamp of its midnight, and a timestamp with a time zone the same moment in UTC
                    without one, by the rule `date_as_timestamp`; dates, times and timestamps equal their ISO 8601 text
                    by the rule `date_as_text`
    UUIDs           equal their text by the rule `uuid_as_text`
    4-byte floats   at their own precision, by the rule `single_precision` of `steelyard.sql.declared_types`
    texts           character by character: no case, blank or Unicode folding; "1" is not 1
    bytes, intervals    by type and value
    lists, dicts    by their parts; a dict's order does not count, a tuple is a list

The named rules exist because types differ where answers do not: SQLite has no BOOLEAN, DATE or UUID, and a query may
cast its columns, so the same answer comes back as 1, as a text or as a typed value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Final, Literal
from uuid import UUID

from steelyard.constraints import Within

RuleName = Literal[
    "tolerance",
    "boolean_as_number",
    "date_as_timestamp",
    "date_as_text",
    "uuid_as_text",
    "single_precision",
    "char_padding",
]
RULE_TEXTS: Final[dict[RuleName, str]] = {
    "tolerance": "numbers may differ by the tolerance",
    "boolean_as_number": "true equals 1 and false equals 0",
    "date_as_timestamp": "a date equals its midnight, and a zoned timestamp its moment in UTC",
    "date_as_text": "a date or time equals its text",
    "uuid_as_text": "a UUID equals its text",
    "single_precision": "4-byte floats are compared at their own precision",
    "char_padding": "blanks at the end of a CHAR(n) do not count",
}
"""Each rule in words, for reasons and reports."""

_WHOLE_FLOATS: Final = 2.0**53
"""Below it a float without a fraction is a known integer; from it on every float looks like one."""
_LONG_INTEGER: Final = 10**9
_LONG_INTEGER_TOLERANCE: Final = 1e-6
"""Ids, epochs and phone numbers are integers of 10 digits and more, where a relative tolerance joins neighbours."""
_MOST_DIGITS: Final = 1000
"""Integral Decimals of more digits stay Decimals: 1E+999999 is not written out."""
_FLOAT_DIGITS: Final = 15
"""A float tells all decimal numbers of so many digits apart, so that these can be held as floats."""
_LARGEST, _SMALLEST = 1e300, 1e-290
"""Outside of them Decimals are compared exactly: as floats they would overflow or lose digits."""

_TIMESTAMP: Final = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:[ T](?P<time>\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:\ ?(?P<zone>Z|[+-]\d\d(?::?\d\d)?))?)?"
)
_TIME: Final = re.compile(r"\d\d:\d\d:\d\d(?:\.\d{1,9})?")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LONGEST: Final = 48
"""Characters that the text of a date, time or UUID has at most."""


@dataclass(frozen=True, slots=True)
class CellEquality:
    """Which cells of two results are equal although they are not identical.

    Args:
        tolerance: numbers a and b are equal where |a - b| <= tolerance * max(|a|, |b|), in [0, 0.01]; 0 is exact. An
            integer above 1e9 equals only a number within 1e-6 of it, and two integers are equal or not.
        boolean_as_number: true equals 1 and false equals 0.
        date_as_timestamp: a date equals the timestamp of its midnight, and a timestamp with a time zone the same moment
            in UTC without one.
        date_as_text: a date, time or timestamp equals its ISO 8601 text.
        uuid_as_text: a UUID equals its text, in either case.
        single_precision: numbers are equal within a relative 1e-6 where either column is a 4-byte float or computed
            from one (DuckDB's FLOAT and REAL). Of columns, and so applied by the scorers that run the queries.
        char_padding: texts are equal without blanks at their end where either column is declared CHAR(n); likewise.
    """

    tolerance: Annotated[float, Within(0, 0.01)] = 1e-12
    boolean_as_number: bool = True
    date_as_timestamp: bool = True
    date_as_text: bool = True
    uuid_as_text: bool = True
    single_precision: bool = True
    char_padding: bool = True

    def rules(self) -> tuple[RuleName, ...]:
        """The rules that are switched on."""
        return tuple(name for name in RULE_TEXTS if getattr(self, name))


EXACT: Final = CellEquality(
    tolerance=0.0,
    boolean_as_number=False,
    date_as_timestamp=False,
    date_as_text=False,
    uuid_as_text=False,
    single_precision=False,
    char_padding=False,
)
"""No rule at all: equal by type and value."""


Number = int | float | Decimal


def plain_number(number: Number) -> Number:
    """Return the number as an int or a float where that holds it; a Decimal only where it has more digits.

    A Decimal with digits behind the point, such as 5.00, becomes a float, since its column may hold fractions.

    Args:
        number: anything but a truth value; NaN becomes a float.

    >>> plain_number(Decimal("5.00")), plain_number(Decimal("5")), plain_number(Decimal("0.1"))
    (5.0, 5, 0.1)
    """
    if not isinstance(number, Decimal):
        return number
    if not number.is_finite():
        return math.nan if number.is_nan() else float(number)
    digits, exponent = number.as_tuple()[1:]
    if isinstance(exponent, int) and (exponent >= 0 or number == number.to_integral_value()):
        if exponent < 0 and abs(number) < _WHOLE_FLOATS:
            return float(number)
        return int(number) if number.adjusted() < _MOST_DIGITS else number
    in_range = _SMALLEST < abs(number) < _LARGEST
    return float(number) if in_range and len(digits) <= _FLOAT_DIGITS else number


def is_integer(number: Number) -> bool:
    """Whether a number of `plain_number` is an integer for certain: floats of 2**53 and more may have lost a fraction.

    >>> is_integer(3.0), is_integer(2.5), is_integer(1e16)
    (True, False, False)
    """
    if isinstance(number, float):
        return number.is_integer() and abs(number) < _WHOLE_FLOATS
    return isinstance(number, int) or number == number.to_integral_value()


def numbers_equal(first: Number, second: Number, tolerance: float) -> bool:
    """Whether two numbers of `plain_number` are equal.

    Args:
        first: not NaN.
        second: not NaN.
        tolerance: relative, see `CellEquality`.

    >>> numbers_equal(3, 3.0000000000000004, 1e-12), numbers_equal(1234567890.12, 1234567890.99, 1e-12)
    (True, False)
    >>> numbers_equal(13800138000, 13800138000.001, 1e-12), numbers_equal(8613800138000.0, 8613800138001.0, 1e-12)
    (False, False)
    """
    if first == second:
        return True
    if not tolerance or (is_integer(first) and is_integer(second)):
        return False
    if not all(_has_neighbours(number) for number in (first, second)):
        return False
    limit = tolerance * max(abs(float(first)), abs(float(second)))
    if any(isinstance(number, int) and abs(number) > _LONG_INTEGER for number in (first, second)):
        limit = min(limit, _LONG_INTEGER_TOLERANCE)
    if isinstance(first, Decimal) or isinstance(second, Decimal):
        return abs(Fraction(first) - Fraction(second)) <= limit
    return abs(first - second) <= limit


def _has_neighbours(number: Number) -> bool:
    """Whether another number can be equal to it without being the same."""
    if isinstance(number, int):
        return abs(number) < _WHOLE_FLOATS
    if isinstance(number, float):
        return math.isfinite(number)
    return _SMALLEST < abs(number) < _LARGEST


def typed_key(cell: date | datetime | time | UUID, equality: CellEquality) -> Hashable:
    """A key of a date, time, timestamp or UUID: equal keys for equal cells.

    >>> typed_key(date(2026, 1, 1), CellEquality()) == typed_key(datetime(2026, 1, 1), CellEquality())
    True
    """
    if isinstance(cell, datetime):
        return ("datetime", _in_utc(cell) if equality.date_as_timestamp else cell)
    if isinstance(cell, date):
        midnight = equality.date_as_timestamp
        return ("datetime", datetime(cell.year, cell.month, cell.day)) if midnight else ("date", cell)  # noqa: DTZ001
    return (type(cell).__name__, cell)


def _in_utc(moment: datetime) -> datetime:
    """The moment in UTC without its zone; sandboxed sessions are in UTC, so one without a zone is in UTC already."""
    if moment.tzinfo is None:
        return moment
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:  # the first and last day of the calendar
        return moment.replace(tzinfo=None)


def key_of_text(text: str, equality: CellEquality) -> Hashable | None:
    """The `typed_key` of the date, time, timestamp or UUID that a text writes; None where it writes none.

    >>> key_of_text("2026-01-01T10:00:00Z", CellEquality())
    ('datetime', datetime.datetime(2026, 1, 1, 10, 0))
    >>> key_of_text("1.1.2026", CellEquality()) is None
    True
    """
    if not 8 <= len(text) <= _LONGEST:
        return None
    if equality.uuid_as_text and _UUID.fullmatch(text):
        return typed_key(UUID(text), equality)
    if not equality.date_as_text:
        return None
    try:
        if match := _TIMESTAMP.fullmatch(text):
            return typed_key(_moment(match), equality)
        return typed_key(time.fromisoformat(_microseconds(text)), equality) if _TIME.fullmatch(text) else None
    except ValueError:  # the 30th of February
        return None


def _moment(match: re.Match[str]) -> date:
    if match["time"] is None:
        return date.fromisoformat(match["date"])
    return datetime.fromisoformat(f"{match['date']}T{_microseconds(match['time'])}{match['zone'] or ''}")


def _microseconds(text: str) -> str:
    """A time with at most six digits of a second, which is what cells hold.

    Raises:
        ValueError: further digits are not zero.
    """
    head, point, fraction = text.partition(".")
    if fraction[6:].strip("0"):
        raise ValueError("more than microseconds")
    return f"{head}{point}{fraction[:6]}"
