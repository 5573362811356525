"""How often a test repeats what it draws: seldom in `make test`, as often as it may be in `make test-thorough`."""

import os

THOROUGH = os.environ.get("STEELYARD_TEST_THOROUGH") == "1"


def times(few, many):
    """`few` repetitions, or `many` where the tests are thorough."""
    return many if THOROUGH else few
