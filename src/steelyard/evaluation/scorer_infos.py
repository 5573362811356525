"""Stages and scores that the scorers of a suite declare, checked before the first call and stored in the manifest.

They are in the manifest so that a report on a stored run needs no scorer's code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, get_args

from steelyard.analysis.judges.rater_findings_values import JuryVote
from steelyard.analysis.scores.score_infos import JURY, jury_scores, plain_infos, rated_thing
from steelyard.errors import ConfigError, did_you_mean
from steelyard.evaluation.objects import Suite
from steelyard.registry import describe
from steelyard.runner import judge_name, score_infos, stage_name
from steelyard.scorers.judges.judge import judge_of
from steelyard.store.database.schema import MOST_STAGES
from steelyard.types import Denominator, ScoreInfo, Scorer

_FLAGS: Final = (
    *("lower_is_better", "histogram", "headline", "named_verdicts"),
    *("exam", "also_scored", "per_turn", "unbounded"),
)


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


def prompt_hints(scorers: Iterable[Scorer]) -> Iterator[str]:
    """Hints on the user's own prompts of judges that begin or end with a sample's text.

    Args:
        scorers: all of a suite; a hint occurs once, however many targets share the scorer.
    """
    for scorer in scorers:
        prompts = getattr(scorer, "prompts", {}) if judge_of(scorer) is not None else {}
        for prompt in prompts.values():
            if name := prompt.varies_early():
                yield (
                    f"{stage_name(scorer)}: its prompt begins with {{{{{name}}}}}; with the instructions first, an "
                    "endpoint that caches prompts need not read them again for every sample"
                )
            if name := prompt.ends_with():
                yield (
                    f"{stage_name(scorer)}: its prompt ends with {{{{{name}}}}}, so text written by others has the "
                    "last word; an instruction behind it makes it harder to mislead the judge"
                )


def infos_of(stages: Mapping[str, Scorer]) -> list[ScoreInfo]:
    """The score infos that scorers declare, in order."""
    return [info for stage, scorer in stages.items() for info in score_infos(scorer, stage)]


def announced(stages: Mapping[str, Scorer]) -> list[str]:
    """The names of the scores that scorers, by their stages, declare."""
    return [info.name for info in infos_of(stages)]


def primary_of(stages: Mapping[str, Scorer]) -> str:
    """The headline score where the suite names none: the headline of the first scorer, else its first score."""
    first_stage = next(iter(stages.items()), None)
    infos = score_infos(first_stage[1], first_stage[0]) if first_stage else ()
    return next((info.name for info in (*(info for info in infos if info.headline), *infos)), "")


def headline_of(suite: Suite, stages: Mapping[str, Scorer]) -> str:
    """The headline score of one target's run: the suite's, where that target has it."""
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
        raise ConfigError(f"the scorers give two scores named {name!r}; a score's name occurs once: give one a `name`")


def _check_info(info: ScoreInfo) -> None:
    if not isinstance(info.name, str) or not info.name:
        raise ConfigError(f"score_infos: a score has a name, not {info.name!r}")
    where = f"score {info.name!r}"
    if info.range is not None:
        _check_range(where, info)
    if info.threshold is not None:
        _check_threshold(where, info.threshold, info.range)
    if info.labels is not None and not _is_pair_of(str, info.labels):
        raise ConfigError(
            f"{where}: labels must be the names of 1 and 0, such as ('right', 'wrong'), not {info.labels!r}"
        )
    if info.denominator not in get_args(Denominator):
        raise ConfigError(f"{where}: denominator must be 'all' or 'answered', not {info.denominator!r}")
    for flag in _FLAGS:
        if not isinstance(getattr(info, flag), bool):
            raise ConfigError(f"{where}: {flag} must be True or False, not {getattr(info, flag)!r}")


def _check_range(where: str, info: ScoreInfo) -> None:
    if not _is_range(info.range):
        raise ConfigError(f"{where}: range must be its lowest and highest value, such as (1, 5), not {info.range!r}")
    if info.unbounded:
        raise ConfigError(f"{where}: a score that is unbounded has no range, but got {info.range!r}")


def _check_threshold(where: str, threshold: Any, ends: tuple[float, float] | None) -> None:
    if not _is_number(threshold):
        raise ConfigError(f"{where}: threshold must be a number, not {threshold!r}")
    if ends is not None and not ends[0] <= threshold <= ends[1]:
        raise ConfigError(f"{where}: the threshold {threshold:g} is outside the range {ends[0]:g} to {ends[1]:g}")


def _is_range(ends: Any) -> bool:
    return _is_pair_of(object, ends) and all(map(_is_number, ends)) and ends[0] < ends[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_pair_of(kind: type, value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(side, kind) for side in value)


def check_shown(suite: Suite, scores: Sequence[str]) -> None:
    """Refuse an invalid headline, crossed scores, breakdowns, or a jury without members.

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
    _check_jury(suite)


def jury_scores_of(suite: Suite) -> list[str]:
    """The scores of the suite's jury; none where the suite has no voting rule."""
    if not suite.jury.get("vote"):
        return []
    return list(dict.fromkeys(name for scorers in suite.scorer_sets for name in _jury_scores(scorers)))


def turn_scores_of(suite: Suite) -> set[str]:
    """The scores of single turns, which have a rate for each turn in addition to those of the samples' groups."""
    return {info.name for info in _all_infos(suite) if info.per_turn}


def scores_of_judges(suite: Suite, thing: str) -> list[str]:
    """The scores of several judges that rate one thing, in order; empty where there are not several."""
    infos = {info.name: info for info in _all_infos(suite)}
    rating = [name for name, info in infos.items() if rated_thing(info, name) == thing]
    return rating if len(rating) > 1 else []


def _all_infos(suite: Suite) -> list[ScoreInfo]:
    return [info for scorers in suite.scorer_sets for info in infos_of(scorer_stages(scorers))]


def _jury_scores(scorers: Iterable[Scorer]) -> list[str]:
    stages = scorer_stages(scorers)
    infos = {info.name: info for info in infos_of(stages)}
    judges = dict.fromkeys(filter(None, map(judge_name, stages.values())))
    return jury_scores(infos, infos, judges)


def _check_jury(suite: Suite) -> None:
    vote = suite.jury.get("vote", "")
    if not vote:
        return
    if vote not in get_args(JuryVote):
        raise ConfigError(f"jury: expected {', '.join(get_args(JuryVote))}, not {vote!r}")
    if any(judge_name(scorer) == JURY for scorer in suite.all_scorers):
        raise ConfigError(f"jury: a judge is named {JURY!r}, which is the name of the jury; rename the judge")
    if not jury_scores_of(suite):
        raise ConfigError(
            "jury: needs two judges or more that rate the same thing; name them under judges, or give the "
            "judges of two scorers names"
        )


def _check_pair(pair: Any, scores: Sequence[str]) -> None:
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise ConfigError(f"crossed takes pairs of two different scores, not {pair!r}")
    for name in pair:
        if name not in scores:
            raise ConfigError(f"crossed: no scorer gives {name!r}{did_you_mean(str(name), scores)}")
