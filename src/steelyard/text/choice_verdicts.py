"""What a reply says of each option: right or wrong.

Read where nothing is declared. Only words in the sentence that speaks of the letter count, and in the one after it
where that begins with "this statement". Words that are quoted are the option's, and no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_doubt import Doubt, doubt
from steelyard.text.choice_letters import GROUP, Group, read_group, sentence_end
from steelyard.text.choice_page import restated
from steelyard.text.choice_reading import Reply
from steelyard.text.choice_verdict_words import RIGHT, WRONG

_IS: Final = r"(?:is|are|was|were|both|all|seem|seems|could|can|may|would|cannot|can't|isn't|aren't)"
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


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Letters judged right and wrong, each with the place where it was said last; `split` where both was said."""

    right: dict[str, Group]
    wrong: dict[str, Group]

    @property
    def split(self) -> bool:
        """Whether one option was called both right and wrong."""
        return bool(self.right.keys() & self.wrong.keys())


def verdicts_in(this: Reply) -> Verdicts:
    """Those of a reply, looked for once."""
    if "verdicts" not in this.memo:
        this.memo["verdicts"] = verdicts(this.text, this.options)
    found: Verdicts = this.memo["verdicts"]
    return found


def verdicts(text: str, options: Sequence[str]) -> Verdicts:
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
    return Verdicts(right, wrong)


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
    if (this := _THIS.match(text, end + 1)) and end + 1 < following:
        end = sentence_end(text, this.end(), _REACH)
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
