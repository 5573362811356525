"""Reads yes or no in a judge's reply.

The verdict stands at the start, behind a label, in marks, in JSON, on a line of its own, or as the conclusion at the
end; it is never looked for inside words or inside what the judge quotes. A declared verdict outweighs the opening
word, of several the last one holds. Where nothing is declared, sentences such as "the claim is not supported" count if
all of them agree or the last one concludes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from steelyard.replies.clean import fold
from steelyard.replies.verdict import Verdict
from steelyard.text.rating_yes_no_words import (
    ASKED,
    CALLED,
    CONCLUDED,
    CONCLUDING,
    CONDITION,
    CRITERION,
    DECLARED,
    FINAL,
    FOREIGN,
    IS,
    IS_PLAIN,
    LINE,
    MARKED,
    OPENING,
    SAID,
    STATED,
    SUPPOSED,
    TOKEN,
)
from steelyard.text.verdict_page import SAYS, VerdictCandidate, VerdictText, open_sheet

_VALUES: Final = {"yes": 1.0, "no": 0.0}
_ALONE: Final = re.compile(
    rf"[\s\"'\[(]{{0,4}}(?:{TOKEN}|(?-i:(?P<y>[Yy])|(?P<n>[Nn])))[\s.!。\"'\])]{{0,4}}\Z", re.IGNORECASE
)
_LABELS: Final = ("partial", "unsure", "no", "yes")
_JSON_TIERS: Final = (
    ("finalverdict", "finalanswer", "finaldecision", "finaljudgment", "finaljudgement", "最终结论", "最终判断"),
    ("verdict", "answer", "decision", "judgment", "judgement", "conclusion", "结论", "判断", "判定", "答案",
        "verdicts"),
    ("result", "label", "supported", "faithful", "passing", "passed", "pass", "correct", "iscorrect", "issupported",
        "是否支持", "结果"),
)  # fmt: skip
_NUMBER_KEYS: Final = frozenset({key for tier in _JSON_TIERS for key in tier} | {"score", "rating"})
_SENTENCE_KEYS: Final = frozenset({key for tier in _JSON_TIERS[:2] for key in tier})
_OPPOSITE_KEY: Final = re.compile(
    r"(?:is)?(?:un(?:supported|faithful|grounded)|in(?:correct|accurate|consistent|valid)|not\w{3,20}|irrelevant)\Z"
)
_DECLARED, _CRITERION, _OPENED, _MENTIONED, _STATED = 4, 3.5, 3, 2, 1
_LAST_PART: Final = 160


def read_yes_no(text: str, *, finish: str = "stop") -> Verdict:
    r"""Read whether a judge says yes (label `yes`, value 1) or no (label `no`, value 0).

    Supported, true, correct, pass, 是, 对, 支持, 有, 正确, 可以, 通过 and their opposites are read as yes and no. What
    is between the two ("partially", 部分支持) is unparsed as ambiguous, with the label `partial`.

    Args:
        text: any text.
        finish: why the model stopped; "length" tells a reply that was cut off from one without a verdict.

    >>> read_yes_no("No, yesterday's report says otherwise.").label
    'no'
    >>> read_yes_no("Yes, it looks so at first.\nFinal answer: NO").label
    'no'
    >>> read_yes_no("Yesterday it was in my eyes.").kind
    'none'
    """
    sheet = open_sheet(text, finish)
    found = [*_in_objects(sheet), *_declared(sheet), *_mentioned(sheet), *_lines(sheet), *_opening(sheet)]
    best = max(found, key=lambda one: (one.rank, one.start), default=None)
    if best is not None and best.rank >= _OPENED:
        return _formal(sheet, found, best)
    stated = list(_stated(sheet))
    last = stated[-1] if stated else None
    concluded = last is not None and CONCLUDING.search(_sentence(sheet, last)) is not None
    if best is not None and not (concluded and last and last.start > best.start):
        return _agreed(sheet, best, found)
    if last is None:
        return sheet.nothing()
    return _verdict(sheet, last) if concluded else _agreed(sheet, last, stated)


def _formal(sheet: VerdictText, found: Sequence[VerdictCandidate], best: VerdictCandidate) -> Verdict:
    """The strongest of several; verdicts on single criteria must agree, and be all that were to come."""
    if best.rank != _CRITERION:
        bare = {one.label for one in found if one.form == "line"}
        alone = len(bare) > 1 and not LINE.sub("", sheet.text).strip()
        return sheet.ambiguous(None) if alone else _verdict(sheet, best)
    if sheet.finish == "length":
        return sheet.nothing()
    return _agreed(sheet, best, [one for one in found if one.rank == _CRITERION])


def _agreed(sheet: VerdictText, one: VerdictCandidate, found: Sequence[VerdictCandidate]) -> Verdict:
    """The verdict `one`, if all of its kind say the same."""
    labels = {other.label for other in found if other.rank == one.rank}
    return sheet.ambiguous(None) if len(labels) > 1 else _verdict(sheet, one)


def _verdict(sheet: VerdictText, one: VerdictCandidate) -> Verdict:
    if one.label in _VALUES:
        return sheet.scored(one, _VALUES[one.label], one.label)
    return sheet.ambiguous(one, "partial" if one.label == "partial" else "")


def label_of(match: re.Match[str], prefix: str = "") -> str:
    """The label whose group took part in `match`; "" where none did."""
    groups = match.groupdict()
    return next((name for name in _LABELS if groups.get(prefix + name)), "")


def said_alone(text: str) -> str:
    """The label of a text that is a verdict and nothing else, as a value in JSON is; "" where it is none.

    >>> said_alone("Not supported."), said_alone("no clue")
    ('no', '')
    """
    match = _ALONE.match(fold(text))
    if match is None:
        return ""
    return label_of(match) or ("yes" if match["y"] else "no")


def said_by(key: str, value: Any) -> str:
    """The label of a value under a key in JSON; "" where it says neither."""
    label = ""
    if isinstance(value, bool) or (isinstance(value, int | float) and value in {0, 1} and key in _NUMBER_KEYS):
        label = "yes" if value else "no"
    elif isinstance(value, str):
        label = {"1": "yes", "0": "no"}.get(value.strip(), "") if key in _NUMBER_KEYS else ""
        label = label or said_alone(value)
        if not label and key in _SENTENCE_KEYS and not value.lstrip().startswith("{"):
            label = read_yes_no(value).label
    if label in _VALUES and _OPPOSITE_KEY.match(key):
        return "no" if label == "yes" else "yes"
    return label


def _in_objects(sheet: VerdictText) -> Iterator[VerdictCandidate]:
    return sheet.in_objects(_JSON_TIERS, said_by, _DECLARED)


def _declared(sheet: VerdictText) -> Iterator[VerdictCandidate]:
    text = sheet.text
    for pattern, form in (
        (DECLARED, "labelled"),
        (IS, "labelled"),
        (MARKED, "marked"),
        (CONCLUDED, "concluded"),
        (SAID, "said"),
    ):
        for match in pattern.finditer(text):
            prefix = "" if match["token"] else "zh_"
            if form == "said" and SUPPOSED.search(text[max(0, match.start() - 80) : match.start()]):
                continue
            if form != "labelled" or not FOREIGN.search(text, max(0, match.start() - 24), match.start()):
                yield sheet.at(_DECLARED, label_of(match, prefix), match, form=form, group=prefix + "token")
    for match in IS_PLAIN.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()]
        if FOREIGN.search(before.removesuffix("the ")):
            continue
        if SUPPOSED.search(text[max(0, match.start() - 80) : match.start("token")]):
            continue
        final = CONCLUDING.search(before) or "final" in before.lower() or len(text) - match.end() < _LAST_PART
        yield sheet.at(_DECLARED if final else _MENTIONED, label_of(match), match, form="labelled")


def _mentioned(sheet: VerdictText) -> Iterator[VerdictCandidate]:
    """Less formal verdicts: answers to the judge's own questions, the last sentence, and lines for single criteria."""
    text = sheet.text
    for pattern, form in ((ASKED, "answered"), (CALLED, "said")):
        for match in pattern.finditer(text):
            yield sheet.at(_MENTIONED, label_of(match), match, form=form)
    criteria = list(CRITERION.finditer(text))
    if last := FINAL.search(text, max(0, len(text) - _LAST_PART)):
        before = text[max(0, last.start() - 80) : last.start()]
        supposed = last.group()[0].isalpha() and SUPPOSED.search(before)
        named = bool(criteria) and criteria[-1].start() < last.start() < criteria[-1].end()
        if not supposed and (last.group()[0] != ":" or not (named or SAYS.search(before))):
            prefix = "" if last["token"] else "more_"
            yield sheet.at(_DECLARED, label_of(last, prefix), last, form="final", group=prefix + "token")
    for match in criteria:
        prefix = "" if match["token"] else "more_"
        yield sheet.at(_CRITERION, label_of(match, prefix), match, form="criterion", group=prefix + "token")


