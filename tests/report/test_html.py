from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from steelyard import Output, Sample, Score, Store, compare
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.people.labels import add_note
from steelyard.report.render.html import html_report
from steelyard.report.sample_evidence import EVIDENCE


class Reader(HTMLParser):
    """Elements and texts of a page, as a browser's parser would see them."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self._open = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self._open):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def data_of(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def lines_that_differ(first, second):
    first, second = (page.split("\n") for page in (first, second))
    assert len(first) == len(second)
    return [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]


@pytest.fixture(scope="module")
def html(pair):
    return html_report(pair, compare(*pair), judge_gate({"solve_rate": ">= 0.9"}, [run.summary() for run in pair]))


def test_the_page_is_one_file_without_any_outside_reference(html):
    for tag, attributes in Reader(html).elements:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form"}
        for name in ("src", "href", "xlink:href", "action", "data"):
            assert attributes.get(name, "#").startswith(("#", "data:,")), (tag, attributes)
    assert "url(" not in html
    assert "@import" not in html


def test_the_policy_allows_exactly_the_two_inline_blocks(html):
    policy = next(attributes["content"] for tag, attributes in Reader(html).elements if attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    blocks = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", html, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        digest = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not any("style" in attributes for _, attributes in Reader(html).elements)
    assert not any(name.startswith("on") for _, attributes in Reader(html).elements for name in attributes)


def test_hostile_texts_make_no_element_and_leave_no_hidden_character(html):
    tags = [tag for tag, _ in Reader(html).elements]
    assert tags.count("script") == 2
    assert "i" not in tags
    assert "b" not in tags
    markup = re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", markup)
    html.encode("utf-8")


def test_the_data_hold_every_reply_as_it_came(html, pair):
    data = data_of(html)
    outputs = [record.output.value if record.output else "" for record in pair[0].records()]
    assert data["runs"][0]["output"] == outputs
    assert data["samples"]["id"][:2] == ["q0000", "q0001"]
    assert data["samples"]["key"][:4] == [[0], [0], [1], [1]]


def test_columns_of_evidence_are_there_only_where_a_record_has_some(make_runs):
    [run] = make_runs({"t": lambda _: "B"}, 2)
    [columns] = data_of(html_report([run]))["runs"]
    assert columns["repeat"] == [0, 0]
    assert columns.keys() & set(EVIDENCE) == set()


def test_a_span_counts_in_the_units_of_the_browsers_script(make_runs):
    [run] = make_runs({"t": lambda _: "😀😀 The answer is (C)."}, 1)
    data = data_of(html_report([run]))
    [start, end] = data["runs"][0]["span"][0]
    text = data["runs"][0]["output"][0].encode("utf-16-le")
    assert "C" in text[2 * start : 2 * end].decode("utf-16-le")


def test_without_scripts_the_page_says_what_may_be_concluded(html, pair):
    text = Reader(html).text
    comparison = compare(*pair)
    for run in pair:
        summary = run.summary()
        score = summary.score()
        assert f"{100 * score.overall.value:.1f} %" in text
        assert summary.created[:10] in text
    assert comparison.pairs[0].conclusion.sentence in text
    table = comparison.pairs[0].headline.table
    assert f"improvements {table.improved} wrong before" in text
    assert f"regressions {table.regressed} right before" in text
    assert "does not hold" in text


def test_regressions_and_improvements_are_those_of_the_comparison(html, pair):
    data = data_of(html)
    comparison = compare(*pair).pairs[0]
    ids = data["samples"]["id"]
    assert {ids[index] for index, way in data["runs"][1]["changes"] if way == 1} == set(comparison.changed.improvements)
    assert {ids[index] for index, way in data["runs"][1]["changes"] if way == 2} == set(comparison.changed.regressions)
    assert data["runs"][0]["changes"] == []


def test_an_unfinished_run_says_so_before_anything_else(make_runs):
    def broken(sample):
        raise RuntimeError("down")

    [run] = make_runs({"down": broken}, 20)
    text = Reader(html_report([run])).text
    assert "⚠ down: broken" in text
    assert "Not complete." in text
    assert "20 errors" in text
    assert text.index("Not complete.") < text.rindex("Result")


def test_the_same_replies_give_the_same_page_but_for_ids_times_and_durations(make_runs):
    targets = {"a": lambda sample: f"故选{sample.reference}", "b": lambda _: "The answer is A."}
    first = make_runs(targets, 20, store="one.db")
    second = make_runs(targets, 20, store="two.db", concurrency=1)
    page = html_report(first, compare(*first))
    assert page == html_report(first, compare(*first))
    ids = [run.id for run in (*first, *second)]
    for before, after in lines_that_differ(page, html_report(second, compare(*second))):
        named = any(ident in before + after for ident in ids)
        duration = re.match(r'\s*("seconds":|"latency":|<td class="num( main)?">(\d+\.\d|.* m?s)</td>)', before)
        option = before == "    &#34;concurrency&#34;: 16,"
        stamp = re.match(r"\s*(<dd>)?20\d\d-", before)
        assert named or duration or stamp or option, (before, after)


def test_two_runs_of_one_target_are_told_apart(make_runs):
    first, second = make_runs({"same": lambda _: "A"}, 8), make_runs({"same": lambda _: "B"}, 8)
    text = Reader(html_report([*first, *second])).text
    assert f"same ({first[0].id})" in text
    assert f"same ({second[0].id})" in text


def test_what_a_person_noted_of_a_run_is_on_its_page_as_text(make_runs):
    (run,) = make_runs({"noted": lambda _: "A"}, 8)
    with Store(run.store.path) as store:
        add_note(store, run, "first try <script>x</script>", author="mei <b>", at=datetime(2026, 3, 1, tzinfo=UTC))
    page = html_report([run])
    assert "first try <script>x</script>" in Reader(page).text
    assert "Note by mei <b>, 2026-03-01" in Reader(page).text


def test_a_score_that_is_no_share_is_shown_as_a_number(make_runs):
    def length(sample: Sample, output: Output) -> Score:
        return Score("length", float(len(output.value)) + int(sample.id[1:]))

    [run] = make_runs({"t": lambda _: "abc"}, 3, scorers=(length,))
    html = html_report([run])
    head = data_of(html)["head"]
    assert (head["score"], head["title"], head["share"]) == ("length", "Length", False)
    assert "4.00" in Reader(html).text
    assert "400.0 %" not in html


def test_repeats_are_records_of_one_sample(make_runs):
    [run] = make_runs({"t": lambda _: "The answer is A."}, 4, repeats=3)
    data = data_of(html_report([run]))
    assert data["samples"]["id"] == ["q0000", "q0001", "q0002", "q0003"]
    assert data["runs"][0]["repeat"][:4] == [0, 1, 2, 0]


def test_a_page_of_failed_records_alone_is_still_a_page(make_runs):
    def stop(sample):
        raise RuntimeError

    text = Reader(html_report(make_runs({"t": stop}, 1))).text
    assert "no record has a solve rate" in text


def test_a_page_of_5000_short_replies_stays_below_4_megabytes(make_runs):
    # 500 stand for 5,000: what a sample adds, times ten, and the fixed part once.
    small, large = (
        len(html_report(make_runs({"t": lambda _: "经过分析，故选（B）。"}, n, store=f"{n}.db")).encode())
        for n in (50, 550)
    )
    assert small + (large - small) / 500 * 4950 < 4_000_000
