"""What of an output is its answer, and whether there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from steelyard.types import Output

STOPPED: Final = frozenset({"content_filter", "refusal"})
"""How a reply ends that an endpoint or a model did not want to give."""


def answer_of(output: Output) -> str:
    """The candidate's text: a text, what a mapping holds at `answer` or `output`, or the value as JSON.

    >>> answer_of(Output({"output": "Paris", "steps": 3})), answer_of(Output([1, 2]))
    ('Paris', '[1, 2]')
    """
    value = output.value
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("answer", "output") if isinstance(value.get(key), str)), value)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def refused_before(output: Output) -> bool:
    """Whether the target gave no answer because its model refused or a content filter stopped it.

    Words that come with a refusal are no answer. What a content filter cut off is one, as far as it came.
    """
    finish = str(output.metadata.get("finish"))
    return finish == "refusal" or (finish in STOPPED and not answer_of(output).strip())
