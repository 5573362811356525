"""Collects the results of runs, prints them and writes reports, in the same way for every command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any, Final, cast

from steelyard.analysis.comparison.compare_runs import compare, compare_all_pairs
from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.analysis.judging_manifest import is_judging
from steelyard.analysis.preferences.standings import standings
from steelyard.analysis.preferences.win_rates import preferences
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.cli.options import store_option
from steelyard.cli.output import while_read, write_lines, write_text
from steelyard.config.given import was_given
from steelyard.errors import ConfigError
from steelyard.models.refusals import NEVER_READ
from steelyard.report.page import ReportContent, all_sections, report_sections
from steelyard.report.render.junit import junit as junit_lines
from steelyard.report.render.markdown import markdown_report
from steelyard.report.render.short_result import print_short_result
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.run_texts import passed_count
from steelyard.report.section import section_json
from steelyard.report.sections.gate import gate_of
from steelyard.report.sections.preferences import NO_PAIRS, Pairwise
from steelyard.store import Run, Store
from steelyard.store.related_runs import refuse_other_suites

_MOST_NAMED: Final = 4
"""Maximum number of runs named in the suggested next command."""
_ROOM: Final = 74
"""Characters of a command and its remark that fit a line of 80."""
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
        Pairwise(tuple(map(preferences, judged)), standings(judged) if len(judged) > 1 else None),
        summaries,
    )


def preferred(outcome: ReportContent) -> dict[str, Any]:
    """What JSON has of pairwise preferences; empty if no run judged pairs."""
    pairwise = outcome.pairwise
    return {"preferences": pairwise.preferences, "standings": pairwise.standings} if pairwise.preferences else {}


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
    outcome: ReportContent, *, as_json: bool, store: str | None = None, full: bool = False, compared: bool = False
) -> None:
    """Print all results on standard output.

    Args:
        outcome: what is printed.
        as_json: results and sections as JSON.
        store: as the user named it, for the commands that are suggested; None is the default store.
        full: with every table that a terminal shows, in place of at most 15 lines.
        compared: whether runs are compared on request: a comparison of judging runs is shown without what each of
            them says.
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
    content = replace(outcome, pairwise=NO_PAIRS) if compared and outcome.comparison else outcome
    steps = _next_steps(outcome, store_option(store), full=full, compared=compared)
    if not full:
        print_short_result(to, content, steps, compared=compared)
        return
    print_sections(to, report_sections(content, "terminal"), in_full=True)
    for line in steps:
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
        from steelyard.report.render.html import html_report  # loads every kind of chart and table

        write_text(html, html_report(outcome.runs, outcome.comparison, outcome.gate, pairwise=pairwise))
    if markdown is not None:
        write_text(markdown, markdown_report(outcome.runs, outcome.comparison, outcome.gate, pairwise=pairwise))
    if junit is not None:
        write_lines(junit, junit_lines(outcome.runs, outcome.gate))
    with while_read():
        for path in (html, markdown, junit):
            if path is not None:
                say(console(stderr=True), f"wrote {path}")


def _next_steps(outcome: ReportContent, where: str, *, full: bool, compared: bool) -> list[str]:
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
    names = _names(outcome.runs)
    wrong, target = _wrong_of_best(outcome)
    look = f"  # look at the {wrong:,} wrong {'one' if wrong == 1 else 'ones'} of {target}" if wrong else ""
    view = f"steelyard view{where}"
    look = look if len(view + look) <= _ROOM else ""
    most = _MOST_CELLS if outcome.comparison and outcome.comparison.grid else _MOST_NAMED
    compare = f"steelyard compare {' '.join(names if len(names) <= most else names[:2])}{where}"
    if compared:
        report = [f"steelyard report {' '.join(names)}{where}"] if len(names) <= _MOST_NAMED else []
        steps = [view, *report] if full else [f"{compare} --full", view]
    elif len(names) == 1:
        kind = _kind_to_list(outcome, wrong if target else None)
        steps = [view + look, f"steelyard show {names[0]} --only {kind}{where}"]
    else:
        steps = [view + look, *([compare] if outcome.comparison else [])]
    return [f"{'      ' if at else 'next: '}{step}" for at, step in enumerate(steps)]


def _names(runs: Sequence[Run]) -> list[str]:
    """The names of runs for a command: those of their targets where they mean exactly these runs, else their ids."""
    targets, ids = [run.target for run in runs], [run.id for run in runs]
    if any(quote(target) != target for target in targets):
        return ids
    try:
        meant = cast("Store", runs[0].store).runs_named(targets)
    except ConfigError:  # targets of several suites
        return ids
    return targets if [run.id for run, _ in meant] == ids else ids


def _kind_to_list(content: ReportContent, wrong: int | None) -> str:
    """What `show --only` lists of a single run: the records that are called wrong, where there are any.

    Args:
        content: of the run.
        wrong: how many are called so; None where the score has no right or wrong.
    """
    run = content.runs[0]
    if run.errors == run.done:
        return "errors"
    if not content.scored:  # it judges pairs, or only collects answers for judging
        return "all"
    score = content.summaries[0].score(content.score)
    without = [kind for kind in ("unparsed", "refused") if score is not None and getattr(score, kind)]
    if score is not None and without:
        if not score.scored or (score.over == "scored" and not wrong):
            return ",".join(without)
        if score.over == "all":  # they are among the wrong ones
            return ",".join(["wrong", *without])
    return "all" if wrong == 0 else "wrong"


def _wrong_of_best(content: ReportContent) -> tuple[int, str]:
    """How many samples the best run got wrong, and its target; 0 and "" where the score has no right or wrong."""
    infos = {run.id: run.score_infos for run in content.runs}
    wrong: list[tuple[int, int, str]] = []
    for label, summary in content.scored:
        score = summary.score(content.score)
        ones = passed_count(score) if score else None
        if score is None or ones is None:
            return 0, ""
        info, n = infos[summary.run].get(score.name), score.headline.n
        wrong.append((ones if info is not None and info.lower_is_better else n - ones, n, label))
    count, _, name = min(wrong, key=lambda each: each[0] / each[1], default=(0, 0, ""))
    return count, name
