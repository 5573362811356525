"""Questions on two statements at once, whose options are pairs: `True, False`. Replies judge each statement instead."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.choice_reading import ChoiceReading, Reply
from steelyard.text.normal import fold

_EN: Final = re.IGNORECASE
_PAIR: Final = re.compile(r"\W*(true|false)\W+(?:and\W+)?(true|false)\W*", _EN)
_VERDICT: Final = (
    r"(?P<said>(?:is |are |was )?(?:not |n't )(?:true|correct|hold)|(?:does|do) not\b|doesn't\b|untrue|true|false"
    r"|incorrect|correct|wrong|holds?\b|right|invalid|valid)"
)
_NAMED: Final = r"statement\s?\(?(?P<number>1|2|one|two|ii|i)\b|the\s(?P<word>first|second)\b"
_SUBJECT: Final = rf"(?:(?P<both>both)|(?P<neither>neither)|{_NAMED})"
_SAID: Final = re.compile(rf"\b{_SUBJECT}[^.;\n]{{0,60}}?\b{_VERDICT}", _EN)
_SECOND: Final = frozenset({"2", "two", "ii", "second"})


def statements(this: Reply) -> ChoiceReading | None:
    """The option that pairs what the reply says of the first statement with what it says of the second."""
    lowered = this.text.lower()
    if not any(word in lowered for word in ("statement", "first", "both", "neither")):
        return None
    pairs = [_PAIR.fullmatch(fold(option)) for option in this.options]
    if sum(pair is not None for pair in pairs) < 2:
        return None
    said: dict[int, set[bool]] = {0: set(), 1: set()}
    places = []
    for match in _SAID.finditer(this.text):
        holds = match["said"].lower() in {"true", "correct", "right", "valid", "hold", "holds"} and not match["neither"]
        name = (match["number"] or match["word"] or "").lower()
        for which in (0, 1) if not name else (int(name in _SECOND),):
            said[which].add(holds)
        places.append(match.span())
    if len(said[0]) != 1 or len(said[1]) != 1:
        return None
    wanted = tuple("true" if holds == {True} else "false" for holds in said.values())
    letters = [
        chr(ord("A") + number)
        for number, pair in enumerate(pairs)
        if pair and (pair[1].lower(), pair[2].lower()) == wanted
    ]
    if len(letters) != 1:
        return None
    return this.found(letters, "statements", (places[0][0], places[-1][1]), inferred=True)
