"""How the labelled records of a run were drawn: weights of its queues, and records that prompts hold as examples."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from steelyard.analysis.judge_agreement_values import LabelDraw, RecordPlace
from steelyard.errors import SteelyardError
from steelyard.plain_json import from_json
from steelyard.store.connection import portions
from steelyard.store.open_store import OpenStore
from steelyard.store.records import UNREADABLE, unpack_sample, unpacker_of
from steelyard.types import Label

_BY_CHANCE: Final = frozenset({"random", "stratified", "uncertain", "all"})
"""Methods of draws in which each record had a known chance; records in dispute, say, were not drawn by chance."""
_OF_MODELS: Final = frozenset({"model", "models", "replay", "pair"})
"""Keys of a manifest whose texts are not a prompt's: a scripted model holds the questions that it answers."""
_SAMPLES: Final = """SELECT id, grp, cluster, body FROM sample
    WHERE id IN :ids AND num IN (SELECT sample FROM record WHERE run = :run)"""
_SHORTEST: Final = 20
"""Characters of an input that is looked for in prompts: shorter ones occur in them by chance."""


class LabelledRecords(Protocol):
    """The parts of a labelled run that are read; `steelyard.store.Run` is one."""

    num: int

    @property
    def store(self) -> OpenStore:
        """The store that holds it."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What it was made of."""


def label_draw(run: LabelledRecords, labels: Iterable[Label]) -> LabelDraw:
    """How the labelled records of a run were drawn.

    Several draws are joined: the weights of a queue count by its share of the labelled records, and those of a record
    that several queues drew are added.

    Args:
        run: with queues or without.
        labels: those that count.
    """
    labelled = {(label.sample, label.repeat) for label in labels}
    with run.store.reading() as connection:
        query = """SELECT queue_item.sample, queue_item.repeat, queue_item.weight, queue.num, queue.body
            FROM queue_item JOIN queue ON queue.num = queue_item.queue WHERE queue_item.run = :run"""
        rows = connection.execute(query, {"run": run.num}).all()
    draws: dict[int, Mapping[str, Any]] = {row.num: from_json(row.body.encode())["drawn"] for row in rows}
    by_chance = [row for row in rows if draws[row.num].get("method") in _BY_CHANCE]
    used = [row for row in by_chance if (row.sample, row.repeat) in labelled]
    of_queue = Counter(row.num for row in used)
    weights: dict[RecordPlace, float] = {}
    for row in used:
        place = (row.sample, row.repeat)
        weights[place] = weights.get(place, 0.0) + row.weight * of_queue[row.num] / len(used)
    conditions = dict.fromkeys(str(draws[num]["where"]) for num in of_queue if draws[num].get("where"))
    return LabelDraw(weights, tuple(conditions), _examples(run, labelled))


def _examples(run: LabelledRecords, places: Iterable[RecordPlace]) -> frozenset[RecordPlace]:
    """Those of the records whose input occurs, word for word, in a prompt of the run's target or scorers."""
    manifest = run.manifest
    prompts = [" ".join(text.split()) for key in ("scorers", "target") for text in _texts(manifest.get(key))]
    if not any(len(text) > _SHORTEST for text in prompts):
        return frozenset()
    ids_in_prompts = {
        ident
        for ident, words in _inputs(run, {sample for sample, _ in places})
        if len(text := " ".join(words.split())) >= _SHORTEST and any(text in prompt for prompt in prompts)
    }
    return frozenset(place for place in places if place[0] in ids_in_prompts)


def _inputs(run: LabelledRecords, ids: Collection[str]) -> Iterator[tuple[str, str]]:
    """(id, input) of those samples of a run whose input is a text; one that is damaged is left out."""
    # Their records hold replies and scores as well, which took a quarter of the CPU of a judged run's summary.
    with run.store.reading() as connection:
        unpacker = unpacker_of(connection)
        for portion in portions(ids):
            for row in connection.execute(_SAMPLES, {"run": run.num, "ids": portion}).all():
                with contextlib.suppress(SteelyardError, *UNREADABLE):
                    sample = unpack_sample(row.id, row.grp, row.cluster, unpacker.unpack(bytes(row.body)))
                    if isinstance(sample.input, str):
                        yield row.id, sample.input


def _texts(part: Any) -> Iterator[str]:
    """Every text in a part of a manifest, but those of its models."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            if key not in _OF_MODELS:
                yield from _texts(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _texts(value)
