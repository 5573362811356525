"""The example of agents finds what its agents are written to do wrong, and its data follow from its script."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from steelyard import Store, compare

EXAMPLE = Path(__file__).parents[2] / "examples" / "agents"


def module(name):
    spec = importlib.util.spec_from_file_location(f"agents_{name}", EXAMPLE / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    desk, path = module("desk"), tmp_path_factory.mktemp("agents") / "s.db"
    before, sys.argv = sys.argv, ["desk.py", str(path)]
    try:
        desk.main()
    finally:
        sys.argv = before
    with Store(path) as store:
        yield {f"{run.suite.removeprefix('desk: ')}/{run.target}": run for run in store.runs()}


def test_the_files_are_those_that_the_script_writes(tmp_path, monkeypatch):
    build = module("build")
    monkeypatch.setattr(build, "HERE", tmp_path)
    build.main()
    for name in ("tasks.jsonl", "conversations.jsonl"):
        assert (tmp_path / name).read_text("utf-8") == (EXAMPLE / name).read_text("utf-8")


def test_scorers_of_agents_find_what_each_agent_does_wrong(runs):
    def value(target, score):
        return runs[f"tasks/{target}"].summary().score(score).headline.value

    assert [value("careful", "tool_calls"), value("hasty", "tool_calls")] == [37 / 40, 24 / 40]
    assert [value("careful", "errors_recovered"), value("hasty", "errors_recovered")] == [7 / 8, 3 / 8]
    assert [value("careful", "forbidden_tools"), value("hasty", "forbidden_tools")] == [0, 2 / 40]


def test_rates_over_turns_are_those_that_were_written_and_the_runs_differ(runs):
    careful, hasty = runs["conversations/careful"], runs["conversations/hasty"]
    rates = [run.summary().details.turns[0].score for run in (careful, hasty)]
    assert [(rate.scored, rate.headline.value) for rate in rates] == [
        (40, pytest.approx(34 / 40)), (72, pytest.approx(46 / 72)),
    ]  # fmt: skip
    assert all(rate.headline.interval.low < rate.headline.value < rate.headline.interval.high for rate in rates)
    [turn] = compare(careful, hasty).pairs[0].further.turns
    assert turn.difference.difference == pytest.approx(46 / 72 - 34 / 40)
    assert turn.difference.n == 24
