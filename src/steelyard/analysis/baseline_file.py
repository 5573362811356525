"""A run's scores in a file that is kept with the code: the baseline that later runs are compared with.

One JSON document with a line per key and a line per sample, in the order of the dataset, so that a new baseline shows
in a diff as the samples that changed and nothing more. It holds no question, answer or reply.

    {
    "format": "steelyard baseline 1",
    "run": "k3x9ab",
    "target": "glm-4",
    ...
    "samples": [
    {"id":"fr","hash":"8a0f...","group":"capitals","scores":{"solve_rate":1}},
    {"id":"it","hash":"03c1...","group":"capitals","scores":{"solve_rate":["unparsed",0]}}
    ]
    }

A score of a sample is a number, or the outcome of what has none; a list where the sample was asked repeatedly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

from steelyard.analysis.run_protocols import StoredScores
from steelyard.analysis.score_columns import RowOutcome, ScoreRow
from steelyard.analysis.score_infos import score_infos
from steelyard.analysis.summary import summarize
from steelyard.analysis.summary_values import RunSummary
from steelyard.errors import ConfigError

FORMAT: Final = "steelyard baseline 1"
SUFFIX: Final = ".json"

_MANIFEST: Final = (
    "steelyard", "samples", "target", "scorers", "scores", "score_infos", "over", "scales", "primary", "tags",
)  # fmt: skip
"""What is kept of a manifest: by which data, target and scorers the values came about. A run that version 0.1 stored
has `over` and `scales` in place of `score_infos`."""
_COUNTS: Final = ("planned", "done", "errors")
_TEXTS: Final = ("run", "suite", "target", "state", "created")
_OUTCOMES: Final = frozenset(get_args(RowOutcome)) - {"scored"}
_MOST_BYTES: Final = 500_000_000

Value = float | RowOutcome
"""A score's value, or the outcome of what has none."""


