"""Which records of a run became worse, and which better, than in another run: as `compare` counts them.

A sample counts by the mean of its primary score over the repeats that have it; it is paired with the sample of the
same id. Where both runs have only 0 and 1, it regressed if most of its repeats passed there and most fail here; with a
threshold, if its mean passed there and does not here; else if its value is worse.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from steelyard.analysis.score_infos import over_of, parts_right_from_wrong
from steelyard.errors import ConfigError
from steelyard.store.connection import Connection, Values
from steelyard.store.page_query import PagedRun, Place, place_numbers, read_places
from steelyard.types import OUTCOMES

_MAJORITY: Final = 0.5
_ROUNDING: Final = 1e-12
_PASSED: Final = {
    "regression": (True, False),
    "improvement": (False, True),
    "both-right": (True, True),
    "both-wrong": (False, False),
}
"""Change -> whether a sample passed before, and whether it passes now."""
_FIRST_ROWS: Final = 2000
"""Rows that are sampled to estimate which of two runs has fewer rows of a kind."""
_MOST_PAIRS: Final = 4
"""Results of `changed_places` that a store caches."""


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


def changed_places(run: PagedRun, against: PagedRun, change: str) -> array[int]:
    """The places of a run's records whose samples are worse or better than in `against`, or right or wrong in both.

    The result for two finished runs is cached in the store, as they do not change any more.

    Args:
        run: whose records.
        against: the other run.
        change: `regression`, `improvement`, `both-right` or `both-wrong`.

    Returns:
        In the order of the dataset, as the numbers of `read_places`.

    Raises:
        ConfigError: the runs share no primary score, or it does not tell right from wrong.
    """
    key = (run.id, run.scoring_version, against.id, against.scoring_version, change)
    cache = run.store.changes
    if key in cache:
        return cache[key]
    places = _changed(run, against, change)
    if run.state == against.state == "finished":
        while len(cache) >= _MOST_PAIRS:
            del cache[next(iter(cache))]
        cache[key] = places
    return places


class _Direction(NamedTuple):
    """How a score tells better from worse.

    Args:
        sign: -1 where lower values are better.
        threshold: None where any difference counts.
        undecided_at: a value that neither passes nor fails; None where there is none.
    """

    sign: int
    threshold: float | None
    undecided_at: float | None = None

    def holds(self, change: str, before: float, after: float) -> bool:
        """Whether two values of a sample are such a change."""
        if self.threshold is None:
            better, worse = (before, after) if change == "regression" else (after, before)
            return self.sign * (better - worse) > _ROUNDING
        if self.undecided_at in {before, after}:
            return False
        passed = tuple(self.sign * value >= self.sign * self.threshold for value in (before, after))
        return passed == _PASSED[change]

    def sql(self, change: str, before: str, after: str) -> str:
        """The condition of `holds` in SQL, for two expressions."""
        if self.threshold is None:
            better, worse = (before, after) if change == "regression" else (after, before)
            return f"{self.sign} * ({better} - {worse}) > {_ROUNDING}"
        return " AND ".join(self.kinds(change, before, after))

    def kinds(self, change: str, before: str, after: str) -> list[str]:
        """A condition in SQL for each of two expressions: that it reaches the threshold, or that it does not."""
        threshold = self.sign * (self.threshold or 0)
        return [
            f"{'' if passed else 'NOT '}({self.sign} * {value} >= {threshold})"
            for value, passed in zip((before, after), _PASSED[change], strict=True)
        ]

    def check(self, change: str, score: str) -> None:
        """Refuse a change that needs a threshold where the score has none.

        Raises:
            ConfigError: with the score.
        """
        if self.threshold is None and change not in {"regression", "improvement"}:
            raise ConfigError(f"{change}: {score} has no threshold, so no value of it is right or wrong")


def _changed(run: PagedRun, against: PagedRun, change: str) -> array[int]:
    score = _shared_score(run, against)
    codes = _counted_codes(against, score)
    infos = [info for of_run in (against, run) if (info := of_run.score_infos.get(score)) is not None]
    sign = -1 if any(info.lower_is_better for info in infos) else 1
    threshold = next((info.threshold for info in infos if info.threshold is not None), None)
    if _have_same_places(run, against):
        if threshold is None and not any(_is_graded(of_run, score) for of_run in (run, against)):
            threshold = _MAJORITY
        return _changed_by_place(run, against, (score, codes), _Direction(sign, threshold), change)
    pairs, binary = _pairs_by_sample(run, against, score, codes)
    direction = _Direction(sign, threshold)
    if binary and parts_right_from_wrong(threshold, lower_is_better=sign < 0):
        direction = _Direction(sign, _MAJORITY, _MAJORITY)
    direction.check(change, score)
    places: list[Place] = []
    for before, after, of_sample in pairs:
        if direction.holds(change, before, after):
            places += of_sample
    return place_numbers(sorted(places))


def _have_same_places(run: PagedRun, against: PagedRun) -> bool:
    """Whether both runs have each sample once, at the same places: the usual case, in which no id is needed."""
    if run.store.path != against.store.path or run.done != against.done:
        return False
    # A sum in place of a join, which takes four times as long; weighted by place, so that an exchange changes it.
    sql = "SELECT COUNT(*), MAX(repeat), SUM((no + 7919) * sample % 2147483647) FROM record WHERE run = :run"
    with run.store.reading(run.id) as connection:
        sums = [connection.execute(sql, {"run": of.num}).tuples() for of in (run, against)]
        run_sums, against_sums = (next(of_run) for of_run in sums)
    return bool(run_sums == against_sums and not run_sums[1])


def _is_graded(run: PagedRun, score: str) -> bool:
    """Whether a score has a value other than 0 and 1."""
    sql = """SELECT 1 FROM score WHERE run = :run AND layer = :layer AND value NOT IN (0, 1)
        AND name = (SELECT num FROM word WHERE text = :score) LIMIT 1"""
    with run.store.reading(run.id) as connection:
        values = {"run": run.num, "layer": run.scoring_version, "score": score}
        return connection.execute(sql, values).scalar() is not None


def _changed_by_place(
    run: PagedRun, against: PagedRun, counted: tuple[str, str], direction: _Direction, change: str
) -> array[int]:
    """The places at which a score's value changed in that way; `counted` is its name and the outcomes that count."""
    score, codes = counted
    direction.check(change, score)
    sides = ("COALESCE(o.value, 0)", "COALESCE(v.value, 0)")
    is_changed = direction.sql(change, *sides)
    rows = {
        "o": f"o.run = :other AND o.layer = :other_layer AND o.name = :name AND o.outcome IN ({codes})",
        "v": f"v.run = :run AND v.layer = :layer AND v.name = :name AND v.outcome IN ({codes})",
    }
    with run.store.reading(run.id) as connection:
        name = connection.execute("SELECT num FROM word WHERE text = :score", {"score": score}).scalar()
        values: dict[str, Any] = {"run": run.num, "layer": run.scoring_version, "name": -1 if name is None else name}
        values |= {"other": against.num, "other_layer": against.scoring_version}
        outer, inner = "vo"
        if direction.threshold is not None:
            # A look-up takes as long as going through five rows: the run with fewer rows of its kind names the places.
            kinds = dict(zip("ov", direction.kinds(change, *sides), strict=True))
            outer, inner = sorted("vo", key=lambda side: _share(connection, side, rows[side], kinds[side], values))
        # SQLite goes through the tables of a CROSS JOIN as they stand here.
        join = "CROSS JOIN" if connection.dialect == "sqlite" else "JOIN"
        sql = f"""SELECT {outer}.no AS no, {outer}.repeat AS repeat FROM score {outer} {join} score {inner}
            ON {inner}.no = {outer}.no AND {inner}.repeat = {outer}.repeat AND {rows[inner]}
            WHERE {rows[outer]} AND {is_changed} ORDER BY {outer}.no, {outer}.repeat"""
        return read_places(connection, sql, values)


