from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from tests.analysis.judging import judging, judging_run, orders, row, rows
from tests.report.judging_suite import NASTY, pairwise_runs
from tests.report.sections_read import every, notes, part
from tests.report.sections_read import rows as rows_in

from steelyard.analysis.preferences.standings import Standing
from steelyard.analysis.preferences.win_rates import preferences
from steelyard.analysis.stopping import Stopping
from steelyard.cli.outcome import evaluate_runs
from steelyard.report.charts.svg import drawing, svg
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_page, markdown_report
from steelyard.report.sections.conclusion import preference_figures
from steelyard.report.sections.preferences import preferences_section, sequence_chart, win_rate_chart
from steelyard.report.sections.standings import rating_chart, win_matrix_chart
from steelyard.stats.intervals import Interval

PATH = ((10, 0.9, 0.2, 1.0), (60, 0.7, 0.45, 0.85), (212, 0.62, 0.53, 0.7))
STOPPED = Stopping("full", "preference", 0.5, 0.95, "", 805, 212, 4, "above", Interval(0.53, 0.7), PATH)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """Three targets against each other over 40 samples: per pair of ten 5 A more than it loses, see `verdicts`."""
    return evaluate_runs(pairwise_runs(tmp_path_factory.mktemp("pairs"), 40, third=True))


@pytest.fixture(scope="module")
def html(evaluated):
    return html_report(evaluated.runs, evaluated.comparison, evaluated.gate, pairwise=evaluated.pairwise)


def text_of(html):
    body = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def data_of(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_a_pair_has_its_sentence_its_shares_and_its_rates_on_the_page(html, evaluated):
    pair = evaluated.pairwise.preferences[0]
    assert dict(pair.tally.parts()) == {"A": 20, "B": 4, "tie": 4, "inconsistent": 4, "unparsed": 4, "refused": 0}
    text = text_of(html)
    assert "ours &lt;b&gt; is preferred to theirs: it won 20 of 24 decided pairs, 83.33 %" in text
    assert "ours &lt;b&gt; 55.6 % 20" in text
    assert "inconsistent 11.1 % 4" in text
    assert "64.15 % to 93.32 % 24 0.0015" in text
    assert "no answer as loss the same with a missing answer as a loss 66.67 %" in text
    assert "same in both orders 87.5 % of 32 pairs" in text
    assert "cooking &lt;i&gt; 12 4 0 0 100.0 % 75.8 to 100.0 &lt; 0.001 4 unreadable" in text


def test_the_parts_of_the_bar_fill_it_without_a_gap(html):
    bars = re.findall(r'<svg class="shares".*?</svg>', html, re.DOTALL)
    assert len(bars) == 3
    for bar in bars:
        ends = 0.0
        for x, width in re.findall(r'x="([\d.]+)" y="0" width="([\d.]+)"', bar):
            assert float(x) == pytest.approx(ends, abs=0.01)
            ends += float(width)
        assert ends == pytest.approx(100, abs=0.01)


def test_answering_runs_are_not_shown_as_if_something_had_failed(html):
    text = text_of(html)
    assert "nothing was scored" not in text
    assert "Runs that answered or judged; they have no scores of their own" in text
    assert "ours &lt;b&gt; 36 4 unknown" in text


def test_the_standings_name_the_leader_the_ranks_and_the_matrix(html, evaluated):
    text = text_of(html)
    assert evaluated.pairwise.standings.sentence.replace("<", "&lt;").replace(">", "&gt;") in text
    assert evaluated.pairwise.standings.targets[0] == "ours <b>"
    assert "Who won how often against whom" in text
    assert html.index("Standings</h2>") < html.index("Preferences</h2>")


def test_both_answers_and_what_each_order_said_are_in_the_table_of_samples(html):
    data = data_of(html)
    words, judged = data["words"], data["runs"][3]
    assert judged["sides"] == ["ours <b>", "theirs"]
    assert data["runs"][0]["answers"] == 1
    ours, theirs, orders, alike = judged["pair"][7]
    assert words[ours[0]] == f"Ours, answer 7. {NASTY}"
    assert words[ours[2]] == "length"
    assert words[theirs[0]] == "Theirs, answer 7."
    assert [[first, words[verdict], words[why]] for first, verdict, why, _ in orders] == [[1, "A", ""], [0, "B", ""]]
    assert words[orders[1][3]] == f"BA because of {NASTY}"
    assert alike == 0
    assert judged["pair"][6][3] == 1
    assert [words[word] for word in judged["kind"][4:10]] == [
        *("ours <b>", "theirs", "tie", "inconsistent", "no verdict", "no answer of ours <b>")
    ]
    assert words[judged["pair"][8][2][1][2]] == "unreadable (no verdict)"
    missing = judged["pair"][9][0]
    assert missing[0] == -1
    assert words[missing[1]].startswith("error")


def test_what_was_judged_stays_text(html, evaluated):
    assert html.count("<script") == 2
    assert "\u202e" not in re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)
    assert html == html_report(evaluated.runs, evaluated.comparison, evaluated.gate, pairwise=evaluated.pairwise)


