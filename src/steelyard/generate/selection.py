"""Which parts of the documents questions are made of: pages, sections, no boilerplate, and a sample of the chunks.

A document is parted into segments first, and each is cut into chunks by itself, so that no chunk mixes a page that is
asked about with one that is not.

Questions of further kinds are over two chunks that belong together, or have no answer. Two chunks belong together if
BM25 finds one of them with the words of the other, so that a question can need a fact of each. A question without an
answer is kept only if the model fails to answer it from the chunk that it was written for and from the best chunks of
all documents, which are found by its words.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Annotated, Final, NamedTuple

from steelyard.constraints import Seed, TextList, Within, check_options
from steelyard.data.documents import Document
from steelyard.errors import ConfigError, did_you_mean, expect_number
from steelyard.generate.boilerplate import Kind, boilerplate_kind, heading_kind
from steelyard.prompts.language import Language
from steelyard.retrieval.chunk import CHUNK_TOKENS, Chunk, headings_in, split_chunks
from steelyard.retrieval.stored import ChunkIndex

TWO_CHUNKS: Final = "two_chunks"
UNANSWERABLE: Final = "unanswerable"
BETWEEN: Final = "\n\n"
"""What parts the texts of several chunks."""
NO_ANSWER: Final[Mapping[Language, str]] = {"en": "The documents do not say.", "zh": "资料中没有说明。"}
"""The reference answer of a question without an answer."""
_NEIGHBOURS: Final = 3
_CHECKED: Final = 5
LEAST_LETTERS: Final = 40
"""Letters and digits below which a chunk is a heading or a page number, and nothing can be asked of it."""
_MOST_TOKENS: Final = 30_000
"""Of a chunk, which is a cell of the saved set: readers of CSV take 131,072 characters."""
_RANGES: Final = re.compile(r"\d{1,6}(?:\s*-\s*\d{0,6})?(?:\s*,\s*\d{1,6}(?:\s*-\s*\d{0,6})?)*")


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """Which chunks of the documents are used.

    Args:
        chunk_tokens: estimated tokens of a chunk, at most. Chunks do not overlap, so nothing is asked twice.
        seed: of what is drawn: chunks, and the sentences of cloze questions.
        pages: pages that are asked about, as `1-40,55` for every document or `handbook.pdf:1-40` for one; all where
            none are named.
        exclude_pages: pages that are not, written likewise.
        exclude_headings: titles of sections that are not, with all below them; case is ignored and `*` stands for any
            text: `appendix *`.
        keep_boilerplate: use licences, tables of contents, indexes, lists of references and copyright pages too.
    """

    chunk_tokens: Annotated[int, Within(32, _MOST_TOKENS)] = CHUNK_TOKENS
    seed: Seed = 0
    pages: Annotated[Sequence[str], TextList()] = ()
    exclude_pages: Annotated[Sequence[str], TextList()] = ()
    exclude_headings: Annotated[Sequence[str], TextList()] = ()
    keep_boilerplate: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The chunks that questions are made of, and what was left out.

    Args:
        chunks: in the order of the documents.
        left_out: kind of boilerplate -> how many chunks of it were left out.
        too_short: document -> how many of its chunks have fewer than `LEAST_LETTERS`.
    """

    chunks: tuple[Chunk, ...]
    left_out: Mapping[str, int]
    too_short: Mapping[str, int]


def select_chunks(documents: Sequence[Document], settings: ChunkSettings, count: int | None = None) -> Selection:
    """The chunks of all documents in order, or a sample of them.

    Args:
        documents: in order.
        settings: which chunks.
        count: how many are drawn, spread over the documents; None takes all.

    Raises:
        ConfigError: settings that no document fits, or no document holds anything to ask about.
    """
    check_options(settings)
    if count is not None:
        expect_number("chunks", count, 1, whole=True)
    included = _pages_by_document(documents, settings.pages, "pages")
    excluded = _pages_by_document(documents, settings.exclude_pages, "exclude_pages")
    left_out: Counter[str] = Counter()
    too_short: Counter[str] = Counter()
    by_document = []
    for document in documents:
        pages = _Pages(included.get(document.name, ()), excluded.get(document.name, ()))
        by_document.append(list(_usable_chunks(document, pages, settings, (left_out, too_short))))
    if not any(by_document):
        names = ", ".join(document.name for document in documents)
        boilerplate = f" {left_out_text(left_out)}; keep_boilerplate takes them." if left_out else ""
        raise ConfigError(
            f"{names}: there is no chunk to ask about; a chunk has {LEAST_LETTERS} letters or more.{boilerplate}"
        )
    chosen = {chunk.id for chunk in drawn(by_document, count, settings.seed)}
    chunks = tuple(chunk for chunks in by_document for chunk in chunks if chunk.id in chosen)
    return Selection(chunks, dict(left_out), dict(too_short))


