"""Outputs of several runs on one sample stand beside each other, each word by word against the baseline's."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest
from tests.browser.conftest import address
from tests.viewer.conftest import exam, serving

from steelyard import ExactMatch, Options, Sample, Score, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.people.labels import add_note
from steelyard.people.marks import MarkChange, mark_run
from steelyard.scorers.choice import Choice
from steelyard.scorers.lexical import TokenF1

SAMPLES = [Sample(f"q{no}", f"Question {no}?", f"the answer to {no} is yes") for no in range(6)]
OUTPUTS = {
    "first": lambda sample: sample.reference if int(sample.id[1:]) < 4 else "Nobody can say.",
    "second": lambda sample: sample.reference.replace("yes", "no") if sample.id == "q1" else sample.reference,
    "third": lambda sample: "<i>Rain</i> fell in spring." if sample.id in {"q1", "q2"} else OUTPUTS["first"](sample),
}


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A viewer of three runs of one suite, and their ids."""
    where = tmp_path_factory.mktemp("three") / "s.db"
    evaluate_suite(
        Suite("S", "custom", SAMPLES, OUTPUTS, (ExactMatch(),), Options(max_errors=1.0)), how=RunConfig(store=where)
    )
    with serving(where) as served:
        yield served, [run.id for run in sorted(served.store.runs(), key=lambda run: run.num)]


def compared(three, query=""):
    served, (first, second, third) = three
    return served.ask(f"/compare?a={first}&b={second}&b={third}{query}")[2]


def rows_of(text):
    """Sample -> the cells of its row, as people read them, with marks of removed and added words."""
    found = {}
    for row in re.findall(
        r"<tr data-row[^>]*>(.*?)</tr>", text.partition('id="changed"')[2].partition("</table>")[0], re.DOTALL
    ):
        cells = [
            re.sub(r"<(/?)(del|ins)>", r"{\1\2}", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)
        ]
        plain = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]
        found[plain[0]] = plain[1:]
    return found


def test_samples_that_changed_in_any_run_stand_in_one_table_most_regressions_first(three):
    assert [*rows_of(compared(three))] == ["q1", "q2", "q4", "q5"]


def test_each_output_is_a_diff_of_words_to_the_baselines_where_they_share_words(three):
    baseline, second, third, *_ = rows_of(compared(three))["q1"]
    assert baseline == "pass the answer to 1 is yes"
    assert second == "worse fail the answer to 1 is {del}yes{/del}{ins}no{/ins}"
    assert third == "worse fail &lt;i&gt;Rain&lt;/i&gt; fell in spring."
    baseline, second, third, *_ = rows_of(compared(three))["q4"]
    assert (baseline, third) == ("fail Nobody can say.", "fail same")
    assert second == "better pass the answer to 4 is yes"


