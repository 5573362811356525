"""The comparison of prompts x models in a real browser: a cell leads to its run, a row to its comparison."""

from __future__ import annotations

import pytest
from tests.browser.conftest import address
from tests.viewer.conftest import serving

from steelyard import Sample, Suite, evaluate_suite


def right(output, expected):
    return output == expected


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A viewer of four runs: two prompts on two models, the second of which is right."""
    where = tmp_path_factory.mktemp("grid") / "store.db"
    samples = [Sample(f"q{no}", f"Question {no}?", "A") for no in range(30)]
    places = [(prompt, model) for prompt in ("terse", "chatty") for model in ("small", "large")]
    targets = {f"{prompt}@{model}": (_large if model == "large" else _small) for prompt, model in places}
    tags = {f"{prompt}@{model}": {"prompt": prompt, "model": model} for prompt, model in places}
    evaluate_suite(Suite("Tickets", "custom", samples, targets, (right,), tags=tags), store=where, progress=False)
    with serving(where) as served:
        yield served


def _small(sample):
    return "A" if int(sample.id[1:]) % 2 else "B"


def _large(sample):
    return "A"


def test_a_cell_leads_to_its_run_and_a_pair_to_its_comparison(shipped, browse):
    runs = {run.target: run.id for run in shipped.store.runs()}
    first, *others = (runs[name] for name in ("terse@small", "terse@large", "chatty@small", "chatty@large"))
    path = f"/compare?a={first}" + "".join(f"&b={ident}" for ident in others)

    async def visit(page):
        await page.until("document.readyState === 'complete'")
        table = "document.querySelector('.matrix')"
        shown = await page.run(f"{table}.innerText")
        pair = await page.run("[...document.querySelectorAll('#grid_details a')].at(-1).getAttribute('href')")
        width = await page.run(f"{table}.getBoundingClientRect().right <= document.documentElement.clientWidth")
        row = await page.run(f"{table}.querySelector('tbody th a').getAttribute('href')")
        await page.run(f"{table}.querySelectorAll('tbody td a')[1].click()")
        await page.until("location.pathname.startsWith('/run/') && document.readyState === 'complete'")
        return (shown, row), pair, width, await page.run("location.pathname"), page.complaints

    (shown, row), pair, width, opened, complaints = browse(address(shipped, path), visit)
    assert "50.0 %" in shown
    assert "100.0 %" in shown
    assert runs["terse@large"] in pair
    assert runs["chatty@large"] in pair
    assert all(ident in row for ident in runs.values())
    status, _, text = shipped.ask(row)
    assert status == 200
    assert 'class="matrix"' in text
    assert width
    assert opened == f"/run/{runs['terse@large']}"
    assert complaints == []
