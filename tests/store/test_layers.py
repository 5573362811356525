"""What scoring again has changed, verdict by verdict."""

from steelyard import ExactMatch, Sample, evaluate
from steelyard.store import Store
from steelyard.store.layers import changed_verdicts
from steelyard.suite.rescore import rescore

SAMPLES = [Sample(f"q{n}", f"question {n}", reference) for n, reference in enumerate(("yes", "YES", "no"))]


def exact_match(sample, output):
    """Another verdict on two of three, with the same mean."""
    return {"q0": 0.0, "q1": 1.0, "q2": 0.0}[sample.id]


def test_verdicts_that_move_both_ways_are_counted_though_the_mean_stays(where):
    run = evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=where)
    with Store(where) as store:
        before = store.run(run.id)
        now, _ = rescore(store, before, [exact_match])
        assert [one.summary().scores[0].answered.value for one in (before, now)] == [1 / 3, 1 / 3]
        assert changed_verdicts(store, before, now) == {"exact_match": 2}
        again, _ = rescore(store, now, [exact_match])
        assert changed_verdicts(store, now, again) == {}


def length(sample, output):
    return float(len(output.value))


def test_a_score_of_one_layer_alone_is_changed_in_every_record(where):
    run = evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=where)
    with Store(where) as store:
        before = store.run(run.id)
        now, _ = rescore(store, before, [length])
        assert changed_verdicts(store, before, now) == {"exact_match": 3, "length": 3}
