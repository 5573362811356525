"""Reads what a target or scorer declares: its scores and its stage, with defaults where it declares nothing.

`ScoreInfo` and `StageInfo` are declared by the attributes `score_infos` and `stage_info`, of an object or a function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.registry import name_of
from steelyard.types import DescribesScores, DescribesStage, ScoreInfo, StageInfo


def stage_info(part: Any) -> StageInfo:
    """Read how a target or scorer is to be run.

    Raises:
        ConfigError: it declares something other than a StageInfo.
    """
    with boundary("config", _name(part)):  # an option that `check` would refuse may raise in a property
        if not isinstance(part, DescribesStage):
            return _older_stage_info(part)
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
    return _declared(scorer) or _older_score_infos(scorer, stage)


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


_OLDER: Final[Mapping[str, str]] = {
    "scales": "scales",
    "words": "words",
    "spread": "spreads",
    "labelled": "labelled",
    "exam": "exam",
    "beside": "beside",
}
"""Attribute of a scorer that was written for version 0.1 -> the key in that version's manifests."""


def _older_score_infos(scorer: Any, stage: str) -> tuple[ScoreInfo, ...]:
    """The scores of a scorer that was written for version 0.1, which had an attribute for each aspect.

    Its attributes were documented, so scorers of users still have them; where there are none, the defaults apply.
    """
    from steelyard.analysis.score_infos import infos_of_older_keys

    names = tuple(getattr(scorer, "score_names", ())) or (getattr(scorer, "score_name", stage),)
    over = getattr(scorer, "over", "scored")
    keys = {key: getattr(scorer, attribute, None) for attribute, key in _OLDER.items()}
    with boundary("config", _name(scorer)):
        denominators = over if isinstance(over, Mapping) else dict.fromkeys(names, over)
        infos = infos_of_older_keys(names, {**keys, "over": {**dict.fromkeys(names, "scored"), **denominators}})
    if unknown := [name for name in infos if name not in names]:
        raise ConfigError(f"{_name(scorer)} gives no score {unknown[0]!r}{did_you_mean(str(unknown[0]), names)}")
    headline = getattr(scorer, "primary", "")
    return tuple(replace(info, headline=True) if name == headline else info for name, info in infos.items())


def _older_stage_info(part: Any) -> StageInfo:
    """The same for a target or scorer that was written for version 0.1."""
    return StageInfo(
        name=getattr(part, "score_name", ""),
        inline=bool(getattr(part, "inline", False)),
        mock_reply=getattr(part, "rehearsal", ""),
        mock_output=getattr(part, "stand_in", ""),
        compares_pairs=bool(getattr(part, "of_pairs", False)),
    )
