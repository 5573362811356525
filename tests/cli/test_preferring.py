"""What the terminal and --json say of a pairwise evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.analysis.judging import judging, judging_run, orders, row, rows
from tests.report.judging_suite import pairwise_runs

from steelyard.analysis.preferences.win_rates import preferences
from steelyard.analysis.stopping import Stopping
from steelyard.report.charts.chart import SharePart
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.terminal import bar_lines, console, print_sections
from steelyard.report.sections.conclusion import conclusion_section
from steelyard.report.sections.preferences import preferences_section
from steelyard.stats.intervals import Interval


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A store with two answering runs and the run that judges them."""
    folder = tmp_path_factory.mktemp("pairs")
    return folder / "pairs.db", [run.id for run in pairwise_runs(folder)]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    return folder / "pairs.db", [run.id for run in pairwise_runs(folder, third=True)]


def shown(capfd, *found, in_full=False):
    sections = [preferences_section(found), conclusion_section(PageRuns((), ()), None, preferred=found)]
    print_sections(console(), sections, in_full=in_full)
    return capfd.readouterr().out


def test_a_judging_run_is_shown_with_its_shares_its_rates_and_its_sentence(steelyard, pairs):
    store, (_, _, judge) = pairs
    out = steelyard("show", judge, "--store", store, code=0).out
    assert "36 pairs judged by a judge" in out
    assert "█ ours <b> 55.6 % (20)  ▒ tie 11.1 % (4)  ░ inconsistent 11.1 % (4)" in out
    assert "win rate           83.33 %  64.15 % to 93.32 %  24  0.0015" in out
    assert "same in both orders: 87.5 % of 32 pairs" in out
    assert "ours <b> is preferred to theirs: it won 20 of 24 decided" in " ".join(out.split())
    assert "cooking <i> 12 4 0 0 100.0 % 75.8 to 100.0 < 0.001" in " ".join(out.split())
    assert [line for line in out.splitlines() if len(line) > 80 and not line.lstrip().startswith("steelyard ")] == []


def test_an_answering_run_has_a_line_of_its_own_that_is_no_error(steelyard, pairs):
    store, (ours, theirs, _) = pairs
    out = steelyard("show", theirs, "--store", store, code=0).out
    assert f"{theirs}  theirs     40       0          unknown" in out
    assert "refused" not in out
    assert "36       4" in steelyard("show", ours, "--store", store, code=0).out


def test_judging_runs_that_share_a_side_are_compared_pair_by_pair(steelyard, three):
    store, runs = three
    out = " ".join(steelyard("compare", *runs[3:5], "--full", "--store", store, code=0).out.split())
    assert f"ours <b> vs floor ({runs[4]})" in out or "ours <b> vs floor" in out
    assert "which run is better on preference" in out
    assert "rank target" not in out


def test_runs_that_share_no_scores_are_refused_with_what_to_do(steelyard, three):
    store, (ours, theirs, _, judge, *_) = three
    answers = steelyard("compare", ours, theirs, "--store", store, code=2).err
    assert f"{ours} (ours <b>) and {theirs} (theirs) only gave answers, which another run judged" in answers
    assert "only gave answers" in steelyard("compare", judge, theirs, "--store", store, code=2).err


def test_history_leaves_out_the_runs_that_only_gave_answers(steelyard, pairs):
    store, (*_, judge) = pairs
    [run] = steelyard("history", "How-to", "--store", store, "--json", code=0).json()["runs"]
    assert judge in run.values()
    alone = steelyard("history", "How-to", "--target", "theirs", "--store", store, code=2)
    assert "none of these runs has scores" in alone.err


def test_both_answers_of_a_pair_are_listed(steelyard, pairs):
    store, (_, _, judge) = pairs
    out = steelyard("show", judge, "--only", "all", "-n", "40", "--store", store, code=0).out
    assert "\n  A (ours <b>): " in out
    assert "\n  B (theirs): " in out
    assert "\n  A (ours <b>): (no answer)" in out
    assert "--only all" in steelyard("show", judge, "--store", store, code=0).out


def test_a_report_holds_the_preferences_and_the_standings(steelyard, three, tmp_path):
    store, runs = three
    markdown, html = tmp_path / "report.md", tmp_path / "report.html"
    steelyard("report", *runs, "--store", store, "--markdown", markdown, "--html", html, code=0)
    assert "| 1 | ours &lt;b&gt; |" in Path(markdown).read_text(encoding="utf-8")
    assert "Standings</h2>" in Path(html).read_text(encoding="utf-8")


def test_show_gives_the_preferences_as_json(steelyard, pairs):
    store, (_, theirs, judge) = pairs
    plain = steelyard("show", judge, "--store", store, "--json", code=0).json()
    [found] = plain["preferences"]
    assert (found["first"], found["second"], found["verdict"]) == ("ours <b>", "theirs", "A")
    assert found["tally"]["not_judged"] == {"A": {"error": 4}}
    assert plain["standings"] is None
    assert "preferences" not in steelyard("show", theirs, "--store", store, "--json", code=0).json()


