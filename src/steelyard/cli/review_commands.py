"""Commands for human review: `review` lists replies or lets a model explain failures, `label` stores verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn, cast

import typer

from steelyard.cli.options import (
    BaseUrlOption,
    BudgetOption,
    DryRunOption,
    FreshOption,
    JsonOption,
    KeyOption,
    LanguageOption,
    ModelConfigOption,
    ModelOption,
    NoEnvOption,
    QuietOption,
    RunArgument,
    StoreOption,
    exit_code,
    load_model,
    named_run,
    store_option,
)
from steelyard.cli.output import while_read, write_text
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.generate.review import Review, ReviewPlan
    from steelyard.generate.reviewer import Reviewer
    from steelyard.report.review_sheet import AuthorVerdicts
    from steelyard.store import Run
    from steelyard.store.review import Queued
    from steelyard.suite import RunConfig, Suite

_MOST: Final = 100
_FAILED: Final = "failed"
"""The default of --only. Without a model `review` takes no --only; any other value shows that it was given."""
_MOST_CHARACTERS: Final = 200
"""Of a question or an option on a terminal."""


def review(
    run: RunArgument,
    model: ModelOption = "",
    base_url: BaseUrlOption = "",
    api_key_env: KeyOption = "",
    model_config: ModelConfigOption = None,
    only: Annotated[
        str, typer.Option("--only", metavar="EXPR", help="Which samples; the syntax of promote --where.")
    ] = _FAILED,
    most: Annotated[
        int, typer.Option("--most", "-n", metavar="N", help="At most N samples, spread over all that match.", min=1)
    ] = _MOST,
    language: LanguageOption = "auto",
    budget_calls: BudgetOption = None,
    store: StoreOption = None,
    fresh: FreshOption = False,
    dry_run: DryRunOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    show_key: Annotated[
        bool, typer.Option("--show-key", help="Without a model: show the correct answers too.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Without a model: write the queue as a CSV to fill in.")
    ] = None,
) -> None:
    """List replies that need human review, or let a model review some.

    Without a model: replies of an exam that could not be parsed, or whose letter was inferred. With one, its reasons
    and causes are stored as labels that name the model; no score changes. The same command again resumes an
    interrupted review and pays for no reply twice.
    """
    from steelyard.config.model_file import model_of_flags
    from steelyard.generate.review import ReviewPlan
    from steelyard.generate.reviewer import Reviewer
    from steelyard.store import Store
    from steelyard.suite import RunConfig

    flags = model_of_flags(model, base_url, api_key_env)
    if not flags and not model_config:
        _refuse_without_model(only=only != _FAILED, dry_run=dry_run, budget_calls=budget_calls is not None, fresh=fresh)
        with Store(store) as opened:
            _show_queue(named_run(opened, run), most=most, show_key=show_key, as_json=as_json, csv=csv)
        return
    _check_model_options(listing=show_key or csv is not None, several=bool(flags and model_config))
    file = model_config.absolute() if model_config else None
    writer, values = load_model(flags, file, no_env=no_env)
    assert writer is not None  # noqa: S101  # flags or file describe it
    reviewer = Reviewer(writer, cast("Literal['auto', 'en', 'zh']", language))
    reviewer.check()
    plan = ReviewPlan(run, only, most, budget_calls)
    if dry_run:
        from steelyard.cli.estimates import print_estimate

        print_estimate(_planned_suites(plan, reviewer, store), store, fresh=fresh, as_json=as_json)
        return
    how = RunConfig(store=store, fresh=fresh, environment=values)
    _review_by_model(plan, reviewer, how, quiet=quiet, as_json=as_json)


def label(
    run: RunArgument,
    sample: Annotated[str, typer.Argument(metavar="[SAMPLE]", help="The sample's id.")] = "",
    value: Annotated[
        str, typer.Argument(metavar="[LETTERS]", help="What the reply answers: B, AC, or none.", show_default=False)
    ] = "",
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Who gives the verdict; required.")] = "",
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", help="Which repeat, from 0.", min=0)] = 0,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw the author's verdict on the reply.")] = False,
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A CSV of review --csv with its verdicts filled in.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a person's verdict: which option a reply gives.

    No score changes. Rates use verdicts only with --with-labels, and then for every run alike.
    """
    from steelyard.report.numbers import counted
    from steelyard.report.review_sheet import TypedVerdict, read_sheet, verdict_labels
    from steelyard.report.terminal import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.labels import add_labels

    _check_verdict(sample, value, author, from_file, withdraw=withdraw)
    with Store(store) as opened:
        exam = named_run(opened, run)
        _queue_score(exam)
        single = TypedVerdict(sample, repeat, None if withdraw else value)
        typed = read_sheet(exam, from_file) if from_file else [single]
        labels = verdict_labels(exam, typed, author, datetime.now(UTC))
        written = add_labels(opened, exam, labels)
    if as_json:
        print_json({"run": exam.id, "given": len(labels), "written": written, "author": author})
        return
    same = f"; {counted(len(labels) - written, 'verdict')} stored already" if written < len(labels) else ""
    say(console(), f"run {exam.id} ({exam.target}): {counted(written, 'verdict')} by {author} stored{same}")


