"""Scores whether an output is JSON that follows a schema.

The package `jsonschema` validates: it is complete for every draft and a dependency of its own right; nothing that it
could fetch is fetched. Patterns within a schema are matched by `lexical_patterns`, because `jsonschema` hands them to
`re`, which a reply made for it can hold for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from steelyard.errors import ConfigError
from steelyard.scorers.lexical_patterns import TIMEOUT_S, compile_pattern, undecided
from steelyard.scorers.lexical_texts import text_of, unscored
from steelyard.text.plain_json import from_json, to_json
from steelyard.text.reply_schema import load_reply_schema
from steelyard.text.sql_fences import unfenced
from steelyard.types import Output, Sample, Score

_NAME: Final = "json_schema"
_SHOWN: Final = 200
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_VALUES: Final = frozenset({"const", "enum", "default", "examples"})
"""Keys of a schema below which stands data."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """Whether the output is JSON that follows a schema; it needs no reference.

    An output that is a mapping or a list already is checked as it is. `format` is a note, not a rule, as the standard
    has it by default.

    Args:
        schema: `sql`, `create_select`, a JSON file, or the schema itself (draft 2020-12 unless it names another).
        fenced: also take an output that is one fenced block of JSON and nothing else.

    >>> schema = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
    >>> score = JsonSchema(schema)(Sample("1", "Which city?"), Output('{"answer": 7}'))
    >>> score.value, score.reason
    (0.0, "$.answer: 7 is not of type 'string'")
    """

    score_name: ClassVar[str] = "json_schema"
    over: ClassVar[str] = "all"
    labelled: ClassVar[tuple[str, ...]] = ("json_schema",)
    words: ClassVar[Mapping[str, tuple[str, str]]] = MappingProxyType({"json_schema": ("follows", "does not follow")})

    schema: Path | str | Mapping[str, Any]
    fenced: bool = True

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: there is no such schema, it is none, or it refers to what it does not hold.
        """
        schema = load_reply_schema(self.schema)
        check_schema(schema)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Check one output."""
        del sample
        if (score := unscored(_NAME, "", output)) is not None:
            return score
        value, problem = self._read(output)
        if problem:
            return _score("no JSON", problem)
        try:
            problem = first_error(load_reply_schema(self.schema), value)
        except RecursionError:
            return _score("does not follow", "nested too deep")
        except OverflowError:  # 10**400 against multipleOf 0.5
            return _score("does not follow", "a number is too large to be checked")
        except TimeoutError:
            return undecided(_NAME, f"a pattern of the schema was not decided within {TIMEOUT_S:g} s")
        return _score("does not follow" if problem else "follows", problem)

    def _read(self, output: Output) -> tuple[Any, str]:
        """(the value, why it is none)."""
        if isinstance(output.value, Mapping | list | tuple):
            return from_json(to_json(output.value)), ""
        text = text_of(output).strip()
        if not text:
            return None, "the output is empty"
        try:
            return json.loads(unfenced(text) if self.fenced else text, parse_constant=_no_json), ""
        except (ValueError, RecursionError) as error:
            cut_off = "; it was cut off at its length limit" if output.metadata.get("finish") == "length" else ""
            why = "nested too deep" if isinstance(error, RecursionError) else error
            return None, f"no JSON: {why}{cut_off}"


def _no_json(word: str) -> Any:
    raise ValueError(f"{word} is no value of JSON")


def _score(label: str, problem: str) -> Score:
    follows = label == "follows"
    return Score(_NAME, float(follows), passed=follows, reason=problem, detail={"label": label})


def first_error(schema: Mapping[str, Any], value: Any) -> str:
    """The first thing in which `value` does not follow `schema`, with its path; "" where it does.

    Raises:
        TimeoutError: a pattern within the schema was not decided in time.
        RecursionError: `value` is nested too deep for a schema that refers to itself.
        OverflowError: a number is too large for a rule of fractions.

    >>> first_error({"type": "object", "properties": {"n": {"items": {"minimum": 1}}}}, {"n": [1, 0]})
    '$.n[1]: 0 is less than the minimum of 1'
    """
    from referencing import Registry

    validator = _validator_class(str(schema.get("$schema", "")))(schema, registry=Registry())
    error = next(validator.iter_errors(value), None)
    return "" if error is None else f"{error.json_path}: {error.message[:_SHOWN]}"


def check_schema(schema: Mapping[str, Any]) -> None:
    """Find what is no schema, or one that cannot be used without fetching something.

    Raises:
        ConfigError: what, and where in the schema.
    """
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]

    try:
        _validator_class(str(schema.get("$schema", ""))).check_schema(schema)
    except SchemaError as error:
        raise ConfigError(f"schema: {error.json_path}: {error.message[:_SHOWN]}") from error
    for part in _parts(schema):
        _check_part(part, schema)


def _check_part(part: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
    for key in _REFERENCES:
        if isinstance(part.get(key), str):
            _check_reference(part[key], whole)
    patterns = part.get("patternProperties", {})
    for pattern in (*patterns, *([part["pattern"]] if isinstance(part.get("pattern"), str) else [])):
        compile_pattern(pattern)
    if patterns and "unevaluatedProperties" in part:
        raise ConfigError("schema: patternProperties beside unevaluatedProperties; use additionalProperties")


def _check_reference(reference: str, whole: Mapping[str, Any]) -> None:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    if not reference.startswith("#"):
        raise ConfigError(f"schema: {reference!r} refers to another document, and nothing is fetched; put it in $defs")
    try:
        Registry().with_resource("", DRAFT202012.create_resource(whole)).resolver().lookup(reference)
    except Unresolvable as error:
        raise ConfigError(f"schema: there is no {reference!r} in it") from error


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every mapping of a schema that is no data; properties that are called like a key of a schema do no harm here."""
    if isinstance(schema, Mapping):
        yield schema
        for key, value in schema.items():
            if key not in _VALUES:
                yield from _parts(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from _parts(value)


@cache
def _validator_class(dialect: str) -> Any:
    """The validator of a draft whose patterns are decided in bounded time; made once a draft."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
    from jsonschema.validators import extend, validator_for  # type: ignore[import-untyped]

    found = validator_for({"$schema": dialect}, default=None) if dialect else Draft202012Validator
    if found is None:
        raise ConfigError(f"schema: $schema {dialect[:_SHOWN]!r} is no draft that is known")
    return extend(
        found,
        {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional_properties},
    )


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not _found(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        for pattern, schema in patterns.items():
            for name, one in value.items():
                if _found(pattern, name):
                    yield from validator.descend(one, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(value, "object"):
        return
    patterns = schema.get("patternProperties", {})
    known = schema.get("properties", {})
    more = [name for name in value if name not in known and not any(_found(one, name) for one in patterns)]
    if wanted is False and more:
        yield ValidationError(f"{', '.join(map(repr, more[:5]))} is not among the properties")
    elif wanted is not False:
        for name in more:
            yield from validator.descend(value[name], wanted, path=name)


def _found(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).search(text, timeout=TIMEOUT_S) is not None
