"""The protocol between the sandbox and a worker: frames of JSON and raw bytes.

A worker may have been taken over by the statement that it ran, so whatever comes from it is checked: the size of a
frame before it is read, its shape before it is used. JSON cannot carry code; pickle and marshal could.

A result is sent as a frame of columns, frames of rows, and an end. JSON holds None, bool, int, float (NaN and infinity
by Python's extension) and text (lone surrogates as escapes); all else is `{tag: text}`. A cell longer than `INLINE`
follows its rows in a frame of its own, so that a frame of JSON stays small however large the cells are.

`COMMAND` and `BOOT` are what a caller and its template process send each other.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from itertools import chain
from typing import Any, Final
from uuid import UUID

HEAD: Final = struct.Struct("!cI")
INLINE: Final = 1024
"""Bytes of a cell that travels inside its row."""

FRAME_BYTES: Final = 16 * 2**20
"""The longest frame of JSON: 2,000 columns of INLINE bytes that JSON escapes sixfold are 12 MiB."""

CHUNK_ROWS: Final = 2000
_CHUNK_CELLS: Final = 20_000
_PLAIN: Final = frozenset({type(None), bool, int, float, str})
_MARKS: Final = (b"[", b"{", b",")
_MOST_MARKS: Final = 100_000
"""Marks of JSON that a frame may hold in addition to those of its cells: of rows, and around them."""
_JSON_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_READ: Final = 2**18
_MOST_READ: Final = 2**20


class WireError(Exception):
    """Raised where the other process is gone or sent an invalid frame."""


class DeadlineError(Exception):
    """No complete frame arrived before the deadline."""


def send(sock: socket.socket, kind: bytes, body: bytes) -> None:
    """Send one frame."""
    sock.sendall(HEAD.pack(kind, len(body)) + body)


class FrameReader:
    """Frames from a socket, each of a size that the caller allows.

    Args:
        sock: read by this object alone.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()

    def frame(self, most: int, deadline: float | None = None) -> tuple[bytes, bytes]:
        """The next frame: its kind and its body.

        Args:
            most: bytes of a body that are accepted.
            deadline: of `time.monotonic()`; None waits for ever.

        Raises:
            DeadlineError: the deadline passed.
            WireError: the other side closed, or announced a longer frame.
        """
        kind, size = HEAD.unpack(self._take(HEAD.size, deadline))
        if size > most:
            raise WireError(f"a frame of {size} bytes where {most} are the most")
        return kind, self._take(size, deadline)

    def _take(self, size: int, deadline: float | None) -> bytes:
        while len(self._buffer) < size:
            if deadline is not None:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise DeadlineError
                self._sock.settimeout(remaining)
            try:
                chunk = self._sock.recv(min(_MOST_READ, max(_READ, size - len(self._buffer))))
            except TimeoutError:
                raise DeadlineError from None
            except ConnectionError:
                raise WireError("closed") from None
            except OSError as error:
                raise WireError(str(error)) from None
            if not chunk:
                raise WireError("closed")
            self._buffer += chunk
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return body


def dump(value: Any) -> bytes:
    """Encode JSON as bytes; lone surrogates become escapes."""
    return json.dumps(value, separators=(",", ":")).encode()


def load(body: bytes) -> Any:
    """Decode JSON sent by the other process.

    Raises:
        WireError: it is not JSON, or nested too deeply, or holds a number of thousands of digits.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WireError(f"no JSON: {error}") from None


def frames(rows: Sequence[tuple[Any, ...]], width: int) -> Iterator[tuple[bytes, bytes]]:
    """Encode rows as frames: `R` with JSON, followed by `B` frames with its long cells in order.

    Args:
        rows: of an engine.
        width: cells of a row; at least 1 is assumed.
    """
    step = max(1, min(CHUNK_ROWS, _CHUNK_CELLS // max(1, width)))
    for start in range(0, len(rows), step):
        chunk = rows[start : start + step]
        cells = list(chain.from_iterable(chunk))
        if set(map(type, cells)) <= _PLAIN and not any(len(cell) > INLINE for cell in cells if type(cell) is str):
            body = dump(chunk)
            if len(body) <= FRAME_BYTES:
                yield b"R", body
                continue
        for row in chunk:
            yield from _careful(row)


def _careful(row: tuple[Any, ...]) -> Iterator[tuple[bytes, bytes]]:
    """One row that holds what JSON does not, or long cells."""
    long: list[bytes] = []
    body = dump([[_pack(cell, long) for cell in row]])
    yield b"R", body
    for cell in long:
        yield b"B", cell


def _pack(cell: Any, long: list[bytes]) -> Any:
    if type(cell) is str:
        if len(cell) <= INLINE:
            return cell
        long.append(cell.encode("utf-8", "surrogatepass"))
        return {"S": len(long[-1])}
    if isinstance(cell, (bytes, bytearray, memoryview)):
        raw = bytes(cell)
        if len(raw) <= INLINE:
            return {"b": raw.hex()}
        long.append(raw)
        return {"B": len(raw)}
    packed = tag(cell)
    if type(packed) is dict:
        body = dump(packed)
        if len(body) > INLINE:
            long.append(body)
            return {"J": len(body)}
    return packed


def tag(value: Any) -> Any:
    """Encode a cell for JSON: a plain value, or `{tag: ...}`.

    Raises:
        TypeError: a type that no engine of ours returns.

    >>> tag([1, Decimal("2.50")])
    {'l': [1, {'d': '2.50'}]}
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, (list, tuple)):
        return {"l": [tag(part) for part in value]}
    if isinstance(value, dict):
        return {"m": [[tag(key), tag(part)] for key, part in value.items()]}
    if isinstance(value, timedelta):
        return {"i": [value.days, value.seconds, value.microseconds]}
    for kind, (mark, write) in _WRITERS.items():
        if isinstance(value, kind):
            return {mark: write(value)}
    raise TypeError(f"a cell of type {type(value).__name__}")


