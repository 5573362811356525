"""What is sent is what was meant: prompts in files, turns as messages, nothing from a check; in every suite."""

import base64
import json
import sys

import pytest
from tests.logging_server import logging_server

from steelyard.store import Store

SCHEMA = "CREATE TABLE plays (name TEXT, year INTEGER); INSERT INTO plays VALUES ('Hamlet', 1603);"
TURNS = [
    {"role": "user", "content": "Who wrote Hamlet?"},
    {"role": "assistant", "content": "William Shakespeare."},
    {"role": "user", "content": "When?"},
]
TRANSCRIPT = "User: Who wrote Hamlet?\n\nAssistant: William Shakespeare.\n\nUser: When?"
PICTURE = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 50).decode()
LOOK = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PICTURE}}],
    }
]
SEEN = "[image png 13 kB sha256:"


def answered(path, body):
    """Targets say A or some SQL, judges a rating, both, or [[A]]."""
    said = json.dumps(body)
    if body.get("model") == "judge":
        return "[[A]]" if "[[A]]" in said else "5"
    return "The answer is A.\n```sql\nSELECT name FROM plays\n```"


@pytest.fixture
def server():
    with logging_server(answered) as log:
        yield log


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def model(server, name="target"):
    return {"openai_compatible": {"name": name, "base_url": server.url}}


ROWS = {
    "choice": lambda asked: {"id": "1", "question": asked, "options": ["1603", "1703"], "answer": "A"},
    "rag": lambda asked: {"id": "1", "question": asked, "answer": "1603"},
    "pairwise": lambda asked: {"id": "1", "question": asked},
    "text2sql": lambda asked: {"id": "1", "question": asked, "sql": "SELECT name FROM plays", "schema": SCHEMA},
    "tables": lambda asked: {"id": "1", "question": asked, "target": [["Hamlet"]]},
}
SUITES = list(ROWS)


def write(tmp_path, server, suite, asked, *, prompt=None, judge=True, **more):
    """A configuration of one suite with one question; its targets are asked by `prompt`."""
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS[suite](asked)) + "\n", "utf-8")
    given = {"model": model(server), "template": "{{question}}"} | (prompt or {})
    targets = {"a": {"prompt": given}}
    config = {"suite": suite, "samples": {"file": "rows.jsonl"}, "targets": targets}
    if suite == "pairwise":
        targets["b"] = {"prompt": given | {"parameters": {"seed": 2}}}
    if judge and suite in {"rag", "pairwise", "text2sql"}:
        config["judge"] = {"model": model(server, "judge")}
    if judge and suite == "text2sql":
        config["scorers"] = ["relevance"]
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(config | more), "utf-8")
    return path


def run(steelyard, path):
    return steelyard("run", path, "--quiet")


@pytest.mark.parametrize("suite", SUITES)
def test_a_conversation_reaches_the_model_as_messages_and_the_judge_as_a_transcript(steelyard, tmp_path, server, suite):
    path = write(tmp_path, server, suite, TURNS)
    run(steelyard, path)
    asked = server.of("target")
    assert asked
    assert all(messages == TURNS for messages in asked)
    judged = [one[-1]["content"] for one in server.of("judge")]
    assert bool(judged) == (suite in {"rag", "pairwise", "text2sql"})
    assert all(TRANSCRIPT in prompt and "'role'" not in prompt for prompt in judged)


