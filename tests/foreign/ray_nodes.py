"""Nodes of a Ray cluster on loopback, each of which can be killed as if its machine were switched off."""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

TOKEN = secrets.token_hex(32)
_PATIENCE = {
    "RAY_agent_register_timeout_ms": "180000",
    "RAY_worker_register_timeout_seconds": "180",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120",
}
"""On a busy machine Ray's own limits end processes that are only slow. A killed node is missed as soon as ever:
its connections are closed."""
_HASTE = {"RAY_health_check_period_ms": "1000", "RAY_prestart_worker_first_driver": "0"}
_AGENTS = ("runtime-env-agent", "dashboard-agent-grpc", "dashboard-agent-listen", "metrics-export")
"""A node whose agents choose their ports themselves waits 15 seconds for them, then ends."""
_PREPARES = "--runtime-env-agent-port"
_STARTS = 3
"""`ray start` gives a node 30 seconds, whatever it is told."""
UP_S = 180
_HEAD = "127.0.0.2"
"""Not 127.0.0.1, for which Ray takes the address of this machine in its network."""


def environment(**more):
    """Of whoever may speak to the cluster."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    kept["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # else a head loses one in 25 of the processes that it forks for clients
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    return {**kept, **_PATIENCE, **_HASTE, **own, **more}


def unused_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def listening():
    """(address, port, inode) of each socket of this machine that listens."""
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text("ascii").splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A":
                address, _, port = local.rpartition(":")
                words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
                yield ipaddress.ip_address(b"".join(words)), int(port, 16), inode


def is_open(port):
    return any(number == port for _, number, _ in listening())


def listens_at(pids):
    """Addresses at which processes listen."""
    links = [link for pid in pids for link in Path(f"/proc/{pid}/fd").glob("*")]
    sockets = set()
    for link in links:
        with contextlib.suppress(OSError):
            sockets.add(str(link.readlink()))
    addresses = [address for address, _, inode in listening() if f"socket:[{inode}]" in sockets]
    return {str(getattr(address, "ipv4_mapped", None) or address) for address in addresses}


def until_open(port, what):
    deadline = time.monotonic() + UP_S
    while not is_open(port):
        assert time.monotonic() < deadline, f"{what} does not listen"
        time.sleep(0.1)


def until_ended(pids):
    deadline = time.monotonic() + UP_S
    while left := {pid for pid, *_ in processes()} & set(pids):
        assert time.monotonic() < deadline, f"processes {left} still run"
        time.sleep(0.1)


class Cluster:
    """A head and further nodes, each known by the session that all of its processes belong to.

    Its files are in `folder`, whose path must be short, as Ray makes sockets of at most 107 bytes below it.
    """

    def __init__(self, programs, cpus, folder):
        self.programs = programs
        self.folder = folder
        self.cpus = cpus
        self.port, self.client_port = unused_port(), unused_port()
        self.nodes = []
        self.head = None
        self.hosts = itertools.count(2)

    @property
    def address(self):
        return f"ray://{_HEAD}:{self.client_port}"

    def have_head(self, **more):
        """Start one where none runs."""
        if self.head is None or not processes_of(self.head):
            self.head = self._start_head(**more)

    def _start_head(self, **more):
        client = f"--ray-client-server-port={self.client_port}"
        own = (f"--port={self.port}", client, f"--temp-dir={self.folder}")
        node = self._start("--head", *own, "--include-dashboard=false", "--no-monitor", **more)
        until_open(self.client_port, "the server for clients")  # `ray start` does not wait for it
        return node

    def start_node(self, **more):
        return self._start(f"--address={_HEAD}:{self.port}", **more)

    def _start(self, *arguments, **more):
        host = _HEAD if "--head" in arguments else f"127.0.0.{next(self.hosts) + 1}"
        shared = (f"--node-ip-address={host}", f"--num-cpus={self.cpus}", "--disable-usage-stats")
        small = ("--object-store-memory=83886080", "--include-log-monitor=false")
        for _ in range(_STARTS):
            ports = {f"--{name}-port": unused_port() for name in _AGENTS}
            command = [self.programs / "ray", "start", *arguments, *shared, *small]
            command += [f"{option}={port}" for option, port in ports.items()]
            # A file and not a pipe, which the node's processes would keep open.
            with tempfile.TemporaryFile() as output:
                with subprocess.Popen(
                    command, env=environment(**more), cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True,
                ) as process:  # fmt: skip
                    self.nodes.append(process.pid)
                    code = process.wait(UP_S)
                output.seek(0)
                text = output.read().decode()
            if code == 0:
                until_open(ports[_PREPARES], "the agent that prepares workers and servers of clients")
                return process.pid
            self.kill(process.pid)
        raise AssertionError(text)

    def kill(self, node):
        """Kill every process of a node at once."""
        pids = processes_of(node)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return pids

    def stop(self):
        for node in self.nodes:
            deadline = time.monotonic() + 20
            while self.kill(node) and time.monotonic() < deadline:
                time.sleep(0.1)


def processes():
    """(pid, parent, session) of every process that runs."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, _, session = path.read_text("ascii", "replace").rpartition(")")[2].split()[:4]
            if state != "Z":
                yield int(path.parent.name), int(parent), int(session)


def processes_of(session):
    return [pid for pid, _, own in processes() if own == session]


def descendants_of(pid):
    found, parents = [pid], {child: parent for child, parent, _ in processes()}
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def name_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode()


def private_mib(pid):
    """Memory that a process shares with no other."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
