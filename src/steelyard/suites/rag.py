"""The `rag` suite: questions about documents, one run per target, scores on answers and on what was retrieved.

A row may name the passages that its question should retrieve (`sources`) and those that come with it (`contexts`); all
defects are reported in one pass, before any call. A source that is named only by document and character range gets the
text of its document: passages of other systems have no comparable offsets. A range that was made from an earlier
reading of the document may have moved: where the dataset names the page as well, it must be the one that the range
begins on, else the text is not taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.scores.score_infos import rated_thing
from steelyard.data.columns import ColumnLayout, find_layout
from steelyard.data.documents import Document
from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, RowDataset, open_tables, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, Table, list_in, origin_keys, render, titled_passages
from steelyard.data.text_tables import are_goldens
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import JudgedSuiteKeys, Suite
from steelyard.evaluation.scorer_infos import infos_of, scorer_stages
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import Language, language_of
from steelyard.runner import judge_name
from steelyard.scorers.judges.criteria import Correctness
from steelyard.scorers.judges.faithfulness import Faithfulness
from steelyard.scorers.judges.judge import Judge, SuiteJudges, takes_model
from steelyard.scorers.judges.relevance import AnswerRelevancy
from steelyard.scorers.lexical import RougeL, TokenF1
from steelyard.scorers.passages import same_document
from steelyard.scorers.retrieval import Retrieval
from steelyard.targets.baseline import Baseline
from steelyard.targets.library import Paths, notes_on_documents, open_documents, paths_of
from steelyard.targets.retrieval import QueryEngine
from steelyard.types import Sample, Scorer, Target

ROLES: Final = (
    Role("question", words="rag_question", by_position=False, joins=True),
    Role("answer", required=False, words="rag_answer", by_position=False),
    Role("group", required=False, by_position=False),
    Role("cluster", required=False, by_position=False),
    Role("document", required=False, by_position=False),
    Role("source", required=False, by_position=False),
    Role("page", required=False, by_position=False),
    Role("start", required=False, by_position=False),
    Role("end", required=False, by_position=False),
    Role("chunk", required=False, by_position=False),
    Role("contexts", required=False, by_position=False),
    Role("answerable", required=False, by_position=False),
    Role("unanswerable", required=False, by_position=False),
    Role("tools", required=False, by_position=False),
    Role("plan", required=False, by_position=False),
    Role("goal", required=False, by_position=False),
    Role("persona", required=False, by_position=False),
    Role("turn_references", required=False, by_position=False),
    Role("id", required=False, by_position=False),
)


_GOLDEN: Final = frozenset({"input", "expected_output", "context"})
"""Keys of a golden of DeepEval in JSON, of which a script may write less than DeepEval does."""
_OF_AGENTS: Final = ("tools", "plan", "goal", "persona", "turn_references")
"""Columns that go to the metadata as they are, for the scorers of agents and for simulated users."""


def count_documents(samples: Iterable[Sample]) -> Mapping[str, int]:
    """Count the questions about each document, in order of first appearance; "" counts those without one."""
    return Counter(str(sample.metadata.get("document", "")) for sample in samples)


def load_rag(files: SampleFiles) -> RowDataset:
    """Read and check a whole dataset of questions about documents.

    Of a sample, `reference` is the answer's text, a list of texts where several are right, or None; `contexts` come
    with the question where the dataset has any. `metadata` has `document` where one is named, and `sources`: what
    should be retrieved, each with what is known of `document`, `start`, `end`, `page`, `id`, `text`. A question that
    the dataset marks as unanswerable has `answerable: False`; others have no such key, so that datasets without the
    mark keep the hashes of their samples. `tools`, `plan`, `goal`, `persona` and `turn_references` are there where a
    column has them. `cluster` is as `cluster_of` says.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    data = read_rows(files, ROLES, _sample, opened=open_tables(files, ROLES, layout_of=_layout))
    return replace(data, notes=(*data.notes, *_notes_on(data.samples)))


def _layout(table: Table, roles: Sequence[Role], files: SampleFiles) -> ColumnLayout:
    """The columns of a table; a golden of DeepEval calls its sources `context`, the passages `retrieval_context`."""
    keys = {str(key) for row in islice(table, 1) for key in row.cells}
    if (are_goldens(keys) or (table.keyed and keys >= _GOLDEN)) and not {"source", "contexts"} & files.columns.keys():
        renamed = {"source": "context"} | ({"contexts": "retrieval_context"} if "retrieval_context" in keys else {})
        files = replace(files, columns={**files.columns, **renamed})
    return find_layout(table, roles, files)