@dataclass(frozen=True, slots=True)
class BaselineSample:
    """What a baseline holds of one sample.

    Args:
        id: of the sample.
        hash: of its content.
        group: it is of; likewise `cluster`.
        scores: score -> its value in each repeat; None where a repeat has none.
    """

    id: str
    hash: str
    group: str
    cluster: str
    scores: Mapping[str, tuple[Value | None, ...]]


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A baseline as `compare` takes it: in place of the run that it was made of.

    Args:
        id: of that run.
        suite: its title.
        target: its target.
        state: how far it came; `created` when it was started, ISO 8601.
        manifest: what is kept of the run's manifest.
        counts: records `planned` and `done`, and `errors`.
        samples: in the order of the dataset.
    """

    id: str
    suite: str
    target: str
    state: Any
    created: str
    manifest: Mapping[str, Any]
    counts: Mapping[str, int]
    samples: tuple[BaselineSample, ...]

    @property
    def tags(self) -> Mapping[str, str]:
        """The target's report columns."""
        return self.manifest.get("tags") or {}

    def summary(self) -> RunSummary:
        """Means, intervals and counts, computed from the scores; calls and costs are not in the file."""
        scores, groups = summarize(self.score_rows(), infos=score_infos(self.manifest))
        order = {name: place for place, name in enumerate(self.manifest.get("scores") or ())}
        scores = tuple(sorted(scores, key=lambda score: order.get(score.name, len(order))))
        return RunSummary(
            run=self.id,
            suite=self.suite,
            target=self.target,
            tags=self.tags,
            state=self.state,
            planned=self.counts["planned"],
            done=self.counts["done"],
            errors=self.counts["errors"],
            from_journal=0,
            input_tokens=0,
            output_tokens=0,
            seconds=0.0,
            created=self.created,
            scores=scores,
            groups=groups,
            primary=self.manifest.get("primary") or (scores[0].name if scores else ""),
        )

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score of every sample and repeat."""
        for sample in self.samples:
            repeats = max(map(len, sample.scores.values()), default=0)
            for repeat in range(repeats):
                for name, values in sample.scores.items():
                    value = values[repeat] if repeat < len(values) else None
                    if value is not None:
                        yield _row(sample, repeat, name, value)

    def sample_hashes(self) -> Mapping[str, str]:
        """Sample id -> hash of its content."""
        return {sample.id: sample.hash for sample in self.samples}

    def reply_keys(self) -> Mapping[str, AbstractSet[str]]:
        """Nothing: a baseline keeps no replies, so none is known to be shared."""
        return {}


def _row(sample: BaselineSample, repeat: int, name: str, value: Value) -> ScoreRow:
    if isinstance(value, str):
        return ScoreRow(sample.id, sample.group, sample.cluster, repeat, name, value, None)
    return ScoreRow(sample.id, sample.group, sample.cluster, repeat, name, "scored", value)


def baseline_text(run: StoredScores) -> str:
    """The file for a run.

    Raises:
        ConfigError: the run is not finished, or has no scores.
    """
    summary = run.summary()
    name = f"run {summary.run} ({summary.target})"
    if summary.state != "finished":
        counts = f"{summary.done} of {summary.planned} records are done"
        raise ConfigError(f"{name} is {summary.state}, {counts}: no baseline is made of it")
    if summary.stopped_early:
        raise ConfigError(f"{name} was stopped early, on a part of its samples: no baseline is made of it")
    if not summary.scores:
        raise ConfigError(f"{name} has no scores, so there is nothing to keep")
    head: dict[str, Any] = {"format": FORMAT, **{name: getattr(summary, name) for name in (*_TEXTS, *_COUNTS)}}
    head |= {"manifest": {key: run.manifest[key] for key in _MANIFEST if key in run.manifest}}
    lines = [f"{json.dumps(key)}: {_compact(value)}," for key, value in head.items()]
    samples = [_compact(one) for one in _sample_lines(run)]
    return "\n".join(["{", *lines, '"samples": [', ",\n".join(samples), "]", "}", ""])


def _sample_lines(run: StoredScores) -> Iterator[dict[str, Any]]:
    hashes = run.sample_hashes()
    known: dict[str, tuple[ScoreRow, dict[str, dict[int, Any]]]] = {}
    for row in run.score_rows():
        _, scores = known.setdefault(row.sample, (row, {}))
        value = row.outcome if row.value is None else _number(row.value)
        scores.setdefault(row.name, {})[row.repeat] = value
    for ident, (row, scores) in known.items():
        repeats = 1 + max(repeat for values in scores.values() for repeat in values)
        listed = {name: [values.get(at) for at in range(repeats)] for name, values in sorted(scores.items())}
        yield {
            "id": ident,
            "hash": hashes.get(ident, ""),
            **{key: text for key, text in (("group", row.group), ("cluster", row.cluster)) if text},
            "scores": {name: values if repeats > 1 else values[0] for name, values in listed.items()},
        }


def _number(value: float) -> float:
    """1 for 1.0: most scores are 0 or 1, and a diff is read by people."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _compact(value: Any) -> str:
    # Sorted, so that equal runs give equal files whatever the order in which keys were set.
    text = json.dumps(
        value, ensure_ascii=False, sort_keys=isinstance(value, dict) and "id" not in value, allow_nan=False
    )
    return text.encode("utf-8", "replace").decode()


def is_baseline_file(name: str) -> bool:
    """Whether the name of a baseline means a file, not a run.

    >>> is_baseline_file("ci/baseline.json"), is_baseline_file("openai/gpt-4")
    (True, False)
    """
    return name.lower().endswith(SUFFIX)


def check_replaceable(path: Path) -> None:
    """Refuse to write a baseline under a name that none is read by, or over a file that is none.

    Raises:
        ConfigError: what stands in the way.
    """
    if not is_baseline_file(path.name):
        raise ConfigError(
            f"the name of a baseline ends in {SUFFIX}, so that it is not taken for a run's: not {path.name}"
        )
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            begin = file.read(len(FORMAT) + 100)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    if begin.strip() and FORMAT.encode() not in begin:
        raise ConfigError(f"{path} exists and is no baseline; name another file with --to")


