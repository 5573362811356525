"""Which records of a run became worse, and which better, than in another run: as `compare` counts them.

A sample counts by the mean of its primary score over the repeats that have it; it is paired with the sample of the
same id. With a threshold, or where both runs have only 0 and 1, it regressed if it passed there and does not here; else
if its value is worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


class _Direction(NamedTuple):
    """How a score tells better from worse.

    Args:
        sign: -1 where lower values are better.
        threshold: None where any difference counts.
    """

    sign: int
    threshold: float | None

    def is_worse(self, before: float, after: float) -> bool:
        """Whether a value is worse than before; the reverse tells what is better."""
        if self.threshold is None:
            return self.sign * (before - after) > _ROUNDING
        passed_before, passed = (self.sign * value >= self.sign * self.threshold for value in (before, after))
        return passed_before and not passed


def _changed(run: PagedRun, against: PagedRun) -> ChangedPlaces:
    score = _shared_score(run, against)
    codes = _counted_codes(against, score)
    pairs: Iterable[tuple[float, float, Sequence[Place]]]
    if _have_same_places(run, against):
        pairs, binary = _pairs_by_place(run, against, score, codes)
    else:
        pairs, binary = _pairs_by_sample(run, against, score, codes)
    infos = [info for of_run in (against, run) if (info := of_run.score_infos.get(score)) is not None]
    threshold = next((info.threshold for info in infos if info.threshold is not None), _MAJORITY if binary else None)
    direction = _Direction(-1 if any(info.lower_is_better for info in infos) else 1, threshold)
    regressions: list[Place] = []
    improvements: list[Place] = []
    for before, after, places in pairs:
        if direction.is_worse(before, after):
            regressions += places
        elif direction.is_worse(after, before):
            improvements += places
    return ChangedPlaces(frozenset(regressions), frozenset(improvements))


def _have_same_places(run: PagedRun, against: PagedRun) -> bool:
    """Whether both runs asked each sample once, at the same places: the usual case, in which no id is needed."""
    if run.store.path != against.store.path or run.done != against.done:
        return False
    sql = """SELECT COUNT(*), MAX(r.repeat) FROM record r JOIN record o
        ON o.run = :other AND o.no = r.no AND o.repeat = r.repeat AND o.sample = r.sample WHERE r.run = :run"""
    with run.store.reading(run.id) as connection:
        ((shared, repeats),) = connection.execute(sql, {"run": run.num, "other": against.num}).tuples()
    return bool(shared == run.done and not repeats)


def _pairs_by_place(
    run: PagedRun, against: PagedRun, score: str, codes: str
) -> tuple[list[tuple[float, float, Sequence[Place]]], bool]:
    """(value before, value after, places) of the records whose value differs, and whether all values are 0 or 1."""
    differing = f"""SELECT v.no, v.repeat, COALESCE(o.value, 0), COALESCE(v.value, 0) FROM score v JOIN score o
        ON o.run = :other AND o.layer = :other_layer AND o.no = v.no AND o.repeat = v.repeat AND o.name = v.name
        WHERE v.run = :run AND v.layer = :layer AND v.name = :name AND v.outcome IN ({codes}) AND o.outcome IN ({codes})
        AND COALESCE(o.value, 0) <> COALESCE(v.value, 0)"""
    graded = "SELECT 1 FROM score WHERE run = :run AND layer = :layer AND name = :name AND value NOT IN (0, 1) LIMIT 1"
    with run.store.reading(run.id) as connection:
        name = connection.execute("SELECT num FROM word WHERE text = :score", {"score": score}).scalar()
        runs = [
            {"run": of.num, "layer": of.scoring_version, "name": -1 if name is None else name} for of in (run, against)
        ]
        values = {**runs[0], "other": against.num, "other_layer": against.scoring_version}
        rows = list(connection.execute(differing, values).tuples())
        binary = not any(connection.execute(graded, of_run).scalar() for of_run in runs)
    return [(before, after, ((no, repeat),)) for no, repeat, before, after in rows], binary


def _pairs_by_sample(
    run: PagedRun, against: PagedRun, score: str, codes: str
) -> tuple[list[tuple[float, float, Sequence[Place]]], bool]:
    """The same by sample, as means over repeats; samples are paired by their ids."""
    before, after = (_means(of_run, score, codes) for of_run in (against, run))
    partners = _partners(run, against, after.means, before.means)
    pairs: list[tuple[float, float, Sequence[Place]]] = [
        (before.means[partners[sample]], value, after.places[sample])
        for sample, value in after.means.items()
        if sample in partners
    ]
    return pairs, before.binary and after.binary


def _counted_codes(run: PagedRun, score: str) -> str:
    """Codes of the outcomes that count: where the score is over all replies, an unparsed or refused one as 0."""
    counted = ["scored", "unparsed", "refused"] if over_of(run.score_infos.get(score)) == "all" else ["scored"]
    return ", ".join(str(OUTCOMES.index(outcome)) for outcome in counted)


def _shared_score(run: PagedRun, against: PagedRun) -> str:
    """The primary score of the run that is compared with, as `compare` takes it."""
    score = str(against.manifest.get("primary") or next(iter(against.manifest.get("scores", ())), ""))
    if not score or score not in run.manifest.get("scores", ()):
        raise ConfigError(
            f"run {run.id} ({run.target}) and run {against.id} ({against.target}) share no primary score "
            f"({score or 'none'}): nothing tells what a regression is"
        )
    return score


def _means(run: PagedRun, score: str, codes: str) -> _SampleMeans:
    """The mean of a score per sample, over rows with these outcomes."""
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
    """Sample of this run -> that of the other with the same id.

    In one store the same sample is stored once, so that only those need their ids that the other run does not have.
    """
    shared = {num: num for num in after if num in before} if run.store.path == against.store.path else {}
    changed, others = ({num for num in one if num not in shared} for one in (after, before))
    if not changed or not others:
        return shared
    ids = {ident: num for num, ident in _ids(against, others).items()}
    return {**shared, **{num: ids[ident] for num, ident in _ids(run, changed).items() if ident in ids}}


def _ids(run: PagedRun, samples: set[int]) -> dict[int, str]:
    sql = "SELECT s.num, s.id FROM record r JOIN sample s ON s.num = r.sample WHERE r.run = :run"
    with run.store.reading(run.id) as connection:
        rows = connection.execute(sql, {"run": run.num}).tuples()
        return {num: ident for num, ident in rows if num in samples}
