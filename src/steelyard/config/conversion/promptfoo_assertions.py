"""promptfoo's assertions as scorers, by the table in `promptfoo_assertions.json`: each becomes one, or is named.

Source: the 70 types of promptfoo 0.121.20, with the thresholds that it has by default.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import ceil
from types import MappingProxyType
from typing import Any, Final

from steelyard.building.nodes import Node, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.javascript import NotReadError, Term, python_pattern, scorer_of, term_of
from steelyard.config.conversion.templates import filled
from steelyard.errors import ConfigError

_CSV_CODE: Final = MappingProxyType(
    {
        "javascript:": "javascript",
        "fn:": "javascript",
        "eval:": "javascript",
        "python:": "python",
        "grade:": "llm-rubric",
        "llm-rubric:": "llm-rubric",
    }
)
_CSV_THRESHOLD: Final = 0.75
_JSON_TYPES: Final = ("object", "array", "string", "number", "boolean", "null")
_TRIMS: Final = frozenset(
    {"contains", "exact_match", "json_schema", "guideline", "similarity", "refusal", "correctness"}
)
"""Scorers to which blanks around the output make no difference."""


class UnconvertedError(ValueError):
    """An assertion that no scorer stands for; its text says what to do instead."""


@dataclass(frozen=True, slots=True)
class Check:
    """One assertion as a scorer.

    Args:
        scorer: as it is written in a configuration.
        counts: whether the test passes only if it does (false: weight 0).
        needs_code: whether it can stand in a configuration only, not in a cell of a dataset.
        deviation: how its verdicts differ from promptfoo's, "" if they do not.
    """

    scorer: Any
    counts: bool = True
    needs_code: bool = False
    deviation: str = ""


@cache
def _table() -> dict[str, Any]:
    text = files("steelyard").joinpath("config/conversion/promptfoo_assertions.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def check_of(assertion: Node, values: Mapping[str, Any], foreign: ForeignFiles, output: Term) -> Check:
    """The scorer for an assertion of a test.

    Args:
        assertion: `{type, value, threshold, weight, metric, transform, assert}`.
        values: what placeholders in it stand for.
        foreign: the files that it may name.
        output: what its test's transformation makes of the output.

    Raises:
        UnconvertedError: no scorer stands for it.
        ConfigError: it is malformed, or names a file that is not read.
    """
    given = plain(assertion)
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
        raise ConfigError("an assertion is a mapping with a type", assertion.location)
    name = given["type"].removeprefix("not-")
    rule = _table().get(name)
    if rule is None:
        raise UnconvertedError("no scorer stands for it; instead: a function, or a judge (guideline)")
    if "instead" in rule:
        raise UnconvertedError(f"instead: {rule['instead']}")
    if given.get("transform"):
        output = _transformed(given["transform"], output)
    read = _Assertion(assertion, given, rule, values, foreign, output, given["type"] != name)
    return read.check()


def _transformed(code: Any, output: Term) -> Term:
    try:
        term = term_of(str(code))
    except NotReadError as error:
        raise UnconvertedError(f"its transform: {error}; compute the value in a function scorer") from error
    if output != Term() and term != Term(trimmed=True):
        raise UnconvertedError("two transforms, one after the other; write the second alone")
    return replace(output, trimmed=True) if output != Term() else term


@dataclass(frozen=True, slots=True)
class _Assertion:
    """An assertion while it is read."""

    node: Node
    given: Mapping[str, Any]
    rule: Mapping[str, Any]
    values: Mapping[str, Any]
    foreign: ForeignFiles
    output: Term
    negated: bool

    def check(self) -> Check:
        special = {
            "javascript": self._javascript,
            "python": self._python,
            "word_count": self._words,
            "assert_set": self._set,
        }
        kind = self.rule.get("rule", "")
        weight = self.given.get("weight")
        scorer = special[kind]() if kind else self._of_output(self._by_table())
        if self.negated and kind != "javascript":
            scorer = {"not": scorer}
        if metric := self.given.get("metric"):
            scorer = {
                **(scorer if isinstance(scorer, dict) else {scorer: {}}),
                "name": filled(str(metric), self.values),
            }
        return Check(scorer, weight != 0, kind == "python", self.rule.get("deviation", ""))

    def _by_table(self) -> Any:
        value = self._value()
        if "object" in self.rule and isinstance(value, list | dict):
            return _fill(self.rule["object"], {"$value": value})
        return _fill(self.rule["scorer"], _Slots(self, value))

    def _value(self) -> Any:
        value = self.given.get("value")
        if isinstance(value, str) and value.startswith("file://"):
            value = self.foreign.value(value, self.node)
        if isinstance(value, str):
            return filled(value, self.values)
        if isinstance(value, list):
            return [filled(part, self.values) if isinstance(part, str) else part for part in value]
        return value

    def _of_output(self, scorer: Any) -> Any:
        """The scorer for what a transformation makes of the output."""
        kind = scorer if isinstance(scorer, str) else next(iter(scorer))
        if self.output.case:
            values = scorer.get(kind) if isinstance(scorer, dict) else None
            texts = values if isinstance(values, list) else [values]
            if kind not in {"contains", "exact_match"} or any(
                text != getattr(str(text), self.output.case)() for text in texts
            ):
                raise UnconvertedError("its transform changes case, which only contains and equals take, in that case")
            scorer = {**scorer, "ignore_case": True}
        if self.output.trimmed and kind not in _TRIMS:
            raise UnconvertedError(f"its transform trims the output, which {kind} does not")
        if self.output.path is None:
            return scorer
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{json.dumps(key)}" for key in self.output.path)
        return {**({kind: {}} if isinstance(scorer, str) else scorer), "of": path.removeprefix(".") or "@"}

    def _javascript(self) -> Any:
        code = self._value()
        if "threshold" in self.given or not isinstance(code, str):
            raise UnconvertedError(
                "code that gives a number, or that stands in a file; instead: a function, or command"
            )
        try:
            return scorer_of(code, output=self.output, negated=self.negated)
        except NotReadError as error:
            raise UnconvertedError(f"{error}; no code is run. Instead: a function, or command") from error

    def _python(self) -> Any:
        match = re.fullmatch(r"file://(?:\./)?([A-Za-z_]\w*)\.py(?::([A-Za-z_]\w*))?", str(self.given.get("value")))
        if match is None:
            raise UnconvertedError(
                "code within a configuration is not run; instead: put it into a function of a module"
            )
        return {"function": f"{match[1]}:{match[2] or 'get_assert'}"}

    def _words(self) -> Any:
        value = self._value()
        bounds = value if isinstance(value, dict) else {"min": value, "max": value}
        try:
            return self._of_output(
                {"length": {name: int(bound) for name, bound in bounds.items() if name in {"min", "max"}}}
            )
        except (TypeError, ValueError) as error:
            raise UnconvertedError("word-count takes a number, or min and max") from error

    def _set(self) -> Any:
        members = self.node.entries["assert"].node.value if "assert" in self.node.entries else ()
        checks = [check_of(member, self.values, self.foreign, self.output) for member in members]
        if any(check.needs_code or not check.counts for check in checks):
            raise UnconvertedError("a set with Python, or with an assertion of weight 0")
        weights = [plain(member).get("weight", 1) for member in members]
        return threshold_of([check.scorer for check in checks], self.given.get("threshold"), weights)


def threshold_of(scorers: list[Any], threshold: Any, weights: list[Any]) -> Any:
    """The scorer that passes where promptfoo's mean of several verdicts reaches a threshold.

    Raises:
        UnconvertedError: neither one of them nor all of them are needed for it.

    >>> threshold_of(["a", "b"], 0.5, [1, 1]), threshold_of(["a", "b"], None, [1, 1])
    ({'any_of': ['a', 'b']}, {'all_of': ['a', 'b']})
    """
    if threshold is None:
        return {"all_of": scorers}
    if not scorers or set(weights) != {1} or not isinstance(threshold, int | float):
        raise UnconvertedError("a threshold over assertions with weights; instead: any_of, all_of, or a function")
    needed = ceil(threshold * len(scorers) - 1e-9)
    graded = {
        "rouge_n",
        "similarity",
        "g_eval",
        "claim_faithfulness",
        "tool_calls",
        "answer_relevancy",
        "context_relevance",
    }
    if any((scorer if isinstance(scorer, str) else next(iter(scorer))) in graded for scorer in scorers):
        raise UnconvertedError("a threshold over scores that are no verdicts; instead: a threshold for each of them")
    if needed == len(scorers):
        return {"all_of": scorers}
    if needed == 1:
        return {"any_of": scorers}
    raise UnconvertedError(
        f"{needed} of {len(scorers)} assertions must hold; instead: any_of and all_of, or a function"
    )


class _Slots(Mapping[str, Any]):
    """What the marks in the table stand for, each computed when it is used."""

    def __init__(self, assertion: _Assertion, value: Any) -> None:
        self._assertion = assertion
        rule, given = assertion.rule, assertion.given
        extra = (
            set(value) - {rule.get("key"), "name", "args", "arguments", "mode", "max"}
            if isinstance(value, dict)
            else set()
        )
        if "$schema" not in json.dumps(rule["scorer"]) and extra:
            raise UnconvertedError(f"{', '.join(sorted(map(str, extra)))} has no scorer yet; instead: a function")
        self._threshold = given.get("threshold", rule.get("threshold"))
        if "only" in rule and self._threshold != rule["only"]:
            raise UnconvertedError(f"only the threshold {rule['only']} has a scorer")
        self._value = value.get(rule["key"], value) if isinstance(value, dict) and "key" in rule else value
        self._read: Mapping[str, Callable[[], Any]] = {
            "$value": lambda: self._value, "$text": self._text, "$list": self._list, "$threshold": self._number,
            "$seconds": lambda: self._number() / 1000, "$rating": lambda: round(1 + 4 * self._number(), 4),
            "$schema": self._schema, "$pattern": lambda: python_pattern(self._text()), "$name": lambda: self._member("name"),
            "$args": lambda: self._member("args", "arguments"), "$max": lambda: self._member("max"),
        }  # fmt: skip

    def __getitem__(self, mark: str) -> Any:
        return self._read[mark]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)

    def _text(self) -> str:
        if isinstance(self._value, str | int | float) and not isinstance(self._value, bool):
            return filled("{{value}}", {"value": self._value})
        raise UnconvertedError(f"its value is a text, not {json.dumps(self._value)[:60]}")

    def _list(self) -> list[Any]:
        value = self._value
        if isinstance(value, str):
            value = next(csv.reader([value.replace("\n", " ")], skipinitialspace=True), [])
            value = [part.strip() for part in value if part.strip()]
        if not isinstance(value, list) or not value:
            raise UnconvertedError("its value is a list of texts")
        return [part if isinstance(part, str) else filled("{{value}}", {"value": part}) for part in value]

    def _number(self) -> float:
        if isinstance(self._threshold, bool) or not isinstance(self._threshold, int | float):
            raise UnconvertedError("it has no threshold")
        return self._threshold

    def _member(self, *names: str) -> Any:
        value = self._value if isinstance(self._value, dict) else {}
        found = next((value[name] for name in names if name in value), None)
        if found is None:
            raise UnconvertedError(f"its value has no {names[0]}")
        return found

    def _schema(self) -> Any:
        value = self._value
        if isinstance(value, str):
            value = self._assertion.foreign.parsed(value, self._assertion.node)
        if value:
            return value
        return {"type": "object"} if "contains" in self._assertion.given["type"] else {"type": list(_JSON_TYPES)}


def _fill(template: Any, slots: Mapping[str, Any]) -> Any:
    if isinstance(template, str):
        return slots[template] if template.startswith("$") else template
    if isinstance(template, list):
        return [_fill(part, slots) for part in template]
    return {key: _fill(part, slots) for key, part in template.items()} if isinstance(template, dict) else template


def assertion_of_cell(text: str) -> dict[str, Any]:
    """The assertion in a cell `__expected` of a table: `contains: Paris`, `similar(0.8): ...`, or a text that is equal.

    >>> assertion_of_cell("contains-any:a,b"), assertion_of_cell("Paris")
    ({'type': 'contains-any', 'value': 'a,b'}, {'type': 'equals', 'value': 'Paris'})
    """
    prefix = next((prefix for prefix in _CSV_CODE if text.startswith(prefix)), "")
    if prefix:
        return {"type": _CSV_CODE[prefix], "value": text.removeprefix(prefix).strip()}
    if text.startswith("file://") and re.search(r"\.(py|[cm]?[jt]s)(:\w+)?$", text):
        return {"type": "python" if ".py" in text else "javascript", "value": text}
    types = "|".join(map(re.escape, _table()))
    match = re.fullmatch(
        rf"(?P<type>(?:not-)?(?:{types}))(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?", text, re.DOTALL
    )
    if match is None:
        return {"type": "equals", "value": text}
    assertion: dict[str, Any] = {"type": match["type"], "value": (match["value"] or "").strip() or None}
    rule = _table()[match["type"].removeprefix("not-")]
    if match["threshold"]:
        assertion["threshold"] = float(match["threshold"])
    elif "threshold" in rule and not match["type"].endswith(("g-eval", "tool-call-f1")):
        assertion["threshold"] = _CSV_THRESHOLD
    return assertion
