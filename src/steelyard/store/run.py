"""Run: a reading handle on the store. Readable while the run is running and after it was killed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection

from steelyard.errors import boundary
from steelyard.store import schema
from steelyard.store.asked import Asked
from steelyard.store.counting import stage_costs
from steelyard.store.labels import remarks_in
from steelyard.store.layers import scoring_of
from steelyard.store.reading import read_records, record_query, unpacker_of
from steelyard.store.rows import (
    PlacedValue,
    counted_texts,
    done_places,
    examined_rows,
    judged_rows,
    placed_values,
    sample_places,
    score_rows,
)
from steelyard.store.sections import breakdowns, consistency, crosses, exams, histograms
from steelyard.store.stopping import Stopped, Used, read_stopping
from steelyard.summary import (
    Answered,
    Intervals,
    JudgedRow,
    RunState,
    RunSummary,
    ScoreColumns,
    ScoreRow,
    StageCost,
    Stopping,
    as_stopped,
    summarize,
)
from steelyard.types import Outcome, Record, Remarks

if TYPE_CHECKING:
    from steelyard.store.store import Store

_CHUNK: Final = 500
"""Records that are read together: memory stays flat whatever the size of the run."""


class Run:
    """One target over one dataset, as it is stored.

    Args:
        store: where it is kept.
        row: its row in the table of runs, read when the handle was made.
    """

    def __init__(self, store: Store, row: Any) -> None:
        self._store = store
        self._row = row
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
        self.layer: int = row.layer
        self.seconds: float = row.seconds

    def __repr__(self) -> str:
        return f"Run({self.id!r}, target={self.target!r}, state={self.state!r}, done={self.done}/{self.planned})"

    @property
    def store(self) -> Store:
        """Where it is kept, with the other runs."""
        return self._store

    @property
    def state(self) -> RunState:
        """`finished`, `running`, `interrupted` (killed or stopped: it can be resumed) or `broken`."""
        if self._row.state == "open":
            return "running" if self._store.is_written(self.id) else "interrupted"
        state: RunState = self._row.state
        return state

    @property
    def created(self) -> datetime:
        """When it was started."""
        return datetime.fromtimestamp(self._row.created, UTC)

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What was run: target, scorers, samples, options, versions; secrets by name only.

        Of a run that was scored again, what is said of its scorers and scores is that of the newest layer.
        """
        if not self.layer:
            return self.first_manifest
        with self._store.reading() as connection:
            return {**self.first_manifest, **scoring_of(connection, self.num, self.layer)}

    @cached_property
    def first_manifest(self) -> Mapping[str, Any]:
        """The same as it was when the run was made, however often it was scored again."""
        manifest: dict[str, Any] = json.loads(self._row.manifest)
        return manifest

    @property
    def tags(self) -> Mapping[str, str]:
        """The target's report columns."""
        tags: dict[str, str] = self.manifest.get("tags", {})
        return tags

    @property
    def stages(self) -> Sequence[str]:
        """Names of the stages that ask, the target first."""
        stages: list[str] = self.manifest["stages"]
        return stages

    @property
    def score_order(self) -> Mapping[str, int]:
        """Score -> its place among those that the scorers announced."""
        return {name: place for place, name in enumerate(self.manifest.get("scores", ()))}

    def refresh(self) -> Run:
        """The handle on the run as it is now."""
        return self._store.run(self.id)

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score in order of samples and repeats; an `error` row per score that a failed record lacks.

        Where a stopping rule ended the run, of the samples that its decision rests on.
        """
        with self._store.reading() as connection:
            yield from score_rows(connection, self, self._used)

    def examined_rows(self) -> Iterator[tuple[ScoreRow, Answered | None]]:
        """The same rows, each of an exam score with the letters that were read and wanted; None beside any other."""
        with self._store.reading() as connection:
            yield from examined_rows(connection, self, self._used, self.manifest.get("exam", ()))

    def columns(self) -> tuple[ScoreColumns, Asked]:
        """The same rows column by column, and what was asked, with the same numbers for samples.

        A finished run is read once.
        """
        with self._store.reading() as connection:
            scores, records, _ = self._store.columns.read(connection, self, self._used)
        return scores, Asked(self._store, self.num, self.stages, scores.samples, records)

    def judged_rows(self, score: str) -> Iterator[JudgedRow]:
        """The rows of one score, likewise, each with the detail that its scorer kept."""
        with self._store.reading() as connection:
            yield from judged_rows(connection, self, score, self._used)

    @cached_property
    def _stopped(self) -> Stopped | None:
        with self._store.reading() as connection:
            return read_stopping(connection, self.num)

    @property
    def stopping(self) -> Stopping | None:
        """What a stopping rule decided; None where there was none, or where it has not come to an end."""
        if self._stopped is None or not self.layer:
            return self._stopped[0] if self._stopped else None
        found = self._stopped[0]
        return found.undone(self.manifest.get("scales", {}).get(found.score, (0.0, 1.0)))

    @property
    def _used(self) -> Used | None:
        return self._stopped[1] if self._stopped else None

    def remarks(self) -> Remarks:
        """What people and models say of it: its notes, and the labels of its records."""
        with self._store.reading() as connection:
            return remarks_in(connection, self)

    def summary(self) -> RunSummary:
        """Means, intervals and counts of the newest layer of scores."""
        columns, _ = self.columns()
        over, scales = self.manifest.get("over", {}), self.manifest.get("scales", {})
        scores, groups = summarize(columns, over=over, scales=scales, intervals=Intervals.of(self.manifest))
        scores, groups = as_stopped(scores, groups, self.stopping)
        order = self.score_order
        scores = tuple(sorted(scores, key=lambda score: order.get(score.name, len(order))))
        primary = self.manifest.get("primary") or (scores[0].name if scores else "")
        with self._store.reading() as connection:
            agreed = consistency(connection, self.num, self.layer, scorers=self.manifest.get("scorers"))
            by_metadata = breakdowns(connection, self.num, columns, self.manifest)
        return RunSummary(
            run=self.id,
            suite=self.suite,
            target=self.target,
            tags=self.tags,
            state=self.state,
            planned=self.planned,
            done=self.done,
            errors=self.errors,
            from_journal=self.from_journal,
            input_tokens=self._row.input_tokens,
            output_tokens=self._row.output_tokens,
            seconds=self.seconds,
            created=self.created.isoformat(timespec="seconds"),
            scores=scores,
            groups=groups,
            primary=primary,
            # Other scores may not read the same replies for reasons of their own: those of the headline stand first.
            unparsed_kinds=self._counted("kind", outcome="unparsed", name=primary)
            or self._counted("kind", outcome="unparsed"),
            labels={
                name: counts
                for name in self.manifest.get("labelled", ())
                if (counts := self._counted("label", name=name))
            },
            stages=self.stage_costs(),
            spreads=histograms(columns, self.manifest),
            crosses=crosses(columns, self.manifest),
            breakdowns=by_metadata,
            consistency=agreed,
            stopping=self.stopping,
            exams=exams(columns, scores, self.manifest, self.stopping),
            beside=tuple(self.manifest.get("beside", ())),
        )

    def stage_costs(self) -> tuple[StageCost, ...]:
        """What the target and every scorer asked; empty where an earlier version stored a part of the run."""
        with self._store.reading() as connection:
            return stage_costs(connection, self.num, self.stages)

    def to_frame(self) -> Any:
        """One row per record, as a data frame of pandas, polars or pyarrow, whichever is installed.

        Raises:
            ConfigError: none of them is.
        """
        from steelyard.store.frame import to_frame

        return to_frame(self)

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        from steelyard.store.frame import summary_html

        return summary_html(self)

    def _counted(self, key: str, *, outcome: Outcome | None = None, name: str = "") -> dict[str, int]:
        with self._store.reading() as connection:
            return counted_texts(connection, self, self._used, key=key, outcome=outcome, name=name)

    def sample_hashes(self) -> dict[str, str]:
        """Sample id -> hash of its content."""
        return self.columns()[1].hashes()

    def reply_keys(self) -> dict[str, frozenset[str]]:
        """Sample id -> the journal's keys of the last reply that its target got in each repeat.

        What it asked before, an embedding of the question say, is no answer: two runs may share it and still differ.
        """
        return self.columns()[1].reply_keys()

    def done_places(self) -> dict[tuple[int, int], bool]:
        """(no, repeat) of every stored record -> whether it failed."""
        with self._store.reading() as connection:
            return done_places(connection, self.num)

    def records(self) -> Iterator[Record]:
        """Every record in order of samples and repeats, read in chunks."""
        for _, record in self.numbered_records():
            yield record

    def numbered_records(self) -> Iterator[tuple[int, Record]]:
        """(no, record) for every record; `no` is the sample's place in its dataset."""
        place = (-1, 0)
        with self._store.reading() as connection, boundary("store", f"run {self.id} is damaged"):
            unpacker = unpacker_of(connection)
            while rows := self._chunk(connection, place):
                place = (rows[-1].no, rows[-1].repeat)
                yield from read_records(connection, unpacker, self, rows)

    def _chunk(self, connection: Connection, after: tuple[int, int]) -> Sequence[Any]:
        no, repeat = schema.record.c.no, schema.record.c.repeat
        later = (no > after[0]) | ((no == after[0]) & (repeat > after[1]))
        return connection.execute(record_query(self.num).where(later).limit(_CHUNK)).all()

    def records_between(self, first: int, last: int) -> list[tuple[int, Record]]:
        """(no, record) of the places from `first` to `last`."""
        query = record_query(self.num).where(schema.record.c.no.between(first, last))
        with self._store.reading() as connection, boundary("store", f"run {self.id} is damaged"):
            rows = connection.execute(query).all()
            return list(read_records(connection, unpacker_of(connection), self, rows)) if rows else []

    def records_of(self, samples: Collection[str]) -> list[Record]:
        """Records of some samples, in order; for a few of them, as each is read by itself."""
        with self._store.reading() as connection, boundary("store", f"run {self.id} is damaged"):
            rows = connection.execute(record_query(self.num, samples)).all()
            unpacker = unpacker_of(connection)
            return [record for row in rows for _, record in read_records(connection, unpacker, self, [row])]

    def places(self) -> dict[str, int]:
        """Sample id -> its place in the dataset, of every stored record."""
        with self._store.reading() as connection:
            return sample_places(connection, self.num)

    def placed_values(self, score: str) -> list[PlacedValue]:
        """One score of every record by place, whatever a stopping rule made of the run."""
        with self._store.reading() as connection:
            return list(placed_values(connection, self, score))
