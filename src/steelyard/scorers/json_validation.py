"""Validates JSON against a schema in bounded work, as a model's reply decides what the validation costs.

The package `jsonschema` validates, since it supports every draft; references to other documents are never downloaded.
A few lines of a schema can ask for 2^22 steps, and a few kilobytes of a reply for millions, so the steps are counted:
the same reply has the same result on any machine. Three of its rules are replaced: patterns, which it passes to `re`
(see `patterns`), and `uniqueItems`, `enum` and `const`, which compare every item with every other in Python.
"""

# Why it is so, and what was rejected: docs/decisions/data-limited-work.md

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.scorers.patterns import TIMEOUT_S, PatternTime, compile_pattern

MAX_STEPS: Final = 200_000
"""Steps of one check; each takes one to three microseconds, and an honest reply of 100 kB takes about 10,000."""

_SHOWN_MESSAGE: Final = 200
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_VALUES: Final = frozenset({"const", "enum", "default", "examples"})
"""Schema keywords whose values are data, not subschemas."""
_MAX_DEPTH: Final = 100
"""Levels of lists and objects in a value. At 900, the first message about one of 10 MB took 6 s."""
_REFERENCE_STEPS: Final = 10
_CHARACTERS: Final = 32
"""Characters that are written into a message or a comparison in a step."""
_PAIRS: Final = 128
"""Comparisons of numbers or short texts in a step."""


class CheckSteps:
    """What is left of the steps, and of the time for patterns, of one check.

    Args:
        most: steps.
    """

    __slots__ = ("left", "patterns")

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.left = most
        self.patterns = PatternTime()

    def take(self, steps: int) -> None:
        """Count steps.

        Raises:
            TimeoutError: there are no more.
        """
        self.left -= steps
        if self.left < 0:
            raise TimeoutError(f"the schema was not decided within {MAX_STEPS:,} steps")

    def occurs(self, pattern: str, text: str) -> bool:
        """Whether a pattern matches anywhere in a text.

        Raises:
            TimeoutError: it was not decided in time, or there are no more steps.
        """
        self.take(1)
        try:
            return self.patterns.occurs(pattern, text)
        except TimeoutError as error:
            raise TimeoutError(f"the patterns of the schema were not decided within {TIMEOUT_S:g} s") from error


_STEPS: Final[ContextVar[CheckSteps]] = ContextVar("steps of the check")
"""`jsonschema` passes nothing of ours to its rules."""


def first_error(schema: Mapping[str, Any], value: Any, steps: CheckSteps | None = None) -> str:
    """The first violation of `schema` in `value`, with its path; "" where there is none.

    Args:
        schema: a schema that `check_schema` accepts.
        value: JSON.
        steps: shared by several checks; None: the check has its own.

    Raises:
        TimeoutError: it was not decided in the steps, or in the time for patterns; its text says which.
        RecursionError: `value` is nested too deep.
        OverflowError: a number is too large for a rule of fractions.

    >>> first_error({"type": "object", "properties": {"n": {"items": {"minimum": 1}}}}, {"n": [1, 0]})
    '$.n[1]: 0 is less than the minimum of 1'
    """
    from referencing import Registry

    validator = _validator_class(str(schema.get("$schema", "")))(schema, registry=Registry())
    before = _STEPS.set(steps or CheckSteps())
    try:
        _refuse_depth(value)
        error = next(validator.iter_errors(value), None)
    finally:
        _STEPS.reset(before)
    return "" if error is None else f"{error.json_path}: {error.message[:_SHOWN_MESSAGE]}"