def test_of_three_runs_the_answers_that_were_read_stand_in_the_table(tmp_path):
    targets = {
        name: lambda _, letter=letter: f"After some thought: the answer is {letter}."
        for name, letter in zip(("first", "second", "third"), "BCB", strict=True)
    }
    runs = evaluate_suite(Suite("S", "choice", exam(4), targets, (Choice(),)), how=RunConfig(tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as served:
        rows = rows_of(compared((served, [run.id for run in runs])))
    assert rows["q0001"][:3] == ["correct B", "worse wrong C", "correct same"]


def test_grades_stand_before_the_outputs_that_got_them(tmp_path):
    def graded(sample, output):
        grade = float(len(output.value))
        return Score("graded", grade, passed=grade >= 3)

    samples = [Sample(f"q{no}", f"{no}?") for no in range(3)]
    targets = {"first": lambda _: "four", "second": lambda sample: "go" if sample.id == "q1" else "four"}
    runs = evaluate_suite(Suite("S", "custom", samples, targets, (graded,)), how=RunConfig(tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as served:
        page = served.ask(f"/compare?a={runs[0].id}&b={runs[1].id}")[2]
    assert rows_of(page)["q1"][:3] == ["worse", "4 four", "2 go"]
    assert not re.search(r'class="vh">[24]<', page), "in sight"


def test_the_columns_of_the_table_are_chosen_for_all_runs(three):
    text = compared(three, "&columns=reference&columns=score.exact_match")
    assert rows_of(text)["q1"] == [
        *("pass Exact match 1", "worse fail Exact match 0", "worse fail Exact match 0"),
        "the answer to 1 is yes",
    ]


def test_a_row_leads_to_the_sample_of_the_first_run_that_changed(three):
    _, (first, second, third) = three
    links = re.findall(r'<th scope="row"[^>]*><a [^>]*href="([^"]+)">(q\d)</a>', compared(three))
    by_sample = {sample: html.unescape(link) for link, sample in links}
    assert by_sample["q1"] == f"/run/{second}/s/q1?against={first}"
    assert by_sample["q2"] == f"/run/{third}/s/q2?against={first}"


def shown_beside(three, path):
    """Of each run on the page of a sample: its heading and what stands below."""
    served, _ = three
    text = served.ask(path)[2].partition('id="outputs"')[2]
    texts = text.split('<div class="answer">')[1:]
    return [" ".join(re.sub(r"<[^>]+>", " ", each.partition("</section>")[0]).split()) for each in texts]


def test_a_sample_shows_what_other_runs_made_of_it_against_this_run(three):
    _, (first, second, third) = three
    own, *others = shown_beside(three, f"/run/{second}/s/q1")
    assert own == f"second {second} this run fail the answer to 1 is no"
    assert others == [
        f"first {first} pass the answer to 1 is no yes",
        f"third {third} fail &lt;i&gt;Rain&lt;/i&gt; fell in spring.",
    ]


def test_a_run_is_called_a_baseline_beside_others_only_if_it_is_pinned_or_chosen(three):
    served, (_, second, third) = three
    path = f"/run/{second}/s/q1"
    assert "against the output of this run." in served.ask(path)[2]
    assert f"of the baseline, third {third}." in served.ask(f"{path}?against={third}")[2]
    pinned = served.store.run(second)
    mark_run(served.store, pinned, MarkChange(baseline=True))
    try:
        assert shown_beside(three, path)[0].startswith(f"second {second} this run baseline ")
        assert f"of the baseline, second {second}." in served.ask(path)[2]
    finally:
        mark_run(served.store, pinned, MarkChange(baseline=False))


def test_a_sample_of_a_list_against_another_run_is_compared_with_that_run(three):
    _, (first, second, third) = three
    baseline, own, other = shown_beside(three, f"/run/{second}/s/q2?against={third}")
    assert baseline.startswith(f"third {third} baseline")
    assert own.startswith(f"second {second} this run")
    assert other.startswith(f"first {first} ")


def test_of_a_long_output_the_beginning_stands_beside_the_others(tmp_path):
    long = {name: (lambda sample, name=name: f"<b>{name} " * 100_000) for name in ("one", "two", "three")}
    suite = Suite("S", "custom", SAMPLES[:1], long, (ExactMatch(),), Options(max_errors=1.0))
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as served:
        first, second, third = (run.id for run in sorted(served.store.runs(), key=lambda run: run.num))
        own, other, last = shown_beside((served, ()), f"/run/{first}/s/q0")
        page = served.ask(f"/run/{first}/s/q0")[2]
        compared_page = served.ask(f"/compare?a={first}&b={second}&b={third}")[2]
    assert own.endswith("690,000 more characters above")
    assert other.endswith("690,000 more characters: the whole output")
    assert last.endswith("890,000 more characters: the whole output")
    assert page.count("&lt;b&gt;two ") < 2_000 < page.count("&lt;b&gt;one ")
    assert len(compared_page) < 500_000


def test_the_pinned_baseline_stands_first(three):
    served, (_, second, third) = three
    run = served.store.run(third)
    mark_run(served.store, run, MarkChange(baseline=True))
    try:
        baseline, own, _ = shown_beside(three, f"/run/{second}/s/q2")
        assert (baseline.split()[:3], own.split()[:4]) == (
            ["third", third, "baseline"],
            ["second", second, "this", "run"],
        )
    finally:
        mark_run(served.store, run, MarkChange(baseline=False))


def test_every_other_run_that_has_the_sample_stands_beside_it(tmp_path):
    targets = {f"t{no}": lambda _: "a" for no in range(8)}
    runs = evaluate_suite(
        Suite("S", "custom", [Sample("q", "One?", "a")], targets, (ExactMatch(),)),
        how=RunConfig(store=tmp_path / "s.db"),
    )
    with serving(tmp_path / "s.db") as served:
        text = served.ask(f"/run/{runs[0].id}/s/q")[2]
    headings = re.findall(r'<div class="answer">\s*<h3>(?:<a[^>]*>)?(t\d)', text)
    assert sorted(headings) == [*targets]


def test_conversations_with_one_last_message_are_not_called_the_same_output(tmp_path):
    def talked(question):
        said = [{"role": "assistant", "content": question}, {"role": "assistant", "content": "Bye."}]
        return lambda _: {"messages": said}

    targets = {name: talked(question) for name, question in (("a", "Hm?"), ("b", "Hm?"), ("c", "Why?"))}
    runs = evaluate_suite(
        Suite("S", "custom", [Sample("q", "Talk.", "Bye.")], targets, (ExactMatch(),)),
        how=RunConfig(store=tmp_path / "s.db"),
    )
    with serving(tmp_path / "s.db") as served:
        text = served.ask(f"/run/{runs[0].id}/s/q")[2]
    assert text.count("The same output.") == 1
    assert text.count("The same last message; the messages before it differ.") == 1


def test_a_run_whose_sample_has_another_input_does_not_stand_beside(tmp_path):
    for question in ("One?", "Another?"):
        suite = Suite("S", "custom", [Sample("q", question, "a")], {question: lambda _: "a"}, (ExactMatch(),))
        evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as served:
        for run in served.store.runs():
            assert "Outputs of several runs" not in served.ask(f"/run/{run.id}/s/q")[2]


@pytest.mark.parametrize(("width", "beside"), [(1280, 3), (390, 1)])
def test_outputs_stand_beside_each_other_where_there_is_room_and_below_where_there_is_none(
    three, browse, width, beside
):
    served, (first, second, third) = three
    tops = "new Set([...document.querySelectorAll('{}')].map(each => Math.round(each.getBoundingClientRect().{}))).size"
    outputs = "#outputs .answer"
    cells = "#changed tbody tr:first-child td.w15"

    async def visit(page):
        await page.until("document.readyState === 'complete'")
        sample = await page.run(tops.format(outputs, "left"))
        await page.tab.goto(f"http://{served.host}/compare?a={first}&b={second}&b={third}")
        comparison = await page.run(tops.format(cells, "left"))
        return sample, comparison, await page.run("document.documentElement.scrollWidth <= innerWidth"), page.complaints

    seen = browse(address(served, f"/run/{second}/s/q1"), visit, viewport={"width": width, "height": 800})
    assert seen == (beside, beside, True, [])


def test_run_ids_of_a_history_lead_to_runs_and_pairs_to_comparisons(three):
    served, (first, second, third) = three
    add_note(served.store, served.store.run(third), "a note", author="ann", at=datetime(2026, 1, 2, tzinfo=UTC))
    text = html.unescape(served.ask("/history/S?score=exact_match")[2])
    targets = text.partition('id="targets"')[2].partition("</table>")[0]
    for other in (second, third):
        assert f'<a href="/run/{other}">{other}</a>' in targets
        assert f'<a href="/compare?a={first}&b={other}&score=exact_match">' in targets
    assert targets.count(f'<a href="/run/{first}">{first}</a>') == 2, "what they are compared with"
    notes = text.partition('id="notes"')[2]
    assert f'<a href="/run/{third}">1. {third}</a>' in notes


def test_a_live_page_of_finished_runs_has_no_empty_column(three):
    served, (first, _, _) = three
    table = re.search(r"<table.*?</table>", served.ask(f"/live/{first}")[2], re.DOTALL)[0]
    assert re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", table) == ["Target", "State", "Score", "Done"]
    assert "<progress" not in table, "100 % of each run needs no bar"


def test_the_cloud_and_all_figures_stand_below_the_changed_samples(tmp_path):
    samples = [Sample(f"q{no}", f"Question {no}?", "a b c d") for no in range(4)]
    targets = {"one": lambda _: "a b c d", "two": lambda sample: "a b" if sample.id == "q1" else "a b c e"}
    suite = Suite("S", "custom", samples, targets, (TokenF1(),))
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as served:
        one, two = sorted(served.store.runs(), key=lambda run: run.num)
        text = served.ask(f"/compare?a={one.id}&b={two.id}")[2]
    order = [text.index(part) for part in ('class="verdict"', "Changed samples", "<figure>", 'id="comparison"')]
    assert order == sorted(order)
