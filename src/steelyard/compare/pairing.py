"""Two runs -> one PairComparison: which samples make a pair, and what must be known about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from steelyard.compare.comparison import ComparableRun, PairComparison, PairedDifference
from steelyard.compare.differences import PairedValue, paired_difference, verdict_of
from steelyard.compare.wording import labels, sentence
from steelyard.summary import NO_GROUP, Over, RunSummary

_READ: Final = frozenset({"scored", "unparsed", "refused"})


@dataclass(slots=True)
class Answers:
    """What one run has of one sample, over its repeats."""

    group: str = ""
    cluster: str = ""
    total: float = 0.0
    scored: int = 0
    read: int = 0
    errors: int = 0

    def value(self, over: Over) -> float | None:
        """The mean over the repeats that count, or None if there is none; a repeat that failed counts nowhere."""
        n = self.read if over == "all" else self.scored
        return self.total / n if n else None


@dataclass(frozen=True, slots=True)
class Side:
    """One run with everything a comparison reads of it, read once."""

    run: ComparableRun
    summary: RunSummary
    answers: Mapping[str, Answers]
    hashes: Mapping[str, str]


def read_side(run: ComparableRun, summary: RunSummary, score: str) -> Side:
    """Go through the run's rows once, keeping those of `score`."""
    answers: dict[str, Answers] = {}
    for row in run.score_rows():
        if row.name not in {score, ""}:
            continue
        one = answers.get(row.sample)
        if one is None:
            one = answers[row.sample] = Answers(row.group, row.cluster)
        one.errors += row.outcome == "error"
        one.read += row.outcome in _READ
        if row.value is not None:
            one.scored += 1
            one.total += row.value
    return Side(run, summary, answers, run.sample_hashes())


class Overlap(NamedTuple):
    """How the samples of two runs meet; the fields are those of PairComparison."""

    n_paired: int
    only_in_baseline: int
    only_in_other: int
    left_out_errors: int
    left_out_not_applicable: int
    changed_content: int
    shared_replies: int


def compare_pair(
    baseline: Side, other: Side, *, score: str, over: Over, level: float, scaled: bool = False
) -> PairComparison:
    """Pair the two runs by sample id and say what the pairs show.

    `scaled` says that the score names a scale other than [0, 1]: a rating of 1 is no rate of 100 %.
    """
    shared = [sample for sample in baseline.answers if sample in other.answers]
    pairs = _pairs(baseline, other, shared, over)
    overlap = _overlap(baseline, other, shared, len(pairs))
    headline = paired_difference(pairs, level=level, scaled=scaled)
    verdict = verdict_of(headline, level)
    names = labels(baseline.run, other.run)
    fixed, broken = _flips(pairs, headline)
    return PairComparison(
        baseline=baseline.run.id,
        baseline_target=baseline.run.target,
        other=other.run.id,
        other_target=other.run.target,
        score=score,
        over=over,
        **overlap._asdict(),
        headline=headline,
        answered_both=paired_difference(_pairs(baseline, other, shared, "scored"), level=level, scaled=scaled),
        groups=_groups(pairs, level, scaled=scaled),
        fixed=fixed,
        broken=broken,
        warnings=_warnings(baseline, other, overlap, names),
        verdict=verdict,
        sentence=sentence(headline, verdict, score=score, names=names, level=level),
        level=level,
    )


def _overlap(baseline: Side, other: Side, shared: list[str], paired: int) -> Overlap:
    errors = sum(_failed(baseline.answers[sample], other.answers[sample]) for sample in shared)
    hashes = [(baseline.hashes.get(sample), other.hashes.get(sample)) for sample in shared]
    return Overlap(
        n_paired=paired,
        only_in_baseline=len(baseline.answers) - len(shared),
        only_in_other=len(other.answers) - len(shared),
        left_out_errors=errors,
        left_out_not_applicable=len(shared) - paired - errors,
        changed_content=sum(None not in pair and pair[0] != pair[1] for pair in hashes),
        shared_replies=_shared_replies(baseline.run, other.run, shared),
    )


