"""What a run would cost, for `--dry-run`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.suite import Suite
    from steelyard.suite.dry_run import Estimate


def print_estimate(suite: Suite, store: str | None, *, fresh: bool, as_json: bool) -> None:
    """Print the calls and tokens that a suite would cost."""
    from steelyard.report.terminal import console, print_json, say, table
    from steelyard.suite.dry_run import estimate

    found = asyncio.run(estimate(suite, store=store, fresh=fresh))
    if as_json:
        print_json([one.to_json() for one in found])
        return
    to = console()
    columns = ["target", "stage", "records", "calls", "journal", "tokens in", "out"]
    priced = any(stage.money is not None for one in found for stage in one.stages)
    rows = [row if priced else row[:-1] for one in found for row in _estimate_rows(one)]
    to.print(table([*columns, "cost"] if priced else columns, rows, right=range(2, 8)))
    if not any(one.stages for one in found):
        say(to, "Nothing here asks a model: no call would be sent.")
        return
    new = sum(one.calls - one.in_journal for one in found)
    judged = any(stage.stage != "target" for one in found for stage in one.stages)
    say(
        to,
        f"{new} calls would be sent; retries come on top. Tokens in are an estimate"
        f"{', of judges without the answers that they will see' if judged else ''}, tokens out the most that "
        "max_tokens allows (? where it is not set). Nothing was sent.",
    )
    if texts := sum(stage.embedded_texts for one in found for stage in one.stages):
        calls = sum(stage.embedding_calls for one in found for stage in one.stages)
        say(to, f"Among them {calls} calls for vectors: {texts} texts would be embedded, chunks of documents once.")
    if cost := _cost(found):
        say(to, cost)
    if any(one.minutes for one in found):
        say(to, f"The rates leave it no less than {sum(one.minutes or 0.0 for one in found):.1f} minutes.")


def _cost(found: Iterable[Estimate]) -> str:
    """What it all costs at the suite's prices; "" where there are none."""
    from steelyard.analysis.usage import money_text

    stages = [(one, stage) for one in found for stage in one.stages]
    known = [stage.money for _, stage in stages if stage.money is not None]
    if not known:
        return ""
    unlimited = any(stage.calls > stage.in_journal and not stage.output_tokens for _, stage in stages)
    least = "at least " if unlimited or len(known) < len(stages) else ""
    why = ", since max_tokens is not set for all" if unlimited else ""
    some = "" if len(known) == len(stages) else "; some models have no price"
    return f"It would cost {least}{money_text(sum(known), stages[0][0].currency)}{why}{some}."


def _estimate_rows(found: Estimate) -> Iterator[list[str]]:
    """A line for the target and one for each judge."""
    from steelyard.analysis.usage import money_text

    if not found.asks:
        yield [found.target, "target", str(found.records), "none", "0", "0", "0", "0"]
    for one in found.stages:
        most = str(one.output_tokens or ("?" if one.calls > one.in_journal else 0))
        counts = [str(one.calls), str(one.in_journal), str(one.input_tokens), most]
        cost = "?" if one.money is None else money_text(one.money, "")
        yield [found.target, one.stage, str(found.records), *counts, cost]
