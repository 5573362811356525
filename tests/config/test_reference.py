"""docs/reference/configuration.md says what the classes say."""

import re
from pathlib import Path

from steelyard.config.reference import reference, undescribed
from steelyard.registry import names

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"


def test_the_committed_page_is_what_the_classes_say():
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference(), "run: python -m steelyard.config.reference > docs/reference/configuration.md"


def test_every_key_is_described():
    assert undescribed() == ()


def test_every_registered_name_has_its_section():
    headings = set(re.findall(r"^#+ (.+)$", reference(), re.MULTILINE))
    assert {name for kind in ("target", "scorer", "model") for name in names(kind)} <= headings
    assert {f"suite: {name}" for name in names("suite")} <= headings


def test_every_link_of_the_page_leads_to_a_heading_of_it():
    page = reference()
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= anchors
