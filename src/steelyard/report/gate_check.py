"""The gate of stored runs: each run is compared with its baseline, and the rules are checked against the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from steelyard.analysis.baseline import BaselineFile, check_baseline, find_baseline
from steelyard.analysis.comparison import compare
from steelyard.analysis.comparison_values import PairComparison
from steelyard.analysis.gate import GateVerdict, judge_gate, unfit_baseline
from steelyard.analysis.gate_rules import GateRules, parse_gate
from steelyard.analysis.summary_values import RunSummary
from steelyard.errors import SteelyardError
from steelyard.store import Run, Store
from steelyard.store.open_store import exists


def gate_of(runs: Sequence[Run], summaries: Sequence[RunSummary]) -> GateVerdict | None:
    """The verdict of the gate of the runs' suite; None if it has no gate.

    Args:
        runs: of one suite.
        summaries: of the runs, in the same order.
    """
    rules = runs[0].manifest.get("gate") if runs else None
    if not rules:
        return None
    gate = parse_gate(rules)
    compared = {
        key: found for pair in zip(runs, summaries, strict=True) for key, found in _compared(gate, *pair).items()
    }
    announced = {run.id: run.manifest.get("scores", ()) for run in runs}
    return judge_gate(rules, summaries, compared=compared, announced=announced)


def check_before(gate: Mapping[str, Any], targets: Iterable[str], store: str | None) -> None:
    """Refuse a gate whose baseline does not exist, before anything is paid for.

    Args:
        gate: the rules of a suite; {} for none.
        targets: names of the suite's targets.
        store: where earlier runs are.

    Raises:
        ConfigError: there is no such file, run or target.
    """

    def stored() -> list[Run]:
        if not exists(store):
            return []
        with Store(store) as opened:
            return opened.runs()

    check_baseline(parse_gate(gate).baseline, targets, stored)


def _compared(gate: GateRules, run: Run, summary: RunSummary) -> dict[tuple[str, str], PairComparison | str | None]:
    """(run id, score) -> the run compared with its baseline, or why not; None if the run is the baseline itself."""
    scores = dict.fromkeys(one.score for one in gate.margins)
    if not scores:
        return {}
    try:
        baseline = find_baseline(gate.baseline, run, cast("Store", run.store).runs)
        held = baseline.summary()
    except SteelyardError as error:
        return {(run.id, score): str(error) for score in scores}
    if baseline.id == run.id:
        return {(run.id, score): None for score in scores}
    if why := unfit_baseline(held):
        return {(run.id, score): why for score in scores}
    sides = (baseline, run), (held, summary)
    return {(run.id, score): _pair(*sides, score) for score in scores}


def _pair(
    runs: tuple[Run | BaselineFile, Run], summaries: tuple[RunSummary, RunSummary], score: str
) -> PairComparison | str:
    try:
        return compare(*runs, score=score, summaries=summaries).pairs[0]
    except SteelyardError as error:
        return str(error)
