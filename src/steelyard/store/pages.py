"""Pages of a run's records: some at a time, under a condition, in an order, wherever in the run they are.

A page is found by the record that it follows and not by counting those before it. Only places are sorted and filtered;
bodies are opened for the records of the page alone.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.conditions import CHANGES, LABEL, Condition, ConditionPart, label_holds, parse_condition
from steelyard.errors import ConfigError, StoreError, did_you_mean
from steelyard.store.changes import changed_places
from steelyard.store.connection import MOST_IN_QUERY
from steelyard.store.labels import by_record
from steelyard.store.packed_numbers import as_pair, high_of, of_pair
from steelyard.store.page_query import PagedRun, Place, RecordOrder, RecordQuery, number_of_place, read_places
from steelyard.store.records import DAMAGED, read_records, rows_at, unpack_failure_kind, unpacker_of
from steelyard.types import Record

if TYPE_CHECKING:
    from steelyard.store.connection import Connection
    from steelyard.store.search import FoundPlaces

MOST_ON_PAGE: Final = 1000
_TOGETHER: Final = 500
"""Records that are read at a time where all matching ones are wanted."""
_MOST_ORDERS: Final = 8
"""Lists of ordered places that a store caches, 0.8 MB each for 100,000 records."""
_MOST_LISTED: Final = 2000
"""Places that were found elsewhere and are given to a query; more are looked up in the result of a query without them.
Looking up 100,000 of them takes 48 ms of CPU on a busy machine."""
_FAR: Final = 2000
"""Pages farther than so many records behind the first are cut from a cached order of all records; nearer ones are found
without sorting all."""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records of a run.

    Args:
        records: in the order that was asked for.
        places: per record, the position of its sample in the dataset, from 0, and its repeat.
        total: how many records match in all; None where they were not to be counted.
        after: to be passed as `after` for the next page; "" on the last one.
        before: to be passed as `before` for the previous page; "" on the first one.
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
        n: records on the page; in an order by samples as many more as the last sample has.
        where: the condition; None for all records.
        order: what they are sorted by.
        after: the place of the record that the page follows.
        before: of the record that the page precedes.
        skip: how many records are passed over first.
        among: only these places, as the numbers of `read_places`, in order; None for any.
        words: of the search that found them; "" where the same search may find others later.
        counted: whether all that match are counted.
    """

    n: int
    where: Condition | None
    order: RecordOrder
    after: Place | None = None
    before: Place | None = None
    skip: int = 0
    among: array[int] | None = None
    words: str = ""
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


def searched_page(
    run: PagedRun, request: PageRequest, words: str | FoundPlaces, against: PagedRun | None = None
) -> RecordPage:
    """Read one page of the records that have all words of a text, see `Run.search`, or that a search has found."""
    from steelyard.store.search import search_run

    matches = search_run(run, words)
    page = read_page(run, replace(request, among=matches.places, words=matches.words), against)
    return replace(page, note=matches.note)


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
    """Parse a condition as it was typed; None for none.

    Raises:
        ConfigError: it is not valid.
    """
    if isinstance(where, Condition):
        return where
    return parse_condition(where, run.manifest, compared=against is not None) if where.strip() else None


def repeats_of(run: PagedRun) -> int:
    """How many records a sample has at most."""
    return max(1, int(run.manifest.get("options", {}).get("repeats", 1)))


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


def _records_at(connection: Connection, run: PagedRun, places: Sequence[Place]) -> tuple[Record, ...]:
    by_place: dict[Place, Record] = {}
    in_order = sorted(places)
    for begin in range(0, len(in_order), _TOGETHER):
        rows = rows_at(connection, run.num, in_order[begin : begin + _TOGETHER])
        if rows:
            for no, record in read_records(connection, unpacker_of(connection), run, rows):
                by_place[no, record.repeat] = record
    return tuple(by_place[place] for place in places if place in by_place)


