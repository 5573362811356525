"""Reads which option a reply to a multiple-choice question gives: Chinese and English, one reader.

A reply is read by the rules below in turn; the first that finds something holds, and its name is kept. A reply in
which none finds anything is `unparsed`: a wrong reading is worse than none, and nothing is ever guessed. The rules for
replies of a fixed form are here: JSON, ticked lists, and a share or rank for each option.

Source: the order of the rules follows what failed in twenty published readers on 7,700 labelled replies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from steelyard.text.choice_declared import by_number, declared, opens_with
from steelyard.text.choice_reply import ChoiceReading, ChoiceReply, option_list
from steelyard.text.choice_texts import declared_text, leading_text, near_text, only_text
from steelyard.text.choice_verdicts import emphasised, judged, none_of_them, only_letter, refused, shown, statements
from steelyard.text.cleaned_reply import clean_reply, condense, fold
from steelyard.text.verdict_json import JsonObject, json_objects

_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 26
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
_SHARE: Final = re.compile(
    r"(?:\A|[\n,;])[ \t]{0,8}(?:[-•]\s{0,3})?(?:and\s)?(?:option\s)?\(?(?P<letter>[A-Z])(?![A-Za-z])[).:]?"
    r"[^\n%,;=]{0,80}?[-–—:=(\s]\s?(?P<share>\d{1,3}(?:\.\d{1,4})?)\s?(?P<sign>%|(?=[)\s,;]|$))"
)
_DOWN: Final = re.compile(
    r"\b(?:from\s)?(?:best|most)\b[^.:\n]{0,40}\bto\s(?:the\s)?(?:worst|least)\b|\bdescending\b|\bbest first\b"
)
_UP: Final = re.compile(
    r"\b(?:worst|least)\b[^.:\n]{0,40}\bto\s(?:the\s)?(?:best|most)\b|\bascending\b|\bworst first\b"
)
_ORDER: Final = re.compile(r"\b(?P<first>[A-Z])\)?(?:\s{0,2}(?P<sign>[,>≥])\s{0,2}\(?[A-Z]\b\)?){2,25}")
_ORDERING: Final = ("rank", "order", "best", "most", "descending", "likel", "prefer")
_FIGURE: Final = re.compile(r"\d")
_WHOLE_SHARE: Final = 1.0
_LEAD: Final = 120
_TICKS: Final = "✓✔√☑✅◉"
_UNTICKED: Final = "☐⬜□○❌✗✘✖"
_TICK_BEFORE: Final = re.compile(
    rf"(?:^|\n)[ \t]{{0,8}}(?:[-•]\s{{0,3}})?(?:\[(?P<box>[ xX{_TICKS}])\]|(?P<sign>[{_TICKS}{_UNTICKED}])\ufe0f?)"
    r"\s{0,3}\(?(?P<letter>[A-Z])(?=[).:、\s]|$)"
)
_TICK_BEHIND: Final = re.compile(
    r"(?:^|\n)[ \t]{0,8}(?:[-•]\s{0,3})?\(?(?P<letter>[A-Z])[).:、]\s?[^\n]{0,300}?\s?"
    rf"(?:[{_TICKS}]\ufe0f?(?:\s?\((?:correct|right)\b[^)\n]{{0,20}}\))?|\((?:correct|right|my)(?:\s(?:answer"
    rf"|choice|option))?\)"
    r"|(?:<-{1,3}|←)\s?(?:correct|answer|this)\b[^\n]{0,20}|[(\[](?:正确|正确答案|本题答案)[)\]])[ \t]{0,8}(?=\n|$)",
    re.IGNORECASE,
)
_TICK_MARKS: Final = re.compile(rf"\[[xX{_TICKS}]\]|[{_TICKS}]|\((?:correct|right|my)\b|<-|←|[(\[]正确")


def read_choice(reply: str, options: Sequence[str], *, question: str = "", several: bool = False) -> ChoiceReading:
    """Read which option `reply` gives.

    Args:
        reply: any text.
        options: the texts of the options, 2 to 26; the first is A.
        question: its text, where known: tells a question for the wrong statement, and what is merely repeated.
        several: whether more than one option may be right.

    Raises:
        ValueError: fewer than 2 or more than 26 options.

    >>> read_choice("I first thought B. So the answer is (C).", ["a", "b", "c", "d"]).letters
    ('C',)
    >>> read_choice("选项B和C错误，故选D。", ["天", "地", "雷", "风"]).letters
    ('D',)
    >>> read_choice("Paris, of course.", ["Rome", "Paris"]).confidence
    'inferred'
    """
    if not _MIN_OPTIONS <= len(options) <= _MAX_OPTIONS:
        raise ValueError(f"a question has 2 to 26 options, not {len(options)}")
    cleaned = clean_reply(reply)
    if not cleaned.text.strip():
        reason = "the reply broke off inside its reasoning" if cleaned.unfinished else "the reply is empty"
        return ChoiceReading((), "empty", reason=reason)
    prepared = ChoiceReply(cleaned, options, question, several, option_list(cleaned.text, options))
    for rule in RULES:
        if (reading := rule(prepared)) is not None:
            return reading
    return ChoiceReading((), "unparsed", reason="no option is named or quoted as the answer")


def by_json(reply: ChoiceReply) -> ChoiceReading | None:
    """The answer that a JSON object of the reply names, or None where the reply has no such object."""
    if "{" not in reply.text or ":" not in reply.text:
        return None
    objects = [(one, *found) for one in json_objects(reply.text) if (found := _answer(one.values))]
    if objects:
        one, key, value = objects[0] if opens_with(objects[0][0].start) else objects[-1]
        return _read(reply, one, key, value)
    flags = [one for one in json_objects(reply.text) if _are_flags(one.values, reply.count)]
    return _flagged(reply, flags[-1]) if flags else None


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


def _read(reply: ChoiceReply, one: JsonObject, key: str, value: Any) -> ChoiceReading | None:
    values = value if isinstance(value, list) else [value]
    read = [_letters_of(reply, key, each) for each in values[: reply.count + 1]]
    place = _place(reply.text, one, values)
    if not read or any(each is None for each in read):
        if isinstance(value, str) and len(value) > len("none") and not value.strip().isdigit():
            return None
        return reply.without_letter("unparsed", "json", place, "its JSON names no option")
    letters = sorted({letter for each in read if each for letter in each[0]})
    return reply.reading(letters, "json", place, inferred=any(each[1] for each in read if each))


def _letters_of(reply: ChoiceReply, key: str, value: Any) -> tuple[str, bool] | None:
    """The letters that a value names, and whether they are inferred."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return _numbered(reply, key, value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    same = _same_text(reply.options, text)
    if same:
        return same, len(text) > 1 or same != text.upper()
    match = _LETTERS.match(text)
    if match and (match["letters"].isupper() or not match["end"].strip(" ).:]}")):
        letters = "".join(dict.fromkeys(re.findall(r"[A-Z]", match["letters"].upper())))
        alone = not match["end"].strip() or match["end"][0] in ").:、,]}"
        return (letters, False) if alone and all(ord(each) - ord("A") < reply.count for each in letters) else None
    return _numbered(reply, key, int(text)) if text.isascii() and text.isdigit() and len(text) < 4 else None


