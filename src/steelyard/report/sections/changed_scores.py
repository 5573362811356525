"""What changed the scores of a run: people's labels that a report counts, and scoring again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.analysis.numbers import MISSING, count_text, score_phrase, signed_text, value_text
from steelyard.analysis.scores.score_summary_values import LabelEffect
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.page_runs import PageRuns
from steelyard.report.section import Section, SectionTable, TableColumn, columns_of, sentences, text_row


def labels_section(runs: PageRuns) -> Section:
    """How many records of each run people decided, who, and how far that moved its score; empty without labels."""
    counted = [(label, summary.raters.labelled) for label, summary in runs if summary.raters.labelled is not None]
    facts = [_decided(label, labelled) for label, labelled in counted]
    return Section(
        "Labels of people",
        notes=(
            *sentences(facts, "fact"),
            *sentences(_skewed(counted), "warning"),
            *sentences(_uncounted(counted)),
        ),
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


def rescored_section(before: RunSummary, now: RunSummary, changed: Mapping[str, int]) -> Section:
    """Every score before and after scoring again: its mean, its counts, and the number of changed verdicts.

    Args:
        before: the earlier scores.
        now: the scores in use from now on.
        changed: score -> records whose value or outcome differs.
    """
    rows = []
    for name in dict.fromkeys(score.name for score in (*before.scores, *now.scores)):
        scores = (before.score(name), now.score(name))
        means = [value_text(score.headline.value, share=score.is_share) if score else MISSING for score in scores]
        counts = [(score.headline.n, score.unparsed, score.refused) if score else (0, 0, 0) for score in scores]
        moved = [f"{n:,}" if n == m else f"{n:,} → {m:,}" for n, m in zip(*counts, strict=True)]
        rows.append(text_row(name, *means, f"{changed.get(name, 0):,}", *moved))
    heads = ("before", "now", "changed", "n", "unreadable", "refused")
    columns = columns_of("score", *map(TableColumn, heads))
    return Section("", SectionTable(columns, tuple(rows)))


def changed_readings_section(changed: Sequence[tuple[str, str, str, int]]) -> Section:
    """How many records have another parsed value after scoring again, by the rules that parsed them.

    Args:
        changed: score, the rule before, the rule now, and the number of records.
    """
    rows = tuple(text_row(score, before, now, f"{records:,}") for score, before, now, records in changed)
    columns = columns_of("score", TableColumn("read before by", "name"), TableColumn("now by", "name"), "records")
    return Section("Changed readings", SectionTable(columns, rows))
