"""The sections on several answers: pass@k and pass^k of samples asked several times, and the turns of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import interval_text, score_phrase, score_title, value_text
from steelyard.analysis.scores.score_summary_values import ScoreSummary, TurnSummary
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import (
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    non_empty,
    text_row,
)


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


_MOST_TURNS: Final = 12
"""Turn numbers that a table shows; few conversations have more."""


def turns_section(summaries: Sequence[RunSummary], labels: Sequence[str]) -> Section:
    """The rates over all turns of each run; empty where no run has scores of turns.

    Args:
        summaries: of the runs.
        labels: what the page calls each run.
    """
    by_score: dict[str, list[tuple[str, TurnSummary]]] = {}
    for summary, label in zip(summaries, labels, strict=True):
        for turns in summary.details.turns:
            by_score.setdefault(turns.score.name, []).append((label, turns))
    parts = []
    for score, by_run in by_score.items():
        title, note = score_title(score), Sentence(_NOTE, level="page")
        parts.append(Section(f"{title}: all turns", _all_turns(by_run), notes=(note,)))
        parts += [
            Section(
                f"{title} by turn: {label}",
                _by_turn(turns.by_turn[:_MOST_TURNS]),
                notes=_hidden_turns(turns),
                level="page",
            )
            for label, turns in by_run
            if len(turns.by_turn) > 1
        ]
    return Section("Turns of conversations", parts=non_empty(parts), key="turns")


_NOTE: Final = "Intervals treat the turns of a conversation, and its repeats, as dependent."


def _all_turns(by_run: Sequence[tuple[str, TurnSummary]]) -> SectionTable:
    columns = columns_of(
        "target",
        "mean",
        "95 % CI",
        "turns",
        "conversations",
        TableColumn("not applicable", count=True),
        TableColumn("unreadable", count=True),
        TableColumn("refused", count=True),
        TableColumn("errors", count=True),
    )
    rows = []
    for name, turns in by_run:
        mean, *cells = _row(name, turns.score)
        rows.append((mean, *cells[:3], TableCell(f"{turns.conversations:,}", value=turns.conversations), *cells[3:]))
    return SectionTable(columns, tuple(rows), "Means over all turns")


def _by_turn(scores: Sequence[ScoreSummary]) -> SectionTable:
    columns = columns_of(
        "turn",
        "mean",
        "95 % CI",
        "conversations",
        TableColumn("not applicable", count=True),
        TableColumn("unreadable", count=True),
        TableColumn("refused", count=True),
    )
    return SectionTable(columns, tuple(_row(score.group, score)[:-1] for score in scores))


def _row(name: str, score: ScoreSummary) -> tuple[TableCell, ...]:
    mean, share = score.headline, score.is_share
    return (
        TableCell(name),
        TableCell(value_text(mean.value, share=share), strong=True, value=mean.value),
        *text_row(interval_text(mean.interval, share=share)),
        TableCell(f"{mean.n:,}", value=mean.n),
        *text_row(*(f"{n:,}" for n in (score.not_applicable, score.unparsed, score.refused, score.errors))),
    )


def _hidden_turns(turns: TurnSummary) -> tuple[Sentence, ...]:
    more = len(turns.by_turn) - _MOST_TURNS
    return (Sentence(f"{more} later turns are not shown.", "note"),) if more > 0 else ()
