"""How each endpoint is reached: proxies and certificates from the environment, or those that a model names.

`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` are read as curl does, in upper or lower case (lower wins):
NO_PROXY lists hosts, domains with everything below them, addresses and networks (`10.0.0.0/8`), each with a port if it
is to hold for that one alone, or is `*`. Loopback is not an exception. A model's `proxy:` wins over all of them.
`SSL_CERT_FILE` and `SSL_CERT_DIR` replace the system's authorities, as OpenSSL has it; `ca_file:` adds to them.
`~/.netrc` is not read: no key is sent that the configuration does not name.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from steelyard.models.base import Request
from steelyard.models.endpoint import DIRECT, ProxyAddress, load_authorities, parse_proxy
from steelyard.session.secrets import Secrets

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Route(NamedTuple):
    """How one endpoint is reached.

    Args:
        options: arguments for aiohttp with each request.
        proxy: address of the proxy without its user; "" for none.
        source: where it was configured: `proxy`, or a variable of the environment.
    """

    options: Mapping[str, Any]
    proxy: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"through the proxy {self.proxy} ({self.source})" if self.proxy else "directly"


class Routes:
    """The routes of a session.

    Args:
        secrets: resolve a proxy's password, and redact the passwords in the environment's proxy addresses.
        environ: the environment.
    """

    def __init__(self, secrets: Secrets, environ: Mapping[str, str]) -> None:
        self._secrets = secrets
        self._environ = environ
        self._contexts: dict[str, ssl.SSLContext | bool] = {}
        secrets.hide(_passwords(environ))

    def of(self, request: Request) -> Route:
        """The route of a request.

        Raises:
            ConfigError: the environment names a malformed proxy address, or certificates that cannot be read.
        """
        scheme = urlsplit(request.endpoint).scheme
        options: dict[str, Any] = {"ssl": self._context(request.ca_file)} if scheme == "https" else {}
        address, source = self._proxy(request)
        if address is None:
            return Route(options)
        resolve: Callable[[str], str] = self._secrets.resolve if source == "proxy" else str
        options["proxy"] = address.url
        if address.user or address.password:
            # Taken apart before it is resolved: a password may hold any character of an address.
            user, password = resolve(unquote(address.user)), resolve(unquote(address.password))
            # aiohttp makes Proxy-Authorization of it, in the tunnel's request or, for http, in the call itself.
            basic = b64encode(f"{user}:{password}".encode()).decode()
            options["proxy_headers"] = {"Authorization": f"Basic {basic}"}
        return Route(options, address.url, source)

    def _proxy(self, request: Request) -> tuple[ProxyAddress | None, str]:
        if request.proxy.lower() == DIRECT:
            return None, ""
        if request.proxy:
            return parse_proxy(request.proxy, "proxy"), "proxy"
        for name in (f"{urlsplit(request.endpoint).scheme}_proxy", "all_proxy"):
            source, value = _variable(self._environ, name)
            if value:
                exempt = goes_directly(request.endpoint, _variable(self._environ, "no_proxy")[1])
                return (None, "") if exempt else (parse_proxy(value, source), source)
        return None, ""

    def _context(self, ca_file: str) -> ssl.SSLContext | bool:
        context = self._contexts.get(ca_file)
        if context is None:
            context = self._contexts[ca_file] = self._build_context(ca_file)
        return context

    def _build_context(self, ca_file: str) -> ssl.SSLContext | bool:
        cert_file = self._environ.get("SSL_CERT_FILE", "")
        if not (ca_file or cert_file or self._environ.get("SSL_CERT_DIR")):
            return True  # aiohttp's own, which is made with the package
        context = ssl.create_default_context()
        if cert_file:
            load_authorities(context, cert_file, "SSL_CERT_FILE")
        if ca_file:
            load_authorities(context, ca_file, "ca_file")
        context.set_alpn_protocols(["http/1.1"])
        return context


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Name and value of a variable in lower or upper case; both "" where it is not set."""
    for spelling in (name, name.upper()):
        if value := environ.get(spelling, "").strip():
            return spelling, value
    return "", ""


def _passwords(environ: Mapping[str, str]) -> dict[str, str]:
    """The passwords of the environment's proxies, by the variable."""
    passwords: dict[str, str] = {}
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        source, value = _variable(environ, name)
        parts = value.rpartition("@")[0].rpartition("//")[2].partition(":")
        if parts[2]:
            passwords[source] = unquote(parts[2])
    return passwords


def goes_directly(endpoint: str, no_proxy: str) -> bool:
    """Whether NO_PROXY exempts an endpoint.

    Args:
        endpoint: scheme, host and port.
        no_proxy: the variable's value, a list with commas or blanks.

    >>> goes_directly("https://api.corp.example", ".corp.example"), goes_directly("http://10.1.2.3:80", "10.0.0.0/8")
    (True, True)
    >>> goes_directly("https://notcorp.example", "corp.example"), goes_directly("https://a.example:1", "a.example:2")
    (False, False)
    """
    parts = urlsplit(endpoint)
    host = (parts.hostname or "").rstrip(".").lower()
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    return any(_matches(host, port, entry.lower()) for entry in no_proxy.replace(",", " ").split())


def _matches(host: str, port: int, entry: str) -> bool:
    if entry == "*":
        return True
    host_part, colon, digits = entry.rpartition(":")
    if colon and digits.isdigit() and (":" not in host_part or host_part.startswith("[")):
        if int(digits) != port:
            return False
        entry = host_part
    entry = entry.strip("[]")
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        name = entry.removeprefix("*").strip(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))


def authority_hint(error: Exception) -> str:
    """Advice on a certificate that is not trusted."""
    if "ostname" in str(error) or "IP address" in str(error):
        return "the host name in the address must be the one in the certificate"
    return "give the certificate of the authority that signed it as ca_file: of the model, or in SSL_CERT_FILE"
