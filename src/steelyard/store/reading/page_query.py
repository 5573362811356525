"""The records of a run that meet conditions, in an order, as one SELECT that SQLite and PostgreSQL both understand.

What a person typed is never a part of the SQL: names of scores become numbers, and texts and numbers are bound. Each
condition on scores is a subquery that stands by itself, which a database evaluates once: measured on 100,000 records of
two scores, 25 to 45 ms for a page and the count of all that match.

Which samples became worse or better than in another run is counted as `compare` does. A sample counts by the mean of
its primary score over the repeats that have it; it is paired with the sample of the same id. Where both runs have only
0 and 1, it regressed if most of its repeats passed there and most fail here; with a threshold, if its mean passed there
and does not here; else if its value is worse.
"""

# Why it is so, and what was rejected: docs/decisions/store-pages-and-search.md

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from steelyard.analysis.conditions import CHANGES, LABEL, OUTCOME_WORDS, Condition, ConditionPart
from steelyard.analysis.scores.score_infos import over_of, parts_right_from_wrong
from steelyard.errors import ConfigError, did_you_mean
from steelyard.escaping import cell_text
from steelyard.plain_json import from_json
from steelyard.store.database.connection import Connection
from steelyard.store.labels import label_source
from steelyard.store.stored_run import StoredRun
from steelyard.types import OUTCOMES

Place = tuple[int, int]
"""A record of a run: the sample's position in the dataset, and the repeat."""
PLACE_STEP: Final = 1 << 20
"""A place as one number is `no * PLACE_STEP + repeat`."""
_COLUMNS: Final[Mapping[str, str]] = {"group": "s.group_name", "cluster": "s.cluster", "id": "s.id"}
"""Columns of samples, by their names in conditions and orders."""
_ORDERS: Final = ("place", *_COLUMNS, "seconds")
"""What records are sorted by besides their scores."""
_SAMPLES: Final = "JOIN sample s ON s.num = r.sample"
_CODE: Final[Mapping[str, int]] = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_WRONG: Final = f"x.outcome = {_CODE['scored']} AND x.passed = 0"
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
_GRADED: Final = """SELECT 1 FROM score WHERE run = :run AND scoring_version = :scoring_version AND value NOT IN (0, 1)
    AND name = (SELECT num FROM word WHERE text = :score) LIMIT 1"""


def number_of_place(place: Place) -> int:
    """A place as one number; they are in the same order."""
    return place[0] * PLACE_STEP + place[1]


