"""People's labels of scores that are not exam's: whose word counts, what it moves, and that rows and records agree."""

import shutil
from datetime import UTC, datetime

import pytest

from steelyard import Label, Sample, Score, ScoreInfo, Store, compare, evaluate
from steelyard.analysis.summary.people_labels import CountedLabels
from steelyard.people.labels import add_labels

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SAMPLES = [Sample(f"q{number}", "?", group=f"g{number % 2}") for number in range(6)]


class Rater:
    """A rating of 3, a pass for even samples; q4 cannot be read, q5 does not apply."""

    score_infos = (ScoreInfo("rating", (1.0, 5.0), threshold=4.0), ScoreInfo("ok", (0.0, 1.0), threshold=1.0))

    def __call__(self, sample, output):
        number = int(sample.id[1:])
        if number >= 4:
            outcome = "unparsed" if number == 4 else "not_applicable"
            return [Score(name, None, outcome=outcome, detail={"kind": "none"}) for name in ("rating", "ok")]
        return [Score("rating", 3.0, reason="so so"), Score("ok", float(number % 2 == 0))]


def target(sample):
    if sample.id == "q3":
        raise RuntimeError("down")
    return "text"


def says(sample, value, author="ann", name="rating", kind="scale", **more):
    return Label(sample, name, value, author, AT, kind=kind, scale=(1.0, 5.0) if kind == "scale" else None, **more)


def passes(sample, value, author="ann"):
    return says(sample, value, author, "ok", "pass_fail")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rated") / "s.db"
    evaluate(target, SAMPLES, [Rater()], store=path, max_errors=1.0)
    return path


@pytest.fixture
def labelled_run(file, tmp_path):
    """labelled_run(label, ...): the run with these labels."""

    def make(*labels):
        with Store(shutil.copy(file, tmp_path)) as store:
            (run,) = store.runs()
            add_labels(store, run, labels)
        return run.with_labels()

    return make


def mean(run, name):
    return run.summary().score(name).headline.value


def test_ratings_of_several_people_are_averaged_and_a_reply_that_was_not_read_gets_a_value(labelled_run):
    run = labelled_run(says("q0", 5.0), says("q0", 2.0, "bob"), says("q4", 4.0))
    assert mean(run, "rating") == pytest.approx((3.5 + 3 + 3 + 4) / 4)
    summary = run.summary()
    assert summary.score("rating").unparsed == 0
    assert summary.records.unparsed_kinds == {}
    assert summary.raters.labelled.decided == {"ann": 1, "ann and bob": 1}
    assert (summary.raters.labelled.changed, summary.raters.labelled.before) == (2, 3.0)


def test_people_who_contradict_each_other_on_pass_or_fail_change_nothing(labelled_run):
    run = labelled_run(
        passes("q0", "fail"), passes("q0", "pass", "bob"), passes("q1", "pass"), passes("q1", "pass", "bob")
    )
    assert mean(run, "ok") == pytest.approx(3 / 3)
    assert CountedLabels.of(run.data()).people["ok"].conflicting == {("q0", 0)}


@pytest.mark.parametrize(
    "label",
    [
        says("q0", 5.0, "model:m"),
        says("q0", "5"),
        says("q0", 9.0),
        says("q0", True),
        says("q0", 5.0, name="comment"),
        Label("q0", "rating", 5.0, "ann", AT, kind="scale", scale=(1.0, 10.0)),
        Label("q0", "rating", "pass", "ann", AT, kind="pass_fail"),
        says("q3", 5.0),
        says("q5", 5.0),
        says("q0", 5.0, repeat=1),
    ],
    ids=[
        "model",
        "text",
        "out of range",
        "boolean",
        "other name",
        "other scale",
        "other kind",
        "error",
        "n/a",
        "repeat",
    ],
)
def test_labels_that_say_nothing_of_the_score_never_count(labelled_run, label):
    run = labelled_run(label)
    assert mean(run, "rating") == 3.0
    assert run.summary().raters.labelled.changed == 0


def test_a_label_without_a_kind_counts_by_its_name(labelled_run):
    assert mean(labelled_run(Label("q0", "rating", 5.0, "ann", AT)), "rating") == pytest.approx(11 / 3)


def test_rows_and_records_say_the_same(labelled_run):
    run = labelled_run(says("q0", 5.0), passes("q1", "pass"))
    rows = {(row.sample, row.name): row.value for row in run.data().scores.rows()}
    assert (rows["q0", "rating"], rows["q1", "ok"], rows["q0", "ok"]) == (5.0, 1.0, 1.0)
    record = next(record for record in run.records() if record.sample.id == "q0")
    score = record.scores[0]
    assert (score.value, score.passed, score.reason) == (5.0, True, "5, says ann")
    judged = {row.sample: row for row in run.data().scores.judged_rows("rating")}
    assert (judged["q0"].value, judged["q0"].detail["by"], judged["q1"].value) == (5.0, "people", 3.0)


def test_a_comparison_counts_labels(labelled_run):
    run = labelled_run(passes("q1", "pass"))
    plain = run.store.run(run.id)
    assert compare(plain, run, score="ok").pairs[0].headline.table.improved == 1


def test_only_labels_that_are_asked_to_be_counted_are_missed(labelled_run):
    uncounted = labelled_run(
        says("q0", "pass", name="verdict", kind="pass_fail"), says("q1", "hm", name="comment", kind="text")
    )
    assert uncounted.summary().raters.labelled.uncounted == {"verdict": 1}
