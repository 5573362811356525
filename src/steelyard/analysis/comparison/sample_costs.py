"""Contents, metadata and costs of a run's samples, read from the bodies of the few records that an answer needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.run_data import RecordColumns, RunBodies
from steelyard.escaping import cell_text
from steelyard.plain_json import to_json
from steelyard.types import Reply, Sample

Array = NDArray[Any]


class SampleCost(NamedTuple):
    """Time, tokens and cost of a target for one sample: the mean over repeats that did not fail.

    Args:
        seconds: wall time of the record, queueing, retries and scorers included.
        latency: seconds of the answered attempts of its replies, one after another; None where it asked no model.
        calls: replies of the target; likewise the tokens.
        input_tokens: of these replies.
        output_tokens: of these replies.
        estimated: whether the endpoint did not count some of the tokens, so that they were estimated.
        ttft: seconds to the first token of its first reply; None where it was not streamed.
    """

    seconds: float
    latency: float | None
    calls: float
    input_tokens: float
    output_tokens: float
    estimated: bool
    ttft: float | None = None


def sample_costs(records: RecordColumns, bodies: RunBodies, numbers: Sequence[int]) -> dict[int, SampleCost]:
    """Sample's number -> its cost; no entry for a sample of which each repeat failed or lost a reply.

    Args:
        records: of a run.
        bodies: likewise.
        numbers: of the samples that are wanted.
    """
    places = np.flatnonzero(np.isin(records.sample, numbers) & ~records.failed)
    begins, ends = (np.searchsorted(records.replies.owner, places, side=side) for side in ("left", "right"))
    keys_of_records = [
        [key.tobytes() for key in records.replies.key[begin:end]]
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    replies = bodies.replies({key for of_record in keys_of_records for key in of_record})
    costs: dict[int, list[SampleCost]] = {}
    for position, of_record in zip(places.tolist(), keys_of_records, strict=True):
        if all(key in replies for key in of_record):
            cost = _cost(int(records.millis[position]) / 1000, [replies[key] for key in of_record])
            costs.setdefault(int(records.sample[position]), []).append(cost)
    return {number: _mean(of_sample) for number, of_sample in costs.items()}


def contents(bodies: RunBodies) -> dict[str, str]:
    """Sample id -> hash of input, reference, choices and contexts; without id, group and metadata."""
    return {sample.id: _content(sample) for sample in bodies.samples(None)}


def metadata_values(bodies: RunBodies, key: str) -> dict[str, str]:
    """Sample id -> its metadata at `key` as text; no entry where it has none."""
    return {
        sample.id: cell_text(sample.metadata[key])
        for sample in bodies.samples(None)
        if sample.metadata.get(key) is not None
    }


def metadata_keys(bodies: RunBodies) -> list[str]:
    """Keys of the samples' metadata, in order of first appearance."""
    return list(dict.fromkeys(key for sample in bodies.samples(None) for key in sample.metadata))


def hashes_by_id(samples: Sequence[str], hashes: Array | None) -> Mapping[str, str]:
    """Sample id -> hash of its content in hexadecimal digits; empty where hashes are not known."""
    numbers = [] if hashes is None else hashes.tolist()
    return {ident: f"{number & (2**64 - 1):016x}" for ident, number in zip(samples, numbers, strict=False)}


def _content(sample: Sample) -> str:
    body = to_json([sample.input, sample.reference, sample.choices, sample.contexts])
    return blake2b(body, digest_size=8).hexdigest()


def _cost(seconds: float, replies: Sequence[Reply]) -> SampleCost:
    return SampleCost(
        seconds,
        sum(reply.latency for reply in replies) if replies else None,
        len(replies),
        sum(reply.usage.input_tokens for reply in replies),
        sum(reply.usage.output_tokens for reply in replies),
        any(reply.usage.estimated for reply in replies),
        _ttft(replies[0]) if replies else None,
    )


def _ttft(reply: Reply) -> float | None:
    seconds = reply.metadata.get("ttft")
    return seconds if isinstance(seconds, float) else None


def _mean(costs: Sequence[SampleCost]) -> SampleCost:
    if len(costs) == 1:
        return costs[0]
    n = len(costs)
    latencies = [cost.latency for cost in costs if cost.latency is not None]
    ttfts = [cost.ttft for cost in costs if cost.ttft is not None]
    return SampleCost(
        sum(cost.seconds for cost in costs) / n,
        sum(latencies) / len(latencies) if latencies else None,
        sum(cost.calls for cost in costs) / n,
        sum(cost.input_tokens for cost in costs) / n,
        sum(cost.output_tokens for cost in costs) / n,
        any(cost.estimated for cost in costs),
        sum(ttfts) / len(ttfts) if ttfts else None,
    )
