"""What is kept of a run while it runs: sums of scores equal to its summary, whatever was replaced, and retries."""

from __future__ import annotations

import pytest
from tests.store.test_store import new

from steelyard import Options, Output, Prompt, Record, Sample, Score, Store, Suite, evaluate, evaluate_suite
from steelyard.analysis.comparison.alignment import contents, metadata_keys, metadata_values
from steelyard.analysis.comparison.costs import sample_costs
from steelyard.analysis.comparison.sample_scores import hashes_by_id
from steelyard.analysis.scores.score_infos import RunningScore, headline_score
from steelyard.evaluation.evaluate import RunConfig
from steelyard.models.base import Fault
from steelyard.models.limits import Retry
from steelyard.models.scripted import Scripted
from steelyard.scorers.lexical import ExactMatch
from steelyard.store.counters import CountRetry, running_score
from steelyard.store.records import pack_sample
from steelyard.types import Failure, ScoreInfo

SAMPLES = [Sample(f"q{no}", f"Question {no}?", str(no), metadata={"code": no, "odd": None}) for no in range(4)]


def sums_of(store, run):
    with store.reading() as connection:
        sums = {name: running_score(connection, run.num, name) for name in ("right", "length")}
    return {name: score for name, score in sums.items() if score != RunningScore()}


def record(no, value, *, failed=False):
    scores = [Score("right", None, outcome="unparsed") if value is None else Score("right", value)]
    scores += [Score("length", 4.0)] if no % 2 else [Score("length", None, outcome="not_applicable")]
    failure = Failure("target", "timeout", "late") if failed else None
    return Record(Sample(f"s{no}", "?"), None if failed else Output("x"), () if failed else tuple(scores), {}, failure)


@pytest.fixture
def written(where):
    """A run of six records in two batches: two right, one wrong, one unparsed, one refused, one failed."""
    with Store(where, create_missing=True) as store:
        _, (writer,) = store.begin_evaluation([new()])
        for no, value in enumerate((1.0, 1.0, 0.0, None)):
            writer.insert(no, record(no, value))
        writer.insert(4, record(4, 1.0, failed=True))
        store.writer.change(lambda batch: None)
        writer.insert(5, Record(Sample("s5", "?"), Output("x"), (Score("right", None, outcome="refused"),), {}, None))
        store.writer.change(lambda batch: None)
        yield store, writer


def test_sums_are_those_of_all_batches(written):
    store, writer = written
    assert sums_of(store, writer.run) == {
        "right": RunningScore(scored=3, unparsed=1, refused=1, total=2.0),
        "length": RunningScore(scored=2, not_applicable=2, off_unit=2, total=8.0),
    }


def test_a_record_that_replaces_another_takes_its_scores_away(written):
    store, writer = written
    writer.insert(4, record(4, 1.0), replaces=True)
    writer.insert(0, record(0, 0.0), replaces=True)
    store.writer.change(lambda batch: None)
    assert sums_of(store, writer.run)["right"] == RunningScore(scored=4, unparsed=1, refused=1, total=2.0)
    assert sums_of(store, writer.run)["length"] == RunningScore(scored=2, not_applicable=3, off_unit=2, total=8.0)


def test_the_mean_so_far_is_the_headline_of_the_summary(written):
    store, writer = written
    writer.finish("interrupted", "", 1.0)
    run = store.run(writer.run.id)
    for summary in run.summary().scores:
        running = sums_of(store, run).get(summary.name, RunningScore())
        assert running.mean(run.score_infos.get(summary.name)) == pytest.approx(summary.headline.value), summary.name
        assert running.is_share(run.score_infos.get(summary.name)) == summary.is_share, summary.name


def test_the_last_failures_come_in_the_order_of_samples(where):
    with Store(where, create_missing=True) as store:
        _, (writer,) = store.begin_evaluation([new()])
        for no in range(10):
            writer.insert(no, record(no, 1.0, failed=no in {1, 4, 7, 8}))
        writer.finish("finished", "", 1.0)
        run = store.run(writer.run.id)
        assert [failed.sample.id for failed in run.last_failures(3)] == ["s4", "s7", "s8"]
        assert run.last_failures(3)[0].failure.message == "late"


class Limited(Scripted):
    """Refuses the first sending of each call with 429, and every third call once more with a server error."""

    name = "slow-model"

    def read(self, answer):
        count = COUNTS[answer.body] = COUNTS.get(answer.body, 0) + 1
        if count == 1:
            raise Fault("rate_limit", "429", wait_asked_s=0.0)
        if count == 2 and answer.body.endswith(b"0"):
            raise Fault("server", "503")
        return super().read(answer)


COUNTS = {}


