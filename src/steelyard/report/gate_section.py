"""The section of a gate: its rules, those that do not hold first, as that is what a reader looks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from steelyard.analysis.gate import GateVerdict, RuleState
from steelyard.report.section import PAGES, TERMINAL, Section, Sentence, kept, sentences

_MOST_ON_TERMINAL: Final = 2
_STATES: Final[Mapping[RuleState, str]] = {
    "holds": "hold",
    "fails": "do not hold",
    "undecided": "cannot be decided",
    "broken": "say nothing, as their runs are not finished",
}


def gate_section(gate: GateVerdict | None) -> Section:
    """A sentence per rule and run; empty without a gate."""
    if gate is None or not gate.results:
        return Section("Gate", key="gate")
    ordered = sorted(gate.results, key=lambda result: result.state == "holds")
    rules = tuple(Sentence(result.sentence, "rule", result.state, PAGES) for result in ordered)
    return Section("Gate", notes=rules, parts=kept([_on_terminal(gate)]), key="gate")


def _on_terminal(gate: GateVerdict) -> Section:
    """The first rules that do not hold, with their notes; of many the counts."""
    shown = [result for result in gate.results if result.state not in {"holds", "broken"}]
    if len(gate.results) <= _MOST_ON_TERMINAL:
        shown = list(gate.results)
    shown = shown[:_MOST_ON_TERMINAL]
    rules = tuple(
        Section("", notes=(Sentence(f"gate: {result.sentence}", "conclusion"), *sentences(result.notes, "warning")))
        for result in shown
    )
    counts = Counter(result.state for result in gate.results)
    words = ", ".join(f"{n} {_STATES[state]}" for state, n in sorted(counts.items()))
    count = f"gate: of {len(gate.results)} rules {words}; --json has all"
    notes = (Sentence(count, "conclusion"),) if len(shown) < len(gate.results) else ()
    return Section("", notes=notes, parts=rules, media=TERMINAL)
