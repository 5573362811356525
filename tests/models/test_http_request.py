"""Any JSON endpoint as a model: what is sent, and what is refused before anything is."""

import json
from dataclasses import replace

import pytest

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.evaluation.objects import check_parts
from steelyard.models.http import HttpModel, PresetName, presets
from steelyard.models.response import ResponseMap
from steelyard.registry import describe, find


def chatchat(url):
    return HttpModel(url, "chatchat-0.2", body={"knowledge_base_name": "zhouyi"})


def payload(model, messages="hi", **parameters):
    return json.loads(model.request(messages, parameters).payload)


def test_values_of_a_body_keep_their_type_and_text_may_hold_braces():
    model = HttpModel(
        "http://h/x",
        body={"q": "Q: {{prompt}}", "k": "{{top_k}}", "on": False, "deep": [{"t": "{{messages}}"}], "json": '{"a":{}}'},
        parameters={"top_k": 3},
    )
    assert payload(model, r"\frac{1}{2} {{top_k}}", top_k=20) == {
        "q": r"Q: \frac{1}{2} {{top_k}}",
        "k": 20,
        "on": False,
        "deep": [{"t": [{"role": "user", "content": r"\frac{1}{2} {{top_k}}"}]}],
        "json": '{"a":{}}',
    }
    assert payload(model)["k"] == 3


def test_a_conversation_becomes_prompt_and_history():
    turns = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": [{"type": "text", "text": "three"}]},
    ]
    sent = payload(chatchat("http://h"), turns)
    assert (sent["query"], sent["history"]) == ("three", turns[:2])


def test_of_instructions_alone_the_last_is_the_prompt():
    """As for Claude and Gemini: the prompt was sent blank."""
    turns = [{"role": "system", "content": "You know ships."}, {"role": "system", "content": "Which sank?"}]
    body = {"q": "{{prompt}}", "s": "{{system}}", "h": "{{history}}"}
    assert payload(HttpModel("http://h/x", body=body), turns) == {"q": "Which sank?", "s": "You know ships.", "h": []}


def test_a_message_without_a_place_is_refused_rather_than_left_out():
    system = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    with pytest.raises(ConfigError, match=r"no place for a system message: use \{\{system\}\}"):
        payload(chatchat("http://h"), system)
    with pytest.raises(ConfigError, match="no place for 1 earlier messages"):
        payload(HttpModel("http://h/x", body={"q": "{{prompt}}"}), [{"role": "assistant", "content": "a"}, system[1]])
    assert payload(HttpModel("http://h/x", body={"s": "{{system}}", "q": "{{prompt}}"}), system)["s"] == "be brief"


def test_a_lone_surrogate_is_sent_as_its_escape():
    request = HttpModel("http://h/x", body={"q": "{{prompt}}"}).request("a\ud800", {})
    assert request.payload == b'{"q":"a\\ud800"}'


def test_a_preset_is_written_out_in_the_fields_and_gives_way_to_what_is_given():
    model = HttpModel(
        "http://kb.example:7861",
        "chatchat-0.2",
        body={"knowledge_base_name": "zhouyi", "stream": True},
        response=ResponseMap(join="last", error="oops"),
    )
    assert model.url == "http://kb.example:7861/chat/knowledge_base_chat"
    assert model.body["stream"] is True
    assert model.body["query"] == "{{prompt}}"
    assert (model.response.join, model.response.error, model.response.contexts) == ("last", "oops", "docs")
    assert replace(model) == model
    assert describe(model)["http"]["body"]["query"] == "{{prompt}}"


def test_a_given_path_and_header_win_over_the_presets():
    model = HttpModel(
        "http://h/mine?x=1", "zhipu", headers={"authorization": "Bearer ${MINE}"}, body={"model": "glm-4"}
    )
    assert model.url == "http://h/mine?x=1"
    assert dict(model.headers) == {"authorization": "Bearer ${MINE}"}


@pytest.mark.parametrize("name", presets())
def test_every_preset_passes_its_own_check_once_its_needs_are_met(name):
    model = HttpModel("http://h", name, body=dict.fromkeys(presets()[name].needs, "x"))
    check_options(model)
    assert model.request("hi", {}).url == "http://h" + presets()[name].path
    for need in presets()[name].needs[:1]:
        with pytest.raises(ConfigError, match=f"needs the key '{need}'"):
            check_options(HttpModel("http://h", name))


def test_the_names_of_presets_are_those_of_the_annotation():
    assert {"", *presets()} == set(PresetName.__args__)


def test_the_registered_model_is_this_one():
    assert find("model", "http") is HttpModel


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": ""}, "'url' is missing"),
        ({"url": "ftp://h/x"}, "http"),
        ({"url": "h/x"}, "http"),
        ({"url": "http://{{host}}/x"}, "host"),
        ({"url": "http://me:pw@h/x"}, "password"),
        ({"url": "http://h/x?api_key=abc"}, "reference"),
        ({"headers": {"X-Api-Key": "sk-123"}}, "reference"),
        ({"body": {"key": ["${NAME}"]}}, "not resolved"),
        ({"response": ResponseMap()}, r"response\.text is missing"),
        ({"response": ResponseMap(text="a[")}, r"response\.text: 'a\[' is not a JMESPath"),
        ({"response": ResponseMap(text="a", usage="||")}, r"response\.usage"),
        ({"body": {"q": "{{promt}}"}}, r"did you mean 'prompt'"),
        ({"body": {"q": "{{question}}"}}, "unknown placeholder"),
        ({"timeout_s": 0.0}, "0.001 or more"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(fields, message):
    good = {"url": "http://h/x", "body": {"q": "{{prompt}}"}, "response": ResponseMap(text="answer")}
    check_options(HttpModel(**good))
    with pytest.raises(ConfigError, match=message):
        check_parts(HttpModel(**good | fields))


def test_an_unknown_preset_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"did you mean 'chatchat-0\.2'"):
        HttpModel("http://h", "chatchat-0.2.10")
