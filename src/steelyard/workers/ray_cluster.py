"""Workers as actors of Ray, on a cluster that is started here for the run or on one that is there.

Ray places the actors and says when one has died; everything else is as with processes: leases, limits and results are
in the store. No key reaches Ray: an actor gets the suite with references, and resolves them in its own environment.
"""

# Why it is so, and what was rejected: docs/decisions/workers-leases.md

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import ipaddress
import secrets
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qsl, urlsplit

from steelyard.errors import ConfigError, ScorerError, expect_number, install_command
from steelyard.evaluation.objects import Suite
from steelyard.evaluation.rescore import ScoredRecords, ScoringTask
from steelyard.evaluation.running import BegunEvaluation, RunHandle
from steelyard.session.secrets import environment_set
from steelyard.store.database.address import Address, has_password, locate
from steelyard.workers.local_process import StartedWorker, search_path
from steelyard.workers.processes import Leader
from steelyard.workers.ray_actor import RayWorker, score_range
from steelyard.workers.scoring import packed_task, scored_of
from steelyard.workers.task import NAME_ONE, WorkerTask, check_shared, packed, versions

_PORT: Final = 10001
_CONNECT_S: Final = 5.0
_KILLED_S: Final = 10.0
"""How long a killed actor may take to be known as dead; the head may be away."""
_STARTS: Final = 3
"""On a busy machine Ray ends a cluster that it starts when one of its processes has chosen no port after 15 seconds."""
_OBJECT_STORE: Final = 80 * 2**20
"""Bytes of Ray's object store on a cluster of our own: its least, as nothing is kept there."""
_LOOPBACK_ALONE: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Whatever the system, Ray then takes 127.0.0.1 for this machine's address and listens there alone; an address given as
127.0.0.1 it replaces by the one in the network, and listens on all."""
_PLACED: Final = {"num_cpus": 1, "scheduling_strategy": "SPREAD"}
_RETRIES: Final = 2
"""How often a range is scored again whose process or node has died."""
_ALWAYS: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_AUTO_CONNECT": "0"}
"""The second keeps Ray from starting a cluster here when the connection to the one in use is lost."""
_NOT_COPIED: Final = (".env", ".env.*", ".git", ".venv*", ".steelyard", "__pycache__")
"""What is left out of a copied folder: above all keys, which never leave the machine."""


@dataclass(frozen=True, slots=True)
class RayWorkers:
    """Runs the samples of an evaluation in actors of Ray; the store must be PostgreSQL. Needs the extra `ray`.

    Args:
        address: `ray` starts a cluster on this machine and stops it at the end; `ray://HOST:10001` is one that runs.
        n: how many workers, each with one CPU of the cluster; None for as many as it has CPUs.
        working_dir: a folder that is copied to every worker, with modules and files of the suite; keys (`.env`) and
            what `.gitignore` names are left out. None where the workers have them.
    """

    address: str = "ray"
    n: int | None = None
    working_dir: str | Path | None = None

    @classmethod
    def parse(cls, text: str, working_dir: str | Path | None = None) -> Self:
        """Read `ray`, `ray://HOST:PORT`, or one of them with `?workers=N`.

        >>> RayWorkers.parse("ray://head:10001?workers=8").n
        8

        Raises:
            ConfigError: it is none of these.
        """
        address, _, query = text.partition("?")
        n: int | None = None
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name != "workers" or not value.isdecimal():
                raise ConfigError(f"workers {text!r}: expected ray://HOST:{_PORT}?workers=8, but got {name}={value}")
            n = int(value)
        if address != "ray" and not address.startswith("ray://"):
            raise ConfigError(f"expected workers as a number, ray or ray://HOST:{_PORT}, but got {text!r}")
        return cls(address, n, working_dir)

    @property
    def is_local(self) -> bool:
        """Whether the cluster is started for the run, on this machine."""
        return self.address == "ray"

    def check(self, suite: Suite, where: str | Path | None) -> None:
        """Refuse what workers on a cluster cannot run, before anything is stored.

        Raises:
            ConfigError: what is missing, and what to do.
        """
        check_shared(suite, where, 1)
        self._check_cluster(where)

    def _check_cluster(self, where: str | Path | None) -> None:
        if self.n is not None:
            expect_number("workers", self.n, 1, whole=True)
        if not isinstance(locate(where), Address):
            raise ConfigError(
                f"workers on Ray need a store on a server, as other machines cannot open this file: {NAME_ONE}"
            )
        if has_password(where):
            raise ConfigError(
                "the store's address holds a password, which would go to the cluster: write ${NAME} in its place, and "
                "set that variable where the workers run"
            )
        if self.working_dir is not None and not Path(self.working_dir).is_dir():
            raise ConfigError(f"there is no folder {self.working_dir} to copy to the workers")
        host, port = self._head()
        if is_here(where) and not _is_loopback(host):
            raise ConfigError(
                "the store's address is of this machine alone, and workers of another machine cannot reach it: name "
                "the store by an address that all nodes have"
            )
        if importlib.util.find_spec("ray") is None:
            raise ConfigError(f"workers {self.address!r} need Ray: {install_command('ray')}")
        if not self.is_local:
            self._knock(host, port)

    def _head(self) -> tuple[str, int]:
        """Host and port of the cluster."""
        try:
            parts = urlsplit("ray://127.0.0.1" if self.is_local else self.address)
            host, port = parts.hostname, parts.port or _PORT
        except ValueError as error:
            raise ConfigError(f"{self.address!r} is not an address of a cluster: ray://HOST:{_PORT}") from error
        if not host:
            raise ConfigError(f"{self.address!r} names no host of a cluster: ray://HOST:{_PORT}")
        return host, port

    @staticmethod
    def _knock(host: str, port: int) -> None:
        # Ray itself would try for 35 seconds.
        try:
            with socket.create_connection((host, port), _CONNECT_S):
                pass
        except OSError as error:
            raise ConfigError(
                f"no Ray head answers at {host}:{port} ({error}): is it started, with "
                f"--ray-client-server-port {port}, and is the port open?"
            ) from error

    async def run(self, begun: BegunEvaluation, control: RunHandle) -> None:
        """Run every target to its end; see `Executor`."""
        with contextlib.ExitStack() as stack:
            n = await asyncio.to_thread(lambda: stack.enter_context(self._connected(begun.environment)))
            await Leader(_StartsActors(self, _only_on(begun.where)), n, begun, control).run()

    def score(
        self, where: str | Path | None, environment: Mapping[str, str], task: ScoringTask, ranges: Sequence[range]
    ) -> list[ScoredRecords]:
        """Score stored records again in tasks of Ray; arguments and errors are those of `ProcessWorkers.score`.

        A range whose node has died is scored on another.
        """
        self._check_cluster(where)
        data = packed_task(task, where, _absolute(self.working_dir))
        with self._connected(environment) as n:
            import ray

            arguments = (_search_path(self), versions(), data, _only_on(where))
            task_of = ray.remote(score_range).options(max_retries=_RETRIES, **_PLACED)
            running: dict[Any, int] = {}
            scored: dict[int, ScoredRecords] = {}
            left = deque(enumerate(ranges))
            try:
                while left or running:
                    while left and len(running) < n:
                        number, places = left.popleft()
                        running[task_of.remote(*arguments, places)] = number
                    (answer,), _ = ray.wait(list(running))
                    scored[running.pop(answer)] = scored_of(ray.get(answer))
            except (ray.exceptions.RayError, ConnectionError) as error:  # the second where the head has died
                raise ScorerError(f"scoring on the Ray cluster {self.address} failed: {_short(error)}") from error
        return [scored[number] for number in range(len(ranges))]

    @contextlib.contextmanager
    def _connected(self, environment: Mapping[str, str]) -> Iterator[int]:
        """The cluster, and how many workers it is to have.

        Raises:
            ConfigError: it does not answer, or is of another version, or has too few CPUs.
        """
        own = {} if "ray" in sys.modules or not self.is_local else {**_LOOPBACK_ALONE, **_own_token()}
        with environment_set({**_ALWAYS, **own}):
            import ray

            if ray.is_initialized():
                raise ConfigError("this process uses a Ray cluster already: call ray.shutdown() before")
            if not self.is_local and _refuses_token(":".join(map(str, self._head()))):
                raise ConfigError(
                    f"the Ray cluster {self.address} refuses the token of this machine, or its lack: set "
                    "RAY_AUTH_MODE=token and the token of the cluster (RAY_AUTH_TOKEN, or the file ~/.ray/auth_token)"
                )
            try:
                with environment_set(environment if self.is_local else {}):
                    self._init(ray)
                yield self._n_workers(int(ray.cluster_resources().get("CPU", 0)))
            finally:
                ray.shutdown()

    def _init(self, ray: Any) -> None:
        options: dict[str, Any] = {"namespace": "steelyard", "log_to_driver": False, "logging_level": "ERROR"}
        if self.working_dir is not None:
            folder = str(Path(self.working_dir).absolute())
            options["runtime_env"] = {"working_dir": folder, "excludes": list(_NOT_COPIED)}
        if self.is_local:
            options |= {
                "address": "local", "num_cpus": self.n, "include_dashboard": False,
                "object_store_memory": _OBJECT_STORE,
            }  # fmt: skip
        else:
            options["address"] = self.address
        for tries_left in reversed(range(_STARTS if self.is_local else 1)):
            try:
                ray.init(**options)
            except Exception as error:  # Ray raises RuntimeError, ConnectionError, gRPC's errors and its own
                ray.shutdown()
                if not tries_left:
                    raise ConfigError(f"the Ray cluster {self.address} cannot be used: {_short(error)}") from error
            else:
                return

    def _n_workers(self, cpus: int) -> int:
        if self.n is not None and self.n > cpus:
            raise ConfigError(f"{self.n} workers need a CPU each, and the cluster has {cpus}")
        return self.n or max(1, cpus)


class _StartsActors:
    """Starts workers as actors; see `StartsWorkers`."""

    def __init__(self, settings: RayWorkers, only_on: str) -> None:
        import ray

        self._folder = _absolute(settings.working_dir)
        self._search_path = _search_path(settings)
        self._only_on = only_on
        # Actors outlive whoever started them, to finish its runs; a cluster of our own ends with this process.
        self._options: dict[str, Any] = {} if settings.is_local else {"lifetime": "detached"}
        self._options |= {"max_restarts": 0, "max_concurrency": 4, **_PLACED}
        self._actor = ray.remote(RayWorker)

    async def start(
        self, task: WorkerTask, environment: Mapping[str, str], heard: Callable[[Mapping[str, Any]], None]
    ) -> StartedWorker:
        """See `StartsWorkers`. `environment` stays here: a worker has its own."""
        del environment
        data = packed(task, self._folder)

        def start() -> Any:
            import ray

            if not ray.is_initialized():  # where Ray was imported before, it would start a cluster here
                raise ConnectionError("the connection to the Ray cluster is lost")
            actor = self._actor.options(name=f"steelyard.{task.owner}", **self._options).remote(self._search_path)
            actor.start.remote(versions(), data, self._only_on)
            return actor

        try:
            return _ActorWorker(await asyncio.to_thread(start), heard)
        except Exception as error:  # noqa: BLE001  # whatever Ray raises when its head is away
            return _ActorWorker(None, heard, _short(error))

    def lacks(self) -> str:
        """Why workers may have no place yet."""
        import ray

        free = int(ray.available_resources().get("CPU", 0))
        return f": each needs a CPU of the cluster, of which {free} are free"


class _ActorWorker:
    """A worker in an actor; see `StartedWorker`."""

    def __init__(self, actor: Any, heard: Callable[[Mapping[str, Any]], None], death: str = "") -> None:
        self._actor = actor
        self._heard = heard
        self._killed = False
        self.death = death
        self.exit_code: int | None = None
        self._hears = asyncio.create_task(self._hear())

    def tell(self, line: str) -> None:
        """Call it; the answer is of no interest."""
        if self._actor is not None and self.exit_code is None:
            with contextlib.suppress(Exception):  # it has died, which `_hear` finds out
                self._actor.tell.remote(line)

    def kill(self) -> None:
        """End the actor and its process."""
        self._killed = True
        if self._actor is not None:
            import ray

            with contextlib.suppress(Exception):  # it has ended, or its cluster has
                ray.kill(self._actor)

    async def ended(self) -> None:
        """Wait for its end."""
        await asyncio.wait({self._hears}, timeout=_KILLED_S if self._killed else None)
        self._hears.cancel()

    async def _hear(self) -> None:
        code = 1
        try:
            while self._actor is not None:
                messages, ended = await self._actor.hear.remote()
                for message in messages:
                    self._heard(message)
                if ended is not None:
                    code, self.death = ended, f"it ended with code {ended}"
                    break
        except Exception as error:  # noqa: BLE001  # whatever Ray raises when actor, node or head have died
            self.death = _short(error)
        finally:
            self.kill()  # its process has nothing left to do, and holds a CPU of the cluster
            self.exit_code = code


def is_here(where: str | Path | None) -> bool:
    """Whether a store's address means another machine where it is used on one: loopback, or a socket file.

    >>> is_here("postgresql://me@127.0.0.1/db"), is_here("postgresql://me@db.example/db")
    (True, False)
    """
    located = locate(where)
    host = (located.url.host or located.url.query.get("host", "")) if isinstance(located, Address) else ""
    return isinstance(host, str) and (not host or host.startswith("/") or _is_loopback(host))


def _only_on(where: str | Path | None) -> str:
    """The only host on which a store's address means that store; "" where it does so on all."""
    return socket.gethostname() if is_here(where) else ""


