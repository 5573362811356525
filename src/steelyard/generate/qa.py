"""A question set from documents: the chunks are the samples of a run, and whoever writes the questions is its target.

So the journal, resume, budgets, progress and dry runs are those of every run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from steelyard.data.documents import read_documents
from steelyard.errors import ConfigError, did_you_mean
from steelyard.generate.chunks import Drawing, chunks_of, sample_of
from steelyard.generate.cloze import Cloze, with_rare
from steelyard.generate.collected import QaSet, collect
from steelyard.generate.made import QuestionsMade
from steelyard.generate.writer import QuestionWriter
from steelyard.models.base import Model
from steelyard.retrieval.chunk import CHUNK_TOKENS
from steelyard.store import Run, Store
from steelyard.suite.evaluate import How, evaluate_suite
from steelyard.suite.objects import Options, Suite
from steelyard.suite.survey import changed_keys, manifests, survey

KIND: Final = "generate"
CHUNK_TIMEOUT_S: Final = 21_600.0
"""A chunk is dozens of calls that share an endpoint with those of other chunks; each call has limits of its own."""
_TARGET: Final = "questions"


@dataclass(frozen=True, slots=True)
class QaSettings:
    """How questions are made, beside the documents, the model and their number.

    Args:
        chunk_tokens: estimated tokens of a chunk, at most.
        seed: of what is drawn: chunks, and the sentences of cloze questions.
        language: of the prompts; `auto` is Chinese where the chunk is.
        check_answerable: ask once more per question whether the chunk alone answers it.
        show_metadata: show the model the document's name, the page and the headings too.
    """

    chunk_tokens: int = CHUNK_TOKENS
    seed: int = 0
    language: Literal["auto", "en", "zh"] = "auto"
    check_answerable: bool = False
    show_metadata: bool = False


_SETTINGS: Final = frozenset(one.name for one in dataclasses.fields(QaSettings))
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
    """Questions with answers and sources, made from documents; also inside a running event loop.

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
    running = Options(**{"sample_timeout_s": CHUNK_TIMEOUT_S, **given}, seed=settings.seed)
    paths = [Path(documents)] if isinstance(documents, str | Path) else [Path(one) for one in documents]
    suite = qa_suite(paths, writer_of(model, per_chunk, settings), chunks=chunks, settings=settings, options=running)
    fresh = bool(options.get("fresh"))
    before = None if fresh else unfinished(suite, store)
    (run,) = evaluate_suite(suite, how=How(store=store, fresh=fresh, resume=before.id if before else ""))
    return questions_of(run, suite)


def writer_of(model: Model | None, per_chunk: int, settings: QaSettings) -> QuestionWriter | Cloze:
    """Who writes the questions: the model, or without one whoever leaves out phrases."""
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
    known = with_rare(drawn) if isinstance(writer, Cloze) else ((one, {}) for one in drawn)
    few = chunks is not None and len(drawn) < chunks
    return Suite(
        name=read[0].name if len(read) == 1 else f"{read[0].name} and {len(read) - 1} more",
        kind=KIND,
        samples=tuple(sample_of(chunk, **more) for chunk, more in known),
        targets={_TARGET: writer},
        scorers=(QuestionsMade(writer.per_chunk),),
        options=options,
        source={"documents": [one.name for one in read], "chunks": chunks, "chunk_tokens": settings.chunk_tokens},
        notes=(f"{chunks} chunks were asked for, and the documents have {len(drawn)}",) if few else (),
        breakdowns=("document",) if len(read) > 1 else (),
    )


def unfinished(suite: Suite, store: str | Path | None) -> Run | None:
    """The newest run in the store that did the same and did not come to its end; None where there is none."""
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
