"""Proxies and certificate authorities for reaching an endpoint.

These are fields of every model that has an address. They do not change what is asked, so they are not part of the
journal's keys and a resume may change them. `session.routes` reads the environment's proxies and certificates.
"""

# Why it is so, and what was rejected: docs/decisions/models-http-client.md

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from steelyard.errors import ConfigError
from steelyard.models.references import REFERENCE, masked

DIRECT: Final = "none"
"""As `proxy`: no proxy at all, whatever the environment says."""
_PORTS: Final = {"http": 80, "https": 443}


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
