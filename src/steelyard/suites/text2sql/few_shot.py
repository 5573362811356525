"""Solved questions for prompts of SQL: those nearest to the question first, of other databases unless said.

Examples of the question's own database give away its tables and how they are joined, which a system has not when it
meets a new one: published benchmarks ask about databases that no example has.

Source: D. Gao et al., "Text-to-SQL Empowered by Large Language Models: A Benchmark Evaluation", PVLDB 17(5), 2024
(DAIL-SQL), sections 3.2 and 3.3: examples chosen by the similarity of questions, and shown as question and SQL without
their schemas. Deviations: similarity is BM25 on the words; the words of a database's own domain are not masked.
"""

# Why it is so, and what was rejected: docs/decisions/suites-sql-prompts.md

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

from steelyard.constraints import Seed, Within, check_options
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.prompts.conversation import question_of, search_text
from steelyard.prompts.sample_values import Example
from steelyard.retrieval.bm25 import BM25
from steelyard.sql.statements import split
from steelyard.suites.text2sql.rows import Text2SqlData, load_text2sql
from steelyard.targets.examples import (
    ExamplesForTarget,
    are_related,
    check_source,
    digest_of_examples,
    draw_mark,
    plain_words,
)
from steelyard.types import Sample

_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class SqlFewShot:
    """Where solved questions come from, and how many of them a prompt shows.

    Args:
        file: one path or several, as under `samples`, such as the training set of a benchmark.
        sheets: one sheet's name or several; empty means every visible one.
        columns: role -> column, as under `samples`.
        held_out: instead of a file: this many questions of the samples are shown as examples and not asked.
        n: the most examples in a prompt, the nearest question first.
        same_database: whether examples may be of the database that is asked about.
        seed: of the draw of held-out questions, and of the order among equally near ones; by default the one of the
            options.
    """

    file: Path | tuple[Path, ...] = ()
    sheets: str | tuple[str, ...] = ()
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    held_out: Annotated[int, Within(0)] = 0
    n: Annotated[int, Within(1, 100)] = 3
    same_database: bool = False
    seed: Seed | None = None

    def check(self) -> None:
        """Refuse invalid values.

        Raises:
            ConfigError: neither file nor held_out, or both.
        """
        check_source(self.file, self.held_out, (self.sheets, self.columns))


@dataclass(frozen=True, slots=True)
class SqlExamples:
    """The solved questions of a suite, with an index of their words.

    Args:
        examples: in the order of the draw.
        index: of their questions.
        held_out: ids of samples that are not asked.
        few_shot: how they are chosen.
        seed: of the draw.
    """

    examples: Sequence[Example]
    index: BM25
    held_out: frozenset[str]
    few_shot: SqlFewShot
    seed: int

    def draw(self, sample: Sample) -> tuple[Example, ...]:
        """The examples for one sample, without those that would give its SQL away."""
        examples = (
            example
            for example in self._nearest_first(sample)
            if not gives_sql_away(example.sample, sample) and self._may_show(example.sample, sample)
        )
        return tuple(islice(examples, self.few_shot.n))

    def _nearest_first(self, sample: Sample) -> Iterator[Example]:
        near = [at for at, _ in self.index.search(search_text(sample.input), len(self.examples))]
        yield from (self.examples[at] for at in near)
        # Those without a word in common come last, in the order of the draw.
        others = set(range(len(self.examples))).difference(near)
        yield from (self.examples[at] for at in sorted(others))

    def _may_show(self, example: Sample, sample: Sample) -> bool:
        return self.few_shot.same_database or not (_databases(example) & _databases(sample))

    @property
    def for_target(self) -> ExamplesForTarget:
        """The examples as a target holds them."""
        shown = (
            (question_of(sample.input), str(sample.reference), str(sample.metadata.get("db_id")), rationale)
            for sample, rationale in self.examples
        )
        head = f"{self.few_shot.n} {self.few_shot.same_database} {self.seed}"
        return ExamplesForTarget(digest_of_examples(head, shown), self.draw)

    def manifest(self) -> dict[str, Any]:
        """The entry of the examples in the manifest."""
        settings: dict[str, Any] = {"n": self.few_shot.n, "same_database": self.few_shot.same_database}
        counts = {"seed": self.seed, "held_out": len(self.held_out), "examples": len(self.examples)}
        return {**settings, **counts, "digest": self.for_target.digest}

    def notes(self, databases: Mapping[str, int]) -> Iterator[str]:
        """Notes on databases whose questions are shown fewer examples than wanted.

        Args:
            databases: of the samples, with how many.

        Raises:
            ConfigError: there is no example for one of them.
        """
        own = Counter(str(example.sample.metadata.get("db_id") or "") for example in self.examples)
        left = {
            name: len(self.examples) - (0 if self.few_shot.same_database else own[name]) for name in databases if name
        }
        without = sorted(name for name, count in left.items() if not count)
        if without:
            raise ConfigError(
                f"few_shot: all {len(self.examples)} examples are of the database {without[0]!r}, which is asked "
                "about; take examples of other databases, or write same_database: true"
            )
        short = sorted(name for name, count in left.items() if count < self.few_shot.n)
        if short:
            names = f"{', '.join(short[:_TOLD])}{' ...' if len(short) > _TOLD else ''}"
            yield f"few_shot: fewer than {self.few_shot.n} examples for questions on {names}"


