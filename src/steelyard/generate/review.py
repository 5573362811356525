"""A review: a model says why each failed sample of a run failed, then groups the reasons under causes.

Of an error analysis people have written the reasons, its notes: those under no code are grouped, and each group is
proposed as a code, which counts once a person adopts it.

Both steps are runs of their own, of kind `review`: the failures are the samples of the first, the list of reasons is
the one sample of the second. So the journal, resume, budgets and progress are those of every run. What comes out is
kept as labels of the run that was reviewed, marked as the model's: a model's opinion, not a score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.conditions import parse_condition
from steelyard.analysis.label_forms import MODEL
from steelyard.errors import ConfigError
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.evaluation.objects import Options, Suite
from steelyard.generate.resuming import Evaluate, run_step
from steelyard.generate.reviewer import (
    KIND,
    CauseFinder,
    Reviewer,
    causes_suite,
    reasons_suite,
    review_title,
    reviewed_record,
)
from steelyard.models.base import ModelInfo
from steelyard.models.budget import Budget
from steelyard.people.codings import Coding, codings, propose_codes, read_coding
from steelyard.people.error_codes import ErrorCode, ErrorNote
from steelyard.people.labels import add_labels
from steelyard.plain_json import grouped
from steelyard.store import Run, Store
from steelyard.store.labels import by_record
from steelyard.types import Label, Record

NAMES: Final = ("reason", "cause")
"""The labels that a review gives."""
MOST: Final = 100
_QUOTED: Final = 3
"""Notes that are quoted in the definition of a proposed code."""


@dataclass(frozen=True, slots=True)
class ReviewPlan:
    """A review by a model: of which run or error analysis, and of which records.

    Args:
        run: the run's name: an id, a beginning, a target; or the id of an error analysis.
        only: a condition on the records of a run.
        most: records at most, spread evenly over those that fit; None is all.
        calls: calls that may be sent, resumes included; None is no limit.
    """

    run: str
    only: str = "failed"
    most: int | None = MOST
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """The result of a review.

    Args:
        run: id of the run that was reviewed; "" for an error analysis.
        author: of the labels or codes.
        fitting: records that fit the condition; of an error analysis its notes under no code.
        asked: how many of them were to be reviewed.
        reasons: how many have a reason now.
        unread: kind -> replies that hold none; likewise `errors`, calls that failed for good.
        causes: cause -> how many records; most frequent first.
        examples: cause -> the id of its first sample.
        unplaced: reasons that the model put under no cause.
        labels: how many labels were written that were not there before.
        state: of the step that came last: `finished`, `interrupted` or `broken`; with its `reason`.
        runs: ids of the review's own runs.
        from_journal: replies that had been paid for before.
        analysis: id of the error analysis that was reviewed; "" for a run.
        codes: that were proposed; those whose names exist already are left out.
    """

    run: str
    author: str
    fitting: int
    asked: int
    reasons: int = 0
    unread: Mapping[str, int] = dataclasses.field(default_factory=dict)
    errors: int = 0
    causes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    examples: Mapping[str, str] = dataclasses.field(default_factory=dict)
    unplaced: int = 0
    labels: int = 0
    state: str = "finished"
    reason: str = ""
    runs: tuple[str, ...] = ()
    from_journal: int = 0
    analysis: str = ""
    codes: tuple[ErrorCode, ...] = ()

    @property
    def has_result(self) -> bool:
        """Whether some reply held what was asked for."""
        return bool(self.causes if self.analysis else self.reasons or not self.asked)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The records to review, how many match, and the keys of all records that still fail."""

    run: Run
    records: tuple[Record, ...]
    fitting: int
    failed: frozenset[tuple[str, int]]


def model_author(model: Any) -> str:
    """The author of a model's labels: its name, or its class if it has none.

    >>> from steelyard.models.scripted import Scripted
    >>> model_author(Scripted())
    'model:scripted'
    """
    return f"{MODEL}{ModelInfo.of(model).name.strip() or type(model).__name__.lower()}"


def planned_suites(store: Store, plan: ReviewPlan, reviewer: Reviewer) -> tuple[Suite, ...]:
    """The suites of a review for a dry run: the reasons, then the causes of as many.

    Raises:
        ConfigError: no such run or error analysis, or an invalid condition.
    """
    if (coding := _analysis(store, plan)) is not None:
        return (_notes_suite(coding, _free_notes(store, coding), plan, reviewer),)
    chosen = _chosen(store, plan)
    if not chosen.records:
        return ()
    mock_reasons = [reviewer.stage_info.mock_reply] * len(chosen.records)
    reasons = reasons_suite(chosen.run, chosen.records, reviewer, _options(plan.calls))
    return reasons, _causes_suite(chosen.run, mock_reasons, reviewer, Options())


