"""Scores the format of an output: does it match a regular expression, or is it JSON that follows a schema?

What a model wrote is hostile: a pattern that backtracks, such as `(a+)+$`, takes centuries on a text made for it, and
`re` neither stops nor lets another thread run meanwhile. The package `regex` reads the same patterns, gives other
threads their turn, and stops at a time limit; it is one extension without dependencies (Apache-2.0 and CNRI), loaded
on first use. A cap on the text's length is no cure (30 characters do), a thread cannot be ended, and a process for
each sample costs more than all other scorers together.

The package `jsonschema` validates, since it supports every draft; references to other documents are never downloaded.
Patterns within a schema are matched in the same bounded way, because `jsonschema` passes them to `re`, which a hostile
reply can block for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError, did_you_mean
from steelyard.plain_json import from_json, to_json
from steelyard.prompts.reply_schema import load_reply_schema
from steelyard.replies.clean import unfenced
from steelyard.scorers.lexical import share_info, text_of, unscored
from steelyard.types import Output, Sample, Score, ScoreInfo

Flag = Literal["ignore_case", "multiline", "dot_all", "verbose"]

TIMEOUT_S: Final = 1.0
_FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {"ignore_case": "IGNORECASE", "multiline": "MULTILINE", "dot_all": "DOTALL", "verbose": "VERBOSE"}
)
_SHOWN_PATTERN: Final = 160


@dataclass(frozen=True, slots=True)
class Regex:
    r"""Whether the output matches a regular expression; it needs no reference.

    Patterns are read by the package `regex`, which takes those of Python's `re`. A match that is not decided within
    the time limit is `unparsed` of the kind `timeout`.

    Args:
        pattern: the regular expression.
        mode: `search` finds it anywhere; `fullmatch` requires that it is the whole output, except for blanks around it.
        flags: `ignore_case`, `multiline` (^ and $ at each line), `dot_all` (the point takes line ends), `verbose`.
        timeout_s: seconds of the process's CPU time within which a match must be decided.

    >>> Regex(r"\b\d{4}\b")(Sample("1", "When?"), Output("It was in 1789.")).value
    1.0
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (share_info("regex", 1.0, labels=("matches", "does not match")),)

    pattern: str
    mode: Literal["search", "fullmatch"] = "search"
    flags: tuple[Flag, ...] = ()
    timeout_s: float = TIMEOUT_S

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: the pattern cannot be read, an unknown mode or flag, or a time limit that is not above 0.
        """
        if self.mode not in {"search", "fullmatch"}:
            raise ConfigError(f"mode: expected search or fullmatch, but got {self.mode!r}")
        if not 0 < self.timeout_s < float("inf"):
            raise ConfigError(f"timeout_s: expected seconds above 0, but got {self.timeout_s}")
        if unknown := [flag for flag in self.flags if flag not in _FLAGS]:
            raise ConfigError(f"flags: there is no {unknown[0]!r}{did_you_mean(str(unknown[0]), _FLAGS)}")
        compile_pattern(self.pattern, self.flags)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Match one output."""
        del sample
        if (score := unscored("regex", "", output)) is not None:
            return score
        text, pattern = text_of(output), compile_pattern(self.pattern, self.flags)
        try:
            match = (
                pattern.search(text, timeout=self.timeout_s)
                if self.mode == "search"
                else pattern.fullmatch(text.strip(), timeout=self.timeout_s)
            )
        except TimeoutError:
            return undecided("regex", f"the pattern was not decided within {self.timeout_s:g} s")
        reason = f"found {match[0][:_SHOWN_PATTERN]!r}" if match else "the pattern is not found"
        return Score("regex", float(match is not None), passed=match is not None, reason=reason)


def compile_pattern(pattern: str, flags: Sequence[str] = ()) -> Any:
    """Compile a pattern with the package `regex`: its `search` and `fullmatch` take `timeout=`; it caches 500 patterns.

    Raises:
        ConfigError: it cannot be read; the message says what and where.
    """
    import regex  # type: ignore[import-untyped]

    try:
        return regex.compile(pattern, sum(getattr(regex, _FLAGS[flag]) for flag in set(flags)))
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise ConfigError(f"{pattern[:_SHOWN_PATTERN]!r} is not a regular expression: {error}") from error


