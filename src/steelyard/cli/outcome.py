"""What came out of some runs: summaries, comparison, gate; printed and written the same way by every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from steelyard.cli.tables import console, group_table, print_gate, print_json, summary_table
from steelyard.compare import compare
from steelyard.compare.comparison import Comparison
from steelyard.errors import ConfigError
from steelyard.gate import GateVerdict, judge_gate
from steelyard.store import Run
from steelyard.summary import RunSummary
from steelyard.text.inert import visible


@dataclass(frozen=True, slots=True)
class WeighedRuns:
    """Runs with everything that is said of them."""

    runs: tuple[Run, ...]
    summaries: tuple[RunSummary, ...]
    comparison: Comparison | None
    gate: GateVerdict | None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "runs": [one.to_json() for one in self.summaries],
            "comparison": self.comparison.to_json() if self.comparison else None,
            "gate": self.gate.to_json() if self.gate else None,
        }


def weigh(runs: Sequence[Run], *, score: str | None = None, gated: bool = True) -> WeighedRuns:
    """Summaries of all, the comparison of the first with each other one, and the gate that their suite set."""
    summaries = tuple(one.summary() for one in runs)
    comparable = len(runs) > 1 and all(one.scores for one in summaries)
    rules = runs[0].manifest.get("gate") if gated and runs else None
    return WeighedRuns(
        tuple(runs),
        summaries,
        compare(*runs, score=score) if comparable else None,
        judge_gate(rules, summaries) if rules else None,
    )


def print_outcome(outcome: WeighedRuns, *, as_json: bool, html: Path | None = None) -> None:
    """The whole of it on standard output; fits 80 x 24 for a handful of targets."""
    if as_json:
        print_json(outcome.to_json())
        return
    to = console()
    to.print(summary_table(outcome.summaries))
    for run, summary in zip(outcome.runs, outcome.summaries, strict=True):
        for line in _remarks(run, summary):
            to.print(Text(visible(line)))
    if len(outcome.summaries) == 1 and (groups := group_table(outcome.summaries[0])):
        to.print()
        to.print(groups)
    if outcome.comparison is not None:
        print_comparison(outcome.comparison)
    if outcome.gate is not None:
        print_gate(to, outcome.gate)
    if outcome.runs:
        to.print(Text(_next_step(outcome, html)))


def print_comparison(comparison: Comparison) -> None:
    """One sentence a pair, and what warns of reading too much into it."""
    to = console()
    to.print()
    for pair in comparison.pairs:
        to.print(Text(visible(pair.sentence)))
        for warning in pair.warnings:
            to.print(Text(visible(f"  note: {warning}")))
    for note in comparison.notes:
        to.print(Text(visible(note)))


def write_pages(outcome: WeighedRuns, *, html: Path | None, markdown: Path | None) -> None:
    """Write the report files that were asked for.

    Raises:
        ConfigError: a file cannot be written.
    """
    if html is not None:
        from steelyard.report.html import html_report

        write(html, html_report(outcome.runs, outcome.comparison, outcome.gate))
    if markdown is not None:
        from steelyard.report.markdown import markdown_report

        write(markdown, markdown_report(outcome.runs, outcome.comparison, outcome.gate))


def write(path: Path, text: str) -> None:
    """Write a file, making its folder.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def _remarks(run: Run, summary: RunSummary) -> list[str]:
    lines = []
    if summary.state != "finished":
        why = f": {run.reason}" if run.reason else ""
        lines.append(f"{run.target}: {summary.state}, {summary.done} of {summary.planned} done{why}")
    if summary.from_journal:
        lines.append(f"{run.target}: {summary.from_journal} of {run.replies} replies came from the journal")
    if summary.unparsed_kinds:
        kinds = ", ".join(f"{count} {kind}" for kind, count in summary.unparsed_kinds.items())
        lines.append(f"{run.target}: replies that could not be read: {kinds}")
    return lines


def _next_step(outcome: WeighedRuns, html: Path | None) -> str:
    ids = " ".join(one.id for one in outcome.runs)
    if any(one.state not in {"finished", "running"} for one in outcome.runs):
        return f"go on with: steelyard resume {outcome.runs[0].id}"
    if html is not None:
        return f"report: {html}"
    return f"see more: steelyard report {ids} --html report.html"
