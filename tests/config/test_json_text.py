import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.config.positions import parse, plain
from steelyard.errors import ConfigError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBER = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT.filter(bool), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 2]), st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(parse(text, "a.json")) == json.loads(text)


@given(JSON)
def test_a_cut_file_is_refused_with_line_and_column(value):
    text = json.dumps({"key": value}, indent=1)
    with pytest.raises(ConfigError) as caught:
        parse(text[: len(text) // 2], "a.json")
    assert caught.value.place.line >= 1
    assert caught.value.place.column >= 1


def test_places_count_from_one_over_every_kind_of_line_end():
    root = parse('{"a": 1,\r\n "b":\n  [true]}', "a.json")
    assert str(root.entries["b"].key.place) == "a.json:2:2"
    assert str(root.entries["b"].node.value[0].place) == "a.json:3:4"


def test_surrogate_pairs_come_out_as_one_character():
    assert plain(parse('["\\ud83d\\ude00", "\\u5468\\u6613"]', "a.json")) == ["😀", "周易"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{"a": 1,\n "a": 2}', "2:2", "second time; first in line 1"),
        ('{"a": 1,}', "1:9", "a key in double quotes"),
        ("{'a': 1}", "1:2", "a key in double quotes"),
        ('{"a" 1}', "1:6", "a colon is missing"),
        ('{"a": 1 "b": 2}', "1:9", "a comma or '}'"),
        ("[1 2]", "1:4", "a comma or ']'"),
        ("[1,]", "1:4", "a value is missing"),
        ("[NaN]", "1:2", "'NaN' is no value"),
        ("[True]", "1:2", "'True' is no value"),
        ("[-]", "1:2", "not a number"),
        ("[01]", "1:3", "a comma"),
        ("[1e999]", "1:2", "not a finite number"),
        ('["a\nb"]', "1:4", "invalid control character"),
        ('["\\x"]', "1:3", "invalid \\escape"),
        ('["\\ud83d"]', "1:2", "half a character"),
        ("[1] [2]", "1:5", "after the end"),
        ('{"": 1}', "1:2", "key is empty"),
        ("[" * 60, "1:41", "deep"),
        ("[" + "9" * 5000 + "]", "1:2", "not a number"),
    ],
)
def test_what_is_no_json_is_refused_where_it_stands(text, place, words):
    with pytest.raises(ConfigError) as caught:
        parse(text, "a.json")
    assert str(caught.value.place) == f"a.json:{place}"
    assert words in str(caught.value)


def test_an_array_of_a_hundred_thousand_values_is_refused():
    with pytest.raises(ConfigError, match="too large"):
        parse("[" + ",".join("1" * 1 for _ in range(100_000)) + "]", "a.json")
