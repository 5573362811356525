"""Which values have a JSON form, and how others are described."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from steelyard.plain_json import check_plain, digest_of, field_values, from_json, json_value, texts_in, to_json
from steelyard.stats.intervals import Interval


class Mood(Enum):
    GLAD = "glad"


@dataclass
class Pair:
    left: object
    right: object


@dataclass
class Renamed:
    new_name: float
    secret: str = "not for JSON"

    def json_fields(self):
        return field_values(self, new_name="old_name", secret="") | {"percent": 100 * self.new_name}


async def stream():
    yield 1


def test_values_that_mean_data_keep_it():
    given = [
        date(2024, 2, 1),
        Decimal("1.50"),
        Path("a/b"),
        Mood.GLAD,
        {2, 1},
        np.float32(0.5),
        np.arange(2),
        Pair(1, ()),
    ]
    check_plain(given)
    kept = ["2024-02-01", "1.50", "a/b", "glad", [1, 2], 0.5, [0, 1], {"left": 1, "right": []}]
    assert from_json(to_json(given)) == kept


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ((one for one in "ab"), "a value of type generator"),
        (stream(), "a value of type async_generator"),
        (object(), "a value of type object"),
        (Mood, "the class Mood"),
        (len, "a value of type builtin_function_or_method"),
        ([{"deep": Pair(1, iter(()))}], "a value of type tuple_iterator"),
    ],
)
def test_a_value_without_a_plain_form_is_refused_by_its_type_but_may_be_described(value, named):
    with pytest.raises(TypeError, match=f"{named} has no JSON form"):
        check_plain(value)
    assert from_json(to_json(value)) is not None
    assert len(digest_of(value)) == 32


@pytest.mark.parametrize("kind", [bytes, str])
def test_json_that_is_nested_too_deep_is_damage_like_any_other(kind):
    text = "[" * 100_000
    with pytest.raises(ValueError, match="nested too deep"):
        from_json(text if kind is str else text.encode())


def test_so_many_values_that_they_fill_the_memory_are_damage_and_a_long_text_is_not():
    for data in (b"[" + b"[]," * 2_600_000 + b"[]]", b"[" + b'"a",' * 2_600_000 + b"1]"):
        with pytest.raises(ValueError, match="more than 5,000,000 values"):
            from_json(data)
    assert len(from_json(b'["\\"' + b"1,[{" * 2_000_000 + b'"]')[0]) == 8_000_001


def test_a_value_is_its_fields_all_the_way_down():
    value = Pair(
        {1: Interval(0.25, np.float64(0.5)), "at": date(2026, 3, 1)}, (Mood.GLAD, np.int64(3), np.array([1.5]))
    )
    assert json_value(value) == {"left": {"1": [0.25, 0.5], "at": "2026-03-01"}, "right": ["glad", 3, [1.5]]}


def test_a_class_says_where_its_json_differs_from_its_fields_wherever_it_stands():
    assert json_value([Pair(Renamed(0.5), None)]) == [{"left": {"old_name": 0.5, "percent": 50.0}, "right": None}]


def test_a_number_that_json_does_not_have_is_null():
    assert json_value([float("nan"), np.float64("inf"), np.float32("nan"), 1.0]) == [None, None, None, 1.0]


def test_an_object_without_a_json_form_is_refused_where_it_stands_inside_a_value():
    with pytest.raises(TypeError, match="a value of type object has no JSON form"):
        json_value(Pair([object()], None))


def test_every_text_of_a_plain_value_is_found():
    assert list(texts_in(["a", {"k": ("b", 1, None)}])) == ["a", "b"]
