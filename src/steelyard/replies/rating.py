"""Reads the rating that a judge gives on a stated scale.

Each number of the reply may be the rating: its label, the words of its sentence and its position show how plainly it is
given and what it rates. What was asked for comes before other aspects; then the plainest statement counts, as in every
reader. Whatever is left in doubt is ambiguous, and a number outside the scale is never moved into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Final

from steelyard.replies.citations import without_citations
from steelyard.replies.evidence import Candidate, Strength, decide, phrases
from steelyard.replies.grammar import FLAGS, pattern, words
from steelyard.replies.jsonlike import JsonValue, plain_key
from steelyard.replies.judge_reply import JudgeReply, Kind, Scale, Verdict, open_judge_reply
from steelyard.replies.rating_forms import (
    Aspects,
    RatingPage,
    StatedRating,
    Subject,
    aspects_of,
    rating_of,
    rating_page,
)
from steelyard.replies.rating_numbers import RatingNumber, numbers, unmarked

_LONGEST_VALUE: Final = 40
_QUOTED: Final = 12
"""Characters of a quotation that may be a rating: "4 out of 5"; a longer one is somebody's words."""
_BARE: Final = re.compile(
    r"\s{0,9}+(?:[-*]\s)?(?:(?P<label>[A-Za-z]{3,20})\s?[:=]\s{0,3})?(?P<number>\d{1,3}(?:\.\d{1,2})?)"
    r"(?:\s?(?:/|out of)\s?(?P<top>\d{1,3}))?\.?\s{0,9}+",
    re.ASCII,
)
"""Nothing but a number and its label: most replies to a prompt that asks for scores only."""
_MATHS: Final = re.compile(r"\$(\d{1,3}(?:\.\d{1,2})?(?:\s?/\s?\d{1,3})?)\$")
_NO_KEY: Final = re.compile(
    r"max|min|scale|outof|range|totalpossible|满分|reason|explanation|threshold|confidence|id$|index|count|number|year"
    r"|reference"
)
_PLACED: Final = frozenset({"counted", "leading", "last"})
"""Forms in which one star is an ornament: `Great answer! 🌟`."""
_LABEL_WITHIN: Final = 40
_JOINED: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_BESIDE: Final = re.compile(r"[\s\])}*_.\d•-]{0,9}(?:or|/|to)?[\s\[({*_•-]{0,9}", re.IGNORECASE)
"""Between two ratings of which none is chosen: "[[6]] or [[7]]", and "Rating: 4" above "Rating: 2"."""
_NOT_GIVEN: Final = re.compile(
    r"[:=]\s{0,3}(?:n/?a\b|none\b|not (?:applicable|given|rated)|unknown\b|无|不适用)", FLAGS
)
"""Behind its label: what was asked for and is not given: "Coherence: N/A"."""


def read_rating(text: str, scale: Scale, *, name: str = "", finish: str = "stop") -> Verdict:
    """Read the rating that a judge gives on `scale`.

    Args:
        text: any text.
        scale: what was asked for; a number outside it is never moved into it.
        name: the aspect that was asked for, as in the prompt; tells its rating from those of other aspects.
        finish: why the model stopped; "length" tells a reply that was cut off from one without a rating.

    >>> read_rating("Coherence: 4", Scale(1, 5), name="Coherence").value
    4.0
    >>> read_rating("8/10", Scale(1, 5)).kind
    'out_of_scale'
    """
    if finish != "length" and (bare := _BARE.fullmatch(text)) and (verdict := _bare(bare, scale, name)):
        return verdict
    reply = open_judge_reply(text, finish, quoted=_QUOTED)
    plain_text = _MATHS.sub(r" \1 ", reply.text) if "$" in reply.text else reply.text
    plain_text = without_citations(plain_text)
    page = rating_page(plain_text.replace("\\n", " \n"), scale, aspects_of(name))
    decided = decide_rating([*_in_json(reply, page.aspects), *_in_text(reply, page)], page)
    if isinstance(decided, Candidate):
        return _verdict(decided, reply, scale)
    if decided == "none" and is_refusal(page.text):
        return Verdict("refused", reason=text.strip())
    if decided == "none" and (finish == "length" or reply.unfinished):
        decided = "truncated"
    elif decided == "none" and not page.text.strip() and not reply.objects:
        decided = "empty"
    return Verdict("unparsed", kind=decided, reason=text.strip())


