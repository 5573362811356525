"""promptfoo's tests: from the configuration, files and scenarios, with the defaults, each set of values apart."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from steelyard.building.nodes import MappingEntry, Node, from_plain, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.promptfoo_assertions import assertion_of_cell
from steelyard.config.conversion.result import MOST_ROWS, Notes
from steelyard.config.conversion.templates import filled, names_in
from steelyard.errors import ConfigError

_IGNORED: Final = frozenset({"vars", "assert", "threshold", "options", "description", "metadata"})
_OPTIONS: Final = frozenset(
    {"transform", "postprocess", "provider", "disableDefaultAsserts", "disableVarExpansion", "prefix", "suffix"}
)
_INSTEAD: Final = {
    "provider": "a test's own provider; write a configuration for those tests",
    "providers": "a test's own providers; it is asked of all models",
    "prompts": "a test's own prompts; it is asked with all prompts",
    "providerOutput": "outputs that exist already; they belong to the target replay",
    "assertScoringFunction": "a scoring function; instead: all_of, any_of, or a function",
}
_BINARY: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".mp3", ".wav", ".mp4", ".mov"})


@dataclass(frozen=True, slots=True)
class Test:
    """One test with one set of values.

    Args:
        values: of its variables.
        defaults: the assertions of `defaultTest`.
        own: its own assertions.
        threshold: of the mean of all its assertions; None: all must hold.
        transform: of the output, "" for none.
        notes: description and metadata.
        at: where it stands.
    """

    values: Mapping[str, Any]
    defaults: tuple[Node, ...]
    own: tuple[Node, ...]
    threshold: Any
    transform: str
    notes: Mapping[str, Any]
    at: Node


def entry(node: Node | None, *names: str) -> Node | None:
    """The value of the first of some keys that a mapping has; null is as no value."""
    for name in names:
        if node is not None and (found := node.entries.get(name)) is not None and found.node.value is not None:
            return found.node
    return None


def settings(*nodes: Node | None) -> dict[str, Any]:
    """The keys of several mappings in one; those of a later one win, and what is no mapping counts as empty."""
    return {key: plain(found.node) for node in nodes if node is not None for key, found in node.entries.items()}


def elements(node: Node | None) -> tuple[Node, ...]:
    """The elements of a list; a single value is a list of one, and no value none."""
    if node is None:
        return ()
    return node.value if isinstance(node.value, tuple) else (node,)


@dataclass(frozen=True, slots=True)
class Tests:
    """Reads the tests of a configuration.

    Args:
        root: the configuration.
        foreign: the files that it names.
        notes: takes what is not converted.
    """

    root: Node
    foreign: ForeignFiles
    notes: Notes

    def read(self) -> list[Test]:
        """All tests, in promptfoo's order.

        Raises:
            ConfigError: a test is malformed, a file is not read, or there are too many.
        """
        default = self.loaded(entry(self.root, "defaultTest"))
        tests = [(node, node) for node in self._nodes(entry(self.root, "tests"))]
        for scenario in elements(self.loaded(entry(self.root, "scenarios"))):
            cases = [*self._nodes(entry(scenario, "tests"))] or [scenario.with_value({})]
            tests += [(data, case) for data in elements(self.loaded(entry(scenario, "config"))) for case in cases]
        if not tests:
            tests = [(self.root.with_value({}),) * 2]
        found: list[Test] = []
        for data, test in tests:
            for one in self._expanded(default, data, test):
                found.append(one)
                if len(found) > MOST_ROWS:
                    raise ConfigError(f"more than {MOST_ROWS:,} tests, with each set of values", test.location)
        return found

    def loaded(self, node: Node | None) -> Node | None:
        """A value that may stand in a file of its own, `file://...`, or be a reference `$ref: "#/..."` to another."""
        if node is None:
            return None
        if isinstance(node.value, str) and node.value.startswith("file://"):
            return self.foreign.one(node.value, node)
        reference = entry(node, "$ref")
        if reference is None:
            return node
        found: Node | None = self.root
        for key in str(reference.value).removeprefix("#/").split("/"):
            found = entry(found, key)
        if found is None or found.entries.get("$ref"):
            raise ConfigError(f"{reference.value!r} leads to no value of this file", reference.location)
        return found

    def _nodes(self, node: Node | None) -> Iterator[Node]:
        for part in elements(node):
            path = part if isinstance(part.value, str) else entry(part, "path")
            if path is None:
                yield part
                continue
            if "://" in path.value.removeprefix("file://"):
                raise ConfigError(f"{path.value} is not downloaded: save it as a CSV file", path.location)
            for file in self.foreign.paths(path.value, path):
                yield from self._in_file(file, path)

    def _in_file(self, file: Path, at: Node) -> Iterator[Node]:
        suffix = file.suffix.lower()
        if suffix == ".csv":
            yield from self._table(file, at)
        elif suffix in {".yaml", ".yml", ".json", ".jsonl"}:
            yield from elements(self.foreign.tree(file, at))
        else:
            raise ConfigError(f"{file.name} is neither CSV, JSON nor YAML: save it as a CSV file", at.location)

    def _table(self, file: Path, at: Node) -> Iterator[Node]:
        reader = csv.DictReader(self.foreign.text(file, at).split("\n"), restval="")
        try:
            for row in reader:
                yield from_plain(self._of_row(row, at), f"{file}:{reader.line_num}")
        except csv.Error as error:
            raise ConfigError(f"{file}:{reader.line_num}: {error}", at.location) from error

    def _of_row(self, row: Mapping[Any, Any], at: Node) -> dict[str, Any]:
        cells = {str(key).strip(): value for key, value in row.items() if isinstance(value, str)}
        asserts = [
            assertion_of_cell(text)
            for key, value in cells.items()
            if key.startswith("__expected") and (text := value.strip())
        ]
        for key, value in cells.items():
            if match := re.fullmatch(r"__config:__expected(\d*):threshold", key):
                number = int(match[1] or 1) - 1
                if value.strip() and number < len(asserts):
                    asserts[number]["threshold"] = _number(value, key, at)
        metric, threshold = cells.get("__metric", ""), cells.get("__threshold", "").strip()
        return {
            "vars": {key: value for key, value in cells.items() if not key.startswith("__")},
            "assert": [{**one, **({"metric": metric} if metric else {})} for one in asserts],
            "options": {name: cells[f"__{name}"] for name in ("prefix", "suffix") if cells.get(f"__{name}")},
            **({"threshold": _number(threshold, "__threshold", at)} if threshold else {}),
            **({"description": cells["__description"]} if cells.get("__description") else {}),
            **({"providerOutput": cells["__providerOutput"]} if cells.get("__providerOutput") else {}),
            "metadata": {
                key.removeprefix("__metadata:").removesuffix("[]"): value
                for key, value in cells.items()
                if key.startswith("__metadata:") and value.strip()
            },
        }

    def _expanded(self, default: Node | None, data: Node, test: Node) -> Iterator[Test]:
        if not isinstance(test.value, Mapping):
            raise ConfigError("a test is a mapping with vars and assert", test.location)
        parts = [default, data] if data is test else [default, data, test]
        options = settings(*(entry(part, "options") for part in parts))
        own = [self.loaded(one) for part in parts[1:] for one in elements(entry(part, "assert"))]
        self._note_others(test, options)
        values = {key: value.node for part in parts for key, value in self._variables(part).items()}
        kept = (
            ()
            if options.get("disableDefaultAsserts") is True
            else tuple(one for part in elements(entry(default, "assert")) if (one := self.loaded(part)))
        )
        threshold = next((plain(found) for part in reversed(parts) if (found := entry(part, "threshold"))), None)
        about = settings(*(entry(part, "metadata") for part in parts))
        if (description := entry(test, "description")) is not None:
            about["description"] = plain(description)
        choices = [
            self._choices(key, node, whole=options.get("disableVarExpansion") is True) for key, node in values.items()
        ]
        for chosen in product(*choices):
            filled_values = self._filled(dict(zip(values, chosen, strict=True)))
            yield Test(
                filled_values,
                kept,
                tuple(one for one in own if one),
                threshold,
                str(options.get("transform") or options.get("postprocess") or ""),
                about,
                test,
            )

    def _note_others(self, test: Node, options: Mapping[str, Any]) -> None:
        for key, found in test.entries.items():
            if key not in _IGNORED and found.node.value is not None:
                self.notes.add(_INSTEAD.get(key, f"{key} of a test"), found.key)
        for key in options.keys() - _OPTIONS:
            self.notes.add(f"options.{key} of tests", test)
        if entry(entry(test, "options"), "provider") is not None:
            self.notes.add("a grader of a test's own; the judge of the configuration is asked", test)
        if {"prefix", "suffix"} & entry_keys(entry(test, "options")):
            self.notes.add(
                "a prompt's prefix or suffix for single tests; give it a column and name it in the prompt", test
            )

    def _variables(self, part: Node | None) -> Mapping[str, MappingEntry]:
        given = entry(part, "vars")
        if given is None or isinstance(given.value, Mapping):
            return given.entries if given is not None else {}
        trees = [
            self.foreign.tree(path, name)
            for name in elements(given)
            for path in self.foreign.paths(str(name.value), name)
        ]
        return {key: value for tree in trees for key, value in tree.entries.items()}

    def _choices(self, name: str, node: Node, *, whole: bool) -> list[Any]:
        """The values of a variable that make tests of their own: of a list of texts each, of a pattern each file."""
        if isinstance(node.value, str) and node.value.startswith("file://"):
            return [self._content(path, node) for path in self.foreign.paths(node.value, node)]
        value = plain(node)
        if whole or not isinstance(value, list) or not value or not isinstance(value[0], str):
            return [value]
        return [
            self.foreign.value(part, node) if isinstance(part, str) and part.startswith("file://") else part
            for part in value
        ]

    def _content(self, path: Path, at: Node) -> Any:
        if path.suffix.lower() in _BINARY:
            raise ConfigError(
                f"{path.name} is not text; images belong in messages of the dataset, as data URIs", at.location
            )
        if path.suffix.lower() in {".yaml", ".yml"}:
            return json.dumps(plain(self.foreign.tree(path, at)), ensure_ascii=False, separators=(",", ":"))
        return self.foreign.text(path, at).strip()

    @staticmethod
    def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a test; a text may name other values, and loses one line end at its end."""
        texts = {key: value.removesuffix("\n") if isinstance(value, str) else value for key, value in values.items()}

        def of(value: Any) -> Any:
            if not isinstance(value, str) or not (names := names_in(value)) or not set(names) <= texts.keys():
                return int(value) if isinstance(value, float) and value.is_integer() else value
            try:
                return filled(value, texts)
            except ConfigError:
                return value

        return {key: of(value) for key, value in texts.items()}


def entry_keys(node: Node | None) -> set[str]:
    """The keys of a mapping."""
    return set(node.entries) if node is not None else set()


def _number(text: str, key: str, at: Node) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"{key}: expected a number, but got {text[:40]!r}", at.location) from error
