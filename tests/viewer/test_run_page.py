"""The page of a run: marks, counts as links, repeats in one row, completions, and saving it as a file."""

import csv
import html
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from tests.report.judged_suite import judged_runs
from tests.report.judging_suite import pairwise_runs
from tests.viewer.conftest import exam, first, second, serving

from steelyard import Options, Output, Sample, Suite, compare, evaluate_suite
from steelyard.analysis.comparison.baseline import baseline_text
from steelyard.config.given import note_given
from steelyard.errors import ConfigError
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.rescore import rescore
from steelyard.models import Scripted
from steelyard.people.labels import add_labels
from steelyard.people.marks import MarkChange, mark_run
from steelyard.report.exports.records import csv as write_csv
from steelyard.report.exports.records import jsonl
from steelyard.report.sections.regressions import regressions_section
from steelyard.scorers.choice import Choice
from steelyard.scorers.lexical import Contains, ExactMatch
from steelyard.store import Store
from steelyard.store.delete import delete_runs
from steelyard.targets import Prompt
from steelyard.types import Label, Score, ScoreInfo, StageInfo
from steelyard.viewer.pages import Pages
from steelyard.viewer.run_page import runs_beside


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    where = tmp_path_factory.mktemp("run") / "s.db"
    suite = Suite("Exam", "choice", exam(40), {"first": first, "second": second}, (Choice(),), Options(max_errors=0.5))
    evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as viewer:
        yield viewer


def run_of(viewer, target):
    return next(run for run in viewer.store.runs() if run.target == target)


def rows(text):
    """(sample, outputs, verdicts) of each row of the table of samples."""
    found = []
    table = text.partition('aria-label="Table of samples"')[2].partition("</table>")[0]
    for row in re.split("<tr data-row[^>]*>", table)[1:]:
        cells = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.split(r"</t[dh]>", row)]
        found.append((cells[0], cells[-2], cells[1]))
    return found


def chips(text):
    """Name of each filter above the table -> its address and count."""
    found = re.findall(r'<a class="chip"[^>]* href="([^"]+)">(.*?) <b>([\d,]+)</b></a>', text)
    return {re.sub(r"<[^>]+>", "", name): (address.partition("#")[0], count) for address, name, count in found}


def test_every_count_leads_to_as_many_samples(pages):
    run = run_of(pages, "second")
    text = pages.ask(f"/run/{run.id}")[2]
    counts = chips(text)
    assert {*counts} == {"All", "Correct", "Wrong", "Unreadable"}
    groups = re.findall(rf'href="(/run/{run.id}\?where=group[^"#]+)#samples-title">(g\d)</a>.*?n ([\d,]+)', text)
    assert [name for _, name, _ in groups] == ["g0", "g1", "g2"]
    for address, count in [*counts.values(), *((address, n) for address, _, n in groups)]:
        listed = pages.ask(html.unescape(address))[2]
        assert f"{count} of 40 records" in listed


def test_the_page_offers_what_a_filter_may_say_and_each_of_it_is_understood(pages):
    first_run, second_run = run_of(pages, "first"), run_of(pages, "second")
    address = f"/run/{second_run.id}?against={first_run.id}"
    words = [html.unescape(word) for word in re.findall(r'<option value="([^"]+)"></option>', pages.ask(address)[2])]
    assert {"wrong", "regression", 'group = "g1"', "solve_rate = unparsed", "solve_rate < "} <= set(words)
    for word in words:
        value = {"<": "1", "=": "x"}.get(word.strip()[-1], "")
        text = pages.ask(f"{address}&where={quote(word + value)}")[2]
        assert 'class="warning" role="alert"' not in text, word
    assert "regression" not in re.findall(r'<option value="(\w+)"></option>', pages.ask(f"/run/{second_run.id}")[2])


def test_a_group_with_a_quotation_mark_is_listed_and_leads_to_its_samples(tmp_path):
    samples = [replace(sample, group=["tax", 'the "new" and old'][at % 2]) for at, sample in enumerate(exam(6))]
    suite = Suite("Exam", "choice", samples, {"first": first}, (Choice(),), Options(max_errors=0.5))
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        run = run_of(viewer, "first")
        groups = re.findall(rf'href="(/run/{run.id}\?where=group[^"#]+)#', viewer.ask(f"/run/{run.id}")[2])
        assert len(groups) == 2
        for address in groups:
            assert "3 of 6 records" in viewer.ask(html.unescape(address))[2]


