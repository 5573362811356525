"""What a run asked and what that took, sample by sample: what a comparison reads beside the scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import bindparam, select

from steelyard.errors import StoreError
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.asked_records import AskedRecords
from steelyard.store.reading import unpacker_of
from steelyard.store.records import unpack_sample
from steelyard.text.inert import cell_text
from steelyard.text.plain_json import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from steelyard.store.store import Store
    from steelyard.types import Reply, Sample

    Array = NDArray[Any]

_CHUNK: Final = 500
"""Replies that are read together; SQLite takes at least 999 values in a statement."""
_REPLIES: Final = select(schema.reply.c.key, schema.reply.c.body).where(
    schema.reply.c.key.in_(bindparam("keys", expanding=True))
)


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
    """The samples of one run as they were asked; samples are named by id, or by number where it is said.

    Args:
        store: where the run is kept.
        run: the run's number.
        stages: names of the stages that ask, the target first.
        samples: ids by number.
        records: what the run's records asked, with the same numbers.
    """

    def __init__(
        self, store: Store, run: int, stages: Sequence[str], samples: Sequence[str], records: AskedRecords
    ) -> None:
        self._store = store
        self._run = run
        self._stages = stages
        self._samples = samples
        self._records = records

    def hashes(self) -> dict[str, str]:
        """Sample id -> hash of its content, the id included."""
        hashes = self._records.hashes.tolist()
        return {ident: f"{found & (2**64 - 1):016x}" for ident, found in zip(self._samples, hashes, strict=True)}

    @property
    def numbered_hashes(self) -> Array:
        """The same hashes as numbers of 64 bits, per sample by number."""
        return self._records.hashes

    def reply_keys(self) -> dict[str, frozenset[str]]:
        """Sample id -> the journal's keys of the last reply that the target got in each repeat, in hexadecimal digits.

        Only of samples for which anything was asked.
        """
        import numpy as np

        asked = np.unique(self._records.sample[self._records.replies.owner]).tolist()
        found: dict[str, set[str]] = {self._samples[number]: set() for number in asked}
        numbers, keys = self.last_keys()
        for number, key in zip(numbers.tolist(), keys, strict=True):
            found[self._samples[number]].add(key.tobytes().hex())
        return {ident: frozenset(several) for ident, several in found.items()}

    def last_keys(self) -> tuple[Array, Array]:
        """The journal's keys of the last reply that the target got in each repeat, and the numbers of their samples.

        What it asked before, an embedding of the question say, is no answer: two runs may share it and still differ.
        """
        import numpy as np

        owner, keys = self._target_replies()
        last = np.diff(owner, append=-1) != 0
        return self._records.sample[owner[last]], keys[last]

    def costs(self, numbers: Array) -> dict[int, SampleCost]:
        """Sample's number -> what it took; no entry for one of which each repeat failed or lost a reply.

        Args:
            numbers: of the samples that are wanted.
        """
        import numpy as np

        records = self._records
        places = np.flatnonzero(np.isin(records.sample, numbers) & ~records.failed)
        owner, keys = self._target_replies()
        begins, ends = (np.searchsorted(owner, places, side=side) for side in ("left", "right"))
        asked = [
            [key.tobytes() for key in keys[begin:end]]
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        replies = self._replies({key for several in asked for key in several})
        found: dict[int, list[SampleCost]] = {}
        for place, several in zip(places.tolist(), asked, strict=True):
            if all(key in replies for key in several):
                cost = _cost(int(records.millis[place]) / 1000, [replies[key] for key in several])
                found.setdefault(int(records.sample[place]), []).append(cost)
        return {number: _mean(costs) for number, costs in found.items()}

    def _target_replies(self) -> tuple[Array, Array]:
        """Place of the record, and key, of each reply of the target."""
        import numpy as np

        stages = [number for number, name in enumerate(self._stages) if name == "target"]
        replies = self._records.replies
        mine = np.isin(replies.stage, stages)
        return replies.owner[mine], replies.key[mine]

    def contents(self) -> dict[str, str]:
        """Sample id -> hash of what it asks and wants: input, reference, choices, contexts; no id, group, metadata."""
        return {one.id: _content(one) for one in self._read_samples()}

    def values(self, key: str) -> dict[str, str]:
        """Sample id -> its metadata at `key` as text; no entry where it has none."""
        return {
            one.id: cell_text(one.metadata[key]) for one in self._read_samples() if one.metadata.get(key) is not None
        }

    def keys(self) -> list[str]:
        """Keys of the samples' metadata, in order of first appearance."""
        return list(dict.fromkeys(key for one in self._read_samples() for key in one.metadata))

    def _read_samples(self) -> Iterator[Sample]:
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

    def _replies(self, keys: Iterable[bytes]) -> dict[bytes, Reply]:
        """Those that are in the journal and can be read."""
        wanted = list(keys)
        found: dict[bytes, Reply] = {}
        with self._store.reading() as connection:
            unpack = unpacker_of(connection).unpack
            for start in range(0, len(wanted), _CHUNK):
                for key, body in connection.execute(_REPLIES, {"keys": wanted[start : start + _CHUNK]}).all():
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
