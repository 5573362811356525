"""Whether an output is JSON that follows a schema: not downloaded, and no output is too odd to be told."""

import json
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Output, Sample
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.scorers import patterns
from steelyard.scorers.formats import JsonSchema
from steelyard.scorers.json_validation import first_error

SCHEMA = {
    "type": "object",
    "required": ["answer"],
    "properties": {"answer": {"type": "string"}, "sure": {"type": "number", "minimum": 0, "maximum": 1}},
    "additionalProperties": False,
}
HOSTILE = "a" * 6000 + "!"


def score(text, *, schema=SCHEMA, finish="stop", **options):
    return JsonSchema(schema, **options)(Sample("1", "q"), Output(text, metadata={"finish": finish}))


def properties(**schemas):
    return {"type": "object", "properties": schemas}


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        ('{"answer": "易"}', "follows", ""),
        (' {"answer": "a", "sure": 0.5}\n', "follows", ""),
        ('```json\n{"answer": "a"}\n```', "follows", ""),
        ({"answer": "a"}, "follows", ""),
        ('{"answer": 7}', "does not follow", "$.answer: 7 is not of type 'string'"),
        ('{"sure": 1}', "does not follow", "$: 'answer' is a required property"),
        ('{"answer": "a", "sure": 2}', "does not follow", "$.sure: 2 is greater than the maximum of 1"),
        ('{"answer": "a", "why": 1}', "does not follow", "$: 'why' is not among the properties"),
        ("[]", "does not follow", "$: [] is not of type 'object'"),
        (["a"], "does not follow", "$: ['a'] is not of type 'object'"),
        ("", "no JSON", "the output is empty"),
        (None, "no JSON", "the output is empty"),
        ('{"answer": NaN}', "no JSON", "no JSON: NaN is not a value of JSON"),
        ("[" * 100_000, "no JSON", "no JSON: nested too deep"),
    ],
)
def test_the_reason_names_where_an_output_leaves_the_schema(text, label, reason):
    found = score(text)
    assert (found.detail["label"], found.reason) == (label, reason)
    assert (found.value, found.passed) == (float(label == "follows"), label == "follows")


def test_prose_around_json_is_no_json():
    assert score('Here it is: {"answer": "a"}').detail["label"] == "no JSON"


def test_fences_are_refused_on_demand():
    assert score('```json\n{"answer": "a"}\n```', fenced=False).detail["label"] == "no JSON"
    assert score('{"answer": "a"}', fenced=False).value == 1.0


def test_a_reply_that_was_cut_off_says_so():
    assert score('{"answer": "a', finish="length").reason.endswith("; it was cut off at its length limit")
    assert score("", finish="content_filter").outcome == "refused"


def test_the_path_goes_into_lists():
    assert (
        first_error(properties(n={"items": {"minimum": 1}}), {"n": [1, 0]}) == "$.n[1]: 0 is less than the minimum of 1"
    )


