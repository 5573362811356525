"""Replies that declare their answer: where they do, and which declaration holds.

The strongest kind counts. Of several of that kind the first counts where the reply opens with its answer (what
follows is explanation or a question nobody asked), else the last (what precedes is reasoning).

A reply may also begin with its answer (`B`, `(C) because ...`, `选项D。`): the article "A", the pronoun "I", a list of
the options and a letter that is called wrong at once are none.

An alternation of a hundred words costs about a microsecond a character, most of it in the middle of other words. So a
word or sign that can begin a pattern is looked up (`STARTS`), and the pattern is tried there alone. That is the same as
`finditer`, as long as the sets name every beginning (a test compares the two), and about four times as fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final

from steelyard.text.choice_letters import (
    EXCUSED,
    GROUP,
    LABEL,
    Doubt,
    Group,
    begins_text,
    doubt,
    in_range,
    read_group,
    sentence_end,
)
from steelyard.text.choice_patterns import (
    BETWEEN,
    BRACKETED_BE,
    CONCLUSION,
    CORRECTION,
    CORRECTION_WORDS,
    DENIED,
    FINE,
    FITS,
    NONE_IS_WEAK,
    NONE_OF_THEM,
    NONE_OPTION,
    NOUN,
    PLAIN,
    STRONG,
    WRONG,
)
from steelyard.text.choice_reply import ChoiceReading, ChoiceReply, follow_up, restated, within
from steelyard.text.choice_verdicts import verdicts_in
from steelyard.text.cleaned_reply import fold

_FINE_WORDS: Final = (
    "correct right best final closest nearest accurate likely appropriate suitable logical reasonable plausible "
    "relevant fitting preferred chosen selected proper true valid only better suited probable exact desired matching "
    "given overall most remaining surviving leftover"
)
_STRONG_STARTS: Final = frozenset((_FINE_WORDS + " my ans answer answers").split()) | frozenset("\\<\"'\n[【答正")
_ANNOUNCING: Final = (
    "but the if when were forced pressed pushed compelled gun everything anything nothing i we let you one it not "
    "change switch revise leaves leaving left all every each any none no neither choose select pick corresponds "
    "matches equivalent which same answer"
)
_CORRECTING: Final = (
    "no wait actually sorry correction rather oops scratch hold i upon on edit edited update updated erratum "
    "revised amended amendment"
)
_CONCLUDING: Final = (
    "therefore thus hence so consequently accordingly in overall finally is are was be would should must will may "
    "might could can has appears seems remains being since because as given"
)
_PLAIN_STARTS: Final = frozenset((_FINE_WORDS + " " + _ANNOUNCING).split()) | frozenset(
    "\n,。;!:不应更还只剩的属正错符故因所则宜综最本此可我答合恰"
)
_CORRECTED_STARTS: Final = frozenset(_CORRECTING.split()) | frozenset("更不等")
_CONCLUDED_STARTS: Final = frozenset(_CONCLUDING.split()) | frozenset("\n=→⇒-因所综故由总可得'")
STARTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "declared": _STRONG_STARTS,
        "announced": _PLAIN_STARTS,
        "corrected": _CORRECTED_STARTS,
        "concluded": _CONCLUDED_STARTS,
        "numbered": _STRONG_STARTS,
    }
)
"""Per kind of declaration: the words in lower case and the signs with which its pattern may begin."""

_ALL_STARTS: Final = frozenset().union(*STARTS.values())
_START_TOKEN: Final = re.compile(
    "[a-z]+|[" + re.escape("".join(sorted(one for one in _ALL_STARTS if not one.isalpha() or one > "z"))) + "]"
)
Token = tuple[str, int]
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
_EN_CASELESS: Final = re.IGNORECASE
_LEADING: Final = re.compile(
    r"[\s(\[{\"'<$|>\-:.,!?。、]{0,8}(?:(?:the |my )?(?:options?|choices?|answers?|letters?|选项|选择|选"
    r"|答)[\s:(\"'\[]{0,4})?" + GROUP,
    _EN_CASELESS,
)
_ANSWER_LABEL: Final = re.compile(r"\s*A\s?:\s+(?=[\[(\"']{0,2}[A-Z])")
_CLOSED: Final = re.compile(
    r"[ \t]{0,3}(?:[)\].:,。;!>}\"'|\\]|、|\n|$|<|[-–—]\s|\()|(?:选项|项)(?:[。.;!]|\n|$)"
    r"|[ \t]+(?:because|since|as|due to|is (?:the |my |most )+(?:correct|right|best|most|likely|answer))\b"
    r"|[ \t]*(?:因|根据|理由|解析|由于|首先)"
)
_NEXT_SENTENCE: Final = re.compile(
    r"[ \t]{1,3}(?:The|This|That|It|In|Because|Since|Based|According|As|For|Explanation|Reason)\b"
)
_MORE: Final = r"(?:,?\s?(?:and|or|和|及|与)?\s?\b[A-Z]\b){0,3}[)\]\"']{0,2}"
_JUDGED: Final = re.compile(
    rf"{_MORE}[.:\s]{{0,2}}(?:选项|项)?(?:的?说法|的?表述)?(?:是|为|也|均|都)?(?:正确|对的|符合|成立)"
    rf"|{_MORE}\s(?:is|are)\s(?:also\s|both\s)?(?:correct|right|true|accurate)\b(?!\s(?:answer|option|choice))"
    rf"|{_MORE}[.:]?\s?[-–—]?\s?(?:correct|right)\b",
    _EN_CASELESS,
)
_CALLED_WRONG: Final = re.compile(
    rf"{_MORE}(?:,[^,.\n]{{1,40}},)?\s(?:(?:is|are|was|were|would be|seems?)\s(?:(?:the|all|both|also|each"
    rf"|clearly|simply"
    rf"|therefore)\s){{0,2}}"
    r"(?:not\b|incorrect|wrong|false|untrue|inaccurate|invalid|unlikely|out\b|eliminated|excluded|ruled out"
    r"|unacceptable|inappropriate)|isn't|aren't"
    rf"|cannot|can't"
    r"|can be (?:eliminated|ruled))"
    rf"|{_MORE}[.:,]?\s?[-–—]?\s?(?:incorrect|wrong|false|not (?:correct|right|true|this|the))\b"
    rf"|{_MORE}[.:,\s]{{0,2}}(?:选项|项)?(?:的?说法|的?表述)?(?:是|均|都|也)?(?:不(?:正确|对|符合|选|是|合"
    rf"|成立|属于|能)|错|有误)",
    _EN_CASELESS,
)
_SAYS: Final = re.compile(
    r"[)\]]?\s(?:says|states|claims|describes|suggests|refers to|means|argues|asserts|proposes|implies)\b", _EN_CASELESS
)
_QUOTED: Final = re.compile(r"\"[^\"\n]{0,200}\"")
_DOUBTED: Final = re.compile(r"\s?\?\s+\S")
_CAPITAL: Final = re.compile(r"[ \t]{1,3}[A-Z0-9\"“$]")
_INITIALS: Final = re.compile(r"\.[ ]?[A-Z]\.")
_WHOLE: Final = re.compile(r"[\s).:\]}\"'<>。,;!$|]{0,12}(?:$|\n)")
_MOST_LINES: Final = 30
_LINE_LABEL: Final = re.compile(
    r"(?:\n\s{0,20}(?:[-•·]\s{0,3})?(?:选项|[Oo]ption\s)?|[。;.]\s{0,2}(?:选项|[Oo]ption\s))[(\[]?([A-Z])(?:选项"
    r"|项)?\s?[.:)、\],]"
    r"|[。\n]\s*([A-Z])(?:选项|项)"
)
_ORDINALS: Final = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_ORDINAL: Final = re.compile(
    rf"(?:(?P<whole>\A\W{{0,6}}(?:the\s)?)|\b(?:is|be|choose|select|pick|with|prefer|say)\s(?:the\s)?|(?:选|是"
    rf"|为)|(?P<subject>\bthe\s|(?=第)))"
    rf"(?:(?P<word>{'|'.join(_ORDINALS)})\s(?:answer\s)?(?:option|choice|answer|alternative|one)\b"
    rf"|第(?P<sign>[一二三四五六七八九十])(?:个|项)?(?:选项|项|个))"
    r"(?(whole)\W{0,4}\Z|(?(subject)\s{0,2}(?:(?:is|seems|would be|must be)\s(?:the\s)?(?:most\s)?(?:correct"
    r"|right|best|answer|true|most|accurate)"
    r"|(?:是|为|才是)?(?:正确|对的|符合|答案))|(?=\W|\Z)))",
    re.IGNORECASE,
)
_LABELS: Final = re.compile("[1-9①-⑨甲乙丙丁戊己]")
_MARKER: Final = re.compile(r"[\[【](?:正确|最终)?答案[\]】]\s{0,3}:?\s{0,3}(?=[^\sA-Za-z:])")
KINDS: Final = (
    (4, "declared", _DECLARED),
    (3, "corrected", _CORRECTED),
    (3, "announced", _ANNOUNCED),
    (3, "named_best", _NAMED_BEST),
    (2, "concluded", _CONCLUDED),
)


def tokens(text: str) -> list[Token]:
    """The words, in lower case, and signs with which any of the patterns may begin, each with its place."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become two
        lowered = "".join(one.lower()[:1] for one in text)
    return [(match[0], match.start()) for match in _START_TOKEN.finditer(lowered) if match[0] in _ALL_STARTS]