def _absolute(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder).absolute()


def _search_path(settings: RayWorkers) -> list[str]:
    """Where workers find the user's modules: as here, where the cluster is on this machine."""
    return search_path() if settings.is_local else []


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuses_token(address: str) -> bool:
    """Whether a head refuses the token of this process; False where it cannot be asked.

    Ray itself takes a refused token for a head that is not up yet, and tries for 30 seconds. What is imported here is
    not Ray's public interface: where a version lacks it, Ray finds out itself.
    """
    try:
        import grpc
        from ray._private.grpc_utils import init_grpc_channel
        from ray.core.generated import ray_client_pb2, ray_client_pb2_grpc
    except ImportError:
        return False
    ping = ray_client_pb2.ClusterInfoRequest(type=ray_client_pb2.ClusterInfoType.PING)
    with init_grpc_channel(address) as channel:
        try:
            head = ray_client_pb2_grpc.RayletDriverStub(channel)
            head.ClusterInfo(ping, timeout=_CONNECT_S, metadata=[("client_id", "steelyard")])
        except grpc.RpcError as error:
            return bool(error.code() == grpc.StatusCode.UNAUTHENTICATED)
    return False


def _own_token() -> dict[str, str]:
    """Token authentication for a cluster of our own: whoever has no token can run nothing there."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def _short(error: Exception) -> str:
    """The message of an error of Ray, without stack and identifiers."""
    text = str(error)
    if "No module named 'steelyard" in text:
        return (
            "Steelyard, or this version of it, cannot be imported on its node: install version "
            f"{sys.modules['steelyard'].__version__} there, with the extras postgres and ray"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else 'no reason given'}"[:400]
