"""The page about targets: what it shows can be written, and gives what it says."""

import json
import re
from pathlib import Path

import pytest

from steelyard import Output, Sample, evaluate
from steelyard.config.load import load

PAGE = (Path(__file__).parents[2] / "docs/how-to/targets.md").read_text("utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
KEYS = {"ZHIPU_API_KEY": "not-a-real-key", "ANTHROPIC_API_KEY": "nor-is-this-one", "JINA_API_KEY": "nor-this"}
MODULES = {
    "my_system": "def answer(sample):\n    return 'red'\n",
    "my_engine": "class Engine:\n    async def aquery(self, question):\n        return 'red'\n"
    "def make():\n    return Engine()\n",
    "my_chain": "class Chain:\n    async def ainvoke(self, value):\n        return {'answer': 'red'}\n"
    "chain = Chain()\n",
    "my_agent": "def make():\n    from my_chain import chain\n    return chain\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, code in MODULES.items():
        (tmp_path / f"{name}.py").write_text(code, "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/ask.txt").write_text("{{question}}", "utf-8")
    (tmp_path / "prompts/v1.txt").write_text("Be brief.", "utf-8")
    for name in ("docs/gate.md", "handbook.txt"):
        (tmp_path / name).write_text("The gate is red.", "utf-8")
    row = '{"id": "q1", "question": "What colour is the gate?", "answer": "red", "source": "The gate is red."}\n'
    for name in ("questions.jsonl", "answers.jsonl"):
        (tmp_path / name).write_text(row, "utf-8")
    stored = '{"user_input": "What colour is the gate?", "response": "red", "retrieved_contexts": ["The gate is red."]}'
    (tmp_path / "ragas.jsonl").write_text(stored, "utf-8")
    call = {"call_type": "completion", "status": "success", "response": {"role": "assistant", "content": "red"}}
    call["messages"] = [{"role": "user", "content": "What colour is the gate?"}]
    (tmp_path / "litellm.jsonl").write_text(json.dumps(call), "utf-8")
    return tmp_path


@pytest.mark.parametrize("block", BLOCKS)
def test_every_target_of_the_page_can_be_written(block, folder):
    text = f"suite: rag\nsamples: {{file: questions.jsonl}}\n{block.replace('handbook.pdf', 'handbook.txt')}"
    (folder / "rag.yaml").write_text(text, "utf-8")
    suite = load(folder / "rag.yaml", environ=KEYS, use_dotenv=False).suite
    names = re.findall(r"^  ([\w-]+): *", block, re.MULTILINE)
    assert list(suite.targets) == names
    if not {"service", "agent-service", "chunks-512", "by-vectors", "hybrid-reranked", "claude", "v1"} & set(names):
        for target in suite.targets.values():
            (record,) = evaluate(target, list(suite.samples), []).records()
            assert record.output.value in {"red", "The gate is red."}


def test_the_functions_of_the_page_give_what_it_says():
    namespace = {}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        exec(code, namespace)
    sample = Sample("1", "What colour is the gate?")
    answered = namespace["answer"](sample)
    assert answered == Output("red", ("The gate is red.",), {"sources": [{"document": "handbook.pdf", "page": 3}]})
    (record,) = evaluate(namespace["agent"], [sample], []).records()
    assert record.output.value == "Red."
    assert [message["role"] for message in record.output.metadata["messages"]] == ["assistant", "tool", "assistant"]
    assert record.output.metadata["usage"] == {"input_tokens": 412, "output_tokens": 31, "calls": 1}
