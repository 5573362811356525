"""Option texts that are not repeated word for word: cut short, misprinted, in another order, and in a few words.

Only a whole short reply, or what stands behind `the answer is` or `I would say` up to the end of its sentence, is
compared; and only where one option is near and no other is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from steelyard.text.choice_doubt import Doubt, doubt
from steelyard.text.choice_letters import sentence_end
from steelyard.text.choice_page import within
from steelyard.text.choice_patterns import MARKS, STRONG
from steelyard.text.choice_reading import ChoiceReading, Reply
from steelyard.text.choice_starts import matches, tokens
from steelyard.text.normal import fold

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
_MOST: Final = 100
_MOST_WORDS: Final = 16
_SHORT_REPLIES: Final = frozenset({"neither", "both", "none", "yes", "no", "all"})
_COMPLETING: Final = frozenset({"is", "are", "correct", "true", "right", "the", "answer", "answers", "best"})
_PREFIX_LETTERS: Final = 10
_LONG: Final = 5
_LEADS: Final = 20


def near_text(this: Reply) -> ChoiceReading | None:
    """The one option whose text the reply gives in other spelling, order or length."""
    forms = [_words(MARKS.sub(" ", fold(option))) for option in this.options]
    for start, end in _phrases(this):
        said = _words(this.text[start:end])
        if 0 < len(said) <= _MOST_WORDS and not within(start, this.listed):
            number = _nearest(said, forms)
            if number is not None:
                return this.found((chr(ord("A") + number),), "near_text", (start, end), inferred=True)
    return None


def _phrases(this: Reply) -> Iterator[tuple[int, int]]:
    """Where a reply may give a text: as a whole, behind an equals sign, behind its declarations, the last first."""
    text = this.text
    whole = len(text) <= _MOST and sentence_end(text, 0, _MOST) >= len(text.rstrip(".!。 \n"))
    if whole:
        yield _phrase(text, 0)
        if "=" in text:
            yield _phrase(text, text.rindex("=") + 1)
    leads = [*strong_leads(this)]
    lowered = text.lower()
    if any(word in lowered for word in (*_SAYING, *_SAYING_ALSO)):
        leads += _SAYS.finditer(text)
    for lead in sorted(leads, key=_end, reverse=True)[:_LEADS]:
        if doubt(text, lead.start(), lead.end()) is not Doubt.DENIED:
            yield _phrase(text, lead.end())


def strong_leads(this: Reply) -> tuple[re.Match[str], ...]:
    """Every `the answer is` and its like, looked for once."""
    if "leads" not in this.memo:
        this.memo["leads"] = tuple(matches(STRONG, "declared", this.text, tokens(this.text)))
    found: tuple[re.Match[str], ...] = this.memo["leads"]
    return found


def _end(match: re.Match[str]) -> int:
    return match.end()


def _phrase(text: str, start: int) -> tuple[int, int]:
    """What begins at `start`, to the end of the quotation, the reason or the sentence."""
    begins = _BEGINS.match(text, start)
    start = begins.end() if begins else start
    end = sentence_end(text, start, 2 * _MOST)
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
        return enough or (len(said) == 1 and said[0] in _SHORT_REPLIES)
    return enough and form[-len(said) :] == said


def _completed(said: tuple[str, ...], form: tuple[str, ...]) -> bool:
    """A longer text made a sentence: `Both A and B` as `Both A and B are correct`."""
    return len(form) > 2 and said[: len(form)] == form and {*said[len(form) :]} <= _COMPLETING


_KINDS: Final[tuple[Callable[[tuple[str, ...], tuple[str, ...]], bool], ...]] = (
    _same,
    _reordered,
    _misprinted,
    _shortened,
    _completed,
)
