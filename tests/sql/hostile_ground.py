"""Where hostile statements are let loose: a victim, a secret and a listener, and how to tell that nothing happened."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.sql.corpus_reader import read_corpus
from tests.thorough import times

from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.workers import processes

SCRIPT = """
CREATE TABLE emp(id INTEGER PRIMARY KEY, name TEXT, pay REAL, boss INTEGER);
INSERT INTO emp VALUES (1, 'Ada', 5, NULL), (2, 'Bob', 4, 1), (3, 'Cy', 3, 1), (4, 'Di', 2, 2), (5, 'Ed', 1, 2);
CREATE VIEW rich AS SELECT * FROM emp WHERE pay > 3;
CREATE INDEX by_name ON emp(name);
"""
RIGHT = [(5, "Ada", 15.0)]
CHECK = "SELECT count(*), (SELECT name FROM emp WHERE name LIKE 'ADA'), sum(pay) FROM emp"


class Ground:
    """A folder that is watched, and a sandbox.

    Args:
        folder: empty.
    """

    def __init__(self, folder):
        self.watched = folder / "watched"
        self.watched.mkdir()
        self.victim = self.watched / "victim.db"
        with contextlib.closing(sqlite3.connect(self.victim)) as made:
            made.executescript(SCRIPT)
        self.secret = self.watched / "secret.txt"
        self.secret.write_text("TOP-SECRET", encoding="utf-8")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.before = self.seen()
        self.sandbox = Sandbox(workers=4)
        self.scratch = Database(script=SCRIPT)
        self.file = Database(file=self.victim)

    def seen(self):
        return {path.name: path.read_bytes() for path in self.watched.iterdir()}

    def statements(self, family):
        port = self.listener.getsockname()[1]
        places = {"watched": self.watched, "victim": self.victim, "secret": self.secret, "port": port}
        return read_corpus(f"hostile_sqlite/{family}", **places)

    def let_loose(self, family, limits=SqlLimits(timeout_s=0.5), on=("scratch", "file")):
        """Run a family on the databases, each followed by a query that has to come out right: what did not."""
        jobs = [(where, *statement) for statement in self.statements(family) for where in map(vars(self).get, on)]
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda job: self._one(*job, limits), jobs))
        assert self.seen() == self.before
        with pytest.raises(BlockingIOError):
            self.listener.accept()
        return found

    def _one(self, where, create, query, limits):
        done = self.sandbox.run(where, query, create=create, limits=limits)
        after = self.sandbox.run(where, CHECK, limits=SqlLimits(memory_mib=limits.memory_mib))
        assert after.failure is None, (create, query, after)
        assert after.table.rows == RIGHT, (create, query)
        return create, query, done


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    made = Ground(tmp_path_factory.mktemp("ground"))
    # A loop that hears no interrupt burns all of the grace that it is given.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "GRACE_S", times(0.2, processes.GRACE_S))
        yield made
    made.sandbox.close()
    made.listener.close()


def kinds(found):
    """Of each statement: what became of it."""
    return {(create, query): done.failure.kind if done.failure else "table" for create, query, done in found}
