"""Places where a reply declares its answer, and which of them holds.

The strongest kind counts. Of several of that kind the first counts where the reply opens with its answer (what
follows is explanation or a question nobody asked), else the last (what precedes is reasoning).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_letters import GROUP, LABEL, Group, read_group, sentence_end
from steelyard.text.choice_patterns import (
    BETWEEN,
    BRACKETED_BE,
    CONCLUSION,
    CORRECTION,
    DENIED,
    FINE,
    NOUN,
    PLAIN,
    STRONG,
    WRONG,
)

_EN: Final = re.IGNORECASE | re.MULTILINE
_OPENS_WITHIN: Final = 80
_NEGATED: Final = re.compile(r"\bnot\b|n't\b|\bcannot\b|\bnever\b|不[是能应选]|无法|没有", re.IGNORECASE)


_TURNED: Final = re.compile(r"的|\bbut\b|而是", re.IGNORECASE)

_TAKEN_BACK: Final = re.compile(
    r"[)\]]?\s?(?:is|are)\s(?:not\s(?:the\s)?|in)correct|[)\]]?\s?(?:is|are)\s(?:wrong|false)"
    r"|[)\]]?,?\s(?:only\s)?(?:if|when|unless)\b",
    re.IGNORECASE,
)

_DECLARED: Final = re.compile(rf"(?P<lead>{STRONG.pattern}){BETWEEN.pattern}{GROUP}", _EN)
_ANNOUNCED: Final = re.compile(rf"(?P<lead>{PLAIN.pattern}){BETWEEN.pattern}{GROUP}", _EN)
_CONCLUDED: Final = re.compile(rf"(?P<lead>{CONCLUSION.pattern}|{BRACKETED_BE.pattern}){BETWEEN.pattern}{GROUP}", _EN)
_NAMED_BEST: Final = re.compile(
    rf"(?P<lead>){GROUP}(?:选项|项)?[)\]\"']{{0,2}}(?:[:.,]?\s?[\"(《][^\")》\n]{{1,200}}[\")》]"
    rf"|[:.]\s[^.:\n]{{1,120}}?)?,?\s{{0,2}}"
    r"(?:(?:is|are|was|would be|should be|must be|seems to be|appears to be|as)\s(?:\w{1,12}ly\s|the\s"
    r"|indeed\s|also\s|my\s|an?\s|still\s){0,3}"
    rf"(?:{FINE}|most \w{{1,16}}|answer)\b(?:\s\w{{1,14}}){{0,2}}?(?:\s{NOUN}|(?<=answer))\b"
    r"|(?:is|would be|seems|sounds)\s(?:the\s|far\s|much\s)?(?:(?:more|most)\s\w{1,16}|best)(?=[.,;!\n]|$"
    r"|\s(?:because|as|since))"
    r"|(?:就|才|应该|应当|便)?(?:是|为)(?:本题的?|最终的?|唯一的?|最佳的?)?(?:正确的?|最佳的?|标准)?(?:答案"
    r"|选项(?=[。,;\n])))",
    _EN,
)
_NUMBERED: Final = re.compile(
    rf"(?P<lead>{STRONG.pattern}|\A\s*我?选(?!项)|\A\s*(?:选项|option\s|choice\s)){BETWEEN.pattern}{LABEL}", _EN
)

_KINDS: Final = (
    (4, "declared", _DECLARED),
    (3, "announced", _ANNOUNCED),
    (3, "named_best", _NAMED_BEST),
    (2, "concluded", _CONCLUDED),
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """An answer that the reply gives as such; a higher `rank` outweighs a lower one."""

    rank: int
    rule: str
    group: Group
    start: int


def declarations(text: str, count: int) -> tuple[Declaration, ...]:
    """The declarations of the strongest kind in `text`, in the order in which they stand.

    Where the model takes something back, the less formal ones are looked for as well: corrections are often informal.
    """
    found: list[Declaration] = []
    takes_back = CORRECTION.search(text) is not None
    for rank, rule, pattern in _KINDS:
        if not found or takes_back or rank == found[0].rank:
            found += _of_kind(text, count, rank, rule, pattern)
    return tuple(sorted(found, key=_place))


def _place(one: Declaration) -> tuple[int, int]:
    return one.group.start, -one.rank


def numbered(text: str, count: int) -> tuple[Declaration, ...]:
    """Declarations that name an option by number (`答案：③`, `the answer is 2`)."""
    return tuple(_of_kind(text, count, 4, "numbered", _NUMBERED))


def _of_kind(text: str, count: int, rank: int, rule: str, pattern: re.Pattern[str]) -> Iterator[Declaration]:
    for match in pattern.finditer(text):
        start, end = match.span("group")
        if _is_denied(text, match):
            continue
        if _TAKEN_BACK.match(text, end):
            continue
        if rule == "concluded" and WRONG.search(text, end, sentence_end(text, end, 120)):
            continue
        if group := read_group(text, start, end, count):
            yield Declaration(rank, rule, group, match.start())


def _is_denied(text: str, match: re.Match[str]) -> bool:
    start = match.start()
    lead = match.group("lead")
    if DENIED.search(text, max(0, start - 24), start):
        return True
    return bool(_NEGATED.search(lead)) and not _TURNED.search(lead)


def holding(found: Sequence[Declaration], text: str) -> Declaration | None:
    """The declaration that counts, or None where there is none."""
    found = _after_correction(found, text)
    if not found:
        return None
    rank = max(one.rank for one in found)
    strongest = [one for one in found if one.rank == rank]
    if opens_with(strongest[0].start):
        return strongest[0]
    return strongest[-1]


def opens_with(start: int) -> bool:
    """Whether an answer at `start` is what the reply begins with."""
    return start < _OPENS_WITHIN


def _after_correction(found: Sequence[Declaration], text: str) -> Sequence[Declaration]:
    """What was declared before the model took it back is dropped, if it declared something afterwards."""
    for match in CORRECTION.finditer(text):
        later = [one for one in found if one.start >= match.start() and one.rank > 2]
        if later:
            found = later
    return found
