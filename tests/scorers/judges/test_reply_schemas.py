"""A judge with `structured: auto` at endpoints that take a JSON schema, refuse it, or drop it without a word."""

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest
from tests.loopback import http, peer
from tests.scorers.judges.judge_server import answer_of_the_sample, failed, judged, said, sample

from steelyard import Judge, OpenAICompatible, Sample, aevaluate
from steelyard.evaluation.rescore import rescore
from steelyard.models import Retry
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.scorers import Correctness, Guideline
from steelyard.session.replies import Keys
from steelyard.session.reply_schemas import schema_digest
from steelyard.store import Store

FREE = "It is the capital, and no 2 is meant.\nRating: 4"
AS_JSON = json.dumps({"reason": "It is the capital.", "rating": 4})
SAMPLES = [sample(no=f"q{n}", question=f"Capital number {n}?") for n in range(6)]
REFUSALS = {
    "OpenAI, an older model": (
        400,
        (
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. "
            "Learn more about supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs"
        ),
        {"type": "invalid_request_error", "param": "response_format", "code": None},
    ),
    "DeepSeek": (
        400,
        "This response_format type is unavailable now",
        {"type": "invalid_request_error", "param": None, "code": "invalid_request_error"},
    ),
    "llama.cpp": (
        400,
        "JSON schema conversion failed:\nUnrecognized schema",
        {"code": 400, "type": "invalid_request_error"},
    ),
    "LiteLLM's proxy": (
        400,
        "litellm.UnsupportedParamsError: cohere does not support parameters: ['response_format'], for model=command-r",
        {"type": "None", "param": "None", "code": "400"},
    ),
    "a model that is named": (400, "model judge is not supported for this operation", {}),
    "nothing named": (400, "Bad Request", {}),
    "not implemented": (501, "Not Implemented", {}),
}
"""Status, message and the rest of an error as OpenAI shapes it."""
OTHER_REFUSALS = {
    "vLLM": (
        400,
        {
            "object": "error",
            "message": "The provided JSON schema contains features not supported by xgrammar.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "TGI": (422, {"error": "Input validation error: grammar is not supported", "error_type": "validation"}),
    "FastAPI": (
        422,
        {"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input should be 'text' or 'json_object'"}]},
    ),
    "no such path": (404, {"detail": "Not Found"}),
    "no JSON": (400, b"<html><body>400 Bad Request</body></html>"),
}
EVERY_REFUSAL = OTHER_REFUSALS | {
    name: (status, {"error": {"message": message, **more}}) for name, (status, message, more) in REFUSALS.items()
}


def holds_schema(asked):
    return "response_format" in asked.body


def auto(make=Correctness, samples=SAMPLES, reply=None, **options):
    return judged(make, samples, reply, judge={"structured": "auto"}, concurrency=4, **options)


@pytest.mark.parametrize("server", EVERY_REFUSAL)
def test_a_server_that_refuses_the_schema_is_asked_for_it_once_and_then_in_free_text(server):
    status, body = EVERY_REFUSAL[server]
    seen = auto(reply=lambda asked: http(status, body) if holds_schema(asked) else FREE)
    assert [holds_schema(asked) for asked in seen.asked].count(True) == 1
    assert len(seen.asked) == 1 + len(SAMPLES)
    scores = [record.scores[0] for record in seen.records]
    assert [score.value for score in scores] == [4.0] * 6
    (form,) = {score.detail["asked_for"] for score in scores}
    assert form.startswith("free text: the endpoint refused the JSON schema (")
    assert f"status {status}" in form
    assert seen.run.summary().calls.reply_forms == {"correctness": {form: 6}}


def test_a_server_that_takes_the_schema_is_never_asked_in_free_text():
    seen = auto(reply=lambda asked: AS_JSON)
    assert [holds_schema(asked) for asked in seen.asked] == [True] * 6
    assert seen.run.summary().calls.reply_forms == {"correctness": {"JSON schema": 6}}


def test_a_proxy_that_drops_the_field_is_paid_once_for_each_verdict():
    seen = auto(reply=lambda asked: FREE)
    assert len(seen.asked) == 6
    assert [record.scores[0].value for record in seen.records] == [4.0] * 6
    assert seen.run.summary().calls.reply_forms == {
        "correctness": {"free text: the endpoint ignored the JSON schema": 6},
    }


def test_a_refusal_that_the_schema_did_not_cause_stays_an_error_and_settles_nothing():
    def reply(asked):
        if "number 0" in asked.prompt:
            return failed(400, "This model's maximum context length is 512 tokens")
        return AS_JSON if holds_schema(asked) else FREE

    seen = auto(reply=reply)
    failures = [record.failure.message for record in seen.records if record.failure]
    assert len(failures) == 1
    assert "maximum context length" in failures[0]
    assert seen.run.summary().calls.reply_forms == {"correctness": {"JSON schema": 5}}


def test_a_wrong_key_is_not_asked_about_twice():
    seen = auto(reply=lambda asked: http(401, {"error": {"message": "Incorrect API key provided"}}))
    assert all(holds_schema(asked) for asked in seen.asked)
    assert seen.run.state == "broken"


def test_a_server_may_take_one_schema_and_refuse_another():
    def reply(asked):
        if not holds_schema(asked):
            return "1. Short. Verdict: YES\n2. Named. Verdict: NO"
        name = asked.body["response_format"]["json_schema"]["name"]
        return AS_JSON if name == "rating" else failed(400, "arrays are not supported in a schema")

    seen = auto(lambda judge: [Correctness(judge), Guideline(judge, ("Is short.", "Names a source."))], reply=reply)
    forms = seen.run.summary().calls.reply_forms
    assert forms["correctness"] == {"JSON schema": 6}
    assert list(forms["guideline"].values()) == [6]
    assert next(iter(forms["guideline"])).startswith("free text: the endpoint refused")
    assert len(seen.asked) == 6 + 6 + 1


