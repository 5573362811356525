"""Runs against a baseline: the verdict, rates with their intervals, what differs, changed samples, then all figures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.comparison.comparison_values import CLAIMS, Comparison, PairComparison
from steelyard.analysis.comparison.grid import width_text
from steelyard.analysis.comparison.settings import settings_of
from steelyard.analysis.numbers import count_text, interval_text, p_text, score_title, verdict_words
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.errors import ConfigError
from steelyard.report.charts.plots import MOST_LINKED, ScatterChart, ScatterPoint
from steelyard.report.page_runs import run_labels
from steelyard.report.section import Section
from steelyard.report.sections.comparison import comparison_section, methods_section, settings_section
from steelyard.report.sections.conclusion import difference_text
from steelyard.report.sections.grid import grid_details_section
from steelyard.store import Run
from steelyard.store.related_runs import refuse_other_suites
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages
from steelyard.viewer.sample_cells import SCORE, SampleColumn, as_chosen
from steelyard.viewer.side_by_side import ChangedRow, changed_rows

_MOST_SAMPLES: Final = 20_000
"""Samples up to which a chart is drawn: reading more values takes longer than a page may."""
_ROOM: Final = 0.05
"""Share of a scale added at its ends, so that points there are not cut off."""
_MISSING: Final = (("unparsed", "Unreadable"), ("refused", "Refused"), ("errors", "Errors"))
"""Counts beside a rate: an attribute of its summary, and the heading."""
_WITHOUT_VERDICT: Final = frozenset({"unparsed", "refused"})


def compare_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The route of the page."""

    def comparison(request: Request) -> Response:
        idents = [request.query_params.get("a", ""), *request.query_params.getlist("b")]
        if len(idents) < 2 or not all(idents):
            raise ConfigError("choose a baseline and at least one other run: /compare?a=ID&b=ID")
        runs = [pages.run_of(ident) for ident in dict.fromkeys(idents)]
        refuse_unlike(runs)
        chosen = request.query_params.getlist("columns")
        compared, scatters, section, rows = _computed(pages, runs, request.query_params.get("score") or None)
        summaries = [compared.baseline, *compared.others]
        return pages.page(
            request,
            "compare.html.j2",
            baseline=runs[0],
            summaries=summaries,
            comparison=compared,
            missing=_missing([summary.rate(compared.score) for summary in summaries]),
            settings={pair.other: settings_section(pair) for pair in compared.pairs},
            linked={pair.other for pair in compared.pairs if _is_linked(pair, runs[0])},
            scatters=scatters,
            difference_of=difference_text,
            interval_of_difference=_interval,
            p_text=p_text,
            versions={run.id: _versions(pages, datasets, runs[0], run) for run in runs[1:]},
            width=_width(compared.pairs),
            grid_width=compared.shown_grid
            and width_text(compared.shown_grid.margin, share=compared.shown_grid.cells[0].share),
            grid_details=grid_details_section(compared.shown_grid),
            lead=_lead(compared),
            facts=_facts(runs),
            scores=sorted(shared := set.intersection(*({*run.score_order} for run in runs))),
            columns=change_columns(runs, shared, chosen, has_references=not rows or any(row.key for row in rows)),
            words=verdict_words(runs[0].score_infos.get(compared.score)),
            chosen=chosen,
            section=section,
            methods=methods_section(summaries, compared),
            rows=rows,
            run_names=run_labels(summaries),
        )

    def choose(request: Request) -> Response:
        """A form of the list of runs: the pinned baseline is the baseline, else the oldest of the chosen runs."""
        chosen = [pages.run_of(ident) for ident in dict.fromkeys(request.query_params.getlist("run"))]
        pinned = pages.baselines()
        baseline = pages.baseline_of(chosen[0]) if len(chosen) == 1 else None
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


