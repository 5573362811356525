"""A summary from the database's counts is the one from every row, but for rounding; and it needs no numpy."""

import math
import subprocess
import sys
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.store.exam_run import Examiner

from steelyard import Choice, Options, Output, Sample, Score, ScoreInfo, Store, Suite, evaluate, evaluate_suite
from steelyard.analysis.intervals import Intervals
from steelyard.stats.stratified import stratified_mean, stratified_mean_of_counts
from steelyard.store import tallies
from steelyard.suite import RunConfig


class Measures:
    """Scores of several kinds: a rate, a rate with ties, a rating, a number without a scale; of every outcome."""

    score_infos = (
        ScoreInfo("right", (0, 1), threshold=0.5, denominator="all"),
        ScoreInfo("tied"),
        ScoreInfo("rating", (1, 5), histogram=True),
        ScoreInfo("seconds", lower_is_better=True),
        ScoreInfo("share", (0, 1), denominator="all", histogram=True),
    )

    def __call__(self, sample, output):
        no = sample.input
        outcome = {3: "unparsed", 7: "refused", 11: "not_applicable"}.get(no % 12, "scored")

        def score(name, value):
            return Score(name, value if outcome == "scored" else None, outcome=outcome)

        seconds = [Score("seconds", no / 7)] if no % 10 else []
        return [
            score("right", float(no % 3 > 0)), score("tied", (no % 3) / 2), score("rating", 1.0 + no % 5),
            score("share", (no % 10) / 10), *seconds,
        ]  # fmt: skip


def answer(sample):
    if sample.input % 13 == 0:
        raise ValueError("no answer")
    return Output(str(sample.input))


def evaluated(where, samples, scorer, **options):
    suite = Suite("tallies", "custom", samples, {"answer": answer}, (scorer,), Options(max_errors=1.0, **options))
    return evaluate_suite(suite, how=RunConfig(store=where))[0]


def numbered(n, *groups):
    return [Sample(f"q{no}", no, "B", group=groups[no % len(groups)] if groups else "") for no in range(n)]


def assert_alike(one, other, path=""):
    """The same values in the same order; floats but for rounding."""
    if isinstance(one, float) and isinstance(other, float):
        assert math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12), path
    elif is_dataclass(one):
        for field in fields(one):
            assert_alike(getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}")
    elif isinstance(one, dict):
        assert list(one) == list(other), path
        for key, value in one.items():
            assert_alike(value, other[key], f"{path}[{key}]")
    elif isinstance(one, tuple):
        assert len(one) == len(other), path
        for at, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_alike(mine, theirs, f"{path}[{at}]")
    else:
        assert one == other, path


@pytest.mark.parametrize("samples", [numbered(40), numbered(60, "a", "", "b"), numbered(9, "a", "b", "c"), numbered(1)])
def test_counts_give_the_summary_of_the_rows(where, samples):
    run = evaluated(where, samples, Measures())
    counted = run._from_counts()
    assert counted is not None
    assert_alike(counted, run._from_rows())


def test_a_group_of_equal_values_and_one_of_a_single_sample(where):
    samples = [Sample(f"q{no}", no * 3 + 1, "B", group="same" if no else "alone") for no in range(5)]
    run = evaluated(where, samples, Measures())
    assert_alike(run._from_counts(), run._from_rows())


def exam(where, **more):
    samples = [
        Sample(f"q{no}", f"{no}?", "ABCD"[no % 4], ("one", "two", "three", "four"), group=f"group {no % 3}")
        for no in range(120)
    ]
    said = ["The answer is {}.", "{}", "I cannot answer that.", "", "A or B", "C", "{}"]
    replies = {sample.id: said[no % 7].format(sample.reference) for no, sample in enumerate(samples)}
    return evaluate(lambda sample: replies[sample.id], samples, [Choice()], store=where, **more)


def test_an_exam_has_its_letters_and_its_queue(where):
    run = exam(where)
    counted = run._from_counts()
    assert counted.exams[0].letters is not None
    assert counted.exams[0].queue
    assert_alike(counted, run._from_rows())


def test_what_counts_do_not_tell_is_read_by_row(where):
    assert exam(where, repeats=2)._from_counts() is None
    clustered = [Sample(f"q{no}", no, "B", cluster=f"c{no // 2}") for no in range(6)]
    assert evaluated(where, clustered, Measures())._from_counts() is None
    rotated = [Sample(f"q{no // 2}@{no % 2}", "?", "B", ("x", "y")) for no in range(6)]
    assert evaluate(lambda sample: "B", rotated, [Choice()], store=where)._from_counts() is None
    resampled = evaluated(where, numbered(20), Measures(), intervals=Intervals(means="bootstrap"))
    assert resampled._from_counts() is None
    assert resampled.summary().score("rating").answered.interval is not None


def test_a_small_run_is_summarized_without_numpy(tmp_path):
    exam(tmp_path / "s.db")
    script = """
import sys
from steelyard import Store
with Store(sys.argv[1]) as store:
    summary = store.run("latest").summary()
assert summary.exams and summary.score().macro
print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "s.db"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_exam_that_read_nothing_has_no_letters(where):
    samples = [Sample(f"q{no}", "?", "A", ("x", "y")) for no in range(4)]
    suite = Suite("none", "custom", samples, {"none": lambda sample: "no"}, (Examiner(),), Options())
    run = evaluate_suite(suite, how=RunConfig(store=where))[0]
    assert_alike(run._from_counts(), run._from_rows())


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=8), min_size=2, max_size=5),
    st.booleans(),
)
def test_a_macro_average_of_counts_is_that_of_the_values(groups, rate):
    values = [value for group in groups for value in group]
    strata = [at for at, group in enumerate(groups) for _ in group]
    # With as many wins as losses, rounding decides which of the two limits is corrected.
    assume(abs(sum(sum(group) / len(group) for group in groups) / len(groups) - 0.5) > 1e-9)
    counts = [{value: group.count(value) for value in group} for group in groups]
    assert_alike(tuple(stratified_mean_of_counts(counts, rate=rate)), tuple(stratified_mean(values, strata, rate=rate)))


def test_the_store_is_read_by_a_newer_handle(where):
    run = exam(where)
    with Store(where) as store:
        assert_alike(store.run(run.id).summary(), run.summary())


def test_a_run_of_many_records_is_first_asked_how_much_its_scores_vary(where, monkeypatch):
    run = evaluated(where, numbered(30), Measures())
    few = run.summary()
    # Of more records than this the first rows are counted before all of them.
    monkeypatch.setattr(tallies, "MOST_KINDS", 10)
    with Store(where) as store, store.reading() as connection:
        stored = store.run(run.id)
        assert tallies.read_tallies(connection, stored) is None  # more kinds of rows than are counted
        assert [score.name for score in stored.summary().scores] == [score.name for score in few.scores]
