"""Sections on what scoring again changed: means and counts before and after, and parsed values by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.analysis.numbers import MISSING, value_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import Section, SectionTable, TableColumn, text_row


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
    columns = (TableColumn("score", "name"), *(TableColumn(head) for head in heads))
    return Section("", SectionTable(columns, tuple(rows)))


def changed_readings_section(changed: Sequence[tuple[str, str, str, int]]) -> Section:
    """How many records have another parsed value after scoring again, by the rules that parsed them.

    Args:
        changed: score, the rule before, the rule now, and the number of records.
    """
    rows = tuple(text_row(score, before, now, f"{records:,}") for score, before, now, records in changed)
    columns = (TableColumn("score", "name"), TableColumn("read before by", "name"), TableColumn("now by", "name"))
    return Section("Changed readings", SectionTable((*columns, TableColumn("records")), rows))