@pytest.mark.parametrize("suite", SUITES)
def test_a_cell_of_a_sheet_holds_a_conversation_as_text(steelyard, tmp_path, server, suite):
    path = write(tmp_path, server, suite, TURNS, judge=suite == "pairwise")
    other = [{**turn, "content": f"{turn['content']} Really?"} for turn in TURNS]
    rows = [ROWS[suite](json.dumps(TURNS)), ROWS[suite](str(other)) | {"id": "2"}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    run(steelyard, path)
    asked = server.of("target")
    assert all(messages in (TURNS, other) for messages in asked)
    assert TURNS in asked, "as JSON"
    assert other in asked, "as Python prints it"


@pytest.mark.parametrize("suite", SUITES)
def test_a_template_takes_the_place_of_the_last_question(steelyard, tmp_path, server, suite):
    prompt = {"template": "Briefly: {{question}}", "system": "Be kind."}
    run(steelyard, write(tmp_path, server, suite, TURNS, prompt=prompt, judge=suite == "pairwise"))
    first = {"role": "system", "content": "Be kind."}
    assert server.of("target")[0] == [first, *TURNS[:2], {"role": "user", "content": "Briefly: When?"}]


@pytest.mark.parametrize("suite", SUITES)
def test_an_image_goes_to_the_model_unchanged_and_is_shown_as_a_placeholder(steelyard, tmp_path, server, suite):
    path = write(tmp_path, server, suite, LOOK, prompt={"template": "Look. {{question}}"})
    page = tmp_path / "page.html"
    steelyard("run", path, "--quiet", "--html", page)
    [message] = server.of("target")[0]
    assert message["content"] == [{"type": "text", "text": "Look. What is this?"}, LOOK[0]["content"][1]]
    judged = [one[-1]["content"] for one in server.of("judge")]
    assert all(f"What is this?\n{SEEN}" in prompt and PICTURE[40:80] not in prompt for prompt in judged)
    assert PICTURE[40:80] not in page.read_text("utf-8")
    shown = steelyard("show", "a", "1", code=0).out
    assert SEEN in " ".join(shown.split())
    assert PICTURE[40:80] not in shown


@pytest.mark.parametrize("suite", [one for one in SUITES if one != "pairwise"])
def test_a_system_prompt_in_a_file_is_sent_as_its_words_and_two_versions_are_told_apart(
    steelyard, tmp_path, server, suite
):
    (tmp_path / "v1.txt").write_text("Answer in verse.\n", "utf-8")
    (tmp_path / "v2.txt").write_text("Answer in prose.\n", "utf-8")
    for name in ("v1.txt", "v2.txt"):
        run(steelyard, write(tmp_path, server, suite, "When?", prompt={"system": name}, judge=False))
    told = [one[0]["content"] for one in server.of("target")]
    assert set(told) == {"Answer in verse.", "Answer in prose."}
    runs = [one for one in steelyard("runs", "--json").json() if one["target"] == "a"]
    found = steelyard("compare", runs[0]["id"], runs[1]["id"])
    assert "system prompt" in found.out, found.err


def test_an_empty_file_is_no_system_prompt(steelyard, tmp_path, server):
    (tmp_path / "v1.txt").write_text(" \n", "utf-8")
    err = steelyard("check", write(tmp_path, server, "choice", "When?", prompt={"system": "v1.txt"}), code=2).err
    assert "v1.txt' is empty" in " ".join(err.split())


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(
    "name", ["v3.txt", "prompts/v3.md", "./v3", "prompts/v3", "prompts/my words.txt", "my v3.txt", "a/my words/v3.txt"]
)
def test_the_name_of_a_file_that_is_not_there_is_an_error_with_its_place(steelyard, tmp_path, server, suite, name):
    (tmp_path / "prompts").mkdir()
    path = write(tmp_path, server, suite, "When?", prompt={"system": name})
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=1), "utf-8")
    line = next(no for no, text in enumerate(path.read_text("utf-8").splitlines(), start=1) if f'"{name}"' in text)
    err = steelyard("check", path, code=2).err
    assert f"suite.json:{line}:" in err
    assert "looks like the name of a file" in " ".join(err.split())
    assert server.asked == []


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("template", ["Answer with one letter.\n", "{{options}} {{metadata.schema}}", "{{id}}"])
def test_a_template_without_the_question_is_an_error_unless_it_is_meant(steelyard, tmp_path, server, suite, template):
    path = write(tmp_path, server, suite, "When?", prompt={"template": template})
    for command in ("check", "run"):
        err = " ".join(steelyard(command, path, code=2).err.split())
        assert "the template has no {{question}}" in err
        assert "allow_constant_prompt: true" in err
    assert server.asked == []
    path = write(
        tmp_path, server, suite, "When?", prompt={"template": template}, options={"allow_constant_prompt": True}
    )
    unfilled = "schema" in template and suite != "text2sql"  # whose samples alone have a schema
    err = steelyard("check", path, code=2 if unfilled else 0).err
    assert ("no sample of rows.jsonl has a value for it" in " ".join(err.split())) == unfilled


