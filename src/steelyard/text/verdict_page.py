"""A judge's reply made ready for reading a verdict in words: reasoning, quotations and JSON told from the judge's text.

What the judge only quotes from a candidate is no verdict. Whatever is taken away becomes spaces, so each offset leads
back to the reply as it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from steelyard.replies.clean import CleanedReply, clean, without_reasoning
from steelyard.replies.fences import JSON_WORDS, blocks_of
from steelyard.replies.grammar import pattern
from steelyard.replies.jsonlike import JsonValue, json_objects, said_in
from steelyard.replies.verdict import Kind, Verdict

SAYS: Final = re.compile(
    r"\b(?:sa(?:ys|id|ying)|stat(?:es|ed|ing)|writes?|wrote|written|writing|claim(?:s|ed|ing)|reads?|contain(?:s|ed"
    r"|ing)|includ(?:es|ed|ing)"
    r"|ends?|ending|tell(?:s|ing)|told|instruct(?:s|ed|ion|ing)|phrases?|words?|strings?|text|quot(?:es?|ed|ing)"
    r"|sentences?|line|demands?|ask(?:s|ed|ing)|prints?|output(?:s|ted)|injects?|inserted|marker"
    r"|tries|mentions?|starts?|begins?|claims)\b[^\"'“「『\n.;]{0,40}\Z"
    r"|(?:写道|写着|写了|说|声称|包含|含有|提到|要求|称|引用|出现|结尾|开头|字样|一句"
    r"|的话)[^\"'“「『\n,，。；;]{0,6}\Z",
    re.IGNORECASE,
)
_QUOTATION: Final = re.compile(
    r'"[^"\n]{1,2000}"|“[^“”\n]{1,2000}”|「[^「」\n]{1,2000}」|『[^『』\n]{1,2000}』|(?<!\w)\'[^\'\n]{1,400}\'(?!\w)'
    r"|(?<!\w)‘[^‘’\n]{1,400}’(?!\w)|`[^`\n]{1,400}`"
)
_LONG_QUOTATION: Final = 40
_BLOCK_QUOTE: Final = re.compile(r"(?m)^[ \t]{0,3}>[^\n]*")
_SHORT_AROUND: Final = 80
_HEAD: Final = 8_000
_TAIL: Final = 12_000
_UNDECIDED: Final = re.compile(
    r"\b(?:cannot|can't|can not|could not|couldn't|unable to|not able to|impossible to|hard to|difficult to"
    r"|not possible"
    r" to) (?:\w{2,14}ly )?(?:be )?(?:determined?|decided?|t(?:ell|old)|say|said|judged?|conclude|choose"
    r"|establish(?:ed)?"
    r"|verify|verified|confirm(?:ed)?)\b(?: (?:for sure|with certainty|definitively),?)? (?:whether|if|which|between"
    r"|how"
    r"|from|based|with)\b"
    r"|\b(?:not sure|unsure|uncertain|unclear|undecided)\b"
    r"|(?:无法|不能|难以|没法|不好)(?:准确|明确|直接)?(?:判断|确定|断定|判定|认定|区分|得知)",
    re.IGNORECASE,
)
"""Words of a judge who tried and cannot tell, and declines nothing."""

_AS_A_MODEL: Final = re.compile(
    r"\bas an? (?:large |ai |artificial )|作为(?:一个|一名|一款)?(?:AI|人工智能|\w{0,2}语言模型)", re.IGNORECASE
)

_REASON_KEYS: Final = (
    "reason", "reasoning", "reasons", "rationale", "explanation", "explain", "feedback", "justification", "analysis",
        "comment",
    "thought", "thoughts", "evidence", "理由", "原因", "解释", "说明", "分析", "依据",
)  # fmt: skip
_EDGES: Final = " \t\n.,:;-–—*_#>[](){}\"'。，：；、"


class VerdictCandidate(NamedTuple):
    """A place of the page that gives a verdict.

    Args:
        rank: what is formal outweighs what is not.
        label: the verdict; one that the reader does not know stands for "cannot be told".
        start: offset of the verdict in the reply as it came.
        end: where it ends.
        form: the name of the form.
        cut: where the whole declaration stands, which is no part of the reasons.
        reason: the reason, where the form names it.
    """

    rank: float
    label: str
    start: int
    end: int
    form: str
    cut: tuple[int, int]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VerdictText:
    """A reply to be read.

    Args:
        reply: as it came.
        page: its readable part, folded, at most 20,000 characters of its beginning and end; quotations, and objects in
            JSON, are blank.
        objects: its JSON objects.
        unfinished: whether it broke off inside its reasoning.
        finish: why the model stopped.
        gap: how many characters were left out behind the first 8,000.
    """

    reply: str
    page: CleanedReply
    objects: tuple[JsonValue, ...]
    unfinished: bool
    finish: str
    gap: int = 0

    @property
    def text(self) -> str:
        """The page's text."""
        return self.page.text

    def at(self, rank: float, label: str, match: re.Match[str], *, form: str, group: str = "token") -> VerdictCandidate:
        """What `match` found on the page, its verdict being the named group."""
        start, end = self.span(*match.span(group))
        return VerdictCandidate(rank, label, start, end, form, self.span(*match.span()))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A place of the page in the reply as it came."""
        return self._in_reply(*self.page.span(start, end))

    def _in_reply(self, start: int, end: int) -> tuple[int, int]:
        return start + (self.gap if start >= _HEAD else 0), end + (self.gap if end > _HEAD else 0)

    def in_objects(
        self, tiers: Sequence[Iterable[str]], read: Callable[[str, Any], str], rank: float
    ) -> Iterator[VerdictCandidate]:
        """The verdicts of the reply's JSON objects.

        Args:
            tiers: keys that outweigh all others, the strongest first.
            read: the label of a value under a key, "" where it is none.
            rank: of the candidates.
        """
        for found in self.objects:
            values = found.keyed()
            if (said := said_in(values, tiers, read)) is not None:
                item = found.item(said[0])
                start, end = self._in_reply(item.start, item.end)
                whole = self._in_reply(found.start, found.end)
                yield VerdictCandidate(rank, said[1], start, end, "json", whole, reason_in(values))

    def scored(self, one: VerdictCandidate, value: float | None, label: str) -> Verdict:
        """The verdict that `one` gives."""
        return Verdict("scored", value, label, "", (one.start, one.end), one.form, self.reason_of(one))

    def ambiguous(self, one: VerdictCandidate | None, label: str = "") -> Verdict:
        """More than one verdict, or one between two."""
        if one is None:
            return Verdict("unparsed", kind="ambiguous", label=label, reason=self.reply.strip())
        span = (one.start, one.end)
        return Verdict("unparsed", None, label, "ambiguous", span, one.form, self.reason_of(one))

    def nothing(self) -> Verdict:
        """No verdict was found: refused, truncated, empty or none."""
        kind: Kind = "none"
        reason = self.reply.strip()
        if self.unfinished or (self.finish == "length" and reason):
            return Verdict("unparsed", kind="truncated", reason=reason)
        if self.finish in {"content_filter", "refusal"}:
            return Verdict("refused", reason=reason)
        if _UNDECIDED.search(self.text) and not _AS_A_MODEL.search(self.text):
            return self.ambiguous(None)
        if pattern("choice", "refusal").search(self.text):
            return Verdict("refused", reason=reason)
        if not self.text.strip() and not self.objects:
            kind = "empty"
        return Verdict("unparsed", kind=kind, reason=reason)

    def reason_of(self, one: VerdictCandidate) -> str:
        """The reply without reasoning and verdict."""
        if one.reason:
            return one.reason
        start, end = one.cut
        shown = without_reasoning(self.reply)[0]
        before, after = shown[:start].strip(), shown[end:]
        edged = after.strip(_EDGES)
        after = after[after.find(edged) :].rstrip() if edged else ""
        return "\n".join(part for part in (before, after) if part.strip(_EDGES))


def open_sheet(reply: str, finish: str) -> VerdictText:
    """Make `reply` ready for reading; quoted pieces that may hold the verdict itself are left where they are."""
    shown, unfinished = without_reasoning(reply)
    gap = max(0, len(shown) - _HEAD - _TAIL)
    if gap:
        shown = shown[:_HEAD] + shown[_HEAD + gap :]
    objects = json_objects(shown)
    for one in objects:
        shown = _blanked(shown, one.start, one.end)
    page = clean(_without_quotations(_without_blocks(shown)))
    lead = len(page.text) - len(page.text.lstrip())  # markup became blanks, which must not part it from the beginning
    page = replace(page, text=page.text.strip(), offset=page.offset + lead)
    return VerdictText(reply, page, objects, unfinished, finish, gap)


def reason_in(values: Mapping[str, Any]) -> str:
    """The reason that an object gives beside its verdict; "" where there is none."""
    return next((one.strip() for key in _REASON_KEYS if isinstance(one := values.get(key), str)), "")


def _blanked(text: str, start: int, end: int) -> str:
    """`text` with spaces between `start` and `end`; line ends stay."""
    piece = "\n".join(" " * len(line) for line in text[start:end].split("\n"))
    return text[:start] + piece + text[end:]


def _without_blocks(text: str) -> str:
    """Blank fenced blocks and block quotes, unless next to nothing stands around them."""
    regions = [*_fenced(text), *(match.span() for match in _BLOCK_QUOTE.finditer(text))]
    if not regions:
        return text
    pieces, place = [], 0
    for start, end in sorted(regions):
        if start >= place:
            pieces += [text[place:start], " " * (end - start)]
            place = end
    without = "".join([*pieces, text[place:]])
    around = without.replace("`", "").strip()
    announced = len(around) <= _SHORT_AROUND and around.endswith((":", "：")) and not SAYS.search(around.rstrip(":： "))
    return text if announced or not around else without


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    if "```" not in text and "~~~" not in text:
        return
    for block in blocks_of(text, 0, len(text)):
        if block.word not in JSON_WORDS:
            yield block.start, block.end


def _without_quotations(text: str) -> str:
    """Blank long quotations, and short ones that are announced as what somebody else says."""

    def blank(match: re.Match[str]) -> str:
        start, end = match.span()
        quoted = end - start > _LONG_QUOTATION or SAYS.search(text, max(0, start - 80), start)
        if not quoted:
            return match.group()
        ending = match.group()[-2]  # a quotation that ends a sentence leaves its full stop
        return " " * (end - start - 2) + (ending if ending in ".!?。！？" else " ") + " "

    return _QUOTATION.sub(blank, text)