def _share(connection: Connection, side: str, rows: str, kind: str, values: Values) -> float:
    """How many of the first rows of a run are of a kind, as a share."""
    first_rows = f"SELECT {side}.value FROM score {side} WHERE {rows} LIMIT {_FIRST_ROWS}"
    query = f"SELECT AVG(CASE WHEN {kind} THEN 1.0 ELSE 0 END) FROM ({first_rows}) {side}"
    return float(connection.execute(query, values).scalar() or 0)


def _pairs_by_sample(
    run: PagedRun, against: PagedRun, score: str, codes: str
) -> tuple[list[tuple[float, float, Sequence[Place]]], bool]:
    """Per sample of both runs its means before and after and its places; and whether all values are 0 or 1."""
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
    outcomes = ["scored", "unparsed", "refused"] if over_of(run.score_infos.get(score)) == "all" else ["scored"]
    return ", ".join(str(OUTCOMES.index(outcome)) for outcome in outcomes)


def _shared_score(run: PagedRun, against: PagedRun) -> str:
    """The primary score of the other run, which `compare` uses too."""
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
    unpaired, candidates = ({num for num in nums if num not in shared} for nums in (after, before))
    if not unpaired or not candidates:
        return shared
    ids = {ident: num for num, ident in _ids(against, candidates).items()}
    return {**shared, **{num: ids[ident] for num, ident in _ids(run, unpaired).items() if ident in ids}}


def _ids(run: PagedRun, samples: set[int]) -> dict[int, str]:
    sql = "SELECT s.num, s.id FROM record r JOIN sample s ON s.num = r.sample WHERE r.run = :run"
    with run.store.reading(run.id) as connection:
        rows = connection.execute(sql, {"run": run.num}).tuples()
        return {num: ident for num, ident in rows if num in samples}
