"""Whether claims without passages are unsupported depends on the other records of a run, whatever their order."""

from __future__ import annotations

import pytest

from steelyard import Judge, Output, Sample, Scripted, Store, evaluate
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.evaluation.rescore import rescore
from steelyard.scorers import ClaimFaithfulness, Faithfulness
from steelyard.store.repair import verify

JUDGES = {
    "faithfulness": Faithfulness(Judge(Scripted(default="Verdict: YES"))),
    "claim_faithfulness": ClaimFaithfulness(Judge(Scripted(default="1. It costs 3 euros."))),
}
SAMPLES = [Sample(str(number), "What does it cost?", group="ab"[number % 2]) for number in range(8)]


def run_of(where, name, *, retrieves, answer="It costs 3 euros."):
    """A run over eight questions; passages come back for those in `retrieves`."""

    def bot(sample):
        return Output(answer, ("It costs 3 euros.",) if int(sample.id) in retrieves else ())

    return evaluate(bot, SAMPLES, [JUDGES[name]], store=str(where), fresh=True)


@pytest.mark.parametrize("retrieves", [{0}, {7}, {2, 3}])
def test_a_claim_without_passages_is_unsupported_where_others_have_some(where, retrieves):
    run = run_of(where, "faithfulness", retrieves=retrieves)
    score = run.summary().score()
    assert (score.scored, score.answered.value) == (8, len(retrieves) / 8)
    assert run.summary().matching_warning() == ""


@pytest.mark.parametrize("name", JUDGES)
def test_where_no_record_has_passages_the_score_applies_to_none(where, name):
    run = run_of(where, name, retrieves=())
    summary = run.summary()
    score = summary.score(name)
    assert (score.scored, score.not_applicable) == (0, 8)
    assert summary.records.lacking == {name: {"passages": {"a": 4, "b": 4}}}
    assert "no passages came back in any of 8 records" in summary.matching_warning()
    assert summary.matching_warning() in str(summary)
    (result,) = judge_gate({name: ">= 0"}, [summary]).results
    assert (result.state, result.notes) == ("unscored", (summary.matching_warning(),))
    (of_group,) = judge_gate({f"{name}[b]": ">= 0"}, [summary]).results
    assert of_group.state == "unscored"


def test_abstentions_are_no_evidence_of_passages(where):
    assert run_of(where, "faithfulness", retrieves=(), answer="I do not know.").summary().score().scored == 0


@pytest.mark.parametrize(("retrieves", "values"), [((), 0), ({1}, 8)])
def test_scoring_again_and_checking_the_store_agree(where, retrieves, values):
    run = run_of(where, "faithfulness", retrieves=retrieves)
    with Store(where) as store:
        assert verify(store).is_sound
        again, damaged = rescore(store, store.run(run.id), [JUDGES["faithfulness"]])
        assert (again.summary().score().scored, damaged) == (values, 0)
        assert [record.scores[0].value for record in again.records()].count(0.0) == max(values - 1, 0)
