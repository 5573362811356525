"""Numbers that stand for classes: a dataset stores 2, and says elsewhere that class 2 is called "C"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


class ClassName(str):
    """The name of a class, which is all that most readers want, with its 0-based `number`.

    >>> ClassName.of(2, ["A", "B", "C"]), ClassName.of(2, ["A", "B", "C"]).number
    ('C', 2)
    """

    __slots__ = ("number",)
    number: int

    @classmethod
    def of(cls, value: Any, names: Sequence[str]) -> Any:
        """The name of class `value`; None for a number that is none (-1 marks rows without a label).

        A value that is no number stands as it is.
        """
        if not isinstance(value, int):
            return value
        if not 0 <= value < len(names):
            return None
        found = cls(names[value])
        found.number = value
        return found


def named(cells: Mapping[str, Any], classes: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """Cells with the names of classes in place of their numbers."""
    if not classes:
        return cells
    return {key: ClassName.of(value, classes[key]) if key in classes else value for key, value in cells.items()}


def classes_in(metadata: Mapping[bytes, bytes] | None) -> dict[str, tuple[str, ...]]:
    """Column -> names of its classes, from what `datasets` writes beside the schema of an Arrow or Parquet file."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        found = {name: one["names"] for name, one in features.items() if one.get("_type") == "ClassLabel"}
        return {name: tuple(map(str, names)) for name, names in found.items()}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {}  # files of other writers have no such note, or another one under its name
