from __future__ import annotations

import pytest
from scipy.stats import t as oracle

from steelyard.stats.quantiles import t_quantile


@pytest.mark.parametrize("probability", [0.5001, 0.8, 0.95, 0.975, 0.995, 0.9995, 0.99999])
@pytest.mark.parametrize("df", [1, 1.5, 2, 3, 4, 9, 30, 199, 999, 1000, 1e5, 1e7])
def test_t_quantile_equals_scipy_to_nine_digits(probability, df):
    assert t_quantile(probability, df) == pytest.approx(oracle.ppf(probability, df), rel=1e-9, abs=1e-9)


def test_t_quantile_is_odd_around_one_half():
    assert t_quantile(0.025, 7) == pytest.approx(-t_quantile(0.975, 7), rel=1e-12)
    assert t_quantile(0.5, 7) == 0


@pytest.mark.parametrize(("probability", "df"), [(0, 3), (1, 3), (0.975, 0)])
def test_t_quantile_refuses_what_has_no_answer(probability, df):
    with pytest.raises(ValueError, match="0 < probability < 1"):
        t_quantile(probability, df)
