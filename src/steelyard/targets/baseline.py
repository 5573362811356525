"""Answers without a model, to multiple-choice questions and as SQL: what a report's other figures have to beat.

`random` knows nothing, `longest` exploits that authors word the right option with more care, `retrieval` is the
information-retrieval solver of P. Clark, O. Etzioni, T. Khot, A. Sabharwal, O. Tafjord, P. Turney, D. Khashabi,
"Combining Retrieval, Statistics, and Inference to Answer Elementary Science Questions", AAAI 2016. `rules`
writes SQL, see `steelyard.targets.sql_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from steelyard.data.documents import read_document
from steelyard.data.encoding import stamp_of
from steelyard.data.files import require_file
from steelyard.errors import ConfigError
from steelyard.retrieval.chunk import Passage, split_passages
from steelyard.retrieval.index import BM25
from steelyard.sql.schema import Schema, parse_schema
from steelyard.text.tokens import is_stop, tokens
from steelyard.types import Output, Sample

PASSAGE_TOKENS: Final = 80
"""Estimated tokens of a passage: a few sentences, as the solver's original asks single sentences."""

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A classical answerer that calls no model; the value of its output is a letter, of `rules` one SQL statement.

    `retrieval` asks the knowledge document for question + option, for each option, and takes the option whose best
    passage scores highest (BM25); only passages count that share a word with the question and one with the option,
    function words left out. Deviations from Clark et al.: passages of a few sentences with their headings instead of
    single sentences, and BM25 for their engine's score. Their solver shares a tie's credit among its options; here one
    of them is drawn, which is the same in the mean and does not favour the first letter. Where no option has a passage
    all of them tie. `metadata["evidence"]` says `passage`, `tie` or `none`, `metadata["scores"]` each option's score.

    `rules` reads the question with the CREATE statements in `metadata["schema"]` of the sample (in the dialect
    `metadata["dialect"]`, SQLite's by default) and no data; `metadata["evidence"]` of its output names the rules that
    spoke, `metadata["problem"]` why there is no more than `SELECT NULL`, where that is so.

    Args:
        baseline: `random` draws an option, `longest` takes the longest text (the first among equals).
        knowledge: the document of `retrieval`, .md or .txt.
        seed: for draws; they depend on it and the sample's id alone, so that the order of samples changes nothing.
    """

    inline: ClassVar[bool] = True

    baseline: Literal["random", "longest", "retrieval", "rules"]
    knowledge: Path | None = None
    seed: int = 0

    def check(self) -> None:
        """Read the knowledge document before anything is run.

        Raises:
            ConfigError: `retrieval` without a document, another baseline with one, or an unknown baseline.
            DataError: the document cannot be read.
        """
        if self.baseline not in {"random", "longest", "retrieval", "rules"}:
            raise ConfigError(f"there is no baseline {self.baseline!r}; known: longest, random, retrieval, rules")
        if self.baseline != "retrieval":
            if self.knowledge is not None:
                raise ConfigError(f"baseline {self.baseline} uses no knowledge; leave it out, or take retrieval")
            return
        if self.knowledge is None:
            raise ConfigError("baseline retrieval needs knowledge: the path of a .md or .txt document")
        _open(self.knowledge)

    def __call__(self, sample: Sample) -> Output:
        """Answer with the letter of an option, or with SQL.

        Raises:
            ValueError: the sample has no choices where a letter is wanted, or more than there are letters.
        """
        if self.baseline == "rules":
            return _read_as_sql(sample)
        if not 1 <= len(sample.choices) <= len(_LETTERS):
            raise ValueError(
                f"sample {sample.id!r} has {len(sample.choices)} choices; a baseline picks from 1 to {len(_LETTERS)}"
            )
        if self.baseline == "random":
            return Output(self._draw(sample, range(len(sample.choices))))
        if self.baseline == "longest":
            longest = max(range(len(sample.choices)), key=lambda place: len(sample.choices[place]))
            return Output(_LETTERS[longest])
        return self._retrieve(sample)

    def _draw(self, sample: Sample, places: Sequence[int]) -> str:
        seed = f"{self.seed}\0{sample.id}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(seed, digest_size=8).digest())
        return _LETTERS[places[number % len(places)]]

    def _retrieve(self, sample: Sample) -> Output:
        if self.knowledge is None:
            raise ConfigError("baseline retrieval needs knowledge: the path of a .md or .txt document")
        library = _open(self.knowledge)
        best = library.best(_text_of(sample.input), sample.choices)
        top = max((score for _, score in best.values()), default=0.0)
        first = [place for place, (_, score) in best.items() if score == top] or list(range(len(sample.choices)))
        evidence = "none" if not best else "tie" if len(first) > 1 else "passage"
        ranked = sorted(best.values(), key=lambda pair: (-pair[1], pair[0]))
        contexts = dict.fromkeys(library.passages[index].indexed for index, _ in ranked)
        scores = {
            _LETTERS[place]: round(best[place][1], 6) if place in best else None for place in range(len(sample.choices))
        }
        return Output(self._draw(sample, first), tuple(contexts), {"evidence": evidence, "scores": scores})


@dataclass(frozen=True, slots=True)
class _Library:
    """A document's passages and their index."""

    passages: tuple[Passage, ...]
    index: BM25

    def best(self, question: str, options: Sequence[str]) -> Mapping[int, tuple[int, float]]:
        """Position of an option -> its best passage and that passage's score; options without evidence are left out."""
        asked = tokens(question)
        base = self.index.scores(asked)
        about = self.index.having(token for token in set(asked) if not is_stop(token))
        found = {}
        for place, option in enumerate(options):
            words = tokens(option)
            own = self.index.scores(words)
            both = about & self.index.having(token for token in set(words) if not is_stop(token))
            if both:
                scored = ((base[index] + own[index], index) for index in both)
                score, index = max(scored, key=lambda pair: (pair[0], -pair[1]))
                found[place] = (index, score)
        return found


def _open(path: Path) -> _Library:
    require_file(path)
    return _build(path, stamp_of(path))


@lru_cache(maxsize=8)
def _build(path: Path, stamp: tuple[int, int]) -> _Library:
    """The index of a document as it was at `stamp`; a document that changed is indexed anew."""
    del stamp
    passages = split_passages(read_document(path).text, budget=PASSAGE_TOKENS)
    return _Library(passages, BM25.of([passage.indexed for passage in passages]))


def _read_as_sql(sample: Sample) -> Output:
    from steelyard.targets.sql_rules import read_question

    dialect = sample.metadata.get("dialect")
    dialect = dialect if isinstance(dialect, str) and dialect else "sqlite"
    ddl = sample.metadata.get("schema")
    schema = _parse(ddl if isinstance(ddl, str) else "", dialect)
    reading = read_question(_text_of(sample.input), schema, dialect=dialect)
    problem = {"problem": reading.problem} if reading.problem else {}
    return Output(reading.sql, (), {"evidence": list(reading.evidence), **problem})


@lru_cache(maxsize=256)
def _parse(ddl: str, dialect: str) -> Schema:
    """The schema of a database is asked for once for each of its questions."""
    return parse_schema(ddl, dialect=dialect)


def _text_of(value: Any) -> str:
    """The text of an input: itself, or the contents of its messages."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "\n".join(str(one.get("content", "")) for one in value if isinstance(one, Mapping))
    raise ValueError(f"the input is a {type(value).__name__}; a baseline reads a text or messages")
