"""Reads yes or no in a judge's reply.

Every word that may be a verdict is a candidate; the words before it show how plainly it is given. A declared
verdict outweighs the opening word; of several the last one counts. Where nothing is declared, sentences such as "the
claim is not supported" count if all of them agree or the last one concludes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from steelyard.replies.clean import fold
from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import FLAGS, expanded, pattern, source, words
from steelyard.replies.jsonlike import plain_key
from steelyard.replies.judge_reply import JudgeReply, Verdict, VerdictForm, at_both_ends, decide_last, open_judge_reply
from steelyard.replies.yes_no_languages import said_alone_elsewhere, verdicts_in_other_languages

VALUES: Final = {"yes": 1.0, "no": 0.0}
_TIERS: Final = tuple(tuple(map(plain_key, words(name))) for name in ("verdict_final_key", "verdict_key", "claim_key"))
_NUMBER_KEYS: Final = frozenset(key for tier in _TIERS for key in tier) | {"score", "rating"}
_SENTENCE_KEYS: Final = frozenset(_TIERS[0] + _TIERS[1])
_OPPOSITE_KEY: Final = re.compile(
    r"(?:is)?(?:un(?:supported|faithful|grounded)|in(?:correct|accurate|consistent|valid)|not\w{3,20}|irrelevant)\Z"
)
_MOST_WORDS: Final = 20
"""Limit of words that are examined at either end of a reply: it bounds the time."""
_REACH, _OFFERED_WITHIN, _FOREIGN_WITHIN = 110, 60, 28
_SENTENCE: Final = 90
_OF: Final = partial(source, "yes_no")
_SIGNS: Final = r"[\s\"'(\[{<$|✅❌✔✖✓✗☑☒️]"
_OPENER: Final = (
    rf"(?:{_SIGNS}|\\(?:text|boxed|mathrm|textbf)\s{{0,2}}\{{){{0,6}}(?:{expanded('<opener>', 'en')}\s{{1,2}}){{0,2}}"
    rf"{_SIGNS}{{0,3}}\Z"
)
"""Text that may be between a lead and the verdict."""
_NO_OTHER: Final = rf"(?!{_OF('alternative')})"
_WORD: Final = (
    rf"(?<![/或])(?:(?<![A-Za-z0-9])(?<![A-Za-z][-_])(?=[a-z])(?:(?P<partial>{_OF('partial')})|(?P<unsure>{_OF('unsure')})"
    rf"|(?P<no>(?P<plain_no>{_OF('no')})|{_OF('negative')})|(?P<yes>(?P<plain_yes>{_OF('yes')})|{_OF('positive')})"
    rf"|(?P<letter_no>n(?=[\s.!)\"']{{0,4}}$))|(?P<letter_yes>y(?=[\s.!)\"']{{0,4}}$)))(?!_?[^\W_]|-|'\w){_NO_OTHER}"
    rf"|(?=[\u4e00-\u9fff])(?:(?P<partial_zh>{_OF('partial_zh')})|(?P<unsure_zh>{_OF('unsure_zh')})"
    rf"|(?P<no_zh>{_OF('negative_zh')}|(?P<plain_no_zh>{_OF('no_zh')}))"
    rf"|(?P<yes_zh>{_OF('positive_zh')}|(?P<plain_yes_zh>{_OF('yes_zh')})))(?={_OF('ends_zh')}){_NO_OTHER})"
)
_WORDS: Final = re.compile(_WORD, re.MULTILINE)
"""One verdict in lower case; the group that took part is its label."""
_ALONE: Final = re.compile(rf"[\s\"'\[(]{{0,4}}{_WORD}[\s.!。\"'\])]{{0,4}}\Z")
_LINE_BEGINS: Final = re.compile(r"^[\s>(\[{\"'.|_~-]{0,12}\Z", FLAGS)
_LISTED_LINE_BEGINS: Final = re.compile(r"^[\s>(\[{\"'.|_~-]{0,12}\d{1,2}[.)]\s{0,3}\Z", FLAGS)
_LINE_ENDS: Final = re.compile(r"[ \t.!。)\]}\"'|;,_~-]{0,12}$", FLAGS)
_CLOSES: Final = re.compile(r"[的了]?\s{0,3}(?:[.,;:!()\"'\]}\n。—–-]|\Z)")
_TEXT_ENDS: Final = re.compile(r"[\s.!。\"')\]]{0,8}\Z")
_NO_QUESTION: Final = re.compile(r"(?!\s{0,2}\?)")
_OPENS: Final = re.compile(r"\A[\s(\[{\"'<$|>:.✅❌✔✖✓✗☑☒️-]{0,10}(?:(?:\w{2,12}ly|most likely),?\s)?\Z")
_OPENING_ENDS: Final = re.compile(
    r"\s{0,2}(?:[.,;:!)\]\"'}|\n—–(。、]|-\s|\[\d|\Z|by\b|because\b|since\b|as\b|[的了]|该|此|这|要求|指南)"
)


def _before(*leads: str) -> re.Pattern[str]:
    """Any of the phrases, with the text that may be between it and the verdict."""
    return re.compile(rf"(?:{'|'.join(leads)}){_OPENER}", FLAGS)


_SEPARATOR: Final = r"(?:[\"'\])}]{0,3}\s{0,4}(?::|=|-{1,2}>?|[–—→]|】|>)\s{0,4}|[\])】]\s{0,3}|[ \t]{0,9}\n\s{0,6})"
_MARKED: Final = _before(
    r"\[\[|【|\\(?:boxed|fbox)\s{0,2}\{|<(?:final_)?(?:answer|verdict|result|judge?ment|decision|label)>|\[RESULT\]\s{0,4}:?"
    r"|(?:^|\?)[ \t]{0,6}A:"
)
_LABELLED: Final = _before(
    rf"{_OF('label')}(?:{_SEPARATOR}|\s{{0,3}}\bis\s{{0,2}}:)",
    rf"{_OF('own_is')}\s",
    rf"{_OF('label_zh')}(?:{_SEPARATOR}|[是为:]{{1,2}})",
)
_ANSWER_IS: Final = _before(rf"{_OF('answer_is')}[\s:]{{1,3}}")
_CONCLUDED: Final = _before(_OF("concluded"), _OF("concluded_zh"))
_SAID: Final = _before(rf"{_OF('said')}\s", _OF("said_zh"))
_CRITERION: Final = re.compile(rf"^[\s\d.)*|-]{{0,8}}[A-Za-z\u4e00-\u9fff][^:=\n]{{1,40}}[:=]{_OPENER}", re.MULTILINE)
_LAST: Final = _before(r"[.!?;:)\]\"。][ \n]{1,4}|。|\s[-–—]{1,2}\s|\b(?:is|it's|be)\s")
_SENTENCE_BEGINS: Final = re.compile(r"(?:[.!?]\s{1,4}|。)\Z")
_SUBJECT: Final = _before(_OF("subject"), _OF("subject_zh"))
_SUPPOSES: Final = re.compile(
    r"\b(?:whether|if|unless|should|not (?:clear|sure|certain|obvious|shown))\b", re.IGNORECASE
)
_SUPPORTS: Final = re.compile(rf"\b{_OF('support')}\b|\b{_OF('none_support')}\b", FLAGS)


def read_yes_no(text: str, *, finish: str = "stop") -> Verdict:
    r"""Read whether a judge says yes (label `yes`, value 1) or no (label `no`, value 0).

    Supported, true, correct, pass, 是, 对, 支持, 有, 正确, 可以, 通过 and their opposites are read as yes and no, and
    so are sí, oui, ja, да, はい and their like (see `yes_no_languages`). What is between the two ("partially",
    部分支持) is unparsed as ambiguous, with the label `partial`.

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
    reply = open_judge_reply(text, finish)
    matches = at_both_ends(_WORDS, reply.text.lower(), _MOST_WORDS)
    matches = [match for match in matches if not (_is_determiner(reply.text, match) or _is_offered(reply.text, match))]
    candidates = [*reply.in_objects(_TIERS, said_by), *filter(None, (_given(reply.text, match) for match in matches))]
    candidates += verdicts_in_other_languages(reply.text, _MOST_WORDS)
    best = decide_last(candidates, reply.text)
    if best is not None and best.strength > Strength.MENTIONED:
        return _formal(reply, candidates, best)
    candidates = candidates or list(_stated(reply, matches))
    best = decide_last(candidates, reply.text)
    return _agreed(reply, best, candidates) if best else reply.nothing()


