"""The nine jobs of examples/general from Python: what their configurations count, line by line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples import nine_jobs

from steelyard import evaluate_suite
from steelyard.config.load import load
from steelyard.from_python.evaluate import Runs

EXAMPLE = Path(__file__).parents[2] / "examples" / "general"
JOBS = {
    "1-classify": (nine_jobs.classify, {"accuracy"}),
    "2-extract": (nine_jobs.extract, {"json_fields", "field_date", "field_total", "field_vendor"}),
    "3-summarise": (nine_jobs.summarise, {"quality", "length", "no_ai_talk"}),
    "4-translate": (nine_jobs.translate, {"chrf", "adequacy"}),
    "5-grid": (nine_jobs.grid, {"accuracy"}),
    "6-chat": (nine_jobs.chat, {"goal_reached", "contains_per_turn"}),
    "7-agent": (nine_jobs.agent, {"tool_calls", "tool_recall", "agent_steps", "agent_cost"}),
    "8-code": (nine_jobs.code, {"python_test"}),
    "9-rows": (nine_jobs.rows, {"checks"}),
}
"""Configuration -> the same in Python, and the scores that both have with the same options."""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example with its server on a free port, and the address."""
    copy = tmp_path_factory.mktemp("jobs") / "general"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".steelyard"))
    with subprocess.Popen([sys.executable, EXAMPLE / "server.py", "0"], stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip().removesuffix("/v1")
        for file in copy.glob("*.yaml"):
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("http://127.0.0.1:8391", address), encoding="utf-8")
        yield copy, address
        process.terminate()


@pytest.fixture
def served(example, monkeypatch):
    """The address of the server, in the example's folder."""
    folder, address = example
    monkeypatch.chdir(folder)
    return address


def counted(run, scores):
    """Score -> how many values there are, and their sum."""
    values = {
        name: [score.value for record in run.records() for score in record.scores if score.name == name]
        for name in scores
    }
    return {
        name: (sum(value is not None for value in of_score), round(sum(value or 0 for value in of_score), 9))
        for name, of_score in values.items()
    }


@pytest.mark.parametrize("name", JOBS)
def test_each_job_counts_from_python_what_its_configuration_counts(served, name):
    job, scores = JOBS[name]
    made = job(served)
    runs = made if isinstance(made, Runs) else Runs([made])
    configured = evaluate_suite(load(Path(f"{name}.yaml"), environ=os.environ).suite, progress=False)
    by_target = {run.target: run for run in configured}
    assert len(runs) >= 1
    for run in runs:
        assert (run.state, run.errors) == ("finished", 0)
        wanted = by_target.get(run.target) or by_target["small"]
        found = counted(run, scores)
        assert found == counted(wanted, scores)
        assert all(n for n, _ in found.values())


def test_the_grid_is_compared_alike_and_says_which_to_ship(served, tmp_path):
    runs = nine_jobs.grid(served)
    suite = load(Path("5-grid.yaml"), environ=os.environ).suite
    configured = evaluate_suite(suite, store=tmp_path / "priced.db", progress=False)
    found, wanted = runs.compare().grid, Runs(configured).compare().grid
    assert [cell.mean for cell in found.cells] == [cell.mean for cell in wanted.cells]
    assert [(pair.prompt, pair.model, pair.verdict) for pair in found.prompts] == [
        ("chatty", "", "worse"), ("chatty", "small", "worse"), ("chatty", "medium", "worse"),
        ("chatty", "large", "worse"),
    ]  # fmt: skip
    assert found.best == wanted.best == "terse@large"
    assert wanted.cells[0].cost is not None


def test_objects_of_scorers_do_as_names_do(served):
    by_name, by_object = nine_jobs.chat(served)[0], nine_jobs.chat_with_objects(served)
    assert counted(by_object, {"goal_reached"}) == counted(by_name, {"goal_reached"})
