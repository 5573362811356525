"""Early stopping: which run may continue with which sample, and when a decision ends the runs.

All runs of a suite proceed together here, since a difference needs both targets' scores and a preference both
answers. A sample is asked only while it is among the next few that an open decision needs. Decisions read scores in
the drawn order, not in the order of arrival, so neither concurrency nor a resume changes a decision.

A run without early stopping takes its tasks from `DatasetFeed`: the dataset in order.
"""

# Why it is so, and what was rejected: docs/decisions/evaluation-early-stop.md

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from steelyard.analysis.scores.score_infos import over_of, range_of, score_infos
from steelyard.analysis.stopping import Stopped, Used
from steelyard.errors import ConfigError
from steelyard.evaluation.decision import Decision, DrawnOrder, Hypothesis
from steelyard.evaluation.objects import Suite
from steelyard.runner import Task
from steelyard.store import Run
from steelyard.types import Record, Sample

_AHEAD: Final = 2
"""Targets that a judge compares may be ahead of it by this many times the concurrency, so that it need not wait."""


def hypotheses_of(suite: Suite, manifests: Mapping[str, Mapping[str, Any]]) -> list[Hypothesis]:
    """The hypotheses to decide: one for each pair, or for each target against a threshold or against the first target.

    Raises:
        ConfigError: a threshold that is not within the score's scale.
    """
    rule = suite.options.stop_when_decided
    names = list(suite.pairs or suite.targets)
    if suite.pairs or rule.threshold is not None:
        return [_hypothesis(suite, manifests, (name,)) for name in names]
    baseline, *others = names
    return [_hypothesis(suite, manifests, (baseline, other)) for other in others]


def _hypothesis(suite: Suite, manifests: Mapping[str, Mapping[str, Any]], targets: tuple[str, ...]) -> Hypothesis:
    rule, manifest = suite.options.stop_when_decided, manifests[targets[-1]]
    score = rule.score or str(manifest["primary"])
    info = score_infos(manifest).get(score)
    low, high = range_of(info)
    threshold = 0.5 if rule.threshold is None else rule.threshold
    if len(targets) == 1 and not low < threshold < high:
        raise ConfigError(
            f"stop_when_decided: the threshold of {score} must be between {low:g} and {high:g}, not {threshold:g}"
        )
    return Hypothesis(rule.question, score, targets, threshold, rule.level, (low, high), over_of(info))


