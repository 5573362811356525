"""Estimates of a run's cost, for `--dry-run`: a section with the calls and tokens of each stage."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from steelyard.analysis.numbers import count_text, money_text
from steelyard.cli.live_run import run_suite
from steelyard.evaluation import RunConfig, Suite
from steelyard.evaluation.dry_run import Estimate, estimate
from steelyard.evaluation.scorer_infos import prompt_hints
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.section import Section, SectionTable, TableCell, TableColumn, sentences, text_row
from steelyard.store import Run

_HEADS = ("stage", "records", "calls", "cached", "tokens in", "tokens out")


def print_estimate(suites: Sequence[Suite], store: str | None, *, fresh: bool, as_json: bool) -> None:
    """Print the calls, tokens and cost expected of running the suites."""
    estimates = [entry for suite in suites for entry in asyncio.run(estimate(suite, store=store, fresh=fresh))]
    if as_json:
        print_json(estimates)
    else:
        hints = dict.fromkeys(hint for suite in suites for hint in prompt_hints(suite.all_scorers))
        print_sections(console(), [_section(estimates, hints)])


def say_cost(suite: Suite, store: str | Path | None, *, fresh: bool) -> None:
    """Print on standard error what running a suite will cost; nothing if it calls no model."""
    stages = [stage for entry in asyncio.run(estimate(suite, store=store, fresh=fresh)) for stage in entry.stages]
    calls, cached = sum(stage.calls for stage in stages), sum(stage.in_journal for stage in stages)
    if calls:
        tokens = sum(stage.input_tokens for stage in stages)
        size = f" of about {tokens:,} input tokens" if tokens else ""
        known = f", {cached:,} more are cached" if cached else ""
        say(console(stderr=True), f"{count_text(calls - cached, 'call')}{size} will be sent{known}; Ctrl-C stops")


def run_with_cost(suite: Suite, *, how: RunConfig, quiet: bool = False) -> Sequence[Run]:
    """Print the expected cost of a suite, then run it with progress."""
    if not quiet:
        say_cost(suite, how.store, fresh=how.fresh)
    return run_suite(suite, how, quiet=quiet)


def _section(estimates: Sequence[Estimate], hints: Iterable[str] = ()) -> Section:
    # Without any price the column of costs would hold only question marks.
    priced = any(stage.money is not None for entry in estimates for stage in entry.stages)
    heads = [*_HEADS, "cost"] if priced else _HEADS
    columns = (TableColumn("target", "name"), TableColumn(heads[0], "text"), *map(TableColumn, heads[1:]))
    rows = tuple(row[: len(columns)] for entry in estimates for row in _rows(entry))
    return Section("", SectionTable(columns, rows), notes=tuple(sentences([*_notes(estimates), *hints])))


def _notes(estimates: Sequence[Estimate]) -> Iterator[str]:
    stages = [stage for entry in estimates for stage in entry.stages]
    if not stages:
        yield "No target or scorer calls a model: no call would be sent."
        return
    new = sum(entry.calls - entry.in_journal for entry in estimates)
    judged = any(stage.stage != "target" for stage in stages)
    yield (
        f"{new} calls would be sent; retries come on top. Tokens in are an estimate"
        f"{', for judges without the answers that they will see' if judged else ''}, tokens out the most that "
        "max_tokens allows (? where it is not set). Nothing was sent."
    )
    if texts := sum(stage.embedded_texts for stage in stages):
        calls = sum(stage.embedding_calls for stage in stages)
        yield f"{calls} of the calls are for embeddings: {texts} texts, each chunk of a document counted once."
    yield _cost(estimates)
    if any(entry.minutes for entry in estimates):
        yield f"At the rate limits it takes at least {sum(entry.minutes or 0.0 for entry in estimates):.1f} minutes."


def _cost(estimates: Sequence[Estimate]) -> str:
    """The total cost at the suite's prices; "" without prices."""
    stages = [(entry, stage) for entry in estimates for stage in entry.stages]
    priced = [stage.money for _, stage in stages if stage.money is not None]
    if not priced:
        return ""
    unlimited = any(stage.calls > stage.in_journal and not stage.output_tokens for _, stage in stages)
    least = "at least " if unlimited or len(priced) < len(stages) else ""
    why = ", since max_tokens is not set for all" if unlimited else ""
    some = "" if len(priced) == len(stages) else "; some models have no price"
    slower = [stage.tier_money for _, stage in stages if stage.tier_money is not None]
    if sum(slower) != sum(priced):
        some = (
            f", or {money_text(sum(slower), stages[0][0].currency)} where the slower service answers every call{some}"
        )
    return f"It would cost {least}{money_text(sum(priced), stages[0][0].currency)}{why}{some}."


def _rows(estimate: Estimate) -> Iterator[tuple[TableCell, ...]]:
    """A row for the target and one for each judge."""
    if not estimate.asks:
        yield text_row(estimate.target, "target", str(estimate.records), "none", "0", "0", "0", "0")
    for stage in estimate.stages:
        limit = str(stage.output_tokens or ("?" if stage.calls > stage.in_journal else 0))
        counts = [str(stage.calls), str(stage.in_journal), str(stage.input_tokens), limit]
        cost = "?" if stage.money is None else money_text(stage.money, "")
        yield text_row(estimate.target, stage.stage, str(estimate.records), *counts, cost)
