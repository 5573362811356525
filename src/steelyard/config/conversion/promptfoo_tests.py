"""promptfoo's tests: from the configuration, files and scenarios, with the defaults, each set of values apart."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final

from steelyard.building.nodes import MappingEntry, Node, from_plain, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.promptfoo_assertions import assertion_of_cell
from steelyard.config.conversion.result import MOST_ROWS, Notes
from steelyard.config.conversion.templates import filled, names_in
from steelyard.errors import ConfigError

_READ: Final = frozenset(("vars", "assert", "threshold", "options", "description", "metadata"))
_OPTIONS: Final = frozenset(
    ("transform", "postprocess", "disableDefaultAsserts", "disableVarExpansion", "prefix", "suffix")
)
_INSTEAD: Final = {
    "provider": "a provider or grader of single tests. Instead: a configuration for them",
    "providers": "providers of single tests, which are asked of all here",
    "prompts": "prompts of single tests, which are asked with all here",
    "providerOutput": "outputs that exist already. Instead: the target replay",
    "transformVars": "transformVars, which is code. Instead: write the values that it gives",
    "assertScoringFunction": "a scoring function. Instead: all_of, any_of, or a function",
}
_BINARY: Final = frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".mp3", ".wav", ".mp4", ".mov"))


@dataclass(frozen=True, slots=True)
class Test:
    """One test with one set of values.

    Args:
        values: of its variables.
        defaults: the assertions of `defaultTest`.
        own: its own assertions.
        threshold: of the mean of all its assertions; None: all must hold.
        transform: of the output, "" for none.
        about: its description and metadata.
        around: the texts before and after each prompt.
        at: where it stands.
        computed: what prompts compute of its values, each under the name that they have it by.
    """

    values: Mapping[str, Any]
    defaults: tuple[Node, ...]
    own: tuple[Node, ...]
    threshold: Any
    transform: str
    about: Mapping[str, Any]
    around: tuple[str, str]
    at: Node
    computed: Mapping[str, str] = field(default_factory=dict)


def entry(node: Node | None, *names: str) -> Node | None:
    """The value of the first of some keys that a mapping has; null is as no value."""
    entries = node.entries if node is not None else {}
    values = (entries[name].node for name in names if name in entries)
    return next((value for value in values if value.value is not None), None)


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
        literal: values are what they are, as other tools have them: no list of several, no file, no template.
    """

    root: Node
    foreign: ForeignFiles
    notes: Notes
    literal: bool = False

    def read(self) -> list[Test]:
        """All tests, in promptfoo's order.

        Raises:
            ConfigError: a test is malformed, a file is not read, or there are too many.
        """
        default = self.loaded(entry(self.root, "defaultTest"))
        if default is not None:
            self._note(settings(default), _READ, default)
            self._note(settings(entry(default, "options")), _OPTIONS | {"provider", "rubricPrompt"}, default)
        cases: list[tuple[Node, ...]] = [(node,) for node in self._nodes(entry(self.root, "tests"))]
        for scenario in elements(self.loaded(entry(self.root, "scenarios"))):
            tests = [*self._nodes(entry(scenario, "tests"))] or [scenario.with_value({})]
            cases += [(data, test) for data in elements(self.loaded(entry(scenario, "config"))) for test in tests]
        tests_read: list[Test] = []
        for case in cases or [(self.root.with_value({}),)]:
            for test in self._expanded(default, *case):
                tests_read.append(test)
                if len(tests_read) > MOST_ROWS:
                    raise ConfigError(f"more than {MOST_ROWS:,} tests, with each set of values", test.at.location)
        return tests_read

    def loaded(self, node: Node | None) -> Node | None:
        """A value that may stand in a file of its own, `file://...`, or be a reference `$ref: "#/..."` to another."""
        if node is not None and isinstance(node.value, str) and node.value.startswith("file://"):
            return self.foreign.tree(self.foreign.paths(node.value, node)[0], node)
        reference = entry(node, "$ref")
        if reference is None:
            return node
        value: Node | None = self.root
        for key in str(reference.value).removeprefix("#/").split("/"):
            value = entry(value, key)
        if value is None or "$ref" in value.entries:
            raise ConfigError(f"{reference.value!r} leads to no value of this file", reference.location)
        return value

    def _nodes(self, node: Node | None) -> Iterator[Node]:
        for part in elements(node):
            name = part if isinstance(part.value, str) else entry(part, "path")
            if name is None:
                yield part
                continue
            if "://" in name.value.removeprefix("file://"):
                raise ConfigError(f"{name.value} is not downloaded: save it as a CSV file", name.location)
            for path in self.foreign.paths(name.value, name):
                if path.suffix.lower() not in {".csv", ".yaml", ".yml", ".json", ".jsonl"}:
                    raise ConfigError(
                        f"{path.name} is neither CSV, JSON nor YAML: save it as a CSV file", name.location
                    )
                is_table = path.suffix.lower() == ".csv"
                yield from self._table(path, name) if is_table else elements(self.foreign.tree(path, name))

    def _table(self, path: Path, at: Node) -> Iterator[Node]:
        reader = csv.DictReader(io.StringIO(self.foreign.text(path, at), newline=""), restval="")
        try:
            for row in reader:
                yield from_plain(_of_row(row), f"{path}:{reader.line_num}")
        except (csv.Error, ValueError) as error:
            raise ConfigError(f"{path}:{reader.line_num}: {error}", at.location) from error

    def _expanded(self, default: Node | None, *case: Node) -> Iterator[Test]:
        test = case[-1]
        if not all(isinstance(part.value, Mapping) for part in case):
            raise ConfigError("a test is a mapping with vars and assert", test.location)
        parts = (default, *case)
        options = settings(*(entry(part, "options") for part in parts))
        self._note(settings(test), _READ, test)
        self._note(settings(entry(test, "options")), _OPTIONS, test)
        given = {key: value.node for part in parts for key, value in self._variables(part).items()}
        whole = self.literal or options.get("disableVarExpansion") is True
        used = () if options.get("disableDefaultAsserts") is True else elements(entry(default, "assert"))
        own = [assertion for part in case for assertion in elements(entry(part, "assert"))]
        about = settings(*(entry(part, "metadata") for part in parts))
        for chosen in product(*(self._choices(node, whole=whole) for node in given.values())):
            yield Test(
                self._filled(dict(zip(given, chosen, strict=True)), test),
                tuple(assertion for node in used if (assertion := self.loaded(node))),
                tuple(assertion for node in own if (assertion := self.loaded(node))),
                settings(*parts).get("threshold"),
                str(options.get("transform") or options.get("postprocess") or ""),
                about | {key: value for key, value in settings(test).items() if key == "description" and value},
                (str(options.get("prefix") or ""), str(options.get("suffix") or "")),
                test,
            )

    def _filled(self, values: Mapping[str, Any], at: Node) -> dict[str, Any]:
        """The values of a test; a text may name other values, and loses one line end at its end."""
        if self.literal:
            return dict(values)
        texts = {key: value.removesuffix("\n") if isinstance(value, str) else value for key, value in values.items()}
        for key, value in texts.items():
            if isinstance(value, float) and value.is_integer():
                texts[key] = int(value)
            elif isinstance(value, str) and "{" in value:
                try:
                    names = names_in(value)
                    texts[key] = filled(value, texts) if names and set(names) <= texts.keys() else value
                except ConfigError as error:
                    self.notes.add(f"a template in a value, which stays a text: {error.message}", at)
        return texts

    def _note(self, given: Mapping[str, Any], known: frozenset[str], at: Node) -> None:
        for key in given.keys() - known:
            self.notes.add(_INSTEAD.get(key, f"{key} of tests"), at)

    def _variables(self, part: Node | None) -> Mapping[str, MappingEntry]:
        given = entry(part, "vars")
        if given is None or isinstance(given.value, Mapping):
            return given.entries if given is not None else {}
        paths = [(path, name) for name in elements(given) for path in self.foreign.paths(str(name.value), name)]
        return {key: value for path, name in paths for key, value in self.foreign.tree(path, name).entries.items()}

    def _choices(self, node: Node, *, whole: bool) -> list[Any]:
        """The values of a variable that make tests of their own: each text of a list, each file of a pattern."""
        value = plain(node)
        if whole or not isinstance(value, list) or not value or not isinstance(value[0], str):
            value = [value]
        return [choice for part in value for choice in self._contents(part, node)]

    def _contents(self, value: Any, at: Node) -> Iterator[Any]:
        if self.literal or not isinstance(value, str) or not value.startswith("file://"):
            yield value
            return
        for path in self.foreign.paths(value, at):
            if path.suffix.lower() in _BINARY:
                raise ConfigError(f"{path.name} is not text: put it into messages, as a data URI", at.location)
            if path.suffix.lower() in {".yaml", ".yml"}:
                yield json.dumps(plain(self.foreign.tree(path, at)), ensure_ascii=False, separators=(",", ":"))
            else:
                yield self.foreign.text(path, at).strip()


