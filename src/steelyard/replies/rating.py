"""Reads the rating that a judge gives on a stated scale.

Each number of the reply may be the rating: what it is labelled as, the words of its sentence and its place say how
plainly it is given and what it rates. What was asked for comes before other aspects, plain statements before hints,
corrected and final ones before earlier ones; a reply that opens with its rating means that one. Whatever is left in
doubt is ambiguous, and a number outside the scale is never moved into it.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

from steelyard.replies.clean import CleanedReply, clean
from steelyard.replies.evidence import Candidate, Strength, phrases
from steelyard.replies.grammar import FLAGS, pattern, words
from steelyard.replies.jsonlike import JsonValue, json_objects, plain_key
from steelyard.replies.rating_aspects import Aspects, Subject, aspects_of
from steelyard.replies.rating_evidence import Around, RatingPage, StatedRating, around, rating_page
from steelyard.replies.rating_numbers import RatingNumber, numbers
from steelyard.replies.rating_places import placed, without_marks
from steelyard.replies.rating_sentences import marked, stated
from steelyard.replies.verdict import Kind, Scale, Verdict

_OPENS_WITHIN: Final = 90
_TAKEN_BACK_WITHIN: Final = 400
_LONGEST_VALUE: Final = 40
_SPOKEN: Final = re.compile(r"</?(?:reasoning|scratchpad)>", re.IGNORECASE)
"""Tags that prompts ask for; a verdict inside them counts where nothing stands outside."""
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
_REASON_KEY: Final = re.compile(
    r"reason|explanation|feedback|analysis|rationale|justification|comment|thought|理由|原因|解释|分析|说明|评语",
    re.IGNORECASE,
)
_JOINED: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_QUOTED: Final = re.compile(
    r"(?:(?<=[\s(,:\[—\u4e00-\u9fff])|^)\"(?=\S)[^\"]{2,1200}\"(?=[\s.,;:!?)\]—。\u4e00-\u9fff]|$)"
    r"|(?:(?<=[\s(,:\[])|^)'(?=\S)[^'\n]{2,400}'(?=[\s.,;:!?)\]。]|$)|「[^」]{2,400}」|^[ \t]*+>[^\n]*+",
    re.MULTILINE,
)
_SHORT_QUOTATION: Final = 40
_OR: Final = re.compile(r"[\s\])}*_]{0,6}(?:or|/|to|-)[\s\[({*_]{0,6}", re.IGNORECASE)
_UNFILLED: Final = re.compile(r"(?:\b[\w ]{2,30}|[\u4e00-\u9fff]{2,8})\s?(?:\([^()\n]{0,20}\)\s?)?:[\s\-_\[\]]*\Z")
_NOT_GIVEN: Final = re.compile(r"[:=]\s{0,3}(?:n/?a\b|none\b|not (?:applicable|given|rated)|unknown\b|无|不适用)")
"""Behind its label: what was asked for and is not given: "Coherence: N/A"."""
_LABEL_ENDS: Final = re.compile(r"[\w ]{3,40}\s?\Z")
_LABEL_WITHIN: Final = 41
_PREFACE: Final = re.compile(r"[.!?]\s+\S[^\n]{20,}|[。！？].{8,}")
_TRIMMED: Final = " \t\n\r:;,.|-–—*_`\"'{}[]()。，；："
_IN_SENTENCE: Final = frozenset({"verb", "noun", "article", "counted"})


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
    cleaned = clean(text)
    if not cleaned.text.strip() and any(tag in text for tag in ("</reasoning>", "</scratchpad>")):
        cleaned = clean(_SPOKEN.sub(lambda match: " " * len(match.group()), text))
    if not cleaned.text.strip():
        cut = cleaned.unfinished or finish == "length"
        return Verdict("unparsed", kind="truncated" if cut else "empty", reason=text.strip())
    page_text = _MATHS.sub(r" \1 ", cleaned.text) if "$" in cleaned.text else cleaned.text
    page = rating_page(page_text.replace("\\n", " \n"), scale, aspects_of(name))
    objects = json_objects(page.text) if "{" in page.text else ()
    names = partial(_is_name, text, cleaned) if "#" in text else None
    entries = [entry for found in objects for entry in _entries(found)]
    candidates = [*_in_json(entries, page.aspects), *_in_text(page, objects, names, cut=finish == "length")]
    decided = decide(candidates, page)
    if not isinstance(decided, str):
        return _verdict(decided, page, text, cleaned, finish, entries)
    if decided == "none" and is_refusal(page.text):
        return Verdict("refused", reason=text.strip())
    cut = decided == "none" and (finish == "length" or cleaned.unfinished)
    return Verdict("unparsed", kind="truncated" if cut else decided, reason=text.strip())


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


class RatingEntry(NamedTuple):
    """One plain value of a JSON object.

    Args:
        path: the keys that lead to it, outermost first, with the names that its objects give themselves.
        key: the last of them.
        item: the value.
    """

    path: str
    key: str
    item: JsonValue


def _entries(value: JsonValue, path: tuple[str, ...] = (), last: str = "") -> Iterator[RatingEntry]:
    """The plain values of an object; one in a list has the key of the list."""
    names = words("aspect_key")
    named = [str(item.value)[:60] for key, item in value.items if key.lower() in names and item.kind == "text"]
    inner = (*path, *named[:1])
    for key, item in value.items:
        if item.kind in {"object", "list"}:
            yield from _entries(item, (*inner, key) if key else inner, key or last)
        else:
            yield RatingEntry(_JOINED.sub(" ", " ".join((*inner, key or last))), key or last, item)


@cache
def _rating_key() -> re.Pattern[str]:
    keys = "|".join(words("rating_key"))
    return re.compile(
        rf"(?:^|[_\s])(?:overall|final|total)?_?(?:{keys})$|(?:评分|得分|分数|打分|总分|评级|等级|评价|结果)", FLAGS
    )


def _in_json(entries: Sequence[RatingEntry], aspects: Aspects) -> Iterator[Candidate]:
    """The values whose key is that of a rating or of an aspect."""
    for entry in entries:
        key, written = _JOINED.sub(" ", entry.key), str(entry.item.value)
        if not (_rating_key().search(entry.key) or aspects.asked(entry.path) or aspects.others(key)):
            continue
        if isinstance(entry.item.value, bool) or (_NO_KEY.search(plain_key(key)) and not aspects.asked(key)):
            continue
        found = numbers(written)
        if not found or found[0].start > 0 or (found[0].written == "word" and len(written) > _LONGEST_VALUE):
            continue
        rest = written[found[0].end :].strip(" )")
        if entry.item.kind == "text" and rest[:1].isalnum():
            continue
        start = entry.item.start
        moved = found[0]._replace(start=start, stop=start + found[0].stop, end=start + found[0].end)
        value = StatedRating(moved, *aspects.of_label(entry.path))
        yield Candidate(value, start, moved.end, Strength.STRUCTURED, "json")


def _is_name(reply: str, cleaned: CleanedReply, number: RatingNumber) -> bool:
    """Whether a number names a thing: "Response #2". Cleaning takes its sign away, as it takes headings."""
    place = cleaned.span(number.start, number.stop)[0]
    return reply[max(0, place - 1) : place] == "#"


def _in_text(
    page: RatingPage, objects: Sequence[JsonValue], names: Callable[[RatingNumber], bool] | None, *, cut: bool
) -> list[Candidate]:
    """The ratings that the reply states outside of JSON."""
    text = page.text
    for value in objects:
        text = text[: value.start] + " " * (value.end - value.start) + text[value.end :]
    if not text.strip("` \n"):
        return []
    found = without_marks(numbers(text), text, cut=cut)
    quotations = _quotations(text)
    candidates: list[Candidate] = []
    stands: list[Around | None] = []
    for number in found:
        quoted = bisect_right(quotations, (number.start, len(text)))
        if (quoted and number.start < quotations[quoted - 1][1]) or (names and names(number)):
            continue
        if number.bounds and sorted(number.bounds) == [page.scale.low, page.scale.high]:
            continue  # the scale itself
        this = around(page, number)
        said = stated(this)
        candidate = _plainer(said, placed(this, lone=len(found) == 1)) if not said or said.source == "counted" else said
        if candidate:
            candidates.append(candidate)
            stands.append(this if candidate is said else None)
    if len(candidates) == 1 and not objects:  # what its sentence says of it decides between several only
        return candidates
    return [marked(this, one) if this else one for this, one in zip(stands, candidates, strict=True)]


def _plainer(said: Candidate | None, placed_: Candidate | None) -> Candidate | None:
    """Of two readings of one number that which states it more plainly: "4/5" says more where it opens the reply."""
    if said is None or placed_ is None or said.value.number.written == "stars":
        return said or placed_
    return placed_ if placed_.strength > said.strength and placed_.value.subject is not Subject.OTHER else said


def _quotations(text: str) -> list[tuple[int, int]]:
    """Quotations within the reply; one that is the whole reply is the judge's own."""
    if not any(mark in text for mark in "\"'「>"):
        return []
    own_block = all(line.lstrip()[:1] in {"", ">"} for line in text.splitlines())
    opens = len(text) - len(text.lstrip())
    found = []
    for match in _QUOTED.finditer(text):
        start, end = match.span()
        own = own_block
        if text[start : start + 1] in "\"'「":
            own = start == opens and not text[end:].partition("\n")[0].strip(" .")
        if not own and (end - start > _SHORT_QUOTATION or any(letter.isalpha() for letter in match.group())):
            found.append((start, end))
    return found


