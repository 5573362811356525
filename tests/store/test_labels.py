"""Labels on records: the newest of each author counts, older ones stay, and none changes a score."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.store.outside import execute

from steelyard import ConfigError, ExactMatch, Label, Sample, Store, evaluate
from steelyard.store.labels import add_labels, all_labels, by_record, read_labels
from steelyard.store.notes import add_note
from steelyard.types import Remarks

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SAMPLES = [Sample(f"q{no}", "?", "yes") for no in range(3)]


def label(sample="q0", value="wrong unit", name="cause", author="model:m", **more):
    return Label(sample, name, value, author, AT, **more)


@pytest.fixture
def run(where):
    return evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=where, repeats=2)


@pytest.fixture
def store(run, where):
    with Store(where) as opened:
        yield opened


def test_a_label_is_read_as_it_was_given(store, run):
    given = [label(), label("q1", {"points": [1, 2.5, None]}, name="grade", author="ann", repeat=1)]
    before = run.summary()
    assert add_labels(store, run, given) == 2
    assert read_labels(store, run) == tuple(given)
    assert store.run(run.id).summary() == before


def test_the_newest_label_of_an_author_counts_and_the_older_one_is_kept(store, run):
    add_labels(store, run, [label(value="old"), label(author="ann", value="hers")])
    add_labels(store, run, [label(value="new")])
    assert [(one.author, one.value) for one in read_labels(store, run)] == [("ann", "hers"), ("model:m", "new")]
    assert [one.value for one in all_labels(store, run)] == ["old", "hers", "new"]


def test_what_is_said_already_is_not_said_again(store, run):
    assert add_labels(store, run, [label(), label(), label(repeat=1)]) == 2
    assert add_labels(store, run, [label(), label(value="other")]) == 1
    assert len(all_labels(store, run)) == 3


def test_a_value_of_none_withdraws_a_label_until_it_is_given_again(store, run):
    add_labels(store, run, [label()])
    assert add_labels(store, run, [label(value=None)]) == 1
    assert read_labels(store, run) == ()
    add_labels(store, run, [label()])
    assert [one.value for one in read_labels(store, run)] == ["wrong unit"]
    assert add_labels(store, run, [label("q2", None)]) == 0, "there was nothing to withdraw"


def test_a_sample_that_the_run_has_not_is_refused_and_nothing_is_written(store, run):
    with pytest.raises(ConfigError, match=r"has no sample 'qq1': did you mean 'q1'"):
        add_labels(store, run, [label(), label("qq1")])
    for bad in (label(name=" "), label(author="")):
        with pytest.raises(ConfigError, match="a label has a name and an author"):
            add_labels(store, run, [bad])
    with pytest.raises(TypeError, match="has no plain form"):
        add_labels(store, run, [label(value=iter([]))])
    assert all_labels(store, run) == ()
    assert add_labels(store, run, [label()]) == 1, "the store takes more after a mistake"


def test_labels_are_found_by_record(store, run):
    several = [label(), label("q1"), label("q2", "no source"), label("q2", "why", name="reason")]
    add_labels(store, run, [*several, replace(label(), repeat=1)])
    found = read_labels(store, run)
    assert [one.name for one in by_record(found)["q2", 0]] == ["cause", "reason"]
    assert ("q2", 1) not in by_record(found)


def test_a_store_that_is_older_than_labels_has_none(store, run, where):
    execute(where, "DROP TABLE label")
    assert read_labels(store, run) == all_labels(store, run) == ()


def test_a_run_tells_its_remarks_itself(store, run):
    assert store.run(run.id).remarks() == Remarks()
    add_labels(store, run, [label(), label(value=None), label("q1")])
    note = add_note(store, run, "why", author="ann", at=AT)
    assert store.run(run.id).remarks() == Remarks((note,), (label("q1"),))
