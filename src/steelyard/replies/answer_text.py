"""What a target gave, or the answer in it, as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from steelyard.types import Output


def answer_of(output: Output) -> str:
    """The answer in an output as text: the text itself, the value at `answer` or `output` of a mapping, else JSON.

    >>> answer_of(Output({"output": "Paris", "steps": 3})), answer_of(Output([1, 2]))
    ('Paris', '[1, 2]')
    """
    value = output.value
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("answer", "output") if isinstance(value.get(key), str)), value)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def text_of(output: Output) -> str:
    """The output as text: structures as JSON, None as an empty text."""
    value = output.value
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)
