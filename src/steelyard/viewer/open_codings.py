"""Error analyses as pages show them: which one an address names, its state, and which record comes next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.codings import coding_sizes, named_coding, read_coding
from steelyard.report.coding_page import CodingPage
from steelyard.report.sections.error_codes import codes_section, saturation_chart

if TYPE_CHECKING:
    from steelyard.people.codings import CodedItem, Coding
    from steelyard.people.error_codes import CodingState
    from steelyard.report.charts.curve import CurveChart
    from steelyard.report.section import Section
    from steelyard.store import Run
    from steelyard.viewer.pages import Pages

ReadingMode = Literal["", "group"]
"""What a reader goes through: records without a note (""), or notes without a code ("group")."""


class DescribedCoding(NamedTuple):
    """Computed figures of an error analysis, which take a tenth of a second where it has 500 codes.

    Args:
        page: shares of its codes, and results of their trials.
        codes: the table of shares.
        saturation: the curve and its sentence; None and "" before there are enough notes.
    """

    page: CodingPage
    codes: Section
    saturation: tuple[CurveChart | None, str]


class OpenCodings:
    """The error analyses of one store.

    Records and events are read once; later requests read what was added, which 10,000 notes under 500 codes need.

    Args:
        pages: of the viewer.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._store = pages.store
        self._codings: dict[str, tuple[int, Coding]] = {}
        self._described: dict[str, tuple[CodingState, int, DescribedCoding]] = {}

    def all(self) -> list[Coding]:
        """Every error analysis, newest first."""
        return [self._current(ident, items) for ident, items in coding_sizes(self._store).items()]

    def of(self, ident: str) -> Coding:
        """The error analysis of an id, without the records of runs that were deleted since.

        Raises:
            ConfigError: there is none.
        """
        sizes = coding_sizes(self._store)
        if ident not in sizes:
            raise ConfigError(f"there is no error analysis {ident!r}{did_you_mean(ident, sizes)}")
        return self._current(ident, sizes[ident])

    def of_run(self, run: Run) -> list[Coding]:
        """Those that a run is in, newest first."""
        return [coding for coding in self.all() if run.id in coding.drawn]

    def _current(self, ident: str, items: int) -> Coding:
        cached = self._codings.get(ident)
        if cached is None or cached[0] != items:
            self._codings[ident] = cached = items, named_coding(self._store, ident)
        return cached[1]

    def state(self, coding: Coding) -> CodingState:
        """The state of an analysis after its events so far."""
        return read_coding(self._store, coding)

    def described(self, coding: Coding) -> DescribedCoding:
        """The figures of its pages, computed once while nothing changes."""
        state, runs = self.state(coding), len(self._pages.store.runs())
        cached = self._described.get(coding.id)
        if cached is None or cached[0] is not state or cached[1] != runs:
            page = CodingPage.of(self._store, coding)
            described = DescribedCoding(page, codes_section(page.state, page.shares), saturation_chart(page.state))
            self._described[coding.id] = cached = state, runs, described
        return cached[2]

    def runs(self, coding: Coding) -> dict[int, Run]:
        """Number -> run, for those of its runs that still exist."""
        return {run.num: run for run in self._store.runs() if run.id in coding.drawn}

    def next_item(self, coding: Coding, mode: ReadingMode, after: int = 0) -> CodedItem | None:
        """The record that a reader is to see next; None where all is done.

        Args:
            coding: that is read.
            mode: of reading.
            after: number of the record that was read last; records before it come after all others.
        """
        state = self.state(coding)
        is_open = _is_uncoded(state) if mode == "group" else lambda item: item.num not in state.notes
        return next(filter(is_open, _from(coding, after)), None)

    def store_option(self) -> str:
        """` --store STORE` of a command for this store, without a password; "" for the default store."""
        return "" if self._store.is_at(None) else f" --store {shlex.quote(str(self._store.path))}"


def _is_uncoded(state: CodingState) -> Callable[[CodedItem], bool]:
    uncoded = {note.item for note in state.uncoded}
    return lambda item: item.num in uncoded


def _from(coding: Coding, after: int) -> Iterator[CodedItem]:
    yield from (item for item in coding.items if item.num > after)
    yield from (item for item in coding.items if item.num < after)
