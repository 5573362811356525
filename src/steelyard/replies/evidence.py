"""Evidence for an answer: the words before and after it, and which of several answers in one reply counts."""

# Why it is so, and what was rejected: docs/decisions/replies-never-guess.md

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, Final

from steelyard.replies.grammar import FLAGS, any_of, expanded, hints, languages_in, pattern, source

_OPENS_WITHIN: Final = 80
"""Characters: an answer that begins here opens the reply, and what follows explains it."""
_SIGNS: Final = r"[\s:=–—>\"'「《(\[\]{}【<$|~_/\\-]{0,12}"
"""Signs between a phrase and the answer."""
_BETWEEN: Final = (
    rf"{_SIGNS}(?:{expanded('<filler>', 'en')}[\s,:]{{1,4}}){{0,6}}{_SIGNS}"
    rf"(?:{expanded('<filler>', 'zh')}|\s){{0,4}}{_SIGNS}"
)
_NOT_WITHIN_A_WORD: Final = r"(?!(?<=\w)[a-z0-9_])"
"""Stated once in front instead of in every phrase, which makes a search twice as fast."""
_NEGATED: Final = re.compile(
    rf"(?:\bnot|n't|\bcannot|\bnever)\s(?:\w{{1,12}}\s)?{expanded('<be>', 'en')}|不[是能应选]|不[太大]?可能|无法|没有",
    FLAGS,
)
_NOT: Final = re.compile(r"\bnot\b|n't\b|\bcannot\b|\bnever\b", FLAGS)
_TURNED: Final = re.compile(r"的|而是|\bbut\b", FLAGS)
"""Words behind which a negation no longer holds: `not A but`, `不属于...的是`."""
_DENIED_WITHIN: Final = 24
_AGAINST_WITHIN: Final = 60


@dataclass(frozen=True, eq=False)
class Around:
    """Words next to an answer, in the languages that a text may hold: the others would cost time and mean other things.

    Args:
        kind: of the lexicon's phrases.
        before: what may stand in front of them.
        behind: what may stand behind them.
    """

    kind: str
    before: str = ""
    behind: str = ""

    def match(self, text: str, start: int) -> re.Match[str] | None:
        """The words at `start`."""
        return _around(self, languages_in(text)).match(text, start)

    def search(self, text: str, start: int, end: int) -> re.Match[str] | None:
        """The words that end at `end`."""
        return _around(self, languages_in(text)).search(text, start, end)


@cache
def _around(words: Around, languages: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"{words.before}{source('choice', words.kind, languages)}{words.behind}", FLAGS)


_OPENING_SIGNS: Final = "$€£¥₹\"'“‘~"
_DENIED: Final = Around("denied", behind=r"[ \t]*\Z")
_JOINED: Final = r"[\s\"'(]{0,3}(?:选项|options?\s)?(?:\(?(?-i:[A-Z])\)?(?:、|和|或|及|\s?(?:and|or|&)\s)){0,5}\(?\Z"
"""Between such words and a letter: others that are joined to it."""
_AGAINST: Final = Around("against", behind=_JOINED)
_LISTED: Final = r"[\s(]{0,3}(?:\(?(?-i:[A-Z])\)?(?:,|、|和|或|及|\s?(?:and|or|&)\s)\s?){0,9}\(?\Z"
WRONG_ANSWER: Final = Around("wrong_answer", behind=_LISTED)
"""Before an answer: it is named as a wrong one."""
WRONG_ONE: Final = Around("wrong_one", behind=_LISTED)
"""Before an answer: it is named as the wrong one, or the words of the question for it are repeated."""
_CONDITION: Final = Around("condition", behind=r"[ \t]*\Z")
REJECTED: Final = Around("rejected", before=r"[)\]}\"':.|\s–—-]{0,3}")
"""Behind an answer: it is called wrong, or holds under a condition alone."""
CONTINUED: Final = Around("continued")
"""Behind an answer: it is part of another statement."""
CONFIRMED: Final = Around("confirmed", before=r"[)\]}\"':.|\s–—-]{0,3}")
"""Behind an answer: it is called right."""


