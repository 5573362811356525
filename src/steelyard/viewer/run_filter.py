"""Filters of the list of runs: `finished and errors > 0`, `tag = v2 and age < 7`, or words that a run must have.

The parts of a filter have the form of a condition on samples (`analysis.conditions`), about columns of the table of
runs; scores are left out, since they would have to be computed for every run of the store first. A name in quotation
marks is that of a tag of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from steelyard.analysis.conditions import SIGNS, ConditionPart, condition_parts, quoted_name, quoted_value
from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.marks import RunMarks
from steelyard.report.run_texts import state_text
from steelyard.store import Run

STATES: Final = ("running", "finished", "interrupted", "broken")
_WORDS: Final = (*STATES, "failed", "errors", "archived", "baseline", "tagged")
_TEXTS: Final = ("suite", "target", "id", "state", "tag")
_NUMBERS: Final = ("done", "planned", "errors", "age")


@dataclass(frozen=True, slots=True)
class MarkedRun:
    """A run of the list with all that filters need, read once.

    Args:
        run: the run.
        marks: its marks.
        state: of the run.
        target_tags: the report columns of its target.
    """

    run: Run
    marks: RunMarks
    state: str
    target_tags: Mapping[str, str]

    @property
    def text(self) -> str:
        """The text that words are searched in, in lower case."""
        tags = map("=".join, self.target_tags.items())
        return " ".join(
            [self.run.id, self.run.suite, self.run.target, *self.texts("state"), *tags, *self.marks.tags]
        ).lower()

    def has(self, word: str) -> bool:
        """Whether a word of `_WORDS` is true of it."""
        return {
            "errors": self.run.errors > 0,
            "archived": self.marks.archived,
            "baseline": self.marks.baseline,
            "tagged": bool(self.marks.tags),
        }.get(word, word in self.texts("state"))

    def texts(self, name: str) -> Collection[str]:
        """The values of a name of `_TEXTS` or of a tag of the target; none where it has no such tag."""
        run = self.run
        if name == "tag":
            return self.marks.tags
        if name == "state":
            return (self.state, state_text(self.state))
        own_texts = {"suite": run.suite, "target": run.target, "id": run.id}
        return (own_texts[name],) if name in own_texts else self.target_tag(name)

    def target_tag(self, name: str) -> Collection[str]:
        """The value of a tag of the target; none where it has no such tag."""
        return (self.target_tags[name],) if name in self.target_tags else ()

    def number(self, name: str, now: datetime) -> float:
        """The value of a name of `_NUMBERS`; the age in days."""
        run = self.run
        days = (now - run.created).total_seconds() / 86_400
        return {"done": run.done, "planned": run.planned, "errors": run.errors, "age": days}[name]


def filtered(listed: Iterable[MarkedRun], text: str, now: datetime) -> list[MarkedRun]:
    """The runs that a filter means, in their order.

    Args:
        listed: all runs.
        text: parts joined by `and`; a part without a sign that is not a word of the filter has to occur, word by word,
            in the run's id, suite, target, state or tags. "" is all.
        now: the moment up to which ages count.

    Raises:
        ConfigError: a part that is not valid, with the nearest name.
    """
    everything = list(listed)
    if not text.strip():
        return everything
    target_tags = {name for marked in everything for name in marked.target_tags}
    tests = [_test_of(part, target_tags, now) for part in condition_parts(text, "finished")]
    return [marked for marked in everything if all(test(marked) for test in tests)]


def _test_of(part: ConditionPart, target_tags: Collection[str], now: datetime) -> Callable[[MarkedRun], bool]:
    name, sign = part.name, part.sign
    if part.is_quoted and sign:
        return _test_of_text(part, target_tags, lambda marked: marked.target_tag(name))
    if not sign:
        if name.lower() in _WORDS and not part.is_quoted:
            return lambda marked: marked.has(name.lower())
        words = name.lower().split()
        return lambda marked: all(word in marked.text for word in words)
    if name in _NUMBERS:
        number = _number(part)
        return lambda marked: SIGNS[sign](marked.number(name, now), number)
    return _test_of_text(part, (*_TEXTS, *target_tags), lambda marked: marked.texts(name))


def _test_of_text(
    part: ConditionPart, names: Collection[str], texts: Callable[[MarkedRun], Collection[str]]
) -> Callable[[MarkedRun], bool]:
    if part.name not in names:
        raise ConfigError(f"runs have no {part.name!r}{did_you_mean(part.name, [*names, *_NUMBERS])}")
    if part.sign not in {"=", "!="}:
        raise ConfigError(f"{part.name}{part.sign}{part.value}: texts can only be compared by = or !=")
    return lambda marked: (part.value in texts(marked)) == (part.sign == "=")


def _number(part: ConditionPart) -> float:
    try:
        return float(part.value)
    except ValueError as error:
        days = " (in days)" if part.name == "age" else ""
        raise ConfigError(f"{part.name}{part.sign}{part.value}: {part.value!r} is not a number{days}") from error


def completions(listed: Iterable[MarkedRun]) -> list[str]:
    """Completions of a part of a filter, for the list that opens while somebody types."""
    everything = list(listed)
    tags = sorted({tag for marked in everything for tag in marked.marks.tags})
    target_tags = sorted({pair for marked in everything for pair in marked.target_tags.items()})
    suites = sorted({marked.run.suite for marked in everything})
    return [
        *_WORDS,
        *(f"{name} > " for name in ("errors", "done")),
        "age < 7",
        *(f"suite = {quoted_value(suite)}" for suite in suites),
        *map(tag_filter, tags),
        *(f"{_quoted_tag(name)} = {quoted_value(text)}" for name, text in target_tags),
    ]


def tag_filter(tag: str) -> str:
    """The filter of the runs with a tag.

    >>> tag_filter("v2/zh"), tag_filter("a and b")
    ('tag = v2/zh', 'tag = "a and b"')
    """
    return f"tag = {quoted_name(tag)}"


def _quoted_tag(name: str) -> str:
    """The name of a tag of a target; in quotation marks where a column or a number of the list has the same name."""
    return quoted_value(name) if name in (*_TEXTS, *_NUMBERS) else quoted_name(name)
