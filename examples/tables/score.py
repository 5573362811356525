"""Two systems answered twelve questions with tables: how close are they? Run it with .venv/bin/python."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from steelyard.tables import METRICS, MetricEvaluator

frame = pd.read_json(Path(__file__).with_name("predictions.jsonl"), lines=True)
evaluator = MetricEvaluator(databases=None, rules="steelyard")
for system in ("careful", "hasty"):
    frame = evaluator.evaluate_with_df(frame, system, "QA", target_col_name="target", keep_target=True)
    print(f"{system:8}", *(f"{name} {frame[f'{name}_{system}'].mean():.2f}" for name in METRICS), sep="  ")