def test_a_schema_may_be_a_packaged_name_or_a_file(tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    assert score('{"sql": "SELECT 1"}', schema="sql").value == 1.0
    assert score('{"answer": "a"}', schema=tmp_path / "mine.json").value == 1.0
    assert check_options(JsonSchema("sql")) is None


def test_a_schema_names_its_draft():
    """A list of schemas for the items of a list: draft 7 has it, 2020-12 calls it prefixItems."""
    pair = properties(a={"items": [{"type": "integer"}]})
    seven = {"$schema": "http://json-schema.org/draft-07/schema#", **pair}
    assert check_options(JsonSchema(seven)) is None
    assert score('{"a": ["x"]}', schema=seven).reason == "$.a[0]: 'x' is not of type 'integer'"
    with pytest.raises(ConfigError, match=r"schema: \$\.properties\.a\.items"):
        check_options(JsonSchema(pair))
    with pytest.raises(ConfigError, match="not a known draft"):
        check_options(JsonSchema({"$schema": "https://example.org/mine", "type": "object"}))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (properties(a={"type": "strin"}), r"schema: \$\.properties\.a\.type"),
        (properties(a={"$ref": "https://example.org/b.json"}), "not downloaded"),
        (properties(a={"$ref": "other.json"}), "not downloaded"),
        (properties(a={"$ref": "#/$defs/b"}), "there is no '#/\\$defs/b'"),
        (properties(a={"pattern": "(?<x"}), "regular expression|regex"),
        ({"type": "object", "patternProperties": {"a": {}}, "unevaluatedProperties": False}, "additionalProperties"),
        (
            {"type": "object", "allOf": [{"patternProperties": {"^(a+)+$": {}}}], "unevaluatedProperties": False},
            "additionalProperties",
        ),
        (
            {
                **properties(a={"$ref": "#/$defs/b", "unevaluatedProperties": False}),
                "$defs": {"b": {"patternProperties": {"^(a+)+$": {}}}},
            },
            "additionalProperties",
        ),
        ({"typ": "array"}, "not a JSON schema of an object"),
        ("sqll", "sql"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_the_run(schema, message):
    with pytest.raises(ConfigError, match=message):
        check_options(JsonSchema(schema))


def test_references_within_the_schema_are_followed_and_data_is_no_reference():
    schema = {
        **properties(a={"$ref": "#/$defs/b"}, c={"$ref": "#anchor"}, d={"const": {"$ref": "https://example.org"}}),
        "$defs": {"b": {"type": "integer"}, "e": {"$anchor": "anchor", "type": "string"}},
    }
    assert check_options(JsonSchema(schema)) is None
    assert score('{"a": "x"}', schema=schema).reason == "$.a: 'x' is not of type 'integer'"
    assert score('{"c": 1}', schema=schema).reason == "$.c: 1 is not of type 'string'"
    assert score('{"a": 1, "d": {"$ref": "https://example.org"}}', schema=schema).value == 1.0


def test_nothing_is_fetched_even_without_a_check(monkeypatch):
    reached = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *host, **_: reached.append(host))
    with pytest.raises(Exception, match=r"example\.org"):
        score('{"a": 1}', schema=properties(a={"$ref": "https://example.org/b.json"}))
    assert reached == []


@pytest.mark.parametrize(
    "schema",
    [
        properties(a={"pattern": "^(a|aa)+$"}),
        {"type": "object", "patternProperties": {"^(a|aa)+$": {}}},
        {"type": "object", "patternProperties": {"^(a|aa)+$": {}}, "additionalProperties": False},
    ],
)
def test_a_pattern_of_the_schema_is_decided_in_bounded_time(schema, monkeypatch):
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.05)
    found = score(json.dumps({"a": HOSTILE, HOSTILE: 1}), schema=schema)
    assert (found.outcome, found.detail) == ("unparsed", {"kind": "timeout"})


def test_patterns_mean_what_they_mean_elsewhere():
    schema = {
        "type": "object",
        "patternProperties": {"^x_": {"type": "integer"}},
        "properties": {"id": {"pattern": "^[a-z]+$"}},
        "additionalProperties": {"type": "string"},
    }
    assert score('{"x_1": 1, "id": "abc", "more": "text"}', schema=schema).value == 1.0
    assert score('{"x_1": "one"}', schema=schema).reason == "$.x_1: 'one' is not of type 'integer'"
    assert score('{"id": "ABC"}', schema=schema).reason == "$.id: 'ABC' does not match '^[a-z]+$'"
    assert score('{"more": 1}', schema=schema).reason == "$.more: 1 is not of type 'string'"


@pytest.mark.parametrize(
    ("text", "schema", "reason"),
    [
        (
            '{"a":' * 900 + "{}" + "}" * 900,
            {"type": "object", "additionalProperties": {"$ref": "#"}},
            "nested too deep",
        ),
        (json.dumps({"a": 10**400}), properties(a={"multipleOf": 0.5}), "a number is too large to be checked"),
    ],
)
def test_values_that_break_the_validator_do_not_follow(text, schema, reason):
    found = score(text, schema=schema)
    assert (found.value, found.reason) == (0.0, reason)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner))


@given(VALUES)
def test_any_value_follows_or_does_not(value):
    found = score(json.dumps(value))
    assert found.outcome == "scored"
    assert (found.value == 1) == (found.reason == "")


@given(st.text(max_size=60))
def test_any_text_follows_or_does_not(text):
    assert score(text).value in {0.0, 1.0}


def test_json_among_words_is_taken_only_where_that_is_asked_for():
    schema = {"type": "object", "required": ["city"]}
    text = 'It is {"town": 1}, I mean:\n```json\n{"city": "Rome"}\n```\nDone.'
    assert JsonSchema(schema)(Sample("1", "?"), Output(text)).passed is False
    assert JsonSchema(schema, embedded=True)(Sample("1", "?"), Output(text)).passed is True
    assert JsonSchema(schema, embedded=True)(Sample("1", "?"), Output("Rome {1}")).detail == {"label": "no JSON"}
    assert JsonSchema(schema, embedded=True)(Sample("1", "?"), Output('a {"town": 1} b')).passed is False


@pytest.mark.parametrize(("value", "follows"), [(True, 1.0), (False, 0.0), (1, 0.0), ("true", 1.0)])
def test_an_output_that_is_a_truth_value_is_checked_as_it_is(value, follows):
    assert JsonSchema({"const": True})(Sample("1", "?"), Output(value)).value == follows
