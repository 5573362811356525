"""Reads which of two a judge prefers, or that it calls them equal.

Marks, declared winners and lines that hold nothing else count first, the last of them; then whole sentences, if they
agree. A sentence about one aspect decides nothing while another speaks for the other side, and what cannot be read is
never a tie.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

from steelyard.replies.clean import fold
from steelyard.replies.verdict import Verdict
from steelyard.text.rating_preference_words import Words, meant_by, words_for
from steelyard.text.verdict_page import VerdictCandidate, VerdictText, open_sheet

_VALUES: Final = {"A": 1.0, "tie": 0.5, "B": 0.0}
_OTHER: Final = {"A": "B", "B": "A", "tie": "tie"}
_DECLARED, _OPENED, _STATED, _CONCLUDED, _ASPECT = 4, 3.5, 3, 2.5, 2
_ENDS: Final = " \n.!*_`)\"'\\]}"
_SOON: Final = 20
"""In a reply that was cut off, a sentence counts only where it begins so early that it is the verdict."""
_JSON_TIERS: Final = (
    ("finalverdict", "finalanswer", "finaldecision", "overallwinner", "最终结论", "最终判断"),
    ("verdict", "winner", "preferred", "preference", "better", "best", "choice", "answer", "decision", "judgment",
        "judgement",
     "胜者", "获胜者", "更好", "结论", "选择", "判断", "偏好", "更好的回答", "优胜者"),
    ("result", "label", "preferredresponse", "betterresponse", "betteranswer", "overall", "结果"),
)  # fmt: skip
_ASPECT_BEFORE: Final = re.compile(
    r"\b(?:in terms of|regarding|as for|when it comes to|with respect to|on (?:\w{1,14}|the \w{1,14})"
    r"|in (?:accuracy|clarity|depth|style|tone|detail)|for (?!this|these|the|all|that)\w{1,20}"
    r"|from the (?:perspective|standpoint|point of view) of|(?:clarity|accuracy|helpfulness|relevance|depth"
    r"|creativity|detail|coherence|fluency|style|tone|harmlessness|completeness|conciseness)\s{0,2}:)[^.;\n]{0,60}\Z"
    r"|(?:在|从|就)[^。;\n]{1,16}(?:方面|上|而言|来看|角度|来说)[^。;\n]{0,12}\Z|(?:准确性|清晰度?|相关性|流畅性"
    r"|完整性|帮助性|简洁性|有用性|深度|语言)[^。;\n]{0,4}[:,][^。;\n]{0,12}\Z",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"\b(?:whether|unless|not|cannot|neither|nor|would have been|either|in case|avoid|assume|although|though|while"
    r"|despite|even though|if|\w{2,6}n't)\b[^.,:;\n]{0,40}\Z"
    r"|\b(?:could|might|may|can) (?:\w{2,14}ly )?(?:argue|say|think|claim)\b[^.,;\n]{0,40}\Z"
    r"|\b(?:which|when|why|how)\b(?!\s{0,3}\Z)[^.,;\n]{0,40}\Z|\bif\b(?!\s(?:i|we|one)\s(?:had|have|were"
    r"|must))[^.;\n]{0,80}\Z"
    r"|(?:如果|若|假如|除非)[^。;\n]{0,24}\Z|(?:是否|不能说|并非|不是|虽然|尽管|哪个|为什么)[^。,;\n]{0,12}\Z",
    re.IGNORECASE,
)
_INSTRUCTION: Final = re.compile(
    r"[\"'\]\s]{0,4}(?:,\s?)?(?:if\b|for a\b|when\b|in case\b|means\b|indicates\b|如果|若|表示|代表|当)"
    r"|[\"']?(?:\s{0,2}(?:/|\||,|\bor\b|\band\b|或者?|和|、)){1,2}\s{0,2}[\"']?\[\[",
    re.IGNORECASE,
)
"""Behind a mark: it is what the prompt asked for, copied."""

_ALTERNATIVE: Final = re.compile(
    r"\]\][\"']?(?:\s{0,2}(?:/|\||,|\bor\b|\band\b|或者?|和|、)){1,2}\s{0,2}[\"']?\Z", re.IGNORECASE
)
"""The same in front of one."""

_CONCLUDING: Final = re.compile(
    r"\b(?:therefore|thus|hence|overall|in conclusion|in summary|so|consequently|ultimately|all in all|on balance"
    r"|to sum up|in the end|taken together|considering all|all things considered|for these reasons|final(?:ly)?"
    r"|all considered)\b"
    r"|因此|所以|综上|总之|故|综合|总体|整体|总的来|最终",
    re.IGNORECASE,
)
_REFLECTION: Final = re.compile(
    r"\b(?:on reflection|on second thought|wait|actually|correction|after reconsidering|reconsidering|i (?:take"
    r"|took) that back|let me (?:revise|correct|reconsider)|upon (?:closer|further|re-?)\s?\w{0,14}|change my)\b"
    r"|重新考虑|更正|等等|再想想|仔细想想|不对[,。]",
    re.IGNORECASE,
)
_OVERALL_AFTER: Final = re.compile(r",? (?:overall|on the whole|in general|all in all)\b", re.IGNORECASE)
"""Behind a sentence: it is about all, not about one aspect."""

_CONTRAST: Final = re.compile(
    r"\b(?:but|however|although|though|while|whereas|yet|on the other hand|nevertheless|in contrast)\b|但|然而|不过"
    r"|虽然|尽管|而(?!且)",
    re.IGNORECASE,
)


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
    words = words_for(names)
    sheet = open_sheet(text, finish)
    if (back := meant_by(sheet.text, words.mention)) != "AB":
        words = words_for(names, back=back)
    formal = [
        *_in_objects(sheet, words, names),
        *_marked(sheet, words),
        *_lines(sheet, words),
        *_opening(sheet, words),
    ]
    last = max(formal, key=lambda one: (one.rank, one.start), default=None)
    stated = [] if _closes(sheet, last) else list(_stated(sheet, words))
    formal += [one for one in stated if one.rank > _STATED]
    if formal:
        return _verdict(sheet, max(formal, key=lambda one: (one.rank, one.start)))
    return _informal(sheet, words, stated)


def _closes(sheet: VerdictText, last: VerdictCandidate | None) -> bool:
    """Whether a declared verdict ends the reply, so that no sentence behind it need be looked for."""
    return last is not None and last.rank == _DECLARED and not sheet.reply[last.cut[1] :].strip(_ENDS)


def _informal(sheet: VerdictText, words: Words, stated: Sequence[VerdictCandidate]) -> Verdict:
    """The verdict of sentences, where nothing is declared; in a reply that was cut off only the first can be one."""
    whole = sheet.finish != "length"
    plain = [one for one in stated if one.rank == _STATED]
    if plain and (whole or plain[0].cut[0] < _SOON):
        return _agreed(sheet, plain)
    compared = list(_aspects(sheet, words))
    aspects = [*stated, *compared]
    if not whole or not aspects:
        return sheet.nothing()
    if last := [one for one in compared if one.rank == _CONCLUDED]:
        return _agreed(sheet, last)
    if len({one.label for one in aspects}) > 1 or _CONTRAST.search(sheet.text) or aspects[-1].label == "tie":
        return sheet.ambiguous(None)
    return _verdict(sheet, aspects[-1])


def _verdict(sheet: VerdictText, one: VerdictCandidate) -> Verdict:
    return sheet.scored(one, _VALUES[one.label], one.label) if one.label in _VALUES else sheet.ambiguous(one)


def _agreed(sheet: VerdictText, found: Sequence[VerdictCandidate]) -> Verdict:
    if len({one.label for one in found}) > 1:
        return sheet.ambiguous(None)
    return _verdict(sheet, found[-1])


def _label(match: re.Match[str], prefix: str = "") -> str:
    """`A`, `B` or `tie` by the group that took part; "" where none did."""
    groups = match.groupdict()
    if relation := groups.get("relation") or groups.get("reversed"):
        first_wins = (">" in relation) == bool(groups["relation"])
        return "tie" if "=" in relation or "≈" in relation else "A" if first_wins else "B"
    found = next((name for name in ("tie", "a", "b") if groups.get(prefix + name)), "")
    return {"a": "A", "b": "B"}.get(found, found)


def _group(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return next((name for name in ("relation", "reversed") if groups.get(name)), "token")


def _in_objects(sheet: VerdictText, words: Words, names: tuple[str, str]) -> Iterator[VerdictCandidate]:
    read = partial(_said_by, words=words, names=names)
    return sheet.in_objects(_JSON_TIERS, read, _DECLARED)


def _said_by(key: str, value: Any, *, words: Words, names: tuple[str, str]) -> str:
    """The label of a value under a key in JSON; "" where it names neither."""
    known = any(key in tier for tier in _JSON_TIERS) or key.endswith("winner")
    if isinstance(value, int) and not isinstance(value, bool):
        return {1: "A", 2: "B", 0: "tie"}.get(value, "") if known else ""
    if not isinstance(value, str):
        return ""
    plain = value.strip()
    if match := words.alone.match(fold(plain)):
        return _label(match)
    if len(plain) == 1 and words.third:
        return {"a": "A", "b": "B", "c": "tie", "1": "A", "2": "B"}.get(plain.lower(), "")
    return read_preference(plain, names=names).label if known and "{" not in plain else ""


def _marked(sheet: VerdictText, words: Words) -> Iterator[VerdictCandidate]:
    marks = list(words.marked.finditer(sheet.text))
    enumerated = _enumerated(marks)
    single = len({_label(one) for one in marks}) == 1
    for pattern, form in (
        (words.marked, "marked"),
        (words.declared, "labelled"),
        (words.numbered, "labelled"),
        (words.concluded, "concluded"),
    ):
        for match in pattern.finditer(sheet.text):
            start, end = match.span()
            if form == "marked" and start in enumerated:
                continue
            if form == "concluded" and sheet.finish == "length" and end == len(sheet.text):
                continue
            if not (single and "[[" in match.group()) and _INSTRUCTION.match(sheet.text, end):
                continue
            if _ALTERNATIVE.search(sheet.text, max(0, start - 12), start):
                continue
            if form == "labelled" and _CONDITION.search(_before(sheet, match.start())):
                continue
            prefix = "f_" if match.groupdict().get("f_token") else ""
            group = prefix + "token" if prefix else _group(match)
            yield sheet.at(_DECLARED, _label(match, prefix), match, form=form, group=group)


def _enumerated(marks: Sequence[re.Match[str]]) -> set[int]:
    """Where marks stand that give the two next to each other, with blanks between them at most."""
    found: set[int] = set()
    for one, other in pairwise(marks):
        if _label(one) != _label(other) and not one.string[one.end() : other.start()].strip(" \t\"'"):
            found |= {one.start(), other.start()}
    return found


def _lines(sheet: VerdictText, words: Words) -> Iterator[VerdictCandidate]:
    """The first and the last line, where one of the two stands alone in it and is no heading."""
    text = sheet.text
    end = len(text.rstrip())
    matches = list(words.line.finditer(text))
    if len({_label(one) for one in matches}) > 1 and not words.line.sub("", text).strip():
        return
    for match in matches:
        first, last = not text[: match.start()].strip(), match.end() >= end
        heading = match["end"].endswith(":") or any(
            _label(other) != _label(match) and other.end() < end for other in matches
        )
        if (last and sheet.finish != "length") or (first and not heading):
            yield sheet.at(_DECLARED, _label(match), match, form="line", group=_group(match))


def _opening(sheet: VerdictText, words: Words) -> Iterator[VerdictCandidate]:
    """A reply that begins with its verdict; one that goes through both in turn does not."""
    match = words.opening.match(sheet.text)
    if match is None or _label(match) == "":
        return
    label = _label(match)
    each_in_turn = {
        _label(one) for one in words.opening.finditer(sheet.text) if _begins_line(sheet.text, one.start("token"))
    }
    if _behind(match) == ":":
        each_in_turn |= {_label(one) for one in words.opening.finditer(sheet.text) if _behind(one) == ":"}
    if label == "tie" or _OTHER[label] not in each_in_turn:
        yield sheet.at(_OPENED, label, match, form="opening")


def _behind(match: re.Match[str]) -> str:
    """The sign that follows a match."""
    return match.string[match.end() : match.end() + 4].lstrip(" '\"])")[:1]


def _begins_line(text: str, place: int) -> bool:
    """Whether only blanks and marks stand before `place` in its line."""
    before = text[max(0, place - 12) : place]
    return "\n" in before and not before.rpartition("\n")[2].strip(" \t([{\"'<$|>.-")


def _stated(sheet: VerdictText, words: Words) -> Iterator[VerdictCandidate]:
    """Sentences that call one better, or both equal."""
    for match in words.stated.finditer(sheet.text):
        before = _before(sheet, match.start())
        if sheet.text[match.end() : match.end() + 1] == "?":
            continue
        if not match["tied"] and _CONDITION.search(before):
            continue
        if match["tied"] and re.search(
            r"(?:\b(?:not|if|or|for|avoid|than)|n't|不是|如果|若|并非)\s?\Z", before.strip()[-12:]
        ):
            continue
        label, group = _statement(match)
        rank: float = _STATED
        if _ASPECT_BEFORE.search(before):
            rank = _ASPECT
        after = _OVERALL_AFTER.match(sheet.text, match.end())
        if after or _CONCLUDING.search(before + match.group()) or _REFLECTION.search(before):
            rank = _DECLARED
        yield sheet.at(rank, label, match, form="sentence", group=group)


def _statement(match: re.Match[str]) -> tuple[str, str]:
    if match["tied"]:
        return "tie", "tied"
    for prefix in ("p_", "m_", "r_"):
        if match[prefix + "token"]:
            return _label(match, prefix), prefix + "token"
    label = _label(match)
    return (_OTHER[label] if match["loses"] or match["zh_loses"] else label), "token"


def _aspects(sheet: VerdictText, words: Words) -> Iterator[VerdictCandidate]:
    for match in words.aspects.finditer(sheet.text):
        before = _before(sheet, match.start())
        if not _CONDITION.search(before):
            rank = _CONCLUDED if _CONCLUDING.search(before) and not _ASPECT_BEFORE.search(before) else _ASPECT
            prefix = "m_" if match["m_token"] else ""
            label = _label(match, prefix)
            label = _OTHER[label] if match["loses"] or match["m_loses"] else label
            yield sheet.at(rank, label, match, form="sentence", group=prefix + "token")


def _before(sheet: VerdictText, place: int) -> str:
    """The part of the sentence in front of `place`."""
    return re.split(r"(?<=[.!?;])\s|[。\n;]", sheet.text[max(0, place - 160) : place])[-1]
