"""The list of runs by suite: state, result and cost of each; and a form that compares or marks the ticked ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.numbers import count_text
from steelyard.errors import ConfigError
from steelyard.people.marks import NO_MARKS, RunMarks, baseline_refusal, baselines, read_marks
from steelyard.report.run_texts import state_text
from steelyard.store import Run
from steelyard.viewer.pages import Pages, asks_for_file
from steelyard.viewer.run_figures import COMPUTING, PATIENCE_S, BaselineDifference, RunFigures, stored_figures
from steelyard.viewer.run_filter import STATES, MarkedRun, completions, filtered

_SHOWN: Final = 50
"""Runs on one page."""
_HISTORY: Final = 20
"""Runs of a suite in its line of past results."""
_GRID: Final = ("prompt", "model")
"""Tags by which an evaluation's runs are a grid."""
_PATIENCE_OF_A_FILE_S: Final = 60.0
_GIVEN: Final = ("filter", "suite", "state", "archived", "page")
"""Parameters of the query that select the runs."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list.

    Args:
        run: id, suite, target and counts.
        state: of the run.
        marks: of the run.
        target_tags: report columns of its target.
        figures: None where they are not computed yet.
        difference: to the pinned baseline; None where there is none to compare with, or it is not computed yet.
        computing: whether the difference is not computed yet.
        words: what its state is called, with counts where it has not finished all samples; "" where it has.
        no_baseline: why it cannot be pinned as a baseline; "" where it can.
        share_of: of a run that judges pairs, the target whose share its figure is; "" of any other.
        people: what people would say of its score, beside what the judge says; "" where no label corrects it.
    """

    run: Run
    state: str
    marks: RunMarks
    target_tags: Sequence[tuple[str, str]]
    figures: RunFigures | None
    difference: BaselineDifference | None
    computing: bool
    words: str
    no_baseline: str
    share_of: str
    people: str


@dataclass(frozen=True, slots=True)
class RunGroup:
    """The runs of a suite in the list.

    Args:
        suite: its title.
        score: the headline of its runs.
        rows: of the page.
        history: that headline in the last runs of its newest target, oldest first.
        words: what its newest evaluation ran: `2 prompts × 3 models`; "" where it ran one target.
        compared: ids of these runs.
        baseline: headline of the pinned baseline; None where none is pinned or it is not on the page.
    """

    suite: str
    score: str
    rows: list[RunRow]
    history: tuple[float, ...]
    words: str
    compared: tuple[str, ...]
    baseline: float | None