def _warnings(baseline: Side, other: Side, overlap: Overlap, names: tuple[str, str]) -> tuple[str, ...]:
    sides = tuple(zip(names, (baseline.summary, other.summary), strict=True))
    found = _overlap_warnings(overlap, names)
    # Of the score that is compared: a record of which another scorer failed has it all the same.
    errors = [sum(one.errors for one in side.answers.values()) for side in (baseline, other)]
    if errors[0] != errors[1]:
        counts = " and ".join(f"{count} in {name}" for name, count in zip(names, errors, strict=True))
        found.append(f"The runs differ in errors: {counts}; what failed need not be like what did not.")
    for name, summary in sides:
        if summary.state != "finished":
            found.append(f"{name} is {summary.state}: {summary.done} of {summary.planned} records are done.")
    if _sent(baseline.run) is not None and _sent(baseline.run) == _sent(other.run):
        found.append(
            f"{names[0]} and {names[1]} have the same prompt, model and parameters: "
            "what differs between them is noise, not the effect of a change."
        )
    first, second = baseline.run.manifest.get("scorers"), other.run.manifest.get("scorers")
    if first != second:
        found.append("The two runs were scored by different scorers, so a difference may be the scorers'.")
    return tuple(found)


def _sent(run: ComparableRun) -> Mapping[str, Any] | None:
    """What decides what a prompt target sends: its words, model and parameters; None for any other target.

    The template's own name is left out: two files may hold the same words.
    """
    target = run.manifest.get("target")
    prompt = target.get("prompt") if isinstance(target, Mapping) else None
    return {key: one for key, one in prompt.items() if key != "template"} if isinstance(prompt, Mapping) else None


def _overlap_warnings(overlap: Overlap, names: tuple[str, str]) -> list[str]:
    baseline, other = names
    found = []
    if overlap.only_in_baseline or overlap.only_in_other:
        found.append(
            f"The runs differ in samples: {overlap.only_in_baseline} are only in {baseline}, "
            f"{overlap.only_in_other} only in {other}; they are left out."
        )
    if overlap.changed_content:
        found.append(f"{_samples(overlap.changed_content)} kept the id but changed content between the runs.")
    if overlap.shared_replies:
        found.append(
            f"For {_samples(overlap.shared_replies)} both runs used the same stored reply: "
            f"there the two were not asked independently."
        )
    if overlap.left_out_errors:
        found.append(f"{_samples(overlap.left_out_errors)} failed in at least one of the runs and are left out.")
    return found


def _samples(n: int) -> str:
    return f"{n} sample{'' if n == 1 else 's'}"


def _pairs(baseline: Side, other: Side, shared: list[str], over: Over) -> list[PairedValue]:
    found = []
    for sample in shared:
        before = baseline.answers[sample]
        first, second = before.value(over), other.answers[sample].value(over)
        if first is not None and second is not None:
            found.append(PairedValue(sample, before.group, before.cluster, first, second))
    return found


def _failed(*sides: Answers) -> bool:
    return any(side.errors and not side.read for side in sides)


def _groups(pairs: list[PairedValue], level: float, *, scaled: bool) -> tuple[PairedDifference, ...]:
    by_group: dict[str, list[PairedValue]] = {}
    for pair in pairs:
        by_group.setdefault(pair.group, []).append(pair)
    if not any(by_group):
        return ()
    return tuple(
        paired_difference(found, level=level, group=name or NO_GROUP, scaled=scaled) for name, found in by_group.items()
    )


def _flips(pairs: list[PairedValue], headline: PairedDifference) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not headline.unit:
        return (), ()
    fixed = tuple(pair.sample for pair in pairs if pair.baseline < 0.5 <= pair.other)
    broken = tuple(pair.sample for pair in pairs if pair.other < 0.5 <= pair.baseline)
    return fixed, broken


def _shared_replies(baseline: ComparableRun, other: ComparableRun, shared: list[str]) -> int:
    first, second = baseline.reply_keys(), other.reply_keys()
    return sum(not first.get(sample, frozenset()).isdisjoint(second.get(sample, frozenset())) for sample in shared)
