"""What a reply says of each option, where it declares none: right or wrong, shown alone, refused, the only one named.

Only words in the sentence that speaks of the letter count, and in the one after it where that begins with "this
statement". Words that are quoted are the option's, and no verdict. `Option B is offensive`, `I disagree with B` and
`that is a good question` mention one option alone, and give none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_letters import (
    GROUP,
    Doubt,
    Group,
    begins_walk,
    doubt,
    is_cut_off,
    named_letters,
    read_group,
    sentence_end,
)
from steelyard.text.choice_patterns import (
    ASKS_FOR_FALSE,
    ASKS_FOR_WRONG,
    FINE,
    FITS,
    IDEOGRAM,
    NONE_IS_WEAK,
    NONE_OF_THEM,
    NONE_OPTION,
    REFUSAL,
    REFUSAL_WORDS,
    RIGHT,
    WRONG,
)
from steelyard.text.choice_reply import ChoiceReading, ChoiceReply, restated, within
from steelyard.text.cleaned_reply import fold

_IS: Final = r"(?:is|are|was|were|both|all|seem|seems|could|can|may|would|cannot|can't|isn't|aren't)"
_NEITHER: Final = re.compile(
    r"\b(?:neither|none of|not)\s(?:options?\s|choices?\s|answers?\s)?"
    r"(?P<letters>\(?(?-i:[A-Z])\)?(?:(?:,|,?\s(?:n?or|and))\s(?:option\s)?\(?(?-i:[A-Z])\b\)?){1,25})\s"
    rf"(?={_IS}|appl|work|fit|match)",
    re.IGNORECASE,
)
_SAME: Final = re.compile(
    r"\b(?:the same (?:goes|is true|holds|applies|can be said)(?: true)?(?: for| to| of| about| with)?"
    r"|likewise|ditto(?: for)?|(?:as|so|neither|nor) (?:is|are|does|do|can|would))\s"
    rf"(?:options?\s|choices?\s|answers?\s)?[(]?{GROUP}(?=[)]?(?:[.,;!\s]|$))",
    re.IGNORECASE,
)
_SAME_WORDS: Final = (
    "same",
    "likewise",
    "ditto",
    "so is",
    "so are",
    "neither",
    "nor ",
    "as is",
    "as are",
    "so do",
    "so can",
)
_RULED_OUT: Final = re.compile(
    r"\b(?:rul(?:e|es|ed|ing) out|eliminat(?:e|es|ed|ing)|exclud(?:e|es|ed|ing)|reject(?:s|ed|ing)?"
    r"|discard(?:s|ed|ing)?"
    r"|dismiss(?:es|ed|ing)?|cross(?:es|ed|ing)? (?:out|off)|set(?:s|ting)? aside)\s(?:both\s)?"
    r"(?:options?\s|choices?\s|answers?\s)?(?P<letters>\(?(?-i:[A-Z])\b\)?"
    r"(?:(?:,|,?\s(?:or|and|&))\s(?:option\s)?\(?(?-i:[A-Z])\b\)?){0,25})(?=\W|\Z)(?!\s[a-z]{3})",
    re.IGNORECASE,
)
_NOT_YET: Final = re.compile(r"(?:\bnot|n't|\bcannot|\bnever|\bif|\bhardly)\s(?:\w{1,12}\s){0,2}$", re.IGNORECASE)
_REJECTING: Final = (
    "neither",
    "none of",
    "not ",
    "rul",
    "eliminat",
    "exclud",
    "reject",
    "discard",
    "dismiss",
    "cross",
    "set",
)
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,200}\"")
_BARE_VERDICT: Final = re.compile(
    r"[.;:,–—-]\s\(?(?:(?P<right>correct|right|true)|incorrect|wrong|false|not correct|not true)\)?[.!]?\s{0,3}\Z",
    re.IGNORECASE,
)
_THIS: Final = re.compile(
    r"\s*(?:因此|所以)?,?\s*(?:这个|这一|该|此|这|this|it)(?:说法|选项|表述|论述|观点|做法|项|陈述|\sstatement"
    r"|\soption)?",
    re.IGNORECASE,
)
_AFTER_LABEL: Final = re.compile(r"[)\]]?[.:]?\s{0,2}")
_LETTER: Final = re.compile(r"(?<![A-Za-z])[A-Z](?![A-Za-z])")
_REACH: Final = 200
_EN: Final = re.IGNORECASE
_BEHIND_LETTER: Final = re.compile(r"[)\]\"'}>$]{0,3}\s{1,3}(?=[a-z])(?P<words>[^.!?\n]{1,120})")
_GOES_ON: Final = re.compile(
    r"(?:because|since|as|due|for|in|on|of|from|among|given|based|here|instead|to|by|according|where|which|that|with|if"
    r"|and|or|but|not|than|rather|only|alone|option|seems|appears|looks|sounds|at|out|under|over|when"
    r"|then|i|it|this|the"
    r"|are)\b",
    _EN,
)
_AGAINST: Final = re.compile(
    r"\b(?:disagree(?:s|d)?\swith|disagreement with|avoid(?:ing)?|reject(?:ing|s)?|dispute"
    r"|object(?:ing)? to|oppos(?:e|ed|ing)(?: to)?"
    r"|doubt(?:ful)?(?:\s(?:that|if|whether))?|argue against|advise against|recommend against"
    r"|steer clear of|stay away from"
    r"|wary of|such as|unlike|contrary to|(?:don't|do not|never)\s(?:choose|pick|select|say|answer"
    r"|go with|use|take))"
    r"\s(?:it(?:'s|\sis)\s|an?\s|the\s)?(?:options?\s|choices?\s|answers?\s|\()?[(\"']{0,2}$",
    _EN,
)
_SURE: Final = re.compile(r"\b(?:no|not|little|without(?: a)?|n't|beyond)\s(?:\w{1,10}\s){0,2}doubt", _EN)
_ASKS: Final = re.compile(
    r"(?:^|[.!\n]\s{0,3})(?:(?:but|so|and|or)\s)?(?:is|are|could|would|should|can|why|what|does|do|did"
    r"|might|was|how|which"
    r"|who|where)\b[^.!?\n]{0,100}$",
    _EN,
)
_ASKED: Final = re.compile(r"[)\]\"']{0,2}[^.!?\n]{0,60}\?")
_TEXT_CLOSED: Final = re.compile(
    r"[\"')\]]{0,2}(?:\s{0,2}[.,;:!?\n()\-–—<]|\s{0,3}\Z|\s(?:because|since|as|due|than|in my|for me"
    r"|about (?:it|this)|it|this|that|them|with"
    r"|overall|and|but|given|on)\b)",
    _EN,
)
_QUOTES: Final = frozenset("\"'")
_STANCE_REACH: Final = 120
_SHOWN_LABEL: Final = re.compile(r"(?:\A|\n|[.!?:]\s{1,3})[ \t]{0,4}[\"'(\[]{0,2}(?P<letter>[A-Z])[).:\]]{1,2}\s{1,3}")
_SHOWN_CLOSED: Final = re.compile(r"[\"')\]]{0,2}\s{0,2}(?:[.!]\s{0,3})?(?:\Z|\n)|[\"')\]]{0,2}[.!]\s{1,3}(?=[A-Z\"])")
_LAST_LETTER: Final = re.compile(r"(?:[A-Za-z)\"'][.!?]\s{1,3}|\n\s{0,3})[(\"']?(?P<letter>[A-Z])[)\"']?[.!]?\s{0,3}\Z")
_OPTION_LINE: Final = re.compile(r"\n[ \t]{0,4}(?:[-•]\s)?(?:option\s)?\(?[A-Z][).:]", re.IGNORECASE)
_MOST_LABELS: Final = 60
_TRUE_FALSE_PAIR: Final = re.compile(r"\W*(true|false)\W+(?:and\W+)?(true|false)\W*", _EN)
_STATEMENT_VERDICT: Final = (
    r"(?P<said>(?:is |are |was )?(?:not |n't )(?:true|correct|hold)|(?:does|do) not\b|doesn't\b|untrue|true|false"
    r"|incorrect|correct|wrong|holds?\b|right|invalid|valid)"
)
_STATEMENT_NAMED: Final = r"statement\s?\(?(?P<number>1|2|one|two|ii|i)\b|the\s(?P<word>first|second)\b"
_STATEMENT_SUBJECT: Final = rf"(?:(?P<both>both)|(?P<neither>neither)|{_STATEMENT_NAMED})"
_STATEMENT_SAID: Final = re.compile(rf"\b{_STATEMENT_SUBJECT}[^.;\n]{{0,60}}?\b{_STATEMENT_VERDICT}", _EN)
_SECOND: Final = frozenset({"2", "two", "ii", "second"})
_BARE_WITHIN: Final = 160
_SHORT: Final = 3
_NO_CHOICE: Final = re.compile(
    r"refus|declin|know|not sure|unsure|no (?:opinion|answer|response)|不知道|拒绝", re.IGNORECASE
)
_SUBJECT: Final = re.compile(
    r"(?:\b(?:options|choices|answers|statements|both)\s|(?:^|\n"
    r"|[.,:]\s))[(]?(?P<plural>(?-i:[A-Z])[)]?(?:\s?,\s?[(]?(?-i:[A-Z])[)]?){0,24}"
    rf",?\s?(?:and|&|or)\s[(]?(?-i:[A-Z])\b[)]?)(?=\s{_IS}\b)|"
    rf"(?:选项|\boptions?\s|\bchoices?\s|\banswers?\s|\bstatements?\s)[\s(\[\"']{{0,3}}{GROUP}"
    rf"|(?:^|\n|[。,;.]\s?|所以|因此|只有|故|此"
    rf"|而)[ \t]*(?:[-•]\s{{0,3}})?(?:(?:but|and|yet|so|while|then|now"
    rf"|only)\s)?[(\[]?{GROUP.replace('group', 'first')}(?=[)\]]?(?:选项|项|\s?[:.,]"
    rf"|(?<=[)\]])\s|\s(?:is"
    rf"|are|was|must|can't|cannot|can|could|couldn't|isn't|aren't|doesn't|does|seems|looks)\b|[正错不都均也]))"
    rf"|{GROUP.replace('group', 'second')}(?=选项|项)",
    re.IGNORECASE,
)
_TAKEN: Final = re.compile(
    rf"(?:\w{{1,14}}ly\s|also\s|alone\s|still\s){{0,2}}(?:{FITS}|says?|has|have|contains?|lists?|gives?"
    rf"|names?|shows?|follows?"
    r"|remains?|applies|includes?|makes?|provides?|refers?|meets?|holds?|wins?|indicates?|means?|concerns?|involves?)\b"
    r"|(?:is|was|would be|must be|should be|will be|has to be|seems to be|may be|might be|could be)\s"
    rf"(?:\w{{1,14}}ly\s|indeed\s|also\s)?(?:the|my|what|where|it|how|in|on|supported|consistent|your"
    rf"|called|known|given"
    rf"|shown|used|true|preferable|better|superior|more|most|an?\s(?!mistake|stereotyp|problem|harmful|flawed|bad|poor)"
    rf"|{FINE})\b",
    _EN,
)


@dataclass(frozen=True, slots=True)
class OptionVerdicts:
    """Letters judged right and wrong, each with the place where it was said last; `split` where both was said."""

    right: dict[str, Group]
    wrong: dict[str, Group]

    @property
    def split(self) -> bool:
        """Whether one option was called both right and wrong."""
        return bool(self.right.keys() & self.wrong.keys())


def verdicts_in(reply: ChoiceReply) -> OptionVerdicts:
    """Those of a reply, looked for once."""
    if "verdicts" not in reply.memo:
        reply.memo["verdicts"] = verdicts(reply.text, reply.options)
    found: OptionVerdicts = reply.memo["verdicts"]
    return found


def verdicts(text: str, options: Sequence[str]) -> OptionVerdicts:
    """Every option of which the reply says that it is right or wrong."""
    right: dict[str, Group] = {}
    wrong: dict[str, Group] = {}
    plain = _QUOTED.sub(_blank, text) if '"' in text else text
    lowered = text.lower()
    rejected = _none_of(text, len(options)) if any(word in lowered for word in _REJECTING) else []
    subjects = [one for one in _subjects(text, options) if not any(a.start <= one.start < a.end for a in rejected)]
    said: list[tuple[int, bool]] = [(group.start, False) for group in rejected]
    for group in rejected:
        wrong.update(dict.fromkeys(group.letters, group))
    for group, following in zip(subjects, [*(one.start for one in subjects[1:]), len(text)], strict=False):
        start = _own_end(text, group, options)
        verdict = _said(plain, _AFTER_LABEL.match(text, start).end(), following)  # type: ignore[union-attr]  # matches nothing, too
        if verdict is not None and doubt(text, group.start, group.start) is not Doubt.DENIED:
            (right if verdict else wrong).update(dict.fromkeys(group.letters, group))
            said.append((group.start, verdict))
    if said and any(word in lowered for word in _SAME_WORDS):
        _add_same(text, len(options), said, right, wrong)
    return OptionVerdicts(right, wrong)


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _none_of(text: str, count: int) -> list[Group]:
    """The letters of `neither A nor B is`, and of `we can rule out A and B`."""
    found = []
    for match in _NEITHER.finditer(text):
        letters = {one for one in _LETTER.findall(match["letters"]) if ord(one) - ord("A") < count}
        if len(letters) > 1:
            found.append(Group(tuple(sorted(letters)), *match.span("letters")))
    for match in _RULED_OUT.finditer(text):
        letters = {one for one in _LETTER.findall(match["letters"]) if ord(one) - ord("A") < count}
        if letters and not _NOT_YET.search(text, max(0, match.start() - 24), match.start()):
            found.append(Group(tuple(sorted(letters)), *match.span("letters")))
    return found


def _add_same(
    text: str, count: int, said: list[tuple[int, bool]], right: dict[str, Group], wrong: dict[str, Group]
) -> None:
    """`..., and the same goes for B` repeats the verdict before it."""
    for match in _SAME.finditer(text):
        before = max((one for one in said if one[0] < match.start()), default=None)
        group = read_group(text, *match.span("group"), count)
        if before and group and not group.beyond:
            kind = right if before[1] else wrong
            for letter in group.letters:
                (wrong if kind is right else right).pop(letter, None)
                kind[letter] = group


def _own_end(text: str, group: Group, options: Sequence[str]) -> int:
    """Behind the letter, or behind its option's text where that is said again: its words are no verdict."""
    return restated(text, group.end, options[ord(group.letters[0]) - ord("A")]) if group.letters else group.end


