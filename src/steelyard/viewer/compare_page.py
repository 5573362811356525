"""Runs against a baseline: what may be concluded, the samples that changed (regressions first), then all figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.comparison import compare
from steelyard.analysis.comparison_values import PairComparison
from steelyard.analysis.numbers import p_text
from steelyard.analysis.settings import WordChange, word_changes
from steelyard.errors import ConfigError
from steelyard.escaping import cell_text
from steelyard.report.comparison import comparison_section
from steelyard.report.numbers import one_line, score_title, signed_text
from steelyard.report.regressions import changed_samples
from steelyard.store import Run
from steelyard.viewer.pages import Pages

_CHANGED: Final = 20
"""Changed samples on the page; links lead to all of them."""
_INPUT: Final = 300
_MOST_COMPARED: Final = 4_000
"""Characters of both outputs together, up to which they are compared word by word."""
_CONCLUSIONS: Final = {
    "better": "better than the baseline",
    "worse": "worse than the baseline",
    "no_evidence": "no evidence of a difference",
    "inconclusive": "nothing can be concluded",
    "none": "not comparable",
}


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A sample whose verdict changed, with both outputs as a diff of words."""

    sample: str
    other_sample: str
    change: str
    input: str
    key: str
    before: str
    after: str
    words: tuple[WordChange, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A run against the baseline.

    Args:
        pair: the comparison.
        verdict: in words.
        difference: with its sign, and unit.
        interval: its 95 % CI.
        p: that decides.
        detectable: the smallest difference that such a set would show.
        changes: the first changed samples.
    """

    pair: PairComparison
    verdict: str
    difference: str
    interval: str
    p: str
    detectable: str
    changes: tuple[ShownChange, ...]


def compare_routes(pages: Pages) -> list[Route]:
    """The route of the page."""

    def comparison(request: Request) -> Response:
        wanted = [request.query_params.get("a", ""), *request.query_params.getlist("b")]
        if len(wanted) < 2 or not all(wanted):
            raise ConfigError("choose a baseline and at least one other run: /compare?a=ID&b=ID")
        runs = [pages.run_of(ident) for ident in dict.fromkeys(wanted)]
        _refuse_unlike(runs)
        score = request.query_params.get("score") or None
        compared = compare(*runs, score=score, summaries=[pages.summary(run) for run in runs])
        return pages.page(
            request,
            "compare.html.j2",
            baseline=runs[0],
            pairs=[_shown(runs, pair) for pair in compared.pairs],
            score=compared.score,
            title=score_title(compared.score),
            scores=sorted(set.intersection(*({*run.score_order} for run in runs))),
            section=comparison_section(compared, runs),
            others=[run.id for run in runs[1:]],
        )

    def choose(request: Request) -> Response:
        """A form of the list of runs: the first chosen run is the older one, and thus the baseline."""
        chosen = request.query_params.getlist("run")
        runs = sorted((pages.run_of(ident) for ident in dict.fromkeys(chosen)), key=lambda run: run.num)
        if len(runs) < 2:
            raise ConfigError("choose at least two runs to compare")
        first, *others = (run.id for run in runs)
        target = pages.address("/compare", a=first) + "".join(f"&b={ident}" for ident in others)
        return RedirectResponse(target, 303)

    return [Route("/compare", comparison), Route("/compare/chosen", choose)]


def _refuse_unlike(runs: Sequence[Run]) -> None:
    """Refuse runs of different suites: their scores are about different things.

    Raises:
        ConfigError: with the suites.
    """
    if len(runs) < 2:
        raise ConfigError("a run cannot be compared with itself: choose another one")
    kinds = {(run.suite, run.kind) for run in runs}
    if len({kind for _, kind in kinds}) > 1 or len({suite for suite, _ in kinds}) > 1:
        named = "; ".join(f"{run.target} is of suite {run.suite} ({run.kind})" for run in runs)
        raise ConfigError(f"runs of different suites cannot be compared: {named}")


def _shown(runs: Sequence[Run], pair: PairComparison) -> ShownPair:
    headline = pair.headline
    unit = " points" if headline.unit else ""
    interval = (
        " to ".join(signed_text(end, share=headline.unit) for end in headline.interval) if headline.interval else ""
    )
    detectable = f"{signed_text(headline.detectable, share=headline.unit)}{unit}" if headline.detectable else ""
    return ShownPair(
        pair,
        _CONCLUSIONS[pair.verdict],
        "" if headline.difference is None else f"{signed_text(headline.difference, share=headline.unit)}{unit}",
        interval,
        p_text(headline.decisive_p),
        detectable.lstrip("+"),
        tuple(_changes(runs, pair)),
    )


def _changes(runs: Sequence[Run], pair: PairComparison) -> list[ShownChange]:
    listed = changed_samples(runs, pair, most=_CHANGED)
    outputs = [
        _outputs(run, {sample if run.id == pair.baseline else pair.other_ids.get(sample, sample) for sample in samples})
        for samples in [{change.sample for change in listed}]
        for run in runs
        if run.id in {pair.baseline, pair.other}
    ]
    shown = []
    for change in listed:
        other = pair.other_ids.get(change.sample, change.sample)
        before, after = outputs[0].get(change.sample, ""), outputs[1].get(other, "")
        words = tuple(word_changes(before, after)) if len(before) + len(after) <= _MOST_COMPARED else ()
        shown.append(
            ShownChange(
                change.sample,
                other,
                change.change,
                one_line(change.question, _INPUT),
                change.key,
                change.before,
                change.after,
                words if before != after else (),
                change.reason,
            )
        )
    return shown


def _outputs(run: Run, samples: set[str]) -> dict[str, str]:
    """Sample id -> the output of its first repeat as text."""
    texts: dict[str, str] = {}
    for record in run.records_of(samples):
        texts.setdefault(record.sample.id, cell_text(record.output.value) if record.output else "")
    return texts
