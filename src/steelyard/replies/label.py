"""Reads which of given labels a reply gives: letters, or words such as "excellent" and 部分正确.

Of labels that contain each other the longest is read, and one that the reply denies or weakens ("not correct",
"partially correct" where only "correct" is a label) is not read at all. Where expected answers choose among a few
labels (`closed_set`), an answer that names several of them, or hedges, is none: "Yes and no." is not "yes".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from steelyard.replies.clean import PICTURES, fold
from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import FLAGS, pattern, source, words
from steelyard.replies.jsonlike import plain_key
from steelyard.replies.judge_reply import JudgeReply, Verdict, VerdictForm, at_both_ends, decide_last, open_judge_reply

_WRAP: Final = (
    r"[\s\"'(\[{<$]{0,6}(?:(?:an?|the|(?:an? |the )?(?:option|choice|label|level|grade|class|category)|选项|等级"
    r"|级别|类别)\s?)?[\"'(\[{<]{0,3}"
)
_MARK: Final = (
    r"(?:\[\[|【|\\(?:boxed|fbox)\s{0,2}\{\s{0,8}\{?|<(?:final_)?(?:label|verdict|answer|result|grade|category|rating|choice)>"
    r"|\[RESULT\]:?)\s{0,6}[(\"']?"
)
_MARK_ENDS: Final = re.compile(r"[)\"']?\s{0,6}(?:\]\]?|\}|】|<|\n|\Z|[.。])")
_HEADING: Final = (
    r"^[\s(\[{\"'>.|_~-]{0,12}(?!\S{0,20}\b(?:reference|expert|expected|gold|true|correct|submitted|candidate|student)"
    r"|标准|参考)[A-Za-z\u4e00-\u9fff][^:=\n]{0,30}[:=]\s{0,4}"
)
_LINE: Final = r"^[\s>(\[{\"'.|_~-]{0,12}(?:option |choice |选项)?"
_ENDS: Final = re.compile(r"[\s.!。)\]}\"'|;,_~]{0,12}\Z")
_LINE_ENDS: Final = re.compile(r"[\s.!。)\]}\"'|;,_~-]{0,12}$", re.MULTILINE)
_OPENING: Final = re.compile(
    r"[\s(\[{\"'<$|>.-]{0,10}(?:1[.)]\s{1,3}|(?:definitely|clearly|certainly|absolutely|probably|(?:most )?likely) )?"
    r"(?:option |choice |class |category |level |grade |选项)?\Z",
    FLAGS,
)
_QUOTES: Final = "「」『』《》«»"
_COPULA: Final = r"(?:です|である|だ|입니다|이다|이에요|예요)(?=[\s.。!]|\Z)"
"""Behind a label in Japanese and Korean, where a denial would stand: `肯定的です。`, not `肯定的ではない`."""
_OPENING_ENDS: Final = re.compile(
    rf"['\"\])]{{0,2}}\s{{0,4}}(?:{_COPULA}|[.,;:!。\n(—–]|-\s"
    r"|(?:because|since|priority|sentiment|severity|urgency|risk)\b|\Z)|[)\]]",
    FLAGS,
)
_STATED_ENDS: Final = re.compile(
    rf"['\")\]}}>。]{{0,3}}\s{{0,5}}(?:{_COPULA}|と(?:判断|分類|評価)し(?:ます|ました|た)(?=[\s.。!]|\Z)"
    r"|(?:review|comment|tweet|message|text|statement|评论|评价|情感|态度|情绪)(?=\s?[.,;!。\n]|\Z)|[.,;:!?。、)\]}\"'\n<—–(]|\Z|(?:because|since|as|based|in|with|and|but|overall|here"
    r"|to (?:the|this|its?|that)|for|by|priority|sentiment|severity|urgency|risk|issue|ticket|team|rather|answer"
    r"|response|quality|category|level|due|is)\b|-\s|[的因级等档类])",
    FLAGS,
)
_OR: Final = (
    r"['\"\])]{0,2}\s{0,2}(?:/|\||,?\s?\bor\b|或者?|还是|[,、](?=[^.\n]{1,80}(?:\bor\b|或|还是)))\s{0,2}['\"\[(]{0,2}"
)
_LISTED: Final = re.compile(
    r"[\"'`*\])]{0,3}\s{0,2}(?:[,、/|]\s{0,2}(?:or|and)?|\bor\b|\band\b|或|和)\s{0,2}[\"'`*\[(]{0,3}", FLAGS
)
_NAMED_AGAIN: Final = re.compile(rf"{_OR}\w{{1,12}}\s?[:=]\s{{0,3}}[\"'(\[]{{0,2}}", FLAGS)
_CLAUSE: Final = re.compile(r"(?<=[.!?;])\s|[。\n;]|, ?but\s|,但")
_TIERS: Final = tuple(
    tuple(map(plain_key, words(name))) for name in ("verdict_final_key", "label_key", "label_other_key")
)
_JOINT: Final = re.compile(r"(?<=[^\W_])[\s_-]{1,4}(?=[^\W_])")
_FORMULA: Final = re.compile(r"\${1,2}\s?([^\s$][^$\n]{0,80}?)\s?\${1,2}|\\\(\s?([^\n]{1,80}?)\s?\\\)")
"""A short text as mathematics, `$B$` or `\\(B\\)`, which models write for emphasis."""
_SMALL_LETTER: Final = re.compile(r"(?:(?<=[:=]\s)|(?<=\bis\s))[a-z](?=[.!]?\s*$)", re.MULTILINE)
"""Where a small letter that ends a line is given as an answer, and is no word."""
_PLAIN_WITHIN: Final = 10_000
"""Characters at the end of a reply in which both are looked for: it is where longer replies give their answer."""
_MARKS: Final = re.compile(r"\[\[|【|boxed|<[a-z]|\[RESULT\]")
_SUPPOSABLE: Final = frozenset({"labelled", "named", "sentence"})
"""Forms that a condition in front of them takes back."""
_TOP_BEFORE: Final = re.compile(
    r"(?:满分|最高|最多|上限)(?:分[数值]?)?(?:为|是|:)?\s?\Z"
    r"|\bout of (?:an? )?(?:(?:possible|total|max(?:imum)?) )?(?:of )?\Z"
    r"|\bmax(?:imum|\.)?(?: (?:score|points?|rating|mark))?(?: (?:is|of)|:)?\s\Z"
    r"|\bscale (?:of|from \d{1,3} to|\d{1,3}\s?-)\s\Z",
    FLAGS,
)
_TOP_BEHIND: Final = re.compile(r"\s?(?:分?\s?(?:制|满分)|점?\s?만점|点?満点)")
"""Around a number: it is the top of the scale, and says nothing of the answer."""
_FIRST_LINE: Final = frozenset({"line", "labelled", "named", "opening"})
"""Forms in which a line gives a label and nothing else."""
_MOST: Final = 25
"""Of very many labels so many of the first and of the last are looked at."""
_REACH, _WEAKENED_WITHIN, _SUPPOSED_WITHIN, _CONCLUDED_WITHIN = 90, 24, 120, 60


def read_label(text: str, labels: Sequence[str], *, finish: str = "stop") -> Verdict:
    """Read which of `labels` the judge gives; the verdict's `label` is written as in `labels`, its value is None.

    Args:
        text: any text.
        labels: what was asked for; case and width make no difference in the reply, but a single letter is only read as
            a capital, unless it is in brackets or is given at the end of a line, as in "Answer: b".
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
    by_plain_label = _known(tuple(labels))
    tokens = _tokens(tuple(by_plain_label))
    plain = _plain(text, tokens, cut_off=finish == "length")
    for sign in _QUOTES:  # `translate` takes forty times as long on a text that is not ASCII
        plain = plain.replace(sign, '"')
    reply = open_judge_reply(plain, finish, pictures=any(map(PICTURES.search, labels)))
    candidates = [*_in_objects(reply, tokens), *_in_text(reply, tokens)]
    if not candidates:
        return reply.nothing()
    best = decide_last(candidates, reply.text) or candidates[-1]
    values = {candidate.value for candidate in candidates if candidate.strength is best.strength}
    if len(values) > 1 and best.strength in {Strength.ANNOUNCED, Strength.MENTIONED}:
        return reply.ambiguous()
    if not best.value or _contradicts_first_line(best, candidates, reply.text):
        return reply.ambiguous(best)
    return reply.scored(replace(best, value=by_plain_label[best.value]), None)


