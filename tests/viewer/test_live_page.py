"""The live page: figures of runs that another process may write, what limits them, and how they ended."""

from __future__ import annotations

import html
import http.client
import re
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.store.test_store import new
from tests.viewer.conftest import serving

from steelyard import Output, Record, Sample, Score, Store
from steelyard.store.delete import delete_runs
from steelyard.store.worker_rows import WorkerRow
from steelyard.types import Failure
from steelyard.viewer import live_page
from steelyard.viewer.live_page import LiveWatch

MANIFEST = {
    "stages": ["target"], "scores": ["solve_rate"], "primary": "solve_rate",
    "score_infos": {"solve_rate": {"range": [0.0, 1.0], "denominator": "all"}},
    "options": {"budget": {"calls": 100, "money": 2.0, "tokens": None, "minutes": None}},
}  # fmt: skip


def record(no, value):
    """A right, wrong, unparsed (None) or failed (no score) record."""
    if value == "failed":
        failure = Failure("target", "timeout", f"record {no}: not done <b>within</b> 5 s")
        return Record(Sample(f"q{no}", "?"), None, (), {}, failure)
    score = Score("solve_rate", None, outcome="unparsed") if value is None else Score("solve_rate", value)
    return Record(Sample(f"q{no}", "?"), Output("A"), (score,), {}, None)


@pytest.fixture
def running(tmp_path):
    """A store in which two runs of an evaluation are being written; the second has not begun."""
    with Store(tmp_path / "s.db", create_missing=True) as store:
        run = replace(new(planned=40), suite="Exam", manifest={**new().manifest, **MANIFEST})
        evaluation, writers = store.begin_evaluation([replace(run, target="one"), replace(run, target="two")])
        for no, value in enumerate((1.0, 1.0, 0.0, None, "failed", 1.0)):
            writers[0].insert(no, record(no, value))
        journal = store.journal(evaluation)
        for model, fault in (("gpt", "rate_limit"), ("gpt", "rate_limit"), ("judge", "rate_limit"), ("gpt", "server")):
            journal.retried(model, fault)
        journal.correct(95, 0, 500_000_000)
        store.writer.change(lambda batch: None)
        yield store, writers
        for writer in writers:
            writer.abandon()


def text_of(body):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_a_page_shows_share_score_so_far_budget_retries_and_failures(running, tmp_path):
    _, (first, _) = running
    with serving(tmp_path / "s.db") as viewer:
        status, _, body = viewer.ask(f"/live/{first.run.id}")
    text = text_of(body.partition('<main id="main">')[2])
    assert status == 200
    assert "7 % 6 of 80 records · 0.50 spent" in text
    assert "one running 60.0 % solve rate 15 % 15 % 6 of 40 1 two waiting 0 % 0 % 0 of 40" in text
    assert "Budget: calls 95 of 100, 95 %" in text
    assert "Budget: money 0.50 of 2.00, 25 %" in text
    assert re.search(r'<div class="spent"><dt>Budget: calls', body), "a limit that is nearly reached stands out"
    told = (
        "4 retries (429 too many requests 3, server error 1). Refused with 429: gpt 2, judge 1. The endpoint answered"
    )
    assert told in text
    assert "Last failures one, q4 : record 4: not done <b>within</b> 5 s" in text
    assert "Scores are preliminary" in text
    assert "p-value" not in text


def test_events_bring_what_changed_and_end_when_no_run_is_left(running, tmp_path):
    store, (first, second) = running
    watch = LiveWatch(store, first.run.evaluation)
    assert (watch.look(0.0).rate, watch.look(0.0).ended) == ("", False)
    for no in range(10, 30):
        first.insert(no, record(no, 1.0))
    store.writer.change(lambda batch: None)
    state = watch.look(10.0)
    assert (state.done, state.rate, state.left) == (26, "2.0/s", "27 s")
    assert (state.rows[0].rate, state.rows[0].left, state.rows[0].headline) == ("2.0/s", "7 s", "92.0 %")
    first.finish("finished", "", 1.0)
    second.finish("interrupted", "the budget of 100 calls is used up", 0.0)
    with serving(tmp_path / "s.db") as viewer:
        _, headers, body = viewer.ask(f"/live/{first.run.id}/events")
        _, _, page = viewer.ask(f"/live/{first.run.id}")
    assert headers["Content-Type"].startswith("text/event-stream")
    assert body.endswith("event: ended\ndata: ended\n\n")
    text = text_of(page)
    assert "one has finished." in text
    assert "two was interrupted: the budget of 100 calls is used up. Resume with steelyard resume" in text
    assert "hx-sse:connect" not in page, "nothing is waited for any more"


