"""The command `review`: replies that need a person's eye; or a model says why samples failed, and the causes."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn, cast

import typer

from steelyard.cli.generating import (
    BaseUrlOption,
    BudgetOption,
    DryRunOption,
    FreshOption,
    KeyOption,
    ModelConfigOption,
    ModelOption,
)
from steelyard.cli.options import JsonOption, NoEnvOption, QuietOption, RunArgument, StoreOption
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.generate.review import Review, ReviewPlan
    from steelyard.generate.reviewer import Reviewer
    from steelyard.store import Run
    from steelyard.suite import How, Suite

_BROKEN: Final = 4
_INTERRUPTED: Final = 130
_MOST: Final = 100
_FAILED: Final = "failed"


def review(
    run: RunArgument,
    model: ModelOption = "",
    base_url: BaseUrlOption = "",
    api_key_env: KeyOption = "",
    model_config: ModelConfigOption = None,
    only: Annotated[
        str, typer.Option("--only", metavar="EXPR", help="Which samples, as promote --where takes them.")
    ] = _FAILED,
    most: Annotated[
        int, typer.Option("--most", "-n", metavar="N", help="At most so many, spread over those that fit.", min=1)
    ] = _MOST,
    language: Annotated[
        str, typer.Option("--language", metavar="auto|en|zh", help="Of the prompts; auto is that of each sample.")
    ] = "auto",
    budget_calls: BudgetOption = None,
    store: StoreOption = None,
    fresh: FreshOption = False,
    dry_run: DryRunOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    show_key: Annotated[bool, typer.Option("--show-key", help="Without a model: show the right answers too.")] = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Without a model: write the queue as a sheet to fill.")
    ] = None,
) -> None:
    """List replies that need an eye, or let a model review some.

    Without a model: the replies of an exam that were not read, or whose letter is inferred. With one, its reasons and
    causes are kept as labels marked as the model's: no score changes. The same command again goes on with what was
    interrupted, and pays for no reply twice.
    """
    from steelyard.cli.qa_command import described_model, model_of_flags
    from steelyard.cli.queueing import show_queue
    from steelyard.generate.review import ReviewPlan
    from steelyard.generate.reviewer import Reviewer
    from steelyard.store import Store
    from steelyard.suite import How

    flags = model_of_flags(model, base_url, api_key_env)
    if not flags and not model_config:
        _refuse_without_model(only=only != _FAILED, dry_run=dry_run, budget_calls=budget_calls is not None, fresh=fresh)
        with Store(store) as opened:
            show_queue(opened.run(run), most=most, show_key=show_key, as_json=as_json, csv=csv)
        return
    if show_key or csv:
        raise ConfigError("--show-key and --csv are of the queue that review lists without a model")
    if flags and model_config:
        raise ConfigError("--model NAME or --model-config FILE: give one of them")
    asked, values = described_model(flags, str(model_config.absolute()) if model_config else "", use_dotenv=not no_env)
    assert asked is not None  # noqa: S101  # one of the two describes it
    reviewer = Reviewer(asked, cast("Literal['auto', 'en', 'zh']", language))
    reviewer.check()
    plan = ReviewPlan(run, only, most, budget_calls)
    if dry_run:
        _estimate(plan, reviewer, store, fresh=fresh, as_json=as_json)
        return
    how = How(store=store, fresh=fresh, environment=values)
    _make(plan, reviewer, how, quiet=quiet, as_json=as_json)


def _refuse_without_model(**given: bool) -> None:
    """Options that only a model's review has.

    Raises:
        ConfigError: one was given, and no model.
    """
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise ConfigError(f"{', '.join(named)}: --model NAME or --model-config FILE says who writes the review")


def _make(plan: ReviewPlan, reviewer: Reviewer, how: How, *, quiet: bool, as_json: bool) -> NoReturn:
    """Review, tell, and exit with the code that says what came out."""
    from steelyard.cli.pipes import while_read
    from steelyard.cli.running import run_suite
    from steelyard.cli.tables import print_json
    from steelyard.generate.review import review as reviewed

    def evaluate(suite: Suite, this: How) -> Sequence[Run]:
        return run_suite(suite, this, quiet=quiet)

    where = None if how.store is None else str(how.store)
    found = reviewed(where, plan, reviewer, how=how, evaluate=evaluate, at=datetime.now(UTC))
    with while_read():
        if as_json:
            print_json(found.to_json())
        else:
            _tell(found, plan, where)
    if found.state == "broken" or (found.state == "finished" and found.asked and not found.reasons):
        raise typer.Exit(_BROKEN)
    raise typer.Exit(0 if found.state == "finished" else _INTERRUPTED)


def _tell(found: Review, plan: ReviewPlan, where: str | None) -> None:
    from steelyard.cli.tables import console, say, table

    to = console()
    for line in _lines(found, plan):
        say(to, line)
    if found.causes:
        rows = [
            [cause, str(count), f"{100 * count / found.reasons:.0f} %", found.examples[cause]]
            for cause, count in found.causes.items()
        ]
        to.print()
        to.print(table(["cause", "samples", "share", "for example"], rows, right=(1, 2)))
    for line in _next_steps(found, where):
        say(to, line)


def _lines(found: Review, plan: ReviewPlan) -> Iterator[str]:
    from steelyard.report.numbers import counted

    if not found.fitting:
        yield f"no sample of run {found.run} fits: {plan.only}"
        return
    of = f" of {found.fitting} that fit (--most {found.fitting} takes all)" if found.asked < found.fitting else ""
    given = f"{counted(found.reasons, 'reason')} for {counted(found.asked, 'sample')}"
    yield f"run {found.run}: {given}{of}, by {found.author}"
    if found.state != "finished":
        yield f"{found.state}{f': {found.reason}' if found.reason not in {'', found.state} else ''}"
    if found.unread:
        kinds = ", ".join(f"{count} {kind}" for kind, count in found.unread.items())
        yield f"replies that hold no reason: {kinds}"
    if found.errors:
        yield f"calls that failed for good: {found.errors}"
    if found.unplaced:
        yield f"reasons that were put under no cause: {found.unplaced}"
    if found.from_journal:
        yield f"{found.from_journal} replies came from the journal"


def _next_steps(found: Review, store: str | None) -> Iterator[str]:
    where = f" --store {shlex.quote(store)}" if store else ""
    if found.state == "interrupted" and "budget" in found.reason:
        yield "go on with: the same command with a larger --budget-calls"
    elif found.state in {"interrupted", "broken"}:
        yield "go on with: the same command again"
    elif found.reasons:
        yield f"more: steelyard show {found.run} --only wrong{where}"
        for cause in list(found.causes)[:1]:
            expression = shlex.quote(f'label:cause="{cause}"')
            yield f"      steelyard promote {found.run} --where {expression} --to set.jsonl{where}"


def _estimate(plan: ReviewPlan, reviewer: Reviewer, store: str | None, *, fresh: bool, as_json: bool) -> None:
    """Print the calls and tokens of both steps."""
    from steelyard.cli.tables import console, print_json, say, table
    from steelyard.generate.review import planned_suites
    from steelyard.store import Store
    from steelyard.suite.dry_run import estimate

    with Store(store) as opened:
        suites = planned_suites(opened, plan, reviewer)
    found = [one for suite in suites for one in asyncio.run(estimate(suite, store=store, fresh=fresh))]
    if as_json:
        print_json([one.to_json() for one in found])
        return
    to = console()
    rows = [
        [one.target, *(f"{n:,}" for n in (one.calls, one.in_journal, sum(stage.input_tokens for stage in one.stages)))]
        for one in found
    ]
    to.print(table(["step", "calls", "journal", "tokens in"], rows, right=(1, 2, 3)))
    new = sum(one.calls - one.in_journal for one in found)
    say(
        to,
        f"{new} calls would be sent; tokens are an estimate, of the causes with rehearsed reasons. Nothing was sent.",
    )
