"""What every target has besides its own options: a name that becomes a file's name, and tags that become columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from steelyard.config.leaves import as_text, described
from steelyard.config.matrix import NOT_IN_FILE_NAMES
from steelyard.config.positions import Entry, Node, from_plain
from steelyard.config.problems import Problems
from steelyard.errors import ConfigError

MAX_NAME_BYTES: Final = 150
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def check_names(targets: Node) -> None:
    """Refuse names that two files of one folder could not have, on any of the usual file systems.

    Raises:
        ConfigError: at each such name.
    """
    problems = Problems()
    first: dict[str, str] = {}
    for entry in targets.entries.values():
        name = entry.key.value
        folded = unicodedata.normalize("NFC", name).casefold()
        reason = name_defect(name)
        if reason:
            problems.add(f"the target's name {name!r} becomes a file's name and {reason}", entry.key)
        elif folded in first:
            message = f"{first[folded]!r} and {name!r} differ only in case; targets become files, so rename one"
            problems.add(message, entry.key)
        first.setdefault(folded, name)
    problems.raise_any()


def name_defect(name: str) -> str:
    """Why `name` fits no file's name, or an empty text.

    >>> name_defect("glm-4"), name_defect("a/b")
    ('', "cannot hold '/'; use '-'")
    """
    bad = NOT_IN_FILE_NAMES.search(name)
    if bad:
        return f"cannot hold {bad[0]!r}; use '-'"
    if not name.strip() or name != name.strip(" ."):
        return "cannot begin or end with a blank or a dot"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    if _RESERVED.fullmatch(name):
        return "is reserved by Windows"
    return "" if name.isprintable() else "holds a character that cannot be shown"


def without_tags(root: Node, given: Mapping[str, Mapping[str, str]]) -> Node:
    """`root` with each target's `tags:` gathered under one key of the suite.

    Args:
        root: with `targets`, the matrix expanded.
        given: tags that the matrix gave; what a target says itself wins.

    Raises:
        ConfigError: tags that are no mapping of texts.
    """
    if "tags" in root.entries:
        raise ConfigError("tags belong to a target: write them under its name", root.entries["tags"].key.place)
    targets = root.entries.get("targets")
    if targets is None or not isinstance(targets.node.value, Mapping):
        return root
    problems = Problems()
    bare: dict[str, Entry] = {}
    tags: dict[str, dict[str, str]] = {}
    for name, entry in targets.node.entries.items():
        own = entry.node.entries.get("tags")
        rest = {key: one for key, one in entry.node.entries.items() if key != "tags"}
        bare[name] = entry if own is None else Entry(entry.key, entry.node.with_value(rest))
        tags[name] = dict(given.get(name, {}))
        if own is not None:
            with problems.gathered(own.node):
                tags[name].update(_tags(own.node))
    problems.raise_any()
    written = {name: one for name, one in tags.items() if one}
    gathered = Entry(targets.key.with_value("tags"), from_plain(written, targets.key.source.file, "tags"))
    return root.with_value(
        {**root.entries, "targets": Entry(targets.key, targets.node.with_value(bare)), "tags": gathered}
    )


def _tags(node: Node) -> dict[str, str]:
    if not isinstance(node.value, Mapping):
        raise ConfigError(f"tags: expected a mapping of column to text, but got {described(node)}", node.place)
    problems = Problems()
    tags = {}
    for key, entry in node.entries.items():
        with problems.gathered(entry.node):
            tags[key] = as_text(entry.node)
    problems.raise_any()
    return tags
