"""Stores for tests: a file, and a schema of its own on a real PostgreSQL server where one answers."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from secrets import token_hex

import pytest
from tests.servers import REQUIRED, SERVER, connected


@contextlib.contextmanager
def connection_to_server():
    """A plain connection to the server; the test is skipped where none answers."""
    connection = connected()
    if isinstance(connection, str):
        (pytest.fail if REQUIRED else pytest.skip)(f"no PostgreSQL at STEELYARD_TEST_POSTGRES: {connection}")
    with connection:
        yield connection


@contextlib.contextmanager
def schema_of(connection):
    """The name of a schema that nobody else uses, dropped at the end."""
    name = f"test_{os.getpid()}_{token_hex(4)}"
    yield name
    connection.execute("SET lock_timeout = '20s'")
    connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


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


@pytest.fixture
def on_file(tmp_path):
    """The same of a file, for what does not depend on the database."""
    return tmp_path / "here" / "s.db"


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


@pytest.fixture(scope="module")
def _filled(tmp_path_factory):
    """Filled stores of a module by what filled them and the database, and where more of them are made."""
    with contextlib.ExitStack() as stack:
        yield {}, stack


@pytest.fixture
def filled(_filled, where, request, tmp_path_factory):
    """filled(fill, ...): the store at `where`, with what `fill(address, ...)` stored, once a module and database.

    The others get a copy, which takes a tenth of the CPU of a run of twenty samples.
    """
    stores, stack = _filled
    on_file = isinstance(where, Path)

    def copied(fill, *arguments):
        key = fill.__module__, fill.__qualname__, arguments, on_file
        if key not in stores:
            if on_file:
                original = tmp_path_factory.mktemp("filled") / "s.db"
            else:
                original = stack.enter_context(schema_of(stack.enter_context(connection_to_server())))
            fill(original if on_file else address_of(original), *arguments)
            stores[key] = original
        if on_file:
            where.parent.mkdir(exist_ok=True)
            assert not stores[key].with_name("s.db-wal").exists(), "the store was not closed"
            shutil.copyfile(stores[key], where)
        else:
            connection = request.getfixturevalue("server")
            connection.execute(_copy_of_schema(connection, stores[key], request.getfixturevalue("schema")))
        return where

    return copied


_SERIALS = """SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = %s AND column_default LIKE 'nextval%%'"""


def _copy_of_schema(connection, original, target):
    """The statements that make a schema what another one is, in one text: each by itself takes a way to the server."""
    statements = [f'CREATE SCHEMA "{target}"']
    for (table,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [original]):
        statements.append(f'CREATE TABLE "{target}"."{table}" (LIKE "{original}"."{table}" INCLUDING ALL)')
        statements.append(f'INSERT INTO "{target}"."{table}" SELECT * FROM "{original}"."{table}"')
    for table, column in connection.execute(_SERIALS, [original]):
        sequence, place = f'"{target}"."{table}_{column}_seq"', f'"{target}"."{table}"'
        statements.append(f'CREATE SEQUENCE {sequence} OWNED BY {place}."{column}"')
        statements.append(f"ALTER TABLE {place} ALTER COLUMN \"{column}\" SET DEFAULT nextval('{sequence}')")
        last = f'SELECT last_value, is_called FROM "{original}"."{table}_{column}_seq"'
        statements.append(f"SELECT setval('{sequence}', last_value, is_called) FROM ({last}) AS last")
    return "; ".join(statements)
