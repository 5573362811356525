"""Secrets by reference: `${NAME}` is resolved when the session opens and never leaves it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from steelyard.errors import ConfigError
from steelyard.text.references import REFERENCE, references

__all__ = ["Secrets", "references"]

_SHORTEST: Final = 6
"""Hiding a shorter value wherever it occurs would deface replies. Local servers are given keys like EMPTY or none:
those are taken for no secrets and hidden only as they stand in a header, behind "Bearer"."""


class Secrets:
    """The values behind references, and the eraser that keeps them out of everything that is stored or shown.

    Args:
        names: every reference that the targets and scorers use.
        given: values from a `.env` file or a test; the environment is asked for the others.

    Raises:
        ConfigError: a name has no value, or one that holds a control character.
    """

    def __init__(self, names: Iterable[str], given: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        for name in sorted(set(names)):
            value = given.get(name) or os.environ.get(name)
            if not value:
                raise ConfigError(f"${{{name}}} has no value: set the environment variable {name} or put it into .env")
            if not value.isprintable():
                raise ConfigError(f"the value of {name} holds a line break or another control character")
            self._values[name] = value
        # The longest first: a key may be the beginning of another.
        hidden = sorted((form, f"[secret {name}]") for name, value in self._values.items() for form in _forms(value))
        self._texts = sorted(hidden, key=lambda one: -len(one[0]))
        self._bytes = [(form.encode(), shown.encode()) for form, shown in self._texts]

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

    def __bool__(self) -> bool:
        return bool(self._texts)

    def resolve(self, text: str) -> str:
        """`text` with every reference replaced by its value."""
        if "${" not in text:
            return text
        return REFERENCE.sub(lambda match: self._values.get(match[1], match[0]), text)

    def redact(self, data: bytes) -> bytes:
        """`data` with every value replaced by its name."""
        for value, name in self._bytes:
            if value in data:
                data = data.replace(value, name)
        return data

    def redact_text(self, text: str) -> str:
        """The same for a text."""
        for value, name in self._texts:
            if value in text:
                text = text.replace(value, name)
        return text

    def redact_value(self, value: Any) -> Any:
        """The same for every text in a plain value, keys included; without secrets it is the value itself."""
        if not self._texts:
            return value
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, Mapping):
            return {self.redact_value(key): self.redact_value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.redact_value, value))
        return value


def _forms(value: str) -> set[str]:
    """How a secret may come back: as it is, as JSON writes it, or percent-encoded."""
    if len(value) < _SHORTEST:
        return {f"Bearer {value}"}
    escaped = json.dumps(value)[1:-1]
    return {value, escaped, escaped.replace("/", "\\/"), quote(value, safe=""), quote(value)}
