"""Databases on the real servers of the tests, each with a role that only reads; gone at the end."""

import os
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests import servers
from tests.thorough import times

from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.server_address import Server

MYSQL = os.environ.get("STEELYARD_TEST_MYSQL", "mysql://root@127.0.0.1:3306/")
PASSWORD = "pass-of-the-reader-5431"
LIMITS = SqlLimits(timeout_s=2.0, max_rows=20_000, memory_mib=128)
SHORT = replace(LIMITS, timeout_s=times(0.5, 2.0))
"""For statements that only a deadline ends, each of which takes all of it."""
_ROWS = """
INSERT INTO teams VALUES (1, 'Sales'), (2, 'Stores'), (3, 'Empty')|
INSERT INTO staff (id, name, pay, team_id, born, note) VALUES (1, 'Ann', 120.50, 1, '1980-05-01', 'x'),
    (2, 'Bo', 90.00, 1, '1991-01-31', NULL), (3, 'Cy', 120.50, 2, '2001-12-24', NULL), (4, 'Dé', 150.00, 2, NULL, 'y')|
CREATE VIEW paid AS SELECT name, pay FROM staff WHERE pay > 100
"""
_POSTGRES = f"""
CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad')|
CREATE TABLE teams (id int PRIMARY KEY, title text NOT NULL)|
CREATE TABLE staff (id int PRIMARY KEY, name varchar(40) NOT NULL, pay numeric(10, 2), team_id int REFERENCES teams,
    born date, note text, facts jsonb DEFAULT '{{"city": "Rome", "tags": ["a", "b"]}}', mood mood DEFAULT 'ok',
    code char(5) DEFAULT 'a', hired timestamptz DEFAULT '2024-01-01 10:00+02', raw bytea DEFAULT '\\x0102',
    flags bit(3) DEFAULT B'101', single real DEFAULT 1.1)|
COMMENT ON TABLE staff IS 'people who work here'|
COMMENT ON COLUMN staff.pay IS 'a month, in euros'|
CREATE SEQUENCE staff_numbers|
{_ROWS}
"""
_MYSQL = f"""
CREATE TABLE teams (id int PRIMARY KEY, title varchar(40) NOT NULL)|
CREATE TABLE staff (id int unsigned PRIMARY KEY, name varchar(40) NOT NULL,
    team_id int, born date, pay decimal(10, 2) COMMENT 'a month, in euros', note text,
    facts json, mood enum('sad', 'ok') DEFAULT 'ok', flags bit(3) DEFAULT b'101',
    raw varbinary(9) DEFAULT x'0102', small float DEFAULT 1.1, nothing date DEFAULT '0000-00-00',
    FULLTEXT (name), FOREIGN KEY (team_id) REFERENCES teams (id)) COMMENT 'people who work here'|
{_ROWS}|
UPDATE staff SET facts = '{{"city": "Rome"}}'
"""


@dataclass
class Ground:
    """A database of a server: `run(statement)` as its owner, and what a reader connects with."""

    database: Database
    run: Any
    admin: Any

    @property
    def url(self):
        return self.database.server.url

    def sandbox(self, **options):
        options = {"workers": 1, **options}
        return Sandbox(resolve=lambda text: text.replace("${READER}", PASSWORD), **options)


def _missing(why):
    if servers.REQUIRED:
        pytest.fail(why)
    pytest.skip(why)


def _statements(script):
    return [part.strip() for part in script.split("|") if part.strip()]


@contextmanager
def postgres():
    import psycopg

    admin = servers.connected()
    if isinstance(admin, str):
        _missing(f"no PostgreSQL answers: {admin}")
    # Closed whatever fails: a connection that is left reports itself in whichever test collects it.
    with admin:
        name = f"steelyard_{uuid.uuid4().hex[:12]}"
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        admin.execute(f"CREATE DATABASE {name}")
        info = admin.info
        try:
            with psycopg.connect(servers.SERVER, dbname=name, autocommit=True) as owner:
                for statement in [*_statements(_POSTGRES), "REVOKE CREATE ON SCHEMA public FROM PUBLIC"]:
                    owner.execute(statement)
                owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
                url = f"postgresql://{name}:${{READER}}@{info.host}:{info.port}/{name}"

                def run(text):
                    done = owner.execute(text)
                    return done.fetchall() if done.description else []

                yield Ground(Database("postgres", server=Server(url)), run, admin)
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            admin.execute(f"DROP ROLE IF EXISTS {name}")


@contextmanager
def mysql():
    import pymysql

    login = Server(MYSQL).login(str)
    try:
        admin = pymysql.connect(
            host=login.host, port=login.port, user=login.user, password=login.password, autocommit=True
        )
    except pymysql.Error as error:
        _missing(f"no MySQL or MariaDB answers: {error}")
    name = f"steelyard_{uuid.uuid4().hex[:12]}"

    def run(text):
        with admin.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    try:
        run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        run(f"USE {name}")
        run("SET SESSION sql_mode = ''")
        for statement in _statements(_MYSQL):
            run(statement)
        if "MariaDB" in admin.get_server_info():
            run("CREATE SEQUENCE numbers")
        run(f"CREATE USER '{name}'@'%' IDENTIFIED BY '{PASSWORD}'")
        run(f"GRANT SELECT, SHOW VIEW ON {name}.* TO '{name}'@'%'")
        url = f"mysql://{name}:${{READER}}@{login.host}:{login.port}/{name}"
        yield Ground(Database("mysql", server=Server(url)), run, admin)
    finally:
        run(f"DROP DATABASE IF EXISTS {name}")
        run(f"DROP USER IF EXISTS '{name}'@'%'")
        admin.close()


_TRIAL = """
CREATE TABLE {place}.boats (id {serial} PRIMARY KEY, name varchar(40) UNIQUE, length double precision)|
CREATE TABLE {place}.trips (boat int NOT NULL, days int, FOREIGN KEY (boat) REFERENCES {place}.boats (id))|
INSERT INTO {place}.boats (name, length) VALUES ('Wren', 7.5), ('Heron', 6)|
INSERT INTO {place}.trips VALUES (1, 3)
"""


def postgres_trial(ground):
    """A schema of a ground that a role of its own may change; the role is gone with the database."""
    role = ground.run("SELECT current_database()")[0][0]
    ground.run("CREATE SCHEMA IF NOT EXISTS trial")
    for statement in _statements(_TRIAL.format(place="trial", serial="serial")):
        ground.run(statement)
    for statement in (
        f"GRANT USAGE, CREATE ON SCHEMA trial TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA trial TO {role}",
        f"GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA trial TO {role}",
    ):
        ground.run(statement)
    return Database("postgres", server=Server(ground.url, "trial", writes=True), changes=True)


@contextmanager
def mysql_trial(ground):
    """A database beside a ground that the ground's role may change."""
    role = ground.run("SELECT DATABASE()")[0][0]
    place = f"{role}_trial"
    try:
        ground.run(f"CREATE DATABASE {place}")
        for statement in _statements(_TRIAL.format(place=place, serial="int AUTO_INCREMENT")):
            ground.run(statement)
        strict = place.replace("_", r"\_")
        ground.run(f"GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON `{strict}`.* TO '{role}'@'%'")
        yield Database("mysql", server=Server(ground.url, place, writes=True), changes=True)
    finally:
        ground.run(f"DROP DATABASE IF EXISTS {place}")
        ground.run(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{role}'@'%'")
