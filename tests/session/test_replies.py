"""What a target may return, and what is a failure instead of a score of 0."""

import pytest

from steelyard import DataError, ExactMatch, Sample, evaluate
from steelyard.session.replies import plain_output
from steelyard.types import Output


def one_by_one(sample):
    yield sample.input


async def one_by_one_async(sample):
    yield sample.input


def forgotten(sample):
    sample.input.upper()


class Answer:
    """Has no plain form."""


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (one_by_one, "TypeError: a value of type generator has no plain form"),
        (one_by_one_async, "TypeError: a value of type async_generator has no plain form"),
        (lambda sample: Answer(), "TypeError: a value of type Answer has no plain form"),
        (lambda sample: Output({"deep": [Answer()]}), "TypeError: a value of type Answer has no plain form"),
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
    run = evaluate(lambda sample: Output("a", contexts), [Sample("1", "q", "a")], [ExactMatch()])
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
    with pytest.raises(DataError, match="sample 2: TypeError: a value of type generator has no plain form"):
        evaluate(called.append, [Sample("1", "q"), bad], [ExactMatch()])
    assert not called
    assert not list(tmp_path.rglob("*.db"))