def test_a_word_about_another_run_says_where_that_run_is_chosen(pages):
    text = pages.ask(f"/run/{run_of(pages, 'second').id}?where=regression")[2]
    assert "choose it under “Compare with”" in html.unescape(text)


def test_repeats_of_a_sample_stand_in_one_row_also_at_the_end_of_a_page(tmp_path):
    asked = {}

    def by_turns(sample):
        asked[sample.id] = asked.get(sample.id, 0) + 1
        return Output(f"The answer is {'A' if asked[sample.id] < 3 else 'B'}.")

    where = tmp_path / "repeats.db"
    options = Options(repeats=3, concurrency=1)
    evaluate_suite(Suite("R", "choice", exam(40), {"t": by_turns}, (Choice(),), options), how=RunConfig(store=where))
    with serving(where) as viewer:
        (run,) = viewer.store.runs()
        text = viewer.ask(f"/run/{run.id}")[2]
        assert "120 of 120 records" in text
        assert rows(text)[0] == (
            "q0000",
            "2 × The answer is A. The answer is B.",
            "2 × correct wrong",
        )
        following = html.unescape(re.search(r'href="([^"]+after=[^"#]+)', text)[1])
        listed = [sample for page in (text, viewer.ask(following)[2]) for sample, _, _ in rows(page)]
        following = re.search(r'href="([^"]+after=[^"#]+)', viewer.ask(following)[2])
        listed += [sample for sample, _, _ in rows(viewer.ask(html.unescape(following[1]))[2])] if following else []
        assert listed == [f"q{no:04d}" for no in range(40)], "no sample is on two pages"


class Rated:
    """A rating from 1 to 5, which passes from 4 on, and whether it is the best."""

    score_infos = (ScoreInfo("rating", (1, 5), threshold=4), ScoreInfo("best", (0, 1), threshold=1))
    reads = ()

    def __call__(self, sample, output):
        rating = int(output.value)
        return [Score("rating", float(rating)), Score("best", float(rating == 5))]


def test_a_rating_of_one_is_shown_as_a_number_and_every_column_keeps_the_order_of_the_repeats(tmp_path):
    asked = iter("1552")
    where = tmp_path / "s.db"
    options = Options(repeats=4, concurrency=1)
    suite = Suite("R", "qa", [Sample("q", "?")], {"t": lambda _: Output(next(asked))}, (Rated(),), options)
    [run] = evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as viewer:
        text = viewer.ask(f"/run/{run.id}?columns=output&columns=score.rating&columns=score.best")[2]
    row = re.split("<tr data-row[^>]*>", text)[1].split("</tr>")[0]
    cells = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.split(r"</t[dh]>", row)]
    assert cells[1:4] == ["1 2 × 5 2", "2 × fail 2 × pass", "1 2 × 5 2"]


@pytest.mark.parametrize("query", ["sort=-solve_rate", "sort=seconds", "where=wrong&sort=solve_rate"])
def test_repeats_of_a_sample_stand_in_one_row_in_orders_that_would_part_them(tmp_path, query):
    asked = {}

    def wavering(sample):
        asked[sample.id] = asked.get(sample.id, 0) + 1
        return Output(f"The answer is {'ABBA'[(int(sample.id[1:]) + asked[sample.id] ** 2) % 4]}.")

    where = tmp_path / "repeats.db"
    suite = Suite("R", "choice", exam(40), {"t": wavering}, (Choice(),), Options(repeats=3, concurrency=1))
    [run] = evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as viewer:
        address, listed, places = f"/run/{run.id}?{query}", [], []
        while address:
            text = viewer.ask(address)[2]
            listed += [sample for sample, _, _ in rows(text)]
            places += re.findall(r'href="(/run/\w+/s/[^"]+)"', text)
            following = re.search(r'href="([^"]+after=[^"#]+)[^>]*>next', text)
            address = html.unescape(following[1]) if following else ""
        assert len(listed) == len(set(listed)) > 25
        walked, address = [listed[0]], html.unescape(places[0])
        while link := re.search(r'rel="next" href="([^"]+)"', viewer.ask(address)[2]):
            address = html.unescape(link[1])
            walked.append(re.search(r"/s/(\w+)", address)[1])
        assert walked == listed, "the next sample is that of the list"
        if "solve_rate" in query:
            means = {no: [] for no in listed}
            for record in run.records():
                means.setdefault(record.sample.id, []).append(record.scores[0].value)
            ordered = [sum(means[sample]) / 3 for sample in listed]
            assert ordered == sorted(ordered, reverse="-" in query)


