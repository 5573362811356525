"""promptfoo's assertions as scorers, by the table in `promptfoo_assertions.json`: each becomes one, or is named.

Source: the 70 types of promptfoo 0.121.20, with the thresholds that it has by default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final

from steelyard.building.nodes import Node, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.javascript import NotReadError, Term, of_trimmed, python_pattern, scorer_of, term_of
from steelyard.config.conversion.templates import as_text, filled
from steelyard.errors import ConfigError
from steelyard.plain_json import with_texts

_CODE_FILE: Final = r"file://.*\.(py|[cm]?[jt]s)(:[\w.]+)?"
_PREFIXES: Final = MappingProxyType(
    {"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "python:": "python"}
    | {"grade:": "llm-rubric", "llm-rubric:": "llm-rubric"}
)
_CELL_THRESHOLD: Final = 0.75
_JSON_TYPES: Final = ("object", "array", "string", "number", "boolean", "null")
_GRADED: Final = frozenset(
    {"rouge_l", "rouge_n", "similarity", "g_eval", "claim_faithfulness", "answer_relevancy"}
    | {"context_recall", "context_relevance"}
)
"""Scorers whose value is not 1 or 0, so that a mean over them is not a count."""
_OF_CALLS: Final = frozenset({"latency", "cost", "finish", "agent_steps", "tool_calls"})
"""Scorers that do not look at the output's text."""
_CASELESS: Final = frozenset({"length", "refusal"})
_WITH_CASE: Final = frozenset({"contains", "exact_match", "starts_with", "levenshtein", "regex"})
_ASKING: Final = frozenset({"guideline", "correctness", "goal_reached"})
"""Scorers that ask a judge, who would be asked again where one stands in several sets."""
_COUNTED: Final = {
    "characters": "blanks around the output do not count",
    "words": "signs alone are no words, and Chinese characters are words",
    "lines": "blank lines do not count",
}
_FIELD: Final = re.compile(r'(?:"((?:\\["\\]|""|[^"\\]|\\(?!["\\]))*)"\s*(?=,|\Z)|([^\s,"][^,]*))')
_OF_PATTERNS: Final = {
    r"\A\(\?[a-z]+\)": "(?i) and the like are no JavaScript, so that every output fails there",
    r"\\[pP]\{": "there it has no flag u, so that \\p{L} is the text p{L}",
    r"\\[bB]": "there \\b knows the letters A to Z only, so that é is the end of a word",
}
_ANYTHING: Final = "a function, or a judge (guideline)"
_LARGEST_SET: Final = 6
"""More assertions would make too many sets: of six, three can already be chosen in 20 ways."""


class UnconvertedError(ValueError):
    """An assertion that no scorer stands for; its text says what to do instead."""


@dataclass(frozen=True, slots=True)
class Check:
    """One assertion as a scorer.

    Args:
        scorer: as it is written in a configuration.
        counts: whether the test passes only if it does (false: weight 0).
        is_code: whether it can stand in a configuration only, not in a cell of a dataset.
        deviation: how its verdicts differ from promptfoo's, "" if they do not.
    """

    scorer: Any
    counts: bool
    is_code: bool
    deviation: str


@cache
def _table(name: str = "promptfoo_assertions") -> dict[str, Any]:
    text = files("steelyard").joinpath(f"config/conversion/{name}.json").read_text(encoding="utf-8")
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
    kind = given["type"].removeprefix("not-")
    rule, negated = _table().get(kind, {"instead": given.get("instead", _ANYTHING)}), kind != given["type"]
    if "instead" in rule:
        raise UnconvertedError(f"no scorer stands for it. Instead: {rule['instead']}")
    output = transformed(given.get("transform"), output)
    if kind == "python":
        scorer = _python(str(given.get("value")))
    elif kind == "assert-set":
        scorer = _set(assertion, values, foreign, output)
    else:
        value = _value(given.get("value"), values, foreign, assertion)
        if kind == "javascript":
            code = _with_values(value, values) if isinstance(value, str) else value
            scorer, negated = _javascript(code, given, output, negated=negated), False
        else:
            scorer = _of_output(_by_table(rule, given, value, assertion), output)
    if negated:
        # Of several tools, none may be used there.
        is_use = kind in {"trajectory:tool-used", "skill-used"}
        scorer = {"forbidden_tools": scorer["tool_calls"]["expected"]} if is_use else {"not": _folded(scorer)}
    if given.get("metric"):
        scorer = {**_as_mapping(scorer), "name": filled(str(given["metric"]), values)}
    deviation = _deviation(rule, given, json.dumps(scorer))
    return Check(scorer, given.get("weight") != 0, kind == "python", deviation)


