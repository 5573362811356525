import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.building import nodes
from steelyard.building.nodes import plain
from steelyard.building.read import parse
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
    assert caught.value.location.line >= 1
    assert caught.value.location.column >= 1


def test_places_count_from_one_over_every_kind_of_line_end():
    root = parse('{"a": 1,\r\n "b":\n  [true]}', "a.json")
    assert str(root.entries["b"].key.location) == "a.json:2:2"
    assert str(root.entries["b"].node.value[0].location) == "a.json:3:4"


def test_a_trailing_comma_is_refused():
    for text in ('{"a": 1,}', "[1,]"):
        with pytest.raises(ConfigError, match=r"not valid JSON: (expecting|illegal trailing comma)") as caught:
            parse(text, "a.json")
        assert caught.value.location.line == 1


def test_what_yaml_would_read_otherwise_is_read_as_json():
    text = '{"<<": {"a": 1}, "no": "yes",\t"e\\/f": "x: y # z",\r\n\t"l\u2028n": "\x7f\u0085", "n": [-0, 1E2, null]}'
    assert plain(parse(text, "a.json")) == json.loads(text)


def test_a_place_is_right_behind_characters_that_yaml_takes_for_line_ends():
    root = parse('{"a\u2028b\x85": "周", "c": 1}', "a.json")
    assert str(root.entries["c"].node.location) == "a.json:1:20"


@pytest.mark.parametrize("text", ['{"a"\n: 1}', '{"' + "k" * 1_100 + '": 1}'])
def test_a_key_apart_from_its_colon_and_one_of_a_thousand_characters_are_refused(text):
    with pytest.raises(ConfigError, match="not valid JSON") as caught:
        parse(text, "a.json")
    assert caught.value.location.line in {1, 2}


def test_surrogate_pairs_come_out_as_one_character():
    assert plain(parse('["\\ud83d\\ude00", "\\u5468\\u6613"]', "a.json")) == ["😀", "周易"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{"a": 1,\n "a": 2}', "2:2", "'a' is given twice; first in line 1"),
        ("{'a': 1}", "1:2", "expecting property name enclosed in double quotes"),
        ('{"a" 1}', "1:6", "expecting ':' delimiter"),
        ('{"a": 1 "b": 2}', "1:9", "expecting ',' delimiter"),
        ("[1 2]", "1:4", "expecting ',' delimiter"),
        ("[\n\t!t 1]", "2:2", "expecting value"),
        ("[NaN]", "1:2", "'NaN' is not a JSON value"),
        ("[-Infinity]", "1:2", "'-Infinity' is not a JSON value"),
        ("[True]", "1:2", "expecting value"),
        ("[-]", "1:2", "expecting value"),
        ("[01]", "1:3", "expecting ',' delimiter"),
        ("[1e999]", "1:2", "not a finite number"),
        ('["a\nb"]', "1:4", "invalid control character"),
        ('["\\x"]', "1:3", "invalid \\escape"),
        ('["\\ud83d"]', "1:2", "half a character"),
        ("[1] [2]", "1:5", "extra data"),
        ("[1] # one", "1:5", "extra data"),
        ('{"": 1}', "1:2", "key is missing"),
        ("\ufeff[1]", "1:1", "unexpected UTF-8 BOM"),
        ("[" * 60 + "]" * 60, "1:41", "deep"),
        ("[" * 100_000 + "]" * 100_000, "1:41", "deep"),
        ("[" + "9" * 301 + "]", "1:2", "not a JSON value"),
        ("[-" + "9" * 5000 + "]", "1:2", "not a JSON value"),
    ],
)
def test_what_is_no_json_is_refused_where_it_stands(text, place, words):
    with pytest.raises(ConfigError) as caught:
        parse(text, "a.json")
    assert str(caught.value.location) == f"a.json:{place}"
    assert words in str(caught.value)


def test_an_array_of_more_values_than_allowed_is_refused(monkeypatch):
    assert nodes.MAX_NODES == 50_000  # so many take a second
    monkeypatch.setattr(nodes, "MAX_NODES", 1_000)
    assert len(parse("[" + ",".join(["1"] * 999) + "]", "a.json").value) == 999
    with pytest.raises(ConfigError, match="too large: more than 1,000 values"):
        parse("[" + ",".join(["1"] * 1_000) + "]", "a.json")
