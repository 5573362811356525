"""Scorers made of other scorers: one that must not pass, several of which any or all must pass, checks of a row.

A dataset brings the checks of each row: scorers in its column `checks`, with options of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Final, Self

from steelyard.building.build import build_row_scorer
from steelyard.building.wrapped import (
    Adapted,
    WrapsOne,
    infos_of_part,
    judge_of_parts,
    prompts_of_parts,
    rebound,
    stage_of_part,
)
from steelyard.errors import ConfigError
from steelyard.scorers.judges.judge import Judge, takes_model, with_judge
from steelyard.types import Asks, Output, Sample, Score, ScoreInfo, Scorer, StageInfo

_MOST_REASON = 300
_WORST = ("unparsed", "refused")
_LABELS = ("holds", "does not hold")


@dataclass(frozen=True, slots=True)
class Not(WrapsOne):
    """Whether another scorer's verdict does not pass: 1 where its first score fails, 0 where it passes.

    What has no verdict there (not applicable, unparsed, refused) has none here.

    Args:
        scorer: what must not pass; its first score passes or fails, by a threshold or as a verdict of 1 and 0.

    >>> from steelyard.scorers import Contains
    >>> Not(Contains()).score_infos[0].name
    'not_contains'
    """

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 or 0."""
        name = infos_of_part(self.scorer)[0].name
        return (verdict_info(f"not_{name}", [self.scorer]),)

    @property
    def stage_info(self) -> StageInfo:
        """That of the scorer, under its own name."""
        return replace(stage_of_part(self.scorer), name=self.score_infos[0].name)

    def check(self) -> None:
        """Check the scorer.

        Raises:
            ConfigError: no value of its first score passes or fails.
        """
        check_verdicts([self.scorer])

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score one output; `call_scorer` is as for `PerTurn`."""
        name = self.score_infos[0].name
        scores = await call_scorer(self.scorer, infos_of_part(self.scorer)[0].name, sample, output, ask)
        return [
            replace(score, name=name, value=float(not held), passed=not held)
            if (held := _holds(score)) is not None
            else replace(score, name=name, passed=None)
            for score in scores[:1]
        ]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Whether the first score of one scorer or more passes.

    One that passes decides. Else a verdict that is unparsed or refused leaves this one without a verdict too; scorers
    that do not apply are left out.

    Args:
        scorers: of which one must pass.
    """

    scorers: tuple[Scorer, ...]

    _name: ClassVar[str] = "any_of"

    @property
    def parts(self) -> tuple[Scorer, ...]:
        """The scorers."""
        return self.scorers

    def with_parts(self, parts: tuple[Scorer, ...]) -> Self:
        """Return a copy with other scorers."""
        return replace(self, scorers=parts)

    @property
    def judge(self) -> Any:
        """The judge of the scorers that have none of their own."""
        return judge_of_parts(self.parts)

    @property
    def prompts(self) -> Mapping[str, Any]:
        """The prompts of the scorers."""
        return prompts_of_parts(self.parts)

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 or 0."""
        return (verdict_info(self._name, self.scorers),)

    @property
    def stage_info(self) -> StageInfo:
        """Its mock reply is that of the first scorer that asks."""
        stages = [stage_of_part(part) for part in self.parts]
        asking = [stage for stage in stages if stage.mock_reply] or stages
        sees_calls = any(stage.sees_calls for stage in stages)
        return replace(asking[0], name=self._name, sees_calls=sees_calls) if asking else StageInfo()

    def check(self) -> None:
        """Check the scorers.

        Raises:
            ConfigError: there are none, or no value of one's first score passes or fails.
        """
        check_verdicts(self.scorers)

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score one output; `call_scorer` is as for `PerTurn`."""
        return combined_verdict(self._name, await first_scores(self.scorers, sample, output, (ask, call_scorer)), any)


@dataclass(frozen=True, slots=True)
class AllOf(AnyOf):
    """Whether the first score of each of the scorers passes; `all_of_share` is the share that does.

    One that fails decides. Else a verdict that is unparsed or refused leaves this one without a verdict too; scorers
    that do not apply are left out.

    Args:
        scorers: which must all pass.
    """

    _name: ClassVar[str] = "all_of"

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 or 0, and the share."""
        verdict = verdict_info(self._name, self.scorers)
        return (verdict, replace(verdict, name="all_of_share", threshold=None, labels=None))

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score one output; `call_scorer` is as for `PerTurn`."""
        firsts = await first_scores(self.scorers, sample, output, (ask, call_scorer))
        scores = combined_verdict(self._name, firsts, all)
        held = [holds for score in firsts if (holds := _holds(score)) is not None]
        share = sum(held) / len(held) if held else None
        return [
            *scores,
            *(
                replace(score, name="all_of_share", value=share if score.value is not None else None, passed=None)
                for score in scores
            ),
        ]


