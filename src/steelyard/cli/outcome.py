"""What came out of some runs: summaries, comparison, gate; printed and written the same way by every command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from steelyard.cli.comparing import print_comparison, print_details
from steelyard.cli.exams import exam_remarks, exam_tables
from steelyard.cli.gating import gate_of
from steelyard.cli.preferring import print_pairwise_runs, print_preferences, print_standings
from steelyard.cli.scores import breakdown_tables, group_tables, score_remarks, score_tables, stage_tables
from steelyard.cli.tables import console, print_gate, print_json, say, shortened, summary_table
from steelyard.compare import compare
from steelyard.compare.comparison import Comparison
from steelyard.compare.preferences import Preferences, is_judging, only_answers, preferences
from steelyard.compare.standings import standings
from steelyard.compare.standings_values import Standings
from steelyard.errors import ConfigError
from steelyard.gate import GateVerdict
from steelyard.report.endings import saved_calls
from steelyard.report.numbers import failed_elsewhere, kind_text
from steelyard.report.preferences import Pairwise
from steelyard.store import Run
from steelyard.store.labelled import LabelledRun
from steelyard.summary import RunSummary

_NAME: Final = 30
"""Columns that a target's name takes in a line of its own."""
_MOST_NAMED: Final = 4
"""Runs that are named in the line that says what to type next."""


@dataclass(frozen=True, slots=True)
class WeighedRuns:
    """Runs with everything that is said of them.

    `store` is the one that was named, "" the usual one; `in_full` whether a terminal shows breakdowns too.
    `preferences` has one entry per judging run, in order; `standings` are of all of these, where they are several.
    The comparison is of the other runs, as two judging runs are about other pairs; `compare` holds those of one pair,
    or against one and the same side, against each other.
    """

    runs: tuple[Run, ...]
    summaries: tuple[RunSummary, ...]
    comparison: Comparison | None
    gate: GateVerdict | None
    store: str = ""
    in_full: bool = False
    preferences: tuple[Preferences, ...] = ()
    standings: Standings | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        pairs = zip(self.runs, self.summaries, strict=True)
        return {
            "runs": [{**summary.to_json(), "reason": run.reason} for run, summary in pairs],
            "comparison": self.comparison.to_json() if self.comparison else None,
            **self.preferred(),
            "gate": self.gate.to_json() if self.gate else None,
        }

    @property
    def pairwise(self) -> Pairwise:
        """What judging runs say, for a page."""
        return Pairwise(self.preferences, self.standings)

    def preferred(self) -> dict[str, Any]:
        """What judging runs add to the JSON; nothing where there is none."""
        if not self.preferences:
            return {}
        return {
            "preferences": [one.to_json() for one in self.preferences],
            "standings": self.standings.to_json() if self.standings else None,
        }


def weigh(
    stored: Sequence[Run],
    *,
    store: str | None = None,
    score: str | None = None,
    gated: bool = True,
    with_labels: bool = False,
    **comparing: Any,
) -> WeighedRuns:
    """Summaries of all, the comparison of the first with each other one, and the gate that their suite set.

    `comparing` are further options of `compare`; where there are any, judging runs are compared too. `with_labels`
    counts people's verdicts in every run alike, but never in the gate.
    """
    runs: Sequence[Run] = [LabelledRun.of(one) for one in stored] if with_labels else stored
    summaries = tuple(one.summary() for one in runs)
    both = list(zip(runs, summaries, strict=True))
    others = [pair for pair in both if not is_judging(pair[0].manifest)]
    judging = [pair for pair in both if is_judging(pair[0].manifest)]
    compared = both if comparing else others
    comparable = len(compared) > 1 and all(one.scores for _, one in compared)
    # Records of a judging run that has not begun say nothing, and a run without a preference has none to show.
    judged = [(run, one) for run, one in judging if one.done]
    return WeighedRuns(
        tuple(runs),
        summaries,
        _compared(compared, score=score, **comparing) if comparable else None,
        _gate(stored, summaries, with_labels=with_labels) if gated else None,
        store or "",
        preferences=tuple(preferences(run, summary=one) for run, one in judged),
        standings=standings([run for run, _ in judged]) if len(judged) > 1 else None,
    )


