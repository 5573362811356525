"""Bodies come back as they were, small, and a damaged one says so."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import StoreError
from steelyard.store import codec
from steelyard.store.codec import Packer, Unpacker


class Dictionaries:
    """Where a store keeps dictionaries: numbered from `first` on."""

    def __init__(self, first=1):
        self.kept = {}
        self.first = first

    def save(self, kind, data):
        number = self.first + len(self.kept)
        self.kept[number] = data
        return number

    def load(self, number):
        return self.kept[number]


def round_trip(bodies, first=1):
    dictionaries = Dictionaries(first)
    packer = Packer(dictionaries.save)
    stored = [packer.pack("reply", body) for body in bodies]
    unpacker = Unpacker(dictionaries.load)
    assert [unpacker.unpack(stored_body) for stored_body in stored] == list(bodies)
    return stored, dictionaries


def body(n):
    return json.dumps([f"The answer to question {n} is B, since ...", "stop", [20 + n, 7, 0], 0.123, 0, {}]).encode()


@given(st.lists(st.binary(max_size=200), max_size=120))
def test_any_bytes_come_back(bodies):
    round_trip(bodies)


@pytest.mark.parametrize("first", [1, 252, 253, 254, 255, 70_000])
def test_a_dictionary_of_any_number_is_found_again(first):
    stored, dictionaries = round_trip([body(n) for n in range(300)], first)
    assert list(dictionaries.kept) == [first]
    assert len(stored[-1]) < len(body(299)) / 3


def test_large_and_incompressible_bodies_come_back():
    noise = bytes(range(256)) * 13
    random = zlib.compress(noise * 40) * 3
    stored, _ = round_trip([b"x" * 1_000_000, random, b"", noise[:4096], noise[:4097], "易".encode() * 400_000])
    assert len(stored[0]) < 2000


def test_each_kind_has_a_dictionary_of_its_own():
    dictionaries = Dictionaries()
    packer = Packer(dictionaries.save)
    for n in range(60):
        for kind in ("reply", "sample"):
            packer.pack(kind, body(n))
    assert len(dictionaries.kept) == 2


def test_a_dictionary_that_was_rolled_back_is_not_used_again():
    dictionaries = Dictionaries()
    packer, unpacker = Packer(dictionaries.save), Unpacker(dictionaries.load)
    for n in range(60):
        packer.pack("reply", body(n))
    packer.forget()
    dictionaries.kept.clear()
    assert unpacker.unpack(packer.pack("reply", body(61))) == body(61)


def test_no_flipped_bit_changes_a_body_unnoticed():
    stored, dictionaries = round_trip([body(n) for n in range(60)])
    noticed = total = 0
    for packed, whole in ((stored[0], body(0)), (stored[-1], body(59)), (round_trip([b"y" * 5000])[0][0], b"y" * 5000)):
        for at in range(8 * len(packed)):
            damaged = bytearray(packed)
            damaged[at // 8] ^= 1 << (at % 8)
            total += 1
            try:
                assert Unpacker(dictionaries.load).unpack(bytes(damaged)) == whole  # padding after the last block
            except (StoreError, KeyError):  # KeyError: these dictionaries know no such number
                noticed += 1
    assert noticed > 0.9 * total


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 10, -1])
def test_a_body_that_ends_too_soon_is_noticed(cut):
    stored, dictionaries = round_trip([body(n) for n in range(60)])
    with pytest.raises(StoreError, match="a stored body is damaged"):
        Unpacker(dictionaries.load).unpack(stored[-1][:cut])


def test_a_body_that_would_unpack_to_more_than_the_limit_is_refused(monkeypatch):
    """A limit of 2 MiB: the real one would take as much memory of the process that runs the tests."""
    assert codec.MOST_BYTES == 256 << 20
    monkeypatch.setattr(codec, "MOST_BYTES", 2 << 20)
    whole, beyond = bytes(2 << 20), bytes((2 << 20) + 1)
    stored, _ = round_trip([whole])
    assert len(stored[0]) < 10_000
    packed = b"\x01" + zlib.compress(beyond, 1, -13) + zlib.crc32(beyond).to_bytes(4, "big")[-2:]
    with pytest.raises(StoreError, match="more than 2 MiB"):
        Unpacker({}.__getitem__).unpack(packed)