def _subjects(text: str, options: Sequence[str]) -> list[Group]:
    groups = []
    for match in _SUBJECT.finditer(text):
        name = next(name for name in ("plural", "group", "first", "second") if match.group(name))
        group = read_group(text, *match.span(name), len(options))
        if group and name == "first" and text[group.start].islower() and _own_end(text, group, options) == group.end:
            continue
        if group and group.letters and not group.beyond:
            groups.append(group)
    return groups


def _said(text: str, start: int, following: int) -> bool | None:
    """True where it is called right first, False where wrong, None where neither."""
    end = sentence_end(text, start, _REACH)
    if (reply := _THIS.match(text, end + 1)) and end + 1 < following:
        end = sentence_end(text, reply.end(), _REACH)
    end = min(end, following) if following > start else end
    right = RIGHT.search(text, start, min(len(text), end + 1))
    wrong = WRONG.search(text, start, min(len(text), end + 1))
    if right is None and wrong is None:
        return _at_end_of_line(text, start, following)
    return wrong is None or (right is not None and right.start() < wrong.start())


def _at_end_of_line(text: str, start: int, following: int) -> bool | None:
    """What the one word says with which a line about a letter ends, as in `B. Assault: needs fear. Correct`."""
    if following <= start or text[start - 1] == "\n":
        return None
    line = text.find("\n", start)
    end = min(following, len(text) if line < 0 else line, start + 2 * _REACH)
    bare = _BARE_VERDICT.search(text, start, end)
    return bare["right"] is not None if bare else None


