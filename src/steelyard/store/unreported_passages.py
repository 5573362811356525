"""Whether a target returns its passages at all is known only when its run has ended.

A claim for which nothing was retrieved is unsupported, if the target retrieved something for other samples. A target
that returns its answers alone shows the same output, and nothing is known of its retrieval. So faithfulness stores 0
with a mark, and where no value of a run lacks the mark, the score does not apply to any of its records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.plain_json import from_json
from steelyard.store.counters import count_scores_again
from steelyard.store.database.checksums import score_digest, update_checksum
from steelyard.store.records import score_row
from steelyard.store.writer import Batch
from steelyard.types import LACKS, NOTHING_RETRIEVED, PASSAGES, Score

_ONLY_ZERO: Final = """SELECT name FROM score WHERE run = :run AND scoring_version = 0 AND value IS NOT NULL
    GROUP BY name HAVING MIN(value) = 0 AND MAX(value) = 0"""
_OF_NAME: Final = """SELECT * FROM score
    WHERE run = :run AND scoring_version = 0 AND name = :name AND value IS NOT NULL ORDER BY no, repeat"""
_CHANGE: Final = """UPDATE score SET outcome = :outcome, value = NULL, passed = NULL, body = :body
    WHERE run = :run AND scoring_version = :scoring_version AND no = :no AND repeat = :repeat AND name = :name"""
_REASON: Final = "there are no contexts, here or in any other record of the run"


def settle_unreported(batch: Batch, run: int) -> None:
    """Change the marked scores of a run that has ended, if all values of the score are marked.

    Args:
        batch: to write with.
        run: the run's number.
    """
    for name in [row.name for row in batch.connection.execute(_ONLY_ZERO, {"run": run}).all()]:
        marked = _marked_rows(batch, run, name)
        for row in marked:
            reason, detail = from_json(batch.unpacker.unpack(bytes(row["body"])))
            place = (run, row["scoring_version"], row["no"], row["repeat"])
            changed = score_row(batch, place, name, _unscored(Score("", 0.0, reason=reason, detail=detail)))
            batch.connection.execute(_CHANGE, {key: value for key, value in changed.items() if key not in _EMPTIED})
            update_checksum(batch.connection, run, row["scoring_version"], score_digest(row) ^ score_digest(changed))
        if marked:
            count_scores_again(batch, run)


_EMPTIED: Final = ("value", "passed")


def _marked_rows(batch: Batch, run: int, name: int) -> list[dict[str, Any]]:
    """The rows of a score; none as soon as one of them has no mark."""
    rows = []
    for row in batch.connection.execute(_OF_NAME, {"run": run, "name": name}).mappings():
        if row["body"] is None or not from_json(batch.unpacker.unpack(bytes(row["body"])))[1].get(NOTHING_RETRIEVED):
            return []
        rows.append(dict(row))
    return rows


def settled(scores: Iterable[tuple[int, int, Sequence[Score]]]) -> list[tuple[int, int, Sequence[Score]]]:
    """The same for the scores of a later scoring version: (no, repeat, scores) of every record."""
    records = list(scores)
    values = [score for _, _, of_record in records for score in of_record if score.value is not None]
    names = {score.name for score in values} - {score.name for score in values if not _is_marked(score)}
    if not names:
        return records
    return [
        (no, repeat, [_unscored(score) if score.name in names and _is_marked(score) else score for score in of_record])
        for no, repeat, of_record in records
    ]


def _is_marked(score: Score) -> bool:
    return bool(score.detail.get(NOTHING_RETRIEVED))


def _unscored(score: Score) -> Score:
    detail = {**score.detail, LACKS: PASSAGES}
    return replace(score, value=None, passed=None, outcome="not_applicable", reason=_REASON, detail=detail)
