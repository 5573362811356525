"""The old configuration becomes ours, and nothing of it disappears."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import ConfigError, Sample
from steelyard.building.nodes import plain
from steelyard.building.read import parse
from steelyard.config.conversion.exam_script import convert
from steelyard.config.load import load
from steelyard.prompts.template import placeholders, render

TEMPLATE = '单选题。\n题目：{question}\n选项：{options}\n只答 {{"answer": "A"}}'
CHATCHAT = {
    "url": "http://127.0.0.1:7861/chat/knowledge_base_chat",
    "top_k": 20,
    "score_threshold": 1.0,
    "llm_models": ["chatglm3-6b", "zhipu-api", "openai-api"],
    "prompt_name": ["default", "text", "empty"],
    "knowledge_base_name": "faiss_zhouyi",
    "temperature": 0.7,
}
OLD = {
    "sources": ["./exam.csv"],
    "targets": ["./target/target1"],
    "prompt": {"one_out_of_four": TEMPLATE},
    "test_args": {"origin_llm_kb": CHATCHAT, "zhipu_ai": {"api_key": "sk-Very.Secret", "model": "glm-4"}},
}


def read(text):
    return plain(parse(text, "new.yaml"))


def converted(**changes):
    return read(convert(OLD | changes, "old.json"))


def target(entry, name="one", **changes):
    new = converted(test_args={name: entry}, **changes)
    return new["targets"][name], new


def with_all(text):
    """The new file with its lists uncommented, as its own comment says."""
    lines = []
    for line in text.splitlines():
        bare = line.lstrip()[2:]
        if line.startswith(("# matrix:", "#   ")) and "steelyard" not in line:
            lines.append(line[2:])
        elif (
            line.lstrip().startswith("# ") and "{{" in line and lines[-1].lstrip().startswith(f"{bare.split(':')[0]}:")
        ):
            lines[-1] = line.replace("# ", "", 1)
        else:
            lines.append(line)
    return "\n".join(lines)


def test_a_knowledge_base_chat_keeps_its_arguments_and_asks_the_first_of_each_list():
    new = converted()
    assert "matrix" not in new
    http = new["targets"]["origin_llm_kb"]["http"]
    assert (http["preset"], http["url"]) == ("chatchat-0.2", CHATCHAT["url"])
    assert http["body"] == {
        "model_name": "chatglm3-6b",
        "knowledge_base_name": "faiss_zhouyi",
        "top_k": 20,
        "score_threshold": 1.0,
        "temperature": 0.7,
        "prompt_name": "default",
    }
    assert new["targets"]["origin_llm_kb"]["tags"] == {"knowledge_base": "yes"}


def test_a_key_becomes_a_reference_and_its_value_is_nowhere():
    text = convert(OLD, "old.json")
    assert "Very" not in text
    model = read(text)["targets"]["zhipu_ai"]["prompt"]["model"]["openai_compatible"]
    assert model == {"name": "glm-4", "base_url": "https://open.bigmodel.cn/api/paas/v4", "api_key": "${ZHIPU_API_KEY}"}
    assert "set ZHIPU_API_KEY" in text


def test_the_new_file_asks_what_the_old_script_asked_and_every_combination_once_its_comments_are_taken_away(tmp_path):
    (tmp_path / "exam.csv").write_text(
        "问题,A,B,C,D,答案,类别\n乾？,天,地,雷,风,A,卦象\n坤？,天,地,雷,风,B,卦象\n", "utf-8"
    )
    path = tmp_path / "new.yaml"
    environ = {"ZHIPU_API_KEY": "sk-0123456789"}
    path.write_text(convert(OLD, "old.json"), "utf-8")
    suite = load(path, environ=environ, use_dotenv=False).suite
    assert list(suite.targets) == ["origin_llm_kb", "zhipu_ai"]
    assert len(list(suite.samples)) == 2
    path.write_text(with_all(convert(OLD, "old.json")), "utf-8")
    suite = load(path, environ=environ, use_dotenv=False).suite
    assert len(suite.targets) == 10
    assert [(one.id != "", one.reference, one.choices[1]) for one in suite.samples] == [
        (True, "A", "地"),
        (True, "B", "地"),
    ]
    endpoint = next(one for name, one in suite.targets.items() if "zhipu-api" in name and "text" in name)
    body = json.loads(endpoint.request("q", {}).payload)
    assert (body["model_name"], body["prompt_name"], body["top_k"]) == ("zhipu-api", "text", 20)
    asked = endpoint.messages(Sample("1", "乾？", choices=("天", "地")))
    # What the script itself sent: str.format with a Python list.
    assert asked == TEMPLATE.format(question="乾？", options=["A:天", "B:地"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{question}", "{{question}}"),
        ("{{}} {question}", "{} {{question}}"),
        ("{{{question}}}", "{{{question}}}"),
        ("{{{{question}}}}", "{{{{question}}}}"),
        ("{who} {options}", "{who} {{options_as_list}}"),
        (" \tindented\nsecond {question}\n", " \tindented\nsecond {{question}}\n"),
        ("\u3000\u3000乾\n\n\u3000{question}", "\u3000\u3000乾\n\n\u3000{{question}}"),
        ("\x07\n{question}", "\x07\n{{question}}"),
        ("# no comment: {question}\n- x", "# no comment: {{question}}\n- x"),
    ],
)
def test_braces_of_the_old_template_become_ours(old, new):
    found, _ = target(CHATCHAT, prompt={"k": old})
    assert found["http"]["template"] == new


@given(st.text(alphabet="{}a \n\r\t\u3000\x85\x7f选\x07\u2028\"\\:#'"))
def test_a_converted_template_says_what_the_old_one_said(text):
    old = text.replace("{", "{{").replace("}", "}}") + "|{question}|{options}"
    found, _ = target(CHATCHAT, prompt={"k": old})
    template = found["http"]["template"]
    assert [name for name, _ in placeholders(template)] == ["question", "options_as_list"]
    assert render(template, {"question": "Q", "options_as_list": "O"}) == old.format(question="Q", options="O")


def test_a_placeholder_that_nothing_fills_is_named():
    assert "# {who} has no value here" in convert(OLD | {"prompt": {"k": "{who} {question}"}}, "old.json")


def test_whatever_has_no_place_is_named_in_a_comment():
    args = {"kb": CHATCHAT | {"retries": 3, "auth_token": "t0psecret"}, "odd": {"command": "run\nit"}}
    prompts = {"one": TEMPLATE, "two": "second {question}"}
    text = convert(OLD | {"test_args": args, "note": ["x"], "Password": "hush", "prompt": prompts}, "old\n.json")
    for words in (
        '"retries": 3',
        '"auth_token"',
        '"odd"',
        "run\\nit",
        '"note": ["x"]',
        '"Password"',
        '"second {{question}}"',
    ):
        assert any(words in line for line in text.splitlines() if line.lstrip().startswith("#")), words
    assert "t0psecret" not in text
    assert "hush" not in text
    assert set(read(text)["targets"]) == {"kb"}


def test_every_key_of_an_entry_is_either_used_or_named():
    args = {"kb": {**CHATCHAT, "history": [], "stream": True, "zebra": 1, "llama": None}}
    text = convert(OLD | {"test_args": args}, "old.json")
    named = {"llm_models": "llm_model"}
    assert [key for key in args["kb"] if named.get(key, key) not in text] == []


def test_output_folders_become_the_command_that_writes_them():
    text = convert(OLD, "old.json")
    assert '  #     steelyard export origin_llm_kb zhipu_ai --json-dir "./target/target1"\n' in text


def test_sources_are_asked_as_far_as_they_have_a_folder_in_turn():
    sources = ["./2022/exam.xlsx", "./2023/exam.xlsx", "c.xlsx"]
    text = convert(OLD | {"sources": sources, "targets": ["t1", "t2"]}, "old.json")
    assert read(text)["samples"]["file"] == sources[:2]
    assert '    # - "c.xlsx"\n' in text
    for source, folder in (("2022/exam.xlsx", "t1"), ("2023/exam.xlsx", "t2")):
        assert f'export origin_llm_kb zhipu_ai --source {source} --json-dir "{folder}"\n' in text
    assert converted(sources=sources, targets=[])["samples"]["file"] == sources
    assert converted()["samples"]["file"] == "./exam.csv"
    assert '# There is no source for the result folder "t2".' in convert(OLD | {"targets": ["t1", "t2"]}, "old.json")


def test_a_name_with_a_line_break_stays_inside_its_comment():
    text = convert(OLD | {"test_args": {"a\ntargets: {}": CHATCHAT}}, "old.json")
    assert list(read(text)["targets"]) == ["a\ntargets: {}"]


def test_the_later_generation_of_the_service_gets_its_own_names():
    found, _ = target({"url": "http://h/chat/kb_chat", "knowledge_base_name": "z", "llm_models": ["m"], "top_k": 3})
    assert found["http"]["preset"] == "chatchat-0.3"
    assert found["http"]["body"] == {"model": "m", "top_k": 3, "kb_name": "z"}


def test_the_services_chat_without_a_knowledge_base_has_a_preset_of_its_own():
    found, new = target({"url": "http://h/chat/chat", "llm_models": ["m"], "temperature": 0.1})
    assert found["http"]["preset"] == "chatchat-0.2-chat"
    assert found["http"]["body"] == {"model_name": "m", "temperature": 0.1}
    assert "matrix" not in new
    assert found["tags"] == {"knowledge_base": "no"}


def test_any_other_chat_without_a_knowledge_base_is_asked_without_a_preset():
    found, new = target({"url": "http://h/ask", "llm_models": ["m"], "temperature": 0.1})
    assert "preset" not in found["http"]
    assert found["http"]["body"] == {
        "query": "{{prompt}}",
        "history": "{{history}}",
        "stream": False,
        "model_name": "m",
        "temperature": 0.1,
    }
    assert "matrix" not in new
    assert found["tags"] == {"knowledge_base": "no"}


def test_lists_that_differ_between_entries_become_variables_of_their_own():
    args = {"a": CHATCHAT, "b": CHATCHAT | {"llm_models": ["x", "y"]}, "zhipu_c": {"api_key": "k", "model": ["m", "n"]}}
    text = convert(OLD | {"test_args": args}, "old.json")
    assert [read(text)["targets"][one]["http"]["body"]["model_name"] for one in "ab"] == ["chatglm3-6b", "x"]
    assert read(text)["targets"]["zhipu_c"]["prompt"]["model"]["openai_compatible"]["name"] == "m"
    new = read(with_all(text))
    assert new["matrix"]["b_llm_model"] == ["x", "y"]
    assert new["targets"]["b"]["http"]["body"]["model_name"] == "{{b_llm_model}}"
    assert new["targets"]["zhipu_c"]["prompt"]["model"]["openai_compatible"]["name"] == "{{zhipu_c_llm_model}}"


def test_secrets_in_an_address_are_not_copied():
    found, _ = target(CHATCHAT | {"url": "http://me:hunter2@h/chat/knowledge_base_chat?api_key=abcdef"}, name="my kb")
    assert found["http"]["url"] == "http://h/chat/knowledge_base_chat?api_key=${MY_KB_API_KEY}"


def test_a_model_of_an_unknown_provider_needs_its_address():
    with pytest.raises(ConfigError, match="no entry that can be a target"):
        target({"api_key": "k", "model": "own"})
    found, _ = target({"api_key": "k", "model": "own", "base_url": "http://h/v1", "temperature": 0})
    model = found["prompt"]["model"]["openai_compatible"]
    assert model["base_url"] == "http://h/v1"
    assert model["api_key"] == "${ONE_API_KEY}"
    assert model["parameters"] == {"temperature": 0}


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ({}, "sources"),
        (OLD | {"sources": []}, "no file"),
        (OLD | {"sources": [1]}, "sources"),
        (OLD | {"test_args": []}, "test_args: expected a mapping"),
        (OLD | {"test_args": {"a": 1}}, r"test_args\.a"),
        (OLD | {"test_args": {}}, "no entry that can be a target"),
        (OLD | {"prompt": {"k": 1}}, r"prompt\.k"),
    ],
)
def test_what_is_not_of_that_shape_is_refused(old, message):
    with pytest.raises(ConfigError, match=message):
        convert(old, "old.json")
