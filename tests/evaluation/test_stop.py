"""Runs that end when something is decided: the same decision at any concurrency, and after any stop."""

import asyncio
import random

import pytest
from tests.thorough import times

from steelyard import ConfigError, ExactMatch, Options, Sample, ScoreInfo, Store, Suite, aevaluate_suite, evaluate_suite
from steelyard.errors import ScorerError
from steelyard.evaluation import RunConfig, RunHandle
from steelyard.evaluation.decision import DrawnOrder
from steelyard.evaluation.objects import StopWhen
from steelyard.evaluation.rescore import rescore
from steelyard.store.repair import verify
from steelyard.targets.replay import Pair
from steelyard.types import Output, Score

N = 400


def samples(n=N, cluster=""):
    return [Sample(f"s{k}", f"question {k}", "yes", cluster=cluster and f"{cluster}{k // 4}") for k in range(n)]


def solver(share, seed=0):
    """A target that is right about this share of the samples, and as slow as chance will have it."""

    async def target(sample):
        draw = random.Random(f"{seed}{sample.id}")
        right = draw.random() < share
        await asyncio.sleep(draw.random() / 500)
        return "yes" if right else "no"

    return target


def stopping_suite(targets, rule, *, concurrency=8, n=N, scorers=None, **more):
    options = Options(concurrency=concurrency, stop_when_decided=rule, **more)
    return Suite("s", "custom", samples(n), targets, scorers or (ExactMatch(),), options)


def interrupted(suite, at):
    """The runs of a suite that was stopped after so many records."""

    async def work():
        control = RunHandle()
        running = asyncio.create_task(aevaluate_suite(suite, how=RunConfig(fresh=True), control=control))
        while sum(progress.done for progress in control.progress) < at:  # noqa: ASYNC110  # nobody tells of a record
            await asyncio.sleep(0)
        control.stop("interrupted")
        return await running

    return asyncio.run(work())


FULL = StopWhen("full", threshold=0.5)
BEYOND = StopWhen("population", threshold=0.5)


@pytest.mark.parametrize("rule", [FULL, BEYOND], ids=lambda rule: rule.question)
def test_a_clear_answer_ends_the_run_and_says_what_it_saved(rule):
    (run,) = evaluate_suite(stopping_suite({"good": solver(0.85)}, rule))
    result = run.stopping
    assert run.state == "finished"
    assert result.side == "above"
    assert result.used < 60
    assert result.beyond < 8
    assert result.used + result.beyond == run.done
    assert result.saved == N - run.done
    assert result.interval.low > 0.5
    summary = run.summary()
    assert summary.score().n == result.used
    assert (summary.counts.planned, summary.counts.done) == (N, run.done)


@pytest.mark.parametrize("rule", [FULL, BEYOND], ids=lambda rule: rule.question)
def test_the_decision_does_not_depend_on_the_concurrency(rule):
    result = []
    for concurrency in (1, 5, 32):
        suite = stopping_suite({"fair": solver(0.62)}, rule, concurrency=concurrency)
        (run,) = evaluate_suite(suite, how=RunConfig(fresh=True))
        result.append((run.stopping.used, run.stopping.side, run.stopping.interval, run.stopping.path))
        assert run.stopping.beyond < concurrency
        assert len({row.sample for row in run.data().scores.rows()}) == run.stopping.used
    assert result[0] == result[1] == result[2]


def test_what_it_decides_is_what_the_full_set_says():
    for seed in range(times(3, 20)):
        (complete,) = evaluate_suite(Suite("s", "custom", samples(), {"t": solver(0.56, seed)}, (ExactMatch(),)))
        (run,) = evaluate_suite(stopping_suite({"t": solver(0.56, seed)}, FULL), how=RunConfig(fresh=True))
        mean = complete.summary().score().headline.value
        assert run.stopping.side == ("above" if mean > 0.5 else "below" if mean < 0.5 else "equal")


def test_what_cannot_be_told_is_asked_to_the_end_and_says_so():
    (run,) = evaluate_suite(stopping_suite({"even": solver(0.5)}, StopWhen("population", threshold=0.5), n=120))
    assert (run.state, run.stopping.side, run.stopping.used, run.stopping.saved) == ("finished", "", 120, 0)
    assert run.stopping.interval.low < 0.5 < run.stopping.interval.high


