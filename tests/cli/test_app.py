"""The application as a whole: start-up, --debug, a reader that leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from steelyard.cli.app import build_app, run_app
from steelyard.store import Store

HEAVY = ("aiohttp", "numpy", "pydantic", "jinja2", "rich", "ruamel", "asyncio.base_events")
COMMAND = [sys.executable, "-m", "steelyard"]


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom steelyard.cli.app import run_app\n"
        "try:\n    run_app(['--help'])\nexcept SystemExit:\n    print('LOADED', *sorted(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split("LOADED", 1)[1].split()
    assert "steelyard.cli.app" in loaded
    assert [one for one in HEAVY[:-3] if one in loaded] == []


def test_help_names_every_command_in_whole_sentences(steelyard):
    out = steelyard("--help", code=0).out
    headings = {
        part.splitlines()[0].rstrip(":"): [line.split()[0] for line in part.splitlines()[1:] if line.strip()]
        for part in out.split("\n\n")[3:]
    }
    groups = "Groups (steelyard GROUP -h lists their commands)"
    assert list(headings) == ["Daily", groups, "Less often"]
    assert (len(headings["Daily"]), headings["Daily"][:2]) == (20, ["init", "check"])
    assert headings[groups] == ["queue", "errors", "data"]
    assert headings["Less often"] == [
        *("note", "mark", "verify", "delete", "convert", "prompts", "schema"),
    ]
    commands = out.split("\n\nDaily:")[1].splitlines()
    assert not [line for line in commands if line.endswith("...")]
    assert max(len(line) for line in out.splitlines()) <= 80


def test_version_is_that_of_the_package(steelyard):
    import steelyard as package

    assert steelyard("--version", code=0).out == f"steelyard {package.__version__}\n"


@pytest.mark.parametrize("arguments", [["--debug", "show", "nope"], ["show", "nope", "--debug"]])
def test_a_traceback_is_shown_with_debug_alone_and_the_code_stays(steelyard, write, says, arguments):
    steelyard("run", write({"a": says()}), code=0)
    result = steelyard(*arguments, code=2)
    assert "Traceback (most recent call last)" in result.err
    assert result.err.splitlines()[-1].startswith("error: there is no run 'nope'")
    assert "Traceback" not in steelyard("show", "nope", code=2).err


def test_a_defect_of_ours_is_told_without_a_traceback(steelyard, write, says, monkeypatch):

    from steelyard.cli import read_commands

    def broken(*_):
        raise ZeroDivisionError("by\x1b[31mhand")

    steelyard("run", write({"a": says()}), code=0)
    monkeypatch.setattr(read_commands, "_row", broken)
    result = steelyard("runs", "--json", code=4)
    hint = "this is a defect, or the store is damaged: steelyard verify; --debug shows where"
    assert result.err == f"error: ZeroDivisionError: by\\x1b[31mhand ({hint})\n"


def unread(*arguments, both=False):
    """The exit code of a command whose output nobody reads, or neither its messages; the messages, where they are."""
    stderr = subprocess.STDOUT if both else subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        process.stdout.close()
        messages = "" if both else process.stderr.read()
        return process.wait(timeout=60), messages


def test_a_gate_keeps_its_code_where_nobody_reads_the_output(write, says):
    path = write({"a": says()}, gate={"solve_rate": ">= 0.9"})
    assert unread("run", path, "-q") == (1, "")


def test_a_reader_that_leaves_ends_a_long_output_quietly():
    assert unread("schema") == (0, "")


@pytest.mark.parametrize("arguments", [["show", "nope"], ["runs", "--lst"]])
def test_a_mistake_keeps_its_code_where_nobody_reads_the_message(arguments):
    assert unread(*arguments, both=True)[0] == 2


def test_a_locale_without_the_letters_of_a_dataset_is_no_defect_and_data_are_utf_8():
    Path("题.csv").write_text("问题,答案\n1+1？,2\n", encoding="utf-8")
    script = (
        "import sys\nfrom steelyard.cli import main\n"
        "for line in ('check 题.csv', 'check 题.csv --json', 'prompts zh/four_options'):\n"
        "    sys.argv[1:] = line.split()\n    try:\n        main()\n"
        "    except SystemExit as left:\n        print('LEFT', left.code, flush=True)\n"
    )
    of_locale = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=of_locale, check=True)
    *outputs, after = done.stdout.split(b"LEFT 0\n")
    shown = (b"input: A \\u95ee\\u9898", '"input": "A 问题"'.encode(), "题目：".encode())
    assert all(text in output for text, output in zip(shown, outputs, strict=True))
    assert after == b""


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_without_streams_a_run_ends_as_with_them(write, says, closed):
    path = write({"a": says()}, gate={"solve_rate": ">= 0.9"})
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, "run", path], check=False, capture_output=True)
    assert done.returncode == 1
    assert b"Traceback" not in done.stdout + done.stderr
    with Store() as store:
        assert [run.state for run in store.runs()] == ["finished"]


def test_a_reader_of_the_progress_that_leaves_costs_neither_the_run_nor_its_verdict():
    rows = [f"q{n},Which is number {n}?,a{n},b{n},c{n},d{n},{'ABCD'[n % 4]}" for n in range(40)]
    Path("e.csv").write_text("\n".join(["id,question,A,B,C,D,answer", *rows]), encoding="utf-8")
    Path("c.yaml").write_text(
        "suite: choice\nsamples: {file: e.csv}\ntargets: {r: {baseline: random}, l: {baseline: longest}}\n"
        'gate: {solve_rate: ">= 0.99"}\n',
        encoding="utf-8",
    )
    assert unread("run", "c.yaml", both=True)[0] == 1
    with Store() as store:
        assert {run.state for run in store.runs()} == {"finished"}


def test_a_list_of_commands_is_made_without_importing_them():
    whole, listed = (typer.main.get_command(build_app(names_only=names_only)) for names_only in (False, True))
    assert {name: command.get_short_help_str(60) for name, command in listed.commands.items()} == {
        name: command.get_short_help_str(60) for name, command in whole.commands.items()
    }
    assert [name for name, command in listed.commands.items() if command.params] == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python warns of it from 3.12 on")
def test_escapes_in_the_code_of_a_model_are_not_warned_of(steelyard, tmp_path):
    row = {"id": "1", "question": "Write it.", "test": "assert f('3')", "out": "def f(x):\n    return x != '\\d'"}
    (tmp_path / "code.jsonl").write_text(json.dumps(row), "utf-8")
    config = {
        "samples": "code.jsonl",
        "targets": {"a": {"replay": {"file": "code.jsonl", "output": "out"}}},
        "scorers": [{"python_test": "{{test}}"}],
    }
    (tmp_path / "code.json").write_text(json.dumps(config), "utf-8")
    done = steelyard("run", tmp_path / "code.json")
    assert ("a  1/1" in done.out, "SyntaxWarning" in done.err) == (True, False)


def test_an_interruption_while_modules_are_imported_shows_no_traceback():
    script = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'steelyard.cli.app':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from steelyard.cli import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_an_interruption_that_python_wraps_is_no_defect(monkeypatch, capsys):
    """Python 3.11 raises RuntimeError from what comes while a class is made, as commands import their modules late."""

    def interrupted(*_, **__):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("steelyard.cli.app.build_app", interrupted)
    with pytest.raises(SystemExit) as left:
        run_app(["runs"])
    assert (left.value.code, capsys.readouterr().err) == (130, "interrupted\n")