def test_the_other_runs_of_the_suite_are_links_to_the_comparison(pages):
    here, other = run_of(pages, "first"), run_of(pages, "second")
    text = pages.ask(f"/run/{here.id}")[2]
    listed = text.partition("Compare with …</summary>")[2].partition("</details>")[0]
    assert re.findall(r'href="([^"]+)"', listed) == [f"/compare?a={other.id}&amp;b={here.id}"]


def test_marks_stand_on_the_page_and_are_changed_there(pages):
    run = run_of(pages, "first")
    assert "Pin as baseline" in pages.ask(f"/run/{run.id}")[2]
    _, headers, _ = pages.post("/marks", f"run={run.id}&page=run&do=pin")
    assert headers["location"] == f"/run/{run.id}"
    text = pages.ask(f"/run/{run.id}")[2]
    assert "Unpin the baseline" in text
    pages.ask("/")  # waits until the difference is there
    other = pages.ask(f"/run/{run_of(pages, 'second').id}")[2]
    figure = other.partition("to the baseline</p>")[2].partition("</div>")[0]
    assert re.fullmatch(r" *[+−]?[\d.]+ *[+−][\d.]+ to [+−][\d.]+( · not decided)? *", re.sub(r"<[^>]+>", " ", figure))
    assert f'href="/compare?a={run.id}&amp;b={run_of(pages, "second").id}"' in other
    mark_run(pages.store, run, MarkChange(baseline=False))


@pytest.mark.parametrize(
    "path",
    [
        *("/save?run={first}", "/save?run={first}&run={second}&score=solve_rate", "/save/history/Exam"),
        *("/?save=page", "/?filter=finished&save=page", "/live/{second}?save=page"),
        *("/run/{second}/s/q0003?save=page",),
    ],
)
def test_a_page_is_saved_as_one_file_that_asks_for_nothing(pages, path):
    ids = {run.target: run.id for run in pages.store.runs()}
    status, headers, text = pages.ask(path.format(**ids))
    assert status == 200
    assert re.fullmatch(r"attachment; filename\*=UTF-8''[\w.-]+\.html", headers["content-disposition"])
    assert "Content-Security-Policy" in text
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    assert "token" not in text.lower().replace("tokens", "")
    # Nothing leads to a viewer that is gone when the file is read.
    assert not re.search(r'(?:src|href|action|hx-get)="(?!#|data:)', text)


@pytest.mark.parametrize(
    ("path", "says"),
    [("/save", "name a run"), ("/save?run=nothere", "no run with the id"), ("/save/history/No", "no run of a suite")],
)
def test_what_cannot_be_saved_is_said(pages, path, says):
    status, headers, text = pages.ask(path)
    assert (status, says in text) == (404, True)
    assert "content-disposition" not in headers


def test_every_page_that_can_be_saved_has_the_link(pages):
    ids = {run.target: run.id for run in pages.store.runs()}
    others = ("/", "/?filter=finished", "/live/{second}", "/run/{first}/s/q0003")
    for page in ("/run/{first}", "/compare?a={first}&b={second}", "/history/Exam", *others):
        text = pages.ask(page.format(**ids))[2]
        link = html.unescape(re.search(r'<a [^>]*download href="([^"]+)"', text)[1])
        assert pages.ask(link)[0] == 200


def test_a_judging_run_shows_and_saves_its_preferences(tmp_path):
    run = pairwise_runs(tmp_path)[-1]
    with serving(tmp_path / "pairs.db") as viewer:
        for page in (f"/run/{run.id}", f"/save?run={run.id}"):
            text = viewer.ask(page)[2]
            assert 'id="preferences-title"' in text, page
            large = re.search(r'<div class="key-figure">(.*?)</div>', text, re.DOTALL)[1]
            assert "83.3 %" in large, page
            assert "is preferred</span>" in large, page
            assert text.count("is preferred to") == 1, "the conclusion stands once"
        outputs = {output for _, output, _ in rows(viewer.ask(f"/run/{run.id}")[2]) if output}
        odd = {output for output in outputs if not re.fullmatch(r"ours &lt;b&gt;: .*· theirs: .+", output)}
        assert odd == set()


