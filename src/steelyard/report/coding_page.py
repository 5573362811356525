"""The page of one error analysis: its progress, its codes and their scorers, and the proposals of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.numbers import count_text
from steelyard.people.code_scorer import CodeShare, TrialResult, code_shares, trial_result
from steelyard.people.codings import Coding, read_coding
from steelyard.people.error_codes import CodeScorer, CodingState, ErrorCode
from steelyard.report.section import Section, SectionTable, Sentence, TableColumn, columns_of, non_empty, text_row
from steelyard.report.sections.error_codes import codes_section, run_labels_of, saturation_chart, trial_section
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
        for run, label in zip(runs, run_labels_of([(run.id, run.target) for run in runs]), strict=True):
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
            text_row(code.name, code.id, _scorer_words(code.scorer), code.definition or "(no definition yet)")
            for code in self.state.adopted
        )
        columns = (
            TableColumn("definition of", "name"),
            TableColumn("id", "text"),
            TableColumn("scorer", "text"),
            TableColumn("definition", "remark"),
        )
        return Section("Definitions", SectionTable(columns, rows), key="definitions")

    def _proposals(self) -> Section:
        columns = columns_of(
            "proposed",
            TableColumn("id", "text"),
            "notes",
            TableColumn("by", "text"),
            TableColumn("definition", "remark"),
        )
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


def _scorer_words(scorer: CodeScorer | None) -> str:
    if scorer is None:
        return "none"
    kind = "pattern" if "error_pattern" in scorer.config else "judge"
    return f"{kind}, {'installed' if scorer.installed else 'tried' if scorer.run else 'not tried yet'}"
