"""A prompt: what is sent for a sample, and what becomes of the reply."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.loopback import http, peer
from tests.models.wire_shapes import asking

from steelyard import ConfigError, ExactMatch, Prompt, Reply, Sample, Scripted, evaluate
from steelyard.config.load import load
from steelyard.constraints import check_options
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.registry import describe
from steelyard.scorers import ToolCalls
from steelyard.session.replies import plain_output

SAMPLE = Sample("1", "乾?", "A", ("天", "地"), ("passage",), "g", metadata={"author": "Zhu Xi"})


def sent(target, sample=SAMPLE):
    return target.messages(sample)


def test_without_a_template_the_question_is_sent_as_it_is():
    assert sent(Prompt(Scripted())) == [{"role": "user", "content": "乾?"}]


def test_a_template_and_a_system_message_are_filled_from_the_sample():
    target = Prompt(Scripted(), "{{question}}\n{{options}}\n{{contexts}}", "You know {{metadata.author}}.")
    assert sent(target) == [
        {"role": "system", "content": "You know Zhu Xi."},
        {"role": "user", "content": "乾?\nA. 天\nB. 地\npassage"},
    ]


def test_a_list_that_is_no_conversation_is_sent_as_the_text_of_a_message():
    assert sent(Prompt(Scripted()), Sample("1", [1, 2])) == [{"role": "user", "content": "[1,2]"}]


def test_messages_are_sent_as_they_are_unless_a_template_is_given():
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "last"},
    ]
    sample = Sample("1", messages)
    assert sent(Prompt(Scripted()), sample) == messages
    assert sent(Prompt(Scripted(), system="s"), sample) == [{"role": "system", "content": "s"}, *messages]
    asked = {"role": "user", "content": "Q: last"}
    assert sent(Prompt(Scripted(), "Q: {{question}}"), sample) == [*messages[:2], asked]
    whole = sent(Prompt(Scripted(), "Answer:\n{{transcript}}"), sample)
    assert whole == [{"role": "user", "content": "Answer:\nUser: first\n\nAssistant: yes\n\nUser: last"}]


def test_a_template_is_a_packaged_name_a_text_or_a_file(tmp_path):
    file = tmp_path / "ask.txt"
    file.write_text("Frage: {{question}}\n", encoding="utf-8")
    for template in (file, str(file)):
        target = Prompt(Scripted(), template)
        check_options(target)
        assert sent(target) == [{"role": "user", "content": "Frage: 乾?"}]
        assert target.manifest() == {"text": "Frage: {{question}}"}
    assert "天" in sent(Prompt(Scripted(), "zh/four_options"))[0]["content"]


def test_the_manifest_holds_the_text_of_a_file(tmp_path):
    file = tmp_path / "ask.txt"
    file.write_text("{{question}}!", encoding="utf-8")
    described = describe(Prompt(Scripted(), file))["prompt"]
    assert described["text"] == "{{question}}!"
    assert described["template"]["file"] == "ask.txt"


@pytest.mark.parametrize(
    ("template", "said_so"),
    [
        ("{{qestion}}", "did you mean 'question'"),
        ("zh/four_option", "did you mean 'zh/four_options'"),
        (Path("no/such.txt"), r"no/such\.txt' is neither a prompt nor a text file"),
        ("{{reference}}", "unknown placeholder {{reference}}"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(template, said_so):
    with pytest.raises(ConfigError, match=said_so):
        check_options(Prompt(Scripted(), template))
    with pytest.raises(ConfigError, match="is not a model"):
        check_options(Prompt("gpt-4"))


def test_a_file_beside_the_configuration_is_found_from_anywhere(tmp_path, monkeypatch):
    folder = tmp_path / "exam"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts/ask.txt").write_text("Ask: {{question}}", encoding="utf-8")
    (folder / "exam.csv").write_text("id,question,A,B,answer\n1,q,x,y,A\n", encoding="utf-8")
    config = {
        "suite": "choice",
        "samples": {"file": "exam.csv"},
        "targets": {
            "prompt": {"prompt": {"template": "prompts/ask.txt", "model": {"scripted": {"default": "A"}}}},
            "http": {
                "http": {
                    "url": "http://h/v1",
                    "template": "prompts/ask.txt",
                    "body": {"q": "{{prompt}}"},
                    "response": {"text": "t"},
                }
            },
        },
    }
    (folder / "exam.json").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.chdir("/")
    suite = load(folder / "exam.json", environ={}).suite
    for target in suite.targets.values():
        assert target.template == folder / "prompts/ask.txt"
        assert target.manifest()["text"] == "Ask: {{question}}"


def test_a_reply_becomes_an_output_with_its_passages_and_why_it_ended():
    async def ask(model, messages, **parameters):
        assert parameters == {"temperature": 0.5}
        return Reply("", "A", "length", metadata={"contexts": ["p1", "p2"]})

    output = asyncio.run(Prompt(Scripted(), parameters={"temperature": 0.5})(SAMPLE, ask))
    assert (output.value, output.contexts, output.metadata) == ("A", ("p1", "p2"), {"finish": "length"})


def test_a_value_that_one_sample_lacks_is_the_failure_of_that_sample_alone():
    samples = [Sample("1", "q", "A", metadata={"author": "x"}), Sample("2", "q", "A")]
    run = evaluate(Prompt(Scripted(default="A"), "{{question}} {{metadata.author}}"), samples, [ExactMatch()])
    first, second = run.records()
    assert first.failure is None
    assert (second.failure.stage, second.failure.kind) == ("target", "ConfigError")
    assert "metadata.author" in second.failure.message
    assert run.done == 2


def asked_with(target):
    parameters = []

    async def ask(model, messages, **given):
        parameters.append(given)
        return Reply("", "{}")

    check_options(target)
    asyncio.run(target(SAMPLE, ask))
    return parameters[0]


OWN = {"type": "object", "title": "my answer", "properties": {"a": {"type": "string"}}}


def test_a_reply_schema_is_sent_as_the_response_format_and_stands_in_the_manifest(tmp_path):
    target = Prompt(Scripted(), parameters={"temperature": 0}, reply="create_select")
    sent_with = asked_with(target)
    assert sent_with["temperature"] == 0
    held = sent_with["response_format"]
    assert held["type"] == "json_schema"
    assert (held["json_schema"]["name"], held["json_schema"]["strict"]) == ("create_select", True)
    assert held["json_schema"]["schema"]["required"] == ["create", "select"]
    assert describe(target)["prompt"]["reply_schema"] == held["json_schema"]["schema"]
    assert "response_format" not in asked_with(Prompt(Scripted()))
    assert "reply_schema" not in describe(Prompt(Scripted()))["prompt"]


def test_a_schema_of_ones_own_is_a_mapping_or_a_file_and_strict_only_where_it_is_closed(tmp_path):
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(OWN), encoding="utf-8")
    for reply, name in ((OWN, "my_answer"), (file, "answer"), (str(file), "answer")):
        held = asked_with(Prompt(Scripted(), reply=reply))["response_format"]["json_schema"]
        assert held == {"name": name, "schema": OWN, "strict": False}


def test_a_reply_schema_that_cannot_be_meant_is_refused_before_anything_is_sent(tmp_path):
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    for reply, said_so in (
        ("slq", "did you mean 'sql'"),
        ({"type": "array"}, "not a JSON schema of an object"),
        (tmp_path / "broken.json", "is not a JSON schema"),
        (tmp_path / "list.json", "not a JSON schema of an object"),
        (tmp_path / "none.json", "is not a JSON schema"),
    ):
        with pytest.raises(ConfigError, match=said_so):
            check_options(Prompt(Scripted(), reply=reply))
    for model in (OpenAICompatible("m", parameters={"response_format": {"type": "json_object"}}), Scripted()):
        own = {} if model != Scripted() else {"response_format": {"type": "json_object"}}
        with pytest.raises(ConfigError, match="give one of them"):
            check_options(Prompt(model, parameters=own, reply="sql"))


@pytest.mark.parametrize("name", ["sql_query", "sql_query_evidence", "sql_create_select"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_packaged_sql_prompts_need_only_what_every_sample_has(language, name):
    metadata = {"schema": "CREATE TABLE t (a)", "db_id": "", "evidence": "a is b", "dialect": "SQLite", "position": 0}
    target = Prompt(Scripted(), f"{language}/{name}")
    check_options(target)
    text = sent(target, Sample("1", "How many?", metadata=metadata))[0]["content"]
    assert "How many?" in text
    assert "SQLite" in text
    assert ("CREATE TABLE t (a)" in text) == (name != "sql_create_select")
    assert ("a is b" in text) == name.endswith("evidence")
    assert ('{"create": ' in text) == (name == "sql_create_select")


def test_a_reply_is_written_in_a_configuration_as_a_name_a_file_or_a_schema(tmp_path):
    (tmp_path / "exam.csv").write_text("id,question,A,B,answer\n1,q,x,y,A\n", encoding="utf-8")
    (tmp_path / "own.json").write_text(json.dumps(OWN), encoding="utf-8")
    model = {"scripted": {"default": "A"}}
    targets = {
        name: {"prompt": {"model": model, "template": "{{question}}", "reply": reply}}
        for name, reply in (("name", "sql"), ("file", "own.json"), ("schema", OWN))
    }
    config = {"suite": "choice", "samples": {"file": "exam.csv"}, "targets": targets}
    (tmp_path / "exam.json").write_text(json.dumps(config), encoding="utf-8")
    built = load(tmp_path / "exam.json", environ={}).suite.targets
    assert built["name"].manifest()["reply_schema"]["required"] == ["sql"]
    assert built["file"].manifest()["reply_schema"] == OWN == built["schema"].manifest()["reply_schema"]


def test_from_python_too_a_prompt_without_the_question_is_refused_unless_it_is_meant():
    samples = [Sample("1", "q", "A", metadata={"ask": "What?", "schema": "CREATE"})]
    with pytest.raises(ConfigError, match=r"the template has no \{\{question\}\}.*allow_constant_prompt"):
        evaluate(Prompt(Scripted(default="A"), "Say A.\n{{metadata.schema}}"), samples, [ExactMatch()])
    for template, options in (("Say A.\n", {"allow_constant_prompt": True}), ("{{metadata.ask}}", {})):
        run = evaluate(Prompt(Scripted(default="A"), template), samples, [ExactMatch()], **options)
        assert run.done == 1


def test_a_system_prompt_is_a_text_or_a_file_and_never_a_files_name(tmp_path):
    file = tmp_path / "v1.txt"
    file.write_text("Be kind to {{id}}.\n", "utf-8")
    for system in (file, str(file)):
        target = Prompt(Scripted(), system=system)
        check_options(target)
        assert sent(target)[0] == {"role": "system", "content": "Be kind to 1."}
        assert describe(target)["prompt"]["system"] == "Be kind to {{id}}."
    with pytest.raises(ConfigError, match="looks like the name of a file"):
        check_options(Prompt(Scripted(), system=str(tmp_path / "v2.txt")))


TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "gate"}'}}


def offered(message, *, model=(), prompt=(), finish="stop"):
    """The output of a model behind a real server that answers with one message."""

    async def ask_it():
        choice = {"message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}}
        body = {"choices": [choice], "usage": usage}
        async with peer(lambda n, asked: http(200, body)) as server, asking(None) as ask:
            target = Prompt(OpenAICompatible("m", server.url, parameters=dict(model)), parameters=dict(prompt))
            check_options(target)
            return plain_output(await target(SAMPLE, ask), SAMPLE.input), server.asked

    return asyncio.run(ask_it())


@pytest.mark.parametrize("where", ["model", "prompt"])
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_the_calls_of_a_model_that_was_offered_tools_are_kept_and_scored(where, finish):
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    output, asked = offered(message, finish=finish, **{where: {"tools": [TOOL]}})
    assert json.loads(asked[0].body)["tools"] == [TOOL]
    assert len(asked) == 1
    assert [
        score.value for score in ToolCalls(({"name": "search", "arguments": {"query": "gate"}},))(SAMPLE, output)
    ] == [1, 1, 1]
    (call,) = output.metadata["messages"][0]["tool_calls"]
    assert call == {"id": "c1", "name": "search", "arguments": {"query": "gate"}}
    usage = output.metadata["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_input_tokens"]) == (20, 3, 16)


def test_a_model_that_answers_without_the_tool_it_was_offered_is_scored_for_it():
    output, _ = offered({"role": "assistant", "content": "Gate 9."}, prompt={"tools": [TOOL]})
    assert output.value == "Gate 9."
    assert [score.value for score in ToolCalls(("search",))(SAMPLE, output)] == [0, 0, None]


def test_a_model_without_tools_keeps_its_answer_alone():
    output, _ = offered({"role": "assistant", "content": "Gate 9."})
    assert output.metadata == {}
