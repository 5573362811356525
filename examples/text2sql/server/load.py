"""Makes the bakery's database on a PostgreSQL server, and a role that may only read it.

    READER_PASSWORD=... python load.py postgresql://postgres@127.0.0.1:5432/postgres

The address is that of a role which may make databases and roles. A database `steelyard_bakery` and a role
`steelyard_reader` are made anew, so that the example is the same each time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psycopg
from psycopg import sql

DATABASE = "steelyard_bakery"
READER = "steelyard_reader"


def load(address: str, password: str) -> None:
    """Make database, rows and role; the former ones are dropped."""
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"DROP ROLE IF EXISTS {READER}")
        admin.execute(f"CREATE DATABASE {DATABASE}")
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(READER), sql.Literal(password)))
    with psycopg.connect(address, dbname=DATABASE) as owner:
        owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        owner.execute(Path(__file__).with_name("bakery.sql").read_bytes())
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.environ.get("READER_PASSWORD"):
        sys.exit("usage: READER_PASSWORD=... python load.py postgresql://USER@HOST:5432/postgres")
    load(sys.argv[1], os.environ["READER_PASSWORD"])
    print(f"{DATABASE} is loaded; {READER} may read it. Next: steelyard run server.yaml")
