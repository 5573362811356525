"""Conversations of agents, in whatever shape: one form, without what was asked, bounded, with the tokens they name."""

import json
from dataclasses import dataclass
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Output, Sample, Store, evaluate
from steelyard.errors import DataError
from steelyard.plain_json import json_value
from steelyard.prompts.agent_messages import (
    agent_metadata,
    conversation_output,
    is_answered_conversation,
    own_messages,
    plain_message,
    summed_usage,
    tokens_in,
    tool_call,
    with_separate_results,
)
from steelyard.prompts.trajectory import read_trajectory
from steelyard.scorers import ForbiddenTools
from steelyard.session.replies import refused_before

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "red"}'}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAECAwQF"}}
RED = "red\n[image png 6 B sha256:17e88db187af]"
TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What colour?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
    {"role": "tool", "tool_call_id": "c1", "content": "It is red."},
    {"role": "assistant", "content": [{"type": "text", "text": "red"}, PICTURE]},
]
OWN = [
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search", "arguments": {"q": "red"}}]},
    {"role": "tool", "content": "It is red.", "tool_call_id": "c1"},
    {"role": "assistant", "content": RED},
]


def records_of(function, *samples):
    return list(evaluate(function, list(samples) or [Sample("1", "What colour?")], []).records())


@pytest.mark.parametrize(
    "refused",
    [{"content": None, "refusal": "I cannot."}, {"content": [{"type": "refusal", "refusal": "I cannot."}]}],
)
def test_an_answer_that_openais_model_refuses_has_its_words_and_is_refused(refused):
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", **refused}]
    output = conversation_output(messages)
    assert (output.value, output.metadata["finish"], refused_before(output)) == ("I cannot.", "refusal", True)
    answered = conversation_output([*messages, {"role": "assistant", "content": "So.", "refusal": None}])
    assert (answered.value, "finish" in answered.metadata) == ("So.", False)


def test_items_of_openais_responses_are_a_conversation():
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'}
    items = [
        {"role": "user", "content": "?"},
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
        call,
        SimpleNamespace(type="custom_tool_call", call_id="c2", name="run", input="ls"),
        {"type": "function_call_output", "call_id": "c1", "output": "2"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "a.txt"}]},
        {**call, "call_id": "c3"},
        {"type": "function_call_output", "call_id": "c3", "output": "3"},
        {"role": "assistant", "content": "So."},
    ]
    output = conversation_output(items, "?")
    first, *others = output.metadata["messages"]
    assert (output.value, first["content"]) == ("So.", "Let me see.")
    assert first["tool_calls"] == [
        {"id": "c1", "name": "add", "arguments": {"a": 1}},
        {"id": "c2", "name": "run", "arguments": "ls"},
    ]
    assert [message["role"] for message in others] == ["tool", "tool", "assistant", "tool", "assistant"]
    assert [message.get("content") for message in others] == ["2", "a.txt", "", "3", "So."]
    assert conversation_output([call]) is None


def test_many_calls_in_a_row_are_read_in_linear_time():
    call = {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"}
    started = process_time()
    (message,) = with_separate_results([call] * 100_000)
    assert process_time() - started < 5  # 0.5 s; a new list for each call takes 15 s
    assert len(message["tool_calls"]) == 100_000


def test_a_call_of_a_custom_tool_of_openai_has_its_name_and_text():
    call = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}
    assert tool_call(call) == {"id": "c1", "name": "run", "arguments": "print(1)"}


