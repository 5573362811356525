"""Which values have a JSON form, and how others are described."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from steelyard.plain_json import check_plain, digest_of, from_json, to_json


class Mood(Enum):
    GLAD = "glad"


@dataclass
class Pair:
    left: object
    right: object


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
