"""Runs against a baseline: what may be concluded, the samples that changed (regressions first), then all figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.comparison.comparison_values import Comparison, PairComparison
from steelyard.analysis.numbers import score_title, signed_text
from steelyard.errors import ConfigError, did_you_mean
from steelyard.report.charts.scatter import ScatterChart
from steelyard.report.run_texts import run_labels
from steelyard.report.section import KeyFigure, Section
from steelyard.report.sections.comparison import comparison_section, settings_section
from steelyard.report.sections.conclusion import pair_figures
from steelyard.report.sections.grid import grid_details_section, grid_section
from steelyard.store import Run
from steelyard.store.related_runs import refuse_other_suites
from steelyard.viewer.changed_samples import ShownChange, change_columns, shown_changes
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages
from steelyard.viewer.score_points import scatter_of
from steelyard.viewer.side_by_side import ChangedRow, changed_rows


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A run against the baseline.

    Args:
        pair: the comparison.
        figure: what may be concluded.
        facts: figures that its sentence does not have, with their names.
        settings: the settings in which the runs differ.
        is_linked: whether lists of samples by outcome are about the score that is compared.
        scatter: values of every sample; None where the table of outcomes says as much.
        changes: the first changed samples; with several pairs they are in one table, see `changed_rows`.
        versions: address of what changed between the two versions of their dataset; "" where that is not known.
    """

    pair: PairComparison
    figure: KeyFigure
    facts: tuple[tuple[str, str], ...]
    settings: Section
    is_linked: bool
    scatter: ScatterChart | None
    changes: tuple[ShownChange, ...]
    versions: str = ""


