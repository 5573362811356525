"""What a run asked and what that took, sample by sample: what a comparison reads beside the scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import bindparam, select

from steelyard.errors import StoreError
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.reading import unpacker_of
from steelyard.store.records import CACHED, KEY_BYTES, unpack_keys, unpack_sample
from steelyard.text.inert import cell_text
from steelyard.text.plain_json import to_json

if TYPE_CHECKING:
    from steelyard.store.store import Store
    from steelyard.types import Reply, Sample

_CHUNK: Final = 500
"""Replies that are read together; SQLite takes at least 999 values in a statement."""
_REPLIES: Final = select(schema.reply.c.key, schema.reply.c.body).where(
    schema.reply.c.key.in_(bindparam("keys", expanding=True))
)


class AskedRepeat(NamedTuple):
    """One repeat of one sample.

    Args:
        hash: of the sample's content, its id included.
        failed: whether the record holds a failure.
        millis: wall time, queueing, retries and scorers included.
        replies: stage numbers and keys as the record holds them; None where nothing was asked.
    """

    hash: int
    failed: int
    millis: int
    replies: bytes | None


class SampleCost(NamedTuple):
    """What a target took for one sample, as the mean of the repeats that did not fail.

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


class Asked:
    """The samples of one run as they were asked; each method reads what it needs once.

    Args:
        store: where the run is kept.
        run: the run's number.
        stages: names of the stages that ask, the target first.
    """

    def __init__(self, store: Store, run: int, stages: Sequence[str]) -> None:
        self._store = store
        self._run = run
        self._stages = stages

    def repeats(self) -> dict[str, list[AskedRepeat]]:
        """Sample id -> its repeats, in order of the dataset."""
        record, sample = schema.record, schema.sample
        columns = (sample.c.id, sample.c.hash, record.c.failed, record.c.millis, record.c.replies)
        query = (
            select(*columns)
            .select_from(record.join(sample, sample.c.num == record.c.sample))
            .where(record.c.run == self._run)
            .order_by(record.c.no, record.c.repeat)
        )
        found: dict[str, list[AskedRepeat]] = {}
        with self._store.reading() as connection:
            for ident, *rest in connection.execution_options(yield_per=5000).execute(query):
                found.setdefault(ident, []).append(AskedRepeat._make(rest))
        return found

    def hashes(self) -> dict[str, str]:
        """Sample id -> hash of its content."""
        return self.hashes_of(self.repeats())

    def hashes_of(self, repeats: Mapping[str, Sequence[AskedRepeat]]) -> dict[str, str]:
        """The same of what `repeats()` gave."""
        return {ident: f"{several[0].hash & (2**64 - 1):016x}" for ident, several in repeats.items()}

    def reply_keys(self) -> dict[str, frozenset[str]]:
        """Sample id -> `last_keys` in hexadecimal digits, of the samples for which anything was asked."""
        return {
            ident: frozenset(key.hex() for key in self.last_keys(several))
            for ident, several in self.repeats().items()
            if any(one.replies for one in several)
        }

    def last_keys(self, repeats: Sequence[AskedRepeat]) -> frozenset[bytes]:
        """The journal's keys of the last reply that the target got in each repeat.

        What it asked before, an embedding of the question say, is no answer: two runs may share it and still differ.
        """
        return frozenset(keys[-1] for one in repeats if (keys := self._target_keys(one.replies)))

    def all_keys(self, repeats: Mapping[str, Sequence[AskedRepeat]]) -> set[bytes]:
        """Every key of the target's replies: two runs without one in common share no reply, which is quickly seen."""
        return {key for several in repeats.values() for one in several for key in self._target_keys(one.replies)}

    def costs(self, repeats: Mapping[str, Sequence[AskedRepeat]]) -> dict[str, SampleCost]:
        """Sample id -> what it took; no entry for a sample of which each repeat failed or lost a reply.

        Args:
            repeats: as `repeats()` gave them, of the samples that are wanted.
        """
        whole = {ident: [one for one in several if not one.failed] for ident, several in repeats.items()}
        keys = {ident: [self._target_keys(one.replies) for one in several] for ident, several in whole.items()}
        replies = self._replies({key for several in keys.values() for one in several for key in one})
        found = {}
        for ident, several in whole.items():
            kept = [
                _cost(one.millis / 1000, [replies[key] for key in asked])
                for one, asked in zip(several, keys[ident], strict=True)
                if all(key in replies for key in asked)
            ]
            if kept:
                found[ident] = _mean(kept)
        return found

    def contents(self) -> dict[str, str]:
        """Sample id -> hash of what it asks and wants: input, reference, choices, contexts; no id, group, metadata."""
        return {one.id: _content(one) for one in self._samples()}

    def values(self, key: str) -> dict[str, str]:
        """Sample id -> its metadata at `key` as text; no entry where it has none."""
        return {one.id: cell_text(one.metadata[key]) for one in self._samples() if one.metadata.get(key) is not None}

    def keys(self) -> list[str]:
        """Keys of the samples' metadata, in order of first appearance."""
        return list(dict.fromkeys(key for one in self._samples() for key in one.metadata))

    def _samples(self) -> Iterator[Sample]:
        """Every sample that can be read; whoever reads a damaged one itself is told."""
        sample = schema.sample
        asked = select(schema.record.c.sample).where(schema.record.c.run == self._run)
        query = (
            select(sample.c.id, sample.c.grp, sample.c.cluster, sample.c.body)
            .where(sample.c.num.in_(asked))
            .order_by(sample.c.num)
        )
        with self._store.reading() as connection:
            unpack = unpacker_of(connection).unpack
            for row in connection.execution_options(yield_per=5000).execute(query):
                with suppress(StoreError):
                    yield unpack_sample(row.id, row.grp, row.cluster, unpack(bytes(row.body)))

    def _target_keys(self, packed: bytes | None) -> list[bytes]:
        if packed is None:
            return []
        # A single reply is the usual case, and there are hundreds of thousands of them.
        if len(packed) == KEY_BYTES and not packed[0] & ~CACHED:
            return [bytes(packed[1:])] if self._stages[0] == "target" else []
        return [one.key for one in unpack_keys(packed, self._stages) if one.stage == "target"]

    def _replies(self, keys: Iterable[bytes]) -> dict[bytes, Reply]:
        """Those that are in the journal and can be read."""
        wanted = list(keys)
        found: dict[bytes, Reply] = {}
        with self._store.reading() as connection:
            unpack = unpacker_of(connection).unpack
            for start in range(0, len(wanted), _CHUNK):
                for key, body in connection.execute(_REPLIES, {"keys": wanted[start : start + _CHUNK]}):
                    with suppress(StoreError):
                        found[bytes(key)] = unpack_reply("", unpack(bytes(body)))
        return found


