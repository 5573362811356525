"""A reply that begins with its answer: `B`, `(C) because ...`, `选项D。`, `b)`.

The article "A", the pronoun "I", a list of the options and a letter that is called wrong at once are no answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from steelyard.text.choice_letters import GROUP, Group, begins_text, in_range, read_group, sentence_end
from steelyard.text.choice_page import follow_up, restated, within
from steelyard.text.choice_verdict_words import WRONG

_EN: Final = re.IGNORECASE
_LEADING: Final = re.compile(
    r"[\s(\[{\"'<$|>\-:.,!?。、]{0,8}(?:(?:the |my )?(?:options?|choices?|answers?|letters?|选项|选择|选"
    r"|答)[\s:(\"'\[]{0,4})?" + GROUP,
    _EN,
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
    _EN,
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
    _EN,
)
_SAYS: Final = re.compile(
    r"[)\]]?\s(?:says|states|claims|describes|suggests|refers to|means|argues|asserts|proposes|implies)\b", _EN
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
