"""What is noted of a run when it has ended: its figures for lists of runs, and what its calls showed of endpoints.

The figures are headline score, cost and latency, stored as one row when an evaluation ends and when the run is scored
again, so that a list of 200 runs, some of 100,000 records, reads them in a millisecond. The row says for which counters
of the run it holds; where they have moved since, as after a resume that was killed, the run has no figures until they
are stored again.

The replies of a run tell which parameters its endpoints refused, and whether they read all that they were sent; see
`steelyard.session.parameter_findings` and `steelyard.analysis.model_calls`. Its manifest gets a note of that.
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from steelyard.analysis.model_calls import InputCount, StageCost, cut_inputs
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import SteelyardError, StoreError
from steelyard.plain_json import field_values, from_json, to_json
from steelyard.session.parameter_findings import CHANGED_PARAMETERS
from steelyard.session.replies import unpack_reply
from steelyard.stats.intervals import Interval
from steelyard.store.counters import stage_costs
from steelyard.store.database import schema
from steelyard.store.database.checksums import head_digest, set_head_checksum
from steelyard.store.database.connection import Connection, portions
from steelyard.store.open_store import OpenStore
from steelyard.store.records import reply_bodies, unpack_keys, unpacker_of
from steelyard.store.run import Run
from steelyard.store.run_rows import is_stored
from steelyard.store.store import Store
from steelyard.store.stored_run import StoredRun
from steelyard.store.writer import Batch
from steelyard.types import Record, Reply

_LIST: Final = "list"
_MOST_BYTES: Final = 1 << 16
_LARGE: Final = 5_000
"""Records of a run after which the database is told how large its tables have become."""
MOST_SAMPLES: Final = 400
"""Samples that are looked at, evenly spread over the dataset: the reply of each is unpacked, and a 95th percentile of
so many is known to two percent of its rank."""
_RECORDS: Final = """SELECT millis, replies FROM record
    WHERE run = :run AND failed = 0 AND no - (no / :step) * :step = 0"""
_NOTE: Final = "UPDATE run SET manifest = :manifest WHERE num = :num"
_FEW: Final = 50
_MOST: Final = 5_000
"""Records that are looked through: a change shows in the first, a cut context in a few thousand."""
_CUT_SHARE: Final = 0.05
"""Of the target's replies: so many that ended at their limit of tokens move its figures."""
_FEW_TOKENS: Final = 8
"""A limit that is meant: the reply is one label, or is scored by its likelihood."""
_LEAST_TOKENS: Final = 200
"""Of a stage's mean input: shorter ones are not cut by any context."""


@dataclass(frozen=True, slots=True)
class ListFigures:
    """What lists of runs show of a run that has ended, as numbers; `viewer/run_figures.py` has their texts.

    They are stored as a list in the order of these fields. A row with another number of fields is computed again.

    Args:
        score: name of the headline score; "" where no record has it.
        value: its headline mean; None where no record has a value.
        interval: the 95 % CI of the mean.
        is_share: whether the score is shown in percent.
        money: currency -> what all replies cost; empty where a stage with calls has no price.
        input_tokens: of all replies; likewise `output_tokens`.
        output_tokens: see there.
        latency: of the target; None where nothing was measured.
        unparsed: replies in which the headline score found no verdict.
        refused: replies that a model or a content filter refused.
    """

    score: str = ""
    value: float | None = None
    interval: Interval | None = None
    is_share: bool = False
    money: Mapping[str, float] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    latency: Latency | None = None
    unparsed: int = 0
    refused: int = 0

    @classmethod
    def of(cls, summary: RunSummary, latency: Latency | None) -> ListFigures:
        """The figures of a summary."""
        score = summary.score(summary.primary)
        mean = score.headline if score else None
        return cls(
            score=summary.primary if score else "",
            value=mean.value if mean else None,
            interval=mean.interval if mean else None,
            is_share=bool(score and score.is_share),
            money=money_of(summary.calls.stages),
            input_tokens=summary.counts.input_tokens,
            output_tokens=summary.counts.output_tokens,
            latency=latency,
            unparsed=score.unparsed if score else 0,
            refused=score.refused if score else 0,
        )

    @classmethod
    def of_json(cls, plain: Any) -> ListFigures:
        """Read the values of the fields as JSON holds them."""
        values = dict(zip(cls.__slots__, plain, strict=True))
        values["interval"] = values["interval"] and Interval(*values["interval"])
        values["latency"] = values["latency"] and Latency(*values["latency"])
        return cls(**values)


