"""A question set from documents: the chunks are the samples of a run, and whoever writes the questions is its target.

So the journal, resume, budgets, progress and dry runs are those of every run.
"""

# Why it is so, and what was rejected: docs/decisions/evaluation-one-path.md

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from steelyard.constraints import Within
from steelyard.data.documents import read_document_set
from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.evaluation.objects import Options, Suite
from steelyard.generate.cloze import Cloze, with_rare
from steelyard.generate.question_set import QaSet, collect
from steelyard.generate.resuming import newest_run
from steelyard.generate.selection import (
    BETWEEN,
    LEAST_LETTERS,
    TWO_CHUNKS,
    UNANSWERABLE,
    ChunkSettings,
    Selection,
    drawn_for_unanswerable,
    id_of,
    index_of,
    left_out_text,
    related_pairs,
    select_chunks,
)
from steelyard.generate.writer import QuestionCount, QuestionWriter
from steelyard.models.base import Model
from steelyard.prompts.language import LanguageSetting, language_of
from steelyard.retrieval.chunk import Chunk
from steelyard.store import Run
from steelyard.types import Sample

KIND: Final = "generate"
CHUNK_TIMEOUT_S: Final = 21_600.0
"""A chunk is dozens of calls that share an endpoint with those of other chunks; each call has limits of its own."""
_TARGET: Final = "questions"


@dataclass(frozen=True, slots=True)
class QaSettings(ChunkSettings):
    """Settings of question generation, besides documents, model and number of questions: which chunks, and these.

    Args:
        language: of the prompts; `auto` is Chinese where the documents are, else English.
        check_answerable: ask once more per question whether the chunk alone answers it.
        show_metadata: show the model the document's name, the page and the headings too.
        pairs: pairs of related chunks that are asked about too, by questions that need both.
        unanswerable: chunks for which questions are written too that no document answers.
        questions_prompt: the user's own prompt for questions, a file or the text; as of `QuestionWriter`, likewise
            `questions_system` and `answer_prompt`.
    """

    language: LanguageSetting = "auto"
    check_answerable: bool = False
    show_metadata: bool = False
    pairs: Annotated[int, Within(0)] = 0
    unanswerable: Annotated[int, Within(0)] = 0
    questions_prompt: Path | str = ""
    questions_system: Path | str = ""
    answer_prompt: Path | str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The further kinds of questions that are asked for."""
        counts = ((TWO_CHUNKS, self.pairs), (UNANSWERABLE, self.unanswerable))
        return tuple(kind for kind, count in counts if count)


_SETTINGS: Final = frozenset(field.name for field in dataclasses.fields(QaSettings))
_OPTIONS: Final = frozenset(field.name for field in dataclasses.fields(Options)) - {"seed", "repeats"}


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

    What was paid for is not paid for again: an unfinished run of the same documents, model and settings is resumed, and
    replies to the same calls come from the journal.

    Args:
        documents: files and folders: PDF, Word, presentations, Markdown, text, HTML.
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
    allowed = {*_SETTINGS, *_OPTIONS, "fresh"}
    unknown = next((key for key in options if key not in allowed), None)
    if unknown is not None:
        raise ConfigError(f"generate_qa() has no option {unknown!r}{did_you_mean(unknown, allowed)}")
    settings = QaSettings(**{key: value for key, value in options.items() if key in _SETTINGS})
    run_options = {key: value for key, value in options.items() if key in _OPTIONS}
    # A chunk that failed is a hole in the set: the run stays open, so that resuming asks about it again.
    running = Options(**{"sample_timeout_s": CHUNK_TIMEOUT_S, "max_errors": 0.0, **run_options}, seed=settings.seed)
    paths = [Path(documents)] if isinstance(documents, str | Path) else [Path(document) for document in documents]
    suite = qa_suite(paths, writer_of(model, per_chunk, settings), chunks=chunks, settings=settings, options=running)
    fresh = bool(options.get("fresh"))
    before = None if fresh else newest_run(suite, store)
    resumed = before.id if before is not None and before.state in {"interrupted", "broken"} else ""
    how = RunConfig(store=store, fresh=fresh, resume=resumed, on_broken="return")
    (run,) = evaluate_suite(suite, how=how)
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
        questions_prompt=settings.questions_prompt,
        questions_system=settings.questions_system,
        answer_prompt=settings.answer_prompt,
        kinds=settings.kinds,
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
        settings: how they are cut and drawn; those of prompts are in the writer.
        options: how it is run.

    Raises:
        ConfigError: a path without documents, a number out of range, or nothing to ask about.
        DataError: a document cannot be read.
    """
    if settings.kinds and isinstance(writer, Cloze):
        raise ConfigError("pairs and unanswerable need a model; cloze questions use none")
    paths = tuple(documents)
    found = read_document_set(paths)
    read = found.documents
    selection = select_chunks(read, settings, chunks)
    drawn = selection.chunks
    if isinstance(writer, QuestionWriter) and writer.language == "auto":
        # One language for the whole set, which every draw of chunks shares.
        writer = dataclasses.replace(writer, language=language_of(*(document.text for document in read)))
    if isinstance(writer, QuestionWriter) and settings.unanswerable:
        writer = dataclasses.replace(writer, searched=index_of(read, settings.chunk_tokens))
    pages = {document.name: document.pages for document in read}
    further = _further_samples(drawn, settings, pages)
    chunks_with_metadata = with_rare(drawn) if isinstance(writer, Cloze) else ((chunk, {}) for chunk in drawn)
    return Suite(
        name=read[0].name if len(read) == 1 else f"{read[0].name} and {len(read) - 1} more",
        kind=KIND,
        samples=(
            *(
                sample_of(chunk, **metadata, **_page_breaks(chunk, pages[chunk.document]))
                for chunk, metadata in chunks_with_metadata
            ),
            *further,
        ),
        targets={_TARGET: writer},
        scorers=(QuestionCount(writer.per_chunk),),
        options=options,
        source={
            "documents": [document.name for document in read],
            "chunks": chunks,
            "chunk_tokens": settings.chunk_tokens,
            **({"left_out": dict(selection.left_out)} if selection.left_out else {}),
            **({"kinds": list(settings.kinds)} if settings.kinds else {}),
        },
        notes=(*found.notes, *_notes_on(selection, chunks), *_notes_on_kinds(further, settings)),
        breakdowns=("document",) if len(read) > 1 else (),
    )


