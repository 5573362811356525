"""Gemini's generateContent: what is sent, and what is made of whatever comes back."""

import json

import pytest
from tests.models.native import FORM, KEY, PDF, PNG, SCHEMA, TOOL, body_of, exchanged, fault_of, read
from tests.wires import gemini

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.models import Gemini
from steelyard.types import Usage

MODEL = Gemini("gemini-x", api_key="${KEY}")


def candidate(*parts, reason="STOP", **more):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, **more}]}


def error(code, status, message, *details):
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def test_a_call_has_key_model_and_settings_in_their_places():
    reply, (asked,) = exchanged(
        lambda url: Gemini("gemini-x", url, "${KEY}", {"safetySettings": [], "thinkingConfig": {"includeThoughts": 1}}),
        [(200, gemini("Paris"))],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}],
        max_tokens=9,
        temperature=0,
        top_p=1,
        stop=["END"],
        reasoning_effort="low",
        frequency_penalty=0,
    )
    assert asked.line == "POST /v1/models/gemini-x:generateContent HTTP/1.1"
    assert asked.headers["x-goog-api-key"] == KEY
    assert json.loads(asked.body) == {
        "contents": [{"role": "user", "parts": [{"text": "Capital?"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "safetySettings": [],
        "generationConfig": {
            "maxOutputTokens": 9,
            "temperature": 0,
            "topP": 1,
            "stopSequences": ["END"],
            "frequencyPenalty": 0,
            "thinkingConfig": {"includeThoughts": 1, "thinkingLevel": "LOW"},
        },
    }
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "stop", Usage(20, 1))


def test_a_models_name_is_one_part_of_the_path():
    assert Gemini("models/a b/../c").request("q", {}).url.endswith("/models/a%20b%2F..%2Fc:generateContent")


def test_images_and_pdfs_are_inline_data():
    (turn,) = body_of(MODEL, [{"role": "user", "content": [PNG, PDF]}])["contents"]
    assert turn["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    assert turn["parts"][1]["inlineData"]["mimeType"] == "application/pdf"


def test_a_turn_with_tools_goes_back_with_its_signature():
    part = {"functionCall": {"name": "find", "args": {"q": "易"}}, "thoughtSignature": "c2ln"}
    first = read(MODEL, candidate({"text": "Hm.", "thought": True}, part))
    assert (first.text, first.finish, first.metadata["reasoning"]) == ("", "tool_calls", "Hm.")
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": first.text, **first.metadata},
        {"role": "tool", "tool_call_id": first.metadata["tool_calls"][0]["id"], "content": "7"},
    ]
    body = body_of(MODEL, messages, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "find"}})
    sent = body["contents"][1]["parts"][0]
    assert (sent["functionCall"]["args"], sent["thoughtSignature"]) == ({"q": "易"}, "c2ln")
    assert body["contents"][2]["parts"][0]["functionResponse"]["response"] == {"result": "7"}
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "find"
    calling = {"mode": "ANY", "allowedFunctionNames": ["find"]}
    assert body["toolConfig"] == {"functionCallingConfig": calling}


def test_the_result_of_a_tool_without_its_name_is_refused():
    with pytest.raises(ConfigError, match="needs its name"):
        MODEL.request([{"role": "tool", "tool_call_id": "c9", "content": "7"}], {})


def test_a_schema_is_sent_as_it_is():
    settings = body_of(MODEL, "?", response_format=FORM)["generationConfig"]
    assert settings == {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    assert body_of(MODEL, "?", response_format={"type": "json_object"})["generationConfig"] == {
        "responseMimeType": "application/json"
    }


def test_no_effort_at_all_turns_thinking_off():
    settings = body_of(MODEL, "?", reasoning_effort="none")["generationConfig"]
    assert settings["thinkingConfig"] == {"thinkingBudget": 0}


def test_thoughts_are_counted_in_the_output():
    usage = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 10,
        "cachedContentTokenCount": 70,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 4,
    }
    assert read(MODEL, gemini("A", usageMetadata=usage)).usage == Usage(110, 9, cache_read=70, reasoning=4)


def test_all_budget_thought_away_counts_its_thoughts():
    usage = {"promptTokenCount": 9, "thoughtsTokenCount": 50}
    reply = read(MODEL, {"candidates": [{"finishReason": "MAX_TOKENS"}], "usageMetadata": usage})
    assert (reply.text, reply.finish, reply.usage.output_tokens) == ("", "length", 50)


def test_log_probabilities_are_in_the_form_of_chat_completions():
    token = {"token": "A", "tokenId": 1, "logProbability": -0.1}
    result = {"chosenCandidates": [token], "topCandidates": [{"candidates": [token, {"token": "B"}]}]}
    reply = read(MODEL, candidate({"text": "A"}, logprobsResult=result))
    first = {"token": "A", "logprob": -0.1}
    other = {"token": "B", "logprob": None}
    assert reply.metadata["logprobs"] == [{**first, "top_logprobs": [first, other]}]


@pytest.mark.parametrize(
    "reason",
    [*("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "ESCALATION")],
)
def test_filters_are_an_outcome_with_their_name(reason):
    reply = read(MODEL, {"candidates": [{"finishReason": reason}]})
    assert (reply.text, reply.finish, reply.metadata["stop_reason"]) == ("", "content_filter", reason)


def test_a_reply_of_the_word_for_a_block_is_a_reply():
    assert read(MODEL, candidate({"text": "blockReason"})).text == "blockReason"


def test_a_blocked_prompt_has_no_candidates():
    reply = read(MODEL, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}})
    assert (reply.finish, reply.metadata["stop_reason"]) == ("content_filter", "PROHIBITED_CONTENT")


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"])
def test_what_cannot_be_read_by_its_own_account_is_an_error_with_its_name(reason):
    fault = fault_of(MODEL, {"candidates": [{"finishReason": reason, "finishMessage": "Bad call."}]})
    assert (fault.kind, fault.retry) == ("empty", True)
    assert f"{reason}: Bad call." in fault.message


@pytest.mark.parametrize("reason", ["OTHER", "MALFORMED_RESPONSE", "MALFORMED_FUNCTION_CALL"])
def test_a_reply_that_broke_off_counts_as_cut(reason):
    reply = read(MODEL, candidate({"text": "Par"}, reason=reason))
    assert (reply.text, reply.finish, reply.metadata["stop_reason"]) == ("Par", "length", reason)


def test_a_reply_that_the_provider_cuts_at_its_own_limit_is_gone_on_with():
    cut = candidate({"text": "Par"}, reason="CONTINUATION", continuationToken="dG9r")
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 1}
    reply, asked = exchanged(
        lambda url: Gemini("gemini-x", url), [(200, {**cut, "usageMetadata": usage}), (200, gemini("is"))]
    )
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "stop", Usage(40, 2))
    assert [json.loads(one.body).get("continuationToken") for one in asked] == [None, "dG9r"]


