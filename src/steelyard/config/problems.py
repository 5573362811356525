"""All that is wrong with a configuration, told at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from steelyard.config.positions import Node
from steelyard.errors import ConfigError, Place, SteelyardError

_SHOWN: Final = 50


class ConfigErrors(ConfigError):
    """Several errors of one configuration, in the order of the file; its text lists each with its place."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        self.errors = tuple(sorted(errors, key=_order))
        shown = [str(one) for one in self.errors[:_SHOWN]]
        if len(self.errors) > _SHOWN:
            shown.append(f"... and {len(self.errors) - _SHOWN} more")
        super().__init__("\n".join([f"{len(self.errors)} errors", *shown]))


def _order(error: ConfigError) -> tuple[str, int, int]:
    place = error.place or Place("")
    return place.file, place.line, place.column


class Problems:
    """Gathers errors while the walk goes on."""

    def __init__(self) -> None:
        self._errors: list[ConfigError] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    def add(self, message: str, node: Node) -> None:
        """Note what is wrong at `node`."""
        self._errors.append(ConfigError(message, node.place))

    def note(self, error: SteelyardError, node: Node) -> None:
        """Note an error that somebody else raised about `node`; it keeps its own place if it has one."""
        for one in error.errors if isinstance(error, ConfigErrors) else (error,):
            if isinstance(one, ConfigError):
                self._errors.append(ConfigError(one.message, one.place or node.place))
            else:
                self._errors.append(ConfigError(str(one), node.place))

    @contextmanager
    def gathered(self, node: Node) -> Iterator[None]:
        """Note what is raised inside, and go on."""
        try:
            yield
        except SteelyardError as error:
            self.note(error, node)

    def raise_any(self) -> None:
        """Raise what was noted, once each.

        Raises:
            ConfigError: the one error, or all of them as `ConfigErrors`.
        """
        distinct = list({str(one): one for one in self._errors}.values())
        if len(distinct) == 1:
            raise distinct[0]
        if distinct:
            raise ConfigErrors(distinct)
