"""The tutorial on labels: its commands run in their order, and print what it shows."""

import re
import shlex
import sys
import types
from pathlib import Path

import pytest

from steelyard.config.load import load
from steelyard.store import Store
from steelyard.store.codings import codings
from steelyard.store.queues import queues

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorials" / "labels.md"
COMMAND = re.compile(r"^    \$ ((?:.*\\\n)*.*)\n((?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.MULTILINE)
ID = re.compile(r"\b(?=[a-z]*\d)[a-z\d]{6}\b")
"""An id as the page shows it: it has a digit, so that no word is taken for one."""


def shown():
    """(command, the lines that the page shows of its output)."""
    for command, lines in COMMAND.findall(PAGE.read_text("utf-8")):
        yield command.replace("\\\n", " "), [line.split() for line in lines.splitlines() if line.strip()]


def ids():
    """Those of the store that the page uses too: runs by their order, queues, and error analyses."""
    with Store() as store:
        analyses = [coding.id for coding in codings(store)]
        return [run.id for run in store.runs()], [queue.id for queue in queues(store)], analyses


def plain(text):
    """Without the ids of this store and the breaks of lines."""
    for ident in (ident for kind in ids() for ident in kind):
        text = text.replace(ident, "ID")
    return " ".join(text.split())


def hand_in(steelyard, arguments):
    """What label.py prints. Its commands run in this process, which takes a third of the CPU; that it runs as it is
    typed is seen in tests/examples/test_judges_example.py."""
    name, printed = arguments[0], []
    script = types.ModuleType("label")
    script.__file__ = name
    exec(compile(Path(name).read_text("utf-8"), name, "exec"), vars(script))
    script.steelyard = lambda *words: steelyard(*words, code=0).out
    script.print = lambda text, end: printed.append(text + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments)
        script.main()
    return "".join(printed)


def test_every_command_of_the_tutorial_prints_what_it_shows(steelyard):
    Path("examples").symlink_to(ROOT / "examples")
    commands = list(shown())
    assert len(commands) == 21
    for command, lines in commands:
        words = shlex.split(command)
        if "queue" in words[:2] or words[0] == "python":
            words = [ids()[1][-1] if ID.fullmatch(word) else word for word in words]
        if words[0] == "python":
            printed = plain(hand_in(steelyard, words[1:]))
        else:
            result = steelyard(*words[1:], code=0)
            printed = plain(result.out + result.err)
        for line in lines:
            assert ID.sub("ID", " ".join(line)) in printed, command


def test_guideline_on_the_page_is_that_of_the_example():
    (block,) = re.findall(r"```yaml\n(scorers:.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    told = " ".join(block.split(">-\n", 1)[1].split()).removesuffix(" ...")
    suite = load(ROOT / "examples/labels/guidelines.yaml", environ={}, use_dotenv=False).suite
    assert suite.scorers[0].guidelines[0].startswith(told)
