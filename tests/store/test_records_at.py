"""Records at some places of the dataset, and what one score says of every record, in both databases."""

from steelyard import Choice, Options, Sample, Store, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.store.scores import PlacedScore


def answer(sample):
    no = int(sample.id[1:])
    if no % 10 == 9:
        raise RuntimeError("down")
    return "Hm." if no % 10 == 8 else f"The answer is {'AB'[no % 2]}."


def stored(where, repeats=1):
    samples = [Sample(f"q{no}", f"{no}?", "A", ("one", "two"), group=f"g{no % 3}") for no in range(40)]
    suite = Suite("exam", "choice", samples, {"t": answer}, (Choice(),), Options(repeats=repeats, max_errors=0.5))
    [run] = evaluate_suite(suite, how=RunConfig(store=where))
    return run


def test_records_at_places_are_those_of_the_run_whatever_lies_between_them(where):
    run = stored(where, repeats=2)
    with Store(where) as store:
        run = store.run(run.id)
        every = list(run.numbered_records())
        shared = {}
        for places in ((), (0,), (5, 6, 7), (0, 13, 39), tuple(range(40)), (3, 99)):
            wanted = [record for no, record in every if no in places]
            assert list(run.records_at(places)) == wanted
            assert list(run.records_at(places, shared)) == wanted


def test_equal_parts_are_one_object_where_they_are_shared(where):
    run = stored(where)
    with Store(where) as store:
        run, shared = store.run(run.id), {}
        first, again = (list(run.records_at((0, 1), shared)) for _ in range(2))
        assert first[0].sample is again[0].sample
        assert first[0].scores[0] is again[0].scores[0]


def test_the_verdict_of_every_record_stands_with_its_place_and_its_sample(where):
    run = stored(where)
    with Store(where) as store:
        verdicts = list(store.run(run.id).placed_scores("solve_rate"))
        none = list(store.run(run.id).placed_scores("no such score"))
    assert verdicts[:2] == [
        PlacedScore(0, 0, "q0", "g0", failed=False, outcome="scored", value=1.0, passed=True),
        PlacedScore(1, 0, "q1", "g1", failed=False, outcome="scored", value=0.0, passed=False),
    ]
    assert verdicts[8] == PlacedScore(8, 0, "q8", "g2", failed=False, outcome="unparsed", value=None, passed=None)
    assert verdicts[9] == PlacedScore(9, 0, "q9", "g0", failed=True, outcome=None, value=None, passed=None)
    assert [verdict.no for verdict in verdicts] == list(range(40))
    assert {(verdict.outcome, verdict.passed) for verdict in none} == {(None, None)}
    assert sum(verdict.failed for verdict in none) == 4
