"""The scripted model: for users' own tests, so its answers must be those that were written down."""

import asyncio
import json

import pytest

from steelyard import ExactMatch, Prompt, Sample, Scripted, evaluate
from steelyard.errors import ModelError
from steelyard.models.base import Answer, Fault


def say(model, messages):
    return model.read(asyncio.run(model.send(model.request(messages, {}), None))).text


def test_the_equal_entry_wins_over_the_first_that_occurs_and_the_default_is_last():
    model = Scripted({"France": "Paris", "Capital of France?": "PARIS"}, default="no idea")
    assert say(model, "Capital of France?") == "PARIS"
    assert say(model, "And of France, please?") == "Paris"
    assert say(model, "Italy?") == "no idea"


def test_the_last_message_of_the_user_is_looked_up():
    messages = [{"role": "user", "content": "Italy"}, {"role": "assistant", "content": "France"}]
    assert say(Scripted({"Italy": "Rome", "France": "Paris"}), messages) == "Rome"


def test_a_function_gets_the_messages():
    model = Scripted(function=lambda messages: messages[0]["content"][::-1])
    assert say(model, "abc") == "cba"


def test_a_function_must_return_a_text():
    with pytest.raises(TypeError, match="a scripted reply is a text, not None"):
        say(Scripted(function=lambda messages: None), "q")


def test_half_of_a_surrogate_pair_survives():
    assert say(Scripted(default="a\ud800b"), "q") == "a\ud800b"


def test_two_scripts_never_share_a_key():
    def closing_over(word):
        return lambda messages: word

    models = [
        Scripted(),
        Scripted(default="x"),
        Scripted({"a": "b"}),
        Scripted(function=lambda messages: "A"),
        Scripted(function=lambda messages: "B"),
        Scripted(function=closing_over("A")),
        Scripted(function=closing_over("B")),
    ]
    assert len({model.request("q", {}).digest for model in models}) == len(models)
    assert models[4].request("q", {}).digest == models[4].request("q", {}).digest


def test_a_changed_script_is_not_answered_by_the_journal_of_the_old_one():
    samples = [Sample("1", "q", "B")]
    for word, solved in (("A", 0.0), ("B", 1.0)):
        run = evaluate(Prompt(Scripted(function=lambda messages, word=word: word)), samples, [ExactMatch()])
        assert [score.value for record in run.records() for score in record.scores] == [solved]


def test_a_status_other_than_200_is_a_fault():
    with pytest.raises(Fault, match="status 500"):
        Scripted().read(Answer(500, {}, b""))


def test_parameters_are_part_of_what_is_asked():
    model = Scripted()
    assert model.request("q", {"seed": 1}).digest != model.request("q", {"seed": 2}).digest
    assert json.loads(model.request("q", {"seed": 1}).payload)["seed"] == 1


def test_a_script_that_fails_is_a_failure_of_the_sample():
    def broken(messages):
        raise KeyError("script")

    run = evaluate(Prompt(Scripted(function=broken)), [Sample("1", "q", "B")], [ExactMatch()], on_broken="return")
    (record,) = run.records()
    assert (record.failure.stage, record.failure.kind) == ("target", "KeyError")
    assert not isinstance(record.failure, ModelError)


def test_echo_answers_with_the_message_where_no_entry_occurs():
    model = Scripted({"France": "Paris"}, default="no", echo=True)
    assert [model.read(model.answer(text)).text for text in ("Capital of France?", "Hello")] == ["Paris", "Hello"]
    assert model.request("x", {}).url != Scripted({"France": "Paris"}, default="no").request("x", {}).url
