"""Prepares the targets of a configuration before they are built: expands the matrix, checks names, collects tags.

`matrix:` makes one target for every combination of the variables that a target uses; other variables are ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Final, TypeVar

from steelyard.building.keys import as_text, described
from steelyard.building.nodes import MAX_NODES, MappingEntry, Node, Problems, from_plain, read_each, texts
from steelyard.building.row_values import refusal
from steelyard.errors import ConfigError, did_you_mean
from steelyard.files import NOT_IN_FILE_NAMES
from steelyard.models.http import MESSAGE_NAMES
from steelyard.normal_form import stream_safe
from steelyard.prompts.sample_values import EXAMPLES, SAMPLE_NAMES
from steelyard.prompts.template import names_of, placeholders

T = TypeVar("T")

MAX_TARGETS: Final = 500
_CHARACTERS: Final = 1_000
"""So many count as one value where the size of the expanded matrix is limited."""
MAX_NAME_BYTES: Final = 150
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)

_TEXTS: Final = frozenset({"template", "system", "goal", "persona", "body"})
"""Options of targets that hold what is said, in which columns of the dataset may be named."""
_NEVER: Final = frozenset(
    {"name", "base_url", "url", "api_key", "headers", "proxy", "ca_file", "function", "engine", "runnable", "command"}
) | frozenset({"documents", "knowledge", "index", "file", "path", "model"})
_KNOWN: Final = frozenset({*SAMPLE_NAMES, *MESSAGE_NAMES, EXAMPLES})
"""Names that have a value without a column."""

Variables = Mapping[str, tuple[Node, ...]]
Choice = Mapping[str, Node]


def expanded(root: Node) -> tuple[Node, Mapping[str, Mapping[str, str]]]:
    """Expand the matrix: `root` without it, with one target per combination, and the tags of each.

    Raises:
        ConfigError: the matrix is malformed, no target uses a variable, or there would be too many targets.
    """
    if "matrix" not in root.entries:
        return root, {}
    variables = _read_mapping(root.entries["matrix"].node, "matrix: expected a mapping of variable to list", _values)
    targets = root.entries.get("targets")
    others = {key: entry for key, entry in root.entries.items() if key != "matrix"}
    if targets is None or not isinstance(targets.node.value, Mapping):
        return root.with_value(others), {}
    _require_use(root.entries["matrix"].node, targets.node)
    entries: dict[str, MappingEntry] = {}
    tags: dict[str, Mapping[str, str]] = {}
    longest = {name: max(map(_extent, nodes)) for name, nodes in variables.items()}
    extent = 0
    for entry in targets.node.entries.values():
        used = {name: variables[name] for name in _used(variables, entry)}
        copies = prod(map(len, used.values()))
        if copies > MAX_TARGETS:
            raise ConfigError(f"the matrix makes more than {MAX_TARGETS} targets from this one", entry.key.location)
        extent += copies * (sum(longest[name] for name in used) + _extent(entry.node, longest))
        if extent > MAX_NODES * _CHARACTERS:
            raise ConfigError(
                "too large: with its matrix the file has too many values or characters", entry.key.location
            )
        for name, node, choice in _copies(entry, used):
            if name in entries:
                raise ConfigError(f"the matrix makes two targets called {name!r}", entry.key.location)
            entries[name] = MappingEntry(replace(entry.key, value=name), node)
            tags[name] = {variable: as_text(value) for variable, value in choice.items()}
    others["targets"] = MappingEntry(targets.key, targets.node.with_value(entries))
    return root.with_value(others), tags


def _read_mapping(node: Node, expected: str, read: Callable[[str, MappingEntry], T]) -> dict[str, T]:
    """What `read` makes of each entry of a mapping; all that is wrong with them is told together."""
    if not isinstance(node.value, Mapping):
        raise ConfigError(f"{expected}, but got {described(node)}", node.location)
    nodes = ((key, entry.node) for key, entry in node.entries.items())
    return read_each(nodes, lambda key, _: read(key, node.entries[key]))


def _values(name: str, entry: MappingEntry) -> tuple[Node, ...]:
    if not re.fullmatch(r"\w[\w-]*", name):
        raise ConfigError(
            f"matrix: {name!r} cannot be used as {{{{{name}}}}}; use letters, digits and _", entry.key.location
        )
    nodes = entry.node.value
    if not isinstance(nodes, tuple) or not nodes:
        raise ConfigError(
            f"matrix: {name} takes a list of values, but got {described(entry.node)}", entry.node.location
        )
    seen = set()
    for node in nodes:
        text = as_text(node)
        if text in seen:
            raise ConfigError(f"matrix: {name} lists {text!r} twice", node.location)
        seen.add(text)
    return nodes


def _extent(node: Node, longest: Mapping[str, int] = MappingProxyType({})) -> int:
    """The characters in a value, with those of the variables that it names; each value in it counts as many."""
    if isinstance(node.value, Mapping):
        return _CHARACTERS + sum(_extent(entry.node, longest) for entry in node.entries.values())
    if isinstance(node.value, tuple):
        return _CHARACTERS + sum(_extent(element, longest) for element in node.value)
    text = as_text(node)
    return _CHARACTERS + len(text) + sum(longest.get(name, 0) for name, _ in placeholders(text))


def _named(entry: MappingEntry) -> set[str]:
    """The names of the placeholders in a target and its name."""
    return {name for text in (entry.key, *texts(entry.node)) for name, _ in placeholders(text.value)}


def _used(variables: Variables, entry: MappingEntry) -> tuple[str, ...]:
    """The variables that a target or its name uses, in the order of the matrix."""
    named = _named(entry)
    return tuple(name for name in variables if name in named) if named else ()


def _require_use(matrix: Node, targets: Node) -> None:
    named = {name for entry in targets.entries.values() for name in _named(entry)}
    problems = Problems()
    for name, entry in matrix.entries.items():
        if name not in named:
            suggestion = did_you_mean(name, named - set(matrix.entries))
            hint = f"; write {{{{{name}}}}} where its value belongs" if suggestion[:1] != ":" else suggestion
            problems.add(f"no target uses the matrix variable {name!r}{hint}", entry.key)
    problems.raise_any()


def _copies(entry: MappingEntry, used: Variables) -> Iterator[tuple[str, Node, Choice]]:
    # A target is copied only for the variables that it uses: any other would make equal copies.
    for values in product(*used.values()):
        choice = dict(zip(used, values, strict=True))
        yield _name(entry.key.value, choice), substituted(entry.node, choice), choice


def _name(template: str, choice: Choice) -> str:
    """The expanded target's name; values that it does not contain are appended in brackets."""
    shown_in_name = {name for name, _ in placeholders(template)}
    shown = {name: NOT_IN_FILE_NAMES.sub("-", as_text(node)) for name, node in choice.items()}
    # The names of runs must differ and show the values in which they differ.
    appended = ",".join(f"{name}={text}" for name, text in shown.items() if name not in shown_in_name)
    return _filled(template, shown) + (f"[{appended}]" if appended else "")


