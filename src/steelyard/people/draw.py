"""Draws the records of a queue: at random, equally many of failures and passes, or where judges are uncertain."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from steelyard.errors import ConfigError
from steelyard.people.queue_values import DrawnItem
from steelyard.types import Json

if TYPE_CHECKING:
    from steelyard.store.run import Run

DrawMethod = Literal["random", "stratified"]
_STRATA: Final[Mapping[str, tuple[str, ...]]] = {"unparsed": ("unparsed", "refused"), "failures": ("wrong",)}
"""Stratum -> the conditions of which one holds, in the order in which they are tried; the rest are passes."""
_REST: Final = "passes"
_Place = tuple[int, int, int]
"""(position among the runs, place of the sample, repeat)."""


def draw_records(
    runs: Sequence[Run], *, n: int = 0, where: str = "", method: DrawMethod = "random", seed: int = 0
) -> tuple[list[DrawnItem], dict[str, Json]]:
    """Draw records of runs, and describe the draw.

    A record without an output cannot be labelled and is not drawn. `stratified` draws equally many of each stratum,
    `n` in all, so that rare failures are seen; `weight` is then the size of the stratum over the number drawn of it
    (Horvitz and Thompson 1952), which estimates for all records need.

    Args:
        runs: of any suites.
        n: how many; 0 takes all.
        where: a condition, as `run --only` takes it; "" for all records.
        method: how.
        seed: equal seeds draw equal records.

    Returns:
        The records, and the draw as JSON: method, seed, condition, runs, and the size of each stratum with the number
        drawn of it.

    Raises:
        ConfigError: no record meets the condition, or it cannot be read.
    """
    strata = _strata(runs, where, method)
    population = sum(map(len, strata.values()))
    if not population:
        raise ConfigError("no record with an output" + (f" meets {where!r}" if where else " is in these runs"))
    chooser = random.Random(seed)  # noqa: S311  # a draw that can be repeated, no secret
    allocation = _allocation({name: len(places) for name, places in strata.items()}, n or population)
    names = [{place: sample for sample, place in run.places().items()} for run in runs]
    items = []
    for name, places in strata.items():
        drawn = sorted(chooser.sample(places, allocation[name]))
        weight = len(places) / len(drawn) if drawn else 0.0
        stratum = name if method == "stratified" else ""
        items += [DrawnItem(runs[at], no, names[at][no], repeat, weight, stratum) for at, no, repeat in drawn]
    chooser.shuffle(items)
    draw: dict[str, Json] = {
        "method": method if len(items) < population else "all",
        "seed": seed,
        "where": where,
        "runs": [run.id for run in runs],
        "strata": {name: {"records": len(places), "drawn": allocation[name]} for name, places in strata.items()},
    }
    return items, draw


def draw_uncertain(
    run: Run, *, n: int, where: str = "", score: str = "", seed: int = 0
) -> tuple[list[DrawnItem], dict[str, Json]]:
    """Draw records of a run; those of which its judges are uncertain are drawn more often.

    `weight` is the inverse of a record's chance, so that a weighted mean of its labels is not biased by the draw.

    Args:
        run: with a judged score.
        n: how many.
        where: a condition, as `run --only` takes it; "" for all records.
        score: whose uncertainty; that of the run's headline score where it is "" or has none.
        seed: equal seeds draw equal records.

    Returns:
        The records, and the draw as JSON.

    Raises:
        ConfigError: no record meets the condition, or nothing tells how uncertain the judge is.
    """
    import numpy as np

    from steelyard.analysis.judges.judge_uncertainty import judge_uncertainty
    from steelyard.stats.labels_needed import draw_by_chance, labelling_chances

    places = _strata([run], where, "random").get("all", [])
    if not places:
        raise ConfigError("no record with an output" + (f" meets {where!r}" if where else " is in this run"))
    name, uncertain = judge_uncertainty(run.data().scores, run.score_infos, (score, run.data().primary))
    samples = {place: sample for sample, place in run.places().items()}
    chances = labelling_chances(
        [uncertain.get((samples[no], repeat), 0.0) for _, no, repeat in places], min(n, len(places))
    )
    rng = np.random.default_rng(seed)
    rows = draw_by_chance(chances, rng)
    items = [
        DrawnItem(run, no, samples[no], repeat, 1 / float(chances[row]))
        for row in rows.tolist()
        for _, no, repeat in [places[row]]
    ]
    items = [items[at] for at in rng.permutation(len(items)).tolist()]
    draw: dict[str, Json] = {
        "method": "uncertain",
        "seed": seed,
        "where": where,
        "score": name,
        "runs": [run.id],
        "strata": {"all": {"records": len(places), "drawn": len(items)}},
    }
    return items, draw


def _strata(runs: Sequence[Run], where: str, method: DrawMethod) -> dict[str, list[_Place]]:
    """Stratum -> its places, in the order of the runs; without strata all under "all"."""
    from steelyard.store.reading.pages import matching_places

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