@pytest.mark.parametrize(
    "value", [TURNS, {"messages": TURNS}, {"messages": TURNS[2:], "usage": {"input_tokens": 9, "output_tokens": 2}}]
)
def test_a_function_may_return_its_conversation(value):
    (record,) = records_of(lambda _: value)
    assert record.output.value == RED
    assert record.output.metadata["messages"] == OWN
    usage = record.output.metadata["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (9, 2)
    # Of the two replies of the list one says nothing; a sum given for all is whole.
    assert usage.get("calls_without_tokens", 0) == (0 if "usage" in value else 1)


COUNTS = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
BLUE = "blue"
STORED = {"content": BLUE, "type": "ai", "usage_metadata": {"input_tokens": 9, "output_tokens": 2}}
REPLIES = [
    {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": BLUE}}], "usage": COUNTS},
    {"object": "response", "output": [{"type": "reasoning"}, {"role": "assistant", "content": BLUE}], "usage": COUNTS},
    {"generations": [[{"text": BLUE, "message": {"lc": 1, "type": "constructor", "id": ["m"], "kwargs": STORED}}]]},
    {"type": "message", "role": "assistant", "content": [{"type": "text", "text": BLUE}], "usage": COUNTS},
]


@pytest.mark.parametrize("value", REPLIES)
def test_a_models_whole_reply_is_its_text_and_its_tokens(value):
    (record,) = records_of(lambda _: value)
    assert record.output.value == BLUE
    assert record.output.metadata["messages"] == [{"role": "assistant", "content": BLUE}]
    usage = record.output.metadata["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (9, 2)


@pytest.mark.parametrize(
    "value",
    [
        {"choices": []},
        {"choices": ["A", "B"]},
        {"choices": [{"text": "A"}]},
        {"generations": [[]]},
        {"object": "response"},
        {"role": "user", "content": "x"},
        {"role": "assistant"},
        {"type": "model", "content": "Model S", "price": 3},
    ],
)
def test_what_only_resembles_a_reply_stays_what_it_is(value):
    (record,) = records_of(lambda _: value)
    assert record.output == Output(value)


@pytest.mark.parametrize("more", [{"choices": REPLIES[0]["choices"]}, {"object": "response"}, {"role": "assistant"}])
def test_a_conversation_wins_over_a_reply_beside_it(more):
    asked = [{"role": "user", "content": "Why?"}]
    messages = [*asked, {"role": "assistant", "content": "A gate."}]
    output = conversation_output({"messages": messages, "content": "blue", **more})
    assert (output.value, output.metadata["messages"]) == ("A gate.", messages[1:])
    reply = conversation_output({"messages": asked, **REPLIES[0]})
    assert (reply.value, reply.metadata["messages"]) == (BLUE, [{"role": "assistant", "content": BLUE}])


@pytest.mark.parametrize("key", ["object", "choices", "generations", "type", "finish_reason"])
def test_arrays_under_the_keys_of_a_reply_are_only_values(key):
    array = np.array([1, 2])
    assert conversation_output({key: array, "content": "x"}) is None
    messages = [{"role": "assistant", "content": "blue"}]
    assert conversation_output({"messages": messages, key: array}).metadata[key] is array
    assert "usage" not in conversation_output({"messages": messages, "usage": array}).metadata


def test_a_mappings_own_answer_contexts_and_other_keys_are_kept():
    given = {"messages": TURNS, "answer": {"letter": "B"}, "contexts": ["a passage"], "trace": "t-1"}
    (record,) = records_of(lambda _: given)
    assert record.output.value == {"letter": "B"}
    assert record.output.contexts == ("a passage",)
    assert record.output.metadata["trace"] == "t-1"


def test_messages_and_tokens_that_an_output_holds_are_brought_into_the_one_form():
    (record,) = records_of(lambda _: Output("red", metadata={"messages": TURNS, "usage": {"prompt_tokens": 3}, "k": 1}))
    assert record.output.metadata["messages"] == OWN
    assert record.output.metadata["k"] == 1


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "admin", "content": "x"}],
        [{"role": "user", "content": "x"}],
        [{"role": "assistant"}],
        {"messages": "none"},
        {"messages": []},
        [],
        "text",
        [1],
    ],
)
def test_what_is_no_conversation_stays_what_it_is(value):
    assert not is_answered_conversation(value)
    (record,) = records_of(lambda _: value)
    assert record.output == Output(value)


def test_messages_up_to_the_last_that_was_asked_are_not_the_agents():
    earlier = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    asked = [*earlier, {"role": "user", "content": "And now?"}]
    answer = [{"role": "assistant", "content": "Now."}]
    assert own_messages([*asked, *answer], asked) == answer
    assert own_messages(answer, asked) == answer
    # A template stands around the question: nothing is equal, and what precedes the first answer was asked.
    assert own_messages([{"role": "user", "content": "Q: Hi!"}, *answer], "Hi") == answer
    # The agent's own user turns stay, though one repeats an earlier one.
    turns = [*answer, {"role": "user", "content": "Hi"}, *answer]
    assert own_messages([*asked, *turns], asked) == turns


@dataclass
class Call:
    id: str
    function: object