def _sample(table: OpenTable, row: Row, sample: Sample, defects: list[Defect]) -> Sample:
    question = table.required_question(row, defects)
    reference = table.answers(row, "answer", defects)
    metadata: dict[str, Any] = {**sample.metadata}
    contexts: tuple[str, ...] = ()
    cluster = sample.cluster
    try:
        cluster = _cluster(table, row, sample)
        cells = {role: table.cell(row, role) for role in ("document", "source", "page", "start", "end", "chunk")}
        if document := table.text(row, "document"):
            metadata["document"] = document
        if sources := sources_in(cells):
            metadata["sources"] = sources
            if name := sources[0].get("document", ""):
                metadata.setdefault("document", name)
        contexts = contexts_in(table.cell(row, "contexts"))
        if _marked(table, row, "answerable") is False or _marked(table, row, "unanswerable"):
            metadata["answerable"] = False
    except SourceError as error:
        defects.append(table.defect(f"bad {error.role}", row, error.role, str(error)))
    metadata |= {key: cell for key in _OF_AGENTS if render(cell := table.cell(row, key))}
    return replace(sample, input=question, reference=reference, contexts=contexts, cluster=cluster, metadata=metadata)


def _cluster(table: OpenTable, row: Row, sample: Sample) -> str:
    """The cluster of a row; without a column for it, its chunk: questions on one are found or missed together."""
    if table.layout.column("cluster") is not None:
        return sample.cluster
    chunks = [render(chunk) for chunk in _listed(table.cell(row, "chunk"), "chunk")]
    return chunks[0] if len(chunks) == 1 else ""


def _notes_on(samples: tuple[Sample, ...]) -> Iterator[str]:
    for column, missing in (
        ("reference answer", sum(sample.reference is None for sample in samples)),
        ("source passage", sum("sources" not in sample.metadata for sample in samples)),
    ):
        # A plain set of questions has no sources: that is no gap.
        if missing and (missing < len(samples) or column != "source passage"):
            yield f"{missing} of {len(samples)} questions have no {column}"


_YES: Final = frozenset({"true", "yes", "y", "1", "1.0", "是", "对", "可", "能"})
_NO: Final = frozenset({"false", "no", "n", "0", "0.0", "否", "不", "不可", "不能"})


def _marked(table: OpenTable, row: Row, role: str) -> bool | None:
    """The value of a yes-or-no cell; None if it is blank or the table has no such column.

    Raises:
        SourceError: it is something else.
    """
    text = table.text(row, role)
    folded = text.casefold()
    if folded in _YES or folded in _NO:
        return folded in _YES
    if text:
        raise SourceError(role, f"{role} is {text[:40]!r}, not yes or no")
    return None


_NO_COMMA: Final = re.compile(r"['\"]\s++['\"]")
"""Between two texts of a list: what pandas writes into a CSV file for an array."""
_KEYS: Final = ("id", "document", "start", "end", "page", "text")
_INTEGER_KEYS: Final = frozenset({"start", "end", "page"})


class SourceError(Exception):
    """A cell that does not describe a source; `role` is that of its column."""

    def __init__(self, role: str, message: str) -> None:
        super().__init__(message)
        self.role = role


