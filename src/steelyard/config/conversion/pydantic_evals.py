"""Converts a dataset of pydantic-evals, with its evaluators, by way of the shape of a promptfoo configuration.

Source: the dataset files of pydantic-evals 2.62 (MIT): `cases` with inputs, expected_output, metadata and evaluators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from steelyard.building.nodes import Node, from_plain, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.openai_evals import DEFAULT_MODEL
from steelyard.config.conversion.promptfoo import convert_promptfoo
from steelyard.config.conversion.result import Converted
from steelyard.errors import ConfigError

_FIRST: Final = {
    "Equals": "value",
    "Contains": "value",
    "MaxDuration": "seconds",
    "LLMJudge": "rubric",
    "GEval": "criteria",
    "IsInstance": "type_name",
}
_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "Equals": lambda given: {"type": "equals", "value": given.get("value")},
    "EqualsExpected": lambda _: {"type": "equals", "value": "{{expected_output}}"},
    "Contains": lambda given: {
        "type": "contains" if given.get("case_sensitive", True) else "icontains",
        "value": given.get("value"),
    },
    "MaxDuration": lambda given: {"type": "latency", "threshold": 1000 * float(given.get("seconds") or 0)},
    "LLMJudge": lambda given: {"type": "llm-rubric", "value": given.get("rubric")},
}


def convert_pydantic_evals(root: Node, foreign: ForeignFiles) -> Converted:
    """Convert a dataset; the task is a Python function there, so prompt and model are the user's to name.

    Raises:
        ConfigError: it has no cases, or one is malformed.
    """
    given = plain(root)
    cases = given.get("cases")
    if (
        not isinstance(cases, list)
        or not cases
        or not all(isinstance(case, Mapping) and "inputs" in case for case in cases)
    ):
        raise ConfigError("cases: expected a list of cases, each with inputs", root.location)
    evaluators = given.get("evaluators") or []
    names = dict.fromkeys(key for case in cases if isinstance(case["inputs"], Mapping) for key in case["inputs"])
    shown = "\n".join(f"{name}: {{{{{name}}}}}" for name in names) if names else "{{input}}"
    shape = {
        "description": str(given.get("name") or ""),
        "prompts": [shown],
        "providers": [{"id": f"openai:chat:{DEFAULT_MODEL}", "config": {}}],
        "defaultTest": {"assert": [_assertion(evaluator) for evaluator in evaluators if evaluator != "EqualsExpected"]},
        "tests": [_test(case, every=["EqualsExpected"] if "EqualsExpected" in evaluators else []) for case in cases],
    }
    converted = convert_promptfoo(from_plain(shape, root.source.file), foreign)
    converted.notes.add(
        f"the task, a function; name its prompt and model, or targets: {{function: module:name}}. Here {DEFAULT_MODEL}",
        root,
    )
    for key in sorted(given.keys() - {"name", "cases", "evaluators", "$schema"}):
        converted.notes.add(key, root.entries[key].key)
    return converted


def _test(case: Mapping[str, Any], every: list[Any]) -> dict[str, Any]:
    """A case as a test; without an expected output nothing is compared with it."""
    inputs, expected = case["inputs"], case.get("expected_output")
    own = [*every, *(case.get("evaluators") or [])]
    values = dict(inputs) if isinstance(inputs, Mapping) else {"input": inputs}
    return {
        "vars": {**values, **({} if expected is None else {"expected_output": expected})},
        "options": {"disableVarExpansion": True},
        "assert": [_assertion(evaluator) for evaluator in own if evaluator != "EqualsExpected" or expected is not None],
        "metadata": case.get("metadata"),
        **({"description": case["name"]} if case.get("name") else {}),
    }


def _assertion(evaluator: Any) -> dict[str, Any]:
    """An evaluator in one of its short forms, `Name`, `{Name: argument}` or `{Name: {arguments}}`, as an assertion."""
    name: Any = evaluator
    argument: Any = {}
    if isinstance(evaluator, Mapping):
        name, argument = (
            (evaluator["name"], evaluator.get("arguments") or {})
            if "name" in evaluator
            else next(iter(evaluator.items()), ("", {}))
        )
    name = str(name)
    given = (
        argument
        if isinstance(argument, Mapping)
        else {_FIRST.get(name, "value"): argument[0] if isinstance(argument, list) and argument else argument}
    )
    metric = {"metric": given["evaluation_name"]} if given.get("evaluation_name") else {}
    return {**_KINDS[name](given), **metric} if name in _KINDS else {"type": f"evaluator {name}"}