# Which of them is the rating.


def decide(candidates: Sequence[Candidate], page: RatingPage) -> Candidate | Kind:
    """The candidate that holds, or why there is none: "ambiguous" or "none"."""
    candidates = _answered(candidates, page.text)
    pool = [one for one in candidates if one.value.subject is not Subject.OTHER]
    if not pool:
        return "none" if _is_withheld(page) else _of_others(candidates)
    said = [one for one in pool if one.strength >= Strength.ANNOUNCED and one.value.number.value is not None]
    if changed := [one for one in said if one.value.changed]:
        return max(changed, key=_place)
    top = max(one.strength for one in pool)
    strongest = [one for one in pool if one.strength is top]
    chosen = [one for one in strongest if one.value.subject is Subject.ASKED] or strongest
    return _one_of([one for one in chosen if is_inside(one.value.number, page.scale)] or chosen, page.text)


def _is_withheld(page: RatingPage) -> bool:
    """Whether the reply names what was asked for, and gives no rating of it."""
    for match in _NOT_GIVEN.finditer(page.lowered):
        label = _LABEL_ENDS.search(page.lowered, max(0, match.start() - _LABEL_WITHIN), match.start())
        if label and page.aspects.asked(label.group()):
            return True
    return False


def is_inside(number: RatingNumber, scale: Scale) -> bool:
    """Whether a number can be a rating on the scale; a range can, as it stands for one of its numbers."""
    if number.value is None:
        return True
    if number.unit in {"%", "percent"} and scale.high != 100:
        return False
    return number.value in scale and number.top in {None, scale.high}


