"""Scores of runs -> summaries, comparisons, preferences, standings and gates: pure functions over columns.

Nothing here opens a store or runs anything: a run is a value, `run_data.RunData`, which `steelyard.store`
reads. A feature is up to three modules: `<feature>_values` (frozen dataclasses), `<feature>` (computes them), and
`<feature>_wording` (the sentences).

    run_data, score_columns           what everything else is computed from
    summary, exam, histograms, ...    one run
    rater_agreement                   judges and people who rated the same thing
    comparison and what it lists      a run against a baseline, sample by sample
    history                           one score over past runs
    preferences, standings            runs in which a judge compared two targets
    gate, gate_rules, baseline        rules on scores -> a verdict and an exit code
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.analysis.comparison import compare, compare_all_pairs
    from steelyard.analysis.comparison_values import Comparison
    from steelyard.analysis.history import history_of
    from steelyard.analysis.preferences_values import Preferences
    from steelyard.analysis.rater_agreement import agreement
    from steelyard.analysis.rater_agreement_values import Agreement
    from steelyard.analysis.run_data import RunData
    from steelyard.analysis.run_summary_values import RunSummary
    from steelyard.analysis.standings import Standings
    from steelyard.plain_json import json_value
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.analysis.rater_agreement_values:Agreement",
        "steelyard.analysis.run_data:RunData",
        "steelyard.analysis.comparison_values:Comparison",
        "steelyard.analysis.preferences_values:Preferences",
        "steelyard.analysis.run_summary_values:RunSummary",
        "steelyard.analysis.standings:Standings",
        "steelyard.analysis.rater_agreement:agreement",
        "steelyard.analysis.comparison:compare",
        "steelyard.analysis.comparison:compare_all_pairs",
        "steelyard.analysis.history:history_of",
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
