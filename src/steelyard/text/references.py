"""References: `${NAME}` stands for a secret whose value comes from the environment, and where it does.

References are for what is sent around a question: an address, a header, a key. Words that are asked are data: a
template may say `${price}` and means it, so nothing is looked up there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
TEXT_KEYS: Final = frozenset({"template", "system", "text", "default", "task", "criteria", "question", "pattern"})
"""Keys whose text is asked, answered or described as it stands."""
BODY_KEYS: Final = frozenset(
    {"samples", "parameters", "body", "replies", "steps", "guidelines", "levels", "schema", "criteria"}
)
"""Keys below which everything is such data."""


def is_data(key: str, *, is_text: bool) -> bool:
    """Whether what stands under `key` is data, in which `${...}` is no reference.

    >>> is_data("refine_template", is_text=True), is_data("body", is_text=False), is_data("api_key", is_text=True)
    (True, True, False)
    """
    return key in BODY_KEYS or (is_text and (key in TEXT_KEYS or key.endswith("_template")))


def references(value: Any) -> Iterator[str]:
    """Every NAME of a `${NAME}` in the strings of a plain value, but for those that are data.

    >>> list(references({"headers": ["Bearer ${KEY}"], "template": "It costs ${price}."}))
    ['KEY']
    """
    if isinstance(value, str):
        yield from REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if not is_data(key, is_text=isinstance(one, str)):
                yield from references(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from references(one)


def texts_in(value: Any) -> Iterator[str]:
    """Every string in a plain value, keys left out.

    >>> list(texts_in({"a": ["b", 1, {"c": "d"}]}))
    ['b', 'd']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)