# datetime comes before date, of which it is a subclass.
_WRITERS: Final[dict[type, tuple[str, Callable[[Any], str]]]] = {
    bytes: ("b", bytes.hex),
    bytearray: ("b", bytearray.hex),
    Decimal: ("d", str),
    datetime: ("n", datetime.isoformat),
    date: ("a", date.isoformat),
    clock_time: ("t", clock_time.isoformat),
    UUID: ("u", str),
    bool: ("o", str),
    int: ("g", str),
    float: ("f", repr),
    str: ("s", str),
}
"""Also kinds of the plain types (an enumeration, a subclass of str), which become their base on the other side."""

_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "b": bytes.fromhex,
    "d": Decimal,
    "n": datetime.fromisoformat,
    "a": date.fromisoformat,
    "t": clock_time.fromisoformat,
    "u": UUID,
    "i": lambda parts: timedelta(days=parts[0], seconds=parts[1], microseconds=parts[2]),
    "o": lambda text: text == "True",
    "g": int,
    "f": float,
    "s": str,
    "l": lambda values: [untag(value) for value in values],
    "m": lambda pairs: {_key(untag(key)): untag(value) for key, value in pairs},
}


def untag(value: Any) -> Any:
    """Decode a cell that `tag` encoded.

    Raises:
        ValueError, TypeError, ArithmeticError, LookupError: it is not an encoded cell.

    >>> untag({"l": [1, {"d": "2.50"}]})
    [1, Decimal('2.50')]
    """
    if type(value) in _PLAIN:
        return value
    ((mark, encoded),) = value.items()
    return _READERS[mark](encoded)


def _key(value: Any) -> Any:
    """A key of a map: lists and maps, which cannot be keys, by their text."""
    return repr(value) if isinstance(value, (list, dict)) else value


def unpack(body: bytes, width: int, long: Callable[[int], bytes], most: int = 2**31) -> list[tuple[Any, ...]]:
    """Decode the rows of an `R` frame.

    Args:
        body: of the frame.
        width: how many cells each row must have.
        long: reads the next `B` frame, which must hold so many bytes.
        most: cells that may still come, parts of lists counted.

    Raises:
        WireError: these are not rows of such a width, or no cells, or more than `most`.
    """
    _expect_few(body, most)
    rows = load(body)
    if type(rows) is not list or not set(map(type, rows)) <= {list} or not set(map(len, rows)) <= {width}:
        raise WireError("rows of another shape")
    types = set(map(type, chain.from_iterable(rows)))
    if types <= _PLAIN:
        return list(map(tuple, rows))
    try:
        return [tuple(_unpack(cell, long, most) for cell in row) for row in rows]
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise WireError(f"no cell: {error}") from None


def _expect_few(body: bytes, most: int) -> None:
    """Refuse JSON of more values than so many cells can have, before Python makes objects of them.

    A part of a list that JSON cannot say is a list and a map itself, with commas between: up to eight marks.
    """
    if len(body) > 8 * most and sum(map(body.count, _MARKS)) > 8 * most + _MOST_MARKS:
        # Texts may hold any number of them.
        bare = _JSON_TEXT.sub(b"", body)
        if sum(map(bare.count, _MARKS)) > 8 * most + _MOST_MARKS:
            raise WireError("more cells than the limit")


def _unpack(cell: Any, long: Callable[[int], bytes], most: int) -> Any:
    if type(cell) is dict and len(cell) == 1:
        ((mark, size),) = cell.items()
        if mark == "S":
            return long(size).decode("utf-8", "surrogatepass")
        if mark == "B":
            return long(size)
        if mark == "J":
            packed = long(size)
            _expect_few(packed, most)
            return untag(json.loads(packed))
    return untag(cell)


COMMAND: Final = struct.Struct("!cq")
"""F 0 with the worker's socket: fork, answers the process id or 0. K pid: kill. W pid: kill, answer how it ended."""

BOOT: Final = (
    "import sys;sys.path[:0]=sys.argv[4:];"
    "from steelyard.sql.workers.worker import main;"
    "main(int(sys.argv[1]),*sys.argv[2:4])"
)
