"""Which characters of a reply are option letters, and whether the words around leave anything of them as an answer.

A capital letter alone may be the article "A", the pronoun "I", a variable, a unit or an initial. A group is what
stands in one answer: `B`, `A, C and D`, `ABD`. `Some would say A`, `had there been contact, the answer would be A` and
`I cannot say that it is A` name an answer word for word as a declaration does: what stands in front, in the same
sentence, tells the difference. A letter may also only begin a walk through the options that breaks off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from steelyard.text.choice_patterns import DENIED, FITS, SENTENCE_END
from steelyard.text.choice_reply import restated

_EN: Final = re.IGNORECASE
_REACH: Final = 200
_SENTENCE_BREAK: Final = re.compile(r"[.!?。\n](?=\s|$|\n)|\n|。")
_CLAUSE: Final = re.compile(
    r"[,;:]|\b(?:but|however|yet|though|although|so|therefore|hence|thus|because|since|then|while|nevertheless"
    r"|still|instead|otherwise|and(?!\s(?:will|would|do|cannot|can't|won't|should|must|neither)\b))\b",
    _EN,
)
_SPEAKING: Final = (
    r"(?:say|state|claim|confirm|conclude|choose|select|pick|answer|tell|determine|suggest|endorse|assert|agree"
    r"|recommend|give|support|go with|opt|declare|argue|imply|name|take|vote|settle|decide|respond|assume|consider)"
)
_UNSUITED: Final = (
    r"(?:(?:not|n't|never|hardly|neither)\s(?:\w{1,12}\s){0,2}?(?:appropriate|ethical|right|fair|possible|proper"
    r"|acceptable|advisable|responsible|respectful|productive|helpful|correct|accurate|wise|useful|constructive"
    r"|my place|permissible|suitable|reasonable|moral)"
    r"|(?:inappropriate|unethical|impossible|improper|irresponsible|unfair|disrespectful|harmful|wrong|misleading"
    r"|unwise|immoral|offensive|unjust|inaccurate|incorrect|a mistake))"
)
_NOT_HESITANT: Final = re.compile(r"\b(?:not|n't|never|without)\s(?:be\s|in the least\s)?hesita\w{1,6}\s\w", _EN)
_OTHERS: Final = re.compile(
    r"(?:some(?:\s(?:people|students|readers|experts|scholars|argue|say|would|may|might|could|will|of them))"
    r"|others?|certain\s(?:people|groups)|critics|opponents|proponents|supporters|skeptics)\b[^.\n]{0,60}?"
    r"\b(?:say|think|argue|believe|claim|answer|choose|assume|suggest|hold|feel|prefer|maintain|pick|select"
    r"|consider)s?\b",
    _EN,
)
_APPEARANCE: Final = re.compile(
    r"\b(?:(?:one|you|we|many|most|people|students|readers|beginners|it|this|that)\s(?:\w{1,12}\s){0,2}?"
    r"(?:might|may|could)|(?:many|most|people|students)\s(?:\w{1,12}\s){0,2}?would)\s(?:\w{1,12}ly\s"
    r"|first\s|be\s|also\s){0,3}"
    r"(?:tempt\w{0,4}|say|think|argue|believe|assume|answer|choose|guess|pick|seem|appear|look|expect|suppose)\b"
    r"|\btempt(?:ing|ed)\b|\bat first\b"
    r"|\b(?:first|initial)\s(?:glance|sight|thought|guess|instinct|impression|reading)\b"
    r"|\bon the face of it\b|\bintuitively\b|\b(?:obvious|naive|intuitive|common|apparent|tempting"
    r"|popular|usual|typical"
    r"|seemingly \w{1,12})\s(?:wrong\s)?(?:answer|choice|option|guess|mistake|misconception|response)\b",
    _EN,
)
_CONDITION_WORD: Final = re.compile(r"\b(?:if|unless|suppose|supposing|in case)\b", _EN)
_UNREAL: Final = re.compile(
    r"\bif\b|(?:^|[.!?\n,;]\s?|\bbut\s)(?P<had>had|were)\s(?:there|it|he|she|they|the|this|that|we|an?)\b"
    r"|\b(?P<without>without)\b",
    _EN,
)
_PAST: Final = re.compile(r"\b(?:had|were|was|did)\b", _EN)
_WOULD: Final = re.compile(r"\bwould\b", _EN)
_ASKED_TO: Final = (
    r"(?:forced|pressed|pushed|made|asked|required|obliged|compelled|had to|have to|has to|must|need to|needed to"
    r"|were to|was to|am to|choose|pick|guess|select|answer|decide|speculate|respond|bet)"
)
EXCUSED: Final = rf"\s(?:i|we|one|you|forced|pressed|pushed|asked)\b[^.\n]{{0,24}}\b(?:{_ASKED_TO}|to)\b"
"""Behind `if`: a condition that only excuses a choice (`B if I had to choose`)."""
_EXCUSE: Final = re.compile(rf"\b(?:if|when|were)\b[^.,\n]{{0,40}}?\b{_ASKED_TO}\b", _EN)
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
_FULL_STOP: Final = re.compile(r"[.!?。)\]\"'>:;|]\s*\Z")
_STARTS_TO_SAY: Final = re.compile(
    r"[)\]]?\s?(?:[-–—:.,]\s|\([^)\n]{0,80}\)\s)?(?:[^.!?。\n]{0,120}?\s)?(?:is|are|was|states?|says?"
    r"|describes?|refers?|means|suggests?"
    r"|implies|involves|requires|would|can|could|has|does|claims?|talks|mentions|represents?|seems|appears|this|it|the"
    r"|an?|needs|also|might|may|because|since|as|and|or|but|which|that|to|of|in|for|not)\b[^.!?。\n]{0,160}\Z",
    _EN,
)
_OTHER_LETTER: Final = re.compile(r"(?<![A-Za-z'])(?!A\s|I\s)[A-Z](?![A-Za-z'])")
_LABEL_BEFORE: Final = re.compile(r"[(\[]?[A-Z][).:\]]\s{0,3}\Z")
_BEGINS_WALK: Final = re.compile(
    r"\b(?:look(?:ing)? at|consider(?:ing)?|analy[sz](?:e|ing)|examin(?:e|ing)|evaluat(?:e|ing)"
    r"|go(?:ing)? (?:over|through)"
    r"|break(?:ing)? down|review(?:ing)?|discuss(?:ing)?|assess(?:ing)?|here are|weigh(?:ing)?|compar(?:e"
    r"|ing)|walk(?:ing)? through"
    r"|explor(?:e|ing)|check(?:ing)?|explain(?:ing)?|these are|the following are)\b[^.:\n]{0,40}?\b(?:options?|choices?"
    r"|alternatives?|answers?|statements?|possibilities|them|each|one by one)\b[^.:\n]{0,40}(?:[:.]|\n)\s{0,4}"
    r"(?:\d{1,2}[.)]\s{0,2}|[-•]\s{0,2})?(?:options?\s|choices?\s)?[(\[]?\Z",
    _EN,
)
_HINTS: Final = re.compile(
    r"if|had|were|some|other|might|may|many|people|student|tempt|glance|sight|obvious|naive|with|critic|opponent"
    r"|propon|not|n't|refus|doubt|declin|unable|relucta|hesita|wrong|propriat|ethic|possible|proper|fair"
    r"|avoid|refrain|never"
    r"|initial|intuiti|common|could",
    _EN,
)
_UNWILLING: Final = re.compile(
    rf"\b(?:i|we|one|you|it|model|assistant|ai)\s(?:\w{{1,12}}ly\s){{0,2}}(?:cannot|can\s?not|can't|could\snot|couldn't"
    rf"|won't|will\snot|should\snot|shouldn't|must\snot|do\snot|don't|would\snot|wouldn't)\s(?!hesitate"
    rf"|help\b|deny|doubt"
    rf"|see\b)[^.,;:\n]{{0,60}}?\b{_SPEAKING}\b"
    r"|(?:\b(?:i|we|must|will|would|to|am|be|ai)|'m|'re)\s(?:\w{1,12}\s){0,3}?(?:refuse|refusing|decline"
    r"|declining|unable|unwilling|reluctant|hesitant|hesitate|not\s(?:able|going|willing"
    r"|prepared|ready|comfortable|here|inclined|qualified|in a position|allowed|programmed"
    r"|designed))\s(?:\w{1,12}\s){0,4}?"
    r"(?:to|in|with)\b"
    rf"|\b{_UNSUITED}\s(?:of\s\w{{1,12}}\s|for\s(?:\w{{1,12}}\s){{1,3}})?(?:to|that)\b"
    r"|(?<!no )(?<!not )(?<!n't )(?<!little )\bdoubt\b(?!\sthat\sit\sis\s(?:not|n't))|\b(?:don't|do not"
    r"|never)\s(?:choose|pick|select)\b"
    r"|\b(?:avoid|refrain(?:ing)?\sfrom|against)\s(?:\w{1,12}\s){0,2}?(?:\w{3,12}ing)\b",
    _EN,
)


class Doubt(IntEnum):
    """How much of an answer is left of a letter that is named."""

    NONE = 0
    WEAK = 1
    """An answer only where the reply gives no other: `at first glance, A`, `if so, A`."""
    DENIED = 2


def doubt(text: str, start: int, end: int) -> Doubt:
    """What the words in front, in the same sentence, make of a letter.

    Args:
        text: the page.
        start: where the declaration begins, or the letter.
        end: where the letter stands.

    >>> doubt("Some would say it is A.", 16, 21), doubt("If I had to choose, A", 20, 20)
    (<Doubt.DENIED: 2>, <Doubt.NONE: 0>)
    """
    first = max(0, start - _REACH)
    stops = [match.end() for match in _SENTENCE_BREAK.finditer(text, first, start)]
    before = text[stops[-1] if stops else first : end]
    if not _HINTS.search(before):
        return Doubt.NONE
    cut = len(before) - (end - start)
    breaks = [match.end() for match in _CLAUSE.finditer(before, 0, cut)]
    clause = before[breaks[-1] if breaks else 0 :]
    if _UNWILLING.search(clause) and not _NOT_HESITANT.search(clause):
        return Doubt.DENIED
    if _OTHERS.search(clause):
        return Doubt.DENIED
    if _EXCUSE.search(before):
        return Doubt.NONE
    if _is_counterfactual(before):
        return Doubt.DENIED
    return Doubt.WEAK if _APPEARANCE.search(clause) or _CONDITION_WORD.search(before) else Doubt.NONE


def _is_counterfactual(before: str) -> bool:
    """`if there had been ..., it would`: one word after the other, so that the time stays linear."""
    if "would have been" in before:
        return True
    if not (unreal := _UNREAL.search(before)):
        return False
    past = unreal if unreal["had"] or unreal["without"] else _PAST.search(before, unreal.end())
    return past is not None and _WOULD.search(before, past.end()) is not None


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
        for row in ("123456789", _CIRCLED, _STEMS):
            if found in row:
                return (chr(ord("A") + row.index(found)),)
        return (found.upper(),)
    words = _LETTER.findall(found)
    letters = "".join(filter(str.isupper, words))
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


def is_cut_off(text: str, group: Group) -> bool:
    """Whether nothing is said of the letter, because the reply ends in the middle of a walk through the options.

    Args:
        text: the page.
        group: a letter in it.

    >>> is_cut_off("Let us look at each option: A. Bronze, this is", Group(("A",), 28, 29))
    True
    """
    if not _is_open(text):
        return False
    if begins_walk(text, group.start):
        return True
    return _OTHER_LETTER.search(text, 0, group.start) is not None and _STARTS_TO_SAY.match(text, group.end) is not None


def begins_walk(text: str, start: int) -> bool:
    """Whether the label or option's text at `start` is the first of a walk, in a reply that ends without a stop."""
    if not _is_open(text):
        return False
    label = _LABEL_BEFORE.search(text, max(0, start - 6), start)
    stop = label.start() if label else start
    return _BEGINS_WALK.search(text, max(0, stop - 140), stop) is not None


def _is_open(text: str) -> bool:
    return _FULL_STOP.search(text, max(0, len(text) - 4)) is None
