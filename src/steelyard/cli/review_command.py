"""The command `review`: lists records that need human review, or lets a model explain why samples failed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, cast

import typer

from steelyard.analysis.conditions import label_condition, parse_condition
from steelyard.analysis.label_forms import label_form
from steelyard.analysis.numbers import count_text, percent_text
from steelyard.analysis.review_reasons import REASONS
from steelyard.cli import options
from steelyard.cli.live_run import print_estimate, run_with_cost
from steelyard.cli.options import model_and_config, named_run, same_command, store_option
from steelyard.cli.output import exit_code, while_read, write_text
from steelyard.constraints import check_options
from steelyard.errors import ConfigError, did_you_mean
from steelyard.evaluation import RunConfig
from steelyard.generate.review import Review, ReviewPlan, planned_suites
from steelyard.generate.review import review as review_run
from steelyard.generate.reviewer import Reviewer
from steelyard.models.base import Model
from steelyard.people.review import ReviewEntry, ReviewView, author_verdicts, review_entries, sheet
from steelyard.report.record_lines import entry_lines, plain_entry, reason_counts
from steelyard.report.render.terminal import console, print_json, say, table
from steelyard.report.run_texts import state_text
from steelyard.store import Run, Store
from steelyard.store.labels import by_record

_MOST: Final = 100
_FAILED: Final = "failed"
"""The default of --only for a model's review; the list without a model has no default condition."""

_OnlyOption = Annotated[
    str,
    typer.Option("--only", metavar="EXPR", help="Which samples; the syntax of collect --where.", show_default=False),
]
_ReasonOption = Annotated[
    list[str] | None,
    typer.Option("--reason", metavar="NAME", help="Without a model: only records with this reason; may be repeated."),
]
_AllOption = Annotated[
    bool, typer.Option("--all", help="Without a model: list every record, also those without a reason.")
]
_CsvOption = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Without a model: write the list as a CSV to fill in.")
]


@dataclass(frozen=True, slots=True)
class _ListRequest:
    """Which records are listed without a model, and how.

    Args:
        only: a condition; "" for none.
        reasons: only records with one of these; empty for all.
        unlabelled: only records that nobody labelled.
        everything: records without a reason too.
        most: how many are printed on a terminal; files and JSON have all.
        as_json: print JSON.
        csv: the sheet to write, or None.
    """

    only: str
    reasons: tuple[str, ...]
    unlabelled: bool
    everything: bool
    most: int
    as_json: bool
    csv: Path | None

    @property
    def given_options(self) -> list[str]:
        """The options in use that only a list without a model has."""
        given = {"--reason": self.reasons, "--unlabelled": self.unlabelled, "--all": self.everything, "--csv": self.csv}
        return [name for name, value in given.items() if value]

    def check(self) -> None:
        """Reject unknown reasons.

        Raises:
            ConfigError: the message suggests the nearest one.
        """
        for reason in self.reasons:
            if reason not in REASONS:
                raise ConfigError(f"--reason {reason!r}{did_you_mean(reason, REASONS)}")