@pytest.mark.parametrize(
    ("template", "hinted"),
    [
        ("{{question}}\n{{reference}}\n{{answer}}\nRate the answer from 1 to 5.", True),
        ("Rate the answer to the question from 1 to 5, by the reference.\n{{question}}\n{{answer}}\nRating:", False),
    ],
)
def test_a_judges_own_prompt_that_begins_with_the_question_gets_a_hint_and_no_error(
    steelyard, tmp_path, server, template, hinted
):
    path = write(tmp_path, server, "rag", "When?")
    value = json.loads(path.read_text("utf-8"))
    value["scorers"] = [{"correctness": {"template": template}}]
    path.write_text(json.dumps(value), "utf-8")
    hint = "correctness: its prompt begins with {{question}}"
    assert (hint in " ".join(steelyard("check", path, code=0).out.split())) is hinted
    assert (hint in " ".join(steelyard("run", path, "--dry-run", code=0).out.split())) is hinted
    assert server.asked == []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"http": {"url": "http://h/v1", "body": {"q": "hello"}, "response": {"text": "t"}}}, "the body has none of"),
        ({"http": {"url": "http://h/v1", "body": {"q": "{{id}}"}, "response": {"text": "t"}}}, "the body has none of"),
        (
            {
                "http": {
                    "url": "http://h/v1",
                    "body": {"q": "{{prompt}}"},
                    "template": "Hi\n",
                    "response": {"text": "t"},
                }
            },
            "the template has no {{question}}",
        ),
        (
            {"prompt": {"model": {"http": {"url": "http://h/v1", "body": {"q": "x"}, "response": {"text": "t"}}}}},
            "neither {{prompt}} nor {{messages}}",
        ),
        (
            {"likelihood": {"model": {"scripted": {}}, "template": "{{options}}"}},
            "the template has no {{question}}",
        ),
        (
            {"retrieval": {"model": {"scripted": {}}, "documents": "d.txt", "template": "{{contexts}}\n"}},
            "the template has no {{question}}",
        ),
    ],
)
def test_a_body_without_the_question_is_one_too(steelyard, tmp_path, server, target, said):
    (tmp_path / "d.txt").write_text("Rain falls.", "utf-8")
    path = write(tmp_path, server, "choice", "When?")
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"targets": {"a": target}}), "utf-8")
    assert said in " ".join(steelyard("check", path, code=2).err.split())


BUILDS = """
from urllib.request import Request, urlopen
def post(what):
    body = b'{"input": ["x"], "model": "MODULE"}'
    urlopen(Request("URL/embeddings", body, {"Content-Type": "application/json"})).read()
post("at import")
class Engine:
    async def aquery(self, question):
        post("at a question")
        return "A"
    async def ainvoke(self, question):
        post("at a question")
        return "A"
def make():
    post("when it is made")
    return Engine()
ready = Engine()
def answer(sample):
    post("at a question")
    return "A"
"""
COSTLY = {
    "factory": {"llama_index": {"engine": "MODULE:make"}},
    "engine": {"llama_index": {"engine": "MODULE:ready"}},
    "chain": {"langchain": {"runnable": "MODULE:make"}},
    "function": {"function": "MODULE:answer"},
}


@pytest.mark.parametrize("suite", SUITES)
def test_check_and_dry_run_send_nothing_and_build_nothing(steelyard, tmp_path, server, suite):
    modules = {name: f"costly_{suite}_{name}" for name in COSTLY}
    for module in modules.values():
        (tmp_path / f"{module}.py").write_text(BUILDS.replace("URL", server.url).replace("MODULE", module), "utf-8")
    (tmp_path / "d.txt").write_text("Rain falls.\n\nWind blows.", "utf-8")
    path = write(tmp_path, server, suite, "When?", judge=suite == "pairwise")
    config = json.loads(path.read_text("utf-8"))
    config["targets"] = {
        name: json.loads(json.dumps(target).replace("MODULE", modules[name])) for name, target in COSTLY.items()
    }
    embeddings = {"embeddings": {"name": "embed", "base_url": server.url}}
    searching = {"search": "vectors", "documents": "d.txt", "model": model(server), "embeddings": embeddings}
    config["targets"]["vectors"] = {"retrieval": searching}
    path.write_text(json.dumps(config), "utf-8")
    steelyard("check", path, code=0)
    steelyard("run", path, "--dry-run", code=0)
    steelyard("diagnose", path, "--no-probe", code=0)
    assert server.asked == []
    assert not set(modules.values()) & set(sys.modules)
    run(steelyard, path)
    asking = {body["model"] for where, body in server.asked if where.endswith("/embeddings")}
    assert asking == {*modules.values(), "embed"}


