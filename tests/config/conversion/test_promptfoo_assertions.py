"""Every assertion type of promptfoo becomes a scorer or is named with what to do instead."""

import itertools

import pytest

from steelyard import ConfigError
from steelyard.building.nodes import from_plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.javascript import Term
from steelyard.config.conversion.promptfoo_assertions import (
    UnconvertedError,
    _folded,
    _table,
    assertion_of_cell,
    check_of,
)
from steelyard.scorers.combined import row_scorers

ANY_JSON = ["object", "array", "string", "number", "boolean", "null"]
CONVERTED = {
    "answer-relevance": ({"threshold": 0.8}, "answer_relevancy"),
    "contains": ({"value": 3}, {"contains": "3", "ignore_case": False, "literal": True}),
    "contains-all": (
        {"value": ["a", "b"]},
        {"contains": ["a", "b"], "mode": "all", "ignore_case": False, "literal": True},
    ),
    "contains-any": ({"value": 'a,"b, c"'}, {"contains": ["a", "b, c"], "ignore_case": False, "literal": True}),
    "contains-json": ({}, {"json_schema": {"schema": {"type": "object"}, "embedded": True}}),
    "context-faithfulness": ({"threshold": 0.5}, {"claim_faithfulness": {"threshold": 0.5}}),
    "context-recall": ({"value": "x", "threshold": 0.5}, {"context_recall": "x", "threshold": 0.5}),
    "context-relevance": ({}, "context_relevance"),
    "conversation-relevance": ({}, {"per_turn": {"scorer": "answer_relevancy"}}),
    "cost": ({"threshold": 0.5}, {"cost": 0.5}),
    "equals": ({"value": "x"}, {"exact_match": "x", "literal": True}),
    "factuality": ({"value": "x"}, {"correctness": "x"}),
    "finish-reason": ({"value": "stop"}, {"finish": "stop"}),
    "g-eval": ({"value": "x", "threshold": 0.5}, {"g_eval": "x", "threshold": 3.0}),
    "icontains": ({"value": "x"}, {"contains": "x", "literal": True}),
    "icontains-all": ({"value": ["x"]}, {"contains": ["x"], "mode": "all", "literal": True}),
    "icontains-any": ({"value": ["x"]}, {"contains": ["x"], "literal": True}),
    "is-json": ({}, {"json_schema": {"schema": {"type": ANY_JSON}, "fenced": False}}),
    "is-refusal": ({}, "refusal"),
    "javascript": ({"value": "output.length < 100"}, {"length": {"unit": "characters", "max": 99}}),
    "latency": ({"threshold": 500}, {"latency": 0.5}),
    "levenshtein": ({"value": "x"}, {"levenshtein": {"most_edits": 5}, "value": "x"}),
    "llm-rubric": ({"value": "x"}, {"guideline": "x"}),
    "model-graded-closedqa": ({"value": "x"}, {"guideline": "x"}),
    "model-graded-factuality": ({"value": "x"}, {"correctness": "x"}),
    "python": ({"value": "file://checks.py:f"}, {"function": "checks:f"}),
    "regex": ({"value": "(?<y>x)"}, {"regex": "(?P<y>x)"}),
    "rouge-n": ({"value": "x"}, {"rouge_n": {"n": 1, "threshold": 0.75}, "value": "x"}),
    "similar": ({"value": "x", "threshold": 0.5}, {"similarity": {"threshold": 0.5}, "value": "x"}),
    "similar:cosine": ({"value": ["x", "y"]}, {"similarity": {"threshold": 0.75}, "value": ["x", "y"]}),
    "starts-with": ({"value": "x"}, {"starts_with": "x", "literal": True}),
    "tool-call-f1": ({"value": "a, b"}, {"tool_calls": {"expected": ["a", "b"], "match": "same"}}),
    "skill-used": ({"value": "x"}, {"tool_calls": {"expected": ["x"]}}),
    "trajectory:goal-success": ({"value": {"goal": "x"}}, {"goal_reached": {"goal": "x"}}),
    "trajectory:tool-args-match": (
        {"value": {"name": "t", "args": {"a": 1}, "mode": "exact"}},
        {"tool_calls": {"expected": [{"name": "t", "arguments": {"a": 1}}], "arguments": "equal"}},
    ),
    "trajectory:step-count": ({"value": {"max": 3}}, {"agent_steps": {"most_steps": 3}}),
    "trajectory:tool-sequence": (
        {"value": {"steps": ["a", "b"]}},
        {"tool_calls": {"expected": ["a", "b"], "match": "in_order"}},
    ),
    "trajectory:tool-used": ({"value": ["x"]}, {"tool_calls": {"expected": ["x"]}}),
    "word-count": ({"value": {"max": 5}}, {"length": {"max": 5}}),
    "assert-set": (
        {"assert": [{"type": "starts-with", "value": "a"}, {"type": "is-refusal"}], "threshold": 0.5},
        {"any_of": [{"starts_with": "a", "literal": True}, "refusal"]},
    ),
}


