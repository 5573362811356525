"""Checks of every request before a page is made: host, token, origin and size; and the headers of every answer.

Any web site that the user visits can send requests to a server on loopback. So that none can read or change anything
(DNS rebinding, cross-site requests), the Host must be an allowed one, the request must have the token (once in the
address, then as a cookie that no other site can send), and requests that change something must come from our own pages.
Cookies know no port: on `localhost` any other server, also of another user, would be sent ours. So pages are not served
there but under a host name that only who has the token can know, and that browsers resolve to loopback themselves.
The Content-Security-Policy allows only scripts with the nonce of the answer, so that text of a model or a dataset runs
nothing even where its escaping should fail.
"""

# Why it is so, and what was rejected: docs/decisions/viewer-guard.md

from __future__ import annotations

import hmac
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steelyard.errors import ConfigError

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
MOST_BYTES: Final = 1_000_000
"""Size of a request's body at most."""
_LONGEST_HOST: Final = 255
"""Characters of a foreign Host header in an answer: whoever has no token gets short ones."""
_TOO_LARGE: Final = f"a request's body may have {MOST_BYTES:,} bytes"
_UNCHANGING: Final = frozenset({"GET", "HEAD"})
_ALLOWED: Final = _UNCHANGING | {"POST"}
_TOKEN: Final = re.compile(rb"[\w-]{43}\n?", re.ASCII)


def new_token() -> str:
    """A token of 256 random bits for addresses and cookies."""
    return token_urlsafe(32)


def kept_token(path: Path) -> str:
    """The token that a file keeps between starts of a viewer; a new one is stored where there is no such file.

    Args:
        path: the file, which only its owner can read.

    Raises:
        ConfigError: others can read the file, it holds no token, or it can be neither read nor made.
    """
    token = new_token()
    try:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return _read_token(path)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise ConfigError(f"--token-file {path}: {error.strerror}") from error
    return token


def _read_token(path: Path) -> str:
    # What is checked is the file that was opened, not one that took its name meanwhile.
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as file:
        about = os.fstat(opened)
        if stat.S_IMODE(about.st_mode) & 0o077 or about.st_uid != os.geteuid():
            raise ConfigError(f"--token-file {path}: others can read the file: chmod 600 {path}, or name another one")
        content = file.read(64) if stat.S_ISREG(about.st_mode) else b""
    if not _TOKEN.fullmatch(content):
        raise ConfigError(f"--token-file {path}: there is no token in the file: name one that does not exist yet")
    return content.decode("ascii").strip()


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the viewer.

    Args:
        token: what an address must hold.
        hosts: host names of pages besides `own_host`, without a port, as a browser sends them.
        root_path: the prefix under which a proxy serves the viewer: "" or "/prefix".
    """

    token: str = field(default_factory=new_token, repr=False)
    hosts: frozenset[str] = frozenset()
    root_path: str = ""

    @property
    def cookie(self) -> str:
        """Name of the cookie: cookies know no port, and two viewers must not replace each other's."""
        return f"steelyard_{sha256(self.token.encode()).hexdigest()[:12]}"

    @property
    def own_host(self) -> str:
        """The host name of the pages on loopback: the same as long as the token is."""
        return f"steelyard-{self._derived('host')[:32]}.localhost"

    def cookie_value(self, host: str) -> str:
        """What the cookie of a host name must hold: worth nothing under another one, and not the token."""
        return self._derived(f"cookie of {host}")

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), sha256).hexdigest()

    def is_token(self, text: str) -> bool:
        """Whether `text` is the token, compared in constant time."""
        return hmac.compare_digest(text.encode(), self.token.encode())

    def is_host(self, header: str) -> bool:
        """Whether a Host header names this viewer, with any port: tunnels and containers change it."""
        return host_name(header) in LOOPBACK | self.hosts | {self.own_host}

    def within(self, path: str) -> str:
        """A path without the prefix: some proxies remove it, others do not."""
        relative = path.removeprefix(self.root_path)
        return relative if relative.startswith("/") else path if relative else "/"


