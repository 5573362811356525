"""The tolerant reader of JSON: what is valid is read as it is meant, what is not as far as it goes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.replies.jsonlike import json_objects, plain_key, read_json, said_in

PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=20))
KEYS = st.text(st.characters(categories=["L", "Nd"], max_codepoint=0x4FF), min_size=1, max_size=8)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.sampled_from([None, 2]))
def test_valid_json_is_read_as_it_is_meant(value, indent):
    text = json.dumps(value, indent=indent)
    (found,) = json_objects(f"So:\n{text}\nDone.")
    assert found.python() == value
    assert f"So:\n{text}\nDone."[found.start : found.end] == text
    assert found.closed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'answer': 'B', 'why': 'it's late'}", {"answer": "B", "why": "it's late"}),
        ('{"answer": "B",}', {"answer": "B"}),
        ('{answer: "B"}', {"answer": "B"}),
        ('{"a": True, "b": None, "c": false}', {"a": True, "b": None, "c": False}),
        ('{"reason": "it br', {"reason": "it br"}),
        ('{"scores": [3, 4', {"scores": [3, 4]}),
        ('{"a": {"b": 1}, "c": 2', {"a": {"b": 1}, "c": 2}),
        ('```json\n{"a": "say \\"yes\\""}\n```', {"a": 'say "yes"'}),
        ('{"quote": "he said "no" twice", "a": 1}', {"quote": 'he said "no" twice', "a": 1}),
    ],
)
def test_what_models_write_is_read_as_far_as_it_goes(text, value):
    assert json_objects(text)[0].python() == value


def test_each_value_knows_where_it_stands_and_by_which_keys():
    text = 'x {"a": {"score": 4}, "b": ["u", "v"]}'
    (value,) = json_objects(text)
    entries = [(path, text[item.start : item.end]) for path, item in value.entries()]
    assert entries == [(("a", "score"), "4"), (("b",), "u"), (("b",), "v")]
    assert text[value.item("score").start : value.item("score").end] == "4"


def test_a_verdict_is_taken_from_the_strongest_key_and_left_open_where_two_contradict():
    tiers = (("final",), ("verdict", "answer"))

    def read(_key, value):
        return value if value in ("yes", "no") else ""

    assert said_in({"verdict": "yes", "final": "no"}, tiers, read) == ("final", "no")
    assert said_in({"verdict": "yes", "answer": "no"}, tiers, read) == ("verdict", "")
    assert said_in({"result": {"Final_": "yes"}}, tiers, read) == ("final", "yes")
    assert said_in({"note": "none"}, tiers, read) is None
    assert plain_key("Final_Verdict ") == "finalverdict"


@pytest.mark.parametrize("before", ["", "Here it is: "])
@pytest.mark.parametrize(
    "broken",
    [
        '{"name": "Ann", "home": {"city": "Rome"},}',
        '{\'name\': "Ann", \'home\': {"city": "Rome"}}',
        '{"name": "Ann" // found\n, "home": {"city": "Rome"}}',
        '{"people": [{"name": "Ann"}], "n": tru}',
        '{"name": "Ann", "home": {"city": "Rome"}',
        '[{"name": "Ann"},]',
    ],
)
def test_a_part_of_broken_json_is_not_the_answer(before, broken):
    assert read_json(before + broken)[0] is None


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.data())
def test_json_without_one_of_its_characters_is_read_whole_or_not_at_all(value, data):
    text = json.dumps(value)
    at = data.draw(st.integers(text.index(":") + 1, len(text) - 1))
    damaged = text[:at] + text[at + 1 :]
    read, problem = read_json(damaged)
    assert problem or read == json.loads(damaged)


@given(st.text("{}[]\"':,ab1 \n\\", max_size=200))
def test_any_text_is_read_without_an_error(text):
    for value in json_objects(text):
        assert 0 <= value.start < value.end <= len(text)
        list(value.entries())
        value.python()


def test_brackets_nested_without_end_take_no_stack():
    (value,) = json_objects('{"a":' * 10_000)
    assert value.kind == "object"
