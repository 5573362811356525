"""The page in a real browser: it filters, sorts, opens rows, and runs nothing that a model wrote."""

from __future__ import annotations

from steelyard import Budget, Prompt, Sample, Scripted, Suite, compare, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.report.render.html import html_report
from steelyard.scorers import SqlResult

ROWS = "[...document.querySelectorAll('.open')].map(one => one.textContent)"
SHOWN = "document.querySelector('[role=status]').textContent"
CHIPS = """
Object.fromEntries([...document.querySelectorAll('.chips button')].map(b =>
  [b.dataset.show, +b.textContent.match(/[0-9]+$/)[0]]))
"""
COUNTS = """
['img', 'iframe', 'i', 'b', 'a[href^=javascript]', 'script:not(#data)']
  .map(one => document.querySelectorAll(one).length)
"""


def click(selector):
    return f"document.querySelector({selector!r}).click()"


async def typed(page, text):
    """Type into the search box and wait for its pause to pass."""
    await page.run("document.getElementById('search').focus()")
    await page.send("Input.insertText", text=text)
    await page.run("new Promise(done => setTimeout(done, 250))")


def test_nothing_that_a_model_wrote_runs_or_loads(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        for _ in range(2):
            await page.run("document.querySelectorAll('.open[aria-expanded=false]').forEach(one => one.click())")
            await page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            await page.run("[...document.querySelectorAll('.pages button')].at(-1).click()")
        await page.run(click(".open"))
        counts = await page.run(COUNTS)
        return await page.run("document.title"), counts, page.requests, page.complaints

    title, counts, requests, complaints = in_browser(html, visit)
    assert title == "Exam <&> \\u202e"
    assert counts == [0, 0, 0, 0, 0, 1]
    assert len(requests) == 1
    assert complaints == []


def test_an_opened_row_shows_question_key_reply_reading_and_passages(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        await page.run(click(".open"))
        detail = await page.run("document.querySelector('.detail').textContent")
        marks = await page.run("[...document.querySelectorAll('.detail mark')].map(one => one.textContent)")
        await page.run("[...document.querySelectorAll('.open')][3].click()")
        hidden = await page.run("[...document.querySelectorAll('.detail .escape')].map(one => one.textContent)")
        return detail, marks, hidden

    detail, marks, hidden = in_browser(html, visit)
    assert "第0题：下列哪一项正确？<i>0</i>" in detail
    assert "选项甲0✓ keyread: base <script>read: better 知识库" in detail
    assert "</script><script>document.title='pwned'</script> The answer is read here: A." in detail
    assert "Passages retrieved: 1</script><b>passage</b>" in detail
    assert "by the rule" in detail
    assert marks == ["read here: A", "read here: A"]
    assert {"\\u202e", "\\u2066", "\\u200b"} <= set(hidden)


def test_chips_search_and_selects_narrow_the_rows(pair, in_browser):
    comparison = compare(*pair)
    html = html_report(pair, comparison)

    async def visit(page):
        state = {"chips": await page.run(CHIPS)}
        await page.run(click("[data-show=improvements]"))
        state["improvements"] = await page.run(ROWS)
        state["address"] = await page.run("location.hash")
        await page.run(click("[data-show=all]"))
        await typed(page, "第7题")
        state["search"] = await page.run(ROWS)
        await page.run("document.getElementById('search').value = ''")
        await page.run("document.getElementById('search').dispatchEvent(new Event('input'))")
        await page.run(
            "const g = document.getElementById('group'); g.value = '卦象'; g.dispatchEvent(new Event('change'))"
        )
        await page.run("new Promise(done => setTimeout(done, 250))")
        state["group"] = await page.run(SHOWN)
        await page.run(
            "const t = document.getElementById('target'); t.value = '0'; t.dispatchEvent(new Event('change'))"
        )
        state["chips of one"] = await page.run(CHIPS)
        return state

    state = in_browser(html, visit)
    summaries = [run.summary() for run in pair]
    assert state["chips"]["all"] == 60
    assert state["chips"]["changed"] == len(comparison.pairs[0].changed.improvements) + len(
        comparison.pairs[0].changed.regressions
    )
    assert state["improvements"] == list(comparison.pairs[0].changed.improvements)
    assert state["address"] == "#show=improvements"
    assert state["search"] == ["q0007"]
    assert state["group"] == "Samples shown: 1 to 20 of 20 (60 in all)"
    group = summaries[0].score(group="卦象")
    assert state["chips of one"].get("refused", 0) == group.refused
    assert state["chips of one"].get("errors", 0) == group.errors
    assert state["chips of one"]["wrong"] + state["chips of one"]["right"] == group.scored


def test_the_address_opens_a_sample_and_keeps_the_filter(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        opened = await page.run(
            "document.querySelector('.detail').previousElementSibling.querySelector('.open').textContent"
        )
        return opened, await page.run(SHOWN), await page.run("location.hash")

    opened, shown, address = in_browser(html, visit, address="#show=all&open=q0055")
    assert opened == "q0055"
    assert shown == "Samples shown: 51 to 60 of 60 (60 in all)"
    assert address == "#open=q0055"


def test_paper_gets_all_chosen_rows_and_neither_keys_nor_manifests(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        await page.run("[...document.querySelectorAll('.pages button')].at(-1).click()")
        before = await page.run(ROWS)
        await page.tab.emulate_media(media="print")
        await page.run("window.dispatchEvent(new Event('beforeprint'))")
        seen = await page.run("document.getElementById('browser').innerText")
        manifest = await page.run("getComputedStyle(document.querySelector('[aria-label^=Manifest]')).display")
        hints = "Keys:" in seen, "Page 2" in seen, manifest != "none"  # a manifest takes eight sheets
        printed = await page.run(ROWS), await page.run(SHOWN), *hints
        await page.run("window.dispatchEvent(new Event('afterprint'))")
        return before, printed, await page.run(ROWS), await page.run(SHOWN)

    before, (rows, shown, *hints), after, shown_after = in_browser(html, visit)
    assert (len(rows), shown, hints) == (60, "Samples shown: 1 to 60 of 60 (60 in all)", [False, False, False])
    assert rows[25:50] == before == after
    assert shown_after == "Samples shown: 26 to 50 of 60 (60 in all)"


def test_the_caption_of_the_table_is_a_line_on_a_phone(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        await page.tab.set_viewport_size({"width": 390, "height": 844})
        return await page.run("document.querySelector('.samples caption').offsetWidth")

    assert in_browser(html, visit) > 300


def test_columns_sort_both_ways_and_say_so(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        states = []
        for _ in range(2):
            await page.run(click("th[data-key=id] button"))
            states.append((await page.run(ROWS), await page.run("document.querySelector('th[data-key=id]').ariaSort")))
        return states

    (up, ascending), (down, descending) = in_browser(html, visit)
    assert (ascending, descending) == ("ascending", "descending")
    assert (up[0], down[0]) == ("q0000", "q0059")
    assert up == sorted(up)


def test_the_keyboard_reaches_search_and_rows(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def press(page, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            await page.send("Input.dispatchKeyEvent", type=kind, key=key, **text)

    async def visit(page):
        focus = "document.activeElement.id || document.activeElement.textContent"
        await press(page, "j")
        await press(page, "j")
        second = await page.run(focus)
        await press(page, "k")
        first = await page.run(focus)
        await press(page, "/")
        return first, second, await page.run(focus), await page.run("document.getElementById('search').value")

    assert in_browser(html, visit) == ("q0000", "q0001", "search", "")


def test_every_control_has_a_name_and_the_page_never_scrolls_sideways(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        await page.run(click(".open"))
        nodes = (await page.send("Accessibility.getFullAXTree"))["nodes"]
        roles = {"button", "searchbox", "combobox", "link", "img"}
        controls = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
        nameless = [node for node in controls if not node.get("name", {}).get("value")]
        widths = []
        for width in (1280, 400):
            await page.send(
                "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
            )
            widths.append(await page.run("document.documentElement.scrollWidth <= innerWidth"))
        return len(controls), nameless, widths

    controls, nameless, widths = in_browser(html, visit)
    assert controls > 50
    assert nameless == []
    assert widths == [True, True]


def test_numbers_of_the_page_lead_to_as_many_samples_as_they_count(pair, in_browser):
    html = html_report(pair, compare(*pair))

    async def visit(page):
        numbers = await page.run(
            "[...document.querySelectorAll('main a[href^=\"#show\"]')].map(one => one.textContent)"
        )
        found = []
        for at in range(len(numbers)):
            await page.run(f"document.querySelectorAll('main a[href^=\"#show\"]')[{at}].click()")
            await page.run("new Promise(done => setTimeout(done, 100))")
            shown = await page.run(SHOWN)
            found.append(shown.split(" of ")[1].split(" ")[0] if " of " in shown else shown)
        sections = await page.run("[...document.querySelectorAll('.contents a')].map(one => one.hash)")
        missing = await page.run(f"{sections!r}.filter(hash => !document.querySelector(hash))")
        return numbers, found, sections, missing

    numbers, found, sections, missing = in_browser(html, visit)
    assert found == numbers
    assert len(numbers) > 8  # four outcomes, and of two targets what was unparsed, refused and failed
    assert sections[:3] == ["#conclusion", "#targets", "#samples"]
    assert missing == []


def test_many_samples_are_drawn_a_page_at_a_time(make_runs, in_browser):
    [run] = make_runs({"t": lambda _: "The answer is A."}, 1200)
    html = html_report([run])

    async def visit(page):
        nodes = await page.run("document.querySelectorAll('*').length")
        await page.run("[...document.querySelectorAll('.pages button')].at(-1).click()")
        return nodes, await page.run(SHOWN)

    nodes, shown = in_browser(html, visit)
    assert nodes < 2000
    assert shown == "Samples shown: 26 to 50 of 1200 (1200 in all)"


def test_a_run_that_never_got_to_a_record_stands_beside_one_that_did(make_runs, in_browser):
    targets = {name: Prompt(Scripted(default="The answer is A.")) for name in ("first", "never asked")}
    runs = make_runs(targets, 8, budget=Budget(calls=4))
    assert [run.done for run in runs] == [4, 0]

    async def visit(page):
        await page.run(click(".open"))
        return await page.run("document.querySelector('.samples tbody tr').textContent"), page.complaints

    row, complaints = in_browser(html_report(runs), visit)
    assert complaints == []
    assert "✓ correct A" in row
    assert "not asked" in row


def test_a_query_has_room_its_schema_keeps_its_lines_and_verdicts_are_told_in_words(tmp_path, in_browser):
    schema = "CREATE TABLE boats (\n  name TEXT\n);\nINSERT INTO boats VALUES ('Wren'), ('Heron'), ('<b>');"
    metadata = {"schema": schema, "db_id": "", "dialect": "SQLite"}
    samples = [Sample("one", "Which boats?", "SELECT name FROM boats", metadata=metadata)]
    suite = Suite("boats", "text2sql", samples, {"t": lambda _: "SELECT name FROM boats LIMIT 1"}, (SqlResult(),))
    runs = evaluate_suite(suite, how=RunConfig(store=tmp_path / "store.db"))

    async def visit(page):
        heads = await page.run("[...document.querySelectorAll('.samples thead th')].map(one => one.textContent)")
        width = await page.run("document.querySelector('.samples th.key').getBoundingClientRect().width")
        row = await page.run("document.querySelector('.samples tbody tr').textContent")
        await page.run(click(".open"))
        shown_schema = await page.run("document.querySelector('.detail pre[aria-label=schema]').textContent")
        return heads, width, row, shown_schema, await page.run("document.querySelector('.detail').textContent")

    heads, width, row, shown_schema, detail = in_browser(html_report(runs), visit)
    assert "Expected" in heads
    assert width > 150
    assert "SELECT name FROM boats" in row
    assert "rows missing" in row
    assert shown_schema == schema
    assert "dialect: SQLite" in detail
    assert "db_id" not in detail
