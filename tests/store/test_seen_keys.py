"""The filter of keys that were asked: it forgets none, takes few others for known, and grows with what is planned."""

import random

import pytest

from steelyard.store.journal import SeenKeys


def keys_of(n, seed):
    draw = random.Random(seed)
    return [draw.randbytes(10) for _ in range(n)]


@pytest.mark.parametrize("planned", [0, 100, 5000])
def test_no_key_is_forgotten_and_few_others_are_taken_for_known(planned):
    seen = SeenKeys()
    seen.expect(planned)
    keys = keys_of(20_000, 1)
    assert sum(seen.add(key) for key in keys) < 50
    assert all(seen.add(key) for key in keys)
    assert sum(seen.add(key) for key in keys_of(2000, 2)) < 10


def test_its_size_follows_what_is_planned():
    sizes = []
    for planned in (1, 2000, 100_000, 10**9):
        seen = SeenKeys()
        seen.expect(planned)
        sizes.append(sum(len(bits) for bits, _ in seen._filters))
    assert sizes == [8192, 8192, 524_288, 8 << 20]


def test_a_plan_that_fits_into_the_room_that_is_left_takes_no_memory():
    seen = SeenKeys()
    seen.expect(1000)
    seen.expect(900)
    assert len(seen._filters) == 1
