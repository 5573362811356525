"""Bodies by orjson: the same bytes and the same values as the standard library's, or its error."""

from __future__ import annotations

import json
import math
from enum import Enum, IntEnum

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.models.json_bodies import encode_body, parse_body

ANY_TEXT = st.text(st.characters(codec=None), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(2**66), 2**66) | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


def stock(body):
    return json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode(body).encode()


def same(one, other):
    """Equal in value and type: 1, 1.0 and True are three."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (one, math.copysign(1, one)) == (
            other,
            math.copysign(1, other),
        )
    return one == other


@given(VALUES)
@example({"model": "m", "messages": [{"role": "user", "content": '\x7f\x00"\\/\n\u2028'}], "temperature": 0.0})
@example([1e-4, 9.999e-5, 1e16, 9.99e15, -0.0, 5e-324, 1.7976931348623157e308])
@example([2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1])
@example(["易", "\ud800", "\U0001f600"])
@example({"a": float("nan"), "b": [float("inf")]})
def test_a_request_has_the_bytes_of_the_standard_library(value):
    assert encode_body(value) == stock(value)


@pytest.mark.parametrize(
    "value",
    [{1: "a"}, {None: 1, True: 2}, Level.LOW, {"level": Level.LOW}, (1, (2,)), type("Text", (str,), {})("a")],
    ids=["number as key", "none as key", "enumeration of numbers", "as a value", "tuples", "a text's subclass"],
)
def test_a_value_that_orjson_would_write_otherwise_is_written_as_by_the_standard_library(value):
    assert encode_body(value) == stock(value)


@pytest.mark.parametrize("value", [Colour.RED, {"a": {1, 2}}, b"bytes", {"a": object()}, {(1, 2): 3}])
def test_what_has_no_json_form_is_refused_as_by_the_standard_library(value):
    with pytest.raises(TypeError) as wanted:
        stock(value)
    with pytest.raises(TypeError) as caught:
        encode_body(value)
    assert str(caught.value) == str(wanted.value)


def nested(layers):
    value = "leaf"
    for _ in range(layers):
        value = [value]
    return value


@pytest.mark.parametrize("layers", [15, 16, 17, 200])
def test_deep_requests_are_written_alike(layers):
    assert encode_body(nested(layers)) == stock(nested(layers))


@given(VALUES, st.booleans())
@example([2**63, 2**64, -(2**63) - 1, 10**18, 10**19], True)
@example(["\ud800", "易"], True)
@example([float("nan"), float("-inf"), 1e22, 5e-324], False)
def test_a_reply_has_the_value_of_the_standard_library(value, ascii_only):
    data = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert same(parse_body(data), json.loads(data))


NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?\Z")


@given(NUMBERS)
@example("-0")
@example("1e400")
@example("123456789012345678")
@example("0.1234567890123456789012345")
@example("9007199254740993.0")
def test_a_number_in_a_reply_has_the_value_of_the_standard_library(text):
    data = f'{{"n": {text}}}'.encode()
    assert same(parse_body(data), json.loads(data))


@given(st.binary(max_size=40) | ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"")
@example(b"\xef\xbb\xbf{}")
@example("{}".encode("utf-16"))
@example(b'{"a": 1, "a": 2}')
@example(b'["\x01"]')
@example(b"[1,]")
@example(b"NaN")
@example(b'"\xff"')
@example(b"[" * 5000)
@example(b'"\\ud83d\\ude00 \\ud83d"')
def test_what_is_no_json_is_refused_as_by_the_standard_library(data):
    try:
        wanted = json.loads(data)
    except (ValueError, RecursionError) as error:
        with pytest.raises(type(error)):
            parse_body(data)
    else:
        assert same(parse_body(data), wanted)