def _plain(text: str, tokens: _Tokens, *, cut_off: bool) -> str:
    """A reply whose end has no signs of mathematics around short texts, and its answer as a capital letter."""
    begin = max(0, len(text) - _PLAIN_WITHIN)
    end = text[begin:]
    if not tokens.have_signs:
        end = _FORMULA.sub(lambda match: match[1] or match[2], end).replace("\\_", "_")
    if tokens.are_letters and not cut_off:  # of a reply that was cut off, the last letter may begin a word
        end = _SMALL_LETTER.sub(lambda match: match[0].upper(), end)
    return text[:begin] + end


def plain_label(label: str) -> str:
    """A label as it is compared: `partially_correct` is `partially correct`, `A-` is not `A`."""
    return _JOINT.sub(" ", " ".join(fold(label).split()).casefold())


def _known(labels: tuple[str, ...]) -> dict[str, str]:
    by_plain_label = {plain_label(label): label for label in labels}
    if not by_plain_label or "" in by_plain_label or len(by_plain_label) < len(labels):
        raise ValueError(f"labels differ from each other and are not blank: {list(labels)!r}")
    return by_plain_label


class _Tokens(NamedTuple):
    """What finds the labels in a reply.

    Args:
        token: a label as a whole word; one letter as a capital, or in brackets.
        loose: any label, as a mark or a JSON value has it.
        offered: behind a label: another one is offered next to it, and both are of several parts.
        second: before a label: it is the second of two that are offered.
        are_letters: whether they are single letters.
        have_signs: whether a sign of mathematics is in one of them.
    """

    token: re.Pattern[str]
    loose: re.Pattern[str]
    offered: re.Pattern[str]
    second: re.Pattern[str]
    are_letters: bool
    have_signs: bool


