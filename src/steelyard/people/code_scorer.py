"""The configuration of a scorer made from an error code: its keys, and the YAML lines for a person to copy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from steelyard.types import Json

JUDGE: Final = "error_code"
PATTERN: Final = "error_pattern"


def score_name(name: str) -> str:
    """The name of a code as the name of a score, for files and conditions.

    >>> score_name("Cites a source that is not there!"), score_name("编造来源"), score_name("!?")
    ('cites_a_source_that_is_not_there', '编造来源', 'error')
    """
    words = "".join(letter if letter.isalnum() else " " for letter in name.casefold()).split()
    return "_".join(words) or "error"


def judge_config(name: str, definition: str, examples: Sequence[str]) -> dict[str, Json]:
    """A judge with a definition, and texts that have the error."""
    return {JUDGE: {"name": name, "definition": definition, "examples": list(examples)}}


def pattern_config(name: str, pattern: str, flags: Sequence[str] = ()) -> dict[str, Json]:
    """A regular expression that finds the error."""
    keys: dict[str, Json] = {"name": name, "pattern": pattern}
    return {PATTERN: {**keys, "flags": list(flags)} if flags else keys}


def scorer_yaml(config: Mapping[str, Json]) -> str:
    r"""The lines of a configuration that add a scorer; texts are quoted, so that nothing in them is read as YAML.

    Args:
        config: as `judge_config` and `pattern_config` give it.

    >>> print(scorer_yaml(judge_config("late", 'More than "a day" late.', ["2 weeks", "C:\\1"])))
    scorers:
      - error_code:
          name: "late"
          definition: "More than \"a day\" late."
          examples:
            - "2 weeks"
            - "C:\\1"
    """
    return "\n".join(["scorers:", *_lines(config)])


def _lines(config: Mapping[str, Any]) -> Iterator[str]:
    for kind, keys in config.items():
        yield f"  - {kind}:"
        for key, value in keys.items():
            if isinstance(value, list):
                yield f"      {key}:" if value else f"      {key}: []"
                yield from (f"        - {_quoted(entry)}" for entry in value)
            else:
                yield f"      {key}: {_quoted(value)}"


def _quoted(value: Any) -> str:
    """A value as JSON, which YAML 1.2 reads; characters that are not printable are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)