def test_tool_calls_of_every_shape_are_one():
    wanted = {"id": "c1", "name": "f", "arguments": {"a": 1}}
    for call in (
        {"id": "c1", "name": "f", "args": {"a": 1}},
        {"id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}},
        Call("c1", SimpleNamespace(name="f", arguments='{"a": 1}')),
        SimpleNamespace(tool_id="c1", tool_name="f", tool_kwargs={"a": 1}),
        SimpleNamespace(id="c1", tool="f", tool_input={"a": 1}),
    ):
        assert plain_message({"role": "assistant", "content": "", "tool_calls": [call]})["tool_calls"] == [wanted]
    old = plain_message({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "no {json"}})
    assert old["tool_calls"] == [{"id": "", "name": "f", "arguments": "no {json"}]


def test_calls_and_results_in_the_parts_of_anthropics_messages_are_calls_and_results():
    asked = {"role": "user", "content": "What colour?"}
    uses = [
        {"type": "tool_use", "id": name, "name": "search", "input": {"q": name}} for name in ("red", "blue")
    ]  # fmt: skip
    results = [
        {"type": "tool_result", "tool_use_id": "blue", "content": [{"type": "text", "text": "No."}], "is_error": True},
        {"type": "tool_result", "tool_use_id": "red", "content": "It is red."},
    ]
    turns = [
        asked,
        {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, *uses]},
        {"role": "user", "content": [*results, {"type": "text", "text": "Be brief."}]},
        {"role": "assistant", "content": [SimpleNamespace(type="text", text="Red.")]},
    ]
    output = conversation_output(turns, "What colour?")
    assert output.value == "Red."
    assert [message["role"] for message in output.metadata["messages"]] == [
        "assistant", "tool", "tool", "user", "assistant",
    ]  # fmt: skip
    expected = [("search", {"q": "red"}, "It is red.", False), ("search", {"q": "blue"}, "No.", True)]
    kept = (output, Output("Red.", metadata={"messages": turns}))
    for trajectory in map(read_trajectory, kept):
        assert [(use.name, use.arguments, use.result, use.is_error) for use in trajectory.calls] == expected
    used = [
        {"role": "assistant", "content": uses, "usage": {"input_tokens": 9, "output_tokens": 2}},
        turns[2],
        turns[3],
    ]
    assert conversation_output(used).metadata["usage"] == {
        "input_tokens": 9, "output_tokens": 2, "calls": 2, "calls_without_tokens": 1,
    }  # fmt: skip


def test_a_forbidden_tool_is_found_in_the_parts_of_a_message():
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "delete_all", "input": {}}]}
    score = ForbiddenTools(("delete_*",))(Sample("1", "?"), Output("", metadata={"messages": [called]}))
    assert score.value == 1.0


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (
            {"usage": {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}}},
            (3, 1, 2),
        ),
        (SimpleNamespace(usage_metadata={"input_tokens": 3, "output_tokens": 0}), (3, 0, None)),
        ({"response_metadata": {"token_usage": {"prompt_tokens": 3, "completion_tokens": 1}}}, (3, 1, None)),
        (SimpleNamespace(raw=SimpleNamespace(usage=SimpleNamespace(input_tokens=3, output_tokens=1))), (3, 1, None)),
        ({"input_tokens": 3, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 2}}, (3, 1, 2)),
        # What these providers count beside the input and the output is in neither.
        (
            {"input_tokens": 3, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 5, "output_tokens": 1},
            (17, 1, 9),
        ),
        (
            {"prompt_token_count": 3, "tool_use_prompt_token_count": 4, "cached_content_token_count": 2}
            | {"candidates_token_count": 1, "thoughts_token_count": 8},
            (7, 9, 2),
        ),
        ({"prompt_tokens": 12, "cache_read_input_tokens": 9, "completion_tokens": 1}, (12, 1, 9)),
        (SimpleNamespace(raw=None, additional_kwargs={"prompt_tokens": 3, "completion_tokens": 1}), (3, 1, None)),
        ({"usage": {"total_tokens": 4}}, None),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": 1}}, None),
        ({"usage": {"prompt_tokens": True, "completion_tokens": 1}}, None),
        ({"usage": "many"}, None),
        (None, None),
    ],
)
def test_tokens_are_read_where_both_sides_are_named_and_are_unknown_elsewhere(value, tokens):
    usage = tokens_in(value)
    if tokens is None:
        assert usage is None
        assert summed_usage([usage]) is None
    else:
        assert (usage["input_tokens"], usage["output_tokens"], usage.get("cached_input_tokens")) == tokens