def test_the_headline_and_its_interval_stand_once_above_the_samples(pages):
    run = run_of(pages, "first")
    head = pages.ask(f"/run/{run.id}")[2].partition('id="samples-title"')[0]
    mean = run.summary().score().headline
    low, high = (f"{100 * end:.1f}" for end in mean.interval)
    assert (
        f'<p class="big">{100 * mean.value:.1f} <small>%</small></p><p class="ci">95 % CI {low} to {high}</p>' in head
    )
    assert head.count('class="big"') == 1


def test_the_table_of_contents_leads_to_what_is_on_the_page(pages):
    text = pages.ask(f"/run/{run_of(pages, 'first').id}")[2]
    anchors = re.findall(r'href="#([\w-]+)"', re.search(r'<nav class="contents".*?</nav>', text, re.DOTALL)[0])
    assert {"groups", "notes-title"} <= set(anchors)
    assert all(text.count(f'id="{anchor}"') == 1 for anchor in anchors)


def test_a_filtered_list_is_saved_as_the_records_that_it_shows(pages):
    run, before = run_of(pages, "second"), run_of(pages, "first")
    query = f"where=regression&against={before.id}&sort=-id"
    wanted = [record.sample.id for record in run.page(n=100, where="regression", against=before, sort="-id").records]
    assert 0 < len(wanted) < 40
    lines = pages.ask(f"/export/{run.id}/jsonl?{query}")[2].splitlines()
    assert [json.loads(line)["sample"]["id"] for line in lines] == wanted
    status, headers, text = pages.ask(f"/export/{run.id}/csv?{query}")
    assert [row["id"] for row in csv.DictReader(text.removeprefix("\ufeff").splitlines())] == wanted
    assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert f"second-{run.id}-filtered.csv" in headers["content-disposition"]


def test_all_records_are_saved_as_the_export_writes_them(pages, monkeypatch):
    monkeypatch.setattr("steelyard.viewer.downloads._TOGETHER", 7)
    run = run_of(pages, "second")
    assert pages.ask(f"/export/{run.id}/jsonl")[2] == "".join(jsonl(run))
    assert pages.ask(f"/export/{run.id}/csv")[2] == "".join(write_csv(run))


def test_the_list_links_to_the_files_of_what_it_shows(pages):
    run = run_of(pages, "second")
    text = pages.ask(f"/run/{run.id}?where=unparsed&sort=-id")[2]
    (address,) = re.findall(r'href="(/export/[^"]+/jsonl[^"]*)"', text)
    saved = pages.ask(html.unescape(address))[2].splitlines()
    assert [json.loads(line)["sample"]["id"] for line in saved] == [row[0] for row in rows(text)] != []


def test_a_filter_that_cannot_be_meant_gives_no_file(pages):
    run = run_of(pages, "second")
    status, headers, text = pages.ask(f"/export/{run.id}/csv?where=solve_rat+%3C+1")
    assert status == 404
    assert "solve_rate" in text
    assert "content-disposition" not in headers
    assert pages.ask(f"/export/{run.id}/xml")[0] == 404


def test_a_list_by_label_can_be_held_against_another_run_and_leads_to_the_comparison(pages):
    run, before = run_of(pages, "second"), run_of(pages, "first")
    at = datetime(2026, 1, 2, tzinfo=UTC)
    regressed = run.page(n=100, where="regression", against=before).records[0].sample.id
    labels = [
        Label(regressed, "cause", "wrong unit", "ann", at, kind="text"),
        Label("q0000", "cause", 'says "no"', "ann", at, kind="text"),
        Label("q0001", "cause", "x" * 100, "ann", at, kind="text"),
    ]
    add_labels(pages.store, run, labels)
    condition = 'label:cause = "wrong unit"'
    text = pages.ask(f"/run/{run.id}")[2]
    words = [html.unescape(word) for word in re.findall(r'<option value="([^"]+)"></option>', text)]
    assert sorted(word for word in words if word.startswith("label:")) == ['label:cause = "says ""no"""', condition]
    assert f'<option value="{before.id}">first {before.id}</option>' in text
    text = pages.ask(f"/run/{run.id}?where={quote(condition + ' and regression')}&against={before.id}")[2]
    assert [sample for sample, _, _ in rows(text)] == [regressed]
    assert f'<option value="{before.id}" selected>' in text, "the next filter is against the same run"
    assert f'href="/compare?a={before.id}&amp;b={run.id}">compare both runs' in text