def check(values=None, output=Term(), **assertion):  # noqa: B008
    return check_of(from_plain(assertion, "c.yaml"), values or {}, ForeignFiles("."), output)


def test_the_table_has_every_type_of_promptfoo_and_converts_40():
    assert len(_table()) == 70
    assert {kind for kind, rule in _table().items() if "instead" not in rule} == set(CONVERTED)
    assert len(CONVERTED) == 40


@pytest.mark.parametrize("kind", CONVERTED)
def test_an_assertion_becomes_the_scorer_of_the_table(kind):
    given, scorer = CONVERTED[kind]
    assert check(type=kind, **given).scorer == scorer


@pytest.mark.parametrize(
    ("weights", "threshold"),
    [([1, 1, 1], 2 / 3), ([1, 1, 1], 0.34), ([2, 1, 1], 0.5), ([3, 2, 1, 1], 0.6), ([1] * 6, 0.5), ([1] * 12, 1)],
)
def test_a_set_passes_where_the_weights_of_what_holds_reach_its_threshold(weights, threshold):
    members = [{"type": "contains", "value": f"w{at}", "weight": weight} for at, weight in enumerate(weights)]
    scorer = check(type="assert-set", threshold=threshold, **{"assert": members}).scorer
    row_scorers([scorer])

    def holds(part, held):
        if "contains" in part:
            return int(part["contains"][1:]) in held
        ((kind, parts),) = part.items()
        return (any if kind == "any_of" else all)(holds(inner, held) for inner in parts)

    for picked in itertools.product((False, True), repeat=len(weights)):
        held = {at for at, is_held in enumerate(picked) if is_held}
        reached = sum(weights[at] for at in held) / sum(weights) >= threshold - 1e-9
        assert holds(scorer, held) is reached, (held, scorer)


@pytest.mark.parametrize("kind", sorted(CONVERTED.keys() - {"python", "similar", "similar:cosine"}))
def test_the_scorer_of_an_assertion_may_stand_in_a_row(kind):
    scorer = CONVERTED[kind][1]
    row_scorers([scorer, *([] if kind == "assert-set" else [{"not": _folded(scorer)}])])


@pytest.mark.parametrize("kind", sorted(_table().keys() - CONVERTED.keys()))
def test_an_assertion_without_a_scorer_is_named_with_what_to_do_instead(kind):
    with pytest.raises(UnconvertedError, match=r"Instead: \w+"):
        check(type=kind, value="x")


def test_not_and_metric_become_not_and_name():
    given = check({"what": "tone"}, type="not-icontains", value="x", metric="no_{{what}}", weight=0)
    assert given.scorer == {"not": {"contains": "x", "literal": True}, "name": "no_tone"}
    assert not given.counts
    assert check(type="is-refusal", metric="r").scorer == {"refusal": {}, "name": "r"}


def test_options_of_a_negated_scorer_stand_together():
    scorer = check(type="not-levenshtein", value="x").scorer
    assert scorer == {"not": {"levenshtein": {"most_edits": 5, "value": "x"}}}


def test_a_negated_scorer_of_a_part_of_json_may_stand_in_a_row():
    scorer = check(type="not-equals", value="6", transform="JSON.parse(output).answer").scorer
    assert scorer == {"not": {"exact_match": "6", "literal": True, "of": '"answer"'}}
    assert row_scorers([scorer])


def test_a_negated_expression_fails_where_the_output_is_no_json_as_the_exception_does_there():
    scorer = check(type="not-javascript", value="JSON.parse(output).n > 3").scorer
    assert scorer["json_schema"]["schema"]["properties"] == {"n": {"type": "number", "maximum": 3}}


def test_an_object_is_compared_as_json():
    scorer = check(type="equals", value={"a": 1}).scorer
    assert scorer == {"json_schema": {"schema": {"const": {"a": 1}}, "fenced": False}}


def test_a_schema_may_be_a_text_of_yaml():
    scorer = check(type="is-json", value="type: object\nrequired: [a]").scorer
    assert scorer["json_schema"]["schema"] == {"type": "object", "required": ["a"]}


def test_a_transform_is_a_part_of_json_or_the_case_of_what_is_looked_for():
    part = check(type="contains", value="x", transform="JSON.parse(output).a['b c'][0]").scorer
    assert part["of"] == '"a"."b c"[0]'
    lower = check(type="contains", value="paris", transform="output.toLowerCase()").scorer
    assert lower["ignore_case"] is True
    assert check(type="equals", value="x", transform="output.trim()").scorer == {"exact_match": "x"}


@pytest.mark.parametrize("code", ["output.trim().split(/\\s+/).length <= 9", "output.length <= 9"])
def test_an_expression_that_is_counted_otherwise_says_so(code):
    assert "do not count" in (said := check(type="javascript", value=code).deviation) or "signs alone" in said


