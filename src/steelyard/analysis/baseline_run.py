"""Which run the name of a baseline means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from steelyard.analysis.baseline_file import BaselineFile, is_baseline_file, read_baseline
from steelyard.analysis.run_protocols import ListedRun
from steelyard.errors import ConfigError, did_you_mean

LATEST: Final = "latest"


class NoEarlierRunError(ConfigError):
    """Nothing has been run yet that could be a baseline: the first run of a target has none."""


Listed = TypeVar("Listed", bound=ListedRun)


def find_baseline(name: str, run: Listed, runs: Callable[[], Sequence[Listed]]) -> Listed | BaselineFile:
    """The baseline that `name` means for `run`; it may be `run` itself.

    A file, by its ending; the id of a run; another target of the same evaluation; the newest finished run of that
    target in the same suite that was begun before; with `latest`, that of the run's own target. Runs that were begun
    later are never taken, so that a verdict that is looked at again is the same.

    Args:
        name: as it stands below `gate:`.
        run: what is held against it.
        runs: gives every stored run, newest first; not called for a file.

    Raises:
        NoEarlierRunError: no run of that target was finished before.
        ConfigError: there is no such run, or no such file.
    """
    if is_baseline_file(name):
        return read_baseline(Path(name))
    known = runs()
    exact = next((stored for stored in known if stored.id == name), None)
    if exact is not None:
        return exact
    together = [stored for stored in known if stored.evaluation == run.evaluation]
    if name != LATEST and len(together) > 1:
        sibling = next((stored for stored in together if stored.target == name), None)
        if sibling is not None:
            return sibling
    return _earlier(run.target if name == LATEST else name, run, known)


def _earlier(target: str, run: Listed, known: Sequence[Listed]) -> Listed:
    before = [stored for stored in known if stored.num < run.num and stored.evaluation != run.evaluation]
    same = (stored for stored in before if (stored.suite, stored.target) == (run.suite, target))
    earlier = next((stored for stored in same if stored.state == "finished"), None)
    if earlier is not None:
        return earlier
    if target != run.target and target not in {stored.target for stored in known}:
        raise ConfigError(_unknown(target, known))
    raise NoEarlierRunError(f"no run of {target} in {run.suite!r} was finished before this one")


def check_baseline(name: str, targets: Iterable[str], runs: Callable[[], Sequence[ListedRun]]) -> None:
    """Refuse a baseline that no run will ever be found for, before anything is asked.

    Args:
        name: as it stands below `gate:`; "" where there is none.
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
    wanted = [*targets]
    if name in wanted:
        return
    known = runs()
    if name not in {text for stored in known for text in (stored.id, stored.target)}:
        raise ConfigError(f"gate: baseline: {_unknown(name, known, wanted)}")


def _unknown(name: str, known: Sequence[ListedRun], targets: Sequence[str] = ()) -> str:
    names = {LATEST, *targets, *(text for stored in known for text in (stored.id, stored.target))}
    return f"there is no run {name!r}{did_you_mean(name, names)}"
