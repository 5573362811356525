"""A condition and an order of records as SQL that SQLite and PostgreSQL both understand.

What a person typed is never a part of the SQL: names of scores become numbers, and texts and numbers are bound. A part
that only Python can decide (labels, kinds of failures, regressions) becomes a list of places.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from steelyard.analysis.conditions import CHANGES, OUTCOME_WORDS, Condition, ConditionPart
from steelyard.errors import ConfigError, did_you_mean
from steelyard.store.connection import Connection, Values
from steelyard.store.open_store import OpenStore
from steelyard.store.packed_numbers import FIRST, as_pair, packed_pairs, unpacked_pairs
from steelyard.store.records import ReadableRun
from steelyard.types import OUTCOMES, Label, Record, ScoreInfo

Place = tuple[int, int]
"""A record of a run: the sample's position in the dataset, and the repeat."""
PLACE_STEP: Final = 1 << 20
"""A place as one number is `no * PLACE_STEP + repeat`."""
_AS_NUMBER: Final = f"(CAST(r.no AS BIGINT) * {PLACE_STEP} + r.repeat)"
_COLUMNS: Final[Mapping[str, str]] = {"group": "s.grp", "cluster": "s.cluster", "id": "s.id"}
_ORDERS: Final[Mapping[str, str]] = {**_COLUMNS, "seconds": "e.millis"}
"""What records are sorted by besides their place and their scores."""
_CODE: Final[Mapping[str, int]] = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_NOT_READ: Final = f"({_CODE['unparsed']}, {_CODE['refused']})"
_SCORED: Final = _CODE["scored"]
_OF_RUN: Final = "x.run = :run AND x.layer = :layer"
_WRONG: Final = f"x.outcome = {_SCORED} AND x.passed = 0"
_OF_PLACE: Final = re.compile(r"\br\.")
_OF_RECORD: Final = re.compile(r"\be\.")
"""Aliases in the SQL that is built here, which holds no text that a user typed: `r` is the source of the places, `e`
the table of the records, `s` that of the samples."""


def number_of_place(place: Place) -> int:
    """A place as one number; they are in the same order."""
    return place[0] * PLACE_STEP + place[1]


def read_places(connection: Connection, sql: str, values: Values) -> array[int]:
    """All places that a query gives, in its order, as the numbers of `as_pair`: 8 bytes each.

    Args:
        connection: to the store.
        sql: whose rows are `no` and `repeat`.
        values: of the query.
    """
    if connection.dialect == "sqlite":
        packed = connection.execute(f"SELECT {packed_pairs('no', 'repeat')} FROM ({sql})", values).scalar()
        if (places := unpacked_pairs(packed)) is not None:
            return places
        return place_numbers(connection.execute(sql, values).tuples())
    # A row of the driver takes 3 µs, eight bytes of one value next to nothing.
    number = f"(CAST(no AS BIGINT) + {FIRST} << 32) | (CAST(repeat AS BIGINT) + {FIRST})"
    packed = connection.execute(f"SELECT string_agg(int8send({number}), '') FROM ({sql}) AS found", values).scalar()
    places = array("Q", bytes(packed or b""))
    if sys.byteorder == "little":
        places.byteswap()
    return places


def place_numbers(places: Iterable[Place]) -> array[int]:
    """Places as such numbers."""
    return array("Q", (as_pair(no, repeat) for no, repeat in places))


class PagedRun(ReadableRun, Protocol):
    """What finding records of a run needs of it; `steelyard.store.Run` is one."""

    done: int

    @property
    def store(self) -> OpenStore:
        """The store that holds it."""

    def labels(self) -> tuple[Label, ...]:
        """Current labels of its records."""

    @property
    def score_infos(self) -> Mapping[str, ScoreInfo]:
        """Score -> what its scorer declared."""

    def numbered_records(self) -> Iterator[tuple[int, Record]]:
        """(position, record) of every record."""


class DecidedElsewhere(Protocol):
    """Places of the records for which a part of a condition holds that SQL cannot decide."""

    def places(self, part: ConditionPart) -> Collection[Place]:
        """Those of one part: a label, the kind of a failure, a regression or an improvement."""


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
        keys = ("place", *_ORDERS, *scores)
        # The name of a score may begin with a hyphen or a space.
        text = text if {text, text.removeprefix("-")} & {*keys} else text.strip()
        descending = text.startswith("-") and text not in keys
        key = text[1:] if descending else text
        if key and key not in keys:
            raise ConfigError(f"records cannot be sorted by {key!r}{did_you_mean(key, keys)}")
        return cls(key or "place", descending, by_sample)

    @property
    def is_of_dataset(self) -> bool:
        """Whether it is the order of the dataset."""
        return self.key == "place" and not self.descending

    @property
    def is_of_means(self) -> bool:
        """Whether it sorts by means over the repeats of a sample."""
        return self.by_sample and self.key not in {"place", *_COLUMNS}


