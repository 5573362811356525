"""What is looked at before the first call: every sample once, every target and scorer, every secret's name."""

from __future__ import annotations

import dataclasses
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from steelyard.errors import ConfigError, DataError, boundary, did_you_mean
from steelyard.registry import describe, name_of
from steelyard.runner import Step
from steelyard.sql.sandbox import Sandbox
from steelyard.store.records import MOST_STAGES, pack_sample
from steelyard.suite.judged import check_judged, judged_manifest
from steelyard.suite.objects import Suite
from steelyard.text.plain_json import check_plain
from steelyard.types import Sample, Scorer

_MOST_DEFECTS: Final = 20


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over the samples showed: how many there are, and a digest of all of them in order."""

    n: int
    digest: str


def survey(samples: Iterable[Sample]) -> Survey:
    """Read every sample once.

    Raises:
        DataError: an id occurs twice, something is no Sample, or there is none at all.
    """
    ids: set[int] = set()
    defects: list[str] = []
    digest = blake2b(digest_size=16)
    n = 0
    for n, sample in enumerate(samples, start=1):
        with boundary("data", f"sample {n}"):
            _check_sample(sample)
            packed = pack_sample(sample)[0]
        # 8 bytes of a hash stand for the id: a set of 100,000 texts would double the memory of a run.
        key = int.from_bytes(blake2b(sample.id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        if key in ids and len(defects) < _MOST_DEFECTS:
            defects.append(f"sample {n} has the id {sample.id!r} of an earlier one")
        ids.add(key)
        digest.update(packed.to_bytes(8, "big", signed=True))
    if defects:
        raise DataError("ids of samples must be unique", defects)
    if not n:
        raise DataError("there are no samples to run")
    return Survey(n, digest.hexdigest())


def _check_sample(sample: Any) -> None:
    """Refuse what would be stored as something else or not at all.

    Raises:
        TypeError: which field, and what it holds.
    """
    if not isinstance(sample, Sample):
        raise TypeError(f"a {type(sample).__name__} is no Sample")
    for name in ("id", "group", "cluster"):
        text = getattr(sample, name)
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text, not {text!r}")
        if not text.isascii():
            text.encode()
    for name in ("choices", "contexts"):
        texts = getattr(sample, name)
        if not isinstance(texts, tuple | list) or not all(isinstance(one, str) for one in texts):
            raise TypeError(f"{name} must be a tuple of texts, not {texts!r:.80}")
    check_plain(sample.input)
    check_plain(sample.reference)
    if not isinstance(sample.metadata, Mapping):
        raise TypeError(f"metadata must be a mapping, not {sample.metadata!r:.80}")


def check_suite(suite: Suite) -> None:
    """Look at everything but the samples before anything is sent or stored.

    Raises:
        ConfigError: what is wrong.
    """
    if not suite.targets:
        raise ConfigError("there are no targets to run")
    suite.options.check()
    for name, target in suite.targets.items():
        if not isinstance(name, str) or not name.isprintable() or not name:
            raise ConfigError(f"a target's name is a printable text, not {name!r}")
        check_parts(target)
        Step.of("target", target)
    check_sides(suite)
    check_judged(suite, [score for scorers in _scorer_sets(suite) for score in _checked_scores(scorers)])
    check_stop(suite)


def _scorer_sets(suite: Suite) -> list[tuple[Scorer, ...]]:
    """The scorers of all targets, and those that single targets have in their place."""
    return [suite.scorers, *suite.scorers_of.values()]


def _checked_scores(scorers: Iterable[Scorer]) -> list[str]:
    """The scores that these scorers announce.

    Raises:
        ConfigError: what is wrong with one of them.
    """
    stages = scorer_stages(scorers)
    for name, scorer in stages.items():
        try:
            check_parts(scorer)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error.message}", error.place) from error
        Step.of(name, scorer)
    return announced(stages)


def announced(stages: Mapping[str, Scorer]) -> list[str]:
    """The scores that scorers announce, by their stages."""
    return [score for stage, scorer in stages.items() for score in scores_of(scorer, stage)]


def check_sides(suite: Suite) -> None:
    """Refuse a pair whose sides would answer after it.

    Raises:
        ConfigError: which one.
    """
    names = list(suite.targets)
    for name, pair in suite.pairs.items():
        for side in pair.sides:
            if side in names[names.index(name) :]:
                raise ConfigError(f"{name} is of {side}, which must stand before it among the targets")


def check_stop(suite: Suite) -> None:
    """Refuse a stopping rule that has nothing to decide.

    Raises:
        ConfigError: a score that no scorer gives, or a single target without a threshold.
    """
    rule = suite.options.stop_when_decided
    if not rule.question:
        return
    for name in suite.pairs or suite.targets:
        scores = announced(scorer_stages(suite.scorers_for(name)))
        if not scores:
            raise ConfigError(f"stop_when_decided: {name} has no scorer, so nothing can be decided")
        if rule.score and rule.score not in scores:
            raise ConfigError(f"stop_when_decided: no scorer gives {rule.score!r}{did_you_mean(rule.score, scores)}")
    if rule.threshold is None and not suite.pairs and len(suite.targets) < 2:
        raise ConfigError(
            "stop_when_decided: with a single target there is nothing to compare: name a threshold, such as "
            "{question: full, threshold: 0.8}"
        )


def check_parts(value: Any) -> None:
    """Run `check()` of a target or scorer and of everything inside it.

    Raises:
        ConfigError: what is wrong.
    """
    if hasattr(value, "check"):
        with boundary("config", type(value).__name__):
            value.check()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for one in dataclasses.fields(value):
            check_parts(getattr(value, one.name))


def prepare(parts: Iterable[Any], sandbox: Sandbox) -> None:
    """Let whatever runs SQL look at its engine and databases, before anything is asked.

    Raises:
        ConfigError: what cannot be run.
    """
    for part in parts:
        if hasattr(part, "prepare"):
            with boundary("config", type(part).__name__):
                part.prepare(sandbox)


def scorer_stages(scorers: Iterable[Scorer]) -> dict[str, Scorer]:
    """Each scorer under a name of its own: its score's name, its registered one, or the function's.

    Raises:
        ConfigError: two have the same name, or there are too many.
    """
    stages: dict[str, Scorer] = {}
    for scorer in scorers:
        name = _name_of(scorer)
        if name in stages or name == "target":
            raise ConfigError(f"there are two scorers named {name!r}: give one of the functions another name")
        stages[name] = scorer
    if len(stages) > MOST_STAGES:
        raise ConfigError(f"there are {len(stages)} scorers; a suite may have {MOST_STAGES}")
    return stages


def manifests(suite: Suite, seen: Survey, *, draw: str, config: Mapping[str, Any] | None) -> Iterator[tuple[str, Any]]:
    """(target's name, manifest of its run) for every target of the suite.

    Args:
        suite: what is run.
        seen: its samples.
        draw: "" unless a fresh draw is taken.
        config: the configuration as written, with `path` and `plain`; None where there was none.
    """
    for name, target in suite.targets.items():
        stages = scorer_stages(suite.scorers_for(name))
        scoring = scoring_manifest(stages)
        yield (
            name,
            {
                "steelyard": sys.modules["steelyard"].__version__,
                "python": platform.python_version(),
                "samples": {"n": seen.n, "digest": seen.digest, "source": describe(suite.source)},
                "target": describe(target),
                **scoring,
                "options": describe(suite.options),
                "draw": draw,
                "tags": {key: str(value) for key, value in suite.tags.get(name, {}).items()},
                "stages": ["target", *stages],
                "primary": headline_of(suite, stages),
                "gate": dict(suite.gate),
                "notes": list(suite.notes),
                **judged_manifest(suite, suite.scorers_for(name)),
                "config": config,
            },
        )


def scoring_manifest(stages: Mapping[str, Scorer]) -> dict[str, Any]:
    """The keys `scorers`, `scores`, `over` and `labelled` of a manifest.

    Args:
        stages: scorers by their names.
    """
    given = {stage: scores_of(scorer, stage) for stage, scorer in stages.items()}
    return {
        "scorers": {stage: describe(scorer) for stage, scorer in stages.items()},
        "scores": [score for several in given.values() for score in several],
        "over": {score: _over(stages[stage], score) for stage, several in given.items() for score in several},
        "labelled": [score for scorer in stages.values() for score in getattr(scorer, "labelled", ())],
    }


_DECIDES: Final = (
    *("samples.digest", "target", "scorers", "options.seed", "options.repeats", "options.stop_when_decided"),
)
"""What must be equal for a run to go on; concurrency, budgets and limits may change."""


def changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys, dotted, in which two manifests differ so that their records do not belong together."""
    before, after = dict(_flat(old)), dict(_flat(new))
    keys = sorted({*before, *after})
    return [
        key
        for key in keys
        if before.get(key) != after.get(key) and any(key == one or key.startswith(f"{one}.") for one in _DECIDES)
    ]


def _flat(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, one in value.items():
            yield from _flat(one, f"{at}.{key}" if at else str(key))
    else:
        yield at, value


def scores_of(scorer: Any, stage: str) -> tuple[str, ...]:
    """The scores that a scorer announces: by default one, called like its stage."""
    return tuple(getattr(scorer, "score_names", ())) or (getattr(scorer, "score_name", stage),)


def primary_of(stages: Mapping[str, Any], scores: Sequence[str]) -> str:
    """The score that headlines show where the suite names none: what the first scorer says, else its first."""
    first = next(iter(stages.values()), None)
    return getattr(first, "primary", "") or (scores[0] if scores else "")


def headline_of(suite: Suite, stages: Mapping[str, Any]) -> str:
    """The score that headlines of one target's run show: the suite's, where that target has it."""
    scores = announced(stages)
    return suite.primary if suite.primary in scores else primary_of(stages, scores)


def _over(scorer: Any, score: str) -> str:
    """What a score's headline is over: the scorer's `over`, which may say it for each score."""
    over = getattr(scorer, "over", "scored")
    found: str = over.get(score, "scored") if isinstance(over, Mapping) else over
    return found


def _name_of(scorer: Any) -> str:
    given = getattr(scorer, "score_name", "") or name_of("scorer", type(scorer))
    return given or str(getattr(scorer, "__name__", "") or type(scorer).__name__)
