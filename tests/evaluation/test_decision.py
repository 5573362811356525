"""What one decision says of values that come in any order, where some samples have none."""

import pytest

from steelyard import Sample
from steelyard.evaluation.decision import Decision, DrawnOrder, Hypothesis

N = 40


def decided(question, values, *, targets=("t",), threshold=0.5):
    """What a run is told whose samples have these values in the drawn order; None for none."""
    order = DrawnOrder.of([Sample(f"s{k}", "?") for k in range(len(values))], 0, clustered=False)
    decision = Decision(Hypothesis(question, "right", targets, threshold, 0.95), order, 1)
    for no, value in zip(order.places, values, strict=True):
        for target in targets:
            decision.take(target, no, "error" if value is None else "scored", value)
    decision.advance()
    return decision.stopping(targets[-1], len(values))


@pytest.mark.parametrize("targets", [("t",), ("old", "new")])
@pytest.mark.parametrize("question", ["full", "population"])
def test_a_set_without_a_value_says_nothing(question, targets):
    result = decided(question, [None] * N, targets=targets)
    assert (result.side, result.used, result.path) == ("", N, ())
    assert result.interval == ((0, 1) if len(targets) == 1 else (-1, 1))
    assert "cannot be distinguished" in result.sentence


def test_a_set_of_ties_is_exactly_equal_whatever_failed():
    result = decided("full", [0.5, None] * (N // 2))
    assert (result.side, result.interval) == ("equal", (0.5, 0.5))


@pytest.mark.parametrize(("share", "mean"), [(4, 1.0), (3, 1.0), (2, 0.0)])
def test_the_limits_are_about_the_samples_that_have_a_value(share, mean):
    values = [None if k % share else mean for k in range(N)]
    result = decided("full", values, threshold=0.6)
    assert result.side == ("above" if mean else "below")
    assert result.path[-1][1] == pytest.approx(mean)
    assert result.interval.low - 1e-9 <= mean <= result.interval.high + 1e-9
    assert (result.interval.low > 0.6) == (mean > 0.6)


def test_at_the_end_of_a_set_the_limits_are_its_mean():
    result = decided("full", [1.0, 0.0, None] * 13 + [1.0])
    assert (result.used, result.side) == (N, "above")
    assert result.interval == pytest.approx((14 / 27, 14 / 27))
