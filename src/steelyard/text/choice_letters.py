"""Which characters of a reply are option letters, and which only look like it.

A capital letter alone may be the article "A", the pronoun "I", a variable, a unit or an initial. A group is what
stands in one answer: `B`, `A, C and D`, `ABD`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_doubt import EXCUSED, Doubt, doubt
from steelyard.text.choice_page import restated
from steelyard.text.choice_patterns import DENIED, FITS
from steelyard.text.choice_verdict_words import SENTENCE_END

_EN: Final = re.IGNORECASE
_ONE: Final = r"(?-i:(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9]))"
_LINK: Final = (
    r"(?>,?\s?\b(?:and/or|and|or|as well as|along with|together with|plus|in addition to|alongside|combined with)\b"
    r"(?:\s(?:also|even|possibly|perhaps|maybe)\b)?|、|/|&|\+|;|,|和|或者|或|与|以及|及)"
)
_TAIL: Final = r"[)\]}\"'>$|]{0,4}+"
_HEAD: Final = r"(?:选项|options?|choices?)?[\s(\[{\"'<$]{0,4}+"
_NOT_A_SUBJECT: Final = r"(?!\s{0,2}(?:is\b|are\b|was\b|选项|项|[:.)]\s{0,2}[^\s,.)]|错|不|的|中|虽|则|表))"
_GROUP: Final = (
    rf"{_ONE}(?:{_TAIL}\s{{0,2}}+{_LINK}\s{{0,2}}+{_HEAD}{_ONE}{_NOT_A_SUBJECT}){{0,25}}"
    r"|(?-i:(?<![A-Za-z0-9])[A-Z]{2,10}(?![A-Za-z0-9]))"
    r"|(?-i:(?<![A-Za-z0-9])[a-z](?=\s{0,2}(?:[).:\]},\"'<]|\n|$)|\s(?:because|since|due\sto)\b))"
)
GROUP: Final = rf"(?P<group>{_GROUP})"
"""One answer's letters, as a part of a pattern with IGNORECASE."""

LABEL: Final = r"(?P<group>[1-9](?!\d|\s?[%°a-zA-Z]|[.,/:]\d)|[①-⑨]|[甲乙丙丁戊己](?=\s*(?:[。.,;:)、\n<]|选项|项|$)))"
"""An option named by its number instead of its letter."""

_LETTER: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z](?![A-Za-z0-9])|(?<![A-Za-z0-9])[A-Z]{2,10}(?![A-Za-z0-9])")
_WORD_BEGINS: Final = re.compile(r"[^\w]*[A-Z](?=[ \t]\w)")
_GO_ON: Final = re.compile(
    r"\s*(?:['\"]?\s+)?(?:because|since|as|and|or|is|was|are|which|with|for|due|in|according|based|from|given"
    r"|would|that|this|seems|appears|looks|sounds|fits|matches|works|describes|reflects|represents|captures|answers"
    r"|satisfies|remains|must|most|more|better|alone|only|instead|here|being"
    r"|where|while|if|but|the|option|from|among|of|to|on|not|rather|correct|by|has|states|says|best|may|can"
    r"|should|,)\b"
)
_ARTICLE: Final = re.compile(
    rf"[ \t]+(?:(?:more|most|less|least|rather|very|much)\s(?!{FITS}|\w{{1,16}}ly\b|than\b|like\b)[a-z]"
    rf"|(?:best|better|correct|right|only|being|given|based|true|false|main|key|common)\s"
    rf"(?!{FITS}|and\b|or\b|is\b|if\b|that\b|the\b|this\b|its\b|how\b|these\b|all\b|what\b|our\b|your\b|his\b|her\b"
    r"|in\b|on\b|of\b|as\b|because\b|since\b|for\b|to\b|a\b|an\b|one\b|from\b|by\b|here\b|than\b|among\b)[a-z])",
    _EN,
)
_RUNS_ON: Final = re.compile(r"[ \t]+[a-z]")
_PRONOUN: Final = re.compile(
    r"'(?=[a-z])|[ \t]+(?!(?:is|because|since|as|and|or|was)\b)[a-z]|,\s(?!(?:since|because)\b)"
)
_FORMULA: Final = re.compile(
    r"\s?[=^×≈]|\s?\+\s?[\w(]|_|['’](?:s|m|d|ll|ve|re)\b|-[a-z]{2}|[+#]|\.(?:[A-Za-z]\b\.?|\d)|\(\w{1,2}\)|°|&\w"
)
_BEFORE_FORMULA: Final = re.compile(r"(?:(?<![A-Za-z])[A-Za-z]\s?=|[\^×+\d_\\°]|\w['’]|\b[a-z]\()\s?$|-$")
_IDEOGRAM: Final = re.compile(r"(?![选项是为对吧和与或更最才比较符正])[\u3400-\u9fff]")
_TITLED: Final = re.compile(
    r"(?:vitamins?|hepatitis|types?|groups?|grade|plan|schedule|class|team|section|part|figure|table|point"
    r"|phase|company|person)\s$",
    _EN,
)
_SECOND: Final = re.compile(
    r"(?<![A-Z]\s)(?:\bor\b|\band\b|或者?|和)\s?(?:选项|options?\s)?(?-i:\(?([A-Z])[).:](?!\w))", _EN
)
_OPTION: Final = re.compile(r"\b(?:options?|choices?|letter)\s\(?$", _EN)
_CIRCLED: Final = "①②③④⑤⑥⑦⑧⑨"
_STEMS: Final = "甲乙丙丁戊己"


