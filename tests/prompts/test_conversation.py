"""Conversations: messages in cells, transcripts, and placeholders for what is not text."""

import base64
import hashlib
import json

import pytest

from steelyard.prompts.conversation import asked_with, flaw_in, messages_in, search_text, transcript_of, with_system
from steelyard.prompts.message_parts import shown_content, without_files

BYTES = bytes(range(256)) * 100
BASE64 = base64.b64encode(BYTES).decode()
DIGEST = hashlib.sha256(BYTES).hexdigest()[:12]
USER = {"role": "user", "content": "Why?"}


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}}, "image png 26 kB"),
        ({"type": "image_url", "image_url": f"data:image/jpeg;base64,{BASE64}"}, "image jpg 26 kB"),
        ({"type": "input_image", "image_url": f"data:image/webp;base64,{BASE64}", "detail": "low"}, "image webp 26 kB"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": BASE64}},
            "image gif 26 kB",
        ),
        ({"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}}, "audio wav 26 kB"),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{BASE64}"}},
            "file pdf a.pdf 26 kB",
        ),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": BASE64}},
            "document pdf 26 kB",
        ),
        ({"inline_data": {"mime_type": "image/png", "data": BASE64}}, "image png 26 kB"),
    ],
)
def test_a_part_that_is_no_text_is_shown_by_kind_format_size_and_hash(part, shown):
    assert shown_content([{"type": "text", "text": "Look:"}, part]) == f"Look:\n[{shown} sha256:{DIGEST}]"


def test_an_address_is_shown_without_its_query():
    part = {"type": "image_url", "image_url": {"url": "https://me:pw@h.example/a/b.png?sig=SECRET"}}
    assert shown_content([part]).startswith("[image https://h.example/a/b.png sha256:")


def test_two_pictures_are_told_apart():
    first, second = (
        shown_content([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{body}"}}])
        for body in ("AAAA", "AAAB")
    )
    assert first != second


@pytest.mark.parametrize("url", ["data:image/png;base64,not base64!", "data:,", "data:image/png", "", "data:;base64,"])
def test_a_damaged_picture_still_has_a_placeholder(url):
    assert shown_content([{"type": "image_url", "image_url": {"url": url}}]).startswith("[image")


def test_any_other_part_is_shown_as_json_without_its_files():
    part = {"type": "tool_result", "content": [{"text": "ok"}], "blob": f"data:image/png;base64,{BASE64}"}
    shown = shown_content([part])
    assert shown.startswith('[tool_result {"type":"tool_result","content":[{"text":"ok"}],"blob":"[image png 26 kB')
    assert BASE64[:50] not in shown


def test_calls_of_tools_and_their_results_are_turns():
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"q": "gate"}'}}
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which colour?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "red", "tool_call_id": "1"},
    ]
    assert transcript_of(turns) == (
        'System: Be brief.\n\nUser: Which colour?\n\nAssistant: [calls look {"q": "gate"}]\n\nTool: red'
    )


def test_roles_are_named_in_the_language_of_the_turns():
    turns = [{"role": "user", "content": "谁写了红楼梦？"}, {"role": "assistant", "content": "曹雪芹。"}]
    assert transcript_of(turns) == "用户：谁写了红楼梦？\n\n助手：曹雪芹。"


@pytest.mark.parametrize("value", ["Why?", [USER], [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}]])
def test_a_single_question_is_its_words_alone(value):
    assert transcript_of(value) == "Why?"


def test_other_values_are_compact_json_and_long_texts_stay():
    sequence = "ACGT" * 1000
    assert transcript_of({"q": 1, "dna": sequence}) == json.dumps({"q": 1, "dna": sequence}, separators=(",", ":"))
    assert without_files({"a": [BASE64]}) == {"a": [f"[file 26 kB sha256:{DIGEST}]"]}


@pytest.mark.parametrize(
    "cell",
    [[USER], json.dumps([USER]), str([USER]), {"messages": [USER]}, json.dumps({"messages": [USER]}), f"  {[USER]}\n"],
)
def test_messages_are_found_in_cells(cell):
    assert messages_in(cell) == [USER]