def test_a_dry_run_counts_the_embeddings_of_all_chunks(steelyard, tmp_path, server):
    (tmp_path / "d.txt").write_text(
        "\n\n".join(f"Rain number {no} falls on the gauge. " * 9 for no in range(40)), "utf-8"
    )
    path = write(tmp_path, server, "rag", "When?", judge=False)
    embeddings = {"embeddings": {"name": "embed", "base_url": server.url, "batch": 4}}
    target = {"model": model(server), "search": "vectors", "documents": "d.txt", "chunk_tokens": 60}
    config = json.loads(path.read_text("utf-8"))
    config["targets"] = {"a": {"retrieval": {**target, "embeddings": embeddings}}}
    path.write_text(json.dumps(config), "utf-8")
    [estimate] = steelyard("run", path, "--dry-run", "--json", code=0).json()
    stage = estimate["stages"][0]
    text = " ".join(steelyard("run", path, "--dry-run", code=0).out.split())
    assert f"are for embeddings: {stage['embedded_texts']} texts" in text
    run(steelyard, path)
    embedded = [body["input"] for where, body in server.asked if where.endswith("/embeddings")]
    assert stage["embedded_texts"] == sum(map(len, embedded))
    assert stage["calls"] == len(server.asked)


def test_diagnose_probes_each_path_and_each_name_and_shows_what_came_back(steelyard, tmp_path):
    def answer(path, body):
        if path.endswith("/kb"):
            known = body["knowledge_base_name"] == "zhouyi"
            return {"answer": "ok" if known else f"no knowledge base {body['knowledge_base_name']}", "docs": []}
        return "ok"

    with logging_server(answer) as server:
        path = write(tmp_path, server, "choice", "When?")

        def http(where, **body):
            return {
                "http": {
                    "url": f"{server.url}/{where}",
                    "body": {"query": "{{prompt}}", "top_k": 3, **body},
                    "response": {"text": "answer || choices[0].message.content", "contexts": "docs"},
                }
            }

        chat = {"prompt": {"model": model(server), "parameters": {"temperature": 0.5}}}
        targets = {
            "right": http("kb", knowledge_base_name="zhouyi"),
            "wide": http("kb", knowledge_base_name="zhouyi", top_k=9),
            "wrong": http("kb", knowledge_base_name="zhuoyi"),
            "other": http("chat"),
            "chat": chat,
            "chat2": chat,
            "big": {"prompt": {"model": model(server, "big")}},
        }
        config = json.loads(path.read_text("utf-8")) | {
            "targets": targets,
            "options": {"prices": {"currency": "USD", "models": {"target": {"input": 10, "output": 100}}}},
        }
        path.write_text(json.dumps(config), "utf-8")
        out = steelyard("diagnose", path, code=0).out
        assert len(server.asked) == 5
        assert out.index("5 probes will be sent") < out.index("answers after")
        assert "no knowledge base zhuoyi" in out
        assert "0 passages" in out
        probes = steelyard("diagnose", path, "--json", code=0).json()["probes"]
    assert [one["asks"] for one in probes] == ["right, wide", "wrong", "other", "chat, chat2", "big"]
    assert [one["money"] for one in probes[-2:]] == [pytest.approx(20 * 10e-6 + 1 * 100e-6), None]


CREATE = "Write CREATE TABLE and SELECT.\n{{question}}"


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ({"template": "{{metadata.schema}}\nSQL: {{question}}"}, True),
        ({"template": "SQL: {{question}}", "system": "{{metadata.schema}}"}, True),
        ({"template": "en/sql_query"}, True),
        ({"template": "SQL: {{question}}"}, False),
        ({"template": "en/sql_create_select"}, False),
        ({"template": CREATE, "reply": "create_select"}, False),
    ],
)
def test_the_judge_is_shown_the_schema_where_the_candidate_saw_it(steelyard, tmp_path, server, prompt, shown):
    run(steelyard, write(tmp_path, server, "text2sql", "Which SQL lists all plays?", prompt=prompt))
    [[judged]] = server.of("judge")
    assert ("INSERT INTO plays" in judged["content"]) is shown
    assert ("INSERT INTO plays" in json.dumps(server.of("target"))) is shown


def test_each_target_of_a_run_is_judged_by_what_it_saw_itself(steelyard, tmp_path, server):
    path = write(tmp_path, server, "text2sql", "Which SQL lists all plays?", prompt={"template": "SQL: {{question}}"})
    config = json.loads(path.read_text("utf-8"))
    body = {"model": "kb", "messages": [{"role": "user", "content": "SQL {{question}} {{metadata.schema}}"}]}
    text = {"text": "choices[0].message.content"}
    config["targets"] |= {
        "rules": {"baseline": "rules"},
        "http": {"http": {"url": f"{server.url}/chat/completions", "body": body, "response": text}},
        "stored": {"replay": "stored.jsonl"},
    }
    (tmp_path / "stored.jsonl").write_text('{"id": "1", "output": "SELECT year FROM plays"}\n', "utf-8")
    path.write_text(json.dumps(config), "utf-8")
    run(steelyard, path)
    shown = ["INSERT INTO plays" in prompt["content"] for [prompt] in server.of("judge")]
    assert sorted(shown) == [False, False, True, True]
    with Store() as store:
        said = {one.target: one.manifest["scorers"]["relevance"]["relevance"]["schema"] for one in store.runs()}
    assert said == {"a": "hidden", "rules": "shown", "http": "shown", "stored": "hidden"}


