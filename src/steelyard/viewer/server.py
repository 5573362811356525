"""The application and its server: routes, files of our own, and the socket that is listened on."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from steelyard.errors import ConfigError, SteelyardError
from steelyard.store import Store
from steelyard.viewer.compare_page import compare_routes
from steelyard.viewer.guard import LOOPBACK, Access, RequestGuard, new_token
from steelyard.viewer.history_page import history_routes
from steelyard.viewer.live_page import live_routes
from steelyard.viewer.notes import note_routes
from steelyard.viewer.pages import Pages
from steelyard.viewer.run_page import run_routes
from steelyard.viewer.runs_page import runs_routes
from steelyard.viewer.sample_page import sample_routes

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_IMMUTABLE: Final = {"Cache-Control": "private, max-age=31536000, immutable"}
_FILES: Final = {
    "report.css": "report.templates",
    "viewer.css": "viewer.static",
    "viewer.js": "viewer.static",
    "htmx.min.js": "viewer.static.htmx",
    "hx-csp.min.js": "viewer.static.htmx",
    "hx-sse.min.js": "viewer.static.htmx",
}
"""Every file that is served, and the folder of it: nothing else is, whatever an address says."""
DEFAULT_PORT: Final = 7533


@dataclass(frozen=True, slots=True)
class ViewerOptions:
    """How a viewer is served.

    Args:
        store: a file, or the address of a PostgreSQL schema; None is the default store.
        host: the address that is listened on.
        port: 0 takes a free one.
        hosts: further names that a Host header may hold, without ports.
        root_path: the prefix under which a proxy serves the viewer; "" is none.
        read_only: nothing can be written, not even notes.
        token: "" makes a new one.

    Raises:
        ConfigError: an address or a prefix that cannot be meant.
    """

    store: str | None = None
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    hosts: tuple[str, ...] = ()
    root_path: str = ""
    read_only: bool = False
    token: str = ""

    def __post_init__(self) -> None:
        if self.root_path and (not self.root_path.startswith("/") or self.root_path.endswith("/")):
            raise ConfigError(
                f"--root-path {self.root_path!r}: a path such as /steelyard is expected, without a slash at its end"
            )
        if self.host in {"0.0.0.0", "::"} and not self.hosts:  # noqa: S104  # refused, not bound
            raise ConfigError(
                f"--host {self.host} listens on every interface: name the host that browsers will ask for "
                "with --allow-host NAME"
            )

    @property
    def access(self) -> Access:
        """What the guard checks."""
        named = {host.lower() for host in self.hosts}
        own = f"[{self.host}]" if ":" in self.host else self.host
        return Access(self.token or new_token(), frozenset({*named, own} - LOOPBACK), self.root_path)


def viewer_app(store: Store, access: Access, *, read_only: bool = False) -> ASGIApp:
    """The guarded application over an open store.

    Args:
        store: it is read, and written by marks and notes alone.
        access: who may use it.
        read_only: refuse whatever writes.
    """
    pages = Pages(store, root_path=access.root_path, read_only=read_only, static=_static_address)
    routes = [
        *runs_routes(pages),
        *live_routes(pages),
        *run_routes(pages),
        *sample_routes(pages),
        *note_routes(pages),
        *compare_routes(pages),
        *history_routes(pages),
        Route("/static/{digest}/{name}", _static),
    ]
    app = Starlette(routes=routes, exception_handlers={SteelyardError: pages.error, HTTPException: pages.refused})
    return RequestGuard(app, access)


def bound(options: ViewerOptions) -> socket.socket:
    """The socket that is listened on.

    Raises:
        ConfigError: the address is taken or not of this machine.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
    except OSError as error:
        listening.close()
        hint = "; --port 0 takes a free port" if error.errno == errno.EADDRINUSE else ""
        raise ConfigError(f"cannot listen on {options.host} port {options.port}: {error.strerror}{hint}") from error
    return listening


def serve(options: ViewerOptions, *, started: Callable[[str], None]) -> None:
    """Serve until the process is interrupted.

    Args:
        options: where and what.
        started: is given the address with the token, once the port is taken.
    """
    import uvicorn

    access = options.access
    with Store(options.store) as store:
        app = viewer_app(store, access, read_only=options.read_only)
        listening = bound(options)
        port = listening.getsockname()[1]
        host = f"[{options.host}]" if ":" in options.host else options.host
        shown = next(iter(options.hosts), host) if options.host in {"0.0.0.0", "::"} else host  # noqa: S104  # as above
        started(f"http://{shown}:{port}{access.root_path}/?token={access.token}")
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # it would write the token
            server_header=False,
            date_header=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=2,  # live pages never end by themselves
        )
        uvicorn.Server(config).run(sockets=[listening])


@cache
def _part(name: str) -> tuple[bytes, str]:
    """A file of ours and the beginning of its hash."""
    content = files(f"steelyard.{_FILES[name]}").joinpath(name).read_bytes()
    return content, sha256(content).hexdigest()[:16]


def _static_address(name: str) -> str:
    """The path of a file of ours: it changes with its content, so that browsers may keep it."""
    return f"/static/{_part(name)[1]}/{name}"


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        return PlainTextResponse("there is no such file\n", 404)
    content, digest = _part(name)
    # A page of another version of the viewer asks for another content: what is kept must be what the address says.
    headers = _IMMUTABLE if request.path_params["digest"] == digest else {}
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)
