"""Datasets by keyboard in a real browser, no violation of the pages' policy, and nothing that shuts anybody out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.browser.conftest import address
from tests.browser.test_accessibility import axe, looked_at  # noqa: F401  # axe is a fixture
from tests.viewer.conftest import serving
from tests.viewer.test_datasets import QUESTIONS, change, lines, place, rows_of, run, save

from steelyard.people.named_datasets import named_datasets

READY = "document.readyState === 'complete' && typeof htmx === 'object'"
SHOTS = os.environ.get("STEELYARD_SCREENSHOTS", "")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "exam"
    made.mkdir()
    (made / "questions.jsonl").write_text(lines(QUESTIONS), encoding="utf-8")
    return made


@pytest.fixture
def viewer(folder, tmp_path):
    run(folder, tmp_path / "s.db")
    with serving(tmp_path / "s.db") as served:
        yield served


def test_rows_are_added_changed_retired_and_saved_by_keyboard(viewer, browse, folder):
    async def visit(page):
        keyboard = page.tab.keyboard
        at = "location.pathname"

        async def at_page(end):
            await page.until(f"{at}.endsWith({end!r}) && {READY}")

        await page.until(READY)
        await page.press("j", "Enter")
        await page.until(f"document.querySelectorAll('[data-row]').length === 3 && {READY}")
        await page.press("j", "Enter")  # the first row
        await at_page("/row")
        await page.run("document.querySelector('[name=cell-1]').select()")
        await keyboard.type("What is 1 + 1?")
        await page.run("document.querySelector('[name=author]').focus()")
        await keyboard.type("Ann")
        await page.press("Control+Enter")
        await page.until(f"location.search.includes('show=draft') && {READY}")
        await page.press("Escape")
        await page.until(f"{at} === '/data' && {READY}")
        await page.press("j", "Enter")
        await page.until(f"document.querySelectorAll('[data-row]').length === 3 && {READY}")
        await page.press("j", "j", "Enter")
        await at_page("/row")
        await page.press("x")
        await page.until(f"document.querySelectorAll('[data-row]').length === 2 && {READY}")
        await page.press("a")
        await at_page("/new")
        for name, text in {"id": "q9", "cell-1": "Wet?", "cell-2": '["yes", "no"]', "cell-3": "A"}.items():
            await page.run(f"document.querySelector('[name={name}]').focus()")
            await keyboard.type(text)
        await page.press("Control+Enter")
        await page.until(f"document.querySelectorAll('[data-row]').length === 3 && {READY}")
        await page.press("d")
        await at_page("/draft")
        await page.press("Control+Enter")
        await page.until(f"document.title.startsWith('questions.v2.jsonl ·') && {READY}")
        return page.complaints

    assert browse(address(viewer, "/data"), visit) == []
    saved = rows_of(folder / "questions.v2.jsonl")
    assert [(row["id"], row["question"]) for row in saved] == [
        ("q1", "What is 1 + 1?"),
        ("q3", "Which colour has the sky?"),
        ("q9", "Wet?"),
    ]
    assert saved[2]["options"] == ["yes", "no"]


def test_a_sample_goes_to_a_dataset_by_keyboard(viewer, browse):
    found = viewer.store.runs()[0]

    async def visit(page):
        await page.until(READY)
        await page.press("a")
        await page.until(f"location.pathname === '/data/add' && {READY}")
        await page.press("j", "Enter")
        await page.until(f"location.pathname.endsWith('/new') && {READY}")
        return await page.run("document.querySelector('[name=id]').value"), page.complaints

    assert browse(address(viewer, f"/run/{found.id}/s/q1"), visit) == ("q1-2", [])


def test_every_page_of_datasets_can_be_used_by_everybody(viewer, browse, axe, folder, tmp_path):  # noqa: F811
    change(viewer, "q1", **{"cell-1": "What is one plus one?"})
    change(viewer, "q2", do="retire")
    new = {"id": "q9", "cell-1": "Is water wet?", "cell-2": '["yes", "no"]', "cell-3": "A", "cell-4": "world"}
    change(viewer, "", at="new", form=new)
    save(viewer)
    run(folder, tmp_path / "s.db", "questions.v2.jsonl")
    change(viewer, "q1", **{"cell-1": "What is one times one?"})
    change(viewer, "q9", do="retire")
    dataset = named_datasets(viewer.store)[0]
    here, first = place(viewer), viewer.store.runs()[0]
    paths = {
        "list": "/data",
        "rows": f"/data/{dataset.id}",
        "row": f"{here}/row?id=q1",
        "new": f"{here}/new?run={first.id}&sample=q1&take=output",
        "draft": f"{here}/draft",
        "diff": f"/data/{dataset.id}/diff",
        "choose": f"/data/add?run={first.id}&sample=q1",
        "run": f"/run/{first.id}",
    }

    def looking(name):
        look = looked_at(axe)

        async def visit(page):
            found = await look(page)
            if SHOTS:
                for width, scheme in ((1280, "light"), (390, "light"), (1280, "dark")):
                    await page.tab.set_viewport_size({"width": width, "height": 900})
                    await page.tab.emulate_media(color_scheme=scheme)
                    await page.tab.screenshot(path=Path(SHOTS) / f"{name}-{width}-{scheme}.png", full_page=True)
            return found, page.complaints

        return visit

    wrong = {name: browse(address(viewer, path), looking(name)) for name, path in paths.items()}
    assert {name: found for name, found in wrong.items() if found != ([], [])} == {}


def test_a_printed_row_has_its_values(viewer, browse):
    async def visit(page):
        await page.tab.click("[data-row] a")
        await page.tab.click("[data-row] a")
        await page.tab.wait_for_selector("[name=cell-1]")
        await page.tab.emulate_media(media="print")
        return await page.run("document.querySelector('main').innerText"), await page.run(
            "document.querySelector('[name=cell-1]').value"
        )

    printed, value = browse(address(viewer, "/data"), visit)
    assert value
    assert value in printed


def test_a_folder_is_broken_after_its_slashes_alone(viewer, browse):
    async def visit(page):
        return await page.run("document.querySelector('.path').innerHTML")

    shown = browse(address(viewer, "/data"), visit)
    assert shown.count("/<wbr>") == shown.replace("</", "").count("/") > 1
