"""`generate qa`: from documents and a model on loopback to a file that the rag suite reads."""

from __future__ import annotations

import json
import re

import pytest
from tests.generate.exam_server import Exam, exam_server, failed, fenced, numbered, said, step_of

from steelyard.data.sample_files import SampleFiles
from steelyard.generate.question_set import read_rows
from steelyard.suites.rag import load_rag

NAMES = ("Rain", "Wind", "Frost", "Cloud")
STATION = "# The station\n\n" + "\n\n".join(
    f"## {name}\n\n" + " ".join(
        f"{name} rule {no} says that the observer writes line {no} of the {name.lower()} page with care."
        for no in range(8)
    )
    for name in NAMES
)  # fmt: skip
ZH = "# 观测须知\n\n## 雨量\n\n" + "".join(
    f"第{no}条规定：观测员在雨后{no}0分钟内读取雨量，并写入观测簿第{no}页。" for no in range(1, 9)
)


@pytest.fixture
def station(tmp_path):
    path = tmp_path / "station.md"
    path.write_text(STATION, encoding="utf-8")
    return path


@pytest.fixture
def qa(steelyard, station):
    """Runs `generate qa` on the station's four chunks of one section each, with a model at `url`."""

    def run(url, *more, code=0, out="q.jsonl", documents=station):
        given = ("--documents", documents, "--out", out, "--per-chunk", "3", "--chunk-tokens", "220")
        return steelyard("generate", "qa", *given, "--model", "exam", "--base-url", url, *more, code=code)

    return run


def test_a_set_is_made_and_the_rag_suite_reads_it_with_its_sources(qa, station, tmp_path):
    with exam_server(Exam()) as server:
        found = qa(server.url, "--json").json()
        assert (found["made"], found["asked"], found["chunks"], found["short"]) == (12, 12, 4, [])
        assert len(server.asked) == 4 * (1 + 3)
        qa(server.url, out="q.csv")
        assert len(server.asked) == 16, "the second file is paid for by the journal"
    rows = read_rows(tmp_path / "q.jsonl")
    assert rows == read_rows(tmp_path / "q.csv")
    assert len({row.id for row in rows}) == 12
    for name in ("q.jsonl", "q.csv"):
        data = load_rag(SampleFiles(tmp_path / name))
        assert [(one.id, one.input, one.reference, one.group) for one in data.samples] == [
            (row.id, row.question, row.answer, "The station") for row in rows
        ]
        for sample, row in zip(data.samples, rows, strict=True):
            [source] = sample.metadata["sources"]
            assert source["text"] == STATION[source["start"] : source["end"]] == row.source
            assert (source["id"], source["document"]) == (row.chunk, "station.md")
        assert len(data.samples) == 12