def said_alone(text: str) -> str:
    """The label of a text that is a verdict and nothing else, as a value in JSON is; "" where it is none.

    >>> said_alone("Not supported."), said_alone("no clue")
    ('no', '')
    """
    folded = fold(text)
    match = _ALONE.match(folded.lower())
    return _label(match) if match else said_alone_elsewhere(folded)


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
    if label in VALUES and _OPPOSITE_KEY.match(key):
        return "no" if label == "yes" else "yes"
    return label


def _label(match: re.Match[str]) -> str:
    """What a match says: the outer one of its named groups, as that one closes last."""
    return str(match.lastgroup).removeprefix("letter_").removesuffix("_zh")


def _is_determiner(text: str, match: re.Match[str]) -> bool:
    """Whether a `no` only denies the word behind it: `no date`."""
    if match["plain_no"] != "no" or text[match.start() : match.end()] == "NO":
        return False
    return pattern("yes_no", "after_no").match(text, match.end()) is not None


def _is_offered(text: str, match: re.Match[str]) -> bool:
    """Whether it is the second of two verdicts that are named as those to choose from: `YES or Verdict: NO`."""
    before = text[max(0, match.start() - _OFFERED_WITHIN) : match.start()]
    if not any(joint in before for joint in (" or ", "/", "|", "或", "还是")):
        return False
    return pattern("yes_no", "offered").search(before) is not None