def money_of(stages: Sequence[StageCost]) -> dict[str, float]:
    """Currency -> what all replies of a run cost; empty if a stage with calls has no price."""
    called = [stage for stage in stages if stage.calls]
    if any(stage.money is None for stage in called):
        return {}
    sums: dict[str, float] = {}
    for stage in called:
        sums[stage.currency] = sums.get(stage.currency, 0.0) + (stage.money or 0.0)
    return sums


def compute_figures(run: Run) -> ListFigures:
    """The figures of a run, from its rows.

    Raises:
        StoreError: rows of the run cannot be read.
    """
    return ListFigures.of(run.summary(), read_latency(run.store, run, run.done))


def read_figures(store: OpenStore, runs: Sequence[Run]) -> dict[str, ListFigures]:
    """Run's id -> its stored figures; no entry for a run without any that fit."""
    by_number = {run.num: run for run in runs}
    figures: dict[str, ListFigures] = {}
    with store.reading() as connection:
        query = "SELECT run, body FROM computed WHERE about = :about AND run IN :runs"
        for numbers in portions(by_number):
            for number, body in connection.execute(query, {"about": _LIST, "runs": numbers}).tuples():
                run = by_number[number]
                with contextlib.suppress(ValueError, TypeError, zlib.error):  # a damaged row is none
                    counters, plain = _opened(body)
                    if counters == _counters(run):
                        figures[run.id] = ListFigures.of_json(plain)
    return figures


def _opened(body: bytes) -> Any:
    """The JSON of a row; its zlib stream has a checksum, which detects damage that still parses."""
    stream = zlib.decompressobj()
    value = from_json(stream.decompress(body, _MOST_BYTES))
    if not stream.eof:  # before its end, zlib has not compared the checksum
        raise ValueError("it is too long, or cut")
    return value


def store_figures(store: OpenStore, run: Run, figures: ListFigures) -> None:
    """Store the figures of a run, in place of earlier ones.

    Raises:
        StoreError: they could not be written.
    """
    body = to_json([_counters(run), list(field_values(figures).values())])
    row = {"run": run.num, "about": _LIST, "body": zlib.compress(body)}
    with store.changing() as connection:
        if is_stored(connection, run):
            connection.insert_rows(schema.insert_or_update(schema.computed, ("run", "about"), ("body",)), [row])


def remember_figures(store: OpenStore, runs: Sequence[Run]) -> None:
    """Compute and store the figures of runs that have just ended or were scored again.

    Args:
        store: of the runs, open for writing.
        runs: those of a damaged row are left out: whoever opens the run is told.
    """
    if any(run.done > _LARGE for run in runs):
        with contextlib.suppress(StoreError):  # a server may do it by itself
            store.gather_statistics()
    for run in runs:
        with contextlib.suppress(SteelyardError):
            store_figures(store, run, compute_figures(run))


def _counters(run: Run) -> list[Any]:
    """What figures hold for. By its id too: SQLite gives the number of a deleted run to the next one."""
    return [run.id, run.row.state, run.scoring_version, run.done, run.errors, run.replies]


class Latency(NamedTuple):
    """Seconds that a target took for a sample.

    Args:
        p50: the smallest value that half of the samples do not exceed; likewise `p95`.
        p95: of 95 percent.
        n: samples that were looked at.
        of_models: seconds of the answered attempts of its models, also of cached replies, without queueing and
            retries; else wall time of the record, where the target asked no model.
    """

    p50: float
    p95: float
    n: int
    of_models: bool


def read_latency(store: OpenStore, run: StoredRun, done: int) -> Latency | None:
    """The latency of a run; None where every record failed.

    Args:
        store: where the run is.
        run: finished or not.
        done: how many records it has.
    """
    with store.reading() as connection:
        values = {"run": run.num, "step": max(1, math.ceil(done / MOST_SAMPLES))}
        rows = list(connection.execute(_RECORDS, values).tuples())
        key_lists = [_target_keys(run, replies) for _, replies in rows]
        of_models = any(key_lists)
        if of_models:
            latencies = _latencies(connection, {key for keys in key_lists for key in keys})
            complete = [keys for keys in key_lists if keys and all(key in latencies for key in keys)]
            seconds = [sum(latencies[key] for key in keys) for keys in complete]
        else:
            seconds = [millis / 1000 for millis, _ in rows]
    if not seconds:
        return None
    seconds.sort()
    p50, p95 = (seconds[math.ceil(share * len(seconds)) - 1] for share in (0.5, 0.95))
    return Latency(p50, p95, len(seconds), of_models)


