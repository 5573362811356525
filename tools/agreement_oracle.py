"""Makes agreement.json: coefficients of random ratings by scipy, scikit-learn, statsmodels and krippendorff.

Run it in an environment of its own, since the tests need none of these packages:

    python -m venv oracles && oracles/bin/pip install scipy scikit-learn statsmodels krippendorff
    oracles/bin/python tools/agreement_oracle.py
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import krippendorff
import numpy as np
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, to_table

SEED = 20_261_122
FILE = Path(__file__).parents[1] / "tests" / "stats" / "oracles" / "agreement.json"


def pairs(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pairs of lists: ratings with many ties, numbers without any, small and large sets, agreement and its opposite."""
    truth = rng.normal(size=60)
    ratings = [np.clip(np.round(3 + 1.3 * truth + rng.normal(size=60)), 1, 5) for _ in range(2)]
    passes = [(truth + rng.normal(size=60) > -0.8).astype(float) for _ in range(2)]
    numbers = rng.normal(size=(2, 40))
    return {
        "ratings": (ratings[0], ratings[1]),
        "passes": (passes[0], passes[1]),
        "few ratings": (ratings[0][:7], ratings[1][:7]),
        "opposite": (ratings[0], 6 - ratings[0]),
        "numbers": (numbers[0], numbers[1]),
        "large numbers": (1e9 + numbers[0], 1e9 + numbers[0] + 0.1 * numbers[1]),
        "two": (np.array([1.0, 2.0]), np.array([5.0, 3.0])),
    }


def of_pair(first: np.ndarray, second: np.ndarray) -> dict[str, object]:
    """Every coefficient of one pair of lists; kappas where they are categories."""
    found: dict[str, object] = {
        "first": first.tolist(),
        "second": second.tolist(),
        "pearson": stats.pearsonr(first, second).statistic,
        "spearman": stats.spearmanr(first, second).statistic,
        "kendall_tau_b": stats.kendalltau(first, second).statistic,
    }
    if len(np.unique([first, second])) > 10:
        return found
    table = to_table(np.stack([first, second], axis=1).astype(int))[0]
    # scikit-learn weighs by position, so that every rating of the scale is named.
    labels = np.arange(min(first.min(), second.min()), max(first.max(), second.max()) + 1)
    for weights in ("linear", "quadratic"):
        found[f"cohen_kappa {weights}"] = cohen_kappa_score(first, second, labels=labels, weights=weights)
    found["cohen_kappa"] = cohen_kappa_score(first, second)
    found["cohen_kappa statsmodels"] = float(cohens_kappa(table).kappa)
    return found


def units(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Raters x units, some without a rating."""
    truth = rng.normal(size=40)
    ratings = np.array([np.clip(np.round(3 + 1.3 * truth + rng.normal(size=40)), 1, 5) for _ in range(4)])
    gaps = np.where(rng.random(ratings.shape) < 0.35, np.nan, ratings)
    return {
        "two raters": ratings[:2],
        "four raters": ratings,
        "four raters with gaps": gaps,
        "numbers with gaps": np.where(np.isnan(gaps), np.nan, truth + rng.normal(size=ratings.shape)),
        "passes with gaps": np.where(np.isnan(gaps), np.nan, (ratings > 2).astype(float)),
    }


def of_units(data: np.ndarray) -> dict[str, object]:
    """Alpha on each scale."""
    return {
        "ratings": [[None if np.isnan(value) else value for value in rater] for rater in data.tolist()],
        **{
            scale: float(krippendorff.alpha(reliability_data=data, level_of_measurement=scale))
            for scale in ("nominal", "ordinal", "interval")
        },
    }


def main() -> None:
    """Write the file of the oracles."""
    rng = np.random.default_rng(SEED)
    made = {
        "made by": {name: version(name) for name in ("scipy", "scikit-learn", "statsmodels", "krippendorff", "numpy")},
        "pairs": {name: of_pair(*lists) for name, lists in pairs(rng).items()},
        "units": {name: of_units(data) for name, data in units(rng).items()},
    }
    FILE.write_text(json.dumps(made, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