@dataclass(slots=True)
class StoppingScheduler:
    """Tracks the open decisions of an evaluation and which samples each of its runs has stored.

    Attributes:
        samples: by their number in the dataset.
        order: in which they are asked.
        decisions: one for each hypothesis.
        sides: per pair, the two targets of this evaluation that answer first.
        repeats: of each sample.
        concurrency: samples in flight at once, per target.
    """

    samples: Sequence[Sample]
    order: DrawnOrder
    decisions: Sequence[Decision]
    sides: Mapping[str, tuple[str, ...]]
    repeats: int
    concurrency: int
    _stored: dict[str, dict[int, int]] = field(default_factory=dict)
    _started: dict[str, set[int]] = field(default_factory=dict)
    _failed: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def of(
        cls, suite: Suite, samples: Sequence[Sample], manifests: Mapping[str, Mapping[str, Any]]
    ) -> StoppingScheduler:
        """Build the scheduler of a suite with a stopping rule."""
        options = suite.options
        clustered = options.stop_when_decided.question == "population"
        order = DrawnOrder.of(samples, options.seed, clustered=clustered)
        decisions = [Decision(hypothesis, order, options.repeats) for hypothesis in hypotheses_of(suite, manifests)]
        sides = {
            name: tuple(side for side in pair.sides if side in suite.targets) for name, pair in suite.pairs.items()
        }
        return cls(samples, order, decisions, sides, options.repeats, options.concurrency)

    def know(self, run: Run, *, again: bool) -> Mapping[tuple[int, int], bool]:
        """Add the records that a run has stored before this process began.

        Args:
            run: of one of the targets.
            again: failed records will be asked again, so they do not count as known.

        Returns:
            (number, repeat) of each stored record -> whether it failed.
        """
        done = run.done_places()
        tasks = [task for task, failed in done.items() if not (again and failed)]
        self._started[run.target] = {no for no, _ in done}
        self._failed[run.target] = {task for task, failed in done.items() if failed}
        stored = self._stored.setdefault(run.target, {})
        for no, _ in tasks:
            stored[no] = stored.get(no, 0) + 1
        for decision in self._of(run.target):
            scores = {(score.no, score.repeat): score for score in run.placed_scores(decision.hypothesis.score)}
            for no, repeat in tasks:
                score = scores.get((no, repeat))
                unscored = "error" if done[no, repeat] else "not_applicable"
                outcome, value = (score.outcome, score.value) if score else (None, None)
                decision.take(run.target, no, outcome or unscored, value)
        return done

    def begin(self, running: Collection[str]) -> None:
        """Advance every decision by the stored records, before anything is asked.

        Args:
            running: targets whose runs continue. One that has ended gives no more records, so a decision that needs
                them ends there.
        """
        for decision in self.decisions:
            ended = [name for name in self._parties(decision) if name not in running]
            lacking = (at for at, no in enumerate(self.order.places) if not all(self.has(name, no) for name in ended))
            decision.end = next(lacking, None)
            decision.advance()

    def record_stored(self, target: str, no: int, record: Record) -> None:
        """Add a new record: note its scores, advance the decisions, and wake the feeds that wait."""
        scores = {score.name: (score.outcome, score.value) for score in record.scores}
        self.note(target, no, record.repeat, record.failure is not None, scores)

    def note(  # the fields of a record that decisions read
        self,
        target: str,
        no: int,
        repeat: int,
        failed: bool,  # noqa: FBT001  # as a stored row gives it
        scores: Mapping[str, tuple[str, float | None]],
    ) -> None:
        """The same for a record that is read from the store; `scores` has outcome and value by name."""
        stored = self._stored.setdefault(target, {})
        stored[no] = stored.get(no, 0) + 1
        failures = self._failed.setdefault(target, set())
        (failures.add if failed else failures.discard)((no, repeat))
        for decision in self._of(target):
            decision.take(target, no, *scores.get(decision.hypothesis.score, ("error", None)))
            decision.advance()
        self.wake()

    def wake(self) -> None:
        """Wake the feeds that wait: a record was stored or a run has ended, so more may be asked."""
        self._changed.set()
        # A new one, as an event stays set: those who wait wake up now, those who come later wait for the next change.
        self._changed = asyncio.Event()

    async def change(self) -> None:
        """Wait until `wake` is called."""
        await self._changed.wait()

    def may_ask(self, target: str, at: int) -> bool:
        """Whether a target may be asked now for the sample at this index of the order."""
        if not self._served(target):
            return True
        if not all(self.has(side, self.order.places[at]) for side in self.sides.get(target, ())):
            return False
        own_decisions = {
            id(decision) for decision in self._of(target)
        }  # by identity: a Decision changes, so it has no hash
        ahead = {True: self.concurrency, False: self.concurrency * _AHEAD}
        return any(at < decision.reach(ahead[id(decision) in own_decisions]) for decision in self._undecided(target))

    def is_decided(self, target: str) -> bool:
        """Whether all decisions that need this target are closed; False where none needs it."""
        return bool(self._served(target)) and not self._undecided(target)

    def has(self, target: str, no: int) -> bool:
        """Whether a target's run has all repeats of a sample."""
        return self._stored.get(target, {}).get(no, 0) >= self.repeats

    def _of(self, target: str) -> list[Decision]:
        """The decisions that read the target's own scores."""
        return [decision for decision in self.decisions if target in decision.hypothesis.targets]

    def _served(self, target: str) -> list[Decision]:
        """The decisions that need the target: its own, and those of pairs that it is a side of."""
        pairs = [name for name, sides in self.sides.items() if target in sides]
        return self._of(target) + [decision for name in pairs for decision in self._of(name)]

    def _undecided(self, target: str) -> list[Decision]:
        return [decision for decision in self._served(target) if not decision.is_closed]

    def _parties(self, decision: Decision) -> list[str]:
        """The targets whose records a decision needs: those compared, and the sides of pairs."""
        return [
            *decision.hypothesis.targets,
            *(side for name in decision.hypothesis.targets for side in self.sides.get(name, ())),
        ]

    def hold_back(self, unfinished: Collection[str]) -> dict[str, str]:
        """The targets whose runs must stay open, and the unfinished target that each waits for.

        An unfinished run asks its failed samples again when it is resumed. Its decision may then need more samples
        of the other targets, which a finished run would not give.

        Args:
            unfinished: targets whose runs did not come to their end.
        """
        held_back: dict[str, str] = {}
        reached = list(unfinished)
        for name in reached:
            for decision in self._of(name):
                for other in self._parties(decision):
                    if other not in reached:
                        held_back[other] = name
                        reached.append(other)
        return held_back

    def failed(self, target: str) -> tuple[int, int]:
        """How many records of a target failed, and of how many, among those that its decisions use.

        Records beyond the last decision depend on the concurrency, and a resume does not ask them again.
        """
        frontier = max(decision.frontier for decision in self._served(target))
        used = set(self.order.places[:frontier])
        return sum(no in used for no, _ in self._failed.get(target, ())), frontier * self.repeats

    def stopped(self, target: str) -> Stopped | None:
        """The decision to store with a run when it ends; None for a run whose own scores decide nothing.

        Of several decisions of one run, the one that used the most samples.
        """
        own_decisions = self._of(target)
        if not own_decisions:
            return None
        longest = max(own_decisions, key=lambda decision: decision.frontier)
        stored = len(self._started.get(target, set()) | self._stored.get(target, {}).keys())
        used = None if stored == longest.frontier else Used.of(longest.used)
        return longest.stopping(target, stored), used