def _check_verdict(sample: str, value: str, author: str, from_file: Path | None, *, withdraw: bool) -> None:
    """Refuse arguments of `label` that are incomplete or contradict each other.

    Raises:
        ConfigError: what is missing.
    """
    if not author.strip():
        raise ConfigError("--author NAME is missing: reports name whoever gave a verdict")
    if author.startswith("model:"):
        raise ConfigError(f"--author {author}: verdicts are given by people; names that begin with model: are models'")
    is_single = bool(sample) and bool(value) != withdraw
    if is_single == (from_file is not None) or (from_file is not None and (sample or withdraw)):
        raise ConfigError(
            "type the sample and what its reply answers (steelyard label RUN q7 B --author NAME), --withdraw in place "
            "of the letters, or --from FILE alone"
        )


def _queue_score(run: Run) -> str:
    """The exam score whose queue is shown.

    Raises:
        ConfigError: no scorer of the run reads letters.
    """
    from steelyard.analysis.score_infos import names_where

    exams = names_where(run.score_infos, lambda info: info.exam)
    if not exams:
        raise ConfigError(
            f"run {run.id} ({run.target}) is not an exam, so there are no letters to review; --model NAME or "
            "--model-config FILE lets a model explain why its samples failed"
        )
    return exams[0]


def _show_queue(run: Run, *, most: int, show_key: bool, as_json: bool, csv: Path | None) -> None:
    """List the replies that a person should check, in the order of the samples.

    Args:
        run: of an exam.
        most: entries on a terminal; JSON and CSV have all.
        show_key: show the correct answer; hidden by default, as people who know it read it into the reply.
        as_json: print JSON.
        csv: write this file, with a column for the verdict.
    """
    from steelyard.report.numbers import counted
    from steelyard.report.review_sheet import author_verdicts, plain_entry, sheet
    from steelyard.report.terminal import console, print_json, say
    from steelyard.store.review import queue_of

    verdicts = author_verdicts(run.remarks().labels)
    queue = list(queue_of(run, _queue_score(run)))
    if csv is not None:
        write_text(csv, sheet(run, queue, verdicts, show_key=show_key))
        say(console(stderr=True), f"wrote {csv}: {counted(len(queue), 'reply')}")
    if as_json:
        print_json([plain_entry(queued, verdicts, show_key=show_key) for queued in queue])
    elif csv is None:
        _print_queue(run, queue, verdicts, most=most, show_key=show_key)
    else:
        say(console(), f"fill its column `verdict`, then: steelyard label {run.id} --from {shlex.quote(str(csv))}")


def _print_queue(run: Run, queue: Sequence[Queued], verdicts: AuthorVerdicts, *, most: int, show_key: bool) -> None:
    from steelyard.report.numbers import counted
    from steelyard.report.review_sheet import place_of
    from steelyard.report.terminal import console, say

    to = console()
    if not queue:
        say(to, f"run {run.id} ({run.target}): no reply needs human review")
        return
    unseen = sum(place_of(queued) not in verdicts for queued in queue)
    say(to, f"run {run.id} ({run.target}): {counted(len(queue), 'reply')} to review, {unseen:,} without a verdict")
    to.print()
    before = ""
    for queued in queue[:most]:
        say(to, _queue_line(queued, verdicts.get(place_of(queued), {}), show_key=show_key))
        if queued.record.sample.id != before:
            for line in _question_lines(queued):
                say(to, f"    {line}")
        before = queued.record.sample.id
        say(to, f"    reply: {queued.context or '(empty)'}")
    if len(queue) > most:
        say(to, f"and {len(queue) - most:,} more: --most {len(queue)} lists all, --csv FILE writes them")
    first = queue[0].record.sample.id
    say(to, f"more: steelyard label {run.id} {shlex.quote(first)} B --author NAME")


def _queue_line(queued: Queued, verdicts: Mapping[str, str], *, show_key: bool) -> str:
    """One reply on a line: its sample, why it is in the queue, what was read, people's verdicts."""
    from steelyard.store.review import NO_OPTION

    sample, repeat = queued.record.sample.id, queued.record.repeat
    parts = [sample + (f" repeat {repeat}" if repeat else ""), queued.kind]
    parts += [f"read {queued.answered.letters}"] if queued.answered.letters else []
    parts += [f"key {queued.answered.wanted}"] if show_key else []
    parts += [f"{author}: {value or NO_OPTION}" for author, value in verdicts.items()]
    return ", ".join(parts)