def test_messages_with_their_content_in_parts_are_sent_with_a_content():
    turns = [  # of Gemini
        {"role": "user", "parts": [{"text": "How warm is it?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": "18"}}]},
        {"role": "user", "parts": [{"text": "And here?"}, {"inlineData": {"mimeType": "image/png", "data": "AAEC"}}]},
    ]
    asked, called, result, again = messages_in(json.dumps(turns))
    assert asked == {"role": "user", "content": "How warm is it?"}
    assert called["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Rome"}'}
    assert (result["role"], result["content"]) == ("tool", "18")
    assert result["tool_call_id"] == called["tool_calls"][0]["id"]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}}
    assert again["content"] == [{"type": "text", "text": "And here?"}, picture]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "parts": [{"type": "text", "content": "Why?"}]},  # of OpenTelemetry
        {"role": "user", "blocks": [{"block_type": "text", "text": "Why?"}]},  # of LlamaIndex
    ],
)
def test_parts_of_a_message_are_its_content(message):
    assert messages_in([message]) == [{"role": "user", "content": "Why?"}]


def test_messages_without_commas_between_them_as_numpy_prints_them_are_found():
    turns = [{"role": "user", "content": "a} {b"}, {"role": "assistant", "content": "it's } {"}]
    assert messages_in("[" + "\n ".join(map(str, turns)) + "]") == turns


@pytest.mark.parametrize(
    "cell",
    [
        *("", "Why?", "[sic] role", '["role"]', '{"role": "user"}', "[{'role': print('x')}]", "[" * 5000 + "'role'"),
        *(None, 7, [], [1], {"a": 1}, [{"content": "no role"}], [{"from": ["gpt"], "value": "Rome"}]),
        [{"from": "Ann", "to": "Bob", "value": 10}],
    ],
)
def test_what_is_no_conversation_is_left_alone(cell):
    assert messages_in(cell) is None


def test_turns_of_the_user_that_stand_in_lists_of_their_own_are_one_conversation():
    more = {"role": "user", "content": "And in Rome?"}
    assert messages_in([[USER], [], [more]]) == [USER, more]  # BFCL
    assert messages_in([[USER, {"role": "assistant", "content": "No."}], [more]]) is None
    assert messages_in([[1, 2], [3]]) is None


@pytest.mark.parametrize("content", ["x" * 1_000_000, [[]] * 1000])
def test_a_list_as_python_prints_it_is_read_up_to_a_length_and_a_number_of_brackets(content):
    """Either bound alone; as JSON the same messages are read."""
    messages = [{"role": "user", "content": content}]
    assert messages_in(str([{"role": "user", "content": content[:900]}])) is not None
    assert messages_in(str([*messages, *[USER] * 1000])) is None
    assert messages_in(json.dumps(messages)) == messages


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"role": "assistant", "content": "x"}], "there is no message of the user"),
        ([{"role": "user", "content": " "}], "the last message of the user is blank"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]}], ""),
    ],
)
def test_a_conversation_without_a_question_is_told(messages, said):
    assert flaw_in(messages) == said


def test_words_are_put_into_the_last_question_and_pictures_stay():
    picture = {"type": "input_image", "image_url": "https://h/a.png"}
    turns = [USER, {"role": "user", "name": "Ann", "content": [{"type": "input_text", "text": "What?"}, picture]}]
    [first, last] = asked_with(turns, "Briefly: What?")
    assert first == USER
    assert last == {
        "role": "user",
        "name": "Ann",
        "content": [{"type": "input_text", "text": "Briefly: What?"}, picture],
    }


def test_a_system_message_of_parts_stays_one_of_its_own():
    parts = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    assert with_system("Be kind.", [parts, USER]) == [{"role": "system", "content": "Be kind."}, parts, USER]


def test_passages_are_looked_for_with_the_words_of_all_turns():
    turns = [{"role": "system", "content": "S"}, {"role": "user", "content": "Hamlet?"}, USER]
    assert search_text(turns) == "Hamlet?\nWhy?"