def _content(sample: Sample) -> str:
    body = to_json([sample.input, sample.reference, sample.choices, sample.contexts])
    return blake2b(body, digest_size=8).hexdigest()


def _cost(seconds: float, replies: Sequence[Reply]) -> SampleCost:
    return SampleCost(
        seconds,
        sum(one.latency for one in replies) if replies else None,
        len(replies),
        sum(one.usage.input_tokens for one in replies),
        sum(one.usage.output_tokens for one in replies),
        any(one.usage.estimated for one in replies),
        _ttft(replies[0]) if replies else None,
    )


def _ttft(reply: Reply) -> float | None:
    found = reply.metadata.get("ttft")
    return found if isinstance(found, float) else None


def _mean(costs: Sequence[SampleCost]) -> SampleCost:
    if len(costs) == 1:
        return costs[0]
    n = len(costs)
    latencies = [one.latency for one in costs if one.latency is not None]
    first = [one.ttft for one in costs if one.ttft is not None]
    return SampleCost(
        sum(one.seconds for one in costs) / n,
        sum(latencies) / len(latencies) if latencies else None,
        sum(one.calls for one in costs) / n,
        sum(one.input_tokens for one in costs) / n,
        sum(one.output_tokens for one in costs) / n,
        any(one.estimated for one in costs),
        sum(first) / len(first) if first else None,
    )
