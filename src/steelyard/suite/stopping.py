"""Early stopping: which run may continue with which sample, and when a decision ends the runs.

All runs of a suite go side by side here, since a difference needs both targets' scores and a preference both answers.
Nobody runs ahead: a sample is asked only while it is among the next few that a decision waits for. What the feeds
know is the scores in the drawn order, so neither concurrency nor a resume changes a decision.

A run without early stopping takes its tasks from `DatasetFeed`: the dataset in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from steelyard.analysis.score_infos import range_of, score_infos
from steelyard.analysis.stopping import Stopped, Used
from steelyard.errors import ConfigError
from steelyard.runner import Task
from steelyard.store import Run
from steelyard.suite.decision import Decision, DrawnOrder, Hypothesis
from steelyard.suite.objects import Suite
from steelyard.types import Record, Sample

_AHEAD: Final = 2
"""How many times the concurrency those who answer first may be ahead of the judge, who waits for them."""


def hypotheses_of(suite: Suite, manifests: Mapping[str, Mapping[str, Any]]) -> list[Hypothesis]:
    """What the suite's rule decides: every pair, or every target against a threshold, or against the first.

    Raises:
        ConfigError: a threshold that is not within the score's scale.
    """
    rule = suite.options.stop_when_decided
    names = list(suite.pairs or suite.targets)
    if suite.pairs or rule.threshold is not None:
        return [_hypothesis(suite, manifests, (name,)) for name in names]
    first, *others = names
    return [_hypothesis(suite, manifests, (first, other)) for other in others]


def _hypothesis(suite: Suite, manifests: Mapping[str, Mapping[str, Any]], targets: tuple[str, ...]) -> Hypothesis:
    rule, manifest = suite.options.stop_when_decided, manifests[targets[-1]]
    score = rule.score or str(manifest["primary"])
    info = score_infos(manifest).get(score)
    low, high = range_of(info)
    threshold = 0.5 if rule.threshold is None else rule.threshold
    if len(targets) == 1 and not low < threshold < high:
        raise ConfigError(
            f"stop_when_decided: the threshold of {score} lies between {low:g} and {high:g}, not at {threshold:g}"
        )
    over = "all" if info is not None and info.denominator == "all" else "scored"
    return Hypothesis(rule.question, score, targets, threshold, rule.level, (low, high), over)


@dataclass(slots=True)
class StoppingScheduler:
    """The decisions of an evaluation and what each of its runs has of the samples.

    Attributes:
        samples: by place in the dataset.
        order: in which they are asked.
        decisions: what is decided.
        sides: per pair, the two targets of this evaluation that answer first.
        repeats: of each sample.
        concurrency: samples in work at once, per target.
    """

    samples: Sequence[Sample]
    order: DrawnOrder
    decisions: Sequence[Decision]
    sides: Mapping[str, tuple[str, ...]]
    repeats: int
    concurrency: int
    _stored: dict[str, dict[int, int]] = field(default_factory=dict)
    _begun: dict[str, set[int]] = field(default_factory=dict)
    _failed: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def of(
        cls, suite: Suite, samples: Sequence[Sample], manifests: Mapping[str, Mapping[str, Any]]
    ) -> StoppingScheduler:
        """The scheduler of a suite whose options say when to stop."""
        options = suite.options
        clustered = options.stop_when_decided.question == "population"
        order = DrawnOrder.of(samples, options.seed, clustered=clustered)
        decisions = [Decision(hypothesis, order, options.repeats) for hypothesis in hypotheses_of(suite, manifests)]
        sides = {
            name: tuple(side for side in pair.sides if side in suite.targets) for name, pair in suite.pairs.items()
        }
        return cls(samples, order, decisions, sides, options.repeats, options.concurrency)

    def know(self, run: Run, *, again: bool) -> None:
        """Take what a run has stored already.

        Args:
            run: of one of the targets.
            again: failed records will be asked again, so they are not known yet.
        """
        done = run.done_places()
        kept = [place for place, failed in done.items() if not (again and failed)]
        self._begun[run.target] = {no for no, _ in done}
        self._failed[run.target] = {place for place, failed in done.items() if failed}
        stored = self._stored.setdefault(run.target, {})
        for no, _ in kept:
            stored[no] = stored.get(no, 0) + 1
        for decision in self._of(run.target):
            values = {(value.no, value.repeat): value for value in run.placed_values(decision.hypothesis.score)}
            for no, repeat in kept:
                found = values.get((no, repeat))
                decision.take(run.target, no, *((found.outcome, found.value) if found else ("not_applicable", None)))

    def begin(self, asked: Collection[str]) -> None:
        """Look at what is known, before anything is asked.

        Args:
            asked: targets whose runs go on. One that has ended gives no more: a decision that would need it ends there.
        """
        for decision in self.decisions:
            ended = [name for name in self._parties(decision) if name not in asked]
            lacking = (at for at, no in enumerate(self.order.places) if not all(self.has(one, no) for one in ended))
            decision.end = next(lacking, None)
            decision.advance()

    def kept(self, target: str, no: int, record: Record) -> None:
        """Take a new record: note its scores, make the decisions that are now possible, wake all that wait."""
        stored = self._stored.setdefault(target, {})
        stored[no] = stored.get(no, 0) + 1
        failed = self._failed.setdefault(target, set())
        (failed.discard if record.failure is None else failed.add)((no, record.repeat))
        for decision in self._of(target):
            score = next((one for one in record.scores if one.name == decision.hypothesis.score), None)
            decision.take(target, no, score.outcome if score else "error", score.value if score else None)
            decision.advance()
        self.wake()

    def wake(self) -> None:
        """Let everybody look again at what may be asked: a record has come, or a run has ended."""
        self._changed.set()
        # A new one, as an event stays set: those who wait wake up now, those who come later wait for the next change.
        self._changed = asyncio.Event()

    async def change(self) -> None:
        """Wait until `wake` is called."""
        await self._changed.wait()

    def may_ask(self, target: str, at: int) -> bool:
        """Whether a target may be asked the sample at that place of the order now."""
        if not self._served(target):
            return True
        if not all(self.has(side, self.order.places[at]) for side in self.sides.get(target, ())):
            return False
        own = {id(one) for one in self._of(target)}  # by identity: a Decision changes, so it has no hash
        return any(at < one.reach(self.concurrency * (1 if id(one) in own else _AHEAD)) for one in self._open(target))

    def is_decided(self, target: str) -> bool:
        """Whether nothing more need be asked of a target: all decisions that need it are closed, and there are some."""
        return bool(self._served(target)) and not self._open(target)

    def has(self, target: str, no: int) -> bool:
        """Whether a target's run has all repeats of a sample."""
        return self._stored.get(target, {}).get(no, 0) >= self.repeats

    def _of(self, target: str) -> list[Decision]:
        """The decisions that look at the target's own scores."""
        return [decision for decision in self.decisions if target in decision.hypothesis.targets]

    def _served(self, target: str) -> list[Decision]:
        """The decisions that need the target: its own, and those of pairs that it is a side of."""
        pairs = [name for name, sides in self.sides.items() if target in sides]
        return self._of(target) + [one for name in pairs for one in self._of(name)]

    def _open(self, target: str) -> list[Decision]:
        return [one for one in self._served(target) if not one.is_closed]

    def _parties(self, decision: Decision) -> list[str]:
        """The targets that a decision needs something of."""
        return [
            *decision.hypothesis.targets,
            *(side for name in decision.hypothesis.targets for side in self.sides.get(name, ())),
        ]

    def hold_back(self, unfinished: Collection[str]) -> dict[str, str]:
        """The targets that may not be finished yet, and for which other one.

        An unfinished run asks its failed samples again when it is resumed. What is decided then may need more of
        every target that it is decided with, which a finished run would not give.

        Args:
            unfinished: targets whose runs did not come to their end.
        """
        held: dict[str, str] = {}
        reached = list(unfinished)
        for name in reached:
            for decision in self._of(name):
                for other in self._parties(decision):
                    if other not in reached:
                        held[other] = name
                        reached.append(other)
        return held

    def failed(self, target: str) -> tuple[int, int]:
        """How many records of a target failed, and of how many, as far as a decision rests on them.

        What was in flight beyond it depends on the concurrency, and is not asked again by a resume.
        """
        frontier = max(one.frontier for one in self._served(target))
        used = set(self.order.places[:frontier])
        return sum(no in used for no, _ in self._failed.get(target, ())), frontier * self.repeats

    def stopped(self, target: str) -> Stopped | None:
        """The decision that is stored with a run when it ends; None for a run whose own scores decide nothing.

        Of several decisions of one run, the one that used the most samples.
        """
        own = self._of(target)
        if not own:
            return None
        longest = max(own, key=lambda one: one.frontier)
        stored = len(self._begun.get(target, set()) | self._stored.get(target, {}).keys())
        used = None if stored == longest.frontier else Used.of(longest.used)
        return longest.stopping(target, stored), used


