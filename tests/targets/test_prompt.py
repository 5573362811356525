"""A prompt: what is sent for a sample, and what becomes of the reply."""

import asyncio
import json
from pathlib import Path

import pytest

from steelyard import ConfigError, ExactMatch, Prompt, Reply, Sample, Scripted, evaluate
from steelyard.config.load import load
from steelyard.registry import describe

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


def test_messages_are_sent_as_they_are_unless_a_template_is_given():
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "last"},
    ]
    sample = Sample("1", messages)
    assert sent(Prompt(Scripted()), sample) == messages
    assert sent(Prompt(Scripted(), system="s"), sample) == [{"role": "system", "content": "s"}, *messages]
    assert sent(Prompt(Scripted(), "Q: {{question}}"), sample) == [{"role": "user", "content": "Q: last"}]


def test_a_template_is_a_packaged_name_a_text_or_a_file(tmp_path):
    file = tmp_path / "ask.txt"
    file.write_text("Frage: {{question}}\n", encoding="utf-8")
    for template in (file, str(file)):
        target = Prompt(Scripted(), template)
        target.check()
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
        (Path("no/such.txt"), r"no/such\.txt' is no prompt and no text file"),
        ("{{reference}}", "nothing is called {{reference}}"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(template, said_so):
    with pytest.raises(ConfigError, match=said_so):
        Prompt(Scripted(), template).check()
    with pytest.raises(ConfigError, match="is no model"):
        Prompt("gpt-4").check()


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
