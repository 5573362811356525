"""Finding error analyses and their codes by what a person types: ids, runs, names of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steelyard.errors import ConfigError, did_you_mean
from steelyard.store.codings import codings, read_coding

if TYPE_CHECKING:
    from steelyard.analysis.error_codes import CodingState, ErrorCode
    from steelyard.store.codings import Coding
    from steelyard.store.store import Store


class NamedCode(NamedTuple):
    """A code with the error analysis that it is of, and what stands in that."""

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
    known = {coding.id: coding for coding in codings(store)}
    if name in known:
        return known[name]
    try:
        run = store.run(name)
    except ConfigError:
        if not known:
            raise
        raise ConfigError(f"{name!r} is neither an error analysis nor a run{did_you_mean(name, known)}") from None
    found = next((coding for coding in known.values() if run.id in coding.drawn), None)
    if found is None:
        raise ConfigError(
            f"run {run.id} ({run.target}) is in no error analysis: draw one with steelyard codes draw {run.id} --author"
            " NAME"
        )
    return found


def find_code(store: Store, name: str) -> NamedCode:
    """The code of a name or id.

    Args:
        store: where it is.
        name: of a code, or its id; `CODING/CODE` where several error analyses have one of that name.

    Raises:
        ConfigError: there is none, or several error analyses have one.
    """
    every = codings(store)
    ident, _, rest = name.partition("/")
    within = [coding for coding in every if rest and coding.id == ident]
    wanted = rest if within else name
    found = [
        NamedCode(coding, state, code)
        for coding in within or every
        for state in [read_coding(store, coding)]
        for code in [_code_of(state, wanted)]
        if code is not None
    ]
    if len(found) > 1:
        places = ", ".join(match.address for match in found)
        raise ConfigError(f"several error analyses have a code {wanted!r}: name one of {places}")
    if not found:
        names = [code.name for coding in within or every for code in _current(read_coding(store, coding))]
        hint = did_you_mean(wanted, names) if names else "; no error analysis has one yet"
        raise ConfigError(f"there is no code {wanted!r}{hint}")
    return found[0]


def _current(state: CodingState) -> tuple[ErrorCode, ...]:
    return (*state.adopted, *state.proposed)


def _code_of(state: CodingState, name: str) -> ErrorCode | None:
    """The adopted code of a name or id, else the proposed one."""
    plain = " ".join(name.split()).casefold()
    codes = (code for code in _current(state) if plain in {code.name.casefold(), code.id.casefold()})
    return next(codes, None)
