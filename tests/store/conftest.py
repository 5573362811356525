"""Stores for tests: a file, and a schema of its own on a real PostgreSQL server where one answers."""

from __future__ import annotations

import contextlib
import os
from secrets import token_hex

import pytest
from tests.servers import REQUIRED, SERVER, connected


@contextlib.contextmanager
def connection_to_server():
    """A plain connection to the server; the test is skipped where none answers."""
    found = connected()
    if isinstance(found, str):
        (pytest.fail if REQUIRED else pytest.skip)(f"no PostgreSQL at STEELYARD_TEST_POSTGRES: {found}")
    with found:
        yield found


@contextlib.contextmanager
def schema_of(connection):
    """The name of a schema that nobody else uses, dropped at the end."""
    name = f"test_{os.getpid()}_{token_hex(4)}"
    yield name
    connection.execute("SET lock_timeout = '20s'")
    for made in (name, f"{name}_before_upgrade"):
        connection.execute(f'DROP SCHEMA IF EXISTS "{made}" CASCADE')


def address_of(schema):
    return f"{SERVER}{'&' if '?' in SERVER else '?'}schema={schema}"


@pytest.fixture
def server():
    """A plain connection beside the store's own; the test is skipped where no server answers."""
    with connection_to_server() as connection:
        yield connection


@pytest.fixture
def schema(server):
    """The name of a schema that nobody else uses, dropped behind the test."""
    with schema_of(server) as name:
        yield name


@pytest.fixture
def on_server(schema):
    """The address of a store on the server that is not there yet."""
    return address_of(schema)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """The address of a store that is not there yet, once for each database."""
    return tmp_path / "here" / "s.db" if request.param == "sqlite" else request.getfixturevalue("on_server")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared(request, tmp_path_factory):
    """The same for the tests of a file that only read: one store for all of them, as a schema takes 0.2 s to make."""
    folder = tmp_path_factory.mktemp("shared")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(folder))
        if request.param == "sqlite":
            address = folder / "s.db"
        else:
            address = address_of(stack.enter_context(schema_of(stack.enter_context(connection_to_server()))))
        yield address
