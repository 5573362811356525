"""Reads what a target or scorer declares: its scores and its stage, with defaults where it declares nothing.

`ScoreInfo` and `StageInfo` are declared by the attributes `score_infos` and `stage_info`, of an object or a function.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-verdicts.md

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from steelyard.errors import ConfigError, boundary
from steelyard.registry import name_of
from steelyard.types import DescribesScores, DescribesStage, ScoreInfo, StageInfo


def stage_info(part: Any) -> StageInfo:
    """Read how a target or scorer is to be run.

    Raises:
        ConfigError: it declares something other than a StageInfo.
    """
    with boundary("config", _name(part)):  # an option that `check` would refuse may raise in a property
        if not isinstance(part, DescribesStage):
            return StageInfo()
        info: Any = part.stage_info
    if not isinstance(info, StageInfo):
        raise ConfigError(f"{_name(part)}: stage_info must be a StageInfo, not {info!r:.80}")
    return info


def stage_name(scorer: Any) -> str:
    """The name of a scorer's stage: as declared, else its only score's, its registered name, or the function's.

    Raises:
        ConfigError: it declares something other than scores.
    """
    infos = _declared(scorer)
    only = infos[0].name if len(infos) == 1 else ""
    name = stage_info(scorer).name or only or name_of("scorer", type(scorer)) or _name(scorer)
    judge = judge_name(scorer)
    return f"{name}_{judge}" if judge and name != only else name


def judge_name(scorer: Any) -> str:
    """The name of a scorer's judge, which its stage and scores end in; "" where it has no judge, or one without a name.

    It is added here and in `Step.scores`, so that no scorer has to know of other judges.
    """
    name = getattr(getattr(scorer, "judge", None), "name", "")
    return name if isinstance(name, str) else ""


def score_infos(scorer: Any, stage: str) -> tuple[ScoreInfo, ...]:
    """Read the scores that a scorer declares; by default one score named after its stage, of unknown range.

    Raises:
        ConfigError: it declares something other than scores.
    """
    return _declared(scorer) or (ScoreInfo(stage),)


def _declared(scorer: Any) -> tuple[ScoreInfo, ...]:
    with boundary("config", _name(scorer)):  # as above
        if not isinstance(scorer, DescribesScores):
            return ()
        infos: Any = scorer.score_infos
    if not isinstance(infos, Sequence) or not infos or not all(isinstance(info, ScoreInfo) for info in infos):
        raise ConfigError(
            f"{_name(scorer)}: score_infos must be a tuple of ScoreInfo, such as "
            f"(ScoreInfo('rating', range=(1, 5)),), not {infos!r:.80}"
        )
    judge = judge_name(scorer)
    if not judge:
        return tuple(infos)
    return tuple(replace(info, name=f"{info.name}_{judge}", rates=info.rates or info.name) for info in infos)


def _name(part: Any) -> str:
    return str(getattr(part, "__name__", "") or type(part).__name__)
