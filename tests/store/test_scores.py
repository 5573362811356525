"""What figures need of a score's detail, and that no text can pass for a key of it."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.analysis.scores.score_columns import DAMAGED_DETAIL, NO_DETAIL, Answered
from steelyard.store.codec import Packer, Unpacker
from steelyard.store.scores import DetailReader


def packed(data):
    return Packer(lambda kind, data: 1).pack("score", data)


def read(reason, detail):
    reader = DetailReader(Unpacker(lambda number: b""))
    text = json.dumps([reason, detail], ensure_ascii=False, separators=(",", ":"))
    [number] = reader.numbers([packed(text.encode("utf-8", "surrogatepass"))])
    return reader.details[number]


def test_letters_key_and_options_are_read():
    detail = {"letters": "AC", "wanted": "B", "options": 10, "original": "BD", "confidence": "inferred", "span": [1, 2]}
    assert Answered.of(read("Aanswered C · correct B", detail)) == Answered("AC", "B", 10, "BD", inferred=True)
    assert read("", {"letters": "", "wanted": "B", "options": 4, "kind": "several"})["kind"] == "several"
    assert Answered.of(read("", {})) == Answered()


texts = st.text(max_size=20) | st.sampled_from(['"letters":"A"', '{"wanted":"B"}', '\\"options":4', '","original":"A'])
values = st.none() | st.integers(0, 30) | st.sampled_from(["", "A", "AC", "inferred", "several"]) | texts
details = st.dictionaries(
    st.sampled_from(["letters", "wanted", "original", "confidence", "kind", "options", "span", "more"]),
    values | st.dictionaries(st.sampled_from(["letters", "wanted"]), texts, max_size=2),
    max_size=8,
)


@given(texts, details)
@example("", {"letters": '"'})
def test_it_reads_what_opening_the_detail_reads(reason, detail):
    assert Answered.of(read(reason, detail)) == Answered.of(json.loads(json.dumps(detail)))


def test_equal_bodies_have_one_number_and_a_damaged_one_is_named():
    body = packed(b'["",{"letters":"A","wanted":"A","options":4}]')
    reader = DetailReader(Unpacker(lambda number: b""))
    numbers = reader.numbers([body, None, bytes(body), b"no body"])
    assert numbers[0] == numbers[2]
    assert [reader.details[number] for number in numbers[1::2]] == [NO_DETAIL, DAMAGED_DETAIL]


def test_texts_for_a_reader_of_one_record_are_left_out():
    order = {"shown": "AB", "verdict": "A", "slot": 1, "outcome": "scored", "reason": "longer"}
    kept = read("why", {"label": "A", "prompt": "a long one", "orders": [order, "odd"], "turns": [{"value": 1.0}]})
    assert kept == {
        "label": "A",
        "orders": [{"shown": "AB", "verdict": "A", "slot": 1, "outcome": "scored"}, {}],
        "turns": [{"value": 1.0}],
    }
