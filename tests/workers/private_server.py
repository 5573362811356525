"""A PostgreSQL server of a test's own, in a temporary folder, that may be stopped and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from tests.servers import REQUIRED

ACCOUNT = "postgres"
"""The server refuses to run as root, so root starts it as this account."""


@dataclass(frozen=True)
class PrivateServer:
    """A server in a folder.

    Args:
        programs: where `initdb` and `pg_ctl` are.
        folder: of its data.
        port: on loopback.
    """

    programs: Path
    folder: Path
    port: int

    @property
    def address(self):
        return f"postgresql://{ACCOUNT}@127.0.0.1:{self.port}/postgres?schema=scale"

    def control(self, *arguments):
        self._call("pg_ctl", "-D", self.folder / "data", "-w", "-t", "60", "-l", self.folder / "log", *arguments)

    def create(self):
        self._call("initdb", "-D", self.folder / "data", "-A", "trust", "-U", ACCOUNT, "--no-sync")
        self.start()

    def start(self):
        self.control("-o", f"-p {self.port} -h 127.0.0.1 -k {self.folder}", "start")

    def restart(self, mode):
        """Stop the server and start it again: `fast` rolls back what is open, `immediate` is a crash with recovery."""
        self.control("-m", mode, "restart")

    @contextlib.contextmanager
    def stopped(self, mode):
        """Stop the server, and start it again in the end."""
        self.control("-m", mode, "stop")
        try:
            yield
        finally:
            self.start()

    def flush_late(self):
        """Let a crash lose whatever does not wait for the disk."""
        with psycopg.connect(self.address.partition("?")[0], autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            connection.execute("SELECT pg_reload_conf()")

    def _call(self, program, *arguments):
        as_account = ["runuser", "-u", ACCOUNT, "--"] if os.geteuid() == 0 else []
        command = [*as_account, str(self.programs / program), *(str(part) for part in arguments)]
        done = subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stderr.decode()


def programs():
    """The folder with `initdb`; None where there is none."""
    program = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(program).parent if program else installed[-1].parent if installed else None


@pytest.fixture
def private_server():
    """A server that nobody else uses; the test is skipped where PostgreSQL's programs are not found."""
    folder = programs()
    if folder is None:
        (pytest.fail if REQUIRED else pytest.skip)("initdb is not found: install PostgreSQL to restart a server")
    with contextlib.ExitStack() as stack:
        # Not pytest's own folder: another account must be able to reach it.
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steelyard-server-")))
        if os.geteuid() == 0:
            shutil.chown(home, ACCOUNT)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        server = PrivateServer(folder, home, port)
        server.create()
        stack.callback(server.control, "-m", "immediate", "stop")
        yield server
