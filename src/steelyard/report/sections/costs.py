"""The section of costs: calls, tokens and money by stage, cached replies, and calls saved by early stopping."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.model_calls import StageCost
from steelyard.analysis.numbers import count_text, money_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.page_runs import PageRuns
from steelyard.report.section import Section, SectionTable, TableCell, columns_of, text_row


def costs_section(runs: PageRuns) -> Section:
    """Calls, tokens and cost per stage; empty where no scorer asked a model."""
    has_more = any(summary.calls.judged_stages for summary in runs.summaries)
    stages = [(label, stage) for label, summary in runs for stage in summary.calls.stages if has_more]
    from_cache = any(stage.cached_tokens for _, stage in stages)
    priced = any(stage.cost for _, stage in stages)
    columns = columns_of(
        *("target", "stage", "calls", "cached", "tokens in"),
        *(["of these in the endpoint's cache"] if from_cache else []),
        *("tokens out", "estimated"),
        *(["cost"] if priced else []),
    )
    rows = tuple(_row(label, stage, from_cache=from_cache, priced=priced) for label, stage in stages)
    caption = "Replies by stage and their tokens; cached replies were not paid for again"
    if any(stage.estimated for _, stage in stages):
        caption += "; estimated: calls whose tokens the endpoint did not count"
    if thought := sum(stage.reasoning_tokens for _, stage in stages):
        caption += f"; of the tokens out, {thought:,} were reasoning"
    if sentence := cache_saving([stage for _, stage in stages]):
        caption += f"; {sentence}"
    return Section("Cost by stage", SectionTable(columns, rows, caption), key="costs")


def cache_saving(stages: Sequence[StageCost]) -> str:
    """What the endpoints' caches saved, with what writing to them cost; "" where no cache was used or has a price.

    >>> cache_saving([StageCost("target", 9, 0, 9000, 90, money=0.02, currency="USD", cached_tokens=8000, saved=0.011)])
    "the endpoint's cache saved 0.0110 USD"
    """
    used = [stage for stage in stages if stage.saved]
    saved = sum(stage.saved or 0.0 for stage in used)
    if not used or not saved:
        return ""
    text = money_text(abs(saved), used[0].currency)
    return f"the endpoint's cache saved {text}" if saved > 0 else f"writing to the endpoint's cache cost {text} more"


def _row(label: str, stage: StageCost, *, from_cache: bool, priced: bool) -> tuple[TableCell, ...]:
    counts = [stage.calls, stage.from_journal, stage.input_tokens, *([stage.cached_tokens] if from_cache else [])]
    counts += [stage.output_tokens, stage.estimated]
    cost = text_row(stage.cost or "?") if priced else ()
    return (*text_row(label, stage.stage, *(f"{n:,}" for n in counts)), *cost)


def cached_sentence(summaries: Sequence[RunSummary], replies: Sequence[int]) -> str:
    """How many replies were taken from the journal; "" where none were.

    Args:
        summaries: of the runs.
        replies: how many each run has in all.
    """
    counts = [summary.counts.from_journal for summary in summaries]
    if not any(counts):
        return ""
    by_run = f" ({', '.join(map(str, counts))} in the order of the runs)" if len(counts) > 1 else ""
    return f"{sum(counts)} of {sum(replies)} replies were cached{by_run}"


def read_again_sentence(summaries: Sequence[RunSummary]) -> str:
    """How many kept replies were read again under another response mapping; "" where none were."""
    stages = [stage for summary in summaries for stage in summary.calls.stages if stage.read_again]
    if not stages:
        return ""
    count, calls = sum(stage.read_again for stage in stages), sum(stage.calls for stage in stages)
    return f"{count} of {calls} replies were kept and read again under the present mapping"


def saved_calls(summaries: Sequence[RunSummary]) -> str:
    """About how many calls were saved as a rule ended the runs; "" where none was saved."""
    saved = [(summary.target, summary.calls_saved) for summary in summaries if summary.calls_saved]
    if not saved:
        return ""
    by_target = ", ".join(f"{count:,} of {target}" for target, count in saved) if len(saved) > 1 else ""
    total = count_text(sum(count for _, count in saved), "call")
    return f"Ending early saved about {total}{f' ({by_target})' if by_target else ''}."
