"""What a run asked and took, read sample by sample."""

from __future__ import annotations

import pytest

from steelyard import Prompt, Sample, evaluate
from steelyard.analysis.comparison.alignment import contents, metadata_keys, metadata_values
from steelyard.analysis.comparison.costs import sample_costs
from steelyard.analysis.comparison.sample_scores import hashes_by_id
from steelyard.models.scripted import Scripted
from steelyard.scorers.lexical import ExactMatch
from steelyard.store.records import pack_sample

SAMPLES = [Sample(f"q{no}", f"Question {no}?", str(no), metadata={"code": no, "odd": None}) for no in range(4)]


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