def matches(pattern: re.Pattern[str], kind: str, text: str, found: list[Token]) -> Iterator[re.Match[str]]:
    """What `pattern.finditer(text)` gives, for the patterns whose beginnings are known.

    Args:
        pattern: matches no empty text.
        kind: a key of `STARTS`; any other is searched for at every character.
        text: the page.
        found: its tokens.
    """
    starts = STARTS.get(kind)
    if starts is None:
        yield from pattern.finditer(text)
        return
    end = 0
    places = [place for token, place in found if token in starts]
    for place in places if places[:1] == [0] else [0, *places]:
        if place >= end and (match := pattern.match(text, place)):
            yield match
            end = match.end()


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
        if _is_undone(text, match, rule) or begins_text(text, start, options):
            continue
        number = ord(text[start]) - ord("A")
        if 0 <= number < len(options) and restated(text, start + 1, options[number]) > start + 1:
            end = start + 1  # of `C, I and II only` the C alone, where that is the text of C
        group = read_group(text, start, end, len(options))
        if group is None or _is_roman(text, group, options):
            continue
        left = doubt(text, match.start(), start)
        if left is not Doubt.DENIED:
            yield Declaration(rank, rule, group, match.start(), weak=left is Doubt.WEAK)


def _is_undone(text: str, match: re.Match[str], rule: str) -> bool:
    """Whether the words around a declaration deny it or take it back."""
    end = match.end("group")
    if _is_denied(text, match):
        return True
    if _TAKEN_BACK.match(text, end) and not _EXCEPTED.search(match.group("lead")):
        return True
    return rule == "concluded" and WRONG.search(text, end, sentence_end(text, end, 120)) is not None


