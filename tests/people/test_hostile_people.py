"""What people type may hold any character: labels, notes, codes and queues are stored, or refused in a sentence.

An error in the writer's transaction ends all writing, so each test ends with something that is written after it.
"""

import json
from datetime import UTC, datetime

import pytest

from steelyard import ConfigError, ExactMatch, Label, Sample, Store, evaluate
from steelyard.people.codings import draw_coding, edit_code, new_code, read_coding, write_note
from steelyard.people.labels import add_labels, add_note, read_notes
from steelyard.people.marks import MarkChange, mark_run
from steelyard.plain_json import json_value
from steelyard.report.coding_page import CodingPage
from steelyard.store.repair import verify

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
HOSTILE = [
    "a\0b",
    "half \ud800 pair",
    "\x1a0",
    "'; DROP TABLE label; --",
    "<script>alert(1)</script>",
    "\u202eevil",
    "=cmd()",
]


def fill(where):
    evaluate(lambda sample: "yes", [Sample(f"q{no}", "?", "no") for no in range(3)], [ExactMatch()], store=where)


@pytest.fixture
def store(filled):
    """Ends with a note that is stored, so that no test ended the writer, and with a store that is sound."""
    with Store(filled(fill)) as opened:
        yield opened
        [run] = opened.runs()
        add_note(opened, run, "written afterwards", author="ann", at=AT)
        assert read_notes(opened, [run])[run.id][-1].text == "written afterwards"
        assert verify(opened).damages == []


@pytest.fixture
def run(store):
    return store.runs()[0]


def written(text):
    """A text as UTF-8 can hold it: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def test_notes_and_their_authors_are_stored(store, run):
    for text in HOSTILE:
        add_note(store, run, text, author=text, at=AT)
        note = read_notes(store, [run])[run.id][-1]
        assert (note.text, note.author) == (written(text), written(text))


def test_labels_are_stored_on_samples_that_the_run_has(store, run):
    for text in HOSTILE:
        assert add_labels(store, run, [Label("q0", text, {"why": text, text: 1}, text, AT)]) == 1
        with pytest.raises(ConfigError, match="has no sample"):
            add_labels(store, run, [Label(text, "cause", "typo", "ann", AT)])
    assert {(label.name, json.dumps(label.value), label.author) for label in run.labels()} == {
        (clean, json.dumps({"why": clean, clean: 1}), clean) for clean in map(written, HOSTILE)
    }


def test_notes_and_codes_of_an_error_analysis_are_stored(store, run):
    for text in HOSTILE:
        coding = draw_coding(store, [run], n=2, seed=1, author=text)
        assert coding.author == written(text)
        first = coding.items[0].num
        write_note(store, coding, first, text, author=text)
        code = new_code(store, coding, text, author=text, definition=text, items=[first])
        state = read_coding(store, coding)
        assert state.notes[first].text == written(text)
        assert (state.code(code).name, state.code(code).definition) == (" ".join(written(text).split()), written(text))
        assert json_value(CodingPage.of(store, coding))["codes"][0]["definition"] == written(text)
        edit_code(store, coding, code, f"{text}!", author=text)
        assert read_coding(store, coding).code(code).name == " ".join(f"{written(text)}!".split())


def test_tags_that_hold_such_a_character_are_refused_and_taking_them_away_does_nothing(store, run):
    mark_run(store, run, MarkChange(add=("kept",)))
    for text in HOSTILE:
        with pytest.raises(ConfigError, match="a tag has letters"):
            mark_run(store, run, MarkChange(add=(text,)))
        assert mark_run(store, run, MarkChange(remove=(text,))).tags == ("kept",)
