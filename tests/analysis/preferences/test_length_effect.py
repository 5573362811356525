"""Lengths beside a preference, from the details of a judging run."""

from __future__ import annotations

import pytest
from tests.analysis.judging import judging_run, row

from steelyard.analysis.preferences.win_rates import preferences
from steelyard.plain_json import json_value
from steelyard.report.sections.preferences import length_figures, length_text, preferences_section
from steelyard.stats import length_controlled
from steelyard.stats.intervals import Interval, wilson


def judged(*pairs, **details):
    """A run of (label, characters of A, characters of B)."""
    return preferences(
        judging_run([row(label, f"s{at}", chars=[a, b], **details) for at, (label, a, b) in enumerate(pairs)])
    )


def test_mean_lengths_and_the_share_won_by_the_longer_stand_beside_the_preference():
    pairs = [("A", 90, 30)] * 7 + [("B", 30, 90)] * 5 + [("A", 30, 90)] * 4 + [("tie", 40, 20), ("A", 50, 50)]
    effect = judged(*pairs).length
    assert (effect.n, effect.unequal, effect.longer_won, effect.longer_rate) == (18, 16, 12, 12 / 16)
    assert (effect.mean_a, effect.mean_b) == pytest.approx((990 / 18, 1090 / 18))
    assert effect.longer_interval == wilson(12, 16)
    values = [1] * 7 + [0] * 5 + [1] * 4 + [0.5, 1]
    expected = length_controlled(values, [a - b for _, a, b in pairs])
    assert effect.controlled.value == pytest.approx(expected.value)
    assert effect.controlled.interval == expected.interval
    assert (effect.coefficient, effect.reason) == (expected.coefficient, "")


def test_a_side_that_is_always_longer_cannot_be_told_apart_from_length():
    result = judged(*[("A", 105, 27)] * 20)
    assert result.length.controlled.value is None
    assert result.length.reason == (
        "length and system cannot be told apart: the answers of ours are longer in 20 of 20 pairs"
    )
    assert result.warnings[0] == (
        "Length and system cannot be told apart: the answers of ours are longer in 20 of 20 pairs, and the longer "
        "answer won 20 of 20 decided pairs."
    )


def test_a_judge_that_looks_only_at_length_gives_no_rate_at_equal_length():
    result = judged(*[("A", 105, 27)] * 30, *[("B", 27, 105)] * 10)
    assert result.verdict == "A"
    assert (result.length.controlled.value, result.length.style_controlled) == (None, None)
    reason = "length and system cannot be told apart: the longer answer won 40 of 40 decided pairs"
    assert result.length.reason == reason
    assert result.warnings == (f"L{reason[1:]}.",)
    assert ("length-controlled", reason) in length_figures(result)
    assert length_text(result).endswith("characters on average."), "the warning says the rest"


def test_a_judge_that_prefers_the_shorter_answer_gives_no_rate_at_equal_length():
    result = judged(*[("B", 105, 27)] * 29, *[("A", 27, 105)] * 9, ("A", 105, 27), ("B", 27, 105))
    assert result.length.reason.endswith("the shorter answer won 38 of 40 decided pairs")
    assert result.length.controlled.value is None


def test_the_shorter_side_that_wins_is_not_suspected_of_its_length():
    assert judged(*[("B", 105, 27)] * 20).warnings == ()


def test_a_preference_that_vanishes_at_equal_length_has_a_warning():
    pairs = [("A", 90, 30)] * 28 + [("B", 30, 90)] * 9 + [("A", 60, 60)] * 4 + [("B", 60, 60)] * 4
    result = judged(*pairs)
    assert result.verdict == "A"
    assert result.length.controlled.interval.low <= 0.5
    (warning,) = result.warnings
    assert warning.startswith("At equal length ours would have ")
    assert warning.endswith("does not show that it is preferred: the longer answer won 37 of 37 decided pairs.")


def test_a_preference_that_stays_at_equal_length_has_none():
    pairs = [("A", 90, 30)] * 15 + [("A", 30, 90)] * 15 + [("B", 30, 90)] * 3
    result = judged(*pairs)
    assert result.length.controlled.interval.low > 0.5
    assert result.warnings == ()


def test_style_and_difficulty_are_controlled_for_where_every_pair_has_them():
    pairs = [("A", 90, 30)] * 8 + [("B", 30, 90)] * 8 + [("A", 30, 90)] * 5
    plain = judged(*pairs).length
    assert (plain.style_controlled, plain.with_difficulty) == (None, False)
    styled = judged(*pairs, style=[[1, 4, 0], [0, 0, 2]], instruction_difficulty=0.5)
    effect = styled.length
    assert effect.with_difficulty
    assert effect.style_controlled.value is not None
    assert [name for name, _ in length_figures(styled)][-1] == "style-controlled"
    run = judging_run(
        [row(label, f"s{at}", chars=[a, b], **({"style": [[1, 0, 0], [0, 0, 0]]} if at else {}))
         for at, (label, a, b) in enumerate(pairs)]
    )  # fmt: skip
    assert preferences(run).length.style_controlled is None


def test_pairs_without_stored_lengths_have_no_effect_and_say_nothing():
    result = preferences(judging_run([row("A", f"s{at}") for at in range(8)]))
    assert result.length is None
    assert (length_figures(result), length_text(result)) == ((), "")


def test_terminal_page_and_json_show_the_lengths():
    pairs = [(label, 90, 30) for label in "AAAAAAABBB"] + [(label, 30, 90) for label in "BBBBBBBAAA"]
    result = judged(*pairs)
    assert length_text(result).startswith(
        "ours 60, theirs 60 characters on average; the longer answer won 14 of 20 decided pairs; at equal length ours "
        "has 50.0 % (95 % CI "
    )
    notes = [note for part in preferences_section([result]).parts for inner in part.parts for note in inner.notes]
    assert {"mean length", "longer won", "length-controlled"} <= {note.term for note in notes}
    shown = json_value(result)["length"]
    assert shown["longer_rate"] == 0.7
    assert shown["controlled"]["value"] == pytest.approx(0.5)


def test_rates_of_a_stopped_run_have_no_fixed_interval():
    from tests.analysis.preferences.test_win_rates import stopped

    given = [row("A" if at % 2 else "B", f"s{at}", chars=[30 + 60 * (at % 3 % 2), 60]) for at in range(20)]
    effect = preferences(judging_run(given, stopping=stopped(interval=Interval(0.4, 0.6)))).length
    assert (effect.longer_interval, effect.controlled.interval, effect.coefficient_interval) == (None, None, None)
    assert effect.controlled.value is not None
