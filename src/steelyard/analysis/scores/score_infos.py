"""What scores mean and what they rate, as manifests have their `ScoreInfo`; the mean of a score while a run runs.

A manifest has them under `score_infos`, name -> what the scorer declared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from steelyard.analysis.scores.score_summary_values import Over
from steelyard.types import Outcome, ScoreInfo

KEY: Final = "score_infos"
_ALWAYS: Final = frozenset({"range", "lower_is_better", "denominator"})
"""Fields that are always written; the others are where they differ from their defaults."""
_PAIRS: Final = frozenset({"range", "labels", "classes"})
_KINDS: Final[Mapping[str, Any]] = {"range": float, "labels": str, "classes": str, "threshold": float | int}
JURY: Final = "jury"
"""The name of a jury among its members, and the ending of the name of its score."""


def score_infos(manifest: Mapping[str, Any]) -> dict[str, ScoreInfo]:
    """Score -> what its scorer declared, in the order of the scorers; undeclared scores are left out.

    Args:
        manifest: of a run or of a baseline file.

    >>> score_infos({"scores": ["rating"], "score_infos": {"rating": {"range": [1.0, 5.0]}}})["rating"].range
    (1.0, 5.0)
    """
    names: Sequence[str] = manifest.get("scores") or ()
    written = manifest.get(KEY) or {}
    return {name: _read(name, written[name]) for name in dict.fromkeys((*names, *written)) if name in written}


def plain_infos(infos: Iterable[ScoreInfo]) -> dict[str, dict[str, Any]]:
    """Score -> the other fields of its info as plain JSON, as `score_infos` reads them."""
    return {info.name: _plain(info) for info in infos}


def levels_in(manifest: Mapping[str, Any]) -> Sequence[str]:
    """The names of the levels of a run's groups, the coarsest first; empty where nobody named any.

    >>> levels_in({"samples": {"source": {"group_by": ["category", "subject"]}}}), levels_in({})
    (('category', 'subject'), ())
    """
    samples = manifest.get("samples")
    source = samples.get("source") if isinstance(samples, Mapping) else None
    levels = source.get("group_by", ()) if isinstance(source, Mapping) else ()
    return (levels,) if isinstance(levels, str) and levels else tuple(levels)


def over_of(info: ScoreInfo | None) -> Over:
    """A score's denominator as summaries name it; all replies where the scorer declared nothing."""
    return "scored" if info is not None and info.denominator == "answered" else "all"


def range_of(info: ScoreInfo | None) -> tuple[float, float]:
    """A score's lowest and highest value; 0 and 1 where its scorer does not say."""
    return (0.0, 1.0) if info is None or info.range is None else info.range


def parts_right_from_wrong(threshold: float | None, *, lower_is_better: bool) -> bool:
    """Whether of 0 and 1 exactly one passes; without a threshold 1 does, or 0 where lower is better."""
    if threshold is None:
        return True
    return 0 <= threshold < 1 if lower_is_better else 0 < threshold <= 1


def names_where(infos: Mapping[str, ScoreInfo], holds: Callable[[ScoreInfo], bool]) -> tuple[str, ...]:
    """The names of the scores whose info satisfies `holds`, in order.

    >>> names_where({"rating": ScoreInfo("rating", histogram=True)}, lambda info: info.histogram)
    ('rating',)
    """
    return tuple(name for name, info in infos.items() if holds(info))


def rated_thing(info: ScoreInfo | None, score: str) -> str:
    """What a score rates: other scores, and labels, that rate the same thing can agree with it."""
    return info.rates if info and info.rates else score


def scores_rating(thing: str, infos: Mapping[str, ScoreInfo], scores: Collection[str] | None = None) -> list[str]:
    """The scores meant by a name: the one of that name, else all that rate what has that name, in order.

    Args:
        thing: a score, or what several judges rate.
        infos: what the scorers declared.
        scores: the names to choose from; None is those of `infos`.

    >>> rated = {name: ScoreInfo(name, rates="correct") for name in ("correct_a", "correct_b")}
    >>> scores_rating("correct", rated), scores_rating("correct_b", rated)
    (['correct_a', 'correct_b'], ['correct_b'])
    """
    known = infos if scores is None else scores
    return [thing] if thing in known else [name for name in known if rated_thing(infos.get(name), name) == thing]