def review(
    where: str | Path | None,
    plan: ReviewPlan,
    reviewer: Reviewer,
    *,
    at: datetime,
    how: RunConfig = RunConfig(),
    evaluate: Evaluate = evaluate_suite,
) -> Review:
    """Review a run and store the result as labels, or the notes of an error analysis, and propose codes for them.

    Calling it again resumes an interrupted review.

    Args:
        where: the store.
        plan: what is reviewed.
        reviewer: who is asked; the causes are asked of the same model.
        at: when the labels are given.
        how: values for references, and whether to ask again what the journal could answer.
        evaluate: runs a suite; the command line shows progress meanwhile.

    Raises:
        ConfigError: no such run or analysis, or an invalid setting; found before the first call.
        StoreError: a result could not be stored.
    """
    with Store(where) as store:
        coding = _analysis(store, plan)
    if coding is not None:
        return _review_notes(where, coding, plan, reviewer, how, evaluate)
    return _review_run(where, plan, reviewer, at, how, evaluate)


def _review_run(  # what `review` was given
    where: str | Path | None, plan: ReviewPlan, reviewer: Reviewer, at: datetime, how: RunConfig, evaluate: Evaluate
) -> Review:
    author = model_author(reviewer.model)
    with Store(where) as store:
        chosen = _chosen(store, plan)
        result = Review(chosen.run.id, author, chosen.fitting, len(chosen.records))
        if not chosen.records:
            return dataclasses.replace(result, labels=_keep(store, chosen, {}, {}, (author, at)))
    suite = reasons_suite(chosen.run, chosen.records, reviewer, _options(plan.calls))
    first = run_step(suite, where, how, evaluate)
    with Store(where) as store:
        again = store.run(first.id)
        reasons = {
            reviewed_record(record.sample): "" if record.output is None or record.failure else str(record.output.value)
            for record in again.records()
        }
        spent = store.spending(again.evaluation).calls
        result = dataclasses.replace(
            result, **_counts(again, reasons), labels=_keep(store, chosen, reasons, {}, (author, at))
        )
    explained = [key for key, reason in reasons.items() if reason]
    if first.state != "finished" or not explained:
        return result
    calls_left = None if plan.calls is None else max(0, plan.calls - spent)
    suite = _causes_suite(chosen.run, [reasons[key] for key in explained], reviewer, _options(calls_left))
    second = run_step(suite, where, how, evaluate)
    with Store(where) as store:
        again = store.run(second.id)
        causes = _causes(again, explained)
        written = _keep(store, chosen, reasons, causes, (author, at))
        return dataclasses.replace(
            result,
            **_summed(causes, explained),
            labels=result.labels + written,
            state=again.state,
            reason=again.reason,
            runs=(*result.runs, again.id),
            from_journal=result.from_journal + again.from_journal,
        )