def _given(text: str, match: re.Match[str]) -> Candidate | None:
    """The word as a verdict, as plainly as the words around it give it; None where it may describe something."""
    if match["letter_no"] or match["letter_yes"]:
        forms: Sequence[VerdictForm] = _LINES
    else:
        plain = any(match[f"plain_{name}"] for name in ("no", "yes", "no_zh", "yes_zh"))
        forms = _FORMS_OF_PLAIN if plain else _FORMS
    candidates = (form.candidate(text, *match.span(), _label(match)) for form in forms)
    return next(filter(None, candidates), None)


def _is_own(text: str, lead: re.Match[str], end: int) -> bool:
    """Whether the `answer` with which a lead begins is not that of somebody else, or one that would be."""
    before = text[max(0, lead.start() - _FOREIGN_WITHIN) : lead.start()]
    if pattern("yes_no", "foreign").search(before) or pattern("judge", "copied").search(before):
        return False
    return "would" not in lead.group() or _is_sure(text, lead, end)


def _is_sure(text: str, lead: re.Match[str], _: int) -> bool:
    """Whether what a lead says is not only so under another condition."""
    before = text[max(0, lead.start() - _SENTENCE) : lead.start()]
    return pattern("yes_no", "supposed").search(before) is None


def _is_answer(text: str, lead: re.Match[str], end: int) -> bool:
    before = text[max(0, lead.start() - _SENTENCE) : end]
    return _is_own(text, lead, end) and pattern("yes_no", "supposed").search(before) is None


def _is_criterion(_text: str, lead: re.Match[str], _: int) -> bool:
    return _is_judges(lead.group())


def _is_judges(label: str) -> bool:
    """Whether a label does not name somebody else's answer: `The student's answer: no`."""
    position = label.lower().rfind("answer")
    return position < 0 or pattern("yes_no", "foreign").search(label[:position]) is None


def _is_last(text: str, lead: re.Match[str], end: int) -> bool:
    """Whether a last word is the judge's own: no quotation, and no condition."""
    if lead.group()[0] == ":":
        before = text[max(0, lead.start() - _SENTENCE) : lead.start()]
        return not pattern("judge", "reports").search(before) and _is_judges(before)
    return not lead.group()[0].isalpha() or _is_sure(text, lead, end)


