"""How retrieved passages matched the expected sources over a run, and when a retrieval score is likely wrong.

Passages of another system that match nothing may come from a poor search, or from other documents than the sources.
The rate alone does not show which, so it is never shown without the warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from steelyard.analysis.numbers import percent_text
from steelyard.plain_json import field_values

RETRIEVAL_SCORES: Final = ("hit_rate", "mrr", "precision", "recall", "average_precision", "ndcg")
"""Scores from matches of passages with sources; the first one's details hold the kinds of matches."""

WAYS: Final = ("id", "words", "range", "page")
"""Ways in which a passage can match a source, the strongest first."""
_HARDLY_ANY: Final = 0.1
"""Share of the records below which matches may well be chance."""
_MANY_LONG: Final = 0.1
"""Share of the pairs of passages and sources from which long sources make the scores too high."""
_NOTHING: Final = "nothing"
NOTHING_RETRIEVED: Final = "nothing retrieved"
_NOT_COMPARED: Final = "not compared"


@dataclass(frozen=True, slots=True)
class SourceMatchCounts:
    """Records by how their passages matched the expected sources.

    Args:
        target: the target's name.
        by: the strongest way of each record (`id`, `words`, `range`, `page`) -> records; ways that never occurred are
            left out.
        nothing: records in which passages were compared with the sources and none matched.
        not_compared: records in which passages and sources have nothing in common that could be compared; they have
            no score.
        empty: records without any passage.
        long_share: share of the pairs of a passage and a source, in [0, 1], in which the source is more than three
            times as long: any part of it counts as a hit.
    """

    target: str
    by: Mapping[str, int]
    nothing: int = 0
    not_compared: int = 0
    empty: int = 0
    long_share: float = 0.0

    @classmethod
    def of(cls, target: str, counts: Mapping[str, int], *, long_share: float = 0.0) -> SourceMatchCounts | None:
        """Read the counts of `matched_by`; None where no record has it.

        >>> SourceMatchCounts.of("engine", {"words": 3, "nothing": 1, "not applicable": 2}).by
        {'words': 3}
        """
        by = {way: counts[way] for way in WAYS if counts.get(way)}
        nothing, not_compared = counts.get(_NOTHING, 0), counts.get(_NOT_COMPARED, 0)
        empty = counts.get(NOTHING_RETRIEVED, 0)
        if not (by or nothing or not_compared or empty):
            return None
        return cls(target, by, nothing, not_compared, empty, long_share)

    @property
    def compared(self) -> int:
        """Records with a score."""
        return sum(self.by.values()) + self.nothing + self.empty

    @property
    def sentence(self) -> str:
        """The counts in a sentence.

        >>> SourceMatchCounts("engine", {"words": 14, "page": 2}, 4).sentence
        'engine: an expected passage was retrieved for 16 of 20 records (by words in 14, by page in 2)'
        """
        matches = ", ".join(f"by {match} in {count:,}" for match, count in self.by.items())
        found, total = sum(self.by.values()), self.compared + self.not_compared
        parts = [f"{self.target}: an expected passage was retrieved for {found:,} of {total:,} records"]
        parts += [f" ({matches})"] if matches else []
        parts += [f"; {self.not_compared:,} cannot be compared"] if self.not_compared else []
        parts += [f"; for {self.empty:,} no passage came back"] if self.empty else []
        return "".join(parts)

    @property
    def warning(self) -> str:
        """Why the retrieval scores are likely wrong; "" where most records match something.

        >>> SourceMatchCounts("engine", {"words": 1}, 19).warning
        'engine: no passage matches a source in 19 of 20 records; the passages share no text with the sources: the same documents? Or does the search miss them?'
        """  # noqa: E501  # one line of output
        if self.not_compared > self.compared:
            total = self.not_compared + self.compared
            return (
                f"{self.target}: passages and sources could not be compared in {self.not_compared:,} of {total:,} "
                "records, which have no retrieval score: they have no text, page or ids in common"
            )
        if 2 * self.empty > self.compared:
            return (
                f"{self.target}: no passages came back in {self.empty:,} of {self.compared:,} records: either the "
                "system found nothing, or it does not return its passages, and nothing is known of its retrieval"
            )
        misses = self.nothing + self.empty
        if 2 * misses > self.compared:
            counts = f"{self.target}: no passage matches a source in {misses:,} of {self.compared:,} records"
            cause = "the passages share no text with the sources: the same documents?"
            # Only a reader can tell a poor search from one in other documents; where some match, it is likelier poor.
            if sum(self.by.values()) < _HARDLY_ANY * self.compared:
                return f"{counts}; {cause} Or does the search miss them?"
            return f"{counts}; the search misses them, or {cause}"
        if self.long_share > _MANY_LONG:
            return (
                f"{self.target}: hits are easy: in {percent_text(self.long_share, 0)} of the pairs the source is more "
                "than three times as long as the passage, and any part of it counts; give the sentences that hold the "
                "answer as sources"
            )
        return ""

    def json_fields(self) -> dict[str, Any]:
        """With the warning."""
        return field_values(self, target="") | {"warning": self.warning}
