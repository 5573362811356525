"""What a target may return, and what is a failure instead of a score of 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import ExactMatch, Sample, evaluate
from steelyard.errors import Attempt, DataError
from steelyard.plain_json import to_json
from steelyard.session.replies import pack_reply, plain_output, unpack_reply
from steelyard.types import Output, Reply, Usage


def one_by_one(sample):
    yield sample.input


async def one_by_one_async(sample):
    yield sample.input


def forgotten(sample):
    sample.input.upper()


class Answer:
    """Has no JSON form."""


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (one_by_one, "TypeError: a value of type generator has no JSON form"),
        (one_by_one_async, "TypeError: a value of type async_generator has no JSON form"),
        (lambda sample: Answer(), "TypeError: a value of type Answer has no JSON form"),
        (lambda sample: Output({"deep": [Answer()]}), "TypeError: a value of type Answer has no JSON form"),
        (forgotten, "TypeError: it returned nothing; is a `return` missing?"),
    ],
)
def test_what_is_no_output_is_a_failure_of_the_record_and_no_score(target, said):
    run = evaluate(target, [Sample("1", "q", "A")], [ExactMatch()], max_errors=1.0)
    (record,) = run.records()
    assert record.failure.stage == "target"
    assert record.failure.message.startswith(said)
    assert not record.scores


@pytest.mark.parametrize(
    ("contexts", "said"),
    [
        ("one passage", "not str"),
        (7, "not int"),
        (("a", None), "one of them is NoneType"),
        ([{"text": "a"}], "is dict"),
    ],
)
def test_passages_that_are_no_list_of_texts_are_the_targets_failure(contexts, said):
    run = evaluate(lambda sample: Output("a", contexts), [Sample("1", "q", "a")], [ExactMatch()], on_broken="return")
    [record] = run.records()
    assert (record.failure.stage, record.scores) == ("target", ())
    assert "contexts are" in record.failure.message
    assert said in record.failure.message


def test_nothing_may_be_meant():
    assert plain_output(Output(None)) == Output(None)


@pytest.mark.parametrize("field", ["input", "reference"])
def test_a_sample_without_a_plain_form_is_refused_before_the_run(tmp_path, field):
    called = []
    bad = Sample("2", **{"input": "q", field: (one for one in "ab")})
    with pytest.raises(DataError, match="sample 2: TypeError: a value of type generator has no JSON form"):
        evaluate(called.append, [Sample("1", "q"), bad], [ExactMatch()])
    assert not called
    assert not list(tmp_path.rglob("*.db"))


ANY_TEXT = st.text(st.characters(codec=None), max_size=20)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(ANY_TEXT, ANY_TEXT, st.integers(0, 2**70), st.floats(0, 1e6), st.dictionaries(ANY_TEXT, ANY_TEXT | PLAIN))
def test_a_reply_is_stored_in_the_bytes_of_the_standard_library(text, finish, tokens, latency, metadata):
    reply = Reply("00", text, finish, Usage(tokens, 3), latency, (Attempt("", latency),), metadata=metadata)
    packed = pack_reply(reply)
    assert packed == to_json([text, finish, [tokens, 3, 0], round(latency, 3), 0, metadata])
    stored = unpack_reply("00", packed)
    assert (stored.text, stored.finish, stored.usage, stored.metadata) == (text, finish, reply.usage, metadata)


def test_a_reply_after_a_retry_keeps_its_attempts():
    attempts = (Attempt("server", 0.25, 0.0, "status 500"), Attempt("", 0.5, 0.125))
    stored = unpack_reply("00", pack_reply(Reply("00", "a", latency=0.5, attempts=attempts)))
    assert stored.attempts == attempts