def _numbered(reply: ChoiceReply, key: str, number: int) -> tuple[str, bool] | None:
    if same := _same_text(reply.options, str(number)):
        return same, True
    sure = number == reply.count or (key.endswith("number") and _FIRST <= number <= reply.count)
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


def _flagged(reply: ChoiceReply, one: JsonObject) -> ChoiceReading:
    chosen = sorted(key.upper() for key, value in one.values.items() if value is True)
    if chosen:
        return reply.reading(chosen, "json", (one.start, one.end))
    return reply.without_letter("unparsed", "json", (one.start, one.end), "its JSON names no option")


def ranked(reply: ChoiceReply) -> ChoiceReading | None:
    """The option with the largest share, or the first of an order that runs from the best."""
    if reply.several:
        return None
    return _by_share(reply) or _by_order(reply)


def _by_share(reply: ChoiceReply) -> ChoiceReading | None:
    """Where options hold figures themselves, a list of them would look the same, and nothing is read."""
    if "%" not in reply.text and "." not in reply.text:
        return None
    found = list(_SHARE.finditer(reply.text))
    if len(found) < max(2, reply.count - 1) or any(_FIGURE.search(option) for option in reply.options):
        return None
    shares = {match["letter"]: float(match["share"]) for match in found}
    percent = [bool(match["sign"]) for match in found]
    fractions = not any(percent) and all(share <= _WHOLE_SHARE for share in shares.values())
    beyond = any(ord(letter) - ord("A") >= reply.count for letter in shares)
    if len(shares) != len(found) or beyond or not (all(percent) or fractions):
        return None
    most = max(shares.values())
    best = [match for match in found if shares[match["letter"]] == most]
    if len(best) > 1:
        return reply.without_letter(
            "unparsed", "ranked", best[0].span("letter"), "two options are given the same share"
        )
    return reply.reading((best[0]["letter"],), "ranked", best[0].span("letter"), inferred=True)


def _by_order(reply: ChoiceReply) -> ChoiceReading | None:
    lowered = reply.text.lower()
    if not any(word in lowered for word in _ORDERING):
        return None
    for match in _ORDER.finditer(reply.text):
        lead = reply.text[max(0, match.start() - _LEAD) : match.start()].lower().rsplit("\n\n", 1)[-1]
        falls = _DOWN.search(lead) or (match["sign"] == ">" and re.search(r"\brank|\border|\blikel|\bprefer", lead))
        if falls and not _UP.search(lead) and ord(match["first"]) - ord("A") < reply.count:
            return reply.reading((match["first"],), "ranked", match.span("first"), inferred=True)
    return None


def ticked(reply: ChoiceReply) -> ChoiceReading | None:
    """The option that carries the mark; where every line carries one, it says nothing."""
    if not _TICK_MARKS.search(reply.text):
        return None
    lines = [(match, match["box"] or match["sign"]) for match in _TICK_BEFORE.finditer(reply.text)]
    chosen = [match for match, mark in lines if mark.strip() and mark not in _UNTICKED]
    if not chosen:
        chosen = lines_behind = list(_TICK_BEHIND.finditer(reply.text))
        if len(lines_behind) == reply.count:
            return None
    elif len(chosen) == len(lines) > 1:
        return None
    letters = sorted({match["letter"].upper() for match in chosen})
    if not letters or any(ord(letter) - ord("A") >= reply.count for letter in letters):
        return None
    return reply.reading(letters, "ticked", chosen[-1].span("letter"))


__all__ = ["RULES", "ChoiceReading", "read_choice"]


RULES: Final[tuple[Callable[[ChoiceReply], ChoiceReading | None], ...]] = (
    by_json,
    ticked,
    ranked,
    declared,
    declared_text,
    leading_text,
    near_text,
    by_number,
    shown,
    none_of_them,
    statements,
    refused,
    judged,
    emphasised,
    only_letter,
    only_text,
)
"""What is tried, in order."""
