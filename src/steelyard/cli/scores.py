"""What a terminal shows of scores beside the headline: every mean with its counts, spreads, crosses, costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.table import Table

from steelyard.cli.tables import mean_cells, shortened, table
from steelyard.report.judged import stage_rows
from steelyard.report.numbers import (
    MISSING,
    consistency_text,
    counted,
    is_share,
    left_out_text,
    run_labels,
    value_text,
)
from steelyard.report.pivots import ROUNDED, Pivot, cross_pivots, label_pivots, share_at, spread_pivots
from steelyard.summary import RunSummary, ScoreSummary, StageCost

_MOST_COLUMNS: Final = 3
_COLUMN: Final = 18
_BAR: Final = 30
"""Characters of a bar that stands for all records."""
_COUNTS: Final = ("n", "n/a", "unread", "refused", "errors")


def score_tables(summaries: Sequence[RunSummary]) -> Iterator[Table]:
    """Everything that is counted of the scores; what a run does not have is left out."""
    if not summaries:
        return
    if len(summaries) == 1:
        if len(summaries[0].own_scores) > 1:
            yield _score_table("score", summaries[0].own_scores)
    elif len({one.name for summary in summaries for one in summary.own_scores}) > 1:
        yield _overview(summaries)
    shown = summaries[:_MOST_COLUMNS]
    yield from (_pivot_table(one, one.score, shown) for one in label_pivots(shown))
    yield from (_pivot_table(one, one.title, shown) for one in cross_pivots(shown))
    for one in spread_pivots(shown):
        yield _pivot_table(one, one.score, shown) if len(shown) > 1 else _bars(one, shown[0])


def stage_tables(summaries: Sequence[RunSummary]) -> Iterator[Table]:
    """What the target and every judge asked, where a judge asked at all."""
    if stages := stage_rows(summaries, run_labels(summaries)):
        cells = [
            [
                label,
                one.stage,
                *_numbers(one.calls, one.from_journal, one.input_tokens, one.output_tokens),
                _about(one),
            ]
            for label, one in stages
        ]
        columns = ["target", "stage", "calls", "journal", "tokens in", "out", ""]
        yield table(columns, cells, right=(2, 3, 4, 5), elastic=0)


def _numbers(*counts: int) -> list[str]:
    return [f"{count:,}" for count in counts]


def _about(stage: StageCost) -> str:
    guessed = "estimated" if stage.estimated == stage.calls else f"{stage.estimated:,} estimated"
    return ", ".join(one for one in (stage.cost, guessed if stage.estimated else "") if one)


def group_tables(summary: RunSummary) -> Iterator[Table]:
    """The headline by category; categories that the headline does not apply to say so."""
    if groups := summary.groups.get(summary.primary, ()):
        yield _group_table("category", summary.primary, groups)


def breakdown_tables(summary: RunSummary) -> Iterator[Table]:
    """Every score by the keys that the suite breaks it down by, the headline first."""
    for key, scores in summary.breakdowns.items():
        for name in sorted(scores, key=lambda name: name != summary.primary):
            yield _group_table(key, name, scores[name])


def rescored_table(before: RunSummary, now: RunSummary, changed: Mapping[str, int]) -> Table:
    """Every score before and after scoring again: its mean, what it is over, and how many verdicts are others now.

    Args:
        before: the earlier layer of scores.
        now: the one that is read from now on.
        changed: score -> records of which it says something else.
    """
    rows = []
    for name in dict.fromkeys(one.name for one in (*before.scores, *now.scores)):
        was, is_now = before.score(name), now.score(name)
        means = [mean_cells(one)[0] if one else MISSING for one in (was, is_now)]
        counts = [(one.headline.n, one.unparsed, one.refused) if one else (0, 0, 0) for one in (was, is_now)]
        moved = [f"{n:,}" if n == m else f"{n:,} → {m:,}" for n, m in zip(*counts, strict=True)]
        rows.append([name, *means, f"{changed.get(name, 0):,}", *moved])
    return table(["score", "before", "now", "changed", "n", "unread", "refused"], rows, right=range(1, 7))


def score_remarks(summary: RunSummary, *, several: bool) -> Iterator[str]:
    """What the tables do not say beside a mean.

    Args:
        summary: of one run.
        several: whether the tables compare runs, and so have room for the means and what they are over only.
    """
    left_out: dict[str, list[str]] = {}
    for score in summary.own_scores:
        if several and score.name != summary.primary:
            if left_out_text(score) != f"n {score.headline.n:,}":
                left_out.setdefault(left_out_text(score), []).append(score.name)
        elif score.doubt:
            missing = f"its {counted(score.unread, 'missing verdict')} {'is' if score.unread == 1 else 'are'} worth"
            low, high = (value_text(end, share=is_share(score)) for end in score.doubt)
            yield f"{summary.target}: {score.name} is {low} to {high}, whatever {missing}"
    yield from (f"{summary.target}: {', '.join(names)}: {counts}" for counts, names in left_out.items())
    yield from (f"{summary.target}: {consistency_text(name, one)}" for name, one in summary.consistency.items())
    for name, spread in summary.spreads.items():
        if spread.between:
            yield f"{summary.target}: of {name}, {counted(spread.between, 'value')} between whole numbers {ROUNDED}"


def _score_table(head: str, scores: Sequence[ScoreSummary]) -> Table:
    rows = []
    for one in scores:
        value, interval = mean_cells(one)
        rows.append([one.name, value, interval, *_counts(one)])
    return table([head, "mean", "95 %", *_COUNTS], rows, right=(1, 3, 4, 5, 6, 7))


def _group_table(head: str, score: str, groups: Sequence[ScoreSummary]) -> Table:
    """One score by groups; the column of what does not apply only where there is such."""
    kept = [at for at, name in enumerate(_COUNTS) if name != "n/a" or any(one.not_applicable for one in groups)]
    rows = []
    for one in groups:
        value, interval = mean_cells(one)
        counts = _counts(one)
        rows.append([one.group, value, interval, *(counts[at] for at in kept)])
    columns = [head, score, "95 %", *(_COUNTS[at] for at in kept)]
    return table(columns, rows, right=(1, *range(3, len(columns))))


def _counts(score: ScoreSummary) -> list[str]:
    counts = (score.headline.n, score.not_applicable, score.unparsed, score.refused, score.errors)
    return [str(count) for count in counts]


def _overview(summaries: Sequence[RunSummary]) -> Table:
    """Every score's mean and what it is over, a column per run; of more runs than fit, the first."""
    shown = summaries[:_MOST_COLUMNS]
    names = dict.fromkeys(score.name for one in shown for score in one.own_scores)
    rows = [[name, *(_mean(one.score(name)) for one in shown)] for name in names]
    return table(["score", *_heads(shown)], rows, right=range(1, len(shown) + 1))


def _mean(score: ScoreSummary | None) -> str:
    return f"{mean_cells(score)[0]} (n {score.headline.n:,})" if score else MISSING


def _heads(shown: Sequence[RunSummary]) -> list[str]:
    return [shortened(one, _COLUMN) for one in run_labels(shown)]


def _pivot_table(pivot: Pivot, head: str, shown: Sequence[RunSummary]) -> Table:
    rows = [
        [label, *(f"{cell.main} ({cell.beside})" if cell.beside else cell.main for cell in cells)]
        for label, cells in pivot.rows
    ]
    return table([head, *_heads(shown)], rows, right=range(1, len(shown) + 1))


def _bars(pivot: Pivot, summary: RunSummary) -> Table:
    """A histogram of one run: its rows, each with a bar."""
    spread = summary.spreads[pivot.score]
    rows = []
    for at, (label, (cell,)) in enumerate(pivot.rows):
        share = share_at(spread, at)[1]
        rows.append([label, cell.main, cell.beside, "█" * round(_BAR * share)])
    return table([pivot.score, "n", "", ""], rows, right=(1, 2))
