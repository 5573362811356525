"""What a stopping rule decided is kept with its run, and all that is said of scores rests on what it used."""

from dataclasses import replace

from steelyard import ExactMatch, Sample, Store, evaluate
from steelyard.stats.intervals import Interval
from steelyard.store.stopping import Used, put_stopping
from steelyard.summary import Stopping

DECIDED = Stopping(
    "full", "exact_match", 0.5, 0.95, "", 10, 3, 2, "above", Interval(0.6, 1.0), ((3, 1.0, 0.6, 1.0),)
)  # fmt: skip


def kept(used):
    samples = [Sample(f"s{n}", "?", "yes" if n in {1, 4, 9} else "no", group="ab"[n % 2]) for n in range(10)]
    run = evaluate(lambda sample: "yes", samples, [ExactMatch()])
    with Store() as store:
        store.writer.change(lambda batch: put_stopping(batch, run.num, DECIDED, used))
        return store.run(run.id)


def test_scores_are_those_of_the_samples_that_were_used():
    run = kept(Used.of([1, 4, 9]))
    assert [row.sample for row in run.score_rows()] == ["s1", "s4", "s9"]
    assert [row.value for row in run.judged_rows("exact_match")] == [1.0, 1.0, 1.0]
    summary = run.summary()
    assert summary.stopping == DECIDED
    assert summary.stopping.saved == 5
    assert summary.score().headline.value == 1.0
    assert summary.score().n == 3
    assert summary.done == 10
    assert summary.to_json()["stopping"]["interval"] == [0.6, 1.0]


def test_a_decision_on_all_of_them_leaves_none_out():
    run = kept(None)
    assert len(list(run.score_rows())) == 10
    assert run.stopping == DECIDED


def test_rows_come_with_the_detail_that_the_scorer_kept():
    run = evaluate(lambda sample: "x", [Sample("a", "?", "x", cluster="c"), Sample("b", "?", "y")], [ExactMatch()])
    first, second = run.judged_rows("exact_match")
    assert (first.sample, first.cluster, first.outcome, first.value) == ("a", "c", "scored", 1.0)
    assert dict(second.detail) == dict(next(iter([r for r in run.records() if r.sample.id == "b"])).scores[0].detail)
    assert list(run.judged_rows("nothing")) == []


def test_a_failed_record_is_an_error_of_every_score():
    def target(sample):
        if sample.id == "a":
            raise ValueError("no")
        return "x"

    run = evaluate(target, [Sample("a", "?", "x"), Sample("b", "?", "x")], [ExactMatch()], max_errors=1)
    assert [row.outcome for row in run.judged_rows("exact_match")] == ["error", "scored"]


def test_a_decision_on_the_whole_set_cannot_contradict_it():
    found = Stopping("full", "preference", 0.5, 0.95, "", 60, 60, 0, "below", Interval(0.4917, 0.4917))
    assert found.promise == "That is the whole set, and it says nothing beyond it."
    assert replace(found, used=50).promise == "This rule contradicts the full set in at most 5 % of runs."
    assert replace(found, interval=Interval(0.41, 0.49)).promise.startswith("This rule contradicts")
    assert replace(found, question="population").promise.startswith("This rule claims")
