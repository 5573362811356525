"""Replies that list the options again and mark one: `[x] C. ...`, `✅ C`, `C. ... ✓`."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.choice_reading import ChoiceReading, Reply

_SIGNS: Final = "✓✔√☑✅◉"
_UNTICKED: Final = "☐⬜□○❌✗✘✖"
_BEFORE: Final = re.compile(
    rf"(?:^|\n)[ \t]{{0,8}}(?:[-•]\s{{0,3}})?(?:\[(?P<box>[ xX{_SIGNS}])\]|(?P<sign>[{_SIGNS}{_UNTICKED}])\ufe0f?)"
    r"\s{0,3}\(?(?P<letter>[A-Z])(?=[).:、\s]|$)"
)
_BEHIND: Final = re.compile(
    r"(?:^|\n)[ \t]{0,8}(?:[-•]\s{0,3})?\(?(?P<letter>[A-Z])[).:、]\s?[^\n]{0,300}?\s?"
    rf"(?:[{_SIGNS}]\ufe0f?(?:\s?\((?:correct|right)\b[^)\n]{{0,20}}\))?|\((?:correct|right|my)(?:\s(?:answer"
    rf"|choice|option))?\)"
    r"|(?:<-{1,3}|←)\s?(?:correct|answer|this)\b[^\n]{0,20}|[(\[](?:正确|正确答案|本题答案)[)\]])[ \t]{0,8}(?=\n|$)",
    re.IGNORECASE,
)
_MARKS: Final = re.compile(rf"\[[xX{_SIGNS}]\]|[{_SIGNS}]|\((?:correct|right|my)\b|<-|←|[(\[]正确")


def ticked(this: Reply) -> ChoiceReading | None:
    """The option that carries the mark; where every line carries one, it says nothing."""
    if not _MARKS.search(this.text):
        return None
    lines = [(match, match["box"] or match["sign"]) for match in _BEFORE.finditer(this.text)]
    chosen = [match for match, mark in lines if mark.strip() and mark not in _UNTICKED]
    if not chosen:
        chosen = lines_behind = list(_BEHIND.finditer(this.text))
        if len(lines_behind) == this.count:
            return None
    elif len(chosen) == len(lines) > 1:
        return None
    letters = sorted({match["letter"].upper() for match in chosen})
    if not letters or any(ord(letter) - ord("A") >= this.count for letter in letters):
        return None
    return this.found(letters, "ticked", chosen[-1].span("letter"))
