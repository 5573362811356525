"""What a reply costs to validate is counted in steps, which are the same on any machine."""

import json

import pytest

from steelyard import Output, Sample
from steelyard.scorers import ToolCalls, patterns
from steelyard.scorers.formats import JsonSchema
from steelyard.scorers.json_validation import MAX_STEPS, CheckSteps, check_schema, first_error


def steps_of(schema, value):
    check_schema(schema)
    steps = CheckSteps(10**9)
    first_error(schema, value, steps)
    return 10**9 - steps.left


def doubled(keyword, n):
    levels = {f"a{at}": {keyword: [{"$ref": f"#/$defs/a{at + 1}"}, {"$ref": f"#/$defs/a{at + 1}"}]} for at in range(n)}
    return {"type": "object", "$ref": "#/$defs/a0", "$defs": {**levels, f"a{n}": {"type": "object", "required": ["x"]}}}


def objects(n):
    return [{"a": number} for number in range(n)]


COLLIDING = [{"a": number * (2**61 - 1)} for number in range(2_000)]
"""Objects with whole numbers that Python hashes to 0."""


def test_a_schema_that_doubles_its_work_ends_without_a_score():
    scored = JsonSchema(doubled("allOf", 22))(Sample("1", "x"), Output('{"x": 1}'))
    assert (scored.value, scored.outcome, scored.detail) == (None, "unparsed", {"kind": "timeout"})
    assert scored.reason == f"the schema was not decided within {MAX_STEPS:,} steps"


@pytest.mark.parametrize("more", [{}, {"unevaluatedProperties": False}])
@pytest.mark.parametrize(
    ("keyword", "value"), [("allOf", {"x": 1}), ("anyOf", {}), ("oneOf", {"x": 1}), ("anyOf", {"y": "long" * 1_000})]
)
def test_steps_end_whatever_doubles_them(keyword, value, more):
    with pytest.raises(TimeoutError):
        first_error({**doubled(keyword, 22), **more}, value, CheckSteps(5_000))


@pytest.mark.parametrize("items", [objects, lambda n: COLLIDING[:n], lambda n: [[str(at), [at]] for at in range(n)]])
def test_unique_items_take_steps_in_proportion_to_their_number(items):
    schema = {"type": "array", "uniqueItems": True}
    assert steps_of(schema, items(2_000)) <= 2.2 * steps_of(schema, items(1_000))


def test_forty_kilobytes_of_unique_objects_are_decided():
    schema = {"type": "object", "properties": {"items": {"uniqueItems": True}}}
    scored = JsonSchema(schema)(Sample("1", "x"), Output(json.dumps({"items": objects(4_000)})))
    assert scored.value == 1.0


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, True, "1", None, 0, False, "", [], {}], True),
        ([1, 1.0], False),
        ([{"a": 1, "b": [2.0]}, {"b": [2], "a": 1}], False),
        ([[1, 2], [2, 1]], True),
        (["[1]", [1]], True),
        (['"a', "a"], True),
    ],
)
def test_items_are_equal_as_json_has_it(items, unique):
    assert (first_error({"uniqueItems": True}, items) == "") is unique


@pytest.mark.parametrize(
    ("schema", "value", "holds"),
    [
        ({"enum": [1, "a", None]}, 1.0, True),
        ({"enum": [1, "a", None]}, True, False),
        ({"enum": [1, "a", None]}, None, True),
        ({"enum": ["1"]}, 1, False),
        ({"const": {"a": [1, True]}}, {"a": [1.0, True]}, True),
        ({"const": {"a": [1, True]}}, {"a": [1, 1]}, False),
        ({"const": False}, 0, False),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}, 2, True),  # no keyword of this draft
    ],
)
def test_enum_and_const_compare_as_json_has_it(schema, value, holds):
    assert (first_error(schema, value) == "") is holds


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"enum": [str(at) for at in range(500)]}}, ["499"] * 500),
        ({"items": {"enum": [*[[[1] * 20] * 20] * 19, [[2] * 20] * 20]}}, [[[2] * 20] * 20] * 200),
        (
            {"allOf": [{"additionalProperties": {}}], "unevaluatedProperties": False},
            dict.fromkeys(map(str, range(5_000))),
        ),
        ({"prefixItems": [{}] * 5_000, "unevaluatedItems": False}, [1] * 5_000),
        ({"contains": {"enum": list(range(500))}, "minContains": 500}, [2] * 500),
    ],
)
def test_rules_that_compare_each_with_each_take_steps_for_it(schema, value):
    with pytest.raises(TimeoutError):
        first_error(schema, value, CheckSteps(10_000))


def test_an_honest_large_reply_is_decided():
    fields = {"id": {"type": "integer", "minimum": 0}, "name": {"type": "string"}, "tag": {"enum": ["a", "b"]}}
    schema = {"items": {"type": "object", "required": ["id"], "properties": fields, "additionalProperties": False}}
    value = [{"id": at, "name": f"record number {at}", "tag": "a"} for at in range(3_000)]
    assert len(json.dumps(value)) > 150_000
    assert first_error(schema, value) == ""


@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]")])
def test_a_value_of_more_than_a_hundred_levels_is_nested_too_deep(opening, closing):
    schema = {"type": "object", "properties": {"x": {"type": ["object", "array"]}}}
    scored = [
        JsonSchema(schema)(Sample("1", "x"), Output('{"x": ' + opening * levels + "1" + closing * levels + "}"))
        for levels in (98, 99)
    ]
    assert [(score.value, score.reason) for score in scored] == [(1.0, ""), (0.0, "nested too deep")]


def test_patterns_of_one_check_share_their_time(monkeypatch):
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.05)
    schema = {"type": "object", "patternProperties": {"^(a|aa)+$": {}}}
    hostile = {"a" * 40 + f"!{at}": 1 for at in range(50)}
    scored = JsonSchema(schema)(Sample("1", "x"), Output(json.dumps(hostile)))
    assert (scored.outcome, scored.detail) == ("unparsed", {"kind": "timeout"})
    assert scored.reason == "the patterns of the schema were not decided within 1 s"


def test_all_calls_of_a_sample_share_their_steps():
    schema = {"type": "object", "properties": {"a": {"items": {"type": "integer"}}}}
    scorer = ToolCalls(expected=({"name": "f", "schema": schema},) * 20)
    call = {"name": "f", "arguments": {"a": [1] * 100 + ["no"]}}
    messages = [{"role": "assistant", "content": "", "tool_calls": [call] * 100}]
    scores = scorer(Sample("1", "x"), Output("", metadata={"messages": messages}))
    assert {(score.outcome, score.reason) for score in scores} == {
        ("unparsed", f"the schema was not decided within {MAX_STEPS:,} steps")
    }


def test_all_results_of_a_trajectory_share_the_time_of_the_error_pattern(monkeypatch):
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.05)
    time = patterns.PatternTime()
    with pytest.raises(TimeoutError):
        time.occurs("^(a|aa)+$", "a" * 40 + "!")
    with pytest.raises(TimeoutError):
        time.occurs("a", "a")


def test_a_pattern_that_takes_minutes_to_compile_is_refused():
    with pytest.raises(Exception, match="at most 20,000 are read"):
        patterns.compile_pattern("(?:" + "|".join("a" * at for at in range(1, 1_500)) + ")+$")
