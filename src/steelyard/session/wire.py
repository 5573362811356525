"""The HTTP connections of a session: one pool for all endpoints, no redirects, bounded bodies."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from steelyard.errors import ConfigError
from steelyard.models.base import Answer, Fault, Request
from steelyard.models.references import without_query
from steelyard.session.routes import Routes, authority_hint
from steelyard.session.secrets import Secrets, environment

_CONNECT_S: Final = 15.0
"""Time limit of connecting. A model's own time limit is for long answers, not for a host that is down."""
_MOST_BYTES: Final = 32 << 20
"""Limit of one reply, so that a faulty server cannot fill the memory."""
_OWN_HEADERS: Final = (("User-Agent", "steelyard"), ("Accept", "*/*"), ("Accept-Encoding", "identity"))
"""Compression is not requested: decompressing costs more than transferring the bytes on a fast network."""
_CONNECTING: Final = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
"""aiohttp limits connecting only: the limit of a whole attempt is ours."""
_MOST_DESTINATIONS: Final = 100
"""How many are cached: the address of a generic endpoint may contain values of each sample."""
_TLS_SETTING: Final = re.compile(r" ssl:(?:<[^>]*>|\S+)")
"""In aiohttp's words for a connection that failed: also of plain http, and it may hold an address in memory."""
_WRONG_PROTOCOL: Final = "WRONG_VERSION_NUMBER"
_PROXY_AUTH_REQUIRED: Final = 407
_SERVER_FAULTS: Final = 500


class Destination(NamedTuple):
    """Where and how a request is sent: the parsed address, the header fields, and the route as options of aiohttp."""

    address: URL
    fields: CIMultiDict[str]
    options: Mapping[str, Any]


