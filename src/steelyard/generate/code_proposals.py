"""Codes that a model proposes for the notes of an error analysis; they count once a person adopts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from steelyard.analysis.label_forms import MODEL
from steelyard.errors import ConfigError
from steelyard.generate.code_trial import KIND
from steelyard.generate.resuming import Evaluate, run_step
from steelyard.generate.review import model_author
from steelyard.generate.reviewer import CauseFinder, ReasonsPlaced
from steelyard.models.budget import Budget
from steelyard.people.codings import find_coding, propose_codes, read_coding
from steelyard.store import Run, Store
from steelyard.suite.evaluate import RunConfig, evaluate_suite
from steelyard.suite.objects import Options, Suite
from steelyard.types import Sample

if TYPE_CHECKING:
    from steelyard.people.codings import Coding
    from steelyard.people.error_codes import ErrorCode, ErrorNote

TARGET: Final = "proposals"
_SHOWN: Final = 3
"""Notes that are quoted in the definition of a proposed code."""


@dataclass(frozen=True, slots=True)
class ProposalPlan:
    """A request for proposed codes: for which error analysis, by which model.

    Args:
        analysis: id of an error analysis, or a run: its newest one.
        finder: the model that groups the notes.
        calls: calls that may be sent, resumes included; None is no limit.
    """

    analysis: str
    finder: CauseFinder
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class CodeProposals:
    """The codes that a model proposed.

    Args:
        analysis: id of the error analysis.
        notes: how many notes it was shown: those under no code.
        unplaced: how many of these it put under none.
        codes: the new proposals; names that exist already are left out.
        run: id of the run that asked.
        state: of the run, with its `reason`.
        from_journal: replies that had been paid for before.
    """

    analysis: str
    notes: int
    unplaced: int
    codes: tuple[ErrorCode, ...]
    run: str
    state: str
    reason: str
    from_journal: int


def proposal_suite(store: Store, plan: ProposalPlan) -> Suite:
    """The suite that asks for codes: the list of the notes under no code is its one sample.

    Raises:
        ConfigError: no such error analysis, or no note that is under no code.
    """
    coding = find_coding(store, plan.analysis)
    return _suite(coding, _free_notes(store, coding), plan)


def ask_for_codes(
    where: str | Path | None,
    plan: ProposalPlan,
    *,
    how: RunConfig = RunConfig(),
    evaluate: Evaluate = evaluate_suite,
) -> CodeProposals:
    """Let a model propose codes for notes without a code; calling it again resumes an interrupted proposal.

    Args:
        where: the store.
        plan: for what, and by whom.
        how: values for references, and whether to ask again what the journal could answer.
        evaluate: runs a suite; the command line shows progress meanwhile.

    Raises:
        ConfigError: an invalid setting; found before the first call.
        StoreError: a result could not be stored.
    """
    with Store(where) as store:
        coding = find_coding(store, plan.analysis)
        notes = _free_notes(store, coding)
    run = run_step(_suite(coding, notes, plan), where, how, evaluate)
    with Store(where) as store:
        groups = _groups(run, notes) if run.state == "finished" else []
        author = model_author(plan.finder.model).removeprefix(MODEL)
        codes = propose_codes(store, coding, groups, author=author)
    placed = sum(len(items) for _, _, items in groups)
    return CodeProposals(
        coding.id, len(notes), len(notes) - placed, codes, run.id, run.state, run.reason, run.from_journal
    )


def _free_notes(store: Store, coding: Coding) -> tuple[ErrorNote, ...]:
    """The notes of an error that are under no code, in the order of the records."""
    state = read_coding(store, coding)
    if not state.uncoded:
        why = "every note of an error is under a code" if sum(state.counts.values()) else "no note names an error yet"
        raise ConfigError(f"error analysis {coding.id}: {why}, so there is nothing to propose codes for")
    return tuple(sorted(state.uncoded, key=lambda note: note.item))


def _suite(coding: Coding, notes: Sequence[ErrorNote], plan: ProposalPlan) -> Suite:
    texts = [" ".join(note.text.split()) for note in notes]
    return Suite(
        name=f"codes for error analysis {coding.id}",
        kind=KIND,
        samples=(Sample("notes", texts, metadata={"analysis": coding.id}),),
        targets={TARGET: plan.finder},
        scorers=(ReasonsPlaced(),),
        options=Options(budget=Budget(calls=plan.calls)),
        source={"analysis": coding.id},
    )


def _groups(run: Run, notes: Sequence[ErrorNote]) -> list[tuple[str, str, list[int]]]:
    """Name, definition and items of each group; the definition quotes notes, and a person writes a better one."""
    groups: list[tuple[str, str, list[int]]] = []
    for record in run.records():
        if record.output is None or record.failure is not None:
            continue
        for name, positions in record.output.value.items():
            members = [notes[position] for position in positions]
            shown = "; ".join(" ".join(note.text.split()) for note in members[:_SHOWN])
            groups.append((name, f"Such as: {shown}", [note.item for note in members]))
    return groups
