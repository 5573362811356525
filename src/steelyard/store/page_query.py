"""A condition and an order of records as SQL that SQLite and PostgreSQL both understand.

What a person typed is never a part of the SQL: names of scores become numbers, and texts and numbers are bound. A part
that only Python can decide (labels, kinds of failures, regressions) becomes a list of places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from steelyard.analysis.conditions import CHANGES, LABEL, OUTCOME_WORDS, Condition, ConditionPart
from steelyard.errors import ConfigError, did_you_mean
from steelyard.store.open_store import OpenStore
from steelyard.store.records import ReadableRun
from steelyard.types import OUTCOMES, Record, ScoreInfo

Place = tuple[int, int]
"""A record of a run: the sample's position in the dataset, and the repeat."""
_REPEATS: Final = 1 << 20
"""A place as one number is `no * _REPEATS + repeat`."""
_AS_NUMBER: Final = f"(CAST(r.no AS BIGINT) * {_REPEATS} + r.repeat)"
_COLUMNS: Final[Mapping[str, str]] = {"group": "s.grp", "cluster": "s.cluster", "id": "s.id"}
_ORDERS: Final[Mapping[str, str]] = {**_COLUMNS, "seconds": "r.millis"}
"""What records are sorted by besides their place and their scores."""
_CODE: Final[Mapping[str, int]] = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_NOT_READ: Final = f"({_CODE['unparsed']}, {_CODE['refused']})"
_SCORED: Final = _CODE["scored"]
_OF_RUN: Final = "x.run = :run AND x.layer = :layer"
_OF_RECORD: Final = re.compile(r"\br\.")
"""Of the SQL that is built here, in which nothing stands that somebody typed."""


def number_of_place(place: Place) -> int:
    """A place as one number; they are in the same order."""
    return place[0] * _REPEATS + place[1]


def place_of_number(number: int) -> Place:
    """The place of a number."""
    return divmod(number, _REPEATS)


