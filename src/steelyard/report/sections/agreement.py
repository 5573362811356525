"""The section on raters: the mean of each judge or person, and how far each two of them agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from steelyard.analysis.judges.findings import Agreement, RaterPair
from steelyard.analysis.numbers import MISSING, count_text, interval_text, score_phrase, value_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import (
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    non_empty,
    text_row,
)

if TYPE_CHECKING:
    from steelyard.stats.rating_bootstrap import Coefficient

_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "nominal": ("Cohen's kappa",),
        "ordinal": ("weighted kappa", "Spearman", "Pearson"),
        "interval": ("Pearson", "Spearman"),
    }
)
"""Heads of the coefficients of a pair, in their order; the weights of the weighted kappa are quadratic."""


def agreement_section(summaries: Sequence[RunSummary], labels: Sequence[str]) -> Section:
    """The raters of each run and how far they agree; empty where no two rated the same thing.

    Args:
        summaries: of the runs.
        labels: what the page calls each run.
    """
    several = len(summaries) > 1
    parts = [
        part
        for summary, label in zip(summaries, labels, strict=True)
        for agreement in summary.raters.agreement
        for part in _parts(agreement, f" ({label})" if several else "")
    ]
    return Section("Agreement of raters", parts=non_empty(parts), key="agreement")


def rater_sections(agreement: Agreement) -> list[Section]:
    """The raters of one thing and how far each two agree."""
    return list(_parts(agreement, ""))


def _parts(agreement: Agreement, run: str) -> Iterator[Section]:
    rated = score_phrase(agreement.rated)
    yield Section(f"Raters of {rated}{run}", _raters(agreement))
    yield Section(f"Agreement on {rated}{run}", _pairs(agreement), notes=tuple(_notes(agreement)))


def _raters(agreement: Agreement) -> SectionTable:
    columns = (
        TableColumn("rater", "name"),
        TableColumn("rated by", "text"),
        TableColumn("mean"),
        TableColumn("95 % CI", "interval"),
        TableColumn("n"),
    )
    rows = []
    for rater in agreement.raters:
        value, interval = (rater.mean.value, rater.mean.interval) if rater.mean else (None, None)
        rows.append(
            (
                TableCell(_shown(agreement, rater.name)),
                TableCell("scorer" if rater.kind == "score" else "labels"),
                TableCell(value_text(value, share=agreement.share), strong=True, value=value),
                *text_row(interval_text(interval, share=agreement.share) or MISSING, f"{rater.n:,}"),
            )
        )
    return SectionTable(columns, tuple(rows), "Each mean is over the records that its rater rated")


def _pairs(agreement: Agreement) -> SectionTable:
    columns = (
        TableColumn("raters", "name"),
        TableColumn("n"),
        TableColumn("equal"),
        *(TableColumn(head) for head in _COLUMNS[agreement.scale]),
    )
    rows = [
        (
            TableCell(_names(agreement, pair)),
            TableCell(f"{pair.n:,}"),
            TableCell(value_text(pair.equal, share=True), value=pair.equal),
            *map(_coefficient, pair.coefficients),
        )
        for pair in agreement.pairs
    ]
    return SectionTable(columns, tuple(rows), "With 95 % CI; n is the records that both rated")


def _shown(agreement: Agreement, rater: str) -> str:
    """A rater's name without the score's name, which is in the heading: the name of the judge or person."""
    return rater.removeprefix(f"{agreement.rated}_")


def _names(agreement: Agreement, pair: RaterPair) -> str:
    return f"{_shown(agreement, pair.first)} / {_shown(agreement, pair.second)}"


def _coefficient(coefficient: Coefficient) -> TableCell:
    text, limits = value_text(coefficient.value, share=False), _limits(coefficient)
    return TableCell(text, (limits,) if limits else (), value=coefficient.value)


def _limits(coefficient: Coefficient) -> str:
    return interval_text(coefficient.interval, share=False)


def _notes(agreement: Agreement) -> Iterator[Sentence]:
    alpha = agreement.alpha
    limits = f" ({interval_text(alpha.interval, share=False)})" if alpha.interval else ""
    value = f"{value_text(alpha.value, share=False)}{limits}, {agreement.scale}, {count_text(alpha.n, 'record')}"
    yield Sentence(value if alpha.value is not None else alpha.reason, "fact", "Krippendorff's alpha")
    for pair in agreement.pairs:
        reasons = dict.fromkeys(coefficient.reason for coefficient in pair.coefficients if coefficient.reason)
        yield from (Sentence(f"{_names(agreement, pair)}: {reason}") for reason in reasons)
    undefined = max((coefficient.undefined for pair in agreement.pairs for coefficient in pair.coefficients), default=0)
    if undefined:
        resamples = max(coefficient.resamples for pair in agreement.pairs for coefficient in pair.coefficients)
        yield Sentence(
            f"in up to {undefined:,} of {resamples:,} resamples a coefficient is not defined (all ratings equal): "
            "its interval is computed from the others"
        )
    yield from _one_sided(agreement)


def _one_sided(agreement: Agreement) -> Iterator[Sentence]:
    """A note on records that only one of two raters rated: not in the agreement, but perhaps the difficult ones."""
    most = max(agreement.pairs, key=lambda pair: pair.one_only)
    if most.one_only:
        names = " and ".join((_shown(agreement, most.first), _shown(agreement, most.second)))
        yield Sentence(
            f"{count_text(most.one_only, 'record')} that only one of {names} rated, left out of their agreement"
        )