@dataclass(frozen=True, slots=True)
class Group:
    """The letters of one answer and where they stand; `beyond` where one of them is no option's."""

    letters: tuple[str, ...]
    start: int
    end: int
    beyond: bool = False


def read_group(text: str, start: int, end: int, count: int) -> Group | None:
    """The group that a pattern found at `start`..`end`, or None where the letter is a word or part of a formula.

    Args:
        text: the folded reply.
        start: where the group begins.
        end: where it ends.
        count: number of options.

    >>> read_group("answer: B, D.", 8, 12, 4).letters
    ('B', 'D')
    >>> read_group("The answer is A company.", 14, 15, 4) is None
    True
    """
    letters = _letters(text[start:end])
    if not letters or _is_a_word(text, start, end, letters):
        return None
    second = _SECOND.search(text, end, _clause_end(text, end))
    if second and len(letters) == 1:
        letters = tuple(dict.fromkeys((*letters, second.group(1))))
    last = chr(ord("A") + count - 1)
    within = tuple(sorted({one for one in letters if one <= last}))
    return Group(within, start, end, beyond=any(one > last for one in letters))


def _letters(found: str) -> tuple[str, ...]:
    if len(found) == 1:
        number = next((row.find(found) for row in ("123456789", _CIRCLED, _STEMS) if found in row), -1)
        return (chr(ord("A") + number),) if number >= 0 else (found.upper(),)
    words = _LETTER.findall(found)
    letters = "".join(one for one in words if one.isupper() or len(found) == 1)
    if len(words) == 1 and list(letters) != sorted(set(letters)):
        return ()
    return tuple(dict.fromkeys(letters))


def _is_a_word(text: str, start: int, end: int, letters: tuple[str, ...]) -> bool:
    """An article, a pronoun, a variable, an initial: judged by what stands around it."""
    if _FORMULA.match(text, end) or _BEFORE_FORMULA.search(text, max(0, start - 4), start):
        return True
    if letters == ("I",) and _PRONOUN.match(text, end):
        return True
    if letters != ("A",) or text[start] != "A" or not _RUNS_ON.match(text, end):
        return False
    if _OPTION.search(text, max(0, start - 10), start):
        return False
    return not _GO_ON.match(text, end) or bool(_ARTICLE.match(text, end))


def _clause_end(text: str, start: int) -> int:
    found = re.compile(r"\n|[。!?]|\.\s+[A-Z]").search(text, start + 2, min(len(text), start + 240))
    return found.start() if found else min(len(text), start + 240)


