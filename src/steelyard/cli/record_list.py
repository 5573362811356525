"""Lists records of a run on a terminal: all of a kind, all of one sample, or pages of those that meet a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.cli.options import named_run
from steelyard.errors import ConfigError, did_you_mean
from steelyard.report.exports.records import plain_record
from steelyard.report.record_lines import label_line, sample_lines
from steelyard.report.render.terminal import console, print_json, say
from steelyard.store import Run, Store
from steelyard.store.labels import by_record
from steelyard.store.reading.pages import RecordPage
from steelyard.store.reading.search import index_run
from steelyard.store.records import DAMAGED
from steelyard.types import Label, Record

_Labels = Mapping[tuple[str, int], Sequence[Label]]

OnlyOption = Annotated[
    str,
    typer.Option(
        "--only",
        metavar="KIND",
        help="List samples: wrong, unparsed, refused, not-applicable, errors, damaged or all; or several of them, "
        "joined by commas.",
    ),
]
WhereOption = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="EXPR",
        help='List samples that meet a condition: correctness < 3 and group = "tax" and regression.',
    ),
]
SearchOption = Annotated[
    str, typer.Option("--search", metavar="TEXT", help="List samples with these words in their texts.")
]
SortOption = Annotated[
    str,
    typer.Option(
        "--sort", metavar="KEY", help="List by id, group, seconds or a score; with - before it the largest first."
    ),
]
AgainstOption = Annotated[
    str, typer.Option("--against", metavar="RUN", help="The run that regression and improvement compare with.")
]
PageOption = Annotated[int, typer.Option("--page", metavar="N", min=1, help="Which page of the list, from 1.")]

KINDS: Final = ("wrong", "unparsed", "refused", "not-applicable", "errors", "damaged", "all")
"""Values of --only."""
_OF_PAGES: Final = "--where, --search, --sort, --against and --page"
"""The options that make a list one of pages, as messages name them."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which records to list.

    Args:
        only: their kind, of `KINDS`, or several joined by commas; "" for any.
        most: how many on a page.
        sample: the id of the only sample; "" for any.
        where: a condition; "" for none.
        sort: the key of their order; "" is the order of the dataset.
        page: the page's number, from 1.
        against: the run that a regression compares with, as it was typed.
        search: words of their texts; "" for any.
    """

    only: str = ""
    most: int = 10
    sample: str = ""
    where: str = ""
    sort: str = ""
    page: int = 1
    against: str = ""
    search: str = ""

    @property
    def in_pages(self) -> bool:
        """Whether pages are requested; a page is read without reading the records before it."""
        return bool(self.where or self.sort or self.search or self.against) or self.page > 1

    @property
    def lists_records(self) -> bool:
        """Whether records are listed, and not the run's summary."""
        return bool(self.only or self.sample) or self.in_pages

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of records to list; empty lists any record.

        Raises:
            ConfigError: an unknown kind.
        """
        kinds = [kind.strip() for kind in self.only.split(",")] if self.only else []
        for kind in kinds:
            if kind not in KINDS:
                raise ConfigError(f"--only {kind!r}{did_you_mean(kind, KINDS)}")
        return frozenset() if "all" in kinds else frozenset(kinds)

    @property
    def condition(self) -> str:
        """The condition of `only` and `where` together."""
        parts = [part for part in (*self.kinds, self.where.strip()) if part]
        return " and ".join(parts)


def show_records(store: Store, run: Run, request: ListRequest, *, as_json: bool) -> None:
    """Print the requested records.

    Raises:
        ConfigError: options that exclude each other, or an invalid condition.
    """
    if request.in_pages:
        _show_page(store, run, request, as_json=as_json)
    elif as_json:
        labels = _labels(run)
        print_json([_plain(record, labels) for record in _listed(run, request)])
    else:
        printed = _print_records(run, _listed(run, request), passages=bool(request.sample))
        if not printed:
            _say(_why_none(run, " or ".join(sorted(request.kinds)) or "all"))


def _show_page(store: Store, run: Run, request: ListRequest, *, as_json: bool) -> None:
    if run.counts_labels:
        raise ConfigError(f"{_OF_PAGES} use the stored scores: leave out --with-labels")
    if request.sample or "damaged" in request.kinds:
        raise ConfigError(f"a sample's id and --only damaged cannot be combined with {_OF_PAGES}")
    if len(request.kinds) > 1:
        raise ConfigError(f"--only takes one kind with {_OF_PAGES}")
    against = named_run(store, request.against) if request.against else None
    skip = (request.page - 1) * request.most

    def read() -> RecordPage:
        return run.page(
            n=request.most,
            where=request.condition,
            sort=request.sort,
            against=against,
            skip=skip,
            search=request.search,
        )

    page = read()
    if page.note and run.state == "finished":  # its index is lost, as in a copy of the store's file alone
        index_run(run)
        page = read()
    if as_json:
        labels = _labels(run)
        records = [_plain(record, labels) for record in page.records]
        print_json({"total": page.total, "page": request.page, "note": page.note, "records": records})
        return
    _print_records(run, page.records)
    _say(_position_line(run, request, page, skip))
    if page.note:
        _say(f"note: {page.note}")


def _position_line(run: Run, request: ListRequest, page: RecordPage, skip: int) -> str:
    """A line with the position of the page among all matching records."""
    total = page.total or 0
    if not total:
        searched = f"the search for {request.search}" if request.search else ""
        criteria = " and ".join(part for part in (request.condition, searched) if part) or "all records"
        return f"no sample of run {run.id} ({run.target}) matches: {criteria}"
    if not page.records:
        return f"there is no page {request.page}: {total:,} records match, {request.most} on a page"
    more = f"; --page {request.page + 1} shows the next" if page.after else ""
    return f"{skip + 1:,} to {skip + len(page.records):,} of {total:,} records{more}"


def _say(line: str) -> None:
    say(console(), line)


def _labels(run: Run) -> _Labels:
    return by_record(run.remarks().labels)


def _listed(run: Run, request: ListRequest) -> Iterator[Record]:
    """The first records of a kind, in the order of the samples.

    Raises:
        ConfigError: the run has no such sample.
    """
    if request.sample and request.sample not in (samples := run.places()):
        suggestion = did_you_mean(request.sample, samples)
        raise ConfigError(
            f"run {run.id} has no sample {request.sample!r}{suggestion if suggestion.startswith(':') else ''}"
        )
    listed, kinds = 0, request.kinds
    for record in run.records():
        if request.sample not in {"", record.sample.id}:
            continue
        if not kinds or kinds & _kinds_of(record):
            yield record
            listed += 1
            if listed == request.most:
                return


def _kinds_of(record: Record) -> set[str]:
    kinds = {score.outcome.replace("_", "-") for score in record.scores if score.outcome != "scored"}
    wrong = {"wrong" for score in record.scores if score.outcome == "scored" and score.passed is False}
    failed = {"damaged" if record.failure.kind == DAMAGED else "errors"} if record.failure else set()
    return {*kinds, *wrong, *failed}


def _plain(record: Record, labels: _Labels) -> dict[str, Any]:
    return plain_record(record, labels.get((record.sample.id, record.repeat), ()))


def _print_records(run: Run, records: Iterable[Record], *, passages: bool = False) -> int:
    """Print records with their labels; returns their number."""
    to = console()
    labels = _labels(run)
    sides = sides_of(run.manifest) if is_judging(run.manifest) else ()
    printed = 0
    for record in records:
        if printed:
            to.print()
        printed += 1
        for line in sample_lines(record, sides, passages=passages):
            say(to, line)
        for label in labels.get((record.sample.id, record.repeat), ()):
            say(to, label_line(label))
    return printed


def _why_none(run: Run, only: str) -> str:
    """The reason why nothing is listed: "no sample is wrong" would mislead if no score of the run can be wrong."""
    if only == "all":
        return "this run has no records"
    message = f"no sample of run {run.id} ({run.target}) is {only}"
    if only != "wrong":
        return message
    scores = [score for record in run.records() for score in record.scores if score.value is not None]
    if not scores:
        return f"{message}: none was scored; --only all lists samples"
    if with_threshold := dict.fromkeys(score.name for score in scores if score.passed is not None):
        return f"{message}; only {', '.join(with_threshold)} can be right or wrong"
    return f"{message}: none of its scores can be right or wrong, as none has a threshold; --only all lists samples"
