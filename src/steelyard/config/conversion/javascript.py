r"""Reads the few forms of JavaScript that checks of other tools are written in; no code is run, all else is refused.

    output.trim().toLowerCase().includes('paris')     output.length < 200     !output.startsWith("Sorry")
    JSON.parse(output).items.length >= 2              /^\d+$/.test(output)   output.split(' ').length <= 20
    ['yes', 'no'].includes(output)                    A && B, A || B

What JSON.parse reads becomes a JSON schema, which fails where the output is not JSON, as the exception does there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.scorers.patterns import compile_pattern

Scorer = Mapping[str, Any]

_TEXT: Final = r"""(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_REGEX: Final = r"/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[gimsu]*"
_LITERAL: Final = rf"(?:{_TEXT}|-?\d+(?:\.\d+)?|true|false|null)"
_STEP: Final = re.compile(
    rf"\.(?P<method>trim|toLowerCase|toUpperCase|toString)\(\)"
    rf"|\.split\((?P<split>{_TEXT}|{_REGEX})\)(?:\.filter\(Boolean\))?\.length|\.(?P<length>length)(?!\w)|\.(?P<name>[A-Za-z_$][\w$]*)(?!\(|\w)|\[(?P<key>{_TEXT}|\d+)\]"
)
_STEPS: Final = re.sub(r"[?]P<[a-z]+>", "?:", _STEP.pattern)
_TERM: Final = rf"(?P<parse>JSON\.parse\(output(?:\.trim\(\))?\)|output)(?P<steps>(?:{_STEPS})*)"
_CLAUSES: Final = tuple(
    re.compile(form)
    for form in (
        rf"(?P<not>!*){_TERM}\.(?P<call>includes|startsWith|endsWith)\(\s*(?P<values>{_LITERAL})\s*\)",
        rf"{_TERM}\s*(?P<sign>===|!==|==|!=|<=|>=|<|>)\s*(?P<values>{_LITERAL})",
        rf"(?P<not>!*)(?P<regex>{_REGEX})\.test\({_TERM}\)",
        rf"(?P<not>!*)\[\s*(?P<values>{_LITERAL}(?:\s*,\s*{_LITERAL})*)\s*\]\.(?P<any>includes)\({_TERM}\)",
        rf"(?P<not>!*){_TERM}",
    )
)
_CONSTANT: Final = re.compile(rf"\s*(?:const|let|var)\s+(?P<variable>[A-Za-z_$][\w$]*)\s*=\s*(?P<term>{_TERM})\s*[;\n]")
"""A name for a term at the beginning of code, which stands for it in what follows."""
_PART: Final = re.compile(rf"{_TEXT}|(?<![\w)]){_REGEX}|(&&|\|\|)|.", re.DOTALL)
_LONGEST: Final = 2_000
_NEGATED: Final = MappingProxyType({"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"})
_SPLITS: Final = MappingProxyType({" ": "words", r"\s+": "words", "\n": "lines", r"\n": "lines"})
_ESCAPES: Final = MappingProxyType({"n": "\n", "t": "\t", "r": "\r"})
_ASCII: Final = MappingProxyType({r"\d": "0-9", r"\w": "A-Za-z0-9_"})
JSON_TEXT: Final = MappingProxyType({"fenced": False})
"""JSON.parse takes no code fence."""


class NotReadError(ValueError):
    """An expression that is none of the forms; its text says what is not read."""


@dataclass(frozen=True, slots=True)
class Term:
    """What an expression compares: the output, or a part of its JSON, after trimming and changing case.

    Args:
        path: keys into the output's JSON; None: the output is not parsed.
        case: `lower`, `upper` or "".
        trimmed: whether blanks around it were removed.
        counted: the unit of its length, or "" where it is not counted.
        is_json: whether the output was parsed before, so that `output.name` is a part of its JSON.
    """

    path: tuple[str | int, ...] | None = None
    case: str = ""
    trimmed: bool = False
    counted: str = ""
    is_json: bool = False


def scorer_of(code: str, *, output: Term = Term(), negated: bool = False) -> Scorer:
    r"""The scorer that says what an expression says.

    Args:
        code: one expression.
        output: what the name `output` means.
        negated: whether it must be false.

    Raises:
        NotReadError: it is none of the forms above.

    >>> scorer_of("output.toLowerCase().includes('paris')")
    {'contains': 'paris', 'ignore_case': True, 'literal': True}
    >>> scorer_of("output.length < 100 && !output.startsWith('Sorry')")
    {'all_of': [{'length': {'unit': 'characters', 'max': 99}}, {'not': {'starts_with': 'Sorry', 'literal': True}}]}
    >>> scorer_of("JSON.parse(output).total > 10")["json_schema"]["schema"]["properties"]
    {'total': {'type': 'number', 'exclusiveMinimum': 10}}
    """
    joined = [_split(part, "&&") for part in _split(_expression(code), "||")]
    inner, outer = ("any_of", "all_of") if negated else ("all_of", "any_of")
    clauses = [[_clause(clause, output, negated=negated) for clause in part] for part in joined]
    return _all([_all(part, inner) for part in clauses], outer)


def term_of(code: str, output: Term = Term()) -> Term:
    """What a transformation of the output means, such as `JSON.parse(output).answer`.

    Args:
        code: one expression.
        output: what the name `output` means, which an earlier transformation may have made.

    Raises:
        NotReadError: it is none of the forms.

    >>> term_of("JSON.parse(output).answer.trim()")
    Term(path=('answer',), case='', trimmed=True, counted='', is_json=False)
    """
    match = re.fullmatch(_TERM, _expression(code))
    if match is None or (term := _term(match, output)).counted:
        raise NotReadError(f"{code.strip()[:60]!r} is not read")
    return term


def _expression(code: str) -> str:
    if len(code) > _LONGEST:
        raise NotReadError(f"it has more than {_LONGEST:,} characters")
    if match := _CONSTANT.match(code):
        term, rest = match["term"], code[match.end() :]
        used = re.compile(rf"{_TEXT}|(?<![\w)]){_REGEX}|(?<![\w.$])({re.escape(match['variable'])})(?![\w$])")
        return _expression(used.sub(lambda part: term if part[1] else part[0], rest))
    return code.strip().removeprefix("return ").rstrip("; \n")


def _split(code: str, sign: str) -> list[str]:
    """The operands of `&&` or `||`, which are no operators within a text or pattern."""
    ends = [match for match in _PART.finditer(code) if match[1] == sign]
    starts = [0, *(match.end() for match in ends)]
    return [code[start:end].strip() for start, end in zip(starts, [*(m.start() for m in ends), len(code)], strict=True)]


def _all(scorers: list[Scorer], name: str) -> Scorer:
    return scorers[0] if len(scorers) == 1 else {name: scorers}


def _clause(code: str, output: Term, *, negated: bool) -> Scorer:
    match = next((match for form in _CLAUSES if (match := form.fullmatch(code))), None)
    if match is None:
        raise NotReadError(f"{code[:60]!r} is not read")
    groups = match.groupdict()
    negated ^= len(groups.get("not") or "") % 2 == 1
    term = _term(match, output)
    values = [_literal(text) for text in re.findall(_LITERAL, groups.get("values") or "")]
    if groups.get("regex"):
        return _matched(term, *_regex(groups["regex"]), negated=negated)
    if groups.get("any"):
        return _equal(term, values, negated=negated)
    if groups.get("call"):
        return _called(term, groups["call"], values[0], negated=negated)
    if not groups.get("sign"):
        return _true(term, negated=negated)
    sign = groups["sign"].replace("===", "==").replace("!==", "!=")
    sign = _NEGATED[sign] if negated else sign
    if sign in {"==", "!="} and not term.counted:
        return _equal(term, values, negated=sign == "!=", is_loose=len(groups["sign"]) == 2)
    return _bounded(term, sign, values[0])


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])
    return json.loads(text)


