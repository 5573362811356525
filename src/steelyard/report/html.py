"""One HTML file per run or comparison: opens from disk, loads nothing, and shows what models wrote as text only.

Its Content-Security-Policy allows the page's own style and script by their hashes and nothing else, so that even a
fault in escaping runs nothing. Two pages of the same replies are equal but for the lines of time stamp, run id,
durations and replies from the journal; each of these stands on a line of its own.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from steelyard.compare import Comparison
from steelyard.compare.preferences import only_answers
from steelyard.gate import GateVerdict
from steelyard.report.bars import label_chart, score_chart, spread_chart
from steelyard.report.charts import WIDTH, difference_chart, group_chart, rate_chart, svg
from steelyard.report.columns import collect_samples
from steelyard.report.compared import compared_views
from steelyard.report.endings import own_decisions, saved_calls
from steelyard.report.exam import exam_view
from steelyard.report.judged import breakdown_views, cross_views, group_rows, stage_rows
from steelyard.report.numbers import (
    MISSING,
    consistency_text,
    doubt_text,
    failed_elsewhere,
    headline,
    interval_text,
    is_share,
    kind_text,
    run_labels,
    score_title,
    unfinished,
    value_text,
)
from steelyard.report.page import page_environment
from steelyard.report.pairs import PairView, pair_view
from steelyard.report.pivots import Pivot, label_pivots, score_pivot, spread_pivots
from steelyard.report.preference_charts import preference_charts, stopping_charts
from steelyard.report.preferences import NO_PAIRS, Pairwise, has_scores, preference_views
from steelyard.report.standings import standings_charts, standings_view
from steelyard.report.stored import StoredRun
from steelyard.summary import RunSummary, ScoreSummary
from steelyard.text.inert import HIDDEN
from steelyard.types import Note

if TYPE_CHECKING:
    import altair as alt
    import jinja2


_SCRIPTS: Final = ("text.js", "rows.js", "judged.js", "preferred.js", "detail.js", "table.js")
_NARROW: Final = 340
"""Pixels of the charts that stand in for the wide ones on a telephone."""


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as the page's templates see it."""

    label: str
    summary: RunSummary
    score: ScoreSummary | None
    share: bool
    unfinished: str
    elsewhere: str
    reason: str
    manifest: str
    said: tuple[Note, ...]

    @property
    def note(self) -> str:
        """How the interval was made, where that is not Wilson's."""
        return self.score.note if self.score else ""


def html_report(
    runs: Sequence[StoredRun],
    comparison: Comparison | None = None,
    gate: GateVerdict | None = None,
    *,
    title: str = "",
    pairwise: Pairwise = NO_PAIRS,
) -> str:
    """The page of one run, or of several side by side.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of those of these runs that judge no pairs, in this order; None leaves that section and the flips
            out.
        gate: verdicts to show; None shows none.
        title: the page's; "" is the suite's.
        pairwise: what the judging runs among `runs` say.
    """
    every = _summaries(runs, comparison)
    names = run_labels(every)
    summaries, labels = _with_scores(runs, every, names, pairwise.judging)
    score = comparison.score if comparison else next((one.primary for one in summaries if one.primary), "")
    views = [_view(run, summary, label, score) for run, summary, label in zip(runs, every, names, strict=True)]
    scored = [view for view in views if view.label in labels]
    share = bool(scored) and all(view.share for view in scored)
    pairs = {pair.other: pair for pair in comparison.pairs} if comparison else {}
    samples = collect_samples(runs, names, score=score, share=share, pairs=pairs)
    return _render(
        title=title or " · ".join(dict.fromkeys(one.suite for one in every)),
        version=version("steelyard"),
        runs=views,
        scored=scored,
        answers=[
            view for run, view in zip(runs, views, strict=True) if pairwise.judging and only_answers(run.manifest)
        ],
        preferences=preference_views(pairwise.preferences),
        preference_charts=_drawn_twice(lambda width: preference_charts(pairwise.preferences, width=width)),
        standings=standings_view(pairwise.standings) if pairwise.standings else None,
        standings_charts=_drawn_twice(lambda width: standings_charts(pairwise.standings, width=width)),
        score=score_title(score),
        tags=list(dict.fromkeys(tag for one in summaries for tag in one.tags)),
        any_errors=any(view.score.errors for view in scored if view.score),
        sentences=[*pairwise.sentences, *_sentences(summaries, comparison), *filter(None, [saved_calls(every)])],
        warnings=_warnings(comparison),
        gate=gate.results if gate else (),
        others=_others(summaries, labels, score),
        pivots=_pivots(summaries),
        spreads=spread_pivots(summaries),
        crosses=cross_views(summaries, labels),
        exam=exam_view(summaries, labels, score),
        stages=stage_rows(every, names),
        groups=group_rows(summaries, lambda one: one.groups.get(score, ())),
        breakdowns=breakdown_views(summaries, score),
        charts=_charts(summaries, score, samples.chance, comparison),
        comparison=_pair_views(comparison, labels),
        further=compared_views(comparison, labels),
        notes=list(dict.fromkeys(note for run in runs for note in run.manifest.get("notes", ()))),
        data=samples.json,
    )


def _summaries(runs: Sequence[StoredRun], comparison: Comparison | None) -> list[RunSummary]:
    known = {one.run: one for one in (comparison.baseline, *comparison.others)} if comparison else {}
    return [known.get(run.id) or run.summary() for run in runs]


