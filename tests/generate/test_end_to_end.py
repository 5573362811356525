"""From a PDF to a report: a set is made, a system is asked, judges score it, a page shows it; all against loopback."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.generate.exam_server import Exam, exam_server, fenced, numbered, step_of

from steelyard.cli.app import run_app
from steelyard.data.documents import read_document
from steelyard.generate.question_set import read_rows
from steelyard.store import Store

HANDBOOK = Path(__file__).parents[2] / "examples/rag/handbook.pdf"


def steelyard(*arguments):
    with pytest.raises(SystemExit) as ended:
        run_app([str(one) for one in arguments])
    return ended.value.code


def telling(text):
    """Sentences of a chunk that hold a number, whole and on one line."""
    found = re.findall(r"(?<=[.!] )[A-Z][^.!?\n]{30,120}?\d[^.!?\n]{5,60}\.(?= )", text.replace("\n", " "))
    return [one for one in found if "  " not in one]


def questions(text, count):
    return "Here are your questions:\n" + numbered(
        f"What is true of this: {one[:-1]}?" for one in telling(text)[:count]
    )


def system_and_judges(prompt):
    """One model in all roles: it sets the exam, sits it, and marks it."""
    if "mark an answer" in prompt:
        return "5\nRight." if "wrong" not in fenced(prompt, "answer") else "2\nWrong."
    if "supported" in prompt and "<answer " in prompt:
        return "YES"
    if "exam" in prompt and re.search(r"^<text \w+>$", prompt, re.MULTILINE):
        return Exam(questions=questions, answer=lambda text, question: question.partition(": ")[2][:-1] + ".")(prompt)
    return "It is 417."


@pytest.fixture
def handbook(tmp_path):
    return shutil.copy(HANDBOOK, tmp_path / "handbook.pdf")


def test_a_pdf_becomes_a_set_that_a_system_is_judged_on(handbook, tmp_path):
    with exam_server(system_and_judges) as server:
        typed = ("--documents", handbook, "--out", "q.jsonl", "--per-chunk", "3", "--chunks", "4")
        assert steelyard("generate", "qa", *typed, "--model", "one", "--base-url", server.url, "--quiet") == 0
        rows = read_rows(tmp_path / "q.jsonl")
        assert len(rows) >= 8
        assert {step_of(request) for request in server.asked} == {"questions", "answer"}
        model = {"openai_compatible": {"name": "one", "base_url": server.url}}
        config = {
            "suite": "rag",
            "samples": {"file": "q.jsonl"},
            "judge": {"model": model},
            "targets": {
                "system": {"retrieval": {"documents": "handbook.pdf", "model": model, "chunk_tokens": 512}},
                "floor": {"baseline": "extractive", "knowledge": "handbook.pdf"},
            },
            "scorers": ["correctness", "faithfulness", "retrieval"],
        }
        (tmp_path / "rag.json").write_text(json.dumps(config), encoding="utf-8")
        assert steelyard("run", "rag.json", "--quiet", "--html", "r.html") == 0
    with Store() as store:
        summaries = {run.target: run.summary() for run in store.runs() if run.suite == "q"}
    assert set(summaries) == {"system", "floor"}
    for summary in summaries.values():
        assert summary.counts.errors == 0
        assert summary.score("correctness").headline.n == len(rows)
        assert summary.score("hit_rate").headline.value >= 0.75, "questions in a text's own words find it"
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert rows[0].question in page


def test_offsets_of_a_set_lead_back_to_the_document_and_its_pages(handbook, tmp_path):
    assert steelyard("generate", "qa", handbook, "--baseline", "cloze", "--out", "q.csv", "--per-chunk", "3") == 0
    document = read_document(handbook)
    rows = read_rows(tmp_path / "q.csv")
    assert len({row.page for row in rows}) >= 5
    for row in rows:
        assert document.text[row.start : row.end] == row.source
        assert document.page_at(row.start) == row.page
        assert row.answer in row.source
