"""The gate of some runs: each is compared with its baseline, and the gate judges what came of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.compare import compare
from steelyard.errors import SteelyardError
from steelyard.gate import GateRules, GateVerdict, judge_gate, parse_gate
from steelyard.gate.baseline_file import BaselineFile
from steelyard.gate.earlier import check_baseline, find_baseline
from steelyard.gate.regression import ComparedPair, unfit_baseline
from steelyard.store import Run, Store
from steelyard.store.engine import exists
from steelyard.summary import RunSummary

if TYPE_CHECKING:
    # Whoever only reads runs must not pay for what runs them.
    from steelyard.suite.objects import Suite


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
    compared = {
        key: found for pair in zip(runs, summaries, strict=True) for key, found in _compared(gate, *pair).items()
    }
    announced = {run.id: run.manifest.get("scores", ()) for run in runs}
    return judge_gate(rules, summaries, compared=compared, announced=announced)


def check_before(suite: Suite, store: str | None) -> None:
    """Refuse a gate whose baseline is nowhere, before anything is paid for.

    Raises:
        ConfigError: there is no such file, run or target.
    """

    def stored() -> list[Run]:
        if not exists(store):
            return []
        with Store(store) as opened:
            return opened.runs()

    check_baseline(parse_gate(suite.gate).baseline, suite.targets, stored)


def _compared(gate: GateRules, run: Run, summary: RunSummary) -> dict[tuple[str, str], ComparedPair | str | None]:
    """(run's id, score) -> the run against its baseline, why there is no comparison, or None: it is the baseline."""
    scores = dict.fromkeys(one.score for one in gate.margins)
    if not scores:
        return {}
    try:
        baseline = find_baseline(gate.baseline, run, run.store.runs)
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
) -> ComparedPair | str:
    try:
        return compare(*runs, score=score, summaries=summaries).pairs[0]
    except SteelyardError as error:
        return str(error)
