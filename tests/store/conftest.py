"""Stores for tests: a file, and a schema of its own on a real PostgreSQL server where one answers."""

from __future__ import annotations

import os
from secrets import token_hex

import pytest
from tests.servers import REQUIRED, SERVER, connected


@pytest.fixture
def server():
    """A plain connection beside the store's own; the test is skipped where no server answers."""
    found = connected()
    if isinstance(found, str):
        (pytest.fail if REQUIRED else pytest.skip)(f"no PostgreSQL at STEELYARD_TEST_POSTGRES: {found}")
    with found:
        yield found


@pytest.fixture
def schema(server):
    """The name of a schema that nobody else uses, dropped behind the test."""
    name = f"test_{os.getpid()}_{token_hex(4)}"
    yield name
    server.execute("SET lock_timeout = '20s'")
    for made in (name, f"{name}_before_upgrade"):
        server.execute(f'DROP SCHEMA IF EXISTS "{made}" CASCADE')


@pytest.fixture
def on_server(schema):
    """The address of a store on the server that is not there yet."""
    return f"{SERVER}{'&' if '?' in SERVER else '?'}schema={schema}"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """The address of a store that is not there yet, once for each database."""
    return tmp_path / "here" / "s.db" if request.param == "sqlite" else request.getfixturevalue("on_server")
