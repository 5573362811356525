"""The workflows and the commit hook of examples/ci: their commands exist, and do what is said of them."""

import re
import shlex
from pathlib import Path
from string import Template
from xml.etree import ElementTree as ET

import pytest
import typer
from ruamel.yaml import YAML

from steelyard.cli.app import build_app

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/ci"


def read(name):
    return YAML(typ="safe").load((EXAMPLES / name).read_text(encoding="utf-8"))


def commands(job):
    return [step["run"] for step in job["steps"] if step.get("run", "").startswith("steelyard ")]


JOB = read("steelyard.yml")["jobs"]["exam"]
REUSABLE = read("reusable.yml")
OWN = commands(JOB)
SHARED = commands(REUSABLE["jobs"]["evaluate"])
[HOOK] = read("pre-commit-config.yaml")["repos"][0]["hooks"]
MOST_OF_A_COMMENT = 65_536
"""Characters of a comment on a pull request."""
COMMANDS = typer.main.get_command(build_app()).commands


@pytest.mark.parametrize("line", [*OWN, *SHARED, HOOK["entry"]])
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


def test_the_reusable_workflow_runs_a_configuration_as_its_steps_say(steelyard, tmp_path):
    steelyard("init", tmp_path / "quiz", "--suite", "choice")
    given = {"CONFIG": str(tmp_path / "quiz" / "choice.yaml"), "OPTIONS": "--no-env"}
    for line in SHARED:
        words = [word for part in shlex.split(line)[1:] for word in shlex.split(Template(part).substitute(given))]
        steelyard(*words)
    assert ET.parse("junit.xml").getroot().find(".//testcase") is not None
    assert len(Path("summary.md").read_text(encoding="utf-8")) < MOST_OF_A_COMMENT
    assert Path("report.html").stat().st_size > 0


def test_nothing_that_a_caller_gives_is_pasted_into_a_script():
    for step in REUSABLE["jobs"]["evaluate"]["steps"]:
        assert "${{" not in step.get("run", "")
    assert set(REUSABLE["on"]["workflow_call"]["inputs"]) == {"config", "install", "options"}


def test_the_commit_hook_checks_every_configuration_that_it_is_given(steelyard, tmp_path):
    for name in ("one", "two"):
        steelyard("init", tmp_path / name, "--suite", "choice")
        (tmp_path / name / "choice.yaml").rename(tmp_path / name / "exam.yaml")
    paths = [tmp_path / "one" / "exam.yaml", tmp_path / "two" / "exam.yaml"]
    assert all(re.search(HOOK["files"], str(path)) for path in paths)
    steelyard(*shlex.split(HOOK["entry"])[1:], *paths)
    paths[0].write_text("suite: chioce", encoding="utf-8")
    failed = steelyard(*shlex.split(HOOK["entry"])[1:], *paths, code=2)
    assert "did you mean 'choice'" in failed.err
    assert f"{paths[1]} is valid" in failed.out
