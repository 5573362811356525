"""Baselines: the file with a run's scores.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

import numpy as np

from steelyard.analysis.comparison.sample_scores import hashes_by_id
from steelyard.analysis.judges.jury import with_jury
from steelyard.analysis.run_data import RunCounts, RunData
from steelyard.analysis.scores.score_columns import RowOutcome, ScoreRow
from steelyard.analysis.summary.run_summary import summarize_run, with_juries
from steelyard.errors import ConfigError
from steelyard.files import file_errors, read_regular_text

FORMAT: Final = "steelyard baseline 1"
SUFFIX: Final = ".json"

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


def baseline_text(run: RunData) -> str:
    """A run's scores, with those of its jury, as the text of a baseline file.

    Raises:
        ConfigError: the run is not finished, or has no scores.
    """
    summary, run = with_juries(summarize_run(run)), with_jury(run)
    name = f"run {summary.run} ({summary.target})"
    if summary.state != "finished":
        counts = f"{summary.counts.done} of {summary.counts.planned} records are done"
        raise ConfigError(f"{name} is {summary.state}, {counts}: a baseline needs a finished run")
    if summary.stopped_early:
        raise ConfigError(f"{name} was stopped early, on a part of its samples: a baseline needs all of them")
    if not summary.scores:
        raise ConfigError(f"{name} has no scores, so there is nothing to keep")
    head: dict[str, Any] = {"format": FORMAT, **{name: getattr(summary, name) for name in _TEXTS}}
    head |= {name: getattr(summary.counts, name) for name in _COUNTS}
    head |= {"manifest": {key: run.manifest[key] for key in _MANIFEST if key in run.manifest}}
    lines = [f"{json.dumps(key)}: {_compact(value)}," for key, value in head.items()]
    samples = [_compact(line) for line in _sample_lines(run)]
    return "\n".join(["{", *lines, '"samples": [', ",\n".join(samples), "]", "}", ""])


def _sample_lines(run: RunData) -> Iterator[dict[str, Any]]:
    hashes = hashes_by_id(run.scores.samples, run.hashes)
    by_sample: dict[str, tuple[ScoreRow, dict[str, dict[int, Any]]]] = {}
    for row in run.scores.rows():
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
    with file_errors(path, "written"), path.open("rb") as file:
        begin = file.read(len(FORMAT) + 100)
    if begin.strip() and FORMAT.encode() not in begin:
        raise ConfigError(f"{path} exists and is not a baseline; name another file with --to")


def read_baseline(path: Path) -> RunData:
    """Read a baseline file: a run of which only the scores are known.

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


def _baseline(document: Any) -> RunData:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'expected a mapping with "format": "{FORMAT}"')
    texts = {name: _typed(document[name], str, name) for name in _TEXTS}
    counts = {name: _typed(document[name], int, name) for name in _COUNTS}
    manifest = {key: value for key, value in _typed(document["manifest"], dict, "manifest").items() if key in _MANIFEST}
    check_manifest(manifest)
    hashes: dict[str, int] = {}
    rows: list[ScoreRow] = []
    for at, entry in enumerate(_typed(document["samples"], list, "samples"), start=1):
        sample, content = _sample(entry, at)
        if sample.sample in hashes:
            raise ValueError("an id occurs twice; after a merge, make the baseline again")
        hashes[sample.sample] = content
        rows += _rows(sample, entry["scores"], f"sample {at}")
    run = RunData.of(rows, id=texts.pop("run"), **texts, manifest=manifest, counts=RunCounts(**counts))
    return replace(
        run, hashes=np.array([hashes[ident] for ident in run.scores.samples], dtype=np.uint64).view(np.int64)
    )


def _sample(entry: Any, at: int) -> tuple[ScoreRow, int]:
    """A row with id, group and cluster of a sample, and the hash of its content."""
    what = f"sample {at}"
    sample = _typed(entry, dict, what)
    ident, content, group, cluster = (
        _typed(sample.get(key, ""), str, f"{what}: {key}") for key in ("id", "hash", "group", "cluster")
    )
    _typed(sample["scores"], dict, f"{what}: scores")
    return ScoreRow(ident, group, cluster, 0, "", "error", None), int(content or "0", 16)


def _rows(sample: ScoreRow, scores: Mapping[str, Any], what: str) -> Iterator[ScoreRow]:
    """The rows of a sample, repeat by repeat."""
    values_by_score = {name: _values(values, f"{what}: {name}") for name, values in scores.items()}
    for repeat in range(max(map(len, values_by_score.values()), default=0)):
        for name, values in values_by_score.items():
            value = values[repeat] if repeat < len(values) else None
            if isinstance(value, str):
                yield sample._replace(repeat=repeat, name=name, outcome=value)
            elif value is not None:
                yield sample._replace(repeat=repeat, name=name, outcome="scored", value=value)


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
        "scorers": (_is_mapping_of(lambda _: True), "a mapping of stage to its scorer"),
        "score_infos": (_is_mapping_of(_is_info), "a mapping of score to what its scorer declared"),
        "tags": (_is_mapping_of(_is_text), "a mapping of name to text"),
    }
)
