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

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