def _deviation(rule: Mapping[str, Any], given: Mapping[str, Any], written: str) -> str:
    """How the verdicts of a scorer, which is written so, differ from promptfoo's; "" if they do not."""
    if "threshold" in given and "threshold_deviation" in rule:
        return str(rule["threshold_deviation"])
    value = str(given.get("value"))
    if '"arguments": "contain"' in written and re.search(r'"arguments": \{.*\{', written):
        return "an object within the arguments is compared whole; there a part of it is enough"
    if given["type"].endswith("regex"):
        return next((text for pattern, text in _OF_PATTERNS.items() if re.search(pattern, value)), "")
    if given["type"].endswith("javascript"):
        counted = (text for unit, text in _COUNTED.items() if f'"unit": "{unit}"' in written)
        deviation = next(counted, "")
        return "" if ".trim()" in value and deviation == _COUNTED["characters"] else deviation
    return str(rule.get("deviation", ""))


def _as_mapping(scorer: Any) -> dict[str, Any]:
    return {scorer: {}} if isinstance(scorer, str) else scorer


def _folded(scorer: Any) -> Any:
    """A scorer whose keys all stand beside its options, as one within another is written."""
    kind = kind_of_scorer(scorer)
    if isinstance(scorer, str) or not isinstance(scorer[kind], Mapping):
        return scorer
    return {kind: {**scorer[kind], **{key: value for key, value in scorer.items() if key != kind}}}


def kind_of_scorer(scorer: Any) -> str:
    """The registered name of a scorer as it is written.

    >>> kind_of_scorer({"length": 3, "name": "short"}), kind_of_scorer("refusal")
    ('length', 'refusal')
    """
    return str(next(iter(_as_mapping(scorer))))


def similarity_in(scorer: Any) -> dict[str, Any] | None:
    """The options of a scorer that compares vectors, all in one mapping, which may stand within `not`; None for others.

    >>> scorer = {"similarity": {"threshold": 0.5}, "value": "x", "name": "near"}
    >>> similarity_in(scorer), scorer["name"]
    ({'threshold': 0.5, 'value': 'x'}, 'near')
    """
    inner = scorer.get("not", scorer) if isinstance(scorer, dict) else scorer
    if kind_of_scorer(inner) != "similarity":
        return None
    if "value" in inner:
        inner["similarity"]["value"] = inner.pop("value")
    options: dict[str, Any] = inner["similarity"]
    return options


def _value(value: Any, values: Mapping[str, Any], foreign: ForeignFiles, at: Node) -> Any:
    if isinstance(value, str) and value.startswith("file://"):
        if re.fullmatch(_CODE_FILE, value):
            raise UnconvertedError(f"{value} is code, which is not run. Instead: a function, or a command")
        value = foreign.value(value, at)
    if isinstance(value, list):
        return [filled(part, values) if isinstance(part, str) else part for part in value]
    return filled(value, values) if isinstance(value, str) else value


def transformed(code: Any, output: Term) -> Term:
    """What `output` means after a transformation of it.

    Raises:
        UnconvertedError: the code is not read.
    """
    if not code:
        return output
    try:
        return term_of(str(code), output)
    except NotReadError as error:
        raise UnconvertedError(f"its transform: {error}. Instead: a function") from error


def _of_output(scorer: Any, output: Term) -> Any:
    """The scorer for what a transformation makes of the output."""
    kind = kind_of_scorer(scorer)
    if kind in _OF_CALLS:
        return scorer
    scorer = _of_trimmed(scorer, kind) if output.trimmed and isinstance(scorer, dict) else scorer
    if output.case and kind not in _CASELESS and not (kind == "contains" and "ignore_case" not in scorer):
        scorer = _without_case(scorer, kind, output.case)
    if output.path is None:
        return scorer
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{json.dumps(key)}" for key in output.path)
    return {**_as_mapping(scorer), "of": path.removeprefix(".") or "@"}


