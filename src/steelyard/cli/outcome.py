"""Collects the results of runs, prints them and writes reports, in the same way for every command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any, Final

from steelyard.analysis.comparison.compare_runs import compare, compare_all_pairs
from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.analysis.judging_manifest import is_judging
from steelyard.analysis.preferences.preferences_values import Preferences
from steelyard.analysis.preferences.standings import Standings, standings
from steelyard.analysis.preferences.win_rates import preferences
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.cli.options import store_option
from steelyard.cli.output import while_read, write_lines, write_text
from steelyard.config.given import was_given
from steelyard.models.refusals import NEVER_READ
from steelyard.report.page import ReportContent, all_sections, report_sections
from steelyard.report.render.html import html_report
from steelyard.report.render.junit import junit as junit_lines
from steelyard.report.render.markdown import markdown_report
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.section import section_json
from steelyard.report.sections.gate import gate_of
from steelyard.report.sections.preferences import NO_PAIRS, Pairwise
from steelyard.store import Run
from steelyard.store.related_runs import refuse_other_suites

_MOST_NAMED: Final = 4
"""Maximum number of runs named in the suggested next command."""
_MOST_CELLS: Final = 12
"""The same of prompts x models, which are compared together."""


def evaluate_runs(
    stored: Sequence[Run],
    *,
    score: str | None = None,
    gated: bool = True,
    baseline: str = "",
    with_labels: bool = False,
    **comparing: Any,
) -> ReportContent:
    """Summarise runs, compare the first with each other one, and evaluate the gate of their suite.

    Runs that judge pairs are compared only by the command `compare`, and only if they share a pair or one side of it.
    `comparing` are further options of `compare`; if there are any, judging runs are compared too. `with_labels` counts
    people's verdicts in every run, but never in the gate. `baseline` is a file that this command's own configuration
    names; others that the store names are opened only if they were given to a command before.
    """
    runs = [run.with_labels() for run in stored] if with_labels else stored
    summaries = tuple(run.summary() for run in runs)
    summarised = list(zip(runs, summaries, strict=True))
    others = [pair for pair in summarised if not is_judging(pair[0].manifest)]
    judging = [pair for pair in summarised if is_judging(pair[0].manifest)]
    compared = summarised if comparing else others
    comparable = len(compared) > 1 and all(summary.scores for _, summary in compared)
    if comparable:
        refuse_other_suites([run for run, _ in compared])
    # A judging run without records has no preferences to show yet.
    judged = [run for run, summary in judging if summary.counts.done]
    return ReportContent(
        tuple(runs),
        _compared(compared, score=score, **comparing) if comparable else None,
        _gate(stored, summaries, baseline, with_labels=with_labels) if gated else None,
        Pairwise(_preferences(judged) if judged else (), _standings(judged) if len(judged) > 1 else None),
        summaries,
    )


def preferred(outcome: ReportContent) -> dict[str, Any]:
    """What JSON has of pairwise preferences; empty if no run judged pairs."""
    pairwise = outcome.pairwise
    return {"preferences": pairwise.preferences, "standings": pairwise.standings} if pairwise.preferences else {}


def _preferences(judged: Sequence[Run]) -> tuple[Preferences, ...]:
    return tuple(map(preferences, judged))


def _standings(judged: Sequence[Run]) -> Standings:
    return standings(judged)


def _gate(
    stored: Sequence[Run], summaries: Sequence[RunSummary], baseline: str, *, with_labels: bool
) -> GateVerdict | None:
    """The gate's verdict on scores without labels: otherwise a label could make a failing build pass."""
    unlabelled = tuple(run.summary() for run in stored) if with_labels else summaries
    return gate_of(stored, unlabelled, may_open=lambda path: str(path) == baseline or was_given(path))


def _compared(summarised: Sequence[tuple[Run, RunSummary]], *, all_pairs: bool = False, **options: Any) -> Comparison:
    comparing = compare_all_pairs if all_pairs else compare
    return comparing(*(run for run, _ in summarised), summaries=[summary for _, summary in summarised], **options)


