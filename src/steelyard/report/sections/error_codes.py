"""The sections of an error analysis: error types by target, whether notes bring new ones, and trials of scorers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from steelyard.analysis.numbers import MISSING, count_text, interval_text, percent_text, value_text
from steelyard.people.code_scorer import CodeShare, Rate, TrialResult
from steelyard.people.error_codes import CodingState, ErrorCode, saturation
from steelyard.report.charts.curve import CurveChart
from steelyard.report.section import (
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
)

_FEWEST: Final = 5


def codes_section(state: CodingState, shares: Mapping[str, Mapping[str, CodeShare]]) -> Section:
    """A row per code, a column per target: how many notes, and which share of all its records.

    Args:
        state: of the error analysis.
        shares: target's label -> code's id ("" for none) -> its share.
    """
    several = len(shares) > 1
    columns = [TableColumn("code", "name")]
    for target in shares:
        columns += (
            [TableColumn(target, series=True)]
            if several
            else [TableColumn("notes"), TableColumn("share"), TableColumn("95 % CI", "interval")]
        )
    named = [(code.id, code.name) for code in state.adopted]
    if state.uncoded:
        named.append(("", "under no error type yet"))
    cells_of = _joined_cell if several else _cells
    rows = [
        (TableCell(name), *(cell for by_code in shares.values() for cell in cells_of(by_code[ident])))
        for ident, name in named
    ]
    caption = "Share of all records of the target that have an output, weighted back from the strata that were drawn"
    if not rows:
        return Section("Error types", notes=(Sentence("No note says that something is wrong yet."),), key="codes")
    return Section("Error types", SectionTable(tuple(columns), tuple(rows), caption), key="codes")


def _cells(share: CodeShare) -> tuple[TableCell, ...]:
    """Notes, share and its interval."""
    value = share.share.value
    return (
        TableCell(f"{share.notes:,}", value=share.notes),
        TableCell(value_text(value, share=True), strong=True, value=value),
        TableCell(MISSING if value is None else interval_text(share.share.interval, share=True)),
    )


def _joined_cell(share: CodeShare) -> tuple[TableCell, ...]:
    """The three in one cell, as there is no space for three columns per target."""
    _, value, limits = _cells(share)
    return (replace(value, more=(limits.text, count_text(share.notes, "note"))),)


def saturation_chart(state: CodingState) -> tuple[CurveChart | None, str]:
    """How the number of codes grows with the notes, and a sentence on it; None and "" for fewer than five notes."""
    notes = sorted((note for note in state.notes.values() if note.text and note.code), key=lambda note: note.num)
    curve = saturation([note.code for note in notes])
    if curve is None or len(notes) < _FEWEST:
        return None, ""
    words = f"{count_text(curve.seen[-1], 'error type')} after {count_text(len(notes), 'note')}"
    sentence = (
        f"{words}; about {percent_text(curve.next_is_new, 0)} of further notes would need a new error type (Good 1953)."
        " Where the expected line is still rising, reading more records will find more kinds of errors."
    )
    series = (("seen", tuple(map(float, curve.seen))), ("expected", curve.expected))
    return CurveChart(
        "Do further notes bring new error types?", words, "notes", "distinct error types", series
    ), sentence


def trial_section(code: ErrorCode, result: TrialResult, labels: Mapping[int, str]) -> Section:
    """How well the scorer of a code detects the records that people put under it.

    Args:
        code: with its scorer.
        result: of its trial.
        labels: item -> the sample's id.
    """
    columns = columns_of("", "n", "rate", "95 % CI")
    rows = (
        _rate_row("under the code: found (TPR)", result.tpr),
        _rate_row("not under it: left alone (TNR)", result.tnr),
    )
    notes = [Sentence("Records that the scorer contains as examples are left out.", "note")] if result.examples else []
    if result.unparsed:
        notes.append(
            Sentence(f"{count_text(result.unparsed, 'verdict')} could not be parsed and are in no rate.", "warning")
        )
    for words, items in (("missed", result.missed), ("false alarms", result.false_alarms)):
        if items:
            notes.append(Sentence(f"{words}: {', '.join(labels.get(item, str(item)) for item in items[:20])}", "fact"))
    return Section(f"{code.name}: the scorer against people", SectionTable(columns, rows), notes=tuple(notes))


def _rate_row(name: str, rate: Rate) -> tuple[TableCell, ...]:
    value = rate.hits / rate.n if rate.n else None
    limits = interval_text(rate.interval, share=True) if rate.n else MISSING
    return (
        TableCell(name),
        TableCell(f"{rate.hits:,} of {rate.n:,}"),
        TableCell(value_text(value, share=True), value=value),
        TableCell(limits),
    )


def run_labels_of(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Target's name of each (id, target); with the id where a target has several runs."""
    targets = [target for _, target in runs]
    return [target if targets.count(target) == 1 else f"{target} ({ident})" for ident, target in runs]
