"""The Store: begins, reopens and finds runs; names of runs, targets and suites are resolved here."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from steelyard.analysis.judging_manifest import JUDGES
from steelyard.errors import ConfigError, StoreError, did_you_mean
from steelyard.models.prices import Spent
from steelyard.store.counters import Consumption, check_currency, consumption, set_currency
from steelyard.store.database.backend import Durability, read_json
from steelyard.store.database.connection import select_in
from steelyard.store.journal import RunWriter, SeenKeys, StoreJournal
from steelyard.store.open_store import OpenStore
from steelyard.store.run import Run
from steelyard.store.run_rows import NewRun, add_scoring_version, begin_runs, reopen
from steelyard.store.stored_run import started
from steelyard.types import Score

_ALPHABET: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without letters and digits that are easily confused."""
_MOST_LISTED: Final = 12
_NEWEST_FIRST: Final = "SELECT * FROM run ORDER BY num DESC"
LATEST: Final = "latest"


class Store(OpenStore):
    """A store of runs, records and replies, in a SQLite file or a PostgreSQL schema.

    It can be read at once, and is written from the first change on; the writing thread starts then.

    Args:
        where: a file, or `postgresql://user@host/database`; None is `.steelyard/steelyard.db` in the current folder.
        create_missing: make it where there is none; else that is an error.
        durability: `normal` survives the death of this process at any moment, `full` a power cut too.

    Attributes:
        path: where it is: a file, or the address of a server without its password. Another store can be opened on it.
        columns: of the runs that were read last.

    Raises:
        StoreError: it cannot be opened, or is of another version.
        ConfigError: there is none.
    """

    def __init__(
        self, where: str | Path | None = None, *, create_missing: bool = False, durability: Durability = "normal"
    ) -> None:
        super().__init__(where, create_missing=create_missing, durability=durability)
        self._seen = SeenKeys()

    def begin_evaluation(self, new: Sequence[NewRun]) -> tuple[int, list[RunWriter]]:
        """Create and lock several runs at once: all or none, even if the process is killed.

        Returns:
            The evaluation's number, and a writer per run.
        """
        writer, created = self.writer, time.time()
        idents = [new_id() for _ in new]
        with contextlib.ExitStack() as failing:
            # Locked before they exist: a run that is open without a lock is taken for one that was killed.
            locks = []
            for ident in idents:
                locks.append(self.lock(ident))
                failing.callback(locks[-1].release)

            evaluation = int(writer.change(lambda batch: begin_runs(batch, created, idents, new)))
            writers = [RunWriter(writer, self.run(lock.run), lock) for lock in locks]
            failing.pop_all()
        return evaluation, writers

    def spending(self, evaluation: int, *, currency: str = "") -> Spent:
        """All that an evaluation has booked.

        Args:
            evaluation: its number.
            currency: of the prices that it goes on with; "" where there are none.

        Raises:
            ConfigError: it has spent in another currency.
            StoreError: a negative amount, which would raise the budget.
        """
        query = "SELECT calls, tokens, money, millis, currency FROM evaluation WHERE num = :num"
        with self.reading() as connection:
            ((*amounts, before),) = connection.execute(query, {"num": evaluation}).tuples()
        spent = Spent(*amounts)
        if currency:
            check_currency(spent.money, before, currency)
            self.writer.change(lambda batch: set_currency(batch, evaluation, currency))
        if min(spent) < 0:
            raise StoreError(f"the store says that negative amounts were spent, {spent}: it is damaged or was changed")
        return spent

    def consumption(self, evaluation: int) -> Consumption:
        """What all runs of an evaluation have spent so far, and how often they retried."""
        with self.reading() as connection:
            return consumption(connection, evaluation)

    def journal(self, evaluation: int, *, owner: str = "") -> StoreJournal:
        """The journal for one evaluation; `owner` is the worker, where several processes share its samples."""
        return StoreJournal(self.writer, evaluation, self._seen, owner)

    def reopen_run(
        self, run: Run, *, manifest: Mapping[str, Any], planned: int, beside_workers: bool = False
    ) -> RunWriter:
        """Lock an unfinished run to continue it.

        Args:
            run: which.
            manifest: of this execution (a start or a resume).
            planned: records that there are to be.
            beside_workers: lock it even while workers of an earlier execution, whose main process has died, write it.

        Raises:
            StoreError: another process writes it.
            ConfigError: it has been finished meanwhile.
        """
        writer = self.writer
        lock = self.lock(run.id, beside_workers=beside_workers)
        with contextlib.ExitStack() as failing:
            failing.callback(lock.release)
            if writer.change(lambda batch: reopen(batch, run, manifest, planned)):
                reopened = RunWriter(writer, run.refresh(), lock)
                failing.pop_all()
                return reopened
        raise ConfigError(f"run {run.id} is finished: there is nothing to resume")

    def adopt_run(self, run: Run) -> RunWriter:
        """Lock a run that other processes have written, to store its end.

        Raises:
            StoreError: another process has it.
        """
        return RunWriter(self.writer, run, self.lock(run.id, beside_workers=True))

    def add_scoring_version(self, run: Run, scoring: Any, scores: Sequence[tuple[int, int, Sequence[Score]]]) -> Run:
        """Store the scores of a run that was scored again; they are read from now on, the earlier ones stay.

        Args:
            run: the run.
            scoring: the keys of the manifest that differ for these scores.
            scores: (no, repeat, scores) of every record.
        """
        self.writer.change(lambda batch: add_scoring_version(batch, run.num, scoring, scores))
        return run.refresh()

    def stored_keys(self, keys: Sequence[bytes]) -> set[bytes]:
        """The subset of `keys` that the journal holds."""
        with self.reading() as connection:
            rows = select_in(connection, "SELECT key FROM reply WHERE key IN :keys", "keys", keys)
            return {bytes(row.key) for row in rows}

    def runs(self) -> list[Run]:
        """Every run, newest first."""
        with self.reading() as connection:
            rows = connection.execute(_NEWEST_FIRST).all()
        return [Run(self, row) for row in rows]

    def run(self, name: str) -> Run:
        """Find a run by id or the beginning of one, target name, `SUITE/TARGET`, or `latest`.

        A target's name means its newest run.

        Raises:
            ConfigError: there is no such run, or the name is ambiguous: all matches are listed. A target's name is
                ambiguous where several suites have it.
        """
        return self.runs_named([name])[0][0]

    def runs_named(self, names: Sequence[str], *, unique: bool = False) -> list[tuple[Run, str]]:
        """The runs of several names, each with a sentence that says which of several matches was taken.

        Targets' names mean runs that were started together, where there are such, and else the newest run of each.

        Args:
            names: as for `run`.
            unique: whether a name that several runs have is refused, even where the newest would be meant.

        Raises:
            ConfigError: as for `run`.
        """
        with self.reading() as connection:
            rows = connection.execute(_NEWEST_FIRST).all()
        return [(Run(self, named.row), named.choice) for named in named_together(names, rows, unique=unique)]

    def runs_of(self, evaluation: int) -> list[Run]:
        """The runs that were started together, in the order of their targets."""
        query = "SELECT * FROM run WHERE evaluation = :evaluation ORDER BY num"
        with self.reading() as connection:
            rows = connection.execute(query, {"evaluation": evaluation}).all()
        return [Run(self, row) for row in rows]