def compare_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The route of the page."""

    def comparison(request: Request) -> Response:
        idents = [request.query_params.get("a", ""), *request.query_params.getlist("b")]
        if len(idents) < 2 or not all(idents):
            raise ConfigError("choose a baseline and at least one other run: /compare?a=ID&b=ID")
        runs = [pages.run_of(ident) for ident in dict.fromkeys(idents)]
        refuse_unlike(runs)
        score = request.query_params.get("score") or None
        second = request.query_params.get("second", "")
        chosen = request.query_params.getlist("columns")
        _refuse_unknown_score(runs, second)
        compared, shown_pairs, section, rows = _computed(pages, runs, score, second)
        return pages.page(
            request,
            "compare.html.j2",
            baseline=runs[0],
            pairs=[
                replace(pair, versions=_versions(pages, datasets, runs[0], pages.run_of(pair.pair.other)))
                for pair in shown_pairs
            ],
            notes=() if compared.grid else compared.notes,
            grid=(grid_section(compared.grid), grid_details_section(compared.grid)),
            score=compared.score,
            second=second,
            title=score_title(compared.score),
            scores=sorted(shared := set.intersection(*({*run.score_order} for run in runs))),
            columns=change_columns(runs, shared, chosen),
            chosen=chosen,
            section=section,
            rows=rows,
            run_names=run_labels([compared.baseline, *compared.others]),
            others=[run.id for run in runs[1:]],
        )

    def choose(request: Request) -> Response:
        """A form of the list of runs: the pinned baseline is the baseline, else the oldest of the chosen runs."""
        chosen = [pages.run_of(ident) for ident in dict.fromkeys(request.query_params.getlist("run"))]
        pinned = pages.baselines()
        baseline = pinned.get((chosen[0].suite, chosen[0].kind)) if len(chosen) == 1 else None
        runs = sorted(
            {run.num: run for run in ([baseline] if baseline else []) + chosen}.values(),
            key=lambda run: (run.num not in {pin.num for pin in pinned.values()}, run.num),
        )
        if len(runs) < 2:
            raise ConfigError("choose at least two runs to compare, or one whose suite has another run as its baseline")
        baseline_id, *other_ids = (run.id for run in runs)
        target = pages.address("/compare", a=baseline_id) + "".join(f"&b={ident}" for ident in other_ids)
        return RedirectResponse(target, 303)

    return [Route("/compare", comparison), Route("/compare/chosen", choose)]


Computed = tuple[Comparison, tuple["ShownPair", ...], Section, tuple[ChangedRow, ...]]


def _computed(pages: Pages, runs: Sequence[Run], score: str | None, second: str) -> Computed:
    """A comparison and what is shown of it."""

    def compute() -> Computed:
        compared = pages.comparison(runs, score)
        return compared, *_shown_all(pages, runs, compared, second)

    return pages.kept("shown comparison", runs, (score, second), compute)


def refuse_unlike(runs: Sequence[Run]) -> None:
    """Refuse a run that is compared with itself, and runs of different suites.

    Raises:
        ConfigError: which they are.
    """
    if len(runs) < 2:
        raise ConfigError("a run cannot be compared with itself: choose another one")
    refuse_other_suites(runs)


def _refuse_unknown_score(runs: Sequence[Run], second: str) -> None:
    """Refuse a second score that a run does not have.

    Raises:
        ConfigError: with the nearest name.
    """
    for run in runs[1:] if second else ():
        if second not in run.score_order:
            raise ConfigError(f"run {run.id} has no score {second!r}{did_you_mean(second, list(run.score_order))}")


def _without_repeats(section: Section, settings: Collection[Section]) -> Section:
    """The section without what the page shows above it: settings that differ, and counts of outcomes.

    Args:
        section: of a comparison.
        settings: those of its pairs.
    """
    parts = (
        _without_repeats(part, settings)
        for part in section.parts
        if part not in settings and (part.table is None or part.table.layout != "tiles")
    )
    return replace(section, parts=tuple(parts))


def _shown_all(
    pages: Pages, runs: Sequence[Run], compared: Comparison, second: str
) -> tuple[tuple[ShownPair, ...], Section, tuple[ChangedRow, ...]]:
    """Every pair, the section of all figures, and for several pairs the changed samples of all."""
    figures = pair_figures(compared, run_labels([compared.baseline, *compared.others]))
    shown_pairs = (
        _shown(pages, runs, pair, figure, second) for pair, figure in zip(compared.pairs, figures, strict=True)
    )
    settings = [settings_section(pair) for pair in compared.pairs]
    rows = changed_rows(pages, runs, compared.pairs) if len(compared.pairs) > 1 else ()
    return tuple(shown_pairs), _without_repeats(comparison_section(compared, runs), settings), rows


def _shown(pages: Pages, runs: Sequence[Run], pair: PairComparison, figure: KeyFigure, second: str) -> ShownPair:
    other = next(run for run in runs if run.id == pair.other)
    # The list of a run's samples pairs all that share an id.
    is_linked = (
        pair.overlap.aligned == "id"
        and not pair.overlap.left_out_changed
        and pair.score == runs[0].manifest.get("primary")
    )
    return ShownPair(
        pair,
        figure,
        tuple(_facts(pair)),
        settings_section(pair),
        is_linked,
        scatter_of(pages, runs[0], other, pair.score, second),
        shown_changes(runs, pair) if len(runs) == 2 else (),
    )


def _versions(pages: Pages, datasets: OpenDatasets, baseline: Run, other: Run) -> str:
    """The address of what changed between the datasets of two runs; "" where they are not versions of one."""
    before, after = datasets.of_run(baseline), datasets.of_run(other)
    if before is None or after is None or before.id != after.id or before.digest == after.digest:
        return ""
    return pages.address(f"/data/{after.id}/diff", a=before.digest, b=after.digest)


def _facts(pair: PairComparison) -> Iterator[tuple[str, str]]:
    """Figures that the sentence omits; without evidence, the smallest difference that would be found."""
    headline = pair.headline
    if headline.detectable and pair.verdict in {"better", "worse", "inconclusive"}:
        least = signed_text(headline.detectable, share=headline.unit).lstrip("+")
        yield "smallest detectable difference", f"{least}{' points' if headline.unit else ''}"
