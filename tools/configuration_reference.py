"""Writes the configuration reference, a page per kind, from the same classes that build a configuration.

python -m tools.configuration_reference            # configuration.md and configuration/*.md in docs/reference
python -m tools.configuration_reference FOLDER     # the same in another folder
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from steelyard.building.keys import (
    LEAVES,
    Key,
    arguments_of,
    element_of,
    is_class,
    is_json,
    is_literal,
    is_writable,
    keys_of,
    keys_of_kind,
    kind_of,
    members,
    scalar_key,
    summary_of,
    value_of,
)
from steelyard.building.wrapped import WRAPPER_KEYS, Adapted
from steelyard.config.schema import KINDS, suite_keys
from steelyard.registry import Kind, describe, find, name_of, names

_TITLES: Final[Mapping[str, str]] = {
    "suites": "Suites",
    "samples": "Samples",
    "targets": "Targets",
    "models": "Models",
    "scorers": "Scorers",
    "options": "How a suite is run",
}
_PAGES: Final[Mapping[Kind, str]] = {"suite": "suites", "target": "targets", "model": "models", "scorer": "scorers"}
_PAGE_OF_GROUP: Final[Mapping[str, str]] = {
    "SampleFiles": "samples",
    "FewShot": "suites",
    "ModelEndpoint": "suites",
    "ResponseMap": "models",
    "Rates": "models",
    "Retry": "models",
    "Judge": "scorers",
    "CellEquality": "scorers",
    "SqlLimits": "scorers",
}
"""Page of each group of keys that belongs to one kind; every other group is on the page of the options."""
_GENERATED: Final = (
    "<!-- Generated from the classes' fields and docstrings: python -m tools.configuration_reference -->"
)
_TYPES: Final[Mapping[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Path: "path",
}


def pages() -> dict[str, str]:
    """Every page of the configuration reference: path below the folder -> Markdown."""
    nested: dict[str, type] = {}
    lines: dict[str, list[str]] = {page: [] for page in _TITLES}
    for name in names("suite"):
        cls = find("suite", name)
        lines["suites"] += ["", f"## suite: {name}", "", summary_of(cls), "", *_table(cls, suite_keys(cls), nested)]
    lines["scorers"] += _shared_keys(nested)
    for kind in KINDS:
        for name in names(kind):
            lines[_PAGES[kind]] += _section(kind, name, nested)
    done: set[str] = set()
    while set(nested) - done:
        name = min(set(nested) - done)
        done.add(name)
        cls = nested[name]
        lines[_page_of(cls)] += ["", f"## {name}", "", summary_of(cls), "", *_table(cls, keys_of(cls), nested)]
    intro = Path(__file__).with_name("configuration_intro.md").read_text(encoding="utf-8")
    pages_by_path = {"configuration.md": intro}
    for page, body in lines.items():
        text = "\n".join([f"# {_TITLES[page]}", "", _GENERATED, *body]) + "\n"
        pages_by_path[f"configuration/{page}.md"] = text.replace(f"]({page}.md#", "](#")
    return pages_by_path


def _page_of(cls: type) -> str:
    return _PAGE_OF_GROUP.get(cls.__name__, "options")


def _section(kind: Kind, name: str, nested: dict[str, type]) -> Iterator[str]:
    registered: Any = find(kind, name)
    yield from ("", f"## {name}", "", summary_of(registered))
    keys = keys_of(registered) if is_class(registered) else {}
    short = scalar_key(name, keys_of_kind(kind, registered), registered)
    if short is None or not keys:
        yield from ("", f"It has no keys: write `{name}`.")
        return
    # Whether a value of this type can be other than a mapping, so that it differs from the mapping of all keys.
    if any(member in LEAVES or is_literal(member) for member in members(short.hint) if member is not type(None)):
        yield from ("", f"Short form: `{{{name}: {short.name.upper()}}}`.")
    yield ""
    yield from _table(registered, keys, nested)


def _shared_keys(nested: dict[str, type]) -> Iterator[str]:
    """The keys that every scorer takes."""
    keys = {key: keys_of(Adapted)[key] for key in WRAPPER_KEYS}
    yield from ("", "## Keys of every scorer", "")
    yield (
        "They stand among a scorer's own keys or next to its name; a scorer's own key of that name comes first. "
        "Options that hold texts and numbers take values of columns, `{{max_words}}`, for each sample."
    )
    yield ""
    yield from _table(Adapted, keys, nested)


def _table(cls: type, keys: Mapping[str, Key], nested: dict[str, type]) -> Iterator[str]:
    descriptions = dict(arguments_of(cls))
    yield from ("| key | type | default | |", "|---|---|---|---|")
    for key in keys.values():
        limits = f" ({key.range})" if key.range is not None and str(key.range) else ""
        cells = [f"`{key.name}`", _linked(key.hint, nested) + limits, _default(key), descriptions.get(key.name, "")]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(key: Key) -> str:
    if key.required:
        return "**required**"
    if is_class(type(key.default)):
        return ""  # shown in a table of its own
    return f"`{json.dumps(describe(key.default), ensure_ascii=False)}`"


def _linked(hint: Any, nested: dict[str, type]) -> str:
    """The type of a key, with a link to the table of each group of keys and each kind."""
    if kind_of(hint):
        return f"[{kind_of(hint)}]({kind_of(hint)}s.md)"
    if is_json(hint):
        return "any value"
    if len(members(hint)) > 1:
        shown = [member for member in members(hint) if member is type(None) or is_writable(member)]
        return " or ".join(_linked(member, nested) for member in shown)
    if is_class(hint):
        return _class_link(hint, nested)
    if element_of(hint) is not None:
        return f"list of ({_linked(element_of(hint), nested)})"
    return f"mapping to ({_linked(value_of(hint), nested)})" if value_of(hint) is not None else _leaf_type(hint)


def _class_link(cls: type, nested: dict[str, type]) -> str:
    for kind in KINDS:
        if name := name_of(kind, cls):
            return f"keys of [{name}]({_PAGES[kind]}.md#{name})"
    nested[cls.__name__] = cls
    return f"[{cls.__name__}]({_page_of(cls)}.md#{cls.__name__.lower()})"


def _leaf_type(hint: Any) -> str:
    if is_literal(hint):
        return " or ".join(f"`{json.dumps(value)}`" for value in get_args(hint))
    return _TYPES.get(hint) or str(getattr(hint, "__name__", hint))


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")
    for name, text in pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
