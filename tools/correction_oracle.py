"""Makes correction.json: PPI++ means of random labels by ppi_py, exact and Wilson limits by statsmodels.

Run it in an environment of its own, since the tests need none of these packages:

    python -m venv oracles && oracles/bin/pip install ppi-python statsmodels
    oracles/bin/python tools/correction_oracle.py
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from statsmodels.stats.proportion import proportion_confint

SEED = 20_261_123
FILE = Path(__file__).parents[1] / "tests" / "stats" / "oracles" / "correction.json"


def runs(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Labels, verdicts on the same records and on others: a good and a useless judge of ratings, and a rate."""
    quality = rng.normal(3.4, 1.1, 1_500)
    ratings = np.clip(np.round(quality), 1, 5)
    near = np.clip(np.round(quality + rng.normal(0.4, 0.6, 1_500)), 1, 5)
    useless = rng.integers(1, 6, 1_500).astype(float)
    right = (quality > 3).astype(float)
    judged = np.where(rng.random(1_500) < 0.85, right, 1 - right)
    made = {"good judge": (ratings, near, 200), "useless judge": (ratings, useless, 200), "rate": (right, judged, 400)}
    return {name: (labels[:n], verdicts[:n], verdicts[n:]) for name, (labels, verdicts, n) in made.items()}


def of_run(labels: np.ndarray, verdicts: np.ndarray, others: np.ndarray) -> dict[str, object]:
    """PPI++ with its tuned lambda: value and normal limits."""
    return {
        "labels": labels.tolist(),
        "verdicts": verdicts.tolist(),
        "others": others.tolist(),
        "value": float(np.squeeze(ppi_mean_pointestimate(labels, verdicts, others))),
        "interval": [float(np.squeeze(limit)) for limit in ppi_mean_ci(labels, verdicts, others, alpha=0.05)],
    }


def shares() -> list[dict[str, object]]:
    """Limits of counts."""
    return [
        {
            "successes": successes,
            "n": n,
            "exact": [float(limit) for limit in proportion_confint(successes, n, method="beta")],
            "wilson": [float(limit) for limit in proportion_confint(successes, n, method="wilson")],
        }
        for successes, n in ((1, 40), (17, 50), (29, 30))
    ]


def main() -> None:
    """Write the file of the oracles."""
    rng = np.random.default_rng(SEED)
    made = {
        "made by": {name: version(name) for name in ("ppi-python", "statsmodels", "numpy")},
        "runs": {name: of_run(*lists) for name, lists in runs(rng).items()},
        "shares": shares(),
    }
    FILE.write_text(json.dumps(made, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