@dataclass(frozen=True, slots=True)
class RecordOrder:
    """What records are sorted by.

    Args:
        key: "place", "id", "group", "cluster", "seconds", or the name of a score.
        descending: whether the largest comes first; records without a value come last either way.
        by_sample: whether repeats of a sample stay together. Samples are then sorted by the mean of the key over all
            repeats, whatever the condition, so that a filter does not change their order.
    """

    key: str = "place"
    descending: bool = False
    by_sample: bool = False

    @classmethod
    def of(cls, text: str, scores: Collection[str], *, by_sample: bool = False) -> RecordOrder:
        """Read an order: a key, with `-` before it for the largest first; "" is the order of the dataset.

        Args:
            text: what was typed.
            scores: of the run.
            by_sample: whether repeats of a sample stay together.

        Raises:
            ConfigError: there is no such key.

        >>> RecordOrder.of("-f1", ["f1"])
        RecordOrder(key='f1', descending=True, by_sample=False)
        """
        keys = (*_ORDERS, *scores)
        # The name of a score may begin with a hyphen or a space.
        text = text if {text, text.removeprefix("-")} & {*keys} else text.strip()
        descending = text.startswith("-") and text not in keys
        key = text[1:] if descending else text
        if key and key not in keys:
            raise ConfigError(f"records cannot be sorted by {key!r}{did_you_mean(key, keys)}")
        return cls(key or "place", descending, by_sample)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive records in an order.

    Args:
        order: the order.
        limit: how many at most.
        forward: whether in that order, not in its reverse.
        beside: the record that they follow in that direction, or its sample in an order by samples; None for the
            first ones.
        skip: so many are passed over first.
    """

    order: RecordOrder
    limit: int
    forward: bool = True
    beside: Place | None = None
    skip: int = 0


class RecordQuery:
    """Builds and executes the SELECT for the places of records: of one run and scoring version, under conditions.

    In the SQL `r` is the table of records, `s` that of samples, `k` what is sorted by, and `x` the scores of a
    subquery.

    Args:
        connection: to the store of the run.
        run: whose records.
        against: the run that `regression` and the like compare with.
    """

    def __init__(self, connection: Connection, run: StoredRun, against: StoredRun | None = None) -> None:
        self._connection = connection
        self._run = run
        self._against = against
        self._values: dict[str, Any] = {"run": run.num, "scoring_version": run.scoring_version}
        self._conditions = ["r.run = :run"]
        self._with_samples = False

    def restrict(self, condition: Condition) -> None:
        """Only records that meet a condition.

        Raises:
            ConfigError: a part compares with another run and there is none, or names a label that there is not.
        """
        for part in condition.parts:
            self._conditions += self._of_part(part, condition)

    def restrict_to(self, numbers: Sequence[int]) -> None:
        """Only records at places given as `number_of_place`."""
        listed = ",".join(map(str, numbers))
        if self._connection.dialect == "postgresql":
            rows = f"SELECT unnest(CAST({self._bound('{' + listed + '}')} AS BIGINT[]))"
        else:
            rows = f"SELECT value FROM json_each({self._bound('[' + listed + ']')})"
        self._conditions.append(f"CAST(r.no AS BIGINT) * {PLACE_STEP} + r.repeat IN ({rows})")

    def all(self) -> list[Place]:
        """All places, in the order of the dataset."""
        sql = f"{self._matching('')} SELECT no, repeat FROM matching ORDER BY no, repeat"
        return list(self._connection.execute(sql, self._values).tuples())

    def count(self) -> int:
        """How many records there are."""
        sql = f"{self._matching('')} SELECT COUNT(*) FROM matching"
        return int(self._connection.execute(sql, self._values).scalar())

    def stretch(self, stretch: Stretch, *, counted: bool) -> tuple[list[Place], int | None]:
        """The places of consecutive records, in their direction, and how many records there are in all.

        Args:
            stretch: which.
            counted: whether to count; None is returned where not.

        Raises:
            ConfigError: the record that they follow is not in the run.
        """
        order, forward = stretch.order, stretch.forward
        key = "" if order.key == "place" else "sort_key"
        beyond = "" if stretch.beside is None else f"WHERE {self._beyond(key, stretch)}"
        falling = [order.descending] * 2 if not key else [False, order.descending, False, False]
        columns = ["no", "repeat"] if not key else ["sort_key IS NULL", "sort_key", "no", "repeat"]
        by = ", ".join(
            f"{column} {'DESC' if falls == forward else 'ASC'}" for column, falls in zip(columns, falling, strict=True)
        )
        total = ", (SELECT COUNT(*) FROM matching)" if counted else ""
        values = {**self._values, "limit": stretch.limit, "skip": stretch.skip}
        sql = f"{self._matching(order.key, by_sample=order.by_sample)} SELECT no, repeat{total} FROM matching {beyond}"
        rows = list(self._connection.execute(f"{sql} ORDER BY {by} LIMIT :limit OFFSET :skip", values).tuples())
        places = [(row[0], row[1]) for row in rows]
        if not counted:
            return places, None
        return places, rows[0][2] if rows else self.count()

    def _matching(self, key: str, *, by_sample: bool = False) -> str:
        """The beginning of a statement: `matching` has the places and sort keys of all records that match."""
        column, joined = self._sort_key(key, by_sample=by_sample)
        columns = f"r.no AS no, r.repeat AS repeat{column and f', {column} AS sort_key'}"
        if self._with_samples and key not in _COLUMNS:
            joined = f"{_SAMPLES} {joined}"
        return f"WITH matching AS (SELECT {columns} FROM record r {joined} WHERE {' AND '.join(self._conditions)})"

    def _sort_key(self, key: str, *, by_sample: bool) -> tuple[str, str]:
        """The expression that records are sorted by, "" for their place, and the table to be joined for it."""
        if key in {"", "place"}:
            return "", ""
        if key in _COLUMNS:
            return _COLUMNS[key], _SAMPLES
        of_score = f"run = :run AND scoring_version = :scoring_version AND name = {self._number(key)}"
        if not by_sample:
            if key == "seconds":
                return "r.millis", ""
            of_record = "k.run = r.run AND k.scoring_version = :scoring_version AND k.no = r.no AND k.repeat = r.repeat"
            return "k.value", f"LEFT JOIN score k ON {of_record} AND k.name = {self._number(key)}"
        mean, table, of_run = ("millis", "record", "run = :run") if key == "seconds" else ("value", "score", of_score)
        means = f"SELECT no, AVG({mean}) AS value FROM {table} WHERE {of_run} GROUP BY no"
        return "k.value", f"LEFT JOIN ({means}) k ON k.no = r.no"

    def _beyond(self, key: str, stretch: Stretch) -> str:
        """The condition for the records behind the one at `beside`, in the direction of the stretch."""
        order, forward = stretch.order, stretch.forward
        no, repeat = stretch.beside or (0, 0)
        value = self._value_at(order, (no, repeat))
        rises = forward != (order.descending and not key)
        columns, bound = "no", self._bound(no)
        if not order.by_sample:
            columns, bound = "(no, repeat)", f"({bound}, {self._bound(repeat)})"
        behind = f"{columns} {'>' if rises else '<'} {bound}"
        if not key:
            return behind
        if value is None:  # records without a value come last
            return f"sort_key IS NULL AND {behind}" if forward else f"(sort_key IS NOT NULL OR {behind})"
        bound = self._bound(value)
        sign = ">" if forward != order.descending else "<"
        beyond = f"(sort_key {sign} {bound} OR (sort_key = {bound} AND {behind}))"
        return f"({beyond} OR sort_key IS NULL)" if forward else beyond

    def _value_at(self, order: RecordOrder, place: Place) -> Any:
        """What the record at a place is sorted by.

        Raises:
            ConfigError: there is no such record.
        """
        column, joined = self._sort_key(order.key, by_sample=order.by_sample)
        at_place = "r.run = :run AND r.no = :no AND r.repeat = :repeat"
        sql = f"SELECT {column or 'NULL'} FROM record r {joined} WHERE {at_place}"
        values = {**self._values, "no": place[0], "repeat": place[1]}
        row = next(self._connection.execute(sql, values).tuples(), None)
        if row is None:
            raise ConfigError(f"run {self._run.id} has no record at {cursor(place)}: begin at its first page again")
        return row[0]

    def _of_part(self, part: ConditionPart, condition: Condition) -> list[str]:
        if part.kind == "label":
            return self._of_label(part)
        if part.kind == "word" and part.name == "labelled":
            return [self._has_label(self._bound(label_source(self._connection, self._run)))]
        if part.kind == "word":
            return self._of_word(part.name, condition)
        if part.kind == "field":
            self._with_samples |= part.name in _COLUMNS
            column = _COLUMNS.get(part.name, "COALESCE(r.failure, '')")
            return [f"{column} {_sign(part)} {self._bound(part.value)}"]
        if part.value in OUTCOME_WORDS:
            holds = f"x.outcome {_sign(part)} {_CODE[OUTCOME_WORDS[part.value]]}"
        else:
            holds = f"x.value {_sign(part)} {self._bound(float(part.value))}"
        return [_has_score(f"x.name = {self._number(part.name)} AND {holds}")]

    def _of_word(self, word: str, condition: Condition) -> list[str]:
        if word in CHANGES:
            if self._against is None:
                raise ConfigError(f"{word} compares with another run: name that run with against=")
            return [f"r.no IN ({changed_numbers(self._connection, self._run, self._against, word, self._bound)})"]
        if word == "all":
            return []
        if word == "errors":
            return ["r.failed = 1"]
        if word == "wrong":
            return [_has_score(_WRONG)]
        if word == "failed":
            counted = ", ".join(str(self._number(name)) for name in sorted(condition.counted)) or "-1"
            not_read = f"x.outcome IN ({_CODE['unparsed']}, {_CODE['refused']}) AND x.name IN ({counted})"
            return [f"(r.failed = 1 OR {_has_score(f'({_WRONG} OR ({not_read}))')})"]
        return [_has_score(f"x.outcome = {_CODE[OUTCOME_WORDS[word]]}")]

    def _of_label(self, part: ConditionPart) -> list[str]:
        """A label of that name, or with that value; with another one, there is one and none has the value.

        Raises:
            ConfigError: no record of the run has a label of that name, but of a similar one.
        """
        run, name = label_source(self._connection, self._run), part.name.removeprefix(LABEL)
        query = "SELECT DISTINCT name FROM event WHERE topic = 'label' AND subject = :run"
        names = list(self._connection.execute(query, {"run": run}).scalars())
        # A name like none of them is not mistyped: of several runs, only some may have such labels.
        if name not in names and "did you mean" in (hint := did_you_mean(name, names)):
            raise ConfigError(f"no record of the run has a label {name!r}{hint}")
        of_name = f"{self._bound(run)} AND name = {self._bound(name)}"
        if not part.sign:
            return [self._has_label(of_name)]
        query = "SELECT DISTINCT body FROM event WHERE topic = 'label' AND subject = :run AND name = :name"
        stored = self._connection.execute(query, {"run": run, "name": name}).scalars()
        values = self._bound([text for text in stored if _says(text, part)])
        equal = self._has_label(of_name, f"body IN {values}")
        return [equal] if part.sign == "=" else [self._has_label(of_name), f"NOT {equal}"]

    def _has_label(self, of: str, what: str = "body <> 'null'") -> str:
        """Whether a label of a run, and of what else `of` says, counts and is so."""
        self._with_samples = True
        labels = f"FROM event WHERE topic = 'label' AND subject = {of}"
        newest = f"SELECT MAX(num) {labels} GROUP BY sample, repeat, name, author"
        return f"(s.id, r.repeat) IN (SELECT sample, repeat {labels} AND num IN ({newest}) AND {what})"

    def _number(self, score: str) -> int:
        """The number of a score's name; -1 of one that no record has."""
        # Not all names at once: a store of a stranger may hold any number of them.
        number = self._connection.execute("SELECT num FROM word WHERE text = :score", {"score": score}).scalar()
        return -1 if number is None else int(number)

    def _bound(self, value: Any) -> str:
        name = f"value_{len(self._values)}"
        self._values[name] = value
        return f":{name}"


