"""Commands that read the store and send nothing: `runs`, `show`, `compare`, `report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from steelyard.analysis.judging_manifest import is_judging, only_answers, sides_of
from steelyard.analysis.numbers import MISSING, score_title, value_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.cli import options
from steelyard.cli.options import named_run, named_runs, say_unfinished, store_option
from steelyard.cli.outcome import evaluate_runs, preferred, print_outcome, write_pages
from steelyard.cli.output import check_writable
from steelyard.cli.record_list import (
    AgainstOption,
    ListRequest,
    OnlyOption,
    PageOption,
    SearchOption,
    SortOption,
    WhereOption,
    show_records,
)
from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.marks import NO_MARKS, baselines, read_marks
from steelyard.report.exports.records import plain_note
from steelyard.report.page import all_sections
from steelyard.report.record_lines import note_line
from steelyard.report.render.terminal import console, fitting_columns, print_json, say, table
from steelyard.report.run_texts import state_text
from steelyard.report.section import section_json
from steelyard.store import Run, Store
from steelyard.store.ended_runs import ListFigures, read_figures

if TYPE_CHECKING:
    from rich.console import Console


_COUNTS: Final = frozenset(("done", "errors", "unreadable", "refused"))
"""Columns of numbers in the list of runs."""


def runs(
    store: options.StoreOption = None,
    last: options.LastOption = 20,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Only runs with this tag; may be repeated.")
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="List archived runs too.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """List the runs in the store, newest first.

    A run that has ended has its first score. Archived runs are left out (steelyard mark).
    """
    with Store(store) as opened:
        marks = read_marks(opened)
        tagged = [run for run in opened.runs() if set(tag or ()).issubset(marks.get(run.num, NO_MARKS).tags)]
        everything = [run for run in tagged if archived or not marks.get(run.num, NO_MARKS).archived]
        shown = everything[:last]
        figures = read_figures(opened, shown)
    if as_json:
        rows = ({**_row(run), "figures": figures.get(run.id)} for run in shown)
        print_json([{**row, "marks": marks.get(run.num, NO_MARKS)} for row, run in zip(rows, shown, strict=True)])
        return
    to = console()
    print_runs(to, shown, figures)
    if len(everything) > len(shown):
        to.print(f"and {len(everything) - len(shown)} older ones: --last {len(everything)} shows all")
    if len(tagged) > len(everything):
        to.print(f"and {len(tagged) - len(everything)} archived: --archived lists them too")


def print_runs(to: Console, shown: Sequence[Run], figures: Mapping[str, ListFigures]) -> None:
    """Print a line for each run; columns that do not fit are left out and named: a truncated number would mislead.

    Args:
        to: where to print.
        shown: the runs.
        figures: run's id -> what is stored of a run that has ended.
    """
    without = {"unreadable": "unparsed", "refused": "refused"}
    missing = {name: key for name, key in without.items() if any(getattr(row, key) for row in figures.values())}
    rows = [
        [
            run.id,
            run.created.strftime("%Y-%m-%d %H:%M"),
            run.suite,
            run.target,
            _state(run),
            f"{run.done}/{run.planned}",
            str(run.errors),
            _score(figures.get(run.id)),
            *(str(getattr(figures[run.id], key)) if run.id in figures else MISSING for key in missing.values()),
        ]
        for run in shown
    ]
    columns = ["run", "started (UTC)", "suite", "target", "state", "done", "errors", "score", *missing]
    column_of = {name: column for column, name in enumerate(columns)}
    all_finished = {row[4] for row in rows} == {"finished"}
    least = ("state", "started (UTC)", "suite") if all_finished else ("started (UTC)", "suite", "state")
    droppable = [column_of[name] for name in (*least, "errors", "score")]
    shown_columns = fitting_columns(
        columns, rows, to.width, elastic=[column_of["suite"], column_of["target"]], droppable=droppable
    )
    to.print(
        table(
            [columns[column] for column in shown_columns],
            [[row[column] for column in shown_columns] for row in rows],
            right=[position for position, column in enumerate(shown_columns) if columns[column] in _COUNTS],
            elastic=shown_columns.index(column_of["target"]),
            width=to.width,
        )
    )
    if left_out := [name for column, name in enumerate(columns) if column not in shown_columns]:
        say(to, f"no room for: {', '.join(left_out)}; a wider terminal or --json shows them")


def show(
    run: options.RunArgument,
    sample: Annotated[str, typer.Argument(metavar="SAMPLE", help="Show only this sample, by its id.")] = "",
    store: options.StoreOption = None,
    only: OnlyOption = "",
    where: WhereOption = "",
    search: SearchOption = "",
    sort: SortOption = "",
    against: AgainstOption = "",
    page: PageOption = 1,
    most: options.MostOption = 10,
    by_group: Annotated[
        list[str] | None,
        typer.Option("--by-group", metavar="SCORE", help="Show this score by group too; all: every score."),
    ] = None,
    with_labels: options.WithLabelsOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Show one run: scores, groups, replies without a score.

    Notes on the run follow. With a sample, --only, --where, --search or --sort, records are listed with their labels
    instead, --most on a page.
    """
    request = ListRequest(only, most, sample, where, sort, page, against, search)
    _ = request.kinds  # rejects an unknown kind before the store is opened
    with Store(store) as opened:
        unlabelled = named_run(opened, run)
        stored = unlabelled.with_labels() if with_labels else unlabelled
        if not request.lists_records:
            outcome = evaluate_runs([unlabelled], with_labels=with_labels)
            notes = stored.remarks().notes
            if as_json:
                extras = {"reason": stored.reason, "notes": [plain_note(note) for note in notes], **preferred(outcome)}
                extras["sections"] = section_json(all_sections(outcome))
                print_json({**outcome.summaries[0].json_fields(), **extras, "manifest": stored.manifest})
            else:
                group_scores = _group_scores(outcome.summaries[0], by_group or ())
                content = replace(outcome, group_scores=group_scores)
                print_outcome(content, as_json=False, store=store, full=True)
                for note in notes:
                    say(console(), note_line(note))
            return
        say_unfinished(stored)
        show_records(opened, stored, request, as_json=as_json)


