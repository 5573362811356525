"""The configuration reference says what the classes say."""

import re
from pathlib import Path

import pytest
from tools.configuration_reference import _linked, pages

from steelyard.building.keys import arguments_of, is_class, keys_of
from steelyard.config.schema import KINDS, suite_keys
from steelyard.registry import find, names

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES = pages()


def headings(text):
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("name", list(PAGES))
def test_the_committed_page_is_what_the_classes_say(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], "run: python -m tools.configuration_reference"


def test_there_is_no_page_that_is_no_longer_written():
    assert {f"configuration/{path.name}" for path in (FOLDER / "configuration").iterdir()} < set(PAGES)


def test_every_key_is_described():
    classes = [(find("suite", name), suite_keys(find("suite", name))) for name in names("suite")]
    classes += [(cls, keys_of(cls)) for kind in KINDS for name in names(kind) if is_class(cls := find(kind, name))]
    nested, missing = {}, []
    while classes:
        cls, keys = classes.pop()
        known = set(nested)
        for key in keys.values():
            _linked(key.hint, nested)
        classes += [(nested[name], keys_of(nested[name])) for name in nested if name not in known]
        missing += [f"{cls.__name__}.{name}" for name in keys if not arguments_of(cls).get(name)]
    assert not missing


@pytest.mark.parametrize("kind", ["target", "scorer", "model"])
def test_every_registered_name_has_its_section_on_the_page_of_its_kind(kind):
    assert set(names(kind)) <= set(headings(PAGES[f"configuration/{kind}s.md"]))


def test_every_suite_has_its_section():
    assert {f"suite: {name}" for name in names("suite")} <= set(headings(PAGES["configuration/suites.md"]))


def test_types_are_named_as_in_a_schema():
    assert "| `concurrency` | integer (1 or more) | `16` |" in PAGES["configuration/options.md"]
    assert "| `samples` | [SampleFiles](samples.md#samplefiles) | **required** |" in PAGES["configuration/suites.md"]
    assert "| `targets` | mapping to ([target](targets.md)) | **required** |" in PAGES["configuration/suites.md"]
