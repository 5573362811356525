"""What the adapters of frameworks share: finding the user's object, and naming its passages' sources.

Objects are known by their methods, never by their class: no framework is imported here, and none is needed to read a
configuration that names one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.targets.function import find_object

_FOLDERS: Final = re.compile(r"[\\/]")


def resolve(given: Any, methods: Sequence[str], extra: str) -> Any:
    """The object that answers: `given` itself, what stands at its import path, or what a function there makes.

    Args:
        given: an import path, an object with one of the methods, or a function without arguments that makes one; it
            is called once.
        methods: by which such an object is known; it has one of them.
        extra: of `pip install 'steelyard[...]'`.

    Raises:
        ConfigError: there is nothing of that name, a package is not installed, or it is no such object.
    """
    found = given
    if isinstance(given, str):
        try:
            found = find_object(given)
        except ConfigError as error:
            raise _missing_package(given, error, extra) or error from error
    if not _has(found, methods) and callable(found) and not isinstance(found, type):
        found = _made(found)
    if isinstance(found, type) or not _has(found, methods):
        name = given if isinstance(given, str) else "this"
        kind = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise ConfigError(f"{name} is {kind}, and has no method {' or '.join(methods)}")
    return found


def _has(found: Any, methods: Sequence[str]) -> bool:
    return any(callable(getattr(found, name, None)) for name in methods)


@lru_cache(maxsize=64)
def _made(make: Any) -> Any:
    """What a function without arguments makes; once, since an engine may take minutes to load."""
    try:
        inspect.signature(make).bind()
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{getattr(make, '__qualname__', make)} takes arguments: name the object itself, or a function without any "
            "that makes it; a function that answers by itself is a target 'function'"
        ) from error
    return make()


def _missing_package(path: str, error: ConfigError, extra: str) -> ConfigError | None:
    """What to install, where it is a package that is missing and not the user's own module."""
    cause = error.__cause__
    name = cause.name if isinstance(cause, ModuleNotFoundError) else None
    if not name or path.partition(":")[0].startswith(name):
        return None
    return ConfigError(f"{path!r} needs the package {name!r}, which is not installed: pip install 'steelyard[{extra}]'")


def name_of(given: Any) -> str:
    """What a manifest says of it: the import path, or the class of an object, never its address in memory."""
    if isinstance(given, str):
        return given
    named = given if hasattr(given, "__qualname__") else type(given)
    return f"{named.__module__}:{named.__qualname__}"


def source(ident: Any, metadata: Mapping[str, Any], *, page: Any, span: tuple[Any, Any] | None) -> dict[str, Any]:
    """A passage's source, with what is known of it.

    Args:
        ident: the passage's id, or None.
        metadata: of the passage; its document is the file name in `file_name`, `file_path` or `source`.
        page: 1-based, a number or its text; anything else (iv) is left out.
        span: offsets of its first character and behind its last one in the document's text; None where they are not
            meant that way.

    >>> source("n1", {"file_path": "/home/ann/docs/a.pdf"}, page="3", span=None)
    {'id': 'n1', 'document': 'a.pdf', 'page': 3}
    """
    found: dict[str, Any] = {"id": str(ident)} if ident else {}
    if document := _document(metadata):
        found["document"] = document
    if span is not None and all(type(one) is int for one in span):
        found["start"], found["end"] = span
    if type(page) is int or (isinstance(page, str) and page.isascii() and page.isdecimal()):
        found["page"] = int(page)
    return found


def _document(metadata: Mapping[str, Any]) -> str:
    for key in ("file_name", "file_path", "source"):
        value = metadata.get(key)
        # Some readers put the number of the page into `source`.
        if isinstance(value, str) and value and not value.isdecimal():
            return value if "://" in value else _FOLDERS.split(value)[-1]
    return ""
