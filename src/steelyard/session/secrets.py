"""Secrets by reference: `${NAME}` is resolved when the session opens and never leaves it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from steelyard.errors import ConfigError

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHORTEST: Final = 6
"""A value below this length is no key, and hiding it wherever it occurs would deface replies."""


def references(value: Any) -> Iterator[str]:
    """Every NAME of a `${NAME}` in the strings of a plain value.

    >>> list(references({"headers": ["Bearer ${KEY}"]}))
    ['KEY']
    """
    if isinstance(value, str):
        yield from REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from references(one)


class Secrets:
    """The values behind references, and the eraser that keeps them out of everything that is stored or shown.

    Args:
        names: every reference that the targets and scorers use.
        given: values from a `.env` file or a test; the environment is asked for the others.

    Raises:
        ConfigError: a name has no value.
    """

    def __init__(self, names: Iterable[str], given: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        for name in sorted(set(names)):
            value = given.get(name) or os.environ.get(name)
            if not value:
                raise ConfigError(f"${{{name}}} has no value: set the environment variable {name} or put it into .env")
            self._values[name] = value
        hidden = [(name, value) for name, value in self._values.items() if len(value) >= _SHORTEST]
        self._bytes = [(value.encode(), f"[secret {name}]".encode()) for name, value in hidden]

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

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
        return self.redact(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
