"""A part of a suite's samples: those that another run found wrong, say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from steelyard.errors import ConfigError
from steelyard.suite.objects import Suite
from steelyard.types import Sample


@dataclass(frozen=True, slots=True)
class ChosenSamples:
    """Those of the samples whose ids are among some, in the order of the dataset.

    Args:
        samples: may be iterated several times.
        ids: of those that are meant; one that no sample has counts nothing.
    """

    samples: Iterable[Sample]
    ids: Collection[str]

    def __iter__(self) -> Iterator[Sample]:
        return (sample for sample in self.samples if sample.id in self.ids)


def with_chosen(suite: Suite, ids: Collection[str], why: str) -> Suite:
    """The suite with some of its samples.

    Args:
        suite: whose.
        ids: of the samples that are to be asked.
        why: which they are, for the run's notes.

    Raises:
        ConfigError: it has none of them.
    """
    chosen = ChosenSamples(suite.samples, ids)
    count = sum(1 for _ in chosen)
    if not count:
        raise ConfigError(f"none of these samples is {why}; samples of two runs meet by their ids")
    return replace(suite, samples=chosen, notes=(*suite.notes, f"{count} samples were asked: {why}"))
