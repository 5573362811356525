"""Score stored outputs again: a new scoring version without any call to a model.

A judge is answered with the replies that the journal holds for the same requests. So another reading rule, threshold
or weight of a judge costs nothing; another prompt, model or parameter needs a new call, and is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Self, TypeAlias

from steelyard.errors import ConfigError, ModelError, StoreError, boundary
from steelyard.evaluation.objects import know_references
from steelyard.evaluation.scorer_infos import primary_of, scorer_stages, scoring_manifest
from steelyard.evaluation.survey import prepare
from steelyard.models.base import Model, Request
from steelyard.models.refused_parameters import adjusted
from steelyard.registry import describe
from steelyard.runner import Step, distinct, with_calls
from steelyard.scorers.judges.judge import with_stored_prompts
from steelyard.session.parameter_findings import CHANGED_PARAMETERS, Changes, change_of, finding_digests
from steelyard.session.replies import Keys, stored_reading
from steelyard.session.reply_schemas import Finding, schema_digest
from steelyard.session.secrets import Secrets, references
from steelyard.sql.sandbox import Permit, Sandbox
from steelyard.store import Run, Store
from steelyard.store.ended_runs import remember_figures
from steelyard.store.journal import find_body, find_reply
from steelyard.store.open_store import OpenStore
from steelyard.store.reading.search import index_run
from steelyard.store.records import DAMAGED
from steelyard.store.run_rows import end_of_samples
from steelyard.types import Record, Reply, Score, Scorer


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """What scores records of a run: for `rescore`, in this process or in others.

    Args:
        run: its id.
        stages: scorers by stage name.
        unsafe_sql: see `rescore`.
        permits: see `rescore`.
    """

    run: str
    stages: Mapping[str, Scorer]
    unsafe_sql: bool = False
    permits: frozenset[Permit] = frozenset()


@dataclass(slots=True)
class ScoredRecords:
    """What scoring some records of a run gave.

    Attributes:
        scores: (no, repeat, scores) of every record that has an output.
        damaged: records that cannot be read any more.
        unasked: scorer -> records for which it needs a reply that was never requested.
    """

    scores: list[tuple[int, int, list[Score]]] = field(default_factory=list)
    damaged: int = 0
    unasked: Counter[str] = field(default_factory=Counter)

    def add(self, later: ScoredRecords) -> None:
        """Append what was scored of later samples."""
        self.scores += later.scores
        self.damaged += later.damaged
        self.unasked += later.unasked


ScoresElsewhere: TypeAlias = Callable[[ScoringTask, Sequence[range]], Iterable[ScoredRecords]]
"""Scores ranges of samples in other processes; gives the result of each range, in order."""
_RANGE: Final = 100
"""Samples that another process scores at once: few enough to share them equally, many beside a look into the store."""


def rescore(
    store: Store,
    run: Run,
    scorers: Sequence[Scorer],
    *,
    unsafe_sql: bool = False,
    permits: Collection[Permit] = (),
    elsewhere: ScoresElsewhere | None = None,
) -> tuple[Run, int]:
    """Apply `scorers` to the stored outputs of a run; earlier scores are kept as an older scoring version.

    Args:
        store: where the run is.
        run: a run that has ended.
        scorers: those that ask a model are answered from the journal.
        unsafe_sql: run generated SQL also on engines that cannot be sandboxed on this machine.
        permits: what is allowed beyond confined SQL; see `Sandbox`.
        elsewhere: scores in other processes; None scores here.

    Returns:
        The run with its new scores, and how many of its records are damaged in the store and could not be scored.

    Raises:
        ConfigError: the run is still running, or a scorer asks what the journal cannot answer.
        ScorerError: a scorer failed.
    """
    if run.state == "running":
        raise ConfigError(f"run {run.id} is still running")
    described = run.manifest.get("scorers", {})
    scorers = know_references(scorers, (record.sample for record in run.records()))
    stages = {name: with_stored_prompts(scorer, described.get(name)) for name, scorer in scorer_stages(scorers).items()}
    scoring = scoring_manifest(stages)
    if run.manifest.get("primary") not in scoring["scores"]:
        scoring["primary"] = primary_of(stages)
    task = ScoringTask(run.id, stages, unsafe_sql, frozenset(permits))
    scored = ScoredRecords()
    if elsewhere is None:
        records = run.numbered_records()
        with RecordScorer(store, run, task) as scorer, contextlib.closing(records):  # type: ignore[type-var]
            scored.add(scorer.score(records))
    else:
        with store.reading(run.id) as connection:
            end = end_of_samples(connection, run.num)
        for part in elsewhere(task, [range(lo, min(lo + _RANGE, end)) for lo in range(0, end, _RANGE)]):
            scored.add(part)
    if scored.unasked:
        raise ConfigError(_refusal(scored.unasked, run))
    rescored = store.add_scoring_version(run, scoring, scored.scores)
    remember_figures(store, [rescored])
    index_run(rescored)
    return rescored, scored.damaged


_NOT_ASKED: Final = "not_asked"


class RecordScorer:
    """Scores stored records of a run once more; a context manager.

    Args:
        store: where the run is.
        run: the run.
        task: what scores it.
    """

    def __init__(self, store: OpenStore, run: Run, task: ScoringTask) -> None:
        self._store = store
        self._run = run
        self._task = task
        self._steps: Sequence[Step] = ()
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            secrets = Secrets(references(describe(tuple(self._task.stages.values()))), {})
            sandbox = opened.enter_context(
                Sandbox(unsafe=self._task.unsafe_sql, permits=self._task.permits, resolve=secrets.resolve)
            )
            self._steps = [Step.of(name, scorer, sandbox) for name, scorer in self._task.stages.items()]
            prepare(tuple(self._task.stages.values()), sandbox)
            self._loop = opened.enter_context(asyncio.Runner())
            self._resources = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def score(self, records: Iterable[tuple[int, Record]]) -> ScoredRecords:
        """Score records, given with the places of their samples.

        Raises:
            ScorerError: a scorer failed.
            StoreError: a reply cannot be read.
        """
        results = ScoredRecords()
        for no, record in records:
            damaged = record.failure is not None and record.failure.kind == DAMAGED
            if record.output is None:
                results.damaged += damaged
                continue
            try:
                scores = self._loop.run(self._scored(record, results.unasked))
            except StoreError:
                if not damaged:
                    raise
                results.damaged += 1  # a judge's reply is damaged: the target's output is not
            else:
                results.scores.append((no, record.repeat, scores))
        return results

    async def _scored(self, record: Record, unasked: Counter[str]) -> list[Score]:
        scores: list[Score] = []
        for step in self._steps:
            ask = JournalAsk(self._store, record, step.stage, self._run.manifest["draw"])
            try:
                with boundary("scorer", step.stage):
                    output = record.output
                    if output is not None and step.info.sees_calls:
                        output = with_calls(output, record.replies.get("target", ()))
                    value = await step(ask if step.asks else None, record.sample, output)
                    scores += distinct(step.scores(value), scores)
            except ModelError as error:
                if error.kind != _NOT_ASKED:
                    raise
                # A record has its first failure only: later judges may have failed too, and stay errors.
                if record.failure is None:
                    unasked[step.stage] += 1
        return scores


class JournalAsk:
    """An Ask that answers from stored replies and sends nothing.

    Attributes:
        repeat: of the record.
        sent: key of a stored reply -> the messages that it answers, of the calls so far.
    """

    def __init__(self, store: OpenStore, record: Record, stage: str, draw: str) -> None:
        self.repeat = record.repeat
        self.sent: dict[str, Any] = {}
        self._store = store
        self._stage = stage
        self._replies = {reply.key: reply for several in record.replies.values() for reply in several}
        self._keys = Keys(record.sample.id, record.repeat, draw)
        self.optional: Collection[str] = ()

    def may_drop(self, names: Collection[str]) -> JournalAsk:
        """See `session.Ask.may_drop`."""
        view = copy.copy(self)
        view.optional = names
        return view

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """The stored reply; see `steelyard.types.Asks`."""
        return self._reply(self._keys.next, model, messages, parameters)

    async def either(
        self,
        call: Callable[..., Awaitable[Reply]],
        model: Model,
        wanted: Mapping[str, Any],
        without: Mapping[str, Any],
        *,
        has_images: bool = False,
    ) -> Finding:
        """The stored reply in the form in which it was asked for: with what may be refused, or without."""
        note = self._noted(schema_digest(model, wanted, has_images=has_images))
        if note:
            return Finding(await call(**without), note)
        try:
            return Finding(await call(**wanted), "")
        except ModelError:
            if note is not None:
                raise
            # The note of the refusal may be missing, as in a run from another store, though the replies are there.
            return Finding(await call(**without), "why is not stored any more")

    async def once(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """The stored reply that serves all samples."""
        return self._reply(self._keys.once, model, messages, parameters)

    def _reply(
        self, key_of: Callable[[bytes], bytes], model: Model, messages: Any, parameters: Mapping[str, Any]
    ) -> Reply:
        for changes in self._changes(model, parameters):
            changed_model, changed = adjusted(model, parameters, changes, self.optional)
            request = changed_model.request(messages, changed)
            reply = self._stored(changed_model, request, key_of(request.digest))
            if reply is not None:
                self.sent[reply.key] = messages
                return reply
        raise ModelError(f"{self._stage} needs a reply that was never requested", kind=_NOT_ASKED)

    def _stored(self, model: Model, request: Request, key: bytes) -> Reply | None:
        # Where a mapping says how replies are read, the record's own may have been read under another.
        reply = None if request.reading else self._replies.get(key.hex())
        try:
            return reply or stored_reading(partial(find_body, self._store), model, request, key)
        except ModelError as error:  # its mapping does not fit
            raise ConfigError(f"{self._stage}: {error}") from error

    def _noted(self, digest: bytes) -> str | None:
        """The journal's note of what an endpoint refuses; None where it has none."""
        note = find_reply(self._store, self._keys.once(digest))
        return None if note is None else note.text

    def _changes(self, model: Model, parameters: Mapping[str, Any]) -> list[Changes]:
        """The changes with which a call may have been sent: as the journal has them, as this record's replies, none."""
        noted: dict[str, str] = {}
        for name, digest in finding_digests(model, parameters, self.optional):
            noted |= change_of(self._noted(digest), name, self.optional)
        recorded = [reply.metadata.get(CHANGED_PARAMETERS) for reply in self._replies.values()]
        possible: list[Changes] = [noted, *(changes for changes in recorded if isinstance(changes, Mapping)), {}]
        return [changes for no, changes in enumerate(possible) if changes not in possible[:no]]


def _refusal(unasked: Counter[str], run: Run) -> str:
    counts = ", ".join(f"scorer {stage!r} for {n} of {run.done} records" for stage, n in unasked.items())
    return (
        f"the journal holds no reply to what is asked by {counts}: the scorer was not in this run, or its prompt, "
        "model or parameters have changed. Scoring again asks no model; run the configuration instead: the target's "
        "answers are taken from the journal, and only the judge is asked"
    )
