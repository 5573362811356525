"""The sections on several answers: pass@k and pass^k of samples asked several times, and the turns of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steelyard.analysis.numbers import interval_text, score_phrase, score_title
from steelyard.analysis.scores.score_summary_values import ScoreSummary, TurnSummary
from steelyard.plain_json import grouped
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import figure_cells, value_cell
from steelyard.report.section import (
    Section,
    SectionTable,
    Sentence,
    TableCell,
    columns_of,
    number_cell,
    text_row,
)


def pass_rates_section(runs: PageRuns) -> Section:
    """pass@k and pass^k of each run; empty where no run asked its samples several times."""
    of_runs = [(label, rate) for label, summary in runs for rate in summary.details.pass_rates]
    columns = columns_of("target", "k", "pass@k", "95 % CI", "pass^k", "95 % CI", "samples")
    rows = tuple(
        (
            TableCell(label),
            number_cell(rate.k),
            *figure_cells(rate.at_least_one, share=True),
            *figure_cells(rate.each, share=True),
            number_cell(rate.each.n),
        )
        for label, rate in of_runs
    )
    scores = ", ".join(dict.fromkeys(score_phrase(rate.score) for _, rate in of_runs))
    caption = f"{scores}: at least one (pass@k) or each (pass^k) of k repeats passes"
    note = Sentence("Means over samples with at least k repeats; intervals by bootstrap over samples.", level="page")
    notes = (note,) if rows else ()
    return Section("Repeats", SectionTable(columns, rows, caption), notes=notes, key="pass_rates")


_COUNTS: Final = ("not applicable", "unreadable", "refused")
_MOST_TURNS: Final = 12
"""Turn numbers that a table shows; few conversations have more."""


def turns_section(runs: PageRuns) -> Section:
    """The rates over all turns of each run; empty where no run has scores of turns."""
    by_score = grouped((turns.score.name, (label, turns)) for label, summary in runs for turns in summary.details.turns)
    columns = columns_of("turn", "mean", "95 % CI", "conversations", *_COUNTS)
    parts = []
    for score, by_run in by_score.items():
        title, note = score_title(score), Sentence(_NOTE, level="page")
        parts.append(Section(f"{title}: all turns", _all_turns(by_run), notes=(note,)))
        parts += [
            Section(
                f"{title} by turn: {label}",
                SectionTable(columns, tuple(_row(turn.group, turn)[:-1] for turn in turns.by_turn[:_MOST_TURNS])),
                notes=_hidden_turns(turns),
                level="page",
            )
            for label, turns in by_run
            if len(turns.by_turn) > 1
        ]
    return Section("Turns of conversations", parts=parts, key="turns")


_NOTE: Final = "Intervals treat the turns of a conversation, and its repeats, as dependent."


def _all_turns(by_run: Sequence[tuple[str, TurnSummary]]) -> SectionTable:
    columns = columns_of("target", "mean", "95 % CI", "turns", "conversations", *_COUNTS, "errors")
    rows = []
    for name, turns in by_run:
        mean, *cells = _row(name, turns.score)
        rows.append((mean, *cells[:3], number_cell(turns.conversations), *cells[3:]))
    return SectionTable(columns, tuple(rows), "Means over all turns")


def _row(name: str, score: ScoreSummary) -> tuple[TableCell, ...]:
    mean, share = score.headline, score.is_share
    return (
        TableCell(name),
        value_cell(mean.value, share=share, strong=True),
        *text_row(interval_text(mean.interval, share=share)),
        number_cell(mean.n),
        *text_row(*(f"{n:,}" for n in (score.not_applicable, score.unparsed, score.refused, score.errors))),
    )


def _hidden_turns(turns: TurnSummary) -> tuple[Sentence, ...]:
    more = len(turns.by_turn) - _MOST_TURNS
    return (Sentence(f"{more} later turns are not shown.", "note"),) if more > 0 else ()
