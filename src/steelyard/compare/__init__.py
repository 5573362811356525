"""Runs -> Comparison: pairing by sample id, statistics of the difference, and a verdict in a sentence."""

from __future__ import annotations

from steelyard.compare.comparison import ComparableRun, Comparison, PairComparison, PairedDifference, Table, Verdict

__all__ = ["ComparableRun", "Comparison", "PairComparison", "PairedDifference", "Table", "Verdict"]