_LINES: Final = (
    VerdictForm("line", Strength.DECLARED, _LINE_BEGINS, _LINE_ENDS, reach=24),
    VerdictForm("line", Strength.ANNOUNCED, _LISTED_LINE_BEGINS, _LINE_ENDS, reach=24),
)
_FORMS: Final = (
    *_LINES,
    VerdictForm("marked", Strength.DECLARED, _MARKED, reach=40),
    VerdictForm("labelled", Strength.DECLARED, _LABELLED, None, _is_own, reach=80),
    VerdictForm("final", Strength.DECLARED, _SENTENCE_BEGINS, _TEXT_ENDS, reach=12),
    VerdictForm("opening", Strength.CONCLUDED, _OPENS, _OPENING_ENDS, reach=40),
)
_FORMS_OF_PLAIN: Final = (
    *_FORMS[:4],
    VerdictForm("concluded", Strength.DECLARED, _CONCLUDED, _CLOSES),
    VerdictForm("said", Strength.DECLARED, _SAID, None, _is_sure),
    VerdictForm("criterion", Strength.ANNOUNCED, _CRITERION, _CLOSES, _is_criterion),
    VerdictForm("final", Strength.DECLARED, _LAST, _TEXT_ENDS, _is_last),
    VerdictForm("opening", Strength.CONCLUDED, _OPENS, _NO_QUESTION, reach=40),
    VerdictForm("labelled", Strength.MENTIONED, _ANSWER_IS, None, _is_answer),
)
"""The forms in which a word is a verdict, and those in which a plain yes or no is one."""


def _formal(reply: JudgeReply, candidates: Sequence[Candidate], best: Candidate) -> Verdict:
    """The strongest of several; verdicts on single criteria must agree, in a reply that was not cut off."""
    if best.strength != Strength.ANNOUNCED:
        lines = [candidate for candidate in candidates if candidate.source == "line"]
        if len({candidate.value for candidate in lines}) > 1 and _is_all(reply.text, lines):
            return reply.ambiguous()
        return _verdict(reply, best)
    return reply.nothing() if reply.finish == "length" else _agreed(reply, best, candidates)


def _is_all(text: str, lines: Sequence[Candidate]) -> bool:
    """Whether the reply holds nothing but these lines."""
    for line in reversed(lines):
        text = text[: line.start] + text[line.end :]
    return not re.search(r"[^\W\d_]", text)


def _agreed(reply: JudgeReply, best: Candidate, candidates: Sequence[Candidate]) -> Verdict:
    """The verdict of the best, if all of its kind say the same."""
    labels = {candidate.value for candidate in candidates if candidate.strength == best.strength}
    return reply.ambiguous() if len(labels) > 1 else _verdict(reply, best)


def _verdict(reply: JudgeReply, candidate: Candidate) -> Verdict:
    if candidate.value in VALUES:
        return reply.scored(candidate, VALUES[candidate.value])
    return reply.ambiguous(candidate, "partial" if candidate.value == "partial" else "")


def _stated(reply: JudgeReply, matches: Sequence[re.Match[str]]) -> Iterator[Candidate]:
    """The verdicts of whole sentences; conditions and questions give none."""
    text = reply.text
    for match in matches:
        lead = _SUBJECT.search(text, max(0, match.start() - 2 * _REACH), match.start())
        if lead and not _SUPPOSES.search(lead.group()) and not _is_conditional(text, lead.start(), match.end()):
            label = _label(match)
            if lead["nt"]:
                label = {"yes": "no", "no": "yes"}.get(label, label)
            if pattern("yes_no", "withheld").search(_sentence(text, match.start())):
                if label == "no":
                    continue  # nothing is wrong, which does not say that all is right
                label = "no" if label == "yes" else label
            yield Candidate(label, *match.span(), Strength.MENTIONED, "statement", (lead.start(), match.end()))
    for match in islice(_SUPPORTS.finditer(text), _MOST_WORDS):
        if not _is_conditional(text, match.start(), match.end()):
            label, group = ("no", "none") if match["none"] else ("no" if match["denies"] else "yes", "supports")
            yield Candidate(label, *match.span(group), Strength.MENTIONED, "statement", match.span())


def _is_conditional(text: str, start: int, end: int) -> bool:
    sentence = _sentence(text, start) + text[start : start + 2]
    return text[end : end + 1] == "?" or pattern("yes_no", "condition").search(sentence) is not None


def _sentence(text: str, start: int) -> str:
    """The text before `start` in its sentence."""
    begin = max(text.rfind(mark, max(0, start - _SENTENCE), start) for mark in ".;\n。") + 1
    return text[max(begin, start - _SENTENCE) : start]
