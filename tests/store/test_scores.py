"""What is read of a score's detail without opening it, and that no text can pass for a key of it."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.analysis.score_columns import Answered
from steelyard.store.codec import Packer, Unpacker
from steelyard.store.scores import AnsweredReader, answered_of


def read(reason, detail):
    text = json.dumps([reason, detail], ensure_ascii=False, separators=(",", ":"))
    return AnsweredReader(Unpacker(lambda number: b"")).read(
        Packer(lambda kind, data: 1).pack("score", text.encode("utf-8", "surrogatepass"))
    )


def test_letters_key_and_options_are_read():
    detail = {"letters": "AC", "wanted": "B", "options": 10, "original": "BD", "confidence": "inferred", "span": [1, 2]}
    assert read("AC, B is right", detail) == Answered("AC", "B", 10, "BD", inferred=True)
    assert read("", {"letters": "", "wanted": "B", "options": 4, "kind": "several"}).kind == "several"
    assert read("", {}) == Answered()


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
    assert read(reason, detail) == answered_of(json.loads(json.dumps(detail)))


def test_equal_bodies_are_opened_once():
    packed = Packer(lambda kind, data: 1).pack("score", b'["",{"letters":"A","wanted":"A","options":4}]')
    reader = AnsweredReader(Unpacker(lambda number: b""))
    assert reader.read(packed) is reader.read(bytes(packed))
