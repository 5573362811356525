"""Makes the script of a dataset one that an engine builds: dumps of other engines are translated, table by table.

A script runs as it is wherever it can. Where it cannot, its tables are built one by one, and those that fail are left
out: a query that names one of them gets the reason, as a fault of the dataset, and all others are run.
"""

# Why it is so, and what was rejected: docs/decisions/sql-vendor-schemas.md

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from steelyard.sql.results import Execution, LocalEngine, SqlFailure
from steelyard.sql.vendor_dumps import vendor_of

if TYPE_CHECKING:
    from steelyard.sql.vendor_tables import OtherStatement, TranslatedTable, Translation

_LONGEST: Final = 5_000_000
"""Characters of a script that is translated at most: sqlglot reads 200,000 a second."""
_KEPT_CHARACTERS: Final = 40_000_000
_TITLES: Final[Mapping[LocalEngine, str]] = MappingProxyType({"sqlite": "SQLite", "duckdb": "DuckDB"})
_MISSING: Final = re.compile(r"no such table: (.+)\Z|Table with name \"?(.+?)\"? does not exist", re.DOTALL)
"""What SQLite and DuckDB say of a table that is not there; a column of that name is another matter."""
_PLACE: Final = re.compile(r"^statement \d+: ")

Build = Callable[[str], SqlFailure | None]
"""Runs a script, and returns why it fails."""


@dataclass(frozen=True, slots=True)
class BuiltScript:
    """What an engine builds of a script.

    Args:
        engine: which.
        text: a script of its own; "" where nothing of the script can be built.
        left_out: tables and views that are not in it, with the reason.
    """

    engine: LocalEngine
    text: str
    left_out: Mapping[str, str] = field(default_factory=dict)

    def explained(self, execution: Execution) -> Execution:
        """An execution that failed for want of a table that was left out is a fault of the script."""
        failure = execution.failure
        if failure is None or failure.kind != "error":
            return execution
        if not self.text and self.left_out:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.left_out.items())
            return replace(execution, failure=SqlFailure("error", f"no table of the dump: {reasons}", "script"))
        match = _MISSING.search(failure.message)
        missing = (match[1] or match[2]).casefold() if match else ""
        for name, why in self.left_out.items():
            # With the schema in front, as a query may write it.
            if missing == name.casefold() or missing.endswith(f".{name.casefold()}"):
                message = f"{name} cannot be built on {_TITLES[self.engine]}: {why}"
                return replace(execution, failure=SqlFailure("error", message, "script"))
        return execution


