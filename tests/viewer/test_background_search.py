"""Searches of a large run while its index is being made, and where that index stands."""

from __future__ import annotations

import html
import re
import threading

import pytest
from tests.viewer.conftest import exam, first, serving

from steelyard import Options, Suite, evaluate_suite
from steelyard.scorers.choice import Choice
from steelyard.store.search import make_index
from steelyard.suite.evaluate import RunConfig

SEARCH = "?search=question"


@pytest.fixture
def where(tmp_path, monkeypatch):
    """A store with a run of 40 records, which is large where 10 are read at once."""
    for module in ("steelyard.store.search", "steelyard.viewer.background_search"):
        monkeypatch.setattr(f"{module}.FIRST_SCANNED", 10)
    monkeypatch.setattr("steelyard.viewer.background_search.PAUSE_S", 0)
    file = tmp_path / "made" / "runs.db"
    file.parent.mkdir()
    evaluate_suite(Suite("S", "choice", exam(40), {"t": first}, (Choice(),), Options()), how=RunConfig(store=file))
    return file


@pytest.fixture
def making(monkeypatch):
    """Lets an index be made once it is set; `begun` is set before."""
    may_go_on, begun = threading.Event(), threading.Event()

    def slow(*arguments, **options):
        begun.set()
        assert may_go_on.wait(20)
        return make_index(*arguments, **options)

    monkeypatch.setattr("steelyard.viewer.background_search.make_index", slow)
    may_go_on.begun = begun
    yield may_go_on
    may_go_on.set()


def listed(text):
    return len(set(re.findall(r"/s/(q\d{4})", text)))


def polled(text):
    """The address that htmx asks by itself; "" where it does not."""
    found = re.search(r'hx-get="([^"]+)" hx-trigger="every 1s"', text)
    return html.unescape(found[1]) if found else ""


def test_a_search_shows_what_it_has_found_so_far_and_the_rest_by_itself(where, making):
    with serving(where) as served:
        (run,) = served.store.runs()
        assert served.ask(f"/run/{run.id}")[0] == 200
        assert making.begun.wait(20)  # whoever opens a large run may search it
        _, _, text = served.ask(f"/run/{run.id}{SEARCH}&where=wrong")
        assert "found so far in the first 10 of 40 records" in text
        assert listed(text) == 5
        awaited = polled(text)
        asked = {"headers": [("HX-Request", "true"), ("HX-Request-Type", "partial"), ("HX-Target", "div#samples")]}
        assert served.ask(awaited, **asked)[0] == 204  # nothing is shown again before there is more
        making.set()
        status = 204
        while status == 204:
            status, _, text = served.ask(awaited, **asked)
        assert (status, listed(text), polled(text)) == (200, 20, "")
        assert "so far" not in text
        assert where.with_name("runs.db-search").exists()


def test_a_saved_file_holds_all_that_a_search_finds(where, making):
    with serving(where) as served:
        (run,) = served.store.runs()
        assert polled(served.ask(f"/run/{run.id}{SEARCH}")[2])
        making.set()
        assert len(served.ask(f"/export/{run.id}/jsonl{SEARCH}")[2].splitlines()) == 40


def test_a_viewer_that_only_reads_writes_nothing_beside_the_store(where):
    before = sorted(where.parent.iterdir())
    with serving(where, read_only=True) as served:
        (run,) = served.store.runs()
        lines = served.ask(f"/export/{run.id}/jsonl{SEARCH}")[2].splitlines()
        _, _, text = served.ask(f"/run/{run.id}{SEARCH}")
        assert (len(lines), listed(text), polled(text)) == (40, 40, "")
    left = {file for file in where.parent.iterdir() if not file.name.endswith(("-wal", "-shm"))}
    assert left <= set(before)


def test_an_index_that_cannot_be_made_is_not_waited_for(where, monkeypatch):
    monkeypatch.setattr("steelyard.viewer.background_search.make_index", lambda *_, **__: False)
    monkeypatch.setattr("steelyard.store.search._MOST_SCANNED", 20)
    with serving(where) as served:
        (run,) = served.store.runs()
        served.ask(f"/export/{run.id}/jsonl{SEARCH}")
        _, _, text = served.ask(f"/run/{run.id}{SEARCH}")
        assert "only the first 20 of 40 records were searched" in text
        assert (listed(text), polled(text)) == (20, "")


def test_an_index_that_was_deleted_is_made_again(where):
    with serving(where) as served:
        (run,) = served.store.runs()
        asked = f"/export/{run.id}/jsonl{SEARCH}"
        served.ask(asked)
        for file in where.parent.glob("runs.db-search*"):
            file.unlink()
        assert len(served.ask(asked)[2].splitlines()) == 40
        assert where.with_name("runs.db-search").exists()


def test_the_end_of_a_viewer_stops_an_index_that_is_being_made(where):
    with serving(where) as served:
        (run,) = served.store.runs()
        index = where.with_name("stopped")
        assert not make_index(run, index, stopped=lambda: True)
        assert make_index(run, index)