def _of_trimmed(scorer: dict[str, Any], kind: str) -> dict[str, Any]:
    """A scorer of the output without the blanks around it."""
    if kind == "regex":
        try:
            return {**scorer, "regex": of_trimmed(scorer["regex"])}
        except NotReadError as error:
            raise UnconvertedError(str(error)) from error
    if kind != "contains":
        return {key: value for key, value in scorer.items() if key != "literal"}
    texts = scorer[kind] if isinstance(scorer[kind], list) else [scorer[kind]]
    if any(text != text.strip() for text in texts):
        raise UnconvertedError("its transform trims the output, and its value has blanks around it. Instead: a regex")
    return scorer


def _without_case(scorer: Any, kind: str, case: str) -> Any:
    """A scorer that ignores case, as one whose value is in the case that the output is changed to may."""
    value = scorer.get("value", scorer[kind]) if isinstance(scorer, Mapping) else ""
    if kind == "regex":  # an escape has no case, nor has the beginning of a named group or what stands for \\w
        value = re.sub(r"\\.|\(\?P|A-Za-z", "", value)
    texts = value if isinstance(value, list) else [value]
    if kind not in _WITH_CASE or any(text != getattr(str(text), case)() for text in texts):
        raise UnconvertedError(
            "its transform changes case, which contains, equals, starts-with, levenshtein and regex take, with a value "
            "in that case. Instead: a function"
        )
    if kind == "regex":
        return {**scorer, "regex": f"(?i){scorer['regex']}"}
    if kind == "levenshtein":
        return {**scorer, "levenshtein": {**scorer["levenshtein"], "ignore_case": True}}
    return {**scorer, "ignore_case": True}


def _with_values(code: str, values: Mapping[str, Any]) -> str:
    """Code in which `context.vars.label` is the value of the row."""
    return re.sub(
        r"\bcontext\.vars\.(\w+)",
        lambda name: json.dumps(values[name[1]], ensure_ascii=False) if name[1] in values else name[0],
        code,
    )


def _javascript(code: Any, given: Mapping[str, Any], output: Term, *, negated: bool) -> Any:
    if "threshold" in given or not isinstance(code, str):
        raise UnconvertedError("code that gives a number is not read. Instead: a function")
    try:
        return scorer_of(code, output=output, negated=negated)
    except NotReadError as error:
        raise UnconvertedError(f"{error}, and no code is run. Instead: a function, or a command") from error


def _python(value: str) -> Any:
    match = re.fullmatch(r"file://(?:\./)?((?:[A-Za-z_]\w*/)*[A-Za-z_]\w*)\.py(?::([A-Za-z_]\w*))?", value)
    if match is None:
        raise UnconvertedError("code within a configuration is not run. Instead: a function of a module")
    return {"function": f"{match[1].replace('/', '.')}:{match[2] or 'get_assert'}"}


def _set(assertion: Node, values: Mapping[str, Any], foreign: ForeignFiles, output: Term) -> Any:
    members = assertion.entries["assert"].node.value if "assert" in assertion.entries else ()
    checks = [check_of(member, values, foreign, output) for member in members]
    if not checks or any(check.is_code or not check.counts for check in checks):
        raise UnconvertedError(
            "a set that is empty, has Python in it, or an assertion of weight 0. Instead: all_of, any_of"
        )
    weights = [plain(member).get("weight", 1) for member in members]
    return threshold_of([check.scorer for check in checks], plain(assertion).get("threshold"), weights)


def threshold_of(scorers: Sequence[Any], threshold: Any, weights: Sequence[Any]) -> Any:
    """The scorer that passes where promptfoo's mean of several verdicts reaches a threshold.

    Raises:
        UnconvertedError: that depends on more than which of them pass, or would be asked several times.

    >>> threshold_of(["a", "b"], 0.5, [1, 1]), threshold_of(["a", "b"], None, [1, 1])
    ({'any_of': ['a', 'b']}, {'all_of': ['a', 'b']})
    >>> threshold_of(["a", "b", "c"], 0.6, [2, 1, 1])
    {'any_of': [{'all_of': ['a', 'b']}, {'all_of': ['a', 'c']}]}
    """
    if threshold is None:
        return {"all_of": list(scorers)}
    numbers = all(type(number) in {int, float} and number >= 0 for number in (threshold, *weights))
    kinds = {kind for scorer in scorers for kind in _kinds_in(scorer)}
    if not numbers or threshold == 0 or _GRADED & kinds:
        raise UnconvertedError("a threshold over scores that are no verdicts, or of 0. Instead: a function")
    sets = [[scorers[at] for at in members] for members in _least_sets(weights, threshold * sum(weights) - 1e-9)]
    if not sets:
        raise UnconvertedError(
            f"more than {_LARGEST_SET} assertions of which some must hold, or weights that do not reach the threshold "
            f"{threshold}. Instead: a function"
        )
    if _ASKING & kinds and len(sets) > 1 and any(len(members) > 1 for members in sets):
        raise UnconvertedError(
            "some of several must hold, and a judge would be asked once for each way to reach it. Instead: a function"
        )
    if len(sets) == 1:
        return {"all_of": sets[0]}
    return {"any_of": [{"all_of": members} if len(members) > 1 else members[0] for members in sets]}


