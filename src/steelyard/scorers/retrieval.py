"""Scores what was retrieved against what should have been: which passages answer to which expected sources.

Systems that are compared cut documents into different passages, so ids alone cannot decide. A passage answers to an
expected source when one of these holds:

(a) both have an id, and the ids are equal;
(b) both name the same document, and their ranges of characters overlap by a given share of the shorter one;
(c) ranges cannot be compared, since one of them has none, and the text of one stands in the text of the other, blanks
    left out. Unequal ids do not speak against it: every system numbers its own passages.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, ClassVar, Final, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.scorers.retrieval_measures import (
    Gain,
    average_precision,
    hit_rate,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)
from steelyard.types import Output, Sample, Score

_NAMES: Final = ("hit_rate", "mrr", "precision", "recall", "average_precision", "ndcg")
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Source:
    """A passage, or what should be retrieved, as far as it is described.

    Args:
        id: of the passage in its index; "" is none.
        document: name of the document; "" is none.
        span: offsets of its first character and behind its last one in the document's text; None is unknown.
        text: its text without blanks, width folded; "" is unknown.
    """

    id: str = ""
    document: str = ""
    span: tuple[float, float] | None = None
    text: str = ""

    @classmethod
    def of(cls, value: Any, *, text: Any = "", document: Any = None) -> Source:
        """What a mapping of `id`, `document`, `start`, `end` and `text` says; a bare text or number is an id.

        Args:
            value: the mapping; what it lacks stays unknown.
            text: its text where the mapping holds none.
            document: its document where the mapping names none.
        """
        if isinstance(value, str | int) and not isinstance(value, bool):
            value = {"id": value}
        told = value if isinstance(value, Mapping) else {}
        return cls(
            id=_name(told.get("id")),
            document=_name(told.get("document") or document),
            span=_span(told.get("start"), told.get("end")),
            text=_condensed(told.get("text") or text),
        )

    @property
    def told(self) -> bool:
        """Whether anything can be found by it: an id, a range of a document, or a text."""
        return bool(self.id or self.text) or (self.span is not None and bool(self.document))


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How well a system retrieved: six scores per sample from the passages and the expected sources.

    Expected is `sample.metadata["sources"]`; retrieved, in rank order, `output.metadata["sources"]`, or the texts in
    `output.contexts` where there is no such list. Without expected sources it does not apply. The measures, also for
    passages that answer to several sources, are in `steelyard.scorers.retrieval_measures`.

    Args:
        k: only the first k passages count; None: all that were retrieved.
        overlap: share of the shorter range of characters from which two ranges of a document answer to each other.
        ndcg_gain: gain of a rank that newly answers n sources: `binary` 1, `linear` n, `exponential` 2^n - 1.

    >>> sample = Sample("1", "?", metadata={"sources": [{"id": "a"}, {"id": "b"}]})
    >>> scores = Retrieval()(sample, Output("", metadata={"sources": [{"id": "x"}, {"id": "a"}]}))
    >>> {one.name: round(one.value, 3) for one in scores}
    {'hit_rate': 1.0, 'mrr': 0.5, 'precision': 0.5, 'recall': 0.5, 'average_precision': 0.25, 'ndcg': 0.387}
    """

    inline: ClassVar[bool] = True
    score_names: ClassVar[tuple[str, ...]] = _NAMES
    over: ClassVar[str] = "all"
    primary: ClassVar[str] = "recall"
    words: ClassVar[Mapping[str, tuple[str, str]]] = MappingProxyType({"hit_rate": ("hit", "miss")})

    k: int | None = None
    overlap: float = 0.5
    ndcg_gain: Gain = "binary"

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: k below 1, an overlap that is no share above 0, or an unknown gain.
        """
        if self.k is not None and self.k < 1:
            raise ConfigError(f"k: expected at least 1 passage, but got {self.k}")
        if not 0 < self.overlap <= 1:
            raise ConfigError(f"overlap: expected a share above 0 and up to 1, but got {self.overlap}")
        if self.ndcg_gain not in get_args(Gain):
            near = did_you_mean(str(self.ndcg_gain), get_args(Gain))
            raise ConfigError(f"ndcg_gain: there is no {self.ndcg_gain!r}{near}")

    def __call__(self, sample: Sample, output: Output) -> Sequence[Score]:
        """Compare the passages of one output with its sample's sources."""
        given, document = _listed(sample.metadata.get("sources")), sample.metadata.get("document")
        expected = list(dict.fromkeys(Source.of(one, document=document) for one in given))
        if not expected:
            return self._not_applicable("the sample names no sources")
        if unknown := [at for at, one in enumerate(expected, start=1) if not one.told]:
            return self._not_applicable(
                f"source {unknown[0]} of the sample has no id, no range of a document and no text"
            )
        passages = retrieved(output)[: self.k]
        answers = [
            {at for at, one in enumerate(expected) if answers_to(passage, one, overlap=self.overlap)}
            for passage in passages
        ]
        return self._scores(answers, len(expected))

    def _not_applicable(self, reason: str) -> Sequence[Score]:
        return [Score(name, None, outcome="not_applicable", reason=reason) for name in _NAMES]

    def _scores(self, answers: Sequence[set[int]], expected: int) -> Sequence[Score]:
        values = (
            hit_rate(answers),
            reciprocal_rank(answers),
            precision(answers),
            recall(answers, expected),
            average_precision(answers, expected),
            ndcg(answers, expected, gain=self.ndcg_gain, k=self.k),
        )
        ranks = [next((rank for rank, one in enumerate(answers, start=1) if at in one), None) for at in range(expected)]
        reason = _reason(ranks, len(answers))
        detail = {"ranks": ranks, "retrieved": len(answers), "k": self.k}
        return [
            Score(name, value, passed=value == 1 if name == "hit_rate" else None, reason=reason, detail=detail)
            for name, value in zip(_NAMES, values, strict=True)
        ]


