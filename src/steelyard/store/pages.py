"""Pages of a run's records: some at a time, under a condition, in an order, wherever in the run they are.

A page is found by the record that it follows and not by counting those before it. Only places are sorted and filtered;
bodies are opened for the records of the page alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from steelyard.analysis.conditions import CHANGES, LABEL, Condition, ConditionPart, label_holds, parse_condition
from steelyard.errors import ConfigError, StoreError
from steelyard.store.changes import changed_places
from steelyard.store.labels import by_record, current_labels
from steelyard.store.page_query import PagedRun, Place, RecordOrder, RecordQuery, number_of_place, place_of_number
from steelyard.store.records import read_records, rows_at, unpack_failure_kind, unpacker_of
from steelyard.types import Record

if TYPE_CHECKING:
    from steelyard.store.connection import Connection

MOST_ON_PAGE: Final = 1000
_TOGETHER: Final = 500
"""Records that are read at a time where all matching ones are wanted."""
_MOST_ORDERS: Final = 8
"""Orders of matching places that a store remembers, 0.8 MB each for 100,000 records."""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records of a run.

    Args:
        records: in the order that was asked for.
        places: per record, the position of its sample in the dataset, from 0, and its repeat.
        total: how many records match in all; None where they were not to be counted.
        after: to be given as `after` for the page that follows; "" on the last one.
        before: to be given as `before` for the page that precedes; "" on the first one.
        note: what a search did not look at, as a sentence; "" if it looked at everything.
    """

    records: tuple[Record, ...]
    places: tuple[Place, ...]
    total: int | None
    after: str
    before: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which records of a run are wanted, and how many; see `Run.page`.

    Args:
        n: records on the page.
        where: the condition; None for all records.
        order: what they are sorted by.
        after: the place of the record that the page follows.
        before: of the record that the page precedes.
        skip: how many records are passed over first.
        among: only these places; None for any.
        counted: whether all that match are counted.
    """

    n: int
    where: Condition | None
    order: RecordOrder
    after: Place | None = None
    before: Place | None = None
    skip: int = 0
    among: frozenset[Place] | None = None
    counted: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST_ON_PAGE:
            raise ConfigError(f"a page has 1 to {MOST_ON_PAGE:,} records, not {self.n}")
        if self.skip < 0:
            raise ConfigError(f"a page cannot begin {-self.skip} records before the first")
        if self.after is not None and self.before is not None:
            raise ConfigError("a page follows one record or precedes one: give after or before, not both")


def read_page(run: PagedRun, request: PageRequest, against: PagedRun | None = None) -> RecordPage:
    """Read one page of a run.

    Args:
        run: whose records.
        request: which of them.
        against: the run that `regression` and `improvement` compare with.

    Raises:
        ConfigError: the record that the page was to follow is not there.
    """
    with run.store.reading(run.id) as connection:
        source = _PlaceSource(connection, run, against)
        places, more, total = source.page(request)
        records = _records_at(connection, run, places)
    first, last = (cursor(places[0]), cursor(places[-1])) if places else ("", "")
    if request.before is not None:
        return RecordPage(records, tuple(places), total, after=last, before=first if more else "")
    begins = request.after is None and not request.skip
    return RecordPage(records, tuple(places), total, after=last if more else "", before="" if begins else first)


def matching_records(
    run: PagedRun, condition: Condition, against: PagedRun | None = None
) -> Iterator[tuple[int, Record]]:
    """(position, record) of every record of a run that meets a condition, in the order of the dataset.

    Args:
        run: whose records.
        condition: as `parse_condition` reads it.
        against: the run that `regression` and `improvement` compare with.
    """
    with run.store.reading(run.id) as connection:
        places = _PlaceSource(connection, run, against).all(condition)
        for begin in range(0, len(places), _TOGETHER):
            chosen = places[begin : begin + _TOGETHER]
            yield from zip((no for no, _ in chosen), _records_at(connection, run, chosen), strict=True)


def matching_places(run: PagedRun, where: str | Condition, against: PagedRun | None = None) -> list[Place]:
    """The places of all records that meet a condition, in the order of the dataset."""
    condition = as_condition(run, where, against)
    with run.store.reading(run.id) as connection:
        return _PlaceSource(connection, run, against).all(condition)


def as_condition(run: PagedRun, where: str | Condition, against: PagedRun | None) -> Condition | None:
    """A condition as it was typed, read; None for none.

    Raises:
        ConfigError: it cannot be meant.
    """
    if isinstance(where, Condition):
        return where
    return parse_condition(where, run.manifest, compared=against is not None) if where.strip() else None


def cursor(place: Place) -> str:
    """A place as a page names it.

    >>> cursor((17, 0)), cursor((17, 2))
    ('17', '17.2')
    """
    return f"{place[0]}.{place[1]}" if place[1] else str(place[0])


def place_of(text: str) -> Place | None:
    """The place that a page names; None for "".

    Raises:
        ConfigError: it is no place.

    >>> place_of("17"), place_of("17.2"), place_of("")
    ((17, 0), (17, 2), None)
    """
    if not text:
        return None
    no, _, repeat = text.partition(".")
    # As long as a place can be: more digits are no number that a database takes.
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in (no, repeat or "0")):
        raise ConfigError(f"{text!r} is no place in a run: give what a page has as `after` or `before`")
    return int(no), int(repeat or 0)


def _records_at(connection: Connection, run: PagedRun, places: Sequence[Place]) -> tuple[Record, ...]:
    by_place: dict[Place, Record] = {}
    in_order = sorted(places)
    for begin in range(0, len(in_order), _TOGETHER):
        rows = rows_at(connection, run.num, in_order[begin : begin + _TOGETHER])
        if rows:
            for no, record in read_records(connection, unpacker_of(connection), run, rows):
                by_place[no, record.repeat] = record
    return tuple(by_place[place] for place in places if place in by_place)


def _slice(ordered: array[int], request: PageRequest) -> tuple[list[Place], bool] | None:
    """A page of all matching places; None where the record beside it is none of them."""
    beside = request.after if request.before is None else request.before
    try:
        at = -1 if beside is None else ordered.index(number_of_place(beside))
    except ValueError:
        return None
    if request.before is None:
        first = at + 1 + request.skip
        last = first + request.n
        more = last < len(ordered)
    else:
        last = max(at - request.skip, 0)
        first = max(last - request.n, 0)
        more = first > 0
    return [place_of_number(number) for number in ordered[first:last]], more


class _PlaceSource:
    """Finds the places of records of one run, in one snapshot of the store."""

    def __init__(self, connection: Connection, run: PagedRun, against: PagedRun | None) -> None:
        self._connection = connection
        self._run = run
        self._against = against

    def page(self, request: PageRequest) -> tuple[list[Place], bool, int | None]:
        """The places of a page, whether more follow in the direction that was read, and how many match in all."""
        if request.counted and (key := self._key(request)) and not self._is_top(request):
            ordered = self._ordered(key, request)
            return *(_slice(ordered, request) or self._beyond(request)), len(ordered)
        places, more = self._beyond(request)
        return places, more, self._count(request) if request.counted else None

    def all(self, condition: Condition | None) -> list[Place]:
        """All places where a condition holds."""
        query = self._query(condition, None)
        return self._places(query.places(RecordOrder()), query)

    def _beyond(self, request: PageRequest) -> tuple[list[Place], bool]:
        """The places of a page, found by the sort key of the record beside it."""
        begins = request.after is request.before is None and not request.skip
        if begins and request.order.key in self._run.score_order and len(top := self._top(request)) > request.n:
            return top[: request.n], True
        query = self._query(request.where, request.among)
        forward = request.before is None
        from_place = request.after if forward else request.before
        if from_place is not None:
            value = self._value_at(request.order, from_place)
            query.restrict_behind(request.order, from_place, value, forward=forward)
        sql = query.places(request.order, forward=forward, limit=request.n + 1, offset=request.skip)
        places = self._places(sql, query)
        chosen = places[: request.n]
        return chosen if forward else chosen[::-1], len(places) > request.n

    def _is_top(self, request: PageRequest) -> bool:
        """Whether it is the first page of all records: their number is known, and a few are found before all are."""
        return request.where is None and request.after is request.before is None and not request.skip

    def _top(self, request: PageRequest) -> list[Place]:
        """The records with the first values of a score; fewer than a page where too few have one."""
        query = self._query(request.where, request.among)
        query.restrict_to_valued(request.order.key, valued=True)
        return self._places(query.places(request.order, limit=request.n + 1), query)

    def _key(self, request: PageRequest) -> tuple[Any, ...] | None:
        """Names all matching places in their order; None where they may change, or need not be remembered."""
        run, where = self._run, request.where
        in_order = where is None and request.order.key == "place"
        if run.state != "finished" or request.among is not None or in_order:
            return None
        if where is not None and any(part.name.startswith(LABEL) for part in where.parts):
            return None  # a label may be given to a finished run
        against = (self._against.id, self._against.scoring_version) if self._against else None
        return run.id, run.scoring_version, where.text if where else "", against, request.order

    def _ordered(self, key: tuple[Any, ...], request: PageRequest) -> array[int]:
        """All matching places in their order, as numbers: the pages that follow are parts of it."""
        known = self._run.store.ordered_places
        if key not in known:
            places = self._all_ordered(request)
            while len(known) >= _MOST_ORDERS:
                del known[next(iter(known))]
            known[key] = places
        return known[key]

    def _all_ordered(self, request: PageRequest) -> array[int]:
        query = self._query(request.where, None)
        score = request.order.key if request.order.key in self._run.score_order else ""
        if not score:
            return self._numbers(query, request.order)
        # Those with a value first: they are found without a look at records that lack one, which most runs do not have.
        query.restrict_to_valued(score, valued=True)
        places = self._numbers(query, request.order)
        if len(places) < self._run.done:
            rest = self._query(request.where, None)
            rest.restrict_to_valued(score, valued=False)
            places.extend(self._numbers(rest, RecordOrder()))
        return places

    def _numbers(self, query: RecordQuery, order: RecordOrder) -> array[int]:
        rows = self._connection.execute(query.places(order, as_numbers=True), query.values)
        # A chain, as a generator that takes each row apart costs as much again as the row itself.
        return array("q", chain.from_iterable(rows.tuples()))

    def _count(self, request: PageRequest) -> int:
        if self._run.state == "finished" and request.where is None and request.among is None:
            return self._run.done
        query = self._query(request.where, request.among)
        return int(self._connection.execute(query.count(), query.values).scalar())

    def places(self, part: ConditionPart) -> Collection[Place]:
        """Those of one part that SQL cannot decide."""
        if part.name in CHANGES:
            if self._against is None:
                raise ConfigError(f"{part.name} is against another run: name it with against=")
            changed = changed_places(self._run, self._against)
            return changed.regressions if part.name == "regression" else changed.improvements
        if part.name == "error":
            return self._of_failure(part)
        labels = by_record(current_labels(self._connection, self._run.num))
        records = {key for key, of_record in labels.items() if label_holds(part, of_record)}
        return self._of_samples(records)

    def _of_failure(self, part: ConditionPart) -> Collection[Place]:
        sql = "SELECT no, repeat, failed, body FROM record WHERE run = :run"
        rows = self._connection.execute(sql, {"run": self._run.num}).tuples()
        unpack = unpacker_of(self._connection).unpack
        chosen = set()
        for no, repeat, failed, body in rows:
            kind = ""
            if failed:
                try:
                    kind = unpack_failure_kind(unpack(bytes(body)))
                except (StoreError, ValueError, TypeError, LookupError, AttributeError):
                    kind = "damaged"
            if (kind == part.value) == (part.sign == "="):
                chosen.add((no, repeat))
        return chosen

    def _of_samples(self, records: Collection[tuple[str, int]]) -> Collection[Place]:
        """Places of records that are named by sample and repeat."""
        if not records:
            return ()
        sql = "SELECT r.no, r.repeat, s.id FROM record r JOIN sample s ON s.num = r.sample WHERE r.run = :run"
        rows = self._connection.execute(sql, {"run": self._run.num}).tuples()
        return {(no, repeat) for no, repeat, sample in rows if (sample, repeat) in records}

    def _query(self, condition: Condition | None, among: Collection[Place] | None) -> RecordQuery:
        words = dict(self._connection.execute("SELECT text, num FROM word").tuples())
        query = RecordQuery(self._connection.dialect, self._run.num, self._run.scoring_version, words, decided=self)
        if condition is not None:
            query.restrict(condition)
        if among is not None:
            query.restrict_to(among)
        return query

    def _value_at(self, order: RecordOrder, place: Place) -> Any:
        """The sort key of a record.

        Raises:
            ConfigError: there is no such record.
        """
        query = self._query(None, None)
        sql = query.value_at(query.sort_key(order))
        row = next(self._connection.execute(sql, {**query.values, "no": place[0], "repeat": place[1]}).tuples(), None)
        if row is None:
            raise ConfigError(f"run {self._run.id} has no record at {cursor(place)}: begin at its first page again")
        return row[0]

    def _places(self, sql: str, query: RecordQuery) -> list[Place]:
        return [(no, repeat) for no, repeat in self._connection.execute(sql, query.values).tuples()]