def _least_sets(weights: Sequence[float], needed: float) -> list[tuple[int, ...]]:
    """The least sets of weights that reach a sum; [] where none does, or the weights are too many."""
    if not weights:
        return []
    if sum(weights) >= needed > sum(weights) - min(weights):
        return [tuple(range(len(weights)))]
    if min(weights) >= needed:
        return [(at,) for at in range(len(weights))]
    found: list[tuple[int, ...]] = []
    for size in range(1, len(weights) + 1 if len(weights) <= _LARGEST_SET else 1):
        for members in combinations(range(len(weights)), size):
            is_least = not any(set(fewer) <= set(members) for fewer in found)
            if is_least and sum(weights[at] for at in members) >= needed:
                found.append(members)
    return found


def _kinds_in(scorer: Any) -> Iterator[str]:
    """The registered names of a scorer and of those within it, and of its options."""
    if isinstance(scorer, str):
        yield scorer
    elif isinstance(scorer, Mapping):
        yield from scorer
        for key, value in scorer.items():
            if key in {"not", "any_of", "all_of", "per_turn", "scorer"}:
                yield from _kinds_in(value)
    elif isinstance(scorer, list):
        for part in scorer:
            yield from _kinds_in(part)


def _by_table(rule: Mapping[str, Any], given: Mapping[str, Any], value: Any, at: Node) -> Any:
    if "object" in rule and isinstance(value, list | dict):
        return _fill(rule["object"], value, None)
    threshold = given.get("threshold", rule.get("threshold"))
    if threshold != rule.get("only", threshold):
        raise UnconvertedError(f"only the threshold {rule['only']} has a scorer. Instead: a function")
    if rule.get("value") == "schema":
        value = ForeignFiles.parsed(value, at) if isinstance(value, str) else value
        value = _with_formats(value) or {"type": "object" if "embedded" in json.dumps(rule) else list(_JSON_TYPES)}
    elif isinstance(value, dict):
        keys = rule.get("keys", ())
        if not value or (extra := sorted(value.keys() - set(keys))):
            raise UnconvertedError(
                f"{', '.join(map(str, extra)) or 'nothing'} in its value has no scorer. Instead: a function"
            )
        value = value.get(keys[0], value) if len(keys) == 1 else value
    scorer = _fill(rule["scorer"], value, threshold)
    if "tool_calls" in scorer and re.search(r"[*?]", str([_named(call) for call in scorer["tool_calls"]["expected"]])):
        raise UnconvertedError("a pattern of a tool's name has no scorer. Instead: all names, or forbidden_tools")
    return _as_openai(scorer, given, threshold)


def _named(call: Any) -> Any:
    return call["name"] if isinstance(call, Mapping) else call


def _as_openai(scorer: Any, given: Mapping[str, Any], threshold: Any) -> Any:
    """A scorer with what evals of OpenAI set and promptfoo cannot: ROUGE of 1 to 5 words or l, a range of ratings."""
    match given:
        case {"n": size} if "rouge_n" in scorer:
            options, others = scorer["rouge_n"], {key: part for key, part in scorer.items() if key != "rouge_n"}
            if size == "l":
                return {"rouge_l": {"threshold": options["threshold"]}, **others}
            return {"rouge_n": {**options, "n": size}, **others}
        case {"range": [int(low), int(high)]} if "g_eval" in scorer:
            return {**scorer, "low": low, "high": high, "threshold": round(low + (high - low) * threshold, 4)}
        case _:
            return scorer


