"""Warnings on a comparison: in what else the two runs differ, so that a difference need not be the targets'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steelyard.analysis.alignment import ID, AlignedRuns, ComparedRun, SampleOverlap
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.run_protocols import ComparableRun
from steelyard.analysis.stopped_runs import decision_on
from steelyard.analysis.summary_values import RunSummary

_MOST_PHRASES: Final = 8
_MOST_LETTERS: Final = 40
"""Longer values are not quoted: a warning states that a prompt differs, not how."""
_WORDS: Final = {"text": "prompt", "system": "system prompt"}
_NO_CHANGE: Final = frozenset({"template"})
"""The template's own name is no difference: two files may hold the same words."""


def comparison_warnings(runs: AlignedRuns, overlap: SampleOverlap, score: str) -> tuple[str, ...]:
    """One sentence for each thing that speaks against reading the difference as the targets'.

    Args:
        runs: the two runs.
        overlap: how many samples they share on the score.
        score: what is compared in full.
    """
    baseline, other, names = runs.baseline, runs.other, runs.names
    named_runs = tuple(zip(names, (baseline, other), strict=True))
    warnings = [*_of_samples(overlap, names, runs.alignment.by), *_of_datasets(baseline, other)]
    # Of the score that is compared: a record of which another scorer failed has it all the same.
    errors = [int(run.scores.sums_of(score).errors.sum()) for _, run in named_runs]
    if errors[0] != errors[1]:
        counts = " and ".join(f"{count} in {name}" for name, count in zip(names, errors, strict=True))
        warnings.append(f"The runs differ in errors: {counts}; what failed need not be like what did not.")
    on_this = decision_on(baseline, other, score) is not None
    for name, run in named_runs:
        warnings += _of_state(name, run.summary, on_this=on_this)
    if on_this:
        warnings.append(
            "Groups, further scores and costs are shown as for a fixed number of samples, which it was not."
        )
    if score not in RETRIEVAL_SCORES:  # the sentence on a retrieval score contains the warning itself
        warnings += [f"{warning}." for _, run in named_runs if (warning := run.summary.matching_warning())]
    warnings += _of_targets(baseline.run, other.run, names)
    warnings += _of_scorers(baseline.run.manifest.get("scorers"), other.run.manifest.get("scorers"))
    return tuple(warnings)