def left_out_text(left_out: Mapping[str, int]) -> str:
    """The counts of chunks that were left out, in words.

    >>> left_out_text({"licence": 6, "contents": 1})
    '7 chunks were left out as boilerplate: 6 licence, 1 contents'
    """
    total = sum(left_out.values())
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(left_out.items(), key=lambda pair: -pair[1]))
    return f"{total} {'chunk was' if total == 1 else 'chunks were'} left out as boilerplate: {kinds}"


def drawn(every: Sequence[Sequence[Chunk]], count: int | None, seed: int) -> list[Chunk]:
    """A random sample of chunks, one of each document in turn, so that a long document does not crowd out a short one.

    The first n of a draw are the draw of n: whoever asks for more chunks later keeps those that were paid for.
    """
    if count is None:
        return [chunk for chunks in every for chunk in chunks]
    draw = random.Random(seed)  # noqa: S311  # a draw that can be repeated, no secret
    decks = [draw.sample(list(chunks), len(chunks)) for chunks in every]
    draw.shuffle(decks)
    rounds = max(len(deck) for deck in decks)
    return [deck[at] for at in range(rounds) for deck in decks if at < len(deck)][:count]


class PageRange(NamedTuple):
    """Pages from `first` to `last`, both 1-based and included; None is the last page of the document."""

    first: int
    last: int | None


def parse_pages(text: str) -> tuple[str, tuple[PageRange, ...]]:
    """(document, ranges of pages) of a setting; the document is "" where it is meant for all.

    Raises:
        ConfigError: it is not a list of pages.

    >>> parse_pages("handbook.pdf:1-40, 55, 60-")
    ('handbook.pdf', (PageRange(first=1, last=40), PageRange(first=55, last=55), PageRange(first=60, last=None)))
    """
    document, _, listed = text.strip().rpartition(":")
    if not _RANGES.fullmatch(listed.strip()):
        raise ConfigError(f"{text!r} is not a list of pages: write 1-40,55 or handbook.pdf:1-40 (60- is to the end)")
    ranges = []
    for part in listed.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        ranges.append(PageRange(int(first), int(last) if last else None if dash else int(first)))
        if not ranges[-1].first or ranges[-1].first > (ranges[-1].last or ranges[-1].first):
            raise ConfigError(f"{text!r}: pages are counted from 1, and a range begins with the lower one")
    return document.strip(), tuple(ranges)


def _pages_by_document(
    documents: Sequence[Document], settings: Sequence[str], name: str
) -> dict[str, tuple[PageRange, ...]]:
    """Document -> the pages that settings name for it.

    Raises:
        ConfigError: there is no such document, it has no pages, or fewer.
    """
    by_name = {document.name: document for document in documents}
    ranges: dict[str, tuple[PageRange, ...]] = {}
    for setting in settings:
        document_name, pages = parse_pages(setting)
        if document_name and document_name not in by_name:
            raise ConfigError(
                f"{name}: there is no document {document_name!r}{did_you_mean(document_name, list(by_name))}"
            )
        matching = [by_name[document_name]] if document_name else list(documents)
        paged = [document for document in matching if document.pages]
        if not paged:
            raise ConfigError(
                f"{name}: {document_name or 'the documents'}: no pages are known; only PDF files have any"
            )
        for document in paged:
            beyond = next((page.first for page in pages if page.first > len(document.pages)), None)
            if document_name and beyond is not None:
                raise ConfigError(
                    f"{name}: {document_name} has {len(document.pages)} pages, so there is no page {beyond}"
                )
            ranges[document.name] = (*ranges.get(document.name, ()), *pages)
    return ranges


@dataclass(frozen=True, slots=True)
class _Pages:
    """The pages of one document that are asked about."""

    included: Sequence[PageRange]
    excluded: Sequence[PageRange]

    def holds(self, page: int | None) -> bool:
        if page is None:
            return True
        is_included = not self.included or any(_within(page, pages) for pages in self.included)
        return is_included and not any(_within(page, pages) for pages in self.excluded)


def _within(page: int, pages: PageRange) -> bool:
    return pages.first <= page and (pages.last is None or page <= pages.last)


_SKIPPED: Final = "skipped"


def _usable_chunks(
    document: Document, pages: _Pages, settings: ChunkSettings, counts: tuple[Counter[str], Counter[str]]
) -> Iterator[Chunk]:
    """The chunks of a document that questions are made of; those that are boilerplate or too short are counted."""
    left_out, too_short = counts
    for kind, start, end in _segments(document, pages, settings):
        if kind == _SKIPPED:
            continue
        chunks = split_chunks(
            document.text,
            document=document.name,
            tokens=settings.chunk_tokens,
            overlap=0,
            pages=document.pages,
            span=(start, end),
        )
        for chunk in chunks:
            if _letters(chunk.text) < LEAST_LETTERS:
                too_short[document.name] += 1
                continue
            boilerplate = kind or ("" if settings.keep_boilerplate else boilerplate_kind(chunk.text))
            if boilerplate:
                left_out[boilerplate] += 1
            else:
                yield chunk