class ScratchScripts:
    """What was built of the scripts of a sandbox; those not used for longest are forgotten first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._built: OrderedDict[tuple[LocalEngine, str], BuiltScript] = OrderedDict()

    def known(self, engine: LocalEngine, script: str) -> BuiltScript | None:
        """What was built of a script before; None where that was not asked, or it builds as it is."""
        with self._lock:
            built = self._built.get((engine, script))
            if built is not None:
                self._built.move_to_end((engine, script))
            return built

    def build(self, engine: LocalEngine, script: str, build: Build, seconds: float) -> BuiltScript:
        """Translate a script and find out which of its tables can be built.

        Args:
            engine: for which.
            script: one that does not build as it is.
            build: tries a script.
            seconds: after which no further table is tried.
        """
        built = BuiltScript(engine, "")
        if len(script) > _LONGEST and vendor_of(script) is not None:
            built = BuiltScript(engine, "", {"all tables": f"it has more than {_LONGEST:,} characters"})
        elif len(script) <= _LONGEST:
            # With sqlglot, which no worker needs for a script that builds as it is.
            from steelyard.sql.vendor_tables import sort_statements, translate_dump

            vendor = vendor_of(script)
            translation = sort_statements(script) if vendor is None else translate_dump(script, vendor, engine)
            built = _buildable(engine, translation, build, time.monotonic() + seconds)
            if vendor is None and not built.text:
                # The engine says of the whole script which statement fails.
                built = BuiltScript(engine, "")
        with self._lock:
            self._built[engine, script] = built
            while sum(len(text) + len(kept.text) for (_, text), kept in self._built.items()) > _KEPT_CHARACTERS:
                self._built.popitem(last=False)
        return built


def changes_meaning(script: str) -> bool:
    r"""Whether a script may build as it is and still hold other rows: MySQL reads `\n` in a text as a line break."""
    return "\\" in script and len(script) <= _LONGEST and vendor_of(script) == "mysql"


def may_translate(failure: SqlFailure | None, script: str) -> bool:
    """Whether a script failed for what another engine would take."""
    if failure is None or failure.part != "script":
        return False
    # What a server only sets (SET, USE) is denied on DuckDB.
    return failure.kind == "error" or (failure.kind == "denied" and vendor_of(script) is not None)


def _buildable(engine: LocalEngine, translation: Translation, build: Build, deadline: float) -> BuiltScript:
    left_out = dict(translation.left_out)
    tables: dict[str, TranslatedTable] = {}
    for name, table in translation.tables.items():
        if table.why:
            left_out[table.name] = table.why
        else:
            tables[name] = table
    others: Sequence[OtherStatement] = translation.others
    if tables and build(_script_of(tables.values(), others)):
        tables = _sound(tables, left_out, build, deadline)
        others = _sound_others(tables, others, left_out, build)
        if tables and build(_script_of(tables.values(), others)):
            tables = {}
    text = _script_of(tables.values(), others) if tables else ""
    return BuiltScript(engine, text, MappingProxyType(left_out))


def _sound(
    tables: Mapping[str, TranslatedTable], left_out: dict[str, str], build: Build, deadline: float
) -> dict[str, TranslatedTable]:
    """The tables that can be built each for itself; the others are added to `left_out`."""
    sound = {}
    for name, table in tables.items():
        if time.monotonic() > deadline:
            left_out[table.name] = "building the tables before it took too long"
        elif failure := build(_script_of([table], ())):
            left_out[table.name] = _PLACE.sub("", failure.message)
        else:
            sound[name] = table
    return sound


def _sound_others(
    tables: dict[str, TranslatedTable], others: Sequence[OtherStatement], left_out: dict[str, str], build: Build
) -> list[OtherStatement]:
    """The views and changes that can be run on the tables; a table whose change fails is taken out of `tables`.

    A statement that fails and belongs to no table stays: the whole script fails by it, as without it the rows of any
    table may be others.
    """
    bare = {name: replace(table, rows=[]) for name, table in tables.items()}
    missing = {name.casefold() for name in left_out}
    sound: list[OtherStatement] = []
    waiting: list[OtherStatement] = []
    for other in others:
        name = other.name.casefold()
        failure = build(_script_of(bare.values(), [*sound, other]))
        if failure is None:
            sound.append(other)
        elif other.creates:
            waiting.append(other)
        elif name in tables:
            left_out[tables.pop(name).name] = _PLACE.sub("", failure.message)
            del bare[name]
        elif name not in missing:
            sound.append(other)
            break
    return sound + _later_views(waiting, [*bare.values()], sound, left_out, build)


def _later_views(
    waiting: list[OtherStatement],
    tables: Sequence[TranslatedTable],
    sound: Sequence[OtherStatement],
    left_out: dict[str, str],
    build: Build,
) -> list[OtherStatement]:
    """The views that can be built once those are there that stand behind them; the others are added to `left_out`."""
    built: list[OtherStatement] = []
    while waiting:
        failures = {}
        for view in waiting:
            if failure := build(_script_of(tables, [*sound, *built, view])):
                failures[view] = failure
            else:
                built.append(view)
        if len(failures) == len(waiting):
            for view, failure in failures.items():
                left_out.setdefault(view.name, _PLACE.sub("", failure.message))
            break
        waiting = list(failures)
    return built


def _script_of(tables: Iterable[TranslatedTable], others: Sequence[OtherStatement]) -> str:
    statements = chain(chain.from_iterable(table.statements() for table in tables), (other.text for other in others))
    return "".join(f"{statement};\n" for statement in statements)