def _is_roman(text: str, group: Group, options: Sequence[str]) -> bool:
    """Whether an I that is no option's letter is the figure one, as in the text of an option."""
    is_i = group.letters == () and text[group.start : group.end] == "I"
    return is_i and any(_ROMAN_ONE.search(option) for option in options)


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


def leading_letters(text: str, options: Sequence[str], listed: Sequence[tuple[int, int]]) -> Group | None:
    """The letters that the page begins with, or None.

    Args:
        text: the page.
        options: the texts of the options.
        listed: where labels of a restated list stand.
    """
    match = _LEADING.match(text)
    if match and (label := _ANSWER_LABEL.match(text)) and restated(text, label.end(), options[0]) == label.end():
        match = _LEADING.match(text, label.end())
    if not match:
        return None
    start, end = match.span("group")
    group = read_group(text, start, end, len(options))
    if group is None or not group.letters or begins_text(text, start, options) or in_range(text, group):
        return None
    if _in_list(text, group, listed) or _speaks_of(text, group, options):
        return None
    if text[start].islower():
        return group if _WHOLE.match(text, end) or _restates(text, group, options) else None
    if len(group.letters) > 1:
        return group if _CLOSED.match(text, end) else None
    return group if _is_closed(text, group, options) else None


def _speaks_of(text: str, group: Group, options: Sequence[str]) -> bool:
    """Whether the letter is only the subject of a verdict, which `choice_verdicts` weighs with the others."""
    option = options[ord(group.letters[0]) - ord("A")]
    if _SAYS.match(text, group.end) and WRONG.search(_plain(text[group.end : sentence_end(text, group.end, 240)])):
        return True
    end = restated(text, group.end, option)
    if end > group.end and _DOUBTED.match(text, end) and "?" not in option:
        return True
    if end > group.end:
        return bool(_CALLED_WRONG.match(text, end))
    return bool(_CALLED_WRONG.match(text, group.end) or _JUDGED.match(text, group.end))


