"""The application and its server: routes, static files, and the listening socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import re
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from steelyard.errors import ConfigError, SteelyardError
from steelyard.store import Store
from steelyard.viewer.code_page import code_routes
from steelyard.viewer.coded_record_page import coded_record_routes
from steelyard.viewer.codes_page import OpenCodings, codes_routes
from steelyard.viewer.compare_page import compare_routes
from steelyard.viewer.connections import BACKLOG, LimitedConnection, report_missing_descriptors
from steelyard.viewer.datasets_page import dataset_routes
from steelyard.viewer.downloads import download_routes
from steelyard.viewer.guard import LOOPBACK, Access, RequestGuard, host_name, kept_token, new_token
from steelyard.viewer.history_page import history_routes
from steelyard.viewer.live_page import live_routes
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages
from steelyard.viewer.queue_page import queue_routes
from steelyard.viewer.run_actions import action_routes
from steelyard.viewer.run_page import run_routes
from steelyard.viewer.runs_page import runs_routes
from steelyard.viewer.sample_labels import label_routes
from steelyard.viewer.sample_page import sample_routes
from steelyard.viewer.search_page import search_routes
from steelyard.viewer.what_was_run import what_routes

_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_IMMUTABLE: Final = {"Cache-Control": "private, max-age=31536000, immutable"}
_HTMX: Final = "viewer.static.htmx"
_FILES: Final = {
    "style.css": (("report.templates", "style.css"),),
    "viewer.js": (("viewer.static", "viewer.js"),),
    # One file: htmx processes the page right after its script has run, so a script that arrives later extends nothing.
    "htmx.js": ((_HTMX, "htmx.min.js"), (_HTMX, "hx-csp.min.js"), (_HTMX, "hx-sse.min.js")),
}
"""Every file that is served, and the (folder, file) pairs that it is made of; no other file is served."""
DEFAULT_PORT: Final = 7533
_UNEXPECTED: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors of a value that is not what was written. A handler of every exception would have its traceback printed."""
_ATTEMPTS: Final = 10
_NO_SUCH_ADDRESS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
_PREFIX: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)+")
_OWN_PATHS: Final = frozenset(
    {"codes", "compare", "data", "export", "history", "live", "marks", "queue", "run", "save", "search", "static"}
)
"""First parts of paths. With the prefix `/run` it would be unclear whether a proxy has removed it from `/run/ID`."""


@dataclass(frozen=True, slots=True)
class ViewerOptions:
    """How a viewer is served.

    Args:
        store: a file, or the address of a PostgreSQL schema; None is the default store.
        host: the address to listen on.
        port: 0 takes a free one.
        hosts: further names that a Host header may hold, without ports.
        root_path: the prefix under which a proxy serves the viewer; "" is none.
        read_only: nothing can be written, neither notes nor files of datasets.
        token: "" takes that of the file, or makes a new one.
        token_file: keeps the token for the next start; made where it is missing.

    Raises:
        ConfigError: an address or a prefix that is not valid.
    """

    store: str | None = None
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    hosts: tuple[str, ...] = ()
    root_path: str = ""
    read_only: bool = False
    token: str = ""
    token_file: Path | None = None

    def __post_init__(self) -> None:
        if self.root_path and not _PREFIX.fullmatch(self.root_path):
            raise ConfigError(
                f"--root-path {self.root_path!r}: a path such as /steelyard is expected, of letters, digits and -._~, "
                "without a slash at its end"
            )
        if self.root_path[1:] in _OWN_PATHS:
            raise ConfigError(
                f"--root-path {self.root_path!r}: the viewer has pages of its own at this path, and some proxies "
                "remove the prefix: choose another one"
            )
        for host in self.hosts:
            if not host or host_name(host) != host.lower():
                raise ConfigError(
                    f"--allow-host {host!r}: a host name such as eval.example.org is expected, without scheme, port "
                    "and path; every port is allowed"
                )
        if self.host in {"0.0.0.0", "::"} and not self.hosts:  # noqa: S104  # refused, not bound
            raise ConfigError(
                f"--host {self.host} listens on every interface: give the host name that browsers use "
                "with --allow-host NAME"
            )

    @property
    def access(self) -> Access:
        """The settings of the guard."""
        allowed = {host.lower() for host in self.hosts}
        own_host = f"[{self.host}]" if ":" in self.host else self.host
        token = self.token or (kept_token(self.token_file) if self.token_file else new_token())
        return Access(token, frozenset({*allowed, own_host} - LOOPBACK), self.root_path)