def _place(candidate: Candidate) -> int:
    return int(candidate.value.number.start)


def _answered(candidates: Sequence[Candidate], text: str) -> Sequence[Candidate]:
    """Without what belongs to the prompt where the reply repeats it before its answer."""
    echoes = [match.start() for match in phrases("rating", "echo", text)] if candidates else []
    if not echoes:
        return candidates
    first = min(one.start for one in candidates)
    if first < echoes[0] and not text[:first].strip(" \t\n-*"):
        return [one for one in candidates if one.start < echoes[0]]
    return [] if _UNFILLED.search(text[-80:]) else [one for one in candidates if one.start >= echoes[-1]]


def _of_others(candidates: Sequence[Candidate]) -> Candidate | Kind:
    """A single rating of one thing is taken for the one that was asked for; of several none is."""
    top = max((one.strength for one in candidates), default=None)
    strongest = [one for one in candidates if one.strength is top]
    if len({(one.value.other, one.value.number.value) for one in strongest}) > 1:
        return "ambiguous"
    return strongest[0] if strongest else "none"


def _one_of(candidates: Sequence[Candidate], text: str) -> Candidate | Kind:
    """The one that holds of statements about the same thing that are equally plain."""
    settled = [one for one in candidates if not one.value.initial] or list(candidates)
    points = [one for one in settled if one.value.number.value is not None]
    if len({one.value.number.value for one in settled}) == 1:
        return settled[0] if points else "ambiguous"
    if _are_alternatives(settled, text):
        return "ambiguous"
    ordered = sorted(points, key=_place)
    if any(_is_taken_back(*pair, text) for pair in itertools.pairwise(ordered)):
        return ordered[-1]
    final = [one for one in points if one.value.final]
    if final and (len({one.value.number.value for one in final}) == 1 or final[-1] is points[-1]):
        return final[-1]
    if points and points[0] is settled[0] and points[0].source != "json":
        before = text[: _place(points[0])].strip()
        if len(before) <= _OPENS_WITHIN and not _PREFACE.search(before[:-1]):
            return points[0]
    return "ambiguous"