def test_a_link_that_leads_out_of_the_folder_is_refused_before_a_call(qa, station, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.md").write_text("A rule.", encoding="utf-8")
    (tmp_path / "docs/notes.txt").symlink_to("/etc/passwd")
    with exam_server(Exam()) as server:
        found = qa(server.url, documents=tmp_path / "docs", code=2)
        assert not server.asked
    assert "notes.txt leads out of the folder" in " ".join(found.err.split())


def test_each_answer_is_written_from_the_chunk_of_its_question_alone(qa, tmp_path):
    with exam_server(Exam()) as server:
        qa(server.url)
    rows = {row.question: row for row in read_rows(tmp_path / "q.jsonl")}
    asked = {fenced(one, "question"): fenced(one, "text") for one in server.steps("answer")}
    assert asked == {question: row.source for question, row in rows.items()}
    assert rows["What does Wind fact 0 say?"].answer == "The answer to: What does Wind fact 0 say?"
    assert not any("station.md" in one for one in server.asked)


def test_metadata_stands_in_the_prompt_only_where_it_is_asked_for(qa):
    with exam_server(Exam(questions=lambda text, count: numbered(["How is rain measured here?"]))) as server:
        qa(server.url, "--metadata")
    heads = {fenced(one, "text").split("\n")[0] for one in server.asked}
    assert "[station.md, The station > Wind]" in heads
    assert len(heads) == 4


def test_chinese_documents_are_asked_about_in_chinese(qa, tmp_path):
    (tmp_path / "须知.md").write_text(ZH, encoding="utf-8")
    asked = [f"第{no}条规定观测员何时读取雨量？" for no in range(1, 4)]
    exam = Exam(
        questions=lambda text, count: "好的，以下是题目：\n" + numbered(asked),
        answer=lambda text, question: "答案：雨后十分钟内。",
    )  # fmt: skip
    with exam_server(exam) as server:
        qa(server.url, documents=tmp_path / "须知.md")
    assert all("题" in one and "exam" not in one for one in server.asked)
    rows = read_rows(tmp_path / "q.jsonl")
    assert [row.question for row in rows] == asked
    assert {row.answer for row in rows} == {"雨后十分钟内。"}


def test_what_a_model_did_not_deliver_is_reported_by_chunk_and_reason(qa, tmp_path):
    def questions(text, count):
        name = text.split()[-1] if "Rain" in text else next(one for one in NAMES if one in text)
        return {
            "Wind": "I'm sorry, but I cannot help with that.",
            "Frost": said("1. What does frost rule 1 say?\n2. What does frost", finish="length"),
            "Cloud": "Clouds are nice to look at. So is the sky.",
        }.get(
            name,
            "Sure:\n1. What does rain rule 1 say?\n2. what does RAIN rule 1 say\n3. What does the passage say of rain?",
        )

    with exam_server(Exam(questions=questions)) as server:
        found = qa(server.url, "--json").json()
        told = qa(server.url, "--overwrite").out
    assert [row.question for row in read_rows(tmp_path / "q.jsonl")] == [
        "What does rain rule 1 say?", "What does frost rule 1 say?",
    ]  # fmt: skip
    assert (found["made"], found["asked"]) == (2, 12)
    assert found["dropped"] == {"duplicate": 1, "refers_to_text": 1}
    assert [(one["made"], one["problem"], one["dropped"]) for one in found["short"]] == [
        (1, "", {"duplicate": 1, "refers_to_text": 1}),
        (0, "refused", {"missing": 3}),
        (1, "truncated", {"missing": 2}),
        (0, "none", {"missing": 3}),
    ]
    assert "2 of 12 requested questions, from 4 chunks" in told
    assert "dropped: 1 duplicate, 1 refers to text" in told


def test_a_question_that_its_chunk_does_not_answer_is_dropped(qa, tmp_path):
    exam = Exam(answer=lambda text, question: "NO ANSWER" if "fact 1" in question else "Yes, with care.")
    with exam_server(exam) as server:
        found = qa(server.url, "--json").json()
    assert (found["made"], found["dropped"]) == (8, {"no_answer": 4})


def test_the_check_saves_the_answer_of_what_is_not_answerable_and_keeps_what_is_unread(qa, tmp_path):
    def check(text, question):
        return {"0": "YES\nIt says so.", "1": "NO\nIt does not."}.get(question.split()[-2], "Perhaps.")

    with exam_server(Exam(check=check)) as server:
        found = qa(server.url, "--check-answerable", "--json").json()
    assert [len(server.steps(one)) for one in ("questions", "check", "answer")] == [4, 12, 8]
    assert (found["made"], found["dropped"], found["unread_checks"]) == (8, {"not_answerable": 4}, 4)
    assert [row.answerable for row in read_rows(tmp_path / "q.jsonl")] == ["yes", ""] * 4


def test_the_same_question_of_two_chunks_is_kept_once(qa, tmp_path):
    exam = Exam(questions=lambda text, count: numbered(["Who writes the line?", "who writes THE line"]))
    with exam_server(exam) as server:
        found = qa(server.url, "--json").json()
    assert [row.question for row in read_rows(tmp_path / "q.jsonl")] == ["Who writes the line?"]
    assert found["dropped"] == {"duplicate": 7}


def test_a_chunk_that_fails_for_good_is_an_error_and_the_rest_is_saved(qa, tmp_path):
    def questions(text, count):
        return failed(400) if "Wind" in text else Exam().questions(text, count)

    broken = [True]
    exam = Exam(questions=lambda text, count: questions(text, count) if broken[0] else Exam().questions(text, count))
    with exam_server(exam) as server:
        found = qa(server.url, "--json", code=4).json()
        assert (found["state"], found["made"], found["errors"]) == ("broken", 9, 1)
        assert "bad_request" in found["short"][0]["problem"]
        assert len(read_rows(tmp_path / "q.jsonl")) == 9
        broken[0] = False
        before = len(server.asked)
        again = qa(server.url, "--json").json()
    assert (again["run"], again["state"], again["made"]) == (found["run"], "finished", 12)
    assert len(server.asked) - before == 1 + 3, "only the chunk that failed is asked about again"
    assert len(read_rows(tmp_path / "q.jsonl")) == 12


def test_no_question_at_all_is_exit_code_four_and_no_file(qa, tmp_path):
    with exam_server(Exam(questions=lambda text, count: "Nothing to see here.")) as server:
        out = qa(server.url, code=4).out
    assert "nothing was written: 0 of 12 requested questions" in out
    assert "the replies: steelyard report " in out
    assert not (tmp_path / "q.jsonl").exists()


def test_a_file_that_is_there_is_refused_before_anything_is_asked(qa, tmp_path):
    (tmp_path / "q.jsonl").write_text("mine\n", encoding="utf-8")
    with exam_server(Exam()) as server:
        assert "--overwrite" in qa(server.url, code=2).err
        assert server.asked == []
        qa(server.url, "--overwrite")
        assert "exists already" in qa(server.url, code=2).err
    assert len(read_rows(tmp_path / "q.jsonl")) == 12


def test_a_dry_run_counts_every_call_there_may_be_and_sends_none(qa, tmp_path):
    with exam_server(Exam()) as server:
        plain = qa(server.url, "--dry-run", "--json").json()
        checked = qa(server.url, "--dry-run", "--json", "--check-answerable").json()
        assert server.asked == []
        qa(server.url)
        after = qa(server.url, "--dry-run", "--json", "--overwrite").json()
    assert [plain[0]["calls"], checked[0]["calls"]] == [4 * (1 + 3), 4 * (1 + 3 * 2)]
    assert after[0]["in_journal"] == 4
    assert plain[0]["records"] == 4


def test_another_number_of_questions_is_another_set(qa, tmp_path):
    with exam_server(Exam()) as server:
        first = qa(server.url, "--json").json()
        second = qa(server.url, "--json", "--per-chunk", "2", out="r.jsonl").json()
    assert (first["made"], second["made"], second["asked"]) == (12, 8, 8)
    assert len(server.steps("questions")) == 8
    shared = {row.id: row for row in read_rows(tmp_path / "q.jsonl")}
    assert all(shared[row.id] == row for row in read_rows(tmp_path / "r.jsonl"))


def test_a_budget_stops_and_a_larger_one_goes_on_without_paying_twice(qa, tmp_path):
    with exam_server(Exam()) as server:
        stopped = qa(server.url, "--budget-calls", "6", "--json", code=130).json()
        assert len(server.asked) == 6
        assert "larger --budget-calls" in qa(server.url, "--budget-calls", "6", code=130).out
        assert len(server.asked) == 6
        done = qa(server.url, "--budget-calls", "16", "--json").json()
    assert stopped["state"] == "interrupted"
    assert (done["run"], done["made"]) == (stopped["run"], 12)
    assert len(server.asked) == len(set(server.asked)) == 16


def test_fresh_asks_again(qa):
    with exam_server(Exam()) as server:
        qa(server.url)
        qa(server.url, "--fresh", "--overwrite")
    assert len(server.asked) == 32


@pytest.mark.slow
def test_killed_it_goes_on_and_pays_only_for_what_was_in_flight(steelyard, station, tmp_path, killed_when, in_journal):
    with exam_server(Exam(), held_after=9) as server:
        typed = [
            "generate", "qa", "--documents", str(station), "--out", "q.jsonl", "--per-chunk", "3", "--chunk-tokens",
            "220", "--model", "exam", "--base-url", server.url, "--quiet",
        ]  # fmt: skip
        killed_when(lambda: len(server.asked) == 16 and in_journal() == 9, *typed)
        assert not (tmp_path / "q.jsonl").exists()
        server.hold.set()
        steelyard("resume", "--quiet", code=0)  # the same command again is what test_review_commands.py types
        assert len(set(server.asked)) == 16
        assert len(server.asked) == 16 + 7, "what was answered was asked for again"
    assert len(read_rows(tmp_path / "q.jsonl")) == 12
    assert "finished" in steelyard("resume", code=0).err


def test_cloze_needs_no_model_and_gives_the_same_set_again(steelyard, station, tmp_path):
    typed = (
        "generate",
        "qa",
        "--documents",
        station,
        "--baseline",
        "cloze",
        "--per-chunk",
        "4",
        "--chunk-tokens",
        "220",
    )
    found = steelyard(*typed, "--out", "a.jsonl", "--json", code=0).json()
    steelyard(*typed, "--out", "b.jsonl", "--fresh", code=0)
    steelyard(*typed, "--out", "c.jsonl", "--seed", "1", code=0)
    a, b, c = ((tmp_path / f"{name}.jsonl").read_text(encoding="utf-8") for name in "abc")
    assert a == b != c
    assert found["made"] == 16
    for row in read_rows(tmp_path / "a.jsonl"):
        assert row.kind == "cloze"
        assert re.sub(r"\s+", " ", row.source).count(
            row.question.removeprefix("Complete: ").replace("____", row.answer)
        )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "one of them is required"),
        (["--model", "m", "--baseline", "cloze"], "give only one of them"),
        (["--base-url", "http://127.0.0.1/v1"], "belong to --model"),
        (["--baseline", "close"], "did you mean 'cloze'"),
        (["--baseline", "cloze", "--metadata"], "need a model"),
        (["--baseline", "cloze", "--answer-prompt", "a.txt"], "need a model"),
        (["--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--answer-prompt", "a.txt"], "is neither a prompt"),
        (["--baseline", "cloze", "--chunks", "0"], "chunks must be a whole number"),
        (["--baseline", "cloze", "--per-chunk", "0"], "per_chunk must be"),
        (["--baseline", "cloze", "--out", "q.pkl"], ".jsonl or .csv"),
        (["--model", "m", "--api-key-env", "sk-secret-1"], "takes the name of an environment variable"),
        (["--model", "m", "--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY"),
        (["--model", "m", "--language", "fr"], "expected auto, en or zh, but got 'fr'"),
        (["--baseline", "cloze", "--documents", "nowhere.pdf"], "nowhere.pdf"),
    ],
)
def test_a_mistake_is_found_before_anything_is_made(steelyard, station, tmp_path, more, message):
    result = steelyard("generate", "qa", "--documents", station, "--out", "q.jsonl", *more, code=2)
    assert message in result.err
    assert "sk-secret-1" not in result.err + result.out
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != ".steelyard") == ["station.md"]