def _plain(text: str) -> str:
    """`text` without what it quotes."""
    return _QUOTED.sub(" ", text)


def _is_closed(text: str, group: Group, options: Sequence[str]) -> bool:
    if _INITIALS.match(text, group.end):
        return False
    if _CLOSED.match(text, group.end) or _restates(text, group, options):
        return True
    lone = group.letters[0] in {"A", "I"} and text[group.start] in {"A", "I"}
    return bool((_NEXT_SENTENCE if lone else _CAPITAL).match(text, group.end))


def _restates(text: str, group: Group, options: Sequence[str]) -> bool:
    """Whether the text of that very option follows."""
    return restated(text, group.end, options[ord(group.letters[0]) - ord("A")]) > group.end


def _in_list(text: str, group: Group, listed: Sequence[tuple[int, int]]) -> bool:
    """Part of a restated list, whole or begun: `A. ...` with `B. ...` on a line of its own below."""
    if within(group.start, listed):
        return True
    lines = _LINE_LABEL.finditer(text, group.end, follow_up(text, group.end))
    others = [match.group(1) or match.group(2) for match in islice(lines, _MOST_LINES)]
    if len(group.letters) > 1 or not others:
        return False
    if group.letters == ("A",) and "B" in others:
        return "A" not in others[: others.index("B")]
    return (
        len(others) > 1
        and "\n\n" not in text[: group.end + 60]
        and sorted({*group.letters, *others})
        == [
            *group.letters,
            *others,
        ]
    )


def declared(reply: ChoiceReply) -> ChoiceReading | None:
    """`The answer is B`, `故选B`, a letter at the very beginning, and `none of them` in their place."""
    found = [one for one in declarations(reply.text, reply.options) if not within(one.group.start, reply.listed)]
    leading = leading_letters(reply.text, reply.options, reply.listed)
    if leading and not leading.beyond:
        found.insert(0, Declaration(4, "leading", leading, 0))
    if not found:
        return None
    end = follow_up(reply.text, found[0].group.end)
    one = holding([each for each in found if each.start < end], reply.text)
    if one is None or (one.weak and verdicts_in(reply).right.keys() - {*one.group.letters}):
        return None
    if (instead := _marked_otherwise(reply, one, end)) or (instead := _none_at_last(reply, one, end)):
        return instead
    place = (one.group.start, one.group.end)
    if one.group.beyond:
        return reply.without_letter(
            "unparsed", one.rule, place, "the reply names an option that the question does not have"
        )
    return reply.reading(one.group.letters, one.rule, place)