def test_a_page_of_a_judging_run_alone_is_a_page(evaluated):
    alone = evaluate_runs([evaluated.runs[3]])
    text = text_of(html_report(alone.runs, pairwise=alone.pairwise))
    assert "36 pairs judged by a judge" in text
    assert "Targets</h2>" not in text
    assert alone.pairwise.standings is None


def test_of_several_judges_the_one_whose_preferences_are_shown_is_named(evaluated):
    strict = replace(preferences(evaluated.runs[3]), score="preference_strict")
    bar = preferences_section([strict]).parts
    assert "judged by the judge strict" in str(bar)


def test_the_markdown_report_has_the_pairs_the_standings_and_the_groups(evaluated):
    text = markdown_report(evaluated.runs, evaluated.comparison, evaluated.gate, pairwise=evaluated.pairwise)
    assert "- **ours &lt;b&gt; leads" in text
    assert "| ours &lt;b&gt; vs theirs | 20 | 4 | 4 | 4 | 4 | 4 | **83.3 %** | 64.1 to 93.3 | 0.0015 |" in text
    assert "floor gave one and the same answer 40 of 40 times." in text
    assert "| win rate | **83.33 %** | 64.15 % to 93.32 % | 24 | 0.0015 |" in text
    assert "nothing was scored" not in text
    assert text.count("\n") < 60
    assert len(text) < 6000


def test_a_single_pair_in_markdown_has_no_standings(evaluated):
    alone = evaluate_runs([evaluated.runs[3]])
    text = markdown_report(alone.runs, pairwise=alone.pairwise)
    assert "| rank |" not in text
    assert "- same in both orders: 87\\.5 % of 32 pairs" in text
    assert "| garden | 8 | 0 | 4 | 4 | 66.7 % | 39.1 to 86.2 | 0.39 |" in text


def test_a_stopped_run_is_shown_with_its_confidence_sequence_and_without_a_p():
    section = preferences_section([preferences(judging(*["A"] * 19, *["B"] * 8, stopping=STOPPED))])
    rates = part(section, "rate of")
    assert rates.table.columns[2].title == "95 % confidence sequence"
    table_rows = rows_in(section, "rate of")
    assert table_rows["win rate"][:2] + table_rows["win rate"][3:] == ["70.37 %", "–", "–"]
    assert table_rows["ties as half"][1] == "53.00 % to 70.00 %"
    assert any("a p-value and fixed-n intervals are not valid" in note for note in notes(rates))


def test_a_very_small_p_of_the_places_is_written_once():
    given = [row("inconsistent", f"s{no}", orders=orders("A", "B")) for no in range(45)]
    facts = notes(part(preferences_section([preferences(judging_run(tuple(given)))]), "rate of"), "fact")
    assert facts[-1].startswith("bias to the first: ")
    assert facts[-1].endswith("for the second 0, p < 0.001)")


def test_markdown_of_stopped_pairs_shows_the_share_that_the_interval_is_about():
    stopping = Stopping("full", "preference", 0.5, 0.95, "", 60, 16, 15, "above", Interval(0.501, 0.864))
    stopped = preferences(judging_run(tuple(rows(*["A"] * 7, *["inconsistent"] * 9)), stopping=stopping))
    text = markdown_page("x", [preferences_section([stopped])])
    assert "| **71.9 %** | 50.1 to 86.4 | 16 of 60 |" in text
    assert f"| {stopped.first}, even as half | 95 % confidence sequence |" in text
    (figure,) = preference_figures([stopped])
    assert figure.name.endswith(f"won by {stopped.first}, of all pairs, ties as half (by {stopped.second} 28.1 %)")


