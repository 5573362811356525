"""Conditions on records: `wrong and group=hexagrams`, `correctness < 3 and regression`, `label:cause="wrong unit"`.

A condition is parts joined by `and`; each is a word, or a name, a sign and a value. A name or a value may stand in
quotation marks, in which `""` is one of them; a name in quotation marks is that of a score, whatever it says. It is
data: nothing in it is executed. `store.reading.page_query` turns it into SQL for pages; `Condition.holds` applies it
to a record. Whoever makes a condition of a name writes it with `quoted_name`, and a value with `quoted_value`.

word        what it means
----------- ---------------------------------------------------------------------------------------------
failed      wrong, or an error, or an unparsed or refused reply that its score counts as 0
wrong       a score with a threshold did not pass
regression  the run's primary score of the sample became worse than in another run, as `compare` counts it
improvement the reverse
both-right  the primary score of the sample passes in both runs; likewise both-wrong
labelled    somebody has labelled the record, in a queue or on its page
others      `errors`, `unparsed`, `refused`, `not-applicable`: that happened to a score, or to the record; `all`
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from steelyard.analysis.scores.score_infos import names_where, score_infos
from steelyard.errors import ConfigError, did_you_mean
from steelyard.escaping import cell_text
from steelyard.types import OUTCOMES, Label, Record, Score

_QUOTED: Final = r"""(?:"(?:[^"]|"")*"|'[^']*')"""
_AND: Final = re.compile(
    rf"""[=<>]\s*{_QUOTED}(?=\s+and\s|\s*\Z)
    |(?P<end>\A|\s+and\s+)(?:(?:label:)?{_QUOTED}(?=\s*[=!<>]|\s+and\s|\s*\Z))?""",
    re.IGNORECASE | re.VERBOSE,
)
"""A value in quotation marks, which may hold an `and`, or the beginning of a part with a name that may."""
_PART: Final = re.compile(
    rf"""(?:(?P<label>label:)?(?P<quoted>{_QUOTED})|(?P<name>[^=!<>"]+?))\s*
    (?:(?P<sign><=|>=|!=|=|<|>)\s*(?:(?P<quoted_value>{_QUOTED})|(?P<value>[^"]*?)))?\s*""",
    re.VERBOSE,
)
_PLAIN: Final = re.compile(r"[\w.@/+-]+")
"""A name that means itself without quotation marks, unless it is one of `OF_RECORD`."""
SIGNS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "=": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
"""A sign between two values -> whether it holds."""
LABEL: Final = "label:"
"""Before the name of a label."""
OUTCOME_WORDS: Final = {outcome.replace("_", "-"): outcome for outcome in OUTCOMES}
"""An outcome as written in a condition -> as stored in a score."""
OF_RECORD: Final = ("group", "cluster", "id", "error")
"""Text fields of a record that a condition may name; `error` is the kind of its failure."""
CHANGES: Final = ("regression", "improvement", "both-right", "both-wrong")
"""Words that compare with another run."""
_MOST_CHARACTERS: Final = 2000
_MOST_PARTS: Final = 50


