"""`no_regression`: what a difference from a baseline decides."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.stored_run import run_of

from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.gate.gate_results import judge_gate, judge_margin, unfit_baseline
from steelyard.analysis.gate.gate_rules import parse_gate, parse_margin
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.errors import ConfigError
from steelyard.plain_json import json_value
from steelyard.stats.intervals import Interval


def stored(ident, values, *, groups=None, clusters=None, hashes=None, score="solve_rate", **changes):
    """A run of one score from its values alone; an outcome stands for what has none."""
    rows = [
        ScoreRow(
            str(at),
            groups[at] if groups else "",
            clusters[at] if clusters else "",
            0,
            score,
            value if isinstance(value, str) else "scored",
            None if isinstance(value, str) else value,
        )
        for at, value in enumerate(values)
    ]
    manifest = {"scores": [score], "primary": score, "score_infos": {score: {"denominator": "all"}}}
    by_sample = {str(at): hashes[at] if hashes else f"{at:016x}" for at in range(len(values))}
    return run_of(ident, rows, f"target-{ident}", manifest=manifest, hashes=by_sample, **changes)


def table(both, fixed, broken, neither):
    before = [1.0] * both + [0.0] * fixed + [1.0] * broken + [0.0] * neither
    after = [1.0] * both + [1.0] * fixed + [0.0] * broken + [0.0] * neither
    return stored("old", before), stored("new", after)


def judged(baseline, run, margin=0.02, *, name="solve_rate"):
    asked = parse_margin(name, margin)
    (pair,) = compare(baseline, run, score=asked.score).pairs
    return judge_margin(asked, summarize_run(run), pair)


@pytest.mark.parametrize(
    ("margin", "state", "remark"),
    [
        (0.13, "holds", "; there is a loss, and it is within the margin"),
        (0.1187, "holds", "; there is a loss, and it is within the margin"),
        (0.1186, "fails", ""),
        (0.02, "fails", ""),
        (0, "fails", ""),
    ],
)
def test_a_loss_is_held_against_the_margin_by_the_lower_limit(margin, state, remark):
    """Newcombe's own table, 59/6/16/80: the difference lies between -0.1186 and -0.0046."""
    gate_verdict = judged(*table(59, 6, 16, 80), margin)
    assert gate_verdict.state == state
    assert gate_verdict.interval == pytest.approx((-0.1186, -0.0046), abs=5e-5)
    assert gate_verdict.value == pytest.approx(-10 / 161)
    assert f"161 pairs{remark}." in gate_verdict.sentence


@pytest.mark.parametrize(
    ("margin", "state"), [(0.01, "undecided"), (0.02, "undecided"), (0.05, "holds"), (1.0, "holds")]
)
def test_between_no_loss_and_the_margin_the_data_cannot_decide(margin, state):
    """90 right twice, 1 fixed, 1 broken, 8 never: the interval is about -0.042 to 0.042."""
    gate_verdict = judged(*table(90, 1, 1, 8), margin)
    assert gate_verdict.state == state
    assert -0.05 < gate_verdict.interval.low < -0.02
    if state == "undecided":
        size = {0.01: "1 point", 0.02: "2 points"}[margin]
        assert f"these data are compatible with a loss of {size}, and with none" in gate_verdict.sentence


def test_a_clear_gain_holds_at_every_margin():
    assert judged(*table(60, 16, 2, 22), 0).state == "holds"


def test_a_margin_of_0_asks_for_a_proven_gain():
    """Two equal runs do not differ, and that nothing at all was lost cannot be shown."""
    assert judged(*table(90, 0, 0, 10), 0).state == "undecided"
    assert judged(*table(900, 0, 0, 100), 0.02).state == "holds"


def test_the_exit_code_follows_the_state():
    old, new = table(59, 6, 16, 80)
    (pair,) = compare(old, new).pairs
    for margin, code in ((0.13, 0), (0.02, 1)):
        gate = {"no_regression": {"solve_rate": margin}, "baseline": "old"}
        compared = {("new", "solve_rate"): pair}
        assert judge_gate(gate, [summarize_run(new)], compared=compared).exit_code == code
        both = judge_gate({**gate, "solve_rate": ">= 0.9"}, [summarize_run(new)], compared=compared)
        assert (both.exit_code, len(both.results)) == (1, 2)


@given(st.integers(0, 40), st.integers(0, 12), st.integers(0, 12), st.integers(1, 40), st.floats(0, 0.5))
def test_a_wider_margin_never_turns_a_run_down(both, fixed, broken, neither, margin):
    old, new = table(both, fixed, broken, neither)
    order = {"fails": 0, "undecided": 1, "holds": 2}
    narrow, wide = (judged(old, new, allowed) for allowed in (margin, margin + 0.1))
    assert order[wide.state] >= order[narrow.state]


