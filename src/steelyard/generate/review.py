"""A review of a run: a model says why each failed sample failed, then gathers the reasons under causes.

Both steps are runs of their own, of kind `review`: the failures are the samples of the first, the list of reasons is
the one sample of the second. So the journal, resume, budgets and progress are those of every run. What comes out is
kept as labels of the run that was reviewed, marked as the model's: a model's opinion, not a score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.generate.conditions import parse_condition
from steelyard.generate.reviewer import KIND, REASONS, CauseFinder, Reviewer, causes_suite, reasons_suite, sample_place
from steelyard.store import Run, Store
from steelyard.store.labels import MODEL, add_labels, by_record
from steelyard.suite.evaluate import RunConfig, evaluate_suite
from steelyard.suite.objects import Options, Suite
from steelyard.suite.survey import changed_keys, manifests, survey
from steelyard.types import Label, Record

NAMES: Final = ("reason", "cause")
"""The labels that a review gives."""
MOST: Final = 100
Evaluate = Callable[[Suite, RunConfig], Sequence[Run]]
"""How a suite is run: `evaluate_suite`, or with progress."""


@dataclass(frozen=True, slots=True)
class ReviewPlan:
    """What is reviewed.

    Args:
        run: the run's name: an id, a beginning, a target.
        only: a condition on its records.
        most: records at most, spread evenly over those that fit; None is all.
        calls: calls that may be sent, resumes included; None is no limit.
    """

    run: str
    only: str = "failed"
    most: int | None = MOST
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """What came of a review.

    Args:
        run: id of the run that was reviewed.
        author: of the labels.
        fitting: records that fit the condition.
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

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The records that are reviewed, how many fit, and the places of all that still are failures."""

    run: Run
    records: tuple[Record, ...]
    fitting: int
    failed: frozenset[tuple[str, int]]


def model_author(model: Any) -> str:
    """Who signs a model's labels: its name, where it has one.

    >>> from steelyard.models.scripted import Scripted
    >>> model_author(Scripted())
    'model:scripted'
    """
    name = getattr(model, "name", "")
    return f"{MODEL}{name if isinstance(name, str) and name.strip() else type(model).__name__.lower()}"


def planned_suites(store: Store, plan: ReviewPlan, reviewer: Reviewer) -> tuple[Suite, ...]:
    """What a review would ask: the reasons, then the causes of as many; for a dry run.

    Raises:
        ConfigError: no such run, or a condition that cannot be meant.
    """
    chosen = _chosen(store, plan)
    if not chosen.records:
        return ()
    rehearsed = [reviewer.stage_info.mock_reply] * len(chosen.records)
    return _reasons(chosen, plan, reviewer), causes_suite(chosen.run, rehearsed, _finder(reviewer), Options())


def _evaluated(suite: Suite, how: RunConfig) -> Sequence[Run]:
    return evaluate_suite(suite, how=how)


def review(
    where: str | Path | None,
    plan: ReviewPlan,
    reviewer: Reviewer,
    *,
    at: datetime,
    how: RunConfig = RunConfig(),
    evaluate: Evaluate = _evaluated,
) -> Review:
    """Review a run, and keep what comes of it as labels; what is interrupted goes on when it is called again.

    Args:
        where: the store.
        plan: what is reviewed.
        reviewer: who is asked; the causes are asked of the same model.
        at: when the labels are given.
        how: values for references, and whether to ask anew what the journal could answer.
        evaluate: runs a suite; the command line shows progress meanwhile.

    Raises:
        ConfigError: no such run, or what cannot be meant; found before the first call.
        StoreError: something could not be kept.
    """
    author = model_author(reviewer.model)
    with Store(where) as store:
        chosen = _chosen(store, plan)
        told = Review(chosen.run.id, author, chosen.fitting, len(chosen.records))
        if not chosen.records:
            return dataclasses.replace(told, labels=_keep(store, chosen, {}, {}, (author, at)))
    first = _run_of(_reasons(chosen, plan, reviewer), where, how, evaluate)
    with Store(where) as store:
        again = store.run(first.id)
        given = _given(again)
        spent = store.spent(again.evaluation)[0]
        told = dataclasses.replace(told, **_counts(again, given), labels=_keep(store, chosen, given, {}, (author, at)))
    places = [place for place, reason in given.items() if reason]
    if first.state != "finished" or not places:
        return told
    left = None if plan.calls is None else max(0, plan.calls - spent)
    suite = causes_suite(chosen.run, [given[place] for place in places], _finder(reviewer), _options(left))
    second = _run_of(suite, where, how, evaluate)
    with Store(where) as store:
        again = store.run(second.id)
        causes = _causes(again, places)
        written = _keep(store, chosen, given, causes, (author, at))
        return dataclasses.replace(
            told,
            **_summed(causes, places),
            labels=told.labels + written,
            state=again.state,
            reason=again.reason,
            runs=(*told.runs, again.id),
            from_journal=told.from_journal + again.from_journal,
        )


def _chosen(store: Store, plan: ReviewPlan) -> _Chosen:
    run = store.run(plan.run)
    if run.kind == KIND:
        raise ConfigError(f"run {run.id} is a review itself; review the run that it was made of")
    condition, failed = (parse_condition(text, run.manifest) for text in (plan.only, "failed"))
    labels = by_record(run.labels())
    fitting: list[Record] = []
    still: set[tuple[str, int]] = set()
    for record in run.records():
        place = (record.sample.id, record.repeat)
        fits = condition.holds(record, labels.get(place, ()))
        if fits:
            fitting.append(record)
        if fits or failed.holds(record):
            still.add(place)
    most = len(fitting) if plan.most is None else min(plan.most, len(fitting))
    spread = tuple(fitting[at * len(fitting) // most] for at in range(most))
    return _Chosen(run, spread, len(fitting), frozenset(still))


def _reasons(chosen: _Chosen, plan: ReviewPlan, reviewer: Reviewer) -> Suite:
    return reasons_suite(chosen.run, chosen.records, reviewer, _options(plan.calls))


def _options(calls: int | None) -> Options:
    from steelyard.models.budget import Budget

    return Options(budget=Budget(calls=calls))


def _finder(reviewer: Reviewer) -> CauseFinder:
    return CauseFinder(reviewer.model, reviewer.language, reviewer.parameters)


def _run_of(suite: Suite, where: str | Path | None, how: RunConfig, evaluate: Evaluate) -> Run:
    """The run of a suite: the newest that did the same, gone on with where it did not finish, else a new one."""
    before = None if how.fresh else _same(suite, where)
    if before is not None and before.state == "finished":
        return before
    resumed = dataclasses.replace(how, store=where, resume=before.id if before else "")
    return evaluate(suite, resumed)[0]


def _same(suite: Suite, where: str | Path | None) -> Run | None:
    (name,) = suite.targets
    plan = dict(manifests(suite, survey(suite.samples), draw="", config=None))[name]
    with Store(where) as store:
        for run in store.runs():
            if run.kind == KIND and run.target == name and not changed_keys(run.manifest, plan):
                return run
    return None


def _given(run: Run) -> dict[tuple[str, int], str]:
    """(sample's id, repeat) of the run that was reviewed -> the reason; "" where the reply holds none."""
    return {
        sample_place(record.sample): "" if record.output is None or record.failure else str(record.output.value)
        for record in run.records()
    }


def _counts(run: Run, given: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    kinds = {**run.summary().unparsed_kinds}
    refused = sum(score.refused for score in run.summary().scores if score.name == REASONS.score)
    return {
        "reasons": sum(bool(one) for one in given.values()),
        "unread": {**kinds, **({"refused": refused} if refused else {})},
        "errors": run.errors,
        "state": run.state,
        "reason": run.reason,
        "runs": (run.id,),
        "from_journal": run.from_journal,
    }


def _causes(run: Run, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Place of a record -> its cause."""
    found: dict[tuple[str, int], str] = {}
    for record in run.records():
        if record.output is not None and record.failure is None:
            for cause, numbers in record.output.value.items():
                found |= {places[number]: cause for number in numbers}
    return found


def _summed(causes: Mapping[tuple[str, int], str], places: Sequence[tuple[str, int]]) -> dict[str, Any]:
    ordered = [(place, causes[place]) for place in places if place in causes]
    counts: dict[str, int] = {}
    for _, cause in ordered:
        counts[cause] = counts.get(cause, 0) + 1
    examples = {cause: sample for (sample, _), cause in reversed(ordered)}
    most = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
    return {"causes": most, "examples": {one: examples[one] for one in most}, "unplaced": len(places) - len(ordered)}


def _keep(
    store: Store,
    chosen: _Chosen,
    given: Mapping[tuple[str, int], str],
    causes: Mapping[tuple[str, int], str],
    signed: tuple[str, datetime],
) -> int:
    """Write labels, and withdraw what the same model said of records that are no failures any more."""
    author, at = signed
    labels = [Label(sample, "reason", text, author, at, repeat) for (sample, repeat), text in given.items() if text]
    labels += [Label(sample, "cause", cause, author, at, repeat) for (sample, repeat), cause in causes.items()]
    labels += [
        dataclasses.replace(label, value=None, at=at)
        for label in chosen.run.labels()
        if label.author == author and label.name in NAMES and (label.sample, label.repeat) not in chosen.failed
    ]
    return add_labels(store, chosen.run, labels)