def substituted(node: Node, choice: Choice) -> Node:
    """`node` with the placeholders of `choice` filled in; a text that is only a placeholder becomes the value itself.

    >>> from steelyard.building.nodes import from_plain, plain
    >>> k = from_plain(5, "")
    >>> plain(substituted(from_plain({"k": "{{k}}", "q": "top {{k}} of {{n}}"}, ""), {"k": k}))
    {'k': 5, 'q': 'top 5 of {{n}}'}
    """
    if isinstance(node.value, Mapping):
        return node.with_value(
            {key: MappingEntry(entry.key, substituted(entry.node, choice)) for key, entry in node.entries.items()}
        )
    if isinstance(node.value, tuple):
        return node.with_value(tuple(substituted(element, choice) for element in node.value))
    if not isinstance(node.value, str):
        return node
    matches = placeholders(node.value)
    if len(matches) == 1 and matches[0][0] in choice and node.value == _placeholder_text(node.value, matches[0][1]):
        return replace(node, value=choice[matches[0][0]].value, raw=choice[matches[0][0]].raw)
    return replace(node, value=_filled(node.value, {name: as_text(value) for name, value in choice.items()}))


def _placeholder_text(text: str, start: int) -> str:
    return text[start : text.index("}}", start) + 2]


def _filled(text: str, values: Mapping[str, str]) -> str:
    parts: list[str] = []
    end = 0
    for name, start in placeholders(text):
        if name in values:
            parts += text[end:start], values[name]
            end = start + len(_placeholder_text(text, start))
    return "".join((*parts, text[end:]))


