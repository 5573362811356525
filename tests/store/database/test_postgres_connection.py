"""Connections that are kept for the next reading: no more than two, none that is broken, and none held for ever."""

from __future__ import annotations

import contextlib

import psycopg
import pytest
from tests.servers import SERVER

from steelyard.store.database import postgres_connection
from steelyard.store.database.address import locate
from steelyard.store.database.connection import DatabaseError
from steelyard.store.database.postgres_connection import ConnectionPool


@pytest.fixture
def pool(server):  # the test is skipped where there is none
    with contextlib.closing(ConnectionPool(locate(SERVER).url.libpq(), lambda _: None)) as pool:
        yield pool


def numbers(*drivers):
    """The server's number of each connection."""
    return [driver.info.backend_pid for driver in drivers]


def test_a_connection_that_was_given_back_is_taken_again(pool):
    first = pool.take()
    first.execute("SELECT 1")  # in a transaction, which does not go to the next
    pool.give_back(first)
    again = pool.take()
    assert again is first
    assert again.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    pool.give_back(again)


def test_two_connections_are_kept_and_further_ones_closed(pool):
    taken = [pool.take() for _ in range(4)]
    for driver in taken:
        pool.give_back(driver)
    assert [driver.closed for driver in taken] == [False, False, True, True]
    pool.close()
    assert all(driver.closed for driver in taken)


@pytest.mark.parametrize("trusted_s", [10.0, 0.0])
def test_a_connection_that_the_server_has_ended_is_not_taken(pool, server, monkeypatch, trusted_s):
    monkeypatch.setattr(postgres_connection, "_TRUSTED_S", trusted_s)
    pool.give_back(driver := pool.take())
    assert pool.take() is driver
    pool.give_back(driver)
    (gone,) = numbers(driver)
    server.execute("SELECT pg_terminate_backend(%s, 5000)", [gone])
    fresh = pool.take()
    assert fresh.execute("SELECT 1").fetchone() == (1,)
    assert numbers(fresh) != [gone]
    pool.give_back(fresh)


def test_a_connection_that_broke_while_it_was_used_is_not_kept(pool, server):
    driver = pool.take()
    server.execute("SELECT pg_terminate_backend(%s, 5000)", numbers(driver))
    with pytest.raises(psycopg.Error):
        driver.execute("SELECT 1")
    pool.give_back(driver)
    assert driver.closed
    fresh = pool.take()
    assert fresh.execute("SELECT 1").fetchone() == (1,)
    pool.give_back(fresh)


def test_readers_beyond_the_most_wait_and_are_told(pool, monkeypatch):
    monkeypatch.setattr(postgres_connection, "_WAIT_S", 0.05)
    taken = [pool.take() for _ in range(postgres_connection._MOST_OPEN)]
    with pytest.raises(DatabaseError, match="22 connections were in use for 0 s"):
        pool.take()
    pool.give_back(taken.pop())
    taken.append(pool.take())
    for driver in taken:
        pool.give_back(driver)


def test_a_server_that_refuses_costs_no_place(server):  # likewise
    nobody = ConnectionPool({**locate(SERVER).url.libpq(), "dbname": "no_such_database"}, lambda _: None)
    for _ in range(postgres_connection._MOST_OPEN + 1):
        with pytest.raises(DatabaseError, match="no_such_database"):
            nobody.take()