@dataclass(frozen=True, slots=True)
class ConditionPart:
    """One part of a condition; without a sign it is a single word.

    Args:
        name: without quotation marks.
        sign: "" for a word.
        value: without quotation marks.
        is_quoted: whether the name was in quotation marks, so that it is that of a score.
    """

    name: str
    sign: str
    value: str
    is_quoted: bool = False

    @property
    def kind(self) -> Literal["word", "label", "field", "score"]:
        """What the name stands for: a score, a label, a field of the record."""
        if self.is_quoted:
            return "score"
        if self.name.startswith(LABEL):
            return "label"
        if not self.sign:
            return "word"
        return "field" if self.name in OF_RECORD else "score"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on records.

    Args:
        text: as it was written.
        counted: scores whose headline counts an unparsed or refused reply as 0.
    """

    text: str
    parts: tuple[ConditionPart, ...]
    counted: frozenset[str]

    def holds(self, record: Record, labels: Sequence[Label] = ()) -> bool:
        """Whether a record meets all parts of the condition.

        Args:
            record: any of the run.
            labels: those of this record.
        """
        return all(self._part_holds(part, record, labels) for part in self.parts)

    def _part_holds(self, part: ConditionPart, record: Record, labels: Sequence[Label]) -> bool:
        if part.kind == "label":
            return label_holds(part, labels)
        if part.kind == "word":
            return part.name == "all" or part.name in self._words_of(record, labels)
        if part.kind == "field":
            failure = record.failure.kind if record.failure else ""
            sample = record.sample
            value = {"group": sample.group, "cluster": sample.cluster, "id": sample.id, "error": failure}[part.name]
            return SIGNS[part.sign](value, part.value)
        score = next((candidate for candidate in record.scores if candidate.name == part.name), None)
        return score is not None and _score_holds(part, score)

    def _words_of(self, record: Record, labels: Sequence[Label]) -> set[str]:
        words = {"labelled"} if labels else set()
        words |= {score.outcome.replace("_", "-") for score in record.scores} - {"scored"}
        if any(score.outcome == "scored" and score.passed is False for score in record.scores):
            words |= {"wrong", "failed"}
        if record.failure is not None:
            words |= {"errors", "failed"}
        if any(score.outcome in {"unparsed", "refused"} and score.name in self.counted for score in record.scores):
            words.add("failed")
        return words


WORDS: Final = ("failed", "wrong", "errors", "unparsed", "refused", "not-applicable", "labelled", "all")


def parse_condition(text: str, manifest: Mapping[str, Any], *, compared: bool = False) -> Condition:
    """Read a condition on the records of a run.

    Args:
        text: what was typed, at most 2,000 characters and 50 parts.
        manifest: the run's; it names the scores.
        compared: whether there is another run to compare with, for the words of `CHANGES`.

    Raises:
        ConfigError: an unknown word, name or value; the message suggests the nearest one.

    >>> where = parse_condition('wrong and group="Book one"', {"scores": ["solve_rate"]})
    >>> [(part.name, part.sign, part.value) for part in where.parts]
    [('wrong', '', ''), ('group', '=', 'Book one')]
    """
    scores = [name for name in manifest.get("scores", ()) if name]
    infos = score_infos(manifest)
    parts = tuple(condition_parts(text))
    for part in parts:
        _check_part(part, scores, compared=compared)
    return Condition(text.strip(), parts, frozenset(names_where(infos, lambda info: info.denominator == "all")))


def condition_parts(text: str, example: str = "wrong") -> list[ConditionPart]:
    """The parts of a condition, whatever their names mean.

    Args:
        text: what was typed.
        example: a word that the error message shows as an example.

    Raises:
        ConfigError: it is too long, or has a part that is neither a word nor a name, a sign and a value.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ConfigError(f"a condition has at most {_MOST_CHARACTERS:,} characters, not {len(text):,}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{text!r} is not a condition: it is not valid Unicode") from error
    written_parts = _split_parts(text.strip())
    if len(written_parts) > _MOST_PARTS:
        raise ConfigError(f"a condition has at most {_MOST_PARTS} parts, not {len(written_parts)}")
    parts = []
    for written in written_parts:
        match = _PART.fullmatch(written)
        if match is None:
            raise ConfigError(
                f"{written.strip() or text!r} is not a condition: a word such as {example}, or name=value"
            )
        quoted, quoted_text, label = match["quoted"], match["quoted_value"], match["label"] or ""
        name = match["name"].strip() if quoted is None else label + _unquoted(quoted)
        value = (match["value"] or "").strip() if quoted_text is None else _unquoted(quoted_text)
        if quoted_text is None and value.startswith(tuple(SIGNS)):
            signs = f"the signs are {', '.join(SIGNS)}; a value that begins with one stands in quotation marks"
            raise ConfigError(f"{written.strip()!r} is not a condition: {signs}")
        if quoted_text is None and re.search(r"\bor\b", value):
            advice = "parts are joined by and; for or, use two conditions"
            raise ConfigError(f"{written.strip()}: {advice}. A value with that word stands in quotation marks")
        parts.append(ConditionPart(name, match["sign"] or "", value, quoted is not None and not label))
    return parts


