"""Scorers that run the user's own code: by import path, or as a program that has to be allowed."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from steelyard import ConfigError, Output, Sample, Suite, evaluate
from steelyard.building.build import build_row_scorer, build_scorer
from steelyard.constraints import check_options
from steelyard.evaluation.dry_run import estimate
from steelyard.scorers import Command

SAMPLES = [Sample("1", "?", "Paris")]


def run_of(given, output="Paris", **options):
    run = evaluate(lambda _: output, SAMPLES, [build_scorer(given, "scorers[0]")], on_broken="return", **options)
    (record,) = run.records()
    return record


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "own_checks.py").write_text(
        "from steelyard import Score\n"
        "def same(output, expected): return output == expected\n"
        "def long(output): return len(output) / 10\n"
        "def both(sample, output): return [Score('a', 1.0), Score('b', float(sample.id == '1'))]\n"
    )


@pytest.mark.parametrize(
    ("name", "scores"), [("same", {"same": 1.0}), ("long", {"long": 0.5}), ("both", {"a": 1.0, "b": 1.0})]
)
def test_a_function_is_given_what_its_parameters_name(module, name, scores):
    record = run_of({"function": f"own_checks:{name}"})
    assert {score.name: score.value for score in record.scores} == scores


def test_a_dry_run_does_not_import_the_module_of_a_function(module, tmp_path):
    (tmp_path / "costly_checks.py").write_text("raise RuntimeError('imported')\ndef close(output): return True\n")
    suite = Suite(
        "S", "custom", SAMPLES, {"t": lambda _: "x"}, (build_scorer({"function": "costly_checks:close"}, "a"),)
    )
    (estimated,) = asyncio.run(estimate(suite))
    assert estimated.calls == 0


def test_a_function_that_is_not_there_is_refused(module):
    with pytest.raises(ConfigError, match="own_checks:sam"):
        build_scorer({"function": "own_checks:sam"}, "a")


@pytest.mark.parametrize("given", [{"function": "os:getcwd"}, {"command": ["true"]}, {"not": {"command": ["true"]}}])
def test_rows_run_no_code(given):
    with pytest.raises(ConfigError, match="runs code"):
        build_row_scorer(given, "rows.jsonl, row 1")


@pytest.mark.parametrize("given", [{"function": "{{f}}"}, {"command": ["grep", "{{word}}"]}])
def test_no_column_reaches_code(given):
    with pytest.raises(ConfigError, match="cannot stand here"):
        build_scorer(given, "scorers[0]")


def test_a_command_is_off_unless_it_is_allowed():
    for given in ({"command": ["true"]}, {"any_of": [{"command": ["true"]}]}):
        with pytest.raises(ConfigError, match="is run only with --allow-commands"):
            run_of(given)


def test_a_command_reads_the_output_and_ends_with_its_verdict(monkeypatch):
    monkeypatch.setenv("STEELYARD_TEST_KEY", "secret")
    code = "import sys; text = sys.stdin.read(); print('read'); print(text.upper()); sys.exit(text != 'Paris')"
    given = {"command": ["python3", "-c", code]}
    (score,) = run_of(given, allow_commands=True).scores
    assert (score.value, score.passed, score.reason) == (1, True, "PARIS")
    (score,) = run_of(given, "$(touch x); `id`", allow_commands=True).scores
    assert (score.value, score.reason, score.detail) == (0, "$(TOUCH X); `ID`", {"code": 1})
    (score,) = run_of(
        {"command": ["python3", "-c", "import os; print(os.environ.get('STEELYARD_TEST_KEY'))"]}, allow_commands=True
    ).scores
    assert score.reason == "None"


def test_a_command_and_what_it_has_started_are_killed_at_the_limit(tmp_path):
    mark = tmp_path / "pid"
    started_too = "p = subprocess.Popen(['sleep', '60'])"
    code = f"import subprocess,time; {started_too}; open({str(mark)!r}, 'w').write(str(p.pid)); time.sleep(60)"
    started = time.monotonic()
    (score,) = run_of({"command": ["python3", "-c", code], "timeout_s": 2}, allow_commands=True).scores
    assert time.monotonic() - started < 20
    assert (score.outcome, score.detail) == ("unparsed", {"kind": "timeout"})
    stat = Path(f"/proc/{mark.read_text()}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


@pytest.mark.parametrize("command", [(), "ls -l", ("no-such-program",), ("true", "")])
def test_a_command_is_a_list_that_begins_with_a_program(command):
    with pytest.raises(ConfigError, match="command"):
        check_options(Command(command))


def test_output_and_environment_are_what_a_program_gets():
    assert "PATH" in os.environ
    assert Command(("cat",))(SAMPLES[0], Output("a\nlast line")).reason == "last line"
