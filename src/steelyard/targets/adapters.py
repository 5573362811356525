"""The user's own function as target, and what adapters of frameworks share: finding objects and passages' sources.

Objects are known by their methods, never by their class: no framework is imported here, and none is needed to read a
configuration that names one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from steelyard.building.import_paths import UserFunction, describe_path, find_object, missing_package
from steelyard.errors import ConfigError, install_command
from steelyard.plain_json import parsed_or

_TEXTS: Final = ("text", "page_content", "content", "passage")
_FOLDERS: Final = re.compile(r"[\\/]")
_PACKAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"langchain": ("langchain", "langgraph"), "llamaindex": ("llama_index",)}
)
"""Beginnings of the modules that an extra installs; other modules are the user's, or of packages of their own."""
_TAKES_ARGUMENTS: Final = (
    "{} takes arguments: name the object itself, or a function without any that makes it; a function that answers by "
    "itself is a target 'function'"
)


def resolve(given: Any, methods: Sequence[str], extra: str) -> Any:
    """Return the object that answers: `given` itself, or the object or factory at its import path.

    Args:
        given: an import path, an object with one of the methods, or a function without arguments that makes one; it
            is called once.
        methods: by which such an object is known; it has one of them.
        extra: the optional dependencies that it belongs to (`langchain`).

    Raises:
        ConfigError: there is nothing of that name, a package is not installed, or it is not such an object.
    """
    answerer = given
    if isinstance(given, str):
        try:
            answerer = find_object(given)
        except ConfigError as error:
            raise _missing_package(given, error, extra) or error from error
    if not _has(answerer, methods) and callable(answerer) and not isinstance(answerer, type):
        answerer = _built_by(answerer)
    if isinstance(answerer, type) or not _has(answerer, methods):
        name = given if isinstance(given, str) else "this"
        kind = f"the class {answerer.__name__}" if isinstance(answerer, type) else f"a {type(answerer).__name__}"
        raise ConfigError(f"{name} is {kind}, and has no method {' or '.join(methods)}")
    return answerer


def check_there(given: Any, methods: Sequence[str], extra: str) -> None:
    """Check that the object exists without importing its module or calling its factory, which may be expensive.

    Args:
        given: as for `resolve`.
        methods: likewise.
        extra: likewise.

    Raises:
        ConfigError: what reading alone shows: no such module or name, a package that is missing, or no such object.
    """
    if isinstance(given, str):
        if package := missing_package(given):
            raise _needs(given, package, extra)
        described = describe_path(given)
        if described.needed:
            raise ConfigError(_TAKES_ARGUMENTS.format(given))
        kind = f"the class {given.rpartition(':')[2]}" if described.is_class else ""
        if kind := kind or (f"a {described.plain}" if described.plain else ""):
            raise ConfigError(f"{given} is {kind}, and has no method {' or '.join(methods)}")
        return
    if _has(given, methods) and not isinstance(given, type):
        return
    if callable(given) and not isinstance(given, type):
        _check_no_arguments(given)
        return
    resolve(given, methods, extra)


def _needs(path: str, package: str, extra: str) -> ConfigError:
    if not package.startswith(_PACKAGES[extra]):
        return ConfigError(
            f"{path!r} imports {package!r}, and there is no such module: install its package, or run from the folder "
            "of your own module"
        )
    command = install_command(extra)
    parts = package.replace("_", "-").split(".")
    # LlamaIndex's packages share a name space: `llama_index.llms.openai` is in llama-index-llms-openai.
    distribution = (
        "-".join(parts[: 3 if parts[:2] != ["llama-index", "core"] else 2]) if extra == "llamaindex" else parts[0]
    )
    if not re.search(rf"(?<![\w-]){re.escape(distribution)}(?![\w-])", command.partition(" install ")[2]):
        command = f"pip install {distribution}"  # the extra does not bring it
    return ConfigError(f"{path!r} needs the package {package!r}, which is not installed: {command}")


def _has(candidate: Any, methods: Sequence[str]) -> bool:
    return any(callable(getattr(candidate, name, None)) for name in methods)


@lru_cache(maxsize=64)
def _built_by(make: Any) -> Any:
    """What a function without arguments makes; once, since an engine may take minutes to load."""
    _check_no_arguments(make)
    return make()


