"""A scorer is given what its parameters name."""

from __future__ import annotations

import functools
import operator

import pytest

import steelyard
from steelyard import ConfigError, ExactMatch, Output, Sample, Score, evaluate
from steelyard.runner.scorer_parameters import bound_by_name

SAMPLE = Sample("s", "Which?", "B", metadata={"level": 2})
OUTPUT = Output("A", contexts=("a passage",))


def plain(output, expected):
    return (output, expected)


def turned(expected, output):
    return (output, expected)


def every(input, metadata, reference, output):  # noqa: A002
    return (input, metadata, reference, output)


def keywords(*, output, expected):
    return (output, expected)


def by_position(output, expected, /):
    return (output, expected)


def with_default(output, strict=True, expected=None):  # noqa: FBT002
    return (output, strict, expected)


def only_output(output):
    return output


def only_sample(sample):
    return sample


def objects(sample, output):
    return (sample, output)


def objects_turned(output, sample):
    return (sample, output)


def objects_and_values(sample, output, expected):
    return (sample, output, expected)


def other_word(sample, answer):
    return (sample, answer)


def objects_by_keyword(*, sample, output):
    return (sample, output)


def annotated(s: Sample, o: Output):
    return (s, o)


def annotated_by_text(o: steelyard.Output, s: steelyard.Sample):
    return (s, o)


def annotated_output(output: Output, expected):
    return (output, expected)


def anything(*values):
    return values


class WithCall:
    def __call__(self, output, expected):
        return (output, expected)


@pytest.mark.parametrize(
    ("scorer", "given"),
    [
        (plain, ("A", "B")),
        (turned, ("A", "B")),
        (every, ("Which?", {"level": 2}, "B", "A")),
        (keywords, ("A", "B")),
        (by_position, ("A", "B")),
        (with_default, ("A", True, "B")),
        (only_output, "A"),
        (functools.partial(plain, expected="C"), ("A", "C")),
        (WithCall(), ("A", "B")),
        (only_sample, SAMPLE),
        (objects, (SAMPLE, OUTPUT)),
        (objects_turned, (SAMPLE, OUTPUT)),
        (objects_and_values, (SAMPLE, OUTPUT, "B")),
        (objects_by_keyword, (SAMPLE, OUTPUT)),
        (other_word, (SAMPLE, OUTPUT)),
        (annotated, (SAMPLE, OUTPUT)),
        (annotated_by_text, (SAMPLE, OUTPUT)),
        (annotated_output, (OUTPUT, "B")),
        (anything, (SAMPLE, OUTPUT)),
    ],
)
def test_a_scorer_is_given_what_its_parameters_name(scorer, given):
    assert bound_by_name("own", scorer)(SAMPLE, OUTPUT) == given


def test_the_usual_scorer_is_called_without_a_step_between():
    assert bound_by_name("objects", objects) is objects
    match = ExactMatch()
    assert bound_by_name("exact_match", match) is match


@pytest.mark.parametrize(
    ("scorer", "word"),
    [
        (lambda output, target: output == target, "target"),
        (lambda o, e: o == e, "o"),
        (lambda outputs: True, "outputs"),
        (operator.eq, "a"),
        (lambda sample, answer, mark: True, "answer"),
    ],
)
def test_a_parameter_that_nothing_is_given_for_is_refused_before_the_first_call(scorer, word, tmp_path):
    asked = []
    with pytest.raises(ConfigError, match=rf"parameter '{word}'.*\(output, expected\)"):
        evaluate(asked.append, [SAMPLE], [scorer], store=tmp_path / "s.db")
    assert asked == []
    assert not (tmp_path / "s.db").exists()


def test_a_word_that_is_nearly_right_is_named():
    with pytest.raises(ConfigError, match="did you mean 'output'"):
        bound_by_name("near", lambda outputs, expected: True)


def test_plain_values_are_scored_with_and_without_a_model(tmp_path):
    def same(output, expected):
        return output == expected

    async def awaited(output, expected, ask):
        return Score("awaited", float(output == expected and ask is not None))

    class Close:
        async def __call__(self, *, output, expected):
            return Score("close", float(output == expected))

    samples = [Sample("a", "1+1?", "2"), Sample("b", "1+2?", "3")]
    run = evaluate(lambda sample: "2", samples, [same, awaited, Close()], store=tmp_path / "s.db")
    values = {record.sample.id: [score.value for score in record.scores] for record in run.records()}
    assert values == {"a": [1.0, 1.0, 1.0], "b": [0.0, 0.0, 0.0]}
