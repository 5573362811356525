"""What is read of a judge's reply, and its preparation: reasoning, quotations and JSON are separated from the text.

What the judge only quotes from a candidate is not a verdict. Removed text becomes spaces, so each offset maps back to
the original reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, pairwise
from typing import Any, Final, Literal, NamedTuple

from steelyard.replies.clean import CleanedReply, clean, without_reasoning
from steelyard.replies.evidence import Candidate, Strength, decide, phrases
from steelyard.replies.grammar import pattern, words
from steelyard.replies.jsonlike import JsonValue, json_objects, plain_key, said_in

Outcome = Literal["scored", "refused", "unparsed"]
Kind = Literal["", "empty", "truncated", "out_of_scale", "ambiguous", "none"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale that a judge was asked to rate on.

    Args:
        low: the lowest value that is allowed.
        high: the highest; values between the whole numbers are allowed as well.

    Raises:
        ValueError: `low` is not below `high`, or one of them is not a finite number.

    >>> 2.5 in Scale(1, 5), 0 in Scale(1, 5)
    (True, False)
    """

    low: float = 1
    high: float = 5

    def __post_init__(self) -> None:
        if not -float("inf") < self.low < self.high < float("inf"):
            raise ValueError(f"a scale runs from a lower to a higher number, not from {self.low} to {self.high}")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reading of one reply of a judge: outcome, value, label and reason.

    Args:
        outcome: `refused` where the judge declined; `unparsed` where the reply holds no verdict that can be read.
        value: the rating, or 1 and 0 for yes and no; None where nothing was read.
        label: the verdict as a word; "" where it is a number or nothing.
        kind: why it is unparsed: `empty`, `truncated`, `out_of_scale`, `ambiguous` or `none`; "" otherwise.
        span: the range of the verdict in the original reply, as (start, end); None where nothing was read.
        form: the name of the form in which it was written; "" where nothing was read.
        reason: the reply's text without the verdict: what the judge gives as its reasoning.
        asked_for: in which form the reply was asked for, where a JSON schema was to be sent; "" elsewhere.
        probabilities: of each verdict, where the endpoint gave them in place of a text.
    """

    outcome: Outcome
    value: float | None = None
    label: str = ""
    kind: Kind = ""
    span: tuple[int, int] | None = None
    form: str = ""
    reason: str = ""
    asked_for: str = ""
    probabilities: Mapping[str, float] = field(default_factory=dict)


_HEAD: Final = 4_000
_TAIL: Final = 6_000
_QUOTATION: Final = re.compile(
    r'"[^"\n]{1,2000}"|“[^“”\n]{1,2000}”|「[^「」\n]{1,2000}」|『[^『』\n]{1,2000}』|\'(?<!\w\')[^\'\n]{1,400}\'(?!\w)'
    r"|‘(?<!\w‘)[^‘’\n]{1,400}’(?!\w)|`[^`\n]{1,400}`"
)
_LAST_MATCHES: Final = 1_000
"""Characters at the end of a reply in which its last matches are looked for first."""
_MOST_QUOTATIONS: Final = 400
_SAID_WITHIN: Final = 80
_APART: Final = re.compile(
    r"^[ \t]{0,3}>[^\n]*"
    r"|(?<![`~])(?P<fence>`{3,}+|~{3,}+)(?P<word>\w{0,20})[^\n]{0,40}\n(?P<block>[\s\S]*?)(?:(?P=fence)|\Z)",
    re.MULTILINE,
)
"""Block quotes and fenced blocks."""
_CLAUSE_ENDS: Final = "\"'“「『\n.;"
_JSON_FENCES: Final = frozenset({"json", "jsonc", "json5"})
_SHORT_AROUND: Final = 80
_CLOSING_TAG: Final = re.compile(r"\s{0,9}</\w{1,20}>")
_LONGEST_REASON: Final = 20_000
"""Characters on either side of a verdict that are given back as its reason."""
_OR: Final = frozenset({"or", "或", "或者"})
_EDGES: Final = " \t\n.,:;-–—*_#>[](){}\"'。，：；、"
_REASON_KEYS: Final = tuple(map(plain_key, words("reason_key")))


class VerdictForm(NamedTuple):
    """A way to give a verdict: the words before and after it.

    Args:
        name: of the form, as the verdict's `form` has it.
        strength: how plainly it gives the verdict.
        lead: ends where the verdict begins.
        behind: begins where it ends; None is anything.
        holds: whether the words in front of the lead allow it, by the text, the lead and the verdict's end.
        reach: within how many characters before the verdict the lead begins.
    """

    name: str
    strength: Strength
    lead: re.Pattern[str]
    behind: re.Pattern[str] | None = None
    holds: Callable[[str, re.Match[str], int], bool] | None = None
    reach: int = 120

    def candidate(self, text: str, start: int, end: int, label: str) -> Candidate | None:
        """The verdict at `start`..`end` of the page, if it is given in this form."""
        if self.behind and not self.behind.match(text, end):
            return None
        lead = self.lead.search(text, max(0, start - self.reach), start)
        if lead is None or (self.holds and not self.holds(text, lead, end)):
            return None
        return Candidate(label, start, end, self.strength, self.name, (lead.start(), end))


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's reply, to be read.

    Args:
        reply: as it came.
        page: its readable part, folded; reasoning, quotations and objects in JSON are blank.
        objects: its JSON objects.
        shown: the reply with its reasoning blank.
        unfinished: whether it broke off inside its reasoning.
        finish: why the model stopped.
        gap: how many characters were left out in the middle of a long reply.
    """

    reply: str
    page: CleanedReply
    objects: tuple[JsonValue, ...]
    shown: str
    unfinished: bool
    finish: str
    gap: int = 0

    @property
    def text(self) -> str:
        """The page's text."""
        return self.page.text

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The position of a part of the page in the original reply."""
        start, end = start + self.page.offset, end + self.page.offset
        return start + (self.gap if start >= _HEAD else 0), end + (self.gap if end > _HEAD else 0)

    def in_objects(self, tiers: Sequence[Iterable[str]], read: Callable[[str, Any], str]) -> Iterator[Candidate]:
        """The verdicts of the reply's JSON objects.

        Args:
            tiers: keys that outweigh all others, the strongest first.
            read: the label of a value under a key, "" where it is none.
        """
        for json_object in self.objects:
            if (key_and_label := said_in(json_object.keyed(), tiers, read)) is not None:
                item = json_object.item(key_and_label[0])
                start, end, first, last = (
                    offset - self.page.offset for offset in (item.start, item.end, json_object.start, json_object.end)
                )
                yield Candidate(key_and_label[1], start, end, Strength.DECLARED, "json", (first, last))

    def scored(self, candidate: Candidate, value: float | None) -> Verdict:
        """The verdict that a candidate gives."""
        span = self.span(candidate.start, candidate.end)
        return Verdict("scored", value, candidate.value, "", span, candidate.source, self._reason(candidate))

    def ambiguous(self, candidate: Candidate | None = None, label: str = "") -> Verdict:
        """More than one verdict, or the candidate between two."""
        if candidate is None:
            return Verdict("unparsed", None, label, "ambiguous", reason=self.reply.strip())
        span = self.span(candidate.start, candidate.end)
        return Verdict("unparsed", None, label, "ambiguous", span, candidate.source, self._reason(candidate))

    def nothing(self) -> Verdict:
        """No verdict was found: refused, truncated, undecided, empty or none."""
        reason = self.reply.strip()
        if self.unfinished or (self.finish == "length" and reason):
            return Verdict("unparsed", kind="truncated", reason=reason)
        if self.finish in {"content_filter", "refusal"}:
            return Verdict("refused", reason=reason)
        undecided = next(phrases("judge", "undecided", self.text), None)
        if undecided and not pattern("judge", "as_a_model").search(self.text):
            return self.ambiguous()
        if next(phrases("choice", "refusal", self.text), None):
            return Verdict("refused", reason=reason)
        kind = "none" if self.text.strip() or self.objects else "empty"
        return Verdict("unparsed", kind=kind, reason=reason)  # type: ignore[arg-type]  # one of two literals

    def _reason(self, candidate: Candidate) -> str:
        """The reason that the verdict's object gives, or the reply without reasoning and verdict."""
        start, end = candidate.whole or (candidate.start, candidate.end)
        for json_object in self.objects:
            if json_object.start == start + self.page.offset and (reason := reason_in(json_object.keyed())):
                return reason
        start, end = self.span(start, end)
        before = self.shown[max(0, start - _LONGEST_REASON) : start].rstrip(" \t\n*-#_[(").lstrip()
        tag = _CLOSING_TAG.match(self.shown, end)
        end = tag.end() if tag else end
        after = self.shown[end : end + _LONGEST_REASON].lstrip(_EDGES).rstrip()
        return "\n".join(part for part in (before, after) if part.strip(_EDGES))