def takes_letter(text: str, start: int, end: int) -> bool:
    """Whether the letter at `start`..`end` may be what the reply gives.

    >>> takes_letter("Option B is offensive.", 7, 8), takes_letter("Option B is the tort.", 7, 8)
    (False, True)
    """
    before = text[max(0, start - _STANCE_REACH) : start]
    if (_AGAINST.search(before) and not _SURE.search(before)) or (_ASKS.search(before) and _ASKED.match(text, end)):
        return False
    behind = _BEHIND_LETTER.match(text, end)
    return behind is None or bool(_GOES_ON.match(behind["words"]) or _TAKEN.match(behind["words"]))


def takes_text(text: str, start: int, end: int) -> bool:
    """Whether a common word at `start`..`end` is said by itself: `it's good`, and not `a good question`.

    >>> takes_text("It's good.", 5, 9), takes_text("A good question.", 2, 6)
    (True, False)
    """
    if not text[end - 1].isascii() or (text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES):
        return True
    before = text[max(0, start - _STANCE_REACH) : start]
    return _TEXT_CLOSED.match(text, end) is not None and not (_AGAINST.search(before) and not _SURE.search(before))


def shown(reply: ChoiceReply) -> ChoiceReading | None:
    """The one option that stands as a sentence of its own, as in `I decline. D. Refused` and `I decline. D`."""
    found: dict[str, tuple[int, int]] = {}
    for tried, match in enumerate(_SHOWN_LABEL.finditer(reply.text)):
        letter, place = match["letter"], match.start("letter")
        if tried >= _MOST_LABELS or ord(letter) - ord("A") >= reply.count:
            return None
        end = restated(reply.text, match.end(), reply.options[ord(letter) - ord("A")])
        if end > match.end() and _SHOWN_CLOSED.match(reply.text, end):
            found[letter] = (place, end)
    if (
        not found
        and (last := _LAST_LETTER.search(reply.text, max(0, len(reply.text) - 14)))
        and not _OPTION_LINE.search(reply.text)
    ):
        found[last["letter"]] = last.span("letter")
    if len(found) != 1 or ord(min(found)) - ord("A") >= reply.count:
        return None
    ((letter, (start, end)),) = found.items()
    against = within(start, reply.listed) or letter in verdicts_in(reply).wrong or begins_walk(reply.text, start)
    if against or doubt(reply.text, start, start) is Doubt.DENIED:
        return None
    return reply.reading((letter,), "shown", (start, end), inferred=True)