def print_outcome(
    outcome: ReportContent,
    *,
    as_json: bool,
    store: str | None = None,
    in_full: bool = False,
    detailed: bool = False,
    reported: bool = False,
) -> None:
    """Print all results on standard output; for three targets they fit 80 columns and 24 lines.

    Args:
        outcome: what is printed.
        as_json: results and sections as JSON.
        store: as the user named it, for the commands that are suggested; None is the default store.
        in_full: with breakdowns.
        detailed: with the details behind the comparison.
        reported: whether an HTML report is written, so that none needs to be suggested.
    """
    if as_json:
        pairs = zip(outcome.runs, outcome.summaries, strict=True)
        results = {
            "runs": [{**summary.json_fields(), "reason": run.reason} for run, summary in pairs],
            "comparison": outcome.comparison,
            **preferred(outcome),
            "gate": outcome.gate,
            "sections": section_json(all_sections(outcome)),
        }
        print_json(results)
        return
    to = console()
    # A comparison of judging runs is shown without what each of them says.
    content = replace(outcome, pairwise=NO_PAIRS) if detailed and outcome.comparison else outcome
    print_sections(to, report_sections(content, "terminal"), in_full=in_full or detailed)
    for line in _next_steps(outcome, store_option(store), detailed=detailed, reported=reported):
        say(to, line)


def write_pages(
    outcome: ReportContent, *, html: Path | None = None, markdown: Path | None = None, junit: Path | None = None
) -> None:
    """Write the report files that are not None, and print their paths on standard error.

    Raises:
        ConfigError: a file cannot be written.
    """
    pairwise = outcome.pairwise
    if html is not None:
        write_text(html, html_report(outcome.runs, outcome.comparison, outcome.gate, pairwise=pairwise))
    if markdown is not None:
        write_text(markdown, markdown_report(outcome.runs, outcome.comparison, outcome.gate, pairwise=pairwise))
    if junit is not None:
        write_lines(junit, junit_lines(outcome.runs, outcome.gate))
    with while_read():
        for path in (html, markdown, junit):
            if path is not None:
                say(console(stderr=True), f"wrote {path}")


def _next_steps(outcome: ReportContent, where: str, *, detailed: bool, reported: bool) -> list[str]:
    """Commands to copy: to resume what did not finish, or to see more."""
    stopped = next((run for run in outcome.runs if run.state not in {"finished", "running"}), None)
    if any(NEVER_READ in run.reason for run in outcome.runs):
        # A resume refuses another address or mapping; a new run finds what was answered in the journal.
        config = outcome.runs[0].manifest["config"]
        command = f": steelyard run {quote(os.path.relpath(config['path']))}{where}" if config else ""
        return [f"correct the endpoint, then run again{command}"]
    if stopped is not None:
        spent = stopped.reason.startswith("the budget of ")
        return [f"{'raise options.budget, then ' if spent else ''}resume with: steelyard resume {stopped.id}{where}"]
    ids = [run.id for run in outcome.runs]
    steps = []
    if len(ids) == 1:
        # A run that judges pairs, or that only collects answers for judging, has no right or wrong samples.
        kind = "wrong" if outcome.scored else "all"
        kind = "errors" if outcome.runs[0].errors == outcome.runs[0].done else kind
        steps.append(f"steelyard show {ids[0]} --only {kind}{where}")
    elif not detailed and outcome.comparison is not None:
        most = _MOST_CELLS if outcome.comparison.grid else _MOST_NAMED
        steps.append(f"steelyard compare {' '.join(ids if len(ids) <= most else ids[:2])}{where}")
    if not reported and len(ids) <= _MOST_NAMED:
        steps.append(f"steelyard report {' '.join(ids)}{where}")
    return [f"{'      ' if at else 'more: '}{step}" for at, step in enumerate(steps)]
