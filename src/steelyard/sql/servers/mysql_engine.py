"""MySQL and MariaDB in a worker: a read-only transaction for each statement, then the session is reset.

The reset is COM_RESET_CONNECTION, which ends transactions, locks, variables and temporary tables as a new connection
would, without its 1 to 70 ms; a server that does not know it gets a new connection for each statement.

A statement that changes data runs in a transaction that is rolled back, in a database made for it. Statements that
define something are refused, as they commit by themselves here, and so are tables of engines without transactions. One
statement at a time changes a database, by a lock of the session. What a rollback leaves, the next AUTO_INCREMENT of
each table, is set back afterwards.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from datetime import time as time_of_day
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.cursors import SSCursor

from steelyard.sql.engines.engine import (
    DatabaseState,
    EngineQuery,
    SqlStop,
    differences,
    fetch,
    guard_lists,
    read_state,
)
from steelyard.sql.layout import quoted
from steelyard.sql.results import FailureKind, ResultTable, SqlLimits
from steelyard.sql.server_address import ServerLogin
from steelyard.sql.servers.session import (
    CONNECT_S,
    FIRST_ROWS,
    IDLE_S,
    LOCK_SHARE,
    MOST_FAULTS,
    MOST_MESSAGE,
    RESTORE_S,
    ConnectionLost,
    Greeting,
    LoginError,
    Numbers,
    SchemaHeld,
    ServerSession,
)

_RESET: Final = 0x1F
"""COM_RESET_CONNECTION, since MySQL 5.7.3 and MariaDB 10.2.4."""
_DIVISION_DIGITS: Final = 20
"""Digits that a division or AVG adds. With the server's 4, a * 100 / b and a / b * 100.0 return different numbers."""
_TIME_OF_DAY: Final = re.compile(r"(?:[01]\d|2[0-3])(?::\d\d){2}(?:\.\d+)?")
_READS: Final = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "EXECUTE"})
_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "ALTER", "REFERENCES"})
"""What a role may have on the database that is made for changes; ALTER sets AUTO_INCREMENT back."""
_QUOTED: Final = re.compile(r"`((?:[^`]|``)*+)`\.")
"""The database of a grant."""
_ESCAPED: Final = re.compile(r"\\([_%])")
"""A letter that stands for itself where a grant names databases by a pattern."""
_KINDS: Final[Mapping[int, FailureKind]] = MappingProxyType(
    {
        **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1290, 1419, 1792, 1836), "denied"),
        **dict.fromkeys((1022, 1048, 1062, 1216, 1217, 1364, 1451, 1452, 3819, 4025), "constraint"),
        **dict.fromkeys((1205, 1317, 1969, 3024), "timeout"),
        **dict.fromkeys((1037, 1038, 1041, 3015), "memory"),
    }
)
"""Numbers of errors; all others are the statement's own."""
_NO_ROUTINE: Final = 1370
_GONE: Final = frozenset({1053, 1077, 1927, 2006, 2013, 4031})
_TYPES: Final[Mapping[int, str]] = MappingProxyType(
    {value: name for name, value in vars(FIELD_TYPE).items() if name.isupper() and name not in {"CHAR", "INTERVAL"}}
)