def with_columns(targets: Node) -> Node:
    """The targets with `{{topic}}` as `{{metadata.topic}}` in prompts and texts, which the dataset's columns fill.

    Raises:
        ConfigError: a column where no value of a dataset may stand.

    >>> from steelyard.building.nodes import from_plain, plain
    >>> plain(with_columns(from_plain({"a": {"prompt": {"template": "{{question}} {{topic}}", "n": "{{x}}"}}}, "")))
    {'a': {'prompt': {'template': '{{question}} {{metadata.topic}}', 'n': '{{x}}'}}}
    """
    problems = Problems()
    named = _with_columns(targets, problems)
    problems.raise_any()
    return named


def _with_columns(node: Node, problems: Problems) -> Node:
    if not isinstance(node.value, Mapping):
        return node
    own = {*_KNOWN, *(node.entries["parameters"].node.entries if "parameters" in node.entries else ())}
    own |= {"goal", "persona", "stop", "left_out"} if "target" in node.entries else set()  # of a simulated user
    entries = {}
    for key, entry in node.entries.items():
        names = sorted(names_of(*(str(text.value) for text in texts(entry.node))))
        columns = [name for name in names if name.partition(".")[0] not in own]
        if key in _TEXTS:
            renaming = {name: from_plain(f"{{{{metadata.{name}}}}}", "") for name in columns}
            entries[key] = MappingEntry(entry.key, substituted(entry.node, renaming))
            continue
        entries[key] = MappingEntry(entry.key, _with_columns(entry.node, problems))
        refused = columns if key == "url" else names  # an address may have the question in it
        if refused and key in _NEVER and (isinstance(entry.node.value, str) or key == "headers"):
            problems.add(refusal(key, refused[0], "prompts and texts"), entry.node)
    return node.with_value(entries)


def check_names(targets: Node) -> None:
    """Reject target names that cannot all be file names in one folder on common file systems.

    Raises:
        ConfigError: at each such name.
    """
    problems = Problems()
    first: dict[str, str] = {}
    for entry in targets.entries.values():
        name = entry.key.value
        folded = unicodedata.normalize("NFC", stream_safe(name).casefold())
        reason = name_defect(name)
        if reason:
            problems.add(f"the target's name {name!r} becomes a file's name and {reason}", entry.key)
        elif folded in first:
            message = f"{first[folded]!r} and {name!r} differ only in case; targets become files, so rename one"
            problems.add(message, entry.key)
        first.setdefault(folded, name)
    problems.raise_any()


def name_defect(name: str) -> str:
    """The reason why `name` cannot be a file name, or an empty text.

    >>> name_defect("glm-4"), name_defect("a/b")
    ('', "cannot contain '/'; use '-'")
    """
    bad = NOT_IN_FILE_NAMES.search(name)
    if bad:
        return f"cannot contain {bad[0]!r}; use '-'"
    if not name.strip() or name != name.strip(" ."):
        return "cannot begin or end with a space or a dot"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    if _RESERVED.fullmatch(name):
        return "is reserved by Windows"
    return "" if name.isprintable() else "contains a character that cannot be shown"


def without_tags(root: Node, from_matrix: Mapping[str, Mapping[str, str]]) -> Node:
    """Move each target's `tags:` under one key of the suite.

    Args:
        root: with `targets`, the matrix expanded.
        from_matrix: tags from the matrix; a target's own tags override them.

    Raises:
        ConfigError: tags that are not a mapping of texts.
    """
    if "tags" in root.entries:
        raise ConfigError("tags belong to a target: write them under its name", root.entries["tags"].key.location)
    targets = root.entries.get("targets")
    if targets is None or not isinstance(targets.node.value, Mapping):
        return root
    problems = Problems()
    untagged: dict[str, MappingEntry] = {}
    tags: dict[str, dict[str, str]] = {}
    for name, entry in targets.node.entries.items():
        own = entry.node.entries.get("tags")
        entries_without_tags = {key: member for key, member in entry.node.entries.items() if key != "tags"}
        untagged[name] = entry if own is None else MappingEntry(entry.key, entry.node.with_value(entries_without_tags))
        tags[name] = dict(from_matrix.get(name, {}))
        if own is not None:
            with problems.gathered(own.node):
                tags[name].update(_read_mapping(own.node, "tags: expected a mapping of column to text", _tag))
    problems.raise_any()
    plain_tags = {name: tag for name, tag in tags.items() if tag}
    gathered = MappingEntry(targets.key.with_value("tags"), from_plain(plain_tags, targets.key.source.file, "tags"))
    return root.with_value(
        {**root.entries, "targets": MappingEntry(targets.key, targets.node.with_value(untagged)), "tags": gathered}
    )


def _tag(_column: str, entry: MappingEntry) -> str:
    return as_text(entry.node)