def test_long_conversations_are_cut_and_that_is_said():
    long = [{"role": "assistant", "content": "x" * 30_000, "tool_calls": []}] + [
        {"role": "tool", "content": "y", "tool_call_id": "c"}
    ] * 1_050
    kept = agent_metadata(own_messages(long), [])
    assert kept["messages"][0]["content"].endswith("… [10,000 characters cut]")
    assert len(kept["messages"]) == 1_000
    assert kept["messages_left_out"] == 51
    calls = [{"id": "c", "name": "f", "arguments": {"text": "z" * 50_000}}]
    (message,) = agent_metadata([{"role": "assistant", "content": "", "tool_calls": calls}], [])["messages"]
    assert message["tool_calls"][0]["arguments"].endswith("characters cut]")


def test_of_a_long_way_the_longest_texts_are_cut_wherever_they_stand_and_its_end_is_kept():
    pages = [{"role": "tool", "content": f"{no} " + "y" * 6_000, "tool_call_id": "c"} for no in range(499)]
    kept = agent_metadata([*pages, {"role": "assistant", "content": "The ticket is closed."}], [])["messages"]
    assert kept[-1]["content"] == "The ticket is closed."
    assert {len(message["content"]) for message in kept[:499]} == {
        (200_000 - 21) // 499 + len("… [5,602 characters cut]")
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
)
FIELDS = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "usage", "name", "tool_call_id", "parts", "type", "message"]),
    JSON,
)


@given(st.lists(FIELDS | st.just({"role": "assistant", "content": "a"}), max_size=4), JSON)
def test_nothing_that_looks_like_a_conversation_breaks_the_reading(messages, asked):
    output = conversation_output(messages, asked)
    assert output is None or json.dumps(output.metadata)


def test_a_resumed_record_moves_the_reported_tokens_once_and_deleting_takes_them_away(tmp_path):
    from steelyard.store.delete import delete_runs
    from steelyard.store.repair import verify

    def agent(sample):
        return {"messages": TURNS, "usage": {"input_tokens": 10, "output_tokens": 1}}

    seen = []

    def scorer(sample, output):
        seen.append(sample.id)
        if len(seen) == 1:
            raise ValueError("once")
        return 1.0

    samples = [Sample(str(n), f"q{n}") for n in range(3)]
    run = evaluate(agent, samples, [scorer], store=tmp_path / "s.db", max_errors=0, on_broken="return")
    assert json_value(run.summary().calls.framework) == {
        "records": 3,
        "in_part": 0,
        "input_tokens": 30,
        "output_tokens": 3,
    }
    assert run.errors == 1
    resumed = evaluate(agent, samples, [scorer], store=tmp_path / "s.db", max_errors=0, resume=run.id)
    assert resumed.errors == 0
    assert resumed.summary().calls.framework.input_tokens == 30
    with Store(tmp_path / "s.db") as store:
        assert verify(store).is_sound
        delete_runs(store, [store.run(run.id)], replies=False)
        assert verify(store).is_sound


def test_a_replayed_agent_keeps_its_conversation(tmp_path):
    from steelyard.targets.replay import Replay

    rows = [
        {"id": "1", "messages": TURNS, "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        {"id": "2", "output": TURNS},
        {"id": "3", "output": "blue", "messages": TURNS},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    records = records_of(Replay(tmp_path / "a.jsonl"), *(Sample(row["id"], "What colour?") for row in rows))
    assert [one.output.value for one in records] == [RED, RED, "blue"]
    assert [one.output.metadata["messages"] for one in records] == [OWN] * 3
    assert records[0].output.metadata["usage"] == {"input_tokens": 9, "output_tokens": 2, "calls": 1}
    rows = [{"id": "1", "messages": TURNS, "output": {"role": "assistant", "content": "blue"}}]
    (tmp_path / "c.jsonl").write_text(json.dumps(rows[0]), encoding="utf-8")
    (record,) = records_of(Replay(tmp_path / "c.jsonl"), Sample("1", "What colour?"))
    assert (record.output.value, record.output.metadata["messages"]) == ("blue", OWN)
    (tmp_path / "b.jsonl").write_text(json.dumps({"id": "1", "messages": [{"role": "user", "content": "q"}]}))
    with pytest.raises(DataError, match=r"b\.jsonl line 1: 'messages' is not a list of chat messages"):
        records_of(Replay(tmp_path / "b.jsonl"))