@lru_cache(maxsize=32)
def _tokens(labels: tuple[str, ...]) -> _Tokens:
    longest = sorted(labels, key=len, reverse=True)
    loose = "(?:" + "|".join(r"[\s_-]{1,4}".join(map(re.escape, label.split())) for label in longest) + ")"
    parts = rf"{_OR}{loose}|\s(?:in|on|for)\s[^.;\n]{{1,40}}?\b(?:and|but)\b[^.;\n]{{0,12}}?\b{loose}"
    token = "(?P<label>" + "|".join(map(_whole, longest)) + ")"
    are_letters = len(longest[0]) == 1
    if are_letters and "a" in labels:
        token = rf"(?-i:(?<!\bA\s)){token}"  # `A B` are two letters, and no article
    named = f"(?P<label>{loose})"
    if len(labels) > 2 and all(label.isascii() and label.isdigit() for label in labels):  # not of `0/1`, which are two
        named += _number_behind(max(labels, key=int))
        token = rf"(?<![A-Za-z0-9.-]){named}(?![A-Za-z0-9-]|\.\d)"
    second = rf"{loose}{_OR}\Z"
    whole_word, anywhere, offered, before = (re.compile(part, FLAGS) for part in (token, named, parts, second))
    return _Tokens(whole_word, anywhere, offered, before, are_letters, any(set("$\\") & set(label) for label in labels))


def _number_behind(highest: str) -> str:
    """What may follow a label that is a number: `4.0`, `4/5`, `4 out of 5`, `4 stars`, `4分`."""
    out_of = rf"\s?(?:/|\b(?:out )?of\b)\s?{highest}(?:\.0)?"
    return rf"(?:\.0{{1,2}})?(?:{out_of})?(?:[\s-]?(?:stars?|points?|[星分]))?(?:{out_of})?"