def _opens(one: Declaration) -> bool:
    return one.rank == 4 and opens_with(one.start)


def _marked_otherwise(reply: ChoiceReply, one: Declaration, end: int) -> ChoiceReading | None:
    """An answer marker (`【答案】`) behind the declaration, with no letter in it."""
    markers = [match for match in _MARKER.finditer(reply.text, 0, end) if match.start() > one.group.end]
    if not markers or _opens(one):
        return None
    start = markers[-1].end()
    stop = start + len(reply.text[start:end].split("\n", 1)[0])
    if NONE_OF_THEM.search(reply.text, start, stop):
        return reply.without_letter("none_of_these", "declared", (start, stop), "the reply says that no option fits")
    return reply.without_letter("unparsed", "declared", (start, stop), "the answer marker is followed by no option")


def _none_at_last(reply: ChoiceReply, one: Declaration, end: int) -> ChoiceReading | None:
    """`Therefore, none of the options is correct`, said after a letter was named."""
    if one.rule == "leading" or any(NONE_OPTION.search(option) for option in reply.options):
        return None
    for match in NONE_OF_THEM.finditer(reply.text, one.group.end, end):
        before = reply.text[max(0, match.start() - 30) : match.start()]
        if CONCLUSION.search(before + " ") and not NONE_IS_WEAK.search(
            reply.text, max(0, match.start() - 4), match.end()
        ):
            place = match.span()
            return reply.without_letter("none_of_these", "none_of_these", place, "the reply says that no option fits")
    return None


def by_number(reply: ChoiceReply) -> ChoiceReading | None:
    """An option named by number, where numbers mean nothing else in this question."""
    whole = reply.question + "".join(reply.options)
    if (match := _by_place(reply.text)) and not DENIED.search(reply.text, max(0, match.start() - 24), match.start()):
        return _by_ordinal(reply, match)
    if not _LABELS.search(reply.text):
        return None
    found = [one for one in numbered(reply.text, reply.options) if not one.group.beyond]
    if not found:
        bare = re.fullmatch(r"[\s(（]*([1-9①-⑨甲乙丙丁])[\s).。、]*", reply.text)
        if bare:
            return _as_number(reply, whole, bare.group(1), bare.span(1))
        return None
    end = follow_up(reply.text, found[0].group.end)
    one = holding([each for each in found if each.start < end], reply.text)
    if one is None:
        return None
    return _as_number(reply, whole, reply.text[one.group.start], (one.group.start, one.group.end))


def _by_place(text: str) -> re.Match[str] | None:
    lowered = text.lower()
    return _ORDINAL.search(text) if "第" in text or any(word in lowered for word in _ORDINALS) else None


def _by_ordinal(reply: ChoiceReply, match: re.Match[str]) -> ChoiceReading | None:
    word, sign = match["word"], match["sign"]
    number = _ORDINALS.index(word.lower()) if word else "一二三四五六七八九十".index(sign)
    if number >= reply.count or any((word or sign) in fold(option).lower() for option in reply.options):
        return None
    return reply.reading((chr(ord("A") + number),), "numbered", match.span("word" if word else "sign"), inferred=True)


def _as_number(reply: ChoiceReply, whole: str, label: str, place: tuple[int, int]) -> ChoiceReading | None:
    for row in ("123456789", "①②③④⑤⑥⑦⑧⑨", "甲乙丙丁"):
        number = row.find(label)
        if 0 <= number < reply.count:
            if any(mark in whole for mark in row):
                return None
            return reply.reading((chr(ord("A") + number),), "numbered", place, inferred=True)
    return None