def read_baseline(path: Path) -> BaselineFile:
    """The baseline in a file.

    Raises:
        ConfigError: it is not there, or is none; says how one is made.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{path} is too large for a baseline")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        made = f"make one of a run with: steelyard baseline RUN --to {path.name}"
        raise ConfigError(f"the baseline {path} cannot be read: {error.strerror}; {made}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no baseline: it is not UTF-8") from error
    try:
        return _baseline(json.loads(text, parse_constant=_refuse))
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise ConfigError(f"{path} is no baseline that `steelyard baseline` wrote: {_said(error)}") from error


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _said(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__


def _baseline(read: Any) -> BaselineFile:
    if not isinstance(read, dict) or read.get("format") != FORMAT:
        raise ValueError(f'expected a mapping with "format": "{FORMAT}"')
    texts = {name: _of(read[name], str, name) for name in _TEXTS}
    counts = {name: _of(read[name], int, name) for name in _COUNTS}
    manifest = _of(read["manifest"], dict, "manifest")
    check_manifest(manifest)
    samples = tuple(_sample(one, at) for at, one in enumerate(_of(read["samples"], list, "samples"), start=1))
    if len({one.id for one in samples}) < len(samples):
        raise ValueError("an id occurs twice; after a merge, make the baseline anew")
    return BaselineFile(id=texts.pop("run"), **texts, manifest=manifest, counts=counts, samples=samples)


def _sample(read: Any, at: int) -> BaselineSample:
    what = f"sample {at}"
    one = _of(read, dict, what)
    texts = {key: _of(one.get(key, ""), str, f"{what}: {key}") for key in ("id", "hash", "group", "cluster")}
    scores = _of(one["scores"], dict, f"{what}: scores")
    return BaselineSample(**texts, scores={name: _values(values, f"{what}: {name}") for name, values in scores.items()})


def _values(read: Any, what: str) -> tuple[Value | None, ...]:
    listed: Sequence[Any] = read if isinstance(read, list) else [read]
    for one in listed:
        number = isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < float("inf")
        if not number and one is not None and one not in _OUTCOMES:
            raise ValueError(f"{what}: expected a number or one of {', '.join(sorted(_OUTCOMES))}, not {one!r}")
    return tuple(float(one) if isinstance(one, int) else one for one in listed)


def _of(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{what}: expected {kind.__name__}, not {type(value).__name__}")
    return value


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Refuse what no run writes under the keys that means and comparisons are made by.

    Raises:
        TypeError: which key, and what was expected.

    >>> check_manifest({"score_infos": {"rating": {"range": [1, 5], "lower_is_better": False}}})
    """
    for key, (fits, expected) in _SHAPES.items():
        if manifest.get(key) is not None and not fits(manifest[key]):
            raise TypeError(f"manifest: {key}: expected {expected}")


def _is_mapping_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_scale(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) and isfinite(one) for one in value)
    return numbers and value[0] < value[1]


def _is_info(value: Any) -> bool:
    return isinstance(value, dict) and all(
        fits(value[key]) for key, fits in _INFO.items() if value.get(key) is not None
    )


def _is_pair_of_texts(value: Any) -> bool:
    return _is_list_of_texts(value) and len(value) == 2


_INFO: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "range": _is_scale,
        "lower_is_better": lambda value: isinstance(value, bool),
        "threshold": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
        "labels": _is_pair_of_texts,
        "denominator": lambda value: value in ("all", "answered"),
    }
)
"""What comparisons and means are made by; the other fields of a `ScoreInfo` say how a page shows a score."""

_SHAPES: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = MappingProxyType(
    {
        "scores": (_is_list_of_texts, "a list of names"),
        "primary": (_is_text, "a name"),
        "score_infos": (_is_mapping_of(_is_info), "a mapping of score to what its scorer declared"),
        "over": (_is_mapping_of(_is_text), "a mapping of score to a word"),
        "scales": (_is_mapping_of(_is_scale), "a mapping of score to its lowest and highest value"),
        "tags": (_is_mapping_of(_is_text), "a mapping of name to text"),
    }
)
