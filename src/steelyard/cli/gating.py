"""The gate of some runs: each is compared with its baseline, and the gate judges what came of that."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.compare import compare
from steelyard.errors import SteelyardError
from steelyard.gate import GateRules, GateVerdict, judge_gate, parse_gate
from steelyard.gate.baseline_file import BaselineFile
from steelyard.gate.earlier import find_baseline
from steelyard.gate.regression import ComparedPair, unfit_baseline
from steelyard.store import Run
from steelyard.summary import RunSummary


def gate_of(runs: Sequence[Run], summaries: Sequence[RunSummary]) -> GateVerdict | None:
    """The verdict of the gate that the runs' suite set; None where it set none.

    Args:
        runs: of one suite.
        summaries: theirs, in the same order.
    """
    rules = runs[0].manifest.get("gate") if runs else None
    if not rules:
        return None
    gate = parse_gate(rules)
    compared = {key: found for run in runs for key, found in _compared(gate, run).items()}
    announced = {run.id: run.manifest.get("scores", ()) for run in runs}
    return judge_gate(rules, summaries, compared=compared, announced=announced)


def _compared(gate: GateRules, run: Run) -> dict[tuple[str, str], ComparedPair | str | None]:
    """(run's id, score) -> the run against its baseline, why there is no comparison, or None: it is the baseline."""
    scores = {one.score for one in gate.margins}
    if not scores:
        return {}
    found: dict[tuple[str, str], ComparedPair | str | None] = {}
    try:
        baseline = find_baseline(gate.baseline, run, run.store.runs)
    except SteelyardError as error:
        return {(run.id, score): str(error) for score in scores}
    for score in scores:
        found[run.id, score] = None if baseline.id == run.id else _pair(baseline, run, score)
    return found


def _pair(baseline: Run | BaselineFile, run: Run, score: str) -> ComparedPair | str:
    try:
        comparison = compare(baseline, run, score=score)
    except SteelyardError as error:
        return str(error)
    return unfit_baseline(comparison.baseline) or comparison.pairs[0]