class Strength(IntEnum):
    """How plainly a reply gives something as its answer, the strongest last."""

    MENTIONED = 1
    CONCLUDED = 2
    ANNOUNCED = 3
    DECLARED = 4
    STRUCTURED = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be the answer.

    Args:
        value: the answer, in whatever form the reader gives it back.
        start: where it begins in the cleaned reply.
        end: where it ends.
        strength: how plainly it is given.
        source: the name of the rule that found it.
        whole: the range of the declaration that it is a part of, as (start, end); None is the value alone.
        rank: which of equally plain ones counts, the highest: what was asked for, or is called final.
    """

    value: Any
    start: int
    end: int
    strength: Strength
    source: str
    whole: tuple[int, int] | None = None
    rank: int = 0


def decide(candidates: Sequence[Candidate], text: str) -> Candidate | None:
    """The candidate that counts, or None where there is none.

    The strongest kind counts, and of one kind the highest rank. Of several of these the first counts where the reply
    opens with its answer, else the last, as what precedes it is reasoning. What was said before the model took it back
    does not count where something was said afterwards.

    Args:
        candidates: in the order of the text.
        text: the cleaned reply.
    """
    standing = _after_correction(candidates, text)
    if not standing:
        return None
    top = max((candidate.strength, candidate.rank) for candidate in standing)
    strongest = [candidate for candidate in standing if (candidate.strength, candidate.rank) == top]
    return strongest[0] if opens_with(strongest[0].start) else strongest[-1]


def opens_with(start: int) -> bool:
    """Whether an answer at `start` is what the reply begins with."""
    return start < _OPENS_WITHIN


def _after_correction(candidates: Sequence[Candidate], text: str) -> Sequence[Candidate]:
    if len(candidates) < 2 or not opens_with(candidates[0].start):
        return candidates
    first, last = candidates[0].end, candidates[-1].start
    for match in pattern("page", "correction").finditer(text, first, last):
        later = [
            candidate
            for candidate in candidates
            if candidate.start >= match.start() and candidate.strength > Strength.CONCLUDED
        ]
        candidates = later or candidates
    return candidates


@dataclass(frozen=True)
class Lead:
    """A kind of phrase that gives an answer.

    Args:
        strength: how plainly it does.
        reach: within how many characters before the answer it begins.
        kinds: of the lexicon's phrases.
    """

    strength: Strength
    reach: int
    kinds: tuple[str, ...]

    def before(self, text: str, start: int) -> re.Match[str] | None:
        """The phrase that ends where an answer begins at `start`; None where there is none, or where it is denied."""
        match = self._phrase(text, start)
        if match is None:
            return None
        begin, phrase = match.start(), match.group()
        if _DENIED.search(text, max(0, begin - _DENIED_WITHIN), begin):
            return None
        if _AGAINST.search(text, max(0, begin - _AGAINST_WITHIN), start):
            return None
        negated = _NEGATED.search(phrase) or (self.strength == Strength.ANNOUNCED and _NOT.search(phrase))
        return None if negated and not _TURNED.search(phrase, negated.end()) else match

    def is_conditional(self, text: str, start: int) -> bool:
        """Whether such a phrase ends at `start` and holds under a condition alone: `if the answer is`."""
        match = self._phrase(text, start)
        return (
            match is not None
            and _CONDITION.search(text, max(0, match.start() - _DENIED_WITHIN), match.start()) is not None
        )

    def _phrase(self, text: str, start: int) -> re.Match[str] | None:
        return _lead(self.kinds, languages_in(text)).search(text, max(0, start - self.reach), start)


@cache
def _lead(kinds: tuple[str, ...], languages: tuple[str, ...]) -> re.Pattern[str]:
    """A phrase with the text that may be between it and the answer; compiled when the first such reply is read."""
    phrases = any_of(source("choice", kind, languages) for kind in kinds)
    return re.compile(rf"{_NOT_WITHIN_A_WORD}{phrases}{_BETWEEN}\Z", FLAGS)


DECLARES: Final = Lead(Strength.DECLARED, 200, ("declared",))
"""`The correct answer is`, `答案：`."""
SAYS: Final = Lead(Strength.ANNOUNCED, 120, ("said",))
"""`I would choose`."""
LEADS: Final = (
    DECLARES,
    Lead(Strength.ANNOUNCED, 120, ("said", "announced")),
    Lead(Strength.CONCLUDED, 80, ("concluded",)),
)
"""Every kind, the strongest first."""


def phrases(section: str, kind: str, text: str, end: int | None = None) -> Iterator[re.Match[str]]:
    """The phrases of one kind in `text` up to `end`.

    A kind may name hints, of which each of its phrases contains one: most texts hold none and need no search.
    """
    if words := hints(section, kind):
        lowered = text.lower()
        if not any(word in lowered for word in words):
            return iter(())
    return pattern(section, kind).finditer(text, 0, len(text) if end is None else end)


def is_against(text: str, start: int) -> bool:
    """Whether the words before `start` deny what follows, or the model does not claim it."""
    while start and text[start - 1] in _OPENING_SIGNS:
        start -= 1
    before = max(0, start - _AGAINST_WITHIN)
    return _DENIED.search(text, before, start) is not None or _AGAINST.search(text, before, start) is not None