def undecided(name: str, reason: str) -> Score:
    """The score of a text whose match was not decided within the time limit."""
    return Score(name, None, outcome="unparsed", reason=reason, detail={"kind": "timeout"})


_NAME: Final = "json_schema"
_SHOWN_MESSAGE: Final = 200
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_VALUES: Final = frozenset({"const", "enum", "default", "examples"})
"""Schema keywords whose values are data, not subschemas."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """Whether the output is JSON that follows a schema; it needs no reference.

    An output that is a mapping or a list already is checked as it is. `format` is an annotation and is not validated,
    which is the standard's default.

    Args:
        schema: `sql`, `create_select`, a JSON file, or the schema itself (draft 2020-12 unless it names another).
        fenced: also take an output that is one fenced block of JSON and nothing else.

    >>> schema = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
    >>> score = JsonSchema(schema)(Sample("1", "Which city?"), Output('{"answer": 7}'))
    >>> score.value, score.reason
    (0.0, "$.answer: 7 is not of type 'string'")
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        share_info(_NAME, 1.0, labels=("follows", "does not follow"), named_verdicts=True),
    )

    schema: Path | str | Mapping[str, Any]
    fenced: bool = True

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: the schema is not found, is invalid, or has a reference to something that it does not contain.
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
        """Parse the output: the value, and the problem where it is not JSON, else ""."""
        if isinstance(output.value, Mapping | list | tuple):
            return from_json(to_json(output.value)), ""
        text = text_of(output).strip()
        if not text:
            return None, "the output is empty"
        try:
            return json.loads(unfenced(text) if self.fenced else text, parse_constant=_no_json), ""
        except (ValueError, RecursionError) as error:
            cut_off = "; it was cut off at its length limit" if output.metadata.get("finish") == "length" else ""
            cause = "nested too deep" if isinstance(error, RecursionError) else error
            return None, f"no JSON: {cause}{cut_off}"


def _no_json(word: str) -> Any:
    raise ValueError(f"{word} is not a value of JSON")


def _score(label: str, problem: str) -> Score:
    follows = label == "follows"
    return Score(_NAME, float(follows), passed=follows, reason=problem, detail={"label": label})


def first_error(schema: Mapping[str, Any], value: Any) -> str:
    """The first violation of `schema` in `value`, with its path; "" where there is none.

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
    return "" if error is None else f"{error.json_path}: {error.message[:_SHOWN_MESSAGE]}"


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
    for part in _parts(schema):
        _check_part(part, schema)


def _check_part(part: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    for key in _REFERENCES:
        if isinstance(part.get(key), str):
            _check_reference(part[key], schema)
    patterns = part.get("patternProperties", {})
    for pattern in (*patterns, *([part["pattern"]] if isinstance(part.get("pattern"), str) else [])):
        compile_pattern(pattern)
    if patterns and "unevaluatedProperties" in part:
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


@cache
def _validator_class(dialect: str) -> Any:
    """The validator class of a draft, with pattern matching in bounded time; built once per draft."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
    from jsonschema.validators import extend, validator_for  # type: ignore[import-untyped]

    validator_class = validator_for({"$schema": dialect}, default=None) if dialect else Draft202012Validator
    if validator_class is None:
        raise ConfigError(f"schema: $schema {dialect[:_SHOWN_MESSAGE]!r} is not a known draft")
    return extend(
        validator_class,
        {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional_properties},
    )


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not _occurs(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        for pattern, schema in patterns.items():
            for name, member in value.items():
                if _occurs(pattern, name):
                    yield from validator.descend(member, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(value, "object"):
        return
    patterns = schema.get("patternProperties", {})
    declared = schema.get("properties", {})
    undeclared = [
        name for name in value if name not in declared and not any(_occurs(pattern, name) for pattern in patterns)
    ]
    if rule is False and undeclared:
        yield ValidationError(f"{', '.join(map(repr, undeclared[:5]))} is not among the properties")
    elif rule is not False:
        for name in undeclared:
            yield from validator.descend(value[name], rule, path=name)


def _occurs(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).search(text, timeout=TIMEOUT_S) is not None
