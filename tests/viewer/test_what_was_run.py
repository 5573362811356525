"""What a run was made of and what was sent, against what a server received; labels given with the verdict in view."""

import html
import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from tests.logging_server import logging_server
from tests.report.judging_suite import pairwise_runs
from tests.viewer.conftest import exam, first, second, serving

from steelyard import OpenAICompatible, Options, Prompt, Sample, Scripted, Suite, evaluate_suite
from steelyard.analysis.judging_manifest import sides_of
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.judge_prompts import target_request, target_requests
from steelyard.models.http import ResponseMap
from steelyard.people.labels import add_note, all_labels
from steelyard.scorers import ErrorJudge, Judge
from steelyard.scorers.choice import Choice
from steelyard.scorers.lexical import Contains
from steelyard.scorers.retrieval import Retrieval
from steelyard.session.kept_requests import LONGEST_TEXT
from steelyard.targets import HttpEndpoint, Replay
from steelyard.viewer.what_was_run import run_facts, score_meaning, template_pieces


def endpoint():
    """A chat endpoint on loopback that keeps what it was sent."""
    return logging_server(lambda *_: "The answer is B.")


def sent_texts(page):
    """Role and text of the messages under "Sent"."""
    sent = page.partition('id="sent-title"')[2].partition("</section>")[0]
    turns = re.findall(r'<div class="turn"><span>(\w+)</span><div class="text">(.*?)</div></div>', sent, re.DOTALL)
    return [(role, html.unescape(re.sub(r"<[^>]+>", "", text))) for role, text in turns]


def asked(where, target, samples):
    suite = Suite("S", "choice", samples, {"t": target}, (Choice(),), Options(concurrency=1))
    (run,) = evaluate_suite(suite, how=RunConfig(store=where))
    return run


def test_the_page_shows_as_sent_what_the_server_received(tmp_path):
    samples = [replace(sample, input="Which <b>boat</b>?\n{{options}}") for sample in exam(2)]
    with endpoint() as log:
        model = OpenAICompatible("m", log.url, parameters={"temperature": 0})
        target = Prompt(model, "Choose.\n{{question}}\n{{options}}\nOne letter.", system="Be brief.")
        run = asked(tmp_path / "s.db", target, samples)
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{run.id}/s/q0000")[2]
    assert "rebuilt; its digest equals the stored key" in page
    assert sent_texts(page) == [(message["role"], message["content"]) for message in log.messages[0]]
    assert "temperature 0" in page
    assert '<span class="ph">Which &lt;b&gt;boat&lt;/b&gt;?</span>' in page, "what the sample filled in"
    assert "The answer is <mark" in page.partition("Raw reply")[2], "the reply with the span that was read"


def test_what_another_version_of_the_prompt_would_send_is_not_called_sent(tmp_path):
    with endpoint() as log:
        run = asked(tmp_path / "s.db", Prompt(OpenAICompatible("m", log.url), "Choose.\n{{question}}"), exam(1))
    (record,) = run.records()
    assert target_request(run, record).is_proven
    manifest = json.loads(json.dumps(dict(run.manifest)))
    manifest["target"]["prompt"]["text"] = "Choose well.\n{{question}}"
    run.__dict__["manifest"] = manifest
    changed = target_request(run, record)
    assert (changed.is_proven, changed.messages[0]["content"]) == (False, "Choose well.\nQuestion 0?")
    manifest["target"]["prompt"]["text"] = "prompts/secret.txt"
    assert target_request(run, record) is None, "a store may name any file"


def test_a_request_to_an_application_is_stored_with_its_body(tmp_path):
    with logging_server(lambda *_: {"answer": "B"}) as log:
        body, response = {"query": "{{prompt}}", "knowledge": "boats"}, ResponseMap(text="answer")
        target = HttpEndpoint(log.url, body=body, response=response, template="Q: {{question}}")
        run = asked(tmp_path / "s.db", target, exam(1))
        (record,) = run.records()
        with serving(tmp_path / "s.db") as viewer:
            page = viewer.ask(f"/run/{run.id}/s/q0000")[2]
    request = target_request(run, record)
    ((role, text),) = sent_texts(page)
    assert (request.is_proven, role, json.loads(text)) == (True, "body", log.asked[0][1])
    assert f"to POST {log.url}" in page
    assert "stored when it was sent; secrets are masked" in page