def judged_things(
    scores: Iterable[str], infos: Mapping[str, ScoreInfo], judges: Collection[str]
) -> dict[str, dict[str, str]]:
    """What judges with names rate: thing -> judge -> its score, in the order of the judges.

    Args:
        scores: names of scores.
        infos: what their scorers declared.
        judges: names of judges; each ends the names of its scores.

    >>> rated = {name: ScoreInfo(name, rates="correct") for name in ("correct_a", "correct_b")}
    >>> judged_things(["token_f1", *rated], rated, ["b", "a"])
    {'correct': {'b': 'correct_b', 'a': 'correct_a'}}
    """
    things: dict[str, dict[str, str]] = {}
    for score in scores:
        thing = rated_thing(infos.get(score), score)
        judge = score.removeprefix(f"{thing}_")
        if judge in judges and judge != score:
            things.setdefault(thing, {})[judge] = score
    return {
        thing: {judge: by_judge[judge] for judge in judges if judge in by_judge} for thing, by_judge in things.items()
    }


def jury_score(thing: str) -> str:
    """The name of a jury's score: `correct_jury`."""
    return f"{thing}_{JURY}"


def jury_scores(scores: Iterable[str], infos: Mapping[str, ScoreInfo], judges: Collection[str]) -> list[str]:
    """The names of the scores of a jury: one for each thing that two judges or more rate; see `judged_things`."""
    return [jury_score(thing) for thing, by_judge in judged_things(scores, infos, judges).items() if len(by_judge) > 1]


def _plain(info: ScoreInfo) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for field in fields(info):
        value = getattr(info, field.name)
        if field.name in _ALWAYS or (field.name != "name" and value != field.default):
            plain[field.name] = _as_json(value)
    return plain


def _as_json(value: Any) -> Any:
    """Pairs as lists, numbers as floats, so that equal declarations are written equally."""
    if isinstance(value, tuple | list):
        return [_as_json(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read(name: str, written: Mapping[str, Any]) -> ScoreInfo:
    """Read the info of a score. Unknown keys are left out: a later version may have written them.

    Raises:
        TypeError: a value is none that a scorer may declare.
    """
    defaults = {field.name: field.default for field in fields(ScoreInfo) if field.name != "name"}
    declared = {key: _pair(value) if key in _PAIRS else value for key, value in written.items() if key in defaults}
    for key, value in declared.items():
        parts, kind = value if key in _PAIRS else (value,), _KINDS.get(key) or type(defaults[key])
        is_declared = value is None or (all(isinstance(part, kind) for part in parts) and _is_pair(key, parts))
        if not is_declared:
            raise TypeError(f"{key} of score {name!r} is {value!r:.80}")
    return ScoreInfo(name, **declared)


def _is_pair(key: str, parts: Sequence[Any]) -> bool:
    return key not in {"range", "labels"} or len(parts) == 2


def _pair(value: Any) -> Any:
    return None if value is None else tuple(float(item) if isinstance(item, int) else item for item in value)


_UNIT = (0.0, 1.0)


@dataclass(slots=True)
class RunningScore:
    """Counts and the sum of one score's values; no interval, as looking at it repeatedly would invalidate it.

    Args:
        scored: records with a value, and so on for `not_applicable`, `unparsed` and `refused`.
        off_unit: values outside [0, 1].
        total: sum of the values.
    """

    scored: int = 0
    not_applicable: int = 0
    unparsed: int = 0
    refused: int = 0
    off_unit: int = 0
    total: float = 0.0

    def add(self, outcome: Outcome, value: float | None, times: int = 1) -> None:
        """Count a score `times` times; -1 takes it away again."""
        setattr(self, outcome, getattr(self, outcome) + times)
        if value is not None:
            self.off_unit += times * (not 0 <= value <= 1)
            self.total += times * value

    def mean(self, info: ScoreInfo | None) -> float | None:
        """The headline of a summary over the same records; None where no record counts.

        >>> running = RunningScore(scored=2, unparsed=2, total=2.0)
        >>> running.mean(None), running.mean(ScoreInfo("rating", (1.0, 5.0)))
        (0.5, 1.0)
        """
        n = self.scored + (self.unparsed + self.refused if over_of(info) == "all" else 0)
        return self.total / n if n else None

    def is_share(self, info: ScoreInfo | None) -> bool:
        """Whether the mean is shown in percent."""
        unbounded = info is not None and info.unbounded
        return range_of(info) == _UNIT and not unbounded and not self.off_unit


def headline_score(manifest: Mapping[str, Any]) -> str:
    """The score that headlines of a run show; "" where its scorers announce none.

    >>> headline_score({"scores": ["length", "right"], "primary": "right"}), headline_score({"scores": []})
    ('right', '')
    """
    return manifest.get("primary") or next(filter(None, manifest.get("scores") or ()), "")
