"""The section on raters: what each judge or person says on average, and how far each two of them agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from steelyard.analysis.numbers import score_phrase
from steelyard.analysis.rater_agreement_values import Agreement, RaterPair
from steelyard.analysis.summary_values import RunSummary
from steelyard.report.numbers import MISSING, counted, interval_text, value_text
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
        for found in summary.agreement
        for part in _parts(found, f" ({label})" if several else "")
    ]
    return Section("Agreement of raters", parts=non_empty(parts), key="agreement")


def rater_sections(found: Agreement) -> list[Section]:
    """The raters of one thing and how far each two agree."""
    return list(_parts(found, ""))


def _parts(found: Agreement, run: str) -> Iterator[Section]:
    rated = score_phrase(found.rated)
    yield Section(f"Raters of {rated}{run}", _raters(found))
    yield Section(f"Agreement on {rated}{run}", _pairs(found), notes=tuple(_notes(found)))


def _raters(found: Agreement) -> SectionTable:
    columns = (
        TableColumn("rater", "name", f"{score_phrase(found.rated)}: rater"),
        TableColumn("rated by", "text"),
        TableColumn("mean"),
        TableColumn("95 % CI", "interval"),
        TableColumn("n"),
    )
    rows = []
    for rater in found.raters:
        value, interval = (rater.mean.value, rater.mean.interval) if rater.mean else (None, None)
        rows.append(
            (
                TableCell(_shown(found, rater.name)),
                TableCell("scorer" if rater.kind == "score" else "labels"),
                TableCell(value_text(value, share=found.share), strong=True, value=value),
                *text_row(interval_text(interval, share=found.share) or MISSING, f"{rater.n:,}"),
            )
        )
    return SectionTable(columns, tuple(rows), "Each mean is over what its rater rated")


def _pairs(found: Agreement) -> SectionTable:
    columns = (
        TableColumn("raters", "name", f"{score_phrase(found.rated)}: raters"),
        TableColumn("n"),
        TableColumn("equal"),
        *(TableColumn(head) for head in _COLUMNS[found.scale]),
    )
    rows = [
        (
            TableCell(_names(found, pair)),
            TableCell(f"{pair.n:,}"),
            TableCell(value_text(pair.equal, share=True), value=pair.equal),
            *(_coefficient(each, place) for place, each in enumerate(pair.coefficients)),
        )
        for pair in found.pairs
    ]
    return SectionTable(columns, tuple(rows), "With 95 % CI; n is the records that both rated")


def _shown(found: Agreement, rater: str) -> str:
    """A rater's name without that of the score, which the heading has: the judge's name, or the person's."""
    return rater.removeprefix(f"{found.rated}_")


def _names(found: Agreement, pair: RaterPair) -> str:
    return f"{_shown(found, pair.first)} / {_shown(found, pair.second)}"


def _coefficient(found: Coefficient, place: int) -> TableCell:
    """A coefficient with its interval; a terminal has room for that of the first."""
    value = value_text(found.value, share=False)
    return TableCell(value, _limits(found), value if place else "", value=found.value)


def _limits(found: Coefficient) -> str:
    return interval_text(found.interval, share=False)


def _notes(found: Agreement) -> Iterator[Sentence]:
    alpha = found.alpha
    limits = f" ({_limits(alpha)})" if alpha.interval else ""
    value = f"{value_text(alpha.value, share=False)}{limits}, {found.scale}, {counted(alpha.n, 'record')}"
    yield Sentence(value if alpha.value is not None else alpha.reason, "fact", "Krippendorff's alpha")
    for pair in found.pairs:
        reasons = dict.fromkeys(coefficient.reason for coefficient in pair.coefficients if coefficient.reason)
        yield from (Sentence(f"{_names(found, pair)}: {reason}") for reason in reasons)
    undefined = max((coefficient.undefined for pair in found.pairs for coefficient in pair.coefficients), default=0)
    if undefined:
        resamples = max(coefficient.resamples for pair in found.pairs for coefficient in pair.coefficients)
        yield Sentence(
            f"in up to {undefined:,} of {resamples:,} resamples a coefficient is not defined (all ratings equal): "
            "its interval is made of the others"
        )
    yield from _one_sided(found)


def _one_sided(found: Agreement) -> Iterator[Sentence]:
    """Records that only one of two raters rated say nothing of agreement, but may be the difficult ones."""
    most = max(found.pairs, key=lambda pair: pair.one_only)
    if most.one_only:
        names = " and ".join((_shown(found, most.first), _shown(found, most.second)))
        yield Sentence(
            f"{counted(most.one_only, 'record')} that only one of {names} rated, left out of their agreement"
        )