AWS_KEY = "AKIAIOSFODNN7EXAMPLE"
DIGEST = "9f86d081884c7d659a2feaa0c55ad015"


@dataclass(frozen=True, slots=True)
class Agent:
    """Asks its model twice; what it sends holds keys."""

    model: OpenAICompatible

    async def __call__(self, sample, ask):
        tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
        first = await ask(self.model, [{"role": "user", "content": sample.input}], tools=tools)
        history = [{"role": "user", "content": f"You said: {first.text} The key is the-key-of-the-agent-42."}]
        arguments = json.dumps({"api_key": "hunter2-hunter2", "passwords": ["correct horse"]})
        call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": arguments}}
        history += [
            {"role": "assistant", "content": f"my key:\n{AWS_KEY}\n{DIGEST}", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "postgres://u:pa$s/word@h and https://h/x?sig=hunter2"},
        ]
        return (await ask(self.model, history, tools=tools, user={"password": "correct horse", "token": 12345678})).text


def test_each_request_of_an_agent_is_stored_without_secrets_and_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_KEY", "the-key-of-the-agent-42")
    with endpoint() as log:
        run = asked(tmp_path / "s.db", Agent(OpenAICompatible("m", log.url, api_key="${AGENT_KEY}")), exam(1))
        (record,) = run.records()
        with serving(tmp_path / "s.db") as viewer:
            page = html.unescape(viewer.ask(f"/run/{run.id}/s/q0000")[2])
    first, last = target_requests(run, record).values()
    assert first.messages == log.messages[0]
    assert (first.parameters["tools"], first.parameters["model"]) == (log.asked[0][1]["tools"], "m")
    said = "You said: The answer is B. The key is "
    assert log.messages[1][0]["content"] == f"{said}the-key-of-the-agent-42."
    assert last.messages[0]["content"] == f"{said}[secret AGENT_KEY]."
    assert last.parameters["user"] == {"password": "*" * 13, "token": "*" * 8}
    called, returned = last.messages[1:]
    assert called["content"] == f"my key:\n{'*' * 20}\n{'*' * 32}"
    arguments = json.loads(called["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"api_key": "*" * 15, "passwords": ["*" * 13]}
    assert returned["content"] == "postgres://u:*********@h and https://h/x?sig=*******"
    sent, raw, calls = (page.partition(mark)[2] for mark in ('id="sent-title"', "Raw reply", "Calls <span"))
    assert sent_texts(page)[0] == ("user", f"{said}[secret AGENT_KEY].")
    assert "request 2 of 2" in sent.partition("</h2>")[2].partition("</div>")[0]
    assert "reply 2 of 2" in raw.partition("</div>")[0]
    assert "tools offered: look_up" in page
    assert "Question 0?" in calls
    assert f"{said}[secret AGENT_KEY]." in calls
    stored = (tmp_path / "s.db").read_bytes()
    for secret in (b"the-key-of-the-agent", AWS_KEY.encode(), DIGEST.encode(), b"hunter2", b"correct horse", b"pa$s"):
        assert secret not in stored


def test_a_long_request_is_stored_without_the_middle_of_its_texts(tmp_path):
    with endpoint() as log:
        model = OpenAICompatible("m", log.url)

        async def agent(sample, ask):
            return (await ask(model, [{"role": "user", "content": text} for text in ("x" * 100_000, "Why?")])).text

        run = asked(tmp_path / "s.db", agent, exam(1))
    (record,) = run.records()
    (request,) = target_requests(run, record).values()
    long, short = (message["content"] for message in request.messages)
    assert (short, len(log.messages[0][0]["content"])) == ("Why?", 100_000)
    assert "xx… (96,000 characters left out) …xx" in long
    assert len(long) < LONGEST_TEXT + 50


def test_a_prompt_is_rebuilt_and_its_request_is_not_stored(tmp_path):
    with endpoint() as log:
        run = asked(tmp_path / "s.db", Prompt(OpenAICompatible("m", log.url), "Choose.\n{{question}}"), exam(1))
    (record,) = run.records()
    assert target_requests(run, record) == {}
    assert target_request(run, record).is_proven


def test_the_page_on_what_was_run_has_prompt_settings_scorers_and_dataset(tmp_path):
    with endpoint() as log:
        run = asked(tmp_path / "s.db", Prompt(OpenAICompatible("m-8b", log.url), "Choose.\n{{question}}"), exam(3))
    with serving(tmp_path / "s.db") as viewer:
        head = viewer.ask(f"/run/{run.id}")[2].partition('id="samples-title"')[0]
        page = viewer.ask(f"/run/{run.id}/what")[2]
    assert "<b>m-8b</b>" in head
    assert "<span>3 samples</span>" in head
    assert f'href="/run/{run.id}/what"' in head
    assert '<span class="ph">{{question}}</span>' in page
    for name, value in (("model", "m-8b"), ("endpoint", log.url), ("samples", "3"), ("rule", "steelyard")):
        assert re.search(rf"<dt>{name}</dt><dd[^>]*>{value}", page), name


def test_the_line_of_facts_names_the_model_wherever_a_target_has_it(tmp_path):
    response, tags = ResponseMap(text="answer"), {"tagged": {"model": "b"}, "in the body": {"model": "tag"}}
    with logging_server(lambda *_: {"answer": "B"}) as log:
        unnamed = HttpEndpoint(log.url, body={"q": "{{question}}"}, response=response)
        named = replace(unnamed, body={"model": "m-1", "q": "{{question}}"})
        targets = {"tagged": Prompt(Scripted(), "{{question}}"), "in the body": named, "nowhere": unnamed}
        suite = Suite("S", "choice", exam(1), targets, (Choice(),), tags=tags)
        runs = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    assert [run_facts(run, run.summary())[0] for run in runs] == ["b", "m-1", "POST http"]


@pytest.mark.parametrize(("template", "places"), [("no place", 0), ("{{question}}", 1), ("a {{x}} b {{ y }} c", 2)])
def test_a_template_is_cut_at_its_placeholders(template, places):
    pieces = list(template_pieces(template))
    assert "".join(text for text, _ in pieces) == template
    assert sum(filled for _, filled in pieces) == places


def test_a_label_given_with_the_verdict_in_view_is_stored_and_counts_nowhere(tmp_path):
    suite = Suite("S", "choice", exam(40), {"a": first, "b": second}, (Choice(),), Options(max_errors=0.5))
    (run, _) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    before = run.summary()
    with serving(tmp_path / "s.db") as viewer:
        for no in range(40):
            fields = {"sample": f"q{no:04d}", "repeat": "0", "verdict": "fail", "author": "ann", "back": "where=wrong"}
            status, headers, _ = viewer.post(f"/run/{run.id}/label", urlencode(fields | {"comment": "not so"}))
            assert (status, headers["location"]) == (303, f"/run/{run.id}/s/q{no:04d}?where=wrong&labelled=1")
        page = viewer.ask(f"/run/{run.id}/s/q0000")[2]
        saved = viewer.ask(headers["location"])[2]
        refused = viewer.post(f"/run/{run.id}/label", urlencode(fields | {"verdict": "perhaps"}))
        labels = all_labels(viewer.store, run)
        fresh = viewer.store.run(run.id)
        counted = fresh.with_labels().summary()
    assert {(label.name, label.value) for label in labels} == {("verdict in view", "fail"), ("comment", "not so")}
    assert "never counts in agreement" in page
    assert [re.findall('role="status">([^<]*)<', shown) for shown in (page, saved)] == [[""], ["saved"]]
    assert "<b>wrong</b>" in page
    assert (refused[0], "a label is pass or fail" in html.unescape(refused[2])) == (422, True)
    assert counted.score().headline == before.score().headline
    assert fresh.summary().raters.held_to_people == ()


@pytest.mark.parametrize(
    ("scorer", "words"), [(Choice(), ["correct", "wrong"]), (Contains(), ["contained", "missing"])]
)
def test_the_panel_has_the_words_of_the_score_and_stores_pass_or_fail(tmp_path, scorer, words):
    suite = Suite("S", "choice", exam(1), {"a": first}, (scorer,))
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        panel = viewer.ask(f"/run/{run.id}/s/q0000")[2].partition('aria-label="Your label"')[2].partition("</form>")[0]
        buttons = re.findall(r'name="verdict" value="(\w+)".*?</button>', panel)
        fields = {"sample": "q0000", "verdict": "fail", "author": "ann", "comment": ""}
        viewer.post(f"/run/{run.id}/label", urlencode(fields))
        cookies = [("Cookie", f"{viewer.cookie(viewer.host)}; steelyard_author=ann")]
        page = viewer.ask(f"/run/{run.id}/s/q0000", cookie=False, headers=cookies)[2]
    shown = re.findall(r"</svg>(?:<[^>]+>)*([^<]+)|<span[^>]*>([^<]+)</span><kbd>", panel)
    assert buttons == ["pass", "fail"]
    assert [left or right for left, right in shown] == words
    assert f"<b>{words[1]}</b>" in page
    assert 'value="" data-key="2" aria-pressed="true"' in page, "a second press withdraws it"


def test_of_a_pair_the_panel_offers_both_targets_and_a_tie(tmp_path):
    *_, judging = pairwise_runs(tmp_path, n=3)
    with serving(tmp_path / "pairs.db") as viewer:
        panel = (
            viewer.ask(f"/run/{judging.id}/s/q001")[2].partition('aria-label="Your label"')[2].partition("</form>")[0]
        )
        buttons = re.findall(r'name="verdict" value="(\w+)".*?<span>([^<]*)</span></span><kbd>', panel)
        fields = {"sample": "q001", "author": "ann", "comment": ""}
        refused = viewer.post(f"/run/{judging.id}/label", urlencode(fields | {"verdict": "pass"}))
        viewer.post(f"/run/{judging.id}/label", urlencode(fields | {"verdict": "B"}))
        page = viewer.ask(f"/run/{judging.id}/s/q001")[2]
        (label,) = (label for label in all_labels(viewer.store, judging) if label.value)
    first_name, second_name = sides_of(judging.manifest)
    assert [(value, html.unescape(words)) for value, words in buttons] == [
        ("A", first_name),
        ("tie", "tie"),
        ("B", second_name),
    ]
    assert (refused[0], "A or tie or B" in html.unescape(refused[2])) == (422, True)
    assert (label.name, label.kind, label.value) == ("verdict in view", "preference", "B")
    assert f"<b>{second_name}</b>" in page


def test_the_second_press_withdraws_the_label(tmp_path):
    suite = Suite("S", "choice", exam(2), {"a": first}, (Choice(),))
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        for verdict in ("pass", ""):
            fields = {"sample": "q0001", "verdict": verdict, "author": "ann", "comment": ""}
            assert viewer.post(f"/run/{run.id}/label", urlencode(fields))[0] == 303
        assert viewer.store.run(run.id).labels() == ()


def test_one_search_finds_pages_runs_and_samples(tmp_path):
    samples = [Sample("a", "Which metal is liquid?", "B", choices=("iron", "mercury")), *exam(3)]
    evaluate_suite(
        Suite("Exam", "choice", samples, {"first": lambda _: "B"}, (Choice(),)), how=RunConfig(tmp_path / "s.db")
    )
    with serving(tmp_path / "s.db") as viewer:
        (run,) = viewer.store.runs()
        page = viewer.ask("/search?q=metal")[2]
        assert f'href="/run/{run.id}/s/a?search=metal"' in page
        assert "Samples are those of each suite’s newest run." in page
        assert f'href="/run/{run.id}"' in viewer.ask("/search?q=first+exam")[2]
        assert 'href="/history/Exam">Exam: history' in viewer.ask("/search?q=history")[2]
        assert "Nothing found" in viewer.ask("/search?q=zzz")[2]
        assert "What are you looking for?" in viewer.ask("/search?q=")[2]
        assert viewer.ask("/search?q=%3F%3F")[0] == 200, "signs alone are no word"


def test_the_search_goes_through_every_suite_and_names_what_it_left_out(tmp_path, monkeypatch):
    for name in "abcdefg":
        sample = Sample(name, "Which metal is liquid?", "B", choices=("iron", "mercury"))
        suite = Suite(name, "choice", [sample], {"first": lambda _: "B"}, (Choice(),))
        evaluate_suite(suite, how=RunConfig(tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask("/search?q=liquid")[2]
        assert re.findall(r"Samples of (\w)</h2>", page) == list("gfedcba")
        assert "Not searched" not in page
        monkeypatch.setattr("steelyard.viewer.search_page._SCANNED", 5)
        page = viewer.ask("/search?q=liquid")[2]
        assert re.findall(r"Samples of (\w)</h2>", page) == list("gfedc")
        assert "Not searched, as it would take too long: samples of b, a." in page


def test_labelled_samples_are_found_again(tmp_path):
    suite = Suite("S", "choice", exam(3), {"a": lambda _: "B"}, (Choice(),))
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        assert "Labelled" not in viewer.ask(f"/run/{run.id}")[2]
        fields = {"sample": "q0001", "verdict": "pass", "author": "ann", "comment": "a zebra, not a horse"}
        assert viewer.post(f"/run/{run.id}/label", urlencode(fields))[0] == 303
        chip = re.search(r'<a[^>]* href="([^"]+where=labelled[^"]*)"[^>]*>\s*Labelled', viewer.ask(f"/run/{run.id}")[2])
        page = viewer.ask(html.unescape(chip[1]).partition("#")[0])[2]
        assert "/s/q0001" in page
        assert "/s/q0002" not in page
        said = r'data-h="people">\s*correct, a zebra, not a horse \(ann\)</td>'
        assert re.search(said, page), "the list says what the person said"
        add_note(viewer.store, run, "a quagga too", author="ben", at=datetime.now(UTC))
        assert re.findall(r"/s/(q\d+)", viewer.ask("/search?q=zebra")[2]) == ["q0001"]
        assert f'href="/run/{run.id}"' in viewer.ask("/search?q=quagga")[2], "a note on the run"


def test_of_a_replay_the_page_names_its_file_and_columns_in_words(tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(f'{{"id": "q{at:04}", "reply": "B"}}\n' for at in range(3)))
    run = asked(tmp_path / "s.db", Replay(answers, output="reply"), exam(3))
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{run.id}/what")[2]
    assert '<dt>column of output</dt><dd class="wrapped">reply</dd>' in page
    assert "<dt>file</dt>" in page
    shown = page.partition('<h2 id="scorers-title"')[0]
    assert "file.file" not in shown
    assert re.search(r"<dt>file digest</dt><dd class=\"wrapped\">[0-9a-f]{8}</dd>", shown)


def test_only_a_time_is_shown_as_a_whole_number(tmp_path):
    with endpoint() as log:
        model = OpenAICompatible("llama-3.0", log.url, timeout_s=60.0)
        run = asked(tmp_path / "s.db", Prompt(model, "{{question}}"), exam(1))
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{run.id}/what")[2]
    assert '<dd class="wrapped">llama-3.0</dd>' in page
    assert re.search(r'timeout in seconds</dt><dd class="wrapped">60</dd>', page)


def test_of_a_judge_the_page_shows_the_prompt_of_each_language_and_how_many_scripted_replies(tmp_path):
    judge = Judge(Scripted({"one": "Verdict: YES", "two": "Verdict: NO"}, default="Verdict: YES"))
    samples = [Sample("a", "Q?", "A")]
    suite = Suite("S", "custom", samples, {"t": lambda _: "one"}, (ErrorJudge(judge, "tone", "It is rude."),))
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{run.id}/what")[2].partition("Manifest")[0]
    names = re.findall(r"<dt>(prompt [^<]*)</dt>", page)
    assert [name.rpartition(" ")[2] for name in names] == ["en", "zh"]
    assert '<dt>scripted replies</dt><dd class="wrapped">2</dd>' in page


@pytest.mark.parametrize(
    ("scorers", "name", "sentence"),
    [
        ((Choice(),), "solve_rate", "Share of questions whose reply gives exactly the reference's letters"),
        ((Retrieval(), Contains()), "recall", "The share of the expected sources that are among the passages"),
        ((Contains(), Retrieval()), "contains", "Whether the output contains the reference"),
        ((lambda sample, output: 1,), "lambda", ""),
    ],
)
def test_the_run_says_in_a_sentence_what_its_score_asks(tmp_path, scorers, name, sentence):
    suite = Suite("S", "custom", exam(2), {"t": lambda _: "B"}, scorers, primary=name if sentence else "")
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    assert score_meaning(run, name) == sentence
    with serving(tmp_path / "s.db") as viewer:
        page = html.unescape(viewer.ask(f"/run/{run.id}")[2])
    assert (f'<p class="small soft">{sentence}.</p>' in page) == bool(sentence)