def test_pairs_of_one_cluster_count_as_one():
    """20 clusters of 10 equal answers say less than 200 samples: the same loss cannot be told from none."""
    before, after = [1.0] * 200, [1.0] * 180 + [0.0] * 20
    alone = judged(stored("old", before), stored("new", after), 0.02)
    clusters = [f"c{at // 10}" for at in range(200)]
    together = judged(stored("old", before, clusters=clusters), stored("new", after, clusters=clusters), 0.02)
    assert (alone.state, together.state) == ("fails", "undecided")
    assert together.interval.high >= 0 > alone.interval.high


@pytest.mark.parametrize("n", [10, 200])
def test_an_unchanged_score_between_0_and_1_has_an_interval_too(n):
    """No pair has changed: at most 1 - 0.025^(1/n) of all would, 1.8 points of 200 pairs and 31 of 10."""
    values = [at % 7 / 7 for at in range(n)]
    gate_verdict = judged(stored("old", values), stored("new", values), 0.02)
    limit = 1 - 0.025 ** (1 / n)
    assert gate_verdict.interval == pytest.approx((-limit, limit))
    assert gate_verdict.state == ("holds" if n == 200 else "undecided")
    clusters = [str(at // 20) for at in range(n)]
    together = judged(stored("old", values, clusters=clusters), stored("new", values, clusters=clusters), 0.02)
    assert together.interval.high == pytest.approx(1 - 0.025 ** (20 / max(n, 20)))
    assert together.state == "undecided"


def test_unchanged_ratings_have_no_interval_and_are_undecided():
    gate_verdict = judged(*(stored(name, [4.0, 5.0, 3.0] * 50) for name in ("old", "new")), 0.5)
    assert (gate_verdict.state, gate_verdict.interval, gate_verdict.value) == ("undecided", None, 0.0)
    assert "no interval, as these pairs say nothing about the spread" in gate_verdict.sentence


def test_a_group_and_what_both_answered_are_chosen_as_in_any_rule():
    groups = ["a"] * 40 + ["b"] * 40
    old = stored("old", [1.0] * 80, groups=groups)
    new = stored("new", [1.0] * 40 + [0.0] * 20 + ["unparsed"] * 20, groups=groups)
    assert judged(old, new, 0.1, name="solve_rate[a]").state == "holds"
    lost = judged(old, new, 0.1, name="solve_rate[b]")
    assert (lost.state, lost.value) == ("fails", -1.0)
    answered = judged(old, new, 0.1, name="solve_rate.answered")
    assert (answered.value, judged(old, new, 0.1).value) == (pytest.approx(-20 / 60), -0.5)
    unknown = judged(old, new, 0.1, name="solve_rate[c]")
    assert unknown.state == "undecided"
    assert "no pair is of group 'c'; known: a, b" in unknown.sentence


def test_runs_that_share_no_sample_are_undecided():
    old, new = stored("old", [1.0] * 9), stored("new", [1.0] * 9)
    moved = replace(new.scores, samples=[f"other {ident}" for ident in new.scores.samples])
    gate_verdict = judged(old, replace(new, scores=moved, hashes=new.hashes + 100))
    assert gate_verdict.state == "undecided"
    assert "the two share no sample on which both have this score" in gate_verdict.sentence


def test_another_dataset_with_the_same_ids_is_undecided():
    old = stored("old", [1.0] * 500)
    gate_verdict = judged(old, stored("new", [1.0] * 500, hashes=[f"{at + 9000:016x}" for at in range(500)]))
    assert gate_verdict.state == "undecided"
    assert gate_verdict.value is None
    assert "500 samples in both runs changed content between them" in gate_verdict.sentence
    one_changed = ["f" * 16, *(f"{at:016x}" for at in range(1, 500))]
    assert "1 sample in both" in judged(old, stored("new", [1.0] * 500, hashes=one_changed)).sentence


def test_samples_in_one_of_the_two_alone_are_counted_in_the_sentence():
    gate_verdict = judged(stored("old", [1.0] * 500), stored("new", [1.0] * 503))
    assert gate_verdict.state == "holds"
    assert "500 pairs; 3 samples are in only one of the two." in gate_verdict.sentence


def test_a_reason_in_place_of_a_comparison_is_undecided():
    new = summarize_run(stored("new", [1.0, 0.0]))
    gate = {"no_regression": {"solve_rate": 0.02}, "baseline": "latest"}
    told = judge_gate(gate, [new], compared={("new", "solve_rate"): "there is no run 'x'."})
    assert (told.exit_code, told.results[0].state) == (3, "undecided")
    assert [result.sentence for result in told.results] == [
        "target-new: no_regression solve_rate 0.02 cannot be decided: there is no run 'x'."
    ]
    assert judge_gate(gate, [new]).exit_code == 3, "nobody compared anything"


def test_the_baseline_is_not_held_against_itself():
    old, new = (summarize_run(row) for row in table(900, 0, 0, 100))
    (pair,) = compare(*table(900, 0, 0, 100)).pairs
    gate = {"no_regression": {"solve_rate": 0.02}, "baseline": "target-old"}
    compared = {("old", "solve_rate"): None, ("new", "solve_rate"): pair}
    gate_verdict = judge_gate(gate, [old, new], compared=compared)
    assert [(result.run, result.state, result.baseline) for result in gate_verdict.results] == [("new", "holds", "old")]


@pytest.mark.parametrize("state", ["broken", "running", "interrupted"])
def test_an_unfinished_run_is_judged_by_no_margin(state):
    old, new = table(900, 0, 0, 100)
    gate_verdict = judged(old, replace(new, state=state))
    assert gate_verdict.state == "broken"
    assert state in gate_verdict.sentence


def test_an_unfinished_or_stopped_baseline_is_unfit():
    summary = summarize_run(stored("old", [1.0] * 9))
    assert unfit_baseline(summary) == ""
    assert "is interrupted: 9 of 9 records" in unfit_baseline(replace(summary, state="interrupted"))
    assert "was stopped early" in unfit_baseline(replace(summary, stopping=stopping()))


def stopping(used=9, against=""):
    interval = Interval(0.55, 0.9)
    return Stopping("full", "solve_rate", 0.5, 0.95, against, 20, used, 0, "above", interval)


def test_a_run_that_was_stopped_early_is_not_compared():
    old, new = table(900, 0, 0, 100)
    (pair,) = compare(old, new).pairs
    margin_result = judge_margin(
        parse_margin("solve_rate", 0.02), replace(summarize_run(new), stopping=stopping()), pair
    )
    assert margin_result.state == "undecided"
    assert "the run was stopped early" in margin_result.sentence


@pytest.mark.parametrize(
    ("name", "bound", "state"),
    [
        ("solve_rate", ">=! 0.5", "holds"),
        ("solve_rate", ">=! 0.6", "undecided"),
        ("solve_rate", ">= 0.99", "holds"),
        ("solve_rate.answered", ">=! 0.5", "undecided"),
    ],
)
def test_the_confidence_sequence_is_the_interval_of_a_stopped_run(name, bound, state):
    """All 9 are right and Wilson's interval would be 0.70 to 1; the sequence of the stop says 0.55 to 0.9."""
    summary = replace(summarize_run(stored("new", [1.0] * 9)), stopping=stopping())
    (result,) = judge_gate({name: bound}, [summary]).results
    assert result.state == state
    assert ("95 % confidence sequence 55.0 to 90.0 %" in result.sentence) == (name == "solve_rate")


def test_where_nothing_was_left_unasked_other_means_keep_their_interval():
    summary = replace(summarize_run(stored("new", [1.0] * 9)), stopping=stopping(used=20))
    assert judge_gate({"solve_rate.answered": ">=! 0.5"}, [summary]).exit_code == 0
    difference = replace(summary, stopping=stopping(against="old"))
    assert judge_gate({"solve_rate": ">=! 0.5"}, [difference]).exit_code == 3


def test_a_rule_is_about_the_runs_whose_scorers_give_the_score():
    """In a pairwise evaluation the answering runs have no preference; a rule on it is not undecided for them."""
    answers, judging = summarize_run(stored("a", [1.0] * 9, score="length")), summarize_run(stored("b", [1.0] * 9))
    announced = {"a": ["length"], "b": ["solve_rate"]}
    rules = {"solve_rate": ">= 0.5", "length": ">= 0.5"}
    gate_verdict = judge_gate(rules, [answers, judging], announced=announced)
    assert [(result.rule, result.run) for result in gate_verdict.results] == [
        ("solve_rate >= 0.5", "b"),
        ("length >= 0.5", "a"),
    ]
    assert gate_verdict.exit_code == 0
    nobody = judge_gate({"tone": ">= 0.5"}, [answers, judging], announced=announced)
    assert [result.state for result in nobody.results] == ["undecided", "undecided"]


@pytest.mark.parametrize("margin", [True, "0.02", None, float("nan"), float("inf"), -0.01, [0.1]])
def test_a_margin_is_a_number_of_0_or_more(margin):
    with pytest.raises(ConfigError, match="largest loss that is tolerated"):
        parse_margin("solve_rate", margin)


def lower(run):
    """The same run of a score where lower is better."""
    return replace(run, manifest={**run.manifest, "score_infos": {"solve_rate": {"lower_is_better": True}}})


@pytest.mark.parametrize(("margin", "state"), [(0.13, "holds"), (0.02, "fails")])
def test_where_lower_is_better_an_increase_is_the_loss(margin, state):
    """Newcombe's own table turned round: the difference lies between 0.0046 and 0.1186, and that is the loss."""
    old, new = map(lower, table(59, 6, 16, 80))
    turned = judged(new, old, margin)
    assert turned.interval == pytest.approx((0.0046, 0.1186), abs=5e-5)
    assert turned.state == state
    assert judged(old, new, 0).state == "holds", "a decrease is a proven gain"


def test_a_margin_is_undecided_where_missing_verdicts_could_exceed_it():
    """60 of 100 in both; 40 wrong ones of the old run could as well be right, which would be a loss of 40 points."""
    known, half_known = [1.0] * 60 + [0.0] * 40, [1.0] * 60 + ["unparsed"] * 40
    assert judged(stored("old", known), stored("new", known), 0.1).state == "holds"
    gate_verdict = judged(stored("old", half_known), stored("new", known), 0.1)
    assert gate_verdict.state == "undecided"
    assert "with 40 replies without a verdict the loss may be 40 points" in gate_verdict.sentence


def test_a_rule_on_the_interval_of_a_run_of_which_nothing_was_parsed_is_undecided():
    summary = summarize_run(stored("new", ["unparsed"] * 800))
    (result,) = judge_gate({"solve_rate": ">=! 0.6"}, [summary]).results
    assert result.state == "undecided"
    assert "0.0 to 100.0 % with 800 replies without a verdict" in result.sentence
    (by_value,) = judge_gate({"solve_rate": ">= 0.6"}, [summary]).results
    assert by_value.state == "fails", "by its value none is solved"
    assert "0.0 to 100.0 % with 800 replies without a verdict" in by_value.sentence


def test_a_rule_on_the_whole_interval_counts_missing_verdicts_at_both_ends():
    rows = [1.0] * 95 + [0.0] * 5
    assert judge_gate({"solve_rate": ">=! 0.85"}, [summarize_run(stored("new", rows))]).exit_code == 0
    most = summarize_run(stored("new", [1.0] * 60 + ["unparsed"] * 40))
    (result,) = judge_gate({"solve_rate": "<=! 0.75"}, [most]).results
    assert result.interval.high < 0.75
    assert result.state == "undecided"
    assert "60.0 to 100.0 % with 40 replies without a verdict" in result.sentence


def test_a_negative_margin_is_refused_and_the_direction_explained():
    with pytest.raises(ConfigError, match="where lower is better, the loss is an increase"):
        parse_margin("toxicity", -0.02)


@pytest.mark.parametrize("name", ["solve_rate.with_errors", "solve_rate.answered[a]", "", "[a]"])
def test_a_margin_names_what_two_runs_can_be_compared_by(name):
    with pytest.raises(ConfigError, match=r"gate: "):
        parse_margin(name, 0.02)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ({"no_regression": {"solve_rate": 0.02}}, "needs a baseline"),
        ({"no_regression": {}, "baseline": "latest"}, "names no score"),
        ({"no_regression": 0.02, "baseline": "latest"}, "is not a mapping"),
        ({"baseline": "latest"}, "nothing is compared with the baseline"),
        ({"no_regression": {"solve_rate": 0.02}, "baseline": " "}, "expected a run's id"),
        ({"no_regression": {"solve_rate": 0.02}, "baseline": 5}, "expected a run's id"),
        ({"solve_rate": {"a": 0.1}}, "is not a rule"),
    ],
)
def test_margins_and_baseline_go_together(gate, words):
    with pytest.raises(ConfigError, match=words):
        parse_gate(gate)


def test_a_gate_is_read_whole():
    read = parse_gate({"a": "> 1", "no_regression": {"b[x]": 0.5, "c": 0}, "baseline": " latest "})
    assert [rule.score for rule in read.rules] == ["a"]
    assert [
        (margin_of_rule.score, margin_of_rule.group, margin_of_rule.margin, margin_of_rule.name)
        for margin_of_rule in read.margins
    ] == [("b", "x", 0.5, "b[x]"), ("c", "", 0.0, "c")]
    assert read.baseline == "latest"


def test_json_names_the_baseline_and_what_warns_of_it():
    old, new = table(59, 6, 16, 80)
    other = replace(new, manifest={**new.manifest, "scorers": {"choice": {"strict": True}}})
    gate_verdict = judged(old, other)
    plain = json.loads(json.dumps(json_value(gate_verdict), allow_nan=False))
    assert (plain["baseline"], plain["state"], len(plain["interval"])) == ("old", "fails", 2)
    assert any("scorer" in note for note in plain["notes"])
