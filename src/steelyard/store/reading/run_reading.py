"""Reads a stored run as a value, `RunData`, from which everything that is said about runs is computed."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from steelyard.analysis.judging_manifest import CANARY, JUDGES, judged_run
from steelyard.analysis.run_data import LabelContext, QueuedRecord, RecordPlace, RunBodies, RunCounts, RunData
from steelyard.analysis.scores.score_columns import DAMAGED_DETAIL, ScoreColumns
from steelyard.analysis.scores.score_infos import range_of, score_infos
from steelyard.analysis.stopping import Stopping
from steelyard.errors import StoreError
from steelyard.plain_json import from_json, texts_in
from steelyard.session.replies import unpack_reply
from steelyard.store.counters import framework_usage, stage_costs
from steelyard.store.database.connection import Connection, portions
from steelyard.store.labels import current_labels, newest_label, run_row
from steelyard.store.open_store import OpenStore
from steelyard.store.reading.columns import read_columns
from steelyard.store.records import (
    UNREADABLE,
    all_rows,
    damage_lines,
    read_records,
    reply_bodies,
    rows_of_samples,
    unpack_sample,
    unpacker_of,
)
from steelyard.store.run_rows import read_stopping
from steelyard.store.stored_run import StoredRun, read_manifest
from steelyard.types import Label, Record, Reply, Sample

_LOOKED_THROUGH: Final = 5000
"""Up to so many records every body is opened to look for damage (0.2 s of CPU); of a larger run only if it met any."""
_OF_MODELS: Final = frozenset({"model", "models", "replay", "pair"})
"""Keys of a manifest whose texts are not a prompt's: a scripted model holds the questions that it answers."""
_SAMPLES: Final = """SELECT id, group_name, cluster, body FROM sample
    WHERE num IN (SELECT sample FROM record WHERE run = :run)"""
_SHORTEST: Final = 20
"""Characters of an input that is looked for in prompts: shorter ones occur in them by chance."""


def read(run: StoredRun) -> RunData:
    """A run as it is now, the run of a snapshot.

    Raises:
        StoreError: something of it is damaged.
    """
    with run.store.reading() as connection:
        stopped = read_stopping(connection, run.num)
        columns = read_columns(connection, run, stopped[1] if stopped else None)
        source = _source_row(connection, run)
        labels = current_labels(connection, run.id if source is None else source.id)
        stages = stage_costs(connection, run.num, run.stages)
        framework = framework_usage(connection, run.num)
    met_damage = (columns.scores.detail == columns.scores.details.index(DAMAGED_DETAIL)).any()
    is_looked_through = run.done <= _LOOKED_THROUGH or met_damage
    # Not the run itself, which holds what is read here: they would hold each other in memory.
    records = partial(records_of, StoredRun(run.store, run.row))
    return replace(
        read_head(run),
        scores=columns.scores,
        hashes=columns.hashes,
        records=columns.records,
        stages=stages,
        framework=framework,
        labels=labels,
        label_context=_label_context(run, source, labels),
        stopping=_stopping(run, stopped[0]) if stopped else None,
        damaged=damage_lines(run.id, run.done, records(None)) if is_looked_through else (),
        bodies=RunBodies(partial(samples_of, run.store, run.num), partial(_replies, run.store), records),
    )


def read_head(run: StoredRun) -> RunData:
    """A run without its rows: its settings and counters, as a history needs them of a large run."""
    row = run.row
    counts = (row.planned, row.done, row.errors, row.from_journal, row.input_tokens, row.output_tokens, row.seconds)
    return RunData(
        id=run.id,
        suite=row.suite,
        kind=row.kind,
        target=run.target,
        evaluation=row.evaluation,
        state=run.state,
        reason=run.reason,
        created=run.created.isoformat(timespec="seconds"),
        manifest=run.manifest,
        counts=RunCounts(*counts),
        scores=ScoreColumns.of(()),
    )


def _stopping(run: StoredRun, stopping: Stopping) -> Stopping:
    """A rule's decision; where scores were replaced since, it is not claimed for the new ones."""
    if not run.scoring_version:
        return stopping
    return stopping.undone(range_of(score_infos(run.manifest).get(stopping.score)))


def all_records(run: StoredRun) -> Iterator[tuple[int, Record]]:
    """(no, record) for every record in order, read in chunks; `no` is the sample's position in its dataset."""
    with run.store.reading(run.id) as connection:
        unpacker = unpacker_of(connection)
        for rows in all_rows(connection, run.num):
            yield from read_records(connection, unpacker, run, rows)


def records_of(run: StoredRun, samples: Collection[str] | None) -> Iterator[Record]:
    """The records of some samples, in order; None is all."""
    if samples is None:
        yield from (record for _, record in all_records(run))
        return
    with run.store.reading(run.id) as connection:
        unpacker = unpacker_of(connection)
        for rows in portions(rows_of_samples(connection, run.num, samples)):
            yield from (record for _, record in read_records(connection, unpacker, run, rows))