class MysqlEngine(ServerSession):
    """Runs queries with PyMySQL.

    Values are what PyMySQL makes of them; beyond that BIT(n) is a whole number, TIME is a time of the day, or text if
    it is none, as is a date that is none (the zero date).
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_mariadb = False
        self._sql_mode = ""

    def login(self, login: ServerLogin) -> Greeting:
        """Connect and look at the role; see `ServerSession`."""
        ca = dict(login.options).get("ssl_ca")
        try:
            connection = pymysql.connect(
                host=login.host,
                port=login.port,
                user=login.user,
                password=login.password,
                database=login.database or None,
                charset="utf8mb4",
                connect_timeout=CONNECT_S,
                autocommit=True,
                local_infile=False,
                ssl={"ca": ca} if ca else None,
                cursorclass=SSCursor,
                conv=_CONVERSIONS,
            )
            [[backend, version, mode]] = _rows(connection, "SELECT CONNECTION_ID(), VERSION(), @@SESSION.sql_mode")
            self._connection, self._is_mariadb = connection, "mariadb" in str(version).lower()
            _check_version(str(version))
            # Backslashes escape in texts: the check of statements reads them so.
            modes = [name for name in str(mode).split(",") if name != "NO_BACKSLASH_ESCAPES"]
            self._sql_mode = ",".join(modes)
            self._writes_to = login.writes_to
            faults = self._faults()
        except (pymysql.Error, OSError, RuntimeError) as error:
            # A driver's own errors are none of the operating system's: this is the file of certificates.
            place = f"ssl_ca={ca}: " if ca and isinstance(error, OSError) else ""
            raise LoginError(login.without_password(place + _short(error))) from None
        return Greeting(int(backend), "MariaDB" if self._is_mariadb else "MySQL", faults[:MOST_FAULTS])

    def cancel(self, backend: int) -> None:
        """End the statement of another connection of the same role."""
        with suppress(pymysql.Error):
            _rows(self._session(), f"KILL {int(backend)}")

    def execute(self, work: EngineQuery) -> ResultTable:
        """Run the query in a read-only transaction of its own, then reset the session; see the protocol `Engine`."""
        self.keeps_database = True
        query, _ = self._checked(work, "mysql", guard_lists("mysql")["denied_functions"])
        if "ANSI" in self._sql_mode and '\\"' in query:
            raise SqlStop("denied", "denied: a backslash before a double quote, as this server quotes names so")
        connection = self._session()
        self.keeps_database = False
        if work.changes:
            self._hold(work.schema, LOCK_SHARE * work.limits.timeout_s)
        deadline = time.monotonic() + work.limits.timeout_s
        try:
            for statement in self._begin(work):
                _rows(connection, statement)
            table = self._changed(query, work) if work.changes else _read(connection, query, work.limits)
        except pymysql.Error as error:
            _raise_lost(error)
            self._reset()
            raise _stop_of(error, late=time.monotonic() > deadline) from None
        # After anything else, such as too many rows, what is left of the result waits on the line: the worker ends.
        self._reset()
        return table

    def _changed(self, statement: str, work: EngineQuery) -> ResultTable:
        """What a statement changes in its database, which is rolled back."""
        connection = self._connection
        with suppress(pymysql.err.OperationalError):  # MySQL 8 alone has it, and else tells numbers of up to a day ago
            _rows(connection, "SET SESSION information_schema_stats_expiry = 0")
        tables = [(str(name), str(engine)) for name, engine in _rows(connection, _TABLES)]
        if plain := [f"{name} ({engine})" for name, engine in tables if engine.lower() != "innodb"]:
            raise SqlStop("denied", f"denied: {plain[0]} has no transactions, so that nothing could be rolled back")
        increments = _rows(connection, _INCREMENTS)
        self.tell(increments)
        names = [(name, quoted(name, "mysql")) for name, _ in tables]

        def state() -> DatabaseState:
            return read_state(names, [], lambda query, left: _read(connection, query, left).rows, work.limits)

        try:
            _rows(connection, "START TRANSACTION")
            before = state()
            affected = _affected(connection, statement)
            return differences(before, state(), affected)
        finally:
            _rows(connection, "ROLLBACK")
            _set_back(connection, increments)

    def restore(self, schema: str, numbers: Numbers) -> None:
        """Set the numbers of a database back; see `ServerSession`."""
        connection = self._session()
        self._hold(schema, RESTORE_S)
        _rows(connection, f"USE {quoted(schema, 'mysql')}")
        _rows(connection, f"SET SESSION lock_wait_timeout = {RESTORE_S:d}")
        _set_back(connection, numbers)

    def _hold(self, schema: str, seconds: float) -> None:
        """Lock a database against other changing statements, until the session is reset."""
        name = f"steelyard {schema}"[:60].replace("\\", "\\\\").replace("'", "''")
        try:
            is_held = _rows(self._connection, f"SELECT GET_LOCK('{name}', {max(1, round(seconds)):d})") == [(1,)]
        except pymysql.Error as error:
            _raise_lost(error)
            raise SchemaHeld from None
        if not is_held:
            raise SchemaHeld

    def _session(self) -> Any:
        if self._connection is None or not self._connection.open:
            raise ConnectionLost
        return self._connection

    def _begin(self, work: EngineQuery) -> list[str]:
        """Settings of the session with all limits of the statement, the database, and the start of the transaction."""
        limit = work.limits.timeout_s
        settings = [
            f"max_statement_time = {limit:.3f}" if self._is_mariadb else f"max_execution_time = {int(limit * 1000)}",
            f"lock_wait_timeout = {max(1, int(limit))}",
            f"innodb_lock_wait_timeout = {max(1, int(limit))}",
            f"wait_timeout = {IDLE_S}",
            f"net_write_timeout = {max(1, int(limit))}",
            "time_zone = '+00:00'",
            f"div_precision_increment = {_DIVISION_DIGITS}",
            f"sql_mode = '{self._sql_mode}'",
        ]
        if work.now:
            moment = datetime.fromisoformat(work.now)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            settings.append(f"timestamp = {moment.timestamp():.6f}")
        start = [] if work.changes else ["START TRANSACTION READ ONLY"]
        use = [f"USE {quoted(work.schema, 'mysql')}"] if work.schema else []
        return [f"SET SESSION {', '.join(settings)}", *use, *start]

    def _reset(self) -> None:
        try:
            self._connection._execute_command(_RESET, b"")  # noqa: SLF001  # PyMySQL has no name for it
            self._connection._read_ok_packet()  # noqa: SLF001
        except pymysql.Error:
            # It does not know the command, or the connection broke: the next statement gets a new one.
            return
        self.keeps_database = True

    def _faults(self) -> tuple[str, ...]:
        """Why the role is not one that only reads, from its own grants and those of its roles."""
        faults: list[str] = []
        for grant in self._grants():
            granted, on, on_what = grant.removeprefix("GRANT ").partition(" ON ")
            if on:
                place = on_what.partition(" TO ")[0]
                own = bool(self._writes_to) and _database_of(place) == self._writes_to
                more = _privileges(granted) - _READS - (_WRITES if own else frozenset())
                faults += [f"it has {', '.join(sorted(more))} on {place[:80]}{_pattern(place)}"] if more else []
            if " WITH GRANT OPTION" in grant or " WITH ADMIN OPTION" in grant:
                faults.append("it may grant its rights to others")
        return tuple(dict.fromkeys(faults))

    def _grants(self) -> list[str]:
        """The grants of the role, and of all that it may become; of others a role may not be shown what they have."""
        own = [str(grant) for (grant,) in _rows(self._connection, "SHOW GRANTS")]
        given = [grant.removeprefix("GRANT ") for grant in own if " ON " not in grant and not grant.startswith("SET ")]
        roles = [grant.partition(" TO ")[0] for grant in given]
        if not roles:
            return own
        if not self._is_mariadb:
            shown = _rows(self._connection, f"SHOW GRANTS FOR CURRENT_USER() USING {', '.join(roles)}")
            return [*own, *(str(grant) for (grant,) in shown)]
        [[active]] = _rows(self._connection, "SELECT CURRENT_ROLE()")
        for role in roles:
            _rows(self._connection, f"SET ROLE {role}")
            own += [str(grant) for (grant,) in _rows(self._connection, "SHOW GRANTS")]
        _rows(self._connection, f"SET ROLE {quoted(str(active), 'mysql') if active else 'NONE'}")
        return own


def _check_version(version: str) -> None:
    """Refuse a server that has no limit of time for a statement.

    >>> _check_version("8.4.2")
    >>> _check_version("10.11.19-MariaDB")
    >>> _check_version("5.6.24")
    Traceback (most recent call last):
    RuntimeError: MySQL 5.6.24 cannot end a statement that takes too long; 5.7.8 or newer is needed
    """
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if number < (5, 7, 8):
        raise RuntimeError(f"MySQL {version[:40]} cannot end a statement that takes too long; 5.7.8 or newer is needed")


def _privileges(granted: str) -> set[str]:
    """The privileges of a grant, without the columns that they are limited to.

    >>> sorted(_privileges("SELECT (`a`, `b`), SHOW VIEW"))
    ['SELECT', 'SHOW VIEW']
    """
    names, depth = [""], 0
    for letter in granted:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            names.append("")
        elif not depth and letter != ")":
            names[-1] += letter
    return {name.strip().upper() for name in names if name.strip()}


def _database_of(place: str) -> str:
    r"""The only database of a grant, without the marks around it; "" where it is none or may be several.

    >>> [_database_of(place) for place in (r"`a\_b`.*", "`a_b`.*", "`a_b`.`t`", "*.*")]
    ['a_b', '', 'a_b', '']
    """
    match = _QUOTED.match(place)
    if match is None or _pattern(place):
        return ""
    name = match[1].replace("``", "`")
    return _ESCAPED.sub(r"\1", name) if place[match.end() :] == "*" else name


def _pattern(place: str) -> str:
    """What a message says of a grant on all databases whose names are like a pattern; "" for any other grant."""
    match = _QUOTED.match(place)
    if match is None or place[match.end() :] != "*" or not {"_", "%"} & set(_ESCAPED.sub("", match[1])):
        return ""
    return r", where _ and % stand for any characters; write \_ and \% in the GRANT"


def _rows(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _affected(connection: Any, statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        cursor.fetchall()
        return max(0, int(cursor.rowcount)) if cursor.description is None else 0


def _read(connection: Any, query: str, limits: SqlLimits) -> ResultTable:
    cursor = connection.cursor()
    cursor.execute(query)
    described = cursor.description or ()
    types = tuple(_TYPES.get(column[1], "") for column in described)
    convert = partial(_plain_row, [at for at, kind in enumerate(types) if kind == "BIT"])
    rows = fetch(cursor.fetchmany, limits, convert, first=FIRST_ROWS)
    cursor.close()
    return ResultTable(tuple(column[0] for column in described), rows, types)


def _plain_row(bits: Sequence[int], row: tuple[Any, ...]) -> tuple[Any, ...]:
    if not bits:
        return row
    cells = list(row)
    for at in bits:
        if isinstance(cells[at], bytes):
            cells[at] = int.from_bytes(cells[at])
    return tuple(cells)


def _time(data: str) -> time_of_day | str:
    """A time of the day; the text of a negative one or of more than a day, of which TIME has both.

    >>> _time("10:00:00.50"), _time("-01:00:00"), _time("36:00:00.500000")
    (datetime.time(10, 0, 0, 500000), '-01:00:00', '36:00:00.5')
    """
    if "." in data:
        data = data.rstrip("0").rstrip(".")
    return time_of_day.fromisoformat(data) if _TIME_OF_DAY.fullmatch(data) else data


_CONVERSIONS: Final[dict[Any, Callable[..., Any]]] = {
    **pymysql.converters.conversions,
    FIELD_TYPE.DECIMAL: Decimal,
    FIELD_TYPE.NEWDECIMAL: Decimal,
    FIELD_TYPE.TIME: _time,
}


def _number(error: Exception) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _raise_lost(error: pymysql.Error) -> None:
    if _number(error) in _GONE or isinstance(error, pymysql.err.InterfaceError):
        raise ConnectionLost from None


def _stop_of(error: pymysql.Error, *, late: bool) -> SqlStop:
    if _number(error) == _NO_ROUTINE:
        # To a role that runs no routines MariaDB says so of every name that it does not know.
        return SqlStop("error", f"{_short(error)}, or there is no such function")
    kind = _KINDS.get(_number(error), "error")
    message = "still running at the deadline" if kind == "timeout" and late else _short(error)
    return SqlStop(kind, f"denied: {message}" if kind == "denied" else message)


def _short(error: Exception) -> str:
    """The message of the server, or of the driver, on one line."""
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return " ".join(text.split())[:MOST_MESSAGE] or type(error).__name__


_TABLES: Final = """
SELECT table_name, engine FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type NOT IN ('VIEW', 'SYSTEM VIEW', 'SEQUENCE') ORDER BY 1
"""
"""By what is left out: a table with system versioning has a type of its own on MariaDB."""
_INCREMENTS: Final = """
SELECT table_name, auto_increment FROM information_schema.tables
WHERE table_schema = DATABASE() AND auto_increment IS NOT NULL ORDER BY 1
"""
_NO_RIGHT: Final = frozenset({1044, 1142})


def _set_back(connection: Any, increments: Numbers) -> None:
    """Set the next number of each table back, which a rollback does not.

    Raises:
        SqlStop: the role may not, so that later statements would get other numbers.
    """
    now: dict[Any, Any] = dict(_rows(connection, _INCREMENTS))
    for name, number in increments:
        if now.get(name) == number:
            continue
        try:
            _rows(connection, f"ALTER TABLE {quoted(name, 'mysql')} AUTO_INCREMENT = {int(number):d}")
        except pymysql.Error as error:
            if error.args[:1] and error.args[0] in _NO_RIGHT:
                why = f"the role may not set AUTO_INCREMENT of {name} back: grant ALTER on it"
                raise SqlStop("error", why) from None
            raise