class _NamesPlaces(Protocol):
    """A part of a condition that may supply the places, instead of being looked up at each."""

    @property
    def places(self) -> str:
        """The SQL for run, no and repeat of all records for which it holds, each once."""

    def holds(self, *, of_samples: bool) -> str:
        """The SQL condition for the current record; with `of_samples` decided after conditions on the sample."""


@dataclass(frozen=True, slots=True)
class _ScoreWord:
    """A word of a condition that holds for a record where one of its scores meets `scores`.

    Args:
        scores: SQL about a score `x`.
        or_failed: whether it holds for every record that failed, too.
    """

    scores: str
    or_failed: bool = False

    @property
    def places(self) -> str:
        """The records, in order."""
        of_scores = f"SELECT DISTINCT x.run, x.no, x.repeat FROM score x WHERE {_OF_RUN} AND {self.scores}"
        failed = " UNION SELECT run, no, repeat FROM record WHERE run = :run AND failed = 1" if self.or_failed else ""
        return f"{of_scores}{failed} ORDER BY 1, 2, 3"

    def holds(self, *, of_samples: bool) -> str:
        """That the record has such a score."""
        # SQLite decides as early as it can, for every record that is, what does not name the sample.
        has_score = _exists(f"{self.scores}{' AND s.num = e.sample' if of_samples else ''}")
        return f"(e.failed = 1 OR {has_score})" if self.or_failed else has_score


@dataclass(frozen=True, slots=True)
class _PlaceList:
    """Places that were decided elsewhere; `numbers` is the SQL whose rows are `number_of_place` of each."""

    numbers: str

    @property
    def places(self) -> str:
        """The places; those without a record match nothing."""
        no, repeat = f"listed.n / {PLACE_STEP}", f"listed.n % {PLACE_STEP}"
        return f"SELECT :run AS run, {no} AS no, {repeat} AS repeat FROM ({self.numbers}) listed"

    def holds(self, *, of_samples: bool) -> str:  # noqa: ARG002  # as the protocol has it
        """That the place is one of the list."""
        return f"{_AS_NUMBER} IN ({self.numbers})"


