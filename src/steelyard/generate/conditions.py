"""Which records are meant: `wrong and group=hexagrams`, `solve_rate<1`, `label:cause="wrong unit"`.

A condition is parts joined by `and`; each is a word, or a name, a sign and a value. It is data: nothing of it is run.

word    what it means
------- -------------------------------------------------------------------------------------------------
failed  wrong, or an error, or a reply that its score counts as 0 as it could not be read or was refused
wrong   a score with a threshold did not pass
others  `errors`, `unparsed`, `refused`, `not-applicable`: that happened to a score, or to the record; `all`
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from steelyard.analysis.score_infos import names_where, score_infos
from steelyard.errors import ConfigError, did_you_mean
from steelyard.escaping import cell_text
from steelyard.store import Run
from steelyard.store.labels import by_record
from steelyard.types import OUTCOMES, Label, Record, Score

_AND: Final = re.compile(r'\s+and\s+(?=(?:[^"]*"[^"]*")*[^"]*\Z)', re.IGNORECASE)
"""An `and` outside quotation marks: an even number of them follows it."""
_PART: Final = re.compile(r'([^=!<>"]+?)\s*(?:(<=|>=|!=|=|<|>)\s*(?:"([^"]*)"|([^"]*?)))?\s*')
_SIGNS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "=": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
_LABEL: Final = "label:"
_OUTCOMES: Final = {outcome.replace("_", "-"): outcome for outcome in OUTCOMES}
_OF_RECORD: Final = ("group", "id", "error")


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a condition; without a sign it is a single word."""

    name: str
    sign: str
    value: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on records.

    Args:
        text: as it was written.
        counted: scores whose headline counts a reply that was not read, or was refused, as 0.
    """

    text: str
    parts: tuple[_Part, ...]
    counted: frozenset[str]

    def holds(self, record: Record, labels: Sequence[Label] = ()) -> bool:
        """Whether a record meets all parts of the condition.

        Args:
            record: any of the run.
            labels: those of this record.
        """
        return all(self._part_holds(part, record, labels) for part in self.parts)

    def _part_holds(self, part: _Part, record: Record, labels: Sequence[Label]) -> bool:
        if part.name.startswith(_LABEL):
            return _label_holds(part, labels)
        if not part.sign:
            return part.name == "all" or part.name in self._words_of(record)
        if part.name in _OF_RECORD:
            failure = record.failure.kind if record.failure else ""
            value = {"group": record.sample.group, "id": record.sample.id, "error": failure}[part.name]
            return _SIGNS[part.sign](value, part.value)
        score = next((candidate for candidate in record.scores if candidate.name == part.name), None)
        return score is not None and _score_holds(part, score)

    def _words_of(self, record: Record) -> set[str]:
        words = {score.outcome.replace("_", "-") for score in record.scores} - {"scored"}
        if any(score.outcome == "scored" and score.passed is False for score in record.scores):
            words |= {"wrong", "failed"}
        if record.failure is not None:
            words |= {"errors", "failed"}
        if any(score.outcome in {"unparsed", "refused"} and score.name in self.counted for score in record.scores):
            words.add("failed")
        return words


WORDS: Final = ("failed", "wrong", "errors", "unparsed", "refused", "not-applicable", "all")


def parse_condition(text: str, manifest: Mapping[str, Any]) -> Condition:
    """Read a condition on the records of a run.

    Args:
        text: what was typed.
        manifest: the run's; it names the scores.

    Raises:
        ConfigError: what cannot be meant, with the nearest word.

    >>> where = parse_condition('wrong and group="Book one"', {"scores": ["solve_rate"]})
    >>> [(part.name, part.sign, part.value) for part in where.parts]
    [('wrong', '', ''), ('group', '=', 'Book one')]
    """
    scores = [name for name in manifest.get("scores", ()) if name]
    infos = score_infos(manifest)
    parts = tuple(_parsed(written, scores, text) for written in _AND.split(text.strip()))
    return Condition(text.strip(), parts, frozenset(names_where(infos, lambda info: info.denominator == "all")))


def matching_records(run: Run, condition: Condition) -> Iterator[tuple[int, Record]]:
    """(position, record) of every record of a run that meets a condition, with the labels of each considered."""
    labels = by_record(run.labels())
    for position, record in run.numbered_records():
        if condition.holds(record, labels.get((record.sample.id, record.repeat), ())):
            yield position, record


def _parsed(written: str, scores: Collection[str], condition: str) -> _Part:
    match = _PART.fullmatch(written)
    if match is None:
        raise ConfigError(f"{written.strip() or condition!r} is no condition: a word such as wrong, or name=value")
    name, sign, quoted, bare = match[1].strip(), match[2] or "", match[3], match[4]
    part = _Part(name, sign, (bare or "").strip() if quoted is None else quoted)
    if name.startswith(_LABEL):
        _refuse_order(part, "labels are equal or not")
    elif not sign:
        if name not in WORDS:
            hint = " (parts are joined by and; for or, ask twice)" if re.search(r"\bor\b", name) else ""
            raise ConfigError(f"there is no condition {name!r}{did_you_mean(name, WORDS)}{hint}")
    elif name in _OF_RECORD:
        _refuse_order(part, "texts are equal or not")
    else:
        _check_score(part, scores)
    return part


def _check_score(part: _Part, scores: Collection[str]) -> None:
    if part.name not in scores:
        known = [*scores, *_OF_RECORD]
        raise ConfigError(f"the run has no score {part.name!r}{did_you_mean(part.name, known)}")
    if part.value in _OUTCOMES:
        _refuse_order(part, "outcomes are equal or not")
        return
    try:
        number = float(part.value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        expected = f"a number or one of {', '.join(_OUTCOMES)}"
        raise ConfigError(f"{part.name}{part.sign}{part.value}: {part.value!r} is not {expected}")


def _refuse_order(part: _Part, why: str) -> None:
    if part.sign not in {"", "=", "!="}:
        raise ConfigError(f"{part.name}{part.sign}{part.value}: {why}, so write = or !=")


def _label_holds(part: _Part, labels: Sequence[Label]) -> bool:
    """Whether a label of that name has the value; `!=` is for records that have such labels, none of that value."""
    values = [cell_text(label.value) for label in labels if label.name == part.name.removeprefix(_LABEL)]
    if not part.sign or not values:
        return bool(values)
    return (part.value in values) == (part.sign == "=")


def _score_holds(part: _Part, score: Score) -> bool:
    """A score without a value is neither above nor below anything, nor equal or unequal to it."""
    if part.value in _OUTCOMES:
        return _SIGNS[part.sign](score.outcome, _OUTCOMES[part.value])
    return score.value is not None and _SIGNS[part.sign](score.value, float(part.value))
