"""Replies that give their answer as JSON: a letter, letters, an option's text, or a place in the list.

`{"answer": "B"}`, with reasoning beside it, in a fence or in prose; broken off or with single quotes as well. A bare
number may count from 0 or from 1: it is read only where both cannot be meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.text.choice_declared import opens_with
from steelyard.text.choice_reading import ChoiceReading, Reply
from steelyard.text.normal import condense, fold
from steelyard.text.verdict_json import JsonObject, json_objects

_KEYS: Final = (
    ("finalanswer", "correctanswer", "finalchoice", "最终答案", "正确答案"),
    ("answer", "answers", "答案", "回答"),
    ("choice", "option", "selection", "selectedoption", "chosenoption", "correctoption", "correctchoice", "selected",
     "answerchoice", "answeroption", "answerletter", "optionletter", "choiceletter", "letter", "letters", "choices",
     "选项", "选择", "正确选项", "prediction", "output", "response", "result"),
    ("optionnumber", "answernumber", "choicenumber", "number"),
)  # fmt: skip
_LETTERS: Final = re.compile(
    r"\W{0,4}(?:options?|choices?|answers?|选项)?[\s(:]{0,3}(?P<letters>[A-Z](?:\s?(?:,|、|;|/|&|and"
    r"|和)?\s?(?:option\s)?[A-Z]){0,25}"
    r"|[a-z])(?P<end>$|[).:、,\s}\]].*)",
    re.DOTALL,
)
_FIRST: Final = 1


def by_json(this: Reply) -> ChoiceReading | None:
    """The answer that a JSON object of the reply names, or None where the reply has no such object."""
    if "{" not in this.text or ":" not in this.text:
        return None
    objects = [(one, *found) for one in json_objects(this.text) if (found := _answer(one.values))]
    if objects:
        one, key, value = objects[0] if opens_with(objects[0][0].start) else objects[-1]
        return _read(this, one, key, value)
    flags = [one for one in json_objects(this.text) if _are_flags(one.values, this.count)]
    return _flagged(this, flags[-1]) if flags else None


def _answer(values: Mapping[str, Any], depth: int = 2) -> tuple[str, Any] | None:
    """The key and the value of the answer, which may stand in an object of its own."""
    for tier in _KEYS:
        for key in tier:
            if key in values:
                value = values[key]
                inner = (
                    isinstance(value, Mapping)
                    and depth
                    and _answer({str(k).lower(): v for k, v in value.items()}, depth - 1)
                )
                return inner or (key, value)
    return None


def _read(this: Reply, one: JsonObject, key: str, value: Any) -> ChoiceReading | None:
    values = value if isinstance(value, list) else [value]
    read = [_letters_of(this, key, each) for each in values[: this.count + 1]]
    place = _place(this.text, one, values)
    if not read or any(each is None for each in read):
        if isinstance(value, str) and len(value) > len("none") and not value.strip().isdigit():
            return None
        return ChoiceReading((), "unparsed", "json", this.page.span(*place), reason="its JSON names no option")
    letters = sorted({letter for each in read if each for letter in each[0]})
    return this.found(letters, "json", place, inferred=any(each[1] for each in read if each))


def _letters_of(this: Reply, key: str, value: Any) -> tuple[str, bool] | None:
    """The letters that a value names, and whether they are inferred."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return _numbered(this, key, value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    same = _same_text(this.options, text)
    if same:
        return same, len(text) > 1 or same != text.upper()
    match = _LETTERS.match(text)
    if match and (match["letters"].isupper() or not match["end"].strip(" ).:]}")):
        letters = "".join(dict.fromkeys(re.findall(r"[A-Z]", match["letters"].upper())))
        alone = not match["end"].strip() or match["end"][0] in ").:、,]}"
        return (letters, False) if alone and all(ord(each) - ord("A") < this.count for each in letters) else None
    return _numbered(this, key, int(text)) if text.isascii() and text.isdigit() and len(text) < 4 else None


def _numbered(this: Reply, key: str, number: int) -> tuple[str, bool] | None:
    if same := _same_text(this.options, str(number)):
        return same, True
    sure = number == this.count or (key.endswith("number") and _FIRST <= number <= this.count)
    return (chr(ord("A") + number - _FIRST), True) if sure else None


def _same_text(options: Sequence[str], text: str) -> str:
    wanted = condense(fold(text), signs=True).text
    same = [
        place for place, option in enumerate(options) if wanted and condense(fold(option), signs=True).text == wanted
    ]
    return chr(ord("A") + same[0]) if len(same) == 1 else ""


def _place(text: str, one: JsonObject, values: Sequence[Any]) -> tuple[int, int]:
    """Where the value stands, or the object where it cannot be found as it is."""
    if values and isinstance(values[0], str) and values[0]:
        start = text.rfind(values[0], one.start, one.end)
        if start >= 0:
            return start, start + len(values[0])
    return one.start, one.end


def _are_flags(values: Mapping[str, Any], count: int) -> bool:
    """`{"A": false, "B": true}`."""
    letters = {chr(ord("a") + place) for place in range(count)}
    return (
        len(values) > 1
        and values.keys() <= letters
        and all(isinstance(one, bool | float | int) for one in values.values())
    )


def _flagged(this: Reply, one: JsonObject) -> ChoiceReading:
    chosen = sorted(key.upper() for key, value in one.values.items() if value is True)
    if chosen:
        return this.found(chosen, "json", (one.start, one.end))
    return ChoiceReading((), "unparsed", "json", this.page.span(one.start, one.end), reason="its JSON names no option")
