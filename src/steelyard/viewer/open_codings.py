"""Error analyses as pages show them: which one an address names, its state, and which record comes next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from steelyard.people.codings import Coding, newest_change, read_coding
from steelyard.people.draw import DrawnRecord
from steelyard.people.error_codes import CodingState
from steelyard.report.charts.plots import CurveChart
from steelyard.report.coding_page import CodingPage, codes_section, saturation_chart
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

    Args:
        pages: of the viewer.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._store = pages.store
        self._described: dict[str, tuple[tuple[int, int, int], DescribedCoding]] = {}

    def described(self, coding: Coding) -> DescribedCoding:
        """The figures of its pages, computed once while nothing changes."""
        now = newest_change(self._store, coding), len(coding.items), len(self._store.runs())
        cached = self._described.get(coding.id)
        if cached is None or cached[0] != now:
            page = CodingPage.of(self._store, coding)
            described = DescribedCoding(page, codes_section(page.state, page.shares), saturation_chart(page.state))
            self._described[coding.id] = cached = now, described
        return cached[1]

    def runs(self, coding: Coding) -> dict[int, Run]:
        """Number -> run, for those of its runs that still exist."""
        return {run.num: run for run in self._store.runs() if run.id in coding.drawn}

    def next_item(self, coding: Coding, mode: ReadingMode, after: int = 0) -> DrawnRecord | None:
        """The record that a reader is to see next; None where all is done.

        Args:
            coding: that is read.
            mode: of reading.
            after: number of the record that was read last; records before it come after all others.
        """
        state = read_coding(self._store, coding)
        is_open = _is_uncoded(state) if mode == "group" else lambda item: item.num not in state.notes
        return next(filter(is_open, _from(coding, after)), None)

    def store_option(self) -> str:
        """` --store STORE` of a command for this store, without a password; "" for the default store."""
        return "" if self._store.is_at(None) else f" --store {shlex.quote(str(self._store.path))}"


def _is_uncoded(state: CodingState) -> Callable[[DrawnRecord], bool]:
    uncoded = {note.item for note in state.uncoded}
    return lambda item: item.num in uncoded


def _from(coding: Coding, after: int) -> Iterator[DrawnRecord]:
    yield from (item for item in coding.items if item.num > after)
    yield from (item for item in coding.items if item.num < after)