def test_the_page_of_a_comparison_says_in_what_the_runs_differ(tmp_path):
    def suite(system, seed):
        model = Scripted(default="The answer is A.")
        target = Prompt(model, "{{question}}", system=system)
        return Suite("S", "choice", exam(8), {"t": target}, (Choice(),), Options(seed=seed))

    where = tmp_path / "s.db"
    (old,) = evaluate_suite(
        suite("Answer <b>briefly</b>, with the letter of one of the options.", 0), how=RunConfig(store=where)
    )
    (new,) = evaluate_suite(
        suite("Answer <b>exactly</b>, with the letter of one of the options.", 5), how=RunConfig(store=where)
    )
    with serving(where) as viewer:
        text = viewer.ask(f"/compare?a={old.id}&b={new.id}")[2]
    head, _, below = text.partition('id="comparison-title"')
    assert '<dt>seed</dt><dd class="diff">0 → 5</dd>' in head
    assert "&lt;b&gt;<del>briefly</del><ins>exactly</ins>&lt;/b&gt;" in head
    assert "briefly" not in below
    assert 'class="warning"' not in below


def test_the_bars_and_counts_of_a_histogram_lead_to_as_many_samples(tmp_path):
    run = judged_runs(tmp_path, ("top 1",))[0]
    with serving(next(tmp_path.glob("*.db"))) as viewer:
        text = viewer.ask(f"/run/{run.id}")[2]
        bars = re.findall(r'<a href="([^"]+)" tabindex="-1" aria-label="([^":]+): (\d+) \([^"]+"><title>', text)
        assert re.search(r'<svg[^>]* role="group"', text)
        cells = re.findall(rf'<td class="num"><a href="(/run/{run.id}\?where=[^"]+)">(\d+)</a> ', text)
        assert len({name for _, name, _ in bars}) > 4
        counted = {address: count for address, _, count in bars}
        assert counted.items() <= dict(cells).items(), "a bar and its cell lead to the same"
        for address, count in counted.items():
            listed = viewer.ask(html.unescape(address).partition("#")[0])[2]
            assert f"{count} of {run.done} records" in listed, address
        # A file has no such list, and says nothing of one.
        saved = viewer.ask(f"/save?run={run.id}")[2]
        assert "where=" not in saved
        assert not re.search(r'<svg[^>]* role="group"', saved)


def test_what_the_main_score_calls_wrong_is_counted_apart_from_other_scores(tmp_path):
    where = tmp_path / "s.db"
    samples = [Sample(f"q{no}", "Which boat?", "the Wren") for no in range(5)]
    replies = ["the Wren", "It is the Wren.", "The Wren it is: the Wren", "the Heron", "a Wren"]
    suite = Suite(
        "boats", "custom", samples, {"t": lambda s: Output(replies[int(s.id[1:])])}, (Contains(), ExactMatch())
    )
    (run,) = evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as viewer:
        text = viewer.ask(f"/run/{run.id}")[2]
        shown = {name: (count, rows(viewer.ask(html.unescape(link))[2])) for name, (link, count) in chips(text).items()}
    assert {name: (count, len(listed)) for name, (count, listed) in shown.items()} == {
        "All": ("5", 5),
        "Contained": ("3", 3),
        "Missing": ("2", 2),
        "Fails some score": ("4", 4),
    }


class PassedOrNot:
    """A main score with verdicts and without a threshold, beside another score."""

    score_infos = (ScoreInfo("tone", (0, 1), headline=True), ScoreInfo("length", (0, 1)))

    def __call__(self, sample, output):
        no = int(sample.id[1:])
        return [Score("tone", float(no > 0), no > 0), Score("length", float(no > 2), no > 2)]


def test_wrong_in_any_score_is_not_called_wrong_where_the_main_score_has_no_threshold(tmp_path):
    suite = Suite("Tone", "custom", exam(5), {"t": first}, (PassedOrNot(),), Options())
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        text = viewer.ask(f"/run/{run.id}")[2]
    assert {name: count for name, (_, count) in chips(text).items()} == {"All": "5", "Fails some score": "3"}