def new_id() -> str:
    """Six characters that are easy to read out: 31**6 or 900 million ids."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(6))


@dataclass(frozen=True, slots=True)
class NamedRow:
    """The row of the run that a name means.

    Args:
        name: as it was typed.
        row: of the table of runs.
        others: rows of the same suite and target that the name could have meant as well, newest first.
    """

    name: str
    row: Any
    others: tuple[Any, ...] = ()

    @property
    def choice(self) -> str:
        """A sentence that says which of several matching runs was taken; "" if only one matched."""
        if not self.others:
            return ""
        row, n = self.row, len(self.others) + 1
        run = f"{self.name}: run {row.id} of {_time(row)}"
        if newer := sum(other.num > row.num for other in self.others):
            passed_over = f"{newer} {'is' if newer == 1 else 'are'} newer"
            return f"{run}, one of {n} in suite {row.suite} ({passed_over}): it was started together with the others"
        return f"{run}, the newest of {n} in suite {row.suite}"


def named_together(names: Sequence[str], rows: Sequence[Any], *, unique: bool = False) -> list[NamedRow]:
    """Find the rows of several runs by name, in the order of the names.

    A name is an id or the beginning of one, `latest`, a target's name, or `SUITE/TARGET`. Of several runs of one target
    in one suite the newest is meant; where several such names are given and an evaluation has a run of each, those of
    the newest such evaluation. Of several suites with the same target's name, one is meant only if it alone has all
    names.

    Args:
        names: as they were typed.
        rows: of the table of runs, newest first.
        unique: whether a name that several runs have is refused even where the newest would be meant.

    Raises:
        ConfigError: a name means no run, or it is not clear which; then all of them are listed.
    """
    candidates = [_candidates(name, rows) for name in names]
    # The suites in which every name has a run.
    shared = set.intersection(*({_suite(row) for row in of_name} for of_name in candidates))
    narrowed = []
    for name, of_name in zip(names, candidates, strict=True):
        of_shared = [row for row in of_name if _suite(row) in shared] if len(shared) == 1 else of_name
        _refuse_unclear(name, of_shared or of_name, unique=unique)
        narrowed.append(of_shared or of_name)
    # An id means one run only, and does not select the evaluation for the other names: it may be last week's baseline.
    evaluations = [
        {row.evaluation for row in of_name}
        for name, of_name in zip(names, narrowed, strict=True)
        if name in {of_name[0].target, _qualified(of_name[0])}
    ]
    common = set.intersection(*evaluations) if len(evaluations) > 1 else set()
    return [_chosen(name, of_name, common) for name, of_name in zip(names, narrowed, strict=True)]


def _candidates(name: str, rows: Sequence[Any]) -> list[Any]:
    """All rows that match a name, newest first."""
    if name == LATEST and rows:
        return [rows[0]]
    # A whole id or target before the beginning of an id: a target may be named like one.
    exact = [row for row in rows if row.id == name]
    of_target = [row for row in rows if row.target == name] or [row for row in rows if _qualified(row) == name]
    # A run of judges has the name of the target whose answers it judges, and does not make that name unclear.
    of_target = [row for row in of_target if row.kind != JUDGES] or of_target
    begins = [row for row in rows if row.id.startswith(name)] if name else []
    if exact or of_target:
        return exact or of_target
    if len(begins) > 1:
        raise ConfigError(f"{name!r} is the beginning of several ids:\n{_listed(begins)}\ntype more of one")
    if begins:
        return begins
    names = {row.id for row in rows} | {row.target for row in rows}
    if "/" in name:
        names |= {_qualified(row) for row in rows}
    raise ConfigError(f"there is no run {name!r}{did_you_mean(name, names)}" if rows else "the store holds no runs")


def _qualified(row: Any) -> str:
    return f"{row.suite}/{row.target}"


def _suite(row: Any) -> tuple[str, str]:
    return row.suite, row.kind


def _refuse_unclear(name: str, rows: Sequence[Any], *, unique: bool) -> None:
    """Refuse a name that runs of several suites have, or of several configurations with one title of the suite."""
    suites = {_suite(row) for row in rows}
    if len(suites) > 1:
        # A suite of another kind may have the same title, and then only ids tell the runs apart.
        titles = {suite for suite, _ in suites}
        hint = (
            f"its id, or the suite before it, such as {shlex.quote(_qualified(rows[0]))}"
            if len(titles) > 1
            else "its id"
        )
        raise ConfigError(
            f"{name!r} is a target of {len(suites)} suites; which run is meant?\n{_listed(rows)}\ntype {hint}"
        )
    if len(rows) > 1 and len(paths := _configurations(rows)) > 1:
        raise ConfigError(
            f"{name!r} is a target of suite {rows[0].suite!r} in {len(paths)} configurations "
            f"({', '.join(sorted(paths))}); which run is meant?\n{_listed(rows)}\ntype its id"
        )
    if len(rows) > 1 and unique:
        raise ConfigError(f"{name!r} is the target of {len(rows)} runs; which is meant?\n{_listed(rows)}\ntype its id")


def _configurations(rows: Sequence[Any]) -> set[str]:
    """File names of the configurations that runs were started with.

    Without their folders: a team has the same configuration at other paths.
    """
    configs = [read_json(row.manifest, "a manifest").get("config") for row in rows]
    return {PurePath(config["path"]).name for config in configs if isinstance(config, Mapping) and config.get("path")}


def _chosen(name: str, rows: Sequence[Any], common: set[int]) -> NamedRow:
    """The newest of the rows, among those of the newest evaluation that has all names where there is one."""
    newest = max(common, default=None)
    row = next((row for row in rows if row.evaluation == newest), rows[0])
    return NamedRow(name, row, tuple(other for other in rows if other is not row))


def _listed(rows: Sequence[Any]) -> str:
    """A line per run: id, suite, target, start, records."""
    lines = [
        f"  {row.id}  {_qualified(row)}  {_time(row)}  {row.done}/{row.planned} done"
        + (f", {row.errors} error{'' if row.errors == 1 else 's'}" if row.errors else "")
        for row in rows[:_MOST_LISTED]
    ]
    if len(rows) > _MOST_LISTED:
        lines.append(f"  and {len(rows) - _MOST_LISTED} older ones")
    return "\n".join(lines)


def _time(row: Any) -> str:
    return f"{started(row):%Y-%m-%d %H:%M} UTC"
