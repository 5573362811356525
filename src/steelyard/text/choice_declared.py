"""Places where a reply declares its answer, and which of them holds.

The strongest kind counts. Of several of that kind the first counts where the reply opens with its answer (what
follows is explanation or a question nobody asked), else the last (what precedes is reasoning).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_doubt import EXCUSED, Doubt, doubt
from steelyard.text.choice_letters import GROUP, LABEL, Group, begins_text, read_group, sentence_end
from steelyard.text.choice_page import restated
from steelyard.text.choice_patterns import (
    BETWEEN,
    BRACKETED_BE,
    CONCLUSION,
    CORRECTION,
    CORRECTION_WORDS,
    DENIED,
    FINE,
    FITS,
    NOUN,
    PLAIN,
    STRONG,
)
from steelyard.text.choice_starts import matches, tokens
from steelyard.text.choice_verdict_words import WRONG

_EN: Final = re.IGNORECASE | re.MULTILINE
_OPENS_WITHIN: Final = 80
_NEGATED: Final = re.compile(r"\bnot\b|n't\b|\bcannot\b|\bnever\b|不[是能应选]|无法|没有", re.IGNORECASE)


_AT_FIRST: Final = re.compile(r"\b(?:initial|first|original|previous|earlier)\b[^.]*\bwas\b", re.IGNORECASE)
_ROMAN_ONE: Final = re.compile(r"\bI\b")
_REASON: Final = re.compile(r"\s*(?:since|because|as|given|if|when|were)\b", re.IGNORECASE)
_TURNED: Final = re.compile(r"的|\bbut\b|而是", re.IGNORECASE)

_TAKEN_BACK: Final = re.compile(
    r"[)\]]?\s?(?:is|are)\s(?:not\s(?:the\s)?|in)correct|[)\]]?\s?(?:is|are)\s(?:wrong|false)"
    rf"|[)\]]?,?\s(?:only\s)?(?:if|when|unless)\b(?!{EXCUSED})"
    r"|[)\]]?,?\s(?:n?or|and)\s(?:any|either|none)\b",
    re.IGNORECASE,
)

_EXCEPTED: Final = re.compile(r"\b(?:except|but|than|besides|from|save)\s+(?:for\s+)?$", re.IGNORECASE)

_DECLARED: Final = re.compile(rf"(?P<lead>{STRONG.pattern}){BETWEEN.pattern}{GROUP}", _EN)
_ANNOUNCED: Final = re.compile(rf"(?P<lead>{PLAIN.pattern}){BETWEEN.pattern}{GROUP}", _EN)
_CONCLUDED: Final = re.compile(rf"(?P<lead>{CONCLUSION.pattern}|{BRACKETED_BE.pattern}){BETWEEN.pattern}{GROUP}", _EN)
_CORRECTED: Final = re.compile(
    r"(?P<lead>(?<!\w)(?:no|wait|actually|sorry|correction|rather|oops|scratch that|hold on|i meant?"
    r"|edit(?:ed)?|updated?|erratum"
    r"|amend(?:ed|ment)|revised(?: (?:answer|choice|response))?"
    r"|(?:up)?on (?:further )?(?:reflection|consideration)|on second thoughts?|更正|不对|等等|不)[,.:!…\s\-–—]{1,6}"
    r"(?:(?:no|wait|actually|sorry|i meant?|i think|it should be|it must be|it is|it's|that's|make that|我是说"
    r"|应该是|应为"
    r"|应该选|应选|是|选)[,:\s]{0,3}){0,3})"
    + GROUP
    + r"(?=[)\]\"']{0,2}(?:[.,;:!。]|\s*$|\s*\n|\s(?:is|because|since|as)\b))",
    _EN,
)
_NAMED_BEST: Final = re.compile(
    rf"(?P<lead>){GROUP}(?:选项|项)?[)\]\"']{{0,2}}(?:[:.,]?\s?[\"(《][^\")》\n]{{1,200}}[\")》]"
    rf"|[:.]\s[^.:\n]{{1,120}}?)?,?\s{{0,2}}"
    r"(?:(?:is|are|was|would be|should be|must be|seems to be|appears to be|as)\s(?:\w{1,12}ly\s|the\s"
    r"|indeed\s|also\s|my\s|an?\s|still\s){0,3}"
    rf"(?:{FINE}|most \w{{1,16}}|answer)\b(?:\s\w{{1,14}}){{0,2}}?(?:\s{NOUN}|(?<=answer))\b"
    r"|(?:is|would be|seems|sounds|appears|looks)\s(?:to be\s)?(?:the\s|far\s|much\s)?(?:(?:more|most)\s\w{1,16}"
    r"|best|better|preferable|superior|(?:strong|close|safe|sound|near|fair)(?:e?r|e?st)|likelier|likeliest)"
    r"(?=[.,;!\n]|$|\s(?:because|as|since|given|for|to|of|here|among)\b)"
    r"|(?:is|seems|sounds|appears|looks|feels)\s(?:to be\s)?(?:about|just|exactly|spot)\s(?:right|on)\b"
    r"|must be (?:it|the one|right|correct|true)\b"
    rf"|(?:{FITS}\b[^.\n;]{{0,60}}?\b(?:best|most|better)\b"
    rf"|(?:best|better|(?:most|more)\s\w{{1,16}}|(?:close|accurate|correct|perfect|exact|clear)ly)\s{FITS}\b)"
    r"|(?:不正确|错误|不符合题意|不对)[^。\n]{0,12}?,?(?:因此|所以|故|,)(?:它|该项|此项)?(?:就是|是"
    r"|为)?(?:本题的?|正确)?(?:答案|应选|当选)"
    r"|(?:就|才|应该|应当|便)?(?:是|为)(?:本题的?|最终的?|唯一的?|最佳的?)?(?:正确的?|最佳的?|标准)?(?:答案"
    r"|选项(?=[。,;\n])))",
    _EN,
)
_NUMBERED: Final = re.compile(
    rf"(?P<lead>{STRONG.pattern}|\A\s*我?选(?!项)|\A\s*(?:选项|option\s|choice\s)){BETWEEN.pattern}{LABEL}", _EN
)

KINDS: Final = (
    (4, "declared", _DECLARED),
    (3, "corrected", _CORRECTED),
    (3, "announced", _ANNOUNCED),
    (3, "named_best", _NAMED_BEST),
    (2, "concluded", _CONCLUDED),
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """An answer that the reply gives as such; a higher `rank` outweighs a lower one, and any other a `weak` one."""

    rank: int
    rule: str
    group: Group
    start: int
    weak: bool = False


def declarations(text: str, options: Sequence[str]) -> tuple[Declaration, ...]:
    """The declarations of the strongest kind in `text`, in the order in which they stand.

    Where the model takes something back, the less formal ones are looked for as well: corrections are often informal.
    """
    found: list[Declaration] = []
    takes_back = _takes_back(text)
    known = tokens(text)
    for rank, rule, pattern in KINDS:
        if takes_back or all(one.weak or one.rank == rank for one in found):
            found += _of_kind(text, options, rank, rule, matches(pattern, rule, text, known))
    return tuple(sorted(found, key=_place))


def _takes_back(text: str) -> bool:
    """Whether something in `text` may be taken back; most replies have none of the words, and need no search."""
    lowered = text.lower()
    return any(word in lowered for word in CORRECTION_WORDS) and CORRECTION.search(text) is not None


def _place(one: Declaration) -> tuple[int, int]:
    return one.group.start, -one.rank


def numbered(text: str, options: Sequence[str]) -> tuple[Declaration, ...]:
    """Declarations that name an option by number (`答案：③`, `the answer is 2`)."""
    return tuple(_of_kind(text, options, 4, "numbered", matches(_NUMBERED, "numbered", text, tokens(text))))


def _of_kind(
    text: str, options: Sequence[str], rank: int, rule: str, found: Iterator[re.Match[str]]
) -> Iterator[Declaration]:
    for match in found:
        start, end = match.span("group")
        if _is_denied(text, match):
            continue
        if _TAKEN_BACK.match(text, end) and not _EXCEPTED.search(match.group("lead")):
            continue
        if rule == "concluded" and WRONG.search(text, end, sentence_end(text, end, 120)):
            continue
        group = _own_group(text, start, end, options)
        left = doubt(text, match.start(), start) if group else Doubt.DENIED
        if group and left is not Doubt.DENIED:
            yield Declaration(rank, rule, group, match.start(), weak=left is Doubt.WEAK)


def _own_group(text: str, start: int, end: int, options: Sequence[str]) -> Group | None:
    """The group at `start`; of `C, I and II only` the C alone, where that is the text of C."""
    if begins_text(text, start, options):
        return None
    place = ord(text[start]) - ord("A")
    if 0 <= place < len(options) and restated(text, start + 1, options[place]) > start + 1:
        end = start + 1
    group = read_group(text, start, end, len(options))
    roman = group is not None and group.letters == () and text[start:end] == "I"
    return None if roman and any(_ROMAN_ONE.search(option) for option in options) else group


def _is_denied(text: str, match: re.Match[str]) -> bool:
    start = match.start()
    lead = match.group("lead")
    if _AT_FIRST.search(lead):
        return True
    if DENIED.search(text, max(0, start - 24), start):
        return True
    return bool(_NEGATED.search(lead)) and not _TURNED.search(lead) and not _REASON.match(lead)


def holding(found: Sequence[Declaration], text: str) -> Declaration | None:
    """The declaration that counts, or None where there is none."""
    found = _after_correction([one for one in found if not one.weak] or found, text)
    if not found:
        return None
    if found[0].weak and len({one.group.letters for one in found}) > 1:
        return None
    rank = max(one.rank for one in found)
    strongest = [one for one in found if one.rank == rank]
    chosen = strongest[0] if opens_with(strongest[0].start) else strongest[-1]
    return _decided(chosen, found)


def _decided(chosen: Declaration, found: Sequence[Declaration]) -> Declaration:
    """Of `either A or D, but D is the better choice` the choice between the two."""
    if len(chosen.group.letters) > 1:
        for one in found:
            if one.start > chosen.start and len(one.group.letters) == 1 and one.rank > 2:
                return one
    return chosen


def opens_with(start: int) -> bool:
    """Whether an answer at `start` is what the reply begins with."""
    return start < _OPENS_WITHIN


def _after_correction(found: Sequence[Declaration], text: str) -> Sequence[Declaration]:
    """What was declared before the model took it back is dropped, if it declared something afterwards."""
    if len(found) < 2 or not _takes_back(text):
        return found
    for match in CORRECTION.finditer(text):
        later = [one for one in found if one.start >= match.start() and one.rank > 2]
        if later:
            found = later
    return found