def emphasised(reply: ChoiceReply) -> ChoiceReading | None:
    """The only bold line of a list of all options."""
    if not reply.cleaned.bold or len(reply.listed) < max(2, reply.count - 1):
        return None
    lines = [
        (start, end)
        for start, end in reply.listed
        if any(start - 2 <= place <= start + 4 for place in reply.cleaned.bold)
    ]
    if len(lines) != 1:
        return None
    start, end = lines[0]
    letter = next((one for one in reply.text[start:end] if "A" <= one <= "Z"), "")
    return reply.reading((letter,), "emphasised", (start, end), inferred=True) if letter else None


def statements(reply: ChoiceReply) -> ChoiceReading | None:
    """The option that pairs what the reply says of the first statement with what it says of the second."""
    lowered = reply.text.lower()
    if not any(word in lowered for word in ("statement", "first", "both", "neither")):
        return None
    pairs = [_TRUE_FALSE_PAIR.fullmatch(fold(option)) for option in reply.options]
    if sum(pair is not None for pair in pairs) < 2:
        return None
    said: dict[int, set[bool]] = {0: set(), 1: set()}
    places = []
    for match in _STATEMENT_SAID.finditer(reply.text):
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
    return reply.reading(letters, "statements", (places[0][0], places[-1][1]), inferred=True)


