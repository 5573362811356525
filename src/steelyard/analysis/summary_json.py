"""A run's summary as plain JSON and back, so that a store can hold it.

Dataclasses are written field by field and read by their type hints. A summary that would not come back equal is not
stored at all, see `packed_summary`, and is computed when it is needed.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from steelyard.analysis.summary_values import RunSummary
from steelyard.plain_json import to_json

_OF_RATERS: Final = ("Agreement", "JudgeAgreement", "JudgePanel", "JudgeCheck")
"""Figures on raters also depend on labels. They are read as plain JSON, so a summary with them is not stored."""


def packed_summary(summary: RunSummary) -> Any | None:
    """A summary as JSON that `unpacked_summary` reads; None where it would not be the same summary again."""
    plain = json.loads(to_json(_plain(summary)))
    try:
        return plain if unpacked_summary(plain) == summary else None
    except (TypeError, ValueError, LookupError):
        return None


def unpacked_summary(plain: Any) -> RunSummary:
    """The summary from which `packed_summary` made this JSON.

    Raises:
        TypeError, ValueError, LookupError: it is of another version.
    """
    return typing.cast("RunSummary", _reader(RunSummary)(plain))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return {key: _plain(element) for key, element in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(element) for element in value]
    return value


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """A function that makes a value of a type from its JSON."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        (kind,) = (part for part in parts if part is not type(None))
        read = _reader(kind)
        return lambda value: None if value is None else read(value)
    if origin is tuple and parts[-1] is not ...:
        readers = list(map(_reader, parts))
        return lambda value: tuple(read(part) for read, part in zip(readers, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        read_element = _reader(parts[1])
        return lambda value: {key: read_element(element) for key, element in value.items()}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        read_part = _reader(parts[0])
        return lambda value: tuple(map(read_part, value))
    return _class_reader(hint)


def _class_reader(hint: Any) -> Callable[[Any], Any]:
    if dataclasses.is_dataclass(hint) or (isinstance(hint, type) and hasattr(hint, "_fields")):
        hints = typing.get_type_hints(hint, localns=_names())
        readers = list(map(_reader, hints.values()))
        make: Any = hint
        return lambda value: make(*(read(part) for read, part in zip(readers, value, strict=True)))
    return lambda value: value


@cache
def _names() -> dict[str, Any]:
    """The classes that hints name and that modules import for type checkers alone."""
    from steelyard.analysis.contingency import ContingencyTable
    from steelyard.analysis.exam_values import Exam
    from steelyard.analysis.histograms import Histogram
    from steelyard.analysis.stopping import Stopping
    from steelyard.analysis.usage import FrameworkUsage, StageCost

    parts = (ContingencyTable, Exam, Histogram, Stopping, FrameworkUsage, StageCost)
    return {part.__name__: part for part in parts} | dict.fromkeys(_OF_RATERS, Any)