def test_another_thing_than_qa_is_refused(steelyard, station):
    assert (
        "unknown kind 'qq': generate supports qa"
        in steelyard("generate", "qq", station, "--out", "q.jsonl", code=2).err
    )


def test_a_model_file_gives_any_model_and_its_key_stays_out_of_the_store(steelyard, station, tmp_path, monkeypatch):
    monkeypatch.setenv("EXAM_KEY", "s3cret-value")
    with exam_server(Exam()) as server:
        model = {"name": "exam", "base_url": server.url, "api_key": "${EXAM_KEY}", "parameters": {"temperature": 0.2}}
        (tmp_path / "model.json").write_text(json.dumps({"model": {"openai_compatible": model}}), encoding="utf-8")
        typed = ("generate", "qa", station, "--out", "q.jsonl", "--per-chunk", "2", "--model-config", "model.json")
        assert steelyard(*typed, "--json", code=0).json()["made"] == 2
    assert not [one for one in tmp_path.rglob("*") if one.is_file() and b"s3cret-value" in one.read_bytes()]
    (tmp_path / "bad.yaml").write_text("modle: scripted\n", encoding="utf-8")
    bad = steelyard(*typed[:-1], "bad.yaml", code=2).err
    assert "bad.yaml:1:1" in bad
    assert "not 'modle'" in bad


def test_every_chunk_is_a_record_that_can_be_shown(qa, steelyard):
    with exam_server(Exam()) as server:
        qa(server.url)
    [run] = steelyard("runs", "--json", code=0).json()
    assert (run["done"], run["planned"]) == (4, 4)
    assert "questions" in steelyard("show", "latest", code=0).out
    assert "type that command" in steelyard("rescore", "latest", code=2).err
    assert step_of(server.asked[0]) == "questions"
