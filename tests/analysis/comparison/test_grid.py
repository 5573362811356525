"""Prompts x models as a grid: which cells are within a margin of the best, and each prompt against the first."""

from __future__ import annotations

import numpy as np
import pytest
from tests.thorough import times

from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.comparison.differences import PairedValues, paired_difference
from steelyard.analysis.model_calls import StageCost
from steelyard.analysis.run_data import RunCounts, RunData
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_infos import plain_infos
from steelyard.types import ScoreInfo

N = 400


def cell(prompt, model, values, *, money=1.0, clusters=None, info=None, margin=None):
    """A run of one cell with these values of `right` by sample; None is a sample that failed."""
    rows = [
        ScoreRow(str(at), "", clusters[at] if clusters else "", 0, "right", "scored", float(value))
        if value is not None
        else ScoreRow(str(at), "", "", 0, "right", "error", None)
        for at, value in enumerate(values)
    ]
    info = info or ScoreInfo("right", (0, 1))
    manifest = {
        "tags": {"prompt": prompt, "model": model},
        "score_infos": plain_infos([info]),
        "scores": ["right"],
        "options": {} if margin is None else {"margin": margin},
    }
    stage = StageCost("target", len(rows), 0, 100, 10, money=money, currency="USD" if money is not None else "")
    return RunData.of(
        rows, f"{prompt}@{model}", manifest=manifest, stages=(stage,), counts=RunCounts(len(rows), len(rows))
    )


def rates(share, *, n=N, shift=0):
    """`share` of the samples right, beginning at one of them."""
    right = [at < share * n for at in range(n)]
    return right[-shift:] + right[:-shift] if shift else right


def grid(*cells):
    return compare(*cells).grid


def states(comparison):
    return {cell.target: cell.state for cell in comparison.cells}


def test_the_cheapest_cell_within_the_margin_is_named_and_a_bad_one_is_not():
    grid_comparison = grid(
        cell("terse", "small", rates(0.60), money=0.1),
        cell("terse", "large", rates(0.90), money=2.0),
        cell("chatty", "small", rates(0.90), money=0.4),
        cell("chatty", "large", rates(0.9025), money=3.0),
    )
    assert states(grid_comparison) == {
        "terse@small": "worse", "terse@large": "within", "chatty@small": "within", "chatty@large": "within",
    }  # fmt: skip
    assert (grid_comparison.best, grid_comparison.chosen, grid_comparison.needed) == (
        "chatty@large",
        "chatty@small",
        None,
    )
    assert grid_comparison.sentence == (
        "chatty@small is the cheapest of 3 cells shown to be within 3 points of the best (chatty@large, 90.2 %): "
        "1.00 USD for 1,000 records."
    )
    assert grid_comparison.cells[2].cost == pytest.approx(1.0)


def test_no_significant_difference_is_not_enough_to_take_the_cheaper_cell():
    """Of 40 samples 36 and 35 are right: p is near 1, and a loss of 15 points is not ruled out."""
    small, large = cell("a", "small", rates(0.9, n=40, shift=20), money=0.1), cell("a", "large", rates(0.875, n=40))
    comparison = compare(small, large)
    assert comparison.pairs[0].verdict == "no_evidence"
    assert comparison.grid.chosen == ""
    assert comparison.grid.sentence.startswith(
        "40 samples do not show which cell is the best to within 3 points; that needs"
    )
    assert comparison.grid.needed > 40


def test_cells_that_are_equal_so_far_are_all_the_best():
    cells = [cell("a", model, rates(0.9, n=40, shift=shift)) for model, shift in {"x": 0, "y": 10, "z": 20}.items()]
    assert grid(*cells).sentence.endswith("The best so far are a@x, a@y, a@z (each 90.0 %).")
    worse = cell("b", "x", rates(0.85, n=40))
    assert "The best so far are a@x, a@y, a@z (each" in grid(worse, *cells).sentence
    more = [cell("b", model, rates(0.9, n=40, shift=5)) for model in "xy"]
    assert grid(*cells, *more).sentence.endswith("The best so far are 5 cells (each 90.0 %).")


def test_the_number_of_samples_that_it_needs_is_about_enough():
    def pair(n):
        shifted = int(0.05 * n)
        return grid(cell("a", "small", rates(0.8, n=n, shift=shifted), money=0.1), cell("a", "large", rates(0.8, n=n)))

    few = pair(200)
    assert few.chosen == ""
    assert pair(int(few.needed * 1.1)).chosen
    assert not pair(int(few.needed * 0.8)).chosen


def test_a_cheaper_cell_that_may_be_as_good_is_named_with_the_samples_that_it_needs():
    grid_comparison = grid(
        cell("a", "small", rates(0.86, n=300, shift=10), money=0.1),
        cell("a", "large", rates(0.90, n=300)),
        cell("a", "huge", rates(0.90, n=300), money=9),
    )
    # Its mean is 4 points below the best: more samples of that kind would not show it to be within 3.
    assert (grid_comparison.chosen, states(grid_comparison)["a@small"], grid_comparison.needed) == (
        "a@large",
        "open",
        None,
    )
    wide = grid(
        cell("a", "small", rates(0.88, n=300, shift=6), money=0.1),
        cell("a", "large", rates(0.90, n=300)),
        cell("a", "huge", rates(0.90, n=300), money=9),
    )
    assert "Whether a@small, which is cheaper, is too cannot be told on 300 samples" in wide.sentence
    assert wide.needed > 300


