"""The command that runs a configuration (`run`), and what it shares with the one that resumes its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from steelyard.analysis.conditions import parse_condition
from steelyard.cli.estimates import print_estimate
from steelyard.cli.exit_codes import BROKEN, INTERRUPTED, UNDECIDED
from steelyard.cli.live_run import run_suite
from steelyard.cli.options import (
    AllowCommandsOption,
    ConfigArgument,
    DryRunOption,
    FreshOption,
    FullOption,
    HtmlOption,
    JsonOption,
    JUnitOption,
    MarkdownOption,
    NoEnvOption,
    QuietOption,
    SkipBadOption,
    StoreOption,
    UnsafeCodeOption,
    UnsafeSqlOption,
    WorkersOption,
    WorkingDirOption,
    load_config,
    named_run,
)
from steelyard.cli.outcome import evaluate_runs, print_outcome, write_pages
from steelyard.cli.output import check_writable, while_read
from steelyard.cli.stored_configuration import load_own
from steelyard.config.load import Loaded
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig
from steelyard.evaluation.objects import with_chosen
from steelyard.evaluation.survey import check_stop, notes_of
from steelyard.report.render.terminal import console, say
from steelyard.report.sections.gate import check_before
from steelyard.store import Run, Store
from steelyard.store.reading.pages import matching_records
from steelyard.workers.executors import executor_of


def run(
    config: ConfigArgument,
    store: StoreOption = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N samples.", min=1)] = None,
    skip_bad: SkipBadOption = False,
    only: Annotated[
        str,
        typer.Option(
            "--only",
            metavar="EXPR",
            help="With --from: only samples that were failed, wrong, errors, unparsed, group=...; the syntax of "
            "collect --where.",
        ),
    ] = "",
    from_run: Annotated[str, typer.Option("--from", metavar="RUN", help="The earlier run that --only refers to.")] = "",
    fresh: FreshOption = False,
    stop_when_decided: Annotated[
        str,
        typer.Option(
            "--stop-when-decided",
            metavar="FOR",
            help="Stop early once the result is decided: for the full dataset (full) or for the population behind it "
            "(population).",
        ),
    ] = "",
    dry_run: DryRunOption = False,
    workers: WorkersOption = "",
    working_dir: WorkingDirOption = None,
    unsafe_sql: UnsafeSqlOption = False,
    allow_commands: AllowCommandsOption = False,
    unsafe_code: UnsafeCodeOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    full: FullOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    junit: JUnitOption = None,
) -> None:
    """Evaluate every target of a configuration and compare them."""
    load = load_config if dry_run else load_own
    loaded = load(config, no_env=no_env, limit=limit, skip_bad=skip_bad, sends=not dry_run)
    loaded, chosen = choose_samples(loaded, _choice(only, from_run), store)
    if stop_when_decided:
        loaded = with_stop_rule(loaded, question=stop_when_decided)
    if not quiet:
        _say_notes(loaded)
    if dry_run:
        print_estimate([loaded.suite], store, fresh=fresh, as_json=as_json)
        return
    outlet = Outlet(store, full, as_json, html, markdown, junit)
    outlet.check()
    check_before(loaded.suite.gate, loaded.suite.targets, store)
    options = {"fresh": fresh, **allowed(unsafe_sql, allow_commands, unsafe_code)}
    run_config = run_config_of(loaded, store, chosen, workers=(workers, working_dir), **options)
    outlet.finish(run_suite(loaded.suite, run_config, quiet=quiet), loaded.suite.gate.get("baseline", ""))


@dataclass(frozen=True, slots=True)
class Outlet:
    """Where results go: standard output, as a table or as JSON, and report files."""

    store: str | None
    full: bool
    as_json: bool
    html: Path | None
    markdown: Path | None
    junit: Path | None

    def check(self) -> None:
        """Reject a file that cannot be written, before any call is paid for."""
        check_writable(self.html, self.markdown, self.junit)

    def finish(self, runs: Sequence[Run], baseline: Any = "") -> NoReturn:
        """Print and write the results, then exit with the code of the runs, also if the output has no reader.

        Args:
            runs: of one evaluation.
            baseline: as the configuration that was run names it; its file may be opened.
        """
        outcome = evaluate_runs(runs, baseline=str(baseline))
        with while_read():
            print_outcome(outcome, as_json=self.as_json, store=self.store, full=self.full)
        write_pages(outcome, html=self.html, markdown=self.markdown, junit=self.junit)
        if any(run.state == "broken" for run in runs):
            raise typer.Exit(BROKEN)
        if any(run.state != "finished" for run in runs):
            raise typer.Exit(INTERRUPTED)
        code = outcome.gate.exit_code if outcome.gate else 0
        if not code and (empty := [summary.target for summary in outcome.summaries if summary.is_without_verdict]):
            typer.echo(f"nothing was scored for {', '.join(empty)}: no scorer gave a single verdict", err=True)
            raise typer.Exit(UNDECIDED)
        raise typer.Exit(code)


def allowed(*given: bool) -> dict[str, bool]:
    """The options that allow what is not confined, as `RunConfig` names them."""
    return dict(zip(("unsafe_sql", "allow_commands", "unsafe_code"), given, strict=True))


def run_config_of(
    loaded: Loaded, store: str | None, chosen: Mapping[str, str], *, workers: tuple[str, Path | None], **options: Any
) -> RunConfig:
    """How a configuration is run.

    Args:
        loaded: the configuration.
        store: where its runs go.
        chosen: see `choose_samples`.
        workers: what `--workers` and `--working-dir` say.
        **options: further fields.
    """
    if any(workers):
        options["executor"] = executor_of(*workers)

    config = {"path": str(loaded.path.absolute()), "plain": loaded.plain} | ({"chosen": chosen} if chosen else {})
    return RunConfig(store=store, environment=loaded.environment, config=config, **options)


def _say_notes(loaded: Loaded) -> None:
    """Print warnings about the samples before any call is paid for: skipped rows, a template that does not fit."""
    to = console(stderr=True)
    for note in notes_of(loaded.suite):
        say(to, f"note: {note}")


def with_stop_rule(loaded: Loaded, **rule: Any) -> Loaded:
    """The configuration with fields of its stopping rule replaced.

    Raises:
        ConfigError: the rule cannot be applied to this suite.
    """
    options = loaded.suite.options
    options = replace(options, stop_when_decided=replace(options.stop_when_decided, **rule))
    check_options(options.stop_when_decided)
    suite = replace(loaded.suite, options=options)
    check_stop(suite)
    return replace(loaded, suite=suite)


def _choice(only: str, run: str) -> dict[str, str]:
    """`--only` and `--from` as a manifest stores them; empty if neither is given.

    Raises:
        ConfigError: only one of the two is set.
    """
    if bool(only) != bool(run):
        missing = "--from RUN: in which run" if only else "--only EXPR: which of its samples"
        raise ConfigError(f"--only and --from go together; add {missing}")
    return {"only": only, "from": run} if only else {}


def choose_samples(loaded: Loaded, choice: Mapping[str, str], store: str | None) -> tuple[Loaded, dict[str, Any]]:
    """The configuration with the chosen samples only, and the choice with the run's id in place of its name.

    Args:
        loaded: the configuration.
        choice: as `_choice` returns it; an empty one chooses all samples.
        store: where the earlier run is.

    Raises:
        ConfigError: there is no such run, the condition is malformed, or no sample meets it.
    """
    if not choice:
        return loaded, {}
    with Store(store) as opened:
        earlier = named_run(opened, choice["from"])
        condition = parse_condition(choice["only"], earlier.manifest)
        ids = frozenset(record.sample.id for _, record in matching_records(earlier, condition))
    if not ids:
        raise ConfigError(f"no sample of run {earlier.id} ({earlier.target}) matches: {choice['only']}")
    suite = with_chosen(loaded.suite, ids, f"{choice['only']} in run {earlier.id} ({earlier.target})")
    return replace(loaded, suite=suite), {**choice, "from": earlier.id}