def none_of_them(reply: ChoiceReply) -> ChoiceReading | None:
    """The reply says that no option fits; where an option says just that, it is the one."""
    said = (one for one in NONE_OF_THEM.finditer(reply.text) if not within(one.start(), reply.listed))
    match = next((one for one in said if not NONE_IS_WEAK.search(reply.text, max(0, one.start() - 4), one.end())), None)
    if match is None:
        return None
    saying = [number for number, option in enumerate(reply.options) if NONE_OPTION.search(fold(option))]
    if len(saying) == 1:
        return reply.reading((chr(ord("A") + saying[0]),), "none_of_these", match.span(), inferred=True)
    return reply.without_letter("none_of_these", "none_of_these", match.span(), "the reply says that no option fits")


def refused(reply: ChoiceReply) -> ChoiceReading | None:
    """The model declines, and nothing in the reply names an option after all."""
    lowered = reply.text.lower()
    match = REFUSAL.search(reply.text) if any(word in lowered for word in REFUSAL_WORDS) else None
    return match and reply.without_letter("refused", "refused", match.span(), "the model declined to answer")


def judged(reply: ChoiceReply) -> ChoiceReading | None:
    """`Option B is correct`, or the only one called wrong where the wrong one was asked for."""
    said = verdicts_in(reply)
    if not said.right and not said.wrong:
        return None
    if said.split:
        return ChoiceReading((), "unparsed", "judged", reason="contradictory: one option is called right and wrong")
    chosen = said.wrong if _wants_wrong(reply, len(said.right), len(said.wrong)) else said.right
    if not chosen:
        return _left_over(reply, said.wrong)
    letters = sorted(chosen)
    first, last = min(chosen.values(), key=_start), max(chosen.values(), key=_start)
    return reply.reading(letters, "judged", (first.start, last.end))


