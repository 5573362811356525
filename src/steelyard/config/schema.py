"""The JSON schema (draft 2020-12) of a configuration, from the same dataclasses and docstrings that build it.

An editor with this schema completes keys and shows their descriptions. Only `steelyard check` checks everything: files,
references and combinations of keys are beyond a schema.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from steelyard.building.keys import (
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
from steelyard.building.wrapped import Adapted
from steelyard.constraints import Within
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.registry import DEFAULT_SUITE, Kind, describe, find, names

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
KINDS: Final[tuple[Kind, ...]] = ("target", "scorer", "model")
FILLED: Final = frozenset({"tags"})
"""Fields of a suite that the loader fills; they are not keys of the file."""
_SCALAR: Final[list[str]] = ["string", "number", "boolean"]
_PLACEHOLDER: Final = {"type": "string", "pattern": r"^\{\{\s*[\w-]+\s*\}\}$"}
"""A placeholder of the matrix, which becomes a number when it is expanded."""
_LEAF_TYPES: Final[Mapping[Any, Any]] = {
    str: {"type": _SCALAR},
    Path: {"type": "string"},
    int: {"anyOf": [{"type": "integer"}, _PLACEHOLDER]},
    float: {"anyOf": [{"type": "number"}, _PLACEHOLDER]},
    bool: {"anyOf": [{"type": "boolean"}, _PLACEHOLDER]},
    type(None): {"type": "null"},
}

Definitions = dict[str, dict[str, Any]]


def json_schema() -> dict[str, Any]:
    """The JSON schema of a configuration file: one alternative per suite, every registered class under `$defs`."""
    definitions: Definitions = {}
    for kind in KINDS:
        _define_kind(kind, definitions)
    suites = [_suite(name, definitions) for name in names("suite")]
    return {
        "$schema": DIALECT,
        "title": "Steelyard configuration",
        **(suites[0] if len(suites) == 1 else {"oneOf": suites}),
        "$defs": dict(sorted(definitions.items())),
    }


def _suite(name: str, definitions: Definitions) -> dict[str, Any]:
    cls = find("suite", name)
    keys = suite_keys(cls)
    fields = _fields(cls, keys, definitions)
    tagged = {"minProperties": 1, "additionalProperties": {"$ref": "#/$defs/target with tags"}}
    targets = {"targets": {**fields["targets"], **tagged}} if "targets" in fields else {}
    about = {
        "$schema": {"type": "string", "description": "where an editor finds this schema"},
        "suite": {"const": name, "description": summary_of(cls)},
        "matrix": {
            "type": "object",
            "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": _SCALAR}},
            "description": "variables for {{name}} in targets; each target is copied for the values of those it uses",
        },
    }
    required = [key.name for key in keys.values() if key.required]
    return _closed({**about, **fields, **targets}, required if name == DEFAULT_SUITE else ["suite", *required])


def suite_keys(cls: type) -> Mapping[str, Key]:
    """The keys of a suite's file besides `suite` and `matrix`."""
    return {name: key for name, key in keys_of(cls).items() if name not in FILLED}


