"""How uncertain judges are about each record of a run, to choose the records to label next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.run_data import RecordPlace
from steelyard.analysis.scores.score_columns import ScoreColumns
from steelyard.analysis.scores.score_infos import rated_thing, scores_rating
from steelyard.errors import ConfigError, did_you_mean
from steelyard.types import ScoreInfo


def judge_uncertainty(
    columns: ScoreColumns, infos: Mapping[str, ScoreInfo], scores: Sequence[str]
) -> tuple[str, dict[RecordPlace, float]]:
    """Record -> how uncertain its judges are, from 0 to 1, by the first score for which this is known.

    It is the mean of those of these two that are known, over all scores that rate the same thing:

        4 p (1 - p)        p: the share of judges whose verdict passes, where several judge
        1 - d / d_max      d: the distance of a rating from the threshold, d_max the largest one possible

    A reply that gave no verdict is 1.

    Args:
        columns: of a run.
        infos: what its scorers declared.
        scores: names of scores, or of what several judges rate, in the order in which they are tried; "" is ignored.

    Returns:
        The score, and the uncertainty of each of its records.

    Raises:
        ConfigError: there is no such score, or the uncertainty of none is known.
    """
    names = [name for name in dict.fromkeys(scores) if name]
    for name in names:
        if not scores_rating(name, infos, columns.scores):
            raise ConfigError(f"there is no score {name!r}{did_you_mean(name, columns.scores)}")
        if uncertainty := _uncertainty(columns, infos, rated_thing(infos.get(name), name)):
            return name, uncertainty
    raise ConfigError(
        f"the uncertainty of the judge of {' or '.join(names)} is not known: it needs a rating with a threshold, or "
        "several judges of one thing. Draw at random, or --stratified"
    )


def _uncertainty(columns: ScoreColumns, infos: Mapping[str, ScoreInfo], thing: str) -> dict[RecordPlace, float]:
    """Uncertainty over all scores that rate a thing; empty for a single judge with binary verdicts."""
    names = [name for name in columns.scores if rated_thing(infos.get(name), name) == thing]
    closeness: dict[RecordPlace, list[float]] = {}
    passed: dict[RecordPlace, list[bool]] = {}
    graded = False
    for name in names:
        info = infos.get(name)
        for record, value in JudgedScore.of(columns, name, info).verdicts.items():
            if value is None:
                closeness.setdefault(record, []).append(1.0)
            elif info is not None and info.threshold is not None:
                passed.setdefault(record, []).append(bool(info.passes(value)))
                if not _is_binary(info):
                    graded = True
                    closeness.setdefault(record, []).append(_closeness(value, info))
    if not graded and len(names) < 2:
        return {}
    return {record: _mean(passed.get(record, []), closeness.get(record, [])) for record in {**closeness, **passed}}


def _is_binary(info: ScoreInfo) -> bool:
    return info.range == (0.0, 1.0) and info.threshold in {0.0, 1.0}


def _closeness(value: float, info: ScoreInfo) -> float:
    """1 at the threshold, 0 at the end of the range that is further from it."""
    threshold = info.threshold or 0.0
    low, high = info.range or (min(value, threshold), max(value, threshold))
    # Of whole ratings with threshold 4, both 3 and 4 are next to the border.
    whole = value.is_integer() and float(threshold).is_integer()
    border = threshold + (0.5 if info.lower_is_better else -0.5) if whole and high - low > 1 else threshold
    furthest = max(high - border, border - low)
    return 1 - min(1.0, abs(value - border) / furthest) if furthest > 0 else 1.0


def _mean(passed: list[bool], close: list[float]) -> float:
    terms = [sum(close) / len(close)] if close else []
    if len(passed) > 1:
        share = sum(passed) / len(passed)
        terms.append(4 * share * (1 - share))
    return sum(terms) / len(terms) if terms else 0.0