def _term(match: re.Match[str], output: Term) -> Term:
    parsed = match["parse"] != "output"
    if parsed and output != Term(trimmed=output.trimmed):
        raise NotReadError("JSON.parse of something else than the output is not read")
    term = Term(path=()) if parsed else output
    for step in _STEP.finditer(match["steps"]):
        if term.counted:
            raise NotReadError(f"{step[0]} of a length is not read")
        method, split, key = step["method"], step["split"], step["name"] or step["key"]
        if method:
            case = {"toLowerCase": "lower", "toUpperCase": "upper"}.get(method, term.case)
            term = replace(term, case=case, trimmed=term.trimmed or method == "trim")
        elif step["length"]:
            term = replace(term, counted="characters")
        elif split:
            separator = _regex(split)[0] if split[0] == "/" else _literal(split)
            if separator not in _SPLITS or term.path is not None:
                raise NotReadError(f"{step[0]} is not read")
            term = replace(term, counted=_SPLITS[separator])
        else:
            term = _deeper(term, _literal(key) if step["key"] else key)
    return term


def _deeper(term: Term, key: str | int) -> Term:
    if (term.path is None and not term.is_json) or term.case or term.trimmed:
        raise NotReadError(f"the property {key!r} of a text is not read")
    return replace(term, path=(*(term.path or ()), key))