def _split_parts(text: str) -> list[str]:
    parts, begin = [], 0
    for match in _AND.finditer(text):
        if match["end"]:
            parts.append(text[begin : match.start()])
            begin = match.end("end")
    return [*parts, text[begin:]]


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text[0] == '"' else text[1:-1]


def quoted_value(text: str) -> str:
    """A text as the value of a condition.

    >>> print(quoted_value("a and b"), quoted_value('the "new" one'))
    "a and b" "the ""new"" one"
    """
    return '"' + text.replace('"', '""') + '"'


def quoted_name(name: str) -> str:
    """The name of a score as a condition writes it: in quotation marks where it would be read as something else.

    >>> print(quoted_name("f1"), quoted_name("latency<5s"), quoted_name("group"))
    f1 "latency<5s" "group"
    """
    return name if _PLAIN.fullmatch(name) and name not in OF_RECORD else quoted_value(name)


def label_condition(name: str, value: str) -> str:
    """The condition that a label of this name has this value.

    >>> print(label_condition("cause", "wrong unit"), label_condition("a=b", "c"))
    label:cause = "wrong unit" label:"a=b" = "c"
    """
    written = name if _PLAIN.fullmatch(name) else quoted_value(name)
    return f"{LABEL}{written} = {quoted_value(value)}"


def _check_part(part: ConditionPart, scores: Collection[str], *, compared: bool) -> None:
    name, sign = part.name, part.sign
    if part.kind == "label":
        _refuse_order(part, "labels are equal or not")
    elif part.kind == "word" and name in CHANGES:
        if not compared:
            raise ConfigError(
                f"{name} compares with another run: name that run with --against, or against= from Python, or "
                "choose it under “Compare with” on a run's page"
            )
    elif not sign:
        if part.is_quoted or name not in WORDS:
            hint = " (parts are joined by and; for or, use two conditions)" if re.search(r"\bor\b", name) else ""
            raise ConfigError(f"there is no condition {name!r}{did_you_mean(name, (*WORDS, *CHANGES))}{hint}")
    elif part.kind == "field":
        _refuse_order(part, "texts are equal or not")
    else:
        _check_score(part, scores)


def _check_score(part: ConditionPart, scores: Collection[str]) -> None:
    if part.name not in scores:
        known = [*scores, *OF_RECORD]
        raise ConfigError(f"the run has no score {part.name!r}{did_you_mean(part.name, known)}")
    if part.value in OUTCOME_WORDS:
        _refuse_order(part, "outcomes are equal or not")
        return
    try:
        number = float(part.value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        expected = f"a number or one of {', '.join(OUTCOME_WORDS)}"
        raise ConfigError(f"{part.name}{part.sign}{part.value}: {part.value!r} is not {expected}")


def _refuse_order(part: ConditionPart, why: str) -> None:
    if part.sign not in {"", "=", "!="}:
        raise ConfigError(f"{part.name}{part.sign}{part.value}: {why}, so write = or !=")


def label_holds(part: ConditionPart, labels: Sequence[Label]) -> bool:
    """Whether a label of that name has the value; `!=` holds where there are such labels and none has the value."""
    values = [cell_text(label.value) for label in labels if label.name == part.name.removeprefix(LABEL)]
    if not part.sign or not values:
        return bool(values)
    return (part.value in values) == (part.sign == "=")


def _score_holds(part: ConditionPart, score: Score) -> bool:
    """A score without a value is neither above nor below anything, nor equal or unequal to it."""
    if part.value in OUTCOME_WORDS:
        return SIGNS[part.sign](score.outcome, OUTCOME_WORDS[part.value])
    return score.value is not None and SIGNS[part.sign](score.value, float(part.value))
