"""Whether two passages hold the same words, however each of them was read from its document and cut.

Two readers of one PDF differ in blanks, line ends, hyphens, ligatures, marks and widths. All of that is folded, and
what is left is compared by shingles: runs of 8 words, or of 12 characters where a script has no blanks between words
(Chinese, Japanese; a hangul syllable counts as a character too). In mixed text a word weighs as much as one and a half
characters.

Source of shingles: A. Z. Broder, "On the resemblance and containment of documents", 1997; taken of the shorter side
(containment), since systems that are compared cut documents into passages of different lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from steelyard.normal_form import nfkc
from steelyard.scorers.overlap import words_of

SHINGLE_WORDS: Final = 8
SHINGLE_CHARACTERS: Final = 12
_WORD: Final = 3
_CHARACTER: Final = 2
_SHINGLE: Final = SHINGLE_WORDS * _WORD
"""Weight of a shingle: 8 words of weight 3, or 12 characters of weight 2."""
_FRAGMENT: Final = _SHINGLE // 2
"""Weight of the shortest text that may stand for a longer one: 4 words, or 6 characters."""
_LONG: Final = 3
_WIDE_FROM: Final = "\u2e80"

_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060\ufeff]")
_HYPHENS: Final = "[-\u2010\u00ad\u0002\ufffe]"
_HYPHEN: Final = re.compile(rf"{_HYPHENS}(?<=\w{_HYPHENS})\s*+(?=\w)")
"""A hyphen within a word or at a line's end; pdfium writes U+0002 or U+FFFE for the latter. It goes in both places:
whether a hyphen at a line's end belongs to the word cannot be seen, and another reader decides it otherwise."""


@dataclass(frozen=True)
class FoldedText:
    """A text whose words are compared; they are found on first use and once.

    Args:
        original: the text as it came.
    """

    original: str = ""

    @cached_property
    def words(self) -> tuple[str, ...]:
        r"""Its words without case, hyphens and marks; Chinese and Japanese characters and hangul syllables one by one.

        >>> FoldedText("The ef\ufb01-\ncient Co-op ,  ２ times").words
        ('the', 'efficient', 'coop', '2', 'times')
        """
        plain = self.original
        if not plain.isascii():
            plain = _UNSEEN.sub("", nfkc(plain))
        return tuple(words_of(_HYPHEN.sub("", plain)))

    @cached_property
    def weight(self) -> int:
        """How long it is: 3 for a word, 2 for a character that stands for itself."""
        return _WORD * len(self.words) if self.original.isascii() else sum(map(_weight, self.words))

    @cached_property
    def shingles(self) -> frozenset[int]:
        """Hashes of its shingles; none of a text that is shorter than one."""
        words = self.words
        # Text of one kind, which is nearly all there is, takes half as long with shingles of one number of words.
        for word_weight, count in ((_WORD, SHINGLE_WORDS), (_CHARACTER, SHINGLE_CHARACTERS)):
            if self.weight == word_weight * len(words):
                return frozenset(map(hash, zip(*(words[at:] for at in range(count)), strict=False)))
        return frozenset(_shingles(words))

    def is_fragment_of(self, other: FoldedText) -> bool:
        """Whether it is too short to stand for the other text: up to 3 words or 5 characters, and below half of it.

        A page number, a heading or a name occurs somewhere in nearly any text on its subject.

        >>> long = FoldedText("It rains in May, 12 days.")
        >>> FoldedText("12").is_fragment_of(long), FoldedText("in May, 12").is_fragment_of(long)
        (True, False)
        """
        return self.weight < _FRAGMENT and 2 * self.weight < other.weight

    def is_part_of_long(self, source: FoldedText) -> bool:
        """Whether a source is more than three times as long, so that any part of it counts as found."""
        return source.weight > _LONG * self.weight

    def finds(self, source: FoldedText) -> bool:
        """Whether it holds at least half of the source's words; of a source over three times as long, half of its own.

        >>> source = FoldedText("The old gauge is read at nine in the morning, and again at six in the evening.")
        >>> FoldedText("Read at nine in the morning, and again at six in the evening.").finds(source)
        True
        >>> FoldedText("The old gauge is read at nine.").finds(source)
        False
        """
        if self.weight >= source.weight or self.is_part_of_long(source):
            return self.matches(source)
        if self.weight < _SHINGLE:
            return 2 * self.weight >= source.weight and self.matches(source)
        # Words, not shingles: a part of 12 words has 5 shingles, and a source of 20 words 13.
        covered: set[int] = set()
        for start, end in _shingle_ranges(source.words):
            if hash(source.words[start:end]) in self.shingles:
                covered.update(range(start, end))
        return 2 * sum(_weight(source.words[at]) for at in covered) >= source.weight

    def matches(self, other: FoldedText) -> bool:
        r"""Whether at least half of the shorter text's shingles occur in the other one.

        A text that is shorter than a shingle must occur in the other as a whole, from one word border to another.

        >>> FoldedText("rain in May").matches(FoldedText("Rain\nin May is rare.")), FoldedText("art").matches(
        ...     FoldedText("a party")
        ... )
        (True, False)
        """
        shorter, longer = (self, other) if self.weight <= other.weight else (other, self)
        if not shorter.words:
            return False
        if shorter.weight < _SHINGLE:
            return f" {' '.join(shorter.words)} " in f" {' '.join(longer.words)} "
        # Of two long texts the one with fewer different shingles is the shorter one: repeated lines count once.
        few = min(len(shorter.shingles), len(longer.shingles))
        return 2 * len(shorter.shingles & longer.shingles) >= few


def _weight(word: str) -> int:
    return _CHARACTER if len(word) == 1 and word >= _WIDE_FROM else _WORD


def _shingles(words: Sequence[str]) -> Iterator[int]:
    """Yield the hash of each shingle."""
    yield from (hash(words[start:end]) for start, end in _shingle_ranges(words))


def _shingle_ranges(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield for each position the range of words from there on that together have the weight of a shingle."""
    end, weight = 0, 0
    for start, first in enumerate(words):
        while weight < _SHINGLE:
            if end == len(words):
                return
            weight += _weight(words[end])
            end += 1
        yield start, end
        weight -= _weight(first)