Computed = tuple[Comparison, Mapping[str, ScatterChart | None], Section, tuple[ChangedRow, ...]]
"""A comparison, values of every sample for each other run, the section of all figures, and the changed samples."""


def _missing(rates: Sequence[ScoreSummary | None]) -> list[tuple[str, str]]:
    """The counts that are not 0 beside every rate."""
    return [(key, title) for key, title in _MISSING if any(getattr(rate, key) for rate in rates if rate)]


def _computed(pages: Pages, runs: Sequence[Run], score: str | None) -> Computed:
    def compute() -> Computed:
        compared = pages.comparison(runs, score)
        scatters = {run.id: _scatter_of(pages, runs[0], run, compared.score) for run in runs[1:]}
        section = _without_repeats(comparison_section(compared, runs), [*map(settings_section, compared.pairs)])
        return compared, scatters, section, changed_rows(pages, runs, compared.pairs)

    return pages.kept("shown comparison", runs, score, compute)


def refuse_unlike(runs: Sequence[Run]) -> None:
    """Refuse a run that is compared with itself, and runs of different suites.

    Raises:
        ConfigError: which they are.
    """
    if len(runs) < 2:
        raise ConfigError("a run cannot be compared with itself: choose another one")
    refuse_other_suites(runs)


def _without_repeats(section: Section, settings: Collection[Section]) -> Section:
    """The section without what the page shows above it: settings that differ, and counts of outcomes.

    Args:
        section: of a comparison.
        settings: those of its pairs.
    """
    parts = [
        _without_repeats(part, settings)
        for part in section.parts
        if part not in settings and (part.table is None or part.table.layout != "tiles")
    ]
    return replace(section, parts=parts)


def _is_linked(pair: PairComparison, baseline: Run) -> bool:
    """Whether lists of samples by outcome are about the score that is compared, and hold the pairs of samples."""
    # The list of a run's samples pairs all that share an id.
    is_paired = pair.overlap.aligned == "id" and not pair.overlap.n_unpaired(other="changed")
    return is_paired and pair.score == baseline.manifest.get("primary")


def _interval(pair: PairComparison) -> str:
    """The 95 % CI of the difference, both ends with their signs; "" where there is none."""
    return interval_text(pair.headline.interval, share=pair.headline.unit, sign=True)


def _width(pairs: Sequence[PairComparison]) -> float:
    """The end of the axis of differences: that of the widest interval or bounds, rounded up to 10 points."""
    ends = [0.0]
    for pair in pairs:
        missing = pair.headline.missing
        for limits in (pair.headline.interval, missing.bounds if missing else None):
            ends += [abs(end) for end in limits or ()]
    return min(1.0, math.ceil(10 * max(ends) + 1e-9) / 10) or 0.1


def _lead(compared: Comparison) -> str:
    """A sentence over all runs of a comparison of three and more; "" for two."""
    if compared.shown_grid:
        return compared.shown_grid.sentence
    if len(compared.pairs) < 2:
        return ""
    by_claim: dict[str, list[str]] = {claim: [] for claim in CLAIMS.values()}
    for pair in compared.pairs:
        by_claim[pair.conclusion.claim].append(f"{pair.other_target} ({difference_text(pair)})")
    parts = [f"{claim}: {', '.join(targets)}" for claim, targets in by_claim.items() if targets]
    return f"Against {compared.baseline.target}, {'; '.join(parts)}."


def _facts(runs: Sequence[Run]) -> list[str]:
    """What all runs have in common: model, prompt and number of samples; and when they were run."""
    settings = [settings_of(run.manifest.get("target")) for run in runs]
    models = {each.get("model", "") for each in settings}
    dates = sorted({run.created.strftime("%Y-%m-%d") for run in runs})
    facts = [
        f"{next(iter(models))} in all" if len(models) == 1 and models != {""} else "",
        count_text(min(run.planned for run in runs), "record"),
        " to ".join(dict.fromkeys((dates[0], dates[-1]))),
    ]
    return [fact for fact in facts if fact]