def _target_keys(run: StoredRun, replies: bytes | None) -> list[bytes]:
    """Keys of the replies that the target got; none where their list is damaged, which reading the record reports."""
    with contextlib.suppress(IndexError, TypeError):
        return [reply.key for reply in unpack_keys(replies, run.stages) if reply.stage == "target"]
    return []


def _latencies(connection: Connection, keys: set[bytes]) -> dict[bytes, float]:
    """Seconds by key, of the replies that are there and can be read."""
    unpack = unpacker_of(connection).unpack
    seconds: dict[bytes, float] = {}
    for portion in portions(keys):
        for key, body in reply_bodies(connection, portion).items():
            with contextlib.suppress(StoreError, ValueError, LookupError, TypeError):
                seconds[key] = unpack_reply("", unpack(bytes(body))).latency
    return seconds


def remember_calls(store: Store, runs: Sequence[Run]) -> tuple[Run, ...]:
    """Note in the manifests of runs that have just ended what their calls showed; gives the runs as they then are.

    Args:
        store: of the runs, open for writing.
        runs: that have ended.
    """
    return tuple(_noted(store, run) for run in runs)


def _noted(store: Store, run: Run) -> Run:
    noted: Mapping[str, Any] = {}
    with contextlib.suppress(SteelyardError):  # a damaged record: whoever opens the run says so
        with store.reading() as connection:
            stages = stage_costs(connection, run.num, run.stages)
        if not any(stage.calls for stage in stages):
            return run
        is_long = any(stage.input_tokens >= _LEAST_TOKENS * stage.calls > 0 for stage in stages)
        noted = calls_of(islice(run.records(), _MOST if is_long else _FEW), _taken_out(run.first_manifest))
    if not noted:
        return run
    names = {"id": run.id, "suite": run.suite, "kind": run.kind, "target": run.target, "planned": run.planned}
    manifest = to_json({**run.first_manifest, "calls": noted}).decode("utf-8", "replace")

    def write(batch: Batch) -> None:
        batch.connection.execute(_NOTE, {"num": run.num, "manifest": manifest})
        set_head_checksum(batch.connection, run.num, head_digest({**names, "manifest": manifest}))

    store.writer.change(write)
    return run.refresh()


def _taken_out(manifest: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """By stage the parameters that the run itself sets to null wherever a model is asked."""
    stages = {"target": manifest.get("target"), **manifest.get("scorers", {})}
    nulls = {stage: [*_nulls(described)] for stage, described in stages.items()}
    return {stage: frozenset.intersection(*names) for stage, names in nulls.items() if names}


def _nulls(described: Any) -> Iterator[frozenset[str]]:
    """The parameters set to null beside each model in a part of a manifest."""
    if isinstance(described, list):
        for part in described:
            yield from _nulls(part)
    elif isinstance(described, Mapping):
        if "model" in described and isinstance(own := described.get("parameters"), Mapping):
            yield frozenset(name for name, value in own.items() if value is None)
        for part in described.values():
            yield from _nulls(part)


def calls_of(records: Iterable[Record], taken_out: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """The manifest entry: `changed_parameters` by stage, `cut_inputs`, and `cut_replies` of the target as (n, of).

    It is empty where nothing showed.

    Args:
        records: of the run.
        taken_out: by stage the parameters that the run does not send. A reply from the cache may tell of their refusal
            in an earlier run that sent them.
    """
    changed: dict[str, dict[str, str]] = {}
    inputs: dict[str, list[InputCount]] = {}
    ended: list[int] = []
    for record in records:
        ended += [_is_cut(reply) for reply in record.replies.get("target", ())]
        for stage, replies in record.replies.items():
            for reply in replies:
                changes = reply.metadata.get(CHANGED_PARAMETERS, {})
                unsent = taken_out.get(stage, ())
                changed.setdefault(stage, {}).update({name: to for name, to in changes.items() if name not in unsent})
                usage = reply.usage
                if usage.sent:
                    place = (record.sample.id, record.repeat)
                    count = InputCount(stage, place, usage.sent, usage.input_tokens, usage.dense)
                    inputs.setdefault(str(reply.metadata.get("model", "")), []).append(count)
    cut = [field_values(finding) for calls in inputs.values() for finding in cut_inputs(calls)]
    changed = {stage: changes for stage, changes in changed.items() if changes}
    cut_replies = [sum(ended), len(ended)] if sum(ended) >= max(1, _CUT_SHARE * len(ended)) else []
    found = {"cut_inputs": cut, "cut_replies": cut_replies, "changed_parameters": changed}
    return {name: value for name, value in found.items() if value}


def _is_cut(reply: Reply) -> bool:
    return reply.finish == "length" and (reply.usage.output_tokens > _FEW_TOKENS or not reply.text.strip())
