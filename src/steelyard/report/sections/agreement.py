"""The section on raters: the mean of each judge or person, and how far each two of them agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from steelyard.analysis.judges.findings import Agreement, RaterPair
from steelyard.analysis.numbers import count_text, interval_text, score_phrase, value_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import Section, SectionTable, Sentence, TableCell, TableColumn, columns_of
from steelyard.report.sections.figures import figure_cell, figure_cells, section_of_runs

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

    def parts_of(summary: RunSummary, of_run: str) -> Iterator[Section]:
        for agreement in summary.raters.agreement:
            yield from rater_sections(agreement, of_run)

    return section_of_runs("Agreement of raters", "agreement", (summaries, labels), parts_of)


def rater_sections(agreement: Agreement, of_run: str = "") -> list[Section]:
    """The raters of one thing and how far each two agree.

    Args:
        agreement: of the raters.
        of_run: text that is added to headings where there are several runs.
    """
    rated = score_phrase(agreement.rated)
    return [
        Section(f"Raters of {rated}{of_run}", _raters(agreement)),
        Section(f"Agreement on {rated}{of_run}", _pairs(agreement), notes=tuple(_notes(agreement))),
    ]


def _raters(agreement: Agreement) -> SectionTable:
    rows = tuple(
        (
            TableCell(_shown(agreement, rater.name)),
            TableCell("scorer" if rater.kind == "score" else "labels"),
            *figure_cells(rater.mean, share=agreement.share, strong=True),
            TableCell(f"{rater.n:,}"),
        )
        for rater in agreement.raters
    )
    columns = columns_of("rater", TableColumn("rated by", "text"), "mean", "95 % CI", "n")
    return SectionTable(columns, rows, "Mean of the samples that each person labelled")


def _pairs(agreement: Agreement) -> SectionTable:
    rows = tuple(
        (
            TableCell(_names(agreement, pair)),
            TableCell(f"{pair.n:,}"),
            TableCell(value_text(pair.equal, share=True), value=pair.equal),
            *(figure_cell(coefficient, share=False) for coefficient in pair.coefficients),
        )
        for pair in agreement.pairs
    )
    columns = columns_of("raters", "n", "equal", *_COLUMNS[agreement.scale])
    return SectionTable(columns, rows, "With 95 % CI; n is the records that both rated")


def _shown(agreement: Agreement, rater: str) -> str:
    """A rater's name without the score's name, which is in the heading: the name of the judge or person."""
    return rater.removeprefix(f"{agreement.rated}_")


def _names(agreement: Agreement, pair: RaterPair) -> str:
    return f"{_shown(agreement, pair.first)} / {_shown(agreement, pair.second)}"


def alpha_text(agreement: Agreement) -> str:
    """Krippendorff's alpha with its interval; "" where it is not defined."""
    alpha = agreement.alpha
    limits = f" ({interval_text(alpha.interval, share=False)})" if alpha.interval else ""
    return "" if alpha.value is None else f"{value_text(alpha.value, share=False)}{limits}"


def _notes(agreement: Agreement) -> Iterator[Sentence]:
    alpha = agreement.alpha
    value = alpha_text(agreement)
    text = f"{value}, {agreement.scale}, {count_text(alpha.n, 'record')}" if value else alpha.reason
    yield Sentence(text, "fact", "Krippendorff's alpha")
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
