"""The two sides of a pair: the answers of targets of the same suite, or of stored runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.errors import ConfigError
from steelyard.evaluation.objects import Suite
from steelyard.store import Run, Store
from steelyard.store.run import OpenRunReader, RecordReader, samples_of
from steelyard.targets.replay import BoundPair, Pair, PairSide
from steelyard.types import Sample, Target


@dataclass(frozen=True, slots=True)
class CommonSamples:
    """The samples that several stored runs have in common, read from the store each time.

    Args:
        runs: their ids; samples are those of the first, in its order.
        store: where they are; None is where the results go.
    """

    runs: tuple[str, ...]
    store: str | Path | None = None

    def __iter__(self) -> Iterator[Sample]:
        with Store(self.store) as store:
            samples = samples_of([store.run(name) for name in self.runs])
        if not samples:
            raise ConfigError(f"the runs {', '.join(self.runs)} have no sample in common")
        return iter(samples)


@dataclass(frozen=True, slots=True)
class SuitePair:
    """A pair that is being judged, and the readers of its sides' stored answers."""

    target: Target
    lookups: Mapping[str, RecordReader]


def bound(pair: Pair, siblings: Mapping[str, Run], store: Store) -> SuitePair:
    """Bind a pair to the stored answers of its two sides.

    Args:
        pair: of two names.
        siblings: runs of the same evaluation, by target.
        store: where stored runs are.

    Raises:
        ConfigError: a name that is neither a target nor a stored run.
    """
    runs = _runs_of_sides(pair, siblings, store)
    lookups = {name: RecordReader(run) for name, run in runs.items()}
    a, b = (PairSide(runs[name].id, lookups[name]) for name in pair.sides)
    return SuitePair(BoundPair(a, b, pair.transcripts), lookups)


def bound_to_open_runs(pair: Pair, siblings: Mapping[str, Run], store: Store) -> Target:
    """The same where other processes write the sides: each answer is looked up in the store when it is compared."""
    a, b = (PairSide(run.id, OpenRunReader(run)) for run in _runs_of_sides(pair, siblings, store).values())
    return BoundPair(a, b, pair.transcripts)


def _runs_of_sides(pair: Pair, siblings: Mapping[str, Run], store: Store) -> dict[str, Run]:
    return {name: siblings[name] if name in siblings else store.run(name) for name in pair.sides}


def check_stored(suite: Suite, store: Store) -> None:
    """Check the stored runs that pairs compare, before any call.

    Raises:
        ConfigError: one that does not exist, or has none of the suite's samples.
    """
    for name, pair in suite.pairs.items():
        for side in pair.sides:
            if side in suite.targets:
                continue
            try:
                run = store.run(side)
            except ConfigError as error:
                raise ConfigError(f"{name}: {side!r} is not a target of this suite, and {error.message}") from error
            places = run.places()
            if not any(sample.id in places for sample in suite.samples):
                raise ConfigError(
                    f"{name}: run {run.id} ({run.target}) has none of these samples, so nothing could be judged; is it "
                    "of another dataset? Samples are matched by their ids"
                )


def with_samples(suite: Suite, where: str | Path | None) -> Suite:
    """The suite with samples that can be read several times, those of stored runs from `where` by default."""
    samples = suite.samples
    if isinstance(samples, CommonSamples) and samples.store is None:
        return replace(suite, samples=replace(samples, store=where))
    # An iterator is its own iterator: the survey would use it up before the run.
    return replace(suite, samples=list(samples)) if iter(samples) is samples else suite


@contextlib.contextmanager
def side_store(suite: Suite, store: Store) -> Iterator[Store]:
    """Where the stored runs of a suite's pairs are."""
    where = suite.samples.store if isinstance(suite.samples, CommonSamples) else None
    if where is None or store.is_at(where):
        yield store
        return
    with Store(where) as opened:
        yield opened
