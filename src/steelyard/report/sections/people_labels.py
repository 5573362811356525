"""What people's labels changed, where a report counts them instead of scores."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.numbers import count_text, score_phrase, signed_text, value_text
from steelyard.analysis.scores.score_summary_values import LabelEffect
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import Section, sentences


def labels_section(summaries: Sequence[RunSummary], names: Sequence[str]) -> Section:
    """How many records of each run people decided, who, and how far that moved its score; empty without labels counted.

    Args:
        summaries: of the runs, those of labelled runs with `labelled`.
        names: what the page calls the runs.
    """
    runs = [
        (name, labelled)
        for name, summary in zip(names, summaries, strict=True)
        if (labelled := summary.raters.labelled) is not None
    ]
    facts = [_decided(name, labelled) for name, labelled in runs]
    return Section(
        "Labels of people",
        notes=(*sentences(facts, "fact"), *sentences(_skewed(runs), "warning"), *sentences(_uncounted(runs), "note")),
        key="labels",
    )


def _decided(name: str, labelled: LabelEffect) -> str:
    """How many records of a run people decided, who, and how far that moved its score."""
    if not labelled.score:
        return f"{name}: none of its scores takes labels of people."
    what = "replies" if labelled.exam else "records"
    who = ", ".join(f"{n:,} by {author}" for author, n in labelled.decided.items()) or "none"
    parts = [f"{name}: {what} decided by people: {who}"]
    if labelled.total:
        share = labelled.share
        unit = " points" if share else ""
        moved = f"{score_phrase(labelled.score)} moves by {signed_text(labelled.moved, share=share)}{unit}"
        parts.append(
            f"{moved}, from {value_text(labelled.before, share=share)} to {value_text(labelled.after, share=share)}"
        )
    if labelled.conflicting:
        singular = "reply" if labelled.exam else "record"
        parts.append(
            f"people disagree on {count_text(labelled.conflicting, singular)}, which keep the scores of the run"
        )
    return f"{'; '.join(parts)}."


def _skewed(runs: Sequence[tuple[str, LabelEffect]]) -> list[str]:
    """A warning where people labelled records of one run and nobody looked at the review list of another.

    Labels on one side only move its score and not the other's, so the difference would show the labelling.
    """
    if not any(labelled.total or labelled.conflicting for _, labelled in runs):
        return []
    return [
        f"Nobody has looked at {count_text(labelled.unseen, 'reply' if labelled.exam else 'record')} in the review "
        f"queue of {name}, while verdicts on other {'replies' if labelled.exam else 'records'} are counted."
        for name, labelled in runs
        if labelled.unseen
    ]


def _uncounted(runs: Sequence[tuple[str, LabelEffect]]) -> list[str]:
    return [
        f"{name}: {count_text(n, 'label')} named {label}: no score of the run counts them."
        for name, labelled in runs
        for label, n in labelled.uncounted.items()
    ]
