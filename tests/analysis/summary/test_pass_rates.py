from __future__ import annotations

import pytest

from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_infos import plain_infos
from steelyard.analysis.summary.repeats_and_turns import pass_rates
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.report.page_runs import PageRuns
from steelyard.report.sections.repeats_and_turns import pass_rates_section
from steelyard.types import ScoreInfo


def run(*samples, pass_k=0, info=None, repeats=None):
    """A run in which each sample has these values of its repeats; None is an unparsed reply, "error" a failed one."""
    rows = [
        ScoreRow(f"s{at}", "", "", repeat, "right", outcome_of(value), value if isinstance(value, float) else None)
        for at, values in enumerate(samples)
        for repeat, value in enumerate(values)
    ]
    options = {"repeats": repeats or len(samples[0]), "pass_k": pass_k}
    manifest = {"options": options, "scores": ["right"], "score_infos": plain_infos([info]) if info else {}}
    return RunData.of(rows, manifest=manifest)


def outcome_of(value):
    return {None: "unparsed", "error": "error"}.get(value, "scored")


def test_one_and_all_repeats_are_shown_and_the_k_of_the_options():
    rates = pass_rates(run([1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], pass_k=2))
    assert [rate.k for rate in rates] == [1, 2, 4]
    assert [rate.at_least_one.value for rate in rates] == pytest.approx([0.5, (1 + 0.5) / 2, 1.0])
    assert [rate.each.value for rate in rates] == pytest.approx([0.5, (0.5 + 0) / 2, 0.0])
    assert rates[0].at_least_one == rates[0].each


def test_samples_with_fewer_repeats_than_k_are_left_out_and_counted():
    (once, thrice) = pass_rates(run([1.0, 1.0, 1.0], [1.0, "error", "error"]))
    assert (once.each.n, thrice.each.n) == (2, 1)
    assert thrice.each.value == 1.0


def test_an_unparsed_reply_counts_as_in_the_headline():
    counted = run([1.0, None], info=ScoreInfo("right", (0, 1), denominator="all"))
    left_out = run([1.0, None], info=ScoreInfo("right", (0, 1), denominator="answered"))
    assert [rate.each.value for rate in pass_rates(counted)] == [0.5, 0.0]
    assert [rate.each.value for rate in pass_rates(left_out)] == [1.0, None]


def test_a_rating_passes_by_its_threshold_and_without_one_not_at_all():
    with_threshold = run([5.0, 3.0], info=ScoreInfo("right", (1, 5), threshold=4))
    assert [rate.at_least_one.value for rate in pass_rates(with_threshold)] == [0.5, 1.0]
    assert pass_rates(run([5.0, 3.0], info=ScoreInfo("right", (1, 5)))) == ()
    assert pass_rates(run([0.4, 0.7])) == ()


def test_a_run_that_asked_once_has_no_section():
    assert not pass_rates_section(PageRuns([summarize_run(run([1.0], [0.0]))], ["t"]))


def test_the_section_has_both_rates_with_intervals_for_each_k():
    summary = summarize_run(run(*[[1.0, 0.0], [1.0, 1.0]] * 10))
    section = pass_rates_section(PageRuns([summary], ["glm"]))
    texts = [[cell.text for cell in row] for row in section.table.rows]
    assert [row[:3] for row in texts] == [["glm", "1", "75.0 %"], ["glm", "2", "100.0 %"]]
    assert texts[1][4] == "50.0 %"
    assert all(row[3] and row[5] for row in texts)