def _bare(match: re.Match[str], scale: Scale, name: str) -> Verdict | None:
    """The verdict of a reply that is nothing but a number and perhaps its label; None needs a closer look."""
    label, number, top = match.group("label", "number", "top")
    if label and label.lower() not in {"score", "rating", name.lower()}:
        return None
    if float(number) not in scale or (top and float(top) != scale.high):
        return None
    return Verdict("scored", float(number), span=match.span("number"), form="labelled" if label else "alone")


def is_refusal(folded: str) -> bool:
    """Whether a reply without a rating says that the judge cannot or will not give one.

    >>> is_refusal("I'm sorry, but I cannot evaluate this summary."), is_refusal("The summary is poor.")
    (True, False)
    """
    if pattern("rating", "refusal").search(folded) is None:
        return False
    return pattern("rating", "no_refusal").search(folded) is None


# What may be the rating.


def _entries(value: JsonValue, path: tuple[str, ...] = (), last: str = "") -> Iterator[tuple[str, str, JsonValue]]:
    """The plain values of an object, each with the keys that lead to it and the last of these.

    The names that objects give themselves are among the keys; a value in a list has the key of the list.
    """
    names = words("aspect_key")
    object_names = [str(item.value)[:60] for key, item in value.items if key.lower() in names and item.kind == "text"]
    inner = (*path, *object_names[:1])
    for key, item in value.items:
        if item.kind in {"object", "list"}:
            yield from _entries(item, (*inner, key) if key else inner, key or last)
        else:
            yield _JOINED.sub(" ", " ".join((*inner, key or last))), _JOINED.sub(" ", key or last), item


@cache
def _rating_key() -> re.Pattern[str]:
    keys = "|".join(words("rating_key"))
    return re.compile(
        rf"(?:^|[_\s])(?:overall|final|total)?_?(?:{keys})$|(?:评分|得分|分数|打分|总分|评级|等级|评价|结果)", FLAGS
    )


def _in_json(reply: JudgeReply, aspects: Aspects) -> Iterator[Candidate]:
    """The values whose key is that of a rating or of an aspect."""
    for json_object in reply.objects:
        for path, key, item in _entries(json_object):
            if not (_rating_key().search(key) or aspects.asked(path) or aspects.others(key)):
                continue
            if isinstance(item.value, bool) or (_NO_KEY.search(plain_key(key)) and not aspects.asked(key)):
                continue
            number = _number_in(str(item.value), is_text=item.kind == "text")
            if number is not None:
                start, begin, end = (
                    offset - reply.page.offset for offset in (item.start, json_object.start, json_object.end)
                )
                value = StatedRating(number, *aspects.of_label(path))
                yield Candidate(value, start, start + number.stop, Strength.STRUCTURED, "json", (begin, end))


def _number_in(written: str, *, is_text: bool) -> RatingNumber | None:
    """The number with which a value in JSON begins, if it is one: "4 out of 5", "four", but no sentence."""
    parsed = numbers(written)
    if not parsed or parsed[0].start > 0 or (parsed[0].written == "word" and len(written) > _LONGEST_VALUE):
        return None
    return None if is_text and written[parsed[0].end :].strip(" )")[:1].isalnum() else parsed[0]


def _in_text(reply: JudgeReply, page: RatingPage) -> Iterator[Candidate]:
    """The ratings that the reply states outside of JSON."""
    stated = unmarked(page.text, cut=reply.finish == "length") if page.text.strip("` \n") else ()
    has_names = "#" in reply.reply  # "Response #2" names a thing; cleaning takes the sign away, as it takes headings
    for number in stated:
        if has_names and reply.reply[: reply.span(number.start, number.stop)[0]].endswith("#"):
            continue
        if number.bounds and sorted(number.bounds) == [page.scale.low, page.scale.high]:
            continue  # the scale itself
        candidate = rating_of(page, number, lone=len(stated) == 1)
        if candidate and not (number.is_one_star and candidate.source in _PLACED):
            yield candidate


