"""What a page concludes: a large figure per run or pair of runs, coloured by the verdict, with its sentence.

The sentence stands here only: the sections below show what is behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from steelyard.analysis.summary_values import RunSummary
from steelyard.report.numbers import MISSING, headline, signed_text, value_text
from steelyard.report.section import (
    HTML,
    MARKDOWN,
    PAGES,
    ConclusionState,
    KeyFigure,
    Section,
    sentences,
)

if TYPE_CHECKING:
    from steelyard.analysis.comparison_values import Comparison, PairComparison

VERDICT_WORDS: Final[Mapping[ConclusionState, str]] = MappingProxyType(
    {
        "better": "▲ improvement",
        "worse": "▼ regression",
        "no_evidence": "cannot tell: no evidence of a difference",
        "inconclusive": "nothing can be concluded",
        "none": "not comparable",
    }
)


def conclusion_section(
    summaries: Sequence[RunSummary],
    comparison: Comparison | None,
    labels: Sequence[str],
    *,
    preferred: Sequence[str] = (),
    saved: str = "",
) -> Section:
    """The conclusions of a page; a terminal shows them with their sections.

    Args:
        summaries: of the runs that have scores.
        comparison: of these runs, the baseline first; None where they are not compared.
        labels: what the page calls these runs.
        preferred: sentences about preferences.
        saved: how many calls were not sent as a rule ended the runs.
    """
    figures = pair_figures(comparison, labels) if comparison else run_figures(summaries, labels)
    warnings = [text for pair in comparison.pairs for text in pair.warnings] if comparison else []
    n = len(warnings)
    first = f"Before believing this, read the {n} warning{'s' * (n > 1)} under Comparison." if n else ""
    notes = (
        *sentences(preferred, "conclusion"),
        *sentences([figure.sentence for figure in figures], "conclusion", media=MARKDOWN),
        *sentences([*own_decisions(summaries, comparison), saved], "conclusion"),
        *sentences([first, *(comparison.notes if comparison else ())], "warning", media=HTML),
        *sentences(warnings, "warning", media=MARKDOWN),
    )
    return Section("What may be concluded", notes=notes, figures=figures, key="conclusion", media=PAGES)


def run_figures(summaries: Sequence[RunSummary], labels: Sequence[str]) -> tuple[KeyFigure, ...]:
    """The headline of every run; of one that a stopping rule ended, its decision says it."""
    return tuple(
        KeyFigure(label, _headline_value(summary), "value", "", headline(summary))
        for label, summary in zip(labels, summaries, strict=True)
        if not summary.stopping
    )


def _headline_value(summary: RunSummary) -> str:
    score = summary.score()
    return value_text(score.headline.value, share=score.is_share) if score else MISSING


def pair_figures(comparison: Comparison, labels: Sequence[str]) -> tuple[KeyFigure, ...]:
    """The difference of every run to the baseline, with its unit and its verdict in words.

    Args:
        comparison: of a baseline with other runs.
        labels: what the page calls them, the baseline first.
    """
    return tuple(
        KeyFigure(name, difference_text(pair), pair.verdict, VERDICT_WORDS[pair.verdict], pair.sentence, labels[0])
        for name, pair in zip(labels[1:], comparison.pairs, strict=True)
    )


def difference_text(pair: PairComparison) -> str:
    """A difference with its sign and its unit; a dash where there is none."""
    headline_difference = pair.headline
    if headline_difference.difference is None:
        return MISSING
    share = headline_difference.unit
    return f"{signed_text(headline_difference.difference, share=share)}{' points' if share else ''}"


def own_decisions(summaries: Sequence[RunSummary], comparison: Comparison | None) -> list[str]:
    """Decisions of stopping rules, run by run; those against another run are in the comparison's sentences."""
    return [
        f"{summary.target}: {summary.stopping.sentence}"
        for summary in summaries
        if summary.stopping and not (comparison and summary.stopping.against)
    ]
