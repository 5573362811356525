"""What every model behind an HTTP endpoint has: its address, key and parameters, and how the endpoint is reached.

Proxy and certificates do not change what is asked, so they are not part of the journal's keys and a resume may change
them. `session.routes` reads the environment's proxies and certificates.
"""

# Why it is so, and what was rejected: docs/decisions/models-http-client.md

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError
from steelyard.models.base import SLOW_S, Answer, CallParameters, Request, Wire, encode_body, endpoint_of
from steelyard.models.references import REFERENCE, check_key, check_secrets, masked

Headers = tuple[tuple[str, str], ...]
DIRECT: Final = "none"
"""As `proxy`: no proxy at all, whatever the environment says."""
_PORTS: Final = {"http": 80, "https": 443}
TRUNCATES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "truncation": lambda value: value != "disabled",
    "truncate_prompt_tokens": lambda value: value is not None,
    "transforms": bool,
    "truncate": bool,
    "shift": bool,
}
"""Parameters with which an endpoint drops a part of the prompt and answers as if nothing were missing."""


class ProxyAddress(NamedTuple):
    """An address without its user, `http://host:3128`, and the user and password as configured."""

    url: str
    user: str = ""
    password: str = ""


def parse_proxy(text: str, name: str) -> ProxyAddress:
    """The parts of a proxy's address; without a scheme it is http.

    Args:
        text: `http://user:password@host:3128`.
        name: the setting or variable that holds it, for the message.

    Raises:
        ConfigError: it is not an address, or is of a kind that is not supported.

    >>> parse_proxy("http://me:${PASSWORD}@proxy.example:3128", "proxy")
    ProxyAddress(url='http://proxy.example:3128', user='me', password='${PASSWORD}')
    """
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme.startswith("socks"):
        raise ConfigError(
            f"{name} names a SOCKS proxy, {masked(text)!r}, which is not supported: give an http proxy, name the host "
            "in NO_PROXY, or set proxy: none at the model"
        )
    host = _host(parts)
    if parts.scheme not in _PORTS or not host or parts.path not in {"", "/"} or parts.query:
        raise ConfigError(f"{name} must be an address such as http://proxy.example:3128, not {masked(text)!r}")
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    return ProxyAddress(f"{parts.scheme}://{host}", user, password)


def _host(parts: SplitResult) -> str:
    """Host and port of an address; "" where there are none."""
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not host or REFERENCE.search(parts.netloc.rpartition("@")[2]):
        return ""
    return f"{f'[{host}]' if ':' in host else host}:{port or _PORTS.get(parts.scheme, 80)}"


def check_connection(proxy: str, ca_file: Path | str | None) -> None:
    """Validate proxy and certificate settings before anything is sent.

    Args:
        proxy: an address, `none`, or "" for that of the environment.
        ca_file: certificates in PEM form, or None.

    Raises:
        ConfigError: not the address of a proxy, a password that is written out, or a file without certificates.
    """
    if proxy and proxy.lower() != DIRECT:
        address = parse_proxy(proxy, "proxy")
        if address.password and not REFERENCE.fullmatch(address.password):
            raise ConfigError(
                'proxy holds a password, which would be stored: write a reference, "http://user:${PROXY_PASSWORD}@..."'
            )
    if ca_file:
        load_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ca_file, "ca_file")


def load_authorities(context: ssl.SSLContext, ca_file: Path | str, name: str) -> None:
    """Let `context` trust the certificates in a file as well.

    Args:
        context: of a client.
        ca_file: certificates in PEM form.
        name: the setting or variable that holds the path, for the message.

    Raises:
        ConfigError: it cannot be read, or contains no certificate.
    """
    try:
        context.load_verify_locations(cafile=ca_file)
    except ssl.SSLError as error:
        raise ConfigError(
            f"{name}: {ca_file} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"
        ) from error
    except OSError as error:
        raise ConfigError(f"{name}: {ca_file} cannot be read: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """What the models behind HTTP endpoints of providers share.

    Args:
        name: the model's name, as the endpoint knows it.
        base_url: up to and without the path of a call.
        api_key: a reference, `"${NAME}"`; empty if the endpoint needs none.
        parameters: sent with every call; those of a single call win. Data: no `${NAME}` is resolved in it.
        headers: sent with every call; values may hold `${NAME}`.
        timeout_s: limit of one attempt, in seconds.
        proxy: `http://user:${PASSWORD}@host:3128`; `none` connects directly; empty follows the environment.
        ca_file: certificates in PEM form that are trusted as well as the system's.
    """

    name: str
    base_url: str = "https://api.openai.com/v1"
    api_key: str = ""
    parameters: CallParameters = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Timeout = 120.0
    proxy: str = field(default="", kw_only=True)
    ca_file: Path | None = field(default=None, kw_only=True)

    def check_fields(self, reserved: Iterable[str]) -> None:
        """Validate the fields before anything is sent.

        Args:
            reserved: keys of the body that parameters may not set.

        Raises:
            ConfigError: no address, a key that is written out, or a parameter that is not one.
        """
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ConfigError(f"base_url {masked(self.base_url)!r} is not an http(s) address")
        check_key(self.api_key)
        check_connection(self.proxy, self.ca_file)
        check_secrets(self.base_url, self.headers)
        if parts.query or parts.fragment:
            raise ConfigError("base_url ends before the `?`: api-version has a key of its own, api_version")
        for name in reserved:
            if name in self.parameters:
                raise ConfigError(f"parameters must not contain {name!r}")

    def key_header(self, name: str = "Authorization", scheme: str = "Bearer ") -> Headers:
        """The header with the key; empty where the endpoint needs none."""
        return ((name, f"{scheme}{self.api_key}"),) if self.api_key else ()

    def post(
        self, path: str, body: Mapping[str, Any], tokens: tuple[int, int], headers: Headers, service: str = ""
    ) -> Request:
        """One POST of a JSON body to `path` below the base address.

        Args:
            path: without a leading slash.
            body: as the endpoint wants it.
            tokens: an estimate of the input, and the most of the output; 0 where no limit is set.
            headers: with the key, before the user's own.
            service: tier or window, for which an attempt may take longer.
        """
        timeout_s = max(self.timeout_s, SLOW_S.get(service, 0.0))
        return Request(
            endpoint=endpoint_of(self.base_url),
            url=f"{self.base_url.rstrip('/')}/{path}",
            payload=encode_body(body),
            headers=(("Content-Type", "application/json"), *headers, *self.headers.items()),
            timeout_s=timeout_s,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            proxy=self.proxy,
            ca_file=str(self.ca_file or ""),
            total_s=timeout_s if service else 0.0,
        )

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""
        return await wire.exchange(request)


def check_truncation(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that let an endpoint shorten the prompt.

    Raises:
        ConfigError: which, and what happens without it.
    """
    for name, shortens in TRUNCATES.items():
        if name in parameters and shortens(parameters[name]):
            raise ConfigError(
                f"parameters: {name} lets the endpoint drop a part of a long prompt and answer the rest: remove it; "
                "then a prompt that is too long is an error of its sample"
            )


def most_tokens(body: Mapping[str, Any]) -> int:
    """The most tokens that a reply to `body` may have; 0 where it sets no limit.

    >>> most_tokens({"max_tokens": 9}), most_tokens({"max_completion_tokens": 5}), most_tokens({})
    (9, 5, 0)
    """
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return limit if type(limit) is int and limit > 0 else 0
