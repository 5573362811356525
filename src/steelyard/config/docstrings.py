"""Reads the docstrings of configured classes: their first line, and what `Args:` says of each field."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Final

_SECTION: Final = re.compile(r"^(Args|Raises|Returns|Source|Yields|Examples?):")
_ARGUMENT: Final = re.compile(r"^ {4}(\w+): (.*)$")


def summary_of(found: object) -> str:
    """The first paragraph of a docstring, on one line; empty where there is none.

    >>> summary_of(summary_of)
    'The first paragraph of a docstring, on one line; empty where there is none.'
    """
    text = inspect.getdoc(found) or ""
    return " ".join(text.partition("\n\n")[0].split())


def arguments_of(found: object) -> Mapping[str, str]:
    """What the section `Args:` says of each name, on one line each; a class also says what its bases say.

    >>> sorted(arguments_of(arguments_of))
    ['found']

    Args:
        found: a class or function with a docstring in Google's style,
            as here.
    """
    said: dict[str, str] = {}
    for one in reversed(found.__mro__[:-1]) if isinstance(found, type) else (found,):
        said.update(_own_arguments(one))
    return said


def _own_arguments(found: object) -> Mapping[str, str]:
    arguments: dict[str, list[str]] = {}
    name = ""
    within = False
    for line in (inspect.getdoc(found) or "").splitlines():
        section = _SECTION.match(line)
        if section or (line and not line.startswith(" ")):
            within = section is not None and section[1] == "Args"
            continue
        argument = _ARGUMENT.match(line)
        if within and argument:
            name = argument[1]
            arguments[name] = [argument[2]]
        elif within and name and line.strip():
            arguments[name].append(line.strip())
    return {one: " ".join(lines) for one, lines in arguments.items()}
