"""Loads the JSON schema that a reply must follow: a packaged one by name, a file, or the schema itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.files import read_regular_text

_LONGEST_NAME: Final = 64
_MOST_BYTES: Final = 5_000_000
_LETTERS: Final = "{{letters}}"
"""Placeholder for the values of an `enum`: the letters of the sample's options."""


def packaged_replies() -> tuple[str, ...]:
    """The names of the schemas that come with Steelyard, sorted.

    >>> packaged_replies()
    ('choice', 'choice_reasoned', 'choices', 'create_select', 'sql')
    """
    folder = files("steelyard").joinpath("prompts/replies")
    return tuple(sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json")))


def load_reply_schema(given: Path | str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Load a JSON schema.

    Args:
        given: a packaged name (`choice`, `sql` ...), the path of a .json file, or the schema itself.

    Raises:
        ConfigError: there is no such name and no such file, or it is not a schema of an object.
    """
    if isinstance(given, Mapping):
        return _checked(given, "reply")
    if isinstance(given, str) and given in packaged_replies():
        return _packaged(given)
    try:
        path = Path(given)
        stamp = path.stat()
        return _of_file(path, stamp.st_mtime_ns, stamp.st_size)
    except (OSError, ValueError, RecursionError) as error:
        hint = "" if isinstance(given, Path) else did_you_mean(given, packaged_replies())
        raise ConfigError(f"reply: {str(given)[:80]!r} is not a JSON schema ({error}){hint}") from error


def response_format(given: Path | str | Mapping[str, Any], letters: Sequence[str] = ()) -> dict[str, Any]:
    """The `response_format` of a chat-completions request, which makes the reply follow a schema.

    `strict` is set if the schema is closed (`additionalProperties: false`): endpoints reject it otherwise.
    Source: OpenAI API reference, "Structured outputs".

    Args:
        given: as `load_reply_schema` takes it.
        letters: of the sample's options; they replace `"{{letters}}"` in `"enum": "{{letters}}"`.

    Raises:
        ConfigError: as `load_reply_schema`; or the schema needs letters, and the sample has no options.

    >>> response_format("sql")["json_schema"]["name"]
    'sql'
    """
    schema = _with_letters(load_reply_schema(given), list(letters))
    title = str(schema.get("title", "reply")) if isinstance(given, Mapping) else Path(given).stem
    name = "".join(
        character if character.isascii() and (character.isalnum() or character in "_-") else "_" for character in title
    )
    json_schema = {
        "name": name[:_LONGEST_NAME],
        "schema": dict(schema),
        "strict": schema.get("additionalProperties") is False,
    }
    return {"type": "json_schema", "json_schema": json_schema}


def _with_letters(schema: Any, letters: list[str]) -> Any:
    if isinstance(schema, Mapping):
        if schema.get("enum") == _LETTERS and not letters:
            raise ConfigError("reply: the schema takes the letters of the options, and the sample has no options")
        return {
            key: letters if key == "enum" and item == _LETTERS else _with_letters(item, letters)
            for key, item in schema.items()
        }
    return [_with_letters(item, letters) for item in schema] if isinstance(schema, list | tuple) else schema


@lru_cache(maxsize=16)
def _packaged(name: str) -> Mapping[str, Any]:
    text = files("steelyard").joinpath(f"prompts/replies/{name}.json").read_text(encoding="utf-8")
    return _checked(json.loads(text), name)


@lru_cache(maxsize=16)
def _of_file(path: Path, _mtime_ns: int, _size: int) -> Mapping[str, Any]:
    """Cached by what `stat` says, so that a schema edited between two runs is read again."""
    return _checked(json.loads(read_regular_text(path, _MOST_BYTES)), path.name)


def _checked(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or value.get("type") != "object":
        raise ConfigError(f'reply: {what} is not a JSON schema of an object; it begins with {{"type": "object"}}')
    return value
