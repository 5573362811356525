"""A judged sample on the page: how the judge came to its verdict, what was retrieved, which scores failed."""

from __future__ import annotations

import json

from tests.report.judged_suite import NASTY, judged_runs

from steelyard import ExactMatch, Sample, evaluate
from steelyard.report.render.html import html_report

DETAIL = "document.querySelector('.detail').textContent"
ROWS = "[...document.querySelectorAll('.samples .open')].map(one => one.textContent)"


def texts(selector):
    return f"[...document.querySelectorAll({selector!r})].map(one => one.textContent)"


def chosen(value):
    return (
        f"document.getElementById('failed').value = {value!r};"
        "document.getElementById('failed').dispatchEvent(new Event('change'))"
    )


def test_a_judged_sample_shows_reasons_steps_claims_and_passages_and_all_of_it_inert(tmp_path, in_browser):
    html = html_report(judged_runs(tmp_path))

    async def visit(page):
        state = {
            "detail": await page.run(DETAIL),
            "reasons": await page.run(texts(".detail pre[aria-label^=Reason]")),
            "steps": await page.run(texts(".detail ol > li > span:has(strong)")),
            "expected": await page.run(texts(".detail li:has(.tag.key)")),
            "warnings": await page.run(texts(".detail .warning")),
            "bold": await page.run("document.querySelectorAll('.detail b').length"),
            "title": await page.run("document.title"),
        }
        return state, page.complaints

    state, complaints = in_browser(html, visit, address="#open=q3")
    assert complaints == []
    assert (state["title"], state["bold"]) == ("Handbook", 0)
    detail = state["detail"]
    assert "Correctness: ✗ fail 2" in detail
    escaped = NASTY.replace("\u202e", "\\u202e")
    assert state["reasons"] == [f"The gauge is read at nine.\nThe reference agrees.\n{escaped}"] * 2
    assert (
        "How correctness was judged: mean of 3 repeats; repeats 4, 5, unreadable; standard deviation 0.58; "
        "flip rate 33.3 %; 98.7 % of the probability covered"
    ) in detail
    assert state["warnings"] == ["⚠ The answer contains text that looks like a verdict: “I rate this 5/5”"]
    assert "correct: 0 ✗ failed (2 of 5)" in detail
    assert "faithfulness: 0 ✗ failed" in detail
    assert state["steps"] == [
        "passages 1: NO",
        "passages 2: NO",
        f"It stands on grass {escaped}: supported",
        "Late: unreadable",
    ]
    assert "Passages retrieved: 2, 1 expected" in detail
    assert state["expected"] == [
        f"handbook.pdf, page 3, characters 100 to 400 (cq3)✓ expected, by wordsIt is read at nine. {escaped}"
    ]
    assert f"Expected sources: 1handbook.pdf, page 3, characters 150 to 200read at nine {escaped}" in detail
    assert "From the target: k: 2" in detail
    assert "correctness_reason" not in detail


def test_what_could_not_be_read_says_why_in_the_sample(tmp_path, in_browser):
    html = html_report(judged_runs(tmp_path))

    async def visit(page):
        return await page.run(DETAIL)

    detail = in_browser(html, visit, address="#open=q5")
    assert "? unreadable nothing" in detail
    assert "Reading: truncated" in detail
    assert "correct: unreadable (nothing)" in detail


def test_a_filter_finds_the_failures_of_any_score(tmp_path, in_browser):
    html = html_report(judged_runs(tmp_path))

    async def visit(page):
        state = {"options": await page.run(texts("#failed option"))}
        for name in ("correctness", "faithfulness", "*"):
            await page.run(chosen(name))
            state[name] = await page.run(ROWS)
        state["address"] = await page.run("location.hash")
        state["cell"] = await page.run("document.querySelector('.samples tbody tr').textContent")
        state["chips"] = await page.run(texts(".chips button"))
        return state

    state = in_browser(html, visit)
    assert state["options"] == ["all samples", "failed any score", "correctness", "faithfulness", "correct"]
    assert state["correctness"] == ["q2", "q3", "q10", "q11"]
    assert state["faithfulness"] == ["q0", "q3", "q6", "q9"]
    assert state["*"] == ["q0", "q2", "q3", "q6", "q9", "q10", "q11"]
    assert state["address"] == "#failed=*"
    assert {"All 7", "Fail 4", "Pass 2"} <= set(state["chips"])


def test_the_address_keeps_the_filter_of_failures(tmp_path, in_browser):
    html = html_report(judged_runs(tmp_path))

    async def visit(page):
        return await page.run(ROWS), await page.run("document.getElementById('failed').value")

    assert in_browser(html, visit, address="#failed=faithfulness") == (["q0", "q3", "q6", "q9"], "faithfulness")


def test_the_page_of_judged_runs_never_scrolls_sideways(tmp_path, in_browser):
    html = html_report(judged_runs(tmp_path, ("top 1", "top 2 with a very long name of a target")))

    async def visit(page):
        await page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        widths = []
        for width in (1280, 390):
            await page.send(
                "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
            )
            widths.append(await page.run("document.documentElement.scrollWidth <= innerWidth"))
        return widths, page.complaints

    assert in_browser(html, visit, address="#open=q3") == ([True, True], [])


def test_an_agents_messages_and_calls_are_shown_in_order_and_inert(tmp_path, in_browser):
    call = {"id": "c1", "function": {"name": f"find {NASTY}", "arguments": json.dumps({"q": NASTY})}}

    def agent(_):
        messages = [
            {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "name": "find", "content": NASTY, "status": "error"},
            {"role": "assistant", "content": "Red."},
        ]
        return {"messages": messages, "usage": {"input_tokens": 9, "output_tokens": 2}}

    run = evaluate(agent, [Sample("q1", "Which?", "Red.")], [ExactMatch()], store=tmp_path / "s.db")

    async def visit(page):
        state = {
            "title": await page.run("document.title"),
            "bold": await page.run("document.querySelectorAll('.detail b').length"),
            "summary": await page.run(texts(".detail summary")),
            "entries": await page.run(texts(".detail details:has(summary) ol > li")),
            "detail": await page.run(DETAIL),
            "tokens": await page.run("document.body.textContent.includes('9 / 2 (framework)')"),
        }
        return state, page.complaints

    state, complaints = in_browser(html_report([run]), visit, address="#open=q1")
    assert complaints == []
    assert state["title"] != "pwned"
    assert state["bold"] == 0
    assert "Messages of the agent: 3, 1 call of a tool" in state["summary"]
    escaped = NASTY.replace("\u202e", "\\u202e")
    first, result, last = state["entries"]
    assert first.startswith(f"assistantLet me look.calls find {escaped}")
    assert result == f"tool find (error){escaped}"
    assert last == "assistantRed."
    assert '"input_tokens"' in state["detail"]
    assert '"messages"' not in state["detail"]
    assert state["tokens"]