def samples_of(store: OpenStore, run: int, ids: Collection[str] | None) -> Iterator[Sample]:
    """The samples of a run that can be read; a damaged one is reported where its record is read.

    Args:
        store: that holds them.
        run: the run's number.
        ids: of those that are wanted; None is all.
    """
    with store.reading() as connection:
        unpack = unpacker_of(connection).unpack
        for portion in [None] if ids is None else portions(ids):
            condition = "" if portion is None else "AND id IN :ids"
            query = f"{_SAMPLES} {condition} ORDER BY num"
            for row in connection.stream(query, {"run": run, "ids": portion} if portion else {"run": run}):
                with suppress(StoreError, *UNREADABLE):
                    yield unpack_sample(row.id, row.group_name, row.cluster, unpack(bytes(row.body)))


def _replies(store: OpenStore, keys: Collection[bytes]) -> Mapping[bytes, Reply]:
    """Replies by key, those that are in the journal and can be read."""
    replies: dict[bytes, Reply] = {}
    with store.reading() as connection:
        unpack = unpacker_of(connection).unpack
        for portion in portions(keys):  # packed bodies of a whole run need not be held at once
            for key, body in reply_bodies(connection, portion).items():
                with suppress(StoreError):
                    replies[key] = unpack_reply("", unpack(bytes(body)))
    return replies


def _source_row(connection: Connection, run: StoredRun) -> Any:
    """The row of the run whose answers a run of judges judges; None for any other, or where that run was deleted."""
    source = judged_run(run.manifest, run.kind)
    return run_row(connection, source) if source else None


def _label_context(run: StoredRun, source: Any, labels: Iterable[Label]) -> LabelContext:
    labelled = {(label.sample, label.repeat) for label in labels}
    with run.store.reading() as connection:
        judged = None if source is None else read_manifest(connection, source)
        drawn = _drawn(connection, run.num if source is None else source.num) if labelled else ()
    examples = _examples(run.store, run.num, run.manifest, labelled)
    if source is not None and judged is not None:
        examples |= _examples(run.store, source.num, judged, labelled)
    canary = _canary_of(run)
    return LabelContext(drawn, examples, judged, None if canary is None else _columns_of(canary))


def _columns_of(run: StoredRun) -> ScoreColumns:
    with run.store.reading() as connection:
        return read_columns(connection, run, None).scores


def _canary_of(run: StoredRun) -> StoredRun | None:
    """The newest run of the same judges on answers with an instruction in them; None where there is none."""
    target = run.manifest.get("target")
    if run.kind != JUDGES or not isinstance(target, Mapping):
        return None
    suite = f"{run.row.suite.removesuffix(f': {JUDGES}')}: {CANARY}"
    with run.store.reading() as connection:
        query = "SELECT * FROM run WHERE kind = :kind AND suite = :suite ORDER BY num DESC"
        rows = connection.execute(query, {"kind": JUDGES, "suite": suite}).all()
    for row in rows:
        canary = StoredRun(run.store, row)
        same_scorers = canary.manifest.get("scorers") == run.manifest.get("scorers")
        if same_scorers and canary.manifest.get("target") == {**target, "canary": True}:
            return canary
    return None


def label_state(run: StoredRun) -> tuple[Hashable, ...]:
    """What findings about judges and labels depend on beside the run's records: the newest label, and the canary."""
    canary = _canary_of(run)
    with run.store.reading() as connection:
        source = _source_row(connection, run)
        newest = newest_label(connection, run.id if source is None else source.id)
    return (newest, canary.id, canary.done) if canary else (newest,)


def _drawn(connection: Connection, run: int) -> tuple[QueuedRecord, ...]:
    """The records of a run that queues drew."""
    query = """SELECT drawn.sample, drawn.repeat, drawn.weight, event.num, event.body
        FROM event JOIN drawn ON drawn.event = event.num WHERE event.topic = 'queue' AND drawn.run = :run"""
    rows = connection.execute(query, {"run": run}).all()
    draws = {row.num: from_json(row.body.encode())["drawn"] for row in rows}
    return tuple(
        QueuedRecord(
            (row.sample, row.repeat),
            row.weight,
            row.num,
            str(draws[row.num].get("method")),
            str(draws[row.num].get("where") or ""),
        )
        for row in rows
    )


def _examples(
    store: OpenStore, run: int, manifest: Mapping[str, Any], places: Collection[RecordPlace]
) -> frozenset[RecordPlace]:
    """Those of the records whose input occurs, word for word, in a prompt of the run's target or scorers."""
    prompts = [
        " ".join(text.split())
        for key in ("scorers", "target")
        for text in texts_in(manifest.get(key), without=_OF_MODELS)
    ]
    if not places or not any(len(text) > _SHORTEST for text in prompts):
        return frozenset()
    # Not the records, which hold replies and scores as well: they took a quarter of the CPU of a judged run's summary.
    inputs = {
        sample.id: " ".join(sample.input.split())
        for sample in samples_of(store, run, {ident for ident, _ in places})
        if isinstance(sample.input, str)
    }
    in_prompts = {
        ident for ident, text in inputs.items() if len(text) >= _SHORTEST and any(text in prompt for prompt in prompts)
    }
    return frozenset(place for place in places if place[0] in in_prompts)
