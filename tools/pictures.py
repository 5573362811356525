"""Pictures of the viewer for the pages of the documentation, from the quiz that `steelyard init` writes.

`python -m tools.pictures` writes docs/images/NAME.png and, beside it, NAME.txt: the text that the picture shows.
tests/browser/test_pictures.py compares the text with that of today's viewer: letters, not pixels.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

from playwright.async_api import async_playwright

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
_CHANGING: Final = re.compile(
    r"\b(?=[a-z]*\d)[a-z\d]{6}\b|\d{4}-\d\d-\d\d[ \d:UTC]*|\d+ [A-Z][a-z]+ (?:\d{4}, )?\d\d:\d\d(?: UTC)?"
    r"|<?\b[\d.]+ m?s\b|(?<=\s)\d\.\d$"
)
"""Ids, moments and durations."""
_IDS: Final = re.compile(r"/(?:run|queue)/(\w{6})\b")
_PICTURES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "viewer": ("/", ("notes",)),
    "runs": ("/", ()),
    "sample": ("/", ("notes", "line:4")),
    "compare": ("/", ("notes", "Compare with the baseline c")),
    "queue": ("/queue", ("Is the answer right?",)),
    "report": ("report", ()),
}
"""Name -> where it begins, and the links that are followed from there."""


def steady(text: str) -> str:
    """The words of a page without what is new in every run, one line each."""
    lines = (" ".join(_CHANGING.sub("…", line).split()) for line in text.splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def pictures(folder: Path) -> dict[str, str]:
    """Write the pictures into a folder; name -> the text that it shows."""
    steelyard = Path(sys.executable).with_name("steelyard")
    commands = (
        ["init", "quiz", "--suite", "choice"],
        ["run", "quiz/choice.yaml", "--quiet"],
        ["mark", "guess", "--pin"],
        ["report", "guess", "notes", "--html", "report.html"],
        ["queue", "create", "notes", "--title", "Is the answer right?", "--author", "lead", "--draw", "20"],
    )
    with tempfile.TemporaryDirectory() as place:
        for words in commands:
            subprocess.run([steelyard, *words], cwd=place, check=True, stdout=subprocess.DEVNULL)
        viewer = subprocess.Popen(
            [steelyard, "view", "--port", "0", "--no-browser"], cwd=place, stdout=subprocess.PIPE, text=True
        )
        try:
            address = (viewer.stdout.readline() if viewer.stdout else "").split()[-1]
            return asyncio.run(_taken(address, Path(place, "report.html").as_uri(), folder))
        finally:
            viewer.terminate()
            viewer.communicate()


async def _taken(viewer: str, report: str, folder: Path) -> dict[str, str]:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    texts: dict[str, str] = {}
    idents: set[str] = set()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(viewer)
        home = page.url
        for name, (start, links) in _PICTURES.items():
            await page.goto(report if start == "report" else urljoin(home, start))
            for link in links:
                await page.get_by_role("link", name=link, exact=True).first.click()
            await page.wait_for_load_state("networkidle")
            await page.screenshot(path=folder / f"{name}.png")
            text = await page.locator("main").inner_text()
            idents.update(_IDS.findall(await page.content()))  # also those without a digit; a report has no addresses
            for ident in idents:
                text = text.replace(ident, "…")
            texts[name] = steady(text)
        await browser.close()
    return texts


if __name__ == "__main__":
    for name, text in pictures(IMAGES).items():
        (IMAGES / f"{name}.txt").write_text(text, encoding="utf-8")