@pytest.mark.parametrize("concurrency", [1, 32])
def test_stopped_and_resumed_it_decides_the_same(concurrency):
    suite = stopping_suite({"fair": solver(0.6)}, FULL, concurrency=concurrency)
    (calm,) = evaluate_suite(suite, how=RunConfig(fresh=True))

    (stopped,) = interrupted(suite, 9)
    assert stopped.state == "interrupted"
    assert stopped.stopping is None
    (resumed,) = evaluate_suite(suite, how=RunConfig(resume=stopped.id))
    assert resumed.state == "finished"
    message = [(entry.stopping.used, entry.stopping.side, entry.stopping.path) for entry in (calm, resumed)]
    assert message[0] == message[1]
    assert [row[:5] for row in calm.data().scores.rows()] == [row[:5] for row in resumed.data().scores.rows()]


def test_another_rule_is_refused_by_a_resume():
    suite = stopping_suite({"fair": solver(0.6)}, FULL)

    (stopped,) = interrupted(suite, 3)
    other = stopping_suite({"fair": solver(0.6)}, BEYOND)
    with pytest.raises(ConfigError, match=r"options\.stop_when_decided\.question"):
        evaluate_suite(other, how=RunConfig(resume=stopped.id))


@pytest.mark.parametrize("concurrency", [1, 32])
def test_two_targets_are_asked_side_by_side_until_their_difference_is_decided(concurrency):
    targets = {"old": solver(0.45, 1), "new": solver(0.8, 2)}
    old, new = evaluate_suite(stopping_suite(targets, StopWhen("full"), concurrency=concurrency))
    assert new.stopping.side == "above"
    assert old.stopping.side == "below"
    assert (new.stopping.against, old.stopping.against) == ("old", "new")
    assert new.stopping.used == old.stopping.used < 120
    assert new.stopping.interval == (-old.stopping.interval.high, -old.stopping.interval.low)
    assert new.stopping.interval.low > 0
    assert max(new.done, old.done) - new.stopping.used < concurrency
    assert [row.sample for row in new.data().scores.rows()] == [row.sample for row in old.data().scores.rows()]


def test_repeats_are_one_value_each():
    suite = stopping_suite({"good": solver(0.85)}, FULL, repeats=3)
    (run,) = evaluate_suite(suite)
    assert run.stopping.side == "above"
    assert run.done == 3 * (run.stopping.used + run.stopping.beyond)


def test_samples_of_a_cluster_are_one_observation_of_the_population():
    order = DrawnOrder.of(samples(40, cluster="c"), 0, clustered=True)
    assert order.units == [4] * 10
    assert sorted(order.places) == list(range(40))
    assert [no // 4 for no in order.places[:4]] == [order.places[0] // 4] * 4
    plain = DrawnOrder.of(samples(40, cluster="c"), 0, clustered=False)
    assert plain.units == [1] * 40


def test_the_order_is_drawn_from_the_seed_and_the_ids():
    first, again = (DrawnOrder.of(samples(), 7, clustered=False).places for _ in range(2))
    assert first == again
    assert first != DrawnOrder.of(samples(), 8, clustered=False).places
    turned = samples()[::-1]
    assert [turned[no].id for no in DrawnOrder.of(turned, 7, clustered=False).places] == [f"s{no}" for no in first]


def test_a_failed_sample_says_nothing():
    async def target(sample):
        if int(sample.id[1:]) % 2:
            raise ValueError("no")
        return "yes"

    (run,) = evaluate_suite(stopping_suite({"half": target}, BEYOND, max_errors=1))
    assert run.state == "finished"
    assert run.stopping.side == "above"
    scored = [row for row in run.data().scores.rows() if row.outcome == "scored"]
    assert len(scored) == 9, "nine successes in a row decide"


def test_ratings_are_held_against_a_threshold_on_their_own_scale():
    class Rating:
        score_infos = (ScoreInfo("rating", (1, 5)),)

        def __call__(self, sample, output):
            return Score("rating", 5.0 if output.value == "yes" else 3.0)

    rule = StopWhen("full", threshold=4.0)
    (run,) = evaluate_suite(stopping_suite({"good": solver(0.9)}, rule, scorers=(Rating(),)))
    assert run.stopping.side == "above"
    assert 4 < run.stopping.interval.low < run.stopping.interval.high <= 5
    outside = StopWhen("full", threshold=0.5)
    with pytest.raises(ConfigError, match="the threshold of rating must be between 1 and 5"):
        evaluate_suite(stopping_suite({"good": solver(0.9)}, outside, scorers=(Rating(),)))
    with Store() as store:
        assert len(store.runs()) == 1, "it is refused before anything is begun"


def test_a_score_off_its_scale_is_refused():
    def points(sample, output):
        return 7

    with pytest.raises(ScorerError, match="points is 7, outside its scale of 0 to 1"):
        evaluate_suite(stopping_suite({"good": solver(0.9)}, FULL, scorers=(points,)))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (StopWhen("full"), "name a threshold"),
        (StopWhen("full", "solved", 0.5), "no scorer gives 'solved'"),
        (StopWhen("sometimes", threshold=0.5), "question: expected full or population"),
        (StopWhen("full", threshold=0.5, level=95), "level must be a number from"),
    ],
)
def test_a_rule_that_decides_nothing_is_refused(rule, said):
    with pytest.raises(ConfigError, match=said):
        evaluate_suite(stopping_suite({"good": solver(0.9)}, rule))