def test_runs_without_a_score_in_common_have_no_link_to_a_comparison(tmp_path):
    ours, theirs, _ = pairwise_runs(tmp_path)
    with serving(tmp_path / "pairs.db") as viewer:
        status, _, text = viewer.ask(f"/run/{ours.id}?against={theirs.id}")
        assert viewer.ask(f"/compare?a={theirs.id}&b={ours.id}")[0] == 404
    assert (status, "compare both runs" in text) == (200, False)


def headings(text):
    heads = text.partition('<table class="data stack"')[2].partition("</thead>")[0]
    return [re.sub(r"<[^>]+>", "", head) for head in re.findall(r'<th scope="col"[^>]*>(.*?)</th>', heads)]


def boxes(text):
    """Column -> whether it is ticked, of the picker."""
    found = re.findall(r'name="columns" value="([^"]+)"( checked)?>', text)
    return {key: bool(checked) for key, checked in found}


class TwoScores:
    """One score that the run is about, one that is 0 for all, and one that no record has a value of."""

    score_infos = (
        ScoreInfo("rating", (1, 5), headline=True),
        ScoreInfo("zero", (0, 1)),
        ScoreInfo("none", (0, 1)),
        ScoreInfo("length", None),
    )

    def __call__(self, sample, output):
        no = int(sample.id[1:])
        none = Score("none", None, outcome="not_applicable")
        return [Score("rating", 1.0 + no % 5), Score("zero", 0.0), none, Score("length", float(no))]


@pytest.fixture
def scored(tmp_path):
    samples = [replace(sample, group="") for sample in exam(60)]
    suite = Suite("Columns", "custom", samples, {"t": first}, (TwoScores(),), Options())
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        yield viewer


def test_a_list_of_what_became_worse_has_its_chip_chosen(pages):
    first, second = (run_of(pages, name) for name in ("first", "second"))
    text = pages.ask(f"/run/{second.id}?where=regression&against={first.id}")[2]
    [chosen] = re.findall(r'<a class="chip" aria-current="true".*?</a>', text, re.DOTALL)
    assert "Worse" in chosen


def test_a_run_without_scores_has_no_column_of_scores(tmp_path):
    suite = Suite("Answers", "custom", exam(2), {"t": first}, ())
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        text = viewer.ask(f"/run/{run.id}")[2]
    assert "Score" not in headings(text)
    assert 'class="big"' not in text


def test_columns_that_are_empty_or_zero_for_every_record_wait_in_the_picker(scored):
    text = scored.ask(f"/run/{scored.store.runs()[0].id}")[2]
    assert headings(text) == ["Sample", "Rating", "Length", "Input", "Expected", "Output"]
    ticked = boxes(text)
    assert [key for key in ticked if ticked[key]] == ["score.rating", "score.length", "input", "reference", "output"]
    assert [key for key in ticked if not ticked[key]] == ["score.zero", "score.none", "group", "seconds"]
    assert re.findall(r'<span class="quiet">\(([a-z0 ]+)\)</span>', text) == ["all 0", "no value", "empty"]


def test_values_of_several_scores_have_their_names_where_a_row_is_a_card(scored):
    (run,) = scored.store.runs()
    named = re.findall(r'<td [^>]*data-h="([^"]+)">', scored.ask(f"/run/{run.id}")[2].partition("</tr>")[2])
    assert named[:3] == ["Length", "expected", "output"], "the first score stands beside the sample's id"


def test_chosen_columns_stand_in_every_address_that_leads_on(scored):
    run = scored.store.runs()[0]
    query = "columns=reference&columns=score.zero&columns=nothing"
    text = scored.ask(f"/run/{run.id}?{query}")[2]
    assert headings(text) == ["Sample", "Zero", "Expected"]
    assert [cell[:2] for cell in rows_of_cells(text)[:2]] == [("0.0 %", "A"), ("0.0 %", "B")]
    following = html.unescape(re.search(r'href="([^"]+after=[^"#]+)', text)[1])
    assert headings(scored.ask(following)[2]) == ["Sample", "Zero", "Expected"]
    sample = html.unescape(re.search(r'<th scope="row"[^>]*><a class="row" href="([^"]+)"', text)[1])
    back = re.search(r'data-key="Escape" href="([^"]+)"', scored.ask(sample)[2])[1]
    assert headings(scored.ask(html.unescape(back))[2]) == ["Sample", "Zero", "Expected"]
    assert headings(scored.ask(f"/run/{run.id}?columns=nothing")[2]) == headings(scored.ask(f"/run/{run.id}")[2])