@dataclass(slots=True)
class RecordQuery:
    """Builds the query for the places of records: of one run and scoring version, under a condition, in an order.

    The first of these supplies the places, and all else is looked up at each: places that were decided elsewhere;
    records with their samples, where a condition is on samples; the scores of a word (`wrong`); those of a name
    (`rating < 3`); records.

    Args:
        dialect: "sqlite" or "postgresql".
        run: the run's number.
        layer: number of the scoring version.
        words: number of each score's name.
        decided: answers the parts that SQL cannot.
    """

    dialect: str
    run: int
    layer: int
    words: Mapping[str, int]
    decided: DecidedElsewhere
    values: dict[str, Any] = field(default_factory=dict)
    _conditions: list[str] = field(default_factory=list)
    _scores: dict[str, tuple[str, str]] = field(default_factory=dict)
    _parts: list[_NamesPlaces] = field(default_factory=list)
    _of_samples: bool = False
    _samples: bool = False
    _records: bool = False

    def __post_init__(self) -> None:
        self.values |= {"run": self.run, "layer": self.layer}

    def restrict(self, condition: Condition) -> None:
        """Only records that meet a condition."""
        for part in condition.parts:
            self._conditions += self._of_part(part, condition)

    def restrict_to(self, places: Collection[Place]) -> None:
        """Only records of these places."""
        self.restrict_to_numbers(sorted(set(map(number_of_place, places))))

    def restrict_to_numbers(self, numbers: Sequence[int]) -> None:
        """The same for places as numbers of `number_of_place`, each once and in order."""
        self._parts.insert(0, _PlaceList(self._listed(numbers)))

    def sort_key(self, order: RecordOrder, *, valued: bool = False) -> str:
        """The expression that an order sorts by; "" for that of the dataset.

        Args:
            order: the order.
            valued: only records that have a value of the score that is sorted by.
        """
        if order.key == "place":
            return ""
        if order.key in _ORDERS:
            self._samples |= order.key in _COLUMNS
            self._records = True
            return _ORDERS[order.key]
        alias = self._score(order.key, "JOIN" if valued else "LEFT JOIN")
        if valued:
            self._conditions.append(f"{alias}.value IS NOT NULL")
        return f"{alias}.value"

    def restrict_to_unvalued(self, score: str) -> None:
        """Only records that have no value of a score."""
        self._conditions.append(f"{self._score(score, 'LEFT JOIN')}.value IS NULL")

    def restrict_behind(self, key: str, order: RecordOrder, place: Place, value: Any, *, forward: bool) -> None:
        """Only records that follow the one at `place`, whose sort key `key` is `value`; or precede it.

        In an order by samples those that follow its sample.
        """
        self.values |= {"cursor_no": place[0], "cursor_repeat": place[1]}
        falling = order.descending if not key else False
        beyond = f"(r.no, r.repeat) {'>' if forward != falling else '<'} (:cursor_no, :cursor_repeat)"
        if order.by_sample:
            beyond = f"r.no {'>' if forward != falling else '<'} :cursor_no"
        if not key or value is None:
            self._conditions.append(beyond)
            return
        self.values["cursor_value"] = value
        sign = ">" if forward != order.descending else "<"
        self._conditions.append(f"({key} {sign} :cursor_value OR ({key} = :cursor_value AND {beyond}))")

    def places(
        self, order: RecordOrder, *, key: str = "", forward: bool = True, limit: int | None = None, offset: int = 0
    ) -> str:
        """The SQL whose rows are (no, repeat), by `key` where it is given, in that order or in reverse."""
        up, down = ("ASC", "DESC") if forward else ("DESC", "ASC")
        if key:
            by_key = f"({key} IS NULL) {up}, {key} {down if order.descending else up}, r.no {up}, r.repeat {up}"
        else:
            by_key = f"r.no {down if order.descending else up}, r.repeat {down if order.descending else up}"
        limits = "" if limit is None else f" LIMIT {int(limit)} OFFSET {int(offset)}"
        columns = "r.no AS no, r.repeat AS repeat"
        return self._named(f"SELECT {columns} FROM {self._tables()} WHERE {self._where()} ORDER BY {by_key}{limits}")

    def samples_by_mean(self, order: RecordOrder) -> str:
        """The SQL whose rows are the first places of all samples that have a value, by its mean over their repeats."""
        table, column, condition = "record", "millis", ""
        if order.key != "seconds":
            name = int(self.words.get(order.key, -1))
            table, column, condition = "score", "value", f" AND layer = :layer AND name = {name} AND value IS NOT NULL"
        by_mean = f"AVG({column}) {'DESC' if order.descending else 'ASC'}, no"
        return f"SELECT no, 0 AS repeat FROM {table} WHERE run = :run{condition} GROUP BY no ORDER BY {by_mean}"

    def count(self) -> str:
        """The SQL for how many there are."""
        return self._named(f"SELECT COUNT(*) FROM {self._tables()} WHERE {self._where()}")

    def value_at(self, key: str) -> str:
        """The SQL for the sort key of the record at (:no, :repeat)."""
        at_place = "r.no = :no AND r.repeat = :repeat"
        self._records = True
        return self._named(f"SELECT {key or 'NULL'} FROM {self._tables()} WHERE r.run = :run AND {at_place}")

    def _tables(self) -> str:
        driver = self._driver()
        joins = "".join(
            f" {how if how == 'LEFT JOIN' else self._join} {on}"
            for name, (how, on) in self._scores.items()
            if name != driver
        )
        sample = f" {self._join} sample s ON s.num = e.sample" if self._samples else ""
        if driver is not None:
            return f"score {self._alias(driver)}{joins}"
        if (first := self._first()) is None:
            return f"record r{sample}{joins}"
        of_place = "e.run = r.run AND e.no = r.no AND e.repeat = r.repeat"
        record = f" {self._join} record e ON {of_place}" if self._needs_record() else ""
        return f"({first.places}) r{record}{sample}{joins}"

    @property
    def _join(self) -> str:
        """SQLite goes through the tables of a CROSS JOIN in the order in which they are written."""
        return "CROSS JOIN" if self.dialect == "sqlite" else "JOIN"

    def _first(self) -> _NamesPlaces | None:
        """The part that supplies the places; None where records or a score do."""
        first = self._parts[0] if self._parts else None
        return None if self._of_samples and isinstance(first, _ScoreWord) else first

    def _needs_record(self) -> bool:
        # A listed place may have no record.
        return self._samples or self._records or bool(self._parts[1:]) or isinstance(self._parts[0], _PlaceList)

    def _where(self) -> str:
        driver = self._driver()
        parts = self._parts if self._first() is None else self._parts[1:]
        driven = [] if driver is None else [self._on(driver)]
        conditions = [part.holds(of_samples=self._of_samples) for part in parts]
        return " AND ".join(["r.run = :run", *driven, *conditions, *self._conditions])

    def _driver(self) -> str | None:
        """A score whose rows supply the places: each record that is wanted has one, and nothing else supplies them.

        Measured: going through the scores alone takes a third of the time of looking each of them up by its record.
        """
        if self._samples or self._records or self._parts:
            return None
        return next((name for name, (how, _) in self._scores.items() if how == "JOIN"), None)

    def _named(self, sql: str) -> str:
        """The same with the right table in place of `r` and `e`."""
        driver = self._driver()
        if driver is not None:
            return _OF_PLACE.sub(f"{self._alias(driver)}.", sql)
        return _OF_RECORD.sub("r.", sql) if self._first() is None else sql

    def _alias(self, name: str) -> str:
        return f"v{list(self._scores).index(name)}"

    def _on(self, name: str) -> str:
        alias = self._alias(name)
        return f"{alias}.run = :run AND {alias}.layer = :layer AND {alias}.name = {int(self.words.get(name, -1))}"

    def _score(self, name: str, how: str) -> str:
        """The alias of a score's row of each record."""
        if name not in self._scores or how == "JOIN":
            self._scores.setdefault(name, ("", ""))
            alias = self._alias(name)
            at_place = f"{alias}.no = r.no AND {alias}.repeat = r.repeat"
            self._scores[name] = (how, f"score {alias} ON {self._on(name)} AND {at_place}")
        return self._alias(name)

    def _of_part(self, part: ConditionPart, condition: Condition) -> list[str]:
        if part.kind == "field" and part.name == "error":
            return self._of_error(part)
        if part.kind == "label" or (part.kind == "word" and part.name in CHANGES):
            self.restrict_to(self.decided.places(part))
            return []
        if part.kind == "word":
            self._restrict_to_word(part.name, condition)
            return []
        if part.kind == "field":
            self._samples = self._of_samples = True
            return [f"{_COLUMNS[part.name]} {_sign(part)} {self._bound(part.value)}"]
        alias = self._score(part.name, "JOIN")
        if part.value in OUTCOME_WORDS:
            return [f"{alias}.outcome {_sign(part)} {_CODE[OUTCOME_WORDS[part.value]]}"]
        return [f"{alias}.value {_sign(part)} {self._bound(float(part.value))}"]

    def _of_error(self, part: ConditionPart) -> list[str]:
        """Records whose failure is of a kind, or of another, or that did not fail."""
        if not part.value:
            self._records = True
            return [f"e.failed {'=' if part.sign == '=' else '<>'} 0"]
        places = self.decided.places(part)
        if part.sign == "=":
            self.restrict_to(places)
            return []
        numbers = sorted(set(map(number_of_place, places)))
        return [f"NOT {_PlaceList(self._listed(numbers)).holds(of_samples=False)}"]

    def _restrict_to_word(self, word: str, condition: Condition) -> None:
        if word == "errors":
            self._records = True
            self._conditions.append("e.failed = 1")
        elif word == "wrong":
            self._parts.append(_ScoreWord(_WRONG))
        elif word == "failed":
            numbers = sorted(int(self.words[name]) for name in condition.counted if name in self.words)
            unparsed = f" OR (x.outcome IN {_NOT_READ} AND x.name IN ({', '.join(map(str, numbers))}))"
            self._parts.append(_ScoreWord(f"({_WRONG}{unparsed if numbers else ''})", or_failed=True))
        elif word != "all":
            self._parts.append(_ScoreWord(f"x.outcome = {_CODE[OUTCOME_WORDS[word]]}"))

    def _listed(self, numbers: Sequence[int]) -> str:
        """The SQL whose rows are these numbers."""
        listed = json.dumps(list(numbers), separators=(",", ":"))
        if self.dialect == "postgresql":
            return f"SELECT unnest(CAST({self._bound('{' + listed[1:-1] + '}')} AS BIGINT[])) AS n"
        return f"SELECT value AS n FROM json_each({self._bound(listed)})"

    def _bound(self, value: Any) -> str:
        name = f"value_{len(self.values)}"
        self.values[name] = value
        return f":{name}"


def _sign(part: ConditionPart) -> str:
    return {"!=": "<>"}.get(part.sign, part.sign)


def _exists(condition: str) -> str:
    """That the record has a score of which a condition holds."""
    return f"EXISTS (SELECT 1 FROM score x WHERE {_OF_RUN} AND x.no = r.no AND x.repeat = r.repeat AND {condition})"