def sources_in(cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The expected sources of a row, each a mapping of its known fields; empty where the row names none.

    Args:
        cells: by role: `source` is a text, a list of texts, or a list of mappings of their own; `document`, `page`,
            `start` and `end` (character offsets into the document's text) belong to a single source; `chunk` is an id
            or a list of them.

    Raises:
        SourceError: a cell that does not describe a source.

    >>> sources_in({"source": "It rains.", "document": "a.pdf", "start": "5", "end": "14"})
    [{'document': 'a.pdf', 'start': 5, 'end': 14, 'text': 'It rains.'}]
    """
    sources = _listed(cells.get("source"), "source")
    ids = [render(chunk) for chunk in _listed(cells.get("chunk"), "chunk") if render(chunk)]
    shared = _checked({key: cells.get(key) for key in ("document", "page")})
    if not sources and ids:
        return [{"id": chunk} | shared for chunk in ids]
    texts_alone = not any(isinstance(entry, Mapping) for entry in sources)
    if texts_alone and sources and len(ids) not in {0, len(sources)}:
        raise SourceError("chunk", f"{len(ids)} ids of passages for {len(sources)} texts: give each its id, or none")
    if len(sources) <= 1 and texts_alone:
        location = {key: cells.get(key) for key in ("document", "page", "start", "end")}
        source = _checked(location | {"text": sources[0] if sources else None, "id": ids[0] if ids else None})
        # A document alone names no passage, and neither does a page without a document.
        return [source] if {"start", "text", "id"} & set(source) or {"document", "page"} <= set(source) else []
    if texts_alone:
        return [
            shared | _checked({"text": text, "id": chunk})
            for text, chunk in zip(sources, ids or [""] * len(sources), strict=True)
        ]
    checked = [_checked(entry if isinstance(entry, Mapping) else {"text": entry}) for entry in sources]
    if not all(checked):
        keys = ", ".join(map(str, sources[checked.index({})])) or "none"
        raise SourceError("source", f"a source has nothing under {', '.join(_KEYS)}; its keys are {keys[:80]}")
    return [shared | entry for entry in checked]


def contexts_in(cell: Any) -> tuple[str, ...]:
    """The passages that come with a question: a text or a list of texts.

    Raises:
        SourceError: something else.
    """
    texts = _listed(titled_passages(cell), "contexts")
    if not all(isinstance(text, str) for text in texts):
        raise SourceError("contexts", "contexts is neither text nor a list of texts")
    return tuple(texts)


def _listed(cell: Any, role: str) -> list[Any]:
    """A cell as a list: a list, the text of a list, or a single value.

    Raises:
        SourceError: the text of a list that was printed, and cannot be read back.
    """
    text = cell.strip() if isinstance(cell, str) else ""
    if text and (items := list_in(text)) is not None:
        cell = items
    elif text.startswith(("['", '["')) and text.endswith(("']", '"]')) and _NO_COMMA.search(text):
        raise SourceError(role, f"{role} is a list as numpy prints it, {text[:30]!r}: write it as JSON")
    if isinstance(cell, list):
        return [item for item in cell if item is not None and item != ""]
    return [] if cell is None or render(cell) == "" else [cell if isinstance(cell, Mapping) else render(cell)]


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The known keys that are filled, numbers as numbers."""
    checked: dict[str, Any] = {}
    for key in _KEYS:
        value = fields.get(key)
        if value is None or render(value) == "":
            continue
        checked[key] = _whole_number(key, value) if key in _INTEGER_KEYS else _text(key, value)
    if ("start" in checked) != ("end" in checked) or checked.get("start", 0) >= checked.get("end", 1):
        raise SourceError("start", "start and end are character offsets: give both, with start below end")
    return checked


def _whole_number(key: str, value: Any) -> int:
    text = render(value)
    if not text.isascii() or not text.isdecimal():
        raise SourceError(key, f"{key} is {text[:40]!r}, not a whole number")
    return int(text)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | Mapping):
        raise SourceError("source", f"the {key} of a source is a {type(value).__name__}, not a text")
    return value if isinstance(value, str) else render(value)


def with_texts(data: RowDataset, paths: Paths) -> RowDataset:
    """Fill in the text of each source that has a range but no text, from its document.

    Args:
        data: samples as they were read.
        paths: files and folders; nothing is read unless a source needs it.

    Raises:
        ConfigError: there is no such path, or no document in it.
        DataError: a document cannot be read.
    """
    if not any(_lacks_text(source) for sample in data.samples for source in _sources(sample)):
        return data
    texts = _SourceTexts(open_documents(paths) if paths else ())
    unread = notes_on_documents(paths) if paths else ()
    samples = tuple(texts.filled(sample) for sample in data.samples)
    return replace(data, samples=samples, notes=(*data.notes, *unread, *texts.notes()))


def _sources(sample: Sample) -> Sequence[Mapping[str, Any]]:
    sources: Sequence[Mapping[str, Any]] = sample.metadata.get("sources", ())
    return sources


def _lacks_text(source: Mapping[str, Any]) -> bool:
    return "start" in source and not source.get("text")


class _SourceTexts:
    """Reads texts of sources from their documents, and counts those that it could not read."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._unknown: dict[str, int] = {}
        self._moved: dict[str, int] = {}

    def filled(self, sample: Sample) -> Sample:
        if not any(map(_lacks_text, _sources(sample))):
            return sample
        default = sample.metadata.get("document", "")
        sources = [
            source | {"text": text} if (text := self._text(source, str(source.get("document") or default))) else source
            for source in map(dict, _sources(sample))
        ]
        return replace(sample, metadata={**sample.metadata, "sources": sources})

    def _text(self, source: Mapping[str, Any], name: str) -> str:
        """The text at a source's range; "" where it has one, or where none can be trusted."""
        if not _lacks_text(source):
            return ""
        matching = [document for document in self._documents if name and same_document(document.name, name)]
        if len(matching) != 1:
            self._unknown[name] = self._unknown.get(name, 0) + 1
            return ""
        (document,) = matching
        start, end, page = source["start"], source["end"], source.get("page")
        begins_on = document.page_at(start)
        if end > len(document.text) or (page and begins_on and page != begins_on):
            self._moved[name] = self._moved.get(name, 0) + 1
            return ""
        return document.text[start:end]

    def notes(self) -> Iterator[str]:
        """Warnings about sources whose text could not be read."""
        for name, count in self._unknown.items():
            yield (
                f"{_sources_are(count)} a range of {name or 'an unnamed document'} without its text: name `documents`, "
                "so that passages of other systems can be compared with it"
            )
        for name, count in self._moved.items():
            yield (
                f"{_sources_are(count)} a range of {name} that is not on the page that is named, or not in the "
                "document at all: it comes from another reading of the document, and its text is unknown"
            )


def _sources_are(count: int) -> str:
    return "1 source is" if count == 1 else f"{count:,} sources are each"


_LEADING: Final = ("correctness", "token_f1")


@takes_model
@dataclass(frozen=True, slots=True)
class RagSuite(JudgedSuiteKeys):
    """Questions about documents, with the expected answers and the passages that hold them.

    Args:
        samples: the files with the question, and where there are any the reference answer, its source (the passage's
            text, its document and offsets, or the ids of passages), group, cluster and id.
        targets: the systems to evaluate, by name; each produces one run.
        judge: the model that judges, and how; of every scorer that has none of its own.
        documents: files and folders that the sources' ranges refer to: a source with a range and no text gets the text
            at that range, so that passages of any system can be compared with it. The documents of `retrieval` and
            `baseline` targets need not be named here.
        scorers: what is scored. By default, with a judge, correctness, faithfulness and answer relevancy; in any case
            token F1 and ROUGE-L against the reference, and the retrieval metrics where questions have sources.
        primary: the score that headlines show; by default correctness, else token F1, else the first score of the
            answer.
        gate: rules on the scores that decide the exit code, `{correct: ">= 0.8"}`; `no_regression` compares runs with a
            `baseline`.
    """

    samples: SampleFiles
    targets: Mapping[str, Target]
    judge: Judge = Judge()
    documents: Path | tuple[Path, ...] | None = None
    scorers: tuple[Scorer, ...] = ()
    primary: str = ""

    def build(self) -> Suite:
        """Read and check the whole dataset; no model is called.

        Raises:
            ConfigError: a file, sheet or column that does not exist.
            DataError: rows with defects, named with file, sheet and cell.
        """
        if not self.targets:
            raise ConfigError("there is no target: name targets")
        data = with_texts(load_rag(self.samples), self._documents)
        # One language for all records: prompts in two would measure the judge differently within one run.
        language = language_of(*(transcript_of(sample.input) for sample in data.samples))
        judges = self.judges_with(self.judge).in_language(language)
        scorers = judges.given_to(self.scorers or self._default_scorers(data, judges))
        # Scores of a judge with a name have other names, and of two such judges there is no one pair to cross.
        judged = {type(scorer) for scorer in scorers if not judge_name(scorer)}
        return Suite(
            name=self.name or self.samples.title,
            kind="rag",
            columns=data.columns,
            samples=data.samples,
            targets={name: _in_language(target, language) for name, target in self.targets.items()},
            scorers=scorers,
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary=self.primary or _answer_score(scorers),
            source=self.samples,
            notes=data.notes,
            jury=judges.jury,
            crossed=(("correct", "faithfulness"),) if {Correctness, Faithfulness} <= judged else (),
            breakdowns=(
                *(("document",) if len(count_documents(data.samples).keys() - {""}) > 1 else ()),
                *origin_keys(key for sample in data.samples for key in sample.metadata),
            ),
        )

    @property
    def _documents(self) -> Paths:
        """The documents of the suite, then those that its own targets search."""
        locations = [self.documents]
        for target in self.targets.values():
            locations += [target.documents] if isinstance(target, QueryEngine) else []
            locations += [target.knowledge] if isinstance(target, Baseline) else []
        return tuple(dict.fromkeys(path for location in locations for path in paths_of(location)))

    def _default_scorers(self, data: RowDataset, suite_judges: SuiteJudges) -> Sequence[Scorer]:
        judges = (Correctness(), Faithfulness(), AnswerRelevancy()) if suite_judges.can_ask else ()
        sources = any("sources" in sample.metadata for sample in data.samples)
        return (*judges, TokenF1(), RougeL(), *((Retrieval(),) if sources else ()))


def _in_language(target: Target, language: Language) -> Target:
    if isinstance(target, QueryEngine) and target.language == "auto":
        return replace(target, language=language)
    return target


def _answer_score(scorers: Sequence[Scorer]) -> str:
    """The headline score of the answer itself; "" where all scores are about retrieval.

    >>> _answer_score([Retrieval(), RougeL(), TokenF1()])
    'token_f1'
    """
    rated = {info.name: rated_thing(info, info.name) for info in infos_of(scorer_stages(scorers))}
    about_answers = [name for name in rated if name not in RETRIEVAL_SCORES and not rated[name].startswith("context_")]
    # Of several judges the first leads: `correctness_small` rates correctness.
    leading = (name for thing in _LEADING for name in about_answers if rated[name] == thing)
    return next(iter((*leading, *about_answers)), "")
