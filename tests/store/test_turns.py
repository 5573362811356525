"""Conversations in both kinds of store: turns, their rates by conversation, their passages, and two runs compared."""

import pytest

from steelyard import Output, Sample, Store, compare, evaluate
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.scorers import ExactMatch, PerTurn
from steelyard.targets import SimulatedUser

TURNS = {"a": ["x", "y", "Z"], "b": ["X"], "c": ["x", "Y"], "d": ["x", "x", "x", "x"]}
CONVERSATIONS = [
    Sample(name, [{"role": "user", "content": word} for word in words], metadata={"turn_references": words})
    for name, words in TURNS.items()
]
SCORE = "exact_match_per_turn"


def parrot(sample):
    """Says the user's last word again; a word in capitals is said wrongly."""
    word = sample.input[-1]["content"]
    return Output("wrong" if word.isupper() else word, contexts=(f"about {word}",))


def worse(sample):
    return Output("wrong") if len(sample.input) > 1 else parrot(sample)


@pytest.fixture
def runs(where):
    """Two runs of the same conversations, as a store read them again."""
    evaluated = [
        evaluate(SimulatedUser(target), CONVERSATIONS, [PerTurn(ExactMatch())], store=where)
        for target in (parrot, worse)
    ]
    with Store(where) as store:
        yield [store.run(run.id) for run in evaluated]


def test_turns_are_rated_by_conversation_and_keep_their_passages(runs):
    (turns,) = runs[0].summary().details.turns
    assert (turns.score.headline.value, turns.score.headline.n, turns.conversations) == (0.7, 10, 4)
    assert [each.headline.value for each in turns.by_turn] == [0.75, pytest.approx(2 / 3), 0.5, 1.0]
    kept = {record.sample.id: record.output for record in runs[0].records()}
    assert kept["a"].contexts == ("about x", "about y", "about Z")
    assert kept["d"].metadata["conversation"]["contexts"] == [[0], [0], [0], [0]]


def test_two_runs_are_compared_by_conversation_and_a_gate_looks_at_their_turns(runs):
    (pair,) = compare(*runs, score=SCORE).pairs
    (difference,) = pair.further.turns
    assert difference.difference.difference == pytest.approx(-0.4)
    (result,) = judge_gate({SCORE: ">=! 0.1"}, [runs[0].summary()]).results
    assert (result.value, result.state) == (0.7, "holds")