_BATCH: Final = 64
"""Tasks taken from the dataset at a time, so that memory does not grow with the dataset."""


@dataclass(slots=True)
class ScheduledFeed:
    """A feed of the tasks of one run, as long as an open decision needs them.

    Attributes:
        scheduler: of all runs.
        target: whose tasks.
        done: stored (number, repeat) -> whether the record failed.
    """

    scheduler: StoppingScheduler
    target: str
    done: Mapping[tuple[int, int], bool]
    _at: int = 0
    _ready: list[Task] = field(default_factory=list)

    def __call__(self, records: int) -> Sequence[Task]:  # noqa: ARG002  # what a feed takes
        """The next task, one at a time, since a decision may make the following ones unnecessary."""
        while not self._ready and self._at < len(self.scheduler.order.places):
            if self.scheduler.is_decided(self.target) or not self.scheduler.may_ask(self.target, self._at):
                return ()
            no = self.scheduler.order.places[self._at]
            self._ready = list(_tasks(no, self.scheduler.samples[no], self.scheduler.repeats, self.done))
            self._at += 1
        return [self._ready.pop(0)] if self._ready else ()

    async def more(self) -> bool:
        """Wait until there may be more tasks; False if there will be none."""
        if self.has_ended:
            return False
        await self.scheduler.change()
        return True

    @property
    def has_ended(self) -> bool:
        """Whether no further sample will be asked."""
        return self._at >= len(self.scheduler.order.places) or self.scheduler.is_decided(self.target)

    def record_stored(self, task: Task, record: Record) -> None:
        """Pass a stored record of this run on to the scheduler."""
        self.scheduler.record_stored(self.target, task.no, record)


@dataclass(slots=True)
class DatasetFeed:
    """A feed of the dataset in order, each sample with all its repeats, without those stored already.

    Attributes:
        tasks: those that remain.
    """

    tasks: Iterator[Task]

    @classmethod
    def of(cls, samples: Iterable[Sample], repeats: int, done: Mapping[tuple[int, int], bool]) -> DatasetFeed:
        """Build the feed of a dataset; `done` maps stored (number, repeat) to whether the record failed."""
        return cls(task for no, sample in enumerate(samples) for task in _tasks(no, sample, repeats, done))

    def __call__(self, records: int) -> Sequence[Task]:  # noqa: ARG002  # what a feed takes
        """The next tasks."""
        return list(islice(self.tasks, _BATCH))

    async def more(self) -> bool:
        """False: a dataset gives nothing more once it has ended."""
        return False

    def record_stored(self, task: Task, record: Record) -> None:
        """Nothing to do: the order of a dataset does not depend on its records."""


def _tasks(no: int, sample: Sample, repeats: int, done: Mapping[tuple[int, int], bool]) -> Iterator[Task]:
    """The repeats of a sample that are not stored, or failed."""
    for repeat in range(repeats):
        failed = done.get((no, repeat))
        if failed is not False:
            yield Task(no, repeat, sample, replaces=failed)