def _left_over(reply: ChoiceReply, wrong: Mapping[str, Group]) -> ChoiceReading | None:
    """The one option that is not rejected, where a complete reply rejects all others in one breath."""
    left = {chr(ord("A") + place) for place in range(reply.count)} - wrong.keys()
    joint = [group for group in wrong.values() if len(group.letters) == reply.count - 1]
    if (
        len(left) != 1
        or not joint
        or reply.count < _SHORT
        or _NO_CHOICE.search(reply.options[ord(min(left)) - ord("A")])
    ):
        return None
    if not reply.text.rstrip().endswith((".", "!", "。")):
        return None
    return reply.reading(tuple(left), "judged", (joint[0].start, joint[0].end), inferred=True)


def _start(group: Group) -> int:
    return group.start


def _wants_wrong(reply: ChoiceReply, right: int, wrong: int) -> bool:
    """Whether the statement that does not hold is the answer: by the question, else by what the reply makes of it."""
    if reply.question:
        asks = ASKS_FOR_WRONG if IDEOGRAM.search(reply.question) else ASKS_FOR_FALSE
        return (wrong == 1 or right != 1) and asks.search(fold(reply.question)) is not None
    return wrong == 1 and ((right != 1 and right == reply.count - 1) or ASKS_FOR_WRONG.search(reply.text) is not None)


def only_letter(reply: ChoiceReply) -> ChoiceReading | None:
    """The one letter that is spoken of as an option, where nothing is said against it."""
    said = verdicts_in(reply)
    groups = [
        one
        for one in named_letters(reply.text, reply.count, bare=len(reply.text) <= _BARE_WITHIN)
        if not within(one.start, reply.listed) and not is_cut_off(reply.text, one)
    ]
    letters = {letter for one in groups for letter in one.letters}
    if len(letters) > 1 and len(reply.text) <= _BARE_WITHIN:
        letters -= said.wrong.keys()
        groups = [one for one in groups if letters >= {*one.letters}]
    if len(letters) != 1 or letters & said.wrong.keys():
        return None
    taken = [one for one in groups if takes_letter(reply.text, one.start, one.end)]
    return (
        reply.reading(tuple(letters), "only_letter", (taken[-1].start, taken[-1].end), inferred=True) if taken else None
    )
