from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.analysis.gate.gate_rules import parse_rule
from steelyard.analysis.run_data import RunCounts
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.summary.run_summary_values import RecordFindings, RunSummary
from steelyard.errors import ConfigError
from steelyard.plain_json import json_value


def run(right, n, *, unparsed=0, errors=0, target="glm-4", state="finished"):
    """`n` answers, `right` of them right, in two groups by turns."""
    rows = [ScoreRow(f"s{i}", "ab"[i % 2], "", 0, "solve_rate", "scored", float(i < right)) for i in range(n)]
    rows += [ScoreRow(f"u{i}", "a", "", 0, "solve_rate", "unparsed", None) for i in range(unparsed)]
    rows += [ScoreRow(f"e{i}", "a", "", 0, "solve_rate", "error", None) for i in range(errors)]
    counts = RunCounts(len(rows), len(rows), errors)
    return RunSummary("r1", "exam", target, {}, state, "", counts, *summarize(rows), "solve_rate")


def preferred(wins, ties, losses):
    values = [1.0] * wins + [0.5] * ties + [0.0] * losses
    rows = [ScoreRow(f"s{i}", "", "", 0, "preference", "scored", value) for i, value in enumerate(values)]
    counts = RunCounts(len(rows), len(rows))
    return RunSummary("r1", "duel", "a vs b", {}, "finished", "", counts, *summarize(rows), "preference")


def judge(name, bound, summary):
    return judge_gate({name: bound}, [summary])


@pytest.mark.parametrize(
    ("bound", "code"),
    [
        (">= 0.6", 0),
        (">= 0.61", 1),
        ("> 0.6", 1),
        ("<= 0.6", 0),
        ("< 0.6", 1),
        (">=.6", 0),
        (" >= 6e-1 ", 0),
        ("> -1", 0),
    ],
)
def test_a_plain_rule_looks_at_the_value(bound, code):
    assert judge("solve_rate", bound, run(60, 100)).exit_code == code


@pytest.mark.parametrize(
    ("bound", "state"),
    [
        (">=! 0.50", "holds"),
        (">=! 0.55", "undecided"),
        (">=! 0.70", "fails"),
        ("<! 0.70", "holds"),
        ("<! 0.65", "undecided"),
        ("<! 0.50", "fails"),
    ],
)
def test_a_rule_with_an_exclamation_mark_looks_at_the_whole_interval(bound, state):
    """60 of 100: Wilson 0.502 to 0.691."""
    assert judge("solve_rate", bound, run(60, 100)).results[0].state == state


@pytest.mark.parametrize(("operator", "at_limit"), [(">=!", "holds"), (">!", "undecided")])
def test_a_limit_that_touches_the_interval_counts_as_the_operator_says(operator, at_limit):
    summary = run(10, 10)
    low = summary.scores[0].overall.interval.low
    assert judge("solve_rate", f"{operator} {low!r}", summary).results[0].state == at_limit


def test_rates_and_groups_are_chosen_by_name():
    summary = run(60, 100, unparsed=20, errors=5)
    values = {
        "solve_rate": 60 / 120,
        "solve_rate.answered": 60 / 100,
        "solve_rate.with_errors": 60 / 125,
        "solve_rate[b]": 30 / 50,
        "solve_rate.answered[a]": 30 / 50,
    }
    gate_verdict = judge_gate(dict.fromkeys(values, ">= 0"), [summary])
    assert [result.value for result in gate_verdict.results] == list(values.values())


def test_failing_wins_over_undecided_and_undecided_over_holding():
    rules = {"solve_rate": ">= 0.5", "solve_rate.answered": ">=! 0.55", "solve_rate[b]": ">= 0.9"}
    assert judge_gate(rules, [run(60, 100)]).exit_code == 1
    del rules["solve_rate[b]"]
    assert judge_gate(rules, [run(60, 100)]).exit_code == 3
    del rules["solve_rate.answered"]
    assert judge_gate(rules, [run(60, 100)]).exit_code == 0


@pytest.mark.parametrize("state", ["broken", "running", "interrupted"])
def test_a_run_that_is_not_finished_wins_over_everything(state):
    gate_verdict = judge_gate({"solve_rate": ">= 0.9"}, [run(1, 100), run(100, 100, state=state)])
    assert [result.state for result in gate_verdict.results] == ["fails", "broken"]
    assert gate_verdict.exit_code == 4
    assert state in gate_verdict.results[1].sentence


def test_no_rules_hold():
    assert judge_gate({}, [run(1, 2)]).exit_code == 0


@pytest.mark.parametrize("bound", [">= 0", ">=! 0"])
def test_a_score_without_any_value_is_unscored(bound):
    verdict = judge("solve_rate", bound, run(0, 0, errors=3))
    assert (verdict.results[0].state, verdict.exit_code) == ("unscored", 4)