def _further_samples(chunks: Sequence[Chunk], settings: QaSettings, pages: Mapping[str, Sequence[int]]) -> list[Sample]:
    """The samples of further kinds: pairs of chunks, and chunks for questions without an answer."""
    samples = []
    for first, second in related_pairs(chunks, settings.pairs, settings.seed) if settings.pairs else ():
        both = [sample_of(chunk, **_page_breaks(chunk, pages[chunk.document])) for chunk in (first, second)]
        metadata = {
            **both[0].metadata,
            "kind": TWO_CHUNKS,
            "of_chunk": first.id,
            "second": len(first.text) + len(BETWEEN),
            "parts": [part.metadata for part in both],
        }
        text = f"{first.text}{BETWEEN}{second.text}"
        samples.append(Sample(id_of(TWO_CHUNKS, first, second), text, group=both[0].group, metadata=metadata))
    for chunk in drawn_for_unanswerable(chunks, settings.unanswerable, settings.seed):
        sample = sample_of(chunk, kind=UNANSWERABLE, of_chunk=chunk.id)
        samples.append(dataclasses.replace(sample, id=id_of(UNANSWERABLE, chunk)))
    return samples


def _notes_on_kinds(samples: Sequence[Sample], settings: QaSettings) -> Iterator[str]:
    for kind, what, wanted in (
        (TWO_CHUNKS, "pairs", settings.pairs),
        (UNANSWERABLE, "chunks for questions without an answer", settings.unanswerable),
    ):
        made = sum(sample.metadata["kind"] == kind for sample in samples)
        if made < wanted:
            yield f"{wanted} {what} were requested, but there are {made}"


def _page_breaks(chunk: Chunk, pages: Sequence[int]) -> dict[str, list[int]]:
    """Offsets in a chunk at which further pages begin; nothing for a chunk on one page."""
    breaks = [start - chunk.start for start in pages if chunk.start < start < chunk.end]
    return {"page_breaks": breaks} if breaks else {}


def _notes_on(selection: Selection, chunks: int | None) -> Iterator[str]:
    if chunks is not None and len(selection.chunks) < chunks:
        yield f"{chunks} chunks were requested, but the documents have {len(selection.chunks)}"
    if selection.left_out:
        yield left_out_text(selection.left_out)
    if selection.too_short:
        names = ", ".join(f"{name} ({count})" for name, count in selection.too_short.items())
        yield f"chunks with fewer than {LEAST_LETTERS} letters were left out as too short to ask about: {names}"


def questions_of(run: Run, suite: Suite) -> QaSet:
    """The question set of a run of `suite`."""
    writer = suite.targets[_TARGET]
    assert isinstance(writer, QuestionWriter | Cloze)  # noqa: S101  # qa_suite put it there
    # Its records may be those of a store of strangers: what no version writes there is damage.
    with boundary("store", f"run {run.id} is damaged, or was made by something else"):
        return collect(run, kind="cloze" if isinstance(writer, Cloze) else "generated", per_chunk=writer.per_chunk)


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