def _gate(stored: Sequence[Run], summaries: Sequence[RunSummary], *, with_labels: bool) -> GateVerdict | None:
    """Over what was read, whoever else counts verdicts: a gate that people can move is none."""
    return gate_of(stored, tuple(one.summary() for one in stored) if with_labels else summaries)


def _compared(several: Sequence[tuple[Run, RunSummary]], **options: Any) -> Comparison:
    return compare(*(run for run, _ in several), summaries=[one for _, one in several], **options)


def print_outcome(outcome: WeighedRuns, *, as_json: bool, detailed: bool = False, reported: bool = False) -> None:
    """The whole of it on standard output; fits 80 x 24 for three targets.

    Args:
        outcome: what is printed.
        as_json: as JSON.
        detailed: with the four cells and the categories of each pair.
        reported: whether a page was asked for, so that none needs to be recommended.
    """
    if as_json:
        print_json(outcome.to_json())
        return
    to = console()
    _print_runs(to, outcome, in_full=outcome.in_full or detailed)
    held_together = detailed and outcome.comparison is not None
    if outcome.preferences and not held_together:
        print_preferences(outcome.preferences, in_full=outcome.in_full)
    if outcome.standings is not None and not held_together:
        print_standings(outcome.standings)
    if outcome.comparison is not None:
        print_comparison(outcome.comparison)
        if detailed:
            print_details(outcome.comparison, outcome.runs)
    if outcome.gate is not None:
        print_gate(to, outcome.gate)
    for line in _next_steps(outcome, detailed=detailed, reported=reported):
        say(to, line)


def _print_runs(to: Console, outcome: WeighedRuns, *, in_full: bool) -> None:
    scored, others = _scored_and_others(outcome)
    # What was decided between two runs is the sentence of their comparison, which stands below.
    pairs = outcome.comparison.pairs if outcome.comparison else ()
    decided = {name for one in pairs if one.headline.stopped for name in (one.baseline, one.other)}
    if others:
        print_pairwise_runs(others)
    if scored:
        to.print(summary_table([summary for _, summary in scored]))
    for run, summary in scored:
        for line in _remarks(run, summary, several=len(outcome.runs) > 1, decided=run.id in decided):
            say(to, line)
    for line in filter(None, (_from_journal(outcome), saved_calls(outcome.summaries))):
        say(to, line)
    _print_tables(to, outcome, [summary for _, summary in scored], alone=not others, in_full=in_full)


def _print_tables(
    to: Console, outcome: WeighedRuns, summaries: Sequence[RunSummary], *, alone: bool, in_full: bool
) -> None:
    """What stands behind the headlines; categories of one run that is shown alone."""
    tables = [*score_tables(summaries), *exam_tables(summaries, in_full=in_full), *stage_tables(outcome.summaries)]
    if len(summaries) == 1 and alone:
        tables += group_tables(summaries[0])
        tables += breakdown_tables(summaries[0]) if outcome.in_full else ()
    for made in tables:
        to.print()
        to.print(made)
    for line in exam_remarks(summaries, in_full=in_full):
        say(to, line)


def _from_journal(outcome: WeighedRuns) -> str:
    """How many replies were not paid for again; "" where all were."""
    counts = [one.from_journal for one in outcome.summaries]
    if not any(counts):
        return ""
    each = f" ({', '.join(map(str, counts))} in the order of the runs)" if len(counts) > 1 else ""
    return f"{sum(counts)} of {sum(one.replies for one in outcome.runs)} replies came from the journal{each}"


def _scored_and_others(outcome: WeighedRuns) -> tuple[list[tuple[Run, RunSummary]], list[tuple[Run, RunSummary]]]:
    """Runs with scores of their own; and those that judge pairs of answers or gave such answers, and have none."""
    judging = {one.run for one in outcome.preferences}
    scored: list[tuple[Run, RunSummary]] = []
    others: list[tuple[Run, RunSummary]] = []
    for run, summary in zip(outcome.runs, outcome.summaries, strict=True):
        (others if run.id in judging or only_answers(run.manifest) else scored).append((run, summary))
    return scored, others


