"""Which records of a run became worse, and which better, than in another run: as `compare` counts them.

A sample counts by the mean of its primary score over the repeats that have it; it is paired with the sample of the
same id. With a threshold, or where both runs have only 0 and 1, it regressed if it passed there and does not here; else
if its value is worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from steelyard.analysis.score_infos import over_of
from steelyard.errors import ConfigError
from steelyard.store.page_query import PagedRun, Place
from steelyard.types import OUTCOMES

_MAJORITY: Final = 0.5
_ROUNDING: Final = 1e-12
_MOST_PAIRS: Final = 4
"""Pairs of runs whose changes a store remembers."""


class ChangedPlaces(NamedTuple):
    """Places of the records whose samples changed."""

    regressions: frozenset[Place]
    improvements: frozenset[Place]


@dataclass(slots=True)
class _SampleMeans:
    """One score of a run, per sample of the store by its number.

    Args:
        means: where it has a value.
        places: of the sample's records.
        binary: whether every value is 0 or 1.
    """

    means: dict[int, float]
    places: dict[int, list[Place]]
    binary: bool


def changed_places(run: PagedRun, against: PagedRun) -> ChangedPlaces:
    """The places of a run's records whose samples are worse, or better, than in `against`.

    What is finished is remembered by the store, as it does not change any more.

    Raises:
        ConfigError: the runs share no primary score.
    """
    key = (run.id, run.scoring_version, against.id, against.scoring_version)
    known = run.store.changes
    if key in known:
        changes: ChangedPlaces = known[key]
        return changes
    changes = _changed(run, against)
    if run.state == against.state == "finished":
        while len(known) >= _MOST_PAIRS:
            del known[next(iter(known))]
        known[key] = changes
    return changes


def _changed(run: PagedRun, against: PagedRun) -> ChangedPlaces:
    score = _shared_score(run, against)
    infos = [info for of_run in (against, run) if (info := of_run.score_infos.get(score)) is not None]
    over = over_of(against.score_infos.get(score))
    before, after = (_means(of_run, score, all_replies=over == "all") for of_run in (against, run))
    threshold = next((info.threshold for info in infos if info.threshold is not None), None)
    if threshold is None and before.binary and after.binary:
        threshold = _MAJORITY
    sign = -1 if any(info.lower_is_better for info in infos) else 1
    regressions: list[Place] = []
    improvements: list[Place] = []
    partners = _partners(run, against, after.means, before.means)
    for sample, value in after.means.items():
        earlier = before.means.get(partners.get(sample, sample))
        if earlier is None or earlier == value:
            continue
        if threshold is None:
            worse, better = sign * (earlier - value) > _ROUNDING, sign * (value - earlier) > _ROUNDING
        else:
            passed_before, passed = sign * earlier >= sign * threshold, sign * value >= sign * threshold
            worse, better = passed_before and not passed, passed and not passed_before
        if worse:
            regressions += after.places[sample]
        elif better:
            improvements += after.places[sample]
    return ChangedPlaces(frozenset(regressions), frozenset(improvements))


def _shared_score(run: PagedRun, against: PagedRun) -> str:
    """The primary score of the run that is compared with, as `compare` takes it."""
    score = str(against.manifest.get("primary") or next(iter(against.manifest.get("scores", ())), ""))
    if not score or score not in run.manifest.get("scores", ()):
        raise ConfigError(
            f"run {run.id} ({run.target}) and run {against.id} ({against.target}) share no primary score "
            f"({score or 'none'}): nothing tells what a regression is"
        )
    return score


def _means(run: PagedRun, score: str, *, all_replies: bool) -> _SampleMeans:
    """The mean of a score per sample; over all replies an unparsed or refused one counts as 0."""
    counted = ["scored", "unparsed", "refused"] if all_replies else ["scored"]
    codes = ", ".join(str(OUTCOMES.index(outcome)) for outcome in counted)
    sql = f"""SELECT r.no, r.repeat, r.sample, v.value FROM record r
        JOIN score v ON v.run = :run AND v.layer = :layer AND v.no = r.no AND v.repeat = r.repeat
        JOIN word w ON w.num = v.name
        WHERE r.run = :run AND w.text = :score AND v.outcome IN ({codes})"""
    values = {"run": run.num, "layer": run.scoring_version, "score": score}
    with run.store.reading(run.id) as connection:
        rows = list(connection.execute(sql, values).tuples())
    sums: dict[int, list[float]] = {}
    places: dict[int, list[Place]] = {}
    for no, repeat, sample, value in rows:
        sums.setdefault(sample, []).append(value or 0.0)
        places.setdefault(sample, []).append((no, repeat))
    binary = all(value in {0.0, 1.0} for of_sample in sums.values() for value in of_sample)
    means = {sample: sum(of_sample) / len(of_sample) for sample, of_sample in sums.items()}
    return _SampleMeans(means, places, binary)


def _partners(run: PagedRun, against: PagedRun, after: Mapping[int, Any], before: Mapping[int, Any]) -> dict[int, int]:
    """Sample of this run -> that of the other, where an id stands for another content there.

    The same sample is stored once for both runs, so only those need their ids that the other run does not have.
    """
    changed, others = ([num for num in one if num not in other] for one, other in ((after, before), (before, after)))
    if not changed or not others:
        return {}
    ids = {ident: num for num, ident in _ids(against, set(others)).items()}
    return {num: ids[ident] for num, ident in _ids(run, set(changed)).items() if ident in ids}


def _ids(run: PagedRun, samples: set[int]) -> dict[int, str]:
    sql = "SELECT s.num, s.id FROM record r JOIN sample s ON s.num = r.sample WHERE r.run = :run"
    with run.store.reading(run.id) as connection:
        rows = connection.execute(sql, {"run": run.num}).tuples()
        return {num: ident for num, ident in rows if num in samples}