def faithful(supported, unsupported, *, of_output=0, of_question=0):
    """A run of faithfulness, where so many records have no verdict because of their output, or their question."""
    values = [1.0] * supported + [0.0] * unsupported
    rows = [ScoreRow(f"s{i}", "", "", 0, "faithfulness", "scored", value) for i, value in enumerate(values)]
    rows += [
        ScoreRow(f"n{i}", "", "", 0, "faithfulness", "not_applicable", None) for i in range(of_output + of_question)
    ]
    counts = RunCounts(len(rows), len(rows))
    records = RecordFindings(lacking={"faithfulness": {"passages": {"": of_output}}})
    return RunSummary("r1", "bot", "t", {}, "finished", "", counts, *summarize(rows), "faithfulness", records=records)


@pytest.mark.parametrize(
    ("summary", "bound", "state"),
    [
        (faithful(9, 0, of_output=1), ">= 0.9", "holds"),
        (faithful(10, 0, of_output=10), ">= 0.9", "unscored"),
        (faithful(10, 0, of_question=10), ">= 0.9", "holds"),
        (faithful(2, 8, of_output=10), ">= 0.9", "fails"),
        (faithful(2, 8, of_output=10), ">= 0.6", "unscored"),
        (faithful(2, 8, of_output=10), "<= 0.05", "fails"),
        (faithful(2, 8, of_output=10), "<= 0.1", "unscored"),
        (faithful(10, 0, of_output=10), ">=! 0.1", "unscored"),
    ],
)
def test_a_rule_is_decided_on_records_that_could_be_scored(summary, bound, state):
    """Missing verdicts count at their best where a rule fails: 2 of 10, and 10 more, are 60 % at most."""
    assert judge("faithfulness", bound, summary).results[0].state == state


def test_the_least_share_of_scored_records_can_be_set():
    rules = {"faithfulness": ">= 0.9", "min_scored": 0.5}
    assert judge_gate(rules, [faithful(10, 0, of_output=10)]).exit_code == 0
    assert "10 of 20 records" in judge("faithfulness", ">= 0.9", faithful(10, 0, of_output=10)).results[0].sentence
    for share in (1.5, -0.1, "x", True, None):
        with pytest.raises(ConfigError, match="min_scored"):
            judge_gate({"min_scored": share}, [])


def test_an_unknown_score_names_the_known_ones():
    """Never an exception: a run that is paid for can be read, whatever rule it carries."""
    verdict = judge("solv_rate", ">= 0.5", run(1, 2))
    assert verdict.exit_code == 3
    assert "the run has no score 'solv_rate': did you mean 'solve_rate'" in verdict.results[0].sentence
    assert "known: solve_rate" in judge("x", ">= 0.5", run(1, 2)).results[0].sentence


def test_an_unknown_group_names_the_known_ones():
    verdict = judge("solve_rate[zzz]", ">= 0.5", run(1, 2))
    assert verdict.exit_code == 3
    assert "no group 'zzz'; known: a, b" in verdict.results[0].sentence


@pytest.mark.parametrize("bound", ["0.6", "=> 0.6", ">= high", ">= 0.6 0.7", "", ">= 60 %", 0.6, {"no": 1}, ">= nan"])
def test_a_bound_that_is_none_shows_one_that_is(bound):
    with pytest.raises(ConfigError, match=r'such as ">= 0\.6"'):
        parse_rule("solve_rate", bound)


@pytest.mark.parametrize("name", ["", "[a]", "solve_rate[a", "solve_rate[]", "solve_rate[a].answered"])
def test_a_name_that_is_none_shows_one_that_is(name):
    with pytest.raises(ConfigError, match=r"solve_rate\.answered\[hexagrams\]"):
        parse_rule(name, ">= 0.6")


def test_a_score_may_have_a_point_in_its_name():
    rule = parse_rule("judge.tone.answered[卦 辞]", ">=! 0.6")
    assert (rule.score, rule.rate, rule.group) == ("judge.tone", "answered", "卦 辞")
    assert (rule.operator, rule.limit, rule.whole_interval) == (">=", 0.6, True)


@given(st.sampled_from([">=", ">", "<=", "<"]), st.floats(0, 1), st.integers(0, 30), st.integers(1, 30))
def test_a_rule_on_the_interval_never_contradicts_the_rule_on_the_value(operator, limit, right, n):
    summary = run(min(right, n), n)
    value = judge("solve_rate", f"{operator} {limit!r}", summary).results[0].state
    whole = judge("solve_rate", f"{operator}! {limit!r}", summary).results[0].state
    assert whole in {value, "undecided"}


def test_sentences_and_json_carry_the_numbers():
    gate_verdict = judge("solve_rate", ">= 0.7", run(60, 100))
    assert tuple(result.sentence for result in gate_verdict.results) == (
        "glm-4: solve_rate >= 0.7 does not hold (60.0 %, 95 % CI 50.2 to 69.1 %, n=100).",
    )
    plain = json.loads(json.dumps(json_value(gate_verdict), allow_nan=False))
    assert plain["exit_code"] == 1
    assert plain["results"][0]["state"] == "fails"


@pytest.mark.parametrize("split", [(20, 0, 0), (19, 1, 0), (18, 2, 0), (19, 0, 1)])
def test_a_tie_in_place_of_a_win_decides_nothing_more(split):
    assert judge("preference", ">=! 0.9", preferred(*split)).results[0].state == "undecided"
    assert judge("preference", ">=! 0.5", preferred(*split)).results[0].state == "holds"
