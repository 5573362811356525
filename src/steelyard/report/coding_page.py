"""The page of one error analysis: its progress, error types by target, trials of scorers, proposals of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from steelyard.analysis.numbers import MISSING, count_text, interval_text, percent_text
from steelyard.people.code_scorer import PATTERN, CodeShare, Rate, TrialResult, code_shares, trial_result
from steelyard.people.codings import Coding, read_coding
from steelyard.people.error_codes import CodeScorer, CodingState, ErrorCode, saturation
from steelyard.report.charts.plots import CurveChart
from steelyard.report.page_runs import labels_of_targets
from steelyard.report.run_texts import value_cell
from steelyard.report.section import (
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    non_empty,
    number_cell,
    text_row,
)
from steelyard.store.run import Run
from steelyard.store.store import Store


@dataclass(frozen=True, slots=True)
class CodingPage:
    """The current state of an error analysis: notes, codes, shares, trials.

    Args:
        coding: the draw.
        state: its notes and codes.
        shares: target's label -> id of a code ("" for none) -> its share.
        deleted: ids of runs that were deleted since.
        trials: id of a code -> the result of its scorer on the records; without those whose run was deleted.
    """

    coding: Coding
    state: CodingState
    shares: Mapping[str, Mapping[str, CodeShare]]
    deleted: tuple[str, ...]
    trials: Mapping[str, TrialResult]

    @classmethod
    def of(cls, store: Store, coding: Coding) -> CodingPage:
        """Read an error analysis from the store."""
        state = read_coding(store, coding)
        run_by_id = {run.id: run for run in store.runs()}
        runs = [run_by_id[ident] for ident in coding.drawn if ident in run_by_id]
        shares = {}
        for run, label in zip(runs, labels_of_targets([(run.id, run.target) for run in runs]), strict=True):
            items = [item for item in coding.items if item.run == run.num]
            shares[label] = code_shares(state, items, coding.drawn[run.id]["strata"])
        trials = {
            code.id: trial_result(state, code.id, trial_verdicts(run_by_id[code.scorer.run]))
            for code in state.adopted
            if code.scorer is not None and code.scorer.run in run_by_id
        }
        return cls(coding, state, shares, tuple(ident for ident in coding.drawn if ident not in run_by_id), trials)

    def sections(self) -> tuple[Section, ...]:
        """The page, for any renderer."""
        _, saturated = saturation_chart(self.state)
        return non_empty(
            [
                Section("", notes=(Sentence(self._progress(), "fact"), *self._reservations()), key="progress"),
                codes_section(self.state, self.shares),
                Section("", notes=(Sentence(saturated),) if saturated else (), key="saturation"),
                self._definitions(),
                *(self.trial_section(ident) for ident in self.trials),
                self._proposals(),
            ]
        )

    def trial_section(self, code: str) -> Section:
        """How well the scorer of a code detects the records that people put under it; `code` is its id."""
        labels = {item.num: item.sample for item in self.coding.items}
        return trial_section(self.state.codes[code], self.trials[code], labels)

    def json_fields(self) -> dict[str, Any]:
        """Counts, and each code with its figures."""
        state = self.state
        return {
            "analysis": self.coding.id,
            "author": self.coding.author,
            "created": self.coding.created.isoformat(),
            "drawn": self.coding.drawn,
            "deleted_runs": self.deleted,
            "records": len(self.coding.items),
            "noted": len(state.notes),
            "with_error": sum(state.counts.values()),
            "uncoded": len(state.uncoded),
            "codes": [self._code_fields(code) for code in (*state.adopted, *state.proposed)],
        }

    def _code_fields(self, code: ErrorCode) -> dict[str, Any]:
        shares = {
            label: {
                "notes": by_code[code.id].notes,
                "share": by_code[code.id].share.value,
                "interval": by_code[code.id].share.interval,
            }
            for label, by_code in self.shares.items()
            if code.id in by_code
        }
        plain: dict[str, Any] = {"id": code.id, "name": code.name, "definition": code.definition, "state": code.state}
        plain |= {"author": code.author, "notes": self.state.counts[code.id], "shares": shares}
        if code.state == "proposed":
            plain["items"] = code.proposed_items
        if code.scorer is not None:
            scorer = code.scorer
            plain["scorer"] = {"config": scorer.config, "run": scorer.run, "installed": scorer.installed}
        if code.id in self.trials:
            plain["trial"] = self.trials[code.id]
        return plain

    def _progress(self) -> str:
        noted, errors = len(self.state.notes), sum(self.state.counts.values())
        words = f"{noted:,} of {count_text(len(self.coding.items), 'record')} noted, {errors:,} with an error"
        return f"{words}, {len(self.state.uncoded):,} under no error type yet" if self.state.uncoded else words

    def _reservations(self) -> list[Sentence]:
        return [
            Sentence(f"run {ident} was deleted: its records and the notes on them no longer count", "warning")
            for ident in self.deleted
        ]

    def _definitions(self) -> Section:
        rows = tuple(
            text_row(code.name, code.id, scorer_words(code.scorer), code.definition or "(no definition yet)")
            for code in self.state.adopted
        )
        columns = columns_of("definition of", "id", "scorer", TableColumn("definition", "remark"))
        return Section("Definitions", SectionTable(columns, rows), key="definitions")

    def _proposals(self) -> Section:
        columns = columns_of("proposed", "id", "notes", "by", TableColumn("definition", "remark"))
        rows = tuple(
            text_row(code.name, code.id, str(len(code.proposed_items)), code.author, code.definition)
            for code in self.state.proposed
        )
        notes = (Sentence("A model proposes these; they count once a person adopts them."),) if rows else ()
        return Section("Proposed codes", SectionTable(columns, rows), notes=notes, key="proposals")


def trial_verdicts(run: Run) -> dict[int, bool | None]:
    """Item -> whether the scorer that a run tried finds the error; None without a verdict."""
    verdicts: dict[int, bool | None] = {}
    for record in run.records():
        score = next(iter(record.scores), None)
        value = None if score is None or record.failure is not None else score.value
        verdicts[int(record.sample.metadata["item"])] = None if value is None else value == 0
    return verdicts


def scorer_words(scorer: CodeScorer | None) -> str:
    """The state of a code's scorer, in words."""
    if scorer is None:
        return "none"
    kind = "pattern" if PATTERN in scorer.config else "judge"
    installed = f"installed by {scorer.installed}" if scorer.installed else ""
    return f"{kind}, {installed or ('tried' if scorer.run else 'not tried yet')}"