def test_tables_and_charts_of_one_pair_name_its_targets_and_of_several_the_first():
    won = [row("A", group="easy"), row("B", "s2", group="easy"), row("A", "s3", group="easy")]
    pair = preferences(judging_run(tuple(won)))
    columns = [column for part in every(preferences_section([pair])) if part.table for column in part.table.columns]
    heads = [column.title for column in columns]
    assert heads.count(pair.first) == heads.count(pair.second) == 2
    # The name is written as it is: pages begin other titles with a capital letter.
    assert [column.is_data for column in columns if column.title == f"{pair.first} wins"] == [True, True]
    assert win_rate_chart([pair]).title.startswith(f"Share of {pair.first}, ")
    assert win_rate_chart([pair, pair]).title.startswith("Share of the first, ")


def test_one_random_order_is_told_with_its_own_interval():
    given = tuple(row("A", f"s{no}", orders=orders("A")) for no in range(9))
    (fact,) = notes(part(preferences_section([preferences(judging_run(given))]), "rate of"), "fact")
    assert fact == "shown first won: 100.0 % (9 of 9 verdicts, 95 % CI 70.09 % to 100.00 %, p = 0.0039)"


def test_a_pair_that_is_not_decided_has_a_hollow_mark_in_the_chart_of_win_rates():
    pairs = [preferences(judging(*["A"] * 19, "tie")), preferences(judging("A", "B")), preferences(judging("tie"))]
    chart = win_rate_chart(pairs)
    assert [(point.value, point.decided, point.text) for point in chart.points] == [
        (100.0, True, "100.0 %"),
        (50.0, False, "50.0 %"),
        (None, False, "–"),
    ]
    assert chart.points[0].low == pytest.approx(83.182, abs=5e-4)
    assert chart.points[2].low is None
    hollow = [mark.hollow for layer in drawing(chart).layers for mark in layer.marks]
    assert sorted(hollow) == [False, True]


def test_the_chart_of_a_sequence_has_its_band_its_threshold_and_its_stop():
    chart = sequence_chart(STOPPED, name="ours")
    assert pytest.approx((212, 62.0, 53.0, 70.0)) in chart.points
    assert (chart.most, chart.threshold) == (805, 50.0)
    text = svg(chart)
    assert ">50 %<" in text
    assert ">decided after 212<" in text
    assert "53.0 to 70.0 % after 212 of 805 samples, threshold 50 %" in text


def test_a_sequence_that_used_the_whole_set_marks_no_stop():
    stopping = Stopping("population", "solve_rate", 0.8, 0.95, "", 50, 50, 0, "", Interval(0.6, 0.9))
    chart = sequence_chart(stopping)
    assert "decided after" not in svg(chart)
    assert pytest.approx((50, 75.0, 60.0, 90.0)) in chart.points


def test_a_difference_has_an_axis_from_minus_to_plus_a_hundred():
    stopping = Stopping("full", "solve_rate", 0.0, 0.95, "other", 50, 20, 0, "above", Interval(0.1, 0.5))
    assert sequence_chart(stopping).domain == (-100, 100)


@pytest.mark.parametrize("width", [340, 720])
def test_the_numbers_of_the_win_matrix_are_written_in_its_cells(width):
    text = svg(win_matrix_chart(["glm", "<b>qwen\u202e"], [[None, 0.624], [0.376, None]]), width=width)
    assert re.findall(r">(62|38|–)</text>", text).count("–") == 2
    assert ">62</text>" in text
    assert ">38</text>" in text
    assert "<b>" not in text
    assert "\u202e" not in text


def test_ratings_stand_behind_the_range_of_their_rank():
    counts = (None, 2, 1, 1, 0, 0, 0)
    first = Standing("a", 0.0, None, 1100.4, Interval(1040, 1160), 1, 1, *counts)
    chart = rating_chart([first, Standing("b", 0.0, None, 900.0, None, 2, 3, *counts)])
    assert [(chart.rows[point.row], point.text, point.low) for point in chart.points] == [
        ("1  a", "1100", 1040),
        ("2 to 3  b", "900", None),
    ]
    assert "a: 1100 (1040 to 1160)" in svg(chart)
