"""Converts a dataset of pydantic-evals, with its evaluators, by way of the shape of a promptfoo configuration.

Source: the dataset files of pydantic-evals 2.62 (MIT): `cases` with inputs, expected_output, metadata and evaluators.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from steelyard.building.nodes import Node, from_plain
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
    "EqualsExpected": "evaluation_name",
    "ToolCorrectness": "expected_tools",
}
_INSTEAD: Final = {
    **dict.fromkeys(("TrajectoryMatch", "ArgumentCorrectness"), "tool_calls"),
    **dict.fromkeys(("MaxToolCalls", "MaxModelRequests"), "agent_steps"),
    "GEval": "g_eval",
}
"""What to write for an evaluator that is not converted."""
_PROVIDERS: Final = {"google-gla": "google", "google-vertex": "vertex", "openai-chat": "openai"}
"""What promptfoo calls a provider of pydantic-ai."""
_EXPECTED: Final = "EqualsExpected"
_TEXT_OF_YAML_1_1: Final = re.compile(r"0o[0-7]+|[-+]?(?:[0-9]+[eE][-+]?|(?:[0-9]+\.[0-9]*|\.[0-9]+)[eE])[0-9]+")
"""Texts without quotes in version 1.1, numbers in 1.2: without a point, or without a sign of the exponent."""


def _equal(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping | list | bool):
        return {"type": "contains-json", "value": {"const": value}}
    return {"type": "equals", "value": _raw(value)}


def _raw(value: Any) -> Any:
    """A value that is no template and no file in an assertion of promptfoo."""
    is_read = isinstance(value, str) and ("{" in value or value.startswith("file://"))
    return f"{{% raw %}}{value}{{% endraw %}}" if is_read else value


def _contained(given: Mapping[str, Any]) -> dict[str, Any]:
    value = given.get("value")
    if isinstance(value, Mapping):
        members = {key: {"const": member} for key, member in value.items()}
        return {"type": "contains-json", "value": {"type": "object", "required": [*members], "properties": members}}
    if isinstance(value, list):
        return {"type": "evaluator Contains of a list"}
    return {"type": "contains" if given.get("case_sensitive", True) else "icontains", "value": _raw(value)}


def _tools(given: Mapping[str, Any]) -> dict[str, Any]:
    kind = "trajectory:tool-used" if given.get("allow_extra") else "tool-call-f1"
    return {"type": kind, "value": given["expected_tools"]}


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "Equals": lambda given: _equal(given.get("value")),
    _EXPECTED: lambda given: _equal(given.get("value")),
    "Contains": _contained,
    "MaxDuration": lambda given: {"type": "latency", "threshold": 1000 * float(given["seconds"])},
    "LLMJudge": lambda given: {"type": "llm-rubric", "value": _raw(given.get("rubric"))},
    "ToolCorrectness": _tools,
}


def convert_pydantic_evals(root: Node, foreign: ForeignFiles) -> Converted:
    """Convert a dataset; the task is a Python function there, so prompt and model are the user's to name.

    Raises:
        ConfigError: it has no cases, one is malformed, or it is a report.
    """
    given = _values(root)
    cases = _cases(given, root)
    evaluators = given.get("evaluators") or []
    everywhere = [evaluator for evaluator in evaluators if _named(evaluator)[0] == _EXPECTED]
    models = [model for model in map(_judge_of, [*evaluators, *_own(cases)]) if model]
    by_name = all(isinstance(case["inputs"], Mapping) for case in cases)
    names = dict.fromkeys(key for case in cases for key in case["inputs"]) if by_name else ()
    shown = "\n".join(f"{name}: {{{{{name}}}}}" for name in names) if names else "{{input}}"
    shape = {
        "description": str(given.get("name") or ""),
        "prompts": [shown],
        "providers": [{"id": f"openai:chat:{DEFAULT_MODEL}", "config": {}}],
        "defaultTest": {
            "assert": [_assertion(evaluator) for evaluator in evaluators if evaluator not in everywhere],
            "options": {"provider": models[0] if models else f"openai:chat:{DEFAULT_MODEL}"},
        },
        "tests": [_test(case, every=everywhere, by_name=by_name) for case in cases],
    }
    converted = convert_promptfoo(from_plain(shape, root.source.file), foreign, literal=True)
    converted.notes.rename(r"defaultTest\.assert\[\d+\]", "evaluators")
    converted.notes.rename(r"tests(\[\d+\])\.assert\[\d+\]", r"cases\1")
    if len(set(models)) > 1:
        converted.notes.add(
            f"the judges {', '.join(dict.fromkeys(models[1:]))}; all rubrics are judged by {models[0]}", root
        )
    converted.notes.add(
        f"the task, a function; name its prompt and model, or targets: {{function: module:name}}. Here {DEFAULT_MODEL}",
        root,
    )
    for key in sorted(key for key in given.keys() - {"name", "cases", "evaluators", "$schema"} if given[key]):
        converted.notes.add(key, root.entries[key].key)
    return converted


def _cases(given: Mapping[str, Any], root: Node) -> list[Any]:
    cases = given.get("cases")
    if "failures" in given:
        raise ConfigError(
            "this is a report of pydantic-evals: convert the dataset that it is about; its list cases, saved alone, "
            "has outputs for the target replay (id: inputs)",
            root.location,
        )
    if (
        not isinstance(cases, list)
        or not cases
        or not all(isinstance(case, Mapping) and "inputs" in case for case in cases)
    ):
        raise ConfigError("cases: expected a list of cases, each with inputs", root.location)
    return cases


def _values(node: Node) -> Any:
    """The plain values; of YAML by the rules of version 1.1, by which pydantic-evals writes and reads its files."""
    if isinstance(node.value, Mapping):
        return {key: _values(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, tuple):
        return [_values(element) for element in node.value]
    is_text = _TEXT_OF_YAML_1_1.fullmatch(node.raw) and not str(node.source.file).endswith(".json")
    return node.raw if is_text else node.value


def _own(cases: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [evaluator for case in cases for evaluator in case.get("evaluators") or []]


def _test(case: Mapping[str, Any], *, every: Sequence[Any], by_name: bool) -> dict[str, Any]:
    """A case as a test: its inputs `by_name`, or as one; without an expected output nothing is compared with it."""
    inputs, expected = case["inputs"], case.get("expected_output")
    values = dict(inputs) if by_name else {"input": inputs}
    as_json = (list,) if by_name else (list, dict)
    values = {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, as_json) else value
        for name, value in values.items()
    }
    return {
        "vars": {**values, **({} if expected is None else {"expected_output": expected})},
        "assert": [
            _assertion(evaluator, expected)
            for evaluator in [*every, *_own([case])]
            if expected is not None or _named(evaluator)[0] != _EXPECTED
        ],
        "metadata": case.get("metadata"),
        **({"description": case["name"]} if case.get("name") else {}),
    }


def _named(evaluator: Any) -> tuple[str, dict[str, Any]]:
    """Name and arguments of an evaluator: `Name`, `{Name: argument}`, `{Name: {arguments}}` or `{name, arguments}`."""
    if not isinstance(evaluator, Mapping):
        return str(evaluator), {}
    if "name" in evaluator:
        name, given = str(evaluator["name"]), evaluator.get("arguments") or {}
        given = given[0] if isinstance(given, list) else given
    else:
        name, given = next(iter(evaluator.items()), ("", {}))
    return str(name), given if isinstance(given, dict) else {_FIRST.get(name, "value"): given}


def _judge_of(evaluator: Any) -> str:
    """The model that an evaluator asks, as promptfoo writes it; empty where it names none."""
    model = _named(evaluator)[1].get("model")
    provider, colon, name = model.partition(":") if isinstance(model, str) else ("", "", "")
    provider = _PROVIDERS.get(provider, provider)
    return (
        f"{provider}{colon}{'messages:' if provider == 'anthropic' else 'chat:' if provider == 'openai' else ''}{name}"
    )


def _assertion(evaluator: Any, expected: Any = None) -> dict[str, Any]:
    """An evaluator as an assertion of promptfoo."""
    name, given = _named(evaluator)
    if name == _EXPECTED:
        given = {"evaluation_name": given.get("evaluation_name"), "value": expected}
    elif name in _KINDS and _FIRST[name] not in given:
        return {"type": f"evaluator {name} without {_FIRST[name]}"}
    inner = [given[key] for key in ("assertion", "score") if isinstance(given.get(key), Mapping)]
    metrics = [part["evaluation_name"] for part in (given, *inner) if part.get("evaluation_name")]
    metric = {"metric": metrics[0]} if metrics else {}
    if name not in _KINDS:
        return {"type": f"evaluator {name}", **({"instead": _INSTEAD[name]} if name in _INSTEAD else {})}
    return {**_KINDS[name](given), **metric}
