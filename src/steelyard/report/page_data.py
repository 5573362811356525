"""The data of a page as the text of its `<script>` element: readable JSON, or deflated and in base64.

In both, durations are on lines of their own, so that two pages of the same replies differ in few lines: plain data
have a line per column, packed data one line for the durations and one for everything else.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.escaping import json_in_html, json_line
from steelyard.plain_json import described

DURATIONS: Final = ("latency", "seconds")
"""Columns of a run that differ between two runs with the same replies."""
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def plain_data(blocks: Mapping[str, Any]) -> str:
    """The blocks as JSON with a line per column, so escaped that no text can end the script.

    Args:
        blocks: `samples` is columns, `runs` columns of each run, any other a value.
    """
    texts = {
        name: _object(block)
        if name == "samples"
        else "[" + ",\n".join(map(_object, block)) + "]"
        if name == "runs"
        else json_in_html(block)
        for name, block in blocks.items()
    }
    return "{" + ",\n".join(f'"{name}":{text}' for name, text in texts.items()) + "}"


def _object(columns: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f'"{name}":{json_in_html(column)}' for name, column in columns.items()) + "}"


def packed_data(blocks: Mapping[str, Any]) -> str:
    """The blocks deflated (zlib format) and in base64, which has no character that could end the script.

    The first line is the blocks without durations, the second one an object of durations per run. A run whose records
    are of samples 0, 1, 2 ... has 0 in place of that column.
    """
    times = [{name: run[name] for name in DURATIONS if name in run} for run in blocks["runs"]]
    runs = [
        {name: _shortened(name, column) for name, column in run.items() if name not in DURATIONS}
        for run in blocks["runs"]
    ]
    return f"{_deflated({**blocks, 'runs': runs})}\n{_deflated(times)}"


def _shortened(name: str, column: Any) -> Any:
    return 0 if name == "sample" and isinstance(column, Sequence) and _counts_up(column) else column


def _counts_up(column: Sequence[int]) -> bool:
    return all(number == index for index, number in enumerate(column))


def _deflated(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=described)
    except ValueError:  # a NaN of somebody's own score, which JSON does not have
        text = json_line(value)
    # A lone surrogate cannot be encoded; as a JSON escape it is parsed to the same text.
    plain = _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text) if not text.isascii() else text
    return b64encode(zlib.compress(plain.encode())).decode()
