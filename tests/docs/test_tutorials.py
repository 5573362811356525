"""Every tutorial, followed from an empty folder: its commands run, and print what the page shows."""

import difflib
import re
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import _commands_are_built_once  # noqa: F401  # a fixture
from tests.docs.tutorial_page import Walk, changed, matches, steps, written

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/zh/tutorials/*.md")])
FRAMEWORK = re.compile(r"^pip install .*(?:llamaindex|langchain)", re.MULTILINE)
MOST_WORDS = 900
"""Of prose; commands and what they print come on top."""


def text_of(path):
    return path.read_text(encoding="utf-8")


FOLLOWED = [
    pytest.param(path, id=path.relative_to(ROOT / "docs").as_posix())
    for path in PAGES
    if any(step.kind == "commands" for step in steps(text_of(path))) and not FRAMEWORK.search(text_of(path))
]


@pytest.mark.parametrize("path", FOLLOWED)
def test_commands_of_the_tutorial_print_what_it_shows(path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    walk = Walk()
    try:
        for step, command, shown, printed in walk.follow(text_of(path)):
            difference = "\n".join(difflib.ndiff(shown.splitlines(), printed.splitlines()))
            assert walk.matches(shown, printed), f"line {step.line}: $ {command}\n{difference}"
    finally:
        walk.close()


@pytest.mark.parametrize("path", FOLLOWED)
def test_tutorial_is_short_enough_for_one_sitting(path):
    prose = re.sub(r"^```.*?^```$", "", text_of(path), flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= MOST_WORDS


def test_output_matches_up_to_ids_and_durations_alone():
    ids = {}
    assert matches("run     n\n84dcxg  20 in 1.5 s\n...\nend\n", "run     n\nabc123   20  in 12 s\n1\n2\nend\n", ids)
    assert ids == {"84dcxg": "abc123"}
    assert not matches("84dcxg  20\n", "abc123  21\n", {})
    assert not matches("one\n", "one\ntwo\n", {})
    assert not matches("a  b\n", "a b\n", {})


def test_a_change_of_a_file_needs_the_old_lines_once():
    assert changed("a: 1\nb: 2\n", " a: 1\n-b: 2\n+b: 3\n") == "a: 1\nb: 3\n"
    with pytest.raises(AssertionError, match="2 times"):
        changed("a\na\n", "-a\n+b\n")
    with pytest.raises(AssertionError, match="0 times"):
        changed("a\n", "-c\n+b\n")


def test_a_command_that_fails_is_no_part_of_a_tutorial_unless_its_code_is_shown():
    with pytest.raises(AssertionError, match="ended with 3"):
        list(Walk().follow("```console\n$ sh -c 'exit 3'\n```\n"))
    (_, _, _, failed), (_, command, shown, code) = Walk().follow("```console\n$ sh -c 'exit 3'\n$ echo $?\n3\n```\n")
    assert (failed, command, shown.strip(), code) == ("", "echo $?", "3", "3")


def test_an_id_of_the_page_stands_for_the_one_that_was_printed():
    walk = Walk()
    for _, _, shown, printed in walk.follow("```console\n$ echo k7m2pq\nabc12d\n\n$ echo abc12d\nabc12d\n```\n"):
        assert walk.matches(shown, printed)
    assert walk.ids == {"abc12d": "k7m2pq"}


def test_a_page_is_written_again_with_its_own_ids_and_without_the_lines_that_it_leaves_out():
    page = "```console\n$ printf 'k7m2%s 20\\n1\\n2\\nk7m2%s  in 12 s\\nend\\n' pq pq\n{}\n```\n"
    shown = page.format("abc12d 19\n...\nabc12d in 1.5 s\nnot the end")
    assert written(shown) == page.format("abc12d 20\n...\nabc12d in 1.5 s\nend")
