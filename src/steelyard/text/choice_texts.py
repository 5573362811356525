"""Replies that give the text of an option instead of its letter, word for word or nearly.

Reply and options are condensed (no spaces, no punctuation, one case); options with figures or signs keep their signs.
Where one option's text contains another's, the longest match wins. A text in the question, or one that is denied, is
no answer. Texts that are cut short, misprinted or in another order are compared only with a whole short reply, or with
what stands behind `the answer is` or `I would say`; and only where one option is near and no other is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_declared import matches, opens_with, tokens
from steelyard.text.choice_letters import Doubt, begins_walk, doubt, sentence_end
from steelyard.text.choice_patterns import MARKS, STRONG
from steelyard.text.choice_reply import ChoiceReading, ChoiceReply, restated, within
from steelyard.text.choice_verdicts import takes_text, verdicts_in
from steelyard.text.cleaned_reply import CleanedReply, Condensed, condense, fold, is_formula

_DISTINCT: Final = 7.0
_IDEOGRAM_WEIGHT: Final = 3.5
_IDEOGRAM: Final = re.compile(r"[\u3400-\u9fff]")
_FIGURE: Final = re.compile(r"\d")
_COMMAND: Final = re.compile(r"\\[a-z]{1,20}")
_LATIN: Final = re.compile(r"[a-z]")
_TEXT_DENIED: Final = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever|\brather than|\binstead of|\bneither|\bnor|\bno|不|不是|并非|而非|不属于"
    r"|不构成|未|非|无)"
    r"\s*(?:是|属于|构成|应|应当|能|可以|能够|会|the|a|an|to|be|simply|just|(?:think|believe|say"
    r"|feel)(?:\sthat)?(?:\sit(?:\sis|'s))?)?\s*[\"'(]?\s*$"
    r"|(?:\bnot|n't|\bcannot|\bnever|\bneither)\s[\w\s]{1,30}\s(?:n?or)\s(?:an?\s|the\s)?$",
    re.IGNORECASE,
)
_REJECTED: Final = re.compile(
    r"[\"')。.]?\s?(?:is|are|was|的说法是|是|这一说法是|的说法|的表述|这个选项)?\s?(?:the\s)?(?:incorrect"
    r"|wrong|false|not\b|错误|不正确|不对)",
    re.IGNORECASE,
)
_EN: Final = re.IGNORECASE
_SAYS: Final = re.compile(
    r"\b(?:i|we)(?:'d|'ll|'m|\swould|\swill|\smust|\shave|\shad|\scan|\sam)?,?\s(?:(?:\w{1,12}ly|also|still|rather|then"
    r"|therefore|just|to|have|like|inclined|tempted)\s){0,3}(?:say|choose|select|pick|go with|answer|opt for|take"
    r"|lean(?:ing)? towards?|lean to|vote for|settle on|respond|rate|call|guess|prefer)\b"
    r"(?:\s(?:that|it|it's|is|with|for|as|option|this|they|are|my answer)\b){0,4}[\s:\"'(]{0,6}"
    r"|\b(?:forced|pressed|pushed|have|had|need)\b[^.,:\n]{0,40}[,:]\s(?:it's\s|it is\s)?",
    _EN,
)
_SAYING: Final = ("say", "choose", "select", "pick", "go with", "answer", "opt", "take", "lean", "vote", "settle")
_SAYING_ALSO: Final = ("respond", "rate", "call", "guess", "prefer", "forced", "pressed", "pushed", "had to", "have to")
_BEGINS: Final = re.compile(
    r"[\s\"'(:]*(?:(?:well|yes|sure|ok|okay),?\s)?(?:(?:it|that|this)(?:'s|\sis|\swould be)\s|option\s)?[\"'(]*", _EN
)
_STOPS: Final = re.compile(
    r"[\"()]|,?\s(?:because|since|as it|rather than|instead of|even though|although|however)\b"
    r"|,?\s(?:(?:and|but)\s)?not\s(?=[\"\d])|,\s(?:(?:and|but)\s)?(?:not|if|given|for|in this|here|i)\s|\s[-–—]\s",
    _EN,
)
_WORD: Final = re.compile(r"[\w.%$°]*\w[%°]?|[-−]?\d[\w.]*")
_MOST_CHARACTERS: Final = 100
_MOST_WORDS: Final = 16
_WHOLE_REPLIES: Final = frozenset({"neither", "both", "none", "yes", "no", "all"})
_COMPLETING: Final = frozenset({"is", "are", "correct", "true", "right", "the", "answer", "answers", "best"})
_PREFIX_LETTERS: Final = 10
_LONG: Final = 5
_LEADS: Final = 20
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
_HEAD: Final = 15
_SPACE: Final = re.compile(r"[\s\"'(\[:：是为]*")


@dataclass(frozen=True, slots=True)
class Quote:
    """The text of option `letter` at `start`..`end` of the page."""

    letter: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _OptionText:
    letter: str
    text: str
    signs: bool


def quotes(
    page: CleanedReply, options: Sequence[str], question: str, skipped: Sequence[tuple[int, int]] = ()
) -> tuple[Quote, ...]:
    """Every quotation of an option's text that may be an answer, in order.

    Args:
        page: the reply.
        options: the texts of the options.
        question: the question's text; what stands in it is no answer.
        skipped: regions of the page that restate the list of options.
    """
    condensed = {signs: condense(page.text, signs=signs) for signs in {is_formula(one) for one in options}}
    asked = {signs: condense(fold(question), signs=signs).text for signs in condensed}
    wanted = _wanted(options)
    repeated = [one for one in wanted if one.text in asked[one.signs]]
    if len(repeated) >= len(wanted) - 1:  # the question's text lists the options itself
        repeated = []
    found: list[Quote] = []
    for one in wanted:
        if one in repeated:
            continue
        found += _places(page.text, condensed[one.signs], one)
    return tuple(sorted(_longest(found, skipped), key=lambda one: one.start))


def is_distinct(option: str) -> bool:
    """Whether the option's text says so much that a long reply will not hold it by chance.

    Two ideograms, one with a long figure (`1993年`) or seven letters do; bare figures, of which reasoning is full,
    do not.
    """
    plain = _COMMAND.sub(" ", fold(option).lower())
    ideograms = len(_IDEOGRAM.findall(plain))
    figures = len(_FIGURE.findall(plain)) if ideograms else 0
    return _IDEOGRAM_WEIGHT * ideograms + len(_LATIN.findall(plain)) + figures >= _DISTINCT


def _wanted(options: Sequence[str]) -> list[_OptionText]:
    """Options that can be told apart by their text."""
    forms = []
    for number, option in enumerate(options):
        signs = is_formula(option)
        plain = MARKS.sub(" ", fold(option)).strip()
        forms.append(_OptionText(chr(ord("A") + number), condense(plain, signs=signs).text, signs))
    texts = [one.text for one in forms]
    return [one for one in forms if one.text and texts.count(one.text) == 1]


def _places(text: str, condensed: Condensed, wanted: _OptionText) -> list[Quote]:
    found = []
    place = condensed.text.find(wanted.text)
    while place >= 0:
        start, end = condensed.origin(place), condensed.origin(place + len(wanted.text) - 1) + 1
        if _stands_alone(text, start, end) and not _is_denied(text, start, end):
            found.append(Quote(wanted.letter, start, end))
        place = condensed.text.find(wanted.text, place + len(wanted.text))
    return found


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Not a part of a longer word or number."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if _joined(before, text[start]) or _joined(after, text[end - 1]):
        return False
    if (
        text[start].isdigit()
        and before in {".", "-", "−", ","}
        and text[max(0, start - 2)].isdigit() is (before in {".", ","})
    ):
        return False
    return not (text[end - 1].isdigit() and after in {".", ","} and text[end + 1 : end + 2].isdigit())


def _joined(outside: str, inside: str) -> bool:
    return bool(outside) and outside.isascii() and outside.isalnum() and inside.isascii() and inside.isalnum()


def _is_denied(text: str, start: int, end: int) -> bool:
    """Denied before, or called wrong after it; `X 不属于 ...` only repeats what such a question asks for."""
    return bool(_TEXT_DENIED.search(text, max(0, start - 48), start) or _REJECTED.match(text, end))


def _longest(found: Sequence[Quote], skipped: Sequence[tuple[int, int]]) -> list[Quote]:
    """Quotations that lie in no longer one and in no skipped region."""
    kept: list[Quote] = []
    for one in sorted(found, key=lambda quote: (quote.start, -quote.end)):
        if kept and one.end <= kept[-1].end:
            continue
        kept.append(one)
    return [one for one in kept if not within(one.start, skipped)]


def near_text(reply: ChoiceReply) -> ChoiceReading | None:
    """The one option whose text the reply gives in other spelling, order or length."""
    forms = [_words(MARKS.sub(" ", fold(option))) for option in reply.options]
    for start, end in _phrases(reply):
        said = _words(reply.text[start:end])
        if 0 < len(said) <= _MOST_WORDS and not within(start, reply.listed):
            number = _nearest(said, forms)
            if number is not None:
                return reply.reading((chr(ord("A") + number),), "near_text", (start, end), inferred=True)
    return None


def _phrases(reply: ChoiceReply) -> Iterator[tuple[int, int]]:
    """Where a reply may give a text: as a whole, behind an equals sign, behind its declarations, the last first."""
    text = reply.text
    whole = len(text) <= _MOST_CHARACTERS and sentence_end(text, 0, _MOST_CHARACTERS) >= len(text.rstrip(".!。 \n"))
    if whole:
        yield _phrase(text, 0)
        if "=" in text:
            yield _phrase(text, text.rindex("=") + 1)
    leads = [*strong_leads(reply)]
    lowered = text.lower()
    if any(word in lowered for word in (*_SAYING, *_SAYING_ALSO)):
        leads += _SAYS.finditer(text)
    for lead in sorted(leads, key=_match_end, reverse=True)[:_LEADS]:
        if doubt(text, lead.start(), lead.end()) is not Doubt.DENIED:
            yield _phrase(text, lead.end())


def strong_leads(reply: ChoiceReply) -> tuple[re.Match[str], ...]:
    """Every `the answer is` and its like, looked for once."""
    if "leads" not in reply.memo:
        reply.memo["leads"] = tuple(matches(STRONG, "declared", reply.text, tokens(reply.text)))
    found: tuple[re.Match[str], ...] = reply.memo["leads"]
    return found


def _match_end(match: re.Match[str]) -> int:
    return match.end()


def _phrase(text: str, start: int) -> tuple[int, int]:
    """What begins at `start`, to the end of the quotation, the reason or the sentence."""
    begins = _BEGINS.match(text, start)
    start = begins.end() if begins else start
    end = sentence_end(text, start, 2 * _MOST_CHARACTERS)
    stop = _STOPS.search(text, start, end)
    return start, stop.start() if stop else end


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip(".") for word in _WORD.findall(text.lower()))


def _nearest(said: tuple[str, ...], forms: Sequence[tuple[str, ...]]) -> int | None:
    """The option that `said` means: the first kind of nearness that holds for any must hold for that one alone."""
    for near in _KINDS:
        found = [number for number, form in enumerate(forms) if form and near(said, form)]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _same(said: tuple[str, ...], form: tuple[str, ...]) -> bool:
    return said == form


def _reordered(said: tuple[str, ...], form: tuple[str, ...]) -> bool:
    return len(said) > 1 and sorted(said) == sorted(form)


def _misprinted(said: tuple[str, ...], form: tuple[str, ...]) -> bool:
    """The same words, of which one or two are misprinted."""
    if len(said) != len(form):
        return False
    differing = [pair for pair in zip(said, form, strict=True) if pair[0] != pair[1]]
    return 0 < len(differing) <= 2 and all(_is_misprint(*pair) for pair in differing)


def _is_misprint(one: str, other: str) -> bool:
    """Two neighbours swapped, or in words of five letters and more one letter too many within the word.

    Another letter in its place would as often be another word (`adapt`, `adopt`), and so would another beginning.

    >>> _is_misprint("worse", "wosre"), _is_misprint("legal", "illegal"), _is_misprint("adapt", "adopt")
    (True, False, False)
    """
    if not (one.isalpha() and other.isalpha()) or min(len(one), len(other)) < _LONG - 1:
        return False
    if len(one) == len(other):
        places = [place for place in range(len(one)) if one[place] != other[place]]
        return len(places) == 2 and places[1] == places[0] + 1 and sorted(one) == sorted(other)
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    if len(longer) - len(shorter) > 1 or len(shorter) < _LONG:
        return False
    inner = range(1, len(longer) - 1)
    return any(longer[:place] + longer[place + 1 :] == shorter for place in inner)


def _shortened(said: tuple[str, ...], form: tuple[str, ...]) -> bool:
    """The beginning of a longer text, or in two words and more its end; a figure of two digits without its unit."""
    if len(said) >= len(form):
        return False
    if len(said) == 1 and said[0].isdigit() and said[0] == form[0]:
        return len(said[0]) > 1 and all(word.isalpha() for word in form[1:])
    enough = sum(map(len, said)) >= _PREFIX_LETTERS and len(said) > 1
    if form[: len(said)] == said:
        return enough or (len(said) == 1 and said[0] in _WHOLE_REPLIES)
    return enough and form[-len(said) :] == said


def _completed(said: tuple[str, ...], form: tuple[str, ...]) -> bool:
    """A longer text made a sentence: `Both A and B` as `Both A and B are correct`."""
    return len(form) > 2 and said[: len(form)] == form and {*said[len(form) :]} <= _COMPLETING


def declared_text(reply: ChoiceReply) -> ChoiceReading | None:
    """`The answer is` with the text of one option behind it."""
    leads = strong_leads(reply)
    found = _quotes(reply, "", short=True) if leads else ()
    if not found:
        return None
    for lead in leads if leads and opens_with(leads[0].start()) else reversed(leads):
        start = _SPACE.match(reply.text, lead.end()).end()  # type: ignore[union-attr]  # the pattern matches nothing, too
        for quote in found:
            if abs(quote.start - start) <= _BESIDE and quote.end > start:
                letters = sorted({quote.letter, *_joined_to(reply.text, quote, found)})
                return reply.reading(letters, "declared_text", (quote.start, quote.end), inferred=True)
    return None


def _joined_to(text: str, quote: Quote, found: Sequence[Quote]) -> Iterator[str]:
    """Letters of other options whose text is joined to this one: `X as well as Y`."""
    for other in found:
        if 0 <= other.start - quote.end <= _JOINED_WITHIN and _JOINED.fullmatch(text, quote.end, other.start):
            yield other.letter


def leading_text(reply: ChoiceReply) -> ChoiceReading | None:
    """A reply whose first line, or the beginning of its first sentence, is the text of one option."""
    head = reply.text[:_HEAD].lower()
    begun = [option for option in reply.options if fold(option).lstrip("\"'([$ ")[:1].lower() in head]
    if not any(restated(reply.text, place, option) > place for option in begun for place in _FIRST_PLACES):
        return None
    line = len(reply.text.split("\n", 1)[0])
    found = _quotes(reply, "", short=True)
    for quote in found:
        ends = quote.end >= line - 2 or (reply.text[quote.end] in ",.;:!。" and len({one.letter for one in found}) == 1)
        if quote.start <= 2 and ends:
            return reply.reading((quote.letter,), "leading_text", (quote.start, quote.end), inferred=True)
    return None


def only_text(reply: ChoiceReply) -> ChoiceReading | None:
    """The one option whose text is quoted."""
    wrong = verdicts_in(reply).wrong.keys()
    found = [
        one
        for one in _quotes(reply, reply.question)
        if one.letter not in wrong and not begins_walk(reply.text, one.start)
    ]
    if len({one.letter for one in found}) != 1:
        return None
    option = reply.options[ord(found[0].letter) - ord("A")]
    if all(doubt(reply.text, one.start, one.start) is Doubt.DENIED for one in found):
        return None
    if not is_distinct(option) and not any(takes_text(reply.text, one.start, one.end) for one in found):
        return None
    if len(reply.text) > _BARE_WITHIN and not is_distinct(option) and not _ends_with(reply.text, found[-1]):
        return None
    return reply.reading((found[0].letter,), "only_text", (found[0].start, found[0].end), inferred=True)


def _ends_with(text: str, quote: Quote) -> bool:
    """Whether the reply ends in the quotation, of letters alone (`The stone must be chalk.`)."""
    return _ENDS.fullmatch(text, quote.end) is not None and text[quote.start : quote.end].isalpha()


def _quotes(reply: ChoiceReply, question: str, *, short: bool = False) -> tuple[Quote, ...]:
    key = "quotes beside the question" if question else "quotes"
    if key not in reply.memo:
        reply.memo[key] = quotes(reply.cleaned, reply.options, question, reply.listed)
    found: tuple[Quote, ...] = reply.memo[key]
    return (
        found
        if short or len(reply.text) <= _SHORT_REPLY
        else tuple(one for one in found if one.end - one.start >= _SHORT or _ends_with(reply.text, one))
    )


_KINDS: Final[tuple[Callable[[tuple[str, ...], tuple[str, ...]], bool], ...]] = (
    _same,
    _reordered,
    _misprinted,
    _shortened,
    _completed,
)
