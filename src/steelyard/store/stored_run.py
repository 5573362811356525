"""The row of a stored run, with what follows from it; `Run` adds to it what reads records and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, cast

from steelyard.analysis.scores.score_infos import score_infos
from steelyard.analysis.scores.score_summary_values import RunState
from steelyard.errors import StoreError, boundary
from steelyard.store.database.backend import REPAIR_HINT, read_json
from steelyard.store.database.connection import Connection
from steelyard.store.open_store import OpenStore
from steelyard.types import ScoreInfo

_KINDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("options", "samples", "score_infos", "scorers", "tags"), dict),
    **dict.fromkeys(("notes", "scores", "stages"), list),
}
"""Of the values of a manifest: wherever one is read it is taken for what was written."""


class StoredRun:
    """A stored run as its row describes it.

    Args:
        store: where it is kept.
        row: its row in the table of runs, read when the handle was made.
    """

    def __init__(self, store: OpenStore, row: Any) -> None:
        self._store = store
        self.row = row
        self.num: int = row.num
        self.id: str = row.id
        self.evaluation: int = row.evaluation
        self.suite: str = row.suite
        self.kind: str = row.kind
        self.target: str = row.target
        self.reason: str = row.reason
        self.planned: int = row.planned
        self.done: int = row.done
        self.errors: int = row.errors
        self.replies: int = row.replies
        self.from_journal: int = row.from_journal
        self.scoring_version: int = row.scoring_version
        self.seconds: float = row.seconds

    def __repr__(self) -> str:
        return f"Run({self.id!r}, target={self.target!r}, state={self.state!r}, done={self.done}/{self.planned})"

    @property
    def store(self) -> OpenStore:
        """The store that holds the run; a `Store` where the run was found in one."""
        return self._store

    @property
    def state(self) -> RunState:
        """`finished`, `running`, `interrupted` (killed or stopped: it can be resumed) or `broken`."""
        # A killed process leaves "open" behind, but the operating system has let its lock go.
        if self.row.state == "open":
            return "running" if self._store.is_written(self.id) else "interrupted"
        return cast("RunState", self.row.state)

    @property
    def created(self) -> datetime:
        """When it was started."""
        return started(self.row)

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What was run: target, scorers, samples, options, versions; secrets by name only.

        For a run that was scored again, the keys about scorers and scores are those of the newest scoring version.
        """
        if not self.scoring_version:
            return self.first_manifest
        with self._store.reading() as connection:
            return read_manifest(connection, self.row)

    @cached_property
    def first_manifest(self) -> Mapping[str, Any]:
        """The same as it was when the run was made, however often it was scored again."""
        return _first_manifest(self.row)

    @cached_property
    def score_infos(self) -> Mapping[str, ScoreInfo]:
        """Score -> what its scorer declared, in the scorers' order; of a run that was scored again, the newest."""
        return score_infos(self.manifest)

    @property
    def tags(self) -> Mapping[str, str]:
        """The target's report columns."""
        return cast("Mapping[str, str]", self.manifest.get("tags", {}))

    @property
    def stages(self) -> Sequence[str]:
        """Names of the stages that ask, the target first."""
        return cast("Sequence[str]", self.manifest["stages"])

    @property
    def score_order(self) -> Mapping[str, int]:
        """Score -> its position in the order that the scorers declared."""
        return {name: position for position, name in enumerate(self.manifest.get("scores", ()))}


def started(row: Any) -> datetime:
    """When the run of a row was started.

    Raises:
        StoreError: no calendar has that time.
    """
    try:
        return datetime.fromtimestamp(row.created, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise StoreError(f"the start of run {row.id} is damaged: {error}. {REPAIR_HINT}") from error


def read_manifest(connection: Connection, row: Any) -> Mapping[str, Any]:
    """The manifest of a run; of one that was scored again, with what its newest scoring version has in its place."""
    if not row.scoring_version:
        return _first_manifest(row)
    query = "SELECT scorers FROM scoring_version WHERE run = :run AND scoring_version = :scoring_version"
    stored = connection.execute(query, {"run": row.num, "scoring_version": row.scoring_version}).scalar()
    what = f"scoring version {row.scoring_version} of run number {row.num}"
    return _checked({**_first_manifest(row), **read_json(stored or "{}", what)}, what)


def _first_manifest(row: Any) -> Mapping[str, Any]:
    what = f"the manifest of run {row.id} ({row.target})"
    return _checked(read_json(row.manifest, what), what)


def _checked(manifest: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    for key, kind in _KINDS.items():
        if not isinstance(manifest.get(key, kind()), kind):
            raise StoreError(f"{what} is damaged: {key!r} is {type(manifest[key]).__name__}. {REPAIR_HINT}")
    texts = (*manifest.get("scores", ()), *manifest.get("stages", ()), *manifest.get("tags", {}).values())
    if not all(isinstance(text, str) for text in texts):
        raise StoreError(f"{what} is damaged: the name of a score, stage or tag is not a text. {REPAIR_HINT}")
    with boundary("store", f"{what} is damaged ({REPAIR_HINT})"):
        score_infos(manifest)
    return manifest
