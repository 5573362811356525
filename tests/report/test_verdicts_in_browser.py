"""The page calls a record right or wrong where its scorer said so, and nowhere else."""

from __future__ import annotations

import pytest

from steelyard import Options, Sample, Score, ScoreInfo, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.report.render.html import html_report

CELLS = "[...document.querySelectorAll('.samples tbody td:last-child')].map(one => one.innerText.split('\\n')[0])"
CHIPS = "[...document.querySelectorAll('.chips button')].map(one => one.textContent)"
VALUES = {"low": 0.49, "middle": 0.51, "high": 0.9}


def scorer_of(info, values=None):
    """Gives each sample its value of the same id; whether it passed is left to the declared threshold."""

    def scorer(sample, output):
        return Score(info.name, (values or VALUES)[sample.id])

    scorer.score_infos = (info,)
    return scorer


@pytest.fixture
def shown(tmp_path, in_browser):
    def show(info, values=None, **options):
        samples = [Sample(name, f"{name}?") for name in (values or VALUES)]
        suite = Suite("s", "custom", samples, {"t": lambda _: "x"}, (scorer_of(info, values),), Options(**options))
        runs = evaluate_suite(suite, how=RunConfig(store=tmp_path / "store.db"))

        async def visit(page):
            head = await page.run("document.querySelector('.samples th.target').innerText")
            return head, await page.run(CELLS), await page.run(CHIPS)

        return in_browser(html_report(runs), visit)

    return show


def test_without_a_threshold_a_share_is_a_number_and_neither_right_nor_wrong(shown):
    head, cells, chips = shown(ScoreInfo("rouge_l", (0, 1)))
    assert head.split("\n") == ["t", "ROUGE-L"]
    assert cells == ["• 49.0 %", "• 51.0 %", "• 90.0 %"]
    assert chips == ["All 3"]


def test_a_declared_threshold_decides_and_not_one_half(shown):
    _, cells, chips = shown(ScoreInfo("overlap", (0, 1), threshold=0.6))
    assert cells == ["✗ fail 49.0 %", "✗ fail 51.0 %", "✓ pass 90.0 %"]
    assert chips == ["All 3", "Fail 2", "Pass 1"]


def test_where_lower_is_better_a_high_value_is_wrong(shown):
    _, cells, _ = shown(ScoreInfo("violations", (0, 10), lower_is_better=True, threshold=2), {"a": 1.0, "b": 3.0})
    assert cells == ["✓ pass 1", "✗ fail 3"]


@pytest.mark.parametrize(("lower", "names"), [(False, ("✗ miss", "✓ hit")), (True, ("✓ miss", "✗ hit"))])
def test_a_verdict_has_the_name_that_its_scorer_gives(shown, lower, names):
    info = ScoreInfo("found", (0, 1), threshold=0.0 if lower else 1.0, lower_is_better=lower, labels=("hit", "miss"))
    _, cells, chips = shown(info, {"a": 0.0, "b": 1.0})
    assert tuple(cells) == names
    assert set(chips) == {"All 2", "Hit 1", "Miss 1"}


def test_repeats_that_disagree_are_neither_right_nor_wrong(tmp_path, in_browser):
    info = ScoreInfo("solved", (0, 1), threshold=1.0)
    answers = iter([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])

    def scorer(sample, output):
        return Score("solved", float(output.value))

    scorer.score_infos = (info,)
    suite = Suite(
        "s", "custom", [Sample("a", "a?"), Sample("b", "b?")], {"t": lambda _: next(answers)}, (scorer,),
        Options(repeats=3, concurrency=1),
    )  # fmt: skip
    runs = evaluate_suite(suite, how=RunConfig(store=tmp_path / "store.db"))

    async def visit(page):
        classes = "[...document.querySelectorAll('.samples tbody td:last-child .state')].map(one => one.className)"
        return await page.run(CELLS), await page.run(classes)

    cells, classes = in_browser(html_report(runs), visit)
    by_right = dict(zip(cells, classes, strict=True))
    assert sum(int(cell.split()[1]) for cell in cells) == 2
    assert all(by_right[cell] == "state scored" for cell in cells if cell[2] in "12")
    assert by_right.get("✗ 0 of 3 right", "state wrong") == "state wrong"


def test_six_targets_fit_a_screen_with_their_answers(tmp_path, in_browser):
    targets = {f"retriever-number-{no}": lambda _: "Notice of seven days is needed in writing." for no in range(6)}
    samples = [Sample(name, "How many days of notice?", "Seven days in writing.", group="g") for name in VALUES]
    suite = Suite("s", "rag", samples, targets, (scorer_of(ScoreInfo("token_f1", (0, 1))),))
    runs = evaluate_suite(suite, how=RunConfig(store=tmp_path / "store.db"))

    async def visit(page):
        await page.send("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        hidden = "[...document.querySelectorAll('.scroll')].map(one => one.scrollWidth - one.clientWidth)"
        cell = "document.querySelector('.samples tbody td:last-child').innerText"
        return await page.run(hidden), await page.run(cell)

    hidden, cell = in_browser(html_report(runs), visit)
    assert max(hidden) <= 0
    assert "Notice of seven" in cell
    assert cell.startswith("• 49.0 %")
