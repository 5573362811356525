"""Calls, tokens, money and time: per evaluation, per stage of a run, and per sample.

Money is a whole number of billionths of the currency's unit, see `steelyard.models.prices`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.numbers import money_text
from steelyard.analysis.usage import FrameworkUsage, StageCost
from steelyard.errors import ConfigError, StoreError
from steelyard.escaping import cell_text
from steelyard.models.prices import units
from steelyard.plain_json import to_json
from steelyard.prompts.agent_messages import reported_usage
from steelyard.session.replies import unpack_reply
from steelyard.store.columns import RecordColumns, read_hashes
from steelyard.store.connection import Connection, portions
from steelyard.store.records import reply_bodies, unpack_sample, unpacker_of
from steelyard.store.writer import Batch
from steelyard.types import Output

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from steelyard.types import Reply, Sample

    Array = NDArray[Any]

OF_RUN: Final = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
"""Counters of a run."""
OF_STAGE: Final = (
    "calls", "from_journal", "input_tokens", "output_tokens", "estimated", "priced", "money", "cached_tokens",
    "read_again",
)  # fmt: skip
"""Counters of a stage."""
REPORTED: Final = ("reporting", "reporting_in_part", "reported_input_tokens", "reported_output_tokens")
"""Counters of a run, of tokens that its outputs report."""
_ASKS_ITSELF: Final = frozenset({"function", "langchain", "llama_index"})
"""Targets that run code of users or frameworks, by their names in a manifest."""


def raise_time(batch: Batch, evaluation: int, millis: int) -> None:
    """Note the time that an evaluation has taken in all, where several workers may note the same; on a server alone."""
    update = "UPDATE evaluation SET millis = greatest(millis, :millis) WHERE num = :num"
    batch.connection.execute(update, {"num": evaluation, "millis": millis})


def set_currency(batch: Batch, evaluation: int, currency: str) -> None:
    """Store the currency of an evaluation's money."""
    update = "UPDATE evaluation SET currency = :currency WHERE num = :num"
    batch.connection.execute(update, {"num": evaluation, "currency": currency})


def check_currency(money: int, before: str, currency: str) -> None:
    """Refuse to add up two currencies.

    Args:
        money: spent before.
        before: its currency.
        currency: of the prices to go on with.

    Raises:
        ConfigError: something was spent in another currency.
    """
    if money and before != currency:
        spent = money_text(units(money), before)
        raise ConfigError(
            f"prices are in {currency or 'no currency'}, but this evaluation has spent {spent}: "
            "resume it with prices in the same currency"
        )


def stage_costs(connection: Connection, run: int, stages: Sequence[str]) -> tuple[StageCost, ...]:
    """Calls, tokens and cost of each stage of a run, in order.

    Args:
        connection: to the store.
        run: the run's number.
        stages: names by number, the target first.
    """
    query = "SELECT currency FROM evaluation WHERE num = (SELECT evaluation FROM run WHERE num = :run)"
    currency = connection.execute(query, {"run": run}).scalar() or ""
    rows = connection.execute("SELECT * FROM stage WHERE run = :run ORDER BY stage", {"run": run})
    return tuple(_stage_cost(row, stages[row.stage], currency) for row in rows)


def _stage_cost(row: Any, name: str, currency: str) -> StageCost:
    """The counters of a stage; money only if all its replies have a cost, since a partial sum would mislead."""
    counters = ("calls", "from_journal", "input_tokens", "output_tokens", "estimated", "cached_tokens", "read_again")
    usage = StageCost(name, **{counter: getattr(row, counter) for counter in counters})
    is_priced = row.priced and row.priced == row.calls
    return replace(usage, money=units(row.money), currency=currency) if is_priced else usage


def reported_counts(output: Output | None, *, through_journal: bool) -> dict[str, int]:
    """The counts that an output adds to `REPORTED`; empty if it reports no tokens."""
    usage = reported_usage(output, through_journal=through_journal)
    if usage is None:
        return {}
    in_part = int("calls_without_tokens" in usage)
    return dict(zip(REPORTED, (1, in_part, usage["input_tokens"], usage["output_tokens"]), strict=True))


def framework_usage(connection: Connection, run: int) -> FrameworkUsage | None:
    """The tokens that a run's outputs report of models which did not go through the journal; None where none does."""
    row = connection.execute("SELECT * FROM run WHERE num = :run", {"run": run}).first()
    return FrameworkUsage(*(getattr(row, name) for name in REPORTED)) if row is not None and row.reporting else None


def asked_by_itself(stages: Sequence[StageCost], manifest: Mapping[str, Any]) -> bool:
    """Whether a target is code that asks models by itself: none of its calls went through the journal.

    Args:
        stages: of the run, as `stage_costs` counts them.
        manifest: the run's.
    """
    used_ask = any(cost.calls for cost in stages if cost.stage == "target")
    target = manifest.get("target")
    # A function of Python is described by its import path, a registered target by its name.
    own_code = isinstance(target, str) or (isinstance(target, Mapping) and not _ASKS_ITSELF.isdisjoint(target))
    return own_code and not used_ask


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


