"""Counts beside rates, scores that apply to no record, and every score by group: on terminal, Markdown and page."""

from __future__ import annotations

import pytest
from tests.report.sections_read import every, notes, part, rows

from steelyard import Sample, Score, ScoreInfo, Suite, compare, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.report.page import ReportContent, all_sections, report_sections
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.section import section_json
from steelyard.report.sections.scores import further_groups_section, groups_section, scores_section
from steelyard.report.sections.targets import targets_section

NOTE = "not applicable to any record: never rated, silent"


def solved(sample, output):
    return Score("solved", float(int(sample.id) % 3 > 0))


def overlap(sample, output):
    return Score("overlap", int(sample.id) / 10)


def silent(sample, output):
    return Score("silent", None, outcome="not_applicable", reason="no reference")


def never_rated(sample, output):
    return Score("never_rated", None, outcome="not_applicable", detail={"label": "not applicable"})


solved.score_infos = (ScoreInfo("solved", (0, 1), threshold=1.0),)
overlap.score_infos = (ScoreInfo("overlap", (0, 1)),)
silent.score_infos = (ScoreInfo("silent", (1, 5), histogram=True),)
never_rated.score_infos = (ScoreInfo("never_rated", (0, 1), named_verdicts=True),)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    samples = [Sample(str(no), f"{no}?", group="even" if no % 2 == 0 else "odd") for no in range(9)]
    scorers = (solved, overlap, never_rated, silent)
    suite = Suite("s", "custom", samples, {"a": lambda _: "x", "b": lambda _: "y"}, scorers)
    return evaluate_suite(suite, how=RunConfig(store=folder / "store.db"))


def shown_as(runs):
    return PageRuns.of([run.summary() for run in runs])


def test_a_rate_stands_with_its_count_and_a_mean_with_its_n(runs):
    single = shown_as(runs[:1])
    table = targets_section(single, "solved").parts[0].table
    heads = [column.title for column in table.columns]
    count = table.rows[0][heads.index("count")]
    assert count.text == "6 of 9"
    every_score = rows(scores_section(single), "Every score")
    assert every_score["Solved"][3] == "6 of 9"
    assert every_score["Overlap"][3] == "9"
    several = rows(scores_section(shown_as(runs)), "Scores by run")
    assert "6 of 9" in several["Solved"][1]
    assert "n 9" in several["Overlap"][1]


def test_scores_that_apply_to_no_record_are_one_line_and_no_row_chart_or_table(runs):
    for shown in (runs[:1], runs):
        section = scores_section(shown_as(shown))
        assert NOTE in notes(section)
        tables = [found.table for found in every(section) if found.table]
        names = {row[0].text for table in tables for row in table.rows} | {found.title for found in every(section)}
        assert not [name for name in names if "ilent" in name or "ever rated" in name]
        assert NOTE in markdown_report(shown)
        page = html_report(shown, compare(*shown) if len(shown) > 1 else None)
        assert NOTE in page
        assert "Silent: how often" not in page
        assert "Never rated: verdicts" not in page


def test_a_comparison_names_scores_without_a_pair_in_one_line(runs):
    [section] = [
        found for found in report_sections(ReportContent.of(runs, compare(*runs)), "html") if found.key == "comparison"
    ]
    other = part(section, "Other scores")
    assert [row[0].text for row in other.table.rows] == ["Overlap"]
    assert "no sample with a value in both runs: never rated, silent" in notes(other)


def test_every_score_is_shown_by_group_and_not_the_headline_alone(runs):
    content = ReportContent.of(runs[:1])
    by_group = further_groups_section(shown_as(runs[:1]), "solved")
    assert rows(by_group, "Overlap per group")["odd"][0] == "40.0 %"  # (1 + 3 + 5 + 7) / 40
    assert rows(by_group, "Overlap per group")["even"][0] == "40.0 %"  # (0 + 2 + 4 + 6 + 8) / 50
    assert "Overlap per group" in html_report(runs[:1])
    assert "Overlap per group" in markdown_report(runs[:1])
    plain = section_json(all_sections(content))
    [further] = [found for found in plain if found["key"] == "further_groups"]
    assert [found["title"] for found in further["parts"]] == ["Overlap per group"]


def test_a_terminal_shows_the_groups_of_the_scores_that_were_asked_for(runs):
    single = shown_as(runs[:1])
    [hidden] = further_groups_section(single, "solved").parts
    [shown] = further_groups_section(single, "solved", on_terminal=("overlap",)).parts
    assert (hidden.level, shown.level) == ("page", "essential")


def test_a_share_that_is_1_throughout_one_group_is_no_count(tmp_path):
    samples = [Sample(str(no), f"{no}?", group="full" if no < 2 else "partly") for no in range(5)]

    def share(sample, output):
        return Score("share", 1.0 if int(sample.id) < 2 else 0.5)

    share.score_infos = (ScoreInfo("share", (0, 1)),)
    runs = evaluate_suite(
        Suite("s", "custom", samples, {"a": lambda _: "x"}, (share,)), how=RunConfig(store=tmp_path / "share.db")
    )
    by_group = rows(groups_section(shown_as(runs), "share"), "category")
    assert [by_group[name][3] for name in ("full", "partly")] == ["2", "3"]