def runs_routes(pages: Pages) -> list[Route]:
    """The routes of the list."""

    def runs(request: Request) -> Response:
        given = {name: request.query_params.get(name, "") for name in _GIVEN}
        listed = listed_runs(pages)
        now = datetime.now(UTC)
        try:
            matches, fault = filtered(_chosen(listed, given), given["filter"], now), ""
        except ConfigError as error:
            matches, fault = [], str(error)
        newest = list(dict.fromkeys(marked.run.suite for marked in matches))
        matches.sort(key=lambda marked: newest.index(marked.run.suite))  # the order within a suite stays
        page = _number_of(given["page"], -(-len(matches) // _SHOWN))
        # A file cannot have its figures filled in later.
        patience_s = _PATIENCE_OF_A_FILE_S if asks_for_file(request) else PATIENCE_S
        rows = _rows(pages, matches[(page - 1) * _SHOWN : page * _SHOWN], listed, patience_s)
        part: dict[str, Any] = {
            "costs": any(row.figures.cost for row in rows if row.figures),
            "has_baseline": any(row.marks.baseline or row.difference or row.computing for row in rows),
            "groups": [
                _group(suite, list(of_suite), listed)
                for suite, of_suite in groupby(rows, key=lambda row: row.run.suite)
            ],
            "given": given,
            "fault": fault,
            "waiting": any(row.figures is None or row.computing or row.people == COMPUTING for row in rows),
            "compared": any(row.difference for row in rows),
            "found": len(matches),
            "total": len(listed),
            "hidden": sum(marked.marks.archived for marked in listed) if not given["archived"] else 0,
            "page": page,
            "pages": -(-len(matches) // _SHOWN),
            "link": lambda **changed: pages.address("/", **{**given, "page": "", **changed}),
        }
        if request.headers.get("hx-target", "").endswith("#runs"):
            return pages.page(request, "runs_table.html.j2", **part)
        return pages.savable(
            request,
            "runs.html.j2",
            "runs",
            suites=sorted({marked.run.suite for marked in listed}),
            states=STATES,
            words=completions(listed),
            suites_shown=len(newest),
            query=pages.query(**{name: value for name, value in given.items() if value}),
            **part,
        )

    return [Route("/", runs)]


def listed_runs(pages: Pages) -> list[MarkedRun]:
    """Every run, newest first."""
    marks = read_marks(pages.store)
    return [
        MarkedRun(run, marks.get(run.num, NO_MARKS), run.state, pages.target_tags(run)) for run in pages.store.runs()
    ]


def _chosen(listed: Sequence[MarkedRun], query: dict[str, str]) -> list[MarkedRun]:
    """The runs of a suite and a state; archived ones where the filter or the query asks for them."""
    archived = bool(query["archived"]) or "archived" in query["filter"]
    return [
        marked
        for marked in listed
        if query["suite"] in {"", marked.run.suite}
        and query["state"] in {"", marked.state}
        and (archived or not marked.marks.archived)
    ]


def _number_of(page: str, most: int) -> int:
    """The number of an existing page, whatever the address says."""
    return min(max(1, int(page) if page.isascii() and page.isdecimal() and len(page) < 10 else 1), max(1, most))


def _rows(pages: Pages, shown: Sequence[MarkedRun], listed: Sequence[MarkedRun], patience_s: float) -> list[RunRow]:
    pinned = baselines((marked.run for marked in listed), {marked.run.num: marked.marks for marked in listed})
    figures, differences = pages.figures.of([marked.run for marked in shown], pinned, patience_s=patience_s)
    people = pages.figures.people([marked.run for marked in shown], pages.summary, patience_s)
    return [
        RunRow(
            marked.run,
            marked.state,
            marked.marks,
            tuple(marked.target_tags.items()),
            figures.get(marked.run.id),
            differences.get(marked.run.id),
            pages.figures.compares(marked.run, pinned) and marked.run.id not in differences,
            _state_words(marked.run, marked.state),
            baseline_refusal(marked.run),
            sides_of(marked.run.manifest)[0] if is_judging(marked.run.manifest) else "",
            people.get(marked.run.id, ""),
        )
        for marked in shown
    ]


def _state_words(run: Run, state: str) -> str:
    counts = f"{run.done:,} of {run.planned:,}"
    if state == "finished":
        return f"stopped early, {counts}" if run.done < run.planned else ""
    return f"{state_text(state)}, {counts}"


def _group(suite: str, rows: list[RunRow], listed: Sequence[MarkedRun]) -> RunGroup:
    """The rows of a suite, with the history of its headline and the comparison of its newest evaluation."""
    ended = (marked.run for marked in listed if marked.run.suite == suite and marked.state == "finished")
    # A line through several targets would look like a change over time.
    runs = list(islice((run for run in ended if run.target == rows[0].run.target), _HISTORY))
    figures = stored_figures(runs)
    score = next((row.figures.score for row in rows if row.figures and row.figures.score), "")
    past = (figures[run.id] for run in reversed(runs) if run.id in figures)
    values = tuple(each.value for each in past if each.score == score and each.is_share and each.value is not None)
    evaluated = [marked for marked in listed if marked.run.evaluation == rows[0].run.evaluation]
    if any(is_judging(marked.run.manifest) for marked in evaluated):
        evaluated = []  # targets that only answered have no score to compare
    kinds = ({marked.target_tags[name] for marked in evaluated if name in marked.target_tags} for name in _GRID)
    sizes = [len(kind) for kind in kinds]
    names = (count_text(size, name) for size, name in zip(sizes, _GRID, strict=True))
    words = " × ".join(names) if min(sizes) > 0 and max(sizes) > 1 else count_text(len(evaluated), "target")
    compared = tuple(marked.run.id for marked in reversed(evaluated)) if len(evaluated) > 1 else ()
    pinned = (row.figures.value for row in rows if row.marks.baseline and row.figures)
    return RunGroup(suite, score, rows, values, words if compared else "", compared, next(pinned, None))