def _lines(sheet: VerdictText) -> Iterator[VerdictCandidate]:
    for match in LINE.finditer(sheet.text):
        single = "y" if match["y"] else "n"
        label = label_of(match) or {"y": "yes", "n": "no"}[single]
        rank = _CRITERION if match["listed"] else _DECLARED
        yield sheet.at(rank, label, match, form="line", group="token" if match["token"] else single)


def _opening(sheet: VerdictText) -> Iterator[VerdictCandidate]:
    match = OPENING.match(sheet.text)
    if match is None:
        return
    for prefix in ("", "more_"):
        if match[prefix + "token"]:
            yield sheet.at(_OPENED, label_of(match, prefix), match, form="opening", group=prefix + "token")
            return
    name = "no_zh" if match["no_zh"] else "yes_zh"
    yield sheet.at(_OPENED, name.removesuffix("_zh"), match, form="opening", group=name)


def _stated(sheet: VerdictText) -> Sequence[VerdictCandidate]:
    """What whole sentences say, in the order they stand; conditions and questions say nothing."""
    found = []
    text = sheet.text
    for match in STATED.finditer(text):
        start = max(text.rfind(mark, max(0, match.start() - 80), match.start()) for mark in ".;\n。") + 1
        if CONDITION.search(text[max(start, match.start() - 80) : match.start()] + match.group()[:2]):
            continue
        if text[match.end() : match.end() + 1] == "?":
            continue
        label, group = _statement(match)
        if label:
            found.append(sheet.at(_STATED, label, match, form="statement", group=group))
    return found


def _statement(match: re.Match[str]) -> tuple[str, str]:
    if match["token"]:
        label = label_of(match)
        if match["nt"]:
            label = {"yes": "no", "no": "yes"}.get(label, label)
        return label, "token"
    if said := match["zh"]:
        if "部分" in said:
            return "partial", "zh"
        denied = any(mark in said for mark in ("不", "没", "未", "无"))
        wrong = "错误" in said or "矛盾" in said
        return ("no" if denied != wrong else "yes"), "zh"
    if match["none"]:
        return "no", "none"
    if match["supports"] is None:
        return "", ""
    return ("no" if match["denies"] else "yes"), "supports"


def _sentence(sheet: VerdictText, one: VerdictCandidate) -> str:
    """The sentence of the reply in which `one` stands."""
    before = sheet.reply[max(0, one.cut[0] - 200) : one.end]
    return re.split(r"(?<=[.!?])\s|[。\n]", before)[-1]