def rows_of_cells(text):
    """The texts of the cells behind the sample, of each row."""
    rows = re.split("<tr data-row[^>]*>", text)[1:]
    return [
        tuple(" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row.split("</td>")[:-1])
        for row in [row.partition("</th>")[2] for row in rows]
    ]


def test_a_changed_sample_of_repeats_shows_the_outputs_of_all_of_them(tmp_path):
    def steady(_):
        return Output("yes")

    replies = iter(["yes", "no", "no"])

    def wavering(_):
        reply = next(replies, None)
        if reply is None:
            raise ValueError("no reply is left")
        return Output(reply)

    where = tmp_path / "s.db"
    options = Options(repeats=4, concurrency=1, max_errors=0.5)
    suite = Suite("R", "qa", [Sample("q", "?", "yes")], {"a": steady, "b": wavering}, (ExactMatch(),), options)
    a, b = evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as viewer:
        text = viewer.ask(f"/compare?a={a.id}&b={b.id}")[2]
    row = " ".join(re.sub(r"<[^>]+>", " ", re.split("<tr data-row[^>]*>", text)[1].split("</tr>")[0]).split())
    assert "4 × pass 4 × yes" in row
    assert "pass 2 × fail error yes · 2 × no · error" in row
    with Store(where) as store:
        runs = store.run(a.id), store.run(b.id)
        [listed] = regressions_section(runs, compare(*runs)).parts
    assert "✓ 4 × yes → ✗ yes · 2 × no" in listed.notes[0].text


def test_a_run_of_another_suite_is_refused_as_the_one_that_a_list_is_held_against(tmp_path):
    runs = []
    for name in ("One", "Two"):
        suite = Suite(name, "choice", exam(4), {"first": first}, (Choice(),))
        runs += evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        refused = viewer.ask(f"/compare?a={runs[1].id}&b={runs[0].id}")[2]
        text = viewer.ask(f"/run/{runs[0].id}?against={runs[1].id}&where=regression")[2]
        itself = viewer.ask(f"/run/{runs[0].id}?against={runs[0].id}")[2]
    reason = re.search(r"[^<>]*suites[^<>]*", refused.split("<main")[1])[0].strip()
    assert reason in text
    assert "cannot be compared with itself" in itself


def test_a_failed_run_says_why_and_how_it_is_resumed(tmp_path):
    def refused(sample):
        raise RuntimeError(f"the key of {sample.id} is refused")

    suite = Suite("Exam", "choice", exam(4), {"a": refused}, (Choice(),), Options(max_errors=0.0, concurrency=1))
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db", on_broken="return"))
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{run.id}")[2]
    [notice] = re.findall(r'<p class="alarm" role="alert">(.*?)</p>', page)
    assert run.reason in html.unescape(notice)
    assert f"steelyard resume {run.id}" in notice


def test_the_strip_says_how_many_scores_it_leaves_to_their_section(tmp_path):
    def eight(sample, output):
        return [Score(f"s{no}", 1.0) for no in range(8)]

    suite = Suite("Words", "custom", exam(2), {"a": lambda _: "a"}, (eight,))
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{run.id}")[2]
    assert '<a href="#scores">2 more</a>' in page
    assert 'id="scores"' in page


def test_a_run_that_is_deleted_while_its_page_is_made_is_told(tmp_path):
    where = tmp_path / "s.db"
    suite = Suite("Exam", "choice", exam(4), {"a": first, "b": first, "c": first}, (Choice(),))
    evaluate_suite(suite, how=RunConfig(store=where))
    with Store(where) as store:
        pages = Pages(store, root_path="", read_only=True, static=str)
        before, run, after = sorted(store.runs(), key=lambda each: each.num)
        assert runs_beside(pages, run) == (before.id, after.id)
        delete_runs(store, [run])
        with pytest.raises(ConfigError, match=f"run {run.id} was deleted meanwhile"):
            runs_beside(pages, run)
        pages.close()


def test_the_page_says_whether_the_gate_holds_and_looks_again_when_its_baseline_is_there(tmp_path):
    gate = {"solve_rate": ">= 0.9", "no_regression": {"solve_rate": 0.02}, "baseline": "good"}
    samples, how = exam(8), RunConfig(tmp_path / "s.db")
    suite = Suite("S", "choice", samples, {"bad": lambda _: "A"}, (Choice(),), gate=gate)
    (bad,) = evaluate_suite(suite, how=how)
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{bad.id}")[2]
        assert "bad: solve_rate &gt;= 0.9 does not hold (25.0 %" in page
        assert "bad: no_regression solve_rate 0.02 cannot be decided: there is no run &#39;good&#39;" in page
        (good,) = evaluate_suite(Suite("S", "choice", samples, {"good": lambda _: "B"}, (Choice(),)), how=how)
        assert "there is no run" not in viewer.ask(f"/run/{bad.id}")[2]
        (later,) = evaluate_suite(suite, how=how)
        page = viewer.ask(f"/run/{later.id}")[2]
        with Store(tmp_path / "s.db") as elsewhere:
            rescore(elsewhere, elsewhere.run(good.id), [ExactMatch()])
        rescored = viewer.ask(f"/run/{later.id}")[2]
        gates = [re.search(r'<section[^>]* id="gate".*?</section>', text, re.DOTALL)[0] for text in (page, rescored)]
        assert gates[0] != gates[1]


def test_the_head_of_a_run_says_whether_its_gate_holds_and_a_new_baseline_file_is_seen(tmp_path):
    file, how = tmp_path / "base.json", RunConfig(tmp_path / "s.db")
    gate = {"no_regression": {"solve_rate": 0.02}, "baseline": str(file)}
    targets = {"bad": lambda _: "A", "good": lambda sample: sample.reference}
    bad, good = evaluate_suite(Suite("S", "choice", exam(40), targets, (Choice(),)), how=how)
    file.write_text(baseline_text(good.data()), encoding="utf-8")
    (run,) = evaluate_suite(Suite("S", "choice", exam(40), {"new": lambda _: "A"}, (Choice(),), gate=gate), how=how)
    with serving(tmp_path / "s.db") as viewer:
        assert "gate not decided" in viewer.ask(f"/run/{run.id}")[2], "this file was given to no command"
        note_given(file)
        assert "gate does not hold" in viewer.ask(f"/run/{run.id}")[2]
        file.write_text(baseline_text(bad.data()), encoding="utf-8")
        page = viewer.ask(f"/run/{run.id}")[2]
        assert "gate does not hold" not in page
        assert re.search(r'<a href="#gate">.*gate (holds|not decided)', page)
        assert "#gate" not in viewer.ask(f"/run/{bad.id}")[2], "it has no gate"


class OneOfTwo:
    """A score that the second sample is refused."""

    score_infos = (ScoreInfo("said", (0, 1)),)
    stage_info = StageInfo(name="said")

    def __call__(self, sample, output):
        return Score("said", 1.0) if sample.id == "a" else Score("said", None, outcome="refused")


def test_the_head_of_a_run_says_that_its_gate_fails_where_another_rule_is_not_decided(tmp_path):
    gate, how = {"solve_rate": ">= 0.9", "said": ">= 0.5"}, RunConfig(tmp_path / "s.db")
    samples = [Sample("a", "Which?", "A", ("x", "y")), Sample("b", "Which?", "B", ("x", "y"))]
    suite = Suite("S", "choice", samples, {"bad": lambda _: "B"}, (Choice(), OneOfTwo()), gate=gate)
    (run,) = evaluate_suite(suite, how=how)
    with serving(tmp_path / "s.db") as viewer:
        page = viewer.ask(f"/run/{run.id}")[2]
    assert "cannot be decided" in page
    assert "gate does not hold" in page


@pytest.mark.parametrize("stored", [{"solve_rate": "about 0.9"}, [">= 0.9"]])
def test_a_run_whose_stored_gate_cannot_be_read_is_shown_without_it(stored, tmp_path):
    suite = Suite("S", "choice", exam(3), {"a": lambda _: "B"}, (Choice(),), gate={"solve_rate": ">= 0.9"})
    (run,) = evaluate_suite(suite, how=RunConfig(tmp_path / "s.db"))
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection, connection:
        connection.execute("UPDATE run SET manifest = json_set(manifest, '$.gate', json(?))", [json.dumps(stored)])
    with serving(tmp_path / "s.db") as viewer:
        assert viewer.store.run(run.id).manifest["gate"] == stored
        status, _, page = viewer.ask(f"/run/{run.id}")
        assert status == 200
        assert 'id="gate"' not in page
