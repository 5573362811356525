"""Maps configuration names to classes, which are imported on first use.

Another package adds a class with an entry point in the group `steelyard.targets`, `steelyard.scorers`,
`steelyard.models` or `steelyard.suites`; a name that exists already is rejected.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from steelyard.errors import ConfigError, did_you_mean

Kind = Literal["model", "target", "scorer", "suite"]

DEFAULT_SUITE: Final = "general"
"""The suite of a configuration that names none."""


@cache
def built_in_classes() -> Mapping[Kind, Mapping[str, str]]:
    """The classes of this package: kind -> name in a configuration -> `module:Class`."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    classes: Mapping[Kind, Mapping[str, str]] = json.loads(text)
    return classes


@cache
def _import_paths(kind: Kind) -> Mapping[str, str]:
    from importlib.metadata import entry_points

    paths = dict(built_in_classes()[kind])
    for point in entry_points(group=f"steelyard.{kind}s"):
        if point.name in paths:
            raise ConfigError(f"entry point {point.value} adds the {kind} {point.name!r}, which exists already")
        paths[point.name] = point.value
    return paths


def names(kind: Kind) -> tuple[str, ...]:
    """List all registered names of a kind, sorted."""
    return tuple(sorted(_import_paths(kind)))


def find(kind: Kind, name: str, *, built_in: bool = False) -> type:
    """Import and return the class registered as `name`.

    Args:
        kind: of the class.
        name: under which it is registered.
        built_in: only a class of this package, for names that come from a store and not from this person.

    Raises:
        ConfigError: there is none; the message suggests the nearest name.
    """
    paths = built_in_classes()[kind] if built_in else _import_paths(kind)
    if name not in paths:
        raise ConfigError(f"there is no {kind} {name!r}{did_you_mean(name, paths)}")
    module, _, attribute = paths[name].partition(":")
    cls: type = getattr(import_module(module), attribute)
    return cls


def name_of(kind: Kind, cls: type) -> str | None:
    """The name under which `cls` is registered, or None."""
    path = f"{cls.__module__}:{cls.__qualname__}"
    # Only a class of another package can be an entry point, and looking for entry points reads files of every package.
    paths = built_in_classes()[kind] if path.startswith("steelyard.") else _import_paths(kind)
    return next((name for name, candidate in paths.items() if candidate == path), None)


NOT_A_SETTING: Final[Mapping[str, bool]] = MappingProxyType({"setting": False})
"""Metadata of a field that only this package sets: no key of a configuration, and not in the manifest."""


def settings_of(cls: Any) -> list[dataclasses.Field[Any]]:
    """The fields of a dataclass that a user may set, those that classes have in common behind its own."""
    settings = [field for field in dataclasses.fields(cls) if field.init and field.metadata.get("setting", True)]
    return sorted(settings, key=lambda field: field.kw_only is True)


def describe(value: Any) -> Any:
    """Describe `value` as plain JSON for a manifest; a registered dataclass becomes `{name: {fields}}`.

    Secrets are references (`${NAME}`) in the fields, so they stay references here. A function becomes its import path,
    a file its name and a digest of its content; fields of a class's own `manifest()` are added.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _describe_fields(value)
    if isinstance(value, Mapping):
        return {str(key): describe(member) for key, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [describe(member) for member in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, Path):
        digest = blake2b(value.read_bytes(), digest_size=16).hexdigest() if value.is_file() else ""
        return {"file": value.name, "digest": digest}
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}:{value.__qualname__}"
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else _ADDRESS.sub("", str(value))


_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lies in memory, as its repr has it: two runs of one script would differ by it."""


def _describe_fields(value: Any) -> Any:
    if hasattr(value, "described"):  # it is written in a configuration as what it wraps is
        return value.described()
    fields = {field.name: describe(getattr(value, field.name)) for field in settings_of(type(value))}
    if hasattr(value, "manifest"):
        fields.update(value.manifest())
    name = next((name for kind in built_in_classes() if (name := name_of(kind, type(value)))), None)
    return {name: fields} if name else fields
