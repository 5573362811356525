"""Panels of stored runs: several named judges of one thing, with a jury or labels, and labels of a judged run."""

from datetime import UTC, datetime

import pytest

from steelyard import Correctness, Judge, Label, Sample, Scripted, Store, evaluate
from steelyard.scorers.judges.judge import with_judges
from steelyard.store.delete import delete_runs
from steelyard.store.labels import add_labels
from steelyard.suite import Suite, evaluate_suite
from steelyard.suite.judge_panel import JudgesFile, answered_samples, canary_suite, judges_suite

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = [Sample(f"q{at}", f"Question {at:02}?", "the answer") for at in range(40)]


def scripted(every):
    """A judge that fails each answer of so many."""
    return Judge(Scripted({f"Question {at:02}?": "1" for at in range(0, 40, every)}, default="5"))


def answer(_):
    return "an answer"


@pytest.fixture
def judged(where):
    """A run without a judge, of which 35 answers are labelled; its store."""
    (run,) = evaluate_suite(
        Suite("exam", "custom", SAMPLES, {"ours": answer}, (Correctness(scripted(3)),)), store=where
    )
    said = [Label(f"q{at}", "correct", "fail" if at % 4 == 0 else "pass", "ann", AT) for at in range(35)]
    with Store(where) as store:
        stored = store.run(run.id)
        add_labels(store, stored, said)
        yield store, stored, where


FILE = JudgesFile({"four": Correctness(scripted(4)), "five": Correctness(scripted(5))}, jury="majority")


def test_the_labels_of_a_judges_run_are_those_of_the_answers_that_it_judges(judged):
    store, run, where = judged
    (judges,) = evaluate_suite(judges_suite(run, FILE, answered_samples(run)), store=where)
    (canary,) = evaluate_suite(canary_suite(run, FILE, answered_samples(run), share=0.25, seed=1), store=where)
    stored = store.run(judges.id)
    assert stored.labels() == run.labels()
    assert store.run(canary.id).labels() == ()
    panel = next(each for each in stored.summary().panels if each.thing == "correct")
    assert [judge.name for judge in panel.judges] == ["four", "five", "jury"]
    assert panel.judges[0].right.value == 1.0
    assert panel.judges[0].agreement.labelled == 35
    assert {judge.calls for judge in panel.judges} == {40, 80}
    add_labels(store, run, [Label("q39", "correct", "pass", "ann", AT)])
    later = next(each for each in store.run(judges.id).summary().panels if each.thing == "correct")
    assert later.judges[0].agreement.labelled == 36


def test_a_judges_run_outlives_the_run_that_it_judged(judged):
    store, run, where = judged
    (judges,) = evaluate_suite(judges_suite(run, FILE, answered_samples(run)), store=where)
    delete_runs(store, [run])
    stored = store.run(judges.id)
    assert stored.labels() == ()
    panel = next(each for each in stored.summary().panels if each.thing == "correct")
    assert (panel.against, panel.differences) == ("", ())


def test_each_scorer_is_asked_of_each_named_judge(where):
    scorers = with_judges([Correctness(), Correctness(scripted(9))], {"a": scripted(2), "b": scripted(3)})
    assert [scorer.judge.name for scorer in scorers] == ["a", "b", ""]
    suite = Suite("exam", "custom", SAMPLES, {"ours": answer}, scorers[:2], jury={"vote": "majority"})
    (run,) = evaluate_suite(suite, store=where)
    panel = next(each for each in run.summary().panels if each.thing == "correct")
    assert (panel.vote, [judge.name for judge in panel.judges]) == ("majority", ["a", "b", "jury"])
    alone = evaluate(answer, SAMPLES, [Correctness(scripted(2))], store=where)
    assert alone.summary().panels == ()
