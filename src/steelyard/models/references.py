"""Keys are references: what is written out would be stored with the run, so it is refused before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from steelyard.errors import ConfigError
from steelyard.text.references import REFERENCE, texts_in
from steelyard.text.secret_signs import is_written_out, looks_secret, written_out


def check_key(key: str) -> None:
    """Refuse an API key that is not a reference; an empty one is none.

    Raises:
        ConfigError: it is written out.
    """
    if key and not REFERENCE.fullmatch(key):
        raise ConfigError('api_key must be a reference such as "${OPENAI_API_KEY}": a key itself would be stored')


def check_secrets(url: str, headers: Mapping[str, str]) -> None:
    """Refuse a key that is written out where a reference to it belongs.

    Args:
        url: where calls go; may hold a reference.
        headers: sent with every call; may hold references.

    Raises:
        ConfigError: which, and what to write instead.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ConfigError("the address holds a user name or password, which would be stored; use a header with ${NAME}")
    query = parse_qsl(parts.query, keep_blank_values=True)
    if looks_secret(parts.path) or any(is_written_out(name, value, outside=True) for name, value in query):
        raise ConfigError('the address holds a key, which would be stored; write it as a reference, "${NAME}"')
    for name, value in headers.items():
        if is_written_out(name, value, outside=True):
            raise ConfigError(f'header {name} must hold a reference such as "${{NAME}}": a key itself would be stored')


def check_sent(where: str, sent: Mapping[str, Any]) -> None:
    """Refuse a key in what is sent with the question, as itself or as a reference, which is not resolved there.

    Args:
        where: `body` or `parameters`.
        sent: a plain value.

    Raises:
        ConfigError: which, and where it belongs.
    """
    name = written_out(sent)
    if name is not None:
        raise ConfigError(
            f'{where}: {name} holds a key, which would be stored; send it in a header, as a reference "${{NAME}}"'
        )
    for text in texts_in(sent):
        if found := REFERENCE.search(text):
            raise ConfigError(f"{found[0]} in {where} is not resolved: a key belongs into a header or the address")
