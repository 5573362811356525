"""What a statement on a database server costs in a warm worker, beside the same statement through the driver alone.

python -m benchmarks.sql_servers

The servers and databases are those of the tests. The shortest of the rounds is given, as other load on the machine only
adds to it; both sides end the statement's transaction, the worker also resets the session.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
import pymysql
from tests.sql import server_ground

ROUNDS = 400
STATEMENTS = {
    "4 rows": "SELECT id, name, pay, born FROM staff ORDER BY id",
    "a wrong column": "SELECT nothing FROM staff",
}


def shortest_ms(run: Callable[[], object], rounds: int) -> float:
    """The shortest of some rounds in milliseconds."""
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return 1000 * best


def by_driver(ground: server_ground.Ground) -> Callable[[str], object]:
    """The statement on a connection that stays open, as a program of one's own would send it."""
    login = ground.database.server.login(lambda text: text.replace("${READER}", server_ground.PASSWORD))
    names = {"host": login.host, "port": login.port, "user": login.user, "password": login.password}
    if login.engine == "postgres":
        postgres = psycopg.connect(**names, dbname=login.database)

        def run(statement: str) -> object:
            try:
                return postgres.execute(statement).fetchall()
            except psycopg.Error:
                return None
            finally:
                postgres.rollback()

        return run
    mysql = pymysql.connect(**names, database=login.database)

    def run_mysql(statement: str) -> object:
        try:
            with mysql.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()
        except pymysql.Error:
            return None
        finally:
            mysql.rollback()

    return run_mysql


def measure(rounds: int = ROUNDS) -> list[str]:
    """The lines of a table, measured now."""
    lines = ["| statement | driver ms | in a worker ms | more ms |", "|---|---|---|---|"]
    for title, opened in {"PostgreSQL": server_ground.postgres, "MariaDB": server_ground.mysql}.items():
        with opened() as ground, ground.sandbox() as sandbox:
            driver = by_driver(ground)
            for name, statement in STATEMENTS.items():
                sandbox.run(ground.database, statement)
                alone = shortest_ms(lambda: driver(statement), rounds)  # noqa: B023  # called at once
                inside = shortest_ms(lambda: sandbox.run(ground.database, statement), rounds)  # noqa: B023
                lines.append(f"| {title}, {name} | {alone:.2f} | {inside:.2f} | {inside - alone:.2f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(measure()))
