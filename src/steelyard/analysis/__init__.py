"""Scores of runs -> summaries, comparisons, preferences, standings and gates: pure functions over columns.

Nothing here opens a store or runs anything: a run is a value, `run_data.RunData`, which `steelyard.store`
reads. A feature is up to three modules: `<feature>_values` (frozen dataclasses), `<feature>` (computes them), and
`<feature>_wording` (the sentences).

    run_data        a run as a value: what everything else is computed from
    scores/         columns of scores, and means and distributions over them
    judges/         judges and people who rated the same thing, and juries
    summary/        one run
    comparison/     a run against a baseline, sample by sample; one score over past runs
    preferences/    runs in which a judge compared two targets
    gate/           rules on scores -> a verdict and an exit code
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.analysis.comparison.compare_runs import compare, compare_all_pairs
    from steelyard.analysis.comparison.comparison_values import Comparison
    from steelyard.analysis.comparison.history import history_of
    from steelyard.analysis.judges.findings import Agreement
    from steelyard.analysis.judges.rater_agreement import agreement
    from steelyard.analysis.preferences.preferences_values import Preferences
    from steelyard.analysis.preferences.standings import Standings
    from steelyard.analysis.run_data import RunData
    from steelyard.analysis.summary.run_summary_values import RunSummary
    from steelyard.plain_json import json_value
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.analysis.judges.findings:Agreement",
        "steelyard.analysis.run_data:RunData",
        "steelyard.analysis.comparison.comparison_values:Comparison",
        "steelyard.analysis.preferences.preferences_values:Preferences",
        "steelyard.analysis.summary.run_summary_values:RunSummary",
        "steelyard.analysis.preferences.standings:Standings",
        "steelyard.analysis.judges.rater_agreement:agreement",
        "steelyard.analysis.comparison.compare_runs:compare",
        "steelyard.analysis.comparison.compare_runs:compare_all_pairs",
        "steelyard.analysis.comparison.history:history_of",
        "steelyard.plain_json:json_value",
    )

__all__ = [
    "Agreement",
    "Comparison",
    "Preferences",
    "RunData",
    "RunSummary",
    "Standings",
    "agreement",
    "compare",
    "compare_all_pairs",
    "history_of",
    "json_value",
]