_FEWEST: Final = 5


def codes_section(state: CodingState, shares: Mapping[str, Mapping[str, CodeShare]]) -> Section:
    """A row per code, a column per target: how many notes, and which share of all its records.

    Args:
        state: of the error analysis.
        shares: target's label -> code's id ("" for none) -> its share.
    """
    several = len(shares) > 1
    columns = [TableColumn("error type", "name")]
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
    interval = " with 95 % CI" if several else ""
    caption = f"Share{interval} of all records with an output, estimated from those that were drawn"
    if not rows:
        return Section("Error types", notes=(Sentence("No note says that something is wrong yet."),), key="codes")
    return Section("Error types", SectionTable(tuple(columns), tuple(rows), caption), key="codes")


def _cells(share: CodeShare) -> tuple[TableCell, ...]:
    """Notes, share and its interval."""
    value = share.share.value
    return (
        number_cell(share.notes),
        value_cell(value, share=True, strong=True),
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
            Sentence(f"{count_text(result.unparsed, 'verdict')} could not be read and are in no rate.", "warning")
        )
    for words, items in (("missed", result.missed), ("false alarms", result.false_alarms)):
        if items:
            notes.append(Sentence(f"{words}: {', '.join(labels.get(item, str(item)) for item in items[:20])}", "fact"))
    return Section(f"{code.name}: the scorer against people", SectionTable(columns, rows), notes=notes)


def _rate_row(name: str, rate: Rate) -> tuple[TableCell, ...]:
    value = rate.hits / rate.n if rate.n else None
    limits = interval_text(rate.interval, share=True) if rate.n else MISSING
    return (
        TableCell(name),
        TableCell(f"{rate.hits:,} of {rate.n:,}"),
        value_cell(value, share=True),
        TableCell(limits),
    )
