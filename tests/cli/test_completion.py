"""Completion: what bash gets for a line that is being typed, and scripts that name every command and option."""

import re
import shutil
import subprocess

import pytest
import typer

from steelyard.cli.app import build_app

COMMANDS = typer.main.get_command(build_app()).commands
SHELLS = {"bash": ("bash", "--norc", "-n"), "zsh": ("zsh", "-n"), "fish": ("fish", "--no-execute")}

PRESS_TAB = """
steelyard() {{ echo "asked: $*" >&2; printf 'latest\\nnotes\\nguess\\nk3m9xq\\n'; }}
source {script}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_steelyard
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def press_tab(steelyard, tmp_path):
    """What bash offers behind a line whose last word is being typed, and how `steelyard` was asked."""
    script = tmp_path / "steelyard.bash"
    script.write_text(steelyard("completion", "bash", code=0).out, encoding="utf-8")

    def press(line):
        words = " ".join(f'"{word}"' for word in line.split(" "))
        code = PRESS_TAB.format(script=script, words=words)
        done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, check=True)
        return done.stdout.split(), done.stderr.strip()

    return press


def test_the_first_word_is_a_command(press_tab):
    assert press_tab("steelyard re")[0] == ["resume", "rescore", "report", "review"]
    assert sorted(press_tab("steelyard ")[0]) == sorted(COMMANDS)


def test_behind_a_command_its_options_and_its_own_words_are_offered(press_tab):
    assert press_tab("steelyard compare --al")[0] == ["--align", "--all-pairs"]
    assert press_tab("steelyard queue ")[0][:1] == ["create"]
    assert press_tab("steelyard completion ")[0] == ["bash", "zsh", "fish"]


def test_runs_are_asked_for_in_the_store_of_the_line(press_tab):
    assert press_tab("steelyard compare notes g") == (["guess"], "")
    offered, _ = press_tab("steelyard show --store my.db ")
    assert offered == ["latest", "notes", "guess", "k3m9xq"]


def test_files_are_left_to_the_shell(press_tab):
    assert press_tab("steelyard run ex")[0] == []
    assert press_tab("steelyard compare --html ")[0] == [], "no run is the value of an option"


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_the_script(steelyard, shell):
    script = steelyard("completion", shell, code=0).out
    for name, command in COMMANDS.items():
        assert re.search(rf"\b{name}\b", script)
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option.lstrip("-") in script, (name, option)
    if shutil.which(shell):
        subprocess.run(SHELLS[shell], input=script, text=True, check=True)


def test_another_shell_is_refused_with_the_ones_there_are(steelyard):
    assert "no script for 'zhs': did you mean 'zsh'?" in steelyard("completion", "zhs", code=2).err


def test_names_of_runs_are_one_word_each(steelyard, write, says, tmp_path):
    store = tmp_path / "s.db"
    config = write({"guess": says(), "with notes": says("B")})
    runs = steelyard("run", config, "--store", store, "-q", "--json", code=0).json()["runs"]
    names = steelyard("completion", "runs", "--store", store, code=0).out.splitlines()
    assert names == ["latest", "guess", runs[1]["run"], runs[0]["run"]]
