"""The configuration reference says what the classes say."""

import re
from pathlib import Path

import pytest

from steelyard.config.reference import pages, undescribed
from steelyard.registry import names

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES = pages()


def headings(text):
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("name", list(PAGES))
def test_the_committed_page_is_what_the_classes_say(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], "run: python -m steelyard.config.reference"


def test_there_is_no_page_that_is_no_longer_written():
    assert {f"configuration/{path.name}" for path in (FOLDER / "configuration").iterdir()} < set(PAGES)


def test_every_key_is_described():
    assert undescribed() == ()


@pytest.mark.parametrize("kind", ["target", "scorer", "model"])
def test_every_registered_name_has_its_section_on_the_page_of_its_kind(kind):
    assert set(names(kind)) <= set(headings(PAGES[f"configuration/{kind}s.md"]))


def test_every_suite_has_its_section():
    assert {f"suite: {name}" for name in names("suite")} <= set(headings(PAGES["configuration/suites.md"]))


def test_types_are_named_as_in_a_schema():
    assert "| `concurrency` | integer | `16` |" in PAGES["configuration/options.md"]
    assert "| `samples` | [SampleFiles](samples.md#samplefiles) | **required** |" in PAGES["configuration/suites.md"]
    assert "| `targets` | mapping to ([target](targets.md)) | **required** |" in PAGES["configuration/suites.md"]
