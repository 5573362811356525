"""Matches retrieved passages with expected sources, for systems that cut documents differently.

A passage matches a source if one of these holds; they are listed from the strongest to the weakest:

id       both have an id, and the ids are equal. Unequal ids say nothing: frameworks number passages at random.
words    both have a text, and half of the source's shingles occur in the passage (see `FoldedText`). Of a source that
         is more than three times as long, half of the passage's own; then a passage of up to 3 words does not count: a
         page number alone occurs in nearly every source.
range    both name the same document, and their character ranges overlap by a share of the source's, or of the passage's
         for such a long source. Only where the text at that range is the passage's: a framework may count from the
         start of a page, or in another reading.
page     one of them has no text, and both name the same document and the same page.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-passages.md

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from steelyard.normal_form import UNSPACED, nfkc
from steelyard.retrieval.chunk import identity_of
from steelyard.scorers.overlap import words_of

SHINGLE_WORDS: Final = 8
_WORD: Final = 3
_CHARACTER: Final = 2
_SHINGLE: Final = SHINGLE_WORDS * _WORD
"""Weight of a shingle: 8 words of weight 3, or 12 characters of weight 2."""
_FRAGMENT: Final = _SHINGLE // 2
"""Weight of the shortest text that may stand for a longer one: 4 words, or 6 characters."""
_LONG: Final = 3
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")

_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060\ufeff]")
_HYPHENS: Final = "[-\u2010\u00ad\u0002\ufffe]"
_HYPHEN: Final = re.compile(rf"{_HYPHENS}(?<=\w{_HYPHENS})\s*+(?=\w)")
"""A hyphen within a word or at a line's end; pdfium writes U+0002 or U+FFFE for the latter. It goes in both places:
whether a hyphen at a line's end belongs to the word cannot be seen, and another reader decides it otherwise."""


@dataclass(frozen=True)
class FoldedText:
    """A text whose words are compared, however it was read from its document and cut; found on first use and once.

    Two readers of one PDF differ in blanks, line ends, hyphens, ligatures, marks and widths. All of that is folded, and
    what is left is compared by shingles: runs of 8 words, or of 12 characters where a script has no blanks between
    words (Chinese, Japanese; a hangul syllable counts as a character too). In mixed text a word weighs as much as one
    and a half characters.

    Source of shingles: A. Z. Broder, "On the resemblance and containment of documents", 1997; taken of the shorter side
    (containment), since systems that are compared cut documents into passages of different lengths.

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
        return sum(map(_weight, self.words))

    @cached_property
    def shingles(self) -> frozenset[int]:
        """Hashes of its shingles; none of a text that is shorter than one."""
        return frozenset(hash(self.words[start:end]) for start, end in _shingle_ranges(self.words))

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
    return _CHARACTER if _UNSPACED.match(word) else _WORD


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


Match = Literal["id", "words", "range", "page", "nothing", "other document", "not compared"]

_PARTS: Final = re.compile(r"[\\/]")
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_DIGEST: Final = re.compile(r"[0-9a-f]{16,128}", re.IGNORECASE)
_LONGEST_PAGE: Final = 9
"""Digits of a page number in a text; Python refuses to convert more than 4,300."""


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A retrieved passage or an expected source; unknown fields stay empty.

    Args:
        id: of the passage in its index; "" is none.
        document: name of the document; "" is none.
        span: offsets of its first character and behind its last one in the document's text; None is unknown.
        text: its text; empty is unknown.
        page: 1-based; None is unknown.
    """

    id: str = ""
    document: str = ""
    span: tuple[float, float] | None = None
    text: FoldedText = FoldedText()
    page: int | None = None

    @classmethod
    def of(cls, value: Any, *, text: Any = "", document: Any = None) -> SourcePassage:
        """Build from a mapping of `id`, `document`, `start`, `end`, `page`, `text`; a bare text or number is an id.

        Args:
            value: the mapping; what it lacks stays unknown.
            text: its text where the mapping holds none.
            document: its document where the mapping names none.
        """
        if isinstance(value, str | int) and not isinstance(value, bool):
            value = {"id": value}
        fields = value if isinstance(value, Mapping) else {}
        body = fields.get("text") or text
        return cls(
            id=_name(fields.get("id")),
            document=_name(fields.get("document") or document),
            span=_span(fields.get("start"), fields.get("end")),
            text=FoldedText(body if isinstance(body, str) else ""),
            page=_page(fields.get("page")),
        )

    @property
    def is_comparable(self) -> bool:
        """Whether there is anything to compare: an id, a text, or a range or page of a document."""
        return bool(self.id or self.text.words) or (bool(self.document) and (self.span is not None or bool(self.page)))

    @property
    def is_own_chunk(self) -> bool:
        """Whether it is a chunk that this library cut: then its id is the digest of its document, range and text."""
        if self.span is None or not self.id:
            return False
        start, end = self.span
        return self.id == identity_of(self.document, int(start), int(end), self.text.original)


