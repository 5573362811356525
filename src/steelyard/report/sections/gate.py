"""The gate of stored runs: its rules are checked against summaries and baselines, and shown as a section.

check_before    refuses a gate whose baseline does not exist, before any call
gate_of         compares each run with its baseline and checks the rules
gate_section    the rules, those that do not hold first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from steelyard.analysis.comparison.baseline import is_baseline_file
from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.comparison.comparison_values import PairComparison
from steelyard.analysis.gate.gate_figures import rule_figure
from steelyard.analysis.gate.gate_results import GateVerdict, RuleState, compares_figure, judge_gate, unfit_baseline
from steelyard.analysis.gate.gate_rules import GateRules, parse_gate
from steelyard.analysis.judging_manifest import jury_scores_of
from steelyard.analysis.run_data import RunData
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import SteelyardError
from steelyard.report.section import Section, Sentence, Tone, sentences
from steelyard.store import Run, Store
from steelyard.store.open_store import exists
from steelyard.store.related_runs import check_baseline, find_baseline

_MOST_ESSENTIAL: Final = 2
"""Rules that are shown everywhere; of more, only as many that do not hold."""
_STATES: Final[Mapping[RuleState, str]] = {
    "holds": "hold",
    "fails": "do not hold",
    "undecided": "cannot be decided",
    "broken": "are not evaluated, as their runs are not finished",
    "unlabelled": "are not evaluated without labels of people",
    "unscored": "cannot be decided, as too few records have the score",
}
_OF_ONE: Final[Mapping[RuleState, str]] = {
    **_STATES,
    "holds": "holds",
    "fails": "does not hold",
    "broken": "is not evaluated, as its run is not finished",
    "unlabelled": "is not evaluated without labels of people",
}
_TONES: Final[Mapping[RuleState, Tone]] = {
    "holds": "good",
    "fails": "bad",
    "undecided": "unclear",
    "broken": "bad",
    "unlabelled": "bad",
    "unscored": "bad",
}


def gate_of(
    runs: Sequence[Run], summaries: Sequence[RunSummary], *, may_open: Callable[[Path], bool] = lambda _: False
) -> GateVerdict | None:
    """The verdict of the gate of the runs' suite; None if it has no gate.

    Args:
        runs: of one suite.
        summaries: of the runs, in the same order.
        may_open: whether a baseline's file may be opened; a store may name any file.
    """
    rules = runs[0].manifest.get("gate") if runs else None
    if not rules:
        return None
    gate = parse_gate(rules)
    compared = {
        key: comparison
        for pair in zip(runs, summaries, strict=True)
        for key, comparison in _compared(gate, *pair, may_open).items()
    }
    announced = {run.id: (*run.manifest.get("scores", ()), *jury_scores_of(run.manifest)) for run in runs}
    figures = {
        (run.id, rule.text): rule_figure(rule, run.data(), summary)
        for run, summary in zip(runs, summaries, strict=True)
        for rule in gate.rules
        if compares_figure(rule, summary)
    }
    return judge_gate(rules, summaries, compared=compared, announced=announced, figures=figures)


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


def _compared(
    gate: GateRules, run: Run, summary: RunSummary, may_open: Callable[[Path], bool]
) -> dict[tuple[str, str], PairComparison | str | None]:
    """(run id, score) -> the run compared with its baseline, or why not; None if the run is the baseline itself."""
    scores = dict.fromkeys(margin.score for margin in gate.margins)
    if not scores:
        return {}
    if is_baseline_file(gate.baseline) and not may_open(Path(gate.baseline)):
        why = (
            f"you gave its baseline, {gate.baseline:.200}, to no command here, and a store may name any file: give its "
            "configuration to steelyard check once"
        )
        return {(run.id, score): why for score in scores}
    try:
        baseline = find_baseline(gate.baseline, run, cast("Store", run.store).runs)
        baseline_summary = summarize_run(baseline)
    except SteelyardError as error:
        return {(run.id, score): str(error) for score in scores}
    if baseline.id == run.id:
        return {(run.id, score): None for score in scores}
    if why := unfit_baseline(baseline_summary):
        return {(run.id, score): why for score in scores}
    summaries = (baseline_summary, summary)
    return {(run.id, score): _pair((baseline, run.data()), summaries, score) for score in scores}


def _pair(runs: tuple[RunData, RunData], summaries: tuple[RunSummary, RunSummary], score: str) -> PairComparison | str:
    try:
        return compare(*runs, score=score, summaries=summaries).pairs[0]
    except SteelyardError as error:
        return str(error)


def gate_section(gate: GateVerdict | None) -> Section:
    """How many rules hold, and a sentence per rule and run with its notes; empty without a gate."""
    if gate is None or not gate.results:
        return Section("Gate", key="gate")
    ordered = sorted(gate.results, key=lambda result: result.state == "holds")
    unfit = [result for result in ordered if result.state not in {"holds", "broken"}]
    first = (ordered if len(ordered) <= _MOST_ESSENTIAL else unfit)[:_MOST_ESSENTIAL]
    notes: list[Sentence] = []
    for result in ordered:
        is_first = result in first
        rule = Sentence(
            result.sentence, "rule", result.state, "essential" if is_first else "detail", tone=_TONES[result.state]
        )
        notes += [rule, *sentences(result.notes, "warning", level="essential" if is_first else "page")]
    if len(first) < len(ordered):
        # How many rules are in each state.
        counts = Counter(result.state for result in gate.results)
        words = ", ".join(f"{n} {(_OF_ONE if n == 1 else _STATES)[state]}" for state, n in sorted(counts.items()))
        bad = counts["fails"] or counts["unlabelled"] or counts["unscored"]
        tone: Tone = "bad" if bad else "unclear" if counts["undecided"] or counts["broken"] else "good"
        notes.append(Sentence(f"Gate: of {len(gate.results)} rules {words}.", "conclusion", tone=tone))
    return Section("Gate", notes=notes, key="gate")
