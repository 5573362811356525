"""Baselines: the file with a run's scores, and finding the run or file that a baseline's name refers to.

The file is kept with the code, and later runs are compared with it. It is one JSON document with a line per key and a
line per sample, in the order of the dataset, so that a diff of two baselines shows only the samples that changed. It
holds no question, answer or reply.

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

A sample's score is a number, or its outcome where it has none; a list where the sample was repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar, get_args

from steelyard.analysis.run_protocols import ListedRun, StoredScores
from steelyard.analysis.score_columns import RowOutcome, ScoreRow
from steelyard.analysis.score_infos import score_infos
from steelyard.analysis.summary import summarize
from steelyard.analysis.summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.files import read_regular_text

FORMAT: Final = "steelyard baseline 1"
SUFFIX: Final = ".json"
LATEST: Final = "latest"
"""The baseline's name for the newest earlier run of the same target."""

_MANIFEST: Final = (
    "steelyard", "samples", "target", "scorers", "scores", "score_infos", "primary", "tags",
)  # fmt: skip
"""The keys of a manifest that a baseline keeps: which data, target and scorers produced the values."""
_COUNTS: Final = ("planned", "done", "errors")
_TEXTS: Final = ("run", "suite", "target", "state", "created")
_OUTCOMES: Final = frozenset(get_args(RowOutcome)) - {"scored"}
_MOST_BYTES: Final = 500_000_000

Value = float | RowOutcome
"""A score's value, or its outcome where it has no value."""


@dataclass(frozen=True, slots=True)
class BaselineSample:
    """One sample of a baseline: its content's hash and its scores.

    Args:
        id: of the sample.
        hash: of its content.
        group: of the sample; likewise `cluster`.
        scores: score -> its value in each repeat; None where a repeat has none.
    """

    id: str
    hash: str
    group: str
    cluster: str
    scores: Mapping[str, tuple[Value | None, ...]]


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A baseline that was read from a file; `compare` accepts it in place of the run that it was made from.

    Args:
        id: of that run.
        suite: its title.
        target: its target.
        state: of that run; `created` is when it was started, ISO 8601.
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
        order = {name: position for position, name in enumerate(self.manifest.get("scores") or ())}
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
        """Every score of every sample and repeat, as a run gives them."""
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
        """Empty: a baseline keeps no replies, so shared replies are not known."""
        return {}


def _row(sample: BaselineSample, repeat: int, name: str, value: Value) -> ScoreRow:
    if isinstance(value, str):
        return ScoreRow(sample.id, sample.group, sample.cluster, repeat, name, value, None)
    return ScoreRow(sample.id, sample.group, sample.cluster, repeat, name, "scored", value)


def baseline_text(run: StoredScores) -> str:
    """A run's scores as the text of a baseline file.

    Raises:
        ConfigError: the run is not finished, or has no scores.
    """
    summary = run.summary()
    name = f"run {summary.run} ({summary.target})"
    if summary.state != "finished":
        counts = f"{summary.done} of {summary.planned} records are done"
        raise ConfigError(f"{name} is {summary.state}, {counts}: a baseline needs a finished run")
    if summary.stopped_early:
        raise ConfigError(f"{name} was stopped early, on a part of its samples: a baseline needs all of them")
    if not summary.scores:
        raise ConfigError(f"{name} has no scores, so there is nothing to keep")
    head: dict[str, Any] = {"format": FORMAT, **{name: getattr(summary, name) for name in (*_TEXTS, *_COUNTS)}}
    head |= {"manifest": {key: run.manifest[key] for key in _MANIFEST if key in run.manifest}}
    lines = [f"{json.dumps(key)}: {_compact(value)}," for key, value in head.items()]
    samples = [_compact(line) for line in _sample_lines(run)]
    return "\n".join(["{", *lines, '"samples": [', ",\n".join(samples), "]", "}", ""])


