"""Stages and scores that the scorers of a suite declare, checked before the first call and stored in the manifest.

They are in the manifest so that a report on a stored run needs no scorer's code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, get_args

from steelyard.analysis.score_infos import plain_infos
from steelyard.errors import ConfigError, did_you_mean
from steelyard.registry import describe
from steelyard.runner import score_infos, stage_name
from steelyard.store.records import MOST_STAGES
from steelyard.suite.objects import Suite
from steelyard.types import Denominator, ScoreInfo, Scorer

_FLAGS: Final = ("lower_is_better", "histogram", "headline", "named_verdicts", "exam", "also_scored")


def scorer_stages(scorers: Iterable[Scorer]) -> dict[str, Scorer]:
    """Map the name of each scorer's stage to the scorer.

    Raises:
        ConfigError: two have the same name, or there are too many.
    """
    stages: dict[str, Scorer] = {}
    for scorer in scorers:
        name = stage_name(scorer)
        if name in stages or name == "target":
            raise ConfigError(f"there are two scorers named {name!r}: give one of the functions another name")
        stages[name] = scorer
    if len(stages) > MOST_STAGES:
        raise ConfigError(f"there are {len(stages)} scorers; a suite may have {MOST_STAGES}")
    return stages


def infos_of(stages: Mapping[str, Scorer]) -> list[ScoreInfo]:
    """The score infos that scorers declare, in order."""
    return [info for stage, scorer in stages.items() for info in score_infos(scorer, stage)]


def announced(stages: Mapping[str, Scorer]) -> list[str]:
    """The names of the scores that scorers, by their stages, declare."""
    return [info.name for info in infos_of(stages)]


def primary_of(stages: Mapping[str, Scorer]) -> str:
    """The score that headlines show where the suite names none: the first scorer's headline, else its first score."""
    first = next(iter(stages.items()), None)
    infos = score_infos(first[1], first[0]) if first else ()
    return next((info.name for info in (*(info for info in infos if info.headline), *infos)), "")


def headline_of(suite: Suite, stages: Mapping[str, Scorer]) -> str:
    """The score that headlines of one target's run show: the suite's, where that target has it."""
    return suite.primary if suite.primary in announced(stages) else primary_of(stages)


def scoring_manifest(stages: Mapping[str, Scorer]) -> dict[str, Any]:
    """The keys `scorers`, `scores` and `score_infos` of a manifest.

    Args:
        stages: scorers by their stages.
    """
    infos = infos_of(stages)
    return {
        "scorers": {stage: describe(scorer) for stage, scorer in stages.items()},
        "scores": [info.name for info in infos],
        "score_infos": plain_infos(infos),
    }


def shown_manifest(suite: Suite) -> dict[str, Any]:
    """The keys `crossed`, `breakdowns` and `jury` of a manifest, as far as the suite names any."""
    settings: dict[str, Any] = {"crossed": [list(pair) for pair in suite.crossed], "breakdowns": list(suite.breakdowns)}
    settings["jury"] = dict(suite.jury)
    return {key: value for key, value in settings.items() if value}


def check_infos(infos: Sequence[ScoreInfo]) -> None:
    """Refuse invalid score infos of the scorers of one target.

    Raises:
        ConfigError: which score, what was expected and what came.
    """
    for info in infos:
        _check_info(info)
    name, count = Counter(info.name for info in infos).most_common(1)[0] if infos else ("", 0)
    if count > 1:
        raise ConfigError(f"the scorers give two scores named {name!r}; a score's name occurs once")


def _check_info(info: ScoreInfo) -> None:
    if not isinstance(info.name, str) or not info.name:
        raise ConfigError(f"score_infos: a score has a name, not {info.name!r}")
    where = f"score {info.name!r}"
    if info.range is not None and not _is_range(info.range):
        raise ConfigError(f"{where}: range must be its lowest and highest value, such as (1, 5), not {info.range!r}")
    if info.threshold is not None:
        _check_threshold(where, info.threshold, info.range)
    if info.labels is not None and not _is_pair_of(str, info.labels):
        raise ConfigError(
            f"{where}: labels must be what 1 and 0 are called, such as ('right', 'wrong'), not {info.labels!r}"
        )
    if info.denominator not in get_args(Denominator):
        raise ConfigError(f"{where}: denominator must be 'all' or 'answered', not {info.denominator!r}")
    for flag in _FLAGS:
        if not isinstance(getattr(info, flag), bool):
            raise ConfigError(f"{where}: {flag} must be True or False, not {getattr(info, flag)!r}")


def _check_threshold(where: str, threshold: Any, ends: tuple[float, float] | None) -> None:
    if not _is_number(threshold):
        raise ConfigError(f"{where}: threshold must be a number, not {threshold!r}")
    if ends is not None and not ends[0] <= threshold <= ends[1]:
        raise ConfigError(f"{where}: the threshold {threshold:g} lies outside the range {ends[0]:g} to {ends[1]:g}")


def _is_range(ends: Any) -> bool:
    return _is_pair_of(object, ends) and all(map(_is_number, ends)) and ends[0] < ends[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_pair_of(kind: type, value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(side, kind) for side in value)


def check_shown(suite: Suite, scores: Sequence[str]) -> None:
    """Refuse an invalid headline, crossed scores or breakdowns.

    Args:
        suite: what is run.
        scores: every score that its scorers declare.

    Raises:
        ConfigError: what is wrong.
    """
    for pair in suite.crossed:
        _check_pair(pair, scores)
    if suite.primary and scores and suite.primary not in scores:
        raise ConfigError(f"primary: there is no score {suite.primary!r}{did_you_mean(suite.primary, scores)}")
    keys: Any = suite.breakdowns
    if isinstance(keys, str) or not all(isinstance(key, str) and key for key in keys):
        raise ConfigError(f"breakdowns takes a list of keys of the samples' metadata, not {keys!r}")


def _check_pair(pair: Any, scores: Sequence[str]) -> None:
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise ConfigError(f"crossed takes pairs of two different scores, not {pair!r}")
    for name in pair:
        if name not in scores:
            raise ConfigError(f"crossed: no scorer gives {name!r}{did_you_mean(str(name), scores)}")
