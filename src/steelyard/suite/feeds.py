"""Where a run's tasks come from: the dataset in order, or as much of it in a drawn order as a decision needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from steelyard.runner import Task
from steelyard.suite.course import Course
from steelyard.types import Record, Sample

_BATCH: Final = 64
"""Tasks that are taken from the dataset at a time."""


@dataclass(slots=True)
class CourseFeed:
    """The tasks of one run, as far as they are needed for a decision.

    Attributes:
        course: of all runs.
        target: whose tasks.
        done: places and repeats that are stored -> whether they failed.
    """

    course: Course
    target: str
    done: Mapping[tuple[int, int], bool]
    _at: int = 0
    _ready: list[Task] = field(default_factory=list)

    def __call__(self, records: int) -> Sequence[Task]:  # noqa: ARG002  # what a feed takes
        """The next task, one at a time: what is not begun need not be asked."""
        while not self._ready and self._at < len(self.course.order.places):
            if self.course.is_decided(self.target) or not self.course.may_ask(self.target, self._at):
                return ()
            self._ready = list(self._tasks(self.course.order.places[self._at]))
            self._at += 1
        return [self._ready.pop(0)] if self._ready else ()

    def _tasks(self, no: int) -> Iterable[Task]:
        for repeat in range(self.course.repeats):
            failed = self.done.get((no, repeat))
            if failed is not False:
                yield Task(no, repeat, self.course.samples[no], replaces=failed)

    async def more(self) -> bool:
        """Wait until there may be more; False where there will be none."""
        if self._at >= len(self.course.order.places) or self.course.is_decided(self.target):
            return False
        await self.course.change()
        return True

    def kept(self, task: Task, record: Record) -> None:
        """A record of this run has come."""
        self.course.kept(self.target, task.no, record)


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
        """A dataset that has come to its end has no more."""
        return False

    def kept(self, task: Task, record: Record) -> None:
        """What comes of a task changes nothing here."""


def _left(samples: Iterable[Sample], repeats: int, done: Mapping[tuple[int, int], bool]) -> Iterator[Task]:
    for no, sample in enumerate(samples):
        for repeat in range(repeats):
            failed = done.get((no, repeat))
            if failed is not False:
                yield Task(no, repeat, sample, replaces=failed)
