"""Draws the records of queues and error analyses: at random, equally many of failures and passes, or uncertain ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Literal

import numpy as np

from steelyard.analysis.judges.judged_score import judge_uncertainty
from steelyard.errors import ConfigError
from steelyard.people.events import Event, Topic
from steelyard.plain_json import field_values
from steelyard.stats.labels_needed import draw_by_chance, labelling_chances
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection
from steelyard.store.reading.pages import matching_places
from steelyard.store.run import Run
from steelyard.store.store import Store, new_id
from steelyard.store.writer import Batch
from steelyard.types import Json, Record

DrawMethod = Literal["random", "stratified", "uncertain"]
_STRATA: Final[Mapping[str, tuple[str, ...]]] = {"unparsed": ("unparsed", "refused"), "failures": ("wrong",)}
"""Stratum -> the conditions of which one holds, in the order in which they are tried; the rest are passes."""
_REST: Final = "passes"
_Place = tuple[int, int, int]
"""(position among the runs, place of the sample, repeat)."""


RecordKey = tuple[int, str, int]
"""(run's number, sample's id, repeat)."""


@dataclass(frozen=True, slots=True)
class DrawnRecord:
    """A record of a queue or an error analysis.

    Args:
        num: its number, by which people and sheets name it.
        run: number of its run.
        no: place of its sample in the dataset when it was drawn.
        sample: the sample's id.
        repeat: 0-based.
        needed: how many people are to label it.
        weight: how many records of those that could be drawn it stands for.
        stratum: of which part it was drawn; "" where there are no parts.
    """

    num: int
    run: int
    no: int
    sample: str
    repeat: int
    needed: int
    weight: float
    stratum: str

    @property
    def key(self) -> RecordKey:
        """(run's number, sample's id, repeat)."""
        return self.run, self.sample, self.repeat


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """A record that was drawn for a queue or an error analysis.

    Args:
        run: that the record is of.
        no: place of its sample in the dataset.
        sample: the sample's id.
        repeat: 0-based.
        weight: how many records of those that could be drawn it stands for.
        stratum: of which part it was drawn; "" where there are no parts.
        needed: how many people are to label it; a queue adds its raters to those who labelled it before.
    """

    run: Run
    no: int
    sample: str
    repeat: int = 0
    weight: float = 1.0
    stratum: str = ""
    needed: int = 0


def draw_records(
    runs: Sequence[Run], *, n: int = 0, where: str = "", method: DrawMethod = "random", seed: int = 0, score: str = ""
) -> tuple[list[DrawnItem], dict[str, Json]]:
    """Draw records of runs, and describe the draw.

    A record without an output cannot be labelled and is not drawn. `stratified` draws equally many of each stratum,
    `n` in all, so that rare failures are seen; `weight` is then the size of the stratum over the number drawn of it
    (Horvitz and Thompson 1952), which estimates for all records need. `uncertain` draws records of which judges are
    uncertain more often; `weight` is the inverse of a record's chance.

    Args:
        runs: of any suites; one for `uncertain`.
        n: how many; 0 takes all.
        where: a condition, as `run --only` takes it; "" for all records.
        method: how.
        seed: equal seeds draw equal records.
        score: whose uncertainty; that of the run's headline score where it is "" or has none.

    Returns:
        The records, and the draw as JSON: method, seed, condition, runs, and the size of each stratum with the number
        drawn of it.

    Raises:
        ConfigError: no record meets the condition, it cannot be read, or nothing tells how uncertain the judge is.
    """
    strata = _strata(runs, where, method)
    population = sum(map(len, strata.values()))
    if not population:
        raise ConfigError("no record with an output" + (f" meets {where!r}" if where else " is in these runs"))
    names = [{place: sample for sample, place in run.places().items()} for run in runs]
    draw: dict[str, Json] = {"method": method, "seed": seed, "where": where, "runs": [run.id for run in runs]}
    if method == "uncertain":
        [run] = runs
        draw["score"], chosen = _uncertain(run, strata["all"], names[0], n=n, score=score, seed=seed)
    else:
        chosen = _at_random(strata, n or population, seed)
        draw["method"] = method if len(chosen) < population else "all"
    drawn = Counter(stratum for _, stratum, _ in chosen)
    draw["strata"] = {name: {"records": len(places), "drawn": drawn[name]} for name, places in strata.items()}
    items = [
        DrawnItem(runs[at], no, names[at][no], repeat, weight, stratum if method == "stratified" else "")
        for (at, no, repeat), stratum, weight in chosen
    ]
    return items, draw


_Chosen = list[tuple[_Place, str, float]]
"""Place, stratum and weight of each record, in a random order."""


def _at_random(strata: Mapping[str, list[_Place]], n: int, seed: int) -> _Chosen:
    chooser = random.Random(seed)  # noqa: S311  # a draw that can be repeated, no secret
    allocation = _allocation({name: len(places) for name, places in strata.items()}, n)
    chosen: _Chosen = []
    for name, places in strata.items():
        drawn = sorted(chooser.sample(places, allocation[name]))
        weight = len(places) / len(drawn) if drawn else 0.0
        chosen += [(place, name, weight) for place in drawn]
    chooser.shuffle(chosen)
    return chosen


def _uncertain(
    run: Run, places: Sequence[_Place], samples: Mapping[int, str], *, n: int, score: str, seed: int
) -> tuple[str, _Chosen]:
    """The score whose judges' uncertainty decides, and the records."""
    name, uncertain = judge_uncertainty(run.data().scores, run.score_infos, (score, run.data().primary))
    chances = labelling_chances(
        [uncertain.get((samples[no], repeat), 0.0) for _, no, repeat in places], min(n, len(places))
    )
    rng = np.random.default_rng(seed)
    rows = draw_by_chance(chances, rng).tolist()
    return name, [(places[rows[at]], "all", 1 / float(chances[rows[at]])) for at in rng.permutation(len(rows)).tolist()]


