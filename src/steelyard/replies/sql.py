r"""Reads the SQL in a model's reply: a JSON object, a fenced block, or the bare statement.

Nothing is repaired and nothing is guessed. A reply that holds two different statements is not read, since it is unclear
which one is meant, unless it calls the last one the corrected or final one. How many statements a text holds, and
whether they may run, is decided by the sandbox. The text is not folded as other replies
are: the case, width and quotes of a statement are its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple

from steelyard.plain_json import distinct_keys, no_constant
from steelyard.replies.clean import JSON_WORDS, SQL_WORDS, answer_span, blocks_of, unfenced
from steelyard.replies.grammar import pattern, source, words

Form = Literal["create_select", "sql_json", "json_key", "block", "statement"]
Wanted = Literal["auto", "create_select", "create_select_strict", "sql_json", "block"]

KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"create_select": ("create", "select"), "sql_json": ("sql",)}
)
"""The keys of each form, all of them required."""


def _as_written(name: str) -> str:
    """The words of a list in capitals or in small letters: `Show` and `In` begin sentences, `SHOW` and `in` do not."""
    return rf"(?-i:{'|'.join(spelling for word in words(name) for spelling in (word, word.upper()))})"


_LONGEST: Final = 100_000
"""Characters of a reply that are read: some 25,000 tokens."""
_MOST_STATEMENTS: Final = 50
_MOST_SIGNS: Final = 1_000
"""Quotations, brackets and blank lines of one bare statement; what comes behind so many belongs to it."""
_LONGEST_COMPARED: Final = 10_000
_ENGLISH: Final = (
    r"(?:(?-i:[Ss]elect\s++(?:the|an|your|these|those|each|one of|all (?:the|of))\s"
    r"|Select\s++(?:a|one|this|any|some)\s)\s*+(?!from\b|as\b|is\b)[a-z]|select\b[^\n:：]{0,60}[:：][ \t*]*+(?:\n|\Z))"
)
"""`Select the rows from the table` is a sentence: no column is named by an article. `SELECT query:` is a heading."""
_NAME: Final = r"(?:[\w$.@]++|\"[^\"\n]++\"|'[^'\n]++'|`[^`\n]++`|\[[^\]\n]++\])++"
_COMMENTS: Final = r"(?:\s++|--[^\n]*+(?:\n|\Z)|/\*(?s:.*?)(?:\*/|\Z))*+"
_GAP: Final = r"(?:\s++|--[^\n]*+\n|/\*(?s:.{0,200}?)\*/){0,16}+"
"""Blanks and comments within the head of a WITH. The limits bound the time for lines that all begin a comment."""
_READS: Final = (
    rf"(?:\(\s*){{0,40}}+(?:(?!{_ENGLISH})select(?=[\s*(\"'`\[\d:@-])|values\s*+\("
    rf"|with\b{_GAP}(?:recursive\b{_GAP})?{_NAME}{_GAP}(?:\([^()]*+\){_GAP})?"
    rf"as\b{_GAP}(?:(?:not\s++)?materialized\b{_GAP})?\()"
)
_OBJECT: Final = (
    r"(?:table|view|index|trigger|database|schema|sequence|macro|function|procedure|event|user|role|type)\s++"
    rf"(?:concurrently\s++)?(?:if\s++(?:not\s++)?exists\s++)?(?:only\s++)?{_NAME}"
)
_ENDS: Final = (
    r"(?=[ \t]*+(?:[;,(`<；。]|\n|--|/\*|\Z)"
    r"|\s*+\b(?:cascade|restrict|restart|on|where|using|returning|limit|order)\b)"
)
_JOIN: Final = r"\s++(?:inner\s++|cross\s++|(?:left|right)\s++(?:outer\s++)?)?join\b"
_MORE: Final = rf"(?:\s*+,\s*+{_NAME}(?:\s++(?:as\s++)?\w++)??){{0,8}}?"
"""Further tables of MySQL's UPDATE and DELETE."""
_CHANGES: Final = (
    rf"(?:(?:insert\s++(?:or\s++\w++\s++|ignore\s++)?|replace\s++)into\s++{_NAME}(?:\s++as\s++\w++)?"
    r"\s*+(?:\(|(?:values?|select|with|default|set|overriding)\b)"
    rf"|update\s++(?:or\s++\w++\s++)?{_NAME}(?:\s++(?:as\s++)?\w++)??{_MORE}(?:{_JOIN}[^;]{{0,400}}?)?\s++set\s++(?:{_NAME}\s*+=|\()"
    rf"|delete\s++{_NAME}{_MORE}\s++from\s++{_NAME}(?:\s++(?:as\s++)?\w++)??{_MORE}{_JOIN}"
    rf"|delete\s++from\s++{_NAME}(?:\s++(?:as\s++)?\w++)??{_ENDS}"
    rf"|drop\s++(?:\w++\s++)??{_OBJECT}{_ENDS}|truncate\s++(?:table\s++)?{_NAME}{_ENDS}"
    rf"|create\s++(?:(?:or|replace|definer\s*+=\s*+\S++|\w++)\s++){{0,4}}?"
    rf"(?:index\s++on\b|{_OBJECT}(?=\s*+(?:[(;]|\Z)|[ \t]*+\n|\s++(?:{'|'.join(words('sql_definition'))})\b))"
    rf"|alter\s++{_OBJECT}\s++(?:add|drop|rename|alter|modify|change|set|owner|enable|disable|convert|with|restart)\b"
    r"|call\s++[\w.]++\(|do\s++(?=\$)|merge\s++into\s++\S++\s++(?:(?!using\b)\w++\s++){0,2}using\b)"
)
"""Statements that change something, up to where no sentence is like them: `Drop table users would` is one."""
_WRITES: Final = (
    rf"{_CHANGES}|(?:from\s++[\w.\"]++\s++select|{_as_written('sql_statement')})\b"
    r"|(?-i:TABLE)\s++[^\W\d][\w.]*+(?=\s*+(?:;|\Z|order\s++by\b|limit\b))"
)
_ANY: Final = re.compile(rf"{_COMMENTS}(?:{_READS}|{_WRITES})", re.IGNORECASE)
_QUERY: Final = re.compile(rf"{_COMMENTS}{_READS}", re.IGNORECASE)
_LINE: Final = re.compile(
    # A label, a tag or the prompt of a shell comes before it; the `>` of a comparison with a subquery is none of them.
    rf"^[ \t>#]*+(?P<item>(?:[*-]|\d{{1,2}}[.)、])[ \t]++)?+"
    rf"(?:(?:[^\n]{{0,80}}?[:：\]]|(?:(?!select\b)[^\n]){{0,80}}?(?<![<=\s])>)[ \t*]*+)??"
    rf"(?P<sql>{_READS}|{_CHANGES})",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE: Final = re.compile(r"(?<!`)`([^`\n]++)`(?!`)")
_QUOTED: Final = r"'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|\$(?P<tag>\w*+)\$(?s:.*?)(?:\$(?P=tag)\$|\Z)"
_STOP: Final = (
    rf"```|//\s*+delimiter\b|\n[ \t*#]*+{source('sql', 'behind')}|[；。]|\[/sql\]|</\w{{1,9}}>"
    r"|<[|｜][^\n>]{1,40}[|｜]>"
)
_END: Final = re.compile(
    rf"(?=[\n'\"`\[<；。;()/$bce-])(?:{_QUOTED}|(?P<stop>{_STOP})|`[^`]*+(?:`|\Z)|--[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)"
    r"|(?P<semicolon>;)|(?P<bracket>[()])|(?P<paragraph>\n[ \t\r]*+\n\s*+)"
    r"|\b(?:(?P<begin>begin|case)|(?P<done>end(?!\s++(?:if|loop|while|repeat|for)\b)(?:\s++case)?))\b)",
    re.IGNORECASE,
)
"""What may end a statement, and what hides such a sign."""
_ROUTINE: Final = re.compile(
    rf"{_COMMENTS}create\s++(?:(?:or|replace|temp|temporary|definer\s*+=\s*+\S++)\s++)*+"
    r"(?:trigger|procedure|function|event)\b",
    re.IGNORECASE,
)
"""What may have a body from BEGIN to END, with statements in it."""
_UNFINISHED: Final = re.compile(
    rf"(?:[,=<>+*|%-]|(?<!\*)/|\b(?<!by )(?:set|values|{'|'.join(words('sql_joining'))}))[ \t\r]*+\Z", re.IGNORECASE
)
_CLAUSE: Final = re.compile(
    rf"(?:{_as_written('sql_joining')}|{_as_written('sql_clause')})\b|\((?![A-Z][a-z]*+\s[a-z])|[),;]|--|/\*"
)
"""Behind a blank line: what goes on with a statement that may be done; `First, we join` and `**Notes**` do not."""
_UNFINISHED_WITHIN: Final = 40
_FROM: Final = (
    r"(?-i:FROM|from)\s++(?:\w++(?:\.\w++)*+|\"[^\"\n]*+\")"
    r"(?=[ \t]*+(?:[,;(]|--|$|\Z)"
    r"|\s++(?:where|select|join|inner|left|right|full|cross|natural|group|order|limit|offset)\b)"
)
"""DuckDB's query without SELECT: `FROM t` is `SELECT * FROM t`. Looked for last, as prose has lines like it."""
_FROM_FIRST: Final = re.compile(rf"{_COMMENTS}{_FROM}", re.IGNORECASE | re.MULTILINE)
_FROM_LINE: Final = re.compile(rf"^(?:[^\n]{{0,80}}?[:：][ \t*]*+)?(?P<sql>{_FROM})", re.IGNORECASE | re.MULTILINE)
_FULL_STOP: Final = re.compile(r"(?<=[^\W\d]|[)'\"`])\.\Z")
"""The end of a sentence; behind a digit it makes a number of it."""
_WRAPS: Final = (("**", "**"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"))
_TOKEN: Final = re.compile(rf"{_QUOTED}|`[^`]*+(?:`|\Z)|(?P<skip>\s++|--[^\n]*+|/\*(?s:.*?)(?:\*/|\Z))|\w++|.")
_FENCE_BEFORE: Final = re.compile(r"[`~]{3,}[ \t]*+[\w+.#-]*+\s*+\Z")
_DECLARED_WITHIN: Final = 300
_JSON: Final = re.compile(r'\{|\[\s*+[\[{"]')
_EMBEDDED: Final = re.compile(r'\{\s*+"(?:sql|create|select|query|sql_query)"\s*+:', re.IGNORECASE)
_ANY_OBJECT: Final = re.compile(r'\{\s*+"')
_MOST_OBJECTS: Final = 20
_MOST_ERRORS: Final = 3
_SHOWN: Final = 60
_NO_STATEMENT: Final = "no key holds a statement"
_SQL_NAMES: Final = frozenset({"sql", "sqlquery", "query", "sqlstatement", "statement", "finalsql", "generatedsql"})
"""What keys that hold the statement are called, without blanks, `_` and `-`, where others hold one as well."""
_DEEPEST: Final = 8
_NOTHING: Final = MappingProxyType(
    {
        "auto": "no SQL in it: no JSON with sql or select, no fenced block, no statement",
        "create_select": 'no JSON object in it; expected {"create": "...", "select": "..."}',
        "sql_json": 'no JSON object in it; expected {"sql": "..."}',
        "block": "no fenced block with SQL in it; expected ```sql",
    }
)


@dataclass(frozen=True, slots=True)
class SqlReading:
    """The SQL that a reply gives, or why none was read.

    Args:
        status: `read`; `incorrect`: there is no SQL of the form, or several; `empty`: there is no text.
        create: the statement that makes the tables; "" where the form has none.
        query: the statement that is to be run; "" unless `read`.
        form: the form it came in; "" unless `read`.
        message: why it was not read, one line; of JSON the validator's own words.
        span: its start and end in the reply; None where there is none.
        broken_off: whether the reply ends inside it (a block that is not closed, a statement without `;`), so that it
            cannot be told whether there was more.
        several: whether it was not read because it holds several different statements.
    """

    status: Literal["read", "incorrect", "empty"]
    create: str = ""
    query: str = ""
    form: Form | Literal[""] = ""
    message: str = ""
    span: tuple[int, int] | None = None
    broken_off: bool = False
    several: bool = False


def read_sql(text: str, *, form: Wanted = "auto", key: str = "") -> SqlReading:
    """Read the SQL that a reply gives. Never raises, whatever the text; linear in its length.

    Args:
        text: the whole reply. Reasoning (`<think>`) is left out; of the rest the first 100,000 characters are read.
            JSON and SQL may be in fences or in prose.
        form: `create_select` is a JSON object of `create` and `select`, `sql_json` one of `sql`, both without further
            keys; `block` is one fenced block of SQL; whatever else comes is `incorrect` then. `create_select_strict`
            is a reply that is nothing but the first, without fence, prose or reasoning, and may have further keys, as
            pydantic's `model_validate_json` reads it. `auto` takes any of them,
            JSON with one key that holds a statement (`query`, `SQL`, also in an object inside), or a bare statement,
            and ignores further keys.
        key: of a JSON object, whose text is the SQL whatever the other keys are; a dot leads into an object inside
            (`result.query`). Nothing else is read then; only with `auto`.

    >>> read_sql('{"sql": "SELECT 1"}').query, read_sql("SQL: SELECT 1;").query
    ('SELECT 1', 'SELECT 1;')
    >>> read_sql('{"sql": 1}').message
    'sql: Input should be a valid string'
    >>> read_sql("SELECT 1", form="sql_json").message
    'no JSON object in it; expected {"sql": "..."}'
    >>> read_sql('{"query": "SELECT 1", "notes": "all"}').query, read_sql('{"text": "SELECT 1"}', key="text").query
    ('SELECT 1', 'SELECT 1')
    """
    if form == "create_select_strict":
        return _nothing_but_json(text)
    start, end, unfinished = answer_span(text)
    if start >= end:
        message = "the reply broke off in its reasoning" if unfinished else "the reply is empty"
        return SqlReading("empty", message=message)
    shown = text[: min(end, start + _LONGEST)]
    if key:
        candidates = list(_objects(shown, start, _Expected(form, key)))
        nothing = f'no JSON object in it; expected {{"{_shortened(key)}": "..."}}'
    else:
        candidates, nothing = _first_found(shown, start, form), _NOTHING[form]
    sound = [candidate for candidate in candidates if candidate.status == "read"]
    return _decide(text, sound) if sound else next(iter(candidates), SqlReading("incorrect", message=nothing))


def _nothing_but_json(text: str) -> SqlReading:
    """The JSON object that the whole reply is."""
    end = len(text.rstrip())
    if not end:
        return SqlReading("empty", message="the reply is empty")
    at = len(text) - len(text.lstrip())
    reading = _object_at(text, at, end, _Expected("create_select_strict"))
    behind = reading.status == "read" and _span(reading)[1] != end
    return _incorrect("there is text behind the JSON object", at, end) if behind else reading


def _first_found(text: str, start: int, form: Wanted) -> list[SqlReading]:
    """What the first reader of the form finds that finds anything; JSON without a statement where none does."""
    passed_over: list[SqlReading] = []
    for find in _FINDERS[form]:
        found = list(find(text, start, _Expected(form)))
        is_json = found and _JSON.match(text, start)
        if is_json or any(not reading.message.startswith(_NO_STATEMENT) for reading in found):
            return found
        passed_over += found
    return passed_over


class _Expected(NamedTuple):
    """The form of a reply, and the key of its JSON that holds the SQL, "" for any."""

    form: Wanted
    key: str = ""


def _decide(text: str, readings: Sequence[SqlReading]) -> SqlReading:
    """The statement that a reply means; none where several differ and the last one is not declared to be it.

    Statements are the same where only blanks, comments, a closing `;` or the case of words outside quotes differ. The
    last one is meant where the line before it says so ("Here is the corrected query:", "Final SQL:").
    """
    different = (
        1 if len(readings) == 1 else len({(_plain(reading.create), _plain(reading.query)) for reading in readings})
    )
    if different == 1:
        return readings[0]
    before, last = sorted(readings, key=_span)[-2:]
    between = text[max(_span(before)[1], _span(last)[0] - _DECLARED_WITHIN) : _span(last)[0]]
    line = _FENCE_BEFORE.sub("", between).rstrip().rpartition("\n")[2]
    if pattern("sql", "declared").search(line) and not pattern("sql", "undeclared").search(line):
        return last
    message = f"{different} different statements; which one is meant is not said"
    return SqlReading("incorrect", message=message, span=readings[0].span, several=True)


def _span(reading: SqlReading) -> tuple[int, int]:
    return reading.span or (0, 0)


def _plain(sql: str) -> str:
    """The tokens of a statement, words outside quotes in lower case, without comments and a closing `;`."""
    if len(sql) > _LONGEST_COMPARED:
        return sql
    tokens = (match for match in _TOKEN.finditer(sql) if match["skip"] is None)
    return "\0".join(match[0] if match[0][0] in "'\"`" else match[0].lower() for match in tokens).rstrip(";\0")


# JSON objects: parsed strictly, then validated by the schema of their form.


def _objects(text: str, start: int, wanted: _Expected) -> Iterator[SqlReading]:
    """The JSON objects of a reply that hold SQL: the reply itself, in fences, or in prose."""
    if _JSON.match(text, start):
        outer = _object_at(text, start, len(text), wanted)
        yield outer
        yield from _in_prose(text, _span(outer)[1], wanted)
        return
    fenced = [
        block
        for block in blocks_of(text, start, len(text))
        if block.word in JSON_WORDS or text[block.start : block.end].lstrip().startswith("{")
    ]
    for block in fenced:
        at = block.end - len(text[block.start : block.end].lstrip())
        yield _object_at(text, at, block.end, wanted)
    if not fenced:
        yield from _in_prose(text, start, wanted)


def _in_prose(text: str, position: int, wanted: _Expected) -> Iterator[SqlReading]:
    begins = _ANY_OBJECT if wanted.key else _EMBEDDED
    for _ in range(_MOST_OBJECTS):
        match = begins.search(text, position)
        if match is None:
            return
        yield (reading := _object_at(text, match.start(), len(text), wanted))
        position = max(_span(reading)[1], match.end())


def _object_at(text: str, at: int, end: int, wanted: _Expected) -> SqlReading:
    """The object that begins at `at`; the span of one that is not JSON ends where the parser stopped."""
    try:
        value, length = _DECODER.raw_decode(text[at:end])
    except json.JSONDecodeError as error:
        where = f" at line {error.lineno} column {error.colno}" if error.pos else ""
        return _incorrect(f"no valid JSON: {error.msg.removesuffix(' at')}{where}", at, at + error.pos)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:_SHOWN]
        return _incorrect(f"no valid JSON: {reason}", at, end)
    return _validated(value, wanted, (at, at + length))


def _validated(value: Any, wanted: _Expected, span: tuple[int, int]) -> SqlReading:
    if not isinstance(value, dict):
        return _incorrect(
            f"expected a JSON object, not {'a list' if isinstance(value, list) else 'a plain value'}", *span
        )
    if wanted.key:
        return _at_key(value, wanted.key, span)
    strict = wanted.form == "create_select_strict"
    read = _form_of(value) if wanted.form == "auto" else "create_select" if strict else wanted.form
    if read == "json_key":
        return _of_one_key(value, span)
    if read not in KEYS:
        return _incorrect(read, *span)
    fields = {key: value[key] for key in KEYS[read] if key in value} if strict or wanted.form == "auto" else value
    if problem := _problem_of(fields, read):
        return _incorrect(problem, *span)
    create, query = (unfenced(fields.get(key, "")).strip() for key in ("create", KEYS[read][-1]))
    return SqlReading("read", create, query, read, span=span)  # type: ignore[arg-type]  # a key of KEYS


def _at_key(value: Mapping[str, Any], key: str, span: tuple[int, int]) -> SqlReading:
    """The text at a key that the user named: the key as it is written, else its path through objects inside."""
    found: Any = value
    for part in [key] if key in value else key.split("."):
        if not isinstance(found, dict) or part not in found:
            return _incorrect(f"no key {_shortened(key)} in the JSON object; its keys: {_names_of(value)}", *span)
        found = found[part]
    if not isinstance(found, str) or not (query := unfenced(found).strip()):
        return _incorrect(f"{_shortened(key)}: expected a text that is not blank", *span)
    return SqlReading("read", query=query, form="json_key", span=span)


def _of_one_key(value: Mapping[str, Any], span: tuple[int, int]) -> SqlReading:
    """The statement that one key holds, of the object or of one inside; of several, that of a key named after SQL."""
    texts = [(name, unfenced(text).strip()) for name, text in _texts_in(value)]
    holding = [(name, text) for name, text in texts if _ANY.match(text) or _FROM_FIRST.match(text)]
    named = [(name, text) for name, text in holding if re.sub(r"[\s_-]", "", name).lower() in _SQL_NAMES]
    found = dict.fromkeys(map(_plain, (text for _, text in named or holding)))
    if len(found) == 1:
        return SqlReading("read", query=(named or holding)[0][1], form="json_key", span=span)
    if holding:
        names = _shortened(", ".join(name for name, _ in named or holding))
        return _incorrect(f"several keys hold SQL: {names}; which is meant is not said", *span)
    return _incorrect(f"{_NO_STATEMENT} in the JSON object; its keys: {_names_of(value)}", *span)


def _texts_in(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Each text in an object, with its key; those in lists have the key of the list."""
    if isinstance(value, str):
        yield name, value
    elif depth < _DEEPEST and isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else ((name, part) for part in value)
        for inner, part in parts:
            yield from _texts_in(part, inner, depth + 1)


def _names_of(value: Mapping[str, Any]) -> str:
    return _shortened(", ".join(value)) or "none"


def _incorrect(message: str, start: int, end: int) -> SqlReading:
    return SqlReading("incorrect", message=message, span=(start, end))


def _form_of(value: Mapping[str, Any]) -> str:
    """The form that an object's keys imply, else why they imply none."""
    has_sql, has_select = "sql" in value, "select" in value or "create" in value
    if has_sql and has_select:
        return "it holds sql as well as create or select; which is meant is not said"
    if has_sql or has_select:
        return "sql_json" if has_sql else "create_select"
    return "json_key"


def _problem_of(value: Mapping[str, Any], form: str) -> str:
    """The errors that the validator reports for `value`; "" where it is valid."""
    from pydantic import ValidationError

    try:
        _validator(form).model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        lines = [
            f"{_shortened('.'.join(map(str, detail['loc'])))}: {detail['msg']}" for detail in errors[:_MOST_ERRORS]
        ]
        hidden = len(errors) - _MOST_ERRORS
        return "; ".join([*lines, *([f"and {hidden} more"] if hidden > 0 else [])])
    return ""


@cache
def _validator(form: str) -> Any:
    """The pydantic model of a form: texts that are not blank, and no further keys."""
    from pydantic import ConfigDict, StringConstraints, create_model

    text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
    fields: dict[str, Any] = dict.fromkeys(KEYS[form], (text, ...))
    return create_model("Reply", __config__=ConfigDict(extra="forbid"), **fields)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_DECODER: Final = json.JSONDecoder(object_pairs_hook=distinct_keys, parse_constant=no_constant)


# Text: fenced blocks, statements on lines of their own, statements between backticks.


def _objects_and_blocks(text: str, start: int, wanted: _Expected) -> Iterator[SqlReading]:
    """JSON objects, and blocks that are not inside one of them: a fence in a JSON text is part of that text."""
    objects = list(_objects(text, start, wanted))
    yield from objects
    spans = iter(sorted(map(_span, objects)))
    span = next(spans, (0, 0))
    for block in _blocks(text, start, wanted):
        while span[1] < _span(block)[1] and (following := next(spans, None)):
            span = following
        if not (span[0] <= _span(block)[0] and _span(block)[1] <= span[1]):
            yield block


def _blocks(text: str, start: int, wanted: _Expected) -> Iterator[SqlReading]:
    """The fenced blocks that hold SQL; next to a query, statements that only repeat the schema are left out."""
    sql_blocks = [
        block
        for block in blocks_of(text, start, len(text))
        if (block.word in SQL_WORDS and not text[block.start : block.end].lstrip().startswith("{"))
        or (block.word not in JSON_WORDS | SQL_WORDS and _ANY.match(text, block.start, block.end))
    ]
    for block in [block for block in sql_blocks if _QUERY.match(text, block.start, block.end)] or sql_blocks:
        sql = text[block.start : block.end].strip()
        span = (block.start, block.end)
        if sql:
            yield SqlReading("read", query=sql, form="block", span=span, broken_off=not block.closed)
        elif wanted.form == "block" or len(sql_blocks) == 1:
            yield _incorrect("the fenced block is empty", *span)


def _statements(text: str, start: int, _: _Expected) -> Iterator[SqlReading]:
    """The statements on lines of their own, with or without a label before them.

    A statement ends with `;`, or before a paragraph that does not go on with it, or with the reply. What begins like a
    sentence ("Select the ...") or an item of a list counts only where nothing else does: explanations do.
    """
    start, end = _unwrapped(text, start)
    opening = _ANY.match(text, start, end)
    if opening and not _like_a_sentence(opening[0]):
        yield _statement(text, start, opening.end(), end)
        return
    lines = list(_lines(text, start, end))
    certain = [reading for is_certain, reading in lines if is_certain]
    if opening and not certain:
        yield _statement(text, start, opening.end(), end)
    else:
        yield from _queries(certain or [reading for _, reading in lines])


def _queries(readings: Sequence[SqlReading]) -> Sequence[SqlReading]:
    """Those that read; all where none does: beside a query the others only repeat the schema."""
    return [reading for reading in readings if _QUERY.match(reading.query)] or readings


def _unwrapped(text: str, start: int) -> tuple[int, int]:
    """The part within the marks around a whole reply: quotes, or those of bold text."""
    end = start + len(text[start:].rstrip())
    for opening, closing in _WRAPS:
        inside = start + len(opening), end - len(closing)
        if text.startswith(opening, start) and text.endswith(closing, inside[0], end) and _QUERY.match(text, *inside):
            return inside
    return start, end


def _lines(text: str, start: int, end: int) -> Iterator[tuple[bool, SqlReading]]:
    """Statements that begin lines, and whether they can be nothing else; a possible item or sentence ends its line."""
    position = start
    for _ in range(_MOST_STATEMENTS):
        if (line := _LINE.search(text, position, end)) is None:
            return
        certain = line["item"] is None and not _like_a_sentence(line["sql"])
        newline = text.find("\n", line.end(), end)
        reading = _statement(text, line.start("sql"), line.end(), end if certain or newline < 0 else newline)
        yield certain, reading
        position = max(_span(reading)[1], line.end())


def _like_a_sentence(text: str) -> bool:
    begun = text.lstrip("( \t\n")
    return begun[:1].isupper() and begun[1:2].islower()


def _inline(text: str, start: int, _: _Expected) -> Iterator[SqlReading]:
    """Statements between single backticks in prose."""
    for match in islice(_INLINE.finditer(text, start), _MOST_STATEMENTS):
        if _ANY.match(match[1]) and " " in match[1].strip():
            yield SqlReading("read", query=match[1].strip(), form="statement", span=match.span(1))


def _from_first(text: str, start: int, _: _Expected) -> Iterator[SqlReading]:
    """Statements without SELECT, on lines of their own."""
    start, end = _unwrapped(text, start)
    position = start
    for _number in range(_MOST_STATEMENTS):
        if (line := _FROM_LINE.search(text, position, end)) is None:
            return
        yield (reading := _statement(text, line.start("sql"), line.end(), end))
        position = max(_span(reading)[1], line.end())


def _statement(text: str, first: int, after: int, end: int) -> SqlReading:
    """The statement from `first` on, and those that follow it at once: whether several may run is decided elsewhere."""
    stop, closed = _end_of(text, first, after, end)
    for _ in range(_MOST_STATEMENTS):
        if not closed or (following := _ANY.match(text, stop, end)) is None:
            break
        stop, closed = _end_of(text, stop, following.end(), end)
    sql = text[first:stop].rstrip()
    sql = sql[:-1] if _FULL_STOP.search(sql[-2:]) else sql
    broken_off = not closed and not text[stop:end].strip()
    return SqlReading("read", query=sql, form="statement", span=(first, first + len(sql)), broken_off=broken_off)


def _end_of(text: str, first: int, after: int, end: int) -> tuple[int, bool]:
    """Where the statement from `first` on ends, and whether with `;`."""
    depth = blocks = 0
    has_body = _ROUTINE.match(text, first, end) is not None
    for token in islice(_END.finditer(text, after, end), _MOST_SIGNS):
        kind = token.lastgroup
        if kind == "semicolon" and blocks <= 0:
            return token.end(), True
        if kind == "bracket":
            depth += 1 if token[0] == "(" else -1
        elif kind in {"begin", "done"}:
            blocks += has_body * (1 if kind == "begin" else -1)
        elif kind == "stop" or (kind == "paragraph" and depth + blocks <= 0 and not _goes_on(text, token, end)):
            return token.start(), False
    return end, False


def _goes_on(text: str, paragraph: re.Match[str], end: int) -> bool:
    """Whether a statement goes on behind a blank line: it is not done before it, or a clause follows."""
    before, after = paragraph.span()
    if _CLAUSE.match(text, after, end):
        return True
    return _UNFINISHED.search(text, max(0, before - _UNFINISHED_WITHIN), before) is not None


_FINDERS: Final[Mapping[Wanted, tuple[Callable[[str, int, _Expected], Iterable[SqlReading]], ...]]] = MappingProxyType(
    {
        "auto": (_objects_and_blocks, _statements, _inline, _from_first),
        "create_select": (_objects,),
        "sql_json": (_objects,),
        "block": (_blocks,),
    }
)
"""The readers of each form, in order; the first that finds something decides."""