def _sample_lines(run: StoredScores) -> Iterator[dict[str, Any]]:
    hashes = run.sample_hashes()
    by_sample: dict[str, tuple[ScoreRow, dict[str, dict[int, Any]]]] = {}
    for row in run.score_rows():
        _, scores = by_sample.setdefault(row.sample, (row, {}))
        value = row.outcome if row.value is None else _number(row.value)
        scores.setdefault(row.name, {})[row.repeat] = value
    for ident, (row, scores) in by_sample.items():
        repeats = 1 + max(repeat for values in scores.values() for repeat in values)
        listed = {name: [values.get(at) for at in range(repeats)] for name, values in sorted(scores.items())}
        yield {
            "id": ident,
            "hash": hashes.get(ident, ""),
            **{key: text for key, text in (("group", row.group), ("cluster", row.cluster)) if text},
            "scores": {name: values if repeats > 1 else values[0] for name, values in listed.items()},
        }


def _number(value: float) -> float:
    """Whole numbers as integers (1, not 1.0): most scores are 0 or 1, and people read the diff."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _compact(value: Any) -> str:
    # Sorted, so that equal runs give equal files whatever the order in which keys were set.
    text = json.dumps(
        value, ensure_ascii=False, sort_keys=isinstance(value, dict) and "id" not in value, allow_nan=False
    )
    return text.encode("utf-8", "replace").decode()


def is_baseline_file(name: str) -> bool:
    """Whether the name of a baseline refers to a file, not a run.

    >>> is_baseline_file("ci/baseline.json"), is_baseline_file("openai/gpt-4")
    (True, False)
    """
    return name.lower().endswith(SUFFIX)


def check_replaceable(path: Path) -> None:
    """Refuse to write a baseline to a file without the suffix .json, or over a file that is not a baseline.

    Raises:
        ConfigError: the name does not end in .json, or the file exists and is not a baseline.
    """
    if not is_baseline_file(path.name):
        raise ConfigError(
            f"the name of a baseline file must end in {SUFFIX}, unlike the name of a run: not {path.name}"
        )
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            begin = file.read(len(FORMAT) + 100)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    if begin.strip() and FORMAT.encode() not in begin:
        raise ConfigError(f"{path} exists and is not a baseline; name another file with --to")


def read_baseline(path: Path) -> BaselineFile:
    """Read a baseline file.

    Raises:
        ConfigError: the file is missing or is not a baseline; the message says how to make one.
    """
    try:
        text = read_regular_text(path, _MOST_BYTES)
    except OSError as error:
        advice = f"make one from a run with: steelyard baseline RUN --to {path.name}"
        raise ConfigError(f"the baseline {path} cannot be read: {error.strerror}; {advice}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a baseline: it is not UTF-8") from error
    try:
        return _baseline(json.loads(text, parse_constant=_refuse))
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise ConfigError(f"{path} is not a baseline that `steelyard baseline` wrote: {_problem(error)}") from error


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def _problem(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__


def _baseline(document: Any) -> BaselineFile:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'expected a mapping with "format": "{FORMAT}"')
    texts = {name: _typed(document[name], str, name) for name in _TEXTS}
    counts = {name: _typed(document[name], int, name) for name in _COUNTS}
    manifest = _typed(document["manifest"], dict, "manifest")
    check_manifest(manifest)
    samples = tuple(
        _sample(sample, at) for at, sample in enumerate(_typed(document["samples"], list, "samples"), start=1)
    )
    if len({sample.id for sample in samples}) < len(samples):
        raise ValueError("an id occurs twice; after a merge, make the baseline again")
    return BaselineFile(id=texts.pop("run"), **texts, manifest=manifest, counts=counts, samples=samples)


def _sample(entry: Any, at: int) -> BaselineSample:
    what = f"sample {at}"
    sample = _typed(entry, dict, what)
    texts = {key: _typed(sample.get(key, ""), str, f"{what}: {key}") for key in ("id", "hash", "group", "cluster")}
    scores = _typed(sample["scores"], dict, f"{what}: scores")
    return BaselineSample(**texts, scores={name: _values(values, f"{what}: {name}") for name, values in scores.items()})


def _values(value_or_list: Any, what: str) -> tuple[Value | None, ...]:
    listed: Sequence[Any] = value_or_list if isinstance(value_or_list, list) else [value_or_list]
    for value in listed:
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
        if not number and value is not None and value not in _OUTCOMES:
            raise ValueError(f"{what}: expected a number or one of {', '.join(sorted(_OUTCOMES))}, not {value!r}")
    return tuple(float(value) if isinstance(value, int) else value for value in listed)


def _typed(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{what}: expected {kind.__name__}, not {type(value).__name__}")
    return value


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Check the types of the manifest keys that means and comparisons are computed from.

    Raises:
        TypeError: a key has another type; the message names the key and the expected type.

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
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in value)
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
"""The fields of a `ScoreInfo` that comparisons and means use; the others only affect how a page shows a score."""

_SHAPES: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = MappingProxyType(
    {
        "scores": (_is_list_of_texts, "a list of names"),
        "primary": (_is_text, "a name"),
        "score_infos": (_is_mapping_of(_is_info), "a mapping of score to what its scorer declared"),
        "tags": (_is_mapping_of(_is_text), "a mapping of name to text"),
    }
)


class NoEarlierRunError(ConfigError):
    """No earlier run can be the baseline, as for the first run of a target."""


Listed = TypeVar("Listed", bound=ListedRun)


def find_baseline(name: str, run: Listed, runs: Callable[[], Sequence[Listed]]) -> Listed | BaselineFile:
    """Find the baseline that `name` refers to for `run`; it may be `run` itself.

    Tried in this order: a file, by its ending; the id of a run; another target of the same evaluation; the newest
    finished run of that target in the same suite that was started before; with `latest`, that of the run's own target.
    Runs that were started later are never taken, so that evaluating a gate again gives the same verdict.

    Args:
        name: as written under `gate:`.
        run: the run that is compared with the baseline.
        runs: gives every stored run, newest first; not called for a file.

    Raises:
        NoEarlierRunError: no run of that target was finished before.
        ConfigError: there is no such run, or no such file.
    """
    if is_baseline_file(name):
        return read_baseline(Path(name))
    stored_runs = runs()
    exact = next((stored for stored in stored_runs if stored.id == name), None)
    if exact is not None:
        return exact
    siblings = [stored for stored in stored_runs if stored.evaluation == run.evaluation]
    if name != LATEST and len(siblings) > 1:
        sibling = next((stored for stored in siblings if stored.target == name), None)
        if sibling is not None:
            return sibling
    return _earlier(run.target if name == LATEST else name, run, stored_runs)


def _earlier(target: str, run: Listed, stored_runs: Sequence[Listed]) -> Listed:
    before = [stored for stored in stored_runs if stored.num < run.num and stored.evaluation != run.evaluation]
    same = (stored for stored in before if (stored.suite, stored.target) == (run.suite, target))
    earlier = next((stored for stored in same if stored.state == "finished"), None)
    if earlier is not None:
        return earlier
    if target != run.target and target not in {stored.target for stored in stored_runs}:
        raise ConfigError(_unknown(target, stored_runs))
    raise NoEarlierRunError(f"no run of {target} in {run.suite!r} was finished before this one")


def check_baseline(name: str, targets: Iterable[str], runs: Callable[[], Sequence[ListedRun]]) -> None:
    """Refuse a baseline that names no file, run or target, before the first call.

    Args:
        name: as written under `gate:`; "" where there is none.
        targets: of the suite that is about to run.
        runs: gives every stored run, newest first.

    Raises:
        ConfigError: the file cannot be read, or there is neither a run nor a target of that name.
    """
    if not name or name == LATEST:
        return
    if is_baseline_file(name):
        read_baseline(Path(name))
        return
    target_names = [*targets]
    if name in target_names:
        return
    stored_runs = runs()
    if name not in {text for stored in stored_runs for text in (stored.id, stored.target)}:
        raise ConfigError(f"gate: baseline: {_unknown(name, stored_runs, target_names)}")


def _unknown(name: str, stored_runs: Sequence[ListedRun], targets: Sequence[str] = ()) -> str:
    names = {LATEST, *targets, *(text for stored in stored_runs for text in (stored.id, stored.target))}
    return f"there is no run {name!r}{did_you_mean(name, names)}"