def _chosen(store: Store, plan: ReviewPlan) -> _Chosen:
    run = store.run(plan.run)
    if run.kind == KIND:
        raise ConfigError(f"run {run.id} is a review itself; review the run that it was made of")
    condition, failed = (parse_condition(text, run.manifest) for text in (plan.only, "failed"))
    labels = by_record(run.labels())
    fitting: list[Record] = []
    failing: set[tuple[str, int]] = set()
    for record in run.records():
        key = (record.sample.id, record.repeat)
        fits = condition.holds(record, labels.get(key, ()))
        if fits:
            fitting.append(record)
        if fits or failed.holds(record):
            failing.add(key)
    most = len(fitting) if plan.most is None else min(plan.most, len(fitting))
    spread = tuple(fitting[at * len(fitting) // most] for at in range(most))
    return _Chosen(run, spread, len(fitting), frozenset(failing))


def _options(calls: int | None) -> Options:
    return Options(budget=Budget(calls=calls))


def _finder(reviewer: Reviewer) -> CauseFinder:
    return CauseFinder(reviewer.model, reviewer.language, reviewer.parameters)


def _causes_suite(run: Run, reasons: Sequence[str], reviewer: Reviewer, options: Options) -> Suite:
    return causes_suite(review_title(run), {"run": run.id}, reasons, _finder(reviewer), options)


def _analysis(store: Store, plan: ReviewPlan) -> Coding | None:
    """The error analysis that is to be reviewed; None where it is a run."""
    coding = next((coding for coding in codings(store) if coding.id == plan.run), None)
    if coding is not None and plan.only != "failed":
        raise ConfigError("a condition is for a run; of an error analysis all notes without a code are taken")
    return coding


def _free_notes(store: Store, coding: Coding) -> tuple[ErrorNote, ...]:
    """The notes of an error that are under no code, in the order of the records."""
    state = read_coding(store, coding)
    if not state.uncoded:
        why = "every note of an error is under a code" if sum(state.counts.values()) else "no note names an error yet"
        raise ConfigError(f"error analysis {coding.id}: {why}, so there is nothing to propose codes for")
    return tuple(sorted(state.uncoded, key=lambda note: note.item))


def _notes_suite(coding: Coding, notes: Sequence[ErrorNote], plan: ReviewPlan, reviewer: Reviewer) -> Suite:
    name, texts = f"review of error analysis {coding.id}", list(map(_line, notes))
    return causes_suite(name, {"analysis": coding.id}, texts, _finder(reviewer), _options(plan.calls))


def _review_notes(  # what `review` was given, and the analysis that it names
    where: str | Path | None, coding: Coding, plan: ReviewPlan, reviewer: Reviewer, how: RunConfig, evaluate: Evaluate
) -> Review:
    """Propose the causes of notes as codes; each definition quotes notes, and a person writes a better one."""
    author = model_author(reviewer.model)
    with Store(where) as store:
        notes = _free_notes(store, coding)
    keys = [(coding.item(note.item).sample, note.item) for note in notes]
    step = run_step(_notes_suite(coding, notes, plan, reviewer), where, how, evaluate)
    with Store(where) as store:
        run = store.run(step.id)
        causes = _causes(run, keys)
        groups = grouped((causes[key], note) for note, key in zip(notes, keys, strict=True) if key in causes)
        proposals = [
            (cause, f"Such as: {'; '.join(_line(note) for note in group[:_QUOTED])}", [note.item for note in group])
            for cause, group in groups.items()
            if run.state == "finished"
        ]
        codes = propose_codes(store, coding, proposals, author=author.removeprefix(MODEL))
    return Review(
        run="",
        author=author,
        fitting=len(notes),
        asked=len(notes),
        reasons=len(notes),
        errors=run.errors,
        state=run.state,
        reason=run.reason,
        runs=(run.id,),
        from_journal=run.from_journal,
        analysis=coding.id,
        codes=codes,
        **_summed(causes, keys),
    )


def _line(note: ErrorNote) -> str:
    return " ".join(note.text.split())


def _counts(run: Run, reasons: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    kinds = {**run.summary().records.unparsed_kinds}
    refused = sum(score.refused for score in run.summary().scores if score.name == "reason")
    return {
        "reasons": sum(bool(reason) for reason in reasons.values()),
        "unread": {**kinds, **({"refused": refused} if refused else {})},
        "errors": run.errors,
        "state": run.state,
        "reason": run.reason,
        "runs": (run.id,),
        "from_journal": run.from_journal,
    }


def _causes(run: Run, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Key of a record -> its cause."""
    causes: dict[tuple[str, int], str] = {}
    for record in run.records():
        if record.output is not None and record.failure is None:
            for cause, numbers in record.output.value.items():
                causes |= {keys[number]: cause for number in numbers}
    return causes


def _summed(causes: Mapping[tuple[str, int], str], keys: Sequence[tuple[str, int]]) -> dict[str, Any]:
    ordered = [(key, causes[key]) for key in keys if key in causes]
    counts: dict[str, int] = {}
    for _, cause in ordered:
        counts[cause] = counts.get(cause, 0) + 1
    examples = {cause: sample for (sample, _), cause in reversed(ordered)}
    ordered_counts = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
    return {
        "causes": ordered_counts,
        "examples": {cause: examples[cause] for cause in ordered_counts},
        "unplaced": len(keys) - len(ordered),
    }


def _keep(
    store: Store,
    chosen: _Chosen,
    reasons: Mapping[tuple[str, int], str],
    causes: Mapping[tuple[str, int], str],
    signed: tuple[str, datetime],
) -> int:
    """Write labels, and withdraw the model's labels of records that do not fail any more."""
    author, at = signed
    labels = [Label(sample, "reason", text, author, at, repeat) for (sample, repeat), text in reasons.items() if text]
    labels += [Label(sample, "cause", cause, author, at, repeat) for (sample, repeat), cause in causes.items()]
    labels += [
        dataclasses.replace(label, value=None, at=at)
        for label in chosen.run.labels()
        if label.author == author and label.name in NAMES and (label.sample, label.repeat) not in chosen.failed
    ]
    return add_labels(store, chosen.run, labels)
