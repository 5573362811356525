"""Error analysis by keyboard in a real browser, without a violation of the policy, and for everybody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.browser.conftest import address
from tests.browser.hostile_texts import TEXTS
from tests.browser.test_accessibility import axe, looked_at  # noqa: F401  # axe is a fixture
from tests.viewer.conftest import serving
from tests.viewer.test_codes import coded, fill, run_of, state_of

from steelyard.evaluation.evaluate import RunConfig
from steelyard.generate.code_trial import TrialPlan, try_code
from steelyard.people import codings

READY = "document.readyState === 'complete' && typeof htmx === 'object'"
SAYS = "(document.body?.innerText ?? '').includes"
FOCUS = "document.activeElement.name"
SHOTS = os.environ.get("STEELYARD_SCREENSHOTS", "")


@pytest.fixture
def viewer(tmp_path):
    fill(tmp_path / "s.db")
    with serving(tmp_path / "s.db") as served:
        yield served


def tried(viewer, code):
    """The code's scorer with the result of its trial, which the command line makes."""
    where = viewer.store.path
    return try_code(where, TrialPlan(code), how=RunConfig(store=where), author="ann")


async def known(page, viewer, path):
    """Go on in a browser that keeps the name of a reader."""
    own = f"http://{viewer.host}"
    await page.tab.context.add_cookies([{"name": "steelyard_author", "value": "ann", "url": f"{own}/"}])
    await page.tab.goto(f"{own}{path}")
    await page.until(READY)


async def at_record(page, place, total=4):
    await page.until(
        f"{READY} && document.querySelector('.crumb nav')?.innerText.includes('record {place} of {total}')"
    )


def test_errors_are_drawn_noted_grouped_and_counted_by_keyboard(viewer, browse):
    run = run_of(viewer)

    async def visit(page):
        keyboard = page.tab.keyboard
        await page.until(READY)
        await page.run("document.querySelector('[name=n]').select()")
        await keyboard.type("4")
        await page.run("document.querySelector('[name=author]').focus()")
        await keyboard.type("ann")
        await page.press("Control+Enter")
        await page.until(f"{READY} && {SAYS}('0 of 4 records noted')")
        await page.press("Control+Enter")
        for place, note in ((1, "wrong letter"), (2, "no letter"), (3, "wrong letter again")):
            await at_record(page, place)
            await page.press("c")
            assert await page.run(FOCUS) == "text"
            await keyboard.type(note)
            await page.press("Control+Enter")
        await at_record(page, 4)
        await page.press("0")
        await page.until(f"{READY} && {SAYS}('Nothing is wrong with it, says ann')")
        await page.press("Control+Enter")
        await page.until(
            f"{READY} && {SAYS}('4 of 4 records noted, 3 with an error, 3 of these under no error type yet')"
        )
        await page.press("g")
        await at_record(page, 1)
        await page.press("n")
        assert await page.run(FOCUS) == "name"
        await keyboard.type("Wrong letter")
        await page.press("Enter")
        await at_record(page, 2)
        await page.press("n")
        await keyboard.type("No letter")
        await page.press("Enter")
        await at_record(page, 3)
        await page.press("1")
        await page.until(f"{READY} && {SAYS}('Every record has a note, and every error has a type')")
        counted = await page.run(
            "[...document.querySelectorAll('#codes tbody tr')].map(row => row.innerText.split(/\\s+/))"
        )
        # A note may be written to, withdrawn, and found again.
        await page.press("j", "Enter")
        await page.until(f"{READY} && document.title.startsWith('Wrong letter')")
        await page.press("Escape")
        await page.until(f"{READY} && location.pathname.split('/').length === 3")
        return counted, page.complaints

    counted, complaints = browse(address(viewer, f"/codes/{run.id}"), visit)
    assert complaints == []
    assert [row[:3] for row in counted] == [["Wrong", "letter", "2"], ["No", "letter", "1"]]
    [coding] = codings.codings(viewer.store)
    state = state_of(viewer, coding)
    codes = {code.id: code.name for code in state.adopted}
    assert [(note.text, codes.get(note.code)) for _, note in sorted(state.notes.items())] == [
        ("wrong letter", "Wrong letter"),
        ("no letter", "No letter"),
        ("wrong letter again", "Wrong letter"),
        ("", None),
    ]
    assert {note.author for note in state.notes.values()} == {"ann"}


def test_a_last_note_is_withdrawn_and_text_outlives_a_digit(viewer, browse):
    ann, (source, _), items = coded(viewer)

    async def visit(page):
        await known(page, viewer, f"{ann.base}/i/{items[1]}")
        await page.press("u")
        await page.until(f"{READY} && location.pathname.endsWith('/i/{items[-1]}') && {SAYS}('No note yet')")
        await page.press("c")
        await page.tab.keyboard.type("typed before")
        await page.press("Escape", "1")  # the press stores the text too
        await page.until(f"{READY} && {SAYS}('Note of ann')")
        return page.complaints

    assert browse(address(viewer, "/codes"), visit) == []
    note = state_of(viewer, ann.coding).notes[items[-1]]
    assert (note.text, note.code) == ("typed before", source)


def test_every_page_of_error_analysis_can_be_used_by_everybody(viewer, browse, axe):  # noqa: F811
    ann, (source, letter), items = coded(viewer)
    ann.change(source, do="edit", name="Cites nothing", definition="No source where one is asked for. " * 3)
    ann.change(letter, do="pattern", score="letter", pattern="answer is A")
    tried(viewer, f"{ann.coding.id}/{letter}")
    ann.change(source, do="judge", score="no_source", definition="No source.", items=[items[0]])
    codings.propose_codes(viewer.store, ann.coding, [("Rude", "Impolite", items[:3])], author="judge-1")
    hostile = TEXTS[0] + " <b>bold</b> " + "W" * 200
    ann.send(items[3], hostile, name=hostile[:90], do="save")
    ann.send(items[4], "left alone", code="none")
    run = run_of(viewer)
    paths = {
        "codes-list": "/codes",
        "codes-draw": f"/codes/{run.id}/draw",
        "codes-overview": f"/codes/{run.id}",
        "codes-record": f"{ann.base}/i/{items[3]}",
        "codes-group": f"{ann.base}/i/{items[4]}?mode=group",
        "codes-judge": f"{ann.base}/c/{source}",
        "codes-pattern": f"{ann.base}/c/{letter}",
        "codes-run": f"/run/{run.id}",
    }

    def looking(name, path):
        look = looked_at(axe)

        async def visit(page):
            await known(page, viewer, path)
            if SHOTS:
                for width, scheme in ((1280, "light"), (390, "light"), (1280, "dark")):
                    await page.tab.set_viewport_size({"width": width, "height": 900})
                    await page.tab.emulate_media(color_scheme=scheme)
                    await page.tab.screenshot(path=Path(SHOTS) / f"{name}-{width}-{scheme}.png", full_page=True)
            return await look(page), page.complaints

        return visit

    wrong = {name: browse(address(viewer, path), looking(name, path)) for name, path in paths.items()}
    assert {name: found for name, found in wrong.items() if found != ([], [])} == {}
