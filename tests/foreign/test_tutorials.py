"""The tutorials on frameworks, followed from an empty folder with the real packages."""

import difflib
from pathlib import Path

import pytest
from tests.docs.tutorial_page import Walk, run_by

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"


@pytest.mark.parametrize(("page", "environment"), [("llama-index", "llamaindex"), ("langchain", "langchain")])
def test_commands_of_the_tutorial_print_what_it_shows(foreign_bin, page, environment):
    walk = Walk(run_by(foreign_bin(environment) / "steelyard"))
    commands = 0
    for step, command, shown, printed in walk.follow((TUTORIALS / f"{page}.md").read_text(encoding="utf-8")):
        difference = "\n".join(difflib.ndiff(shown.splitlines(), printed.splitlines()))
        assert walk.matches(shown, printed), f"line {step.line}: $ {command}\n{difference}"
        commands += 1
    assert commands >= 5
