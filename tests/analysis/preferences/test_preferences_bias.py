from __future__ import annotations

import pytest
from scipy.stats import binomtest
from tests.analysis.judging import judging_run, orders, row

from steelyard.analysis.preferences.win_rates import preferences
from steelyard.stats.intervals import wilson
from steelyard.stats.paired import newcombe_paired


def test_position_bias_is_found_in_the_swaps_that_were_paid_for():
    given = [row("A", f"a{no}", orders=orders("A", "A")) for no in range(6)]
    given += [row("B", f"b{no}", orders=orders("B", "B")) for no in range(2)]
    given += [row("tie", "t", orders=orders("tie", "tie"))]
    given += [row("inconsistent", f"f{no}", orders=orders("A", "B")) for no in range(7)]
    given += [row("inconsistent", f"g{no}", orders=orders("A", "tie")) for no in range(2)]
    given += [row("inconsistent", "h", orders=orders("B", "A"))]
    bias = preferences(judging_run(tuple(given))).bias
    assert (bias.orders, bias.n, bias.consistent, bias.consistency) == ("both", 19, 9, 9 / 19)
    assert (bias.favours_first, bias.favours_second) == (9, 1)
    assert bias.bias == pytest.approx(8 / 19)
    assert bias.bias_interval == newcombe_paired(0, 9, 1, 9)
    assert bias.p == pytest.approx(binomtest(9, 10).pvalue)
    # Place 1 won once for each of the 8 consistent winners, twice for f, once for g.
    assert (bias.first_won, bias.second_won) == (8 + 14 + 2, 8 + 2)
    assert bias.first_rate == 24 / 34


@pytest.mark.parametrize(
    ("consistent", "first", "second", "consistency", "first_rate", "bias", "p"),
    [
        (389, 20, 10, 0.928, 0.512, 0.024, 0.099),
        (276, 133, 10, 0.659, 0.647, 0.294, 1e-28),
        (174, 238, 7, 0.415, 0.776, 0.551, 4e-61),
    ],
    ids=["GPT-4", "ChatGPT", "Falcon"],
)
def test_position_bias_of_published_judges_of_llmbar(consistent, first, second, consistency, first_rate, bias, p):
    """419 pairs, both orders stored (Z. Zeng et al. 2023): disagreements for the first place, and for the second."""
    given = [row("A", f"a{no}", orders=orders("A", "A")) for no in range(consistent)]
    given += [row("inconsistent", f"f{no}", orders=orders("A", "B")) for no in range(first)]
    given += [row("inconsistent", f"s{no}", orders=orders("B", "A")) for no in range(second)]
    bias_of_judge = preferences(judging_run(tuple(given))).bias
    assert bias_of_judge.n == 419
    assert (bias_of_judge.consistency, bias_of_judge.first_rate, bias_of_judge.bias) == pytest.approx(
        (consistency, first_rate, bias), abs=5e-4
    )
    assert bias_of_judge.p == pytest.approx(p, rel=0.5 if p < 0.01 else 0.01)


def test_in_one_random_order_the_places_are_tested_on_the_verdicts():
    swapped = [{"shown": "BA", "verdict": "A", "slot": 2, "outcome": "scored"}]
    given = [row("A", f"a{no}", orders=orders("A")) for no in range(9)] + [row("A", "z", orders=swapped)]
    given += [row("tie", "t", orders=orders("tie"))]
    bias = preferences(judging_run(tuple(given))).bias
    assert (bias.orders, bias.n, bias.consistency) == ("one", 11, None)
    assert (bias.first_rate, bias.bias) == (0.9, 0.8)
    assert bias.p == pytest.approx(binomtest(9, 10).pvalue)
    assert bias.interval == wilson(9, 10)
