"""Which samples of a run became worse, and which better, than in another run: as `compare` counts them, in SQL.

A sample counts by the mean of its primary score over the repeats that have it; it is paired with the sample of the
same id. Where both runs have only 0 and 1, it regressed if most of its repeats passed there and most fail here; with a
threshold, if its mean passed there and does not here; else if its value is worse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from steelyard.analysis.scores.score_infos import over_of, parts_right_from_wrong
from steelyard.errors import ConfigError
from steelyard.store.database.connection import Connection
from steelyard.store.stored_run import StoredRun
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
_SAMES: Final = "SELECT COUNT(*), MAX(repeat), SUM((no + 7919) * sample % 2147483647) FROM record WHERE run = :run"
"""Equal for runs with the same samples at the same places: a sum takes a quarter of the time of a join. It is weighted
by place, so that an exchange changes it."""
_GRADED: Final = """SELECT 1 FROM score WHERE run = :run AND layer = :layer AND value NOT IN (0, 1)
    AND name = (SELECT num FROM word WHERE text = :score) LIMIT 1"""


class _Direction(NamedTuple):
    """How a score tells better from worse.

    Args:
        sign: -1 where lower values are better.
        threshold: None where any difference counts.
        is_majority: whether the mean is of values that are 0 or 1, so that a half is neither right nor wrong.
    """

    sign: int
    threshold: float | None
    is_majority: bool = False

    def condition(self, change: str, score: str) -> str:
        """The SQL that holds for a sample whose mean was `earlier.mean` and is `later.mean`.

        Raises:
            ConfigError: the change needs a threshold, and the score has none.
        """
        means = ("earlier.mean", "later.mean")
        if self.threshold is None:
            if change not in {"regression", "improvement"}:
                raise ConfigError(f"{change}: {score} has no threshold, so no value of it is right or wrong")
            better, worse = means if change == "regression" else means[::-1]
            return f"{self.sign} * ({better} - {worse}) > {_ROUNDING}"
        passes = f">= {self.sign * self.threshold!r}"
        sides = zip(means, _PASSED[change], strict=True)
        conditions = [f"{'' if passed else 'NOT '}({self.sign} * {mean} {passes})" for mean, passed in sides]
        decided = [f"{mean} <> {_MAJORITY}" for mean in means] if self.is_majority else []
        return " AND ".join([*conditions, *decided])


def changed_numbers(
    connection: Connection, run: StoredRun, against: StoredRun, change: str, bind: Callable[[Any], str]
) -> str:
    """The SQL whose rows are the positions of a run's samples that are worse or better than in `against`, or alike.

    Args:
        connection: to the store of both runs.
        run: whose samples.
        against: the other run.
        change: `regression`, `improvement`, `both-right` or `both-wrong`.
        bind: gives the name of a bound value.

    Raises:
        ConfigError: the runs share no primary score, it does not tell right from wrong, or they are in two stores.
    """
    if run.store.path != against.store.path:
        raise ConfigError(f"{change} compares runs of one store, and run {against.id} is in {against.store.path}")
    score = _shared_score(run, against)
    is_aligned = _is_aligned(connection, run, against)
    condition = _direction(connection, run, against, score, has_repeats=not is_aligned).condition(change, score)
    number = connection.execute("SELECT num FROM word WHERE text = :score", {"score": score}).scalar()
    codes = _counted_codes(against, score)

    def means(of: StoredRun) -> str:
        """The position, name for pairing and mean of each sample of a run."""
        pair, samples = "x.no", ""
        if not is_aligned:
            pair = "MIN(s.id)"
            samples = """JOIN record y ON y.run = x.run AND y.no = x.no AND y.repeat = x.repeat
                JOIN sample s ON s.num = y.sample"""
        return f"""SELECT x.no AS no, {pair} AS pair, AVG(COALESCE(x.value, 0)) AS mean FROM score x {samples}
            WHERE x.run = {bind(of.num)} AND x.layer = {bind(of.scoring_version)} AND x.name = {bind(number)}
            AND x.outcome IN ({codes}) GROUP BY x.no"""

    return f"""SELECT later.no FROM ({means(run)}) later JOIN ({means(against)}) earlier ON earlier.pair = later.pair
        WHERE {condition}"""


def _is_aligned(connection: Connection, run: StoredRun, against: StoredRun) -> bool:
    """Whether both runs have each sample once, at the same places: the usual case, in which no id is needed."""
    if run.done != against.done:
        return False
    run_sums, against_sums = (next(connection.execute(_SAMES, {"run": of.num}).tuples()) for of in (run, against))
    return bool(run_sums == against_sums and not run_sums[1])


def _direction(
    connection: Connection, run: StoredRun, against: StoredRun, score: str, *, has_repeats: bool
) -> _Direction:
    infos = [info for of_run in (against, run) if (info := of_run.score_infos.get(score)) is not None]
    sign = -1 if any(info.lower_is_better for info in infos) else 1
    threshold = next((info.threshold for info in infos if info.threshold is not None), None)
    # With a threshold, a value of 0 or 1 passes or fails by it as by a majority; a mean of several does not.
    may_differ = has_repeats or threshold is None
    if may_differ and parts_right_from_wrong(threshold, lower_is_better=sign < 0):
        values = [{"run": of.num, "layer": of.scoring_version, "score": score} for of in (run, against)]
        if not any(connection.execute(_GRADED, of_run).scalar() for of_run in values):
            return _Direction(sign, _MAJORITY, is_majority=True)
    return _Direction(sign, threshold)


def _counted_codes(run: StoredRun, score: str) -> str:
    """Codes of the outcomes that count: where the score is over all replies, an unparsed or refused one as 0."""
    outcomes = ["scored", "unparsed", "refused"] if over_of(run.score_infos.get(score)) == "all" else ["scored"]
    return ", ".join(str(OUTCOMES.index(outcome)) for outcome in outcomes)


def _shared_score(run: StoredRun, against: StoredRun) -> str:
    """The primary score of the other run, which `compare` uses too."""
    score = str(against.manifest.get("primary") or next(iter(against.manifest.get("scores", ())), ""))
    if not score or score not in run.manifest.get("scores", ()):
        raise ConfigError(
            f"run {run.id} ({run.target}) and run {against.id} ({against.target}) share no primary score "
            f"({score or 'none'}): nothing tells what a regression is"
        )
    return score
