"""Labels of people on a sample, and verdicts of other runs on the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.label_forms import IN_VIEW, PASS_OR_FAIL
from steelyard.analysis.numbers import score_title, verdict_words
from steelyard.escaping import cell_text
from steelyard.report.judge_reasons import named_verdict
from steelyard.report.run_texts import kind_text
from steelyard.store import Run
from steelyard.store.related_runs import labels_of_sample, related_runs
from steelyard.types import Label, Score


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A label on a record: its name as stored and as a heading, value as stored and in words, author and time."""

    about: str
    name: str
    stored: str
    value: str
    author: str
    at: str


@dataclass(frozen=True, slots=True)
class OtherVerdicts:
    """The verdict of another run about the same answers on this sample.

    Args:
        name: of the run: its suite and target.
        run: its id.
        verdicts: each score, its value or outcome, and the reason, for all repeats. Empty for a run without scores.
    """

    name: str
    run: str
    verdicts: tuple[tuple[str, str, str], ...]


def sample_opinions(run: Run, sample: str) -> Mapping[str, Any]:
    """Values that `sample_body.html.j2` shows next to a run's own scores of a sample.

    Args:
        run: that is shown.
        sample: its id.
    """
    by_repeat: dict[int, list[ShownLabel]] = {}
    for label in labels_of_sample(run, sample):
        by_repeat.setdefault(label.repeat, []).append(_shown(label, run))
    others = [_other(related, sample) for related in related_runs(run)]
    return {"labels": by_repeat, "others": [verdicts for verdicts in others if verdicts is not None]}


def _other(run: Run, sample: str) -> OtherVerdicts | None:
    """The verdicts of another run on a sample, empty where it has only an answer; None where it has no record of it."""
    records = run.records_of([sample])
    if not records:
        return None
    verdicts = tuple(_verdict(score) for record in records for score in record.scores)
    return OtherVerdicts(f"{run.suite} {run.target} {run.id}", run.id, verdicts)


def _shown(label: Label, run: Run) -> ShownLabel:
    """A label; pass and fail are shown in the words of their score, the better answer by its target."""
    value = _value(label)
    about = str(run.manifest.get("primary", "")) if label.name == IN_VIEW else label.name
    if label.kind == "pass_fail" and label.value in PASS_OR_FAIL:
        value = verdict_words(run.score_infos.get(about))[PASS_OR_FAIL.index(label.value)]
    elif label.kind == "preference" and is_judging(run.manifest):
        value = named_verdict(value, sides_of(run.manifest))
    return ShownLabel(
        label.name, score_title(label.name), cell_text(label.value), value, label.author, f"{label.at:%Y-%m-%d}"
    )


def _value(label: Label) -> str:
    """A number as people write it: 2 where the label holds 2.0."""
    return f"{label.value:.4g}" if isinstance(label.value, float) else cell_text(label.value)


def _verdict(score: Score) -> tuple[str, str, str]:
    value = kind_text(score.outcome) if score.value is None else f"{score.value:.4g}"
    return score_title(score.name), value, score.reason