def match(passage: SourcePassage, expected: SourcePassage, *, overlap: float = 0.5) -> Match:
    """How a retrieved passage matches an expected source: the strongest of `id`, `words`, `range`, `page`.

    Args:
        passage: what was retrieved.
        expected: what should be.
        overlap: share of the source's range (of the passage's, for a source over three times as long) that both must
            have in common for two ranges to match.

    Returns:
        Otherwise `nothing` where they do not match, `other document` where only the documents' names differ, and `not
        compared` where they share no field that could decide it.

    >>> source = SourcePassage(document="a.pdf", span=(0, 100))
    >>> [match(SourcePassage(document="a.pdf", span=(start, start + 90)), source) for start in (0, 50, 51)]
    ['range', 'range', 'nothing']
    >>> match(SourcePassage(id="2b6f7c0e-58a1-4b7c-9a43-0d6e1f0c55aa"), source)
    'not compared'
    """
    if passage.id and passage.id == expected.id:
        return "id"
    both_read = bool(passage.text.words and expected.text.words)
    if both_read and passage.text.finds(expected.text) and not passage.text.is_fragment_of(expected.text):
        return "words"
    by_location = _match_by_location(passage, expected, overlap, both_read=both_read)
    if by_location != "not compared":
        return by_location
    same_id_form = bool(passage.id and expected.id) and _form(passage.id) == _form(expected.id)
    return "nothing" if both_read or same_id_form else "not compared"


def is_long(passage: SourcePassage, expected: SourcePassage) -> bool:
    """Whether a source is more than three times as long as a passage: any part of it is a hit then."""
    if passage.text.words and expected.text.words:
        return passage.text.is_part_of_long(expected.text)
    if passage.span is None or expected.span is None:
        return False
    (start, end), (other_start, other_end) = passage.span, expected.span
    return other_end - other_start > _LONG * (end - start)


def _match_by_location(passage: SourcePassage, expected: SourcePassage, overlap: float, *, both_read: bool) -> Match:
    """Match by character range, or else by page where one of them has no text."""
    if not passage.document or not expected.document:
        return "not compared"
    if not same_document(passage.document, expected.document):
        return "nothing" if both_read else "other document"
    if passage.span and expected.span and _range_holds(passage, expected):
        (start, end), (other_start, other_end) = passage.span, expected.span
        shared = min(end, other_end) - max(start, other_start)
        length = end - start if is_long(passage, expected) else other_end - other_start
        return "range" if shared >= overlap * length else "nothing"
    if not both_read and passage.page and expected.page:
        return "page" if passage.page == expected.page else "nothing"
    return "not compared"


def _range_holds(passage: SourcePassage, expected: SourcePassage) -> bool:
    """Whether the passage's text is at its range in our own reading of the document, as far as that can be checked.

    Where the expected source has a text, both texts must agree on the characters that the ranges share.
    """
    if not passage.text.words:
        return True  # Its range is all that is known of it.
    if not expected.text.words:
        return passage.is_own_chunk
    slices = [_shared_text(source, other) for source, other in ((passage, expected), (expected, passage))]
    return slices[0] is not None and slices[0] == slices[1]


def _shared_text(source: SourcePassage, other: SourcePassage) -> tuple[str, ...] | None:
    """The words of a source on the characters that it shares with another; None where its text is not of its range."""
    assert source.span is not None  # noqa: S101  # both have a range here
    assert other.span is not None  # noqa: S101
    (start, end), text = source.span, source.text.original
    if len(text) != end - start:
        return None
    first, last = max(start, other.span[0]), min(end, other.span[1])
    return FoldedText(text[int(first - start) : max(0, int(last - start))]).words or None


def same_document(name: str, other: str) -> bool:
    """Whether two names may be of one document: the folders that both have, from the file's own up, are the same.

    >>> same_document("a.pdf", "/home/ann/docs/a.pdf"), same_document("x/a.pdf", "y/a.pdf")
    (True, False)
    """
    parts, others = (_PARTS.split(path.casefold()) for path in (name, other))
    shared = min(len(parts), len(others))
    return parts[-shared:] == others[-shared:]


def _form(ident: str) -> str:
    """The format of an id: ids of different formats come from different systems and cannot be compared."""
    if _UUID.search(ident):
        return "uuid"
    return f"digest of {len(ident)}" if _DIGEST.fullmatch(ident) else "name"


def _span(start: Any, end: Any) -> tuple[float, float] | None:
    """A range of characters; None where it is empty or invalid."""
    for offset in (start, end):
        if isinstance(offset, bool) or not isinstance(offset, int | float):
            return None
    return (start, end) if 0 <= start < end <= sys.maxsize else None


def _page(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _LONGEST_PAGE:
        value = int(value)
    return value if type(value) is int and value > 0 else None


def _name(value: Any) -> str:
    return "" if value is None else str(value)