def _group_scores(summary: RunSummary, requested: Sequence[str]) -> tuple[str, ...]:
    """The names of the scores to show by group.

    Raises:
        ConfigError: the run has no such score, or no groups.
    """
    names = [score.name for score in summary.own_scores]
    if requested and not summary.groups:
        raise ConfigError(f"--by-group: no sample of run {summary.run} ({summary.target}) names a group")
    for name in requested:
        if name not in {"all", *names}:
            raise ConfigError(f"--by-group {name!r}{did_you_mean(name, names)}")
    return tuple(names if "all" in requested else requested)


def compare(
    run: options.RunsArgument,
    store: options.StoreOption = None,
    score: options.ScoreOption = None,
    level: Annotated[float, typer.Option("--level", metavar="LEVEL", help="Confidence level, between 0 and 1.")] = 0.95,
    align: Annotated[
        str,
        typer.Option(
            "--align",
            metavar="BY",
            help="Pair samples by id, by content, or by a key of their metadata; by default by id, or by content "
            "if hardly any id is shared.",
        ),
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="NAME", help="Only samples of this group; may be repeated.")
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs", help="Also compare every two of the runs; of a single RUN, those started together with it."
        ),
    ] = False,
    with_labels: options.WithLabelsOption = False,
    full: options.FullOption = False,
    as_json: options.JsonOption = False,
    html: options.HtmlOption = None,
    markdown: options.MarkdownOption = None,
) -> None:
    """Compare runs with the first one and draw a conclusion.

    A single run is compared with the pinned baseline of its suite (steelyard mark RUN --pin). Every score that two runs
    share is compared over the samples that they share, and so are time, calls and tokens.
    """
    if not 0 < level < 1:
        raise ConfigError(f"--level {level:g}: a confidence level is between 0 and 1 (0.95 for 95 %)")
    check_writable(html, markdown)
    where = store_option(store)
    comparing: Any = {"level": level, "align_by": align, "groups": tuple(group or ()), "all_pairs": all_pairs}
    with Store(store) as opened:
        runs = named_runs(opened, run)
        if len(runs) == 1:
            runs = (
                _started_together(opened, runs[0]) if all_pairs else [_pinned_baseline(opened, runs[0], where), runs[0]]
            )
        _check_comparable(runs, where)
        outcome = evaluate_runs(runs, score=score, gated=False, with_labels=with_labels, **comparing)
        if outcome.comparison is None:
            unscored = ", ".join(f"{each.run} ({each.target})" for each in outcome.summaries if not each.scores)
            raise ConfigError(f"without scores: {unscored}; compare the others, or see steelyard runs{where}")
        print_outcome(outcome, as_json=as_json, store=store, full=full, compared=True)
        write_pages(outcome, html=html, markdown=markdown)


