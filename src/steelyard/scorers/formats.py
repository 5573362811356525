"""Scores the format of an output: does it match a regular expression, or is it JSON that follows a schema?

What a model wrote is hostile: patterns have a time limit (`patterns`), schemas a limit of steps (`json_validation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from steelyard.constraints import Positive
from steelyard.plain_json import from_json, to_json
from steelyard.prompts.reply_schema import load_reply_schema
from steelyard.replies.answer_text import text_of
from steelyard.replies.jsonlike import read_json, read_plain_json, values_in
from steelyard.scorers.json_validation import CheckSteps, check_schema, first_error
from steelyard.scorers.lexical import share_info, unscored
from steelyard.scorers.patterns import SHOWN_PATTERN, TIMEOUT_S, Flag, compile_pattern
from steelyard.types import Output, Sample, Score, ScoreInfo


@dataclass(frozen=True, slots=True)
class Regex:
    r"""Whether the output matches a regular expression; it needs no reference.

    Patterns are read by the package `regex`, which takes those of Python's `re`. A match that is not decided within
    the time limit is `unparsed` of the kind `timeout`.

    Args:
        pattern: the regular expression.
        mode: `search` finds it anywhere; `fullmatch` requires that it is the whole output, except for blanks around it.
        flags: `ignore_case`, `multiline` (^ and $ at each line), `dot_all` (the point takes line ends), `verbose`.
        timeout_s: seconds of the process's CPU time within which a match must be decided.

    >>> Regex(r"\b\d{4}\b")(Sample("1", "When?"), Output("It was in 1789.")).value
    1.0
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (share_info("regex", 1.0, labels=("matches", "does not match")),)

    pattern: str
    mode: Literal["search", "fullmatch"] = "search"
    flags: tuple[Flag, ...] = ()
    timeout_s: Positive = TIMEOUT_S

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: the pattern cannot be read.
        """
        compile_pattern(self.pattern, self.flags)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Match one output."""
        del sample
        if (score := unscored("regex", "", output)) is not None:
            return score
        text, pattern = text_of(output), compile_pattern(self.pattern, self.flags)
        try:
            match = (
                pattern.search(text, timeout=self.timeout_s)
                if self.mode == "search"
                else pattern.fullmatch(text.strip(), timeout=self.timeout_s)
            )
        except TimeoutError:
            return undecided("regex", f"the pattern was not decided within {self.timeout_s:g} s")
        reason = f"found {match[0][:SHOWN_PATTERN]!r}" if match else "the pattern is not found"
        return Score("regex", float(match is not None), passed=match is not None, reason=reason)


def undecided(name: str, reason: str) -> Score:
    """The score of a text whose match was not decided within the time limit."""
    return Score(name, None, outcome="unparsed", reason=reason, detail={"kind": "timeout"})


_NAME: Final = "json_schema"
_KEYWORDS: Final = frozenset(("type", "const", "enum", "anyOf", "allOf", "oneOf", "not", "$ref", "properties", "items"))
"""A mapping without any of these is no schema, but something else that was written in its place."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """Whether the output is JSON that follows a schema; it needs no reference.

    An output that is no text, such as a mapping or a number, is checked as it is. `format` is an annotation and is not
    validated, which is the standard's default. An output that takes more than 200,000 steps, or a second for patterns,
    is `unparsed` of the kind `timeout`.

    Args:
        schema: `sql`, `create_select`, a JSON file, or the schema itself (draft 2020-12 unless it names another).
        fenced: also take an output that is one fenced block of JSON and nothing else.
        embedded: also take JSON with words around it; of several values one that follows the schema is enough.

    >>> schema = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
    >>> score = JsonSchema(schema)(Sample("1", "Which city?"), Output('{"answer": 7}'))
    >>> score.value, score.reason
    (0.0, "$.answer: 7 is not of type 'string'")
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        share_info(_NAME, 1.0, labels=("follows", "does not follow"), named_verdicts=True),
    )

    schema: Path | str | Mapping[str, Any]
    fenced: bool = True
    embedded: bool = False

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: the schema is not found, is invalid, or has a reference to something that it does not contain.
        """
        check_schema(self._schema)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Check one output."""
        del sample
        if (score := unscored(_NAME, "", output)) is not None:
            return score
        values, problem = self._read(output)
        if problem:
            return _score("no JSON", problem)
        schema, steps = self._schema, CheckSteps()
        try:
            problems = [first_error(schema, value, steps) for value in values]
        except RecursionError:
            return _score("does not follow", "nested too deep")
        except OverflowError:  # 10**400 against multipleOf 0.5
            return _score("does not follow", "a number is too large to be checked")
        except TimeoutError as error:
            return undecided(_NAME, str(error))
        return _score("follows", "") if "" in problems else _score("does not follow", problems[0])

    @property
    def _schema(self) -> Mapping[str, Any]:
        """The schema; one that is written out may be of any value, one of a reply is of an object."""
        if isinstance(self.schema, Mapping) and not _KEYWORDS.isdisjoint(self.schema):
            return self.schema
        return load_reply_schema(self.schema)

    def _read(self, output: Output) -> tuple[list[Any], str]:
        """Parse the output: its values, and the problem where it has no JSON, else ""."""
        if isinstance(output.value, Mapping | list | tuple | bool | int | float):
            return [from_json(to_json(output.value))], ""
        text = text_of(output).strip()
        value, problem = read_json(text, around=False) if self.fenced else read_plain_json(text)
        if problem and self.embedded and (values := values_in(text)):
            return values, ""
        cut_off = "; it was cut off at its length limit" if output.metadata.get("finish") == "length" else ""
        return ([], f"{problem}{cut_off}") if problem else ([value], "")


def _score(label: str, problem: str) -> Score:
    follows = label == "follows"
    return Score(_NAME, float(follows), passed=follows, reason=problem, detail={"label": label})