def _with_scores(
    runs: Sequence[StoredRun], every: Sequence[RunSummary], names: Sequence[str], judging: Collection[str]
) -> tuple[list[RunSummary], list[str]]:
    """The runs that tables of scores are about, with their labels: neither judging runs nor those that they judge."""
    kept = [(summary, name) for run, summary, name in zip(runs, every, names, strict=True) if has_scores(run, judging)]
    return [summary for summary, _ in kept], [name for _, name in kept]


def _view(run: StoredRun, summary: RunSummary, label: str, name: str) -> RunView:
    score = summary.score(name)
    return RunView(
        label=label,
        summary=summary,
        score=score,
        share=score is None or is_share(score),
        unfinished=unfinished(summary),
        elsewhere=failed_elsewhere(summary, name),
        reason=run.reason,
        manifest=json.dumps(run.manifest, ensure_ascii=False, indent=2),
        said=tuple(run.remarks().notes),
    )


def _sentences(summaries: Sequence[RunSummary], comparison: Comparison | None) -> list[str]:
    stopped = own_decisions(summaries, comparison)
    if comparison:
        return [*(pair.sentence for pair in comparison.pairs), *stopped]
    return [*(headline(one) for one in summaries if not one.stopping), *stopped]


def _warnings(comparison: Comparison | None) -> list[str]:
    if not comparison:
        return []
    n = sum(len(pair.warnings) for pair in comparison.pairs)
    first = [f"Before believing this, read the {n} warning{'s' * (n > 1)} under Comparison."] if n else []
    return [*first, *comparison.notes]


def _others(summaries: Sequence[RunSummary], labels: Sequence[str], score: str) -> list[tuple[str, ScoreSummary, bool]]:
    """(run's label, score, whether it is a share) of every score but the headline, score by score."""
    names = dict.fromkeys(one.name for summary in summaries for one in summary.own_scores if one.name != score)
    return [
        (label, found, is_share(found))
        for name in names
        for label, summary in zip(labels, summaries, strict=True)
        if (found := summary.score(name)) is not None
    ]


def _pair_views(comparison: Comparison | None, labels: Sequence[str]) -> list[PairView]:
    if not comparison:
        return []
    return [pair_view(pair, labels[0], label) for pair, label in zip(comparison.pairs, labels[1:], strict=True)]


def _charts(
    summaries: Sequence[RunSummary], score: str, chance: float | None, comparison: Comparison | None
) -> list[tuple[str, str]]:
    if not any(one.score(score) for one in summaries):
        return []
    return _drawn_twice(
        lambda width: [
            rate_chart(summaries, score=score, chance=chance if score == "solve_rate" else None, width=width),
            group_chart(summaries, score=score, width=width),
            difference_chart(comparison, width=width) if comparison else None,
            *stopping_charts(summaries, width=width),
            *_bar_charts(summaries, width),
        ]
    )


def _drawn_twice(charts: Callable[[int], Sequence[alt.LayerChart | None]]) -> list[tuple[str, str]]:
    """Each chart twice, wide and narrow; the page shows the one that fits."""
    found = [[svg(chart) for chart in charts(width) if chart is not None] for width in (WIDTH, _NARROW)]
    return list(zip(*found, strict=True))


def _bar_charts(summaries: Sequence[RunSummary], width: int) -> list[alt.LayerChart | None]:
    labelled = dict.fromkeys(name for one in summaries for name in one.labels)
    spread = dict.fromkeys(name for one in summaries for name in one.spreads)
    spreads = [spread_chart(summaries, name, width=width) for name in spread]
    if not labelled:
        return [*spreads]
    labels = [label_chart(summaries, name, width=width) for name in labelled]
    return [*labels, score_chart(summaries, width=width), *spreads]


def _pivots(summaries: Sequence[RunSummary]) -> list[Pivot]:
    found = label_pivots(summaries)
    scores = score_pivot(summaries) if len(summaries) > 1 or found else None
    return [*found, *([scores] if scores else [])]


def _render(**page: Any) -> str:
    from markupsafe import Markup

    style = _part("report.css")
    script = _script()
    environment = _environment()
    # What is marked safe: our own files, SVG with escaped texts, and JSON in which nothing can end the script.
    for name in ("charts", "preference_charts", "standings_charts"):
        page[name] = [tuple(Markup(one) for one in pair) for pair in page[name]]  # noqa: S704  # see above
    page["data"] = Markup(page["data"])  # noqa: S704  # see above
    return environment.get_template("report.html.j2").render(
        style=Markup(style),  # noqa: S704  # see above
        style_hash=_hash(style),
        script=Markup(script),  # noqa: S704  # see above
        script_hash=_hash(script),
        **page,
    )


def _environment() -> jinja2.Environment:
    environment = page_environment()
    environment.filters["value"] = lambda value, share: value_text(value, share=share)
    environment.filters["interval"] = lambda interval, share: interval_text(interval, share=share) or MISSING
    environment.filters["doubt"] = lambda score: doubt_text(score) or MISSING
    environment.filters["kind"] = kind_text
    environment.filters["agreement"] = lambda found, name: consistency_text(name, found)
    environment.filters["count"] = lambda n: f"{n:,}"
    return environment


def _script() -> str:
    hidden = "".join(one if one == "-" else f"\\u{{{ord(one):x}}}" for one in HIDDEN)
    text = "\n".join(_part(name) for name in _SCRIPTS).replace("__HIDDEN__", hidden)
    return f'"use strict";\n(() => {{\n{text}}})();\n'


def _part(name: str) -> str:
    return files("steelyard.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
