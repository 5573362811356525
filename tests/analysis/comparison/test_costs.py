"""What two runs took, over the same samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Prompt, Sample, Scripted, Suite, compare, evaluate_suite
from steelyard.analysis.comparison.costs import (
    MOST_SAMPLES,
    SampleCost,
    _weighted_quantiles,
    cost_differences,
    drawn_samples,
)


def cost(latency=1.0, *, seconds=9.0, calls=1, tokens=(100, 10), estimated=False):
    return SampleCost(seconds, latency, calls, *tokens, estimated)


def cost_rows(before, after, clusters=None, **options):
    differences = cost_differences(before, after, clusters=clusters or range(len(before)), level=0.95, **options)
    return {(cost.measure, cost.statistic): cost for cost in differences}


def test_latency_is_compared_at_its_median_and_its_95th_percentile():
    """Of 20 samples the 10th and the 19th: nearest rank, so that each is a latency that was observed."""
    before = [cost(n / 10) for n in range(1, 21)]
    after = [cost(n / 5) for n in range(1, 21)]
    rows = cost_rows(before, after)
    p50, p95 = rows["latency", "p50"], rows["latency", "p95"]
    assert (p50.baseline, p50.other, p50.n) == (1.0, 2.0, 20)
    assert p50.difference == pytest.approx(1.0)
    assert (p95.baseline, p95.other) == (1.9, 3.8)
    assert p50.interval.low <= p50.difference <= p50.interval.high
    assert ("seconds", "p50") not in rows


def test_where_a_target_asked_no_model_wall_time_stands_for_both():
    rows = cost_rows([cost(0.5, seconds=2.0)] * 3, [cost(None, seconds=0.5, calls=0, tokens=(0, 0))] * 3)
    assert ("latency", "p50") not in rows
    assert (rows["seconds", "p50"].baseline, rows["seconds", "p50"].other) == (2.0, 0.5)
    assert rows["calls", "mean"].difference == -1


def test_calls_and_tokens_are_means_per_sample_with_a_paired_interval():
    before = [cost(tokens=(100, 10 + n)) for n in range(40)]
    after = [cost(calls=3, tokens=(150, 12 + n)) for n in range(40)]
    rows = cost_rows(before, after)
    assert (rows["calls", "mean"].baseline, rows["calls", "mean"].other) == (1, 3)
    tokens = rows["output_tokens", "mean"]
    assert tokens.difference == pytest.approx(2.0)
    # Each sample took exactly two tokens more: paired, the difference has no spread at all.
    assert tokens.interval == pytest.approx((2.0, 2.0))


def test_a_count_that_is_zero_for_both_is_left_out_and_a_time_is_not():
    rows = cost_rows([cost(0.0, tokens=(0, 5))] * 4, [cost(0.0, tokens=(0, 6))] * 4)
    assert sorted(rows) == [("calls", "mean"), ("latency", "p50"), ("latency", "p95"), ("output_tokens", "mean")]


def test_estimated_tokens_are_marked_and_calls_are_not():
    rows = cost_rows([cost(estimated=True)] * 4, [cost()] * 4)
    assert rows["input_tokens", "mean"].estimated
    assert not rows["calls", "mean"].estimated


def test_samples_of_one_cluster_are_drawn_together():
    before = [cost(tokens=(100, 0)) for _ in range(40)]
    after = [cost(tokens=(100 + 50 * (n // 10 % 2), 0)) for n in range(40)]
    alone = cost_rows(before, after)["input_tokens", "mean"].interval
    together = cost_rows(before, after, [n // 10 for n in range(40)])["input_tokens", "mean"].interval
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_a_single_sample_or_cluster_says_nothing_of_the_spread():
    assert cost_rows([cost()], [cost(2.0)])["latency", "p50"].interval is None
    assert cost_rows([cost()] * 3, [cost(2.0)] * 3, [7, 7, 7])["latency", "p50"].interval is None
    assert cost_rows([], []) == {}


def test_equal_costs_give_equal_numbers():
    sides = [cost(n * 0.1) for n in range(1, 30)], [cost(n * 0.13) for n in range(1, 30)]
    assert cost_rows(*sides) == cost_rows(*sides)
    wide, narrow = (cost_differences(*sides, clusters=range(29), level=level)[0].interval for level in (0.99, 0.8))
    assert wide.high - wide.low > narrow.high - narrow.low


def test_of_many_samples_some_are_drawn_by_seed_and_in_order():
    ids = [str(n) for n in range(50_000)]
    drawn = drawn_samples(ids)
    assert len(drawn) == len(set(drawn)) == MOST_SAMPLES
    assert drawn == sorted(drawn) == drawn_samples(ids)
    assert drawn != list(range(MOST_SAMPLES))
    assert drawn_samples(ids[:7]) == list(range(7))


@given(
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 4)), min_size=1, max_size=30).filter(
        lambda several: any(weight for _, weight in several)
    ),
    st.sampled_from([0.5, 0.95]),
)
def test_a_weighted_quantile_is_that_of_the_repeated_values(weighted, rank):
    values, weights = (np.asarray(column) for column in zip(*weighted, strict=True))
    repeated = np.repeat(values, weights)
    (drawn,) = _weighted_quantiles(values, weights[None, :], [rank])
    assert drawn[0] == np.quantile(repeated, rank, method="inverted_cdf")


def test_the_time_to_the_first_token_is_compared_where_both_were_streamed():
    before = [cost(1.0)._replace(ttft=0.1 * n) for n in range(1, 21)]
    costs = cost_rows(before, [cost(1.0)._replace(ttft=0.5 + 0.1 * n) for n in range(1, 21)])
    assert costs["ttft", "p50"].difference == pytest.approx(0.5)
    assert costs["ttft", "p95"].baseline == pytest.approx(1.9)
    assert ("ttft", "p50") not in cost_rows(before, [cost(1.0)] * 20)


def test_calls_and_tokens_that_are_not_known_are_not_compared():
    samples = [Sample(str(n), f"q{n}", "yes") for n in range(6)]

    def itself(sample):
        return {"messages": [{"role": "assistant", "content": "yes"}], "usage": {"input_tokens": 9, "output_tokens": 1}}

    targets = {"asked": Prompt(Scripted(default="yes")), "itself": itself}
    runs = evaluate_suite(Suite("s", "custom", samples, targets, (lambda output: output == "yes",)))
    measures = {cost.measure for cost in compare(*runs).pairs[0].further.costs}
    assert "seconds" in measures
    assert not measures & {"calls", "input_tokens", "output_tokens"}
