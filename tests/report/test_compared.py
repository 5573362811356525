"""Further scores and costs of a comparison as rows of text, on pages and in Markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.compare.stored_run import stored

from steelyard import compare
from steelyard.compare import CostDifference
from steelyard.report.compared import (
    compared_markdown,
    compared_views,
    cost_lines,
    cost_rows,
    score_rows,
)
from steelyard.report.html import _environment
from steelyard.report.pairs import pair_view
from steelyard.stats.intervals import Interval

COSTS = (
    CostDifference("latency", "p50", 20, 0.412, 1.25, 0.838, Interval(0.5, 1.1)),
    CostDifference("input_tokens", "mean", 20, 812.4, 790.0, -22.4, Interval(-40.0, -1.5), estimated=True),
    CostDifference("calls", "mean", 20, 1.0, 1.0, 0.0, Interval(0.0, 0.0)),
)


@pytest.fixture
def comparison():
    """a against b: on t, 9 of 20 samples were fixed and 1 was broken; ratings r went up by a half."""
    before, after = [0] * 9 + [1] * 11, [1] * 9 + [0] + [1] * 10
    ratings = [1.0, 2.0, 3.0, 4.0] * 5
    first = stored("a", s=before, t=before, r=ratings)
    second = stored("<b>b", s=after, t=after, r=[one + 0.5 for one in ratings])
    second.manifest = {"options": {"repeats": 3}}
    found = compare(first, second)
    pair = replace(found.pairs[0], costs=COSTS, aligned="code")
    return replace(found, pairs=(pair,))


def test_a_row_per_further_score_holds_both_values_difference_interval_p_flips_and_pairs(comparison):
    first, second = score_rows(comparison.pairs[0])
    assert first[:4] == ["t", "55.0 %", "95.0 %", "+40.0"]
    assert first[5:] == ["0.021", "+9 -1", "20"]
    assert second[:4] == ["r", "2.50", "3.00", "+0.50"]
    assert second[6] == "–"


def test_costs_are_written_in_their_units(comparison):
    assert cost_rows(comparison.pairs[0]) == [
        ["latency p50", "412 ms", "1.25 s", "+838 ms", "+500 ms to +1.10 s", "20"],
        ["tokens in", "812", "790", "-22.40", "-40.00 to -1.50", "20"],
        ["calls", "1.00", "1.00", "0.00", "0.00 to 0.00", "20"],
    ]


def test_a_line_per_run_holds_its_own_costs(comparison):
    assert cost_lines(comparison) == [
        ["latency p50", "tokens in", "calls"],
        ["a", "412 ms", "812", "1.00"],
        ["<b>b", "1.25 s", "790", "1.00"],
    ]
    assert cost_lines(replace(comparison, pairs=(replace(comparison.pairs[0], costs=()),))) == []


def test_a_view_says_how_samples_were_paired_what_differs_and_what_the_figures_are(comparison):
    (view,) = compared_views(comparison)
    assert view.title == "<b>b against a"
    assert view.aligned == "Samples are paired by their code."
    assert view.differs == ("repeats: 1 → 3",)
    assert "p is corrected: Benjamini-Hochberg over 2 differences." in view.notes
    assert any("without queueing and retries" in note for note in view.notes)
    assert any("estimated" in note for note in view.notes)
    assert not any("drawn by seed" in note for note in view.notes)


def test_a_pair_with_nothing_beside_its_headline_has_no_view():
    runs = stored("a", s=[0, 1]), stored("b", s=[1, 1])
    assert compared_views(compare(*runs)) == []
    assert compared_views(None) == []
    assert compared_markdown(None, lambda text, _: text) == []


def test_the_template_shows_every_row_and_escapes_names(comparison):
    page = _environment().from_string('{% import "compared.html.j2" as compared %}{{ compared.further(views) }}')
    html = page.render(views=compared_views(comparison))
    assert "&lt;b&gt;b against a" in html
    assert "<b>b" not in html
    for text in ("+838 ms", "+500 ms to +1.10 s", "+9 -1", "repeats: 1 → 3", "Samples are paired by their code."):
        assert text in html
    assert html.count("<tr") == 2 + 2 + 3


def test_markdown_has_a_table_per_pair(comparison):
    (lines,) = compared_markdown(comparison, lambda text, most: text[:most].replace("<", "&lt;"))
    assert lines[0] == "**&lt;b>b against a: further scores and costs**"
    assert lines[4].startswith("| t | 55.0 % | 95.0 % | +40.0 | ")
    assert lines[-1] == "| calls | 1.00 | 1.00 | 0.00 | 0.00 to 0.00 | – | 20 |"
    assert {line.count("|") for line in lines[2:]} == {8}


def test_the_table_of_a_pair_gives_p_and_in_brackets_the_corrected_one():
    before, groups = [0] * 9 + [1] * 11, ["x"] * 10 + ["y"] * 10
    first = stored("a", groups, s=before)
    others = [stored(name, groups, s=[1] * 9 + [0] * 1 + [1] * 10) for name in "bc"]
    alone, beside = (compare(first, *others[:n]).pairs[0] for n in (1, 2))
    assert pair_view(alone, "a", "b").rows[0].p == "0.021"
    view = pair_view(beside, "a", "b")
    assert (view.rows[0].p, view.rows[2].name, view.rows[2].p) == ("0.021 (0.043)", "x", "0.021 (0.043)")
    assert view.method.endswith("In brackets p after Holm over 2 runs and Benjamini-Hochberg over 2 groups.")
    assert "brackets" not in pair_view(replace(alone, groups=()), "a", "b").method