def _closed(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _fields(cls: type, keys: Mapping[str, Key], definitions: Definitions) -> dict[str, dict[str, Any]]:
    descriptions = arguments_of(cls)
    return {key.name: _field(key, descriptions.get(key.name, ""), definitions) for key in keys.values()}


def _field(key: Key, description: str, definitions: Definitions) -> dict[str, Any]:
    field = {**of_hint(key.hint, definitions)}
    if key.range is not None:
        field = _ranged(field, _limits(key.range))
    if description:
        field["description"] = description
    if not key.required:
        field["default"] = describe(key.default)
    return field


def _limits(within: Within) -> dict[str, float]:
    least = "exclusiveMinimum" if within.above else "minimum"
    limits = {least: within.least, "maximum": within.most}
    return {name: limit for name, limit in limits.items() if limit is not None and math.isfinite(limit)}


def _ranged(schema: Mapping[str, Any], limits: Mapping[str, float]) -> dict[str, Any]:
    """The schema with limits of its number, which may be one of several alternatives."""
    if schema.get("type") in {"integer", "number"}:
        return {**schema, **limits}
    return {
        name: [_ranged(alternative, limits) for alternative in value] if name == "anyOf" else value
        for name, value in schema.items()
    }


def of_hint(hint: Any, definitions: Definitions) -> dict[str, Any]:
    """The JSON schema of an annotation.

    Args:
        hint: an annotation.
        definitions: the dataclasses that it refers to are added to it.

    Raises:
        ConfigError: no value in a file can have this type, which is a mistake of the author of the class.
    """
    if len(members(hint)) > 1:
        return {"anyOf": [of_hint(member, definitions) for member in members(hint) if is_json_type(member)]}
    if is_json(hint) or kind_of(hint):
        return {"$ref": f"#/$defs/{kind_of(hint)}"} if kind_of(hint) else {}
    if hint is SampleFiles:  # a file, or several, may stand alone: see `load.with_sample_file`
        files = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
        return {"anyOf": [*files, _reference(hint, definitions)]}
    return _reference(hint, definitions) if is_class(hint) else _of_simple_hint(hint, definitions)


def is_json_type(hint: Any) -> bool:
    """Whether this alternative of a union can be written in a file."""
    return hint is type(None) or is_writable(hint)


def _of_simple_hint(hint: Any, definitions: Definitions) -> dict[str, Any]:
    if is_literal(hint):
        return {"anyOf": [{"enum": list(get_args(hint))}, _PLACEHOLDER]}
    if element_of(hint) is not None:
        unique = (get_origin(hint) or hint) in {set, frozenset}
        items = {"type": "array", "items": of_hint(element_of(hint), definitions)}
        return {**items, "uniqueItems": True} if unique else items
    if value_of(hint) is not None:
        return {"type": "object", "additionalProperties": of_hint(value_of(hint), definitions)}
    if hint not in _LEAF_TYPES:
        raise ConfigError(f"a configuration cannot hold {hint}")
    return dict(_LEAF_TYPES[hint])


def _reference(cls: type, definitions: Definitions) -> dict[str, Any]:
    name = cls.__name__
    if name not in definitions:
        definitions[name] = {}  # a placeholder while its fields are read, so that a class may refer to itself
        keys = keys_of(cls)
        required = [key.name for key in keys.values() if key.required]
        definitions[name] = {**_closed(_fields(cls, keys, definitions), required), "description": summary_of(cls)}
    return {"$ref": f"#/$defs/{name}"}


def _define_kind(kind: Kind, definitions: Definitions) -> None:
    plain = [form for name in names(kind) for form in _forms(kind, name, definitions, {})]
    definitions[kind] = {"oneOf": plain}
    if kind == "target":
        tags = {
            "type": "object",
            "additionalProperties": {"type": _SCALAR},
            "description": "columns of a report, by name",
        }
        tagged = [form for name in names(kind) for form in _forms(kind, name, definitions, {"tags": tags})]
        definitions["target with tags"] = {"oneOf": tagged}


def _forms(kind: Kind, name: str, definitions: Definitions, extra: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The forms of a registered class in a file: `{name: {fields}}`, `{name: scalar, ...}`, or the bare name."""
    registered: Any = find(kind, name)
    keys = keys_of(registered) if is_class(registered) else {}
    shared = {key.name: key for key in keys_of_kind(kind, registered).values() if key.name not in keys}
    reference = f"{kind} {name}"
    if reference not in definitions:
        definitions[reference] = {}
        required = [key.name for key in keys.values() if key.required]
        fields = _closed({**_fields(registered, keys, definitions), **_fields(Adapted, shared, definitions)}, required)
        definitions[reference] = {**fields, "description": summary_of(registered)}
    beside = {**_fields(Adapted, shared, definitions), **extra}
    return [
        _closed({name: {"$ref": f"#/$defs/{reference}"}, **beside}, [name]),
        *_scalar_forms(name, registered, {**keys, **shared}, (definitions, extra)),
        *([{"const": name}] if not any(key.required for key in keys.values()) else []),
    ]


def _scalar_forms(
    name: str, registered: Any, keys: Mapping[str, Key], context: tuple[Definitions, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    definitions, extra = context
    fields = {**_fields(Adapted, keys, definitions), **(_fields(registered, keys, definitions) if keys else {})}
    required = [key.name for key in keys.values() if key.required]
    key = scalar_key(name, keys, registered)
    forms = []
    if key is not None:
        others = {other: field for other, field in fields.items() if other not in {key.name, name}}
        # Below `not` stands the scorer itself, as a mapping too.
        scalar = fields[key.name] if kind_of(key.hint) else {"allOf": [fields[key.name], {"not": {"type": "object"}}]}
        forms.append(
            _closed({name: scalar, **others, **extra}, [name, *(other for other in required if other != key.name)])
        )
    if not required and (key is None or not (is_json(key.hint) or type(None) in members(key.hint))):
        forms.append(_closed({name: {"type": "null"}, **extra}, [name]))
    return forms
