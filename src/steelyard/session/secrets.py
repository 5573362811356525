"""Resolves references to secrets (`${NAME}`) when a session opens, and redacts the values wherever they come back."""

from __future__ import annotations

import contextlib
import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from steelyard.errors import ConfigError
from steelyard.models.references import REFERENCE, references

__all__ = ["Secrets", "environment_set", "environment_with", "references"]

_SHORTEST: Final = 6
"""Redacting a shorter value everywhere would damage replies that contain the same word. Local servers are often given
keys such as EMPTY or none: these are redacted only after "Bearer", as they occur in a header."""

_LONG: Final = 12
"""A value of this many characters is redacted whatever its case, a shorter one only if it has a digit: `october` in a
reply is most likely the month, not the password `October`."""
_URL_SAFE: Final = str.maketrans("+/", "-_")


def environment_with(values: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process that this one starts: this process's own variables and `values`."""
    return {**os.environ, **values}


@contextlib.contextmanager
def environment_set(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process's own environment inside the block, for processes that can only inherit it."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Secrets:
    """The values of references; redacts them from everything that is stored or shown.

    Args:
        names: every reference that the targets and scorers use.
        dotenv: values from a `.env` file or a test, preferred to those of the environment.

    Attributes:
        empty: whether there is nothing to redact.

    Raises:
        ConfigError: a name has no value, or its value has a control character.
    """

    def __init__(self, names: Iterable[str], dotenv: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        for name in sorted(set(names)):
            value = dotenv.get(name) or os.environ.get(name)
            if not value:
                raise ConfigError(f"${{{name}}} has no value: set the environment variable {name} or put it into .env")
            if not value.isprintable():
                raise ConfigError(f"the value of {name} holds a line break or another control character")
            self._values[name] = value
        self._hide(self._values)

    def hide(self, values: Mapping[str, str]) -> None:
        """Redact further values too: passwords in the environment's proxy addresses, which no reference names."""
        self._hide({**self._values, **values})

    def _hide(self, values: Mapping[str, str]) -> None:
        exact: dict[str, str] = {}
        folded: dict[str, str] = {}
        for name, value in values.items():
            for form in _forms(value):
                if form.isascii() and _is_distinct(value):
                    folded.setdefault(form.lower(), f"[secret {name}]")
                else:
                    exact.setdefault(form, f"[secret {name}]")
        # The longest first: a key may be the beginning of another.
        self._exact = sorted(exact.items(), key=lambda pair: -len(pair[0]))
        self._exact_bytes = [(form.encode(), replacement.encode()) for form, replacement in self._exact]
        self._folded = sorted(folded.items(), key=lambda pair: -len(pair[0]))
        self._folded_bytes = [form.encode() for form, _ in self._folded]
        self._names = dict(self._folded)
        self.empty = not (exact or folded)
        self._pattern = re.compile("|".join(re.escape(form) for form, _ in self._folded), re.IGNORECASE)
        self._shortest = min((len(form) for form in (*exact, *folded)), default=0)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

    def resolve(self, text: str) -> str:
        """`text` with every reference replaced by its value."""
        if "${" not in text:
            return text
        return REFERENCE.sub(lambda match: self._values.get(match[1], match[0]), text)

    def redact(self, data: bytes) -> bytes:
        """`data` with every secret replaced by its name."""
        if self.empty:
            return data
        lowered = data.lower()
        if any(form in lowered for form in self._folded_bytes):
            data = self._replaced(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        for value, name in self._exact_bytes:
            if value in data:
                data = data.replace(value, name)
        return data

    def redact_text(self, text: str) -> str:
        """A text with every secret replaced by its name."""
        if len(text) < self._shortest:
            return text
        lowered = text.lower()
        if any(form in lowered for form, _ in self._folded):
            text = self._replaced(text)
        for value, name in self._exact:
            if value in text:
                text = text.replace(value, name)
        return text

    def _replaced(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._names.get(match[0].lower(), "[secret]"), text)

    def redact_value(self, value: Any) -> Any:
        """A plain value with every text redacted, keys included; the same object if there are no secrets."""
        if self.empty:
            return value
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, Mapping):
            return {self.redact_value(key): self.redact_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.redact_value, value))
        return value


def environment() -> Mapping[str, str]:
    """The process's environment, which only this module reads; `session.routes` gets proxy settings from here."""
    return os.environ


def _is_distinct(value: str) -> bool:
    """Whether a value is unlikely to occur by chance, so that it is redacted in upper and lower case alike."""
    return len(value) >= _LONG or (len(value) > _SHORTEST and any(character.isdigit() for character in value))


def _forms(value: str) -> set[str]:
    """Forms in which a secret may come back: as it is, JSON-escaped, percent-encoded, in hexadecimal or base64."""
    if len(value) < _SHORTEST:
        return {f"Bearer {value}"}
    escaped = json.dumps(value)[1:-1]
    data = value.encode()
    text_forms = {value, escaped, escaped.replace("/", "\\/"), quote(value, safe=""), quote(value)}
    return text_forms | {data.hex(), data.hex().upper()} | _base64_forms(data)


def _base64_forms(data: bytes) -> set[str]:
    """A secret in base64, alone or inside a longer text, where it may begin at any of three offsets (`user:key`).

    Characters at either end that also encode bits of the neighbouring bytes are left out of a form.
    """
    forms = {b64encode(data).decode().rstrip("=")}
    for bytes_before in range(3):
        start = -(-bytes_before * 8 // 6)
        end = (bytes_before + len(data)) * 8 // 6
        forms.add(b64encode(b"\0" * bytes_before + data + b"\0\0").decode()[start:end])
    return forms | {form.translate(_URL_SAFE) for form in forms}
