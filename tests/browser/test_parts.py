"""Every part of the pages on one page: a part that is not on it, or that somebody cannot use there, fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.browser.test_accessibility import LOOKS, axe, looked_at  # noqa: F401  # axe is a fixture

import steelyard.report
from steelyard.analysis.comparison.settings import word_changes
from steelyard.report.render.html import page_style, section_environment

MACROS = (Path(steelyard.report.__file__).parent / "templates" / "parts.html.j2").read_text(encoding="utf-8")
TEMPLATE = (Path(__file__).parent / "parts.html.j2").read_text(encoding="utf-8")
PLACES = """
[...document.querySelectorAll('.prose .dot')].map(dot =>
  [...dot.querySelectorAll('circle, .ci, .ref, .may')].map(mark => [mark.className.baseVal || 'dot',
    ...['cx', 'x1', 'x2'].map(name => mark.getAttribute(name)).filter(Boolean)].join(' ')).join(', '))
"""
WORDLESS = """
[...document.querySelectorAll('.v')].filter(verdict => !verdict.textContent.trim()).length +
[...document.querySelectorAll('.v use')].filter(use => !document.querySelector(use.getAttribute('href'))).length
"""


@pytest.fixture(scope="module")
def parts():
    """The page of all parts."""
    words = list(word_changes("Answer the question.", "Answer this question."))
    return section_environment().from_string(TEMPLATE).render(style=page_style()[0], words=words)


def test_the_page_has_every_macro(parts):
    macros = set(re.findall(r"{% macro (\w+)", MACROS)) - {"place"}
    assert {macro for macro in macros if f"look.{macro}(" not in TEMPLATE} == set()
    assert "12,000" in parts


def test_every_part_can_be_used_by_everybody(parts, in_browser, axe):  # noqa: F811
    assert in_browser(parts, looked_at(axe)) == []


def test_no_part_is_wider_than_a_telephone_nor_cut_in_print(parts, in_browser):
    async def visit(page):
        wide = {}
        for width, height, scheme in (*LOOKS, (320, 640, "light")):
            await page.tab.set_viewport_size({"width": width, "height": height})
            await page.tab.emulate_media(color_scheme=scheme)
            wide[width] = await page.run("document.documentElement.scrollWidth - innerWidth")
        await page.tab.set_viewport_size({"width": 700, "height": 1000})
        await page.tab.emulate_media(media="print")
        cut = await page.run(
            "[...document.querySelectorAll('td.t')].filter(cell => cell.scrollWidth > cell.clientWidth).length"
        )
        return max(wide.values()), cut

    assert in_browser(parts, visit) == (0, 0)


def test_marks_have_words_and_dots_stand_at_their_values(parts, in_browser):
    async def visit(page):
        return await page.run(WORDLESS), await page.run(PLACES)

    wordless, places = in_browser(parts, visit)
    assert wordless == 0
    assert places[0] == "ci 50.00% 70.00%, dot 60.00%"
    assert places[1] == "ref 42.00% 42.00%, ci 50.00% 70.00%, dot 60.00%"
    assert places[3] == "ref 50.00% 50.00%, may 27.50% 90.00%, ci 45.00% 85.00%, dot 65.00%"
    assert places[4] == "dot 0.00%"