def cursor(place: Place) -> str:
    """A place as a page names it.

    >>> cursor((17, 0)), cursor((17, 2))
    ('17', '17.2')
    """
    return f"{place[0]}.{place[1]}" if place[1] else str(place[0])


def place_of(text: str) -> Place | None:
    """The place that a page names; None for "".

    Raises:
        ConfigError: it is not a place.

    >>> place_of("17"), place_of("17.2"), place_of("")
    ((17, 0), (17, 2), None)
    """
    if not text:
        return None
    no, _, repeat = text.partition(".")
    # As long as a place can be: more digits are not a number that a database takes.
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in (no, repeat or "0")):
        raise ConfigError(f"{text!r} is not a place in a run: give what a page has as `after` or `before`")
    return int(no), int(repeat or 0)


def _sign(part: ConditionPart) -> str:
    return {"!=": "<>"}.get(part.sign, part.sign)


def _has_score(condition: str) -> str:
    """That the record has a score of which a condition holds."""
    of_run = "x.run = :run AND x.scoring_version = :scoring_version"
    return f"(r.no, r.repeat) IN (SELECT x.no, x.repeat FROM score x WHERE {of_run} AND {condition})"


def _says(stored: str, part: ConditionPart) -> bool:
    """Whether the JSON of a label's value is the value of a condition."""
    try:
        return cell_text(from_json(stored.encode())) == part.value
    except (ValueError, AttributeError):
        return False  # damaged


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
    outcomes = ["scored", "unparsed", "refused"] if over_of(against.score_infos.get(score)) == "all" else ["scored"]
    codes = ", ".join(str(OUTCOMES.index(outcome)) for outcome in outcomes)

    def means(of: StoredRun) -> str:
        """The position, name for pairing and mean of each sample of a run."""
        pair, samples = "x.no", ""
        if not is_aligned:
            pair = "MIN(s.id)"
            samples = """JOIN record y ON y.run = x.run AND y.no = x.no AND y.repeat = x.repeat
                JOIN sample s ON s.num = y.sample"""
        return f"""SELECT x.no AS no, {pair} AS pair, AVG(COALESCE(x.value, 0)) AS mean FROM score x {samples}
            WHERE x.run = {bind(of.num)} AND x.scoring_version = {bind(of.scoring_version)} AND x.name = {bind(number)}
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
        values = [{"run": of.num, "scoring_version": of.scoring_version, "score": score} for of in (run, against)]
        if not any(connection.execute(_GRADED, of_run).scalar() for of_run in values):
            return _Direction(sign, _MAJORITY, is_majority=True)
    return _Direction(sign, threshold)


def _shared_score(run: StoredRun, against: StoredRun) -> str:
    """The primary score of the other run, which `compare` uses too."""
    score = str(against.manifest.get("primary") or next(iter(against.manifest.get("scores", ())), ""))
    if not score or score not in run.manifest.get("scores", ()):
        raise ConfigError(
            f"run {run.id} ({run.target}) and run {against.id} ({against.target}) share no primary score "
            f"({score or 'none'}): nothing tells what a regression is"
        )
    return score
