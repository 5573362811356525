"""Every key of the table does in a browser what the table says, and none does anything while somebody types."""

from __future__ import annotations

import pytest
from tests.browser.conftest import address

from steelyard.viewer.keys import KEYS

READY = "document.readyState === 'complete' && typeof htmx === 'object'"
CHOSEN = "[...document.querySelectorAll('[data-row]')].findIndex(row => row.getAttribute('aria-current') === 'true')"
FOCUS = "document.activeElement.name || document.activeElement.localName"
SHEET = "document.getElementById('keys').open"
PATH = "location.pathname"

PICKER = (
    "(() => { const picker = document.querySelector('.picker'), box = document.activeElement.getBoundingClientRect();"
    f" return [picker.open, box.top >= 0 && box.bottom <= innerHeight, {FOCUS}].join(); }})()"
)
"""Whether the picker of columns is open, whether the focused element is in the window, and which it is."""

EFFECTS = {
    "j": ("/run/{1}", ("j", "j"), CHOSEN, 1),
    "k": ("/run/{1}", ("j", "j", "k"), CHOSEN, 0),
    "Enter": ("/run/{1}", ("j", "Enter"), PATH, "/run/{1}/s/q0000"),
    "Escape": ("/run/{1}/s/q0001", ("Escape",), PATH, "/run/{1}"),
    "[": ("/run/{1}", ("[",), PATH, "/run/{0}"),
    "]": ("/run/{0}", ("]",), PATH, "/run/{1}"),
    "/": ("/run/{1}", ("/",), FOCUS, "q"),
    "f": ("/run/{1}", ("f",), FOCUS, "where"),
    "o": ("/run/{1}", ("o",), PICKER, "true,true,columns"),
    "?": ("/run/{1}", ("?",), SHEET, True),
}
"""Key -> the page, what is pressed, and what is so then."""
LABELLING = {"1", "0", "c", "u", "Ctrl+Enter"}
"""Keys of a queue, which `test_queues` tries."""
CODING = {"n", "g"}
"""Keys of an error analysis, which `test_codes_in_browser` tries."""
EDITING = {"a", "x", "d"}
"""Keys of a dataset, which `test_datasets_in_browser` tries."""
FURTHER = {
    "j goes to the next sample": ("/run/{1}/s/q0001", ("j",), PATH, "/run/{1}/s/q0002"),
    "k goes to the previous sample": ("/run/{1}/s/q0001", ("k",), PATH, "/run/{1}/s/q0000"),
    "Escape leaves a field": ("/run/{1}", ("f", "Escape"), FOCUS, "body"),
    "Escape closes the sheet": ("/run/{1}", ("?", "Escape"), SHEET, False),
    "the same key closes the sheet": ("/run/{1}", ("?", "?"), SHEET, False),
    "the first row of the list of runs": ("/", ("j",), CHOSEN, 0),
    "search in the list of runs": ("/", ("/",), FOCUS, "INPUT"),
    "o in a comparison": ("/compare?a={0}&b={1}", ("o",), PICKER, "true,true,columns"),
    "Escape closes the columns": ("/run/{1}", ("o", "Escape"), PICKER, "false,true,summary"),
    "Escape stays on the page after o": ("/compare?a={0}&b={1}", ("o", "Escape"), PATH, "/compare"),
    "Escape closes a menu": ("/run/{1}", (".menu:not(.picker) > summary", "Escape"), PATH, "/run/{1}"),
    "Escape leaves the page from closed columns": ("/run/{1}", ("o", "Escape", "Escape"), PATH, "/"),
    "f in a history": ("/history/Exam", ("f",), FOCUS, "score"),
}


@pytest.fixture
def ids(viewer):
    return [run.id for run in sorted(viewer.store.runs(), key=lambda run: run.num)]


def test_every_key_of_the_table_is_tried():
    assert EFFECTS.keys() | LABELLING | CODING | EDITING == {key.key for key in KEYS}


@pytest.mark.parametrize("case", [*EFFECTS, *FURTHER])
def test_a_key_does_what_the_table_says(viewer, browse, ids, case):
    path, pressed, script, expected = {**EFFECTS, **FURTHER}[case]
    expected = expected.format(*ids) if isinstance(expected, str) else expected

    async def visit(page):
        await page.until(READY)
        if pressed[0].startswith("."):
            await page.tab.click(pressed[0])
        await page.press(*(key for key in pressed if not key.startswith(".")))
        if expected == "INPUT":
            assert await page.run("document.activeElement.localName") == "input"
        else:
            await page.until(f"{{ const is = {script}; is === {_literal(expected)} }}")
        return page.complaints

    assert browse(address(viewer, path.format(*ids)), visit) == []


def test_samples_are_walked_in_the_filtered_order_and_left_for_it(viewer, browse, ids):
    async def visit(page):
        await page.until(READY)
        await page.press("j", "Enter")
        for key, sample in (("j", "q0006"), ("k", "q0013"), ("Escape", "q0006")):
            await page.until(f"{PATH}.endsWith({sample!r}) && {READY}")
            await page.press(key)
        await page.until(f"{PATH} === '/run/{ids[1]}' && {READY}")
        return await page.run("location.search"), page.complaints

    assert browse(address(viewer, f"/run/{ids[1]}?where=unparsed"), visit) == ("?where=unparsed", [])


def _literal(value):
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)


@pytest.mark.parametrize("field", ["q", "where", "search", "against", "text"])
def test_no_key_acts_while_somebody_types(viewer, browse, ids, field):
    async def visit(page):
        await page.until(READY)
        await page.run(f"document.querySelector('[name={field}]').focus()")
        for key in KEYS:
            if len(key.key) == 1:
                await page.press(key.key)
        typed = await page.run(f"document.querySelector('[name={field}]').value")
        return typed, await page.run(FOCUS), await page.run(CHOSEN), await page.run(SHEET), await page.run(PATH)

    typed, focus, chosen, sheet, path = browse(address(viewer, f"/run/{ids[1]}"), visit)
    assert (focus, chosen, sheet, path) == (field, -1, False, f"/run/{ids[1]}")
    if field != "against":
        assert typed == "".join(key.key for key in KEYS if len(key.key) == 1)


@pytest.mark.parametrize("key", ["Control+j", "Alt+j", "Meta+j"])
def test_a_key_with_a_modifier_stays_the_browsers(viewer, browse, ids, key):
    async def visit(page):
        await page.until(READY)
        await page.press(key)
        return await page.run(CHOSEN)

    assert browse(address(viewer, f"/run/{ids[1]}"), visit) == -1


def test_no_key_acts_while_an_input_method_composes(viewer, browse, ids):
    async def visit(page):
        await page.until(READY)
        await page.press("/")
        await page.send("Input.imeSetComposition", text="に", selectionStart=1, selectionEnd=1)
        await page.press("Escape")  # gives the composition up, and must not leave the field
        composing = await page.run(FOCUS)
        await page.send("Input.insertText", text="日本")
        # As browsers report the key that ends a composition: it belongs to the input method.
        await page.run(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', keyCode: 229, bubbles: true}))"
        )
        await page.run(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', isComposing: true, bubbles: true}))"
        )
        return composing, await page.run("document.activeElement.value"), await page.run(CHOSEN)

    assert browse(address(viewer, f"/run/{ids[1]}"), visit) == ("q", "日本", -1)
