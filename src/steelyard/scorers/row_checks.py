"""Checks that a dataset brings for each row: scorers in its column `checks`, with options of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Final

from steelyard.building.build import build_row_scorer
from steelyard.building.wrapped import infos_of_part, rebound
from steelyard.errors import ConfigError
from steelyard.scorers.combined import check_verdicts, combined_verdict, first_scores
from steelyard.scorers.judges.judge import Judge, takes_model
from steelyard.scorers.judges.suite_judges import with_judge
from steelyard.types import LACKS, Asks, Output, Sample, Score, ScoreInfo, Scorer, StageInfo

CHECKS: Final = "checks"
"""The score over all checks of a row, and the key of the samples' metadata that holds them."""
_LABELS: Final = ("holds", "does not hold")


def row_scorers(given: Any) -> tuple[Scorer, ...]:
    """The scorers of a row; they run no code, and name no model, endpoint or file.

    Args:
        given: a scorer as in a configuration, or a list of them.

    Raises:
        ConfigError: one that is wrong or may not stand in a row, or does not say whether an output passes.

    >>> [kind_of_check(check) for check in row_scorers([{"number_match": "4"}, {"contains": ["four"], "name": "word"}])]
    ['number_match', 'word']
    """
    checks = tuple(build_row_scorer(each, CHECKS) for each in (given if isinstance(given, list) else [given]))
    _check_all(checks)
    return checks


def _check_all(checks: Sequence[Scorer]) -> None:
    """Refuse checks that say nothing of a pass, and the checks of a row among them, which would never end."""

    def seen(part: Any) -> Any:
        if isinstance(part, Checks):
            raise ConfigError("a check cannot be `checks` itself: write what is checked")
        return part

    for check in checks:
        rebound(check, seen)
    check_verdicts(checks)


@lru_cache(maxsize=1024)
def _cached(text: str) -> tuple[Scorer, ...]:
    return row_scorers(json.loads(text))


def kind_of_check(check: Scorer) -> str:
    """The name of the score of one check."""
    return infos_of_part(check)[0].name


@takes_model
@dataclass(frozen=True, slots=True)
class Checks:
    """Whether all checks of a row hold; beside that, one score for each kind of check.

    The checks are in the samples' metadata, under `checks`. A sample without any is not applicable, and so is one
    without a kind for the score of that kind.

    Args:
        every: checks of every row, before its own.
        judge: of checks that ask a model; the suite's.
        kinds: the names of the scores of single kinds, such as `contains`; the general suite sets it.

    >>> Checks(kinds=("contains",)).score_infos[1].name
    'contains'
    """

    stage_info: ClassVar[StageInfo] = StageInfo(name=CHECKS, mock_reply="Verdict: YES")

    every: tuple[Scorer, ...] = ()
    judge: Judge | None = None
    kinds: tuple[str, ...] = ()

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 where all hold, and the same for each kind."""
        return tuple(
            ScoreInfo(name, (0.0, 1.0), threshold=1.0, labels=_LABELS, headline=name == CHECKS)
            for name in (CHECKS, *self.kinds)
        )

    def check(self) -> None:
        """Check the scorers for every row.

        Raises:
            ConfigError: one that does not say whether an output passes.
        """
        if self.every:
            _check_all(self.every)

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score one output; `call_scorer` is as for `PerTurn`."""
        names = (CHECKS, *self.kinds)
        given = sample.metadata.get(CHECKS)
        if not given and not self.every:
            return [_lacking(name, "the row has no checks") for name in names]
        checks = (*self.every, *(_cached(json.dumps(given, sort_keys=True)) if given else ()))
        if self.judge is not None:
            checks = with_judge(checks, replace(self.judge, name=""))
        firsts = await first_scores(checks, sample, output, (ask, call_scorer))
        if not firsts:  # a dry run
            return []
        of_kind = [[score for score in firsts if score.name == kind] for kind in self.kinds]
        return [
            *combined_verdict(CHECKS, firsts, all),
            *(_of_kind(kind, scores) for kind, scores in zip(self.kinds, of_kind, strict=True)),
        ]


def _of_kind(kind: str, scores: Sequence[Score]) -> Score:
    if len(scores) == 1 and scores[0].value in (None, 0.0, 1.0):
        return scores[0]
    return combined_verdict(kind, scores, all)[0] if scores else _lacking(kind, f"the row has no check {kind}")


def _lacking(name: str, reason: str) -> Score:
    return Score(name, None, outcome="not_applicable", reason=reason, detail={LACKS: CHECKS})
