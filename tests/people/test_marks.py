"""Marks of runs: one baseline a suite, what is archived, tags; the last change counts and nothing else is touched."""

import threading

import pytest
from tests.store.outside import execute
from tests.store.test_delete import run_over
from tests.store.test_repair import SAMPLES
from tests.store.test_store import new

from steelyard import ConfigError, Store
from steelyard.people.marks import MarkChange, RunMarks, baselines, checked_tag, mark_run, marks_of, read_marks
from steelyard.store.delete import delete_runs
from steelyard.store.repair import verify

PIN, ARCHIVE = MarkChange(baseline=True), MarkChange(archived=True)


def fill(where):
    for _ in range(2):
        run_over(SAMPLES[:4], where)


@pytest.fixture
def two(filled):
    """A store with two runs of one suite, older first."""
    with Store(filled(fill)) as store:
        yield store, *reversed(store.runs())


def test_a_suite_has_the_baseline_that_was_pinned_last(two):
    store, first, second = two
    assert baselines([first, second], read_marks(store)) == {}
    assert mark_run(store, first, PIN) == RunMarks(baseline=True)
    mark_run(store, second, PIN)
    assert read_marks(store) == {second.num: RunMarks(baseline=True)}
    mark_run(store, first, MarkChange(baseline=False))
    assert baselines([first, second], read_marks(store)) == {(second.suite, second.kind): second}
    mark_run(store, second, MarkChange(baseline=False))
    assert read_marks(store) == {}


def test_marks_are_changed_together_and_what_is_not_named_stays(two):
    store, first, _ = two
    marks = mark_run(store, first, MarkChange(archived=True, add=("zh", "v2", "zh")))
    assert marks == RunMarks(archived=True, tags=("v2", "zh"))
    marks = mark_run(store, first, MarkChange(archived=False, remove=("zh", "never-there")))
    assert marks == marks_of(store, first.num) == RunMarks(tags=("v2",))


def test_two_who_tag_at_once_lose_nothing(where, two):
    store, first, _ = two
    with Store(where) as other:
        marking = [
            threading.Thread(target=mark_run, args=(each, first, MarkChange(baseline=True, add=(f"t{no}",))))
            for no, each in enumerate([store, other] * 4)
        ]
        for thread in marking:
            thread.start()
        for thread in marking:
            thread.join()
    assert marks_of(store, first.num) == RunMarks(baseline=True, tags=tuple(f"t{no}" for no in range(8)))


@pytest.mark.parametrize("tag", ["", "  ", "two words", "a,b", 'a"b', "<b>", "x" * 41, "a\u202eb", "\u0301a", "a\x00b"])
def test_what_is_no_tag_is_refused_with_the_reason(tag):
    with pytest.raises(ConfigError, match="tag"):
        checked_tag(tag)


def test_a_tag_is_of_any_script_and_the_same_however_it_is_typed(two):
    store, first, _ = two
    assert mark_run(store, first, MarkChange(add=(" 易经/v2 ", "cafe\u0301"))).tags == ("café", "易经/v2")
    assert mark_run(store, first, MarkChange(remove=("café ", "易经/v2"))).tags == ()


def test_a_run_has_only_so_many_tags(two):
    store, first, _ = two
    with pytest.raises(ConfigError, match="at most 20 tags"):
        mark_run(store, first, MarkChange(archived=True, add=tuple(f"t{no}" for no in range(21))))
    assert marks_of(store, first.num) == RunMarks(), "all or nothing"
    mark_run(store, first, MarkChange(add=("still-writing",)))


def test_a_baseline_is_a_finished_run_with_scores(two):
    store, _, _ = two
    writer = store.begin_evaluation([new()])[1][0]
    with pytest.raises(ConfigError, match="is running: a baseline is a finished run"):
        mark_run(store, writer.run, PIN)
    assert mark_run(store, writer.run, ARCHIVE).archived
    writer.abandon()


def test_marks_go_with_their_run_and_a_deleted_run_takes_none(two):
    store, first, second = two
    mark_run(store, first, PIN)
    mark_run(store, first, MarkChange(add=("old",)))
    delete_runs(store, [first])
    assert read_marks(store) == {}
    with pytest.raises(ConfigError, match="was deleted"):
        mark_run(store, first, ARCHIVE)
    assert mark_run(store, second, PIN).baseline
    assert verify(store).damages == []


def test_a_mark_of_no_run_is_found(where, two):
    store, first, _ = two
    mark_run(store, first, ARCHIVE)
    execute(where, "UPDATE event SET run = 99")
    assert [damage.what for damage in verify(store).damages] == [
        "table event has 1 rows of run number 99, which is not there"
    ]
