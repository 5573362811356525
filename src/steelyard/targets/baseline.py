"""Baselines without a model: lower bounds that a system should beat, and the reference as upper bound.

Of multiple-choice questions `random` knows nothing, `longest` exploits that authors word the right option with more
care, `retrieval` looks the options up, see `steelyard.targets.baseline_readers`. `rules` writes SQL, see
`steelyard.targets.sql_rules`; `extractive` reads documents, see `steelyard.targets.baseline_readers`. `reference` is
the ceiling: its scores show how good the scorers and the references are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean, expect_number
from steelyard.prompts.conversation import is_messages, search_text
from steelyard.prompts.message_parts import shown_content
from steelyard.replies.answer_key import alternatives
from steelyard.retrieval.chunk import CHUNK_TOKENS
from steelyard.sql.schema import Schema, parse_schema
from steelyard.targets.baseline_readers import ExtractiveReader, Solver, open_reader, open_solver
from steelyard.targets.library import ChunkSize, digests_of, notes_on_documents, open_documents, paths_of
from steelyard.targets.sql_rules.rules import read_question
from steelyard.types import INLINE, Output, Sample, StageInfo

Kind = Literal["random", "longest", "retrieval", "rules", "extractive", "reference"]

_TOP_K: Final = 2
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_READING: Final = frozenset({"retrieval", "extractive"})


@dataclass(frozen=True, slots=True)
class Baseline:
    """A classical baseline that calls no model. Its output is a letter; of `rules` a SQL statement, of `extractive`
    a sentence, of `reference` the reference.

    `retrieval` searches the knowledge for question + option, for each option, and takes the option whose best passage
    scores highest (BM25); only passages count that share a word with the question and one with the option, function
    words left out. Deviations from Clark et al.: passages of a few sentences with their headings instead of single
    sentences, and BM25 for their engine's score. Their solver shares a tie's credit among its options; here one of
    them is drawn, which is the same in the mean and does not favour the first letter. Where no option has a passage
    all of them tie. `metadata["evidence"]` says `passage`, `tie` or `none`, `metadata["scores"]` each option's score.

    `rules` reads the question with the CREATE statements in `metadata["schema"]` of the sample (in the dialect
    `metadata["dialect"]`, SQLite's by default) and no data; `metadata["evidence"]` of its output names the clauses of
    the statement, `metadata["problem"]` why there is no more than `SELECT NULL`, where that is so.

    `extractive` retrieves the best chunks of the knowledge (BM25) and answers with the sentence in them that has most
    of the question's words and the kind of thing it asks for. The chunks are the output's contexts.

    `reference` answers with the sample's reference (the first, of several texts), and with its sources as contexts.

    Args:
        baseline: `random` draws an option, `longest` takes the longest text (the first among equals).
        knowledge: the documents of `retrieval` and `extractive`: files or folders.
        seed: for draws; they depend on it and the sample's id alone, so that the order of samples changes nothing.
        top_k: how many chunks `extractive` retrieves.
        chunk_tokens: estimated tokens of its chunks at most.
        overlap_tokens: estimated tokens that a chunk shares with the one before; by default an eighth of
            `chunk_tokens`.
    """  # noqa: D205  # what the output is belongs to the first sentence

    stage_info: ClassVar[StageInfo] = INLINE

    baseline: Kind
    knowledge: Path | tuple[Path, ...] | None = None
    seed: int = 0
    top_k: int = _TOP_K
    chunk_tokens: int = CHUNK_TOKENS
    overlap_tokens: int | None = None

    def check(self) -> None:
        """Read the documents before anything is run.

        Raises:
            ConfigError: an unknown baseline, one that reads documents without any, another one with options for these,
                or sizes out of range.
            DataError: a document cannot be read.
        """
        kinds = get_args(Kind)
        if self.baseline not in kinds:
            near = did_you_mean(str(self.baseline), kinds)
            raise ConfigError(f"there is no baseline {self.baseline!r}{near}")
        if self.baseline != "extractive" and self._cut_or_top_k_given:
            raise ConfigError(f"baseline {self.baseline} retrieves no chunks; top_k, chunk_tokens and overlap_tokens "
                              "are for extractive")  # fmt: skip
        if self.baseline in _READING:
            expect_number("top_k", self.top_k, 1, whole=True)
            self._cut.check()
            open_documents(self._paths)
            (self._reader if self.baseline == "extractive" else self._solver)()
        elif self.knowledge is not None:
            raise ConfigError(f"baseline {self.baseline} uses no knowledge; leave it out, or take retrieval")

    def manifest(self) -> dict[str, Any]:
        """Digests of what is read, so that a run is not resumed on other documents."""
        return {"documents": digests_of(open_documents(self._paths))} if self.baseline in _READING else {}

    def notes(self) -> tuple[str, ...]:
        """Files and pages of the knowledge that are not read."""
        return notes_on_documents(self._paths) if self.baseline in _READING else ()

    def shows(self, key: str) -> bool:
        """Whether it reads a key of the samples' metadata: the rules read the schema."""
        return self.baseline == "rules" and key in {"schema", "dialect"}

    def __call__(self, sample: Sample) -> Output:
        """Answer with a letter, SQL, a sentence or the reference.

        Raises:
            ValueError: the sample has no choices where the answer is a letter, or more than there are letters; or no
                reference where that is the answer.
        """
        if self.baseline == "rules":
            return _read_as_sql(sample)
        if self.baseline == "reference":
            return _reference_of(sample)
        if self.baseline == "extractive":
            return self._reader().answer(search_text(sample.input), self.top_k)
        if not 1 <= len(sample.choices) <= len(_LETTERS):
            raise ValueError(
                f"sample {sample.id!r} has {len(sample.choices)} choices; a baseline picks from 1 to {len(_LETTERS)}"
            )
        if self.baseline == "random":
            return Output(self._draw(sample, range(len(sample.choices))))
        if self.baseline == "longest":
            longest = max(range(len(sample.choices)), key=lambda option: len(sample.choices[option]))
            return Output(_LETTERS[longest])
        return self._retrieve(sample)

    @property
    def _paths(self) -> tuple[Path, ...]:
        if not self.knowledge:
            raise ConfigError(f"baseline {self.baseline} needs knowledge: the path of a document, or of a folder")
        return paths_of(self.knowledge)

    @property
    def _cut(self) -> ChunkSize:
        return ChunkSize(self.chunk_tokens, self.overlap_tokens)

    @property
    def _cut_or_top_k_given(self) -> bool:
        return (self.top_k, self._cut) != (_TOP_K, ChunkSize())

    def _solver(self) -> Solver:
        return open_solver(self._paths)

    def _reader(self) -> ExtractiveReader:
        return open_reader(self._paths, self._cut)

    def _draw(self, sample: Sample, options: Sequence[int]) -> str:
        seed = f"{self.seed}\0{sample.id}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(seed, digest_size=8).digest())
        return _LETTERS[options[number % len(options)]]

    def _retrieve(self, sample: Sample) -> Output:
        solver = self._solver()
        best = solver.best(_text_of(sample.input), sample.choices)
        top = max((score for _, score in best.values()), default=0.0)
        first = [option for option, (_, score) in best.items() if score == top] or list(range(len(sample.choices)))
        evidence = "none" if not best else "tie" if len(first) > 1 else "passage"
        ranked = sorted(best.values(), key=lambda pair: (-pair[1], pair[0]))
        contexts = dict.fromkeys(solver.passages[index].indexed for index, _ in ranked)
        scores = {
            _LETTERS[option]: round(best[option][1], 6) if option in best else None
            for option in range(len(sample.choices))
        }
        return Output(self._draw(sample, first), tuple(contexts), {"evidence": evidence, "scores": scores})


def _reference_of(sample: Sample) -> Output:
    """The reference as an output, with the expected sources as those that were retrieved."""
    value = sample.reference
    if value is None:
        raise ValueError(f"sample {sample.id!r} has no reference to answer with")
    if isinstance(value, list | tuple) and value and all(isinstance(text, str) for text in value):
        value = value[0]
    if sample.choices and isinstance(value, str):
        value = alternatives(value)[0]
    sources = sample.metadata.get("sources")
    if not isinstance(sources, list) or not all(isinstance(source, Mapping) for source in sources):
        return Output(value, sample.contexts)
    texts = [source.get("text") for source in sources]
    known_texts = tuple(text for text in texts if isinstance(text, str))
    return Output(value, known_texts if len(known_texts) == len(texts) else sample.contexts, {"sources": sources})


def _read_as_sql(sample: Sample) -> Output:
    dialect = sample.metadata.get("dialect")
    dialect = dialect if isinstance(dialect, str) and dialect else "sqlite"
    ddl = sample.metadata.get("schema")
    schema = _parse(ddl if isinstance(ddl, str) else "", dialect)
    reading = read_question(_text_of(sample.input), schema, dialect=dialect)
    problem = {"problem": reading.problem} if reading.problem else {}
    return Output(reading.sql, (), {"evidence": list(reading.evidence), **problem})


@lru_cache(maxsize=256)
def _parse(ddl: str, dialect: str) -> Schema:
    """Parse a schema; cached, as it is needed for each question on the same database."""
    return parse_schema(ddl, dialect=dialect)


def _text_of(value: Any) -> str:
    """The text of an input: itself, or the words of its messages."""
    if isinstance(value, str) or is_messages(value):
        return search_text(value)
    if isinstance(value, Sequence) and all(isinstance(message, Mapping) for message in value):
        return "\n".join(shown_content(message.get("content")) for message in value)
    raise ValueError(f"the input is a {type(value).__name__}; a baseline reads a text or messages")
