"""Every kind of page is saved as one file that needs no viewer, asks for nothing and leads nowhere."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import quote

import pytest
from tests.viewer.conftest import serving
from tests.viewer.test_queues import queue_in

from steelyard.config.given import note_given
from steelyard.config.load import load
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.people import codings
from steelyard.people.named_datasets import named_datasets
from steelyard.people.queues import queue_items

CONFIG = """suite: choice
samples: {file: questions.jsonl}
targets:
  random: {baseline: random}
  longest: {baseline: longest}
"""
ROWS = [
    {"id": f"q{no}", "question": f"Question {no}?", "options": ["one", "another one"], "answer": "AB"[no % 2]}
    for no in range(8)
]
KINDS = {
    "runs": ("/", "longest"),
    "run": ("/run/{run}", "Question 3?"),
    "sample": ("/run/{run}/s/q3", "Question 3?"),
    "comparison": ("/compare?a={other}&b={run}", "longest"),
    "live page": ("/live/{run}", "longest"),
    "history": ("/history/{suite}", "Over time"),
    "queues": ("/queue", "Right?"),
    "queue": ("/queue/{queue}", "records done"),
    "record of a queue": ("/queue/{queue}/i/{queued}", "Question"),
    "error analyses": ("/codes", "longest"),
    "error analysis": ("/codes/{coding}", "too long"),
    "code": ("/codes/{coding}/c/{code}", "a note that says so"),
    "record of an error analysis": ("/codes/{coding}/i/{item}", "a note that says so"),
    "datasets": ("/data", "questions.jsonl"),
    "dataset": ("/data/{dataset}", "Question 3?"),
    "row": ("/data/{dataset}/{version}/row?id=q3", "Question 3?"),
    "draft": ("/data/{dataset}/{version}/draft", "Draft of questions.jsonl"),
    "difference": ("/data/{dataset}/diff", "questions.jsonl"),
}
"""Kind of a page -> its address, and something that it says."""


@pytest.fixture(scope="module")
def store_with_all(tmp_path_factory):
    """A viewer of a store that has every kind of page, and the names in their addresses."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    path = folder / "exam.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    loaded = load(path, environ={})
    note_given(*loaded.files)
    config = {"path": str(path), "plain": loaded.plain, "text": ""}
    other, run = evaluate_suite(loaded.suite, how=RunConfig(store=folder / "s.db", config=config))
    with serving(folder / "s.db") as served:
        coding = codings.draw_coding(served.store, [served.store.run(run.id)], n=8, seed=1, author="ann")
        item = coding.items[0].num
        codings.write_note(served.store, coding, item, "a note that says so", author="ann")
        code = codings.new_code(served.store, coding, "too long", author="ann", items=[item])
        dataset, queue = named_datasets(served.store)[0], queue_in(served.store)
        yield (
            served,
            {
                "run": run.id,
                "other": other.id,
                "suite": quote(run.suite),
                "queue": queue.id,
                "queued": queue_items(served.store, queue)[0].num,
                "coding": coding.id,
                "code": code,
                "item": item,
                "dataset": dataset.id,
                "version": dataset.versions[0].digest,
            },
        )


def asked(store_with_all, address):
    """Status, headers and text of a page, asked for by a person whose name is known."""
    served, names = store_with_all
    cookies = f"{served.cookie(served.host)}; steelyard_author=ann"
    return served.ask(address.format(**names), cookie=False, headers=[("Cookie", cookies)])


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_leads_to_a_file_of_itself(store_with_all, kind):
    address, says = KINDS[kind]
    status, _, text = asked(store_with_all, address)
    assert (status, says in html.unescape(text)) == (200, True)
    [link] = {
        html.unescape(link) for link in re.findall(r'<a download href="([^"]+)"[^>]*>Download (?:page|report)', text)
    }
    link = address.partition("?")[0] + link if link.startswith("?") else link
    status, headers, saved = asked(store_with_all, link)
    assert status == 200
    assert re.fullmatch(r"attachment; filename\*=UTF-8''[\w.%-]+\.html", headers["content-disposition"])
    assert says in html.unescape(saved)
    assert "Content-Security-Policy" in saved
    assert not re.search(r'(?:src|href|action|hx-get)="(?!#|data:)', saved), "nothing leads to a viewer that is gone"
    assert not re.search(r"<(?:form|script(?! type=)|input|textarea|select)\b(?![^>]*id=.data)", _without_report(saved))
    assert "read only" not in saved
    assert "--read-only" not in saved


def _without_report(saved):
    """A page of a report has a script of its own, which draws its table of samples: see `test_html`."""
    return "" if 'id="browser"' in saved else saved


def test_a_page_that_was_never_made_cannot_be_saved(store_with_all):
    status, headers, _ = asked(store_with_all, "/queue/nothere?save=page")
    assert (status, "content-disposition" in headers) == (404, False)