def _regex(text: str) -> tuple[str, str]:
    pattern, _, flags = text[1:].rpartition("/")
    return python_pattern(pattern, by_line="m" in flags), flags.replace("g", "").replace("u", "")


def python_pattern(pattern: str, *, by_line: bool = False) -> str:
    r"""A pattern of JavaScript in Python's syntax: `$` is the very end, unless `by_line`; digits and letters are ASCII.

    Raises:
        NotReadError: Python does not read it.

    >>> python_pattern(r"^(?<year>\d{4})\/[\w$]+\k<year>$")
    '^(?P<year>[0-9]{4})/[A-Za-z0-9_$]+(?P=year)\\Z'
    """
    pattern = re.sub(r"\(\?<(?![=!])", "(?P<", pattern).replace(r"\/", "/")
    pattern = re.sub(r"\\k<(\w+)>", r"(?P=\1)", pattern)
    plain = {"[^]": r"[\s\S]", "[]": "(?!)", "$": "$" if by_line else r"\Z"}
    plain |= {escape: f"[{characters}]" for escape, characters in _ASCII.items()}
    parts = re.findall(r"\\.|\[(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    pattern = "".join(
        plain.get(part) or re.sub(r"\\.", lambda escape: _ASCII.get(escape[0], escape[0]), part) for part in parts
    )
    if "{{" not in pattern:  # a value of each row
        try:
            compile_pattern(pattern)
        except ConfigError as error:
            raise NotReadError(f"its pattern {error}") from error
    return pattern


def of_trimmed(pattern: str) -> str:
    r"""The pattern that finds in a text what a pattern in Python's syntax finds in it without the blanks around it.

    Raises:
        NotReadError: it may depend on those blanks elsewhere than at its own beginning and end.

    >>> of_trimmed(r"^(yes|no)\Z"), of_trimmed("a.b")
    ('\\A\\s*(?:(yes|no))\\s*\\Z', 'a.b')
    """
    inner = pattern.removeprefix("^").removesuffix(r"\Z")
    whole = re.sub(r"\\.|\[(?:\\.|[^\]])*\]|\([^()]*\)", "", inner)
    if re.search(r"\^(?<!\[\^)|\$|\\[AZ]", inner) or re.search(r"^[(?:\[]*\\s|\\s[\])*+?]*$", inner):
        raise NotReadError("its transform trims the output, which this pattern sees as it is")
    if inner == pattern:
        return pattern
    if "|" in whole:
        raise NotReadError("its transform trims the output, and only some ways of the pattern begin or end with it")
    before = r"\A\s*" if pattern.startswith("^") else ""
    return f"{before}(?:{inner})" + (r"\s*\Z" if pattern.endswith(r"\Z") else "")


def _not(scorer: Scorer, *, negated: bool) -> Scorer:
    return {"not": scorer} if negated else scorer


def _schema(term: Term, schema: Mapping[str, Any], *, negated: bool = False, called_on: Sequence[str] = ()) -> Scorer:
    """A schema for the part of the output's JSON.

    A missing part fails, except the last one of a negated rule, which is undefined there; what is below undefined, or
    called on it, is an exception.

    Args:
        term: with the path of the part.
        schema: what the part follows.
        negated: whether it must not.
        called_on: the types that have what the expression calls on the part; () if it calls nothing.
    """
    inner: Mapping[str, Any] = {"not": schema} if negated else schema
    if negated and called_on:
        inner = {"type": [*called_on], **inner}
    may_miss = negated and not called_on
    for key in reversed(term.path or ()):
        if isinstance(key, int):
            items = [*([True] * key), inner]
            inner = {"type": "array", "prefixItems": items, **({} if may_miss else {"minItems": key + 1})}
        else:
            inner = {"type": "object", **({} if may_miss else {"required": [key]}), "properties": {key: inner}}
        may_miss = False
    return {"json_schema": {"schema": inner, **JSON_TEXT}}


def _cased(term: Term, value: Any) -> bool:
    """Whether case is ignored; raises for a literal in the other case, which can never be found."""
    if term.case and (not isinstance(value, str) or value != getattr(value, term.case)()):
        raise NotReadError(f"{value!r} is compared with text in {term.case} case, which it never equals")
    return bool(term.case)