def _with_formats(schema: Any) -> Any:
    """A schema whose formats are patterns too: promptfoo validates them, our scorer takes them as annotations.

    >>> _with_formats({"items": {"format": "ipv4"}})["items"]["allOf"][0]["pattern"][:12]
    '^((25[0-5]|2'
    """
    if isinstance(schema, list):
        return [_with_formats(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    parts = {key: part if key in {"const", "enum"} else _with_formats(part) for key, part in schema.items()}
    pattern = _table("json_formats").get(parts["format"]) if isinstance(parts.get("format"), str) else None
    return {**parts, "allOf": [*parts.get("allOf", ()), {"pattern": pattern}]} if pattern else parts


def _fill(template: Any, value: Any, threshold: Any) -> Any:
    """A scorer of the table with what its marks stand for."""
    return with_texts(template, lambda mark: _MARKS[mark](value, threshold) if mark.startswith("$") else mark)


def _text(value: Any, _: Any = None) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnconvertedError(f"its value is a text, not {json.dumps(value)[:60]}")
    return as_text(value)


def _texts(value: Any, _: Any = None) -> list[str]:
    parts = _fields(value) if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise UnconvertedError("its value is a list of texts")
    return [text for part in parts if (text := _text(part))]


def _fields(text: str) -> list[str]:
    r"""The fields between commas; one in quotes keeps its commas and blanks, and `\"` or `""` is a quote in it.

    >>> _fields(r'one, "two, \"2\"", three four')
    ['one', 'two, "2"', 'three four']
    """
    if _FIELD.sub("", text).strip(" \t\r\n,"):
        raise UnconvertedError("its value has a quote that is not closed before a comma. Instead: a list of texts")
    matches = _FIELD.finditer(text)
    return [
        match[2].strip() if match[1] is None else re.sub(r"\\([\"\\])|\"\"", lambda sign: sign[1] or '"', match[1])
        for match in matches
    ]


def _pattern(text: str) -> str:
    try:
        return python_pattern(text)
    except NotReadError as error:
        raise UnconvertedError(f"{error}. Instead: a regex in Python's syntax") from error


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnconvertedError("it has no number where one is needed")
    return value


def _bounds(value: Any, _: Any = None) -> dict[str, float]:
    if isinstance(value, Mapping):
        return {key: _number(bound) for key, bound in value.items()}
    try:
        return {"min": int(value), "max": int(value)}
    except (TypeError, ValueError) as error:
        raise UnconvertedError("its value is a number, or min and max") from error


def _call(value: Any, _: Any = None) -> dict[str, Any]:
    """The expected call of a tool, with its arguments."""
    arguments = value.get("args", value.get("arguments")) if isinstance(value, Mapping) else None
    if arguments is None or not value.get("name"):
        raise UnconvertedError("its value has a name and args")
    return {
        "expected": [{"name": value["name"], "arguments": arguments}],
        "arguments": "equal" if value.get("mode") == "exact" else "contain",
    }


_MARKS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "$value": lambda value, _: value,
        "$text": _text,
        "$printed": lambda value, _: _text(as_text(value) if isinstance(value, bool) else value),
        "$texts": _texts,
        "$bounds": _bounds,
        "$call": _call,
        "$pattern": lambda value, _: _pattern(_text(value)),
        "$max": lambda value, _: _number(value.get("max") if isinstance(value, Mapping) else value),
        "$threshold": lambda _, threshold: _number(threshold),
        "$seconds": lambda _, threshold: _number(threshold) / 1000,
        "$rating": lambda _, threshold: round(1 + 4 * _number(threshold), 4),
    }
)
"""Mark in the table -> what stands there, from an assertion's value and threshold."""


def assertion_of_cell(text: str) -> dict[str, Any]:
    """The assertion in a cell `__expected` of a table: `contains: Paris`, `similar(0.8): ...`, or a text that is equal.

    >>> assertion_of_cell("contains-any:a,b"), assertion_of_cell("Paris")
    ({'type': 'contains-any', 'value': 'a,b'}, {'type': 'equals', 'value': 'Paris'})
    """
    prefix = next((prefix for prefix in _PREFIXES if text.startswith(prefix)), "")
    if prefix:
        return {"type": _PREFIXES[prefix], "value": text.removeprefix(prefix).strip()}
    if match := re.fullmatch(_CODE_FILE, text):
        return {"type": "python" if match[1] == "py" else "javascript", "value": text}
    types = "|".join(map(re.escape, sorted(_table(), key=len, reverse=True)))
    match = re.fullmatch(rf"((?:not-)?({types}))(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?", text, re.DOTALL)
    if match is None:
        return {"type": "equals", "value": text}
    assertion = {"type": match[1], "value": (match[4] or "").strip() or None}
    if match[3] or _table()[match[2]].get("cell_threshold"):
        assertion["threshold"] = float(match[3] or _CELL_THRESHOLD)
    return assertion
