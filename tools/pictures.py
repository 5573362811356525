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
from pathlib import Path
from typing import Final

from playwright.async_api import async_playwright

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
_CHANGING: Final = re.compile(
    r"\b(?=[a-z]*\d)[a-z\d]{6}\b|\d{4}-\d\d-\d\d[ \d:UTC]*|\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC|\b[\d.]+ m?s\b"
)
"""Ids, moments and durations."""


def steady(text: str) -> str:
    """The words of a page without what is new in every run, one line each."""
    lines = (" ".join(_CHANGING.sub("…", line).split()) for line in text.splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def pictures(folder: Path) -> dict[str, str]:
    """Write the pictures into a folder; name -> the text that it shows."""
    steelyard = Path(sys.executable).with_name("steelyard")
    with tempfile.TemporaryDirectory() as place:
        for words in (["init", "quiz", "--suite", "choice"], ["run", "quiz/choice.yaml", "--quiet"]):
            subprocess.run([steelyard, *words], cwd=place, check=True, stdout=subprocess.DEVNULL)
        viewer = subprocess.Popen(
            [steelyard, "view", "--port", "0", "--no-browser"], cwd=place, stdout=subprocess.PIPE, text=True
        )
        try:
            address = (viewer.stdout.readline() if viewer.stdout else "").split()[-1]
            return asyncio.run(_taken(address, folder))
        finally:
            viewer.terminate()
            viewer.communicate()


async def _taken(address: str, folder: Path) -> dict[str, str]:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(address)
        await page.get_by_role("link", name="notes", exact=True).first.click()
        await page.wait_for_load_state("networkidle")
        await page.screenshot(path=folder / "viewer.png")
        text = await page.locator("main").inner_text()
        for ident in set(re.findall(r"/run/(\w{6})\b", await page.content())):  # also those without a digit
            text = text.replace(ident, "…")
        await browser.close()
    return {"viewer": steady(text)}


if __name__ == "__main__":
    for name, text in pictures(IMAGES).items():
        (IMAGES / f"{name}.txt").write_text(text, encoding="utf-8")