def draw_sql_examples(few_shot: SqlFewShot, data: Text2SqlData, seed: int) -> SqlExamples:
    """Read the examples of a file, or draw those that are held out of the dataset.

    Args:
        few_shot: where they come from.
        data: the dataset that is asked.
        seed: of the draw, where `few_shot` has none.

    Raises:
        ConfigError: a file, sheet or column that does not exist; or nothing is left to be asked.
        DataError: rows of the file have defects, named with file, sheet and cell.
    """
    check_options(few_shot)
    seed = seed if few_shot.seed is None else few_shot.seed
    if few_shot.file:
        samples = load_text2sql(SampleFiles(few_shot.file, sheets=few_shot.sheets, columns=few_shot.columns)).samples
        marked = {_mark(seed, sample): sample for sample in samples}
        held_out: frozenset[str] = frozenset()
    else:
        if few_shot.held_out >= len(data):
            raise ConfigError(f"few_shot: held_out: {few_shot.held_out} leaves no sample of {len(data)} to ask")
        # A choice by hashes, which depends on no other question.
        every = {_mark(seed, sample): sample for sample in data.samples}
        marked = {mark: every[mark] for mark in sorted(every)[: few_shot.held_out]}
        held_out = frozenset(sample.id for sample in marked.values())
    drawn = [_example(marked[mark]) for mark in sorted(marked)]
    drawn = [example for example in drawn if example.sample.reference]
    if not drawn:
        raise ConfigError("few_shot: the file has no question with its SQL")
    index = BM25.of([search_text(example.sample.input) for example in drawn])
    return SqlExamples(drawn, index, held_out, few_shot, seed)


def gives_sql_away(example: Sample, sample: Sample) -> bool:
    """Whether an example would reveal the SQL of a question: it is the same question, a paraphrase, or has that SQL.

    >>> first, same = Sample("1", "How many?", "SELECT 1"), Sample("2", "how many", "SELECT 2")
    >>> gives_sql_away(first, same), gives_sql_away(first, Sample("3", "Which?", "SELECT 2"))
    (True, False)
    """
    if are_related(example, sample):
        return True
    if plain_words(question_of(example.input)) == plain_words(question_of(sample.input)):
        return True
    # In any database: the same one may have another name, or a schema with a table more.
    return _sql(example) == _sql(sample)


def _example(sample: Sample) -> Example:
    # What is known besides a question stands between it and its SQL, where other suites have an answer's rationale.
    return Example(sample, str(sample.metadata.get("evidence") or ""))


def _databases(sample: Sample) -> frozenset[str]:
    """What tells a sample's database: its name and its schema; of a sample with neither it is the unknown one."""
    name, schema = (str(sample.metadata.get(key) or "") for key in ("db_id", "schema"))
    defined = _definitions(schema)
    known = {f"id {name.casefold()}" if name else "", f"schema {defined}" if defined else ""} - {""}
    return frozenset(known or {""})


@lru_cache(maxsize=4096)
def _definitions(schema: str) -> str:
    """A schema without the rows that it inserts, and without differences of case and blanks."""
    defining = [statement.text for statement in split(schema) if statement.verb not in {"INSERT", "REPLACE"}]
    return " ; ".join(" ".join(text.casefold().split()) for text in defining)


def _sql(sample: Sample) -> str:
    return " ".join(str(sample.reference).casefold().rstrip("; \n").split())


def _mark(seed: int, sample: Sample) -> bytes:
    """A hash of the seed and the question, by which examples are drawn whatever their order in the file."""
    return draw_mark(seed, plain_words(question_of(sample.input)), str(sample.metadata.get("db_id")))
