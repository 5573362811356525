"""`matrix:` expands targets: one target for every combination of the variables that it uses, and of no others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from steelyard.config.leaves import as_text, described
from steelyard.config.positions import Entry, Node, texts
from steelyard.config.problems import Problems
from steelyard.errors import ConfigError, did_you_mean
from steelyard.text.template import placeholders

MAX_TARGETS: Final = 500
NOT_IN_FILE_NAMES: Final = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')

Variables = Mapping[str, tuple[Node, ...]]
Choice = Mapping[str, Node]


def expanded(root: Node) -> tuple[Node, Mapping[str, Mapping[str, str]]]:
    """`root` without its matrix, every target that uses it expanded, and the tags that this gives to each.

    Raises:
        ConfigError: the matrix is malformed, no target uses a variable, or there would be too many targets.
    """
    if "matrix" not in root.entries:
        return root, {}
    variables = _variables(root.entries["matrix"].node)
    targets = root.entries.get("targets")
    others = {key: entry for key, entry in root.entries.items() if key != "matrix"}
    if targets is None or not isinstance(targets.node.value, Mapping):
        return root.with_value(others), {}
    _require_use(root.entries["matrix"].node, targets.node)
    made: dict[str, Entry] = {}
    tags: dict[str, Mapping[str, str]] = {}
    for entry in targets.node.entries.values():
        for name, node, choice in _copies(entry, variables):
            if name in made:
                raise ConfigError(f"the matrix makes two targets called {name!r}", entry.key.place)
            made[name] = Entry(replace(entry.key, value=name), node)
            tags[name] = {variable: as_text(value) for variable, value in choice.items()}
    others["targets"] = Entry(targets.key, targets.node.with_value(made))
    return root.with_value(others), tags


def _variables(matrix: Node) -> Variables:
    if not isinstance(matrix.value, Mapping):
        raise ConfigError(f"matrix: expected a mapping of variable to list, but got {described(matrix)}", matrix.place)
    problems = Problems()
    variables: dict[str, tuple[Node, ...]] = {}
    for name, entry in matrix.entries.items():
        with problems.gathered(entry.node):
            variables[name] = _values(name, entry)
    problems.raise_any()
    return variables


def _values(name: str, entry: Entry) -> tuple[Node, ...]:
    if not re.fullmatch(r"\w[\w-]*", name):
        raise ConfigError(
            f"matrix: {name!r} cannot be used as {{{{{name}}}}}; use letters, digits and _", entry.key.place
        )
    nodes = entry.node.value
    if not isinstance(nodes, tuple) or not nodes:
        raise ConfigError(f"matrix: {name} takes a list of values, but got {described(entry.node)}", entry.node.place)
    seen = set()
    for node in nodes:
        text = as_text(node)
        if text in seen:
            raise ConfigError(f"matrix: {name} lists {text!r} twice", node.place)
        seen.add(text)
    return nodes


def _used(names: Mapping[str, object], entry: Entry) -> tuple[str, ...]:
    """Those of `names` that the target's name or any text in it has as a placeholder, in the order of the matrix."""
    written = {name for text in (entry.key, *texts(entry.node)) for name, _ in placeholders(text.value)}
    return tuple(name for name in names if name in written)


def _require_use(matrix: Node, targets: Node) -> None:
    used = {name for entry in targets.entries.values() for name in _used(matrix.entries, entry)}
    problems = Problems()
    for name, entry in matrix.entries.items():
        if name not in used:
            written = {
                found
                for target in targets.entries.values()
                for text in texts(target.node)
                for found, _ in placeholders(text.value)
            }
            near = did_you_mean(name, written - set(matrix.entries))
            hint = f"; write {{{{{name}}}}} where its value belongs" if near[:1] != ":" else near
            problems.add(f"no target uses the matrix variable {name!r}{hint}", entry.key)
    problems.raise_any()


def _copies(entry: Entry, variables: Variables) -> Iterator[tuple[str, Node, Choice]]:
    used = _used(variables, entry)
    if prod(len(variables[name]) for name in used) > MAX_TARGETS:
        raise ConfigError(f"the matrix makes more than {MAX_TARGETS} targets of this one", entry.key.place)
    for values in product(*(variables[name] for name in used)):
        choice = dict(zip(used, values, strict=True))
        yield _name(entry.key.value, choice), substituted(entry.node, choice), choice


def _name(template: str, choice: Choice) -> str:
    """The expanded target's name; what it does not say itself stands in brackets."""
    said = {name for name, _ in placeholders(template)}
    shown = {name: NOT_IN_FILE_NAMES.sub("-", as_text(node)) for name, node in choice.items()}
    rest = ",".join(f"{name}={text}" for name, text in shown.items() if name not in said)
    return _filled(template, shown) + (f"[{rest}]" if rest else "")


def substituted(node: Node, choice: Choice) -> Node:
    """`node` with the placeholders of `choice` filled in; a text that is nothing else becomes the value itself.

    >>> from steelyard.config.positions import from_plain, plain
    >>> k = from_plain(5, "")
    >>> plain(substituted(from_plain({"k": "{{k}}", "q": "top {{k}} of {{n}}"}, ""), {"k": k}))
    {'k': 5, 'q': 'top 5 of {{n}}'}
    """
    if isinstance(node.value, Mapping):
        return node.with_value(
            {key: Entry(entry.key, substituted(entry.node, choice)) for key, entry in node.entries.items()}
        )
    if isinstance(node.value, tuple):
        return node.with_value(tuple(substituted(one, choice) for one in node.value))
    if not isinstance(node.value, str):
        return node
    found = placeholders(node.value)
    if len(found) == 1 and found[0][0] in choice and node.value == _written(node.value, found[0][1]):
        return replace(node, value=choice[found[0][0]].value, raw=choice[found[0][0]].raw)
    return replace(node, value=_filled(node.value, {name: as_text(value) for name, value in choice.items()}))


def _written(text: str, start: int) -> str:
    return text[start : text.index("}}", start) + 2]


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, start in reversed(placeholders(text)):
        if name in values:
            end = start + len(_written(text, start))
            text = text[:start] + values[name] + text[end:]
    return text
