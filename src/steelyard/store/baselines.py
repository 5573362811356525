"""The run or file that the name of a baseline refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from steelyard.analysis.comparison.baseline import is_baseline_file, read_baseline
from steelyard.analysis.run_data import RunData
from steelyard.errors import ConfigError, did_you_mean
from steelyard.store.run import Run

LATEST: Final = "latest"
"""The baseline's name for the newest earlier run of the same target."""


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
