"""People's verdicts: whose word counts, what it moves, and that no score changes."""

import json
from datetime import UTC, datetime

import pytest
from tests.store.exam_run import exam_runs, question

from steelyard import Label, Store, compare
from steelyard.analysis.summary.people_labels import agreed_letters
from steelyard.people.labels import add_labels
from steelyard.people.review import queue_of
from steelyard.plain_json import json_value

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
REPLIES = ["A", "B", "maybe A", "maybe B", "A or B", "well", "no", "A"]


def says(sample, value, author="ann", name="answer", **more):
    return Label(sample, name, value, author, AT, **more)


@pytest.fixture
def reviewed_run(tmp_path):
    """Runs from replies, and what labels make of the first."""

    def make(*labels, replies=None, **options):
        first, *rest = exam_runs(tmp_path / "s.db", replies or {"model": REPLIES}, **options)
        with Store(tmp_path / "s.db") as store:
            add_labels(store, store.run(first.id), labels)
        return first.with_labels(), rest

    return make


def test_the_queue_holds_what_was_inferred_and_what_was_not_read(reviewed_run):
    run, _ = reviewed_run()
    listed = list(queue_of(run, "solve_rate"))
    assert [(record.record.sample.id, record.kind) for record in listed] == [
        ("q2", "inferred"), ("q3", "inferred"), ("q4", "several"), ("q5", "unparsed"), ("q6", "refused"),
    ]  # fmt: skip
    assert (listed[0].answered.letters, listed[0].answered.wanted, listed[0].span) == ("A", "A", (6, 7))
    assert list(queue_of(run, "another")) == []


def test_the_context_is_60_characters_around_what_was_read(reviewed_run):
    run, _ = reviewed_run(replies={"model": ["maybe " + "x" * 100 + "\nthe answer A", "?" + "y" * 200]})
    first, second = queue_of(run, "solve_rate")
    assert first.context.startswith("…x")
    assert first.context.endswith("x the answer A")
    assert len(first.context) == 61
    assert second.context == "…" + "y" * 60, "of a reply from which nothing was read, the end"


def test_a_verdict_enters_the_rate_only_where_it_is_asked_for(reviewed_run):
    run, _ = reviewed_run(says("q5", "A"), says("q3", "A"), says("q2", "B"))
    plain, told = run.store.run(run.id).summary(), run.summary()
    assert plain.raters.labelled is None
    assert (plain.score().headline.value, told.score().headline.value) == (3 / 8, 4 / 8)
    assert (plain.records.unparsed_kinds, told.records.unparsed_kinds) == ({"none": 1, "several": 1}, {"several": 1})
    labelled = told.raters.labelled
    assert (labelled.decided, labelled.changed, labelled.conflicting) == ({"ann": 3}, 3, 0)
    assert (labelled.before, labelled.after, labelled.moved) == (3 / 8, 4 / 8, 1 / 8)
    assert labelled.unseen == 2, "q4 and q6"
    assert told.exam.queue == {"several": 1, "refused": 1}
    json.dumps(json_value(told))


def test_a_verdict_of_no_option_is_an_answer_that_is_wrong(reviewed_run):
    run, _ = reviewed_run(says("q5", ""), says("q0", ""))
    assert run.summary().score().headline.value == 2 / 8
    assert run.summary().score().unparsed == 1


def test_people_who_disagree_change_nothing_and_are_counted(reviewed_run):
    run, _ = reviewed_run(says("q5", "A"), says("q5", "B", "bob"), says("q4", "A"), says("q4", "A", "bob"))
    told = run.summary()
    assert (told.raters.labelled.decided, told.raters.labelled.conflicting) == ({"ann and bob": 1}, 1)
    assert told.score().headline.value == 4 / 8


def test_who_comes_round_agrees(reviewed_run):
    run, _ = reviewed_run(says("q5", "A"), says("q5", "B", "bob"), says("q5", "A", "bob"))
    assert run.summary().raters.labelled.decided == {"ann and bob": 1}


def test_models_labels_and_labels_of_other_names_never_count(reviewed_run):
    run, _ = reviewed_run(says("q5", "A", "model:m"), says("q4", "A", name="cause"))
    assert (run.summary().raters.labelled.decided, run.summary().score().headline.value) == ({}, 3 / 8)


def test_a_record_that_failed_has_no_reply_to_judge(reviewed_run):
    run, _ = reviewed_run(says("q0", "A"), replies={"model": [RuntimeError("down"), "B"]})
    told = run.summary()
    assert (told.raters.labelled.decided, told.score().headline.value, told.score().errors) == ({}, 0.0, 1)


def test_records_and_rows_of_the_run_say_the_same(reviewed_run):
    run, _ = reviewed_run(says("q5", "A"))
    record = next(record for record in run.records() if record.sample.id == "q5")
    score, beside = record.scores
    assert (score.value, score.passed, score.reason) == (1.0, True, "A, says ann · correct A")
    assert (score.detail["letters"], score.detail["rule"], "kind" in score.detail) == ("A", "label", False)
    assert beside.value == 0.0, "another tool's reading is not ours to change"
    judged = next(row for row in run.data().scores.judged_rows("solve_rate") if row.sample == "q5")
    assert (judged.outcome, judged.value, judged.detail["letters"]) == ("scored", 1.0, "A")
    assert [row.value for row in run.data().scores.rows() if row.sample == "q5" and row.name == "solve_rate"] == [1.0]


def test_a_repeat_has_a_verdict_of_its_own(reviewed_run):
    run, _ = reviewed_run(says("q0", "A", repeat=1), replies={"model": ["?", "A"]}, repeats=2)
    assert run.summary().score().headline.value == 3 / 4


def test_a_verdict_on_a_rotation_is_an_answer_in_the_datasets_own_letters(reviewed_run):
    orders = ["ABCD", "BCDA", "CDAB", "DABC"]
    samples = [
        question(f"q@{at + 1}", "ABCD"[order.index("A")], cluster="q", metadata={"order": order})
        for at, order in enumerate(orders)
    ]
    run, _ = reviewed_run(says("q@2", "D"), samples=samples, replies={"model": ["A", "?", "C", "A"]})
    assert run.summary().exam.rotations.majority.value == 1.0, "the dataset's A three times, its D once"
    assert run.store.run(run.id).summary().exam.rotations.all_right.value == 0


def test_a_comparison_counts_verdicts_on_both_sides(reviewed_run):
    run, (other,) = reviewed_run(says("q0", "A"), replies={"one": ["?", "B"], "two": ["B", "A"]})
    stored = compare(run.store.run(run.id), other).pairs[0].headline.table
    told = compare(run, other.with_labels()).pairs[0].headline.table
    assert (stored.regressed, told.regressed) == (0, 1)


def test_labels_that_are_no_texts_are_no_verdicts():
    assert agreed_letters([says("q", 1), says("r", ["A"])]).values == {}
