"""Runs that end when something is decided, where what was decided is looked at again: nobody waits for ever."""

import asyncio

import pytest

from steelyard import ExactMatch, Options, Sample, Score, ScoreInfo, Store, Suite, aevaluate_suite
from steelyard.evaluation import RunConfig
from steelyard.evaluation.decision import DrawnOrder
from steelyard.evaluation.objects import StopWhen
from steelyard.targets.replay import Pair

N = 120


def ended(suite, **how):
    """The runs of a suite, which must come to an end."""

    async def work():
        async with asyncio.timeout(60):
            return await aevaluate_suite(suite, how=RunConfig(**how), on_broken="return")

    return asyncio.run(work())


def said(right):
    async def target(sample):
        await asyncio.sleep(0)
        return "yes" if right(int(sample.id[1:])) else "no"

    return target


class Failing:
    """Prefers A, but for every other sample, where it fails until it is mended and then prefers B."""

    score_infos = (ScoreInfo("preference", (0, 1)),)

    def __init__(self):
        self.mended = False

    def __call__(self, sample, output):
        if int(sample.id[1:]) % 2:
            return Score("preference", 1.0)
        if not self.mended:
            raise ValueError("not now")
        return Score("preference", 0.0)


def judged_suite(scorer, **options):
    targets = {"a": said(bool), "b": said(bool), "a vs b": Pair("a", "b")}
    rule = StopWhen("population")
    samples = [Sample(f"s{k}", f"question {k}", "yes") for k in range(N)]
    return Suite(
        "s",
        "pairwise",
        samples,
        targets,
        (),
        Options(concurrency=4, stop_when_decided=rule, **options),
        scorers_of={"a vs b": (scorer,)},
    )


@pytest.mark.parametrize("concurrency", [1, 3, 32])
def test_a_cluster_may_be_larger_than_the_concurrency(concurrency):
    samples = [Sample(f"s{k}", f"question {k}", "yes", cluster=f"c{k // 20}") for k in range(N)]
    options = Options(concurrency=concurrency, stop_when_decided=StopWhen("population", threshold=0.5))
    (run,) = ended(Suite("s", "custom", samples, {"t": said(lambda k: k % 3)}, (ExactMatch(),), options))
    assert (run.state, run.stopping.used, run.stopping.side) == ("finished", N, "")


def test_sides_wait_for_a_judge_that_is_to_go_on():
    scorer = Failing()
    a, b, pair = ended(judged_suite(scorer))
    assert pair.state == "broken"
    assert (a.state, b.state) == ("interrupted", "interrupted")
    assert a.reason == "a vs b is not finished, and may need more samples of a"
    assert a.done < N

    scorer.mended = True
    a, b, pair = ended(judged_suite(scorer), resume=pair.id)
    assert [run.state for run in (a, b, pair)] == ["finished"] * 3
    assert (pair.stopping.side, pair.stopping.used) == ("", N)


def test_a_target_waits_for_another_that_is_to_be_asked_again():
    broken = [True]

    def first(sample):
        if broken[0] and int(sample.id[1:]) % 2:
            raise ValueError("not now")
        return "no" if int(sample.id[1:]) % 4 else "yes"

    targets = {"first": first, "good": said(lambda k: True), "like it": said(lambda k: k % 4 == 0)}
    samples = [Sample(f"s{k}", f"question {k}", "yes") for k in range(N)]
    options = Options(concurrency=2, max_errors=0.3, stop_when_decided=StopWhen("full"))
    suite = Suite("s", "custom", samples, targets, (ExactMatch(),), options)
    runs = ended(suite)
    assert "finished" not in {run.state for run in runs}
    broken[0] = False
    first, good, _ = ended(suite, resume=runs[0].id)
    assert (first.state, good.state, good.stopping.side) == ("finished", "finished", "above")
    assert first.stopping is not None


def test_a_decision_ends_where_a_run_that_has_ended_gives_no_more():
    scorer = Failing()
    a, _, pair = ended(judged_suite(scorer))
    with Store() as store:
        store.reopen_run(store.run(a.id), manifest=a.manifest, planned=N).finish("finished", "", 0.0)
    scorer.mended = True
    again, _, pair = ended(judged_suite(scorer), resume=pair.id)
    assert again.done == a.done
    assert (pair.state, pair.stopping.side) == ("finished", "")
    assert pair.stopping.used <= a.done < pair.stopping.planned
    assert "cannot be distinguished" in pair.stopping.sentence


def test_failed_samples_that_nobody_asks_again_are_counted_as_stored():
    failing = [True]

    async def target(sample):
        await asyncio.sleep(0)
        if failing[0] and int(sample.id[1:]) % 3 == 0:
            raise ValueError("not now")
        return "yes"

    samples = [Sample(f"s{k}", f"question {k}", "yes") for k in range(N)]
    rule = StopWhen("population", threshold=0.6)

    def suite(concurrency):
        options = Options(concurrency=concurrency, max_errors=0.05, stop_when_decided=rule)
        return Suite("s", "custom", samples, {"t": target}, (ExactMatch(),), options)

    (run,) = ended(suite(32))
    assert run.state == "broken"
    failing[0] = False
    (run,) = ended(suite(1), resume=run.id)
    result = run.stopping
    assert (run.state, result.side) == ("finished", "above")
    assert run.errors > 0
    assert result.used + result.beyond == run.done
    assert len(list(run.data().scores.rows())) == result.used


@pytest.mark.parametrize("concurrency", [1, 12])
def test_what_failed_beyond_a_decision_does_not_break_a_run(concurrency):
    samples = [Sample(f"s{k}", f"question {k}", "yes") for k in range(N)]
    first = {samples[no].id for no in DrawnOrder.of(samples, 0, clustered=False).places[:9]}

    async def target(sample):
        if sample.id not in first:
            raise ValueError("no more")
        await asyncio.sleep(0.01)
        return "yes"

    options = Options(concurrency=concurrency, max_errors=0.1, stop_when_decided=StopWhen("population", threshold=0.5))
    (run,) = ended(Suite("s", "custom", samples, {"t": target}, (ExactMatch(),), options))
    assert (run.state, run.stopping.used) == ("finished", 9)
    assert run.errors == run.stopping.beyond
    assert (run.errors > 0) == (concurrency > 1)


def test_a_target_that_no_pair_shows_is_asked_everything():
    scorer = Failing()
    suite = judged_suite(scorer)
    targets = {"idle": said(bool), **suite.targets}
    rule = StopWhen("population")
    options = Options(concurrency=4, max_errors=1, stop_when_decided=rule)
    runs = ended(Suite("s", "pairwise", suite.samples, targets, (), options, scorers_of={"a vs b": (scorer,)}))
    assert [run.state for run in runs] == ["finished"] * 4
    assert (runs[0].done, runs[0].stopping) == (N, None)
    assert runs[-1].stopping.side == "above"