@contextmanager
def events_of(viewer, run):
    """The lines of the events of a live page."""
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=60)
    connection.request(
        "GET", f"/live/{run}/events", headers={"Host": viewer.host, "Cookie": viewer.cookie(viewer.host)}
    )
    with connection.getresponse() as events:
        yield events
    connection.close()


def next_trouble(events):
    """The message of the next event of that kind."""
    assert any(line == b"event: trouble\n" for line in events)
    return events.readline().decode()


def test_a_store_that_cannot_be_read_for_a_while_is_told_and_the_page_stays_connected(running, tmp_path):
    _, (first, _) = running
    store, away = tmp_path / "s.db", tmp_path / "away.db"
    with serving(store) as viewer, events_of(viewer, first.run.id) as events:
        assert any(line.startswith(b"data: <div") for line in events)
        store.rename(away)
        try:
            message = next_trouble(events)
        finally:
            away.rename(store)
        assert message.startswith("data: The store cannot be read: ")
        assert "s.db: the file is not there any more" in message
        assert next_trouble(events) == "data: \n"


def test_a_page_that_connects_while_the_store_cannot_be_read_is_told_and_then_shown(running, tmp_path):
    _, (first, _) = running
    store, away = tmp_path / "s.db", tmp_path / "away.db"
    with serving(store) as viewer:
        assert viewer.ask("/live/none/events")[0] == 404
        store.rename(away)
        try:
            with events_of(viewer, first.run.id) as events:
                assert "The store cannot be read" in next_trouble(events)
                away.rename(store)
                assert next_trouble(events) == "data: \n"
                assert any(line.startswith(b"data: <div") for line in events)
        finally:
            if away.exists():
                away.rename(store)


def test_a_process_that_was_killed_is_told_from_one_that_runs(running, tmp_path):
    _, writers = running
    for writer in writers:
        writer.abandon()  # the operating system does so for a process that is killed
    with serving(tmp_path / "s.db") as viewer:
        text = text_of(viewer.ask(f"/live/{writers[0].run.id}")[2])
    assert "one , two were interrupted: the process ended before it was done. Resume with steelyard resume" in text


def test_failures_are_read_again_only_when_there_are_more(running):
    store, (first, _) = running
    watch = LiveWatch(store, first.run.evaluation)
    before = watch.look(0.0).failures
    assert watch.look(1.0).failures is before
    first.insert(7, record(7, "failed"))
    store.writer.change(lambda batch: None)
    assert [sample for _, sample, _ in watch.look(2.0).failures] == ["q4", "q7"]


def test_runs_that_are_deleted_under_an_open_page_end_it(running):
    store, writers = running
    watch = LiveWatch(store, writers[0].run.evaluation)
    assert not watch.look(0.0).ended
    for writer in writers:
        writer.abandon()
    delete_runs(store, store.runs())
    assert watch.look(1.0).ended


def test_the_workers_of_a_run_are_shown_with_what_they_did(running, tmp_path, monkeypatch):
    store, (first, _) = running
    rows = [
        WorkerRow(0, "pid 7 on <b>here</b>", 100.0, 0.5, 1200, 0, 1),
        WorkerRow(1, "pid 8 on there", 100.0, 42.0, 300, 2, 3),
    ]
    monkeypatch.setattr(live_page, "workers_of", lambda connection, evaluation: rows)
    assert LiveWatch(store, first.run.evaluation).look(0.0).workers == rows
    with serving(tmp_path / "s.db") as viewer:
        body = viewer.ask(f"/live/{first.run.id}")[2]
    text = text_of(body)
    assert "<b>here</b>" not in body
    assert "1 pid 7 on" in text
    assert "working 1,200 12.0/s 2 pid 8" in text
    assert "2 pid 8 on there not seen for 42 s 300 2 2" in text