def _holds(score: Score) -> bool | None:
    """Whether a score passes; a verdict of 1 or 0 without a threshold passes with 1."""
    if score.passed is not None or score.value not in (0.0, 1.0):
        return score.passed
    return bool(score.value)


async def first_scores(
    scorers: Sequence[Scorer], sample: Sample, output: Output, means: tuple[Asks, Any]
) -> list[Score]:
    """The first score of each scorer, in order; none in a dry run of one that asks nothing.

    Args:
        scorers: one after the other, so that equal calls keep their order in the journal.
        sample: the sample.
        output: what is scored.
        means: what asks models, and what calls scorers, as for `PerTurn`.
    """
    ask, call_scorer = means
    firsts = []
    for scorer in scorers:
        name = infos_of_part(scorer)[0].name
        scores = await call_scorer(scorer, name, sample, output, ask)
        firsts += [next((score for score in scores if score.name == name), scores[0])] if scores else []
    return firsts


def combined_verdict(name: str, scores: Sequence[Score], rule: Any) -> list[Score]:
    """The verdict over those of several scorers; none in a dry run, where scorers that ask nothing are not run.

    Raises:
        ValueError: a score has a value, and neither passes nor fails with it.
    """
    if not scores:
        return []
    holds = [_holds(score) for score in scores]
    for score, held in zip(scores, holds, strict=True):
        if held is None and score.value is not None:
            raise ValueError(f"{score.name} is {score.value:g}, which passes or fails nothing: give it a threshold")
    known = [held for held in holds if held is not None]
    verdict = rule(known)
    shown = "; ".join(
        f"{score.name}: {'holds' if held else 'does not hold' if held is not None else score.outcome}"
        for score, held in zip(scores, holds, strict=True)
    )[:_MOST_REASON]
    open_verdicts = [score for score in scores if score.outcome in _WORST]
    decided = bool(known) and verdict is (rule is any)
    if open_verdicts and not decided:
        worst = open_verdicts[0]
        return [Score(name, None, outcome=worst.outcome, reason=shown, detail=worst.detail)]
    if not known:
        return [Score(name, None, outcome="not_applicable", reason=shown, detail=scores[0].detail)]
    return [Score(name, float(verdict), passed=verdict, reason=shown)]


def verdict_info(name: str, parts: Sequence[Any]) -> ScoreInfo:
    """A verdict counts unparsed replies as 0 where one of the scorers does."""
    counted = any(infos_of_part(part)[0].denominator == "all" for part in parts)
    return ScoreInfo(name, (0.0, 1.0), threshold=1.0, labels=_LABELS, denominator="all" if counted else "answered")


def check_verdicts(parts: Sequence[Any]) -> None:
    """Refuse scorers that do not say whether an output passes.

    Raises:
        ConfigError: there are none, or no value of one's first score passes or fails.
    """
    if not parts:
        raise ConfigError("scorers: name one or more")
    for part in parts:
        if not callable(part) or isinstance(part, type):
            raise ConfigError(f"scorers: expected a scorer, but got {part!r:.80}")
        info = infos_of_part(part)[0]
        if stage_of_part(part).compares_pairs:
            raise ConfigError(f"{info.name} compares two answers, which passes or fails nothing")
        own = part.scorer if isinstance(part, Adapted) else part
        is_open = info.range not in (None, (0.0, 1.0)) or getattr(own, "threshold", "") is None
        if is_open and info.threshold is None:
            raise ConfigError(f"{info.name} needs a threshold from which it passes")


CHECKS: Final = "checks"
"""The score over all checks of a row, and the key of the samples' metadata that holds them."""


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

    stage_info: ClassVar[StageInfo] = StageInfo(name=CHECKS, mock_reply="Verdict: YES", sees_calls=True)

    every: tuple[Scorer, ...] = ()
    judge: Judge | None = None
    kinds: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Scorer, ...]:
        """The checks of every row."""
        return self.every

    def with_parts(self, parts: tuple[Scorer, ...]) -> Self:
        """Return a copy with other checks of every row."""
        return replace(self, every=parts)

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
            return [_not_asked(name, "the row has no checks") for name in names]
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
    return combined_verdict(kind, scores, all)[0] if scores else _not_asked(kind, f"the row has no check {kind}")


def _not_asked(name: str, reason: str) -> Score:
    return Score(name, None, outcome="not_applicable", reason=reason)
