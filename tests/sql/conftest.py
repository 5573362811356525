"""One sandbox for all files that only run statements: each one more starts its processes anew."""

import pytest

from steelyard.sql.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox():
    with Sandbox(workers=2) as opened:
        yield opened
