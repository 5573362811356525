"""A small plug-in: what another package may register, one of each kind, good and bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from steelyard.errors import ConfigError, DataError
from steelyard.evaluation import Options, Suite
from steelyard.models.base import Model
from steelyard.types import Output, Sample, Score, Scorer, Target


def echo(sample: Sample) -> Any:
    """Says the question again."""
    return sample.input


@dataclass(frozen=True, slots=True)
class Parrot:
    """A model that repeats.

    Args:
        name: of the bird.
        temperature: between 0 and 2.
        api_key: a reference.
    """

    name: str
    temperature: float = 0.0
    api_key: str = ""


@dataclass(frozen=True, slots=True)
class Extent:
    """Scores the length.

    Args:
        at_most: characters.
    """

    at_most: int = 10

    def __call__(self, sample: Sample, output: Output) -> Score:
        return Score("extent", float(len(str(output.value)) <= self.at_most))


@dataclass(frozen=True, slots=True)
class ToyTarget:
    """A target with one key of each type.

    Args:
        text: any text.
        toy: the scalar of the short form.
        count: a whole number.
        share: a number.
        loud: a truth value.
        mood: one of two words.
        file: a file that exists.
        files: one or several files.
        words: several texts.
        body: any JSON.
        sizes: numbers by name.
        model: what answers.
        limit: a number or nothing.
        header: a word or a row.
        function: from Python only.
    """

    text: str = ""
    toy: str = ""
    count: int = 1
    share: float = 0.5
    loud: bool = False
    mood: Literal["glad", "grim"] = "glad"
    file: Path | None = None
    files: Path | tuple[Path, ...] = ()
    words: tuple[str, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)
    model: Model | None = None
    limit: int | None = None
    header: Literal["auto", "none"] | int = "auto"
    function: Callable[[str], str] | None = None

    def __call__(self, sample: Sample) -> Any:
        return self.text


@dataclass(frozen=True, slots=True)
class Picky:
    """Refuses what does not go together.

    Args:
        low: below high.
        high: above low.
    """

    low: int
    high: int

    def check(self) -> None:
        if self.low >= self.high:
            raise ConfigError(f"low {self.low} is not below high {self.high}")

    def __call__(self, sample: Sample) -> Any:
        return None


@dataclass(frozen=True, slots=True)
class Careless:
    """Raises what it likes.

    Args:
        how: which error.
    """

    how: str

    def __post_init__(self) -> None:
        if self.how == "value":
            raise ValueError("that is not a value")
        if self.how == "data":
            raise DataError("the file is odd", ["row 3"])
        if self.how == "zero":
            raise ZeroDivisionError

    def __call__(self, sample: Sample) -> Any:
        return None


@dataclass(frozen=True, slots=True)
class ToySamples:
    """Lines of a file.

    Args:
        file: one sample a line.
        columns: role to column.
        first: only so many.
        last: only so many.
        random: only so many.
    """

    file: Path
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    first: int | None = None
    last: int | None = None
    random: int | None = None


@dataclass(frozen=True, slots=True)
class ToySuite:
    """The smallest suite.

    Args:
        samples: what is asked.
        targets: what answers, by name.
        name: a title.
        tags: filled by the loader.
        scorers: what is measured.
        options: how.
        gate: rules.
    """

    samples: ToySamples
    targets: Mapping[str, Target]
    name: str = ""
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    scorers: tuple[Scorer, ...] = ()
    options: Options = Options()
    gate: Mapping[str, str] = field(default_factory=dict)

    def build(self) -> Suite:
        if self.name == "refused":
            raise ConfigError("this suite is refused")
        lines = self.samples.file.read_text(encoding="utf-8").splitlines()
        samples = [Sample(str(number), line) for number, line in enumerate(lines)][: self.samples.first]
        return Suite(
            self.name, "toy", samples, self.targets, self.scorers, self.options, dict(self.tags), dict(self.gate)
        )
