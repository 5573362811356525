"""Runs about the same answers: the one that gave them, those of its judges, and those that judge pairs of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from steelyard.analysis.comparison.history import PAIRED_RECORDS
from steelyard.analysis.judging_manifest import JUDGES, is_judging, judged_run
from steelyard.analysis.run_data import RunData
from steelyard.errors import ConfigError
from steelyard.store.labels import current_labels, run_row
from steelyard.store.reading.run_reading import read_head
from steelyard.store.run import Run
from steelyard.types import Label

_MOST: Final = 20
"""Runs of judges that are read, and runs of pairs that are listed, the newest ones: a page has room for no more."""


def related_runs(run: Run) -> tuple[Run, ...]:
    """The runs whose answers a run judges, or the runs that judge its own; newest last.

    Args:
        run: of any kind.
    """
    if source := source_of(run):
        return (source,)
    return tuple(sorted((*_of_judges(run), *_of_pairs(run)), key=lambda related: related.num))


def source_of(run: Run) -> Run | None:
    """The run whose answers a run of judges judges; None for any other run, or where that run was deleted."""
    source = judged_run(run.manifest, run.kind)
    if not source:
        return None
    with run.store.reading() as connection:
        row = run_row(connection, source)
    return None if row is None else Run(run.store, row)


def refuse_other_suites(runs: Sequence[Run]) -> None:
    """Refuse runs of several suites: equal names of scores and ids of samples need not mean the same in them.

    Commands and pages ask this first. From Python `compare` warns instead: there a suite's name may be a mere title.

    Args:
        runs: that are to be compared; any number.

    Raises:
        ConfigError: the suite of each run, and what to do.
    """
    if len({(run.suite, run.kind) for run in runs}) < 2:
        return
    several_names = len({run.suite for run in runs}) > 1
    named = "; ".join(
        f"run {run.id} ({run.target}) is of suite {run.suite}{'' if several_names else f', a {run.kind} suite'}"
        for run in runs
    )
    raise ConfigError(
        f"runs of different suites cannot be compared: {named}. Put their targets into one suite, or give both "
        "configurations the same name: and run them again; steelyard show RUN shows a single run"
    )


def past_data(run: Run) -> RunData:
    """A run as a history needs it: without the rows of one that is too large to be paired sample by sample."""
    return run.data() if run.done <= PAIRED_RECORDS else read_head(run)


def labels_of_sample(run: Run, sample: str) -> tuple[Label, ...]:
    """The labels of one sample that count; of a run of judges those of the run whose answers it judges."""
    answered = source_of(run) or run
    with run.store.reading() as connection:
        return current_labels(connection, answered.id, sample)


def _of_judges(run: Run) -> Iterator[Run]:
    """Runs of judges of this run's answers."""
    query = "SELECT * FROM run WHERE kind = :kind AND suite = :suite ORDER BY num DESC"
    with run.store.reading() as connection:
        rows = connection.execute(query, {"kind": JUDGES, "suite": f"{run.suite}: {JUDGES}"}).all()[:_MOST]
    judging = (Run(run.store, row) for row in rows)
    return (judge_run for judge_run in judging if judged_run(judge_run.manifest, judge_run.kind) == run.id)


def _of_pairs(run: Run) -> Iterator[Run]:
    """The runs of both sides of a run of pairs, or the newest runs of pairs that this run is a side of."""
    if is_judging(run.manifest):
        first_side, second_side = _sides(run)
        query = """SELECT * FROM run WHERE num <> :num
            AND (id IN (:first, :second) OR evaluation = :of AND target IN (:first, :second)) ORDER BY num"""
        yield from _runs(run, query, {"first": first_side, "second": second_side})
        return
    # Whether a run judges pairs is in its manifest alone, so the database is asked for those that may name this one.
    query = """SELECT * FROM run WHERE num <> :num AND manifest LIKE :pairs
        AND (evaluation = :of OR num > :num AND kind = :kind AND manifest LIKE :named) ORDER BY num DESC"""
    pairs = _runs(run, query, {"pairs": '%"pair"%', "kind": "pairwise", "named": f'%"{run.id}"%'})
    yield from islice((pair for pair in pairs if _is_side(run, pair)), _MOST)


def _runs(run: Run, query: str, values: Mapping[str, object]) -> Iterator[Run]:
    with run.store.reading() as connection:
        rows = connection.execute(query, {"num": run.num, "of": run.evaluation, **values}).all()
    return (Run(run.store, row) for row in rows)


def _is_side(run: Run, pair: Run) -> bool:
    """Whether a run is a side of a run of pairs: by its id, or within one evaluation by its target."""
    if not is_judging(pair.first_manifest):
        return False
    return run.id in _sides(pair) or (pair.evaluation == run.evaluation and run.target in _sides(pair))


def _sides(run: Run) -> tuple[str, str]:
    """What a run of pairs names as its sides: targets of its evaluation, or ids of stored runs."""
    pair = run.first_manifest["target"]["pair"]
    return str(pair.get("first")), str(pair.get("second"))
