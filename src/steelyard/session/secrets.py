"""Resolves references to secrets (`${NAME}`) when a session opens, and redacts the values wherever they come back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from steelyard.errors import ConfigError
from steelyard.models.references import REFERENCE, references
from steelyard.session.key_search import KeySearch

__all__ = ["Secrets", "environment_set", "environment_with", "references"]


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
        self._hidden = dict(self._values)
        self.empty = not self._hidden

    def hide(self, values: Mapping[str, str]) -> None:
        """Redact further values too: passwords in the environment's proxy addresses, which no reference names."""
        self._hidden |= values
        self.empty = not self._hidden
        self.__dict__.pop("_search", None)

    @cached_property
    def _search(self) -> KeySearch:
        """Made when the first text comes: an address of a store is resolved and nothing else."""
        return KeySearch(self._hidden)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

    def resolve(self, text: str) -> str:
        """`text` with every reference replaced by its value."""
        if "${" not in text:
            return text
        return REFERENCE.sub(lambda match: self._values.get(match[1], match[0]), text)

    def redact(self, data: bytes) -> bytes:
        """A body with every run of eight characters of a secret replaced by its name, see `key_forms`."""
        return data if self.empty else self._search.mask(data)

    def redact_text(self, text: str) -> str:
        """The same for a text."""
        return text if self.empty else self._search.mask_text(text)

    def redact_value(self, value: Any) -> Any:
        """A plain value with every text redacted, keys included; the same object if there are no secrets in it."""
        if self.empty or not self._search.finds("\n".join(_texts(value))):
            return value
        return self._redact_parts(value)

    def _redact_parts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._search.mask_text(value)
        if isinstance(value, Mapping):
            return {self._redact_parts(key): self._redact_parts(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self._redact_parts, value))
        return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def environment() -> Mapping[str, str]:
    """The process's environment, which only this module reads; `session.routes` gets proxy settings from here."""
    return os.environ