class PagedRun(ReadableRun, Protocol):
    """What finding records of a run needs of it; `steelyard.store.Run` is one."""

    done: int

    @property
    def store(self) -> OpenStore:
        """The store that holds it."""

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
    """

    key: str = "place"
    descending: bool = False

    @classmethod
    def of(cls, text: str, scores: Collection[str]) -> RecordOrder:
        """Read an order: a key, with `-` before it for the largest first; "" is the order of the dataset.

        Args:
            text: what was typed.
            scores: of the run.

        Raises:
            ConfigError: there is no such key.

        >>> RecordOrder.of("-f1", ["f1"])
        RecordOrder(key='f1', descending=True)
        """
        key, descending = text.strip().removeprefix("-"), text.strip().startswith("-")
        known = ("place", *_ORDERS, *scores)
        if key and key not in known:
            raise ConfigError(f"records cannot be sorted by {key!r}{did_you_mean(key, known)}")
        return cls(key or "place", descending)


@dataclass(slots=True)
class RecordQuery:
    """Builds the query for the places of records: of one run and scoring version, under a condition, in an order.

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
    _words: list[str] = field(default_factory=list)
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
        self._conditions.append(self._among(places))

    def sort_key(self, order: RecordOrder) -> str:
        """The expression that an order sorts by; "" for that of the dataset."""
        if order.key == "place":
            return ""
        if order.key in _ORDERS:
            self._samples |= order.key in _COLUMNS
            self._records = True
            return _ORDERS[order.key]
        return f"{self._score(order.key, 'LEFT JOIN')}.value"

    def restrict_to_valued(self, score: str, *, valued: bool) -> None:
        """Only records that have a value of a score; or only those that have none."""
        alias = self._score(score, "JOIN" if valued else "LEFT JOIN")
        self._conditions.append(f"{alias}.value IS {'NOT ' if valued else ''}NULL")

    def restrict_behind(self, order: RecordOrder, place: Place, value: Any, *, forward: bool) -> None:
        """Only records that follow the one at `place`, whose key is `value`; or precede it."""
        self.values |= {"cursor_no": place[0], "cursor_repeat": place[1]}
        key = self.sort_key(order)
        falling = order.descending if not key else False
        beyond = f"(r.no, r.repeat) {'>' if forward != falling else '<'} (:cursor_no, :cursor_repeat)"
        if not key:
            self._conditions.append(beyond)
        elif value is None:
            self._conditions.append(f"({key} IS NULL AND {beyond})" if forward else f"({key} IS NOT NULL OR {beyond})")
        else:
            self.values["cursor_value"] = value
            sign = ">" if forward != order.descending else "<"
            unvalued = f" OR {key} IS NULL" if forward else ""
            self._conditions.append(f"({key} {sign} :cursor_value OR ({key} = :cursor_value AND {beyond}){unvalued})")

    def places(
        self,
        order: RecordOrder,
        *,
        forward: bool = True,
        limit: int | None = None,
        offset: int = 0,
        as_numbers: bool = False,
    ) -> str:
        """The SQL whose rows are (no, repeat), or that as one number, in that order or in reverse."""
        key = self.sort_key(order)
        up, down = ("ASC", "DESC") if forward else ("DESC", "ASC")
        if key:
            by_key = f"({key} IS NULL) {up}, {key} {down if order.descending else up}, r.no {up}, r.repeat {up}"
        else:
            by_key = f"r.no {down if order.descending else up}, r.repeat {down if order.descending else up}"
        limits = "" if limit is None else f" LIMIT {int(limit)} OFFSET {int(offset)}"
        what = _AS_NUMBER if as_numbers else "r.no, r.repeat"
        return self._from_scores(f"SELECT {what} FROM {self._tables()} WHERE {self._where()} ORDER BY {by_key}{limits}")

    def count(self) -> str:
        """The SQL for how many there are."""
        return self._from_scores(f"SELECT COUNT(*) FROM {self._tables()} WHERE {self._where()}")

    def value_at(self, key: str) -> str:
        """The SQL for the sort key of the record at (:no, :repeat)."""
        here = "r.no = :no AND r.repeat = :repeat"
        self._records = True
        return f"SELECT {key or 'NULL'} FROM {self._tables()} WHERE r.run = :run AND {here}"

    def _tables(self) -> str:
        driver = self._driver()
        joins = "".join(f" {how} {on}" for name, (how, on) in self._scores.items() if name != driver)
        if driver is not None:
            return f"score {self._alias(driver)}{joins}"
        if self._of_words_alone():
            return f"(SELECT DISTINCT x.run, x.no, x.repeat FROM score x WHERE {_OF_RUN} AND {self._words[0]}) r{joins}"
        return f"record r{' JOIN sample s ON s.num = r.sample' if self._samples else ''}{joins}"

    def _where(self) -> str:
        driver = self._driver()
        words = self._words[1:] if driver is None and self._of_words_alone() else self._words
        driven = [] if driver is None else [self._on(driver)]
        return " AND ".join(["r.run = :run", *driven, *map(_exists, words), *self._conditions])

    def _driver(self) -> str | None:
        """A score whose rows may stand for the records: each record that is wanted has one, and nothing else is asked.

        Measured: going through the scores alone takes a third of the time of looking each of them up by its record.
        """
        if self._samples or self._records:
            return None
        return next((name for name, (how, _) in self._scores.items() if how == "JOIN"), None)

    def _of_words_alone(self) -> bool:
        return bool(self._words) and not (self._samples or self._records)

    def _from_scores(self, sql: str) -> str:
        """The same with the rows of a score in place of the records', where it drives the query."""
        driver = self._driver()
        return sql if driver is None else _OF_RECORD.sub(f"{self._alias(driver)}.", sql)

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
            place = f"{alias}.no = r.no AND {alias}.repeat = r.repeat"
            self._scores[name] = (how, f"score {alias} ON {self._on(name)} AND {place}")
        return self._alias(name)

    def _of_part(self, part: ConditionPart, condition: Condition) -> list[str]:
        if part.name.startswith(LABEL) or part.name in {"error", *CHANGES}:
            return [self._among(self.decided.places(part))]
        if not part.sign:
            self._restrict_to_word(part.name, condition)
            return []
        if part.name in _COLUMNS:
            self._samples = True
            return [f"{_COLUMNS[part.name]} {_sign(part)} {self._bound(part.value)}"]
        alias = self._score(part.name, "JOIN")
        if part.value in OUTCOME_WORDS:
            return [f"{alias}.outcome {_sign(part)} {_CODE[OUTCOME_WORDS[part.value]]}"]
        return [f"{alias}.value {_sign(part)} {self._bound(float(part.value))}"]

    def _restrict_to_word(self, word: str, condition: Condition) -> None:
        wrong = f"x.outcome = {_SCORED} AND x.passed = 0"
        if word == "errors":
            self._records = True
            self._conditions.append("r.failed = 1")
        elif word == "wrong":
            self._words.append(wrong)
        elif word == "failed":
            self._records = True
            numbers = sorted(int(self.words[name]) for name in condition.counted if name in self.words)
            counted = f" OR (x.outcome IN {_NOT_READ} AND x.name IN ({', '.join(map(str, numbers))}))"
            either = _exists(f"({wrong}{counted if numbers else ''})")
            self._conditions.append(f"(r.failed = 1 OR {either})")
        elif word != "all":
            self._words.append(f"x.outcome = {_CODE[OUTCOME_WORDS[word]]}")

    def _among(self, places: Collection[Place]) -> str:
        if not places:
            return "1 = 0"
        keys = sorted(map(number_of_place, places))
        listed = json.dumps(keys, separators=(",", ":"))
        if self.dialect == "postgresql":
            name = self._bound("{" + listed[1:-1] + "}")
            return f"{_AS_NUMBER} IN (SELECT unnest(CAST({name} AS BIGINT[])))"
        return f"{_AS_NUMBER} IN (SELECT value FROM json_each({self._bound(listed)}))"

    def _bound(self, value: Any) -> str:
        name = f"value_{len(self.values)}"
        self.values[name] = value
        return f":{name}"


def _sign(part: ConditionPart) -> str:
    return {"!=": "<>"}.get(part.sign, part.sign)


def _exists(condition: str) -> str:
    """That the record has a score of which a condition holds."""
    return f"EXISTS (SELECT 1 FROM score x WHERE {_OF_RUN} AND x.no = r.no AND x.repeat = r.repeat AND {condition})"
