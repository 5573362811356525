"""Pages of many samples: deflated, of each kind so many, every count still of all."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.conftest import runs_in
from tests.report.test_html import Reader, lines_that_differ

from steelyard import Choice, Output, compare
from steelyard.report.render.html import html_report
from steelyard.report.sample_choice import (
    ERROR,
    IMPROVEMENT,
    KINDS,
    REFUSED,
    REGRESSION,
    RIGHT,
    UNPARSED,
    WRONG,
    PageSize,
    ScoredRun,
    choose_samples,
)
from steelyard.report.sample_table import packed_data, plain_data

SMALL = PageSize(most=5)
CHIPS = """
Object.fromEntries([...document.querySelectorAll('.chips button')].map(b =>
  [b.dataset.show, +b.textContent.match(/[0-9,]+$/)[0].replace(',', '')]))
"""
SEEN = """
new Promise(done => {{
  const wait = () => document.querySelector('{}') ? done() : setTimeout(wait, 20);
  wait();
}})
"""
READY = SEEN.format(".chips button")


def unpacked(html):
    text = re.search(r'<script type="text/plain" id="data" data-packed="deflate">(.*?)</script>', html, re.DOTALL)[1]
    return [json.loads(zlib.decompress(base64.b64decode(line))) for line in text.split()]


def mixed(right):
    """A target that is right in a share of the samples, and fails, refuses or says nothing to be read in others."""

    def answer(sample):
        no = int(sample.id[1:])
        if no % 11 == 10:
            raise RuntimeError("down")
        if no % 13 == 12:
            return "I'm sorry, but I can't help with that."
        if no % 17 == 16:
            return "Hm."
        letter = sample.reference if no * right % 7 < 4 else "ABCD"["BCDA".index(sample.reference)]
        return Output(f"The answer is {letter}. \ud800 </script> {no}")

    return answer


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return runs_in(tmp_path_factory.mktemp("large"))({"base": mixed(2), "other": mixed(3)}, 260)


def counted(runs, comparison):
    """From the records themselves: per filter how many samples it keeps, in any run."""
    counts = Counter()
    states = {}
    for run in runs:
        for record in run.records():
            of_sample = states.setdefault(record.sample.id, set())
            [score] = record.scores or [None]
            if record.failure:
                of_sample.add("errors")
            elif score.outcome != "scored":
                of_sample.add(score.outcome)
            else:
                of_sample.add("right" if score.passed else "wrong")
    pair = comparison.pairs[0]
    for name, idents in (("improvements", pair.changed.improvements), ("regressions", pair.changed.regressions)):
        for ident in idents:
            states[ident] |= {name, "changed"}
    for of_sample in states.values():
        counts.update({*of_sample, "all"})
    return dict(counts)


def test_every_kind_is_held_up_to_its_number_and_says_of_how_many(large):
    comparison = compare(*large)
    html = html_report(large, comparison, size=SMALL)
    pair = comparison.pairs[0]
    text = Reader(html).text
    assert f"regressions: shown 5 of {len(pair.changed.regressions)}" in text
    assert f"improvements: shown 5 of {len(pair.changed.improvements)}" in text
    shown, total = map(int, re.search(r"This page shows (\d+) of (\d+) samples: at most 5 of each kind", text).groups())
    assert total == 260
    assert 20 < shown <= 30
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    ids = set(data["samples"]["id"])
    assert len(ids) == shown
    assert len(ids & set(pair.changed.regressions)) == len(ids & set(pair.changed.improvements)) == 5
    assert len(data["runs"][0]["output"]) == len(data["runs"][1]["output"]) == shown


def test_the_profiles_of_a_page_add_up_to_the_records_of_all_samples(large):
    comparison = compare(*large)
    html = html_report(large, comparison, size=SMALL)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    bits = {"right": RIGHT, "wrong": WRONG, "unparsed": UNPARSED, "refused": REFUSED, "errors": ERROR}
    bits |= {"improvements": IMPROVEMENT, "regressions": REGRESSION, "changed": IMPROVEMENT | REGRESSION}
    sums = Counter()
    for _, masks, n in data["all"]["profiles"]:
        together = masks[0] | masks[1]
        sums.update({name: n for name, bit in bits.items() if together & bit} | {"all": n})
    assert dict(sums) == counted(large, comparison)


def test_a_seed_draws_the_same_samples_and_another_one_others(large):
    scored = [ScoredRun(run, "solve_rate", False, {}) for run in large]
    first, again = (choose_samples(scored, PageSize(5, 3)) for _ in range(2))
    assert first == again
    assert choose_samples(scored, PageSize(5, 4)).places != first.places
    assert [kind.kind for kind in first.kinds] == [
        kind for kind in KINDS if kind in {"errors", "unparsed", "wrong", "rest"}
    ]
    # A draw does not hang on what else is there: more room adds samples and drops none.
    more = choose_samples(scored, PageSize(8, 3))
    assert all(set(few) <= set(many) for few, many in zip(first.places, more.places, strict=True))


def test_a_page_with_room_for_all_samples_draws_none(large):
    assert choose_samples([ScoredRun(run, "solve_rate", False, {}) for run in large], PageSize(260)) is None


def test_packed_pages_of_the_same_replies_differ_in_their_durations_alone(make_runs):
    first = make_runs({"t": mixed(2)}, 220, store="one.db")
    second = make_runs({"t": mixed(2)}, 220, store="two.db")
    pages = html_report(first), html_report(second)
    assert unpacked(pages[0])[0] == unpacked(pages[1])[0]
    data, times = unpacked(pages[0])
    assert set(times[0]) == {"latency", "seconds"}
    assert not {"latency", "seconds"} & set(data["runs"][0])
    blobs = [pair for pair in lines_that_differ(*pages) if len(pair[0]) > 2_000]
    assert blobs == []


def test_records_at_some_places_are_those_of_the_whole_run(large):
    run = large[0]
    every = {int(record.sample.id[1:]): record for record in run.records()}
    shared = {}
    for places in ((0,), (3, 4, 5, 6), tuple(range(0, 260, 7)), (1, 259)):
        assert list(run.records_at(places, shared)) == [every[no] for no in places]
        assert list(run.records_at(places)) == [every[no] for no in places]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON_VALUES, max_size=6), st.lists(st.floats(0, 100), max_size=6))
def test_packed_and_plain_data_read_back_and_cannot_end_the_script(values, seconds):
    blocks = {
        "head": {"score": "</script>"},
        "samples": {"id": values},
        "runs": [{"output": values, "seconds": seconds}],
    }
    plain, packed = plain_data(blocks), packed_data(blocks)
    assert "<" not in plain + packed
    assert json.loads(plain) == blocks
    data, times = (json.loads(zlib.decompress(base64.b64decode(line))) for line in packed.split("\n"))
    assert times == [{"seconds": seconds}]
    assert data == {**blocks, "runs": [{"output": values}]}


def test_a_number_that_json_lacks_is_a_text_in_packed_data():
    [data, _] = packed_data({"samples": {}, "runs": [{"value": [float("nan")]}]}).split("\n")
    assert json.loads(zlib.decompress(base64.b64decode(data)))["runs"][0]["value"] == ["nan"]


def test_a_deflated_page_opens_and_what_models_wrote_is_text(large, in_browser):
    comparison = compare(*large)
    html = html_report(large, comparison)
    assert "data-packed" in html

    async def visit(page):
        await page.run(READY)
        chips = await page.run(CHIPS)
        await page.run("document.querySelector('.open').click()")
        detail = await page.run("document.querySelector('.detail').textContent")
        return chips, detail, page.requests, page.complaints

    chips, detail, requests, complaints = in_browser(html, visit)
    assert chips == counted(large, comparison)
    assert "\\ud800 </script> 0" in detail
    assert " s" in detail.partition("Time in all")[2]
    assert len(requests) == 1
    assert complaints == []


def test_a_page_of_some_samples_counts_all_of_them(large, in_browser):
    comparison = compare(*large)
    html = html_report(large, comparison, size=SMALL)
    status = "document.querySelector('[role=status]').textContent"

    async def visit(page):
        await page.run(READY)
        found = {"chips": await page.run(CHIPS)}
        await page.run("document.querySelector('[data-show=regressions]').click()")
        found["regressions"] = await page.run(status)
        await page.run("document.querySelector('[data-show=all]').click()")
        await page.run(
            "const g = document.getElementById('group'); g.selectedIndex = 1; g.dispatchEvent(new Event('change'))"
        )
        found["group"] = await page.run("document.querySelector('[data-show=all]').textContent")
        await page.run(
            "const t = document.getElementById('target'); t.value = '1'; t.dispatchEvent(new Event('change'))"
        )
        found["target"] = await page.run(CHIPS)
        found["complaints"] = page.complaints
        return found

    found = in_browser(html, visit)
    assert found["chips"] == counted(large, comparison)
    assert f"(shown 5 of {len(comparison.pairs[0].changed.regressions)}, drawn with seed 0)" in found["regressions"]
    assert found["group"] == "All 87"
    group = large[1].summary().score(group=next(record.sample.group for record in large[1].records()))
    assert found["target"]["right"] + found["target"]["wrong"] == group.scored
    assert found["target"]["errors"] == group.errors
    assert found["complaints"] == []


def test_an_address_of_a_sample_that_was_not_drawn_says_so(large, in_browser):
    html = html_report(large, size=SMALL)
    held = set(json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])["samples"]["id"])
    missing = next(record.sample.id for record in large[0].records() if record.sample.id not in held)

    async def visit(page):
        await page.run(READY)
        return await page.run("document.querySelector('[role=status]').textContent")

    assert f"{missing} is not among them" in in_browser(html, visit, address=f"#open={missing}")


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("delete window.DecompressionStream", "lacks DecompressionStream"),
        ("window.atob = () => 'broken'", "damaged or was cut off"),
    ],
)
def test_a_page_that_cannot_be_opened_says_why(large, in_browser, before, said):
    html = html_report(large)

    async def visit(page):
        await page.tab.add_init_script(before)
        await page.tab.reload()
        await page.run(SEEN.format("#browser [role=alert]"))
        return await page.run("document.querySelector('#browser').textContent"), page.complaints

    text, complaints = in_browser(html, visit)
    assert said in text
    assert complaints == []


def test_a_page_of_5000_short_replies_stays_below_600_kilobytes(make_runs):
    # What 300 samples add, times what 5,000 are of them, and the fixed part once.
    small, large = (
        len(html_report(make_runs({"t": mixed(2)}, n, scorers=(Choice(),), store=f"{n}.db")).encode())
        for n in (250, 550)
    )
    assert small + (large - small) / 300 * 4750 < 600_000
