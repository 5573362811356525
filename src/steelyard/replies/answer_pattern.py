"""Reads a reply to a multiple-choice question by the user's own pattern.

The pattern is matched by RE2, whose time grows linearly with the text whatever the pattern is: no clock has to stop it,
and the same reply has the same reading on any machine. `re` and `regex` backtrack, and only a deadline stops them. The
price: there is no look-ahead, look-behind or back-reference, and word characters, digits and blanks are those of ASCII.
"""

# Why it is so, and what was rejected: docs/decisions/data-limited-work.md

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from steelyard.errors import ConfigError
from steelyard.replies.choice import read_choice
from steelyard.replies.clean import fold, without_reasoning
from steelyard.replies.options import ChoiceReading

RULE: Final = "pattern"
GROUP: Final = "answer"
MAX_PATTERN: Final = 20_000
_MOST_SEARCHED: Final = 200_000_000
"""Characters: each match may be searched for up to the end of the text. A second of work; no honest reply needs it."""
_SHOWN: Final = 80
_BESIDE: Final = re.compile(r"[\W_]+|\band\b|[和与及]")
"""What stands beside and between letters that are all of the answer."""


def compile_answer_pattern(pattern: str) -> Any:
    """Compile a pattern that finds answers.

    Raises:
        ConfigError: it cannot be read (the message says where), has no group `answer`, or matches an empty text.
    """
    compiled = _compiled(pattern)
    if GROUP not in compiled.groupindex:
        raise ConfigError(
            f"pattern: {_shown(pattern)} has no group named {GROUP}; write (?P<{GROUP}>...) around what is the answer, "
            rf"for example (?i)answer:\s*(?P<{GROUP}>[A-D])"
        )
    if compiled.search("") is not None:
        raise ConfigError(f"pattern: {_shown(pattern)} matches an empty text, so it would match every reply")
    return compiled


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]

    if len(pattern) > MAX_PATTERN:
        raise ConfigError(f"pattern: it has {len(pattern):,} characters; at most {MAX_PATTERN:,} are read")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else str(error)
        raise ConfigError(
            f"pattern: {_shown(pattern)} is not a regular expression of RE2, which has no look-ahead, look-behind or "
            f"back-reference: {said}"
        ) from error


def _shown(pattern: str) -> str:
    return repr(pattern) if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]!r}..."


def read_by_pattern(
    reply: str,
    pattern: str,
    options: Sequence[str] | Mapping[str, str],
    *,
    question: str = "",
    several: bool = False,
) -> ChoiceReading | None:
    """Read the answer that the last match of a pattern holds; None where the pattern matches nowhere.

    Reasoning between marks such as `<think>` is not searched. What the group `answer` holds is read as a short reply: a
    letter, several letters, the number of an option, or an option's text.

    Args:
        reply: any text.
        pattern: see `compile_answer_pattern`.
        options: as for `read_choice`.
        question: its text, where known.
        several: whether more than one option may be right.

    >>> read_by_pattern("정답은 A가 아니라 B입니다.", r"(?P<answer>[A-D])입니다", ["a", "b"]).letters
    ('B',)
    """
    compiled = compile_answer_pattern(pattern)
    group = compiled.groupindex[GROUP]
    # RE2 takes UTF-8, which half of a surrogate pair is not; a question mark has the same length.
    text = without_reasoning(reply)[0].encode("utf-8", "replace").decode("utf-8")
    span: tuple[int, int] | None = None
    searched = position = 0
    for match in compiled.finditer(text):
        searched += len(text) - position
        if searched > _MOST_SEARCHED:
            reason = f"the pattern matches so often that over {_MOST_SEARCHED:,} characters would be searched"
            return ChoiceReading((), "unparsed", RULE, reason=reason)
        position = match.end()
        found = match.span(group)
        if found[0] < found[1] and text[slice(*found)].strip():
            span = found
    if span is None:
        return None
    return _reading_of(text[slice(*span)], span, options, question=question, several=several)


def _labels_and_texts(options: Sequence[str] | Mapping[str, str]) -> tuple[set[str], set[str]]:
    labels = set(options) if isinstance(options, Mapping) else {chr(ord("A") + at) for at in range(len(options))}
    texts = options.values() if isinstance(options, Mapping) else options
    return labels, {fold(text).strip().casefold() for text in texts}


def _reading_of(
    found: str, span: tuple[int, int], options: Sequence[str] | Mapping[str, str], *, question: str, several: bool
) -> ChoiceReading:
    # Bare letters are all of the answer, in whatever brackets and case; the rules for sentences may stop at the first.
    labels, texts = _labels_and_texts(options)
    letters = _BESIDE.sub("", fold(found))
    bare = letters.upper()
    is_bare = set(bare) <= labels and (letters.isupper() or list(bare) == sorted(bare)) and len(set(bare)) == len(bare)
    shown = bare if bare and is_bare and fold(found).strip().casefold() not in texts else found
    reading = read_choice(shown, options, question=question, several=several)
    reason = reading.reason
    if reading.status in {"unparsed", "empty"}:
        reason = f"the pattern found {found.strip()[:_SHOWN]!r}, which names no option"
    confidence: Literal["explicit"] | None = "explicit" if reading.letters else None
    return ChoiceReading(reading.letters, reading.status, RULE, span, confidence, reason)