class HttpWire:
    """Sends requests over pooled keep-alive connections.

    The endpoint's concurrency limit bounds the calls in flight, so the pool does not. Redirects are not followed: the
    key would be sent to an address that nobody configured.

    Args:
        secrets: resolved in addresses and header fields, redacted from answers.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._client: aiohttp.ClientSession | None = None
        self._destinations: dict[tuple[Any, ...], Destination] = {}
        self.routes = Routes(secrets, environment())
        self.learned: dict[str, bool] = {}
        self.closers: dict[str, Callable[[], Awaitable[None]]] = {}
        self.resolve, self.redact = secrets.resolve, secrets.redact_text

    async def close(self) -> None:
        """Close every connection."""
        for closer in self.closers.values():
            await closer()
        if self._client is not None:
            await self._client.close()

    async def exchange(self, request: Request) -> Answer:
        """Send `request` once and read the whole body, within its time limit.

        Raises:
            Fault: `connection`, `timeout` or an oversized body.
            ConfigError: the address is malformed.
        """
        client = self._client or self._open()
        key = (request.url, request.headers, request.proxy, request.ca_file)
        address, fields, options = self._destinations.get(key) or self._destination(request)
        try:
            async with asyncio.timeout(request.timeout_s):
                sent_at = time.monotonic() if request.watch else 0.0
                response = await client.request(
                    request.method,
                    address,
                    data=request.payload,
                    headers=fields,
                    timeout=_CONNECTING,
                    allow_redirects=False,
                    **options,
                )
                # Not `async with`: a body that was read to its end has given its connection back already.
                try:
                    body, first_at = await (_read_watched(response, request) if request.watch else _read(response))
                except BaseException:
                    response.close()
                    raise
            headers = response.headers if response.status < 300 else self._clean(response.headers)
            first_s = None if first_at is None else first_at - sent_at
            return Answer(response.status, headers, self._secrets.redact(body), first_s)
        # Only ours are raised, without their causes: those hold the address as it was sent, and --debug shows them.
        except aiohttp.InvalidURL:
            raise ConfigError(f"{without_query(request.url)!r} is not an address") from None
        except (aiohttp.ClientSSLError, aiohttp.ClientHttpProxyError) as error:
            raise self._refused(error, request) from None
        except aiohttp.ConnectionTimeoutError:
            raise Fault("connection", f"{request.endpoint}: no connection within {_CONNECT_S:g} s") from None
        except TimeoutError:
            raise Fault("timeout", f"no complete answer within {request.timeout_s:g} s", billed=True) from None
        except (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError, OSError) as error:
            raise self._dropped(error, request) from None

    def _clean(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Header fields without secrets: the address of a redirect can contain the key that was sent."""
        return {name.lower(): self._secrets.redact_text(value) for name, value in headers.items()}

    def _refused(self, error: aiohttp.ClientError, request: Request) -> Fault:
        """The fault of a failed connection: one about the certificate, TLS or the proxy is not worth a retry."""
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return self._refused_by_proxy(error, request)
        if not isinstance(error, aiohttp.ClientConnectorCertificateError) and _WRONG_PROTOCOL not in str(error):
            return self._dropped(error, request)
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            cause = error.certificate_error
            reason = getattr(cause, "verify_message", cause)
            problem = f"its certificate is not trusted: {reason}; {authority_hint(cause)}"
        else:
            problem = "it does not speak TLS: is the address http:// and not https://?"
        return Fault("connection", f"{request.endpoint}: {problem}", retry=False, ends_run=True)

    def _refused_by_proxy(self, error: aiohttp.ClientHttpProxyError, request: Request) -> Fault:
        text = (
            f"the proxy {self.routes.of(request).proxy} says {error.status} {self._secrets.redact_text(error.message)}"
        )
        if error.status == _PROXY_AUTH_REQUIRED:
            message = f"{text}: it requires a user and a password, http://user:${{PASSWORD}}@host"
            return Fault("auth", message, retry=False, ends_run=True)
        if error.status >= _SERVER_FAULTS or error.status in {408, 429}:
            return Fault("server", f"{request.endpoint}: {text}")
        advice = "to connect directly, name the host in NO_PROXY or set proxy: none at the model"
        message = f"{request.endpoint}: {text}; {advice}"
        return Fault("connection", message, retry=False, ends_run=True)

    def _dropped(self, error: Exception, request: Request) -> Fault:
        words = _TLS_SETTING.sub("", without_query(str(error)), count=1)
        text = self._secrets.redact_text(words or type(error).__name__)[:200]
        was_sent = not isinstance(error, aiohttp.ClientConnectorError)
        proxy = self.routes.of(request).proxy
        if proxy and not was_sent:
            text = f"the proxy {proxy} cannot be reached: {text}"
        return Fault("connection", f"{request.endpoint}: {text}", billed=was_sent)

    def _open(self) -> aiohttp.ClientSession:
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=30.0),
            # A cookie set by one sample's reply must not be sent with another's call: samples are independent.
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._client

    def _destination(self, request: Request) -> Destination:
        """Where and how a request is sent, cached: most calls of a run are sent alike."""
        if len(self._destinations) > _MOST_DESTINATIONS:
            self._destinations.clear()
        try:
            options = self.routes.of(request).options
        except ConfigError as error:  # a mistake in the environment's settings, which every call would meet
            raise Fault("connection", f"{request.endpoint}: {error}", retry=False, ends_run=True) from error
        try:
            address = URL(self._secrets.resolve(request.url))
        except ValueError:
            raise ConfigError(f"{without_query(request.url)!r} is not an address") from None
        # As no field is missing, aiohttp adds none (15 µs less per call).
        fields = CIMultiDict(_OWN_HEADERS)
        fields.update({name: self._secrets.resolve(value) for name, value in request.headers})
        destination = Destination(address, fields, options)
        self._destinations[request.url, request.headers, request.proxy, request.ca_file] = destination
        return destination


async def _read(response: aiohttp.ClientResponse) -> tuple[bytes, None]:
    """Read the whole body, up to the size limit."""
    announced = response.content_length
    if announced is not None and announced > _MOST_BYTES:
        raise Fault("malformed", f"the answer announces {announced} bytes", billed=True)
    # No more bytes than announced can come, unless aiohttp decompresses them: then they are counted on the way.
    if announced is not None and "Content-Encoding" not in response.headers:
        return await response.content.read(), None
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size = _within_limit(size + len(chunk))
    return chunks[0] if len(chunks) == 1 else b"".join(chunks), None


async def _read_watched(response: aiohttp.ClientResponse, request: Request) -> tuple[bytes, float | None]:
    """Read a streamed body and note when its first token came; a stream that stalls is a fault."""
    watch = request.watch() if request.watch and response.status < 300 else None
    idle_s = request.idle_s or None
    body = bytearray()
    first_at = None
    while True:
        try:
            # Only the gap between two parts is limited here: the model may think as long as its own time limit allows.
            async with asyncio.timeout(idle_s if body else None) as idle:
                chunk = await response.content.readany()
        except TimeoutError:
            if idle.expired():
                raise Fault("timeout", f"nothing came for {idle_s:g} s within the reply", billed=True) from None
            raise
        if not chunk:
            return bytes(body), first_at
        body += chunk
        _within_limit(len(body))
        if watch is not None and first_at is None and watch(chunk):
            first_at = time.monotonic()


def _within_limit(size: int) -> int:
    if size > _MOST_BYTES:
        raise Fault("malformed", f"the answer is longer than {_MOST_BYTES >> 20} MiB", billed=True)
    return size
