"""Nodes to objects: an annotation says what is wanted, and every error of the file is found before any is told.

A class with options is a frozen dataclass and its fields are its keys. A model, target or scorer is written
`{name: {fields}}`; `{name: scalar, other: ...}` where the scalar is the field called like the name, or else the first;
or the bare name where there is nothing to set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_origin

from steelyard.config.hints import (
    LEAVES,
    Key,
    element_of,
    is_class,
    is_json,
    is_literal,
    keys_of,
    kind_of,
    members,
    scalar_key,
    value_of,
    words,
)
from steelyard.config.leaves import described, is_path, leaf, suits
from steelyard.config.positions import Entry, Node, plain
from steelyard.config.problems import Problems
from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.registry import Kind, find, names

_MAY_BE_FOLDERS: Final = frozenset({"dataset"})
"""Keys that take a folder or a text. Elsewhere a folder that is called like a packaged prompt must not hide it."""


@dataclass(frozen=True, slots=True)
class Site:
    """What a value is built for: the folder that paths are resolved against, and the key it belongs to."""

    folder: Path
    what: str = ""

    def at(self, what: str) -> Site:
        """The same folder, another key."""
        return Site(self.folder, what)

    def wrong(self, node: Node, message: str) -> ConfigError:
        """The error to raise about `node`, with the key in front."""
        return ConfigError(f"{self.what}: {message}" if self.what else message, node.place)


def build(hint: Any, node: Node, site: Site) -> Any:
    """The object that `node` describes.

    Args:
        hint: a dataclass, or any annotation that its fields may have.
        node: the tree.
        site: what it is built for.

    Raises:
        ConfigError: one mistake with its place, or all there are as `ConfigErrors`.
    """
    if len(members(hint)) > 1:
        return _one_of(hint, node, site)
    kind = kind_of(hint)
    if kind is not None:
        return named(kind, node, site)
    return plain(node) if is_json(hint) else _structure(hint, node, site)


def _structure(hint: Any, node: Node, site: Site) -> Any:
    if is_class(hint):
        return instance(hint, node, site)
    if element_of(hint) is not None:
        return _list(hint, node, site)
    if value_of(hint) is not None:
        return _mapping(hint, node, site)
    if not is_literal(hint) and hint not in LEAVES:
        raise site.wrong(node, f"this key takes {words(hint)}, which cannot be written in a configuration")
    try:
        return leaf(hint, node, site.folder)
    except ConfigError as error:
        raise site.wrong(node, error.message) from error


def _one_of(hint: Any, node: Node, site: Site) -> Any:
    wanted = [one for one in members(hint) if _fits(one, node)]
    if len(wanted) > 1 and isinstance(node.value, Mapping):
        wanted = [one for one in wanted if not is_class(one) or set(node.value) <= set(keys_of(one))] or wanted
    others = [one for one in members(hint) if one is not type(None)]
    if not wanted and str in others and isinstance(node.value, bool | int | float):
        wanted = [str]
    if not wanted and len(others) == 1:
        wanted = others
    if Path in wanted and str in wanted:
        wanted = [Path if is_path(node.value, site.folder, or_folder=site.what in _MAY_BE_FOLDERS) else str]
    if not wanted:
        raise site.wrong(node, f"expected {words(hint)}, but got {described(node)}")
    return build(wanted[0], node, site)


def _fits(hint: Any, node: Node) -> bool:
    if is_json(hint):
        return True
    if kind_of(hint):
        return isinstance(node.value, str | Mapping)
    if is_class(hint) or value_of(hint) is not None:
        return isinstance(node.value, Mapping)
    return isinstance(node.value, tuple) if element_of(hint) is not None else suits(hint, node)


def _list(hint: Any, node: Node, site: Site) -> Any:
    if not isinstance(node.value, tuple):
        raise site.wrong(node, f"expected {words(hint)}, but got {described(node)}")
    problems = Problems()
    built = []
    for one in node.value:
        with problems.gathered(one):
            built.append(build(element_of(hint), one, site))
    problems.raise_any()
    origin = get_origin(hint) or hint
    return origin(built) if origin in {list, set, frozenset} else tuple(built)


def _mapping(hint: Any, node: Node, site: Site) -> Any:
    if not isinstance(node.value, Mapping):
        raise site.wrong(node, f"expected {words(hint)}, but got {described(node)}")
    problems = Problems()
    built = {}
    for key, entry in node.entries.items():
        with problems.gathered(entry.node):
            built[key] = build(value_of(hint), entry.node, site.at(key))
    problems.raise_any()
    return built


def instance(cls: type, node: Node, site: Site) -> Any:
    """An object of the dataclass `cls` from a mapping of its fields; `check()` is called where it has one.

    Raises:
        ConfigError: as `build` does; what `cls` and its `check` raise gets the place of `node`.
    """
    if not isinstance(node.value, Mapping):
        raise site.wrong(node, f"expected {words(cls)}, but got {described(node)}")
    return _filled(cls, node.entries, node, site)


def _filled(cls: type, entries: Mapping[str, Entry], node: Node, site: Site) -> Any:
    keys = keys_of(cls)
    problems = Problems()
    values = {}
    for name, entry in entries.items():
        if name in keys:
            with problems.gathered(entry.node):
                values[name] = build(keys[name].hint, entry.node, site.at(name))
        else:
            near = did_you_mean(name, keys) if keys else "; nothing can be set here"
            problems.add(f"unknown key {name!r}{near}", entry.key)
    for key in keys.values():
        if key.required and key.name not in entries:
            problems.note(site.wrong(node, f"the key {key.name!r} is missing ({words(key.hint)})"), node)
    problems.raise_any()
    return _checked(lambda: cls(**values), node, site)


def _checked(make: Callable[[], Any], node: Node, site: Site) -> Any:
    problems = Problems()
    made: Any = None
    with problems.gathered(node), boundary("config", site.what):
        made = make()
        check = getattr(made, "check", None)
        if callable(check):
            check()
    problems.raise_any()
    return made


def named(kind: Kind, node: Node, site: Site) -> Any:
    """A registered model, target or scorer, in one of its three forms.

    Raises:
        ConfigError: as `build` does; a name that is not registered comes with the nearest that is.
    """
    if isinstance(node.value, str):
        if node.value not in names(kind):
            raise site.wrong(node, _unknown(kind, node.value))
        return _of_class(_found(kind, node.value, node), {}, node, site.at(node.value))
    if not isinstance(node.value, Mapping):
        raise site.wrong(node, f"expected a {kind}, as {{name: {{...}}}}, but got {described(node)}")
    key = _name(kind, node, site)
    found = _found(kind, key.value, key)
    keys = keys_of(found) if is_class(found) else {}
    return _of_class(found, own_entries(key.value, node, keys), key, site.at(key.value))


def _unknown(kind: Kind, name: str) -> str:
    function = kind == "target" and ":" in name
    return f"there is no {kind} {name!r}" + (
        f"; for a Python function write {{function: {name!r}}}" if function else did_you_mean(name, names(kind))
    )


def _name(kind: Kind, node: Node, site: Site) -> Node:
    """The key that names the class: the first one that is registered."""
    keys = [entry.key for entry in node.entries.values()]
    if not keys:
        raise site.wrong(node, f"expected a {kind}; known: {', '.join(names(kind))}")
    found = next((key for key in keys if key.value in names(kind)), None)
    if found is None:
        raise site.wrong(keys[0], _unknown(kind, keys[0].value))
    return found


def _found(kind: Kind, name: str, node: Node) -> Any:
    problems = Problems()
    found: Any = None
    with problems.gathered(node), boundary("config", f"the {kind} {name!r} cannot be loaded"):
        found = find(kind, name)
    problems.raise_any()
    return found


def own_entries(name: str, node: Node, keys: Mapping[str, Key]) -> Mapping[str, Entry]:
    """The fields of what is registered as `name`: in the mapping below the name, or beside it."""
    inner = node.entries[name]
    beside = {key: entry for key, entry in node.entries.items() if key != name}
    field = scalar_key(name, keys)
    if isinstance(inner.node.value, Mapping):
        problems = Problems()
        for entry in beside.values():
            problems.add(
                f"{entry.key.value!r} stands beside {name!r}; the options of {name!r} stand inside it", entry.key
            )
        problems.raise_any()
        return inner.node.entries
    if inner.node.value is None:
        return beside  # `- correctness:` with its options in the lines below, no deeper than the name
    if field is None:
        return {name: inner, **beside}
    if field.name in beside:
        key = beside[field.name].key
        raise ConfigError(f"{field.name!r} is given twice: {name!r} says it already", key.place)
    return {field.name: inner, **beside}


def _of_class(found: Any, entries: Mapping[str, Entry], node: Node, site: Site) -> Any:
    if is_class(found):
        return _filled(found, entries, node, site)
    problems = Problems()
    for entry in entries.values():
        problems.add("nothing can be set here", entry.key)
    problems.raise_any()
    return _checked(found, node, site) if isinstance(found, type) else found