def prefers_longer(sample, output):
    a, b = output.value["A"], output.value["B"]
    if a is None or b is None:
        return Score("preference", None, outcome="not_applicable")
    return Score("preference", 0.5 if len(a) == len(b) else float(len(a) > len(b)))


def words(share, seed):
    async def target(sample):
        draw = random.Random(f"{seed}{sample.id}")
        long = draw.random() < share
        await asyncio.sleep(draw.random() / 500)
        return "long enough" if long else "short"

    return target


def pair_suite(rule=None, *, concurrency=8, n=N, **targets):
    given = targets or {"a": words(0.8, 1), "b": words(0.2, 2)}
    return Suite(
        "s",
        "pairwise",
        samples(n),
        {**given, "a vs b": Pair("a", "b")},
        (),
        Options(concurrency=concurrency, stop_when_decided=rule or StopWhen()),
        scorers_of={"a vs b": (prefers_longer,)},
    )


prefers_longer.score_infos = (ScoreInfo("preference", (0, 1)),)


def test_a_pair_shows_both_answers_of_its_own_evaluation():
    a, b, pair = evaluate_suite(pair_suite(n=30))
    answers = [{record.sample.id: record.output.value for record in run.records()} for run in (a, b)]
    for record in pair.records():
        assert record.output.value == {"A": answers[0][record.sample.id], "B": answers[1][record.sample.id]}
        assert record.output.metadata["A"] == {"run": a.id, "failure": "", "finish": ""}
    assert pair.manifest["target"]["pair"] == {"first": "a", "second": "b", "names": [], "transcripts": False}
    assert a.summary().scores == ()
    assert pair.summary().primary == "preference"


def test_a_side_that_failed_or_refused_is_shown_as_such():
    def failing(sample):
        if sample.id == "s0":
            raise ValueError("no")
        return Output("no", metadata={"finish": "refusal"}) if sample.id == "s1" else "fine"

    suite = pair_suite(n=3, a=failing, b=words(0.5, 1))
    options = Options(max_errors=1)
    _, _, pair = evaluate_suite(
        Suite(suite.name, suite.kind, suite.samples, suite.targets, (), options, scorers_of=suite.scorers_of)
    )
    failures = [record.output.metadata["A"]["failure"] for record in pair.records()]
    assert failures == ["error: ValueError", "refused", ""]
    assert [record.output.value["A"] for record in pair.records()] == [None, None, "fine"]


def test_a_pair_of_stored_runs_is_judged_without_asking_them():
    a, b, _ = evaluate_suite(pair_suite(n=20))
    suite = Suite("again", "pairwise", samples(22), {"both": Pair(a.id, b.id)}, (prefers_longer,))
    (run,) = evaluate_suite(suite)
    result = list(run.records())
    assert [record.output.metadata["B"]["failure"] for record in result[-3:]] == ["", "missing", "missing"]
    assert run.summary().score().not_applicable == 2


def test_a_pair_of_nothing_that_is_known_is_refused():
    with pytest.raises(ConfigError, match="nowhere"):
        evaluate_suite(Suite("s", "pairwise", samples(2), {"p": Pair("nowhere", "else")}, (prefers_longer,)))
    with pytest.raises(ConfigError, match="must come before it"):
        evaluate_suite(
            Suite(
                "s",
                "pairwise",
                samples(2),
                {"p": Pair("a", "b"), "a": words(1, 1), "b": words(0, 1)},
                (prefers_longer,),
            )
        )
    with pytest.raises(ConfigError, match="two different targets"):
        evaluate_suite(Suite("s", "pairwise", samples(2), {"p": Pair("a", "a")}, (prefers_longer,)))


