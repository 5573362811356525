"""The table of events on both databases: what is added, what is refused, and who comes first."""

import threading
from datetime import UTC, datetime

import pytest

from steelyard import ConfigError, ExactMatch, Sample, Store, evaluate
from steelyard.data.new_version import RowEdit
from steelyard.people.codings import draw_coding, read_coding, write_note
from steelyard.people.dataset_drafts import (
    DraftConflictError,
    SavedVersion,
    change_row,
    read_draft,
    record_saved,
    saved_versions,
)
from steelyard.people.events import Event, append, newest_event, read_events

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SAMPLES = [Sample(f"q{no}", "?", "yes") for no in range(4)]
CHANGED = RowEdit("changed", {"question": "Why?"})


def fill(where):
    evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=where)


@pytest.fixture
def store(filled):
    with Store(filled(fill)) as opened:
        yield opened


def events_of(store, subject="one"):
    with store.reading() as connection:
        return [event for _, event in read_events(connection, "draft", subject)]


def at_once(stores, write):
    """What several threads of two processes meet that write at the same time: None, or the error of each."""
    met = []

    def attempt(store, no):
        try:
            write(store, no)
        except ConfigError as error:
            met.append(error)
        else:
            met.append(None)

    threads = [threading.Thread(target=attempt, args=(stores[no % 2], no)) for no in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return met


def test_an_event_is_read_as_it_was_added_and_in_its_order(store):
    run = store.runs()[0]
    first = Event("changed", "ann", {"n": [1, None]}, AT, run.num, "q1", 2, "name", 7)
    append(store, "draft", "one", [first, Event("retired", "bob", at=AT)])
    append(store, "draft", "two", [Event("changed", "cy", at=AT)])
    events = events_of(store)
    assert [(event.kind, event.author) for event in events] == [("changed", "ann"), ("retired", "bob")]
    assert events[0].num < events[1].num
    assert events[0].row("draft", "one") == first.row("draft", "one")
    with store.reading() as connection:
        assert [subject for subject, _ in read_events(connection, "draft")] == ["one", "one", "two"]


def test_what_is_refused_adds_nothing_and_the_store_goes_on(store):
    with pytest.raises(ConfigError, match="not now"):
        append(store, "draft", "one", [Event("changed", "ann")], check=lambda _: ConfigError("not now"))
    assert events_of(store) == []
    append(store, "draft", "one", [Event("changed", "ann")])
    assert len(events_of(store)) == 1


def test_of_those_who_change_one_row_at_once_all_but_the_first_are_told_of_it(where, store):
    with Store(where) as other:
        draft = read_draft(store, "d", "base")
        met = at_once([store, other], lambda at, no: change_row(at, draft, "q1", CHANGED, author=f"a{no}", seen=0))
    assert met.count(None) == 1
    [row] = read_draft(store, "d", "base").rows.values()
    assert {type(error) for error in met if error} == {DraftConflictError}
    assert all(error.row == row for error in met if error)


def test_a_row_is_changed_again_once_the_draft_is_saved(store):
    draft = read_draft(store, "d", "base")
    change_row(store, draft, "q1", CHANGED, author="ann", seen=0)
    last = read_draft(store, "d", "base").last
    saved = SavedVersion("d", "base", "a.csv", "a.v2.csv", "hash", "ann", AT, {"changed": 1})
    with pytest.raises(DraftConflictError, match="1 row changed by ann"):
        record_saved(store, saved, seen=0)
    record_saved(store, saved, seen=last)
    assert [(version.base, version.name, version.counts) for version in saved_versions(store)] == [
        ("base", "a.v2.csv", {"changed": 1})
    ]
    with pytest.raises(DraftConflictError):
        change_row(store, draft, "q1", CHANGED, author="bob", seen=last)
    change_row(store, draft, "q1", CHANGED, author="bob", seen=0)
    assert read_draft(store, "d", "base").authors == ("bob",)


def test_of_those_who_note_one_record_at_once_the_first_is_stored(where, store):
    coding = draw_coding(store, store.runs(), n=4, seed=1, author="lead")
    item = coding.items[0].num
    with Store(where) as other:
        met = at_once(
            [store, other], lambda at, no: write_note(at, coding, item, f"text {no}", author=f"a{no}", seen=0)
        )
    assert met.count(None) == 1
    note = read_coding(store, coding).notes[item]
    told = f"since you opened this page {note.author} noted “{note.text}”: your text is not stored yet"
    assert all(str(error).startswith(told) for error in met if error)
    write_note(store, coding, item, "later", author="ann", seen=note.num)
    assert [earlier.text for earlier in read_coding(store, coding).earlier[item]] == [note.text]


def test_what_is_looked_up_in_a_turn_is_found_by_the_index(tmp_path):
    fill(tmp_path / "s.db")
    statements = []

    class Explaining:
        """A connection that notes the plan of each statement."""

        def __init__(self, connection):
            self._connection = connection

        def execute(self, statement, values):
            plan = self._connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            statements.extend(detail for *_, detail in plan.unchecked())
            return self._connection.execute(statement, values)

    with Store(tmp_path / "s.db") as store, store.reading() as connection:
        newest_event(Explaining(connection), "draft", "one", sample="q1")
    [detail] = statements
    assert "INDEX event_subject (topic=? AND subject=? AND sample=?)" in detail
