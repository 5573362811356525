"""Warnings of a comparison: what else differs between the two runs and may cause the difference of their scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steelyard.analysis.comparison.alignment import ID, AlignedRuns, SampleOverlap, dataset_file, same_file
from steelyard.analysis.comparison.paired_scores import decision_on, has_clusters, n_differently_clustered
from steelyard.analysis.comparison.sample_scores import RunBySample
from steelyard.analysis.comparison.settings import PROMPT, SYSTEM_PROMPT, phrases_of, target_differences
from steelyard.analysis.numbers import count_text
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.run_data import RunData
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.plain_json import mapping_or_empty

_MOST_OF_A_SCORER: Final = 4


def comparison_warnings(runs: AlignedRuns, overlap: SampleOverlap, score: str) -> tuple[str, ...]:
    """One sentence for each reason why the difference need not come from the targets.

    Args:
        runs: the two runs.
        overlap: how many samples they share on the score.
        score: what is compared in full.
    """
    baseline, other, names = runs.baseline, runs.other, runs.names
    named_runs = tuple(zip(names, (baseline, other), strict=True))
    warnings = [
        *_of_suites(baseline.summary, other.summary),
        *_of_samples(overlap, runs),
        *_of_clusters(runs),
        *_of_datasets(baseline, other),
    ]
    # Errors of the compared score alone: a record for which another scorer failed still has this one.
    errors = [int(run.sums_of(score).errors.sum()) for _, run in named_runs]
    if errors[0] != errors[1]:
        counts = " and ".join(f"{count} in {name}" for name, count in zip(names, errors, strict=True))
        warnings.append(f"The runs differ in errors: {counts}; samples that failed may differ from the others.")
    on_score = decision_on(baseline, other, score) is not None
    for name, run in named_runs:
        warnings += _of_state(name, run.summary, on_score=on_score)
    if on_score:
        warnings.append(
            "Groups, further scores and costs are shown as for a fixed number of samples, though it was not fixed."
        )
    if score not in RETRIEVAL_SCORES:  # the sentence on a retrieval score contains the warning itself
        warnings += [f"{warning}." for _, run in named_runs if (warning := run.summary.matching_warning())]
    warnings += _of_targets(baseline.run, other.run, names)
    warnings += _of_scorers(baseline.run.manifest.get("scorers"), other.run.manifest.get("scorers"))
    return tuple(warnings)


def _of_suites(baseline: RunSummary, other: RunSummary) -> Iterator[str]:
    if baseline.suite != other.suite:
        yield (
            f"The runs are of two suites, {baseline.suite} and {other.suite}: equal names of scores and ids of samples "
            "need not mean the same there."
        )


def _of_state(name: str, summary: RunSummary, *, on_score: bool) -> Iterator[str]:
    if summary.state != "finished":
        state = "failed" if summary.state == "broken" else f"is {summary.state}"
        yield f"{name} {state}: {summary.counts.done:,} of {summary.counts.planned:,} records are done."
    stopping = summary.stopping
    if stopping is not None and summary.stopped_early and not on_score:
        yield (
            f"{name} was stopped early, after {stopping.used} of {stopping.planned} samples, by its rule on "
            f"{stopping.score}: an interval and a p-value for a fixed number of samples do not hold for it."
        )


def _of_samples(overlap: SampleOverlap, runs: AlignedRuns) -> Iterator[str]:
    (baseline, other), by = runs.names, runs.by
    only_baseline, only_other = overlap.n_unpaired(other="absent"), overlap.n_unpaired(baseline="absent")
    if versions := _versions(runs):
        yield (
            f"The runs used two versions of their dataset, {versions[0]} and {versions[1]}: "
            f"{only_other} added, {overlap.changed_content} changed, {only_baseline} retired; "
            "rows that only one run has are left out."
        )
    elif only_baseline or only_other:
        yield (
            f"The runs differ in samples: {only_baseline} only in {baseline}, {only_other} only in {other}; "
            "these are left out."
        )
    yield from _of_one_side(overlap, runs.names)
    if n := overlap.n_unpaired(other="changed"):
        yield (
            f"{count_text(n, 'sample')} kept the id but changed content between the runs and "
            f"{'is' if n == 1 else 'are'} left out; compare --align id pairs all that share an id."
        )
    elif overlap.changed_content:
        moved = by == ID and overlap.changed_content > 1 and 2 * overlap.changed_content > overlap.n_paired
        hint = " Is the id a line number? --align content pairs equal samples." if moved else ""
        changed = count_text(overlap.changed_content, "sample")
        yield f"{changed} kept the {by} but changed content between the runs.{hint}"
    if overlap.shared_replies:
        yield (
            f"For {count_text(overlap.shared_replies, 'sample')} both runs used the same stored reply: "
            f"the two runs are not independent there."
        )
    if n := sum(part.n for part in overlap.unpaired if "failed" in part):
        either = " or ".join(runs.names)
        yield f"{count_text(n, 'sample')} failed in {either} and {'is' if n == 1 else 'are'} left out."


def _of_one_side(overlap: SampleOverlap, names: tuple[str, str]) -> Iterator[str]:
    """The samples of both runs whose score is known in one run, and in the other does not apply or was not given."""
    words: dict[str, str] = {"not_applicable": "not applicable in", "no_score": "without this score in"}
    sides = (
        (*names, [(part.other, part.n) for part in overlap.unpaired if part.baseline == "scored"]),
        (*names[::-1], [(part.baseline, part.n) for part in overlap.unpaired if part.other == "scored"]),
    )
    for name, lacking, parts in sides:
        alone = [(n, words[state]) for state, n in parts if state in words]
        if n := sum(count for count, _ in alone):
            why = ", ".join(f"{f'{count:,} ' if len(alone) > 1 else ''}{word} {lacking}" for count, word in alone)
            yield (
                f"{count_text(n, 'sample')} {'has' if n == 1 else 'have'} this score in {name} alone ({why}); a "
                f"difference may come from leaving {'it' if n == 1 else 'them'} out."
            )


def _of_clusters(runs: AlignedRuns) -> Iterator[str]:
    """Where equal samples were put into other clusters meanwhile, as by a column that was not read before."""
    if n := n_differently_clustered(runs):
        used = runs.names[0 if has_clusters(runs.baseline) else 1]
        yield (
            f"{count_text(n, 'sample')} changed {'its' if n == 1 else 'their'} cluster between the runs: intervals and "
            f"tests use the clusters of {used}."
        )


def _versions(runs: AlignedRuns) -> list[str]:
    """Both files with the beginning of their hashes, where two runs of one suite used different ones."""
    files = [dataset_file(side.run.manifest) for side in (runs.baseline, runs.other)]
    if runs.by != ID or None in files or same_file(runs.baseline, runs.other):
        return []
    if runs.baseline.summary.suite != runs.other.summary.suite:
        return []
    return [f"{file[0]} ({file[1][:8]})" for file in files if file]


def _of_datasets(baseline: RunBySample, other: RunBySample) -> Iterator[str]:
    """Compare the digests of whole datasets where the samples have no hashes."""
    first, second = (mapping_or_empty(side.run.manifest.get("samples")).get("digest") for side in (baseline, other))
    if first and second and first != second and not (baseline.hashes() and other.hashes()):
        yield "The two runs have different datasets; which samples differ is not known."


def _of_targets(baseline: RunData, other: RunData, names: tuple[str, str]) -> Iterator[str]:
    """For two targets that send prompts: warn that nothing differs, or that model and prompt both do."""
    targets = [baseline.manifest.get("target"), other.manifest.get("target")]
    if not all(isinstance(target, Mapping) and "prompt" in target for target in targets):
        return
    keys = {difference.key for difference in target_differences(*targets)}
    if not keys:
        yield (
            f"{names[0]} and {names[1]} have the same prompt, model and parameters: "
            "their difference is noise, not the effect of a change."
        )
    elif any("model" in key for key in keys) and keys & {PROMPT, SYSTEM_PROMPT}:
        yield "Model and prompt both differ; a difference may be the effect of either."


def _of_scorers(first: Any, second: Any) -> Iterator[str]:
    if first == second:
        return
    begin, end = "The two runs were scored by different scorers", "so a difference may be the scorers'."
    shared = [stage for stage in mapping_or_empty(first) if stage in mapping_or_empty(second)]
    for stage in shared:
        differences = target_differences(first[stage], second[stage])
        if not differences:
            continue
        judge = "judge of " if _asks(first[stage]) or _asks(second[stage]) else ""
        phrases = ", ".join(phrases_of(differences, most=_MOST_OF_A_SCORER))
        yield f"{begin}: the {judge}{stage} differs ({phrases}), {end}"
    if not shared:
        yield f"{begin}, {end}"


def _asks(scorer: Any) -> bool:
    """Whether a described scorer asks a model."""
    return isinstance(scorer, Mapping) and ("model" in scorer or any(map(_asks, scorer.values())))
