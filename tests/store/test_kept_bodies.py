"""Bodies of replies are kept where the user says how they are read: a corrected mapping costs no call."""

import contextlib
import dataclasses
import json
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler

import pytest
from tests.command_here import command_here
from tests.threaded_server import serving

from steelyard import ConfigError, ExactMatch, Options, Prompt, Sample, SteelyardError, Store, Suite, evaluate
from steelyard.evaluation import RunConfig, evaluate_suite
from steelyard.evaluation.rescore import rescore
from steelyard.models import http as http_models
from steelyard.models.budget import Budget
from steelyard.models.http import HttpModel
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.models.response import ResponseMap
from steelyard.report.sections.costs import read_again_sentence
from steelyard.store.journal import find_body
from steelyard.store.repair import verify
from steelyard.targets.http import HttpEndpoint

SAMPLES = [Sample(f"q{n}", f"question {n}?", "B") for n in range(12)]
PASSAGES = [{"id": "d1", "text": "one"}, {"id": "d2", "text": "two"}]
STEPS = [
    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
]


def body_of(asked):
    return {
        "text": "B",
        "message_id": "1",
        "docs": PASSAGES,
        "steps": STEPS,
        "tokens": {"prompt_tokens": 7, "completion_tokens": 2},
        "echo": asked["query"],
    }