def test_a_wider_margin_of_the_options_lets_more_cells_in():
    cells = [("small", 0.84, 0.1), ("large", 0.90, 1.0)]
    narrow, wide = (
        grid(*(cell("a", model, rates(share), money=money, margin=margin) for model, share, money in cells))
        for margin in (0.03, 0.12)
    )
    assert (narrow.chosen, wide.chosen) == ("a@large", "a@small")
    assert "within 12 points" in wide.sentence


def test_without_prices_tokens_decide_what_is_cheap():
    grid_comparison = grid(cell("a", "small", rates(0.9), money=None), cell("a", "large", rates(0.9), money=None))
    assert grid_comparison.cells[0].cost is None
    assert grid_comparison.sentence.endswith("275 tokens for 1,000 records.")


def test_a_prompt_is_compared_over_all_models_sample_by_sample_and_on_each():
    rng = np.random.default_rng(1)
    values = {place: rng.random(N) < share for place, share in {"as": 0.6, "al": 0.8, "bs": 0.75, "bl": 0.9}.items()}
    grid_comparison = grid(
        cell("a", "s", values["as"]), cell("a", "l", values["al"]),
        cell("b", "s", values["bs"]), cell("b", "l", values["bl"]),
    )  # fmt: skip
    over_all, small, large = grid_comparison.prompts
    before, after = ((values[f"{p}s"] * 1.0 + values[f"{p}l"]) / 2 for p in "ab")
    wanted = paired_difference(PairedValues(np.arange(N), before, after, None), level=0.95)
    assert (over_all.prompt, over_all.model, over_all.difference.n) == ("b", "", N)
    assert over_all.difference.interval == wanted.interval
    assert over_all.verdict == "better"
    assert [(each.model, each.run, each.against) for each in (small, large)] == [
        ("s", "run-b@s", "run-a@s"), ("l", "run-b@l", "run-a@l"),
    ]  # fmt: skip
    assert small.difference.difference == pytest.approx(values["bs"].mean() - values["as"].mean())


def test_samples_that_failed_in_a_cell_are_left_out_of_all():
    with_failures = [None, None, *rates(0.9, n=98)]
    grid_comparison = grid(cell("a", "s", with_failures), cell("a", "l", rates(0.9, n=100)))
    assert grid_comparison.n == 98


def test_a_rating_has_its_margin_as_a_share_of_its_scale_and_lower_may_be_better():
    rng = np.random.default_rng(2)
    info = ScoreInfo("right", (0, 10), lower_is_better=True)
    good, bad = rng.integers(0, 3, N), rng.integers(4, 8, N)
    grid_comparison = grid(cell("a", "s", bad, money=0.1, info=info), cell("a", "l", good, info=info))
    assert (grid_comparison.best, grid_comparison.chosen) == ("a@l", "a@l")
    assert "within 3 % of the scale" in grid_comparison.sentence
    count = ScoreInfo("right", unbounded=True)
    assert "has no scale" in grid(cell("a", "s", bad, info=count), cell("a", "l", good, info=count)).sentence


def test_clusters_widen_what_is_compared():
    clusters = [str(at // 40) for at in range(N)]
    alone = grid(cell("a", "s", rates(0.8, shift=30)), cell("a", "l", rates(0.8)))
    clustered = grid(
        cell("a", "s", rates(0.8, shift=30), clusters=clusters), cell("a", "l", rates(0.8), clusters=clusters)
    )
    assert (clustered.needed or 0) > 2 * (alone.needed or N)


@pytest.mark.parametrize(
    "tags",
    [({"model": "s"}, {"model": "l"}), ({"prompt": "a", "model": "s"},) * 2, ({"prompt": "a", "model": "s"}, {})],
)
def test_runs_that_are_no_cells_are_no_grid(tags):
    cells = [cell("a", "s", rates(0.9)), cell("a", "l", rates(0.8))]
    runs = [RunData.of(run.scores.rows(), f"t{at}", id=f"r{at}", manifest={**run.manifest, "tags": tags[at]})
            for at, run in enumerate(cells)] if len(tags) == 2 else cells[:1] * 2  # fmt: skip
    assert compare(*runs).grid is None


def test_the_chosen_cell_is_rarely_worse_than_the_margin_if_it_truly_is():
    """Four cells, the cheap one truly 3 points worse than the best: it may be called as good in at most 5 %."""
    rng = np.random.default_rng(3)
    wrongly = 0
    for _ in range(times(60, 200)):
        draws = rng.random((4, 300))
        shares = (0.87, 0.90, 0.90, 0.90)
        grid_comparison = grid(
            *(cell("a", str(at), draws[at] < share, money=at + 1) for at, share in enumerate(shares))
        )
        wrongly += states(grid_comparison)["a@0"] == "within"
    assert wrongly <= times(3, 10)
