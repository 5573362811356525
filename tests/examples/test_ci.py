"""The example workflow calls commands and options that there are."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from ruamel.yaml import YAML

from steelyard.cli.app import build_app

WORKFLOW = Path(__file__).resolve().parents[2] / "examples/ci/steelyard.yml"
JOB = YAML(typ="safe").load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["exam"]
OWN = [step["run"] for step in JOB["steps"] if step.get("run", "").startswith("steelyard ")]
COMMANDS = typer.main.get_command(build_app()).commands


@pytest.mark.parametrize("line", OWN)
def test_every_command_of_the_workflow_is_one_of_ours(line):
    _, name, *words = shlex.split(line)
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert [word for word in words if word.startswith("--") and word not in known] == []


def test_the_summary_that_is_posted_is_the_one_that_is_written():
    [run] = [line for line in OWN if line.startswith("steelyard run")]
    written = re.search(r"--markdown (\S+)", run)[1]
    posted = [step["run"] for step in JOB["steps"] if "gh pr comment" in step.get("run", "")]
    assert len(posted) == 1
    assert f"--body-file {written}" in posted[0]


def test_the_summary_is_posted_where_the_gate_does_not_hold_too():
    [post] = [step for step in JOB["steps"] if "gh pr comment" in step.get("run", "")]
    assert post["if"].startswith("always()")
