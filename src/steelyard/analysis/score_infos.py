"""Reads the `ScoreInfo` of each score from a run's manifest, also from manifests that version 0.1 wrote.

A manifest has them under `score_infos`, name -> what the scorer declared. Version 0.1 wrote a key for each aspect
(`over`, `scales`, `spreads`, `words`, `labelled`, `exam`, `beside`) and knew neither direction nor threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from steelyard.types import Denominator, Label, ScoreInfo

if TYPE_CHECKING:
    from steelyard.analysis.summary_values import Over

KEY: Final = "score_infos"
_ALWAYS: Final = frozenset({"range", "lower_is_better", "denominator"})
"""Written whatever they are; the other fields where they differ from their defaults."""
_PAIRS: Final = frozenset({"range", "labels"})


def score_infos(manifest: Mapping[str, Any]) -> dict[str, ScoreInfo]:
    """Score -> what its scorer declared, in the order of the scorers; undeclared scores are left out.

    Args:
        manifest: of a run or of a baseline file, of this version or of version 0.1.

    >>> score_infos({"scores": ["rating"], "score_infos": {"rating": {"range": [1.0, 5.0]}}})["rating"].range
    (1.0, 5.0)
    >>> score_infos({"scores": ["rating"], "over": {"rating": "scored"}, "scales": {"rating": [1, 5]}})["rating"].range
    (1.0, 5.0)
    """
    names: Sequence[str] = manifest.get("scores") or ()
    written = manifest.get(KEY)
    if written is None:
        return infos_of_older_keys(names, manifest)
    return {name: _read(name, written[name]) for name in dict.fromkeys((*names, *written)) if name in written}


def plain_infos(infos: Iterable[ScoreInfo]) -> dict[str, dict[str, Any]]:
    """Name -> the rest of a score's info as plain JSON, as `score_infos` reads it."""
    return {info.name: _plain(info) for info in infos}


def infos_of_older_keys(names: Iterable[str], keys: Mapping[str, Any]) -> dict[str, ScoreInfo]:
    """Score infos from the keys of version 0.1; a score that `over` does not name has all replies as denominator.

    Args:
        names: the scores, in order; those that only a key names come behind them.
        keys: `over` and the others, as far as there are any.
    """
    over, scales, words = (keys.get(key) or {} for key in ("over", "scales", "words"))
    flags = {flag: keys.get(key) or () for flag, key in _OLDER_FLAGS.items()}
    known = dict.fromkeys((*names, *over, *scales, *words, *(name for several in flags.values() for name in several)))
    infos: dict[str, ScoreInfo] = {}
    for name in filter(None, known):
        declared: dict[str, Any] = {flag: name in several for flag, several in flags.items()}
        denominator: Denominator = "answered" if over.get(name, "all") == "scored" else "all"
        infos[name] = ScoreInfo(
            name, _pair(scales.get(name)), labels=_pair(words.get(name)), denominator=denominator, **declared
        )
    return infos


_OLDER_FLAGS: Final[Mapping[str, str]] = {
    "histogram": "spreads",
    "named_verdicts": "labelled",
    "exam": "exam",
    "also_scored": "beside",
}


def over_of(info: ScoreInfo | None) -> Over:
    """A score's denominator as summaries name it; all replies where the scorer declared nothing."""
    return "scored" if info is not None and info.denominator == "answered" else "all"


def range_of(info: ScoreInfo | None) -> tuple[float, float]:
    """A score's lowest and highest value; 0 and 1 where its scorer does not say."""
    return (0.0, 1.0) if info is None or info.range is None else info.range


def names_where(infos: Mapping[str, ScoreInfo], holds: Callable[[ScoreInfo], bool]) -> tuple[str, ...]:
    """The names of the scores whose info satisfies `holds`, in order.

    >>> names_where({"rating": ScoreInfo("rating", histogram=True)}, lambda info: info.histogram)
    ('rating',)
    """
    return tuple(name for name, info in infos.items() if holds(info))


def rated_thing(info: ScoreInfo | None, score: str) -> str:
    """What a score rates: other scores, and labels, that rate the same thing can agree with it."""
    return info.rates if info and info.rates else score


def has_several_raters(scores: Iterable[str], infos: Mapping[str, ScoreInfo], labels: Iterable[Label]) -> bool:
    """Whether anything was rated by two or more, so that `rater_agreement.agreements` has something to tell."""
    rated = [rated_thing(infos.get(score), score) for score in scores]
    # Somebody's labels of one name agree with nobody; a score of that name, or another author, may be there.
    return len(set(rated)) < len(rated) or any(True for _ in labels)


def _plain(info: ScoreInfo) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for field in fields(info):
        value = getattr(info, field.name)
        if field.name in _ALWAYS or (field.name != "name" and value != field.default):
            plain[field.name] = _as_json(value)
    return plain


def _as_json(value: Any) -> Any:
    """Pairs as lists, numbers as floats: an equal declaration is written alike."""
    if isinstance(value, tuple | list):
        return [_as_json(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read(name: str, written: Mapping[str, Any]) -> ScoreInfo:
    """Keys that this version does not know are left out: a later one may have written them."""
    known = {field.name for field in fields(ScoreInfo)} - {"name"}
    given = {key: _pair(value) if key in _PAIRS else value for key, value in written.items() if key in known}
    return ScoreInfo(name, **given)


def _pair(value: Any) -> Any:
    return None if value is None else tuple(float(item) if isinstance(item, int) else item for item in value)
