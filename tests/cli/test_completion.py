"""Completion: what a shell is told, by typer's own protocol, for a line that is being typed."""

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import typer

from steelyard import Sample, evaluate
from steelyard.cli.app import build_app, run_app

COMMANDS = typer.main.get_command(build_app()).commands


def asked(line):
    """What bash asks behind a line whose last word is being typed."""
    return {"_STEELYARD_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}


@pytest.fixture
def press_tab(capfd):
    """(what bash is offered, what stands beside it) by the command line in this process."""

    def press(line):
        capfd.readouterr()
        with mock.patch.dict(os.environ, asked(line)), pytest.raises(SystemExit) as ended:
            run_app([])
        offered, said = capfd.readouterr()
        assert ended.value.code == 0, said
        return offered.split(), said

    return press


def test_the_program_offers_what_the_command_line_does(press_tab, tmp_path):
    line = "steelyard re"
    program = Path(sys.executable).with_name("steelyard")
    done = subprocess.run([program], capture_output=True, text=True, check=True, cwd=tmp_path, env=asked(line))
    assert (done.stdout.split(), done.stderr) == press_tab(line)
    assert done.stderr == ""


def test_the_first_word_is_a_command(press_tab):
    assert sorted(press_tab("steelyard re")[0]) == ["report", "rescore", "resume", "review"]
    assert sorted(press_tab("steelyard ")[0]) == sorted(COMMANDS)


def test_behind_a_command_its_options_and_its_own_words_are_offered(press_tab):
    assert press_tab("steelyard compare --al")[0] == ["--align", "--all-pairs"]
    assert "create" in press_tab("steelyard queue ")[0]


def test_runs_are_named_that_stand_in_the_store_of_the_line(press_tab, steelyard, write, says, tmp_path):
    store = tmp_path / "s.db"
    config = write({"guess": says(), "other": says("B")})
    runs = steelyard("run", config, "--store", store, "-q", "--json", code=0).json()["runs"]
    offered, _ = press_tab(f"steelyard compare --store {store} ")
    assert offered == ["latest", "other", "guess", runs[1]["run"], runs[0]["run"]]
    assert press_tab(f"steelyard show --store {store} ot")[0] == ["other"]


def test_names_that_a_shell_would_evaluate_or_split_are_not_offered(press_tab, tmp_path):
    def answered(_):
        return "A"

    store = tmp_path / "s.db"
    runs = []
    for name in (r"\$(touch here)", r"\`id`", "it's", "two words", "plain"):
        answered.__name__ = name
        runs.insert(0, evaluate(answered, [Sample("1", "?")], [], store=store).id)
    assert press_tab(f"steelyard show --store {store} ")[0] == ["latest", "plain", *runs]


def test_a_password_in_the_line_is_no_reason_to_print_a_warning_into_it(press_tab):
    line = "steelyard show --store postgresql://me:secret@127.0.0.1:1/evals "
    assert press_tab(line) == ([], "")


def test_without_a_store_nothing_is_offered_and_nothing_is_said(press_tab):
    assert press_tab("steelyard show ") == ([], "")


def test_files_are_left_to_the_shell(press_tab):
    assert press_tab("steelyard run ex")[0] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(steelyard, monkeypatch, shell):
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: (shell, f"/bin/{shell}"))  # by the parent process
    assert "_STEELYARD_COMPLETE" in steelyard("--show-completion", code=0).out
