"""Solved examples for prompts: from a file or sheet of their own, or held out of the dataset by a seed.

An example must not reveal the answer of the question that follows it: it may not be the question itself, one of its
cluster (a paraphrase, another rotation), or one that asks the same with the same options or the same right answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

from steelyard.constraints import Seed, Within, check_options
from steelyard.data.columns import find_layout
from steelyard.data.headers import Role
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Table, cell_at, render
from steelyard.errors import ConfigError
from steelyard.prompts.conversation import question_of
from steelyard.prompts.sample_values import Example
from steelyard.suites.choice.keys import LETTERS
from steelyard.suites.choice.rows import ChoiceData, load_choice
from steelyard.targets.examples import (
    ExamplesForTarget,
    are_related,
    check_source,
    digest_of_examples,
    draw_mark,
    plain_words,
)
from steelyard.types import Sample

_RATIONALE: Final = "rationale"


@dataclass(frozen=True, slots=True)
class FewShot:
    """Where solved examples come from, and how many of them a prompt shows.

    Args:
        file: one path or several, as under `samples`; another sheet of the exam's own file will do.
        sheets: one sheet's name or several; empty means every visible one.
        columns: role -> column, as under `samples`, and `rationale`: what leads to the answer, shown before it. It is
            shown only where it is named here.
        held_out: instead of a file: this many questions of each group are taken from the samples, shown as examples and
            not asked.
        n: the most examples in a prompt.
        per_group: take them from the question's own group, and from others only if it has too few.
        seed: of the draw; by default the one of the options.
    """

    file: Path | tuple[Path, ...] = ()
    sheets: str | tuple[str, ...] = ()
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    held_out: Annotated[int, Within(0)] = 0
    n: Annotated[int, Within(1, 100)] = 5
    per_group: bool = True
    seed: Seed | None = None

    def check(self) -> None:
        """Refuse invalid values.

        Raises:
            ConfigError: neither file nor held_out, or both.
        """
        check_source(self.file, self.held_out, (self.sheets, self.columns))


@dataclass(frozen=True, slots=True)
class FewShotExamples:
    """The few-shot examples of a suite, and the ids of those held out of the dataset.

    Args:
        by_group: the examples of each group, in the order of the draw.
        mixed: those of all groups, likewise.
        marks: their hashes, by which they were drawn.
        held_out: ids of samples that are not asked.
        few_shot: how they are chosen.
        seed: of the draw.
    """

    by_group: Mapping[str, Sequence[Example]]
    mixed: Sequence[Example]
    marks: frozenset[bytes]
    held_out: frozenset[str]
    few_shot: FewShot
    seed: int

    @classmethod
    def of(
        cls, examples: Mapping[str, Sequence[Example]], held_out: frozenset[str], few_shot: FewShot, seed: int
    ) -> FewShotExamples:
        """Build them, with the examples of all groups mixed in the order of the draw."""
        marked = {_mark(seed, example.sample): example for group in examples.values() for example in group}
        mixed = [marked[mark] for mark in sorted(marked)]
        return cls(examples, mixed, frozenset(marked), held_out, few_shot, seed)

    def draw(self, sample: Sample) -> tuple[Example, ...]:
        """The examples for one sample: the same for a whole group, except those that would reveal its answer."""
        examples = (example for example in self._in_turn(sample.group) if not gives_away(example.sample, sample))
        return tuple(islice(examples, self.few_shot.n))

    def _in_turn(self, group: str) -> Iterator[Example]:
        own_examples = self.by_group.get(group, ()) if self.few_shot.per_group else ()
        yield from own_examples
        # A group with too few examples is filled up from the others; without `per_group` all groups share one order.
        yield from (example for example in self.mixed if not own_examples or example.sample.group != group)

    def has(self, sample: Sample) -> bool:
        """Whether a sample is also among the examples."""
        return _mark(self.seed, sample) in self.marks

    @property
    def for_target(self) -> ExamplesForTarget:
        """The examples as a target holds them."""
        return ExamplesForTarget(self.digest, self.draw)

    @property
    def digest(self) -> str:
        """A hexadecimal digest of the examples and of how they are chosen."""
        shown = (
            (group, question_of(sample.input), *sample.choices, str(sample.reference), rationale)
            for group in sorted(self.by_group)
            for sample, rationale in self.by_group[group]
        )
        return digest_of_examples(f"{self.few_shot.n} {self.few_shot.per_group} {self.seed}", shown)

    def manifest(self) -> dict[str, Any]:
        """The entry of the examples in the manifest."""
        settings: dict[str, Any] = {"n": self.few_shot.n, "per_group": self.few_shot.per_group, "seed": self.seed}
        return {**settings, "held_out": len(self.held_out), "examples": len(self.mixed), "digest": self.digest}


def draw_few_shot(few_shot: FewShot, data: ChoiceData, seed: int) -> FewShotExamples:
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
        return FewShotExamples.of(_by_group(_of_file(few_shot), seed), frozenset(), few_shot, seed)
    return _held_out(few_shot, data, seed)


def gives_away(example: Sample, sample: Sample) -> bool:
    """Whether an example would reveal the answer to a question.

    >>> one, same = Sample("1", "2 + 2?", "B", ("3", "4")), Sample("7@2", "2 + 2 ?", "A", ("4", "3"))
    >>> gives_away(one, same), gives_away(one, Sample("8", "3 + 3?", "A", ("6", "4")))
    (True, False)
    """
    if are_related(example, sample):
        return True
    if plain_words(question_of(example.input)) != plain_words(question_of(sample.input)):
        return False
    same_options = set(map(plain_words, example.choices)) == set(map(plain_words, sample.choices))
    return same_options or bool(_right(example) & _right(sample))


def _held_out(few_shot: FewShot, data: ChoiceData, seed: int) -> FewShotExamples:
    """Hold out the questions of each group with the smallest hashes, a choice that depends on no other question."""
    candidates: dict[str, list[tuple[bytes, Sample]]] = {}
    for sample in data.samples:
        samples = candidates.setdefault(sample.group, [])
        samples.append((_mark(seed, sample), sample))
        samples.sort(key=lambda pair: pair[0])
        del samples[few_shot.held_out :]
    examples = {group: [Example(sample) for _, sample in samples] for group, samples in candidates.items()}
    ids = frozenset(example.sample.id for samples in examples.values() for example in samples)
    if len(ids) >= data.n:
        raise ConfigError(f"few_shot: held_out: {few_shot.held_out} of each group leaves no sample of {data.n} to ask")
    return FewShotExamples.of(examples, ids, few_shot, seed)


def _of_file(few_shot: FewShot) -> Iterator[Example]:
    sample_columns = {role: column for role, column in few_shot.columns.items() if role != _RATIONALE}
    files = SampleFiles(few_shot.file, sheets=few_shot.sheets, columns=sample_columns)
    columns: dict[int, Column | None] = {}
    for reading, row, question in load_choice(files, several_answers=True).samples.rows():
        table_id = id(reading)
        if table_id not in columns:
            columns[table_id] = _rationale(reading.table, few_shot, files)
        column = columns[table_id]
        rationale = "" if column is None else render(cell_at(row.cells, column))
        yield Example(reading.sample(row, question), rationale)


def _rationale(table: Table, few_shot: FewShot, files: SampleFiles) -> Column | None:
    if _RATIONALE not in few_shot.columns:
        return None
    roles = (Role("question", joins=True), Role(_RATIONALE, by_position=False))
    columns = {role: few_shot.columns[role] for role in ("question", _RATIONALE) if role in few_shot.columns}
    return find_layout(table, roles, replace(files, columns=columns)).column(_RATIONALE)


def _by_group(examples: Iterable[Example], seed: int) -> dict[str, list[Example]]:
    """Examples by group in the order of the draw, without repeated ones."""
    groups: dict[str, dict[bytes, Example]] = {}
    for example in examples:
        groups.setdefault(example.sample.group, {}).setdefault(_mark(seed, example.sample), example)
    return {group: [marked[mark] for mark in sorted(marked)] for group, marked in groups.items()}


def _mark(seed: int, sample: Sample) -> bytes:
    """A hash of the seed and the question's text, by which examples are drawn whatever their order in the file."""
    return draw_mark(seed, plain_words(question_of(sample.input)), *sorted(map(plain_words, sample.choices)))


def _right(sample: Sample) -> set[str]:
    return {plain_words(sample.choices[LETTERS.index(letter)]) for letter in str(sample.reference) if letter in LETTERS}


def groups_short_of(examples: FewShotExamples, groups: Counter[str]) -> list[str]:
    """The groups among `groups` that have too few examples of their own, the largest first."""
    if not examples.few_shot.per_group:
        return []
    return [group for group, _ in groups.most_common() if len(examples.by_group.get(group, ())) < examples.few_shot.n]
