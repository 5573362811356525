"""The parameters that real refusals name, and the calls that are made of a refused one."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from steelyard.models.base import Answer, Fault, Refused
from steelyard.models.faults import filtered_reply
from steelyard.models.refused_parameters import THINKING_TOKENS, adjusted, changes_for, refused_parameters

REFUSALS = tomllib.loads(Path(__file__).with_name("refused_parameters.toml").read_text("utf-8"))["refusal"]
STEADY = {"temperature": 0, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0}


@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal["source"] for refusal in REFUSALS])
def test_the_names_in_a_real_refusal_are_read(refusal):
    with pytest.raises(Fault) as raised:
        filtered_reply(Answer(refusal["status"], {}, refusal["body"].encode()))
    assert list(raised.value.refused.names) == refusal["names"]
    assert raised.value.refused.exclusive == refusal.get("exclusive", False)
    assert not (refusal["names"] and raised.value.retry)


def test_a_body_that_is_no_json_or_nested_without_end_is_read_as_text():
    assert refused_parameters(b"<html>temperature is not supported</html>").names == ("temperature",)
    assert refused_parameters(b"[" * 20_000).names == ()
    assert refused_parameters(b"\xff{broken: top_p").names == ("top_p",)


def test_only_what_nobody_asked_for_is_left_out():
    refused = Refused(("temperature", "top_p"))
    assert changes_for(refused, STEADY, STEADY, {}) == {"temperature": "", "top_p": ""}
    assert changes_for(refused, STEADY, {"top_p"}, {}) == {"top_p": ""}
    assert changes_for(refused, STEADY, (), {}) == {}
    assert changes_for(refused, STEADY, STEADY, {"temperature": "", "top_p": ""}) == {}


def test_of_two_that_exclude_each_other_the_temperature_stays():
    refused = Refused(("temperature", "top_p"), exclusive=True)
    assert changes_for(refused, STEADY, STEADY, {}) == {"top_p": ""}
    assert changes_for(refused, STEADY, {"temperature"}, {}) == {"temperature": ""}


def test_a_limit_gets_the_name_that_the_endpoint_proposes_and_else_the_other_usual_one():
    named = Refused(("max_tokens", "max_output_tokens"))
    assert changes_for(named, {"max_tokens": 9}, (), {}) == {"max_tokens": "max_output_tokens"}
    assert changes_for(Refused(("max_tokens",)), {"max_tokens": 9}, (), {}) == {"max_tokens": "max_completion_tokens"}
    other = Refused(("max_completion_tokens",))
    assert changes_for(other, {"max_completion_tokens": 9}, (), {}) == {"max_completion_tokens": "max_tokens"}


def test_a_limit_that_is_refused_under_both_names_is_left_out_only_if_nobody_asked_for_it():
    refused, renamed = Refused(("max_completion_tokens",)), {"max_tokens": "max_completion_tokens"}
    assert changes_for(refused, {"max_tokens": 9}, {"max_tokens"}, renamed) == {"max_tokens": ""}
    assert changes_for(refused, {"max_tokens": 9}, (), renamed) == {}


@dataclass(frozen=True)
class Model:
    parameters: dict = field(default_factory=dict)


def test_a_renamed_limit_of_a_scorer_gets_room_for_thinking_and_one_of_the_user_stays():
    changes = {"max_tokens": "max_completion_tokens"}
    assert adjusted(Model(), {"max_tokens": 12}, changes, {"max_tokens"})[1] == {
        "max_completion_tokens": 12 + THINKING_TOKENS
    }
    assert adjusted(Model(), {"max_tokens": 12}, changes, ())[1] == {"max_completion_tokens": 12}


def test_a_limit_that_the_model_sets_is_renamed_there():
    model, parameters = adjusted(Model({"max_tokens": 9, "seed": 1}), {}, {"max_tokens": "max_completion_tokens"}, ())
    assert (model, parameters) == (Model({"max_completion_tokens": 9, "seed": 1}), {})
