"""Stored bodies: JSON, deflated with a preset dictionary made of the first bodies of the same kind.

A single reply of fifty bytes does not compress; against a dictionary of its siblings it takes eight. The first bytes
of a stored body say how to read it:

    0x00              JSON as it is
    0x01              raw deflate
    0x02 to 0xFE      raw deflate against dictionary 1 to 253
    0xFF + 3 bytes    raw deflate against the dictionary of that number

The last two bytes are of the CRC-32 of the JSON: neither SQLite nor raw deflate would notice a flipped bit, and a
changed letter is a changed answer.
"""

# Why it is so, and what was rejected: docs/decisions/store-bytes.md

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from steelyard.errors import StoreError
from steelyard.plain_json import MOST_BYTES
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection

_PLAIN: Final = 0
_DEFLATED: Final = 1
_FAR: Final = 255
_CHECK_BYTES: Final = 2
_LEVEL: Final = 4
"""Measured on replies of 500 bytes: 6 takes 2.3 times the CPU and saves 4 % of the bytes."""
_WINDOW_BITS: Final = -13
"""8 KiB of window, no header. Measured: as small as 32 KiB on bodies below 2 kB, at a fifth of the CPU."""
_MEM_LEVEL: Final = 6
"""Measured on replies of 180 bytes: zlib's usual 8 saves no byte, and its larger state takes nearly twice the CPU."""
_DICTIONARY_BYTES: Final = 8192
"""The size of the window: deflate refers to nothing farther back, so a longer dictionary saves no byte."""
_TRAIN_ON: Final = 48
"""Bodies of one kind that are collected before a dictionary is made of the newest of them; fewer where they fill it."""
_SMALL: Final = 4096
"""Larger bodies are deflated without a dictionary: they repeat themselves, so it saves less (measured on English text:
28 % at 2 kB, 15 % at 8 kB, 9 % at 16 kB), and they can then be read without its row."""


class Packer:
    """Packs bodies for one writer; makes a dictionary per kind once it has seen enough of them.

    Args:
        save: called with (kind, data) when a dictionary is about to be used for the first time; stores it in the open
            transaction and returns its number.
    """

    def __init__(self, save: Callable[[str, bytes], int]) -> None:
        self._save = save
        self._seen: dict[str, list[bytes]] = {}
        self._ready: dict[str, tuple[bytes, Any]] = {}

    def pack(self, kind: str, data: bytes) -> bytes:
        """Compress `data` for storage."""
        return self._packed(kind, data) + _check(data)

    def _packed(self, kind: str, data: bytes) -> bytes:
        if len(data) > _SMALL:
            return bytes([_DEFLATED]) + zlib.compress(data, _LEVEL, _WINDOW_BITS)
        ready = self._ready.get(kind)
        if ready is None:
            ready = self._train(kind, data)
        if ready is None:
            deflated = zlib.compress(data, _LEVEL, _WINDOW_BITS)
            return bytes([_DEFLATED]) + deflated if len(deflated) < len(data) else bytes([_PLAIN]) + data
        head, prototype = ready
        # A copy of the compressor has read the dictionary already: 1.7 times as fast as a new one for each body.
        deflate = prototype.copy()
        packed: bytes = head + deflate.compress(data) + deflate.flush()
        return packed if len(packed) <= len(data) else bytes([_PLAIN]) + data

    def forget(self) -> None:
        """Drop every dictionary: the transaction that held the newest of them was rolled back.

        The collected bodies stay, so the next body of a kind makes a dictionary of them again.
        """
        self._ready.clear()

    def _train(self, kind: str, data: bytes) -> tuple[bytes, Any] | None:
        bodies = self._seen.setdefault(kind, [])
        bodies.append(data)
        if len(bodies) < _TRAIN_ON and sum(map(len, bodies)) < _DICTIONARY_BYTES:
            return None
        dictionary = b"".join(bodies)[-_DICTIONARY_BYTES:]
        del bodies[:-_TRAIN_ON]
        number = self._save(kind, dictionary)
        prototype = zlib.compressobj(
            _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY, dictionary
        )
        self._ready[kind] = (_head(number), prototype)
        return self._ready[kind]


class Unpacker:
    """Reads stored bodies; fetches each dictionary once.

    Args:
        load: the data of the dictionary of that number.
    """

    def __init__(self, load: Callable[[int], bytes]) -> None:
        self._load = load
        self._dictionaries: dict[int, bytes] = {}

    def forget(self) -> None:
        """Drop every dictionary: one of a transaction that was rolled back may get another's number."""
        self._dictionaries.clear()

    def unpack(self, stored: bytes | memoryview) -> bytes:
        """Decompress a stored body to its JSON.

        Raises:
            StoreError: the body is damaged.
        """
        if not isinstance(stored, bytes | memoryview):  # in a damaged SQLite file a column may hold any type
            raise StoreError(f"a stored body is damaged: it is {type(stored).__name__}, not bytes")
        stored = bytes(stored)
        if len(stored) <= _CHECK_BYTES:
            raise StoreError("a stored body is damaged: it is too short")
        try:
            data = self._unpacked(stored[:-_CHECK_BYTES])
        except zlib.error as error:
            raise StoreError(f"a stored body is damaged: {error}") from error
        if _check(data) != stored[-_CHECK_BYTES:]:
            raise StoreError("a stored body is damaged: its checksum is wrong")
        return data

    def _unpacked(self, stored: bytes) -> bytes:
        encoding = stored[0]
        if encoding == _PLAIN:
            return stored[1:]
        if encoding == _DEFLATED:
            return _inflate(zlib.decompressobj(_WINDOW_BITS), stored[1:])
        number, start = (encoding - _DEFLATED, 1) if encoding < _FAR else (int.from_bytes(stored[1:4], "big"), 4)
        if number not in self._dictionaries:
            self._dictionaries[number] = self._load(number)
        return _inflate(zlib.decompressobj(_WINDOW_BITS, self._dictionaries[number]), stored[start:])


def _head(number: int) -> bytes:
    return bytes([number + _DEFLATED]) if number + _DEFLATED < _FAR else bytes([_FAR]) + number.to_bytes(3, "big")


def _check(data: bytes) -> bytes:
    return (zlib.crc32(data) & 0xFFFF).to_bytes(_CHECK_BYTES, "big")


def _inflate(stream: Any, packed: bytes) -> bytes:
    data: bytes = stream.decompress(packed, MOST_BYTES)
    if not stream.eof:
        raise StoreError(f"a stored body is damaged: it ends too soon or unpacks to more than {MOST_BYTES >> 20} MiB")
    return data


def save_dictionary(connection: Connection, kind: str, data: bytes) -> int:
    """Store a dictionary in the open transaction; its number."""
    return connection.insert(schema.dictionary, {"kind": kind, "data": data})


def load_dictionary(connection: Connection, number: int) -> bytes:
    """The dictionary of that number.

    Raises:
        StoreError: it is not there: the store is damaged.
    """
    data = connection.execute("SELECT data FROM dictionary WHERE num = :number", {"number": number}).scalar()
    if data is None:
        raise StoreError(f"the store is damaged: dictionary {number} is missing")
    return bytes(data)
