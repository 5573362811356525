"""Labels on records and notes on runs: the newest label of each author counts, and none changes a score."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from steelyard import ConfigError, ExactMatch, Label, Sample, Store, evaluate
from steelyard.people.labels import MOST_CHARACTERS, add_labels, add_note, all_labels, read_notes
from steelyard.store.delete import delete_runs
from steelyard.store.labels import by_record
from steelyard.store.repair import verify
from steelyard.types import Remarks

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SAMPLES = [Sample(f"q{no}", "?", "yes") for no in range(3)]


def label(sample="q0", value="wrong unit", name="cause", author="model:m", **more):
    return Label(sample, name, value, author, AT, **more)


def fill(where):
    evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=where, repeats=2)


@pytest.fixture
def store(filled):
    with Store(filled(fill)) as opened:
        yield opened


@pytest.fixture
def run(store):
    return store.runs()[0]


def test_a_label_is_read_as_it_was_given(store, run):
    given = [label(), label("q1", {"points": [1, 2.5, None]}, name="grade", author="ann", repeat=1)]
    before = run.summary()
    assert add_labels(store, run, given) == 2
    assert run.labels() == tuple(given)
    assert store.run(run.id).summary() == before


def test_the_newest_label_of_an_author_counts_and_the_older_one_is_kept(store, run):
    add_labels(store, run, [label(value="old"), label(author="ann", value="hers")])
    add_labels(store, run, [label(value="new")])
    assert [(label.author, label.value) for label in run.labels()] == [("ann", "hers"), ("model:m", "new")]
    assert [label.value for label in all_labels(store, run)] == ["old", "hers", "new"]


def test_what_is_said_already_is_not_said_again(store, run):
    assert add_labels(store, run, [label(), label(), label(repeat=1)]) == 2
    assert add_labels(store, run, [label(), label(value="other")]) == 1
    assert len(all_labels(store, run)) == 3


def test_a_value_of_none_withdraws_a_label_until_it_is_given_again(store, run):
    add_labels(store, run, [label()])
    assert add_labels(store, run, [label(value=None)]) == 1
    assert run.labels() == ()
    add_labels(store, run, [label()])
    assert [label.value for label in run.labels()] == ["wrong unit"]
    assert add_labels(store, run, [label("q2", None)]) == 0, "there was nothing to withdraw"


def test_a_sample_that_the_run_has_not_is_refused_and_nothing_is_written(store, run):
    with pytest.raises(ConfigError, match=r"has no sample 'qq1': did you mean 'q1'"):
        add_labels(store, run, [label(), label("qq1")])
    for bad in (label(name=" "), label(author="")):
        with pytest.raises(ConfigError, match="a label has a name and an author"):
            add_labels(store, run, [bad])
    with pytest.raises(TypeError, match="has no JSON form"):
        add_labels(store, run, [label(value=iter([]))])
    assert all_labels(store, run) == ()
    assert add_labels(store, run, [label()]) == 1, "the store takes more after a mistake"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused_and_does_not_withdraw_what_was_said(store, run, value):
    add_labels(store, run, [label(value=3.0)])
    with pytest.raises(ConfigError, match="a label is a finite number"):
        add_labels(store, run, [label(value=value)])
    assert [each.value for each in store.run(run.id).labels()] == [3.0]


def test_labels_are_found_by_record(store, run):
    several = [label(), label("q1"), label("q2", "no source"), label("q2", "why", name="reason")]
    add_labels(store, run, [*several, replace(label(), repeat=1)])
    labels = run.labels()
    assert [label.name for label in by_record(labels)["q2", 0]] == ["cause", "reason"]
    assert ("q2", 1) not in by_record(labels)


def test_a_run_tells_its_remarks_itself(store, run):
    assert store.run(run.id).remarks() == Remarks()
    add_labels(store, run, [label(), label(value=None), label("q1")])
    note = add_note(store, run, "why", author="ann", at=AT)
    assert store.run(run.id).remarks() == Remarks((note,), (label("q1"),))


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
        notes = read_notes(store, [run, other])
        assert [[record.text for record in notes[name]] for name in (run.id, other.id)] == [["mine"], []]
        assert read_notes(store, [other]) == {other.id: ()}


@pytest.mark.parametrize(
    ("text", "author", "said"),
    [
        (" \n", "ann", "must not be blank"),
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


def test_kind_and_scale_are_kept_label_by_label(store, run):
    given = [
        label("q0", 4.0, "rating", "ann", kind="scale", scale=(1.0, 5.0)),
        label("q1", "pass", "exact_match", "ann", kind="pass_fail"),
        label("q2", "A", "preference", "bob"),
        label("q0", "why so?", "comment", "bob", kind="text"),
    ]
    assert add_labels(store, run, given) == 4
    assert run.labels() == tuple(given)
    assert all_labels(store, run) == tuple(given)
    assert add_labels(store, run, given) == 0


def test_another_scale_is_another_label(store, run):
    first = label("q0", 4.0, "rating", "ann", kind="scale", scale=(1.0, 5.0))
    assert add_labels(store, run, [first, replace(first, scale=(1.0, 10.0))]) == 2
    assert [given.scale for given in run.labels()] == [(1.0, 10.0)]


def test_a_note_on_a_deleted_run_goes_to_no_other(store, run, where):
    delete_runs(store, [run])
    following = evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=where)
    with pytest.raises(ConfigError, match=f"no run {run.id} any more"):
        add_note(store, run, "too late", author="ann", at=AT)
    assert read_notes(store, [following]) == {following.id: ()}
    assert verify(store).is_sound
