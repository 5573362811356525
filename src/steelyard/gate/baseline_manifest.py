"""What a baseline file keeps of a manifest: a person may have edited it, or a merge may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, Final


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Refuse what no run writes under the keys that means and comparisons are made by.

    Raises:
        TypeError: which key, and what was expected.

    >>> check_manifest({"scales": {"rating": [1, 5]}, "over": None})
    """
    for key, (fits, expected) in _SHAPES.items():
        if manifest.get(key) is not None and not fits(manifest[key]):
            raise TypeError(f"manifest: {key}: expected {expected}")


def _is_mapping_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_scale(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) and isfinite(one) for one in value)
    return numbers and value[0] < value[1]


_SHAPES: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = MappingProxyType(
    {
        "scores": (_is_list_of_texts, "a list of names"),
        "primary": (_is_text, "a name"),
        "over": (_is_mapping_of(_is_text), "a mapping of score to a word"),
        "scales": (_is_mapping_of(_is_scale), "a mapping of score to its lowest and highest value"),
        "tags": (_is_mapping_of(_is_text), "a mapping of name to text"),
    }
)