def open_judge_reply(reply: str, finish: str, *, quoted: int = 40, pictures: bool = False) -> JudgeReply:
    """Prepare `reply` for reading; quoted pieces that may hold the verdict itself are left where they are.

    Args:
        reply: any text.
        finish: why the model stopped.
        quoted: the most characters of a quotation that may be the judge's own words, with its marks.
        pictures: keep pictures such as 🎉, which else are ornaments.
    """
    visible, unfinished = without_reasoning(reply)
    gap = max(0, len(visible) - _HEAD - _TAIL)
    shown = visible[:_HEAD] + visible[_HEAD + gap :] if gap else visible
    objects = json_objects(shown) if "{" in shown else ()
    for json_object in objects:
        blank = "\n".join(" " * len(line) for line in shown[json_object.start : json_object.end].split("\n"))
        shown = shown[: json_object.start] + blank + shown[json_object.end :]
    own_words = _QUOTATION.sub(partial(_without_quotation, quoted), _without_blocks(shown), _MOST_QUOTATIONS)
    page = clean(own_words, pictures=pictures)
    lead = len(page.text) - len(page.text.lstrip())  # markup became blanks, which must not part it from the beginning
    page = replace(page, text=page.text.strip(), offset=page.offset + lead)
    objects = tuple(json_object for json_object in objects if json_object.start not in _offered(objects, shown))
    return JudgeReply(reply, page, objects, visible, unfinished, finish, gap)