def _of_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of a table as a test: the columns `__...` have a meaning, the others are variables."""
    cells = {str(key).strip(): value for key, value in row.items() if isinstance(value, str)}
    expected = [value.strip() for key, value in cells.items() if key.startswith("__expected") and value.strip()]
    asserts = [assertion_of_cell(text) for text in expected]
    for key, value in cells.items():
        match = re.fullmatch(r"__config:__expected(\d*):threshold", key)
        if match and value.strip() and int(match[1] or 1) <= len(asserts):
            asserts[int(match[1] or 1) - 1]["threshold"] = float(value)
    metric = {"metric": cells["__metric"]} if cells.get("__metric") else {}
    named = {key.removeprefix("__metadata:"): value for key, value in cells.items() if key.startswith("__metadata:")}
    given = {name: cells[f"__{name}"] for name in ("description", "providerOutput") if cells.get(f"__{name}")}
    return {
        "vars": {key: value for key, value in cells.items() if not key.startswith("__")},
        "assert": [{**assertion, **metric} for assertion in asserts],
        "options": {name: cells[f"__{name}"] for name in ("prefix", "suffix") if cells.get(f"__{name}")},
        "metadata": {key.removesuffix("[]"): value for key, value in named.items() if value.strip()},
        **given,
        **({"threshold": float(cells["__threshold"])} if cells.get("__threshold", "").strip() else {}),
    }