class RunUsage:
    """Usage of one run per sample, as a comparison needs it.

    Samples are named by id, or by number where the name of a method or argument says so.

    Args:
        reading: opens a connection to the store.
        run: the run's number.
        stages: names of the stages that ask, the target first.
        samples: ids by number.
        records: the run's records with their replies, with the same numbers of samples.
    """

    def __init__(
        self,
        reading: Callable[[], AbstractContextManager[Connection]],
        run: int,
        stages: Sequence[str],
        samples: Sequence[str],
        records: RecordColumns,
    ) -> None:
        self._reading = reading
        self._run = run
        self._stages = stages
        self._samples = samples
        self._records = records

    def hashes(self) -> dict[str, str]:
        """Sample id -> hash of its content, the id included."""
        hashes = self.numbered_hashes.tolist()
        return {ident: f"{number & (2**64 - 1):016x}" for ident, number in zip(self._samples, hashes, strict=True)}

    @cached_property
    def numbered_hashes(self) -> Array:
        """The same hashes as numbers of 64 bits, per sample by number."""
        records = self._records
        if records.hashes is not None:
            return records.hashes
        with self._reading() as connection:
            return read_hashes(connection, records.nums)

    def reply_keys(self) -> dict[str, frozenset[str]]:
        """Sample id -> the journal's keys of the last reply that the target got in each repeat, in hexadecimal digits.

        Only for samples for which a model was called.
        """
        import numpy as np

        answered = np.unique(self._records.sample[self._records.replies.owner]).tolist()
        by_sample: dict[str, set[str]] = {self._samples[number]: set() for number in answered}
        numbers, keys = self.last_keys()
        for number, key in zip(numbers.tolist(), keys, strict=True):
            by_sample[self._samples[number]].add(key.tobytes().hex())
        return {ident: frozenset(of_sample) for ident, of_sample in by_sample.items()}

    def last_keys(self) -> tuple[Array, Array]:
        """The journal's keys of the last reply that the target got in each repeat, and the numbers of their samples.

        Only the last one is the answer: two runs may share an earlier one, such as an embedding, and still differ.
        """
        import numpy as np

        owner, keys = self._target_replies()
        # Replies come in the order of their records: the last of a record is followed by another record's.
        is_last = np.diff(owner, append=-1) != 0
        return self._records.sample[owner[is_last]], keys[is_last]

    def costs(self, numbers: Array) -> dict[int, SampleCost]:
        """Sample's number -> its cost; no entry for a sample of which each repeat failed or lost a reply.

        Args:
            numbers: of the samples that are wanted.
        """
        import numpy as np

        records = self._records
        places = np.flatnonzero(np.isin(records.sample, numbers) & ~records.failed)
        owner, keys = self._target_replies()
        begins, ends = (np.searchsorted(owner, places, side=side) for side in ("left", "right"))
        keys_of_records = [
            [key.tobytes() for key in keys[begin:end]]
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        replies = self._replies({key for of_record in keys_of_records for key in of_record})
        costs: dict[int, list[SampleCost]] = {}
        for position, of_record in zip(places.tolist(), keys_of_records, strict=True):
            if all(key in replies for key in of_record):
                cost = _cost(int(records.millis[position]) / 1000, [replies[key] for key in of_record])
                costs.setdefault(int(records.sample[position]), []).append(cost)
        return {number: _mean(of_sample) for number, of_sample in costs.items()}

    def _target_replies(self) -> tuple[Array, Array]:
        """Place of the record, and key, of each reply of the target."""
        import numpy as np

        stages = [number for number, name in enumerate(self._stages) if name == "target"]
        replies = self._records.replies
        of_target = np.isin(replies.stage, stages)
        return replies.owner[of_target], replies.key[of_target]

    def contents(self) -> dict[str, str]:
        """Sample id -> hash of input, reference, choices and contexts; without id, group and metadata."""
        return {sample.id: _content(sample) for sample in self._read_samples()}

    def values(self, key: str) -> dict[str, str]:
        """Sample id -> its metadata at `key` as text; no entry where it has none."""
        return {
            sample.id: cell_text(sample.metadata[key])
            for sample in self._read_samples()
            if sample.metadata.get(key) is not None
        }

    def keys(self) -> list[str]:
        """Keys of the samples' metadata, in order of first appearance."""
        return list(dict.fromkeys(key for sample in self._read_samples() for key in sample.metadata))

    def _read_samples(self) -> Iterator[Sample]:
        """Every sample that can be read; a damaged one is reported where its record is read."""
        query = """SELECT id, grp, cluster, body FROM sample
            WHERE num IN (SELECT sample FROM record WHERE run = :run) ORDER BY num"""
        with self._reading() as connection:
            unpack = unpacker_of(connection).unpack
            for row in connection.stream(query, {"run": self._run}):
                with suppress(StoreError):
                    yield unpack_sample(row.id, row.grp, row.cluster, unpack(bytes(row.body)))

    def _replies(self, keys: Collection[bytes]) -> dict[bytes, Reply]:
        """Replies by key, those that are in the journal and can be read."""
        replies: dict[bytes, Reply] = {}
        with self._reading() as connection:
            unpack = unpacker_of(connection).unpack
            for portion in portions(keys):  # packed bodies of a whole run need not be held at once
                for key, body in reply_bodies(connection, portion).items():
                    with suppress(StoreError):
                        replies[key] = unpack_reply("", unpack(bytes(body)))
        return replies


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