def _offered(objects: Sequence[JsonValue], text: str) -> set[int]:
    """Where the objects begin that the reply names as those to choose from: `{"verdict": 1} or {"verdict": 0}`."""
    joined = (pair for pair in pairwise(objects) if text[pair[0].end : pair[1].start].strip(_EDGES).lower() in _OR)
    return {json_object.start for pair in joined for json_object in pair}


def decide_last(candidates: Sequence[Candidate], text: str) -> Candidate | None:
    """The verdict that counts: of equally plain ones the last, as judges are asked for it at the end."""
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    ranked = (replace(candidate, rank=candidate.start + 1) for candidate in candidates)
    return decide(sorted(ranked, key=lambda candidate: candidate.start), text)


def at_both_ends(expression: re.Pattern[str], text: str, most: int) -> list[re.Match[str]]:
    """The first and the last matches in a text, `most` of each, without a look at all that lie between."""
    matches = list(islice(expression.finditer(text), 2 * most + 1))
    if len(matches) <= 2 * most:
        return matches
    first, reach = matches[most - 1].end(), _LAST_MATCHES
    last = list(expression.finditer(text, max(first, len(text) - reach)))
    while len(last) < most and reach < len(text):
        reach *= 4
        last = list(expression.finditer(text, max(first, len(text) - reach)))
    return matches[:most] + last[-most:]


def reason_in(values: Mapping[str, Any]) -> str:
    """The reason that an object gives with its verdict; "" where there is none."""
    return next((value.strip() for key in _REASON_KEYS if isinstance(value := values.get(key), str)), "")


def _without_blocks(text: str) -> str:
    """Blank fenced blocks and block quotes, unless there is hardly any text around them."""
    if "```" not in text and "~~~" not in text and ">" not in text:
        return text

    def blank(match: re.Match[str]) -> str:
        if match["fence"] and match["word"].lower() in _JSON_FENCES:
            return match.group()
        start, end = (match.span("block") if match["fence"] else match.span()) if match.group() else match.span()
        return match.group()[: start - match.start()] + " " * (end - start) + match.group()[end - match.start() :]

    without = _APART.sub(blank, text)
    around = without.replace("`", "").strip()
    announced = len(around) <= _SHORT_AROUND and around.endswith((":", "："))
    if announced:
        announced = not _reports(around.rstrip(":： "))
    return text if announced or not around else without


def _without_quotation(quoted: int, match: re.Match[str]) -> str:
    """Blank a long quotation, and a short one of what somebody else says or of a verdict that is only offered."""
    start, end = match.span()
    before = match.string[max(0, start - _SAID_WITHIN) : start]
    offered = pattern("judge", "offered_behind").match(match.string, end) or pattern("judge", "offered_before").search(
        before
    )
    if end - start <= quoted and not offered and not _reports(before):
        return match.group()
    if not match.string[:start].strip() and not match.string[end:].strip():
        return match.group()  # the whole reply is in quotation marks
    ending = match.group()[-2]  # a quotation that ends a sentence leaves its full stop
    return " " * (end - start - 2) + (ending if ending in ".!?。！？" else " ") + " "


def _reports(before: str) -> bool:
    """Whether these words say that what follows is somebody else's."""
    clause = before[max(before.rfind(sign) for sign in _CLAUSE_ENDS) + 1 :]
    return len(clause) > 1 and pattern("judge", "reports").search(clause) is not None