def change_columns(
    runs: Sequence[Run], scores: Collection[str], chosen: Sequence[str], *, has_references: bool
) -> tuple[SampleColumn, ...]:
    """All columns that the table of changed samples can have beside those of the runs, in order.

    Args:
        runs: the baseline first.
        scores: that all runs have.
        chosen: keys of the columns that a reader chose; none means those that are shown at first.
        has_references: whether any of the samples has an expected answer.
    """
    columns = (
        SampleColumn("output", "Outputs", shown=True),
        SampleColumn("reference", "Expected", shown=has_references, empty="" if has_references else "empty"),
        SampleColumn("input", "Input", shown=True),
        SampleColumn("group", "Group", shown=False),
        *(
            SampleColumn(f"{SCORE}{name}", score_title(name), shown=False)
            for name in runs[0].score_order
            if name in scores
        ),
    )
    return as_chosen(columns, chosen)


def _versions(pages: Pages, datasets: OpenDatasets, baseline: Run, other: Run) -> str:
    """The address of what changed between the datasets of two runs; "" where they are not versions of one."""
    before, after = datasets.of_run(baseline), datasets.of_run(other)
    if before is None or after is None or before.id != after.id or before.digest == after.digest:
        return ""
    return pages.address(f"/data/{after.id}/diff", a=before.digest, b=after.digest)


def _scatter_of(pages: Pages, baseline: Run, other: Run, score: str) -> ScatterChart | None:
    """The chart of two runs on one score; None where a table shows as much.

    The points lead to the samples.

    Args:
        pages: make addresses.
        baseline: on the x axis.
        other: on the y axis; the run whose samples the points lead to.
        score: of both.
    """
    if max(baseline.done, other.done) > _MOST_SAMPLES:
        return None
    ids = {no: ident for ident, no in other.places().items()}
    upright = _means(other, score, ids)
    across = _means(baseline, score, {no: ident for ident, no in baseline.places().items()})
    pairs = {ident: (across[ident], value) for ident, value in upright.items() if ident in across}
    if not pairs or {value for pair in pairs.values() for value in pair} <= {0.0, 1.0}:
        return None
    info = other.score_infos.get(score)
    return ScatterChart(
        f"{score_title(score)} by sample",
        f"{baseline.target} (baseline)",
        other.target,
        tuple(_points(pages, other, pairs, baseline.id)),
        _domain(other, score),
        lower_is_better=bool(info and info.lower_is_better),
    )


def _means(run: Run, score: str, ids: Mapping[int, str]) -> dict[str, float]:
    """Sample id -> the mean of a score over the repeats that its headline counts, a reply without a verdict as 0."""
    info = run.score_infos.get(score)
    as_zero = _WITHOUT_VERDICT if info is not None and info.denominator == "all" else frozenset()
    values: dict[str, list[float]] = defaultdict(list)
    for placed in run.placed_scores(score):
        value = 0.0 if placed.outcome in as_zero else placed.value
        if value is not None and placed.no in ids:
            values[ids[placed.no]].append(value)
    return {ident: fmean(of_sample) for ident, of_sample in values.items()}


def _points(pages: Pages, run: Run, pairs: Mapping[str, tuple[float, float]], baseline: str) -> Iterator[ScatterPoint]:
    linked = len(pairs) <= MOST_LINKED
    for ident, (x, y) in pairs.items():
        link = sample_address(pages.address, run.id, ident, against=baseline) if linked else ""
        yield ScatterPoint(x, y, f"{ident}: {x:.4g}, {y:.4g}", link)


def _domain(run: Run, score: str) -> tuple[float, float] | None:
    """The declared scale of a score with room at its ends; None where it has none."""
    info = run.score_infos.get(score)
    if info is None or info.range is None:
        return None
    low, high = info.range
    room = _ROOM * (high - low)
    return low - room, high + room