def store_draw(
    store: Store, topic: Topic, body: Any, items: Sequence[DrawnItem], *, author: str
) -> tuple[str, int, datetime]:
    """Store drawn records as a queue or an error analysis; returns its id, number and time once it is on disk.

    Raises:
        StoreError: it could not be written.
    """
    ident, event = new_id(), Event("drawn", author, body)
    rows = [{**field_values(item), "run": item.run.num} for item in items]

    def change(batch: Batch) -> int:
        number = batch.connection.insert(schema.event, event.row(topic, ident))
        insert = schema.insert_into(schema.drawn, ("event", *rows[0]))
        batch.connection.insert_rows(insert, [{"event": number, **row} for row in rows])
        return number

    return ident, int(store.writer.change(change)), event.at


def drawn_items(connection: Connection, event: int, num: int | None = None) -> list[DrawnRecord]:
    """The records of a queue or an error analysis in the order in which they were stored; the one of a number alone.

    Those of deleted runs are gone.
    """
    query = "SELECT num, run, no, sample, repeat, needed, weight, stratum FROM drawn WHERE event = :event"
    values = {"event": event} if num is None else {"event": event, "num": num}
    of_one = "" if num is None else "AND num = :num"
    return [DrawnRecord(*row) for row in connection.execute(f"{query} {of_one} ORDER BY num", values).tuples()]


def item_record(run: Run, item: DrawnRecord) -> Record:
    """The record of an item.

    Raises:
        ConfigError: the run has it no more.
    """
    at_place = (record for _, record in run.records_between(item.no, item.no))
    key = (item.sample, item.repeat)
    match = next((record for record in at_place if (record.sample.id, record.repeat) == key), None)
    if match is None:  # its place may be another's after a resume that allowed changed inputs
        match = next((record for record in run.records_of([item.sample]) if record.repeat == item.repeat), None)
    if match is None:
        raise ConfigError(f"run {run.id} has no record of the sample {item.sample!r} any more")
    return match


def seeded_rank(*parts: object, digest_size: int = 8) -> int:
    """A number of some bytes drawn by its parts, the same on every machine."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=digest_size).digest())


def _strata(runs: Sequence[Run], where: str, method: DrawMethod) -> dict[str, list[_Place]]:
    """Stratum -> its places, in the order of the runs; without strata all under "all"."""
    strata: dict[str, list[_Place]] = {name: [] for name in (*_STRATA, _REST)} if method == "stratified" else {}
    for at, run in enumerate(runs):
        failed = run.done_places()
        places = [place for place in matching_places(run, where) if not failed[place]]
        parts = {
            name: set().union(*(matching_places(run, condition) for condition in conditions))
            for name, conditions in _STRATA.items()
            if method == "stratified"
        }
        for no, repeat in places:
            holding = next(
                (name for name, stratum in parts.items() if (no, repeat) in stratum), _REST if parts else "all"
            )
            strata.setdefault(holding, []).append((at, no, repeat))
    return strata


def _allocation(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many to draw of each stratum: equal numbers, what a small one lacks going to the others.

    >>> _allocation({"failures": 4, "passes": 90, "unparsed": 0}, 20)
    {'failures': 4, 'passes': 16, 'unparsed': 0}
    """
    allocation = dict.fromkeys(sizes, 0)
    left = min(n, sum(sizes.values()))
    while left:
        open_ones = [name for name, size in sizes.items() if allocation[name] < size]
        share = max(1, left // len(open_ones))
        for name in open_ones:
            more = min(share, sizes[name] - allocation[name], left)
            allocation[name] += more
            left -= more
    return allocation