def _slice(ordered: array[int], request: PageRequest, limit: int) -> list[Place] | None:
    """Up to `limit` of all matching places, in the direction of a page; None where its begin is not among them."""
    beside = request.after if request.before is None else request.before
    first, last = 0, len(ordered)
    if beside is not None:
        number = as_pair(*beside)
        if request.order.is_of_dataset:
            first, last = bisect_right(ordered, number), bisect_left(ordered, number)
        elif number in ordered:
            last = ordered.index(number)
            first = last + 1
        else:
            return None
    if beside is not None and request.order.by_sample:
        first, last = _beyond_sample(ordered, beside[0], first, last)
    return _stretch_of(ordered, first, last, request, limit)


def _stretch_of(ordered: array[int], first: int, last: int, request: PageRequest, limit: int) -> list[Place]:
    """Up to `limit` places from `first` on, or back from before `last`."""
    if request.before is None:
        first += request.skip
        return [of_pair(number) for number in ordered[first : first + limit]]
    last = max(last - request.skip, 0)
    return [of_pair(number) for number in reversed(ordered[max(last - limit, 0) : last])]


def _beyond_sample(ordered: array[int], no: int, first: int, last: int) -> tuple[int, int]:
    """Where the places behind a sample begin and those before it end; `first` and `last` are next to one of its own."""
    sample = high_of(as_pair(no, 0))
    while first < len(ordered) and high_of(ordered[first]) == sample:
        first += 1
    while last > 0 and high_of(ordered[last - 1]) == sample:
        last -= 1
    return first, last


def _cut(places: list[Place], request: PageRequest) -> tuple[list[Place], bool]:
    """A page of places that were read in its direction, and whether there are more of them."""
    end = request.n
    while request.order.by_sample and end < len(places) and places[end][0] == places[end - 1][0]:
        end += 1
    page = places[:end]
    return page if request.before is None else page[::-1], len(places) > end


class _Stretch(NamedTuple):
    """A request for consecutive places in an order.

    Args:
        order: the order.
        forward: whether in that order, not in its reverse.
        limit: how many at most.
        skip: so many are passed over first.
        beside: of the record that they follow in that direction; None for the first ones.
        value: of that record's sort key.
    """

    order: RecordOrder
    forward: bool
    limit: int
    skip: int
    beside: Place | None
    value: Any


