"""Rules for replies that name no answer, but leave only one: by verdicts, by the only letter, by the only text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from steelyard.text.choice_cut import begins_walk, is_cut_off
from steelyard.text.choice_declared import opens_with
from steelyard.text.choice_doubt import Doubt, doubt
from steelyard.text.choice_letters import Group, named_letters
from steelyard.text.choice_near import strong_leads
from steelyard.text.choice_page import restated, within
from steelyard.text.choice_quotes import Quote, is_distinct, quotes
from steelyard.text.choice_reading import ChoiceReading, Reply
from steelyard.text.choice_stance import takes_letter, takes_text
from steelyard.text.choice_verdict_words import ASKS_FOR_FALSE, ASKS_FOR_WRONG, IDEOGRAM
from steelyard.text.choice_verdicts import verdicts_in
from steelyard.text.normal import fold

_BARE_WITHIN: Final = 160
_SHORT: Final = 3
_JOINED_WITHIN: Final = 18
_JOINED: Final = re.compile(
    r"[\s\"'.,]*(?:\(?[A-Z]\)?)?[\s\"',]*(?:and|or|as well as|along with|/|&|和|或|或者|与|以及|、)\s*(?:the|an?"
    r"|\(?[A-Z][).:])?\s*[\"'(]*",
    re.IGNORECASE,
)
_BESIDE: Final = 4
_SHORT_REPLY: Final = 12
_ENDS: Final = re.compile(r"[\"')]{0,2}[.!。]\s*")
_FIRST_PLACES: Final = (0, 1, 2)
_NO_CHOICE: Final = re.compile(
    r"refus|declin|know|not sure|unsure|no (?:opinion|answer|response)|不知道|拒绝", re.IGNORECASE
)
_HEAD: Final = 15
_SPACE: Final = re.compile(r"[\s\"'(\[:：是为]*")


def declared_text(this: Reply) -> ChoiceReading | None:
    """`The answer is` with the text of one option behind it."""
    leads = strong_leads(this)
    found = _quotes(this, "", short=True) if leads else ()
    if not found:
        return None
    for lead in leads if leads and opens_with(leads[0].start()) else reversed(leads):
        start = _SPACE.match(this.text, lead.end()).end()  # type: ignore[union-attr]  # the pattern matches nothing, too
        for quote in found:
            if abs(quote.start - start) <= _BESIDE and quote.end > start:
                letters = sorted({quote.letter, *_joined_to(this.text, quote, found)})
                return this.found(letters, "declared_text", (quote.start, quote.end), inferred=True)
    return None


def _joined_to(text: str, quote: Quote, found: Sequence[Quote]) -> Iterator[str]:
    """Letters of other options whose text is joined to this one: `X as well as Y`."""
    for other in found:
        if 0 <= other.start - quote.end <= _JOINED_WITHIN and _JOINED.fullmatch(text, quote.end, other.start):
            yield other.letter


def leading_text(this: Reply) -> ChoiceReading | None:
    """A reply whose first line, or the beginning of its first sentence, is the text of one option."""
    head = this.text[:_HEAD].lower()
    begun = [option for option in this.options if fold(option).lstrip("\"'([$ ")[:1].lower() in head]
    if not any(restated(this.text, place, option) > place for option in begun for place in _FIRST_PLACES):
        return None
    line = len(this.text.split("\n", 1)[0])
    found = _quotes(this, "", short=True)
    for quote in found:
        ends = quote.end >= line - 2 or (this.text[quote.end] in ",.;:!。" and len({one.letter for one in found}) == 1)
        if quote.start <= 2 and ends:
            return this.found((quote.letter,), "leading_text", (quote.start, quote.end), inferred=True)
    return None


def judged(this: Reply) -> ChoiceReading | None:
    """`Option B is correct`, or the only one called wrong where the wrong one was asked for."""
    said = verdicts_in(this)
    if not said.right and not said.wrong:
        return None
    if said.split:
        return ChoiceReading((), "unparsed", "judged", reason="contradictory: one option is called right and wrong")
    chosen = said.wrong if _wants_wrong(this, len(said.right), len(said.wrong)) else said.right
    if not chosen:
        return _left_over(this, said.wrong)
    letters = sorted(chosen)
    first, last = min(chosen.values(), key=_start), max(chosen.values(), key=_start)
    return this.found(letters, "judged", (first.start, last.end))


def _left_over(this: Reply, wrong: Mapping[str, Group]) -> ChoiceReading | None:
    """The one option that is not rejected, where a complete reply rejects all others in one breath."""
    left = {chr(ord("A") + place) for place in range(this.count)} - wrong.keys()
    joint = [group for group in wrong.values() if len(group.letters) == this.count - 1]
    if len(left) != 1 or not joint or this.count < _SHORT or _NO_CHOICE.search(this.options[ord(min(left)) - ord("A")]):
        return None
    if not this.text.rstrip().endswith((".", "!", "。")):
        return None
    return this.found(tuple(left), "judged", (joint[0].start, joint[0].end), inferred=True)


def _start(group: Group) -> int:
    return group.start


def _wants_wrong(this: Reply, right: int, wrong: int) -> bool:
    """Whether the statement that does not hold is the answer: by the question, else by what the reply makes of it."""
    if this.question:
        asks = ASKS_FOR_WRONG if IDEOGRAM.search(this.question) else ASKS_FOR_FALSE
        return (wrong == 1 or right != 1) and asks.search(fold(this.question)) is not None
    return wrong == 1 and ((right != 1 and right == this.count - 1) or ASKS_FOR_WRONG.search(this.text) is not None)


def only_letter(this: Reply) -> ChoiceReading | None:
    """The one letter that is spoken of as an option, where nothing is said against it."""
    said = verdicts_in(this)
    groups = [
        one
        for one in named_letters(this.text, this.count, bare=len(this.text) <= _BARE_WITHIN)
        if not within(one.start, this.listed) and not is_cut_off(this.text, one)
    ]
    letters = {letter for one in groups for letter in one.letters}
    if len(letters) > 1 and len(this.text) <= _BARE_WITHIN:
        letters -= said.wrong.keys()
        groups = [one for one in groups if letters >= {*one.letters}]
    if len(letters) != 1 or letters & said.wrong.keys():
        return None
    taken = [one for one in groups if takes_letter(this.text, one.start, one.end)]
    return this.found(tuple(letters), "only_letter", (taken[-1].start, taken[-1].end), inferred=True) if taken else None


def only_text(this: Reply) -> ChoiceReading | None:
    """The one option whose text is quoted."""
    wrong = verdicts_in(this).wrong.keys()
    found = [
        one for one in _quotes(this, this.question) if one.letter not in wrong and not begins_walk(this.text, one.start)
    ]
    if len({one.letter for one in found}) != 1:
        return None
    option = this.options[ord(found[0].letter) - ord("A")]
    if all(doubt(this.text, one.start, one.start) is Doubt.DENIED for one in found):
        return None
    if not is_distinct(option) and not any(takes_text(this.text, one.start, one.end) for one in found):
        return None
    if len(this.text) > _BARE_WITHIN and not is_distinct(option) and not _ends_with(this.text, found[-1]):
        return None
    return this.found((found[0].letter,), "only_text", (found[0].start, found[0].end), inferred=True)


def _ends_with(text: str, quote: Quote) -> bool:
    """Whether the reply ends in the quotation, of letters alone (`The stone must be chalk.`)."""
    return _ENDS.fullmatch(text, quote.end) is not None and text[quote.start : quote.end].isalpha()


def _quotes(this: Reply, question: str, *, short: bool = False) -> tuple[Quote, ...]:
    key = "quotes beside the question" if question else "quotes"
    if key not in this.memo:
        this.memo[key] = quotes(this.page, this.options, question, this.listed)
    found: tuple[Quote, ...] = this.memo[key]
    return (
        found
        if short or len(this.text) <= _SHORT_REPLY
        else tuple(one for one in found if one.end - one.start >= _SHORT or _ends_with(this.text, one))
    )
