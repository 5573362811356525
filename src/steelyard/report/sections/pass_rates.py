"""The section on samples that were asked several times: pass@k and pass^k of the headline score."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import interval_text, score_phrase, value_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import Section, SectionTable, Sentence, TableCell, columns_of


def pass_rates_section(summaries: Sequence[RunSummary], labels: Sequence[str]) -> Section:
    """pass@k and pass^k of each run; empty where no run asked its samples several times.

    Args:
        summaries: of the runs.
        labels: what the page calls each run.
    """
    of_runs = [(label, rate) for label, run in zip(labels, summaries, strict=True) for rate in run.details.pass_rates]
    columns = columns_of("target", "k", "pass@k", "95 % CI", "pass^k", "95 % CI", "samples")
    rows = tuple(
        (
            TableCell(label),
            TableCell(f"{rate.k:,}", value=rate.k),
            *_cells(rate.at_least_one),
            *_cells(rate.each),
            TableCell(f"{rate.each.n:,}", value=rate.each.n),
        )
        for label, rate in of_runs
    )
    scores = ", ".join(dict.fromkeys(score_phrase(rate.score) for _, rate in of_runs))
    caption = f"{scores}: at least one (pass@k) or each (pass^k) of k repeats passes"
    note = Sentence("Means over samples with at least k repeats; intervals by bootstrap over samples.", level="page")
    notes = (note,) if rows else ()
    return Section("Repeats", SectionTable(columns, rows, caption), notes=notes, key="pass_rates")


def _cells(mean: Mean) -> tuple[TableCell, TableCell]:
    return TableCell(value_text(mean.value, share=True), value=mean.value), TableCell(
        interval_text(mean.interval, share=True)
    )
