"""Reads which of two candidates a judge prefers, or that it calls them equal.

Every mention of one of the two, and every word for a tie, is a candidate; the words before and after it show
how plainly it is given. Marks, declared winners and lines that hold nothing else count first, the last of them; then
whole sentences, if they agree. A sentence about one aspect decides nothing while another speaks for the other side, and
what cannot be read is never a tie.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from steelyard.replies.clean import fold
from steelyard.replies.evidence import Candidate, Strength, phrases
from steelyard.replies.grammar import FLAGS, any_of, pattern, source, words
from steelyard.replies.jsonlike import plain_key
from steelyard.replies.judge_reply import JudgeReply, Verdict, VerdictForm, at_both_ends, decide_last, open_judge_reply

_VALUES: Final = {"A": 1.0, "tie": 0.5, "B": 0.0}
_LABELS: Final = {"a": "A", "b": "B", "t": "tie"}
_WIDEST_JOIN: Final = 24
_OTHER: Final = {"A": "B", "B": "A", "tie": "tie"}
_TIERS: Final = tuple(
    tuple(map(plain_key, words(name))) for name in ("winner_final_key", "winner_key", "winner_other_key")
)
_MOST_MENTIONS: Final = 15
"""Limit of mentions that are examined at either end of a reply: it bounds the time."""
_REACH, _COPIED_WITHIN = 120, 40
_SENTENCE: Final = 160
_ENDS: Final = " \n.!*_`)\"'\\]}"
_SOON: Final = 20
"""In a reply that was cut off, a sentence counts only where it begins so early that it is the verdict."""
NOUN: Final = any_of(words("side_noun"))
"""What the two are: an answer, an assistant."""
_FIRST_LETTERS: Final = "".join(sorted({noun[0] for noun in words("side_noun")}))
_ORDINALS: Final = (("1", "one", "first", "一"), ("2", "two", "second", "二"))
_TIE_WORDS: Final = source("preference", "tie")
_OF: Final = partial(source, "preference")
_WRAP: Final = r"[\s\"'(\[{<$]{0,6}(?:(?:for|from|by|with) )?(?:the )?(?:\w{2,14}ly )?\Z"
"""Text that may be between a lead and the name."""
_SEPARATOR: Final = (
    r"(?:[\"'\])】}]{0,3}\s{0,3}(?::|=|-{1,2}>?|[–—→]|>|】|\]|\|)\s{0,3}|\s{1,3}(?:is|was|would be|must be|should be"
    r"|goes to|(?:must|should|has to) go to|has to be|remains)(?:\s{0,2}:|\.{2,3}|…)?\s{1,3}"
    r"|\s(?:is )?(?:given|provided|written|offered) by\s|(?:应该|应当|应|就)?[是为:]{1,2}\s{0,3}"
    r"|[ \t]{0,6}\n\s{0,6})"
)
_BOUND: Final = re.compile(
    r"(?!\s?更好写)['\"’]?\s{0,3}(?:[.,;:!?。、)(\]}\"\n>—–=|$]|-\s|\Z|(?:is|here|overall|in|on|although|though|but"
    r"|if|was|because|since|as|wins|over|for|due|with|by)\b|[一-鿿])",
    FLAGS,
)
_OWN: Final = rf"['\"\])]{{0,2}}(?:'?s?\s(?:\w{{1,12}}\s)?{NOUN})?"
_BRACKET: Final = r"(?:(?<!写)(?<!写\s)\[\[|【|\\(?:boxed|fbox)\s{0,2}\{{1,2}"
_MARK: Final = re.compile(
    rf"{_BRACKET}|<(?:final_)?(?:winner|verdict|answer|choice|preference|decision|result)>|\[RESULT\]:?)\s{{0,6}}\Z",
    FLAGS,
)
_MARK_ENDS: Final = re.compile(rf"\s{{0,6}}(?:\]\]?(?!{_OF('instruction')})|\}}|】|<|\n|\Z|[.。])", FLAGS)
_LETTER_MARK: Final = re.compile(
    rf"{_BRACKET}|<(?:final_)?(?:winner|verdict|answer|choice)>)\s{{0,6}}(?P<letter>[A-Ca-c])\s{{0,6}}(?:\]\]|\}}|】|</)"
)
_NUMBER: Final = re.compile(
    r"\A[\s\"'(\[]{0,4}(?P<alone>[12])[\"')\].]{0,3}\s{0,4}(?:\Z|\n[\s#]{0,6}(?:reason|explanation|rationale|理由|原因))"
    r"|\b(?:verdict|winner|preference|pick|(?:preferred|better|best)(?:\s(?:response|answer|one|output|summary))?"
    r"|胜者|获胜者|更好的(?:回答|一个))\s{0,2}(?::|=|is|是|为)\s{0,3}[\"'(\[]{0,2}"
    r"(?P<number>[12])(?![\w.:/)]|\s?(?:and|or|/|\d))",
    FLAGS,
)
"""Numbers for the two, where no number of a list can be meant."""
_LABELLED: Final = re.compile(rf"{_OF('label')}{_SEPARATOR}{_WRAP}", FLAGS)
_LAST: Final = re.compile(rf"(?:(?<=\w\w)[.!?;][ \t]{{1,3}}|。){_WRAP}", FLAGS)
_TEXT_ENDS: Final = re.compile(r"[.!。)\]\"'\s]{0,6}\Z")
_LINE_BEGINS: Final = re.compile(
    r"^[\s>(\[{\"'.|_~-]{0,12}(?:the )?(?:(?:\w{2,14}ly|without (?:a |any )?doubt),? )?\Z", FLAGS
)
_LINE_ENDS: Final = re.compile(r"[\s.!。)\]}\"'|;,_~-]{0,12}(?P<colon>:?)$", FLAGS)
_OPENS: Final = re.compile(r"\A[\s(\[{\"'<$|>.-]{0,10}\Z")
_OPENING_ENDS: Final = re.compile(r"['\"\])]{0,2}\s{0,2}(?:[.,;:!。\n(—–]|-\s|because\b|since\b|\Z)", FLAGS)
_OR: Final = r"[\s\"'\])]{0,4}(?:/|\||&|,?\s?\b(?:or|and|vs\.?)\b|或者?|和|与|跟|同|还是|、)+[\s\"'(\[]{0,4}"
_OFFERED: Final = re.compile(rf"[\s\"'\],、]*|{_OR}", FLAGS)
_JOIN: Final = re.compile(rf"{_OR}(?:\w{{1,12}}\s?[:=]\s{{0,2}})?[\[(]{{0,2}}\Z", FLAGS)
"""Between two mentions: neither of them is given alone."""
_LISTED: Final = re.compile(
    r"[\s\"'\])]{0,4}(?:,?\s?\bor\b|或|/|[,、]?\s?(?=\[\[))[\s\"'(\[]{0,4}(?:\w{1,12}\s?[:=]\s{0,2})?\Z", FLAGS
)
"""Between one of the two and a tie, or between marks: those to choose from are listed."""
_SIGN: Final = re.compile(r"\s?(?:(?P<first>>{1,2})|(?P<second><{1,2})|={1,2}|≈)\s?\Z")
"""Between two mentions: `A > B`."""
_BEATS: Final = re.compile(
    rf"{_OWN}\s(?:{_OF('beats')}(?!{_OF('aspect')})|(?P<loses>{_OF('loses')}(?!{_OF('aspect')})))"
    rf"|{_OF('zh_fill')}(?:{_OF('beats_zh')}|(?P<loses_zh>{_OF('loses_zh')}))",
    FLAGS,
)
_CONDITION_BEHIND: Final = re.compile(r"\?|\s(?:if|unless|provided that|depending)\b", re.IGNORECASE)
_PREFERS: Final = re.compile(rf"{_OF('prefers')}{_WRAP}", FLAGS)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s|[。\n;]")


class _Mention(NamedTuple):
    """One of the two, a tie, or `A > B`, where the reply names it."""

    label: str
    start: int
    end: int
    joined: bool = False
    """Whether the other one is next to it, as in `A or B`."""


def read_preference(text: str, *, finish: str = "stop", names: tuple[str, str] = ("A", "B")) -> Verdict:
    """Read which of two the judge prefers: label `A` (value 1), `B` (value 0) or `tie` (value 0.5).

    The value is the share of the win that falls to the first.

    Args:
        text: any text.
        finish: why the model stopped; "length" tells a reply that was cut off from one without a verdict.
        names: how the prompt called the first and the second; names that differ in case only are told by their case.

    Raises:
        ValueError: the names are blank, or do not differ.

    >>> read_preference("[[A]] seems right. On reflection: [[B]]").label
    'B'
    >>> read_preference("Both answers are equally good.").label
    'tie'
    >>> read_preference("A is clearer, B is more accurate.").outcome
    'unparsed'
    >>> read_preference("Summary #2 is better.", names=("Summary #1", "Summary #2")).label
    'B'
    """
    called = pair_names(names)
    reply = open_judge_reply(text, finish)
    mentions = _mentions(reply.text, called)
    formal = [
        *_in_objects(reply, names),
        *_letter_marks(reply.text, called),
        *filter(None, (_formal(reply, mentions, mention) for mention in mentions)),
    ]
    best = decide_last(formal, reply.text)
    if best is not None and best.strength == Strength.DECLARED and _closes(reply, best):
        return _verdict(reply, best)
    stated = list(_stated(reply.text, mentions))
    formal += [candidate for candidate in stated if candidate.strength > Strength.CONCLUDED]
    if formal:
        return _verdict(reply, decide_last(formal, reply.text) or formal[-1])
    if not stated or (reply.finish == "length" and stated[0].start >= _SOON):
        return reply.nothing()
    return _verdict(reply, stated[-1]) if len({sentence.value for sentence in stated}) == 1 else reply.ambiguous()


def _closes(reply: JudgeReply, best: Candidate) -> bool:
    """Whether a declared verdict ends the reply, so that no sentence behind it need be looked for."""
    return not reply.reply[reply.span(*(best.whole or (best.start, best.end)))[1] :].strip(_ENDS)


def _mentions(text: str, called: PairNames) -> list[_Mention]:
    """Where the two and ties are named, with `A > B` as one mention."""
    matches = at_both_ends(called.mentions, text, _MOST_MENTIONS)
    mentions = [_Mention(_LABELS[str(match.lastgroup)[0]], *match.span()) for match in matches]
    for index, (first, second) in reversed(list(enumerate(pairwise(mentions)))):
        between = text[first.end : second.start]
        if first.label == second.label or len(between) > _WIDEST_JOIN:
            continue
        no_tie = "tie" not in {first.label, second.label}
        listed = _LISTED.match(between) or (between.strip() == "," and mentions[index + 1].joined)
        if no_tie and (sign := _SIGN.match(between)):
            winner = first.label if sign["first"] else second.label if sign["second"] else "tie"
            mentions[index : index + 2] = [_Mention(winner, first.start, second.end)]
        elif listed or (no_tie and (not between.strip(" ") or _JOIN.match(between))):
            mentions[index] = first._replace(joined=True)
            mentions[index + 1] = mentions[index + 1]._replace(joined=True)
    return mentions


def _in_objects(reply: JudgeReply, names: tuple[str, str]) -> Iterator[Candidate]:
    """The winners that JSON objects name; of ranked models the one on the first place."""
    read = partial(_said_by, names=names)
    lists = [item for json_object in reply.objects for _, item in json_object.items if item.kind == "list"]
    members = [item for json_list in lists for _, item in json_list.items if item.kind == "object"]
    ranked = [each for each in (*reply.objects, *members) if {"model", "rank"} <= each.keyed().keys()]
    if ranked:
        first = [json_object for json_object in ranked if json_object.keyed()["rank"] == 1]
        if len(first) > 1:
            start, end = first[0].start - reply.page.offset, first[-1].end - reply.page.offset
            return iter([Candidate("tie", start, end, Strength.DECLARED, "json")])
        return replace(reply, objects=tuple(first)).in_objects((("model",),), read)
    return reply.in_objects(_TIERS, read)


def _said_by(key: str, value: Any, *, names: tuple[str, str]) -> str:
    """The label of a value under a key in JSON; "" where it names neither."""
    is_winner_key = any(key in tier for tier in _TIERS) or key.endswith("winner")
    if isinstance(value, int) and not isinstance(value, bool):
        return {1: "A", 2: "B", 0: "tie"}.get(value, "") if is_winner_key else ""
    if not isinstance(value, str):
        return ""
    called, plain = pair_names(names), fold(value).strip(" \"'[](.!。)")
    mentions = _mentions(plain, called)
    if mentions and not (plain[: mentions[0].start] + plain[mentions[-1].end :]).strip() and len(mentions) == 1:
        return mentions[0].label
    if len(plain) == 1 and called.plain:
        return {"a": "A", "b": "B", "c": "tie", "1": "A", "2": "B"}.get(plain.lower(), "")
    return read_preference(value, names=names).label if is_winner_key and "{" not in value else ""


def _letter_marks(text: str, called: PairNames) -> Iterator[Candidate]:
    """Letters in marks, whatever the two are called, and numbers for the two."""
    marks = list(islice(_LETTER_MARK.finditer(text), 2 * _MOST_MENTIONS))
    single = len({match["letter"].upper() for match in marks}) == 1
    offered = {
        match.start()
        for pair in pairwise(marks)
        if _OFFERED.fullmatch(text, pair[0].end(), pair[1].start())
        for match in pair
    }
    for match in marks:
        copied = match.start() in offered or pattern("preference", "instruction").match(text, match.end())
        if not _is_own(text, match, match.end()):
            continue
        if (label := called.letters.get(match["letter"].upper())) and (single or not copied):
            yield Candidate(label, *match.span("letter"), Strength.DECLARED, "marked", match.span())
    for match in _NUMBER.finditer(text) if called.plain else ():
        group = "alone" if match["alone"] else "number"
        yield Candidate("AB"[int(match[group]) - 1], *match.span(group), Strength.DECLARED, "labelled", match.span())


def _formal(reply: JudgeReply, mentions: Sequence[_Mention], mention: _Mention) -> Candidate | None:
    """The mention as a declared winner or the opening of the reply; None where it may be part of a sentence."""
    if mention.joined:
        return None
    text = reply.text
    broken_off = reply.finish == "length" and mention.end == len(text)
    for form in _FORMS:
        candidate = form.candidate(text, mention.start, mention.end, mention.label)
        if candidate is None or (broken_off and form.name == "concluded"):
            continue
        if form.name == "line" and not _is_alone(reply, mentions, mention):
            continue
        if form.name != "opening" or not _goes_through_both(text, mentions, mention):
            return candidate
    return None


def _is_own(text: str, lead: re.Match[str], _: int) -> bool:
    """Whether a mark is not an example of how a verdict looks."""
    return pattern("judge", "copied").search(text, max(0, lead.start() - _COPIED_WITHIN), lead.start()) is None


def _is_sure(text: str, lead: re.Match[str], _: int) -> bool:
    return pattern("preference", "condition").search(_sentence(text, lead.start())) is None


_FORMS: Final = (
    VerdictForm("marked", Strength.DECLARED, _MARK, _MARK_ENDS, _is_own, reach=24),
    VerdictForm("line", Strength.DECLARED, _LINE_BEGINS, _LINE_ENDS, reach=40),
    VerdictForm("labelled", Strength.DECLARED, _LABELLED, _BOUND, _is_sure),
    VerdictForm("concluded", Strength.DECLARED, _LAST, _TEXT_ENDS),
    VerdictForm("opening", Strength.ANNOUNCED, _OPENS, _OPENING_ENDS),
)


def _is_alone(reply: JudgeReply, mentions: Sequence[_Mention], mention: _Mention) -> bool:
    """Whether a mention that is alone in its line is the first or the last line of the reply, and no heading."""
    text = reply.text
    ends = _LINE_ENDS.match(text, mention.end)
    other_alone = any(other.label != mention.label and _has_line(text, other) for other in mentions)
    if ends and not text[ends.end() :].strip() and reply.finish != "length":
        return not other_alone or _besides(text, mentions)
    begins_text = not text[: text.rfind("\n", 0, mention.start) + 1].strip()
    return begins_text and not other_alone and ends is not None and not ends["colon"]


def _has_line(text: str, mention: _Mention) -> bool:
    lead = _LINE_BEGINS.search(text, max(0, mention.start - 40), mention.start)
    return lead is not None and _LINE_ENDS.match(text, mention.end) is not None


def _besides(text: str, mentions: Sequence[_Mention]) -> bool:
    """Whether the reply holds words besides these mentions."""
    for mention in sorted(mentions, key=lambda mention: mention.start, reverse=True):
        text = text[: mention.start] + text[mention.end :]
    return re.search(r"[^\W\d_]", text) is not None


def _goes_through_both(text: str, mentions: Sequence[_Mention], mention: _Mention) -> bool:
    r"""Whether a reply that opens with one of the two comes to the other in the same way: `A: short\nB: long`."""
    colon = _colon_behind(text, mention.end)
    if not _besides(text, mentions):
        return len({other.label for other in mentions}) > 1
    for other in mentions:
        if other.label == _OTHER[mention.label] != mention.label and _OPENING_ENDS.match(text, other.end):
            begins_line = not text[text.rfind("\n", 0, other.start) + 1 : other.start].strip(" \t([{\"'<$|>.-")
            if begins_line or (colon and _colon_behind(text, other.end)):
                return True
    return False


def _colon_behind(text: str, end: int) -> bool:
    return text[end : end + 4].lstrip(" '\"])").startswith(":")


def _stated(text: str, mentions: Sequence[_Mention]) -> Iterator[Candidate]:
    """Sentences that call one better, or both equal; one that concludes is as good as a declaration."""
    statements = [("tie", *match.span()) for match in islice(phrases("preference", "tied", text), _MOST_MENTIONS)]
    statements += [
        statement for mention in mentions if mention.label != "tie" and (statement := _said_better(text, mention))
    ]
    for label, start, end in statements:
        before = _sentence(text, start)
        if not _CONDITION_BEHIND.match(text, end) and not pattern("preference", "condition").search(before):
            concludes = pattern("preference", "concluding").search(before + text[start:end])
            strength = Strength.DECLARED if concludes else Strength.CONCLUDED
            yield Candidate(label, start, end, strength, "sentence")


def _said_better(text: str, mention: _Mention) -> tuple[str, int, int] | None:
    """Which of the two a sentence about one of them calls better, and where it does; None where it calls none."""
    label, start, end, joined = mention
    if text[max(0, start - 2) : start].rstrip().endswith("比"):
        return None
    if match := _BEATS.match(text, end):
        return _OTHER[label] if match["loses"] or match["loses_zh"] else label, start, match.end()
    lead = None if joined or not _BOUND.match(text, end) else _PREFERS.search(text, max(0, start - _REACH), start)
    return (label, lead.start(), end) if lead else None


def _verdict(reply: JudgeReply, candidate: Candidate) -> Verdict:
    value = _VALUES.get(candidate.value)
    return reply.ambiguous(candidate) if value is None else reply.scored(candidate, value)


def _sentence(text: str, start: int) -> str:
    """The part of the sentence in front of `start`."""
    return _SENTENCE_END.split(text[max(0, start - _SENTENCE) : start])[-1]


# How the two are called.


class PairNames(NamedTuple):
    """Patterns for one pair of names.

    Args:
        mentions: finds each of the two and each word for a tie; the group that took part begins with `a`, `b` or `t`.
        letters: the labels that a letter alone in a mark stands for; a letter that is a name's own stays that name's.
        plain: whether the two are called A and B, so that numbers may stand for them.
    """

    mentions: re.Pattern[str]
    letters: dict[str, str]
    plain: bool


@lru_cache(maxsize=32)
def pair_names(names: tuple[str, str]) -> PairNames:
    """The patterns for replies about `names`.

    Raises:
        ValueError: the names are blank, or do not differ.
    """
    first, second = (" ".join(fold(name).split()) for name in names)
    if not first or not second or first == second:
        raise ValueError(f"two different names are needed, not {names[0]!r} and {names[1]!r}")
    tails = _tail(first, second), _tail(second, first)
    upper_tails = {tail.upper() for tail in tails}
    plain = [tail.upper() for tail in tails] == ["A", "B"]
    letters = {"A": "A", "B": "B"} if plain or not upper_tails & {"A", "B"} else {}
    if "C" not in upper_tails:
        letters["C"] = "tie"
    third = r"|(?-i:(?<![A-Za-z0-9'])C(?=[\s.\])}\"']|\Z))" if plain and len(first) == 1 else ""
    cased = first.casefold() == second.casefold()
    sides = [_side(name, tail, cased=cased) for name, tail in zip((first, second), tails, strict=True)]
    behind = [_behind_noun(tail, index, cased=cased) for index, tail in enumerate(tails)]
    ordinal = [_ordinal(tail, index) for index, tail in enumerate(tails)]
    mentions = re.compile(
        rf"(?P<tie>{_TIE_WORDS}{third})|(?<![A-Za-z])(?=[{_FIRST_LETTERS}]){NOUN}(?:(?P<a_noun>{behind[0]})|(?P<b_noun>{behind[1]}))"
        rf"|(?P<a_first>{ordinal[0]})|(?P<b_second>{ordinal[1]})|(?P<a>{sides[0]})|(?P<b>{sides[1]})",
        re.IGNORECASE,
    )
    return PairNames(mentions, letters, plain and len(first) == 1)


def _side(name: str, tail: str, *, cased: bool) -> str:
    """One of the two, named in full or by what tells it from the other."""
    full_name = _whole(name, cased=cased)
    if not (len(tail) == 1 and tail.isascii() and tail.isalpha()):
        return f"{full_name}|{_whole(tail, cased=False)}"
    letter = tail if cased else tail.upper()
    small = "" if cased else rf"|(?-i:(?<![A-Za-z0-9])\({letter.lower()}\))"
    return rf"{full_name}|(?-i:(?<![A-Za-z0-9'’]){letter}(?![A-Za-z0-9])){small}"


def _behind_noun(tail: str, index: int, *, cased: bool) -> str:
    """What follows `answer` or `assistant`: `A`, `#1`, `one`."""
    forms = []
    if len(tail) == 1 and tail.isascii():
        sign = rf"(?-i:{re.escape(tail)})" if cased else re.escape(tail)
        forms.append(rf"\s{{0,3}}[_#(\[\"'-]?\s?{sign}(?![A-Za-z0-9])[)\"]?")
    if _is_counted(tail, index):
        number, word, _, zh = _ORDINALS[index]
        forms.append(rf"\s{{0,3}}[_#(]?\s?(?:{number}|{word}\b)(?!\d)\)?|{zh}(?!个|些|样|方面|点|般|定|致|起)")
    return any_of(forms)


def _ordinal(tail: str, index: int) -> str:
    if not _is_counted(tail, index):
        return "(?!)"
    number, _, ordinal, zh = _ORDINALS[index]
    return rf"\b(?:{ordinal}|{number}(?:st|nd))\s(?:{NOUN}|one)\b|第{zh}[个篇条份种]?{NOUN}?"


def _is_counted(tail: str, index: int) -> bool:
    return tail.upper() == "AB"[index] or tail == "12"[index]


def _whole(name: str, *, cased: bool) -> str:
    """`name` as a whole word, with any blanks."""
    body = r"\s{1,4}".join(re.escape(part) for part in name.split())
    before = r"(?<![A-Za-z0-9])" if name[0].isascii() else ""
    after = r"(?![A-Za-z0-9])" if name[-1].isascii() else ""
    return rf"(?-i:{before}{body}{after})" if cased or len(name) == 1 else f"{before}{body}{after}"


def _tail(name: str, other: str) -> str:
    """What tells `name` from `other`: it without the beginning that both share, from the last word border on."""
    shared = next(
        (index for index, (left, right) in enumerate(zip(name, other, strict=False)) if left != right),
        min(len(name), len(other)),
    )
    on_border = shared > 0 and (not name[shared - 1].isalnum() or not name.isascii())
    tail = name[shared:] if on_border else name[name[:shared].rfind(" ") + 1 :]
    return tail.strip() or name