def test_a_reference_is_judged_beside_the_schema_that_it_was_written_for(steelyard, tmp_path, server):
    path = write(tmp_path, server, "text2sql", "Which plays?", prompt={"template": "SQL: {{question}}"})
    config = json.loads(path.read_text("utf-8")) | {"scorers": [{"relevance": {"judged": "reference"}}]}
    path.write_text(json.dumps(config), "utf-8")
    run(steelyard, path)
    [[judged]] = server.of("judge")
    assert "INSERT INTO plays" in judged["content"]


@pytest.mark.parametrize(
    "scorer",
    [
        {"g_eval": {"name": "fit", "criteria": "NAME"}},
        {"g_eval": {"name": "fit", "criteria": "Is it right?", "steps": ["NAME"]}},
        {"guideline": {"guidelines": ["NAME"]}},
        {"rubric": {"name": "tone", "levels": {"1": "NAME", "2": "good"}}},
        {"correctness": {"template": "NAME"}},
    ],
)
def test_words_of_a_judge_that_look_like_a_file_are_an_error_with_their_place(steelyard, tmp_path, server, scorer):
    given = json.loads(json.dumps(scorer).replace("NAME", "prompts/what.txt"))
    path = write(tmp_path, server, "rag", "When?", scorers=[given])
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=1), "utf-8")
    err = " ".join(steelyard("check", path, code=2).err.split())
    keys = ("template", "steps", "criteria", "guidelines", "levels")
    key = next(one for one in keys if f"{one}: 'prompts" in err)
    lines = path.read_text("utf-8").splitlines()
    places = [f"suite.json:{no}:" for no, text in enumerate(lines, start=1) if f'"{key}"' in text]
    assert places[-1] in err
    assert "looks like the name of a file" in err
    assert server.asked == []


def test_criteria_of_a_pairwise_suite_are_words_too(steelyard, tmp_path, server):
    path = write(tmp_path, server, "pairwise", "When?", criteria="criteria.md")
    assert "criteria: 'criteria.md' looks like the name of a file" in " ".join(
        steelyard("check", path, code=2).err.split()
    )
    path = write(tmp_path, server, "pairwise", "When?", criteria="Which is kinder?")
    steelyard("check", path, code=0)


@pytest.mark.parametrize(
    "system", ["Be brief.", "Answer in C/C++.", "/no_think", "e.g./i.e.", "JSON", "用中文回答", "Write it to a.txt"]
)
def test_short_words_are_no_file(steelyard, tmp_path, server, system):
    run(steelyard, write(tmp_path, server, "choice", "When?", prompt={"system": system}))
    assert server.of("target")[0][0] == {"role": "system", "content": system}


def test_a_body_without_a_place_for_turns_or_pictures_fails_the_sample_and_sends_nothing(steelyard, tmp_path, server):
    for body, asked in (
        ({"q": "{{prompt}}"}, TURNS),
        ({"q": "{{question}}"}, TURNS),
        ({"q": "{{question}}"}, LOOK),
        ({"q": "Look: {{prompt}}"}, LOOK),
    ):
        path = write(tmp_path, server, "rag", asked, judge=False)
        http = {"url": f"{server.url}/kb", "body": body, "response": {"text": "choices[0].message.content"}}
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"targets": {"a": {"http": http}}}), "utf-8")
        found = run(steelyard, path)
        assert "the body has no place for" in " ".join((found.out + found.err).split())
    assert server.asked == []


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ({"q": "{{prompt}}", "history": "{{history}}"}, {"q": "When?", "history": TURNS[:2]}),
        ({"q": "{{transcript}}"}, {"q": TRANSCRIPT}),
        ({"messages": "{{messages}}"}, {"messages": TURNS}),
    ],
)
def test_a_body_takes_turns_as_messages_or_as_a_transcript(steelyard, tmp_path, server, body, sent):
    path = write(tmp_path, server, "rag", TURNS, judge=False)
    http = {"url": f"{server.url}/kb", "body": body, "response": {"text": "choices[0].message.content"}}
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"targets": {"a": {"http": http}}}), "utf-8")
    run(steelyard, path)
    assert server.asked == [("/v1/kb", sent)]
