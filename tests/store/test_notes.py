"""Notes of people on runs: kept beside a finished run, in order, in stores of any age."""

from datetime import UTC, datetime

import pytest
from tests.store.outside import execute

from steelyard import ConfigError, ExactMatch, Sample, Store, evaluate
from steelyard.store.notes import MOST_CHARACTERS, add_note, notes_in, read_notes

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.fixture
def run(where):
    return evaluate(lambda sample: "yes", [Sample("q", "?", "yes")], [ExactMatch()], store=where)


def test_notes_of_a_finished_run_are_read_in_the_order_they_were_given(run, where):
    with Store(where) as store:
        first = add_note(store, run, "  after the new prompt\n", author="ann", at=LATER)
        second = add_note(store, run, "key had expired", author="bob", at=AT)
    with Store(where) as store:
        assert read_notes(store, [run]) == {run.id: (first, second)}
        assert (first.text, first.author, first.at, first.run) == ("after the new prompt", "ann", LATER, run.id)
        assert store.run(run.id).state == "finished"


def test_a_note_is_about_its_run_alone(run, where):
    other = evaluate(lambda sample: "no", [Sample("q", "?", "yes")], [ExactMatch()], store=where)
    with Store(where) as store:
        add_note(store, run, "mine", author="ann", at=AT)
        found = read_notes(store, [run, other])
        assert [[one.text for one in found[name]] for name in (run.id, other.id)] == [["mine"], []]
        assert read_notes(store, [other]) == {other.id: ()}


@pytest.mark.parametrize(
    ("text", "author", "said"),
    [
        (" \n", "ann", "this one is blank"),
        ("x" * (MOST_CHARACTERS + 1), "ann", "at most 10,000 characters, not 10,001"),
        ("why", " ", "this name is blank"),
    ],
)
def test_a_note_that_says_nothing_or_too_much_is_refused_and_the_store_goes_on(run, where, text, author, said):
    with Store(where) as store:
        with pytest.raises(ConfigError, match=said):
            add_note(store, run, text, author=author, at=AT)
        assert add_note(store, run, "x" * MOST_CHARACTERS, author="ann", at=AT).author == "ann"


def test_half_a_character_is_kept_as_a_question_mark(run, where):
    with Store(where) as store:
        assert add_note(store, run, "a\udcffb", author="a\udcff", at=AT).text == "a?b"
        assert read_notes(store, [run])[run.id][0].author == "a?"


def test_a_store_without_the_tables_is_read_as_empty_and_completed_when_written(run, where):
    execute(where, "DROP TABLE note")
    execute(where, "DROP TABLE label")
    with Store(where) as store:
        assert read_notes(store, [run]) == {run.id: ()}
        with store.reading() as connection:
            assert notes_in(connection, {}) == {}
        add_note(store, run, "now", author="ann", at=AT)
        assert [one.text for one in read_notes(store, [run])[run.id]] == ["now"]
