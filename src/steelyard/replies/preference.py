"""Reads which of two a judge prefers, or that it calls them equal.

Every mention of one of the two, and every word for a tie, is a candidate; what stands in front of it and behind it says
how plainly it is given. Marks, declared winners and lines that hold nothing else count first, the last of them; then
whole sentences, if they agree. A sentence about one aspect decides nothing while another speaks for the other side, and
what cannot be read is never a tie.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from steelyard.replies.clean import fold
from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import FLAGS, expanded, pattern, source, words
from steelyard.replies.jsonlike import plain_key
from steelyard.replies.judge_reply import JudgeReply, VerdictForm, open_judge_reply
from steelyard.replies.pair_names import NOUN, PairNames, pair_names
from steelyard.replies.verdict import Verdict

_VALUES: Final = {"A": 1.0, "tie": 0.5, "B": 0.0}
_LABELS: Final = {"a": "A", "b": "B", "t": "tie"}
_WIDEST_JOIN: Final = 24
_OTHER: Final = {"A": "B", "B": "A", "tie": "tie"}
_TIERS: Final = tuple(
    tuple(map(plain_key, words(name))) for name in ("winner_final_key", "winner_key", "winner_other_key")
)
_MOST_MENTIONS: Final = 20
"""Mentions of a reply that are looked at, so many from its beginning and from its end: bounds the time."""
_REACH: Final = 120
_SENTENCE: Final = 160
_ENDS: Final = " \n.!*_`)\"'\\]}"
_SOON: Final = 20
"""In a reply that was cut off, a sentence counts only where it begins so early that it is the verdict."""
_OF: Final = partial(source, "preference")
_WRAP: Final = r"[\s\"'(\[{<$]{0,6}(?:(?:for|from|by|with) )?(?:the )?(?:\w{2,14}ly )?\Z"
"""What may stand between a lead and the name."""
_SEPARATOR: Final = (
    r"(?:[\"'\])】}]{0,3}\s{0,3}(?::|=|-{1,2}>?|[–—→]|>|】|\]|\|)\s{0,3}|\s{1,3}(?:is|was|would be|must be|should be"
    r"|goes to|(?:must|should|has to) go to|has to be|remains)(?:\s{0,2}:|\.{2,3}|…)?\s{1,3}"
    r"|\s(?:is )?(?:given|provided|written|offered) by\s|(?:应该|应当|应|就)?[是为:]{1,2}\s{0,3}"
    r"|[ \t]{0,6}\n\s{0,6})"
)
_BOUND: Final = re.compile(
    r"['\"’]?\s{0,3}(?:[.,;:!?。、)(\]}\"\n>—–=|$]|-\s|\Z|(?:is|here|overall|in|on|although|though|but|if|was|because"
    r"|since|as|wins|over|for|due|with|by)\b|[一-鿿])",
    FLAGS,
)
_OWN: Final = rf"['\"\])]{{0,2}}(?:'?s?\s(?:\w{{1,12}}\s)?{NOUN})?"
_MARK: Final = re.compile(
    r"(?:\[\[|【|\\(?:boxed|fbox)\s{0,2}\{\s{0,8}\{?|<(?:winner|verdict|answer|choice|preference|decision|result)>"
    r"|\[RESULT\]:?)\s{0,6}\Z",
    FLAGS,
)
_MARK_ENDS: Final = re.compile(rf"\s{{0,6}}(?:\]\]?(?!{_OF('instruction')})|\}}|】|<|\n|\Z|[.。])", FLAGS)
_LETTER_MARK: Final = re.compile(
    r"(?:\[\[|【|\\(?:boxed|fbox)\{|<(?:winner|verdict|answer|choice)>)\s{0,6}(?P<letter>[A-Ca-c])\s{0,6}(?:\]\]|\}|】|</)"
)
_NUMBER: Final = re.compile(
    r"\A[\s\"'(\[]{0,4}(?P<alone>[12])[\"')\].]{0,3}\s{0,4}(?:\Z|\n[\s#]{0,6}(?:reason|explanation|rationale|理由|原因))"
    r"|\b(?:verdict|winner|preference|pick|(?:preferred|better|best)(?:\s(?:response|answer|one|output|summary))?"
    r"|胜者|获胜者|更好的(?:回答|一个))\s{0,2}(?::|=|is|是|为)\s{0,3}[\"'(\[]{0,2}(?P<number>[12])(?![\w.:/)]|\s?(?:and|or|/|\d))",
    FLAGS,
)
"""Numbers for the two, where no number of a list can be meant."""
_LABELLED: Final = re.compile(rf"{_OF('label')}{_SEPARATOR}{_WRAP}", FLAGS)
_CONCLUDED: Final = re.compile(
    rf"(?:\b(?:therefore|thus|hence|so|overall|in conclusion|in summary|ultimately"
    rf"|if i (?:had|have) to (?:pick|choose)(?: one)?)\b|因此|所以|综上|故)[,:]?{_WRAP}",
    FLAGS,
)
_LAST: Final = re.compile(rf"(?:(?<=\w\w)[.!?;][ \t]{{1,3}}|。){_WRAP}", FLAGS)
_TEXT_ENDS: Final = re.compile(r"[.!。)\]\"'\s]{0,6}\Z")
_LINE_OR_BECAUSE: Final = re.compile(r"[.!。)\]\"']{0,3}\s{0,4}(?:\n|\Z)|,? (?:because|since|as|it is)\b", FLAGS)
_LINE_BEGINS: Final = re.compile(
    r"^[\s>(\[{\"'.|_~-]{0,12}(?:the )?(?:(?:\w{2,14}ly|without (?:a |any )?doubt),? )?\Z", FLAGS
)
_LINE_ENDS: Final = re.compile(r"[\s.!。)\]}\"'|;,_~-]{0,12}(?P<colon>:?)$", FLAGS)
_OPENS: Final = re.compile(r"\A[\s(\[{\"'<$|>.-]{0,10}\Z")
_OPENING_ENDS: Final = re.compile(r"['\"\])]{0,2}\s{0,2}(?:[.,;:!。\n(—–]|-\s|because\b|since\b|\Z)", FLAGS)
_BETWEEN_MARKS: Final = re.compile(r"[\s\"'\]]*\Z")
_JOIN: Final = re.compile(
    r"[\s\"'\])]{0,4}(?:/|\||&|,?\s?\b(?:or|and|vs\.?)\b|或者?|和|与|跟|同|还是|、)+[\s\"'(\[]{0,4}\Z", FLAGS
)
"""Between two mentions: neither of them is given alone."""
_SIGN: Final = re.compile(r"\s?(?:(?P<first>>{1,2})|(?P<second><{1,2})|={1,2}|≈)\s?\Z")
"""Between two mentions: `A > B`."""
_BEATS: Final = re.compile(
    rf"{_OWN}\s(?:{_OF('beats')}(?!{_OF('aspect')})|(?P<loses>{_OF('loses')}(?!{_OF('aspect')})))"
    rf"|{_OF('zh_fill')}(?:{_OF('beats_zh')}|(?P<loses_zh>{_OF('loses_zh')}))",
    FLAGS,
)
_BETTER: Final = re.compile(
    rf"{_OWN}\s(?:to be |as |is )?(?:{expanded('<degree>', 'en')} ){{0,4}}{expanded('<better>', 'en')}"
    rf"(?!{_OF('aspect')})",
    FLAGS,
)
_HIGHER: Final = re.compile(rf"{_OWN}\s{_OF('higher')}", FLAGS)
_MORE: Final = re.compile(rf"{_OWN}\s(?:{_OF('more')}|(?P<less>{_OF('less')}))|{_OF('zh_fill')}{_OF('more_zh')}", FLAGS)
_MORE_OF: Final = re.compile(rf"{_OWN}\s(?:{_OF('more_of')}(?!-)|(?P<less>{_OF('less_of')}))", FLAGS)
_PREFERS: Final = re.compile(rf"{_OF('prefers')}{_WRAP}", FLAGS)
_MAKES: Final = re.compile(rf"{_OF('makes')}\Z", FLAGS)
_PLACES: Final = re.compile(rf"{_OF('places')}\Z", FLAGS)
_FOUND: Final = re.compile(rf"{_OF('found')}\Z", FLAGS)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s|[。\n;]")


class _Mention(NamedTuple):
    """One of the two, a tie, or `A > B`, where the reply names it."""

    label: str
    start: int
    end: int
    joined: bool = False
    """Whether the other one stands beside it, as in `A or B`."""


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
    >>> read_preference("A is clearer, B is more accurate.").kind
    'ambiguous'
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
    best = max(formal, key=_weight, default=None)
    if best is not None and best.strength == Strength.DECLARED and _closes(reply, best):
        return _verdict(reply, best)
    stated = sorted(_stated(reply.text, mentions), key=_weight)
    formal += [candidate for candidate in stated if candidate.strength > Strength.CONCLUDED]
    if formal:
        return _verdict(reply, max(formal, key=_weight))
    return _informal(reply, mentions, stated)


def _weight(candidate: Candidate) -> tuple[int, int]:
    return candidate.strength, candidate.start


def _closes(reply: JudgeReply, best: Candidate) -> bool:
    """Whether a declared verdict ends the reply, so that no sentence behind it need be looked for."""
    return not reply.reply[reply.span(*(best.whole or (best.start, best.end)))[1] :].strip(_ENDS)


def _mentions(text: str, called: PairNames) -> list[_Mention]:
    """Where the two and ties are named, with `A > B` as one mention."""
    matches = list(called.mentions.finditer(text))
    if len(matches) > 2 * _MOST_MENTIONS:
        matches = matches[:_MOST_MENTIONS] + matches[-_MOST_MENTIONS:]
    found = [_Mention(_LABELS[str(match.lastgroup)[0]], *match.span()) for match in matches]
    for place, (one, other) in reversed(list(enumerate(pairwise(found)))):
        if one.label == other.label or "tie" in {one.label, other.label} or other.start - one.end > _WIDEST_JOIN:
            continue
        between = text[one.end : other.start]
        if sign := _SIGN.match(between):
            winner = one.label if sign["first"] else other.label if sign["second"] else "tie"
            found[place : place + 2] = [_Mention(winner, one.start, other.end)]
        elif not between.strip(" ") or _JOIN.match(between):
            found[place] = one._replace(joined=True)
            found[place + 1] = found[place + 1]._replace(joined=True)
    return found


def _in_objects(reply: JudgeReply, names: tuple[str, str]) -> Iterator[Candidate]:
    """The winners that JSON objects name; of ranked models the one on the first place."""
    read = partial(_said_by, names=names)
    ranked = [found for found in reply.objects if {"model", "rank"} <= found.keyed().keys()]
    if ranked:
        first = [found for found in ranked if found.keyed()["rank"] == 1]
        return replace(reply, objects=tuple(first)).in_objects((("model",),), read)
    return reply.in_objects(_TIERS, read)


def _said_by(key: str, value: Any, *, names: tuple[str, str]) -> str:
    """The label of a value under a key in JSON; "" where it names neither."""
    known = any(key in tier for tier in _TIERS) or key.endswith("winner")
    if isinstance(value, int) and not isinstance(value, bool):
        return {1: "A", 2: "B", 0: "tie"}.get(value, "") if known else ""
    if not isinstance(value, str):
        return ""
    called, plain = pair_names(names), fold(value).strip(" \"'[](.!。)")
    mentions = _mentions(plain, called)
    if mentions and not (plain[: mentions[0].start] + plain[mentions[-1].end :]).strip() and len(mentions) == 1:
        return mentions[0].label
    if len(plain) == 1 and called.plain:
        return {"a": "A", "b": "B", "c": "tie", "1": "A", "2": "B"}.get(plain.lower(), "")
    return read_preference(value, names=names).label if known and "{" not in value else ""


def _letter_marks(text: str, called: PairNames) -> Iterator[Candidate]:
    """Letters in marks, whatever the two are called, and numbers for the two."""
    marks = list(islice(_LETTER_MARK.finditer(text), 2 * _MOST_MENTIONS))
    single = len({match["letter"].upper() for match in marks}) == 1
    for match in marks:
        copied = pattern("preference", "instruction").match(text, match.end()) or _is_offered(text, marks, match)
        if (label := called.letters.get(match["letter"].upper())) and (single or not copied):
            yield Candidate(label, *match.span("letter"), Strength.DECLARED, "marked", match.span())
    for match in _NUMBER.finditer(text) if called.plain else ():
        group = "alone" if match["alone"] else "number"
        yield Candidate("AB"[int(match[group]) - 1], *match.span(group), Strength.DECLARED, "labelled", match.span())


def _is_offered(text: str, marks: Sequence[re.Match[str]], match: re.Match[str]) -> bool:
    """Whether another mark stands beside this one: `[[A]] or [[B]]`."""
    gaps = [text[match.end() : other.start()] for other in marks if 0 <= other.start() - match.end() < _WIDEST_JOIN]
    gaps += [text[other.end() : match.start()] for other in marks if 0 <= match.start() - other.end() < _WIDEST_JOIN]
    return any(_BETWEEN_MARKS.match(gap) or _JOIN.match(gap) for gap in gaps)


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


def _is_sure(text: str, lead: re.Match[str], _: int) -> bool:
    return pattern("preference", "condition").search(_sentence(text, lead.start())) is None


_FORMS: Final = (
    VerdictForm("marked", Strength.DECLARED, _MARK, _MARK_ENDS, reach=24),
    VerdictForm("line", Strength.DECLARED, _LINE_BEGINS, _LINE_ENDS, reach=40),
    VerdictForm("labelled", Strength.DECLARED, _LABELLED, _BOUND, _is_sure),
    VerdictForm("concluded", Strength.DECLARED, _LAST, _TEXT_ENDS),
    VerdictForm("concluded", Strength.DECLARED, _CONCLUDED, _LINE_OR_BECAUSE),
    VerdictForm("opening", Strength.ANNOUNCED, _OPENS, _OPENING_ENDS),
)


def _is_alone(reply: JudgeReply, mentions: Sequence[_Mention], mention: _Mention) -> bool:
    """Whether a mention that is alone in its line is the first or the last line of the reply, and no heading."""
    text = reply.text
    ends = _LINE_ENDS.match(text, mention.end)
    lead = _LINE_BEGINS.search(text, max(0, mention.start - 40), mention.start)
    if ends is None or lead is None:
        return False
    others = [other for other in mentions if other.label != mention.label and _has_line(text, other)]
    if others and not _besides(text, [*others, mention]):
        return False
    if reply.finish != "length" and not text[ends.end() :].strip():
        return True
    heading = ends["colon"] or any(text[other.end :].strip(_ENDS) for other in others)
    return not text[: lead.start()].strip() and not heading


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
    for other in mentions:
        if other.label == _OTHER[mention.label] != mention.label and _OPENING_ENDS.match(text, other.end):
            begins_line = not text[text.rfind("\n", 0, other.start) + 1 : other.start].strip(" \t([{\"'<$|>.-")
            if begins_line or (colon and _colon_behind(text, other.end)):
                return True
    return False


def _colon_behind(text: str, end: int) -> bool:
    return text[end : end + 4].lstrip(" '\"])").startswith(":")


def _stated(text: str, mentions: Sequence[_Mention]) -> Iterator[Candidate]:
    """Sentences that call one better, or both equal."""
    for match in islice(pattern("preference", "tied").finditer(text), _MOST_MENTIONS):
        before = _sentence(text, match.start())
        if not pattern("preference", "not_tied").search(before[-12:].rstrip()):
            yield from _sentence_candidate(text, before, "tie", match.span(), match.span())
    for mention in mentions:
        label, start, end, joined = mention
        if label == "tie" or text[max(0, start - 2) : start].rstrip().endswith("比"):
            continue
        found = _said_better(text, start, end, joined=joined)
        if found is None or text[found[2] : found[2] + 1] == "?":
            continue
        before = _sentence(text, found[1])
        if not pattern("preference", "condition").search(before):
            yield from _sentence_candidate(
                text, before, label if found[0] else _OTHER[label], (start, end), (found[1], found[2])
            )


def _said_better(text: str, start: int, end: int, *, joined: bool) -> tuple[bool, int, int] | None:
    """Whether a sentence calls the one at `start` better or worse, and where it says so; None where it does neither."""
    if match := _BEATS.match(text, end):
        return not (match["loses"] or match["loses_zh"]), start, match.end()
    before = max(0, start - _REACH)
    if not joined and _BOUND.match(text, end) and (lead := _PREFERS.search(text, before, start)):
        return True, lead.start(), end
    for leads, behind in ((_MAKES, _BETTER), (_PLACES, _HIGHER)):
        if (match := behind.match(text, end)) and (lead := leads.search(text, before, start)):
            return True, lead.start(), match.end()
    return None


def _sentence_candidate(
    text: str, before: str, label: str, span: tuple[int, int], whole: tuple[int, int]
) -> Iterator[Candidate]:
    """A sentence; what concludes is as good as a declaration, what is about one aspect is less."""
    strength = Strength.MENTIONED if pattern("preference", "aspect_before").search(before) else Strength.CONCLUDED
    concludes = pattern("preference", "concluding").search(before + text[whole[0] : whole[1]])
    if (
        concludes
        or pattern("preference", "reflection").search(before)
        or pattern("preference", "overall").match(text, whole[1])
    ):
        strength = Strength.DECLARED
    yield Candidate(label, *span, strength, "sentence", whole)


def _informal(reply: JudgeReply, mentions: Sequence[_Mention], stated: Sequence[Candidate]) -> Verdict:
    """The verdict of sentences, where nothing is declared; in a reply that was cut off only the first can be one."""
    whole = reply.finish != "length"
    plain = [candidate for candidate in stated if candidate.strength == Strength.CONCLUDED]
    if plain and (whole or plain[0].start < _SOON):
        return _agreed(reply, plain)
    compared = list(_compared(reply.text, mentions))
    aspects = [*stated, *compared]
    if not whole or not aspects:
        return reply.nothing()
    if concluded := [candidate for candidate in compared if candidate.strength == Strength.CONCLUDED]:
        return _agreed(reply, concluded)
    contrasted = pattern("preference", "contrast").search(reply.text)
    if len({candidate.value for candidate in aspects}) > 1 or contrasted or aspects[-1].value == "tie":
        return reply.ambiguous()
    return _verdict(reply, aspects[-1])


def _compared(text: str, mentions: Sequence[_Mention]) -> Iterator[Candidate]:
    """Sentences that call one more of something good: of single aspects."""
    for label, start, end, _ in mentions:
        if text[max(0, start - 2) : start].rstrip().endswith("比"):
            continue
        match = _MORE.match(text, end)
        if match is None and _FOUND.search(text, max(0, start - _REACH), start):
            match = _MORE_OF.match(text, end)
        before = _sentence(text, start)
        if label == "tie" or match is None or pattern("preference", "condition").search(before):
            continue
        whole = pattern("preference", "concluding").search(before) and not pattern(
            "preference", "aspect_before"
        ).search(before)
        strength = Strength.CONCLUDED if whole else Strength.MENTIONED
        value = _OTHER[label] if match["less"] else label
        yield Candidate(value, start, end, strength, "sentence", (start, match.end()))


def _agreed(reply: JudgeReply, found: Sequence[Candidate]) -> Verdict:
    if len({candidate.value for candidate in found}) > 1:
        return reply.ambiguous()
    return _verdict(reply, found[-1])


def _verdict(reply: JudgeReply, candidate: Candidate) -> Verdict:
    value = _VALUES.get(candidate.value)
    return reply.ambiguous(candidate) if value is None else reply.scored(candidate, value)


def _sentence(text: str, start: int) -> str:
    """The part of the sentence in front of `start`."""
    return _SENTENCE_END.split(text[max(0, start - _SENTENCE) : start])[-1]
