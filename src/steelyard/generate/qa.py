"""A question set from documents: the chunks are the samples of a run, and whoever writes the questions is its target.

So the journal, resume, budgets, progress and dry runs are those of every run.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.data.documents import Document, read_documents
from steelyard.errors import ConfigError, did_you_mean, expect_number
from steelyard.generate.cloze import Cloze, with_rare
from steelyard.generate.question_set import QaSet, collect
from steelyard.generate.writer import QuestionCount, QuestionWriter
from steelyard.models.base import Model
from steelyard.prompts.language import LanguageSetting
from steelyard.retrieval.chunk import CHUNK_TOKENS, Chunk, split_chunks
from steelyard.store import Run, Store
from steelyard.suite.evaluate import RunConfig, evaluate_suite
from steelyard.suite.objects import Options, Suite
from steelyard.suite.survey import changed_keys, manifests, survey
from steelyard.types import Sample

KIND: Final = "generate"
CHUNK_TIMEOUT_S: Final = 21_600.0
"""A chunk is dozens of calls that share an endpoint with those of other chunks; each call has limits of its own."""
_TARGET: Final = "questions"


@dataclass(frozen=True, slots=True)
class QaSettings:
    """Settings of question generation, besides documents, model and number of questions.

    Args:
        chunk_tokens: estimated tokens of a chunk, at most.
        seed: of what is drawn: chunks, and the sentences of cloze questions.
        language: of the prompts; `auto` is Chinese where the chunk is.
        check_answerable: ask once more per question whether the chunk alone answers it.
        show_metadata: show the model the document's name, the page and the headings too.
    """

    chunk_tokens: int = CHUNK_TOKENS
    seed: int = 0
    language: LanguageSetting = "auto"
    check_answerable: bool = False
    show_metadata: bool = False


_SETTINGS: Final = frozenset(field.name for field in dataclasses.fields(QaSettings))
_OPTIONS: Final = frozenset(one.name for one in dataclasses.fields(Options)) - {"seed", "repeats"}


def generate_qa(
    documents: Path | str | Iterable[Path | str],
    model: Model | None,
    *,
    per_chunk: int = 10,
    chunks: int | None = None,
    store: str | Path | None = None,
    **options: Any,
) -> QaSet:
    """Generate questions with answers and sources from documents; works inside a running event loop too.

    What was paid for is not paid for again: an unfinished run of the same documents, model and settings goes on, and
    replies to the same calls come from the journal.

    Args:
        documents: files and folders: PDF, Markdown, text, HTML.
        model: what writes; None makes cloze questions without a model.
        per_chunk: questions asked for of each chunk; how many there are is in the report.
        chunks: how many chunks are drawn, spread over the documents; None takes all.
        store: a file, or None for `.steelyard/steelyard.db` here.
        options: any field of `QaSettings` (`check_answerable=True`) or of `Options` (`concurrency=4`); `fresh=True`
            asks again what the journal could answer.

    Raises:
        ConfigError: found before the first call.
        DataError: a document cannot be read.
        StoreError: the results could not be kept.
    """
    known = {*_SETTINGS, *_OPTIONS, "fresh"}
    unknown = next((key for key in options if key not in known), None)
    if unknown is not None:
        raise ConfigError(f"generate_qa() has no option {unknown!r}{did_you_mean(unknown, known)}")
    settings = QaSettings(**{key: value for key, value in options.items() if key in _SETTINGS})
    given = {key: value for key, value in options.items() if key in _OPTIONS}
    # A chunk that failed is a hole in the set: the run stays open, so that going on asks about it again.
    running = Options(**{"sample_timeout_s": CHUNK_TIMEOUT_S, "max_errors": 0.0, **given}, seed=settings.seed)
    paths = [Path(documents)] if isinstance(documents, str | Path) else [Path(document) for document in documents]
    suite = qa_suite(paths, writer_of(model, per_chunk, settings), chunks=chunks, settings=settings, options=running)
    fresh = bool(options.get("fresh"))
    before = None if fresh else unfinished(suite, store)
    (run,) = evaluate_suite(suite, how=RunConfig(store=store, fresh=fresh, resume=before.id if before else ""))
    return questions_of(run, suite)


def writer_of(model: Model | None, per_chunk: int, settings: QaSettings) -> QuestionWriter | Cloze:
    """The target that writes the questions: the model, or cloze questions if there is none."""
    if model is None:
        return Cloze(per_chunk, settings.seed)
    return QuestionWriter(
        model,
        per_chunk,
        language=settings.language,
        check_answerable=settings.check_answerable,
        show_metadata=settings.show_metadata,
    )


def qa_suite(
    documents: Iterable[Path],
    writer: QuestionWriter | Cloze,
    *,
    chunks: int | None = None,
    settings: QaSettings = QaSettings(),
    options: Options = Options(),
) -> Suite:
    """The suite that makes a question set: chunks, one target, and the count of questions as its score.

    Args:
        documents: files and folders.
        writer: who writes the questions.
        chunks: how many chunks are drawn; None takes all.
        settings: how they are cut and drawn; what it says of prompts, the writer knows already.
        options: how it is run.

    Raises:
        ConfigError: a path without documents, a number that cannot be meant, or nothing to ask about.
        DataError: a document cannot be read.
    """
    paths = tuple(documents)
    read = read_documents(paths)
    drawn = chunks_of(read, Drawing(chunks, settings.chunk_tokens, settings.seed))
    known = with_rare(drawn) if isinstance(writer, Cloze) else ((chunk, {}) for chunk in drawn)
    few = chunks is not None and len(drawn) < chunks
    return Suite(
        name=read[0].name if len(read) == 1 else f"{read[0].name} and {len(read) - 1} more",
        kind=KIND,
        samples=tuple(sample_of(chunk, **more) for chunk, more in known),
        targets={_TARGET: writer},
        scorers=(QuestionCount(writer.per_chunk),),
        options=options,
        source={
            "documents": [document.name for document in read],
            "chunks": chunks,
            "chunk_tokens": settings.chunk_tokens,
        },
        notes=(f"{chunks} chunks were asked for, and the documents have {len(drawn)}",) if few else (),
        breakdowns=("document",) if len(read) > 1 else (),
    )


def unfinished(suite: Suite, store: str | Path | None) -> Run | None:
    """The newest run of the same generation if it is unfinished; else None."""
    try:
        opened = Store(store)
    except ConfigError:  # there is no store yet
        return None
    with opened:
        plan = dict(manifests(suite, survey(suite.samples), draw="", config=None))[_TARGET]
        for run in opened.runs():
            if run.kind == KIND and not changed_keys(run.manifest, plan):
                return run if run.state in {"interrupted", "broken"} else None
    return None


def questions_of(run: Run, suite: Suite) -> QaSet:
    """The question set of a run of `suite`."""
    writer = suite.targets[_TARGET]
    assert isinstance(writer, QuestionWriter | Cloze)  # noqa: S101  # qa_suite put it there
    return collect(run, kind="cloze" if isinstance(writer, Cloze) else "generated", per_chunk=writer.per_chunk)


_LEAST_LETTERS: Final = 40
"""Letters and digits below which a chunk is a heading or a page number, and nothing can be asked of it."""

_MOST_TOKENS: Final = 30_000
"""Of a chunk, which is a cell of the saved set: readers of CSV take 131,072 characters."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Which chunks of the documents are used.

    Args:
        count: how many are drawn, spread over the documents; None takes all.
        tokens: estimated tokens of a chunk, at most. Chunks do not overlap, so nothing is asked twice.
        seed: of the draw.
    """

    count: int | None = None
    tokens: int = CHUNK_TOKENS
    seed: int = 0

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: which number, what was expected and what came.
        """
        if self.count is not None:
            expect_number("chunks", self.count, 1, whole=True)
        expect_number("chunk_tokens", self.tokens, 32, _MOST_TOKENS, whole=True)
        expect_number("seed", self.seed, 0, whole=True)


