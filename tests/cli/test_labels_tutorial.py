"""The tutorial on labels: its commands run in their order, and print what it shows."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.examples.label_script import printed_by

from steelyard.config.load import load
from steelyard.people.codings import codings
from steelyard.people.queues import queues
from steelyard.store import Store

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


def by_script(steelyard, path, *arguments):
    """What a script prints. label.py starts some twenty commands, which run in this process; that it runs as a program
    is seen in tests/examples/test_judges_example.py."""
    if path == "examples/labels/label.py":
        return printed_by("label.py", *arguments, steelyard=lambda *typed: steelyard(*typed, code=0).out)
    return subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, check=True).stdout


def test_every_command_of_the_tutorial_prints_what_it_shows(steelyard):
    Path("examples").symlink_to(ROOT / "examples")
    commands = list(shown())
    assert len(commands) == 19
    for command, lines in commands:
        words = shlex.split(command)
        if "queue" in words[:2] or words[0] == "python":
            words = [ids()[1][-1] if ID.fullmatch(word) else word for word in words]
        if words[0] == "python":
            printed = plain(by_script(steelyard, *words[1:]))
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
