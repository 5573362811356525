"""`tool_calls` beside the checker of the Berkeley Function Calling Leaderboard (bfcl_eval 2026.3), on stored calls.

BFCL lists the allowed values of each argument, "" among them where it may be left out; a schema says the same. `ours`
stands where the verdicts differ: in JSON 5.0 is 5, and texts are equal only as they stand.
"""

import json
from pathlib import Path

import pytest

from steelyard import Output, Sample
from steelyard.scorers import ToolCalls

CASES = [*map(json.loads, Path(__file__).with_name("bfcl_calls.jsonl").read_text(encoding="utf-8").splitlines())]


def schema_of(allowed, *, nested=False):
    return {
        "type": "object",
        "properties": {name: {"anyOf": [value_schema(value, nested) for value in allowed[name]]} for name in allowed},
        "required": [name for name, values in allowed.items() if "" not in values],
        "additionalProperties": False,
    }


def value_schema(value, nested):
    """In objects and lists of objects, too, each value is a list of those allowed, but one level deep only."""
    if isinstance(value, dict) and not nested:
        return schema_of(value, nested=True)
    if isinstance(value, list) and value and isinstance(value[0], dict) and not nested:
        members = [schema_of(member, nested=True) for member in value]
        return {"prefixItems": members, "minItems": len(members), "maxItems": len(members)}
    return {"const": value}


@pytest.mark.parametrize("case", CASES, ids=[f"{case['about']}, {case['bfcl']}" for case in CASES])
def test_calls_are_judged_as_by_bfcl_but_for_equality_of_json(case):
    expected = [{"name": name, "schema": schema_of(call[name])} for call in case["expected"] for name in call]
    made = [{"name": name, "arguments": call[name]} for call in case["made"] for name in call]
    output = Output("done", metadata={"messages": [{"role": "assistant", "content": "", "tool_calls": made}]})
    verdict = ToolCalls(match="same")(Sample("1", "?", metadata={"tools": expected}), output)[0]
    assert verdict.passed is case.get("ours", case["bfcl"]), verdict.reason