def review(
    run: options.RunArgument,
    model: options.ModelOption = "",
    base_url: options.BaseUrlOption = "",
    api_key_env: options.KeyOption = "",
    model_config: options.ModelConfigOption = None,
    only: _OnlyOption = "",
    most: Annotated[
        int, typer.Option("--most", "-n", metavar="N", help="At most N samples; for a model spread evenly.", min=1)
    ] = _MOST,
    language: options.LanguageOption = "auto",
    budget_calls: options.BudgetOption = None,
    store: options.StoreOption = None,
    fresh: options.FreshOption = False,
    dry_run: options.DryRunOption = False,
    no_env: options.NoEnvOption = False,
    quiet: options.QuietOption = False,
    as_json: options.JsonOption = False,
    reason: _ReasonOption = None,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Without a model: only records without label.")
    ] = False,
    everything: _AllOption = False,
    show_key: Annotated[
        bool, typer.Option("--show-key", help="Without a model: show the right letters, or the judge's preference.")
    ] = False,
    kind: options.LabelKindOption = "",
    score: options.LabelScoreOption = "",
    seed: options.OrderSeedOption = 0,
    csv: _CsvOption = None,
) -> None:
    """List records to review, or let a model explain failures.

    Without a model: records whose scores are uncertain, each with the reasons; steelyard label stores people's verdicts
    on them. With a model, its reasons and causes of failures are stored as labels that name the model. No score
    changes. With a model and an error analysis in place of a run, the notes without a code are grouped, and each group
    is proposed as a code. Repeating the command resumes an interrupted review; no reply is paid for twice.
    """
    request = _ListRequest(only, tuple(reason or ()), unlabelled, everything, most, as_json, csv)
    if not any((model, base_url, api_key_env, model_config)):
        _refuse_without_model(dry_run=dry_run, budget_calls=budget_calls is not None, fresh=fresh)
        request.check()
        with Store(store) as opened:
            stored, where = named_run(opened, run), store_option(store)
            _show_list(stored, request, where, kind=kind, score=score, show_key=show_key, seed=seed)
        return
    if refused := [*request.given_options, *(["--show-key"] if show_key else [])]:
        raise ConfigError(f"{', '.join(refused)}: only for the list that review shows without a model")
    writer, how = model_and_config((model, base_url, api_key_env), model_config, store, fresh=fresh, no_env=no_env)
    reviewer = Reviewer(cast("Model", writer), cast("Literal['auto', 'en', 'zh']", language))
    plan = ReviewPlan(run, only or _FAILED, most, budget_calls)
    _review_by_model(plan, reviewer, how, dry_run=dry_run, quiet=quiet, as_json=as_json)


def _show_list(
    run: Run, request: _ListRequest, where: str, *, kind: str, score: str, show_key: bool, seed: int
) -> None:
    """List the records of a run that people should look at, in the order of the samples."""
    form = label_form(run.manifest, run.score_infos, score=score, kind=kind)
    view = ReviewView(form, author_verdicts(run.labels(), form), show_key=show_key, seed=seed)
    entries = list(_entries(run, request, view))
    if request.csv is not None:
        write_text(request.csv, sheet(run, entries, view))
        say(console(stderr=True), f"wrote {request.csv}: {count_text(len(entries), 'record')}")
    if request.as_json:
        print_json([plain_entry(entry, view) for entry in entries])
    elif request.csv is not None:
        command = f"steelyard label {run.id} --from {shlex.quote(str(request.csv))}{where}"
        say(console(), f"fill its column `verdict`, then: {command}")
    else:
        _print_list(run, entries, view, where, most=request.most)


def _entries(run: Run, request: _ListRequest, view: ReviewView) -> Iterator[ReviewEntry]:
    """The entries that meet the conditions of the request."""
    condition = parse_condition(request.only, run.manifest) if request.only else None
    labels = by_record(run.labels())
    for entry in review_entries(run, everything=request.everything):
        if request.reasons and not {reason.key for reason in entry.reasons} & set(request.reasons):
            continue
        if request.unlabelled and view.of(entry):
            continue
        if condition is None or condition.holds(entry.record, labels.get(entry.key, ())):
            yield entry


def _print_list(run: Run, entries: Sequence[ReviewEntry], view: ReviewView, where: str, *, most: int) -> None:
    to = console()
    if not entries:
        say(to, f"run {run.id} ({run.target}): no record needs human review; --all lists every record")
        return
    what = "reply" if view.form.kind == "choice" else "record"
    unseen = sum(not view.of(entry) for entry in entries)
    say(to, f"run {run.id} ({run.target}): {count_text(len(entries), what)} to review, {unseen:,} without a verdict")
    if counts := reason_counts(entries):
        say(to, ", ".join(f"{count:,} {key.replace('_', ' ')}" for key, count in counts.items()))
    to.print()
    for entry in entries[:most]:
        for line in entry_lines(entry, view):
            say(to, line)
    if len(entries) > most:
        say(to, f"and {len(entries) - most:,} more: --most {len(entries)} lists all, --csv FILE writes them")
    say(to, f"label them: steelyard review {run.id} --csv sheet.csv{where}")