def _are_alternatives(candidates: Sequence[Candidate], text: str) -> bool:
    """Whether a judge names a second rating at once: "[[6]] or [[7]]", and "Rating: 4" above "Rating: 2".

    One that is called final, below another, is none of two.
    """
    first, second = sorted(candidates, key=_place)[:2]
    if second.value.final and not first.value.final:
        return False
    if first.source == second.source == "labelled" and second.start >= first.end:
        return not text[first.end : second.start].strip(" \n\t-*_.")
    return _OR.fullmatch(text, first.end, _place(second)) is not None


def _is_taken_back(first: Candidate, second: Candidate, text: str) -> bool:
    """Whether the judge says between two ratings that the first was a mistake."""
    if first.value.number.value == second.value.number.value:
        return False
    end = min(second.start, first.end + _TAKEN_BACK_WITHIN)
    return pattern("rating", "taken_back").search(text, first.end, end) is not None


# What is given back.


def _verdict(
    decided: Candidate, page: RatingPage, text: str, cleaned: CleanedReply, finish: str, entries: Sequence[RatingEntry]
) -> Verdict:
    number = decided.value.number
    span = cleaned.span(number.start, number.stop)
    reason = _reason(decided, text, cleaned, entries)
    kind: Kind = ""
    if number.value is None:
        kind = "ambiguous"
    elif finish == "length" and span[1] >= len(text.rstrip()) and number.written == "digits":
        kind = "truncated" if 0 < number.value * 10 <= page.scale.high else ""
    kind = kind or ("" if is_inside(number, page.scale) else "out_of_scale")
    if kind:
        return Verdict("unparsed", kind=kind, reason=reason)
    return Verdict("scored", number.value, span=span, form=decided.source, reason=reason)


def _reason(decided: Candidate, text: str, cleaned: CleanedReply, entries: Sequence[RatingEntry]) -> str:
    """What the reply says beside its verdict."""
    told = [str(entry.item.value) for entry in entries if _REASON_KEY.search(entry.key) and entry.item.kind == "text"]
    if told and decided.source == "json":
        return "\n".join(told)
    if decided.source in _IN_SENTENCE:
        return text.strip()
    start, end = cleaned.span(decided.start, decided.end)
    parts = (text[:start].rstrip(" \t\n*-#_[("), text[end:].lstrip(_TRIMMED))
    return "\n".join(part for part in parts if part.strip()).strip()
