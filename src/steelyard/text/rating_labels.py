"""Reads which of given labels a judge chooses: letters, or words such as "excellent" and 部分正确.

Of labels that contain each other the longest is read, and one that the reply denies or weakens ("not correct",
"partially correct" where only "correct" is a label) is not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from steelyard.replies.clean import fold
from steelyard.replies.verdict import Verdict
from steelyard.text.verdict_page import VerdictCandidate, VerdictText, open_sheet

_EN: Final = re.IGNORECASE
_NOUN: Final = (
    r"(?:(?<![A-Za-z])(?:answer|verdict|label|class|classification|category|rating|grade|judge?ment|decision|choice"
    r"|option|level|result|score|conclusion|assessment|evaluation|selection|determination"
    r"|rank|quality|severity|sentiment|type)(?:\s\([^)\n]{0,40}\))?|(?:判断|结论|评级|等级|类别|标签|分类|答案|选择"
    r"|选项|评价|级别|结果|评定|档次|质量|判定|评估|评分)(?:结果|等级|结论)?)"
)
_SEP: Final = (
    r"(?:[\"'\])】}]{0,3}\s{0,3}(?::|=|-{1,2}>?|[–—→]|>|】|\])\s{0,3}|\s{1,3}(?:is|was|would be|must be"
    r"|should be)(?:\s{0,2}:)?\s{1,3}|(?:应该|应当|应|就)?(?:是|为|:){1,2}\s{0,3}|[ \t]{0,6}\n\s{0,6})"
)
_WRAP: Final = (
    r"[\s\"'(\[{<$]{0,6}(?:(?:an?|the|(?:an? |the )?(?:option|choice|label|level|grade|class|category)|选项|等级"
    r"|级别|类别)\s?)?[\"'(\[{<]{0,3}"
)
_LED: Final = (
    r"(?:\b(?:therefore|thus|hence|so|overall|in conclusion|in summary|consequently|ultimately|finally)\b"
    r"|因此|所以|综上(?:所述)?|总之|故|综合(?:来看|判断)?)[,:]?\s{0,2}"
    r"(?:(?:it is|it's|this is|that is|the (?:answer|label)"
    r" is|i (?:say|choose))\s{1,2}|(?:是|为|属于))?"
)
_END: Final = r"[\s.!。)\]}\"'|;,_~]{0,12}"
_HEADING: Final = (
    r"[\s(\[{\"'>.|_~-]{0,12}(?!\S{0,20}\b(?:reference|expert|expected|gold|true|correct|submitted|candidate|student)"
    r"|标准|参考)[A-Za-z\u4e00-\u9fff][^:=\n]{0,30}[:=]\s{0,4}"
)
_BE: Final = (
    r"(?:\b(?:is|are|was|be|as|considered|rated?|graded?|deemed|labell?ed|judged|called?|classif(?:y|ied)(?: (?:it"
    r"|this|the \w{1,14}))? as|falls (?:under|into)|choose|select|pick|assign|give (?:it|this)|(?:it|that|this)'s"
    r"|belongs (?:to|in)|(?:go|going) with|opt for|settle (?:on|for)|lean(?:ing)? towards?)\b(?: it)?"
    r"|(?:回答|答案|陈述|说法|评论|文本|内容|作答)(?=\S{1,8}(?:[。.!,;]|\Z))|为|是|属于|评为|归为|判为|定为|选择?|算)\s{0,3}"
)
_AFTER: Final = (
    r"(?=['\")\]}>。]{0,3}\s{0,3}(?:[.,;:!?。、)\]}\"'\n<—–(]|\Z|because\b|since\b|as\b|based\b|in\b|with\b|and\b"
    r"|but\b|overall\b|here\b|to (?:the|this|its?|that)\b|for\b|by\b|answer\b|response\b|quality\b|category\b"
    r"|level\b|due\b|的|因|级|等|档|类))"
)
_WEAKENED: Final = re.compile(
    r"(?:\b(?:not|never|partially|partly|almost|mostly|nearly|half|less than|more than|far from|anything but"
    r"|neither|nor|or|very|extremely|hardly|barely|somewhat|largely|rather than|instead of|than)(?: (?:an?|the|be"
    r"|fully|entirely|completely|quite|all|very))?|n't|\b(?:not|n't) \w{2,14}ly|in-?|un-?|non-?|不太?|部分|基本上?|未"
    r"|非|没有?|不够|不完全|半|较|并不|不是|很|最|非常)[\s\"'(\[]{0,3}\Z",
    _EN,
)
_CONDITION: Final = re.compile(
    r"\b(?:if|whether|unless|when|would have been|either|could be|might be|which|neither|for example|e\.g\."
    r"|had)\b[^.;\n]{0,60}\Z|(?:如果|若|是否|假如|除非|例如|比如)[^。;\n]{0,20}\Z",
    _EN,
)
_CONCLUDING: Final = re.compile(
    r"\b(?:therefore|thus|hence|overall|in conclusion|in summary|so|consequently|ultimately|finally|final)\b|因此"
    r"|所以|综上|总之|故|综合|总体|最终",
    _EN,
)
_JSON_TIERS: Final = (
    ("finalverdict", "finalanswer", "finallabel", "finalgrade", "最终结论"),
    ("verdict", "label", "answer", "grade", "rating", "category", "class", "classification", "choice", "decision",
        "judgment",
     "judgement", "level", "标签", "等级", "结论", "判断", "答案", "类别", "评级", "评价"),
    ("result", "score", "conclusion", "结果"),
)  # fmt: skip
_JOINT: Final = re.compile(r"(?<=[^\W_])[\s_-]{1,4}(?=[^\W_])")
_DECLARED, _NAMED, _OPENED, _STATED = 4, 3.5, 3, 2


@dataclass(frozen=True, slots=True)
class _Patterns:
    forms: tuple[tuple[str, re.Pattern[str]], ...]
    named: re.Pattern[str]
    final: re.Pattern[str]
    opening: re.Pattern[str]
    stated: re.Pattern[str]
    alone: re.Pattern[str]


def read_label(text: str, labels: Sequence[str], *, finish: str = "stop") -> Verdict:
    """Read which of `labels` the judge gives; the verdict's `label` is written as in `labels`, its value is None.

    Args:
        text: any text.
        labels: what was asked for; case and width make no difference in the reply, but a single letter is only read as
            a capital, unless it stands in brackets.
        finish: why the model stopped; "length" tells a reply that was cut off from one without a verdict.

    Raises:
        ValueError: there is no label, one is blank, or two are the same.

    >>> read_label("It is partially correct.", ["correct", "partially correct", "incorrect"]).label
    'partially correct'
    >>> read_label("It is partially correct.", ["correct", "incorrect"]).kind
    'none'
    >>> read_label("At first: C. Final answer: (B)", ["A", "B", "C"]).label
    'B'
    """
    known = _known(tuple(labels))
    patterns = _patterns(tuple(known))
    sheet = open_sheet(text, finish)
    named = list(_named(sheet, patterns))
    found = [*_in_objects(sheet, patterns), *_declared(sheet, patterns), *named, *_opening(sheet, patterns)]
    if found:
        best = max(found, key=lambda one: (one.rank, one.start))
        if best.rank == _NAMED and len({one.label for one in named}) > 1:
            return sheet.ambiguous(None)
        return sheet.scored(best, None, known[best.label]) if best.label else sheet.ambiguous(best)
    stated = list(_stated(sheet, patterns))
    if not stated:
        return sheet.nothing()
    if len({one.label for one in stated}) > 1:
        return sheet.ambiguous(None)
    return sheet.scored(stated[-1], None, known[stated[-1].label])


def _plain(label: str) -> str:
    """A label as it is compared: `partially_correct` is `partially correct`, `A-` is not `A`."""
    return _JOINT.sub(" ", " ".join(fold(label).split()).casefold())


def _known(labels: tuple[str, ...]) -> dict[str, str]:
    known = {_plain(label): label for label in labels}
    if not known or "" in known or len(known) < len(labels):
        raise ValueError(f"labels differ from each other and are not blank: {list(labels)!r}")
    return known


@lru_cache(maxsize=32)
def _patterns(labels: tuple[str, ...]) -> _Patterns:
    longest = sorted(labels, key=len, reverse=True)
    token = "(?P<token>" + "|".join(_whole(one) for one in longest) + ")"
    loose = "(?P<token>" + "|".join(map(_spaced, longest)) + ")"
    other = (
        rf"(?!['\"\])]{{0,2}}\s{{0,2}}(?:/|\||,?\s?\bor\b|或者?|还是|[,、](?=[^.\n]{{1,80}}(?:\bor\b|或"
        rf"|还是)))\s{{0,2}}['\"\[(]{{0,2}}(?:"
        rf"{loose.removeprefix('(?P<token>')})"
    )
    both = (
        r"(?!\s(?:in|on|for)\s[^.;\n]{1,40}?\b(?:and|but)\b[^.;\n]{0,12}?\b(?:"
        rf"{loose.removeprefix('(?P<token>')})"
    )
    letters = (
        r"(?=['\")\]}>]{0,3}\s{0,3}(?:[.,;:!?。、)\]}\"'\n<>—–(]|-\s|\Z|because\b|since\b|as\b|is\b|的|因|级|等|档|类))"
    )
    line = rf"(?m)^[\s>(\[{{\"'.|_~-]{{0,12}}(?:option |choice |选项)?{token}[\s.!。)\]}}\"'|;,_~-]{{0,12}}$"
    return _Patterns(
        forms=(
            ("marked", re.compile(
                rf"(?:\[\[|【|\\(?:boxed|fbox)\s{{0,2}}\{{\s{{0,8}}\{{?|<(?:label|verdict|answer|result|grade"
                rf"|category|rating|choice)>|\[RESULT\]:?)\s{{0,6}}[(\"']?{loose}[)\"']?\s{{0,6}}(?:\]\]?|\}}|】|<|\n"
                rf"|\Z|[.。])", _EN)),
            ("labelled", re.compile(rf"{_NOUN}{_SEP}{_WRAP}{token}{letters}{other}", _EN)),
            ("line", re.compile(line, _EN)),
            ("concluded", re.compile(rf"{_LED}{_WRAP}{token}{_END}(?:\n|\Z)", _EN)),
            ("final", re.compile(rf"(?:[.!?;。]\s{{1,3}}|[。→]|[-=]>){_WRAP}{token}{_END}\Z", _EN)),
        ),
        named=re.compile(rf"(?m)^{_HEADING}{_WRAP}{token}{_END}$" if len(longest[0]) > 1 else r"(?!)", _EN),
        final=re.compile(rf":\s{{0,3}}{_WRAP}{token}{_END}\Z", _EN),
        opening=re.compile(
            rf"[\s(\[{{\"'<$|>.-]{{0,10}}(?:1[.)]\s{{1,3}})?(?:option |choice |class |category |level |grade "
            rf"|选项)?{token}(?=['\"\])]{{0,2}}\s{{0,2}}(?:[.,;:!。\n(—–]"
            rf"|-\s|because\b|since\b|\Z)|[)\]]){other}", _EN),
        stated=re.compile(rf"{_BE}{_WRAP}(?:\w{{2,14}}ly )??{token}{_AFTER}{other}{both}", _EN),
        alone=re.compile(rf"[\s\"'\[(]{{0,6}}{loose}[\s.!。\"'\])]{{0,6}}\Z", _EN),
    )  # fmt: skip


def _spaced(label: str) -> str:
    return r"[\s_-]{1,4}".join(re.escape(part) for part in label.split())


def _whole(label: str) -> str:
    """`label` as a whole word; one letter only as a capital, or in brackets."""
    if len(label) == 1 and label.isascii() and label.isalpha():
        return rf"(?-i:(?<![A-Za-z0-9'’])(?:{label.upper()}|(?<=[(\[]){label}(?=[)\]]))(?![A-Za-z0-9'’]))"
    before = r"(?<![A-Za-z0-9.-])" if label[0].isascii() else ""
    after = r"(?![A-Za-z0-9-]|\.\d)" if label[-1].isascii() else ""
    return before + _spaced(label) + after


def _label(match: re.Match[str]) -> str:
    return _plain(match["token"])


def _in_objects(sheet: VerdictText, patterns: _Patterns) -> Iterator[VerdictCandidate]:
    def said(_key: str, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int):
            return ""
        match = patterns.alone.match(fold(str(value)))
        return _label(match) if match else ""

    return sheet.in_objects(_JSON_TIERS, said, _DECLARED)


def _declared(sheet: VerdictText, patterns: _Patterns) -> Iterator[VerdictCandidate]:
    for form, pattern in patterns.forms:
        for match in pattern.finditer(sheet.text):
            if not _is_denied(sheet.text, match.start("token"), conditions=form == "labelled"):
                yield sheet.at(_DECLARED, _label(match), match, form=form)
    for one in _stated(sheet, patterns):
        if _CONCLUDING.search(sheet.reply, max(0, one.cut[0] - 60), one.start):
            yield one._replace(rank=_DECLARED, form="concluded")


def _named(sheet: VerdictText, patterns: _Patterns) -> Iterator[VerdictCandidate]:
    """Lines that hold some name and a label: they must agree, unless a verdict on the whole is given."""
    for match in patterns.named.finditer(sheet.text):
        if not _is_denied(sheet.text, match.start("token"), conditions=True):
            yield sheet.at(_NAMED, _label(match), match, form="named")


def _opening(sheet: VerdictText, patterns: _Patterns) -> Iterator[VerdictCandidate]:
    """A reply that begins with its verdict; one that goes through the labels in turn does not."""
    match = patterns.opening.match(sheet.text)
    if match is None:
        return
    begun = {_label(one) for one in patterns.opening.finditer(sheet.text) if _begins_line(sheet.text, one)}
    if not begun - {_label(match)}:
        yield sheet.at(_OPENED, _label(match), match, form="opening")


def _begins_line(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start("token") - 12) : match.start("token")]
    return "\n" in before and not before.rpartition("\n")[2].strip(" \t([{\"'<$|>.-")


def _stated(sheet: VerdictText, patterns: _Patterns) -> Iterator[VerdictCandidate]:
    for match in chain(patterns.stated.finditer(sheet.text), patterns.final.finditer(sheet.text)):
        if not _is_denied(sheet.text, match.start("token"), conditions=True):
            yield sheet.at(_STATED, _label(match), match, form="sentence")


def _is_denied(text: str, start: int, *, conditions: bool) -> bool:
    """Whether the label at `start` is denied or weakened or, with `conditions`, only supposed."""
    if _WEAKENED.search(text, max(0, start - 24), start):
        return True
    before = re.split(r"(?<=[.!?;])\s|[。\n;]|, ?but\s|,但", text[max(0, start - 120) : start])[-1]
    return conditions and _CONDITION.search(before) is not None