def _question_lines(queued: Queued) -> Iterator[str]:
    """The question and its options in the order shown, without which nobody can say what a letter stands for."""
    from steelyard.report.record_lines import in_short
    from steelyard.report.sample_table import input_text

    sample = queued.record.sample
    yield in_short(input_text(sample.input), _MOST_CHARACTERS)
    for at, text in enumerate(sample.choices):
        yield f"{chr(ord('A') + at)}. {in_short(text, _MOST_CHARACTERS)}"


def _check_model_options(*, listing: bool, several: bool) -> None:
    """Refuse options of the list together with a model, and a model that is named twice.

    Raises:
        ConfigError: which.
    """
    if listing:
        raise ConfigError("--show-key and --csv belong to the queue that review lists without a model")
    if several:
        raise ConfigError("--model NAME or --model-config FILE: give one of them")


def _refuse_without_model(**given: bool) -> None:
    """Refuse options that only a review by a model has.

    Raises:
        ConfigError: one was given, and no model.
    """
    options = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if options:
        raise ConfigError(f"{', '.join(options)}: --model NAME or --model-config FILE says who writes the review")


def _review_by_model(plan: ReviewPlan, reviewer: Reviewer, how: RunConfig, *, quiet: bool, as_json: bool) -> NoReturn:
    """Review, report, and exit with the code of the review's runs."""
    from steelyard.cli.live_run import run_suite
    from steelyard.generate.review import review as review_run
    from steelyard.report.terminal import print_json

    def evaluate(suite: Suite, *, how: RunConfig) -> Sequence[Run]:
        return run_suite(suite, how, quiet=quiet)

    where = None if how.store is None else str(how.store)
    result = review_run(where, plan, reviewer, how=how, evaluate=evaluate, at=datetime.now(UTC))
    with while_read():
        if as_json:
            print_json(result.to_json())
        else:
            _print_review(result, plan, where)
    raise typer.Exit(exit_code(result.state, has_result=bool(result.reasons or not result.asked)))


def _print_review(result: Review, plan: ReviewPlan, where: str | None) -> None:
    from steelyard.report.terminal import console, say, table

    to = console()
    for line in _review_lines(result, plan):
        say(to, line)
    if result.causes:
        rows = [
            [cause, str(count), f"{100 * count / result.reasons:.0f} %", result.examples[cause]]
            for cause, count in result.causes.items()
        ]
        to.print()
        to.print(table(["cause", "samples", "share", "for example"], rows, right=(1, 2)))
    for line in _next_steps(result, where):
        say(to, line)


def _review_lines(result: Review, plan: ReviewPlan) -> Iterator[str]:
    from steelyard.report.numbers import counted

    if not result.fitting:
        yield f"no sample of run {result.run} matches: {plan.only}"
        return
    of = f" of {result.fitting} that match (--most {result.fitting} takes all)" if result.asked < result.fitting else ""
    reasons = f"{counted(result.reasons, 'reason')} for {counted(result.asked, 'sample')}"
    yield f"run {result.run}: {reasons}{of}, by {result.author}"
    if result.state != "finished":
        yield f"{result.state}{f': {result.reason}' if result.reason not in {'', result.state} else ''}"
    if result.unread:
        kinds = ", ".join(f"{count} {kind}" for kind, count in result.unread.items())
        yield f"replies without a reason: {kinds}"
    if result.errors:
        yield f"calls that failed: {result.errors}"
    if result.unplaced:
        yield f"reasons without a cause: {result.unplaced}"
    if result.from_journal:
        yield f"{result.from_journal} replies were cached"


def _next_steps(result: Review, store: str | None) -> Iterator[str]:
    where = store_option(store)
    if result.state == "interrupted" and "budget" in result.reason:
        yield "resume with: the same command and a larger --budget-calls"
    elif result.state in {"interrupted", "broken"}:
        yield "resume with: the same command again"
    elif result.reasons:
        yield f"more: steelyard show {result.run} --only wrong{where}"
        for cause in list(result.causes)[:1]:
            expression = shlex.quote(f'label:cause="{cause}"')
            yield f"      steelyard promote {result.run} --where {expression} --to set.jsonl{where}"


def _planned_suites(plan: ReviewPlan, reviewer: Reviewer, store: str | None) -> Sequence[Suite]:
    """The suites of both steps: the reasons, then their causes (estimated with mock reasons)."""
    from steelyard.generate.review import planned_suites
    from steelyard.store import Store

    with Store(store) as opened:
        return planned_suites(opened, plan, reviewer)