def test_a_cut_that_nobody_can_go_on_with_counts_as_too_long():
    reply = read(MODEL, candidate({"text": "Par"}, reason="CONTINUATION"))
    assert (reply.text, reply.finish, reply.metadata["stop_reason"]) == ("Par", "length", "CONTINUATION")


@pytest.mark.parametrize(
    ("body", "kind", "retried"),
    [
        (error(503, "UNAVAILABLE", "The model is overloaded."), "server", True),
        (error(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: x, limit: 10"), "rate_limit", True),
        (error(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: x, limit: 0"), "quota", False),
        (error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), "auth", False),
        ([error(400, "INVALID_ARGUMENT", "API key not valid.")], "auth", False),
        (error(404, "NOT_FOUND", "models/gemini-1.0-pro is not found for API version v1beta"), "unknown_model", False),
        (error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), "bad_request", False),
    ],
)
def test_errors_are_classified_by_status_and_words(body, kind, retried):
    code = (body[0] if isinstance(body, list) else body)["error"]["code"]
    fault = fault_of(MODEL, body, code)
    assert (fault.kind, fault.retry) == (kind, retried)


def test_an_unknown_field_is_named_for_the_parameter_findings():
    message = "Penalty is not enabled for this model"
    names = fault_of(MODEL, error(400, "INVALID_ARGUMENT", message), 400).refused.names
    assert names == ("frequency_penalty", "presence_penalty")


def test_flex_is_sent_and_read():
    request = Gemini("gemini-x", service="flex", timeout_s=60).request("q", {})
    assert json.loads(request.payload)["serviceTier"] == "flex"
    assert request.total_s == 900


def test_what_cannot_be_right_is_refused_before_anything_is_sent():
    for wrong in ({"contents": []}, {"generationConfig": {}}, {"n": 2}):
        with pytest.raises(ConfigError):
            check_options(Gemini("gemini-x", parameters=wrong))
    check_options(MODEL)
