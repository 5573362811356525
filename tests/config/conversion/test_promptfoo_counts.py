"""Converted configurations give each record the verdict that promptfoo gave on the same outputs.

The folders in `promptfoo/` were run once with promptfoo 0.121.20 against a scripted endpoint; `results.json` has
what each model was sent, what it answered, and whether the test passed.
"""

import json
import os
import re
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.threaded_server import serving

from steelyard import evaluate_suite
from steelyard.config.conversion import converted
from steelyard.config.load import load

HERE = Path(__file__).parent / "promptfoo"


def key(model, messages):
    return json.dumps([model, [[one["role"], one["content"]] for one in messages]])


def judged(text):
    """The verdict on each guideline of a judge's prompt; an answer marked as bad keeps to none."""
    count = len(re.findall(r"^\d+\. ", text.split("An example")[0], re.MULTILINE)) or 1
    verdict = "NO" if "[[bad]]" in text.lower() else "YES"
    return "\n".join(f"{number}. checked. Verdict: {verdict}" for number in range(1, count + 1))


@pytest.fixture
def endpoint():
    """Answers as the stored endpoint did; whatever it was not asked then is an error."""
    outputs = {}

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = outputs.get(key(asked["model"], asked["messages"]))
            if asked["model"].startswith("judge"):
                text = judged("\n".join(str(one["content"]) for one in asked["messages"]))
            message = {"role": "assistant", "content": text}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            body = json.dumps({"choices": choices} if text is not None else {"error": "unknown"}).encode()
            self.send_response(200 if text is not None else 400)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with serving(Answers) as address:
        yield f"{address}/v1", outputs


@pytest.mark.parametrize(
    "name", ["tickets", "invoices", "answers", "triage", "code", "formats", "parts", "faq", "echo"]
)
def test_every_record_has_the_verdict_that_promptfoo_gave(name, endpoint, tmp_path):
    address, outputs = endpoint
    stored = json.loads((HERE / name / "results.json").read_text(encoding="utf-8"))
    outputs.update({key(one["model"], one["messages"]): one["output"] for one in stored["results"]})
    result = converted(HERE / name / "promptfooconfig.yaml")
    text = result.text("promptfooconfig.yaml", "new.jsonl")
    (tmp_path / "new.yaml").write_text(re.sub(r"http://127\.0\.0\.1:\d+/v1", address, text), encoding="utf-8")
    (tmp_path / "new.jsonl").write_text(result.dataset(), encoding="utf-8")
    suite = load(tmp_path / "new.yaml", environ=os.environ).suite
    runs = evaluate_suite(suite, store=tmp_path / "s.db")

    counts = sorted(Counter(record.scores[0].value for record in run.records())[1.0] for run in runs)
    assert counts == sorted(column["passed"] for column in stored["columns"])
    ours = Counter()
    for run in runs:
        target = suite.targets[run.target]
        for record in run.records():
            assert record.scores[0].name == "checks"
            sent = target.messages(record.sample)
            ours[
                key(getattr(target.model, "name", "echo"), sent), record.output.value, record.scores[0].value == 1
            ] += 1
    theirs = Counter((key(one["model"], one["messages"]), one["output"], one["passed"]) for one in stored["results"])
    assert ours == theirs
