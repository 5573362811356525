"""Pages on conversations: the rate over all turns of a run, each turn's verdict, and two runs by conversation."""

from __future__ import annotations

import html
import re

import pytest
from tests.command_here import command_here
from tests.viewer.conftest import serving

from steelyard import Sample, Scripted, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers import ErrorJudge, Judge, PerTurn
from steelyard.targets import SimulatedUser


def judged(messages):
    answer = messages[-1]["content"].rsplit("<answer", 1)[1].split("</answer")[0]
    return "It says <b>no</b>.\nVerdict: YES" if "rude" in answer else "Verdict: NO"


def polite(sample):
    return "rude" if len(sample.input) > 2 and sample.id in "ab" else "fine"


def rude(sample):
    return "fine" if len(sample.input) == 1 else "rude"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    store = tmp_path_factory.mktemp("turns") / "s.db"
    samples = [Sample(name, [{"role": "user", "content": text} for text in "xyz"]) for name in "abcdef"]
    scorer = PerTurn(ErrorJudge(Judge(Scripted(function=judged)), "tone", "The answer is rude."))
    targets = {"polite": SimulatedUser(polite), "rude": SimulatedUser(rude)}
    runs = evaluate_suite(Suite("T", "custom", samples, targets, (scorer,)), how=RunConfig(store=store))
    with serving(store) as viewer:
        yield viewer, runs


def test_the_page_of_a_run_shows_the_rate_over_all_turns_and_of_each_turn(served):
    viewer, runs = served
    status, _, text = viewer.ask(f"/run/{runs[0].id}")
    assert status == 200
    assert "Tone per turn: all turns" in text
    assert "Tone per turn by turn: polite" in text
    assert "77.8 %" in text, "14 of 18 turns"
    cells = re.findall(r"(?:[\d.]+ %|>1)(?=</span>)", text)
    assert {"33.3 %", "100.0 %"} <= set(cells), "beside shares, a conversation without a bad turn has one too"
    assert ">1" not in cells


def test_the_page_of_a_sample_shows_the_verdict_and_reason_of_each_turn(served):
    viewer, runs = served
    status, _, text = viewer.ask(f"/run/{runs[0].id}/s/a")
    assert status == 200
    turns = html.unescape(text).split("Turns", 1)[1]
    assert "It says <b>no</b>." in turns
    assert "It says <b>no</b>." not in text, "what a model wrote stays text"


def test_the_page_of_a_comparison_pairs_conversations(served):
    viewer, runs = served
    status, _, text = viewer.ask(f"/compare?a={runs[0].id}&b={runs[1].id}")
    assert status == 200
    assert "Turns of conversations" in text
    assert "33.3 %" in text


def test_the_rates_beside_a_difference_over_turns_are_over_turns_too(tmp_path):
    def samples_of(lengths):
        return [Sample(name, [{"role": "user", "content": text} for text in "xyz"[:n]]) for name, n in lengths.items()]

    scorer = PerTurn(ErrorJudge(Judge(Scripted(function=judged)), "tone", "The answer is rude."))
    targets = {"polite": SimulatedUser(lambda sample: "fine"), "rude": SimulatedUser(rude)}
    suite = Suite("T", "custom", samples_of({"a": 1, "b": 3, "c": 3}), targets, (scorer,))
    polite, rude_run = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        _, _, text = viewer.ask(f"/compare?a={polite.id}&b={rude_run.id}")
    printed = command_here(tmp_path, "compare", polite.id, rude_run.id, "--store", "s.db").out
    assert "42.9 %" in text, "3 of 7 turns, and not the mean of 1, 1/3 and 1/3"
    assert "55.6 %" not in text.partition("Sample by sample")[0]
    assert "3/7" in printed
