"""One form of messages, tools and schemas, and what no provider is sent."""

import pytest

from steelyard import ConfigError
from steelyard.models.native import FilePart, schema_of, tool_choice_of, tools_of, turns_of, without_system

PNG = "data:image/png;base64,iVBORw0KGgo="
PDF = "data:application/pdf;base64,JVBERi0="


def test_files_are_known_in_the_forms_that_datasets_write():
    parts = [
        {"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "input_image", "image_url": PNG},
        {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    ]
    (turn,) = turns_of([{"role": "user", "content": parts}])
    image = FilePart("image/png", "iVBORw0KGgo=")
    assert turn.parts == ("What?", image, image, FilePart("application/pdf", "JVBERi0=", "a.pdf"), image)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://h/a.png"}},
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "image", "source": {"type": "url", "url": "https://h/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ],
)
def test_nothing_is_downloaded_and_no_part_is_left_out(part):
    with pytest.raises(ConfigError):
        turns_of([{"role": "user", "content": [part]}])


def test_a_result_has_the_name_of_the_tool_that_it_is_of():
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
    ]
    _, asked, result = turns_of(messages)
    assert (asked.parts, asked.calls[0].parsed()) == ((), {"q": 1})
    assert (result.tool, result.call_id, result.text) == ("find", "c1", "7")


def test_instructions_come_first_and_a_later_one_is_refused():
    messages = [{"role": "developer", "content": "a"}, {"role": "system", "content": "b"}]
    assert without_system(turns_of([*messages, {"role": "user", "content": "q"}]))[0] == "a\n\nb"
    system, turns = without_system(turns_of(messages))
    assert (system, [(turn.role, turn.text) for turn in turns]) == ("a", [("user", "b")])
    with pytest.raises(ConfigError, match="put it first"):
        without_system(turns_of([{"role": "user", "content": "q"}, *messages]))


def test_a_role_that_nobody_knows_is_refused():
    with pytest.raises(ConfigError, match="narrator"):
        turns_of([{"role": "narrator", "content": "q"}])


def test_tools_are_read_nested_and_flat_and_a_providers_own_stay_as_they_are():
    nested = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
    flat = {"type": "function", "name": "find", "parameters": {"type": "object"}}
    search = {"type": "web_search"}
    functions, others = tools_of([nested, flat, search])
    assert functions[0] == functions[1]
    assert others == [search]
    assert tool_choice_of("auto") == ("auto", "")


def test_a_response_format_without_a_schema_is_refused():
    assert schema_of({"type": "json_object"}) == ("reply", None, None)
    for wrong in ("json", {"type": "json_schema"}, {"type": "grammar"}):
        with pytest.raises(ConfigError, match="response_format"):
            schema_of(wrong)
