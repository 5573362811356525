"""A damaged store as a new one in which every run can be read, with each record's damage; see `salvage`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.store.database.checksums import HEAD, ROWS, compute_checksums, read_checksums
from steelyard.store.records import DAMAGED
from steelyard.store.row_recovery import RecoveredRows, recover_rows
from steelyard.store.run import Run
from steelyard.store.store import Store
from steelyard.types import Failure, Record


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The new store, with what was recovered and what was lost.

    Attributes:
        store: the new store.
        rows: what was recovered and what was lost.
    """

    store: Store
    rows: RecoveredRows

    def records(self, run: Run) -> Iterator[Record]:
        """The records of a run that could be read, complete or with the failure `damaged` that names the damage."""
        gaps = self.rows.gaps.get("score", ())
        lost_names = {f"score {number}" for number in self.rows.lost_names}
        for no, record in run.numbered_records():
            missing = []
            if any(gap.may_hold((run.num, run.scoring_version, no, record.repeat)) for gap in gaps):
                missing.append("some of its scores may be missing")
            if lost_names & {score.name for score in record.scores}:
                missing.append("a score's name cannot be read")
            if run.num in self.rows.lost_runs:
                missing.append("the row of its run cannot be read")
            elif run.num in self.rows.placeholders and set(record.replies) - {"target"}:
                missing.append("the names of its stages cannot be read")
            yield _with_damage(record, missing, run.id) if missing else record

    def is_unchanged(self, run: Run) -> bool | None:
        """Whether the rows of a run are those that were stored; None where its checksum cannot be read."""
        with self.store.reading() as connection:
            stored = read_checksums(connection, run.num)
            if HEAD not in stored or ROWS not in stored:
                return None
            computed = compute_checksums(connection, run.num)
        return all(computed.get(part) == digest for part, digest in stored.items())


def salvage(where: Path, folder: Path) -> Salvaged:
    """Recover all readable rows of a store into a new one.

    Args:
        where: the file of the damaged store; it is only read.
        folder: an empty one, for a copy of the file and for the new store.

    Raises:
        ConfigError: there is no such file, or nothing is in it.
        StoreError: nothing of it can be read, or it is of another version.
    """
    new_path = folder / "salvaged.db"
    store = Store(new_path, create_missing=True)
    return Salvaged(store, recover_rows(where, folder, new_path))


def _with_damage(record: Record, missing: list[str], run: str) -> Record:
    damage = record.failure.message if record.failure and record.failure.kind == DAMAGED else ""
    repeat = f", repeat {record.repeat}" if record.repeat else ""
    head = f"{damage};" if damage else f"run {run}, sample {record.sample.id}{repeat}:"
    return replace(record, failure=Failure("store", DAMAGED, f"{head} {'; '.join(missing)}"))
