"""The conclusions of a page: a large figure per run or pair of runs, coloured by the verdict, with its sentence.

Sentence and warnings appear only here; other sections show the figures behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steelyard.analysis.comparison.comparison_values import CLAIMS, Comparison, PairComparison, Verdict
from steelyard.analysis.comparison.comparison_wording import change_text
from steelyard.analysis.numbers import (
    MISSING,
    interval_text,
    percent_text,
    score_phrase,
    value_text,
)
from steelyard.analysis.preferences.preferences_values import Preferences
from steelyard.analysis.preferences.preferences_wording import leaves_side_open, shared_notes
from steelyard.analysis.preferences.standings import Standings
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import below_figure
from steelyard.report.section import ConclusionState, KeyFigure, Section, sentences

_MOST_LARGE: Final = 3
"""Most preferences that are shown large; more, such as all pairs of ten targets, are lines of a table."""


def conclusion_section(
    runs: PageRuns,
    comparison: Comparison | None,
    *,
    preferred: Sequence[Preferences] = (),
    standings: Standings | None = None,
    saved: str = "",
) -> Section:
    """The conclusions of a page.

    Args:
        runs: those that have scores; where they are compared those of the comparison, the baseline first.
        comparison: None where they are not compared.
        preferred: which of two targets is preferred, pair by pair.
        standings: the ranking of all targets; None where there is only one pair.
        saved: how many calls were not sent as a rule ended the runs.
    """
    figures = pair_figures(comparison, runs.labels) if comparison else run_figures(runs)
    is_grid = comparison is not None and comparison.shown_grid is not None
    warnings: tuple[str, ...] = ()
    if is_grid:  # it has its own conclusion, and one note for what is true of several pairs
        warnings = tuple(dict.fromkeys(warning for figure in figures for warning in figure.warnings))
        figures = ()
    large = preference_figures(preferred) if len(preferred) <= _MOST_LARGE else ()
    lines, shared = ((), ()) if large else ([pair.sentence for pair in preferred], shared_notes(preferred))
    groups = comparison.only_groups if comparison else ()
    notes = (
        *sentences([f"Only samples of {' and '.join(groups)}." if groups else ""]),
        *sentences([standings.sentence if standings else ""], "conclusion"),
        *sentences(lines, "conclusion", level="page"),
        *sentences([*own_decisions(runs.summaries, comparison), saved], "conclusion"),
        *sentences(relative_gains(comparison, runs.labels) if comparison and not is_grid else (), "fact"),
        *sentences([*warnings, *shared, *(standings.notes if standings else ())], "warning"),
        *sentences(comparison.notes if comparison and not is_grid else (), level="detail"),
    )
    return Section("Result", notes=notes, figures=(*large, *figures), key="conclusion")


def run_figures(runs: PageRuns) -> tuple[KeyFigure, ...]:
    """The headline of every run with its 95 % CI, but not of runs with a stopping rule: they have sentences."""
    return tuple(run_figure(summary, label) for label, summary in runs if not summary.stopping)


def run_figure(summary: RunSummary, label: str) -> KeyFigure:
    """The headline of a run as a figure, with its 95 % CI or with what a stopping rule decided."""
    score = summary.score()
    figure = value_text(score.headline.value, share=score.is_share) if score else MISSING
    if summary.stopping:
        return KeyFigure(label, figure, "value", "", summary.stopping.sentence)
    limits = interval_text(score.headline.interval, share=score.is_share) if score else ""
    return KeyFigure(label, figure, "value", "", below_figure(summary), interval=f"95 % CI {limits}" if limits else "")


def preference_figures(preferred: Sequence[Preferences]) -> tuple[KeyFigure, ...]:
    """How often the preferred target of every pair won, or the first one where none is."""
    figures = []
    for pair in preferred:
        (name, rate), (other, others) = (pair.first, pair.rate), (pair.second, pair.rate.complement())
        if pair.verdict == "B":
            (name, rate), (other, others) = (other, others), (name, rate)
        verdict: Verdict = "inconclusive" if pair.verdict == "none" or leaves_side_open(pair.bounds) else "no_evidence"
        is_decided = pair.verdict in {"A", "B"}
        words = f"{name} is preferred" if is_decided else CLAIMS[verdict]
        state: ConclusionState = "value" if is_decided else verdict
        of_pairs = "of all pairs, ties as half" if pair.stopping else "of decided pairs"
        title = f"{pair.title}: won by {name}, {of_pairs} (by {other} {percent_text(others.value)})"
        figures.append(KeyFigure(title, percent_text(rate.value), state, words, pair.sentence, warnings=pair.warnings))
    return tuple(figures)


def pair_figures(comparison: Comparison, labels: Sequence[str]) -> tuple[KeyFigure, ...]:
    """The difference of every run to the baseline, with its unit and its verdict in words.

    Args:
        comparison: of a baseline with other runs.
        labels: what the page calls them, the baseline first.
    """
    return tuple(
        KeyFigure(
            name,
            difference_text(pair),
            pair.verdict,
            pair.conclusion.claim,
            pair.conclusion.sentence,
            labels[0],
            warnings=pair.warnings,
        )
        for name, pair in zip(labels[1:], comparison.pairs, strict=True)
    )


def relative_gains(comparison: Comparison, labels: Sequence[str]) -> list[str]:
    """The relative gain over the first rate, for each run whose target differs from the first one's by one tag alone.

    Args:
        comparison: of a baseline with other runs.
        labels: what the page calls them, the baseline first.
    """
    first = comparison.baseline.tags
    sentences_of_runs = []
    for label, other, pair in zip(labels[1:], comparison.others, comparison.pairs, strict=True):
        changed = [tag for tag in {**first, **other.tags} if first.get(tag) != other.tags.get(tag)]
        difference = pair.headline
        if len(changed) != 1 or difference.relative is None or not difference.unit:
            continue
        (tag,) = changed
        before, after = (value_text(rate, share=True) for rate in (difference.baseline, difference.other))
        values = f"{first.get(tag, MISSING)} to {other.tags.get(tag, MISSING)}"
        sentences_of_runs.append(
            f"{label}: with {tag.replace('_', ' ')} from {values}, {score_phrase(pair.score)} goes from {before} to "
            f"{after}: Δ {100 * difference.relative:+.1f} % of the first."
        )
    return sentences_of_runs


def difference_text(pair: PairComparison) -> str:
    """A difference with its sign and its unit; a dash where there is none."""
    return MISSING if pair.headline.difference is None else change_text(pair.headline)


def own_decisions(summaries: Sequence[RunSummary], comparison: Comparison | None) -> list[str]:
    """Decisions of stopping rules, run by run; those against another run are in the comparison's sentences."""
    return [
        f"{summary.target}: {summary.stopping.sentence}"
        for summary in summaries
        if summary.stopping and not (comparison and summary.stopping.against)
    ]
