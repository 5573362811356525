"""axe-core finds nothing on any page, wide and narrow, light and dark; none scrolls sideways."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.chromium import missing
from tests.browser.conftest import MAKERS, address
from tests.browser.processes import gated_run
from tests.viewer.conftest import serving
from tests.viewer.test_queues import queue_in
from tests.viewer.test_saved_pages import KINDS, store_with_all  # noqa: F401  # a fixture
from tests.viewer.test_side_by_side import three  # noqa: F401  # a fixture

from steelyard import compare
from steelyard.report.render.html import html_report

LOOKS = ((1280, 800, "light"), (390, 844, "dark"))
"""Each width and each scheme once: no colour depends on the width, and no layout on the scheme."""
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
FIND = """
axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then(({violations}) =>
  violations.map(({id, impact, nodes}) => `${id} (${impact}, ${nodes.length}): ${nodes[0].target} ` +
    `${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`))
"""
SIDEWAYS = """
Math.max(document.documentElement.scrollWidth - innerWidth,
  ...[...document.querySelectorAll(".outcomes")].map(({parentElement: box}) => box.scrollWidth - box.clientWidth))
"""
"""Of the page, and of tables that a telephone has room for."""


@pytest.fixture(scope="module")
def axe():
    if not AXE.exists():
        missing("axe-core is not there: `make test-browser` installs it")
    return AXE.read_text(encoding="utf-8")


def looked_at(axe):
    """A visit that gives what is wrong with the page at each size and in each scheme."""

    async def visit(page):
        await page.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        await page.run(axe)
        wrong = []
        for width, height, scheme in LOOKS:
            await page.tab.set_viewport_size({"width": width, "height": height})
            await page.tab.emulate_media(color_scheme=scheme)
            found = await page.run(FIND)
            if (sideways := await page.run(SIDEWAYS)) > 0:
                found.append(f"scrolls {sideways} px sideways")
            wrong += [f"{width} {scheme}: {each}" for each in found]
        return wrong

    return visit


@pytest.mark.parametrize("kind", MAKERS)
def test_every_page_of_the_viewer_can_be_used_by_everybody(shown, browse, axe, kind):
    there = shown[kind]
    wrong = {name: browse(address(there.viewer, path), looked_at(axe)) for name, path in there.pages().items()}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    "kind", [kind for kind, (path, _) in KINDS.items() if path.startswith(("/codes", "/data", "/queue"))]
)
def test_pages_about_records_and_datasets_can_be_used_by_everybody(store_with_all, browse, axe, kind):  # noqa: F811
    viewer, names = store_with_all
    reader = {"name": "steelyard_author", "value": "ann", "domain": viewer.access.own_host, "path": "/"}
    known = {"cookies": [reader], "origins": []}
    path, _ = KINDS[kind]
    assert browse(address(viewer, path.format(**names)), looked_at(axe), storage_state=known) == []


def test_outputs_of_three_runs_can_be_compared_by_everybody(three, browse, axe):  # noqa: F811
    viewer, (first, second, third) = three
    for path in (f"/compare?a={first}&b={second}&b={third}", f"/run/{second}/s/q1", "/history/S"):
        assert browse(address(viewer, path), looked_at(axe)) == [], path


def test_queues_can_be_used_by_everybody(shown, browse, axe):
    viewer = shown["exam"].viewer
    queue = queue_in(viewer.store)

    async def visit(page):
        look = looked_at(axe)
        wrong = await look(page)
        await page.run("document.querySelector('input[name=name]').value = 'ann'")
        await page.run("document.querySelector('form[action$=\"/name\"]').requestSubmit()")
        await page.until("!!document.querySelector('form[action$=\"/label\"]')")
        return [*wrong, *await look(page)]

    assert browse(address(viewer, f"/queue/{queue.id}"), visit) == []
    assert browse(address(viewer, "/queue"), looked_at(axe)) == []


def test_a_run_that_is_running_can_be_followed_by_everybody(tmp_path, browse, axe):
    with gated_run(tmp_path / "live.db") as run, serving(tmp_path / "live.db") as viewer:

        async def visit(page):
            await page.until(
                "document.querySelector('.badge.running') && document.querySelector('progress').value > 25"
            )
            connected = await page.run("document.querySelectorAll('[hx-sse\\\\:connect]').length")
            return connected, await looked_at(axe)(page)

        try:
            assert browse(address(viewer, f"/live/{run.id}"), visit) == (1, [])
            assert browse(address(viewer, f"/run/{run.id}"), looked_at(axe)) == []
            assert browse(address(viewer, "/"), looked_at(axe)) == []
        finally:
            run.allow(60)


@pytest.mark.parametrize("kind", MAKERS)
def test_the_one_file_report_can_be_used_by_everybody(shown, in_browser, axe, kind):
    runs = shown[kind].runs
    alike = len(runs) > 1 and kind != "pairs"
    html = html_report(runs, compare(*runs) if alike else None)

    async def visit(page):
        if await page.run("!!document.querySelector('.open')"):
            await page.run("document.querySelector('.open').click()")
        return await looked_at(axe)(page)

    assert in_browser(html, visit) == []


def test_the_checker_sees_what_is_wrong(in_browser, axe):
    html = (
        "<!doctype html><html lang=en><title>t</title><main><h1>t</h1><img src='data:,'>"
        "<p style='color: #bbb; background: #fff; width: 2000px'>faint</p>"
        "<button style='height: 9px'></button><button style='height: 9px'></button>"
    )
    found = " ".join(in_browser(html, looked_at(axe)))
    for rule in ("image-alt", "color-contrast", "button-name", "target-size", "sideways"):
        assert rule in found
