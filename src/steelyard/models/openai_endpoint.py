"""What every call to an OpenAI-compatible endpoint shares: its check, its headers and its one POST."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from steelyard.errors import ConfigError, expect_number
from steelyard.models.base import Request, endpoint_of
from steelyard.models.references import check_key, check_secrets, check_sent
from steelyard.text.secret_signs import masked

_ENCODE: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class Endpoint(Protocol):
    """The fields that such models have in common; `models.openai_compatible` describes them."""

    @property
    def base_url(self) -> str:
        """Up to and without the path of a call."""

    @property
    def api_key(self) -> str:
        """A reference, or empty."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Sent with every call."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Sent with every call."""

    @property
    def timeout_s(self) -> float:
        """Limit of one attempt, in seconds."""


def check_endpoint(model: Endpoint, reserved: Iterable[str]) -> None:
    """Find what is wrong before anything is sent.

    Args:
        model: its fields.
        reserved: keys of the body that parameters may not set.

    Raises:
        ConfigError: no address, a key that is written out, or a parameter that is not one.
    """
    parts = urlsplit(model.base_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"base_url {masked(model.base_url)!r} is not an http(s) address")
    check_key(model.api_key)
    check_secrets(model.base_url, model.headers)
    check_sent("parameters", model.parameters)
    expect_number("timeout_s", model.timeout_s, 0.001)
    for name in reserved:
        if name in model.parameters:
            raise ConfigError(f"parameters may not hold {name!r}")


def post(model: Endpoint, path: str, body: Mapping[str, Any], input_tokens: int) -> Request:
    """One POST of a JSON body to `path` below the base address."""
    return Request(
        endpoint=endpoint_of(model.base_url),
        url=f"{model.base_url.rstrip('/')}/{path}",
        payload=encode_body(body),
        headers=_headers(model.api_key, tuple(model.headers.items())),
        timeout_s=model.timeout_s,
        input_tokens=input_tokens,
        output_tokens=most_tokens(body),
    )


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Compact JSON in ASCII, so that half of a surrogate pair can be sent as well."""
    return _ENCODE(body).encode()


def most_tokens(body: Mapping[str, Any]) -> int:
    """The most tokens that a reply to `body` may have; 0 where it sets no limit.

    >>> most_tokens({"max_tokens": 9}), most_tokens({"max_completion_tokens": 5}), most_tokens({})
    (9, 5, 0)
    """
    found = body.get("max_completion_tokens", body.get("max_tokens"))
    return found if type(found) is int and found > 0 else 0


@lru_cache(maxsize=256)
def _headers(api_key: str, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    key = (("Authorization", f"Bearer {api_key}"),) if api_key else ()
    return (("Content-Type", "application/json"), *key, *headers)


def mapping_or_empty(value: Any) -> Mapping[str, Any]:
    """`value` where it is a mapping: services put null, texts and lists in places where one should stand."""
    return value if isinstance(value, Mapping) else {}