# Which of them is the rating.


def decide_rating(candidates: Sequence[Candidate], page: RatingPage) -> Candidate | Kind:
    """The candidate that counts, or why there is none: "ambiguous" or "none"."""
    candidates = _answered(candidates, page.text)
    pool = [candidate for candidate in candidates if candidate.value.subject is not Subject.OTHER]
    if not pool:
        return "none" if _is_withheld(page) else _of_others(candidates)
    if len(pool) == 1:
        return pool[0]
    ranked = sorted(
        (replace(candidate, rank=_rank(candidate, page)) for candidate in pool), key=lambda candidate: candidate.start
    )
    decided = decide(ranked, page.text)
    pairs = [pair for pair in pairwise(ranked) if decided in pair]
    return "ambiguous" if decided is None or any(_are_alternatives(*pair, page.text) for pair in pairs) else decided


def _rank(candidate: Candidate, page: RatingPage) -> int:
    """What was asked for counts before the whole, then a number on the scale, then one that is called final."""
    is_asked = candidate.value.subject is Subject.ASKED
    return 4 * is_asked + 2 * is_inside(candidate.value.number, page.scale) + int(candidate.value.final)


def _is_withheld(page: RatingPage) -> bool:
    """Whether the reply names what was asked for, and gives no rating of it."""
    labels = (
        page.text[max(0, match.start() - _LABEL_WITHIN) : match.start()] for match in _NOT_GIVEN.finditer(page.text)
    )
    return any(page.aspects.asked(label.rpartition("\n")[2]) for label in labels)


def is_inside(number: RatingNumber, scale: Scale) -> bool:
    """Whether a number can be a rating on the scale; a range can, as it means one of its numbers."""
    if number.value is None:
        return True
    if number.unit in {"%", "percent"} and scale.high != 100:
        return False
    return number.value in scale and number.top in {None, scale.high}


def _answered(candidates: Sequence[Candidate], text: str) -> Sequence[Candidate]:
    """Without what belongs to the prompt where the reply repeats it before its answer."""
    echoes = [match.start() for match in phrases("rating", "echo", text)] if candidates else []
    if not echoes:
        return candidates
    first = min(candidate.start for candidate in candidates)
    if first < echoes[0] and not text[:first].strip(" \t\n-*"):
        return [candidate for candidate in candidates if candidate.start < echoes[0]]
    return [candidate for candidate in candidates if candidate.start >= echoes[-1]]


def _of_others(candidates: Sequence[Candidate]) -> Candidate | Kind:
    """A single rating of one thing is taken for the one that was asked for; of several none is."""
    top = max((candidate.strength for candidate in candidates), default=None)
    strongest = [candidate for candidate in candidates if candidate.strength is top]
    if len({(candidate.value.other, candidate.value.number.value) for candidate in strongest}) > 1:
        return "ambiguous"
    return strongest[0] if strongest else "none"


def _are_alternatives(first: Candidate, second: Candidate, text: str) -> bool:
    """Whether two ratings of one form differ, are side by side, and none of them is called the final one."""
    same = first.value.number.value == second.value.number.value
    if same or first.source != second.source or first.value.final != second.value.final:
        return False
    if first.source == "json":
        return first.whole == second.whole
    begin = second.whole[0] if second.whole and second.whole[0] >= first.end else second.start
    return _BESIDE.fullmatch(text, first.end, begin) is not None


def _verdict(decided: Candidate, reply: JudgeReply, scale: Scale) -> Verdict:
    number = decided.value.number
    scored = reply.scored(decided, number.value)
    reason = reply.reply.strip() if decided.strength is Strength.ANNOUNCED else scored.reason
    last = scored.span is not None and scored.span[1] >= len(reply.reply.rstrip())
    kind: Kind = ""
    if number.value is None:
        kind = "ambiguous"
    elif reply.finish == "length" and last and number.written == "digits" and 0 < number.value * 10 <= scale.high:
        kind = "truncated"  # it may be the first digit of two
    elif not is_inside(number, scale):
        kind = "out_of_scale"
    if kind:
        return Verdict("unparsed", kind=kind, reason=reason)
    return replace(scored, label="", reason=reason)
