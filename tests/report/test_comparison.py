"""The section of a comparison: differences, further scores and costs, on pages and in Markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.analysis.stored_run import run_of, stored
from tests.report.sections_read import every, notes, part, rows

from steelyard import compare
from steelyard.analysis.comparison.costs import CostDifference
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.report.render.html import section_environment
from steelyard.report.render.markdown import markdown_page
from steelyard.report.render.short_result import _verdict
from steelyard.report.render.terminal import console, print_sections
from steelyard.report.sections.comparison import comparison_section, methods_section
from steelyard.stats.intervals import Interval

COSTS = (
    CostDifference("latency", "p50", 20, 0.412, 1.25, 0.838, Interval(0.5, 1.1)),
    CostDifference("input_tokens", "mean", 20, 812.4, 790.0, -22.4, Interval(-40.0, -1.5), estimated=True),
    CostDifference("calls", "mean", 20, 1.0, 1.0, 0.0, Interval(0.0, 0.0)),
)


@pytest.fixture
def comparison():
    """a against b: on t, 9 of 20 samples improved and 1 regressed; ratings r went up by a half."""
    before, after = [0] * 9 + [1] * 11, [1] * 9 + [0] + [1] * 10
    ratings = [1.0, 2.0, 3.0, 4.0] * 5
    first = stored("a", s=before, t=before, r=ratings)
    second = stored("<b>b", s=after, t=after, r=[rating + 0.5 for rating in ratings])
    second = replace(second, manifest={"options": {"repeats": 3}})
    comparison_ = compare(first, second)
    first_pair = comparison_.pairs[0]
    overlap = first_pair.overlap._replace(aligned="code")
    pair = replace(first_pair, overlap=overlap, further=replace(first_pair.further, costs=COSTS))
    return replace(comparison_, pairs=(pair,))


def section(comparison):
    return comparison_section(comparison, ())


def test_a_row_per_further_score_holds_both_values_difference_interval_p_changes_and_pairs(comparison):
    scores = rows(section(comparison), "Other scores")
    assert scores["T"][:3] == ["55.0 %", "95.0 %", "+40.0"]
    assert scores["T"][4:] == ["0.021", "9", "1", "20"]
    assert scores["R"][:3] == ["2.50", "3.00", "+0.50"]
    assert scores["R"][5:7] == ["20", "0"]


def test_scores_that_are_0_in_both_runs_are_named_and_have_no_row_and_no_column_is_empty():
    zeros, ratings = [0] * 6, [1.0, 2.0, 3.0] * 2
    first = stored("a", s=[0, 1] * 3, never=zeros, r=ratings, forbidden=zeros)
    second = stored("b", s=[1, 1] * 3, never=zeros, r=[rating + 0.5 for rating in ratings], forbidden=[1, *zeros[1:]])
    other = part(section(compare(first, second)), "Other scores")
    assert [row[0].text for row in other.table.rows] == ["R", "Forbidden"]
    assert "mean 0 in both runs: never" in notes(other)
    assert [column.title for column in other.table.columns][-3:] == ["better", "worse", "n"]


def test_costs_are_written_in_their_units(comparison):
    assert rows(section(comparison), "Costs") == {
        "latency p50": ["412 ms", "1.25 s", "+838 ms", "+500 ms to +1.10 s", "20"],
        "tokens in": ["812", "790", "-22.40", "-40.00 to -1.50", "20"],
        "calls": ["1.00", "1.00", "0.00", "0.00 to 0.00", "20"],
    }


def test_a_section_says_how_samples_were_paired_what_differs_and_what_the_figures_are(comparison):
    texts = notes(part(section(comparison), "<b>b against a"))
    assert "Samples are paired by their code." in texts
    assert "repeats: 1 → 3" in texts
    assert any("without queueing and retries" in note for note in texts)
    assert any("estimated" in note for note in texts)
    assert not any("drawn by seed" in note for note in texts)


def test_a_pair_with_nothing_beside_its_headline_has_no_further_tables():
    runs = stored("a", s=[0, 1]), stored("b", s=[1, 1])
    titles = [candidate.title for candidate in every(section(compare(*runs))) if candidate and candidate.table]
    assert not [title for title in titles if "Other scores" in title or "Costs" in title]
    assert not section(None)


def test_the_page_shows_every_row_and_escapes_names(comparison):
    template = section_environment().from_string('{% import "section.html.j2" as render %}{{ render.section(found) }}')
    html = template.render(found=section(comparison))
    assert "&lt;b&gt;b against a" in html
    assert "<b>b" not in html
    for text in ("+838 ms", "+500 ms to +1.10 s", "<dt>repeats</dt><dd>1 → 3", "Samples are paired by their code."):
        assert text in html
    assert html.count("<tr") == (1 + 1) + (1 + 2) + (1 + 3), (
        "the headline, two scores and three costs, each with a head"
    )


def test_markdown_has_tables_per_pair(comparison):
    text = markdown_page("x", [section(comparison)])
    assert "**&lt;b&gt;b against a: Other scores**" in text
    assert "| T | 55.0 % | 95.0 % | +40.0 | " in text
    assert "| calls | 1.00 | 1.00 | 0.00 | 0.00 to 0.00 | 20 |" in text
    assert {line.count("|") for line in text.splitlines() if line.startswith("| calls")} == {7}


def test_the_table_of_a_pair_gives_the_corrected_p_and_then_the_other_one():
    before, groups = [0] * 9 + [1] * 11, ["x"] * 10 + ["y"] * 10
    first = stored("a", groups, s=before)
    others = [stored(name, groups, s=[1] * 9 + [0] * 1 + [1] * 10) for name in "bc"]
    alone, beside = (compare(first, *others[:n]) for n in (1, 2))
    assert rows(section(alone), "pairs")["all pairs"][4] == "0.021"
    table_rows = rows(section(beside), "pairs")
    assert (table_rows["all pairs"][4], table_rows["x"][4]) == ("0.043 after correction, 0.021 before",) * 2
    told = {note.term: note.text for note in methods_section([], beside).notes}
    names = ["Newcombe 1998, method 10", "exact McNemar", "Holm", "Benjamini-Hochberg"]
    assert list(told) == names
    assert all(told.values())
    further = replace(alone.pairs[0].further, groups=())
    ungrouped = replace(alone, pairs=(replace(alone.pairs[0], further=further),))
    assert "Holm" not in {note.term for note in methods_section([], ungrouped).notes}


def test_a_terminal_names_the_run_of_each_state_of_samples_without_a_pair(capsys):
    pair = compare(stored("a", s=[1, 1, 0]), stored("b", s=[1, 1]))
    print_sections(console(), [section(pair)], in_full=True)
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("Samples without a pair, by what each run has")
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["baseline", "other", "samples"],
        ["scored", "no", "such", "sample", "1"],
        ["2"],
    ]


def test_a_page_names_the_first_samples_without_a_pair_and_says_where_all_are():
    shown = section(compare(stored("a", s=[1] * 40), stored("b", s=[1] * 28)))
    unpaired = part(shown, "Samples without a pair, by what each run has")
    assert [cell.text for cell in unpaired.table.rows[0]] == [
        *("scored", "no such sample", "12"),
        "28, 29, 30, 31, 32, 33, 34, 35, 36, 37 and 2 more",
    ]
    assert [note.text for note in unpaired.notes] == ["compare --json names all."]


def test_no_number_of_samples_is_named_for_a_difference_that_is_shown_as_0():
    before = [0.2, 0.8] * 15
    after = [value + (-0.222 if at % 2 else 0.23) for at, value in enumerate(before)]
    (pair,) = compare(stored("a", s=before), stored("b", s=after)).pairs
    assert [line.text for line in _verdict(pair, "", other="b")] == [
        "? Not decided: 0 points (95 % CI -7 to +8, p = 0.85)",
        "  30 samples find 12 points in 80 % of cases.",
    ]


def test_an_interval_without_zero_beside_a_test_that_finds_nothing_is_called_borderline():
    before, after = [1.0] * 10 + [0.0] * 2, [1.0] + [0.0] * 9 + [1.0] * 2
    (pair,) = compare(stored("a", s=before), stored("b", s=after)).pairs
    line = next(_verdict(pair, "", other="b")).text
    assert line == "? Not decided: -58 points (95 % CI -85 to -5, p = 0.065, borderline)"


@pytest.mark.parametrize(
    ("values", "rates", "method", "said"),
    [
        ([1, 0, 1], "clopper_pearson", "Clopper-Pearson interval", "interval of a rate"),
        ([1, 0.3, 0.8], "wilson", "t interval", "interval of a mean, from the spread of the samples' values"),
    ],
)
def test_the_interval_of_a_score_is_not_told_as_that_of_a_difference(values, rates, method, said):
    run = stored("a", f1=values)
    run = replace(run, manifest={**run.manifest, "options": {"intervals": {"rates": rates}}})
    (note,) = methods_section([summarize_run(run)]).notes
    assert (note.term, note.text[: len(said)]) == (method, said)


def test_regressions_of_unparsed_replies_are_shown_apart():
    def run(target, *outcomes):
        rows = [
            ScoreRow(str(at), "", "", 0, "s", *((one, None) if isinstance(one, str) else ("scored", float(one))))
            for at, one in enumerate(outcomes)
        ]
        manifest = {"scores": ["s"], "score_infos": {"s": {"range": None, "denominator": "all"}}}
        return run_of(f"run-{target}", rows, target, manifest=manifest)

    first = run("a", *[1] * 20, *[0] * 3, *["unparsed"] * 2, *["refused"] * 4)
    second = run("b", *["unparsed"] * 18, 0, 1, *[0] * 3, *[1] * 2, *["unparsed"] * 4)
    found = compare(first, second)
    assert found.pairs[0].unanswered == (0, 2, 18, 4)
    assert rows(section(found), "change") == {
        "regressions": ["19", "a worse value"],
        "improvements": ["2", "a better value"],
        "unchanged": ["8", "no difference"],
    }
    assert "of these unreadable or refused: regressions 18, improvements 2, both wrong 4" in notes(section(found))
    read = compare(stored("a", s=[1, 0, 1]), stored("b", s=[0, 0, 1])).pairs[0]
    assert not any(read.unanswered), "every reply was read"