@pytest.mark.parametrize("question", ["full", "population"])
def test_a_decided_preference_saves_answers_as_well(question):
    result = []
    for concurrency in (1, 32):
        runs = evaluate_suite(pair_suite(StopWhen(question), concurrency=concurrency), how=RunConfig(fresh=True))
        a, b, pair = runs
        assert {run.state for run in runs} == {"finished"}
        assert pair.stopping.side == "above"
        assert pair.stopping.used < 100
        assert pair.done - pair.stopping.used < concurrency
        assert max(a.done, b.done) - pair.stopping.used <= 2 * concurrency
        result.append(
            (pair.stopping.used, pair.stopping.path, [row[:6] for row in pair.data().scores.judged_rows("preference")])
        )
    assert result[0] == result[1]
    with Store() as store:
        assert verify(store).is_sound  # the sides are finished with fewer records than planned, and that is right


def test_a_judged_evaluation_that_is_stopped_anywhere_ends_the_same():
    rule = StopWhen("full")
    suite = pair_suite(rule, concurrency=4, a=words(0.6, 1), b=words(0.4, 2))
    *_, calm = evaluate_suite(suite, how=RunConfig(fresh=True))

    for at in (2, 15, 40, 70):
        runs = interrupted(suite, at)
        assert {run.state for run in runs} == {"interrupted"}, at
        with Store() as store:
            *_, resumed = evaluate_suite(suite, how=RunConfig(resume=runs[0].id))
            assert resumed.state == "finished", at
            assert resumed.stopping.path == calm.stopping.path, at
            assert store.run(resumed.id).stopping.used == calm.stopping.used, at


def test_a_run_that_breaks_ends_those_that_wait_for_it():
    def broken(sample):
        raise ValueError("never")

    runs = evaluate_suite(pair_suite(StopWhen("full"), a=broken, b=words(0.5, 1)), on_broken="return")
    assert {run.state for run in runs} == {"broken"}
    assert {run.stopping for run in runs} == {None}


def test_a_stored_run_of_other_samples_is_refused_before_anything_is_asked():
    a, *_ = evaluate_suite(pair_suite(n=5))
    rest = [Sample(f"other{n}", "?", "yes") for n in range(3)]
    requests = []
    targets = {"new": requests.append, "new vs old": Pair("new", a.id)}
    with pytest.raises(ConfigError, match=rf"run {a.id} \(a\) has none of these samples"):
        evaluate_suite(Suite("s", "pairwise", rest, targets, (), scorers_of={"new vs old": (prefers_longer,)}))
    assert requests == []


def test_an_answer_to_another_question_of_the_same_id_is_no_answer():
    a, b, _ = evaluate_suite(pair_suite(n=4))
    changed = [Sample("s0", "another question", "yes"), *samples(4)[1:]]
    (run,) = evaluate_suite(Suite("again", "pairwise", changed, {"both": Pair(a.id, b.id)}, (prefers_longer,)))
    assert [record.output.metadata["A"]["failure"] for record in run.records()] == ["missing", "", "", ""]


def test_other_scores_of_a_stopped_run_have_no_interval():
    class Long:
        score_infos = (ScoreInfo("long"),)

        def __call__(self, sample, output):
            return Score("long", float(len(output.value) > 2))

    (run,) = evaluate_suite(stopping_suite({"good": solver(0.85)}, FULL, scorers=(ExactMatch(), Long())))
    summary = run.summary()
    assert summary.score("exact_match").headline.interval == run.stopping.interval
    assert summary.score("exact_match").with_errors.interval is None
    assert summary.score("long").headline.interval is None
    assert "no interval" in summary.score("long").note


def test_scored_otherwise_a_stopped_run_claims_nothing_any_more():
    (run,) = evaluate_suite(stopping_suite({"good": solver(0.9)}, FULL))
    assert run.stopping.side == "above"

    def exact_match(sample, output):
        return output.value != "yes"

    with Store() as store:
        again, _ = rescore(store, store.run(run.id), [exact_match])
        summary = again.summary()
    assert (again.stopping.side, again.stopping.used, tuple(again.stopping.interval)) == ("", run.stopping.used, (0, 1))
    assert summary.score("exact_match").headline.value < 0.5
    assert tuple(summary.score("exact_match").headline.interval) == (0, 1)
    assert "cannot be distinguished" in summary.stopping.sentence