def _refuse_without_model(**flags: bool) -> None:
    """Reject options that only a review by a model has.

    Raises:
        ConfigError: one of them is set, and there is no model.
    """
    refused = [f"--{name.replace('_', '-')}" for name, value in flags.items() if value]
    if refused:
        raise ConfigError(
            f"{', '.join(refused)}: only for a review by a model; add --model NAME or --model-config FILE"
        )


def _review_by_model(
    plan: ReviewPlan, reviewer: Reviewer, how: RunConfig, *, dry_run: bool, quiet: bool, as_json: bool
) -> None:
    """Review, report, and exit with the code of the review's runs; of a dry run print the calls of both steps."""
    check_options(reviewer)
    where = None if how.store is None else str(how.store)
    if dry_run:
        with Store(where) as opened:
            suites = planned_suites(opened, plan, reviewer)
        print_estimate(suites, where, fresh=how.fresh, as_json=as_json)
        return
    evaluate = partial(run_with_cost, quiet=quiet)
    result = review_run(where, plan, reviewer, how=how, evaluate=evaluate, at=datetime.now(UTC))
    with while_read():
        if as_json:
            print_json(result)
        else:
            _print_review(result, plan, where)
    raise typer.Exit(exit_code(result.state, has_result=result.has_result))


def _print_review(result: Review, plan: ReviewPlan, where: str | None) -> None:
    to = console()
    for line in _review_lines(result, plan):
        say(to, line)
    if result.causes:
        rows = [
            [cause, str(count), percent_text(count / result.reasons, 0), result.examples[cause]]
            for cause, count in result.causes.items()
        ]
        to.print()
        to.print(
            table(["cause", "notes" if result.analysis else "samples", "share", "for example"], rows, right=(1, 2))
        )
    for line in _next_steps(result, where):
        say(to, line)


def _review_lines(result: Review, plan: ReviewPlan) -> Iterator[str]:
    if result.analysis:
        proposed = f"{count_text(len(result.codes), 'code')} proposed for {count_text(result.asked, 'note')}"
        yield f"error analysis {result.analysis}: {proposed}, by {result.author}"
    elif not result.fitting:
        yield f"no sample of run {result.run} matches: {plan.only}"
        return
    else:
        most = f" (--most {result.fitting} takes all)"
        matching = f" of {result.fitting} that match{most}" if result.asked < result.fitting else ""
        reasons = f"{count_text(result.reasons, 'reason')} for {count_text(result.asked, 'sample')}"
        yield f"run {result.run}: {reasons}{matching}, by {result.author}"
    if result.state != "finished":
        yield state_text(result.state, result.reason)
    if result.unread:
        kinds = ", ".join(f"{count} {kind}" for kind, count in result.unread.items())
        yield f"replies without a reason: {kinds}"
    if result.errors:
        yield f"calls that failed: {result.errors}"
    if result.unplaced:
        yield f"reasons without a cause: {result.unplaced}"
    if result.from_journal:
        yield f"{count_text(result.from_journal, 'reply')} cached"


def _next_steps(result: Review, store: str | None) -> Iterator[str]:
    where = store_option(store)
    if result.state in {"interrupted", "broken"}:
        yield f"resume with: {same_command(result.reason)}"
    elif result.analysis:
        yield "A proposed code counts once a person adopts it, in the browser:"
        yield f"  steelyard view{where}"
    elif result.reasons:
        yield f"next: steelyard show {result.run} --only wrong{where}"
        for cause in list(result.causes)[:1]:
            expression = shlex.quote(label_condition("cause", cause))
            yield f"      steelyard collect {result.run} --where {expression} --to set.jsonl{where}"