def what_differs(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """In what two manifests differ, one phrase each: dataset, repeats, and the target's own settings.

    >>> what_differs({"target": {"prompt": {"model": {"name": "a"}}}}, {"target": {"prompt": {"model": {"name": "b"}}}})
    ('model: a → b',)
    """
    phrases = []
    first, second = (_mapping(manifest.get("samples")) for manifest in (before, after))
    if first.get("digest") != second.get("digest"):
        sizes = [first.get("n"), second.get("n")]
        same = sizes[0] == sizes[1]
        phrases.append("dataset: content or order" if same else f"dataset: {sizes[0]} → {sizes[1]} samples")
    repeats = [_mapping(manifest.get("options")).get("repeats", 1) for manifest in (before, after)]
    if repeats[0] != repeats[1]:
        phrases.append(f"repeats: {repeats[0]} → {repeats[1]}")
    phrases += _changes(before.get("target"), after.get("target"))
    more = len(phrases) - _MOST_PHRASES
    return tuple([*phrases[:_MOST_PHRASES], f"and {more} more"] if more > 0 else phrases)


def _of_state(name: str, summary: RunSummary, *, on_this: bool) -> Iterator[str]:
    if summary.state != "finished":
        yield f"{name} is {summary.state}: {summary.done} of {summary.planned} records are done."
    stopping = summary.stopping
    if stopping is not None and summary.stopped_early and not on_this:
        yield (
            f"{name} was stopped early, after {stopping.used} of {stopping.planned} samples, by its rule on "
            f"{stopping.score}: an interval and a p-value for a fixed number of samples do not hold for it."
        )


def _of_samples(overlap: SampleOverlap, names: tuple[str, str], by: str) -> Iterator[str]:
    baseline, other = names
    if overlap.only_in_baseline or overlap.only_in_other:
        yield (
            f"The runs differ in samples: {overlap.only_in_baseline} are only in {baseline}, "
            f"{overlap.only_in_other} only in {other}; they are left out."
        )
    if overlap.changed_content:
        moved = by == ID and overlap.changed_content > 1 and 2 * overlap.changed_content > overlap.n_paired
        hint = " Is the id a line number? --align content pairs what is equal." if moved else ""
        yield f"{_samples(overlap.changed_content)} kept the {by} but changed content between the runs.{hint}"
    if overlap.shared_replies:
        yield (
            f"For {_samples(overlap.shared_replies)} both runs used the same stored reply: "
            f"there the two were not asked independently."
        )
    if overlap.left_out_errors:
        yield f"{_samples(overlap.left_out_errors)} failed in at least one of the runs and are left out."


def _of_datasets(baseline: ComparedRun, other: ComparedRun) -> Iterator[str]:
    """Where single samples cannot be compared, the digest of all of them can."""
    first, second = (_mapping(side.run.manifest.get("samples")).get("digest") for side in (baseline, other))
    if first and second and first != second and not (baseline.hashes() and other.hashes()):
        yield "The two runs have different datasets; which samples differ cannot be told."


def _of_targets(baseline: ComparableRun, other: ComparableRun, names: tuple[str, str]) -> Iterator[str]:
    first, second = _sent(baseline), _sent(other)
    if first is None or second is None:
        return
    if first == second:
        yield (
            f"{names[0]} and {names[1]} have the same prompt, model and parameters: "
            "what differs between them is noise, not the effect of a change."
        )
    elif first.get("model") != second.get("model") and _words(first) != _words(second):
        yield "Model and prompt both differ; a difference may be the effect of either."


def _sent(run: ComparableRun) -> Mapping[str, Any] | None:
    """What decides what a prompt target sends: its words, model and parameters; None for any other target."""
    prompt = _mapping(run.manifest.get("target")).get("prompt")
    return (
        {key: value for key, value in prompt.items() if key not in _NO_CHANGE} if isinstance(prompt, Mapping) else None
    )


def _words(prompt: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(prompt.get(key) for key in _WORDS)


def _of_scorers(first: Any, second: Any) -> Iterator[str]:
    if first == second:
        return
    begin, end = "The two runs were scored by different scorers", "so a difference may be the scorers'."
    shared = [stage for stage in _mapping(first) if stage in _mapping(second)]
    changed = [(stage, _changes(first[stage], second[stage])) for stage in shared if first[stage] != second[stage]]
    for stage, phrases in changed:
        judge = "judge of " if _asks(first[stage]) or _asks(second[stage]) else ""
        yield f"{begin}: the {judge}{stage} differs ({', '.join(phrases[:4]) or 'in its settings'}), {end}"
    if not shared:
        yield f"{begin}, {end}"


def _asks(scorer: Any) -> bool:
    """Whether a described scorer asks a model."""
    return isinstance(scorer, Mapping) and ("model" in scorer or any(map(_asks, scorer.values())))


def _changes(before: Any, after: Any) -> list[str]:
    """Settings that differ, one phrase each: with both values where they are short."""
    first, second = dict(_flat(before)), dict(_flat(after))
    phrases = dict.fromkeys(
        _phrase(path, first.get(path), second.get(path))
        for path in dict.fromkeys([*first, *second])
        if first.get(path) != second.get(path) and path and path[-1] not in _NO_CHANGE
    )
    return list(phrases)


def _phrase(path: tuple[str, ...], before: Any, after: Any) -> str:
    name = path[-1]
    if name == "name" and "model" in path:
        name = "model"
    name = _WORDS.get(name, name).replace("_", " ")
    texts = ["none" if value is None else str(value) for value in (before, after)]
    if any(len(text) > _MOST_LETTERS or "\n" in text for text in texts):
        return name
    return f"{name}: {texts[0] or 'none'} → {texts[1] or 'none'}"


def _flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, value) of every setting; a list is one value, and an empty mapping is none."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _flat(entry, (*path, str(key)))
    else:
        yield path, value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _samples(n: int) -> str:
    return f"{n} sample{'' if n == 1 else 's'}"
