"""What a judge cost is right whatever happened on the way: an empty budget, failed records, scoring again."""

from steelyard import Budget, Options, Prompt, Sample, Score, ScoreInfo, Scripted, Suite, evaluate_suite
from steelyard.evaluation import RunConfig
from steelyard.evaluation.rescore import rescore
from steelyard.store import Store

SAMPLES = [Sample(f"q{no}", f"question {no}", "4") for no in range(12)]


class Rating:
    """Asks twice for each sample; fails on those that `down` names."""

    score_infos = (ScoreInfo("rating", (1, 5)),)

    def __init__(self, down):
        self.down = down
        self.model = Scripted(default="4")

    async def __call__(self, sample, output, ask):
        for turn in ("first", "second"):
            await ask(self.model, [{"role": "user", "content": f"{turn}: {sample.id}"}])
            if sample.id in self.down:
                raise RuntimeError("down")
        return Score("rating", 4.0)


def run_of(scorer, *, resume="", **options):
    suite = Suite("s", "custom", SAMPLES, {"t": Prompt(Scripted())}, (scorer,), Options(max_errors=0.0, **options))
    (run,) = evaluate_suite(suite, how=RunConfig(resume=resume), on_broken="return")
    return run


def costs(run):
    return {stage.stage: (stage.calls, stage.input_tokens, stage.output_tokens) for stage in run.summary().calls.stages}


def test_a_run_that_stopped_on_its_way_costs_in_the_end_what_an_undisturbed_one_does():
    rating = Rating(set())
    stopped = run_of(rating, budget=Budget(calls=17), concurrency=2)
    assert stopped.state != "finished"
    assert 0 < costs(stopped)["rating"][0] < 24
    resumed = run_of(rating, resume=stopped.id)
    assert resumed.state == "finished"
    assert {stage: result[0] for stage, result in costs(resumed).items()} == {"target": 12, "rating": 24}
    assert costs(resumed) == costs(run_of(rating))


def test_records_that_failed_and_are_asked_again_count_once():
    rating = Rating({"q3", "q7"})
    broken = run_of(rating)
    assert broken.errors == 2
    assert {stage: result[0] for stage, result in costs(broken).items()} == {"target": 12, "rating": 22}
    rating.down.clear()
    mended = run_of(rating, resume=broken.id)
    assert mended.errors == 0
    assert {stage: result[0] for stage, result in costs(mended).items()} == {"target": 12, "rating": 24}
    assert sum(entry.calls for entry in mended.summary().calls.stages) == mended.replies


def test_scoring_again_costs_nothing():
    run = run_of(Rating(set()))
    before = costs(run)
    with Store() as store:
        scored, _ = rescore(store, store.run(run.id), [lambda sample, output: 1.0])
        assert costs(scored) == before
