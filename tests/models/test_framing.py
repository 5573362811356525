"""JSON values are found in a body whatever way they were framed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.models.base import Answer, Fault
from steelyard.models.streaming import events_of, opened, values_in

objects = st.dictionaries(st.text(max_size=4), st.text() | st.integers() | st.none(), min_size=2, max_size=3)
dumps = [json.dumps, lambda value: json.dumps(value, ensure_ascii=False), lambda value: json.dumps(value, indent=1)]


def body(text):
    return Answer(200, {}, text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


@given(st.lists(objects, max_size=4), st.sampled_from(dumps), st.sampled_from(["", " ", "\n", "\r\n"]))
def test_concatenated_values_come_back_with_any_blank_between(values, dump, between):
    text = between.join(dump(value) for value in values)
    assert values_in(body(text)) == tuple(values)
    assert values_in(body(text), "concatenated") == tuple(values)


@given(st.lists(objects, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]))
def test_lines_of_json_come_back(values, end):
    text = end.join(json.dumps(value) for value in values)
    assert values_in(body(text), "jsonl") == tuple(values)


@given(st.lists(objects, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_events_come_back_with_any_line_end_and_without_the_last_blank_line(values, end, closed):
    text = (end * 2).join(f"data: {json.dumps(value)}" for value in values) + end * 2 * closed
    assert values_in(body(text)) == tuple(values)


@given(objects, st.sampled_from(["\n", "\r\n"]))
def test_data_of_several_lines_is_joined(value, end):
    text = end.join(f"data: {line}" for line in json.dumps(value, indent=1).split("\n"))
    assert values_in(body(text + end * 2)) == (value,)


@given(objects)
def test_json_inside_a_json_string_is_opened(value):
    text = json.dumps(json.dumps(value))
    assert values_in(body(text)) == (value,)
    assert values_in(body(text), "json") == (value,)


@given(st.text())
def test_a_plain_string_stays_what_it_is(text):
    assert opened({"answer": text, "docs": 1}) == {"answer": text, "docs": 1}


def test_comments_other_fields_and_done_are_left_out():
    text = ': ping\n\nevent: chunk\nid: 4\nretry: 10\ndata: {"a": 1}\n\n: ping\n\ndata: [DONE]\n\ndata: {"late": 1}\n\n'
    assert values_in(body(text)) == ({"a": 1},)


def test_one_blank_after_the_colon_belongs_to_the_field():
    assert list(events_of("data:  x\n\ndata\n\ndata:y\n\n")) == [("", " x"), ("", ""), ("", "y")]


def test_separators_that_only_python_knows_do_not_end_a_line():
    assert list(events_of("data: a\u2028b\x0bc\x85d\n\n")) == [("", "a\u2028b\x0bc\x85d")]


def test_bare_words_and_numbers_of_an_event_stay_text():
    assert values_in(body("data: 1.50\n\ndata: null\n\ndata: 选 A\n\n")) == ("1.50", "null", "选 A")


def test_a_byte_order_mark_is_no_character():
    assert values_in(body(b'\xef\xbb\xbfdata: {"a": 1}\n\n')) == ({"a": 1},)
    assert values_in(body(b'\xef\xbb\xbf{"a": 1}')) == ({"a": 1},)


@pytest.mark.parametrize("text", ["", "\n", ": ping\n\n", "data: [DONE]\n\n", ":\n\n:\n\n"])
def test_a_body_without_values_has_none(text):
    assert values_in(body(text)) == ()


@pytest.mark.parametrize(
    ("text", "framing"),
    [
        ("<html>log in</html>", "auto"),
        ('{"a": 1}{"b', "auto"),
        ('{"a": 1} and more', "auto"),
        ('data: {"a": "b', "auto"),
        (b'data: {"a": "\xe6\x98', "auto"),
        (b'{"a": "\xff"}', "auto"),
        ("[" * 100_000, "auto"),
        ("", "json"),
        ('{"a": 1}{"b": 2}', "json"),
        ('{"a": 1}\n{"b"', "jsonl"),
    ],
)
def test_what_is_broken_off_or_no_json_is_malformed_and_sent_again(text, framing):
    with pytest.raises(Fault) as caught:
        values_in(body(text), framing)
    assert (caught.value.kind, caught.value.retry, caught.value.billed) == ("malformed", True, True)
    assert len(caught.value.message) < 330