def _check_no_arguments(make: Any) -> None:
    try:
        inspect.signature(make).bind()
    except (TypeError, ValueError) as error:
        raise ConfigError(_TAKES_ARGUMENTS.format(getattr(make, "__qualname__", make))) from error


def _missing_package(path: str, error: ConfigError, extra: str) -> ConfigError | None:
    """What to install, where it is a package that is missing and not the user's own module."""
    cause = error.__cause__
    name = cause.name if isinstance(cause, ModuleNotFoundError) else None
    if not name or path.partition(":")[0].startswith(name):
        return None
    return _needs(path, name, extra)


def name_of(given: Any) -> str:
    """Name the object for a manifest: its import path or class, never its address in memory."""
    if isinstance(given, str):
        return given
    named_object = given if hasattr(given, "__qualname__") else type(given)
    return f"{named_object.__module__}:{named_object.__qualname__}"


def source(ident: Any, metadata: Mapping[str, Any], *, page: Any, span: tuple[Any, Any] | None) -> dict[str, Any]:
    """Describe a passage's source: id, document, offsets and page where they are known.

    Args:
        ident: the passage's id, or None.
        metadata: of the passage; its document is the file name in `file_name`, `file_path` or `source`.
        page: 1-based, a number or its text; anything else (iv) is left out.
        span: offsets of its first character and behind its last one in the document's text; None where they are not
            meant that way.

    >>> source("n1", {"file_path": "/home/ann/docs/a.pdf"}, page="3", span=None)
    {'id': 'n1', 'document': 'a.pdf', 'page': 3}
    """
    details: dict[str, Any] = {"id": str(ident)} if ident else {}
    if document := _document(metadata):
        details["document"] = document
    if span is not None and all(type(offset) is int for offset in span):
        details["start"], details["end"] = span
    if type(page) is int or (isinstance(page, str) and page.isascii() and page.isdecimal()):
        details["page"] = int(page)
    return details


def passages_in(text: Any) -> list[str]:
    """The passages in the result of a tool: the entries of a JSON list of texts or of objects with a text, else itself.

    >>> passages_in('[{"text": "It rains."}, "It snows."]'), passages_in("It rains."), passages_in(" ")
    (['It rains.', 'It snows.'], ['It rains.'], [])
    """
    entries: Any = text
    if isinstance(text, str) and text.lstrip()[:1] == "[":
        entries = parsed_or(text)
    if not isinstance(entries, list):
        return [str(text)] if str(text).strip() else []
    texts = [
        next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), "")
        if isinstance(entry, Mapping)
        else entry
        for entry in entries
    ]
    if not all(isinstance(entry, str) and entry.strip() for entry in texts):
        return [str(text)]
    return texts


def page_of(metadata: Mapping[str, Any], *, first: int) -> Any:
    """Return the 1-based page of a passage from the metadata of LlamaIndex and LangChain; None where there is none.

    `page` is the place in the file; `page_label` is what is printed on the page, and may begin again after a preface.
    PyMuPDFReader of LlamaIndex writes the page's number as the text of `source`.

    Args:
        metadata: of the passage.
        first: the number that the framework's readers give the first page in `page`.

    >>> page_of({"page": 4, "page_label": "1"}, first=0), page_of({"source": "3", "total_pages": 9}, first=1)
    (5, '3')
    """
    page = metadata.get("page")
    if type(page) is int:
        return page + 1 - first
    for key in ("page_number", "page_label"):
        if metadata.get(key) is not None:
            return metadata[key]
    reader = metadata.get("source")
    has_file_keys = any(key in metadata for key in ("total_pages", "file_path", "file_name"))
    return reader if has_file_keys and isinstance(reader, str) and reader.isascii() and reader.isdecimal() else None


def _document(metadata: Mapping[str, Any]) -> str:
    for key in ("file_name", "file_path", "source"):
        value = metadata.get(key)
        # Some readers put the number of the page into `source`.
        if isinstance(value, str) and value and not value.isdecimal():
            return value if "://" in value else _FOLDERS.split(value)[-1]
    return ""


@dataclass(frozen=True, slots=True)
class Function(UserFunction):
    """Calls a function of yours with the sample, and with Ask where it declares `ask`."""
