"""The filter of keys that were asked: it forgets none, and takes few others for known."""

import random

from steelyard.store.journal import SeenKeys


def keys_of(n, seed):
    draw = random.Random(seed)
    return [draw.randbytes(10) for _ in range(n)]


def test_no_key_is_forgotten_and_few_others_are_taken_for_known():
    seen = SeenKeys()
    keys = keys_of(20_000, 1)
    assert sum(seen.add(key) for key in keys) < 50
    assert all(seen.add(key) for key in keys)
    assert sum(seen.add(key) for key in keys_of(2000, 2)) < 10
