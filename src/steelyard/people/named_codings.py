"""Finds error analyses and their codes by what a person types: ids, runs, names of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.codings import codings, read_coding

if TYPE_CHECKING:
    from steelyard.people.codings import Coding
    from steelyard.people.error_codes import CodingState, ErrorCode
    from steelyard.store.store import Store


class NamedCode(NamedTuple):
    """A code with its error analysis and the state of that."""

    coding: Coding
    state: CodingState
    code: ErrorCode

    @property
    def address(self) -> str:
        """The address of the code in a store: `CODING/CODE`."""
        return f"{self.coding.id}/{self.code.id}"


def find_coding(store: Store, name: str) -> Coding:
    """The error analysis of an id, or the newest one of a run.

    Args:
        store: where it is.
        name: id of an error analysis, or a run as `Store.run` takes it.

    Raises:
        ConfigError: there is none.
    """
    by_id = {coding.id: coding for coding in codings(store)}
    if name in by_id:
        return by_id[name]
    try:
        run = store.run(name)
    except ConfigError:
        if not by_id:
            raise
        raise ConfigError(f"{name!r} is neither an error analysis nor a run{did_you_mean(name, by_id)}") from None
    match = next((coding for coding in by_id.values() if run.id in coding.drawn), None)
    if match is None:
        raise ConfigError(
            f"run {run.id} ({run.target}) is in no error analysis: draw one with steelyard codes draw {run.id} --author"
            " NAME"
        )
    return match


def find_code(store: Store, name: str) -> NamedCode:
    """The code of a name or id.

    Args:
        store: where it is.
        name: of a code, or its id; `CODING/CODE` where several error analyses have one of that name.

    Raises:
        ConfigError: there is none, or several error analyses have one.
    """
    all_codings = codings(store)
    ident, _, suffix = name.partition("/")
    within = [coding for coding in all_codings if suffix and coding.id == ident]
    code_name = suffix if within else name
    matches = [
        NamedCode(coding, state, code)
        for coding in within or all_codings
        for state in [read_coding(store, coding)]
        for code in [_code_of(state, code_name)]
        if code is not None
    ]
    if len(matches) > 1:
        places = ", ".join(match.address for match in matches)
        raise ConfigError(f"several error analyses have a code {code_name!r}: name one of {places}")
    if not matches:
        names = [code.name for coding in within or all_codings for code in _current(read_coding(store, coding))]
        hint = did_you_mean(code_name, names) if names else "; no error analysis has one yet"
        raise ConfigError(f"there is no code {code_name!r}{hint}")
    return matches[0]


def _current(state: CodingState) -> tuple[ErrorCode, ...]:
    return (*state.adopted, *state.proposed)


def _code_of(state: CodingState, name: str) -> ErrorCode | None:
    """The adopted code of a name or id, else the proposed one."""
    folded = " ".join(name.split()).casefold()
    codes = (code for code in _current(state) if folded in {code.name.casefold(), code.id.casefold()})
    return next(codes, None)