class _PlaceSource:
    """Finds the places of records of one run, in one snapshot of the store."""

    def __init__(self, connection: Connection, run: PagedRun, against: PagedRun | None) -> None:
        self._connection = connection
        self._run = run
        self._against = against

    def page(self, request: PageRequest) -> tuple[list[Place], bool, int | None]:
        """The places of a page, whether more follow in the direction that was read, and how many match in all."""
        if request.order.is_of_means:
            return self._page_by_means(request)
        key = self._key(request)
        if key and (request.counted or key in self._run.store.ordered_places):
            if (beside := request.after or request.before) is not None:
                self._value_at(RecordOrder(), beside)
            ordered = self._ordered(key, request)
            places_on_page = _slice(ordered, request, self._limit(request))
            total = len(ordered) if request.counted else None
            return *(self._beyond(request) if places_on_page is None else _cut(places_on_page, request)), total
        places, more = self._beyond(request)
        return places, more, self._count(request) if request.counted else None

    def all(self, condition: Condition | None) -> list[Place]:
        """All places where a condition holds."""
        query = self._query(condition, None)
        return self._places(query.places(RecordOrder()), query)

    def _beyond(self, request: PageRequest) -> tuple[list[Place], bool]:
        """The places of a page, found by the sort key of the record beside it."""
        beside = request.after if request.before is None else request.before
        value = None if beside is None else self._value_at(request.order, beside)
        limit = self._limit(request)
        stretch = _Stretch(request.order, request.before is None, limit, request.skip, beside, value)
        if request.order.key in self._run.score_order:
            places = self._by_score(request, stretch)
        else:
            query = self._query(request.where, request.among)
            places = self._stretch(query, query.sort_key(request.order), stretch)
        return _cut(places, request)

    def _page_by_means(self, request: PageRequest) -> tuple[list[Place], bool, int]:
        key, limit = self._key(request), self._limit(request)
        if (beside := request.after or request.before) is not None:
            self._value_at(RecordOrder(), beside)
        ordered = self._ordered(key, request) if key else self._by_means(request)
        places = _slice(ordered, request, limit)
        if places is None and beside is not None:
            ranks = self._ranks(request.order)
            at = bisect_right(ordered, ranks(as_pair(*beside)), key=ranks)
            places = _stretch_of(ordered, at, at, request, limit)
        return *_cut(places or [], request), len(ordered)

    def _by_means(self, request: PageRequest) -> array[int]:
        """All matching places by means over the repeats of a sample, as numbers."""
        in_order = self._all_ordered(replace(request, order=RecordOrder()))
        return array("Q", sorted(in_order, key=self._ranks(request.order)))

    def _ranks(self, order: RecordOrder) -> Callable[[int], int]:
        """A function: place as a number -> its rank in an order by means; samples without a value come last."""
        query = self._query(None, None)
        samples = read_places(self._connection, query.samples_by_mean(order), query.values)
        ranks = {high_of(place): rank for rank, place in enumerate(samples)}
        return lambda number: ranks.get(high_of(number), len(ranks) + high_of(number))

    def _limit(self, request: PageRequest) -> int:
        """How many places have to be read to know where a page ends and whether more follow."""
        return request.n + (repeats_of(self._run) if request.order.by_sample else 1)

    def _by_score(self, request: PageRequest, stretch: _Stretch) -> list[Place]:
        """The places of a stretch by a score: of records with a value of it, then of those without."""
        # Each kind by itself: the first of all values are found without a sort, and records without one without any.
        kinds = [True, False] if stretch.forward else [False, True]
        if stretch.beside is not None and (stretch.value is not None) != kinds[0]:
            kinds = kinds[1:]
        places: list[Place] = []
        for valued in kinds:
            query = self._query(request.where, request.among)
            if valued:
                found_places = self._stretch(query, query.sort_key(request.order, valued=True), stretch)
            else:
                query.restrict_to_unvalued(request.order.key)
                of_dataset = RecordOrder(by_sample=request.order.by_sample)
                found_places = self._stretch(query, "", stretch._replace(order=of_dataset))
            places += found_places
            if len(found_places) == stretch.limit:
                break
            skip = 0 if found_places or not stretch.skip else stretch.skip - self._counted(query)
            limit = stretch.limit - len(found_places)
            stretch = stretch._replace(limit=limit, skip=skip, beside=None, value=None)
        return places

    def _stretch(self, query: RecordQuery, key: str, stretch: _Stretch) -> list[Place]:
        if stretch.beside is not None:
            query.restrict_behind(key, stretch.order, stretch.beside, stretch.value, forward=stretch.forward)
        sql = query.places(stretch.order, key=key, forward=stretch.forward, limit=stretch.limit, offset=stretch.skip)
        return self._places(sql, query)

    def _key(self, request: PageRequest) -> tuple[Any, ...] | None:
        """The cache key of all matching places in their order; None where they may change, or need not be cached."""
        run, where = self._run, request.where
        near = request.order.key == "place" or (request.skip < _FAR and not request.order.is_of_means)
        found_by_key = where is None and near and request.among is None
        if run.state != "finished" or (request.among is not None and not request.words) or found_by_key:
            return None
        if where is not None and any(part.kind == "label" for part in where.parts):
            return None  # a label may be given to a finished run
        against = (self._against.id, self._against.scoring_version) if self._against else None
        return run.id, run.scoring_version, where.text if where else "", against, request.order, request.words

    def _ordered(self, key: tuple[Any, ...], request: PageRequest) -> array[int]:
        """All matching places in their order, as numbers: the pages that follow are parts of it."""
        cache = self._run.store.ordered_places
        if key not in cache:
            places = self._all_ordered(request)
            while len(cache) >= _MOST_ORDERS:
                del cache[next(iter(cache))]
            cache[key] = places
        return cache[key]

    def _all_ordered(self, request: PageRequest) -> array[int]:
        where, order = request.where, request.order
        if order.is_of_means:
            return self._by_means(request)
        if (
            where is not None
            and request.among is None
            and order.is_of_dataset
            and [part.kind == "word" and part.name in CHANGES for part in where.parts] == [True]
        ):
            return self._changed(where.parts[0])
        if request.among is not None and len(request.among) > _MOST_LISTED:
            return self._found_among(replace(request, among=None, words=""), request.among)
        query = self._query(where, request.among)
        if where is not None or order.key not in self._run.score_order:
            return self._numbers(query, order, query.sort_key(order))
        # Records with a value first: they are found without reading those that lack one, which most runs do not have.
        places = self._numbers(query, order, query.sort_key(order, valued=True))
        if len(places) < self._run.done:
            unvalued = self._query(where, None)
            unvalued.restrict_to_unvalued(order.key)
            places.extend(self._numbers(unvalued, RecordOrder(), ""))
        return places

    def _found_among(self, request: PageRequest, places: array[int]) -> array[int]:
        """Those of some places that meet a request, in its order."""
        key = self._key(request)
        ordered = self._ordered(key, request) if key else self._all_ordered(request)
        wanted = set(places)
        return array("Q", [number for number in ordered if number in wanted])

    def _numbers(self, query: RecordQuery, order: RecordOrder, key: str) -> array[int]:
        return read_places(self._connection, query.places(order, key=key), query.values)

    def _count(self, request: PageRequest) -> int:
        if self._run.state == "finished" and request.where is None and request.among is None:
            return self._run.done
        return self._counted(self._query(request.where, request.among))

    def _counted(self, query: RecordQuery) -> int:
        return int(self._connection.execute(query.count(), query.values).scalar())

    def places(self, part: ConditionPart) -> Collection[Place]:
        """Those of one part that SQL cannot decide."""
        if part.kind == "word":
            return [of_pair(number) for number in self._changed(part)]
        if part.kind == "field":
            return self._of_failure(part.value)
        return self._of_labels(part)

    def _changed(self, part: ConditionPart) -> array[int]:
        """Those of a regression or an improvement, as numbers in order."""
        if self._against is None:
            raise ConfigError(f"{part.name} compares with another run: name that run with against=")
        return changed_places(self._run, self._against, part.name)

    def _of_failure(self, kind: str) -> Collection[Place]:
        """Those of records with a failure of this kind."""
        sql = "SELECT no, repeat, body FROM record WHERE run = :run AND failed = 1"
        rows = self._connection.execute(sql, {"run": self._run.num}).tuples()
        unpack = unpacker_of(self._connection).unpack
        chosen = []
        for no, repeat, body in rows:
            try:
                failure_kind = unpack_failure_kind(unpack(bytes(body)))
            except (StoreError, ValueError, TypeError, LookupError, AttributeError):
                failure_kind = DAMAGED
            if failure_kind == kind:
                chosen.append((no, repeat))
        return chosen

    def _of_labels(self, part: ConditionPart) -> Collection[Place]:
        """Those of records with labels; the labels of a run of judges are those of the run whose answers it judges.

        Raises:
            ConfigError: no record of the run has a label of that name, but of a similar one.
        """
        labels = self._run.labels()
        names = sorted({label.name for label in labels})
        name = part.name.removeprefix(LABEL)
        # A name like none of them is not mistyped: of several runs, only some may have such labels.
        if name not in names and "did you mean" in (hint := did_you_mean(name, names)):
            raise ConfigError(f"no record of the run has a label {name!r}{hint}")
        records = {key for key, of_record in by_record(labels).items() if label_holds(part, of_record)}
        return self._of_samples(records)

    def _of_samples(self, records: Collection[tuple[str, int]]) -> Collection[Place]:
        """Places of records that are named by sample and repeat."""
        if not records:
            return ()
        sql = "SELECT r.no, r.repeat, s.id FROM record r JOIN sample s ON s.num = r.sample WHERE r.run = :run"
        values: dict[str, Any] = {"run": self._run.num}
        if len(ids := {sample for sample, _ in records}) <= MOST_IN_QUERY:
            sql, values = f"{sql} AND s.id IN :ids", {**values, "ids": sorted(ids)}
        rows = self._connection.execute(sql, values).tuples()
        return {(no, repeat) for no, repeat, sample in rows if (sample, repeat) in records}

    def _query(self, condition: Condition | None, among: array[int] | None) -> RecordQuery:
        words = dict(self._connection.execute("SELECT text, num FROM word").tuples())
        query = RecordQuery(self._connection.dialect, self._run.num, self._run.scoring_version, words, decided=self)
        if condition is not None:
            query.restrict(condition)
        if among is not None:
            query.restrict_to_numbers([number_of_place(of_pair(number)) for number in among])
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