def host_name(header: str) -> str:
    """The host of a Host header without its port, in lower case; "" where the header is malformed.

    >>> host_name("LocalHost:8080"), host_name("[::1]:8080"), host_name("a@b")
    ('localhost', '[::1]', '')
    """
    try:
        parts = urlsplit(f"//{header}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return ""
    if name is None or parts.netloc != header or "@" in header or parts.path or parts.query or parts.fragment:
        return ""
    return f"[{name}]" if ":" in name else name


class RequestGuard:
    """ASGI middleware that refuses what is not allowed and sets the headers of every answer.

    `scope["state"]["nonce"]` holds the nonce that the scripts of a page must carry.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # we serve no WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return
        nonce = token_urlsafe(16)
        # A copy: what a proxy did with the prefix, and the nonce, concern this request alone.
        scope = {**scope, "path": self._access.within(scope["path"]), "state": {"nonce": nonce}}

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _set_headers(MutableHeaders(scope=message), nonce)
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, with_headers)
            return
        await self._app(scope, _limited(receive), with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        method = scope["method"]
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._access.is_host(host):
            if host_name(host).endswith(".localhost"):  # that of a viewer that had another token
                return HTMLResponse(_UNAUTHORIZED_PAGE, 401)
            return _refuse(403, f"the host {host[:_LONGEST_HOST]!r} is not allowed: start the viewer with --allow-host")
        if method not in _ALLOWED:
            return _refuse(405, f"{method} is not a method of this viewer")
        if method not in _UNCHANGING:
            if not _is_own(headers, scope["scheme"]):
                return _refuse(403, "only pages of this viewer may make changes")
            if not headers.get("content-length", "0").isdigit() or int(headers.get("content-length", 0)) > MOST_BYTES:
                return _refuse(413, _TOO_LARGE)
        return self._without_token(scope, headers)

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        """None where the cookie is right; else the answer that sets it or leads to our own host, or a refusal."""
        # Scripts have no cookies, and few of them resolve our host name. No page can make a browser send this header.
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._access.is_token(sent):
            return None
        host = host_name(headers["host"])
        if host not in LOOPBACK and _has_cookie(headers, self._access.cookie, self._access.cookie_value(host)):
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in pairs if name == "token"), "")
        if scope["method"] not in _UNCHANGING or not self._access.is_token(token):
            return HTMLResponse(_UNAUTHORIZED_PAGE, 401)
        # The path of our own address is used, never one that a caller could make a foreign address ("//host"). An id in
        # it may hold a question mark, and letters that no header takes.
        path = quote(self._access.root_path + "/" + scope["path"].lstrip("/\\"))
        if host in LOOPBACK:
            port = headers["host"][len(host) :]  # as the browser has it, which a tunnel may have changed
            return RedirectResponse(f"{scope['scheme']}://{self._access.own_host}{port}{path}?{urlencode(pairs)}", 303)
        query = urlencode([(name, value) for name, value in pairs if name != "token"])
        target = path + (f"?{query}" if query else "")
        if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
            answer: Response = RedirectResponse(target, 303)
        else:
            # In a chain of redirects that another site began, a strict cookie is not sent; after a refresh it is.
            answer = PlainTextResponse("opening the viewer", headers={"Refresh": f"0; url={target}"})
        answer.set_cookie(
            self._access.cookie,
            self._access.cookie_value(host),
            path=self._access.root_path or "/",
            httponly=True,
            samesite="strict",
            secure=scope["scheme"] == "https",
        )
        return answer


_UNAUTHORIZED_PAGE: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Steelyard: no token</title>"
    "<h1>This viewer needs its token</h1><p>Open the address that <code>steelyard view</code> printed. It printed a "
    "new one if it was started again; with <code>--token-file</code> the old one stays valid.</p></html>"
)


def _is_own(headers: Headers, scheme: str) -> bool:
    """Whether a request comes from a page of ours: its Origin is our scheme and host, and the browser agrees."""
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    return headers.getlist("origin") == [f"{scheme}://{headers['host']}"]


def _has_cookie(headers: Headers, name: str, value: str) -> bool:
    """Whether one of the cookies has the name and the value.

    Cookies know no port: those of other servers on this host are sent too, in any form, and a parser that refuses a
    header for one odd cookie would lock the user out.
    """
    pairs = (pair.partition("=") for header in headers.getlist("cookie") for pair in header.split(";"))
    return any(
        cookie.strip() == name and hmac.compare_digest(sent.strip().encode(), value.encode())
        for cookie, _, sent in pairs
    )


def _refuse(status: int, why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status)


def _limited(receive: Receive) -> Receive:
    """`receive` that fails where a body without a declared length is larger than is allowed."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MOST_BYTES:
            # Raised within the application, which answers it: raised outside, the application's own error comes first.
            raise HTTPException(413, _TOO_LARGE)
        return message

    return counted


def _set_headers(headers: MutableHeaders, nonce: str) -> None:
    headers["Content-Security-Policy"] = "; ".join(_policy(nonce))
    headers["X-Content-Type-Options"] = "nosniff"
    # With "no-referrer" browsers send "Origin: null" with our own forms.
    headers["Referrer-Policy"] = "same-origin"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    headers.setdefault("Cache-Control", "no-store")


def _policy(nonce: str) -> Iterable[str]:
    yield "default-src 'none'"
    yield f"script-src 'nonce-{nonce}'"
    yield "style-src 'self'"
    yield "img-src 'self' data:"
    yield "connect-src 'self'"
    yield "form-action 'self'"
    yield "base-uri 'none'"
    yield "frame-ancestors 'none'"
    yield "require-trusted-types-for 'script'"
    yield "trusted-types htmx"