@contextlib.contextmanager
def server(answer=lambda asked: json.dumps(body_of(asked)).encode(), delay_s=0.0):
    """The address of an endpoint, and the bodies that it was sent."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            received = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received["key"] = self.headers.get("X-Key", "")
            asked.append(received)
            time.sleep(delay_s)
            body = answer(received)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with serving(Handler) as address:
        yield f"{address}/chat", asked


def endpoint(url, text="text", **response):
    return HttpEndpoint(url, body={"query": "{{prompt}}"}, response=ResponseMap(text=text, **response))


def run_of(target, where, **more):
    return evaluate(target, SAMPLES, [ExactMatch()], store=where, **more)


def outputs(run):
    return [record.output.value for record in run.records()]


def test_a_corrected_mapping_costs_no_call_and_changes_no_earlier_run(where):
    with server() as (url, asked):
        wrong = run_of(endpoint(url, "message_id"), where)
        right = run_of(endpoint(url, "text"), where)
        third = run_of(endpoint(url, "text"), where)
        back = run_of(endpoint(url, "message_id"), where)
    assert len(asked) == 12
    assert (set(outputs(right)), set(outputs(third)), set(outputs(back))) == ({"B"}, {"B"}, {"1"})
    assert right.summary().scores[0].answered.value == 1
    sentence = "12 of 12 replies were kept and read again under the present mapping"
    assert [read_again_sentence([run.summary()]) for run in (wrong, right, third, back)] == ["", sentence, sentence, ""]
    assert [run.summary().counts.from_journal for run in (wrong, right, third, back)] == [0, 12, 12, 12]
    with Store(where) as store:
        assert set(outputs(store.run(wrong.id))) == {"1"}
        assert verify(store).is_sound


@pytest.mark.parametrize("wrong", ["nothing.here", "join('', nothing)"])
def test_calls_that_found_out_a_wrong_mapping_are_not_made_again(on_file, wrong):
    with server() as (url, asked):
        with pytest.raises(SteelyardError, match="no reply could be read so far"):
            run_of(endpoint(url, wrong), on_file, concurrency=1)
        spent = len({asked_for["query"] for asked_for in asked})
        assert spent == 2
        before = len(asked)
        right = run_of(endpoint(url, "text"), on_file)
        assert len(asked) == before + 12 - spent
        assert set(outputs(right)) == {"B"}
        again = run_of(endpoint(url, "message_id"), on_file)
        assert (len(asked), set(outputs(again))) == (before + 12 - spent, {"1"})
    with Store(on_file) as store:
        assert verify(store).is_sound


def test_a_mapping_that_fits_no_kept_reply_is_refused_before_a_run_begins(where):
    with server() as (url, asked):
        run_of(endpoint(url), where)
        with pytest.raises(ConfigError, match=r"each of 12 kept replies .*'answer'.*the body has the keys text, messa"):
            run_of(endpoint(url, "answer"), where)
        prompt = Prompt(
            HttpModel(url, body={"query": "{{prompt}}"}, response=ResponseMap(text="answer")), "{{question}}"
        )
        with pytest.raises(ConfigError, match="each of 12 kept replies"):
            run_of(prompt, where)
        assert len(asked) == 12
        with Store(where) as store:
            assert len(store.runs()) == 1


def test_a_kept_reply_that_the_mapping_does_not_fit_is_an_error_of_its_sample_alone(on_file):
    def answer(asked):
        return json.dumps({"text": "B"} if "q" in asked["query"] and "3" in asked["query"] else body_of(asked)).encode()

    with server(answer) as (url, asked):
        run_of(endpoint(url), on_file)
        run = run_of(endpoint(url, "message_id"), on_file, max_errors=0.5)
    assert len(asked) == 12
    failed = [record for record in run.records() if record.failure is not None]
    assert [record.sample.id for record in failed] == ["q3"]
    assert "--fresh" in failed[0].failure.message


def test_every_part_of_a_mapping_is_read_again(on_file):
    def answer(asked):
        return json.dumps({**body_of(asked), "finish_reason": "length"}).encode()

    with server(answer) as (url, asked):
        run_of(endpoint(url), on_file)
        mapping = {"contexts": "docs[*].text", "sources": "docs[*].id", "usage": "tokens", "messages": "steps"}
        run = run_of(endpoint(url, "echo", **mapping), on_file)
        assert len(asked) == 12
        again = run_of(endpoint(url, "echo", **mapping), on_file, fresh=True)
        assert len(asked) == 24
    in_order = [sorted(each.records(), key=lambda record: record.sample.id) for each in (run, again)]
    for kept, new in zip(*in_order, strict=True):
        assert kept.output == new.output
        assert kept.output.contexts == ("one", "two")
        assert kept.output.metadata["finish"] == "length"
        assert [reply.usage for reply in kept.replies["target"]] == [reply.usage for reply in new.replies["target"]]
    assert run.summary().counts.input_tokens == 12 * 7


def test_a_stream_is_read_again(on_file):
    def answer(_):
        events = [{"piece": "A", "thought": "x"}, {"piece": "B", "thought": "y"}, {"end": True}]
        return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()

    with server(answer) as (url, asked):
        first = run_of(endpoint(url, "thought", framing="sse"), on_file)
        second = run_of(endpoint(url, "piece", framing="sse"), on_file)
        third = run_of(endpoint(url, "piece", join="last"), on_file)
    assert len(asked) == 12
    assert [set(outputs(run)) for run in (first, second, third)] == [{"xy"}, {"AB"}, {"B"}]
    [reply] = next(iter(second.records())).replies["target"]
    assert reply.metadata["ttft"] > 0


def test_a_body_that_is_too_long_to_be_kept_is_asked_for_again_once(on_file, monkeypatch):
    monkeypatch.setattr(http_models, "_MOST_KEPT", 20)
    with server() as (url, asked):
        for text, calls in (("text", 12), ("message_id", 24), ("message_id", 24), ("text", 24)):
            run_of(endpoint(url, text), on_file)
            assert len(asked) == calls


def test_a_key_is_not_in_what_is_kept(on_file):
    with server(lambda asked: json.dumps({"text": "B", "seen": asked["key"]}).encode()) as (url, asked):
        target = HttpEndpoint(
            url, headers={"X-Key": "${KB_KEY}"}, body={"query": "{{prompt}}"}, response=ResponseMap(text="text")
        )
        suite = Suite("s", "custom", SAMPLES, {"t": target}, (ExactMatch(),))
        [run] = evaluate_suite(suite, how=RunConfig(store=on_file, environment={"KB_KEY": "sk-verysecret-77"}))
    assert asked[0]["key"] == "sk-verysecret-77"
    with Store(on_file) as store:
        keys = [reply.key for record in run.records() for reply in record.replies["target"]]
        bodies = b"".join(find_body(store, bytes.fromhex(key)) for key in keys)
    assert b"KB_KEY" in bodies
    assert b"verysecret" not in bodies


def test_no_body_is_kept_where_the_mapping_is_fixed(on_file):
    def answer(_):
        return json.dumps({"choices": [{"message": {"content": "B"}}], "id": "chatcmpl-9"}).encode()

    with server(answer) as (url, _):
        run = run_of(Prompt(OpenAICompatible("m", url), "{{question}}"), on_file)
    with Store(on_file) as store:
        keys = [reply.key for record in run.records() for reply in record.replies["target"]]
        assert b"chatcmpl-9" not in b"".join(find_body(store, bytes.fromhex(key)) for key in keys)


class Judged:
    """A judge behind an endpoint with a mapping."""

    def __init__(self, url, text):
        self.model = HttpModel(url, body={"query": "{{prompt}}"}, response=ResponseMap(text=text))

    async def __call__(self, sample, output, ask):
        return (await ask(self.model, f"Is {output.value} right?")).text == "B"


def test_scoring_again_reads_a_judges_kept_replies_under_its_present_mapping(where):
    with server() as (url, asked):
        run = evaluate(lambda sample: "x", SAMPLES, [Judged(url, "message_id")], store=where)
        assert run.summary().scores[0].answered.value == 0
        calls = len(asked)
        with Store(where) as store:
            right, _ = rescore(store, store.run(run.id), [Judged(url, "text")])
            assert right.summary().scores[0].answered.value == 1
            with pytest.raises(ConfigError, match="nothing at 'answer'"):
                rescore(store, store.run(run.id), [Judged(url, "answer")])
        assert len(asked) == calls


def test_a_resume_refuses_another_mapping_unless_that_is_allowed(where):
    suite = Suite("s", "custom", SAMPLES, {"t": None}, (ExactMatch(),), Options(concurrency=2))

    def with_text(text, url):
        return dataclasses.replace(suite, targets={"t": endpoint(url, text)})

    with server() as (url, asked):
        limited = {"options": Options(concurrency=2, budget=Budget(calls=5))}
        [cut] = evaluate_suite(dataclasses.replace(with_text("message_id", url), **limited), store=where)
        assert cut.state == "interrupted"
        with pytest.raises(ConfigError, match=r"changed since it was started: target\.http\.response\.text"):
            evaluate_suite(with_text("text", url), how=RunConfig(store=where, resume=cut.id))
        [run] = evaluate_suite(with_text("text", url), how=RunConfig(store=where, resume=cut.id, allow_changed=True))
    assert len(asked) == 12
    assert sorted(outputs(run)) == ["1"] * 5 + ["B"] * 7


@pytest.mark.slow
def test_what_a_killed_run_was_answered_is_read_again(on_file, tmp_path):
    (tmp_path / "exam.csv").write_text(
        "id,question,A,B,answer\n" + "".join(f"q{n},Question {n}?,one,two,B\n" for n in range(60)), encoding="utf-8"
    )
    with server(delay_s=0.05) as (url, asked):
        for text in ("message_id", "text"):
            target = {"http": {"url": url, "body": {"query": "{{prompt}}"}, "response": {"text": text}}}
            config = {"suite": "choice", "samples": {"file": "exam.csv"}, "targets": {"kb": target}}
            config["options"] = {"concurrency": 4}
            (tmp_path / f"{text}.json").write_text(json.dumps(config), encoding="utf-8")
        command = [
            sys.executable,
            "-c",
            "from steelyard.cli import main; main()",
            "run",
            "--quiet",
            "--store",
            str(on_file),
        ]
        process = subprocess.Popen([*command, "message_id.json"], cwd=tmp_path)
        deadline = time.monotonic() + 60
        while len(asked) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.wait()
        time.sleep(0.2)
        command_here(tmp_path, "run", "--quiet", "--store", on_file, "text.json")
    assert 60 <= len(asked) <= 64
    with Store(on_file) as store:
        assert set(outputs(store.run("latest"))) == {"B"}
        assert store.run("latest").summary().counts.from_journal >= 16