def viewer_app(store: Store, access: Access, *, read_only: bool = False) -> ASGIApp:
    """The guarded application over an open store.

    Args:
        store: it is read, and written by marks, notes, labels, error analyses and drafts of datasets.
        access: who may use it.
        read_only: refuse whatever writes.
    """
    pages = Pages(store, root_path=access.root_path, read_only=read_only, static=_static_address)
    datasets, codings = OpenDatasets(pages), OpenCodings(pages)
    routes = [
        *runs_routes(pages),
        *search_routes(pages, datasets),
        *run_routes(pages, datasets),
        *what_routes(pages, datasets),
        *sample_routes(pages),
        *label_routes(pages),
        *action_routes(pages),
        *live_routes(pages),
        *compare_routes(pages, datasets),
        *history_routes(pages),
        *download_routes(pages),
        *queue_routes(pages),
        *dataset_routes(pages, datasets),
        *codes_routes(codings),
        *coded_record_routes(codings),
        *code_routes(codings),
        Route("/static/{digest}/{name}", _static),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        report_missing_descriptors(asyncio.get_running_loop())
        yield
        pages.close()

    app = Starlette(
        routes=routes,
        exception_handlers={
            SteelyardError: pages.error,
            HTTPException: pages.refused,
            ClientDisconnect: _gone,
            **dict.fromkeys(_UNEXPECTED, pages.unexpected),
        },
        lifespan=lifespan,
    )
    return RequestGuard(app, access)


def bound(options: ViewerOptions) -> list[socket.socket]:
    """The listening sockets: on loopback one for IPv4 and one for IPv6, if the machine has both.

    Browsers take `localhost` and the names below it for either: whoever listened at the same port of the other would be
    sent the token.

    Raises:
        ConfigError: the address is taken or not of this machine.
    """
    hosts = [options.host]
    if {options.host, f"[{options.host}]"} & LOOPBACK:
        hosts.append("127.0.0.1" if options.host == "::1" else "::1")
    # A port that is free for the one may be taken for the other.
    attempts = 1 if options.port else _ATTEMPTS
    while True:
        attempts -= 1
        try:
            return _listening(hosts, options.port)
        except OSError as error:
            if attempts and error.errno == errno.EADDRINUSE:
                continue
            hint = "; --port 0 takes a free port" if error.errno == errno.EADDRINUSE else ""
            raise ConfigError(
                f"cannot listen on {' and '.join(hosts)} port {options.port}: {error.strerror}{hint}"
            ) from error


def _listening(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """A socket for each host, all at one port; of the hosts after the first those that the machine has."""
    with contextlib.ExitStack() as closing:
        sockets: list[socket.socket] = []
        for host in hosts:
            try:
                opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
                closing.enter_context(opened)
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                opened.bind((host, sockets[0].getsockname()[1] if sockets else port))
            except OSError as error:
                if sockets and error.errno in _NO_SUCH_ADDRESS:
                    break
                raise
            # At once: a browser that is given the address before the server runs must wait, not be refused.
            opened.listen()
            sockets.append(opened)
        closing.pop_all()
        return sockets


def server_of(app: ASGIApp, *, lifespan: Literal["on", "off"] = "on") -> uvicorn.Server:
    """The server of an application, with limits of its connections.

    Args:
        app: of `viewer_app`.
        lifespan: "off" leaves out what the application does at its start and end.
    """
    config = uvicorn.Config(
        app,
        http=LimitedConnection,
        loop="asyncio",
        backlog=BACKLOG,
        log_level="error",  # a warning for each malformed request would let anybody fill a log
        access_log=False,  # it would write the token
        server_header=False,
        date_header=False,
        ws="none",
        lifespan=lifespan,
        timeout_graceful_shutdown=2,  # live pages never end by themselves
    )
    return uvicorn.Server(config)


def serve(options: ViewerOptions, *, started: Callable[[str], None]) -> None:
    """Serve until the process is interrupted.

    Args:
        options: where and what.
        started: is given the address with the token, once the port is taken.
    """
    access = options.access
    with Store(options.store) as store:
        app = viewer_app(store, access, read_only=options.read_only)
        listening = bound(options)
        port = listening[0].getsockname()[1]
        host = f"[{options.host}]" if ":" in options.host else options.host
        public_host = next(iter(options.hosts), host) if options.host in {"0.0.0.0", "::"} else host  # noqa: S104  # as above
        started(f"http://{public_host}:{port}{access.root_path}/?token={access.token}")
        server_of(app).run(sockets=listening)


@cache
def _part(name: str) -> tuple[bytes, str]:
    """A static file and the beginning of its hash."""
    pieces = [files(f"steelyard.{folder}").joinpath(file).read_bytes() for folder, file in _FILES[name]]
    content = b";\n".join(pieces)
    return content, sha256(content).hexdigest()[:16]


def _static_address(name: str) -> str:
    """The path of a static file, with its hash, so that browsers may cache it for ever."""
    return f"/static/{_part(name)[1]}/{name}"


def _gone(_request: Request, _error: Exception) -> Response:
    """Answers nobody: without it each request whose body was not sent in time would be logged as a fault of ours."""
    return PlainTextResponse("the request was not sent to its end\n", 400)


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        return PlainTextResponse("there is no such file\n", 404)
    content, digest = _part(name)
    # A page of another version of the viewer asks for other content: only the content of the hash may be cached.
    headers = _IMMUTABLE if request.path_params["digest"] == digest else {}
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)