def test_nineteen_of_nineteen_on_a_terminal(capfd):
    out = shown(capfd, preferences(judging(*["A"] * 19, "tie")))
    assert "win rate      100.00 %  83.18 % to 100.00 %  19  < 0.001" in out
    assert "p < 0.001" in " ".join(out.split())


def test_many_pairs_are_lines_of_a_table_within_80_columns(capfd):
    found = [
        preferences(judging(*["A"] * 120, *["B"] * 100, first=f"a target with quite a long name {no}", second="模型二"))
        for no in range(10)
    ]
    out = shown(capfd, *found)
    assert out.count("54.5 %") == 10
    assert [line for line in out.splitlines() if len(line) > 80 and not line.lstrip().startswith("steelyard ")] == []
    assert len(out.splitlines()) < 40


def test_many_stopped_pairs_show_the_share_that_their_interval_is_about(capfd):
    stopping = Stopping("full", "preference", 0.5, 0.95, "", 60, 16, 15, "above", Interval(0.501, 0.864))
    given = tuple(rows(*["A"] * 7, *["inconsistent"] * 9))
    out = shown(capfd, *[preferences(judging_run(given, first=name, stopping=stopping)) for name in "abcd"])
    assert "sequence" in out
    assert " ".join(out.split()).count("71.9 % 50.1 to 86.4 16 of 60") == 4
    assert "its interval is a confidence sequence" in " ".join(out.split())


def test_what_a_judge_does_in_all_pairs_is_one_note(capfd):
    given = tuple(row("inconsistent", f"s{no}", orders=orders("A", "B")) for no in range(12))
    out = " ".join(shown(capfd, *[preferences(judging_run(given, first=name)) for name in "abcd"]).split())
    assert "favours the answer shown first (p < 0.05): a vs theirs, " in out
    assert "the same in both orders in less than 70 % of the pairs: a vs theirs, " in out
    assert out.count("note:") == 3


def test_the_position_bias_is_a_line_and_a_note(capfd):
    given = [row("inconsistent", f"s{no}", orders=orders("A", "B")) for no in range(12)]
    out = " ".join(shown(capfd, preferences(judging_run(tuple(given)))).split())
    assert "bias to the first: +100.0 points (95 % CI +65.7 to +100.0; " in out
    assert "; disagreements for the first 12, for the second 0, p < 0.001)" in out
    assert "note: The judge favours the answer shown first" in out


def test_hostile_names_cannot_act_on_the_terminal(capfd):
    out = shown(capfd, preferences(judging("A", first="\x1b[31mred\u202e", second="[bold]b[/bold]")))
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[bold]b[/bold]" in out


def test_a_bar_is_full_and_its_smallest_part_is_seen():
    parts = [SharePart("a", "ours", "999", "99.9 %", 0.0, 0.999), SharePart("b", "theirs", "1", "0.1 %", 0.999, 0.001)]
    bar = next(bar_lines(parts, width=40))
    assert bar == "█" * 39 + "▓"


def test_a_bar_of_nothing_says_so():
    assert list(bar_lines([SharePart("a", "ours", "0", "–", 0.0, 0.0)])) == ["no pair was judged"]


AGENTS = """
def steady(sample):
    return f"a long and complete answer to {sample.input}"

def failing(sample):
    if sample.input in {"q3", "q7", "q9"}:
        raise RuntimeError("the tool failed")
    return f"short {sample.input}"
"""


def test_a_pairwise_evaluation_goes_on_without_the_pairs_that_an_agent_failed_in(steelyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair_agents.py").write_text(AGENTS)
    (tmp_path / "q.csv").write_text("\n".join(["question", *(f"q{n}" for n in range(20))]) + "\n")
    (tmp_path / "votes.yaml").write_text(
        "suite: pairwise\nsamples: {file: q.csv, columns: {question: question}}\n"
        "targets:\n  steady: {function: 'pair_agents:steady'}\n  failing: {function: 'pair_agents:failing'}\n"
        "scorers: [lexical_preference]\n"
    )
    out = " ".join(steelyard("run", "votes.yaml", "--full", code=3).out.split())
    assert "failing 17 3" in out
    assert "3 pairs were not judged, as a side gave no answer" in out


def test_a_run_without_scores_is_named_where_runs_are_compared(steelyard, write, says):
    options = {"budget": {"calls": 20}, "concurrency": 1}
    steelyard("run", write({"a": says("A"), "b": says("B")}, options=options), "--quiet", code=130)
    [run] = [row["id"] for row in steelyard("runs", "--json", code=0).json() if row["target"] == "b"]
    assert f"error: without scores: {run} (b); compare the others" in steelyard("compare", "a", "b", code=2).err
