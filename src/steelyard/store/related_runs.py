"""Runs that belong to a run: the one that gave its answers, those of its judges and of pairs of them; its baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from steelyard.analysis.comparison.baseline import is_baseline_file, read_baseline
from steelyard.analysis.comparison.history import PAIRED_RECORDS
from steelyard.analysis.judging_manifest import JUDGES, is_judging, judged_run
from steelyard.analysis.run_data import RunData
from steelyard.errors import ConfigError, did_you_mean
from steelyard.store.labels import current_labels, run_row
from steelyard.store.reading.run_reading import read_head
from steelyard.store.run import Run
from steelyard.types import Label

_MOST: Final = 20
"""Runs of judges that are read, and runs of pairs that are listed, the newest ones: a page has room for no more."""
LATEST: Final = "latest"
"""The baseline's name for the newest earlier run of the same target."""


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
        "the same name (name: in a configuration, name= of evaluate) and run them again; steelyard show RUN shows a "
        "single run"
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


class NoEarlierRunError(ConfigError):
    """No earlier run can be the baseline, as for the first run of a target."""


def find_baseline(name: str, run: Run, runs: Callable[[], Sequence[Run]]) -> RunData:
    """Find the baseline that `name` refers to for `run`; it may be `run` itself.

    Tried in this order: a file, by its ending; the id of a run; another target of the same evaluation; the newest
    finished run of that target in the same suite that was started before; with `latest`, that of the run's own target.
    Runs that were started later are never taken, so that evaluating a gate again gives the same verdict.

    Args:
        name: as written under `gate:`.
        run: the run that is compared with the baseline.
        runs: gives every stored run, newest first; not called for a file.

    Raises:
        NoEarlierRunError: no run of that target was finished before.
        ConfigError: there is no such run, or no such file.
    """
    if is_baseline_file(name):
        return read_baseline(Path(name))
    stored_runs = runs()
    exact = next((stored for stored in stored_runs if stored.id == name), None)
    if exact is not None:
        return exact.data()
    siblings = [stored for stored in stored_runs if stored.evaluation == run.evaluation]
    if name != LATEST and len(siblings) > 1:
        sibling = next((stored for stored in siblings if stored.target == name), None)
        if sibling is not None:
            return sibling.data()
    return _earlier(run.target if name == LATEST else name, run, stored_runs).data()


def _earlier(target: str, run: Run, stored_runs: Sequence[Run]) -> Run:
    before = [stored for stored in stored_runs if stored.num < run.num and stored.evaluation != run.evaluation]
    same = (stored for stored in before if (stored.suite, stored.target) == (run.suite, target))
    earlier = next((stored for stored in same if stored.state == "finished"), None)
    if earlier is not None:
        return earlier
    if target != run.target and target not in {stored.target for stored in stored_runs}:
        raise ConfigError(_unknown(target, stored_runs))
    raise NoEarlierRunError(f"no run of {target} in {run.suite!r} was finished before this one")


def check_baseline(name: str, targets: Iterable[str], runs: Callable[[], Sequence[Run]]) -> None:
    """Refuse a baseline that names no file, run or target, before the first call.

    Args:
        name: as written under `gate:`; "" where there is none.
        targets: of the suite that is about to run.
        runs: gives every stored run, newest first.

    Raises:
        ConfigError: the file cannot be read, or there is neither a run nor a target of that name.
    """
    if not name or name == LATEST:
        return
    if is_baseline_file(name):
        read_baseline(Path(name))
        return
    target_names = [*targets]
    if name in target_names:
        return
    stored_runs = runs()
    if name not in {text for stored in stored_runs for text in (stored.id, stored.target)}:
        raise ConfigError(f"gate: baseline: {_unknown(name, stored_runs, target_names)}")


def _unknown(name: str, stored_runs: Sequence[Run], targets: Sequence[str] = ()) -> str:
    names = {LATEST, *targets, *(text for stored in stored_runs for text in (stored.id, stored.target))}
    return f"there is no run {name!r}{did_you_mean(name, names)}"