def _equal(term: Term, values: list[Any], *, negated: bool, is_loose: bool = False) -> Scorer:
    if term.counted:
        raise NotReadError("a list of lengths is not read")
    ignore_case = any(map(partial(_cased, term), values))
    if term.path is None:
        if not all(isinstance(value, str) for value in values):
            raise NotReadError(f"the output, which is a text, is compared with {values!r}")
        expected = values[0] if len(values) == 1 else values
        options = {**({"ignore_case": True} if ignore_case else {}), **({} if term.trimmed else {"literal": True})}
        return _not({"exact_match": expected, **options}, negated=negated)
    if ignore_case or term.trimmed:
        blanks = r"\s*" if term.trimmed else ""
        pattern = "|".join(re.escape(str(value)) for value in values)
        pattern = f"{'(?i)' if ignore_case else ''}^{blanks}(?:{pattern}){blanks}\\Z"
        return _schema(term, {"type": "string", "pattern": pattern}, negated=negated, called_on=("string",))
    if is_loose and values == [None]:  # what is missing == null
        return _schema(term, {"not": {"const": None}}, negated=not negated)
    return _schema(term, {"const": values[0]} if len(values) == 1 else {"enum": values}, negated=negated)


def _called(term: Term, name: str, value: Any, *, negated: bool) -> Scorer:
    if not isinstance(value, str) or term.counted or (term.trimmed and name != "includes" and value != value.strip()):
        raise NotReadError(f".{name}({value!r}) is not read")
    flags = "(?i)" if _cased(term, value) else ""
    escaped = re.escape(value)
    before, after = (r"\A\s*", r"\s*\Z") if term.trimmed else (r"\A", r"\Z")
    inside = _inside(value) if term.trimmed else escaped
    pattern = {"includes": inside, "startsWith": before + escaped, "endsWith": escaped + after}[name]
    if term.path is not None:
        text = {"type": "string", "pattern": flags + pattern}
        schema = {"anyOf": [text, {"type": "array", "contains": {"const": value}}]} if name == "includes" else text
        return _schema(term, schema, negated=negated, called_on=("string", "array")[: 1 + (name == "includes")])
    if pattern == escaped:
        return _not({"contains": value, "ignore_case": bool(flags), "literal": True}, negated=negated)
    if name == "startsWith" and not flags and not term.trimmed:
        return _not({"starts_with": value, "literal": True}, negated=negated)
    return _not({"regex": flags + pattern}, negated=negated)


def _inside(value: str) -> str:
    r"""The pattern of a text that stands between the blanks around an output.

    >>> _inside("\n"), _inside("a b")
    ('\\S\\s*\\\n\\s*\\S', 'a\\ b')
    """
    before, after = (r"\S\s*" if value[:1].isspace() else "", r"\s*\S" if value[-1:].isspace() else "")
    return f"{before}{re.escape(value)}{after}"


def _matched(term: Term, pattern: str, flags: str, *, negated: bool) -> Scorer:
    if term.case or term.counted or (term.trimmed and "m" in flags):
        raise NotReadError("a pattern on changed text is not read")
    pattern = of_trimmed(pattern) if term.trimmed else pattern
    whole = f"(?{flags}){pattern}" if flags else pattern
    if term.path is not None:
        return _schema(term, {"type": "string", "pattern": whole}, negated=negated)
    return _not({"regex": whole}, negated=negated)


def _bounded(term: Term, sign: str, value: Any) -> Scorer:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotReadError(f"{sign} {value!r} is not read")
    if not term.counted:
        if term.path is None:
            raise NotReadError("the output, which is a text, is compared with a number")
        key = {"<": "exclusiveMaximum", "<=": "maximum", ">": "exclusiveMinimum", ">=": "minimum"}[sign]
        return _schema(term, {"type": "number", key: value})
    if value != int(value):
        raise NotReadError("a length is compared with a fraction")
    bounds = {"<": (None, value - 1), "<=": (None, value), ">": (value + 1, None), ">=": (value, None)}
    low, high = bounds.get(sign, (value, value))
    given = {name: bound for name, bound in (("min", low), ("max", high)) if bound is not None}
    if term.path is not None:
        if term.trimmed:
            raise NotReadError("the length of trimmed text within JSON is not read")
        text = {"type": "string", **{f"{name}Length": bound for name, bound in given.items()}}
        items = {"type": "array", **{f"{name}Items": bound for name, bound in given.items()}}
        return _schema(term, {"anyOf": [text, items]}, negated=sign == "!=", called_on=("string", "array"))
    return _not({"length": {"unit": term.counted, **given}}, negated=sign == "!=")


def _true(term: Term, *, negated: bool) -> Scorer:
    if term.counted:
        return _bounded(term, "==" if negated else ">", 0)
    if term.path is None:
        raise NotReadError("a text alone is no truth value")
    return _schema(term, {"anyOf": [{"const": True}, {"type": "number", "exclusiveMinimum": 0}]}, negated=negated)
