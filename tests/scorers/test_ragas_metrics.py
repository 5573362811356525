"""Our scorers beside Ragas 0.4.3's metrics that ask no model, on random texts with Ragas' own values."""

import json
from pathlib import Path

import pytest

from steelyard import ExactMatch, Output, Sample
from steelyard.scorers import ChrF, Contains, Levenshtein

METRICS = {
    "levenshtein": Levenshtein(),
    "exact": ExactMatch(literal=True),
    "presence": Contains(ignore_case=False, literal=True),
    "chrf": ChrF(),
}


@pytest.mark.parametrize("name", METRICS)
def test_a_scorer_gives_the_figures_of_ragas(name):
    lines = Path(__file__).with_name("ragas_metrics.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    found = [METRICS[name](Sample("1", "?", case["reference"]), Output(case["output"])).value for case in cases]
    assert found == pytest.approx([case[name] for case in cases], abs=1e-9)
    assert len({round(value, 1) for value in found}) > 1
