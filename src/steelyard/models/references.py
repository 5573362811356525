"""Keys are references: what is written out would be stored with the run, so it is refused before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from steelyard.errors import ConfigError
from steelyard.types import Json

_REFERENCE: Final = re.compile(r"\$\{[A-Za-z_]\w*\}")
_SECRET_HEADER: Final = re.compile(r"authorization|api-?key|token|secret|cookie", re.IGNORECASE)
_SECRET_QUERY: Final = re.compile(r"[?&](?:[\w-]*key|[\w-]*token|secret|password)=(?!\$\{)", re.IGNORECASE)


def check_key(key: str) -> None:
    """Refuse an API key that is not a reference; an empty one is none.

    Raises:
        ConfigError: it is written out.
    """
    if key and not _REFERENCE.fullmatch(key):
        raise ConfigError('api_key must be a reference such as "${OPENAI_API_KEY}": a key itself would be stored')


def check_secrets(url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
    """Refuse a key that is written out, and a reference where the wire does not resolve it.

    Args:
        url: where calls go; may hold a reference in its query.
        headers: sent with every call; may hold references.
        body: what is sent; may hold none.

    Raises:
        ConfigError: which, and what to write instead.
    """
    if "@" in urlsplit(url).netloc:
        raise ConfigError("the address holds a user name or password, which would be stored; use a header with ${NAME}")
    if _SECRET_QUERY.search(url):
        raise ConfigError('the address holds a key, which would be stored; write it as a reference, "${NAME}"')
    for name, value in headers.items():
        if _SECRET_HEADER.search(name) and not _REFERENCE.search(value):
            raise ConfigError(f'header {name} must hold a reference such as "${{NAME}}": a key itself would be stored')
    for text in _texts(body):
        if found := _REFERENCE.search(text):
            raise ConfigError(f"{found[0]} in the body is not resolved: a key belongs into a header or the address")


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
