"""How long the target of a run took for a sample: two quantiles, from a bounded number of records."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Final, NamedTuple

from steelyard.errors import StoreError
from steelyard.session.replies import unpack_reply
from steelyard.store.database.connection import Connection, portions
from steelyard.store.open_store import OpenStore
from steelyard.store.records import ReadableRun, reply_bodies, unpack_keys, unpacker_of

MOST_SAMPLES: Final = 400
"""Samples that are looked at, evenly spread over the dataset: the reply of each is unpacked, and a 95th percentile of
so many is known to two percent of its rank."""
_RECORDS: Final = """SELECT millis, replies FROM record
    WHERE run = :run AND failed = 0 AND no - (no / :step) * :step = 0"""


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


def read_latency(store: OpenStore, run: ReadableRun, done: int) -> Latency | None:
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


def _target_keys(run: ReadableRun, replies: bytes | None) -> list[bytes]:
    """Keys of the replies that the target got; none where their list is damaged, which reading the record reports."""
    with suppress(IndexError, TypeError):
        return [reply.key for reply in unpack_keys(replies, run.stages) if reply.stage == "target"]
    return []


def _latencies(connection: Connection, keys: set[bytes]) -> dict[bytes, float]:
    """Seconds by key, of the replies that are there and can be read."""
    unpack = unpacker_of(connection).unpack
    seconds: dict[bytes, float] = {}
    for portion in portions(keys):
        for key, body in reply_bodies(connection, portion).items():
            with suppress(StoreError, ValueError, LookupError, TypeError):
                seconds[key] = unpack_reply("", unpack(bytes(body))).latency
    return seconds