def _segments(document: Document, pages: _Pages, settings: ChunkSettings) -> Iterator[tuple[str, int, int]]:
    """(kind, start, end) of stretches of a document: "" is asked about, `skipped` not, else a kind of boilerplate."""
    headings = headings_in(document.text)
    heading_starts = [heading.start for heading in headings]
    borders = sorted({0, *document.pages, *heading_starts})

    def kind_at(offset: int) -> str:
        above = bisect_right(heading_starts, offset)
        titles = headings[above - 1].path.split(" > ") if above else []
        if not pages.holds(document.page_at(offset)) or _excluded(titles, settings.exclude_headings):
            return _SKIPPED
        return "" if settings.keep_boilerplate else _kind_of(titles)

    start, kind = 0, kind_at(0)
    for border in borders[1:]:
        if (next_kind := kind_at(border)) != kind:
            yield kind, start, border
            start, kind = border, next_kind
    yield kind, start, len(document.text)


def _excluded(titles: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(
        fnmatchcase(" ".join(title.split()).casefold(), " ".join(pattern.split()).casefold())
        for title in titles
        for pattern in patterns
    )


def _kind_of(titles: Sequence[str]) -> Kind:
    """The kind of a section by its headings; that of the whole document is its subject, and says nothing."""
    return next((kind for title in titles[1:] if (kind := heading_kind(title))), "") or (
        heading_kind(titles[0]) if len(titles) == 1 else ""
    )


def _letters(text: str) -> int:
    return sum(mark.isalnum() * (3 if mark > "\u2e7f" else 1) for mark in text)


def related_pairs(chunks: Sequence[Chunk], count: int, seed: int) -> list[tuple[Chunk, Chunk]]:
    """Pairs of chunks that share words, each pair once; every chunk has its nearest before any has a further one.

    Args:
        chunks: at least two.
        count: how many pairs at most.
        seed: of the order in which chunks take part.

    Raises:
        ConfigError: a single chunk has no other.
    """
    if len(chunks) < 2:
        raise ConfigError("pairs needs two chunks or more: name more documents, or make chunk_tokens smaller")
    index = ChunkIndex(chunks)
    order = random.Random(seed).sample(list(chunks), len(chunks))  # noqa: S311  # a draw that can be repeated, no secret
    neighbours = {chunk.id: _neighbours(index, chunk) for chunk in order[:count]}
    pairs: dict[frozenset[str], tuple[Chunk, Chunk]] = {}
    for distance in range(_NEIGHBOURS):
        for chunk in order:
            if len(pairs) == count:
                return list(pairs.values())
            if chunk.id not in neighbours:
                neighbours[chunk.id] = _neighbours(index, chunk)
            if distance < len(neighbours[chunk.id]):
                neighbour = neighbours[chunk.id][distance]
                pairs.setdefault(frozenset({chunk.id, neighbour.id}), (chunk, neighbour))
    return list(pairs.values())


def _neighbours(index: ChunkIndex, chunk: Chunk) -> list[Chunk]:
    hits = index.search(chunk.text, _NEIGHBOURS + 1)
    return [hit.chunk for hit in hits if hit.chunk.id != chunk.id][:_NEIGHBOURS]


def drawn_for_unanswerable(chunks: Sequence[Chunk], count: int, seed: int) -> list[Chunk]:
    """The chunks that questions without an answer are written for; the first n of a draw are the draw of n."""
    draw = random.Random(f"{UNANSWERABLE} {seed}")  # noqa: S311  # as above
    return draw.sample(list(chunks), len(chunks))[:count]


def id_of(kind: str, *chunks: Chunk) -> str:
    """The id of a sample of one of these kinds: 16 hexadecimal digits."""
    named = "\0".join([kind, *(chunk.id for chunk in chunks)])
    return blake2b(named.encode(), digest_size=8).hexdigest()


def index_of(documents: Sequence[Document], tokens: int) -> ChunkIndex:
    """All of the documents' text, with what is left out of questions, searchable by words."""
    return ChunkIndex(
        chunk
        for document in documents
        for chunk in split_chunks(document.text, document=document.name, tokens=tokens, overlap=0)
    )


def text_to_check(index: ChunkIndex, text: str, question: str) -> str:
    """The text that must not answer a question: the chunk it was written for, and the best of the documents."""
    best = [hit.chunk.text for hit in index.search(question, _CHECKED)]
    return BETWEEN.join(dict.fromkeys([text, *best]))