_BATCH: Final = 64
"""Tasks that are taken from the dataset at a time, so that memory does not grow with it."""


@dataclass(slots=True)
class ScheduledFeed:
    """The tasks of one run, as far as they are needed for a decision.

    Attributes:
        scheduler: of all runs.
        target: whose tasks.
        done: places and repeats that are stored -> whether they failed.
    """

    scheduler: StoppingScheduler
    target: str
    done: Mapping[tuple[int, int], bool]
    _at: int = 0
    _ready: list[Task] = field(default_factory=list)

    def __call__(self, records: int) -> Sequence[Task]:  # noqa: ARG002  # what a feed takes
        """The next task, one at a time: what is not begun need not be asked."""
        while not self._ready and self._at < len(self.scheduler.order.places):
            if self.scheduler.is_decided(self.target) or not self.scheduler.may_ask(self.target, self._at):
                return ()
            self._ready = list(self._tasks(self.scheduler.order.places[self._at]))
            self._at += 1
        return [self._ready.pop(0)] if self._ready else ()

    def _tasks(self, no: int) -> Iterable[Task]:
        for repeat in range(self.scheduler.repeats):
            failed = self.done.get((no, repeat))
            if failed is not False:
                yield Task(no, repeat, self.scheduler.samples[no], replaces=failed)

    async def more(self) -> bool:
        """Wait until there may be more; False where there will be none."""
        if self._at >= len(self.scheduler.order.places) or self.scheduler.is_decided(self.target):
            return False
        await self.scheduler.change()
        return True

    def kept(self, task: Task, record: Record) -> None:
        """A record of this run has come."""
        self.scheduler.kept(self.target, task.no, record)


@dataclass(slots=True)
class DatasetFeed:
    """The dataset in order, each sample with all its repeats, without what is done.

    Attributes:
        tasks: what is left of it.
    """

    tasks: Iterator[Task]

    @classmethod
    def of(cls, samples: Iterable[Sample], repeats: int, done: Mapping[tuple[int, int], bool]) -> DatasetFeed:
        """The feed of a dataset, of which `done` is stored already (place and repeat -> whether it failed)."""
        return cls(_left(samples, repeats, done))

    def __call__(self, records: int) -> Sequence[Task]:  # noqa: ARG002  # what a feed takes
        """The next tasks."""
        return list(islice(self.tasks, _BATCH))

    async def more(self) -> bool:
        """Never: a dataset gives nothing more once it has ended."""
        return False

    def kept(self, task: Task, record: Record) -> None:
        """What comes of a task changes nothing here."""


def _left(samples: Iterable[Sample], repeats: int, done: Mapping[tuple[int, int], bool]) -> Iterator[Task]:
    for no, sample in enumerate(samples):
        for repeat in range(repeats):
            failed = done.get((no, repeat))
            if failed is not False:
                yield Task(no, repeat, sample, replaces=failed)