def test_attempts_that_were_sent_again_are_counted_by_model_and_fault(where):
    COUNTS.clear()
    model = Limited(function=lambda turns: turns[-1]["content"])
    suite = Suite(
        "s", "custom", [Sample(f"q{n}", f"{n}") for n in range(20)], {"t": Prompt(model, "{{question}}")}, (),
        Options(retry=Retry(base_s=0.001)),
    )  # fmt: skip
    [run] = evaluate_suite(suite, how=RunConfig(store=where))
    assert run.state == "finished"
    with Store(where) as store:
        consumed = store.consumption(run.evaluation)
        store.writer.change(
            lambda batch: CountRetry.apply(batch, [CountRetry(run.evaluation, f"m{n}", "late") for n in range(200)])
        )
        assert len(store.consumption(run.evaluation).retries) == 100
    assert list(consumed.retries.items()) == [(("slow-model", "rate_limit"), 20), (("slow-model", "server"), 2)]


def test_a_score_that_leaves_unparsed_replies_out_does_so_from_the_first_record_on():
    running = RunningScore(scored=2, unparsed=2, total=6.0)
    assert running.mean(ScoreInfo("rating", (1.0, 5.0))) == 3.0
    assert running.mean(ScoreInfo("rating", (1.0, 5.0), denominator="all")) == 1.5
    assert RunningScore(unparsed=2).mean(ScoreInfo("rating", (1.0, 5.0))) is None


def test_the_headline_is_the_first_announced_score_where_none_is_primary():
    assert headline_score({"scores": ["", "length", "right"], "primary": ""}) == "length"


@pytest.fixture
def asked(where):
    """What a prompt target asked over SAMPLES; the reply to each question is its number."""
    replies = {f"Question {no}?": f"The answer to this question is {no}." for no in range(4)}
    run = evaluate(Prompt(Scripted(replies), "{{question}}"), SAMPLES, [ExactMatch()], store=where, repeats=2)
    return run.data()


def test_costs_are_the_means_of_a_samples_repeats(asked):
    costs = sample_costs(asked.records, asked.bodies, [2])
    assert list(costs) == [2]
    assert costs[2].calls == 1
    assert isinstance(costs[2].latency, float)
    assert costs[2].output_tokens > 0
    assert costs[2].estimated


def test_a_function_has_no_latency_and_no_calls_but_wall_time(where):
    asked = evaluate(lambda sample: sample.reference, SAMPLES, [ExactMatch()], store=where).data()
    costs = sample_costs(asked.records, asked.bodies, range(4))
    assert {(cost.latency, cost.calls) for cost in costs.values()} == {(None, 0)}
    assert [type(cost.seconds) for cost in costs.values()] == [float] * 4


def test_a_sample_that_failed_costs_nothing_that_could_be_compared(where):
    def fails(sample):
        if sample.id == "q1":
            raise ValueError("no")
        return "0"

    asked = evaluate(fails, SAMPLES, [ExactMatch()], store=where, max_errors=1.0).data()
    costs = sample_costs(asked.records, asked.bodies, range(4))
    assert [asked.scores.samples[number] for number in costs] == ["q0", "q2", "q3"]


def test_content_leaves_id_group_and_metadata_out(asked, tmp_path):
    other = [Sample(f"z{no}", f"Question {no}?", str(no), group="g") for no in range(3)] + [
        Sample("z3", "Question 3?", "4")
    ]
    again = evaluate(lambda sample: "0", other, [ExactMatch()], store=tmp_path / "t.db").data()
    before, after = list(contents(asked.bodies).values()), list(contents(again.bodies).values())
    assert before[:3] == after[:3]
    assert before[3] != after[3]
    assert len(set(before)) == 4


def test_values_of_a_key_are_texts_and_a_missing_one_has_no_entry(asked):
    assert metadata_values(asked.bodies, "code") == {"q0": "0", "q1": "1", "q2": "2", "q3": "3"}
    assert metadata_values(asked.bodies, "odd") == metadata_values(asked.bodies, "nothing") == {}
    assert metadata_keys(asked.bodies) == ["code", "odd"]


def test_the_last_key_of_each_repeat_is_that_of_its_reply(asked):
    numbers, keys = asked.records.last_keys()
    assert numbers.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    replies = asked.bodies.replies({key.tobytes() for key in keys})
    texts = [replies[key.tobytes()].text for key in keys]
    assert texts == [f"The answer to this question is {number}." for number in numbers.tolist()]


def test_hashes_tell_samples_apart_and_are_those_of_the_store(where):
    run = evaluate(lambda sample: "0", SAMPLES, [ExactMatch()], store=where)
    hashes = hashes_by_id(run.data().scores.samples, run.data().hashes)
    assert hashes == {sample.id: f"{pack_sample(sample)[0] % 2**64:016x}" for sample in SAMPLES}
    assert len(set(hashes.values())) == 4