def report(
    run: options.RunsArgument,
    store: options.StoreOption = None,
    html: options.HtmlOption = None,
    markdown: options.MarkdownOption = None,
    junit: options.JUnitOption = None,
    with_labels: options.WithLabelsOption = False,
) -> None:
    """Write a report of one run, or a comparison of several.

    The report is written to report.html unless another file is given.
    """
    if html is None and markdown is None and junit is None:
        html = Path("report.html")
    check_writable(html, markdown, junit)
    with Store(store) as opened:
        outcome = evaluate_runs(named_runs(opened, run), with_labels=with_labels)
        write_pages(outcome, html=html, markdown=markdown, junit=junit)


def _pinned_baseline(store: Store, run: Run, where: str) -> Run:
    """The baseline that was pinned for the suite of a run.

    Raises:
        ConfigError: there is none, or it is the run itself.
    """
    baseline = baselines(store.runs(), read_marks(store)).get((run.suite, run.kind))
    if baseline is None:
        raise ConfigError(
            "compare takes two runs or more, the first is the baseline; or one run whose suite has a pinned baseline: "
            f"suite {run.suite!r} has none (steelyard mark RUN --pin{where})"
        )
    if baseline.id == run.id:
        raise ConfigError(f"{_name(run)} is the pinned baseline of its suite: name another run to compare with it")
    return baseline


def _started_together(store: Store, run: Run) -> list[Run]:
    """The runs with scores that one `steelyard run` started, in the order of their targets.

    Raises:
        ConfigError: it started no other run that has scores.
    """
    together = [other for other in store.runs() if other.evaluation == run.evaluation]
    same_kind = [other for other in together if is_judging(other.manifest) == is_judging(run.manifest)]
    scored = [other for other in reversed(same_kind) if not only_answers(other.manifest)]
    if len(scored) < 2:
        raise ConfigError(f"{_name(run)} was started without others: name two runs or more to compare")
    return scored


def _check_comparable(runs: Sequence[Run], where: str) -> None:
    """Reject runs without scores of their own, and judging runs whose pairs have no side in common.

    Raises:
        ConfigError: which runs, and which command shows their preferences.
    """
    answering = [_name(run) for run in runs if only_answers(run.manifest)]
    if answering:
        raise ConfigError(
            f"{' and '.join(answering)} only gave answers, which another run judged, so there are no scores to "
            f"compare: steelyard runs{where} lists the judging run, and steelyard show RUN{where} shows which answers "
            "are preferred"
        )
    judging = [run for run in runs if is_judging(run.manifest)]
    if not judging:
        return
    if len(judging) < len(runs):
        other = next(run for run in runs if run not in judging)
        raise ConfigError(
            f"{_name(judging[0])} judges pairs of answers and {_name(other)} does not: "
            "compare judging runs with each other, and runs with scores with each other"
        )
    firsts, seconds = (set(side) for side in zip(*(sides_of(run.manifest) for run in judging), strict=True))
    if len(firsts) > 1 and len(seconds) > 1:
        raise ConfigError(
            f"{' and '.join(map(_name, judging))} have no target in common on either side, so their preferences "
            f"cannot be compared: steelyard report{where} shows several pairs and ranks their targets"
        )


def _name(run: Run) -> str:
    return f"{run.id} ({run.target})"


def _score(figures: ListFigures | None) -> str:
    """The headline score of a run that has ended, with its name."""
    if figures is None or not figures.score:
        return MISSING
    return f"{score_title(figures.score)} {value_text(figures.value, share=figures.is_share)}"


def _state(run: Run) -> str:
    """The run's state; "stopped early" if a stopping rule finished it before its last sample."""
    return "stopped early" if run.state == "finished" and run.done < run.planned else state_text(run.state)


def _row(run: Run) -> dict[str, Any]:
    names = ("id", "suite", "kind", "target", "state", "reason", "planned", "done", "errors", "from_journal", "seconds")
    created = run.created.isoformat(timespec="seconds")
    return {**{name: getattr(run, name) for name in names}, "created": created, "tags": dict(run.tags)}
