"""What a reply says of each option: right or wrong.

Read where nothing is declared. Only words in the sentence that speaks of the letter count, and in the one after it
where that begins with "this statement".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_letters import GROUP, Group, read_group, sentence_end
from steelyard.text.choice_page import restated
from steelyard.text.choice_patterns import RIGHT, WRONG

_SUBJECT: Final = re.compile(
    r"(?:\b(?:options|choices|answers|statements|both)\s|(?:^|\n"
    r"|[.]\s))[(]?(?P<plural>(?-i:[A-Z])[)]?(?:\s?,\s?[(]?(?-i:[A-Z])[)]?){0,24}"
    r",?\s?(?:and|&|or)\s[(]?(?-i:[A-Z])\b[)]?)(?=\s(?:is|are|were|both|all|seem|could|can|may|would)\b)|"
    rf"(?:选项|\boptions?\s|\bchoices?\s|\banswers?\s|\bstatements?\s)[\s(\[\"']{{0,3}}{GROUP}"
    rf"|(?:^|\n|[。,;.]\s?|所以|因此|只有|故|此"
    rf"|而)[ \t]*(?:[-•]\s{{0,3}})?[(\[]?{GROUP.replace('group', 'first')}(?=[)\]]?(?:选项|项|\s?[:.,]"
    rf"|(?<=[)\]])\s|\s(?:is"
    rf"|are|was|must|can't|cannot|can|could|couldn't|isn't|aren't|doesn't|does|seems|looks)\b|[正错不都均也]))"
    rf"|{GROUP.replace('group', 'second')}(?=选项|项)",
    re.IGNORECASE,
)
_THIS: Final = re.compile(
    r"\s*(?:因此|所以)?,?\s*(?:这个|这一|该|此|这|this|it)(?:说法|选项|表述|论述|观点|做法|项|陈述|\sstatement"
    r"|\soption)?",
    re.IGNORECASE,
)
_AFTER_LABEL: Final = re.compile(r"[)\]]?[.:]?\s{0,2}")
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


def verdicts(text: str, options: Sequence[str]) -> Verdicts:
    """Every option of which the reply says that it is right or wrong."""
    right: dict[str, Group] = {}
    wrong: dict[str, Group] = {}
    subjects = _subjects(text, options)
    for group, following in zip(subjects, [*(one.start for one in subjects[1:]), len(text)], strict=False):
        start = _own_end(text, group, options)
        said = _said(text, _AFTER_LABEL.match(text, start).end(), following)  # type: ignore[union-attr]  # matches nothing, too
        if said is not None:
            (right if said else wrong).update(dict.fromkeys(group.letters, group))
    return Verdicts(right, wrong)


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
        return None
    return wrong is None or (right is not None and right.start() < wrong.start())