def check_pages(*paths: Path | None) -> None:
    """Refuse a report file that could not be written, before anything is asked for it.

    Raises:
        ConfigError: which one and why.
    """
    for path in paths:
        if path is None:
            continue
        there = path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
        if not there:
            path.unlink()


def write_pages(
    outcome: WeighedRuns, *, html: Path | None = None, markdown: Path | None = None, junit: Path | None = None
) -> None:
    """Write the report files that were asked for, and say on standard error where they are.

    Raises:
        ConfigError: a file cannot be written.
    """
    if html is not None:
        from steelyard.report.html import html_report

        write(html, html_report(outcome.runs, outcome.comparison, outcome.gate, pairwise=outcome.pairwise))
    if markdown is not None:
        from steelyard.report.markdown import markdown_report

        write(markdown, markdown_report(outcome.runs, outcome.comparison, outcome.gate, pairwise=outcome.pairwise))
    if junit is not None:
        from steelyard.report.junit import junit as junit_lines

        write_lines(junit, junit_lines(outcome.runs, outcome.gate))
    for path in (html, markdown, junit):
        if path is not None:
            say(console(stderr=True), f"wrote {path}")


def say_unfinished(run: Run) -> None:
    """Say on standard error that a run has not come to its end, where what is printed cannot say so itself."""
    if run.state != "finished":
        say(console(stderr=True), f"{run.target}: {run.state}, {run.done} of {run.planned} done")


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


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file line by line, line ends as they are, making its folder.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            file.writelines(lines)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def _remarks(run: Run, summary: RunSummary, *, several: bool, decided: bool) -> list[str]:
    lines = []
    if summary.state != "finished" and run.reason not in {"", summary.state}:
        lines.append(f"{run.target}: {summary.state}, {summary.done} of {summary.planned} done: {run.reason}")
    if summary.stopping and not decided:
        lines.append(f"{run.target}: {summary.stopping.sentence}")
    score = summary.score()
    if score is not None and score.not_applicable:
        lines.append(f"{run.target}: {score.name} does not apply to {score.not_applicable} of {score.total} records")
    if failed := failed_elsewhere(summary):
        lines.append(failed)
    if summary.unparsed_kinds:
        kinds = ", ".join(f"{count} {kind_text(kind)}" for kind, count in summary.unparsed_kinds.items())
        lines.append(f"{shortened(run.target, _NAME)}: replies that could not be read: {kinds}")
    return [*lines, *score_remarks(summary, several=several)]


def _next_steps(outcome: WeighedRuns, *, detailed: bool, reported: bool) -> list[str]:
    """Commands to copy: to go on, or to see more than there was."""
    where = f" --store {shlex.quote(outcome.store)}" if outcome.store else ""
    stopped = next((one for one in outcome.runs if one.state not in {"finished", "running"}), None)
    if stopped is not None:
        spent = stopped.reason.startswith("the budget of ")
        return [f"{'raise options.budget, then ' if spent else ''}go on with: steelyard resume {stopped.id}{where}"]
    ids = [one.id for one in outcome.runs]
    steps = []
    if len(ids) == 1:
        # Pairs and answers that were only given are neither right nor wrong.
        kind = "all" if _scored_and_others(outcome)[1] else "wrong"
        kind = "errors" if outcome.runs[0].errors == outcome.runs[0].done else kind
        steps.append(f"steelyard show {ids[0]} --only {kind}{where}")
    elif not detailed and outcome.comparison is not None:
        steps.append(f"steelyard compare {' '.join(ids if len(ids) <= _MOST_NAMED else ids[:2])}{where}")
    if not reported and len(ids) <= _MOST_NAMED:
        steps.append(f"steelyard report {' '.join(ids)}{where}")
    return [f"{'      ' if at else 'more: '}{step}" for at, step in enumerate(steps)]