def begins_text(text: str, start: int, options: Sequence[str]) -> bool:
    """Whether the letter at `start` is the first word of an option's text: `B flat major`, `A writ`.

    It is not where the letter is that option's own.
    """
    for number, option in enumerate(options):
        if _WORD_BEGINS.match(option) and restated(text, start, option) > start + 1:
            return text[start].upper() != chr(ord("A") + number)
    return False


def sentence_end(text: str, start: int, limit: int) -> int:
    """Where the sentence that runs at `start` ends, at most `limit` characters on."""
    found = SENTENCE_END.search(text, start, min(len(text), start + limit))
    return found.start() if found else min(len(text), start + limit)


_NAMED: Final = re.compile(
    rf"(?:选项|\boptions?\s{{0,2}}|\bchoices?\s{{0,2}}|\banswers?\s{{0,2}}"
    rf"|\bstatements?\s|\bprocedure\s|\btechnique\s|\brationale of\s)[\s(\[\"']{{0,3}}(?P<a>{_ONE})"
    rf"|(?P<b>{_ONE})\s?(?:选项|项)|[(\[](?P<c>{_ONE})[)\]]|(?:^|\n)[ \t]*(?P<d>{_ONE})[ \t]*[.):]?[ \t]*(?=\n|$)",
    _EN,
)
_DISCUSSED: Final = re.compile(
    r"(?:看|分析|对于|关于|至于|考虑|比较|\b(?:consider|considering|look at|regarding|as for))\s?(?:选项|option)?\s?$",
    _EN,
)
_RANGE_BEHIND: Final = re.compile(r"[)\]]?\s?(?:[-–—]|to|through|thru|until)\s?[(\[]?[A-Z](?![A-Za-z])")
_RANGE_BEFORE: Final = re.compile(r"(?<![A-Za-z])[A-Z][)\]]?\s?(?:[-–—]|to|through|thru|until)\s?[(\[]?$")
_TURN: Final = re.compile(
    r"[.!?。\n;]|\b(?:but|however|instead|rather|yet|though|so|therefore|hence|thus)\b|但|而是|所以", _EN
)
_CONDITIONAL: Final = re.compile(rf"[)\]]?,?\s(?:only\s)?(?:if|when|unless)\b(?!{EXCUSED})", _EN)
_BARE: Final = re.compile(_ONE)


def named_letters(text: str, count: int, *, bare: bool) -> Iterator[Group]:
    """Every letter that is spoken of as an option: `option B`, `B选项`, `(B)`, B alone on its line.

    Args:
        text: the folded reply.
        count: number of options.
        bare: take any lone capital letter that is no word, too; right for short replies.
    """
    barred = 0
    for match in (_BARE if bare else _NAMED).finditer(text):
        start = match.start() if bare else max(match.start(name) for name in "abcd")
        group = read_group(text, start, start + 1, count)
        if (
            not group
            or not group.letters
            or start < barred
            or (bare and _is_a_name(text, group))
            or in_range(text, group)
        ):
            continue
        if doubt(text, start, start) is Doubt.DENIED or _CONDITIONAL.match(text, group.end):
            turn = _TURN.search(text, start)
            barred = turn.start() if turn else len(text)
        elif not DENIED.search(text, max(0, start - 24), start) and not _DISCUSSED.search(
            text, max(0, start - 16), start
        ):
            yield group


def in_range(text: str, group: Group) -> bool:
    """`A-D`, `A to D`: all of them, and none in particular."""
    return bool(
        _RANGE_BEHIND.match(text, group.end) or _RANGE_BEFORE.search(text, max(0, group.start - 16), group.start)
    )


def _is_a_name(text: str, group: Group) -> bool:
    """`vitamin C`, `B cells`: the letter belongs to a word beside it."""
    runs_on = _IDEOGRAM.match(text, group.end) or (
        _RUNS_ON.match(text, group.end) and not _GO_ON.match(text, group.end)
    )
    return bool(runs_on or _TITLED.search(text, max(0, group.start - 12), group.start))