def answers_to(passage: Source, expected: Source, *, overlap: float = 0.5) -> bool:
    """Whether a retrieved passage answers to an expected source, by id, by range, or by text.

    Args:
        passage: what was retrieved.
        expected: what should be.
        overlap: share of the shorter range that both have in common, from which two ranges answer to each other.

    >>> one = Source(document="a.pdf", span=(0, 100))
    >>> [answers_to(Source(document="a.pdf", span=(start, start + 40)), one) for start in (0, 80, 81)]
    [True, True, False]
    """
    if passage.id and passage.id == expected.id:
        return True
    if passage.document and expected.document and passage.span and expected.span:
        if passage.document != expected.document:
            return False
        (start, end), (other_start, other_end) = passage.span, expected.span
        shared = min(end, other_end) - max(start, other_start)
        return shared >= overlap * min(end - start, other_end - other_start)
    if not passage.text or not expected.text:
        return False
    return passage.text in expected.text or expected.text in passage.text


def retrieved(output: Output) -> list[Source]:
    """The passages of an output in rank order, each with its text where it is known.

    There are as many as the longer of both lists has: a passage that no source tells of was retrieved all the same.
    """
    listed = _listed(output.metadata.get("sources"))
    return [Source.of(one, text=text) for one, text in zip_longest(listed, output.contexts, fillvalue="")]


def _listed(value: Any) -> list[Any]:
    """A list of sources; a single one becomes a list, and the JSON text of one, as a CSV file holds it, is read."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or value == "" else [value]


def _span(start: Any, end: Any) -> tuple[float, float] | None:
    """A range of characters; None where it is empty or no range of any text."""
    for one in (start, end):
        if isinstance(one, bool) or not isinstance(one, int | float):
            return None
    return (start, end) if 0 <= start < end <= sys.maxsize else None


def _name(value: Any) -> str:
    return "" if value is None else str(value)


def _condensed(text: Any) -> str:
    """A text for comparing: line ends and blanks fall differently in every way of reading a PDF."""
    return "".join(unicodedata.normalize("NFKC", text).split()) if isinstance(text, str) else ""


def _reason(ranks: Sequence[int | None], retrieved_count: int) -> str:
    if not retrieved_count:
        return "nothing was retrieved"
    found = [str(one) for one in ranks if one is not None]
    where = f", first at rank {', '.join(found[:_SHOWN])}" if found else ""
    return f"{len(found)} of {len(ranks)} sources among {retrieved_count} passages{where}"