def _refuse_depth(value: Any) -> None:
    """Refuse more than `_MAX_DEPTH` levels: a message quotes the value, and each level copies what is in it."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            member
            for outer in level
            if isinstance(outer, dict | list)
            for member in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise RecursionError


def check_schema(schema: Mapping[str, Any]) -> None:
    """Validate a schema, and refuse references to other documents.

    Raises:
        ConfigError: what, and where in the schema.
    """
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]

    try:
        _validator_class(str(schema.get("$schema", ""))).check_schema(schema)
    except SchemaError as error:
        raise ConfigError(f"schema: {error.json_path}: {error.message[:_SHOWN_MESSAGE]}") from error
    parts = [*_parts(schema)]
    for part in parts:
        for key in _REFERENCES:
            if isinstance(part.get(key), str):
                _check_reference(part[key], schema)
        patterns = part.get("patternProperties", {})
        for pattern in (*patterns, *([part["pattern"]] if isinstance(part.get("pattern"), str) else [])):
            compile_pattern(pattern)
    # `jsonschema` matches them by `re`, without a limit, also in a part that is referred to.
    if any(part.get("patternProperties") for part in parts) and any("unevaluatedProperties" in part for part in parts):
        raise ConfigError(
            "schema: patternProperties cannot be combined with unevaluatedProperties; use additionalProperties"
        )


def _check_reference(reference: str, schema: Mapping[str, Any]) -> None:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    if not reference.startswith("#"):
        raise ConfigError(f"schema: {reference!r} refers to another document, which is not downloaded; put it in $defs")
    try:
        Registry().with_resource("", DRAFT202012.create_resource(schema)).resolver().lookup(reference)
    except Unresolvable as error:
        raise ConfigError(f"schema: there is no {reference!r} in it") from error


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """All subschemas; a property that is named like a keyword is visited as well, which does no harm."""
    if isinstance(schema, Mapping):
        yield schema
        for key, value in schema.items():
            if key not in _VALUES:
                yield from _parts(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from _parts(value)


_Rule = Callable[[Any, Any, Any, Any], Any]


@cache
def _validator_class(dialect: str) -> Any:
    """The validator class of a draft, whose rules count their steps; built once per draft."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
    from jsonschema.validators import extend, validator_for  # type: ignore[import-untyped]

    validator_class = validator_for({"$schema": dialect}, default=None) if dialect else Draft202012Validator
    if validator_class is None:
        raise ConfigError(f"schema: $schema {dialect[:_SHOWN_MESSAGE]!r} is not a known draft")
    own: dict[str, _Rule] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "enum": _enum,
        "const": _const,
    }
    rules = validator_class.VALIDATORS  # an older draft lacks some
    return extend(validator_class, {name: _counted(name, own.get(name, rule)) for name, rule in rules.items()})


def _counted(name: str, rule: _Rule) -> _Rule:
    """The rule of a keyword, which takes a step for itself and for each member of what it looks at."""
    own_steps = _REFERENCE_STEPS if name in _REFERENCES else 1

    @wraps(rule)
    def counted(validator: Any, argument: Any, value: Any, schema: Any) -> Iterator[Any]:
        steps = _STEPS.get()
        members = len(value) if isinstance(value, list | dict) else 0
        steps.take(own_steps + members + (len(argument) if isinstance(argument, list | dict) else 0))
        if name.startswith("unevaluated"):  # searches a list for each member
            steps.take(members * members // _PAIRS)
        for error in rule(validator, argument, value, schema) or ():
            steps.take(len(error.message) // _CHARACTERS)
            yield error

    return counted


def _violation(message: str) -> Any:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "string") and not _STEPS.get().occurs(pattern, value):
        yield _violation(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        steps = _STEPS.get()
        for pattern, schema in patterns.items():
            for name, member in value.items():
                if steps.occurs(pattern, name):
                    yield from validator.descend(member, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    steps, patterns = _STEPS.get(), schema.get("patternProperties", {})
    declared = schema.get("properties", {})
    undeclared = [
        name for name in value if name not in declared and not any(steps.occurs(pattern, name) for pattern in patterns)
    ]
    if rule is False and undeclared:
        yield _violation(f"{', '.join(map(repr, undeclared[:5]))} is not among the properties")
    elif rule is not False:
        for name in undeclared:
            yield from validator.descend(value[name], rule, path=name)


def _unique_items(validator: Any, unique: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if unique and validator.is_type(value, "array"):
        seen: set[str] = set()
        for item in value:
            before = len(seen)
            seen.add(_comparable(item))
            if len(seen) == before:
                yield _violation(f"{value!r} has non-unique elements")
                return


def _enum(_validator: Any, options: Any, value: Any, _schema: Any) -> Iterator[Any]:
    key = _comparable(value)
    if not any(key == _comparable(option) for option in options):
        yield _violation(f"{value!r} is not one of {options!r}")


def _const(_validator: Any, constant: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if _comparable(value) != _comparable(constant):
        yield _violation(f"{constant!r} was expected")


def _comparable(value: Any) -> str:
    """A text that two JSON values share if they are equal: 1 equals 1.0, but not true.

    Texts, since equal hashes can be made for whole numbers.
    """
    if isinstance(value, str):
        return f'"{value}'
    text = json.dumps(_whole(value), sort_keys=True, separators=(",", ":"))
    _STEPS.get().take(len(text) // _CHARACTERS)
    return text


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return {key: _whole(member) for key, member in value.items()} if isinstance(value, Mapping) else value