@pytest.mark.parametrize(
    ("said", "assertion"),
    [
        ("called twice counts once", {"type": "tool-call-f1", "value": ["search"]}),
        ("its threshold is left out", {"type": "trajectory:goal-success", "value": "x", "threshold": 0.5}),
        ("compared whole", {"type": "trajectory:tool-args-match", "value": {"name": "t", "args": {"a": {"b": 1}}}}),
        ("every step of the trace", {"type": "trajectory:step-count", "value": {"max": 3}}),
        ("blanks around", {"type": "levenshtein", "value": "x"}),
        ("signs are words", {"type": "rouge-n", "value": "x"}),
        ("also those within a list", {"type": "contains-json"}),
        ("A to Z only", {"type": "not-regex", "value": r"\bcat\b"}),
        ("its threshold of turns", {"type": "conversation-relevance", "threshold": 0.8}),
    ],
)
def test_what_is_measured_otherwise_is_told(said, assertion):
    assert said in check(**assertion).deviation


@pytest.mark.parametrize("kind", ["not-trajectory:tool-used", "not-skill-used"])
def test_of_several_tools_that_must_not_be_used_none_may_be(kind):
    assert check(type=kind, value=["pay", "delete"]).scorer == {"forbidden_tools": ["pay", "delete"]}


def test_arguments_without_objects_are_compared_as_promptfoo_does():
    value = {"name": "t", "args": {"city": "Rome"}}
    assert not check(type="trajectory:tool-args-match", value=value).deviation


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("one\ntwo, three\n", ["one\ntwo", "three"]),
        (r'"{\"a\": 1, \"b\": 2}",\n"c"'.replace(r",\n", ",\n"), ['{"a": 1, "b": 2}', "c"]),
        ('" spaced ", "5"" disk",,x', [" spaced ", '5" disk', "x"]),
    ],
)
def test_a_list_in_a_text_is_parted_as_promptfoo_parts_it(text, texts):
    assert check(type="contains-all", value=text).scorer["contains"] == texts


@pytest.mark.parametrize(
    ("message", "assertion"),
    [
        ("in that case", {"type": "contains", "value": "Paris", "transform": "output.toLowerCase()"}),
        ("this pattern sees", {"type": "regex", "value": "a|^x", "transform": "output.trim()"}),
        ("blanks around it", {"type": "not-contains", "value": "\n", "transform": "output.trim()"}),
        ("is not a regular expression", {"type": "regex", "value": "*"}),
        ("pattern of a tool's name", {"type": "trajectory:tool-used", "value": ["find", "get_*"]}),
        ("not closed", {"type": "contains-all", "value": 'a, "b, c'}),
        ("is not read", {"type": "contains", "value": "x", "transform": "output.split('a')[0]"}),
        ("gives a number", {"type": "javascript", "value": "output.length / 10", "threshold": 0.5}),
        ("no code is run", {"type": "javascript", "value": "require('fs')"}),
        ("a function of a module", {"type": "python", "value": "len(output) > 3"}),
        ("only the threshold 1", {"type": "tool-call-f1", "value": "a", "threshold": 0.5}),
        ("pattern", {"type": "trajectory:tool-used", "value": {"pattern": "search*"}}),
        ("min", {"type": "trajectory:step-count", "value": {"min": 1, "max": 2}}),
        ("judge", {"type": "assert-set", "threshold": 0.6, "assert": [{"type": "llm-rubric", "value": "x"}] * 3}),
        ("more than 6", {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "is-refusal"}] * 7}),
        ("do not reach", {"type": "assert-set", "threshold": 1.5, "assert": [{"type": "is-refusal"}] * 2}),
        ("no verdicts", {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "not-similar", "value": "x"}]}),
        ("a in its value", {"type": "llm-rubric", "value": {"a": 1}}),
        ("a text, not", {"type": "llm-rubric", "value": ["a"]}),
        ("number", {"type": "latency"}),
        ("is not read", {"type": "contains", "value": "{{ x | wordwrap }}"}),
    ],
)
def test_what_has_no_scorer_in_its_form_says_why(message, assertion):
    with pytest.raises((UnconvertedError, ConfigError), match=message):
        check({"x": "a"}, **assertion)


@pytest.mark.parametrize(
    ("cell", "assertion"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("note: this is no type", {"type": "equals", "value": "note: this is no type"}),
        ("not-icontains: x:y", {"type": "not-icontains", "value": "x:y"}),
        ("similar(0.8): x", {"type": "similar", "value": "x", "threshold": 0.8}),
        ("similar:cosine:x", {"type": "similar:cosine", "value": "x", "threshold": 0.75}),
        ("is-json", {"type": "is-json", "value": None}),
        ("fn: output.length > 3", {"type": "javascript", "value": "output.length > 3"}),
        ("grade: is polite", {"type": "llm-rubric", "value": "is polite"}),
        ("file://checks.py:f", {"type": "python", "value": "file://checks.py:f"}),
    ],
)
def test_a_cell_of_a_table_names_its_type_before_a_colon(cell, assertion):
    assert assertion_of_cell(cell) == assertion