def test_a_judge_that_must_be_structured_is_not_asked_in_free_text():
    refusal = failed(400, "response_format is not supported")
    seen = judged(Correctness, SAMPLES[:2], lambda asked: refusal, judge={"structured": True})
    assert all(holds_schema(asked) for asked in seen.asked)
    assert all("response_format is not supported" in record.failure.message for record in seen.records)


def bodies_of(here):
    return [json.loads(asked.body) for asked in here.asked]


def in_two_runs(tmp_path, second, more=SAMPLES, **options):
    """A run of three samples at a server that refuses the schema, and one of `more` when it answers as `second`."""
    refuses = [True]

    def answer(_, came):
        body = json.loads(came.body)
        if refuses[0]:
            return failed(400, "no response_format") if "response_format" in body else said(FREE)
        return second(body)

    async def work():
        async with peer(answer) as here:
            scorer = Correctness(Judge(OpenAICompatible("judge", here.url), structured="auto"))
            how = {"store": tmp_path / "s.db", "retry": Retry(attempts=1)}
            run = await aevaluate(answer_of_the_sample, SAMPLES[:3], [scorer], **how)
            first = bodies_of(here)
            refuses[0] = False
            here.asked.clear()
            again = await aevaluate(answer_of_the_sample, more, [scorer], **how, **options)
            return run, first, again, bodies_of(here), scorer

    return asyncio.run(work())


def test_what_was_found_holds_for_later_calls_of_the_same_journal(tmp_path):
    """So a run that is resumed is judged in one form, whatever the endpoint has learnt meanwhile."""
    _, _, again, bodies, _ = in_two_runs(tmp_path, lambda body: said(AS_JSON if "response_format" in body else FREE))
    assert ["response_format" in body for body in bodies] == [False] * 3
    assert list(again.summary().calls.reply_forms["correctness"].values()) == [6]


def test_a_run_that_was_made_before_costs_nothing_again(tmp_path):
    run, _, again, bodies, _ = in_two_runs(tmp_path, lambda body: failed(500), SAMPLES[:3])
    assert bodies == []
    assert [record.scores for record in again.records()] == [record.scores for record in run.records()]


def test_a_fresh_draw_finds_it_out_again(tmp_path):
    _, _, again, bodies, _ = in_two_runs(tmp_path, lambda body: said(AS_JSON), fresh=True)
    assert all("response_format" in body for body in bodies)
    assert again.summary().calls.reply_forms == {"correctness": {"JSON schema": 6}}


def test_verdicts_in_free_text_are_scored_again_without_a_call(tmp_path):
    run, _, _, _, scorer = in_two_runs(tmp_path, lambda body: said(AS_JSON))
    with Store(tmp_path / "s.db") as store:
        again, damaged = rescore(store, store.run(run.id), [scorer])
        assert damaged == 0
        assert [record.scores for record in again.records()] == [record.scores for record in run.records()]


def test_verdicts_in_free_text_are_scored_again_where_the_finding_is_lost(tmp_path):
    run, _, _, _, scorer = in_two_runs(tmp_path, lambda body: said(AS_JSON))
    finding = Keys("", 0, "").once(schema_digest(scorer.judge.model, scorer.judge.rating_schema()))
    with closing(sqlite3.connect(tmp_path / "s.db")) as base:
        assert base.execute("DELETE FROM reply WHERE key = ?", (finding,)).rowcount == 1
        base.commit()
    with Store(tmp_path / "s.db") as store:
        again, _ = rescore(store, store.run(run.id), [scorer])
        scores = [record.scores[0] for record in again.records()]
    assert [score.value for score in scores] == [4.0] * 3
    assert scores[0].detail["asked_for"].endswith("(why is not stored any more)")


def test_a_refusal_is_kept_without_secrets(monkeypatch):
    """An escaped letter hides a key from whoever looks at the bytes of the answer alone."""
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-1234567890")
    echo = b'{"error": {"message": "no response_format for sk-judge-123456789\\u0030"}}'
    seen = auto(
        samples=SAMPLES[:2],
        reply=lambda asked: http(400, echo) if holds_schema(asked) else FREE,
        model={"api_key": "${JUDGE_KEY}"},
    )
    (form,) = seen.run.summary().calls.reply_forms["correctness"]
    assert "no response_format for" in form
    assert "sk-judge" not in form


def test_reports_say_how_many_verdicts_came_in_free_text():
    seen = auto(reply=lambda asked: failed(400, "no <b>response_format</b>") if holds_schema(asked) else FREE)
    told = "correctness: 6 of 6 verdicts in free text: the endpoint refused the JSON schema (status 400: no "
    assert told in html_report([seen.run])
    assert told in markdown_report([seen.run])
    assert "<b>response_format" not in html_report([seen.run])


def test_repeats_fall_back_together():
    seen = judged(
        Correctness,
        Sample("fr", "Capital of France?", "Paris", metadata={"answer": "Paris"}),
        lambda asked: failed(400, "no response_format") if holds_schema(asked) else FREE,
        judge={"structured": "auto", "repeats": 3},
    )
    assert [holds_schema(asked) for asked in seen.asked] == [True, False, False, False]
    assert seen.records[0].scores[0].detail["repeats"] == [4.0, 4.0, 4.0]