def _whole(label: str) -> str:
    if len(label) == 1 and label.isascii() and label.isalpha():
        return rf"(?-i:(?<![A-Za-z0-9'’])(?:{label.upper()}|(?<=[(\[]){label}(?=[)\]]))(?![A-Za-z0-9'’]))"
    before = r"(?<![A-Za-z0-9.-])" if label[0].isascii() else ""
    after = r"(?![A-Za-z0-9-]|\.\d)" if label[-1].isascii() else ""
    return before + r"[\s_-]{1,4}".join(map(re.escape, label.split())) + after


def _in_objects(reply: JudgeReply, tokens: _Tokens) -> Iterator[Candidate]:
    def said(_key: str, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        text = fold(str(value)).strip()
        match = tokens.loose.fullmatch(text) or tokens.loose.fullmatch(text.strip(" \n\t\"'([.!。])"))
        return plain_label(match["label"]) if match else ""

    return reply.in_objects(_TIERS, said)


@cache
def _forms() -> tuple[VerdictForm, ...]:
    """The ways to give a label, the plainest first."""

    def form(name: str, strength: Strength, lead: str, behind: re.Pattern[str]) -> VerdictForm:
        return VerdictForm(name, strength, re.compile(lead + r"\Z", FLAGS), behind, reach=_REACH)

    kinds = {kind: source("label", kind) + _WRAP for kind in ("noun", "be", "led")}
    return (
        form("marked", Strength.DECLARED, _MARK, _MARK_ENDS),
        form("labelled", Strength.DECLARED, kinds["noun"], _STATED_ENDS),
        form("line", Strength.DECLARED, _LINE, _LINE_ENDS),
        form("concluded", Strength.DECLARED, kinds["led"], _LINE_ENDS),
        form("final", Strength.DECLARED, rf"(?:[.!?;。]\s{{1,3}}|[。→]|[-=]>){_WRAP}", _ENDS),
        form("named", Strength.ANNOUNCED, _HEADING + _WRAP, _LINE_ENDS),
        form("sentence", Strength.MENTIONED, rf"{kinds['be']}(?:\w{{2,14}}ly )??", _STATED_ENDS),
        form("sentence", Strength.MENTIONED, rf":\s{{0,3}}{_WRAP}", _ENDS),
    )


def _in_text(reply: JudgeReply, tokens: _Tokens) -> Iterator[Candidate]:
    """What the reply gives in words; one that begins with a label and goes through the others gives none by that."""
    text = reply.text
    label_matches = _not_offered(at_both_ends(tokens.token, text, _MOST), text)
    label_matches = [match for match in label_matches if not _is_aside(text, match) and not _is_top(text, match)]
    marked = at_both_ends(tokens.loose, text, _MOST) if _MARKS.search(text) else []
    opened = [match for match in label_matches if _opens(text, match)]
    if opened and opened[0].start() < _REACH and len({plain_label(match["label"]) for match in opened}) == 1:
        start, end = opened[0].span()
        if _OPENING.match(text, 0, start) and not tokens.offered.match(text, end):
            yield Candidate(plain_label(opened[0]["label"]), start, end, Strength.CONCLUDED, "opening", (0, end))
    for matches, forms in ((marked, _forms()[:1]), (label_matches, _forms()[1:])):
        for match in matches:
            candidate = _stated(text, match, forms, tokens)
            if candidate is not None:
                yield candidate


def _not_offered(matches: Sequence[re.Match[str]], text: str) -> list[re.Match[str]]:
    """The labels without those that are named as ones to choose from: `GRADE: C or GRADE: I`."""
    joined = {
        match.start()
        for pair in pairwise(matches)
        if plain_label(pair[0]["label"]) != plain_label(pair[1]["label"])
        and _NAMED_AGAIN.fullmatch(text, pair[0].end(), pair[1].start())
        for match in pair
    }
    return [match for match in matches if match.start() not in joined | _enumerated(matches, text)]


def _enumerated(matches: Sequence[re.Match[str]], text: str) -> set[int]:
    """Where labels stand of which three or more are in a row, as they may be chosen: `bug, billing or account`."""
    rows: list[list[re.Match[str]]] = []
    for match in matches:
        if rows and _LISTED.fullmatch(text, rows[-1][-1].end(), match.start()):
            rows[-1].append(match)
        else:
            rows.append([match])
    several = [row for row in rows if len({plain_label(match["label"]) for match in row}) > 2]
    return {match.start() for row in several for match in row}


def _is_aside(text: str, match: re.Match[str]) -> bool:
    """Whether a label is asked about, denied (`Toxic: no`), or under a heading of another one (`Second label: ...`)."""
    start = max(0, match.start() - _REACH)
    return (
        pattern("label", "denied_behind").match(text, match.end()) is not None
        or pattern("label", "other_heading").search(text, start, match.start()) is not None
    )


def _is_top(text: str, match: re.Match[str]) -> bool:
    """Whether a label is a number that only says how high the scale goes: `满分5分，给4分`."""
    if not match["label"].isdigit():
        return False
    if _TOP_BEHIND.match(text, match.end("label")):
        return True
    return _TOP_BEFORE.search(text, max(0, match.start() - _WEAKENED_WITHIN), match.start()) is not None


def _contradicts_first_line(best: Candidate, candidates: Sequence[Candidate], text: str) -> bool:
    """Whether the first line gives another label as its answer, and nothing says that it was corrected.

    Models that are not stopped go on with an example of their own, `positive`, then `Text: ...`, `Sentiment: negative`.
    """
    line_end = text.find("\n")
    first = [candidate for candidate in candidates if candidate.end <= line_end and candidate.source in _FIRST_LINE]
    if best.source not in _FIRST_LINE or best.start <= line_end or not first or first[0].value == best.value:
        return False
    return pattern("label", "corrected").search(text, line_end, best.start) is None


def _opens(text: str, match: re.Match[str]) -> bool:
    """Whether a label begins the reply or a line of it, and goes on as one."""
    start = text.rfind("\n", 0, match.start()) + 1
    return (
        match.start() - start < _REACH
        and _OPENING.match(text, start, match.start()) is not None
        and _OPENING_ENDS.match(text, match.end()) is not None
    )


def _stated(text: str, match: re.Match[str], forms: Sequence[VerdictForm], tokens: _Tokens) -> Candidate | None:
    """The plainest form in which a label is given; None where it is denied, weakened or only supposed."""
    start, end = match.span()
    if pattern("label", "weakened").search(text, max(0, start - _WEAKENED_WITHIN), start):
        return None
    if tokens.second.search(text, max(0, start - _WEAKENED_WITHIN), start):
        return None
    clause = _CLAUSE.split(text[max(0, start - _SUPPOSED_WITHIN) : start])[-1]
    supposed = pattern("label", "supposed").search(clause) is not None
    offered = tokens.offered.match(text, end) is not None
    for form in forms:
        if (supposed and form.name in _SUPPOSABLE) or (offered and form.name in {"labelled", "sentence"}):
            continue
        if form.name == "named" and tokens.are_letters:
            continue
        candidate = form.candidate(text, start, end, plain_label(match["label"]))
        if candidate is not None:
            concludes = pattern("label", "concluding").search(text, max(0, start - _CONCLUDED_WITHIN), start)
            if form.name == "sentence" and concludes:
                return replace(candidate, strength=Strength.DECLARED, source="concluded")
            return candidate
    return None


_FEWEST, _MOST_LABELS, _LONGEST, _ROWS_EACH = 2, 20, 40, 3
_BESIDE: Final = 32
"""Characters that may stand beside each label of a list, and in front of the first."""
_END: Final = 20_000
"""Characters at the end of a reply in which a hedge is looked for."""
_SEPARATORS: Final = re.compile(r"\s{0,3}(?:[,;/|+&、，；\n]|\band\b|\bor\b|\bbut\b|和|或|与)\s{0,3}", re.IGNORECASE)
_LEAD: Final = re.compile(r"\A[^:=\n]{1,30}[:=]\s{0,3}")
_AROUND: Final = " .!\"'*`()[]"
_NUMBER: Final = re.compile(r"\A\s{0,3}(?:\d{1,2}[.)]|[-•])\s{1,3}")
"""In front of an entry of a list."""
_ALSO: Final = re.compile(
    r"\b(?:could|might|may|can)\s(?:also|equally|just as well|as well)\s(?:be|fit|count|go)|也可能是|也可以是",
    re.IGNORECASE,
)

_LABEL_ENDS: Final = re.compile(
    r"[\"'*)]{0,3}(?:\s(?:priority|sentiment|severity|urgency|risk|issue|ticket|category|level|team)\b)?"
    rf"[\"'*)]{{0,3}}\s{{0,2}}(?:[.,;!。，\n)]|\Z|{_COPULA})",
    FLAGS,
)


def closed_set(references: Iterable[Any]) -> tuple[str, ...]:
    """The labels among which expected outputs choose, in order of first appearance; empty where they are free texts.

    They are 2 to 20 different texts of 40 characters at most, each expected three times or more.

    >>> closed_set(["yes", "no"] * 3), closed_set(["Paris", "Rome"])
    (('yes', 'no'), ())
    """
    counts: Counter[str] = Counter()
    for reference in references:
        if not isinstance(reference, str) or not reference.strip() or len(reference) > _LONGEST:
            return ()
        counts[reference.strip()] += 1
    few = _FEWEST <= len(counts) <= _MOST_LABELS and len(set(map(plain_label, counts))) == len(counts)
    return tuple(counts) if few and min(counts.values()) >= _ROWS_EACH else ()


def read_one(text: str, labels: Sequence[str], finish: str = "") -> tuple[str, str, str]:
    """The label that a reply gives, else "" with the kind of the reply and a reason.

    >>> read_one("billing or bug", ("billing", "bug"))[:2], read_one("Bug.", ("billing", "bug"))[0]
    (('', 'several'), 'bug')
    """
    bare = text.strip(_AROUND)
    if len(bare) <= _BESIDE + max(map(len, labels), default=0):
        alone = _known(tuple(labels)).get(plain_label(bare))
        if alone:  # also a small letter, which is a word elsewhere
            return alone, "", ""
    verdict = read_label(text, labels, finish=finish or "stop")
    if _names_several(text.strip(), labels):
        return "", "several", "the reply gives several labels"
    if not verdict.label:
        return "", verdict.kind or verdict.outcome, verdict.reason or "no label is given as the answer"
    said = open_judge_reply(text, finish or "stop").text[-_END:]  # without what was thought
    if _ALSO.search(said):
        return "", "ambiguous", "the reply says that it could also be another label"
    if _replaced(said, labels, verdict.label):
        return "", "ambiguous", "the reply takes its label back for another one"
    return verdict.label, "", ""


def _replaced(text: str, labels: Sequence[str], label: str) -> bool:
    """Whether the last correction ends with another label than the one that was read: `bug, wait, billing`."""
    said = [
        plain_label(match["label"])
        for match in at_both_ends(_tokens(tuple(_known(tuple(labels)))).token, text, _MOST)
        if _LABEL_ENDS.match(text, match.end())
        and pattern("label", "replacing").search(text, max(0, match.start() - _CONCLUDED_WITHIN), match.start())
    ]
    return bool(said) and said[-1] != plain_label(label)


def _names_several(text: str, labels: Sequence[str]) -> bool:
    """Whether a reply is a list of labels and nothing else; a longer text than all of them is none."""
    if len(text) > _BESIDE + sum(len(label) + _BESIDE for label in labels):
        return False
    listed = _LEAD.sub("", text)
    if _tokens(tuple(_known(tuple(labels)))).loose.fullmatch(listed.strip(_AROUND)):
        return False  # `4/5`
    entries = [_NUMBER.sub("", part) for part in _SEPARATORS.split(listed)]
    parts = {plain_label(entry.strip(_AROUND)) for entry in entries} - {""}
    return len(parts) > 1 and parts <= {plain_label(label) for label in labels}