def chunks_of(documents: Sequence[Document], drawing: Drawing) -> tuple[Chunk, ...]:
    """The chunks of all documents in order, or a sample of them.

    Raises:
        ConfigError: the drawing cannot be meant, or no document holds anything to ask about.
    """
    drawing.check()
    every = [_asked_about(document, drawing.tokens) for document in documents]
    if not any(every):
        names = ", ".join(document.name for document in documents)
        raise ConfigError(f"{names}: there is nothing to ask about; a chunk has {_LEAST_LETTERS} letters or more")
    chosen = {chunk.id for chunk in drawn(every, drawing)}
    return tuple(chunk for chunks in every for chunk in chunks if chunk.id in chosen)


def _asked_about(document: Document, tokens: int) -> list[Chunk]:
    """The chunks of a document with enough letters for a question."""
    chunks = split_chunks(document.text, document=document.name, tokens=tokens, overlap=0, pages=document.pages)
    return [chunk for chunk in chunks if _letters(chunk.text) >= _LEAST_LETTERS]


def drawn(every: Sequence[Sequence[Chunk]], drawing: Drawing) -> list[Chunk]:
    """A random sample of chunks, one of each document in turn, so that a long document does not crowd out a short one.

    The first n of a draw are the draw of n: whoever asks for more chunks later keeps those that were paid for.
    """
    if drawing.count is None:
        return [chunk for chunks in every for chunk in chunks]
    draw = random.Random(drawing.seed)  # noqa: S311  # a draw that can be repeated, no secret
    decks = [draw.sample(list(chunks), len(chunks)) for chunks in every]
    draw.shuffle(decks)
    rounds = max(len(deck) for deck in decks)
    return [deck[at] for at in range(rounds) for deck in decks if at < len(deck)][: drawing.count]


def sample_of(chunk: Chunk, **extra: Any) -> Sample:
    """A chunk as a sample; its location is metadata, which no prompt shows unless asked to."""
    location: Mapping[str, Any] = {
        "document": chunk.document,
        "page": chunk.page,
        "start": chunk.start,
        "end": chunk.end,
        "heading": chunk.heading,
    }
    return Sample(chunk.id, chunk.text, group=group_of(chunk), metadata={**location, **extra})


def group_of(chunk: Chunk) -> str:
    """The heading of the first level above a chunk; the document's name where there is none.

    >>> group_of(Chunk("1", "a.md", "It rains.", 0, 9, heading="Weather > Rain"))
    'Weather'
    """
    return chunk.heading.partition(" > ")[0] or chunk.document


def _letters(text: str) -> int:
    return sum(mark.isalnum() * (3 if mark > "\u2e7f" else 1) for mark in text)
